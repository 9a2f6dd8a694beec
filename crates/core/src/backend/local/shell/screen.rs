//! Reading a terminal: by its driver, and for a while by another thread.
//!
//! What a shell says right behind a line is taken by the thread that typed the line: to wake another thread, and the processor
//! that it sleeps on, costs more than many commands. A flood of output is taken by a thread of its own. The driver sleeps on
//! meanwhile. It waits for a set that holds the terminal and its hatch alone, in which both are switched off for that time; what comes
//! behind it wakes the driver as ever.
//!
//! What is said at the hatch is heard behind all that was printed before: the kernel hands on what is on its way to who reads and finds
//! nothing.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::{Errno, ioctl_fionread};
use rustix::process::Pid;
use rustix::termios::tcgetpgrp;

use super::hatch::{Hatch, WORDS};
use super::pipes::READ_BYTES;
use crate::backend::intake::Saying;
use crate::backend::recorder::ScreenRecorder;
use crate::error::{Error, Result};

/// 4 KiB are taken at once by who looks on: what the kernel gives in one piece, drawn in microseconds.
const GLANCE_BYTES: usize = 4 << 10;
const ESCAPE: u8 = 0x1B;
/// 1,024 escapes at once: each may be dear to draw, and what was read cannot be held back.
const ESCAPES: usize = 1_024;
/// 16 KiB for one read of a flood: more than the kernel gives at once.
const FLOOD_BYTES: usize = 16 << 10;
/// 16 KiB in all: a command that prints more is the driver's.
const LOOK_BYTES: usize = 16 << 10;

/// 4 KiB that were said at the hatch: then others have their turn.
const HEARD_BYTES: usize = 4 << 10;
/// 128 KiB that were printed before something was said at the hatch: twice what the kernel holds of a terminal's output.
const HELD_BYTES: usize = 128 << 10;

/// 30 µs for others that have the processor: the kernel's thread needs a few to carry a line.
const TURN: Duration = Duration::from_micros(30);

/// Our side of a terminal.
pub(super) struct Screen {
    pub(super) master: OwnedFd,
    hatch: Option<Hatch>,
    /// Holds the master and the hatch alone.
    set: OwnedFd,
    /// The process that leads the terminal's session, and by its number its group.
    leader: Option<Pid>,
    /// Locked from the read until its bytes are recorded: they are recorded in order.
    buffer: Mutex<Vec<u8>>,
    /// One thread looks on at a time.
    looking: Mutex<()>,
}

/// What a read of the terminal found.
pub(super) enum Found {
    /// So many bytes, and there may be more.
    Bytes(usize),
    /// All that there was for now: so many bytes.
    Rest(usize),
    /// Nobody holds the other side any more, and all of the output was read.
    End,
}

