//! gloveport's program inside a container.
//!
//! `gloveport-guest hold` is the container's first process: it takes in orphans, and ends (and the container with it) when
//! its input does, so that no container outlives the host process that holds the other end. No signal from inside can
//! kill it: the kernel keeps that from the first process.
//!
//! `gloveport-guest serve` is core's local backend behind standard input and output; see [`gloveport_core::backend::guest`].
//! It is Linux only, as containers are.

#[cfg(target_os = "linux")]
mod hold;
#[cfg(target_os = "linux")]
mod serve;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("hold") => hold::hold(),
        Some("serve") => serve::serve(),
        _ => {
            eprintln!("usage: gloveport-guest hold | serve");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}
