//! The system calls of the file tools, under the names that POSIX gives them: each works on an open handle and at most
//! one name in it, and none follows a link in that name.
//!
//! On Unix they are those of the kernel, by `rustix`. On Windows, which has no such calls, `cap-std` does the same with
//! the handles of that system; with the feature `portable` it does so on Unix as well, so that every test of the walls is
//! run against it on Linux. Everything above this module is one code for all systems.
//!
//! Must never: take a path with a separator, or follow a link.

#[cfg(any(windows, feature = "portable"))]
mod portable;
#[cfg(any(windows, feature = "portable"))]
mod types;
#[cfg(not(any(windows, feature = "portable")))]
mod unix;

#[cfg(any(windows, feature = "portable"))]
pub(crate) use self::portable::*;
#[cfg(any(windows, feature = "portable"))]
pub(crate) use self::types::*;
#[cfg(not(any(windows, feature = "portable")))]
pub(crate) use self::unix::*;

/// Whether `kind`, from `statfs`, is a file system of the kernel. From `linux/magic.h`: proc, sysfs, debugfs, tracefs,
/// securityfs, bpf, cgroup, cgroup2.
#[cfg(target_os = "linux")]
fn is_system_kind(kind: u32) -> bool {
    const SYSTEM: [u32; 8] =
        [0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0xcafe_4a11, 0x0027_e0eb, 0x6367_7270];
    SYSTEM.contains(&kind)
}

/// The first `size` bytes of an open file, or all where there are fewer, when the kernel has them in memory.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(crate) fn cached_bytes(file: &OwnedFd, size: usize) -> Option<Vec<u8>> {
    use rustix::io::{ReadWriteFlags, preadv2};

    let mut bytes = vec![0; size];
    let mut filled = 0;
    while filled < size {
        let rest = &mut [std::io::IoSliceMut::new(&mut bytes[filled..])];
        match preadv2(file, rest, filled as u64, ReadWriteFlags::NOWAIT) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(Errno::INTR) => {}
            // Not there yet, or a file system that cannot tell.
            Err(_) => return None,
        }
    }
    bytes.truncate(filled);
    Some(bytes)
}

/// Elsewhere nobody can tell without waiting.
#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
pub(crate) fn cached_bytes(_: &OwnedFd, _: usize) -> Option<Vec<u8>> {
    None
}
