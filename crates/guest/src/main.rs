//! gloveport's program inside a container.
//!
//! `gloveport-guest hold` is the container's first process: it takes in orphans, and ends (and the container with it) when
//! its input does, so that no container outlives the host process that holds the other end. No signal from inside can
//! kill it: the kernel keeps that from the first process. Told so by its input, it ends everything else inside.
//!
//! `gloveport-guest serve` is core's local backend behind standard input and output; see [`gloveport_core::backend::guest`]. With
//! `held` whoever is there can have the first process end everything, and it ends itself where only that helps. With `sent` it was
//! put into somebody else's container for this one run, and removes its own file first: whoever dies, nothing of it stays.
//! It is Linux only, as containers are.

#[cfg(target_os = "linux")]
mod hold;
#[cfg(target_os = "linux")]
mod serve;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("hold") => hold::hold(),
        Some("serve") => serve::serve(std::env::args().nth(2).as_deref().unwrap_or_default()),
        _ => {
            eprintln!("usage: gloveport-guest hold | serve [held | sent]");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}
