//! Files and a shell inside a container of Docker, Podman, or whatever speaks their protocol.
//!
//! ```text
//! options.rs    what an author sets
//! engine.rs     finds an engine and says what was tried when there is none
//! spec.rs       options → the container as the engine is asked for it; hardened unless told otherwise
//! handed_out.rs directories of this machine that no container is given
//! guest.rs      the guest program: loaded, uploaded into a container that is not running, or through a command
//! container.rs  the life of one container: lent, held, connected to
//! idle.rs       when nobody uses it
//! interrupt.rs  how a stop ends what is under way
//! ending.rs     stopped, idle, closed, or ended by itself
//! look.rs       seen from outside, without waiting
//! locks.rs      one at a time, of what has the same name
//! between.rs    the same among the processes of this machine
//! names.rs      users of an image that it only names
//! make.rs       how it comes to run: found by its name, or made, with the guest in it
//! mounts.rs     files of this machine's directories, their use counted as the container's
//! calls.rs      the engine's calls as these two need them
//! settling.rs   asked again, while the engine still cleans up
//! client/       how they travel: HTTP over a socket, or through ssh
//! by_shell.rs   a container that takes no program of ours, served through its shell
//! owner.rs      whose container it is; removes what processes that died left behind
//! walls.rs      what only a new container can be given, and whether one that exists has it
//! usage.rs      memory, processor and processes
//! room.rs       what an engine could hold besides
//! runtime.rs    an image described by its packages, as a Dockerfile that nothing can be injected into
//! install.rs    the part of it that installs the packages
//! builtin.rs    descriptions that come along
//! digest.rs     what names it by its content
//! image.rs      images: pulled, or built once and kept by their content
//! build.rs      who builds them, and how it is asked
//! trace.rs      what BuildKit says meanwhile
//! backend.rs    the traits
//! ```
//!
//! The container is the wall. Its first process is ours and ends with the connection that this process holds to it, so a
//! host that dies takes the container along. Commands and files go through a second process of ours inside
//! ([`super::guest`]); files of mounts do not: they lie on this machine and are opened by the local backend, which is
//! safe against whatever runs in the container at that moment. The engine's own archive endpoint is used for one thing
//! only: putting the guest into a container in which nothing runs (R-DK-4).

mod backend;
mod between;
mod build;
mod builtin;
mod by_shell;
mod calls;
mod client;
mod container;
mod digest;
mod ending;
mod engine;
mod guest;
mod handed_out;
mod idle;
mod image;
mod install;
mod interrupt;
#[cfg(test)]
mod life_tests;
mod locks;
mod look;
mod make;
mod mounts;
mod names;
mod options;
mod owner;
mod room;
mod runtime;
#[cfg(test)]
mod samples;
mod settling;
mod spec;
mod trace;
mod usage;
mod walls;

pub use self::backend::{DockerBackend, Health};
pub use self::build::Builder;
pub use self::builtin::{builtin_runtime, builtin_runtimes};
#[cfg(fuzzing)]
pub use self::client::fuzzing;
pub use self::guest::GuestProgram;
pub use self::image::BuildProgress;
pub use self::options::{DockerOptions, Notices, Pull};
pub use self::room::{Room, engine_room};
pub use self::runtime::{PackageManager, Runtime, dockerfile, image_tag};
pub use self::usage::Usage;
