//! What a container engine says, and what the program inside a container says: any bytes end, in bounds.
#![no_main]

use gloveport_core::backend::docker::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first byte says in which pieces the others come.
    let Some((piece, bytes)) = bytes.split_first() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(fuzzing::hear(bytes, usize::from(*piece) + 1));
});
