//! The line that is typed into a session, as far as it can be known.
//!
//! Nobody can tell what reads it: another shell may. A line is judged when it ends, and it may have been typed in pieces, with
//! keys, and over several calls. Most keys that are no characters recall, complete or change a line, or move about in it;
//! what it is then only its reader knows. A key that interrupts takes away what was not read yet, and a shell drops its line at
//! it, or does not: what the line may be then is told beside it, so that what is denied stays denied. So is the line without the
//! letter behind the key: a shell that reads it while the signal arrives drops it.
//!
//! What is a key to a line editor is a letter to a program that has whole lines of the kernel ([`reading`]): there an escape and a
//! return end a line, and Ctrl-L joins a `#` to the word before it. A line with such a key in it is asked about, and judged both ways.

mod reading;
#[cfg(test)]
mod tests;

use reading::{Reading, runs_behind_escape, runs_in_command_mode, runs_of_letter};

/// 64 KiB of one line are remembered; of a longer one it is not known what it is.
const LINE_BYTES: usize = 64 << 10;
/// 16 more readings that a line may have, of 4 KiB each. All are judged, in each line of a call; of a longer one it is only not known
/// what it is.
const OTHERS: usize = 16;
const OTHER_BYTES: usize = 4 << 10;
/// The key `insert`, behind which a line editor takes the next one for a letter, as it does behind Ctrl-V and Ctrl-Q.
const INSERT: &[u8] = b"\x1b[2~";

/// A line that was not ended yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its characters, in the order in which they were typed.
    typed: Reading,
    /// What it may be besides, where keys took some of them away.
    others: Vec<Reading>,
    /// Whether it is nothing but its characters.
    is_known: bool,
    /// Whether a key in it is a letter to some readers, and changes nothing for others.
    is_read_otherwise: bool,
    /// What it was, or may have been, when the call began that types now: its reader may have that.
    before: Vec<Reading>,
    /// Whether that call ended a line.
    has_ended: bool,
    /// Whether that call interrupted. A reader may still be at that, and lose what the call types behind it.
    has_interrupted: bool,
    /// Whether something interrupted and no letter was typed since: the signal may arrive when its reader has the next one.
    may_be_cut: bool,
    /// Whether its reader may take letters for commands: an escape was typed in it, or a letter whose bytes may be one.
    is_commanded: bool,
    /// Whether the line before goes on with it, also where nothing is typed.
    is_joined: bool,
    /// Whether the last key was an escape, of which the next one may be a part.
    is_escaped: bool,
    /// Whether the last key may have made a letter of the next one.
    is_quoted: bool,
}

/// A line at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedLine {
    /// Its characters.
    pub text: String,
    /// What it may be besides, where keys took some of them away, or are letters to its reader.
    pub others: Vec<String>,
    /// Whether it is nothing but its characters.
    pub is_known: bool,
}

/// What a key did.
enum Taken {
    /// It ran nothing.
    Nothing,
    /// It may have run what there is of the line, which may go on.
    MayRun,
    /// It ended this line, or may have; `None` for an empty one.
    Ended(Option<EndedLine>),
}

impl Default for Line {
    fn default() -> Self {
        Self {
            typed: Reading::default(),
            others: Vec::new(),
            is_known: true,
            is_read_otherwise: false,
            before: Vec::new(),
            has_ended: false,
            has_interrupted: false,
            may_be_cut: false,
            is_commanded: false,
            is_joined: false,
            is_escaped: false,
            is_quoted: false,
        }
    }
}

impl Line {
    /// Whether nothing was typed.
    pub fn is_empty(&self) -> bool {
        self.typed.edited.is_empty() && self.is_known && !self.is_read_otherwise
    }

    /// Whether characters were typed.
    pub fn has_text(&self) -> bool {
        !self.typed.edited.is_empty()
    }

    /// The bytes of its characters, or more.
    pub fn bytes(&self) -> usize {
        self.typed.bytes()
    }

    /// Notes that another call types now: what was typed so far may have been read.
    pub fn begin_call(&mut self) {
        if self.has_interrupted {
            self.may_be(Reading::default());
        }
        self.before = self.readings();
        self.has_ended = false;
        self.has_interrupted = false;
    }

