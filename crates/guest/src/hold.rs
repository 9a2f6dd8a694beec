//! The first process of a container.

use std::io::{Read, stdin};
use std::process::ExitCode;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Waits until the input ends. What is written to it is nothing but a sign of life.
pub(crate) fn hold() -> ExitCode {
    // A command of the same user may not open this input through `/proc`: whoever held it would keep the container past its host.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    reap_by_itself();
    let mut buffer = [0; 256];
    loop {
        match stdin().lock().read(&mut buffer) {
            Ok(0) => return ExitCode::SUCCESS,
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return ExitCode::FAILURE,
            Ok(_) | Err(_) => {}
        }
    }
}

/// Lets the kernel remove orphans as they end: a first process that ignores the end of its children needs no loop.
#[allow(unsafe_code, reason = "no safe interface sets what a signal does")]
fn reap_by_itself() {
    // SAFETY: no handler is installed, only the fixed one that ignores; no other thread runs yet.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}
