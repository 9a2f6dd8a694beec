//! The two ends of the connection into a container: whatever either hears, calls and the guest end, in bounds.
#![no_main]

use gloveport_core::backend::guest::fuzzing::{frames, guest_hears, host_hears};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first byte says who hears the others, and whether they are frames already.
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let framed;
    let bytes = if kind & 2 == 0 {
        framed = frames(bytes);
        &framed
    } else {
        bytes
    };
    if kind & 1 == 0 { host_hears(bytes) } else { guest_hears(bytes) }
});
