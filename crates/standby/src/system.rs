//! The kernel, asked without a C library: one whose constructors have not run must not be called. Numbers and layouts are those of
//! the kernel's own headers.
#![allow(unsafe_code, reason = "system calls by number have no safe interface")]

use core::arch::asm;
use core::ffi::{CStr, c_int};

/// Why a call was refused.
pub(crate) type Errno = i32;
pub(crate) type Result<T> = core::result::Result<T, Errno>;

/// 4,095: the largest error number that a call returns, negated.
const MAX_ERRNO: isize = 4_095;
pub(crate) const EINTR: Errno = 4;

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const READ: usize = 0;
    pub(super) const CLOSE: usize = 3;
    pub(super) const MMAP: usize = 9;
    pub(super) const BRK: usize = 12;
    pub(super) const IOCTL: usize = 16;
    pub(super) const SENDTO: usize = 44;
    pub(super) const RECVMSG: usize = 47;
    pub(super) const FCHDIR: usize = 81;
    pub(super) const PRCTL: usize = 157;
    pub(super) const EXIT_GROUP: usize = 231;
    pub(super) const OPENAT: usize = 257;
    pub(super) const DUP3: usize = 292;
    pub(super) const PRLIMIT64: usize = 302;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const DUP3: usize = 24;
    pub(super) const IOCTL: usize = 29;
    pub(super) const FCHDIR: usize = 50;
    pub(super) const OPENAT: usize = 56;
    pub(super) const CLOSE: usize = 57;
    pub(super) const READ: usize = 63;
    pub(super) const EXIT_GROUP: usize = 94;
    pub(super) const PRCTL: usize = 167;
    pub(super) const SENDTO: usize = 206;
    pub(super) const RECVMSG: usize = 212;
    pub(super) const BRK: usize = 214;
    pub(super) const MMAP: usize = 222;
    pub(super) const PRLIMIT64: usize = 261;
}

/// # Safety
/// As the call of that number asks for.
unsafe fn call(number: usize, arguments: [usize; 6]) -> Result<usize> {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel changes these registers, and memory as the caller vouches for.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    if (-MAX_ERRNO..0).contains(&result) { Err(-result as Errno) } else { Ok(result as usize) }
}

