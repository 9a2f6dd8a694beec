//! What a command prints, caught in bounded memory: each stream alone, and both in the order in which they arrived.

use crate::backend::{OutputChunk, OutputSink, Stream};

use super::head_tail::HeadTailBuffer;

/// The output of one command.
pub(super) struct Capture {
    both: HeadTailBuffer,
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
    decoder: Utf8Decoder,
    kept: HeadTailBuffer,
}

impl Capture {
    /// Keeps `limit` bytes of each stream and of both together, and hands every piece to `sink` as it comes.
    pub(super) fn new(limit: usize, sink: Option<OutputSink>) -> Self {
        let stream = || StreamCapture { decoder: Utf8Decoder::default(), kept: HeadTailBuffer::new(limit) };
        Self { both: HeadTailBuffer::new(limit), stdout: stream(), stderr: stream(), sink }
    }

    /// Takes the next bytes of a stream.
    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let text = self.stream(stream).decoder.decode(bytes);
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
            output: self.both.into_text(),
            stdout: self.stdout.kept.into_text(),
            stderr: self.stderr.kept.into_text(),
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
        self.stream(stream).kept.push(&text);
        self.both.push(&text);
        if let Some(sink) = &self.sink {
            sink(OutputChunk { stream, text });
        }
    }
}

/// Decodes UTF-8 that arrives in pieces: a character that two pieces share comes out whole (R-SH-6), and what is no
/// UTF-8 becomes U+FFFD.
#[derive(Default)]
struct Utf8Decoder {
    /// The beginning of a character whose end has not arrived; at most 3 bytes.
    pending: Vec<u8>,
}

impl Utf8Decoder {
    fn decode(&mut self, bytes: &[u8]) -> String {
        let joined;
        let mut rest = if self.pending.is_empty() {
            bytes
        } else {
            self.pending.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.pending);
            joined.as_slice()
        };
        let mut text = String::with_capacity(rest.len());
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    return text;
                }
                Err(error) => error,
            };
            let (valid, after) = rest.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            match error.error_len() {
                Some(length) => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = &after[length..];
                }
                None => {
                    self.pending = after.to_vec();
                    return text;
                }
            }
        }
    }

    fn finish(&mut self) -> String {
        if std::mem::take(&mut self.pending).is_empty() {
            String::new()
        } else {
            char::REPLACEMENT_CHARACTER.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keeps_streams_apart_and_in_order_of_arrival() {
        let mut capture = Capture::new(100, None);
        capture.take(Stream::Stdout, b"a\xC3");
        capture.take(Stream::Stderr, b"E\xFF");
        capture.take(Stream::Stdout, b"\xA9b\xE2\x82");
        assert_eq!(
            capture.finish(),
            Captured {
                output: "aE\u{FFFD}éb\u{FFFD}".into(),
                stdout: "aéb\u{FFFD}".into(),
                stderr: "E\u{FFFD}".into(),
                truncated: false
            }
        );
    }

    proptest! {
        #[test]
        fn decodes_pieces_as_the_whole(bytes in prop::collection::vec(prop_oneof![Just(0xF0u8), Just(0x9F), Just(0x98), Just(0x80), Just(0xC3), any::<u8>()], 0..60), cut in 1usize..7) {
            let mut decoder = Utf8Decoder::default();
            let mut text: String = bytes.chunks(cut).map(|piece| decoder.decode(piece)).collect();
            text.push_str(&decoder.finish());
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}
