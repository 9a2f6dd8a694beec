//! Commands on a terminal: a pseudo-terminal whose slave side becomes the controlling terminal of the command's session.
//!
//! The master side stays here, non-blocking and close-on-exec. The slave side is opened from the master itself
//! (`TIOCGPTPEER`), never by a name, and is closed here as soon as the supervisor has it: the end of the last process on
//! it is then the end of the output, and every byte before that is read.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::beside::Channel;
use super::running::{Launch, Running};
use super::{CommandRunner, PROCESSES, READ_BYTES};
use crate::backend::process::{Process, ProcessOptions, Recorder, TerminalSize, process};
use crate::backend::{Background, TerminalRequest};
use crate::error::{Error, ErrorKind, Result};

/// 256 KiB are taken from a terminal before anything else gets its turn.
const TURN_BYTES: usize = 256 << 10;

/// What programs on a terminal are told, on top of the backend's environment: a terminal that draws, and that somebody
/// can be asked on.
const TERMINAL_ENVIRONMENT: [(&str, &str); 2] = [("TERM", "xterm-256color"), ("GIT_TERMINAL_PROMPT", "1")];

/// Waits for more than one of these shells prints nothing in between (`sh` without `-i` reads commands silently).
const INTERACTIVE_SHELL: &str =
    "if [ -x /bin/bash ]; then exec /bin/bash --norc --noprofile -i; else exec /bin/sh -i; fi";

impl CommandRunner {
    /// Whether there is a supervisor: terminals can be opened then, and commands are started by handing them over.
    pub fn has_supervisor(&self) -> bool {
        self.supervision.is_some()
    }

    /// Starts a command on a terminal. See [`crate::backend::Shell::open_terminal`].
    pub async fn open_terminal(&self, request: TerminalRequest, directory: OwnedFd) -> Result<Process> {
        let Some(supervision) = &self.supervision else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "Terminals need the supervisor program, which this backend does not have.",
            ));
        };
        let command = request.command.unwrap_or_else(|| INTERACTIVE_SHELL.to_owned());
        self.check(&command, request.limits, Background::End)?;
        self.beside.check()?;
        let (master, slave) = pair(request.size)
            .map_err(|_| Error::new(ErrorKind::Io, "No terminal could be opened: the system has no more of them."))?;
        let own = TERMINAL_ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut limits = request.limits;
        limits.processes.get_or_insert(PROCESSES);
        let launch = Launch {
            command,
            directory,
            environment: self.environment.with(&own)?.with(&request.environment)?,
            limits,
            background: Background::End,
            with_stdin: true,
            terminal: Some(slave),
            is_announced: true,
        };
        let (command, _) = supervision.supervisors.start(&launch).await?;
        // Ours of the slave's descriptors closes here.
        drop(launch);
        let running = Running::Supervised(command.started().await?);
        let terminal =
            Terminal { master: registered(master)?, input: Vec::new(), written: 0, buffer: vec![0; READ_BYTES] };
        let (process, driver) = process(None, ProcessOptions { sink: None, tap: request.tap });
        self.beside.spawn(running, terminal, driver);
        Ok(process)
    }
}

/// A new terminal of that size: master and slave.
fn pair(size: TerminalSize) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    tcsetwinsize(&master, window(size))?;
    rustix::io::ioctl_fionbio(&master, true)?;
    Ok((master, slave))
}

fn window(size: TerminalSize) -> Winsize {
    Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 }
}

#[allow(unsafe_code, reason = "registering a descriptor is unsafe to call; the one use below says why it holds")]
fn registered(master: OwnedFd) -> Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` holds an open descriptor, and nothing takes it out of the `AsyncFd` again, which deregisters
    // it before it closes it.
    unsafe { AsyncFd::register_with_interest(master, Interest::READABLE | Interest::WRITABLE) }
        .map_err(|_| Error::internal("A terminal cannot be waited on."))
}

/// Our side of a terminal.
struct Terminal {
    master: AsyncFd<OwnedFd>,
    input: Vec<u8>,
    written: usize,
    buffer: Vec<u8>,
}

/// What a read of the terminal found.
enum Found {
    /// So many bytes, and there may be more.
    Bytes(usize),
    /// All that there was for now: so many bytes.
    Rest(usize),
    /// Nobody holds the other side any more, and all of the output was read.
    End,
}

impl Terminal {
    fn read(&mut self, recorder: &mut Recorder) -> Found {
        // Fills the buffer before anybody is told: the kernel gives 4 KiB at a time.
        let mut filled = 0;
        let end = loop {
            match rustix::io::read(self.master.get_ref(), &mut self.buffer[filled..]) {
                Ok(0) => break Found::End,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break Found::Rest(filled),
                Err(_) => break Found::End,
            }
            if filled == self.buffer.len() {
                break Found::Bytes(filled);
            }
        };
        if filled > 0 {
            recorder.take_raw(&self.buffer[..filled]);
        }
        end
    }

    fn write(&mut self) {
        while self.written < self.input.len() {
            match rustix::io::write(self.master.get_ref(), &self.input[self.written..]) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // Nobody is there to read it.
                Err(_) => self.written = self.input.len(),
            }
        }
    }
}

impl Channel for Terminal {
    async fn carry(&mut self, recorder: &mut Recorder) -> bool {
        loop {
            let pending = self.written < self.input.len();
            let interest = if pending { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
            let Ok(mut ready) = self.master.ready(interest).await else { return false };
            // Cleared before the attempts: what becomes ready afterwards wakes the next wait.
            ready.clear_ready();
            drop(ready);
            if pending {
                self.write();
            }
            let mut taken = 0;
            loop {
                match self.read(recorder) {
                    Found::Bytes(count) => taken += count,
                    Found::Rest(_) => break,
                    Found::End => return false,
                }
                if taken >= TURN_BYTES {
                    taken = 0;
                    tokio::task::yield_now().await;
                }
            }
            if pending && self.wants_input() {
                return true;
            }
        }
    }

    fn drain(&mut self, recorder: &mut Recorder) {
        // With all of its processes gone the other side is closed: the end comes, after every byte.
        while let Found::Bytes(_) | Found::Rest(1..) = self.read(recorder) {}
    }

    fn wants_input(&self) -> bool {
        self.written == self.input.len()
    }

    fn give(&mut self, bytes: Vec<u8>) {
        // A terminal has no end of input but the key for it.
        self.input = if bytes.is_empty() { vec![END_OF_INPUT] } else { bytes };
        self.written = 0;
        self.write();
    }

    fn resize(&mut self, size: TerminalSize) {
        // It fails only when the terminal is gone.
        let _ = tcsetwinsize(self.master.get_ref().as_fd(), window(size));
    }
}

/// Ctrl-D.
const END_OF_INPUT: u8 = 4;