impl Screen {
    pub(super) fn of(master: OwnedFd, hatch: Option<Hatch>, leader: Option<u32>) -> Result<Self> {
        let all = || [Some(master.as_fd()), hatch.as_ref().map(AsFd::as_fd)].into_iter().flatten();
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)
            .and_then(|set| {
                all().try_for_each(|one| epoll::add(&set, one, data(), epoll::EventFlags::IN))?;
                Ok(set)
            })
            .map_err(|_| Error::internal("A terminal cannot be waited on."))?;
        let leader = leader.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        Ok(Self { master, hatch, set, leader, buffer: Mutex::new(vec![0; READ_BYTES]), looking: Mutex::new(()) })
    }

    /// As [`Screen::read`], where nobody looks on: else what is there is theirs, who wait until more comes, and what they leave
    /// wakes the driver again.
    pub(super) fn read_unless_looked_on(&self, recorder: &ScreenRecorder) -> Found {
        if self.looking.is_locked() { Found::Rest(0) } else { self.read(recorder) }
    }

    /// Reads what is there and records it; at most as much as the buffer holds. Behind the rest it hears what was said at the hatch.
    pub(super) fn read(&self, recorder: &ScreenRecorder) -> Found {
        self.read_into(&mut self.buffer.lock(), recorder)
    }

    fn read_into(&self, buffer: &mut [u8], recorder: &ScreenRecorder) -> Found {
        // Fills the buffer before anybody is told: the kernel gives 4 KiB at a time.
        let (mut filled, mut escapes) = (0, 0);
        let end = loop {
            match self.read_once(&mut buffer[filled..]) {
                Found::Bytes(count) => {
                    escapes += escapes_in(&buffer[filled..filled + count]);
                    filled += count;
                }
                Found::Rest(_) => break Found::Rest(filled),
                Found::End => break Found::End,
            }
            if filled == buffer.len() || escapes >= ESCAPES {
                break Found::Bytes(filled);
            }
        };
        self.record(&buffer[..filled], recorder);
        match end {
            Found::Rest(_) => match self.hear(buffer, recorder) {
                Found::Bytes(heard) => Found::Bytes(filled + heard),
                Found::Rest(_) | Found::End => end,
            },
            Found::Bytes(_) | Found::End => end,
        }
    }

    /// Hears what was said at the hatch, behind what was printed before.
    fn hear(&self, buffer: &mut [u8], recorder: &ScreenRecorder) -> Found {
        let Some(hatch) = &self.hatch else { return Found::Rest(0) };
        let (mut words, mut heard) = ([0; WORDS], 0);
        while heard < HEARD_BYTES {
            let Some(count) = hatch.hear(&mut words) else { return Found::Rest(heard) };
            heard += count;
            let mut before = 0;
            while before < HELD_BYTES
                && let Found::Bytes(count) = self.read_once(buffer)
            {
                self.record(&buffer[..count], recorder);
                before += count;
            }
            let answer = recorder.hear(&words[..count], &self.leads());
            if !answer.is_empty() {
                hatch.say(&answer);
            }
        }
        Found::Bytes(heard)
    }

    /// Says this at the hatch; whether it was said.
    pub(super) fn pass(&self, saying: Saying<'_>, recorder: &ScreenRecorder) -> bool {
        let Some(hatch) = &self.hatch else { return false };
        let mut buffer = self.buffer.lock();
        self.read_into(&mut buffer, recorder);
        // Nothing of what it brings is read before the buffer is free.
        let is_said = (saying.is_due)() && hatch.say(saying.said);
        if is_said {
            recorder.take_raw(saying.shown, &self.leads());
        }
        is_said
    }

    /// Takes back what was said at the hatch and not heard there; whether there was something.
    pub(super) fn take_back(&self) -> bool {
        self.hatch.as_ref().is_some_and(Hatch::take_back)
    }

    /// The name of the other side of the hatch, where there is one.
    pub(super) fn hatch_name(&self) -> Option<String> {
        self.hatch.as_ref().map(Hatch::name)
    }

    fn read_once(&self, buffer: &mut [u8]) -> Found {
        loop {
            return match rustix::io::read(&self.master, &mut *buffer) {
                Ok(0) => Found::End,
                Ok(count) => Found::Bytes(count),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => Found::Rest(0),
                Err(_) => Found::End,
            };
        }
    }

    fn record(&self, bytes: &[u8], recorder: &ScreenRecorder) {
        if !bytes.is_empty() {
            recorder.take_raw(bytes, &self.leads());
        }
    }

    /// Whether the leader has the terminal. That the kernel knows, whatever programs print.
    fn leads(&self) -> impl Fn() -> bool + '_ {
        || self.leader.is_some() && tcgetpgrp(&self.master).ok() == self.leader
    }

    /// Takes what comes on this thread behind what `begin` begins, where it says that it did, until `is_over`, at most for `time`.
    pub(super) fn look_on(
        &self,
        recorder: &ScreenRecorder,
        begin: &mut dyn FnMut() -> bool,
        time: Duration,
        is_over: &dyn Fn() -> bool,
    ) {
        let Some(looking) = self.looking.try_lock() else {
            begin();
            return;
        };
        // Before it begins: the driver would have the first of its output, and with it perhaps the last, for which this thread would wait.
        let off = Off::of(self);
        if begin() {
            self.take_for(recorder, time, is_over);
        }
        // The driver is woken when nobody looks on any more.
        drop(looking);
        drop(off);
    }

    /// Takes what comes on this thread while nobody else looks on, until `is_over`, nothing came for `pause`, or whoever is handed the
    /// output wants no more. Each piece is recorded as it is read, while the kernel fetches the next one.
    pub(super) fn take_flood(&self, recorder: &ScreenRecorder, pause: Duration, is_over: &dyn Fn() -> bool) {
        let Some(looking) = self.looking.try_lock() else { return };
        let off = Off::of(self);
        let pause = Timespec::try_from(pause).ok();
        while !is_over() && recorder.has_room() {
            let mut buffer = self.buffer.lock();
            let found = self.read_once(&mut buffer[..FLOOD_BYTES]);
            if let Found::Bytes(count) = found {
                self.record(&buffer[..count], recorder);
            }
            drop(buffer);
            match found {
                Found::Bytes(_) => {}
                Found::Rest(_) => {
                    // A wait that was interrupted is no pause, and what is said at the hatch ends a flood.
                    if self.poll(pause.as_ref()) == Ok(0) || self.has_words() {
                        break;
                    }
                }
                Found::End => break,
            }
        }
        drop(looking);
        drop(off);
    }

    fn take_for(&self, recorder: &ScreenRecorder, time: Duration, is_over: &dyn Fn() -> bool) {
        let begin = Instant::now();
        let mut taken = 0;
        loop {
            // The driver may still be at what came before.
            if let Some(mut buffer) = self.buffer.try_lock() {
                let found = self.read_into(&mut buffer[..GLANCE_BYTES], recorder);
                match found {
                    Found::End => return,
                    Found::Bytes(count) | Found::Rest(count) => taken += count,
                }
            }
            let left = time.saturating_sub(begin.elapsed());
            if is_over() || taken >= LOOK_BYTES || left.is_zero() || !recorder.has_room() {
                return;
            }
            self.wait(left, is_over);
        }
    }

    /// Waits for output, or until `is_over`, at most for `time`. Awake as long as nobody else has the processor for long meanwhile: to be
    /// woken takes as long as what a shell does for a small command. The kernel's own thread that carries what is printed has its turns.
    /// Where there is more to do, who sleeps is woken sooner than who has given up its turn. That the other side was closed is seen only by
    /// who sleeps, or at the end.
    fn wait(&self, time: Duration, is_over: &dyn Fn() -> bool) {
        let begin = Instant::now();
        let mut turn = begin;
        loop {
            match ioctl_fionread(&self.master) {
                Ok(0) if !is_over() && !self.has_words() => {}
                Ok(_) => return,
                Err(_) => break,
            }
            std::thread::yield_now();
            let now = Instant::now();
            if now - begin >= time {
                return;
            }
            if now - turn > TURN {
                break;
            }
            turn = now;
        }
        let _ = self.poll(Timespec::try_from(time.saturating_sub(begin.elapsed())).ok().as_ref());
    }

    /// Waits for output or for what is said at the hatch.
    fn poll(&self, time: Option<&Timespec>) -> rustix::io::Result<usize> {
        let master = PollFd::new(&self.master, PollFlags::IN);
        match &self.hatch {
            Some(hatch) => poll(&mut [master, PollFd::new(hatch, PollFlags::IN)], time),
            None => poll(&mut [master], time),
        }
    }

    fn has_words(&self) -> bool {
        self.hatch.as_ref().is_some_and(Hatch::has_words)
    }

    /// Has the driver woken by the terminal and the hatch, or not.
    fn switch(&self, events: epoll::EventFlags) {
        let _ = epoll::modify(&self.set, &self.master, data(), events);
        if let Some(hatch) = &self.hatch {
            let _ = epoll::modify(&self.set, hatch, data(), events);
        }
    }
}

