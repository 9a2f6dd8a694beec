//! Commands on a terminal: a pseudo-terminal whose slave side becomes the controlling terminal of the command's session.
//!
//! The master side stays here, non-blocking and close-on-exec. The slave side is opened from the master itself
//! (`TIOCGPTPEER`), never by a name, and is closed here as soon as the supervisor has it: the end of the last process on
//! it is then the end of the output, and every byte before that is read.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{InputModes, LocalModes, Winsize, tcgetattr, tcsetwinsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::beside::Channel;
use super::flood::{Flood, Pace};
use super::hatch::{self, Hatch};
use super::room::{Room, watched};
use super::running::{Launch, Running};
use super::screen::{Found, Screen, Watched};
use super::{CommandRunner, PROCESSES};
use crate::backend::intake::{Door, LINE_BYTES, LineAsker, LineForm, Looker, Passer, Taker, Words};
use crate::backend::process::{Process, ProcessOptions, Recorder, TerminalSize, process};
use crate::backend::{Background, TerminalRequest};
use crate::error::{Error, ErrorKind, Result};

/// 256 KiB are taken from a terminal before anything else gets its turn.
const TURN_BYTES: usize = 256 << 10;

/// What programs on a terminal are told, on top of the backend's environment: a terminal that draws, and that somebody
/// can be asked on. Where texts are UTF-8 curses draws lines by their characters: the other set of a VT100 is not drawn here.
const TERMINAL_ENVIRONMENT: [(&str, &str); 3] =
    [("TERM", "xterm-256color"), ("GIT_TERMINAL_PROMPT", "1"), ("NCURSES_NO_UTF8_ACS", "1")];

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
        let mut command = request.command.unwrap_or_else(|| INTERACTIVE_SHELL.to_owned());
        let mut limits = request.limits.within(self.limits);
        self.check(&command, limits, Background::End)?;
        let place = self.beside.place()?;
        let (master, slave) = pair(request.size)
            .map_err(|_| Error::new(ErrorKind::Io, "No terminal could be opened: the system has no more of them."))?;
        // Without one the command is started as in a backend that has none.
        let hatch = request.tap.as_ref().filter(|tap| tap.has_hatch()).and_then(|_| Hatch::new().ok());
        let theirs = hatch.as_ref().and_then(|hatch| hatch.theirs().ok());
        let hatch = hatch.filter(|_| theirs.is_some());
        if hatch.is_some() {
            command.insert_str(0, hatch::BEGIN);
        }
        let own = TERMINAL_ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        limits.processes.get_or_insert(PROCESSES);
        let launch = Launch {
            command,
            directory,
            environment: self.environment.with(&own)?.with(&request.environment)?,
            limits,
            background: Background::End,
            with_stdin: true,
            terminal: Some(slave),
            hatch: theirs,
            is_announced: true,
        };
        let (command, _) = supervision.supervisors.start(&launch).await?;
        // Ours of the descriptors of the other sides close here.
        drop(launch);
        let running = Running::Supervised(command.started().await?);
        let terminal = Terminal::of(master, hatch, running.pid())?;
        let (process, driver) = process(None, ProcessOptions { sink: None, tap: request.tap });
        place.spawn(running, terminal, driver);
        Ok(process)
    }
}

/// A new terminal of that size: master and slave.
pub(super) fn pair(size: TerminalSize) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
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

/// Our side of a terminal, as its driver has it.
pub(super) struct Terminal {
    screen: Arc<Screen>,
    /// Whether there may be output that nobody was woken for: only an attempt that finds none says that there is none.
    has_more: bool,
    pace: Pace,
    watched: AsyncFd<Watched>,
    input: Vec<u8>,
    written: usize,
    /// What is waited for when the terminal takes no more.
    room: Option<Room>,
}

impl Terminal {
    pub(super) fn of(master: OwnedFd, hatch: Option<Hatch>, leader: Option<u32>) -> Result<Self> {
        let screen = Arc::new(Screen::of(master, hatch, leader)?);
        let watched = watched(Watched(Arc::clone(&screen)), Interest::READABLE)
            .ok_or_else(|| Error::internal("A terminal cannot be waited on."))?;
        Ok(Self { screen, has_more: false, pace: Pace::new(), watched, input: Vec::new(), written: 0, room: None })
    }

