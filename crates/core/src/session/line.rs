//! The line that is typed into a session, as far as it can be known.
//!
//! Nobody can tell what reads it: another shell may. A line is judged when it ends, and it may have been typed in pieces, with
//! keys, and over several calls. Most keys that are no characters recall, complete or change a line, or move about in it;
//! what it is then only its reader knows. A key that interrupts takes away what was not read yet, and a shell drops its line at
//! it, or does not: what the line may be then is told beside it, so that what is denied stays denied. So is the line without the
//! letter behind the key: a shell that reads it while the signal arrives drops it.

/// 64 KiB of one line are remembered; of a longer one it is not known what it is.
const LINE_BYTES: usize = 64 << 10;
/// 16 more texts that a line may be, of 4 KiB each. All are judged, in each line of a call; of a longer one it is only not known
/// what it is.
const OTHERS: usize = 16;
const OTHER_BYTES: usize = 4 << 10;

/// A line that was not ended yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its characters, in the order in which they were typed.
    text: String,
    /// What it may be besides, where keys took some of them away.
    others: Vec<String>,
    /// Whether it is nothing but its characters.
    is_known: bool,
    /// What it was, or may have been, when the call began that types now: its reader may have that.
    before: Vec<String>,
    /// Whether that call ended a line.
    has_ended: bool,
    /// Whether that call interrupted. A reader may still be at that, and lose what the call types behind it.
    has_interrupted: bool,
    /// Whether something interrupted and no letter was typed since: the signal may arrive when its reader has the next one.
    may_be_cut: bool,
}

/// A line at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedLine {
    /// Its characters.
    pub text: String,
    /// What it may be besides, where keys took some of them away.
    pub others: Vec<String>,
    /// Whether it is nothing but its characters.
    pub is_known: bool,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            text: String::new(),
            others: Vec::new(),
            is_known: true,
            before: Vec::new(),
            has_ended: false,
            has_interrupted: false,
            may_be_cut: false,
        }
    }
}

