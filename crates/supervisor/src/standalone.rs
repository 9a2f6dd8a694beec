//! What a program without the standard library must bring itself: where it begins, memory, and what a panic does.
#![allow(unsafe_code, reason = "an allocator and an exported `main` are unsafe by their nature")]

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{CStr, c_char, c_int};
use core::panic::PanicInfo;

// Without the standard library nobody else names the C library to the linker.
#[link(name = "c")]
unsafe extern "C" {}

/// Memory of the C library, which aligns as much as any value here needs.
struct Memory;

/// 16 bytes: what `malloc` aligns to on every 64-bit system.
const ALIGNED: usize = 16;

// SAFETY: `malloc` and its kin give what `Layout` asks for, or null; more than they align to is refused.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > ALIGNED {
            return core::ptr::null_mut();
        }
        // SAFETY: any size may be asked for.
        unsafe { libc::malloc(layout.size()).cast() }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _layout: Layout) {
        // SAFETY: the caller got it from `alloc` or `realloc`.
        unsafe { libc::free(memory.cast()) }
    }

    unsafe fn realloc(&self, memory: *mut u8, _layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; the alignment stays what it was.
        unsafe { libc::realloc(memory.cast(), size).cast() }
    }
}

#[global_allocator]
static MEMORY: Memory = Memory;

/// The host sees the socket close and ends what is left.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: it may be called at any time.
    unsafe { libc::abort() }
}

/// The C library calls this.
// SAFETY: no other function of this name is linked.
#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, arguments: *const *const c_char) -> c_int {
    // SAFETY: there are as many words as the C library says, each ended by a NUL.
    let word = (count > 1).then(|| unsafe { CStr::from_ptr(*arguments.add(1)) });
    crate::run(word.is_some_and(|word| word.to_bytes() == gloveport_supervisor::START_AHEAD.as_bytes()))
}
