//! The Node.js addon: the only Rust that names napi. It converts values and holds no behaviour.
//!
//! Structured values cross as JSON text, which both sides parse faster than the other side's objects; long text and
//! bytes cross as themselves. An outcome is data, also when it is a failure: the TypeScript facade makes typed errors of
//! it. Every synchronous export catches panics, because one that escapes would end the Node process.

mod audit;
mod backend;
mod convert;
mod docker;
mod environment;
mod hashline;
mod host;
mod options;
mod permissions;
mod process;
mod remote;
mod sandbox;
mod start;
mod state;
mod stream;
#[cfg(target_os = "linux")]
mod supervisor;
mod toolset;

pub use audit::{NativeAuditLog, NativeAuditLogMade, mask_json, shown_to_person};
pub use backend::{NativeBackend, NativeBackendMade};
pub use convert::{NativeCancel, NativeError, NativeOutcome};
pub use docker::{NativeDocker, NativeDockerMade, builtin_runtimes_json, define_runtime};
pub use hashline::{apply_hashline_edit, format_hashline_output, line_hash};
pub use permissions::{NativeChecker, NativeCheckerMade, analyze_command, create_ruleset, presets};
pub use process::NativeProcess;
pub use remote::NativeAnswer;
pub use sandbox::{NativeSandbox, NativeSandboxMade};
pub use state::{NativeState, NativeStateMade};
pub use stream::{NativeReader, NativeReaderMade, NativeWriter, NativeWriterMade};
pub use toolset::{NativeToolset, NativeToolsetMade};