impl Line {
    /// Whether nothing was typed.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.is_known
    }

    /// Whether characters were typed.
    pub fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// The bytes of its characters.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Notes that another call types now: what was typed so far may have been read.
    pub fn begin_call(&mut self) {
        if self.has_interrupted {
            self.may_be(String::new());
        }
        self.before = self.texts();
        self.has_ended = false;
        self.has_interrupted = false;
    }

    /// Takes text, whose line ends are returns. The lines that end in it.
    pub fn write(&mut self, text: &str) -> Vec<EndedLine> {
        let mut buffer = [0; 4];
        text.chars().filter_map(|character| self.press(character.encode_utf8(&mut buffer).as_bytes())).collect()
    }

    /// Takes the bytes of one key. The line, where the key may end it, or may run some of it.
    pub fn press(&mut self, key: &[u8]) -> Option<EndedLine> {
        match key {
            b"\r" | b"\n" => self.end(),
            // Ctrl-O ends it too, and recalls the next one of the history.
            [0x0F] => {
                let ended = self.end();
                self.is_known = false;
                ended
            }
            // Ctrl-D is the end of input: a shell runs what it has, and a line editor deletes.
            [0x04] => self.so_far(),
            // Ctrl-X and another key open a line in an editor, to be run, or type again what was typed before.
            [0x18] => {
                let line = self.so_far();
                self.is_known = false;
                line
            }
            // Ctrl-E goes to the end of a line; behind an escape it expands the commands in it.
            [0x05] if self.is_known => None,
            [0x05] => self.so_far(),
            // Ctrl-C, Ctrl-Z and Ctrl-\.
            [0x03 | 0x1A | 0x1C] => {
                self.interrupt();
                None
            }
            // Ctrl-L: whatever it does, it adds nothing to a line.
            [0x0C] => None,
            // Backspace, Ctrl-U and Ctrl-W find nothing to delete.
            [0x08 | 0x15 | 0x17 | 0x7F] if self.is_empty() => None,
            [0x1B, rest @ ..] => {
                self.is_known = false;
                if rest.iter().any(|byte| matches!(byte, 0x03 | 0x1A | 0x1C)) {
                    self.interrupt();
                }
                if rest.contains(&0x05) { self.so_far() } else { None }
            }
            [0..=0x1F | 0x7F, ..] => {
                self.is_known = false;
                None
            }
            character => {
                // Where the locale has no such letters their bytes are keys: `ü` capitalizes a word and goes back in history.
                self.is_known &= character.is_ascii();
                if self.has_interrupted {
                    self.is_known = false;
                    self.may_be(String::new());
                }
                let character = String::from_utf8_lossy(character);
                let without = if std::mem::take(&mut self.may_be_cut) { self.texts() } else { Vec::new() };
                if self.text.len() + character.len() > LINE_BYTES {
                    self.is_known = false;
                } else {
                    self.text.push_str(&character);
                }
                self.others.retain_mut(|text| {
                    text.push_str(&character);
                    text.len() <= OTHER_BYTES
                });
                for text in without {
                    self.may_be(text);
                }
                None
            }
        }
    }

    /// The terminal takes away what was not read yet, line ends too, and its reader drops what it has of a line, or keeps it.
    fn interrupt(&mut self) {
        if self.has_ended || !self.is_empty() {
            self.is_known = false;
            self.may_be(String::new());
            for before in self.before.clone() {
                self.may_be(before);
            }
        }
        (self.has_interrupted, self.may_be_cut) = (true, true);
    }

    /// All that it may be.
    fn texts(&self) -> Vec<String> {
        [std::slice::from_ref(&self.text), &self.others].concat()
    }

    fn may_be(&mut self, text: String) {
        let has_room = self.others.len() < OTHERS && text.len() <= OTHER_BYTES;
        if has_room && text != self.text && !self.others.contains(&text) {
            self.others.push(text);
        }
    }

    fn end(&mut self) -> Option<EndedLine> {
        let line = self.so_far();
        *self = Self {
            // The end itself may be lost behind an interrupt.
            is_known: line.is_none() || !self.has_interrupted,
            before: std::mem::take(&mut self.before),
            has_ended: self.has_ended || line.is_some(),
            has_interrupted: self.has_interrupted,
            may_be_cut: self.may_be_cut && line.is_none(),
            ..Self::default()
        };
        line
    }

    fn so_far(&self) -> Option<EndedLine> {
        if self.is_empty() {
            return None;
        }
        let Self { text, others, is_known, .. } = self;
        let mut others = others.clone();
        // Letters that are keys may do nothing.
        for text in std::iter::once(text).chain(&self.others).filter(|text| !text.is_ascii()) {
            let rest = text.chars().filter(char::is_ascii).collect();
            if !others.contains(&rest) {
                others.push(rest);
            }
        }
        Some(EndedLine { text: text.clone(), others, is_known: *is_known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::keys::{CursorKeys, bytes_of};

    #[test]
    fn lines_end_where_a_reader_may_end_them_and_are_known_while_only_characters_were_typed() {
        type Case<'a> = (&'a [&'a str], &'a [(&'a str, bool)]);
        let table: [Case<'_>; 20] = [
            (&["r", "m", " ", "x", "enter"], &[("rm x", true)]),
            (&["enter", "enter"], &[]),
            (&["r", "m", "ctrl-j", "é", "ctrl-m", "e", "enter"], &[("rm", true), ("é", false), ("e", true)]),
            (&["ctrl-c", "ctrl-l", "ctrl-z", "ctrl-\\", "b", "enter"], &[("b", true)]),
            (&["a", "ctrl-c", "b", "enter", "c", "enter"], &[("ab", false), ("c", true)]),
            (&["a", "ctrl-z", "b", "enter"], &[("ab", false)]),
            (&["a", "ctrl-\\", "b", "enter"], &[("ab", false)]),
            (&["a", "enter", "ctrl-c", "b", "enter"], &[("a", true), ("b", true)]),
            (&["ctrl-u", "backspace", "ctrl-w", "a", "enter"], &[("a", true)]),
            (&["a", "backspace", "enter", "b", "enter"], &[("a", false), ("b", true)]),
            (&["a", "ctrl-u", "b", "enter"], &[("ab", false)]),
            (&["up", "enter"], &[("", false)]),
            (&["s", "tab", "enter"], &[("s", false)]),
            (&["ctrl-r", "r", "m", "enter"], &[("rm", false)]),
            (&["alt-.", "enter"], &[("", false)]),
            (&["ctrl-d", "a", "ctrl-d", "ctrl-d"], &[("a", true), ("a", true)]),
            (&["ctrl-o", "a", "ctrl-o", "enter"], &[("a", false), ("", false)]),
            (&["a", "ctrl-e", "escape", "ctrl-e", "alt-ctrl-e"], &[("a", false), ("a", false)]),
            (&["a", "ctrl-x", "ctrl-e", "enter"], &[("a", true), ("a", false), ("a", false)]),
            (&["escape", ":", "w", "enter"], &[(":w", false)]),
        ];
        for (keys, expected) in table {
            let mut line = Line::default();
            let ended = keys.iter().filter_map(|key| {
                line.begin_call();
                line.press(&bytes_of(key, CursorKeys::Normal).unwrap())
            });
            let ended: Vec<_> = ended.map(|line| (line.text, line.is_known)).collect();
            let expected: Vec<_> = expected.iter().map(|(text, is_known)| ((*text).to_owned(), *is_known)).collect();
            assert_eq!(ended, expected, "{keys:?}");
        }
    }

    /// A program within a session had another line than the one that was judged.
    #[test]
    fn behind_an_interrupt_a_line_may_be_what_was_typed_before_it_or_behind_it_or_both() {
        type Case<'a> = (&'a [&'a [&'a str]], &'a [&'a [&'a str]]);
        let table: [Case<'_>; 11] = [
            (&[&["a", "ctrl-c"], &["b", "enter"]], &[&["ab", "b", "a", ""]]),
            (&[&["a"], &["b", "ctrl-z"], &["c", "enter"]], &[&["abc", "c", "ac", "ab", "", "a"]]),
            (
                &[&["a"], &["b", "ctrl-z", "c", "ctrl-z"], &["d", "enter"]],
                &[&["abcd", "cd", "acd", "abd", "d", "ad", "abc", "c", "ac", "ab", "", "a"]],
            ),
            (&[&["a"], &["enter", "ctrl-\\"], &["b", "enter"]], &[&["a"], &["b", "ab", "", "a"]]),
            (&[&["a", "enter", "ctrl-c"], &["b", "enter"]], &[&["a"], &["b", ""]]),
            (
                &[&["a", "ctrl-c", "b", "ctrl-z", "c"], &["d", "enter"]],
                &[&["abcd", "bcd", "acd", "cd", "abd", "bd", "ad", "d"]],
            ),
            (&[&["ctrl-c", "a", "b"], &["c", "enter"]], &[&["abc", "bc", "c"]]),
            (&[&["ctrl-c", "a", "enter"], &["b", "enter"]], &[&["a", ""], &["b"]]),
            (&[&["a", "alt-ctrl-c"], &["b", "enter"]], &[&["ab", "b", "a", ""]]),
            (&[&["a", "é", "b", "ctrl-c"], &["é", "enter"]], &[&["aébé", "é", "aéb", "", "ab"]]),
            (&[&["a", "ctrl-c"], &["ctrl-c"], &["enter"]], &[&["a", ""]]),
        ];
        for (calls, expected) in table {
            let mut line = Line::default();
            let mut ended = Vec::new();
            for keys in calls {
                line.begin_call();
                ended.extend(keys.iter().filter_map(|key| line.press(&bytes_of(key, CursorKeys::Normal).unwrap())));
            }
            assert!(!ended.last().unwrap().is_known, "{calls:?}");
            let ended: Vec<_> = ended.into_iter().map(|line| [vec![line.text], line.others].concat()).collect();
            assert_eq!(ended, expected, "{calls:?}");
        }
        // bash lost the first letter of a line behind a key that ended no line of it.
        let mut line = Line::default();
        line.begin_call();
        line.press(&[0x03]);
        line.begin_call();
        line.press(&[0x0C]);
        let cut = EndedLine { text: "ab".to_owned(), others: vec!["b".to_owned()], is_known: true };
        let whole = EndedLine { text: "c".to_owned(), others: Vec::new(), is_known: true };
        assert_eq!(line.write("ab\nc\n"), [cut, whole]);
        let mut line = Line::default();
        line.begin_call();
        for _ in 0..100 {
            line.write("ab");
            line.press(&[0x03]);
        }
        assert_eq!(line.clone().press(b"\r").unwrap().others.len(), OTHERS);
        line.begin_call();
        line.write(&"a".repeat(OTHER_BYTES + 1));
        let ended = line.press(b"\r").unwrap();
        assert_eq!((ended.others.len(), ended.is_known), (0, false));
    }

    #[test]
    fn text_goes_on_with_what_was_typed_before() {
        let known = |text: &str| EndedLine { text: text.to_owned(), others: Vec::new(), is_known: true };
        let mut line = Line::default();
        assert_eq!(line.write("r"), []);
        assert_eq!(line.write("m x\nsecond\rthi"), [known("rm x"), known("second")]);
        assert_eq!(line.write("rd\n\n"), [known("third")]);
        assert!(line.is_empty());
        assert_eq!(line.write(&"x".repeat(LINE_BYTES + 1)), []);
        let ended = line.write("\n");
        assert_eq!((ended[0].text.len(), ended[0].is_known), (LINE_BYTES, false));
    }
}
