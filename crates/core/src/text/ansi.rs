//! Takes terminal control out of text, completely and across pieces (R-SH-7).
//!
//! What goes: ECMA-48 sequences in their 7-bit and 8-bit forms (CSI with any parameters; OSC, DCS, APC, PM and SOS with
//! their text, up to ST, BEL, CAN, SUB or the end of the line), all other controls but tab and line feed. A carriage
//! return becomes a line end where something stands before it in its line, so that overprinted text cannot hide. Controls that reorder text become visible.
//! Where that is asked for, a sequence that moves the cursor on leaves a space or a line end.

use super::encoding::whole_characters;

/// Strips a stream. The result of pieces is the result of the whole.
#[derive(Debug, Default, Clone)]
pub struct AnsiStripper {
    state: State,
    /// A carriage return came, and what follows decides what it means.
    carriage_return: bool,
    /// Something stands in the line already.
    in_line: bool,
    /// Whether moves of the cursor part what is printed before and behind them.
    parts: bool,
    /// What stands for such a move where text follows.
    gap: Option<char>,
    /// What was printed last is a blank.
    behind_blank: bool,
    /// The beginning of a character that the last piece cut: at most 3 bytes.
    cut: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// Behind ESC, and behind the intermediate bytes that may follow it.
    Escape,
    /// In a control sequence, before its final byte.
    Sequence,
    /// In a control string.
    String,
    /// Behind ESC in a control string: a backslash ends it.
    StringEscape,
}

impl AnsiStripper {
    /// At the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, which leaves a space or a line end for each sequence that moves the cursor on.
    pub fn parting() -> Self {
        Self { parts: true, ..Self::default() }
    }

    /// Appends what remains of `bytes` to `text`. Bytes that are not UTF-8 become U+FFFD, unless they are 8-bit controls.
    pub fn push(&mut self, bytes: &[u8], text: &mut String) {
        if self.cut.is_empty() {
            let whole = whole_characters(bytes);
            self.cut.extend_from_slice(&bytes[whole..]);
            self.decode(&bytes[..whole], text);
            return;
        }
        let mut joined = std::mem::take(&mut self.cut);
        joined.extend_from_slice(bytes);
        self.push(&joined, text);
    }

    /// Appends what the end of the stream leaves. A sequence without an end is gone.
    pub fn finish(&mut self, text: &mut String) {
        let cut = std::mem::take(&mut self.cut);
        self.decode(&cut, text);
        *self = Self { parts: self.parts, ..Self::default() };
    }

    fn decode(&mut self, bytes: &[u8], text: &mut String) {
        for chunk in bytes.utf8_chunks() {
            let mut valid = chunk.valid();
            while !valid.is_empty() {
                if self.state == State::Text && !self.carriage_return && self.gap.is_none() {
                    let plain = valid.find(is_special).unwrap_or(valid.len());
                    text.push_str(&valid[..plain]);
                    if let Some(last) = valid[..plain].chars().next_back() {
                        self.in_line = last != '\n';
                        self.behind_blank = last.is_whitespace();
                    }
                    valid = &valid[plain..];
                }
                let mut rest = valid.chars();
                if let Some(character) = rest.next() {
                    self.take(character, text);
                }
                valid = rest.as_str();
            }
            match chunk.invalid() {
                [] => {}
                [control @ 0x80..=0x9F] => self.take(char::from(*control), text),
                _ => self.take(char::REPLACEMENT_CHARACTER, text),
            }
        }
    }

    fn take(&mut self, character: char, text: &mut String) {
        match (self.state, character) {
            // These end whatever is open.
            (_, '\u{18}' | '\u{1A}') => self.state = State::Text,
            (_, '\n' | '\r') => {
                self.state = State::Text;
                self.text(character, text);
            }
            (State::String, '\u{1B}') => self.state = State::StringEscape,
            (_, '\u{1B}') => self.state = State::Escape,
            (State::String, '\u{7}' | '\u{9C}') => self.state = State::Text,
            (State::String, _) => {}
            (State::StringEscape, '\\') => self.state = State::Text,
            // Any other escape ends the string and begins anew.
            (State::StringEscape | State::Escape, _) => self.escape(character, text),
            (State::Sequence, '\u{20}'..='\u{3F}') => {}
            (State::Sequence, '\u{40}'..='\u{7E}') => {
                self.state = State::Text;
                if let Some(gap) = gap_of(character).filter(|_| self.parts && self.in_line) {
                    // A move to another line counts for more than one within it.
                    self.gap = self.gap.filter(|before| *before == '\n').or(Some(gap));
                }
            }
            (State::Sequence, _) if character.is_ascii_control() => {}
            (State::Sequence | State::Text, _) => {
                self.state = State::Text;
                self.text(character, text);
            }
        }
    }

