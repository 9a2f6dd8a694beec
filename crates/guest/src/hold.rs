//! The first process of a container.

use std::io::{Read, Write, stdin, stdout};
use std::process::ExitCode;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Waits until the input ends. What is written to it means: end everything else in here, and say so. Only this process can: a
/// command that has killed whoever started it is nobody's but ours.
pub(crate) fn hold() -> ExitCode {
    // A command of the same user may not open this input through `/proc`: whoever held it would keep the container past its host.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    reap_by_itself();
    let mut buffer = [0; 256];
    loop {
        match stdin().lock().read(&mut buffer) {
            Ok(0) => return ExitCode::SUCCESS,
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return ExitCode::FAILURE,
            Ok(_) => {
                end_all_others();
                // Whoever asked may have gone.
                let mut output = stdout().lock();
                let _ = output.write_all(b".").and_then(|()| output.flush());
            }
            Err(_) => {}
        }
    }
}

/// One call, in which no process can fork away: the kernel goes through them all while none begins.
#[allow(unsafe_code, reason = "no safe interface sends a signal to every process")]
fn end_all_others() {
    // SAFETY: a number is sent, no memory is touched. It reaches all processes of this container but this one, its first.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Lets the kernel remove orphans as they end: a first process that ignores the end of its children needs no loop.
#[allow(unsafe_code, reason = "no safe interface sets what a signal does")]
fn reap_by_itself() {
    // SAFETY: no handler is installed, only the fixed one that ignores; no other thread runs yet.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}
