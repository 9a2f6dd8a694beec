//! The shell of the next command, started ahead while nothing runs and held before its first own instruction (`gloveport-standby`
//! says how). It is a child like any command, and holds nothing of one: what it is to run comes to it when it is ordered.
//!
//! There is one at the most, and none while a command runs, so that every child of this program is the command's. What cannot be such
//! a shell's is started as ever: another program, a script, a low ceiling on memory (which the start itself must feel), variables that
//! the dynamic linker reads, more than a message takes; also where the shell is not what it was, or does not answer. What was held
//! then ends, and behind a command that could not be one none is held: the next is most often like it. A shell that cannot be held (another C library than glibc, a static one, one that other libraries are loaded into, a
//! system that refuses) is not tried again.

use alloc::vec::Vec;
use core::ffi::CStr;
use core::iter;
use core::time::Duration;

use gloveport_standby::{Answer, HEADER_BYTES, Header, LIBRARY, LIMITS, Limit, MESSAGE_BYTES, PRELOAD, READY, SOCKET};
use gloveport_supervisor::{Request, Stage};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Stat, stat};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, shutdown, socketpair};
use rustix::process::{Pid, Resource, Rlimit};

use crate::elf::is_run_by_glibc;
use crate::start::{Descriptors, Failure, begin_session, failed};
use crate::sys::{self, Program, Stack};
use crate::tree::END_WAIT;

/// The library as a file, for a Linux that it is built for.
#[cfg(has_standby)]
const LIBRARY_FILE: &[u8] = include_bytes!(env!("GLOVEPORT_STANDBY"));
#[cfg(not(has_standby))]
const LIBRARY_FILE: &[u8] = &[];

const SHELL: &CStr = c"/bin/sh";
/// The words before the command.
const WORDS: [&CStr; 3] = [SHELL, c"-c", c"--"];
/// 128 variables besides the library's: several times what commands get unless an application passes all on.
const VARIABLES: usize = 128;
/// What the dynamic linker and the C library read before a shell begins.
const READ_EARLY: [&[u8]; 3] = [b"LD_", b"GLIBC_TUNABLES=", b"MALLOC_"];
/// 64 MiB: no start of a shell comes near a ceiling on memory that is as high.
const START_BYTES: u64 = 64 << 20;
/// 100 ms for a held shell to say a word. It takes 1 ms; a stopped one says nothing.
const ANSWER_WAIT: Duration = Duration::from_millis(100);
/// 3 shells in a row that could not be held, or given a command: then none can.
const FAILURES: u32 = 3;
/// Names libraries that the dynamic linker loads into every program: their constructors are to see the command.
const PRELOADED: &CStr = c"/etc/ld.so.preload";
/// 10: descriptors from here on are in nobody's way.
const ABOVE: i32 = 10;

/// The shell that stands by, or may.
pub(crate) struct Standby {
    library: Option<OwnedFd>,
    held: Option<Held>,
    /// Whether the last command could have been such a shell's.
    is_suited: bool,
    failures: u32,
}

struct Held {
    pid: Pid,
    socket: OwnedFd,
    shell: Stat,
}

impl Standby {
    /// None yet, and none ever where that is not wanted.
    pub(crate) fn new(is_wanted: bool) -> Self {
        let can_be = is_wanted && !LIBRARY_FILE.is_empty();
        Self { library: None, held: None, is_suited: true, failures: if can_be { 0 } else { FAILURES } }
    }

    /// Whether one might be started ahead.
    pub(crate) fn is_wanted(&self) -> bool {
        self.held.is_none() && self.is_suited && self.failures < FAILURES
    }

    /// Starts one ahead. `empty` is what it has in place of descriptors.
    pub(crate) fn prepare(&mut self, empty: &OwnedFd, stack: &mut Stack) {
        if self.is_wanted() {
            self.held = self.hold(empty, stack);
            if self.held.is_none() {
                self.failures += 1;
            }
        }
    }

    fn hold(&mut self, empty: &OwnedFd, stack: &mut Stack) -> Option<Held> {
        if self.library.is_none() {
            if !is_run_by_glibc(SHELL) {
                self.give_up();
                return None;
            }
            self.library = Some(sys::sealed(c"gloveport-standby", LIBRARY_FILE, ABOVE).ok()?);
        }
        let library = self.library.as_ref()?;
        let shell = stat(SHELL).ok().filter(|_| is_nothing_preloaded())?;
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).ok()?;
        let theirs = rustix::io::fcntl_dupfd_cloexec(&theirs, ABOVE).ok()?;
        // One place for each variable that may come.
        let variables = iter::once(PRELOAD).chain(iter::repeat_n(c"_=", VARIABLES));
        let program = Program::new(SHELL, WORDS.into_iter().chain([c":"]), variables);
        let mut setup = || {
            begin_session()?;
            for (descriptor, target) in [(empty, 0), (empty, 1), (empty, 2), (&theirs, SOCKET), (library, LIBRARY)] {
                sys::place(descriptor.as_raw_fd(), target).map_err(failed(Stage::Setup))?;
            }
            Ok(())
        };
        let failure = |errno| Failure { stage: Stage::Program, errno };
        match sys::start_child(stack, &mut setup, &program, failure).ok()? {
            (pid, Ok(())) => Some(Held { pid, socket, shell }),
            (pid, Err(_)) => {
                sys::end_child(pid, END_WAIT);
                None
            }
        }
    }

    /// None any more, ever.
    pub(crate) fn give_up(&mut self) {
        self.failures = FAILURES;
    }

    /// Starts a command as the shell that is held; `None` where that is not to be: then there is none any more.
    pub(crate) fn start(
        &mut self,
        request: &Request,
        descriptors: &Descriptors,
        empty: &OwnedFd,
        limits: &[(Resource, Rlimit)],
    ) -> Option<Result<Pid, Failure>> {
        let message = message_of(request, limits);
        self.is_suited = message.is_some();
        let held = self.held.take()?;
        let answer = message.map(|message| {
            let can_ask = held.is_unchanged() && held.is_ready();
            if can_ask { held.ask(&message, descriptors, empty) } else { None }
        });
        let failure = match answer {
            Some(Some(Answer::Runs)) => {
                self.failures = 0;
                return Some(Ok(held.pid));
            }
            Some(Some(Answer::Directory(errno))) => Some(Err(Failure { stage: Stage::Directory, errno })),
            // The system's own way of saying no is the better one; or somebody meddled with the shell.
            Some(Some(Answer::Setup(_)) | None) => {
                self.failures += 1;
                None
            }
            None => None,
        };
        // Beside one that does not go away no command can be told from it.
        if held.end() { failure } else { Some(Err(Failure { stage: Stage::Process, errno: libc::EAGAIN })) }
    }

    /// Ends what is held.
    pub(crate) fn dismiss(&mut self) {
        if let Some(held) = self.held.take() {
            held.end();
        }
    }
}