    /// The character behind ESC.
    fn escape(&mut self, character: char, text: &mut String) {
        self.state = match character {
            '[' => State::Sequence,
            ']' | 'P' | 'X' | '^' | '_' => State::String,
            '\u{20}'..='\u{2F}' => State::Escape,
            '\u{30}'..='\u{7E}' => State::Text,
            _ => {
                self.state = State::Text;
                return self.text(character, text);
            }
        };
    }

    /// A character outside of all sequences.
    fn text(&mut self, character: char, text: &mut String) {
        if character == '\r' {
            self.carriage_return = self.in_line;
            return;
        }
        match character {
            '\u{9B}' => self.state = State::Sequence,
            '\u{90}' | '\u{98}' | '\u{9D}'..='\u{9F}' => self.state = State::String,
            '\t' | '\n' => {}
            _ if character.is_control() => return,
            _ => {}
        }
        if self.state != State::Text {
            return;
        }
        let gap = self.gap.take().filter(|gap| match gap {
            '\n' => character != '\n',
            _ => !character.is_whitespace() && !self.behind_blank,
        });
        if std::mem::take(&mut self.carriage_return) && character != '\n' {
            text.push('\n');
        } else {
            text.extend(gap);
        }
        self.in_line = character != '\n';
        self.behind_blank = character.is_whitespace();
        if reorders(character) {
            text.extend(character.escape_unicode());
        } else {
            text.push(character);
        }
    }
}

/// The text without terminal control.
pub fn strip(text: &str) -> String {
    stripped_by(AnsiStripper::new(), text)
}

/// The text without terminal control, with a space or a line end for each sequence that moves the cursor on.
pub fn strip_parting(text: &str) -> String {
    stripped_by(AnsiStripper::parting(), text)
}

fn stripped_by(mut stripper: AnsiStripper, text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    stripper.push(text.as_bytes(), &mut plain);
    stripper.finish(&mut plain);
    plain
}

/// What stands for a move of the cursor, by the last letter of its sequence: within the line, or to another.
fn gap_of(last: char) -> Option<char> {
    match last {
        'C' | 'G' | 'I' | '`' | 'a' => Some(' '),
        'A' | 'B' | 'E' | 'F' | 'H' | 'd' | 'e' | 'f' => Some('\n'),
        _ => None,
    }
}

/// Whether a sequence, or a character, is open behind `bytes`.
pub fn is_cut(bytes: &[u8]) -> bool {
    let mut stripper = AnsiStripper::new();
    stripper.push(bytes, &mut String::new());
    stripper.state != State::Text
}

