//! The system calls that no safe library offers, each behind a function that is safe to call. All `unsafe` of this
//! program is here.
#![allow(unsafe_code, reason = "clone, execve, wait4, signalfd and the inherited socket have no safe interface")]

use alloc::vec;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::time::Duration;

use gloveport_supervisor::MAX_DESCRIPTORS;
use rustix::event::{PollFd, Timespec, poll};
use rustix::fd::{BorrowedFd, FromRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::{Errno, IoSlice, Result};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Resource, Signal, WaitOptions, kill_process, waitpid};

use crate::clock::Instant;
use crate::proc;

/// Takes the socket that the host gave as standard input. To be called once, first of all.
pub(crate) fn host_socket() -> OwnedFd {
    // SAFETY: descriptor 0 is open (the host starts this program with the socket there), and nothing else in this
    // program uses standard input.
    unsafe { OwnedFd::from_raw_fd(0) }
}

/// Closes whatever else was inherited from the host: a descriptor of another library without `O_CLOEXEC` must reach
/// no command. From here on everything that this program opens is close-on-exec.
pub(crate) fn close_inherited() {
    // SAFETY: only descriptors are named, and none from 3 on is owned by anything yet.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, c_int::MAX, 0) };
    if closed == 0 {
        return;
    }
    // Before Linux 5.9: one by one.
    let listed = proc::numbers_in(format_args!("/proc/self/fd")).unwrap_or_default();
    for descriptor in listed.into_iter().filter(|descriptor| *descriptor >= 3) {
        // SAFETY: as above; the listing's own descriptor is closed already, and closing it again fails harmlessly.
        unsafe { libc::close(descriptor) };
    }
}

/// Gives every signal its default action, so that a command inherits no ignored one (Node ignores `SIGPIPE`, `nohup`
/// ignores `SIGHUP`), blocks all of them for this program, and returns a descriptor that is readable after a child
/// changed.
pub(crate) fn take_signals() -> Result<OwnedFd> {
    // The kernel's `struct sigaction` of the default action is all zeros and no larger than this. The C library keeps
    // some signals from its callers that a host may have ignored all the same.
    let default = [0u64; 4];
    for signal in 1..=SIGNALS {
        // SAFETY: `default` is as described and outlives the call; signals that cannot be set fail harmlessly.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), ptr::null_mut::<u64>(), SIGNALS / 8) };
    }
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut child = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are written whole before they are read, and outlive the calls.
    let descriptor = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), ptr::null_mut());
        libc::sigemptyset(child.as_mut_ptr());
        libc::sigaddset(child.as_mut_ptr(), libc::SIGCHLD);
        libc::signalfd(-1, child.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    if descriptor < 0 {
        return Err(last_error());
    }
    // SAFETY: the call has just made it, and nobody else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Signals of Linux, on every architecture that Rust's Linux targets have but MIPS.
const SIGNALS: usize = 64;

/// `SCHED_RESET_ON_FORK` of the kernel's `sched.h`.
const RESET_ON_FORK: c_int = 0x4000_0000;

/// Lets this program run before ordinary ones where it may (root): among thousands of processes that fork it would wait
/// for its turn while they multiply. Its children are ordinary again.
pub(crate) fn run_first() {
    // The kernel's `struct sched_param`, with the lowest real-time priority.
    let lowest: c_int = 1;
    // SAFETY: the parameter outlives the call. By number, because musl's own function does nothing. A refusal leaves
    // things as they are.
    unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_RR | RESET_ON_FORK, &raw const lowest);
    }
}

/// What [`wait_any`] found.
pub(crate) enum Waited {
    /// A child ended and is reaped.
    Dead {
        /// Which.
        pid: Pid,
        /// As `waitpid` gives it.
        status: c_int,
        /// Kibibytes of memory that it, or the largest child that it waited for, had at its peak.
        peak_kib: u64,
        /// Microseconds of processor time that it and the children it waited for used.
        cpu_micros: u64,
    },
    /// There are children, and all live.
    Living,
    /// There is no child.
    Nobody,
}