    /// Writes what the terminal takes.
    fn write(&mut self) {
        self.written += write(&self.screen.master, &self.input[self.written..]);
        if self.written < self.input.len() {
            self.room.get_or_insert_with(|| Room::of(&self.screen.master));
        } else {
            self.room = None;
        }
    }
}

/// Writes what the terminal takes; how much that was.
fn write(master: &OwnedFd, input: &[u8]) -> usize {
    let mut written = 0;
    while written < input.len() {
        match rustix::io::write(master, &input[written..]) {
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return written,
            // Nobody is there to read it.
            Err(_) => return input.len(),
        }
    }
    written
}

/// How the terminal gives lines; its two sides have one form.
fn line_form(master: &OwnedFd) -> Option<LineForm> {
    let modes = tcgetattr(master).ok()?;
    let has = |mode| modes.input_modes.contains(mode);
    let ends: &[u8] = match (has(InputModes::ICRNL) && !has(InputModes::IGNCR), !has(InputModes::INLCR)) {
        (true, true) => b"\r\n",
        (true, false) => b"\r",
        (false, true) => b"\n",
        (false, false) => b"",
    };
    // A terminal that marks errors keeps room to do so.
    let most = if has(InputModes::PARMRK) { LINE_BYTES - MARKS } else { LINE_BYTES };
    Some(LineForm { is_whole: modes.local_modes.contains(LocalModes::ICANON), ends, most })
}

/// Ends when what is left to write may be taken; never where nothing is left.
async fn taken(room: Option<&Room>) {
    match room {
        Some(room) => room.there().await,
        None => std::future::pending().await,
    }
}

impl Channel for Terminal {
    async fn carry(&mut self, recorder: &mut Recorder) -> bool {
        loop {
            let pending = !self.wants_input();
            let room = async {
                recorder.room().await;
                if !self.has_more {
                    // Cleared before the attempts: what becomes ready afterwards wakes the next wait.
                    self.watched.readable().await?.clear_ready();
                }
                std::io::Result::Ok(())
            };
            tokio::select! {
                ready = room => match ready {
                    Ok(()) => self.has_more = true,
                    Err(_) => return false,
                },
                () = taken(self.room.as_ref()) => {}
            }
            if pending {
                self.write();
            }
            if self.pace.floods()
                && let Some(flood) = Flood::of(&self.screen, recorder.screen())
            {
                tokio::select! {
                    () = flood.over() => {}
                    () = taken(self.room.as_ref()) => {}
                }
                if pending {
                    self.write();
                }
            }
            let mut turn = 0;
            while self.has_more && recorder.has_room() {
                let found = self.screen.read_unless_looked_on(&recorder.screen());
                if let Found::Bytes(count) | Found::Rest(count) = found {
                    turn += count;
                    self.pace.took(count);
                }
                match found {
                    Found::Bytes(_) => {}
                    Found::Rest(_) => self.has_more = false,
                    Found::End => return false,
                }
                if turn >= TURN_BYTES {
                    turn = 0;
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
        while let Found::Bytes(_) | Found::Rest(1..) = self.screen.read(&recorder.screen()) {}
    }

    fn wants_input(&self) -> bool {
        self.written == self.input.len()
    }

    fn unwritten(&self) -> usize {
        self.input.len() - self.written
    }

    fn give(&mut self, bytes: Vec<u8>) {
        // A terminal has no end of input but the key for it.
        self.input = if bytes.is_empty() { vec![END_OF_INPUT] } else { bytes };
        self.written = 0;
        self.write();
    }

    fn resize(&mut self, size: TerminalSize) {
        // It fails only when the terminal is gone.
        let _ = tcsetwinsize(&self.screen.master, window(size));
    }

    fn taker(&self) -> Option<Taker> {
        // The terminal closes when its driver is done with it, whoever could still write.
        let screen = Arc::downgrade(&self.screen);
        Some(Box::new(move |input| screen.upgrade().map_or(input.len(), |screen| write(&screen.master, input))))
    }

    fn line_asker(&self) -> Option<LineAsker> {
        let screen = Arc::downgrade(&self.screen);
        Some(Box::new(move || line_form(&screen.upgrade()?.master)))
    }

    fn door(&self, recorder: &Recorder) -> Option<Door> {
        let name = self.screen.hatch_name()?;
        let (screen, recorder) = (Arc::downgrade(&self.screen), recorder.screen());
        let pass: Passer = Box::new(move |words| {
            screen.upgrade().is_some_and(|screen| match words {
                Words::Say(saying) => screen.pass(saying, &recorder),
                Words::TakeBack => screen.take_back(),
            })
        });
        Some(Door { name, pass })
    }

    fn looker(&self, recorder: &Recorder) -> Option<Looker> {
        let (screen, recorder) = (Arc::downgrade(&self.screen), recorder.screen());
        Some(Box::new(move |begin, time, is_over| match screen.upgrade() {
            Some(screen) => screen.look_on(&recorder, begin, time, is_over),
            None => drop(begin()),
        }))
    }
}

/// 2 bytes: a byte with an error takes three.
const MARKS: usize = 2;

/// Ctrl-D.
const END_OF_INPUT: u8 = 4;

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use rustix::termios::{OptionalActions, tcsetattr};

    use super::*;
    use crate::backend::process::Driver;
    use crate::backend::tap::{Heard, Tap};

    /// As many bytes of input as a terminal surely holds.
    const KEYS: usize = 1_000;
    const SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };
    const WORDS: u64 = 200;

    /// Our side of a terminal that echoes nothing and gives each byte at once, its other side, and what takes its output.
    fn terminal() -> (Terminal, OwnedFd, Process, Driver) {
        let (master, slave) = pair(SIZE).unwrap();
        let mut modes = tcgetattr(&slave).unwrap();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&slave, OptionalActions::Now, &modes).unwrap();
        let (process, driver) = process(None, ProcessOptions::default());
        (Terminal::of(master, None, None).unwrap(), slave, process, driver)
    }

