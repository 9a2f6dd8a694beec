//! The supervisor program that this addon carries.

use std::sync::LazyLock;

use gloveport_core::backend::local::shell::SupervisorProgram;

/// The program, or nothing in an addon that was built without one (see `build.rs`) and where the system takes no program
/// from us. It is made once for the process and never changes.
pub(crate) fn program() -> Option<SupervisorProgram> {
    static PROGRAM: LazyLock<Option<SupervisorProgram>> = LazyLock::new(|| {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor"));
        if bytes.is_empty() { None } else { SupervisorProgram::from_bytes(bytes).ok() }
    });
    PROGRAM.clone()
}
