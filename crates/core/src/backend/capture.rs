//! What a command prints, caught in bounded memory: each stream alone, and both in the order in which they arrived. What
//! memory does not hold can go to a file besides.

use std::time::Instant;

use super::outlet::Outlet;
use super::spill::{Spill, Spilling};
use super::{ExecuteOutcome, OutputSink, Stream};
use crate::text::encoding::whole_characters;
use crate::text::head_tail::HeadTail;
use crate::text::stream::Utf8Stream;

/// 4: the longest character.
const CHARACTER_BYTES: usize = 4;

/// The output of one command.
pub(super) struct Capture {
    /// Decoded text, so that a character that one stream has begun is not torn by the other. As long as one of them is silent the
    /// other is both of them, and is not kept twice.
    both: Option<HeadTail>,
    stdout: StreamCapture,
    stderr: StreamCapture,
    limit: u64,
    spill: Spilling,
    outlet: Option<Outlet>,
}

/// What was caught, bounded.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Captured {
    pub(super) output: String,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) truncated: bool,
    pub(super) spill_path: Option<String>,
    /// Where the file holds only the beginning: so many bytes.
    pub(super) spill_bytes: Option<u64>,
}

impl Captured {
    /// What is known by it of a command that began then.
    pub(super) fn outcome(self, begin: Instant) -> ExecuteOutcome {
        ExecuteOutcome {
            output: self.output,
            stdout: self.stdout,
            stderr: self.stderr,
            truncated: self.truncated,
            spill_path: self.spill_path,
            spill_bytes: self.spill_bytes,
            duration_ms: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
            ..ExecuteOutcome::default()
        }
    }
}

struct StreamCapture {
    decoder: Utf8Stream,
    /// Whether the decoder may hold the beginning of a character.
    may_be_cut: bool,
    kept: HeadTail,
}

impl Capture {
    /// Keeps `limit` bytes of each stream and of both together, hands every piece to `sink` as it comes, and everything
    /// to `spill` once memory does not hold it.
    pub(super) fn new(limit: usize, sink: Option<OutputSink>, spill: Option<Spill>) -> Self {
        let stream = || StreamCapture { decoder: Utf8Stream::new(), may_be_cut: false, kept: HeadTail::new(limit) };
        Self {
            both: None,
            stdout: stream(),
            stderr: stream(),
            limit: limit as u64,
            spill: Spilling::of(spill),
            outlet: sink.map(Outlet::new),
        }
    }