impl Held {
    /// Whether the shell of the machine is the one that was started, and the limits of what was are this program's: others of the
    /// user may change those of any process.
    fn is_unchanged(&self) -> bool {
        let identity = |shell: &Stat| (shell.st_dev, shell.st_ino, shell.st_size, shell.st_ctime, shell.st_ctime_nsec);
        stat(SHELL).is_ok_and(|shell| identity(&shell) == identity(&self.shell))
            && is_nothing_preloaded()
            && sys::has_own_limits(self.pid)
    }

    fn is_ready(&self) -> bool {
        let mut word = [0];
        self.hears() && recv(&self.socket, &mut word, RecvFlags::DONTWAIT).is_ok() && word == [READY]
    }

    /// Hands a command over, and takes the answer; without one the shell runs nothing.
    fn ask(&self, message: &[u8], descriptors: &Descriptors, empty: &OwnedFd) -> Option<Answer> {
        sys::send_with(&self.socket, message, &descriptors.in_order(empty), SendFlags::DONTWAIT).ok()?;
        if !self.hears() {
            // What it said by now is to be believed; from here on it cannot say that it runs, and so does not.
            shutdown(&self.socket, Shutdown::Both).ok()?;
        }
        let mut answer = [0; Answer::BYTES];
        match recv(&self.socket, &mut answer, RecvFlags::DONTWAIT) {
            Ok((Answer::BYTES, _)) => Answer::decode(answer),
            Ok(_) | Err(_) => None,
        }
    }

    /// Waits until the shell says something, or its end of the socket closes.
    fn hears(&self) -> bool {
        let mut socket = [PollFd::new(&self.socket, PollFlags::IN)];
        sys::wait_on(&mut socket, Timespec::try_from(ANSWER_WAIT).ok().as_ref());
        !socket[0].revents().is_empty()
    }

    /// Ends it; whether it is gone.
    fn end(self) -> bool {
        sys::end_child(self.pid, END_WAIT)
    }
}

/// Whether no other library is loaded into every program.
fn is_nothing_preloaded() -> bool {
    stat(PRELOADED).map_or(true, |list| list.st_size == 0)
}

/// What tells a held shell its command; `None` for one that it cannot run.
fn message_of(request: &Request, limits: &[(Resource, Rlimit)]) -> Option<Vec<u8>> {
    let is_shell = request.arguments.len() == WORDS.len() + 1
        && request.arguments.iter().zip(WORDS).all(|(argument, word)| argument.as_c_str() == word);
    let is_early = |variable: &[u8]| READ_EARLY.iter().any(|name| variable.starts_with(name));
    let is_suitable = is_shell
        && !request.has_script
        && request.limits.memory_bytes.is_none_or(|most| most >= START_BYTES)
        && request.environment.len() <= VARIABLES
        && !request.environment.iter().any(|variable| is_early(variable.as_bytes()));
    if !is_suitable || limits.len() > LIMITS {
        return None;
    }
    let mut message = Vec::from([0; HEADER_BYTES]);
    for text in &request.arguments {
        message.extend_from_slice(text.as_bytes_with_nul());
    }
    let argument_bytes = message.len() - HEADER_BYTES;
    for text in &request.environment {
        message.extend_from_slice(text.as_bytes_with_nul());
    }
    let mut header = Header {
        argument_bytes: u32::try_from(argument_bytes).ok()?,
        environment_bytes: u32::try_from(message.len() - HEADER_BYTES - argument_bytes).ok()?,
        limit_count: u32::try_from(limits.len()).ok()?,
        is_terminal: request.is_terminal.into(),
        ..Header::default()
    };
    for (place, (resource, limit)) in header.limits.iter_mut().zip(limits) {
        let number = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        *place = Limit {
            resource: sys::resource_number(*resource),
            current: number(limit.current),
            maximum: number(limit.maximum),
        };
    }
    message[..HEADER_BYTES].copy_from_slice(&header.bytes());
    (message.len() <= MESSAGE_BYTES).then_some(message)
}