/// Reaps a child that ended, if there is one. Every child of this program is its own, so any may be taken.
pub(crate) fn wait_any() -> Waited {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both places live through the call and are of the types that it writes.
    let pid = unsafe { libc::wait4(-1, &mut status, libc::WNOHANG | libc::__WALL, usage.as_mut_ptr()) };
    // SAFETY: all bits zero is a valid `rusage`, and the call writes nothing else.
    let usage = unsafe { usage.assume_init() };
    match Pid::from_raw(pid) {
        Some(pid) if pid.as_raw_nonzero().get() > 0 => Waited::Dead {
            pid,
            status,
            peak_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
            cpu_micros: micros(usage.ru_utime).saturating_add(micros(usage.ru_stime)),
        },
        Some(_) => Waited::Nobody,
        None => Waited::Living,
    }
}

/// Kills a child that is not the command's, and reaps it; whether it is gone within `time`. One that somebody traces, or that the
/// kernel holds, is not.
pub(crate) fn end_child(pid: Pid, time: Duration) -> bool {
    // It fails only for one that is dead already, and keeps its number until it is reaped.
    let _ = kill_process(pid, Signal::KILL);
    let give_up = Instant::now().after(time);
    loop {
        // By number: no other child is anybody's yet.
        match waitpid(Some(pid), WaitOptions::NOHANG) {
            Ok(None) if !give_up.remaining().is_zero() => {
                let _ = poll(&mut [], Some(&REFUSED_WAIT));
            }
            Ok(None) => return false,
            Err(Errno::INTR) => {}
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}

/// 1 ms in place of a wait that the system refuses.
const REFUSED_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Waits for one of the descriptors, at most `time`; an interrupted wait is a short one. One that is refused takes its time too:
/// a command can take this program's descriptors away, and it runs before the ordinary ones.
pub(crate) fn wait_on(descriptors: &mut [PollFd<'_>], time: Option<&Timespec>) {
    if poll(descriptors, time).is_err_and(|error| error != Errno::INTR) {
        // Of no descriptor at all nothing is refused.
        let _ = poll(&mut [], Some(&REFUSED_WAIT));
    }
}

/// The size of a page of memory.
pub(crate) fn page_bytes() -> u64 {
    // SAFETY: it asks for a number.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0)
}

fn micros(time: libc::timeval) -> u64 {
    let part = |value| u64::try_from(value).unwrap_or(0);
    part(time.tv_sec).saturating_mul(1_000_000).saturating_add(part(time.tv_usec))
}

/// 64 KiB: the child's stack until its `exec`; it calls nothing deep.
const STACK_BYTES: usize = 64 << 10;

/// The stack of one child after another: memory that was used before costs no fault, and its return no word to the other
/// processors.
pub(crate) struct Stack(Vec<MaybeUninit<u128>>);

impl Stack {
    pub(crate) fn new() -> Self {
        Self(vec![MaybeUninit::uninit(); STACK_BYTES / size_of::<u128>()])
    }
}

/// Starts a child that runs `setup` and then the program. It borrows this process's memory until then (as `vfork`
/// does), while this process waits. `setup` must not allocate, lock or panic; when it fails, its error is returned in
/// the place of `Ok`. The outer error is the system's refusal of a new process.
pub(crate) fn start_child<E: Copy>(
    stack: &mut Stack,
    setup: &mut dyn FnMut() -> core::result::Result<(), E>,
    program: &Program<'_>,
    program_failed: fn(c_int) -> E,
) -> Result<(Pid, core::result::Result<(), E>)> {
    let mut plan = Plan { setup, program, program_failed, failure: None };
    let argument = ptr::from_mut(&mut plan).cast::<c_void>();
    // SAFETY: the stack is aligned, large enough, grows down from its end and lives until the child has left this
    // memory, because CLONE_VFORK suspends this process (its only thread) until the child's `exec` or exit; so does
    // the plan, which nobody else touches meanwhile. `run_child::<E>` takes exactly a `Plan<E>`.
    let pid = unsafe {
        libc::clone(
            run_child::<E>,
            stack.0.as_mut_ptr_range().end.cast::<c_void>(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            argument,
        )
    };
    let error = last_error();
    match Pid::from_raw(pid).filter(|pid| pid.as_raw_nonzero().get() > 0) {
        Some(pid) => Ok((pid, plan.failure.map_or(Ok(()), Err))),
        None => Err(error),
    }
}

/// A program with its arguments and environment, as `execve` takes them.
pub(crate) struct Program<'a> {
    path: &'a CStr,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
}

impl<'a> Program<'a> {
    /// `path` is not searched for.
    pub(crate) fn new(
        path: &'a CStr,
        arguments: impl Iterator<Item = &'a CStr>,
        environment: impl Iterator<Item = &'a CStr>,
    ) -> Self {
        fn list<'a>(texts: impl Iterator<Item = &'a CStr>) -> Vec<*const c_char> {
            texts.map(CStr::as_ptr).chain([ptr::null()]).collect()
        }
        Self { path, arguments: list(arguments), environment: list(environment) }
    }
}

struct Plan<'a, E> {
    setup: &'a mut dyn FnMut() -> core::result::Result<(), E>,
    program: &'a Program<'a>,
    program_failed: fn(c_int) -> E,
    failure: Option<E>,
}

extern "C" fn run_child<E>(argument: *mut c_void) -> c_int {
    // SAFETY: `start_child` passes a pointer to a live `Plan<E>` and is suspended while this runs.
    let plan = unsafe { &mut *argument.cast::<Plan<'_, E>>() };
    if let Err(failure) = (plan.setup)() {
        plan.failure = Some(failure);
        return 127;
    }
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written before it is read. The lists end with null and their texts live in `Program<'a>`'s
    // borrows. `execve` returns only when it failed.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
        libc::execve(plan.program.path.as_ptr(), plan.program.arguments.as_ptr(), plan.program.environment.as_ptr());
    }
    plan.failure = Some((plan.program_failed)(last_error().raw_os_error()));
    127
}

/// Whether a process has the limits of this one, every one of them.
pub(crate) fn has_own_limits(process: Pid) -> bool {
    let limit_of = |pid: c_int, resource: c_int| {
        let mut limit = [0u64; 2];
        // SAFETY: the pair is the kernel's `struct rlimit64` and outlives the call; nothing is set.
        let got = unsafe { libc::syscall(libc::SYS_prlimit64, pid, resource, ptr::null::<u64>(), limit.as_mut_ptr()) };
        (got == 0).then_some(limit)
    };
    let pid = process.as_raw_nonzero().get();
    (0..LIMITS).all(|resource| limit_of(pid, resource).is_some_and(|limit| Some(limit) == limit_of(0, resource)))
}

/// 16 limits of Linux.
const LIMITS: c_int = 16;

/// The number of a limit in the kernel.
pub(crate) fn resource_number(resource: Resource) -> u64 {
    resource as u64
}

/// A file in memory that nobody can change any more, under a descriptor from `least` on.
pub(crate) fn sealed(name: &CStr, bytes: &[u8], least: c_int) -> Result<OwnedFd> {
    // Where the system wants programs in memory to be announced it is; before Linux 6.3 nobody knows the flag.
    let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::EXEC)
        .or_else(|_| memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING))?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    rustix::io::fcntl_dupfd_cloexec(&file, least)
}

/// Sends a message with descriptors beside it, whole.
pub(crate) fn send_with<const N: usize>(
    socket: &OwnedFd,
    message: &[u8],
    descriptors: &[BorrowedFd<'_>; N],
    flags: SendFlags,
) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !beside.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::INVAL);
    }
    let sent = sendmsg(socket, &[IoSlice::new(message)], &mut beside, flags | SendFlags::NOSIGNAL)?;
    if sent == message.len() { Ok(()) } else { Err(Errno::MSGSIZE) }
}

/// Makes `descriptor` the one numbered `target`, open across `exec`. Only for a child of [`start_child`], whose table
/// of descriptors is its own.
pub(crate) fn place(descriptor: c_int, target: c_int) -> Result<()> {
    // SAFETY: only numbers are passed; in the child nothing owns the target.
    let placed = unsafe {
        if descriptor == target { libc::fcntl(target, libc::F_SETFD, 0) } else { libc::dup2(descriptor, target) }
    };
    if placed < 0 { Err(last_error()) } else { Ok(()) }
}

/// Why the last call of the C library failed.
fn last_error() -> Errno {
    // SAFETY: the place is this thread's own and always there.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}
