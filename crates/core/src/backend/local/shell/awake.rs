//! Keeps supervisors awake. A command has the rights to stop its supervisor (`kill -STOP $PPID`), and a stopped one hides the
//! end of its command and hears no order.
//!
//! While commands run, a thread looks once a second whether one of their supervisors is stopped and lets it go on. It is
//! one for the whole process, and ends when nothing has run for a while, so that a host at rest does nothing; putting a
//! command on its list costs no system call but for the first. Who stops a supervisor again and again holds up only the
//! end of a command that it could also just go on running: [`Awake::wake`] tells whoever must end it by force.

use std::process::{Child, ExitStatus};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// 1 s between looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// 10 looks with nothing to look at end the thread: an agent's next command comes sooner, and spares its start.
const IDLE_LOOKS: u32 = 10;
/// 100 times a supervisor is woken to end by itself before it is killed.
const WAKES: u32 = 100;

static LIST: Mutex<List> = Mutex::new(List { supervisors: Vec::new(), is_watched: false });

struct List {
    supervisors: Vec<Pid>,
    is_watched: bool,
}

/// A supervisor with a command, on the list. To be dropped before the process is waited for: its number is another's then.
#[derive(Debug)]
pub(super) struct Awake(Pid);

impl Awake {
    /// Puts a child of this process on the list.
    pub(super) fn keep(process: &Child) -> Self {
        let pid = Pid::from_child(process);
        let mut list = LIST.lock();
        list.supervisors.push(pid);
        if !list.is_watched {
            // Without a thread a stopped supervisor is noticed when the time of its call is over.
            list.is_watched = std::thread::Builder::new().name("gloveport-awake".to_owned()).spawn(look_on).is_ok();
        }
        Self(pid)
    }

    /// The number of the supervisor.
    pub(super) fn pid(&self) -> Pid {
        self.0
    }

    /// Lets the supervisor go on if it is stopped; whether it was.
    pub(super) fn wake(&self) -> bool {
        wake(self.0)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        let mut list = LIST.lock();
        if let Some(place) = list.supervisors.iter().position(|pid| *pid == self.0) {
            list.supervisors.swap_remove(place);
        }
    }
}

fn look_on() {
    let mut idle = 0;
    loop {
        std::thread::sleep(LOOK_EVERY);
        // Held over the looks: what is on the list is not reaped.
        let mut list = LIST.lock();
        for supervisor in &list.supervisors {
            wake(*supervisor);
        }
        idle = if list.supervisors.is_empty() { idle + 1 } else { 0 };
        if idle == IDLE_LOOKS {
            list.is_watched = false;
            return;
        }
    }
}

/// `pid` is a child of this process that nobody has reaped.
fn wake(pid: Pid) -> bool {
    // Looked at, not taken: it stays true until the process goes on.
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let is_stopped = matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_)));
    if is_stopped {
        // It fails only where the process is dead.
        let _ = kill_process(pid, Signal::CONT);
    }
    is_stopped
}

/// Waits for the end of a supervisor whose socket is closed, and wakes it whenever it is stopped. Blocks for as long as it
/// has a tree to end.
pub(super) fn wait_for(process: &mut Child) -> Option<ExitStatus> {
    let pid = Pid::from_child(process);
    let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    for _ in 0..WAKES {
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(status)) if status.stopped() => {
                let _ = kill_process(pid, Signal::CONT);
            }
            Err(Errno::INTR) => {}
            // It ended, or somebody else reaped it.
            Ok(_) | Err(_) => return process.wait().ok(),
        }
    }
    None
}
