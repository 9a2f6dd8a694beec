//! What commands were allowed to leave behind: each lives with its supervisor until it ends by itself, or all do
//! because the backend is closed or dropped.

use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::pipes::Pipes;
use super::supervised::Supervised;
use crate::backend::capture::Capture;
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};

/// 64 commands with something in the background: more than that is a mistake, and each holds a supervisor.
const KEPT: usize = 64;

/// The commands of one backend that left something running. Dropping it drops each, which ends it.
#[derive(Debug, Default)]
pub(super) struct Kept {
    commands: Mutex<JoinSet<()>>,
    end: CancelToken,
}

impl Kept {
    /// Whether one more may be started: `Busy` when there are too many, `Closed` after [`Kept::end`].
    pub(super) fn check(&self) -> Result<()> {
        if self.end.is_cancelled() {
            return Err(Error::new(ErrorKind::Closed, "The backend is closed."));
        }
        let mut commands = self.commands.lock();
        while commands.try_join_next().is_some() {}
        if commands.len() >= KEPT {
            return Err(Error::new(
                ErrorKind::Busy,
                format!("{KEPT} commands have left processes in the background; end one of them first."),
            ));
        }
        Ok(())
    }

    /// Keeps a command and the pipes that its processes hold. What they print goes nowhere.
    pub(super) fn keep(&self, mut command: Supervised, mut pipes: Pipes) {
        let end = self.end.clone();
        self.commands.lock().spawn(async move {
            let mut nowhere = Capture::new(0, None, None);
            tokio::select! {
                () = command.over() => {}
                () = async { pipes.carry(&mut nowhere).await; std::future::pending().await } => {}
                () = end.cancelled() => {}
            }
            // Nobody asks how it ended.
            drop(command.end().await);
        });
    }

    /// Ends all of them.
    pub(super) async fn end(&self) {
        self.end.cancel();
        let mut commands = std::mem::take(&mut *self.commands.lock());
        while commands.join_next().await.is_some() {}
    }
}
