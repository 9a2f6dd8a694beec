//! A backend on the other side of a pipe: inside a container, where a program of ours (`gloveport-guest`) serves its local
//! files and commands over standard input and output.
//!
//! ```text
//! frame.rs    length-prefixed frames, decoded without believing a byte of them
//! message.rs  what the two sides say: calls, answers, and questions back
//! serve.rs    the inside: any backend, served until its input ends
//! pipe.rs     the outside's end of the pipe: its reader, its writer, and what waits
//! connection.rs  the outside: many calls at once over one connection
//! answers.rs  what the outside answers in the middle of a call
//! places.rs   whether both sides mean the same directories
//! believe.rs  what the outside believes of an answer
//! beside.rs   the outside of a command that runs beside its caller
//! attend.rs   its inside
//! whole.rs    the whole output of a command, on its way to a file of the outside
//! remote.rs   the traits of a backend over a connection that may be made anew
//! ```
//!
//! Some things stay outside: rules and approvals (the guard of a call), the computing of a file's new content (which may
//! hold a callback of the application), and the taking of output, with the file of what memory does
//! not hold. The inside *asks* for them in the middle of a call. So a
//! guest is as obedient as a local backend while it is our program; once a command inside has taken it over, it can
//! pretend anything about its own files, and nothing else: whatever it sends is bounded, decoded strictly and never
//! used as a host path.

mod answers;
mod attend;
mod believe;
mod beside;
mod connection;
mod frame;
#[cfg(fuzzing)]
pub mod fuzzing;
#[cfg(test)]
mod hostile;
mod message;
mod pipe;
mod places;
mod remote;
mod serve;
mod whole;

pub use self::connection::Connection;
pub use self::message::Setup;
pub use self::places::Places;
pub use self::remote::{Lease, Line, Link, Remote};
pub use self::serve::serve;
