//! Input of a process that waits in no queue: whoever writes it hands it over, on their own thread; and how far all of it came.
//!
//! A line that is typed at a shell reaches it before another thread has woken. Only where nothing is on its way that was told or
//! given before: then input takes the queue of the driver, so that all of it comes in order.

use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::{Error, Result};

/// Takes at once as many bytes as there is room for, and never waits.
pub(super) type Taker = Box<dyn Fn(&[u8]) -> usize + Send>;

/// Takes output on the thread that calls it, until the question is answered by yes, or for the time.
pub(super) type Looker = Box<dyn Fn(&mut dyn FnMut() -> bool, Duration, &dyn Fn() -> bool) + Send + Sync>;

/// What is done at the hatch of a terminal.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "terminals are Linux's"))]
pub(super) enum Words<'a> {
    /// Says it; whether it was said.
    Say(Saying<'a>),
    /// Takes back what nobody has heard; whether there was something.
    TakeBack,
}

/// What is said at the hatch.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "terminals are Linux's"))]
#[derive(Clone, Copy)]
pub struct Saying<'a> {
    /// Is recorded as if the terminal printed it now.
    pub shown: &'a [u8],
    /// Is said.
    pub said: &'a [u8],
    /// Whether it is still to be said, asked behind all that was printed before.
    pub is_due: &'a (dyn Fn() -> bool + Sync),
}

/// The hatch of a terminal, from our side.
pub(super) struct Door {
    /// Names the other side of it for a program of this machine: its place below `/proc`.
    pub(super) name: String,
    pub(super) pass: Passer,
}

/// Does it.
pub(super) type Passer = Box<dyn Fn(Words<'_>) -> bool + Send + Sync>;

/// 4,095 bytes of a line are what Linux keeps where a terminal gives whole lines: it drops the rest of them and says nothing.
pub const LINE_BYTES: usize = 4_095;

/// How a terminal gives its program lines at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineForm {
    /// Whether it gives whole ones, and not each byte.
    pub(super) is_whole: bool,
    /// The bytes that end one.
    pub(super) ends: &'static [u8],
    /// The bytes of the longest.
    pub(super) most: usize,
}

/// Asks for that; `None` where the terminal is gone.
pub(super) type LineAsker = Box<dyn Fn() -> Option<LineForm> + Send + Sync>;

/// The way past the driver of a process, where there is one.
#[derive(Default)]
pub(super) struct Intake {
    state: Mutex<State>,
    looker: OnceLock<Looker>,
    lines: OnceLock<LineAsker>,
    hatch: OnceLock<Door>,
    /// Told of each piece that its pipe or terminal took, and when it takes no more.
    moved: Notify,
}

/// Input that was given: its first byte, and the one behind its last, of all that the process was ever given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given {
    pub(super) from: u64,
    pub(super) to: u64,
}

#[derive(Default)]
struct State {
    taker: Option<Taker>,
    /// Orders and pieces of input that the driver has not carried out.
    queued: usize,
    /// Bytes that were given of a line which has not ended.
    open: usize,
    /// Bytes of input that were given until now.
    given: u64,
    /// Those of them that are in its pipe or its terminal.
    written: u64,
    /// Whether nobody reads what is given from now on.
    is_refused: bool,
}

impl State {
    /// Where the last bytes are.
    fn given_last(&self, bytes: usize) -> Given {
        Given { from: self.given - bytes as u64, to: self.given }
    }
}

#[cfg_attr(not(unix), allow(dead_code, reason = "no backend there starts programs itself"))]
impl Intake {
    /// Opens the way.
    pub(super) fn open(&self, taker: Taker) {
        self.state.lock().taker = Some(taker);
    }

    /// Lets whoever gave input look on.
    pub(super) fn open_to_looks(&self, looker: Looker) {
        // One driver opens it, once.
        let _ = self.looker.set(looker);
    }

    /// Tells how the terminal gives lines.
    pub(super) fn open_to_questions(&self, lines: LineAsker) {
        let _ = self.lines.set(lines);
    }

    /// Opens the hatch.
    pub(super) fn open_hatch(&self, door: Door) {
        let _ = self.hatch.set(door);
    }