    /// Whoever read the terminal heard for as long as something was said.
    #[tokio::test]
    async fn what_is_said_at_a_hatch_is_heard_in_turns_and_whole() {
        const SAID: usize = 20_000;
        let (master, _slave) = pair(SIZE).unwrap();
        let hatch = Hatch::new().unwrap();
        let theirs = hatch.theirs().unwrap();
        let heard = Arc::new(AtomicUsize::new(0));
        let tap = Tap::new(|_, _| false).with_hatch({
            let heard = Arc::clone(&heard);
            move |bytes, _| {
                heard.fetch_add(bytes.len(), Ordering::Relaxed);
                Heard::default()
            }
        });
        let (process, mut driver) = process(None, ProcessOptions { sink: None, tap: Some(tap) });
        let mut terminal = Terminal::of(master, Some(hatch), None).unwrap();
        assert_eq!(rustix::io::write(&theirs, &[b'x'; SAID]), Ok(SAID));
        assert!(matches!(terminal.screen.read(&driver.recorder.screen()), Found::Bytes(4_096)));
        assert_eq!(heard.load(Ordering::Relaxed), 4_096);
        let all = async {
            loop {
                let marked = process.marked();
                if heard.load(Ordering::Relaxed) == SAID {
                    break;
                }
                marked.await;
            }
        };
        tokio::select! {
            _ = terminal.carry(&mut driver.recorder) => panic!("that was not the end"),
            () = all => {}
        }
    }

    /// Each key that a line editor took woke the runtime, which cost more than the command that was typed.
    #[tokio::test]
    async fn what_a_program_reads_wakes_nobody_and_what_it_prints_does() {
        let (mut terminal, slave, process, mut driver) = terminal();
        terminal.give(vec![b'x'; KEYS]);
        assert!(terminal.wants_input());
        // Another thread, so that this one sleeps whenever nothing wakes it.
        let reading = tokio::task::spawn_blocking(move || {
            for _ in 0..KEYS {
                assert_eq!(rustix::io::read(&slave, &mut [0]), Ok(1));
                std::thread::yield_now();
            }
            slave
        });
        let metrics = tokio::runtime::Handle::current().metrics();
        let before = metrics.worker_park_count(0);
        let slave = tokio::select! {
            _ = terminal.carry(&mut driver.recorder) => panic!("nothing was printed"),
            slave = reading => slave.unwrap(),
        };
        let slept = metrics.worker_park_count(0) - before;
        assert!(slept <= 3, "it slept {slept} times in the time of one");
        rustix::io::write(&slave, b"printed").unwrap();
        drop(slave);
        assert!(!terminal.carry(&mut driver.recorder).await, "that was the end");
        assert_eq!(process.read(0, 100).bytes, b"printed");
    }

