//! What of a terminal's output goes into a recording.
//!
//! A recording is made to be played on a person's terminal, and what a program printed must not get there as it came (R-SH-7).
//! What draws passes: characters, moves of the cursor, erasures, colours and the screen of a full-screen program. What asks,
//! tells or sets something else does not: control strings (titles, the clipboard, links, our own marks of prompts, whose
//! word is a secret), queries, the mouse, keys. What is not known is left out.

use crate::error::is_deceptive;

/// 64 bytes of one sequence: the longest that draws is a colour.
const SEQUENCE_BYTES: usize = 64;
/// 9,999: no terminal has more rows or columns, and nothing is repeated more often.
const MOST: u32 = 9_999;
/// The last bytes of sequences that draw.
const DRAWING: &[u8] = b"@ABCDEFGHIJKLMPSTXZ`abdefgmrsu";
/// The private modes that draw: what counts as the origin, wrapping, the blinking and the hidden cursor, the other screen.
const MODES: [&str; 8] = ["6", "7", "12", "25", "47", "1047", "1048", "1049"];
/// Modes that draw: characters push others aside, and a line feed begins a line.
const PLAIN_MODES: [&str; 2] = ["4", "20"];

/// Takes text in pieces and keeps what draws.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    within: Within,
    /// The sequence so far, from its escape on.
    open: String,
}

/// Where in the text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Within {
    #[default]
    Text,
    /// Behind an escape.
    Escape,
    /// Behind an escape and `(` or the like, before the name of a set of characters.
    Charset,
    /// Behind an escape and what else may stand between it and its end.
    Unknown,
    /// In a control sequence, before its last byte.
    Sequence,
    /// In a control string.
    Command,
}

impl Drawing {
    /// What draws of the next text.
    pub(super) fn keep(&mut self, text: &str) -> String {
        let mut kept = String::with_capacity(text.len());
        for character in text.chars() {
            self.take(character, &mut kept);
        }
        kept
    }

    fn take(&mut self, character: char, kept: &mut String) {
        match (self.within, character) {
            // These end whatever is open.
            (_, '\u{18}' | '\u{1A}') => self.begin(Within::Text),
            (_, '\u{1B}') => {
                self.begin(Within::Escape);
                self.open.push(character);
            }
            (Within::Command, '\u{7}' | '\u{9C}') => self.begin(Within::Text),
            (Within::Command, _) => {}
            (Within::Text, _) => text(character, kept),
            // Controls are carried out within a sequence; which of them draw is asked as ever.
            (_, '\0'..='\u{1F}') => text(character, kept),
            (Within::Escape, '[') => self.go_on(Within::Sequence, character),
            (Within::Escape, ']' | 'P' | 'X' | '^' | '_') => self.begin(Within::Command),
            (Within::Escape, '(' | ')') => self.go_on(Within::Charset, character),
            (Within::Escape, '\u{20}'..='\u{2F}') => self.begin(Within::Unknown),
            // The cursor is kept and comes back, moves by a line, sets a tab; all begins anew.
            (Within::Escape, '7' | '8' | 'D' | 'E' | 'H' | 'M' | 'c') => self.end(character, kept),
            (Within::Charset, '0' | 'A' | 'B') => self.end(character, kept),
            (Within::Unknown, '\u{20}'..='\u{2F}') => {}
            (Within::Escape | Within::Charset | Within::Unknown, _) => self.begin(Within::Text),
            (Within::Sequence, '\u{20}'..='\u{3F}') => self.go_on(Within::Sequence, character),
            (Within::Sequence, '\u{40}'..='\u{7E}') => {
                if draws(self.open.get(2..).unwrap_or_default(), character) {
                    self.end(character, kept);
                } else {
                    self.begin(Within::Text);
                }
            }
            (Within::Sequence, _) => self.begin(Within::Text),
        }
    }

    fn begin(&mut self, within: Within) {
        self.within = within;
        self.open.clear();
    }

    fn go_on(&mut self, within: Within, character: char) {
        self.within = within;
        // What is too long is one byte longer than it may be, behind the escape and its bracket, and draws nothing.
        if self.open.len() < SEQUENCE_BYTES + 3 {
            self.open.push(character);
        }
    }

    fn end(&mut self, character: char, kept: &mut String) {
        kept.push_str(&self.open);
        kept.push(character);
        self.begin(Within::Text);
    }
}

/// A character outside of all sequences, or a control within one.
fn text(character: char, kept: &mut String) {
    // Backspace, tab, line ends, and the change between two sets of characters, by which lines are drawn.
    let is_control = matches!(character, '\u{8}'..='\u{F}');
    if is_control || !is_deceptive(character) {
        kept.push(character);
    }
}