    /// The name of the other side of the hatch, where there is one.
    pub(super) fn hatch_name(&self) -> Option<&str> {
        self.hatch.get().map(|door| door.name.as_str())
    }

    /// Does something at the hatch, where there is one; `false` where there is none.
    pub(super) fn pass(&self, words: Words<'_>) -> bool {
        self.hatch.get().is_some_and(|door| (door.pass)(words))
    }

    /// Whether there is somebody to ask how the terminal gives lines: it is one of this machine.
    pub(super) fn is_here(&self) -> bool {
        self.lines.get().is_some()
    }

    /// Whether the program gets each byte, and a return as one: so line editors have it, and hardly anybody else.
    pub(super) fn is_edited(&self) -> bool {
        let form = self.lines.get().and_then(|lines| lines());
        form.is_some_and(|form| !form.is_whole && !form.ends.contains(&b'\r'))
    }

    /// Whether the program gets whole lines, which no line editor does.
    pub(super) fn gives_lines(&self) -> bool {
        self.lines.get().and_then(|lines| lines()).is_some_and(|form| form.is_whole)
    }

    /// Notes that these bytes are given; `InvalidInput` where the terminal would lose some of a line.
    pub(super) fn note(&self, bytes: &[u8]) -> Result<()> {
        if let Some(open) = self.open_behind(bytes)? {
            self.state.lock().open = open;
        }
        Ok(())
    }

    /// The bytes of the line that is open behind these; `None` where nobody can say.
    pub(super) fn open_behind(&self, bytes: &[u8]) -> Result<Option<usize>> {
        let Some(lines) = self.lines.get() else { return Ok(None) };
        let Some(LineForm { ends, most, .. }) = lines().filter(|form| form.is_whole) else { return Ok(Some(0)) };
        let mut open = self.state.lock().open;
        for byte in bytes {
            open = if ends.contains(byte) { 0 } else { open + 1 };
            // A key such as Ctrl-C goes however much is there.
            if open > most && !byte.is_ascii_control() {
                return Err(line_too_long());
            }
        }
        Ok(Some(open))
    }

    /// Has this thread take the output that comes behind what `begin` begins, where it says that it did, and where it can.
    pub(super) fn look_on(&self, begin: &mut dyn FnMut() -> bool, time: Duration, is_over: &dyn Fn() -> bool) {
        match self.looker.get() {
            Some(looker) => looker(begin, time, is_over),
            None => drop(begin()),
        }
    }

    /// Takes `bytes`, where nothing is before them; tells where they are. What there was no room for is handed to `queue`, which
    /// holds nothing then.
    pub(super) fn takes(&self, bytes: &[u8], queue: impl FnOnce(&[u8])) -> Option<Given> {
        let mut state = self.state.lock();
        // The end of input is the driver's.
        let (Some(taker), 0, false) = (&state.taker, state.queued, bytes.is_empty()) else { return None };
        let taken = taker(bytes);
        state.given += bytes.len() as u64;
        state.written += taken as u64;
        if taken < bytes.len() {
            queue(&bytes[taken..]);
            state.queued += 1;
        }
        Some(state.given_last(bytes.len()))
    }

    /// Notes what `send` gives to the driver: an order, or the end of input.
    pub(super) fn queue(&self, send: impl FnOnce()) {
        self.queue_input(0, send);
    }

    /// The same for so many bytes of input; tells where they are.
    pub(super) fn queue_input(&self, bytes: usize, send: impl FnOnce()) -> Given {
        let mut state = self.state.lock();
        send();
        state.queued += 1;
        state.given += bytes as u64;
        state.given_last(bytes)
    }

    /// Whether an order, or a piece of input, waits for the driver.
    pub(super) fn has_queued(&self) -> bool {
        self.state.lock().queued > 0
    }

    /// No bytes, behind all that were given until now.
    pub(super) fn given_until_now(&self) -> Given {
        self.state.lock().given_last(0)
    }

    /// How many of them its pipe or its terminal took.
    pub(super) fn written(&self) -> u64 {
        self.state.lock().written
    }

    /// Whether nobody reads what is given from now on.
    pub(super) fn is_refused(&self) -> bool {
        self.state.lock().is_refused
    }

    /// Notes that so many more bytes were taken.
    pub(super) fn wrote(&self, bytes: usize) {
        self.state.lock().written += bytes as u64;
        self.moved.notify_waiters();
    }