/// Ends this process.
pub(crate) fn exit(code: c_int) -> ! {
    loop {
        // SAFETY: it takes a number, and does not return.
        let _ = unsafe { call(number::EXIT_GROUP, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

pub(crate) fn close(descriptor: c_int) {
    // SAFETY: nothing here owns a descriptor but by its number.
    let _ = unsafe { call(number::CLOSE, [descriptor as usize, 0, 0, 0, 0, 0]) };
}

/// Makes `descriptor` the one numbered `target`, open across `exec`.
pub(crate) fn place(descriptor: c_int, target: c_int) -> Result<()> {
    // SAFETY: as for `close`.
    unsafe { call(number::DUP3, [descriptor as usize, target as usize, 0, 0, 0, 0]) }.map(drop)
}

pub(crate) fn enter(directory: c_int) -> Result<()> {
    // SAFETY: only a number is passed.
    unsafe { call(number::FCHDIR, [directory as usize, 0, 0, 0, 0, 0]) }.map(drop)
}

/// `TIOCSCTTY`: makes a terminal the one of this session, of which this process is the leader.
pub(crate) fn take_terminal(terminal: c_int) -> Result<()> {
    const TIOCSCTTY: usize = 0x540E;
    // SAFETY: only numbers are passed.
    unsafe { call(number::IOCTL, [terminal as usize, TIOCSCTTY, 0, 0, 0, 0]) }.map(drop)
}

pub(crate) fn set_limit(resource: u64, current: u64, maximum: u64) -> Result<()> {
    let limit = [current, maximum];
    // SAFETY: the pair is the kernel's `struct rlimit64` and outlives the call; 0 is this process.
    unsafe { call(number::PRLIMIT64, [0, resource as usize, limit.as_ptr() as usize, 0, 0, 0]) }.map(drop)
}

/// Whether other processes of this user may trace this one and open its memory: 1, or 0.
pub(crate) fn dumpable() -> Result<usize> {
    const PR_GET_DUMPABLE: usize = 3;
    // SAFETY: only numbers are passed.
    unsafe { call(number::PRCTL, [PR_GET_DUMPABLE, 0, 0, 0, 0, 0]) }
}

pub(crate) fn set_dumpable(is_dumpable: usize) -> Result<()> {
    const PR_SET_DUMPABLE: usize = 4;
    // SAFETY: only numbers are passed.
    unsafe { call(number::PRCTL, [PR_SET_DUMPABLE, is_dumpable, 0, 0, 0, 0]) }.map(drop)
}

/// Where the heap ends.
pub(crate) fn heap_end() -> u64 {
    // SAFETY: an end of 0 changes nothing.
    unsafe { call(number::BRK, [0; 6]) }.unwrap_or(0) as u64
}

/// The kernel's `struct prctl_mm_map`: where the parts of a process lie, for `/proc`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Places {
    pub(crate) code: [u64; 2],
    pub(crate) data: [u64; 2],
    pub(crate) heap: [u64; 2],
    pub(crate) stack: u64,
    pub(crate) arguments: [u64; 2],
    pub(crate) environment: [u64; 2],
    auxiliary: u64,
    auxiliary_bytes: u32,
    executable: u32,
}

impl Places {
    /// `PR_SET_MM_MAP`: tells the kernel that they lie there. The program of the process and its auxiliary vector stay what they are.
    pub(crate) fn tell(mut self) -> Result<()> {
        const PR_SET_MM: usize = 35;
        const PR_SET_MM_MAP: usize = 14;
        (self.auxiliary, self.auxiliary_bytes, self.executable) = (0, 0, u32::MAX);
        let arguments = [PR_SET_MM, PR_SET_MM_MAP, (&raw const self) as usize, size_of::<Self>(), 0, 0];
        // SAFETY: the structure is the kernel's and outlives the call. What the kernel is told is shown to others, and moves nothing.
        unsafe { call(number::PRCTL, arguments) }.map(drop)
    }
}

/// The beginning of a file, as much as fits.
pub(crate) fn read_file(path: &CStr, buffer: &mut [u8]) -> Result<usize> {
    const AT_FDCWD: isize = -100;
    const O_CLOEXEC: usize = 0o2_000_000;
    // SAFETY: the path ends with a NUL and outlives the call.
    let file = unsafe { call(number::OPENAT, [AT_FDCWD as usize, path.as_ptr() as usize, O_CLOEXEC, 0, 0, 0]) }?;
    // SAFETY: the buffer is as long as is said, and outlives the call.
    let count = unsafe { call(number::READ, [file, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0]) };
    close(file as c_int);
    count
}

/// Memory of this process alone, all zeros, that is never given back.
pub(crate) fn map(bytes: usize) -> Result<&'static mut [u8]> {
    const READ_WRITE: usize = 1 | 2;
    const PRIVATE_ANONYMOUS: usize = 0x02 | 0x20;
    // SAFETY: the kernel chooses the place; nobody else has it.
    unsafe {
        let place = call(number::MMAP, [0, bytes, READ_WRITE, PRIVATE_ANONYMOUS, usize::MAX, 0])?;
        Ok(core::slice::from_raw_parts_mut(place as *mut u8, bytes))
    }
}

/// Sends a message.
pub(crate) fn send(socket: c_int, bytes: &[u8]) -> Result<()> {
    const MSG_NOSIGNAL: usize = 0x4000;
    // SAFETY: the bytes outlive the call.
    let sent =
        unsafe { call(number::SENDTO, [socket as usize, bytes.as_ptr() as usize, bytes.len(), MSG_NOSIGNAL, 0, 0]) };
    sent.map(drop)
}

/// The kernel's `struct msghdr` and `struct iovec`.
#[repr(C)]
struct MessageHeader {
    name: usize,
    name_bytes: usize,
    pieces: *mut Piece,
    piece_count: usize,
    control: *mut u8,
    control_bytes: usize,
    flags: c_int,
}

#[repr(C)]
struct Piece {
    base: *mut u8,
    bytes: usize,
}

/// The kernel's `struct cmsghdr` with descriptors behind it.
#[repr(C)]
struct Control<const N: usize> {
    bytes: usize,
    level: c_int,
    kind: c_int,
    descriptors: [c_int; N],
}

/// Waits for a message with exactly `N` descriptors beside it. How many bytes it has; none at the end of the socket.
pub(crate) fn receive<const N: usize>(socket: c_int, buffer: &mut [u8]) -> Result<(usize, [c_int; N])> {
    const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;
    const SOL_SOCKET: c_int = 1;
    const SCM_RIGHTS: c_int = 1;
    const EBADMSG: Errno = 74;
    let mut piece = Piece { base: buffer.as_mut_ptr(), bytes: buffer.len() };
    let mut control = Control { bytes: 0, level: 0, kind: 0, descriptors: [-1; N] };
    let mut header = MessageHeader {
        name: 0,
        name_bytes: 0,
        pieces: &raw mut piece,
        piece_count: 1,
        control: (&raw mut control).cast(),
        control_bytes: size_of_val(&control),
        flags: 0,
    };
    // SAFETY: the header and what it points at are the kernel's structures, as long as they say, and outlive the call.
    let count =
        unsafe { call(number::RECVMSG, [socket as usize, (&raw mut header) as usize, MSG_CMSG_CLOEXEC, 0, 0, 0]) }?;
    let expected = core::mem::offset_of!(Control<N>, descriptors) + size_of::<[c_int; N]>();
    let is_whole = (control.bytes, control.level, control.kind) == (expected, SOL_SOCKET, SCM_RIGHTS);
    // 0 bytes are the end of the socket, with nothing beside them.
    if count > 0 && !is_whole { Err(EBADMSG) } else { Ok((count, control.descriptors)) }
}

/// What the compiler asks a C library for. The linker gives them their usual names within this library and to nobody else: exported
/// they would take the place of the C library's in the shell.
#[cfg(standby)]
mod asked {
    use core::ffi::{c_char, c_int};

    /// # Safety
    /// As `memcpy` of C.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn gloveport_standby_memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
        for index in 0..count {
            // SAFETY: the caller vouches for so many bytes.
            unsafe { *to.add(index) = *from.add(index) };
        }
        to
    }

    /// # Safety
    /// As `memmove` of C.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn gloveport_standby_memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
        for step in 0..count {
            let index = if to.cast_const() < from { step } else { count - 1 - step };
            // SAFETY: the caller vouches for so many bytes.
            unsafe { *to.add(index) = *from.add(index) };
        }
        to
    }

    /// # Safety
    /// As `memset` of C.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn gloveport_standby_memset(to: *mut u8, byte: c_int, count: usize) -> *mut u8 {
        for index in 0..count {
            // SAFETY: the caller vouches for so many bytes.
            unsafe { *to.add(index) = byte as u8 };
        }
        to
    }

    /// # Safety
    /// As `memcmp` of C.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn gloveport_standby_memcmp(one: *const u8, other: *const u8, count: usize) -> c_int {
        for index in 0..count {
            // SAFETY: the caller vouches for so many bytes.
            let (a, b) = unsafe { (*one.add(index), *other.add(index)) };
            if a != b {
                return c_int::from(a) - c_int::from(b);
            }
        }
        0
    }

    /// # Safety
    /// As `strlen` of C.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn gloveport_standby_strlen(text: *const c_char) -> usize {
        let mut length = 0;
        // SAFETY: the caller vouches for a text that ends.
        while unsafe { *text.add(length) } != 0 {
            length += 1;
        }
        length
    }

    /// Nothing here unwinds; parts of Rust's own library name it all the same.
    #[unsafe(no_mangle)]
    extern "C" fn gloveport_standby_personality() {
        super::exit(1)
    }
}
