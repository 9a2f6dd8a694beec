//! Bounds the control strings and the numbers that a screen is given.
//!
//! The parser of escape sequences keeps the text of an operating system command (`ESC ]` up to its end) until it ends, however
//! long it is: a program that never ends one would fill the memory of the host. So no more than so many of its bytes reach the
//! parser. The other strings (DCS, APC, PM, SOS) are not kept by it.
//!
//! It draws a character again as often as a sequence says (`ESC [ 65535 b`): eight bytes for minutes of somebody's time. No number of a
//! sequence that draws needs more than three digits, so that those behind the third do not pass. All else passes as it came, in the same
//! pieces.

/// Where in a stream. A sequence begins with an escape wherever it stands.
#[derive(Debug, Clone, Copy, Default)]
enum Within {
    #[default]
    Other,
    /// Behind an escape.
    Escape,
    /// In the text of a command, of which so many bytes may still pass.
    Command { left: usize },
    /// In a sequence, behind so many digits of a number that count. Numbers of private sequences are names.
    Sequence { digits: u8, is_private: bool },
}

/// 3 digits: a screen has 500 columns and rows at the most.
const DIGITS: u8 = 3;

/// Leaves out what is too long of a stream.
#[derive(Debug)]
pub(super) struct Strings {
    most: usize,
    within: Within,
}

impl Strings {
    /// At the beginning of a stream; at most so many bytes of one command pass.
    pub(super) fn new(most: usize) -> Self {
        Self { most, within: Within::Other }
    }

