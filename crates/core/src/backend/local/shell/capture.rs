//! What a command prints, caught in bounded memory: each stream alone, and both in the order in which they arrived.

use crate::backend::{OutputChunk, OutputSink, Stream};
use crate::text::head_tail::HeadTail;
use crate::text::stream::Utf8Stream;

/// The output of one command.
pub(super) struct Capture {
    /// Decoded text, so that a character that one stream has begun is not torn by the other.
    both: HeadTail,
    stdout: StreamCapture,
    stderr: StreamCapture,
    sink: Option<OutputSink>,
}

/// What was caught, bounded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Captured {
    pub(super) output: String,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) truncated: bool,
}

struct StreamCapture {
    decoder: Utf8Stream,
    kept: HeadTail,
}

impl Capture {
    /// Keeps `limit` bytes of each stream and of both together, and hands every piece to `sink` as it comes.
    pub(super) fn new(limit: usize, sink: Option<OutputSink>) -> Self {
        let stream = || StreamCapture { decoder: Utf8Stream::new(), kept: HeadTail::new(limit) };
        Self { both: HeadTail::new(limit), stdout: stream(), stderr: stream(), sink }
    }

    /// Takes the next bytes of a stream.
    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let text = self.stream(stream).decoder.push(bytes);
        self.keep(stream, text);
    }

    /// Everything that was caught. A character that a stream left unfinished becomes U+FFFD.
    pub(super) fn finish(mut self) -> Captured {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let text = self.stream(stream).decoder.finish();
            self.keep(stream, text);
        }
        Captured {
            truncated: self.both.is_truncated(),
            output: self.both.capture().text,
            stdout: self.stdout.kept.capture().text,
            stderr: self.stderr.kept.capture().text,
        }
    }

    fn stream(&mut self, stream: Stream) -> &mut StreamCapture {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn keep(&mut self, stream: Stream, text: String) {
        if text.is_empty() {
            return;
        }
        self.stream(stream).kept.push(text.as_bytes());
        self.both.push(text.as_bytes());
        if let Some(sink) = &self.sink {
            sink(OutputChunk { stream, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_streams_apart_and_in_order_of_arrival() {
        let mut capture = Capture::new(100, None);
        capture.take(Stream::Stdout, b"a\xC3");
        capture.take(Stream::Stderr, b"E\xFF!");
        capture.take(Stream::Stdout, b"\xA9b\xE2\x82");
        assert_eq!(
            capture.finish(),
            Captured {
                output: "aE\u{FFFD}!éb\u{FFFD}".into(),
                stdout: "aéb\u{FFFD}".into(),
                stderr: "E\u{FFFD}!".into(),
                truncated: false,
            }
        );
    }
}
