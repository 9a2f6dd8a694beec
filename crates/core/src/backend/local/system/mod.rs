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