    /// The driver had the first word, often with the last one in it, for which whoever looked on then waited all of its time.
    #[tokio::test]
    async fn whoever_looks_on_has_all_of_what_comes_behind_what_it_types() {
        let (mut terminal, slave, process, mut driver) = terminal();
        let look = terminal.looker(&driver.recorder).unwrap();
        let looker = tokio::task::spawn_blocking({
            let process = process.clone();
            move || {
                for word in 1..=WORDS {
                    let mut begin = || {
                        rustix::io::write(&slave, b"word").unwrap();
                        // A driver that was woken now would have it.
                        std::thread::yield_now();
                        true
                    };
                    look(&mut begin, Duration::from_secs(60), &|| process.position() == word * 4);
                }
                // What does not begin is not waited for.
                look(&mut || false, Duration::from_secs(60), &|| false);
                slave
            }
        });
        let metrics = tokio::runtime::Handle::current().metrics();
        let before = metrics.worker_park_count(0);
        let slave = tokio::select! {
            _ = terminal.carry(&mut driver.recorder) => panic!("that was not the end"),
            looked = looker => looked.unwrap(),
        };
        let slept = metrics.worker_park_count(0) - before;
        assert!(slept <= 6, "it slept {slept} times in the time of a few");
        drop(slave);
        assert!(!terminal.carry(&mut driver.recorder).await, "that was the end");
        assert_eq!(process.read(0, 2_000).bytes.len() as u64, WORDS * 4);
    }

    /// Each word that a shell wrote woke another thread, beside the one that waited for it.
    #[tokio::test]
    async fn whoever_looks_on_takes_what_comes_and_the_driver_sleeps_until_then() {
        let (mut terminal, slave, process, mut driver) = terminal();
        let look = terminal.looker(&driver.recorder).unwrap();
        let looker = tokio::task::spawn_blocking({
            let process = process.clone();
            move || {
                rustix::io::write(&slave, b"word").unwrap();
                while process.position() < 4 {
                    std::thread::yield_now();
                }
                let written = Cell::new(1);
                look(&mut || true, Duration::from_secs(60), &|| {
                    if process.position() == written.get() * 4 {
                        written.set(written.get() + 1);
                        rustix::io::write(&slave, b"word").unwrap();
                    }
                    // The last is left.
                    written.get() == WORDS
                });
                while process.position() < WORDS * 4 {
                    std::thread::yield_now();
                }
                (look, slave)
            }
        });
        let metrics = tokio::runtime::Handle::current().metrics();
        let before = metrics.worker_park_count(0);
        let (look, slave) = tokio::select! {
            _ = terminal.carry(&mut driver.recorder) => panic!("that was not the end"),
            looked = looker => looked.unwrap(),
        };
        let slept = metrics.worker_park_count(0) - before;
        assert!(slept <= 6, "it slept {slept} times in the time of a few");
        // What nobody looks on at is the driver's, also where a look has begun and ended meanwhile.
        rustix::io::write(&slave, b"rest").unwrap();
        look(&mut || true, Duration::ZERO, &|| true);
        rustix::io::write(&slave, b"end").unwrap();
        drop(slave);
        assert!(!terminal.carry(&mut driver.recorder).await, "that was the end");
        assert_eq!(process.read(WORDS * 4 - 4, 100).bytes, b"wordrestend");
        // Nobody is held up by a terminal that is gone.
        drop(terminal);
        look(&mut || true, Duration::from_secs(60), &|| false);
    }

    /// More than a terminal holds is written as its program reads, however long that takes.
    #[tokio::test]
    async fn input_that_finds_no_room_waits_for_it() {
        let (mut terminal, slave, _process, mut driver) = terminal();
        let input: Vec<u8> = (0..1_000_000u32).map(|number| b'a' + u8::try_from(number % 26).unwrap()).collect();
        terminal.give(input.clone());
        assert!(!terminal.wants_input() && terminal.room.is_some());
        let reading = tokio::task::spawn_blocking(move || {
            let (mut all, mut piece) = (Vec::new(), [0; 4096]);
            while all.len() < 1_000_000 {
                let count = rustix::io::read(&slave, &mut piece).unwrap();
                all.extend_from_slice(&piece[..count]);
            }
            (all, slave)
        });
        assert!(terminal.carry(&mut driver.recorder).await, "it goes on");
        assert!(terminal.wants_input() && terminal.room.is_none());
        let (all, _slave) = reading.await.unwrap();
        assert!(all == input);
    }
}