/// How many escapes there are. Most output has none, which is found sooner than they are counted.
fn escapes_in(bytes: &[u8]) -> usize {
    memchr::memchr(ESCAPE, bytes).map_or(0, |first| memchr::memchr_iter(ESCAPE, &bytes[first..]).count())
}

/// While it lives the terminal and its hatch are switched off in their set.
struct Off<'a>(&'a Screen);

impl<'a> Off<'a> {
    /// Where that fails the driver wakes too, and finds what is left to it.
    fn of(screen: &'a Screen) -> Self {
        screen.switch(epoll::EventFlags::empty());
        // What made it ready before is forgotten only where somebody asks: else nothing would make it ready anew.
        let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: data() }; 2];
        let _ = epoll::wait(&screen.set, &mut events, Some(&Timespec::default()));
        Self(screen)
    }
}

impl Drop for Off<'_> {
    /// What is there by now wakes the driver at once.
    fn drop(&mut self) {
        self.0.switch(epoll::EventFlags::IN);
    }
}

/// Nobody asks which of one it was.
fn data() -> epoll::EventData {
    epoll::EventData::new_u64(0)
}

/// What the driver waits for.
pub(super) struct Watched(pub(super) Arc<Screen>);

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.set.as_fd()
    }
}

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.0.set.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_counted_wherever_they_stand() {
        for (bytes, count) in [
            (&b""[..], 0),
            (b"plain text [31m", 0),
            (b"\x1b", 1),
            (b"\x1b[31mred\x1b[0m", 2),
            (b"text behind \x1b\x1b\x1b", 3),
        ] {
            assert_eq!(escapes_in(bytes), count, "{}", bytes.escape_ascii());
        }
    }
}
