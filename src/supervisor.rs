//! The supervisor program that this addon carries.

use std::sync::LazyLock;

use gloveport_core::backend::local::shell::SupervisorProgram;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// 8 MiB: many times what the program is.
const MAX_BYTES: usize = 8 << 20;

/// The program, or nothing in an addon that was built without one (see `build.rs`) and where the system takes no program
/// from us. It is made once for the process and never changes.
pub(crate) fn program() -> Option<SupervisorProgram> {
    static PROGRAM: LazyLock<Option<SupervisorProgram>> = LazyLock::new(|| {
        let packed = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor"));
        let bytes = decompress_to_vec_zlib_with_limit(packed, MAX_BYTES).ok()?;
        if bytes.is_empty() { None } else { SupervisorProgram::from_bytes(&bytes).ok() }
    });
    PROGRAM.clone()
}
