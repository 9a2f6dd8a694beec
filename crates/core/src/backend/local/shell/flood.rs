//! Much output of a terminal, read by a thread of its own.
//!
//! The kernel hands a terminal's output on 4 KiB at a time, and the program that prints waits for whoever reads. A task that is woken
//! for each piece goes through the runtime, which wakes another of its threads to watch meanwhile: a fifth of the time that 20 MB
//! take. A thread that waits by itself costs none of that. There are few of them, so that no number of terminals takes all threads
//! that may block; who gets none is read by its task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::screen::Screen;
use crate::backend::recorder::ScreenRecorder;
use crate::blocking::{Blocking, blocking};

/// 256 KiB without a pause are a flood.
const FLOOD_BYTES: usize = 256 << 10;
/// 2 ms without output are a pause between pieces.
const PAUSE: Duration = Duration::from_millis(2);
/// 5 ms without output end a flood.
const CALM: Duration = Duration::from_millis(5);
/// Four at a time in this process: more than a small machine has processors.
const MOST: usize = 4;

static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// How much came without a pause.
pub(super) struct Pace {
    bytes: usize,
    last: Instant,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { bytes: 0, last: Instant::now() }
    }

    /// So much came now.
    pub(super) fn took(&mut self, bytes: usize) {
        self.took_at(bytes, Instant::now());
    }

    fn took_at(&mut self, bytes: usize, now: Instant) {
        if now.saturating_duration_since(self.last) > PAUSE {
            self.bytes = 0;
        }
        self.last = now;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Whether it is a flood; the next one begins anew.
    pub(super) fn floods(&mut self) -> bool {
        let floods = self.bytes >= FLOOD_BYTES;
        if floods {
            self.bytes = 0;
        }
        floods
    }
}

/// A thread that reads a terminal. Dropping it has the thread leave within [`CALM`]; what it has read by then is recorded.
pub(super) struct Flood {
    work: Blocking<()>,
    _stop: Stop,
}

struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The place of one such thread, among those that are counted there.
struct Place(&'static AtomicUsize);

impl Place {
    fn of(running: &'static AtomicUsize) -> Option<Self> {
        let one_more = |running| (running < MOST).then_some(running + 1);
        running.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok().map(|_| Self(running))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Flood {
    /// Begins to read, where there is a place for it.
    pub(super) fn of(screen: &Arc<Screen>, recorder: ScreenRecorder) -> Option<Self> {
        let place = Place::of(&RUNNING)?;
        let (screen, stop) = (Arc::clone(screen), Arc::new(AtomicBool::new(false)));
        let guard = Stop(Arc::clone(&stop));
        let work = blocking(move || {
            let _place = place;
            screen.take_flood(&recorder, CALM, &|| stop.load(Ordering::Relaxed));
        });
        Some(Self { work, _stop: guard })
    }

    /// Ends when nothing more comes for now, or something else is to be waited for first.
    pub(super) async fn over(mut self) {
        // A panic in it leaves the rest to whoever waits here.
        drop((&mut self.work).await);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::os::fd::OwnedFd;
    use std::thread;

    use parking_lot::Mutex;
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

    use super::super::beside::Channel;
    use super::super::screen::Found;
    use super::super::terminal::{Terminal, pair};
    use super::*;
    use crate::backend::process::{ProcessOptions, TerminalSize, process};
    use crate::backend::tap::Tap;

    /// 4 MB, in parts.
    const PARTS: u64 = 32;
    const PART_BYTES: u64 = 125_000;

    fn byte(position: u64) -> u8 {
        u8::try_from(position % 251).unwrap()
    }

    /// A terminal that changes no byte: our side and the other.
    fn raw_pair() -> (OwnedFd, OwnedFd) {
        let (master, slave) = pair(TerminalSize { columns: 80, rows: 24 }).unwrap();
        let mut modes = tcgetattr(&slave).unwrap();
        modes.make_raw();
        tcsetattr(&slave, OptionalActions::Now, &modes).unwrap();
        (master, slave)
    }

    fn screen() -> (Arc<Screen>, OwnedFd) {
        let (master, slave) = raw_pair();
        (Arc::new(Screen::of(master, None, None).unwrap()), slave)
    }

    /// Writes all parts, and says so behind each.
    fn write_parts(slave: &OwnedFd, mut told: impl FnMut()) {
        for part in 0..PARTS {
            let bytes: Vec<u8> = (part * PART_BYTES..(part + 1) * PART_BYTES).map(byte).collect();
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                rest = &rest[rustix::io::write(slave, rest).unwrap()..];
            }
            told();
        }
    }

    type Readers = Arc<Mutex<HashSet<thread::ThreadId>>>;

    /// Counts the bytes of the parts, each at its place, and notes who brings them.
    fn counting() -> (Tap, Arc<Mutex<u64>>, Readers) {
        let (seen, readers) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(HashSet::new())));
        let (count, threads) = (Arc::clone(&seen), Arc::clone(&readers));
        let tap = Tap::new(move |bytes, _| {
            let mut seen = count.lock();
            for found in bytes {
                assert_eq!(*found, byte(*seen), "at {seen}");
                *seen += 1;
            }
            threads.lock().insert(thread::current().id());
            false
        });
        (tap, seen, readers)
    }

    #[tokio::test]
    async fn whoever_reads_a_flood_leaves_when_it_is_dropped_though_the_flood_goes_on() {
        let (screen, slave) = screen();
        let (_process, driver) = process(None, ProcessOptions::default());
        let program = thread::spawn(move || while rustix::io::write(&slave, &[b'x'; 4096]).is_ok() {});
        let Flood { work, _stop: stop } = Flood::of(&screen, driver.recorder.screen()).unwrap();
        drop(stop);
        // By itself it was seen to leave after half a minute, when the program got no processor for a while.
        tokio::time::timeout(Duration::from_secs(5), work).await.expect("it left").unwrap();
        // The end of its terminal is that of the program.
        drop(screen);
        program.join().unwrap();
    }

    #[tokio::test]
    async fn a_flood_is_read_to_the_byte_however_often_another_thread_begins_to() {
        let (screen, slave) = screen();
        let (tap, seen, readers) = counting();
        let (_process, driver) = process(None, ProcessOptions { sink: None, tap: Some(tap) });
        let (told, mut tellings) = tokio::sync::mpsc::unbounded_channel();
        let program = thread::spawn(move || write_parts(&slave, || told.send(()).unwrap()));
        loop {
            if let Some(flood) = Flood::of(&screen, driver.recorder.screen()) {
                tokio::select! {
                    () = flood.over() => {}
                    Some(()) = tellings.recv() => {}
                }
            }
            if matches!(screen.read(&driver.recorder.screen()), Found::End) {
                break;
            }
        }
        program.join().unwrap();
        assert_eq!(*seen.lock(), PARTS * PART_BYTES);
        readers.lock().remove(&thread::current().id());
        assert!(!readers.lock().is_empty(), "nobody else read");
    }

    #[tokio::test]
    async fn a_flood_is_read_to_the_byte_by_its_task_where_all_places_are_taken() {
        let _places: Vec<Place> = (0..MOST).map(|_| Place::of(&RUNNING).unwrap()).collect();
        let (master, slave) = raw_pair();
        let mut terminal = Terminal::of(master, None, None).unwrap();
        let (tap, seen, readers) = counting();
        let (_process, mut driver) = process(None, ProcessOptions { sink: None, tap: Some(tap) });
        let program = thread::spawn(move || write_parts(&slave, || {}));
        assert!(!terminal.carry(&mut driver.recorder).await, "that was the end");
        program.join().unwrap();
        assert_eq!(*seen.lock(), PARTS * PART_BYTES);
        assert_eq!(*readers.lock(), HashSet::from([thread::current().id()]), "who read");
    }

    #[test]
    fn no_more_threads_than_there_are_places() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        let places: Vec<Place> = (0..MOST).filter_map(|_| Place::of(&RUNNING)).collect();
        assert!(places.len() == MOST && Place::of(&RUNNING).is_none());
        drop(places);
        assert!(Place::of(&RUNNING).is_some() && RUNNING.load(Ordering::Relaxed) == 0);
    }

    #[test]
    fn much_without_a_pause_is_a_flood_and_the_same_with_pauses_is_not() {
        let begin = Instant::now();
        for (step, floods) in [(PAUSE, true), (PAUSE * 2, false)] {
            let mut pace = Pace { bytes: 0, last: begin };
            let pieces = u32::try_from(FLOOD_BYTES / 4_096).unwrap();
            for piece in 1..=pieces {
                assert!(!pace.floods(), "before it is much: {step:?}");
                pace.took_at(4_096, begin + step * piece);
            }
            assert_eq!((pace.floods(), pace.floods()), (floods, false), "{step:?}");
        }
    }
}
