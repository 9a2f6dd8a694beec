//! The supervisor: a program that stands between the host and one command at a time.
//!
//! It exists because three things cannot be done from inside a Node process: doing anything between `fork` and `exec`
//! (which would copy a heap's page tables), being the parent that orphans go to, and acting after the host was killed.
//!
//! It is one thread, knows nothing of paths and rules, and reads no environment. What it runs comes as a
//! [`gloveport_supervisor::Request`]; see that library for what is said, [`supervise`] for the course of a command,
//! [`start`] for how it starts, [`tree`] for how its processes are found and ended. It is Linux only: elsewhere the
//! host does what it can by itself.

#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tree;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match supervise::Supervisor::prepare() {
        Ok(mut supervisor) => {
            supervisor.serve();
            std::process::ExitCode::SUCCESS
        }
        // Nobody to tell: the host sees the socket close.
        Err(_) => std::process::ExitCode::FAILURE,
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}