    /// Takes the next bytes of a stream and hands them on.
    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        // Text that nobody wants for themselves is not copied to be text.
        if self.outlet.is_none()
            && !self.stream(stream).may_be_cut
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return self.keep(stream, text);
        }
        let text = self.record(stream, bytes);
        self.hand_on(stream, text);
    }

    /// Takes the next bytes of a stream and returns their text.
    pub(super) fn record(&mut self, stream: Stream, bytes: &[u8]) -> String {
        let taker = self.stream(stream);
        let text = taker.decoder.push(bytes);
        // Of a few bytes all may belong to the character that was cut before.
        taker.may_be_cut = bytes.len() < CHARACTER_BYTES || whole_characters(bytes) < bytes.len();
        self.keep(stream, &text);
        text
    }

    /// Everything that was caught, once all of it was handed on. A character that a stream left unfinished becomes U+FFFD.
    pub(super) async fn finish(mut self) -> Captured {
        for (stream, text) in self.close() {
            self.hand_on(stream, text);
        }
        let empty = self.outlet.as_ref().map(Outlet::empty);
        if let Some(empty) = empty {
            empty.await;
        }
        self.so_far()
    }

    /// Ends the streams; returns what their ends leave.
    pub(super) fn close(&mut self) -> [(Stream, String); 2] {
        [Stream::Stdout, Stream::Stderr].map(|stream| {
            let text = self.stream(stream).decoder.finish();
            self.keep(stream, &text);
            (stream, text)
        })
    }

    /// What was caught until now.
    pub(super) fn so_far(&self) -> Captured {
        let (spill_path, spill_bytes) = self.spill.told();
        Captured {
            truncated: self.both().is_truncated(),
            output: self.both().capture().text,
            stdout: self.stdout.kept.capture().text,
            stderr: self.stderr.kept.capture().text,
            spill_path,
            spill_bytes,
        }
    }

    /// What both streams printed.
    fn both(&self) -> &HeadTail {
        let spoke = if self.stdout.kept.total_bytes() > 0 { &self.stdout } else { &self.stderr };
        self.both.as_ref().unwrap_or(&spoke.kept)
    }

    fn stream(&mut self, stream: Stream) -> &mut StreamCapture {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn keep(&mut self, stream: Stream, text: &str) {
        if text.is_empty() {
            return;
        }
        self.spill(text);
        let other = match stream {
            Stream::Stdout => &self.stderr,
            Stream::Stderr => &self.stdout,
        };
        if self.both.is_none() && other.kept.total_bytes() > 0 {
            self.both = Some(other.kept.clone());
        }
        if let Some(both) = &mut self.both {
            both.push(text.as_bytes());
        }
        self.stream(stream).kept.push(text.as_bytes());
    }

    fn hand_on(&self, stream: Stream, text: String) {
        if let Some(outlet) = &self.outlet {
            outlet.give(stream, text);
        }
    }

    /// Ends when whoever is handed the output has room for more.
    pub(super) fn room(&self) -> impl Future<Output = ()> + Send + use<> {
        let room = self.outlet.as_ref().map(Outlet::room);
        async move {
            if let Some(room) = room {
                room.await;
            }
        }
    }

    /// Writes to the file what memory is about to lose.
    fn spill(&mut self, text: &str) {
        match &self.spill {
            Spilling::No => return,
            Spilling::Ready(_) if self.both().total_bytes() + text.len() as u64 <= self.limit => return,
            Spilling::Ready(_) => {
                let before = self.both().capture().text;
                self.spill.write(before.as_bytes());
            }
            Spilling::Open { .. } => {}
        }
        self.spill.write(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::backend::spill::tests_support::Bound;

    /// A file that had reached its bound was told to be the whole output.
    #[test]
    fn a_file_that_takes_no_more_is_told_to_be_the_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all");
        let room = Bound::new(12);
        let mut capture = Capture::new(8, None, Some(room.spill(path.clone())));
        for piece in ["12345678", "9aé€", "more"] {
            capture.take(Stream::Stdout, piece.as_bytes());
        }
        let captured = capture.so_far();
        // Whole characters, and nothing behind a gap.
        assert_eq!((captured.spill_path.as_deref(), captured.spill_bytes), (Some("/all"), Some(12)));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "123456789aé");
        room.lose_file();
        assert_eq!(caught(capture).spill_path, None);
    }

    fn caught(mut capture: Capture) -> Captured {
        capture.close();
        capture.so_far()
    }

    #[test]
    fn keeps_streams_apart_and_in_order_of_arrival() {
        let mut capture = Capture::new(100, None, None);
        capture.take(Stream::Stdout, b"a\xC3");
        capture.take(Stream::Stderr, b"E\xFF!");
        capture.take(Stream::Stdout, b"\xA9b\xE2\x82");
        assert_eq!(
            caught(capture),
            Captured {
                output: "aE\u{FFFD}!éb\u{FFFD}".into(),
                stdout: "aéb\u{FFFD}".into(),
                stderr: "E\u{FFFD}!".into(),
                truncated: false,
                spill_path: None,
                spill_bytes: None,
            }
        );
    }

    /// A command that prints to one stream held its output twice.
    #[test]
    fn output_is_kept_a_second_time_only_where_both_streams_print() {
        for (first, second) in [(Stream::Stdout, Stream::Stderr), (Stream::Stderr, Stream::Stdout)] {
            // Of which all is kept, and of which the middle is not.
            for length in [30, 300] {
                let mut capture = Capture::new(100, None, None);
                let one = "é".repeat(length / 2);
                capture.take(first, one.as_bytes());
                assert!(capture.both.is_none());
                let alone = capture.so_far();
                let of_first = if first == Stream::Stdout { &alone.stdout } else { &alone.stderr };
                assert_eq!((&alone.output, alone.truncated), (of_first, length > 100));
                let mut expected = HeadTail::new(100);
                expected.push(one.as_bytes());
                for (stream, text) in [(second, "other"), (first, "again"), (second, "last")] {
                    capture.take(stream, text.as_bytes());
                    expected.push(text.as_bytes());
                }
                assert_eq!(capture.so_far().output, expected.capture().text, "{first:?} {length}");
            }
        }
    }

    #[test]
    fn a_stream_is_the_same_text_however_it_is_cut() {
        let bytes = "aé€😀\u{FFFD}b".bytes().chain(*b"\xFF\xF0\x9F\x98x\xE2\x82").collect::<Vec<_>>();
        let whole = String::from_utf8_lossy(&bytes).into_owned();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let mut capture = Capture::new(100, None, None);
                for piece in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                    capture.take(Stream::Stdout, piece);
                }
                assert_eq!(caught(capture).stdout, whole, "{first} {second}");
            }
        }
    }

    #[test]
    fn a_file_takes_all_of_what_memory_does_not_hold() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all");
        let spill = Bound::new(1_000).spill(path.clone());
        let mut short = Capture::new(8, None, Some(Arc::clone(&spill)));
        short.take(Stream::Stdout, b"12345678");
        assert_eq!(caught(short).spill_path, None);
        assert!(!path.exists());
        let mut long = Capture::new(8, None, Some(spill));
        for piece in [b"1234", b"5678", b"9abc", b"def\xC3"] {
            long.take(Stream::Stdout, piece);
            long.take(Stream::Stderr, b"!");
        }
        let captured = caught(long);
        assert_eq!(
            (captured.truncated, captured.spill_path.as_deref(), captured.spill_bytes),
            (true, Some("/all"), None)
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1234!5678!9abc!def!\u{FFFD}");
    }
}
