//! The supervisors of one backend, and which of them stand ready for its next commands.
//!
//! One that has ended its command stands ready for another. It starts the shell of that one ahead, which takes about as long as a
//! short command does: so those that stand ready take turns, and where a command leaves none beside it one more is started.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;

use super::super::blocking;
use super::super::program::SupervisorProgram;
use super::link::{Link, retire, wait_for};

/// 4 supervisors stand ready: as many commands as an agent runs side by side. Each takes about half a megabyte.
pub(super) const READY: usize = 4;
/// The third command of a backend has a second supervisor started, and so has each later one that leaves none ready: who gives so many
/// gives more.
const SPARE_FROM: u64 = 3;

/// The supervisors of one backend.
#[derive(Debug)]
pub(in super::super) struct Supervisors {
    pub(super) program: SupervisorProgram,
    pub(super) ready: Mutex<Ready>,
}

/// What stands ready for the next command; nothing any more once the backend is closed.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// The one that stood ready longest first: its shell is the one that had time to start.
    pub(super) links: VecDeque<Link>,
    /// How many commands were started.
    commands: u64,
    /// Starts one more.
    spare: Option<JoinHandle<()>>,
    is_closed: bool,
}

impl Supervisors {
    /// None yet: the first command starts the first.
    pub(in super::super) fn new(program: SupervisorProgram) -> Arc<Self> {
        Arc::new(Self { program, ready: Mutex::default() })
    }

    /// The one that stands ready longest; where no other is left beside it, one more is started.
    pub(super) fn next_ready(self: &Arc<Self>) -> Option<Link> {
        let mut ready = self.ready.lock();
        let next = ready.links.pop_front();
        ready.commands += 1;
        // Each command that runs holds this, and whoever runs them.
        let has_room = Arc::strong_count(self) <= READY;
        let is_starting = ready.spare.as_ref().is_some_and(|spare| !spare.is_finished());
        let gains = self.program.starts_ahead() && ready.commands >= SPARE_FROM;
        if gains && ready.links.is_empty() && has_room && !is_starting && !ready.is_closed {
            let (program, home) = (self.program.clone(), Arc::downgrade(self));
            ready.spare = Some(tokio::task::spawn_blocking(move || {
                // Without one every command waits for its own.
                let Ok(mut fresh) = Link::launch_for_another(&program) else { return };
                // Where nobody takes it, it is waited for when it is dropped.
                let Some(home) = home.upgrade() else { return };
                if let Some(link) = fresh.0.take()
                    && let Err(link) = home.put(link)
                {
                    // Whoever closes the backend waits for this.
                    wait_for_end_of(vec![link]);
                }
            }));
        }
        next
    }

    /// Lets those end that stand ready, and waits until they are gone. Later ones end with their commands.
    pub(in super::super) async fn close(&self) {
        let spare = {
            let mut ready = self.ready.lock();
            ready.is_closed = true;
            ready.spare.take()
        };
        if let Some(spare) = spare {
            // What it has started stands ready, unless the runtime ends.
            drop(spare.await);
        }
        let links = std::mem::take(&mut self.ready.lock().links);
        if links.is_empty() {
            return;
        }
        // A fault of the wait is the runtime's own end.
        drop(blocking(move || wait_for_end_of(links.into())).await);
    }

    /// Has one that has ended its command stand ready, unless it is spent.
    pub(super) fn take_back(&self, socket: AsyncFd<OwnedFd>, process: Child, is_spent: bool) {
        let link = Link { socket: socket.into_inner(), process };
        let rest = if is_spent { Err(link) } else { self.put(link) };
        if let Err(link) = rest {
            retire(vec![link]);
        }
    }

    /// Has it stand ready; gives it back where there is no room.
    fn put(&self, link: Link) -> std::result::Result<(), Link> {
        let mut ready = self.ready.lock();
        if ready.is_closed || ready.links.len() >= READY {
            return Err(link);
        }
        ready.links.push_back(link);
        Ok(())
    }
}

/// Waits until supervisors that run nothing are gone: they only wait for this end of their sockets to close.
fn wait_for_end_of(links: Vec<Link>) {
    wait_for(links.into_iter().map(|link| (link.process, String::new())).collect());
}

impl Drop for Supervisors {
    fn drop(&mut self) {
        retire(std::mem::take(&mut self.ready.get_mut().links).into());
    }
}