    /// Takes text, whose line ends are returns. The lines that end in it, and what some letter of the last one may have run.
    pub fn write(&mut self, text: &str) -> Vec<EndedLine> {
        let mut buffer = [0; 4];
        let mut ended = Vec::new();
        let mut may_run = false;
        for character in text.chars() {
            match self.take(character.encode_utf8(&mut buffer).as_bytes()) {
                Taken::Nothing => {}
                // Told once: each time would cost the square of a long text.
                Taken::MayRun => may_run = true,
                Taken::Ended(line) => {
                    may_run = false;
                    ended.extend(line);
                }
            }
        }
        if may_run {
            ended.extend(self.so_far());
        }
        ended
    }

    /// Takes the bytes of one key. The line, where the key may end it, or may run some of it.
    pub fn press(&mut self, key: &[u8]) -> Option<EndedLine> {
        // A letter that is a command is no part of what it runs.
        let before = if self.is_commanded { self.so_far() } else { None };
        match self.take(key) {
            Taken::Nothing => None,
            Taken::MayRun => before.or_else(|| self.so_far()),
            Taken::Ended(line) => line,
        }
    }

    fn take(&mut self, key: &[u8]) -> Taken {
        let was_quoted = std::mem::replace(&mut self.is_quoted, matches!(key, [0x11 | 0x16]) || key == INSERT);
        let was_escaped = std::mem::replace(&mut self.is_escaped, key == [0x1B]);
        match key {
            // Behind an escape a line editor changes its mode at it, and behind Ctrl-V it is a letter.
            b"\r" | b"\n" if was_escaped || was_quoted => self.may_end(key),
            b"\r" | b"\n" => Taken::Ended(self.end()),
            // Ctrl-O ends it too, and recalls the next one of the history.
            [0x0F] => {
                let ended = self.may_end(key);
                self.is_known = false;
                ended
            }
            // Ctrl-D is the end of input: a shell runs what it has, and a line editor deletes, or ends the line.
            [0x04] => {
                if !self.is_empty() {
                    self.may_be(Reading::default());
                }
                Taken::MayRun
            }
            // Ctrl-X and another key open a line in an editor, to be run, or type again what was typed before.
            [0x18] => {
                // What was typed before it is what it was.
                let line = self.so_far();
                self.press_key(key);
                self.is_known = false;
                Taken::Ended(line)
            }
            // Ctrl-E goes to the end of a line; behind an escape it expands the commands in it.
            [0x05] => {
                self.press_key(key);
                self.is_read_otherwise = true;
                if self.is_known { Taken::Nothing } else { Taken::MayRun }
            }
            // Ctrl-C, Ctrl-Z and Ctrl-\.
            [0x03 | 0x1A | 0x1C] => {
                self.interrupt();
                Taken::Nothing
            }
            // Ctrl-L draws a line again, and Ctrl-H finds nothing to delete.
            [0x0C] => self.may_be_letter(key),
            [0x08] if self.is_empty() => self.may_be_letter(key),
            // Neither do backspace, Ctrl-U and Ctrl-W, to the kernel neither.
            [0x15 | 0x17 | 0x7F] if self.is_empty() => Taken::Nothing,
            [0x1B, rest @ ..] => self.escape(rest),
            [0..=0x1F | 0x7F, ..] => {
                self.press_key(key);
                self.is_known = false;
                Taken::Nothing
            }
            letter => self.letter(letter, was_escaped),
        }
    }

    /// Takes an escape, and the key with which it was sent.
    fn escape(&mut self, rest: &[u8]) -> Taken {
        self.is_known = false;
        self.is_commanded = true;
        if rest.iter().any(|byte| matches!(byte, 0x03 | 0x1A | 0x1C)) {
            self.interrupt();
            return Taken::Nothing;
        }
        self.press_key(&[0x1B]);
        if matches!(rest, [0x0A | 0x0D | 0x0F]) {
            return self.may_end(rest);
        }
        self.press_key(rest);
        if !runs_behind_escape(rest) {
            return Taken::Nothing;
        }
        self.may_be(Reading::default());
        Taken::MayRun
    }