    /// What passes of the beginning of `bytes`, and what follows it: something between them may be left out.
    pub(super) fn split<'a>(&mut self, bytes: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.within {
                Within::Other => match memchr::memchr(0x1B, &bytes[at..]) {
                    Some(next) => {
                        self.within = Within::Escape;
                        at += next + 1;
                    }
                    None => break,
                },
                Within::Escape => {
                    self.within = match byte {
                        b']' => Within::Command { left: self.most },
                        b'[' => Within::Sequence { digits: 0, is_private: false },
                        // Cancelled.
                        0x18 | 0x1A => Within::Other,
                        // Controls are carried out behind an escape, and what is no character is nothing there.
                        0..b' ' | 0x7F.. => Within::Escape,
                        _ => Within::Other,
                    };
                    at += 1;
                }
                Within::Sequence { digits, is_private } => {
                    if byte.is_ascii_digit() && digits == DIGITS && !is_private {
                        let rest = &bytes[at..];
                        let number = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
                        return (&bytes[..at], &rest[number..]);
                    }
                    self.within = match byte {
                        0x1B => Within::Escape,
                        0x18 | 0x1A | b'@'..=b'~' => Within::Other,
                        b'0' if digits == 0 => self.within,
                        b'0'..=b'9' => Within::Sequence { digits: (digits + 1).min(DIGITS), is_private },
                        b':' | b';' => Within::Sequence { digits: 0, is_private },
                        b'<'..=b'?' => Within::Sequence { digits, is_private: true },
                        _ => self.within,
                    };
                    at += 1;
                }
                Within::Command { left } => {
                    let rest = &bytes[at..];
                    let end = rest.iter().position(|byte| matches!(byte, 0x07 | 0x18 | 0x1A | 0x1B));
                    let text = end.unwrap_or(rest.len());
                    if text > left {
                        self.within = Within::Command { left: 0 };
                        return (&bytes[..at + left], &rest[text..]);
                    }
                    self.within = match end.map(|end| rest[end]) {
                        None => Within::Command { left: left - text },
                        Some(0x1B) => Within::Escape,
                        Some(_) => Within::Other,
                    };
                    at += text + usize::from(end.is_some());
                }
            }
        }
        (bytes, &[])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What passes of a stream that comes in pieces of `size`.
    fn passed(stream: &[u8], most: usize, size: usize) -> Vec<u8> {
        let mut strings = Strings::new(most);
        let mut passed = Vec::new();
        for piece in stream.chunks(size) {
            let mut rest = piece;
            while !rest.is_empty() {
                let (passes, next) = strings.split(rest);
                passed.extend_from_slice(passes);
                rest = next;
            }
        }
        passed
    }

    #[test]
    fn what_is_too_long_of_a_command_is_left_out_wherever_the_stream_is_cut() {
        let table: [(&[u8], &[u8]); 11] = [
            (b"plain \x1b[31mred", b"plain \x1b[31mred"),
            (b"\x1b]2;title\x07x", b"\x1b]2;tit\x07x"),
            (b"\x1b]2;title\x1b\\x", b"\x1b]2;tit\x1b\\x"),
            (b"\x1b]2;title\x18title\x1b]0;123\x07", b"\x1b]2;tit\x18title\x1b]0;123\x07"),
            (b"\x1b]endless, and then more", b"\x1b]endle"),
            (b"\x1b]2;title\x1b]2;title\x1b[m]]]]]]]]", b"\x1b]2;tit\x1b]2;tit\x1b[m]]]]]]]]"),
            // Not cut short by controls, and no command where the escape was one of another kind.
            (b"\x1b\r\n\xFF]2;title", b"\x1b\r\n\xFF]2;tit"),
            (b"\x1b(]2;title]\x1b\x1a]2;title", b"\x1b(]2;title]\x1b\x1a]2;title"),
            (b"\x1b[65535bx\x1b[00012345;7654H9999", b"\x1b[655bx\x1b[000123;765H9999"),
            (b"\x1b[?1049h\x1b[38;2;255;1;2m\x1b[1234\x18567", b"\x1b[?1049h\x1b[38;2;255;1;2m\x1b[123\x18567"),
            (b"\x1bPlong text\x1b\\\x1b_long text\x1b\\", b"\x1bPlong text\x1b\\\x1b_long text\x1b\\"),
        ];
        for (stream, expected) in table {
            for size in 1..=stream.len() {
                assert_eq!(passed(stream, 5, size), expected, "{:?} {size}", String::from_utf8_lossy(stream));
            }
        }
    }

    #[derive(Default)]
    struct Longest(usize);

    impl vt100::Callbacks for Longest {
        fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
            self.0 = self.0.max(title.len());
        }
    }

    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let parts = [
            "\x1b]0;", "\x1b]2;", "\x1b", "]", "\x07", "\x18", "\x1b\\", "\x1b[2J", "\x1b[31m", "\x1bP", "\x1b_", "é",
            "\r\n",
        ];
        prop_oneof![
            3 => prop::sample::select(parts.to_vec()).prop_map(|part| part.as_bytes().to_vec()),
            2 => "[a-z;]{0,20}".prop_map(String::into_bytes),
            1 => prop::collection::vec(any::<u8>(), 0..4),
        ]
    }

    proptest! {
        #[test]
        fn a_stream_of_short_commands_passes_as_it_is(
            pieces in prop::collection::vec(piece(), 0..30),
            size in 1_usize..40,
        ) {
            let stream = pieces.concat();
            prop_assert_eq!(passed(&stream, stream.len(), size), stream);
        }

        /// The parser itself says that the commands are bounded, and that it stands where all of the stream leads it.
        #[test]
        fn long_commands_are_bounded_and_what_is_drawn_is_the_same(
            pieces in prop::collection::vec(piece(), 0..30),
            most in 0_usize..20,
        ) {
            let stream = pieces.concat();
            let drawn = |bytes: &[u8]| {
                let mut parser = vt100::Parser::new_with_callbacks(
                    4.try_into().unwrap(), 20.try_into().unwrap(), 0, Longest::default());
                parser.process(bytes);
                // What is open is closed, and shows where the parser stood.
                parser.process(b"\x07x");
                (parser.screen().state_formatted(), parser.callbacks().0)
            };
            let (all, (bounded, longest)) = (drawn(&stream), drawn(&passed(&stream, most, 7)));
            prop_assert_eq!(all.0, bounded);
            prop_assert!(longest <= most, "{longest} of {most}");
        }
    }
}