/// Whether a control sequence with these parameters and this last byte draws.
fn draws(parameters: &str, last: char) -> bool {
    if parameters.len() > SEQUENCE_BYTES {
        return false;
    }
    let (private, numbers) = match parameters.strip_prefix('?') {
        Some(numbers) => (true, numbers),
        None => (false, parameters),
    };
    let are_numbers = numbers.split([';', ':']).all(|number| {
        number.bytes().all(|byte| byte.is_ascii_digit()) && number.parse().unwrap_or(0) <= MOST && number.len() <= 5
    });
    if !are_numbers {
        return false;
    }
    match (private, last) {
        (true, 'h' | 'l') => numbers.split(';').all(|number| MODES.contains(&number)),
        (true, 'J' | 'K') => true,
        (true, _) => false,
        (false, 'h' | 'l') => numbers.split(';').all(|number| PLAIN_MODES.contains(&number)),
        (false, _) => u8::try_from(last).is_ok_and(|last| DRAWING.contains(&last)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(text: &str, size: usize) -> String {
        let mut drawing = Drawing::default();
        let characters: Vec<char> = text.chars().collect();
        characters.chunks(size).map(|piece| drawing.keep(&piece.iter().collect::<String>())).collect()
    }

    #[test]
    fn what_draws_passes_and_what_does_anything_else_does_not_wherever_it_is_cut() {
        let drawn = "plain é 全\r\n\t\x08\x1b[1;38:5:200mred\x1b[0m\x1b[m\x1b[2J\x1b[?1049h\x1b[H\x1b[3;4H\x1b[K\x1b[?25l\x1b[2;5r\
                     \x1b7\x1b[A\x1b8\x1bM\x1b(0lqk\x1b(B\x0e\x0f\x1b[4h\x1b[3@\x1b[2b\x1bc\x1b[?7l\x1b[12G";
        let table = [
            (drawn, drawn),
            // The clipboard, titles, links, marks; also without an end.
            ("a\x1b]52;c;aGFja2Vk\x07b\x1b]2;title\x1b\\c\x1b]8;;http://x\x1b\\d\x1b]133;D;0;word\x07e", "abcde"),
            ("a\x1b]52;c;aGk=\u{9c}b\x1b]0;open\r\nfor ever", "ab"),
            ("a\x1bP+q544e\x1b\\b\x1b_app\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e", "abcde"),
            // Queries and what terminals answer with.
            ("a\x1b[6nb\x1b[cc\x1b[>cd\x1b[=ce\x1b[?6nf\x1b[>qg\x1b[?2026$ph\x1bZi\x05j", "abcdefghij"),
            // Windows, printers, the mouse, pastes, focus, keys, resets by another name, the bell, C1.
            (
                "a\x1b[8;1;1tb\x1b[5ic\x1b[?1000hd\x1b[?2004he\x1b[?1004hf\x1b[>1ug\x1b[?1;25hh\x1b[!pi\x07j",
                "abcdefghij",
            ),
            ("a\u{9b}31mb\u{9d}52;c;x\u{9c}c\u{202e}d\u{200b}e\0f\x7fg", "a31mb52;c;xcdefg"),
            ("a\x1b#8b\x1b%Gc\x1b(Xd\x1b=e\x1b>f\x1b\u{e9}g", "abcdefg"),
            // Numbers that keep a terminal busy, and sequences that are too long.
            ("a\x1b[999999999bb\x1b[10000Lc\x1b[9999Cd", "abc\x1b[9999Cd"),
            ("a\x1b[1;2;;3<mb\x1b[1 qc\x1b[1\u{e9}d", "abcd"),
            // Begun anew, and cancelled.
            ("a\x1b[3\x1b[1mb\x1b]52;\x18c\x1b[3\x1ad\x1b\x1b[1me", "a\x1b[1mbcd\x1b[1me"),
        ];
        for (text, expected) in table {
            for size in 1..=text.chars().count() {
                assert_eq!(kept(text, size), expected, "{text:?} {size}");
            }
        }
        let long = format!("\x1b[{}mx", "1;".repeat(SEQUENCE_BYTES));
        assert_eq!(kept(&long, 3), "x");
    }

    proptest! {
        /// What passes has no control string and no query in it, whatever was printed, and passes again as it is.
        #[test]
        fn what_passes_draws(bytes in prop::collection::vec(prop_oneof![
            Just(0x1B_u8), Just(b'['), Just(b']'), Just(b'?'), Just(b';'), Just(b'P'), Just(0x07), 0x20..0x7F_u8, any::<u8>(),
        ], 0..200)) {
            let text = String::from_utf8_lossy(&bytes);
            let once = kept(&text, 7);
            prop_assert_eq!(kept(&once, 1_000), once.clone());
            for (at, _) in once.match_indices('\x1b') {
                let next = once[at + 1..].chars().next();
                prop_assert!(next.is_some_and(|next| "[()78DEHMc".contains(next)), "{:?}", once);
            }
        }
    }
}
