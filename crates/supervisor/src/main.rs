//! The supervisor: a program that stands between the host and one command at a time.
//!
//! It exists because three things cannot be done from inside a Node process: doing anything between `fork` and `exec`
//! (which would copy a heap's page tables), being the parent that orphans go to, and acting after the host was killed.
//!
//! It is one thread, knows nothing of paths and rules, and reads no environment. What it runs comes as a
//! [`gloveport_supervisor::Request`]; see that library for what is said, [`supervise`] for the course of a command,
//! [`start`] for how it starts, [`standby`] for shells that are started ahead, [`score`] for who goes when memory runs out, [`tree`] for how its processes are found and ended.
//! It is Linux only: elsewhere the host does what it can by itself.

//!
//! With the feature `standalone`, as it is shipped, it does without the standard library ([`standalone`]).

#![cfg_attr(feature = "standalone", no_std, no_main)]

#[cfg(target_os = "linux")]
extern crate alloc;

#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod elf;
#[cfg(target_os = "linux")]
mod proc;
#[cfg(target_os = "linux")]
mod score;
#[cfg(feature = "standalone")]
mod standalone;
#[cfg(target_os = "linux")]
mod standby;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod usage;

/// Its whole life; returns what it exits with: nothing but 0 says that nothing is left.
#[cfg(target_os = "linux")]
fn run(starts_ahead: bool) -> core::ffi::c_int {
    match supervise::Supervisor::prepare(starts_ahead) {
        Ok(mut supervisor) => {
            let is_clean = supervisor.serve();
            if is_clean { 0 } else { 2 }
        }
        // Nobody to tell: the host sees the socket close.
        Err(_) => 1,
    }
}

#[cfg(not(feature = "standalone"))]
fn main() {
    #[cfg(target_os = "linux")]
    std::process::exit(run(std::env::args_os().nth(1).is_some_and(|word| word == gloveport_supervisor::START_AHEAD)));
}
