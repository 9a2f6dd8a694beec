//! What a reader sees of a line that was typed for a shell to run another: at a plain shell the command, in place of the line that makes
//! such a shell run it ([`super::shells::evaluated`]); of one that has bash read elsewhere ([`super::hatch`]) nothing.

use std::borrow::Cow;

use super::marks::{Kind, Mark};

/// 64 KiB and 16 times the command are held back: a line editor draws some lines more than once. More is no echo.
const HELD_BYTES: usize = 64 << 10;
const HELD_TIMES: usize = 16;

/// The echo of typed lines.
#[derive(Debug, Default)]
pub(super) struct Echo {
    held_back: Option<HeldBack>,
}

#[derive(Debug)]
struct HeldBack {
    /// What is shown in its place.
    shown: String,
    left: usize,
}

impl Echo {
    /// The echo that follows is of the line that runs `command`.
    pub(super) fn hold_back(&mut self, command: &str) {
        self.held_back = Some(HeldBack {
            shown: command.replace('\n', "\r\n> ") + "\r\n",
            left: command.len().saturating_mul(HELD_TIMES).saturating_add(HELD_BYTES),
        });
    }

    /// The echo that follows is of a line that nobody is to see.
    pub(super) fn hide(&mut self) {
        self.held_back = Some(HeldBack { shown: String::new(), left: HELD_BYTES });
    }

    /// What is shown of `bytes`, which begin at `position` and hold these marks.
    pub(super) fn shown<'a>(
        &mut self,
        bytes: &'a [u8],
        position: u64,
        mut marks: impl Iterator<Item = Mark>,
    ) -> Cow<'a, [u8]> {
        let Some(held_back) = &mut self.held_back else { return Cow::Borrowed(bytes) };
        let echo_ends = marks.find(|mark| matches!(mark.kind, Kind::Begin | Kind::End(_)));
        let Some(mark) = echo_ends else {
            if bytes.len() <= held_back.left {
                held_back.left -= bytes.len();
                return Cow::Borrowed(&[]);
            }
            self.held_back = None;
            return Cow::Borrowed(bytes);
        };
        // The mark itself shows nothing, and some of it may have come before.
        let behind = usize::try_from(mark.to.saturating_sub(position)).unwrap_or(usize::MAX).min(bytes.len());
        let shown = [held_back.shown.as_bytes(), &bytes[behind..]].concat();
        self.held_back = None;
        Cow::Owned(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::super::marks::Marks;
    use super::*;

    /// What is shown of a stream that comes in pieces of `size`, after a command was typed.
    fn shown(stream: &[u8], size: usize) -> String {
        let (mut echo, mut marks) = (Echo::default(), Marks::new("w".into()));
        marks.typed("");
        echo.hold_back("a\nb");
        let mut all = Vec::new();
        for (index, bytes) in stream.chunks(size).enumerate() {
            let before = marks.count();
            marks.take(bytes, &|| true);
            all.extend_from_slice(&echo.shown(bytes, (index * size) as u64, marks.since(before)));
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn the_command_is_shown_in_place_of_its_line_wherever_the_stream_is_cut() {
        let stream =
            b"eval \"...\r\n\x1b]133;P;w\x07> more\"\r\n\x1b]133;C;w\x07out\x1b]133;D;0;w\x07\x1b]133;B;w\x07$ x";
        for size in 1..=stream.len() {
            assert_eq!(shown(stream, size), "a\r\n> b\r\nout\x1b]133;D;0;w\x07\x1b]133;B;w\x07$ x", "{size}");
        }
        // Given up before it began.
        for size in 1..20 {
            assert_eq!(shown(b"eval \"..^C\x1b]133;D;130;w\x07$ ", size), "a\r\n> b\r\n$ ", "{size}");
        }
    }

    #[test]
    fn what_is_too_much_for_an_echo_is_shown() {
        let flood = vec![b'x'; HELD_BYTES + 1_000];
        let shown = shown(&flood, 500);
        assert!((500..=1_500).contains(&shown.len()), "{}", shown.len());
    }
}