/// Bidirectional controls: they change the order in which text is seen.
fn reorders(character: char) -> bool {
    matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn is_special(character: char) -> bool {
    character.is_control() && !matches!(character, '\t' | '\n') || reorders(character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stripped(pieces: &[&[u8]]) -> String {
        stripped_with(AnsiStripper::new(), pieces)
    }

    fn stripped_with(mut stripper: AnsiStripper, pieces: &[&[u8]]) -> String {
        let mut text = String::new();
        for piece in pieces {
            stripper.push(piece, &mut text);
        }
        stripper.finish(&mut text);
        text
    }

    #[test]
    fn takes_out_every_kind_of_sequence() {
        let table: [(&[u8], &str); 35] = [
            (b"plain\ttext\n", "plain\ttext\n"),
            (b"\x1b[31mred\x1b[0m", "red"),
            (b"\x1b[38:2::255:0:0mred\x1b[m", "red"),
            (b"\x1b[?25l\x1b[2J\x1b[1;1Hx", "x"),
            (b"\x1b[ q\x1b[!px", "x"),
            (b"\x1b]0;title\x07x", "x"),
            (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1bP1$r0m\x1b\\x", "x"),
            (b"\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\x", "x"),
            (b"\x1b]never ended\nnext", "\nnext"),
            (b"\x1b]a\x1b[31mx", "x"),
            (b"\x1b(B\x1b)0x\x1b#8", "x"),
            (b"\x1b7\x1b8\x1bcx\x1b=", "x"),
            (b"\x1b \x46x", "x"),
            // 8-bit forms, as bytes and as UTF-8.
            (b"\x9b31mx", "x"),
            ("\u{9b}31mx\u{9d}0;t\u{9c}y".as_bytes(), "xy"),
            (b"\x9d0;t\x9cx\x90q\x9cy", "xy"),
            // The last bytes of a character are no controls.
            ("\u{1b}]0;✜\u{7}✜".as_bytes(), "✜"),
            // CAN and SUB end a sequence; a line end does, too; a character that cannot be part of one is text.
            (b"\x1b[31\x18m", "m"),
            (b"\x1b]t\x1ax", "x"),
            (b"\x1b[31\nm", "\nm"),
            ("\u{1b}[31éx".as_bytes(), "éx"),
            ("\u{1b}é".as_bytes(), "é"),
            (b"\x1b\x1b[31mx", "x"),
            (b"\x1b[3\x071mx", "x"),
            (b"a\x1b", "a"),
            (b"a\x1b[12", "a"),
            // Carriage returns.
            (b"10%\r20%\r\nend\r", "10%\n20%\nend"),
            (b"a\r\r\nb\r\x1b[K\nc\r\x1b[Kd", "a\nb\nc\nd"),
            (b"\ra\r\n\r\x1b[?2004l\rb\n\rc", "a\nb\nc"),
            (b"a\n\r\n\r\rb", "a\n\nb"),
            // Other controls.
            (b"a\0b\x08c\x0bd\x0ce\x7ff\x07", "abcdef"),
            ("a\u{85}b\u{84}c".as_bytes(), "abc"),
            // Text that is seen in another order than it stands in becomes visible.
            ("a\u{202e}b\u{2066}c".as_bytes(), "a\\u{202e}b\\u{2066}c"),
            (b"a\xffb\xe2\x82", "a\u{FFFD}b\u{FFFD}"),
        ];
        for (bytes, expected) in table {
            assert_eq!(stripped(&[bytes]), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn joiners_of_emoji_stay() {
        assert_eq!(strip("👩\u{200d}💻"), "👩\u{200d}💻");
    }

    fn terminal_bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            "[a-z0-9;:\\[\\]P_^X\\\\ ]{0,4}".prop_map(String::into_bytes),
            Just(vec![0x1B]),
            Just(vec![0x9B]),
            Just(b"\x1b[".to_vec()),
            Just(b"\x1b]".to_vec()),
            "\x1b\\[[0-9;]{0,3}[ABCEFGHIadefm]".prop_map(String::into_bytes),
            Just(b"\r\n".to_vec()),
            "[\u{e9}\u{20AC}\u{1F600}\u{202E}\u{9B}\u{85}]{0,3}".prop_map(String::into_bytes),
        ];
        proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn leaves_no_control_and_nothing_more_to_strip(bytes in terminal_bytes()) {
            for stripper in [AnsiStripper::new(), AnsiStripper::parting()] {
                let text = stripped_with(stripper, &[&bytes]);
                prop_assert!(!text.contains(is_special), "{text:?}");
                prop_assert_eq!(strip(&text), text);
            }
        }

        #[test]
        fn pieces_give_what_the_whole_gives(bytes in terminal_bytes(), piece in 1_usize..5) {
            let pieces: Vec<&[u8]> = bytes.chunks(piece).collect();
            for stripper in [AnsiStripper::new(), AnsiStripper::parting()] {
                prop_assert_eq!(stripped_with(stripper.clone(), &pieces), stripped_with(stripper, &[&bytes]));
            }
        }
    }
}