    /// Notes that nobody reads what is given from now on, nor what was not taken until now.
    pub(super) fn refuse(&self) {
        self.state.lock().is_refused = true;
        self.moved.notify_waiters();
    }

    /// Ends when so many bytes were taken, or no more will be.
    pub(super) async fn carried(&self, bytes: u64) {
        loop {
            let moved = self.moved.notified();
            {
                let state = self.state.lock();
                if state.written >= bytes || state.is_refused {
                    return;
                }
            }
            moved.await;
        }
    }

    /// Notes that the driver has carried out an order, or written a piece.
    pub(super) fn done(&self) {
        let mut state = self.state.lock();
        state.queued = state.queued.saturating_sub(1);
    }
}

/// What is said of a line of which a terminal would lose the end.
pub fn line_too_long() -> Error {
    Error::invalid(format!(
        "A program that reads whole lines from a terminal gets no more than {LINE_BYTES} bytes of one, with what was typed of \
         it before: this one is longer, and nothing was typed. Write the text to a file and have the program read that, or \
         type shorter lines."
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::error::ErrorKind;

    /// The kernel dropped what was too long of a line, and the program had another one than was judged.
    #[test]
    fn a_line_that_a_terminal_would_cut_is_refused_with_what_is_open_before_it() {
        let lines = Arc::new(Mutex::new(None));
        let intake = Intake::default();
        assert_eq!(intake.open_behind(b"nobody can say").unwrap(), None);
        intake.open_to_questions(Box::new({
            let lines = Arc::clone(&lines);
            move || *lines.lock()
        }));
        let form = |is_whole, ends| Some(LineForm { is_whole, ends, most: 3 });
        let (both, newline) = (form(true, b"\r\n"), form(true, b"\n"));
        let [bytes, edited] = [b"\r\n", &b"\n"[..]].map(|ends| form(false, ends));
        for (form, given, open) in [
            (bytes, "as much as it is", Some(0)),
            (both, "abc", Some(3)),
            (both, "d", None),
            (both, "\x03\x03", Some(5)),
            (both, "\rabc\nab", Some(2)),
            (both, "cd\n", None),
            (both, "c\r", Some(0)),
            (newline, "a\rbc", None),
            (newline, "a\rb", Some(3)),
            (newline, "\nabc\n\n", Some(0)),
            (both, "ab", Some(2)),
            (edited, "cdefg", Some(0)),
            (both, "ab", Some(2)),
            (None, "cdefg", Some(0)),
        ] {
            *lines.lock() = form;
            assert_eq!(intake.is_edited(), form == edited);
            let before = intake.state.lock().open;
            match (intake.note(given.as_bytes()), open) {
                (Ok(()), Some(open)) => assert_eq!(intake.state.lock().open, open, "{given:?}"),
                (Err(error), None) => {
                    assert_eq!(
                        (error.kind(), intake.state.lock().open),
                        (ErrorKind::InvalidInput, before),
                        "{given:?}"
                    );
                }
                (noted, _) => panic!("{given:?}: {noted:?}"),
            }
        }
    }

    #[test]
    fn nothing_overtakes_what_was_given_or_told_before() {
        let written = Arc::new(Mutex::new(Vec::new()));
        let intake = Intake::default();
        let queued = Mutex::new(Vec::new());
        let write = |bytes: &[u8]| intake.takes(bytes, |rest| queued.lock().extend_from_slice(rest)).is_some();
        assert!(!write(b"nobody takes it"));
        intake.open(Box::new({
            let written = Arc::clone(&written);
            // There is room for three.
            move |bytes| {
                let taken = bytes.len().min(3);
                written.lock().extend_from_slice(&bytes[..taken]);
                taken
            }
        }));
        assert!(!write(b""));
        assert!(write(b"abc"));
        assert!(write(b"defgh"));
        assert_eq!((written.lock().as_slice(), queued.lock().as_slice()), (&b"abcdef"[..], &b"gh"[..]));
        assert!(!write(b"x"));
        intake.queue(|| {});
        intake.done();
        assert!(!write(b"x"));
        intake.done();
        assert!(write(b"x"));
        assert_eq!(written.lock().as_slice(), b"abcdefx");
    }
}