    /// Takes one character.
    fn letter(&mut self, bytes: &[u8], was_escaped: bool) -> Taken {
        let letter = String::from_utf8_lossy(bytes);
        // Where the locale has no such letters their bytes are keys: `ü` capitalizes a word and goes back in history.
        let is_ascii = letter.is_ascii();
        self.is_known &= is_ascii;
        if self.has_interrupted {
            self.is_known = false;
            self.may_be(Reading::default());
        }
        let may_run = (was_escaped && runs_behind_escape(bytes))
            || (self.is_commanded && runs_in_command_mode(bytes))
            || (!is_ascii && runs_of_letter(bytes));
        self.is_commanded |= !is_ascii;
        let without = if std::mem::take(&mut self.may_be_cut) { self.readings() } else { Vec::new() };
        if self.typed.bytes() + letter.len() > LINE_BYTES {
            self.is_known = false;
        } else {
            self.typed.push(&letter);
        }
        let count = self.others.len();
        self.others.retain_mut(|other| {
            other.push(&letter);
            other.bytes() <= OTHER_BYTES
        });
        self.is_known &= self.others.len() == count;
        for reading in without {
            self.may_be(reading);
        }
        if may_run { Taken::MayRun } else { Taken::Nothing }
    }

    /// A key that does nothing to a line, and is a letter to who reads whole lines.
    fn may_be_letter(&mut self, key: &[u8]) -> Taken {
        self.press_key(key);
        self.is_read_otherwise = true;
        Taken::Nothing
    }

    /// Notes a key for who reads whole lines.
    fn press_key(&mut self, key: &[u8]) {
        if self.typed.bytes() + key.len() > LINE_BYTES {
            self.is_known = false;
        } else {
            self.typed.press(key);
        }
        self.others.iter_mut().filter(|other| other.bytes() <= OTHER_BYTES).for_each(|other| other.press(key));
    }

    /// The terminal takes away what was not read yet, line ends too, and its reader drops what it has of a line, or keeps it.
    fn interrupt(&mut self) {
        if self.has_ended || !self.is_empty() {
            self.is_known = false;
            self.may_be(Reading::default());
            for before in self.before.clone() {
                self.may_be(before);
            }
        }
        (self.has_interrupted, self.may_be_cut) = (true, true);
    }

    /// All that it may be.
    fn readings(&self) -> Vec<Reading> {
        [std::slice::from_ref(&self.typed), &self.others].concat()
    }

    fn may_be(&mut self, reading: Reading) {
        if reading == self.typed || self.others.contains(&reading) {
            return;
        }
        if self.others.len() < OTHERS && reading.bytes() <= OTHER_BYTES {
            self.others.push(reading);
        } else {
            self.is_known = false;
        }
    }

    fn end(&mut self) -> Option<EndedLine> {
        let line = self.so_far();
        let joined: Vec<Reading> = self.readings().iter().filter_map(Reading::joined).collect();
        *self = Self {
            // The end itself may be lost behind an interrupt.
            is_known: line.is_none() || !self.has_interrupted,
            before: std::mem::take(&mut self.before),
            has_ended: self.has_ended || line.is_some(),
            has_interrupted: self.has_interrupted,
            may_be_cut: self.may_be_cut && line.is_none(),
            ..Self::default()
        };
        // A shell joins the next line to it.
        self.is_joined = !joined.is_empty();
        joined.into_iter().for_each(|reading| self.may_be(reading));
        line
    }

    /// The end of a line for some readers, and for others a letter or another key: what is typed next begins another line, or goes on
    /// with this one.
    fn may_end(&mut self, key: &[u8]) -> Taken {
        let mut going_on = self.clone();
        going_on.press_key(key);
        let ended = self.end();
        if ended.is_some() {
            (self.is_known, self.is_commanded) = (false, going_on.is_commanded);
            going_on.readings().into_iter().for_each(|reading| self.may_be(reading));
        }
        Taken::Ended(ended)
    }

    fn so_far(&self) -> Option<EndedLine> {
        if self.is_empty() && !self.is_joined {
            return None;
        }
        let readings = || std::iter::once(&self.typed).chain(&self.others);
        let mut others: Vec<String> = self.others.iter().map(|other| other.edited.clone()).collect();
        // Letters that are keys may do nothing.
        let without = readings().filter(|reading| !reading.edited.is_ascii());
        let without = without.map(|reading| reading.edited.chars().filter(char::is_ascii).collect());
        let whole = readings().filter_map(Reading::otherwise);
        // Where characters are commands one takes the sign of a comment back, and runs the rest.
        let taken_back = readings().filter(|_| self.is_commanded);
        let taken_back =
            taken_back.filter_map(|reading| Some(reading.edited.trim_start().strip_prefix('#')?.to_owned()));
        for text in without.chain(whole).chain(taken_back) {
            if !others.contains(&text) {
                others.push(text);
            }
        }
        let is_known = self.is_known && !self.is_read_otherwise;
        Some(EndedLine { text: self.typed.edited.clone(), others, is_known })
    }
}
