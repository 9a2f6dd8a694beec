//! Shells that stand by: started ahead of their command, and held before the first instruction of their own.
//!
//! Most of what `sh -c true` costs lies between `exec` and `main`: the kernel makes a new memory, the dynamic linker fills it. None
//! of that depends on the command. So the supervisor starts the shell of the next command while nothing runs, with this library
//! preloaded, whose constructor waits there for the words, variables, descriptors, limits and terminal of a command ([`hold`]). It puts
//! them where the shell finds its own, and returns. Each shell runs one command, and is as new as one that is started for it.
//!
//! The crate is two things of one source. As an ordinary library it says what the two tell each other ([`message`]). Built by the
//! supervisor's build script with `--cfg standby` it is the library that is preloaded: it links nothing, calls nobody, and has no
//! memory but its stack and what it maps. It does nothing in a process that the supervisor did not start.

#![no_std]
#![cfg_attr(standby, no_builtins)]

#[cfg(test)]
extern crate std;

mod message;

pub use message::{
    Answer, DESCRIPTORS, HEADER_BYTES, Header, LIBRARY, LIMITS, Limit, MESSAGE_BYTES, PRELOAD, READY, SOCKET,
};

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod hold;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod system;

#[cfg(standby)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    system::exit(1)
}
