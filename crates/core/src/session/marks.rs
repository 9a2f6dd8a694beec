//! What a shell says about its prompts and commands, in escape sequences that terminals agree on (OSC 133): a prompt is
//! there, a command begins, it ended with this code. Each carries a word of this session's shell, so that nothing that is printed
//! by chance is one. A program that found the word in the shell's memory could still pretend to have ended: a prompt and an end
//! are believed only while the kernel says that the shell has the terminal.

use std::cell::LazyCell;
use std::collections::VecDeque;

use super::alternate::{Alternate, MODES, of_modes};
use super::hatch::Hatch;
use super::typed_line::{Taken, TypedLine};

mod echoes;
mod printed;

/// 4,096 marks are remembered: a thousand commands.
const MARKS: usize = 4_096;
/// 64 bytes: the longest of our marks is half of that.
const MARK_BYTES: usize = 64;
const START: &[u8] = b"]133;";
/// How a line editor says that a line was accepted: it takes no paste any more.
const ACCEPTED: &[u8] = b"[?2004l";
/// All that a terminal has is forgotten, its other screen too.
const RESET: &[u8] = b"c";
/// How it says that it begins, before its prompt.
const BEGUN: &[u8] = b"[?2004h";

/// What was marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The shell waits for a command.
    Prompt,
    /// The shell waits for the rest of a command.
    Continuation,
    /// A command begins.
    Begin,
    /// A command ended with this code.
    End(i32),
    /// A line was accepted: what follows is no echo any more. Programs can say this too; nothing is decided by it.
    Accepted,
    /// Something was typed here, and its echo follows.
    Typed,
    /// The prompt was drawn again, such as after a resize.
    Redrawn,
}

/// What another program that reads the same terminal took of a typed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Torn {
    /// So much that the shell ran nothing.
    Whole,
    /// A part; the shell ran what it shows.
    Part(String),
}

/// A mark and its bytes in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// What was marked.
    pub kind: Kind,
    /// The position of its first byte.
    pub from: u64,
    /// The position behind its last byte.
    pub to: u64,
}

/// Finds marks in a stream.
#[derive(Debug)]
pub struct Marks {
    word: String,
    position: u64,
    /// Bytes behind an ESC that may become a mark.
    open: Option<Vec<u8>>,
    found: VecDeque<Mark>,
    /// How many were found before those that are remembered.
    forgotten: u64,
    /// How many commands ended, also such that only the prompt behind them tells of.
    ends: u64,
    /// A line was typed and its command has not begun: a prompt is the old one, drawn again.
    is_typed: bool,
    /// The line was typed behind an interrupt.
    is_interrupted: bool,
    /// Nobody is to see the line that was typed last.
    is_unseen: bool,
    is_plain: bool,
    /// Output before this position is of nobody's command.
    begin: u64,
    /// An end that was printed while something else had the terminal: it counts where a prompt follows. What a shell runs
    /// between them had it then.
    doubted: Option<Mark>,
    /// The number of the prompt that was drawn last, where it has one: the same number is the same prompt, drawn again.
    number: Option<i64>,
    /// Where the prompt begins that is being drawn again.
    redrawn: Option<u64>,
    /// The line that was typed and that the shell has not taken yet.
    line: Option<TypedLine>,
    /// How much the shell had of the line that was typed last, once it said that it has one.
    taken: Taken,
    /// Of the last typed lines: where each was typed, and the parts of the stream that are its echo.
    echoes: VecDeque<(u64, Vec<(u64, u64)>)>,
    alternate: Alternate,
    /// The bytes that the line editor's beginning takes, when they came last: they belong to the prompt behind them.
    editor: (u64, u64),
    /// The shell took a line, and reads another one without having said what became of it.
    is_silent: bool,
    /// Somebody waits for the begin of the command that was typed last.
    tells_begin: bool,
    /// Where bash has its commands from.
    pub(super) hatch: Hatch,
}

/// Whether the shell has the terminal, looked up at most once for what is read at once.
type Leads<'a> = LazyCell<bool, &'a dyn Fn() -> bool>;

/// Behind an `eval` of a text whose quotes are not closed, bash shows the prompt that it showed before, with the code in it.
const NOT_WHOLE: i32 = 2;

impl Marks {
    /// None yet; only marks with this word count.
    pub fn new(word: String) -> Self {
        Self {
            word,
            position: 0,
            open: None,
            found: VecDeque::new(),
            forgotten: 0,
            ends: 0,
            is_typed: false,
            is_interrupted: false,
            is_unseen: false,
            is_plain: false,
            begin: 0,
            doubted: None,
            number: None,
            redrawn: None,
            line: None,
            taken: Taken::Whole,
            echoes: VecDeque::new(),
            alternate: Alternate::default(),
            editor: (0, 0),
            is_silent: false,
            tells_begin: false,
            hatch: Hatch::default(),
        }
    }

    /// Takes the next bytes of the stream; `leads` tells whether the shell has the terminal, and no command of it. Whether there
    /// is a prompt, or the end of a command, among them; or a begin that somebody waits for.
    pub fn take(&mut self, bytes: &[u8], leads: &dyn Fn() -> bool) -> bool {
        let (before, position) = (self.count(), self.position);
        self.look(bytes, &LazyCell::new(leads));
        self.take_echo(bytes, position, before);
        let is_news = |kind| match kind {
            Kind::Prompt | Kind::Continuation | Kind::End(_) => true,
            Kind::Begin => self.tells_begin,
            Kind::Accepted | Kind::Typed | Kind::Redrawn => false,
        };
        self.since(before).any(|mark| is_news(mark.kind))
    }

    fn look(&mut self, bytes: &[u8], leads: &Leads<'_>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(open) = &mut self.open else {
                match memchr::memchr(0x1B, rest) {
                    Some(at) => {
                        self.position += at as u64 + 1;
                        rest = &rest[at + 1..];
                        self.open = Some(Vec::new());
                    }
                    None => {
                        self.position += rest.len() as u64;
                        return;
                    }
                }
                continue;
            };
            let byte = rest[0];
            let is_mark = open.starts_with(START);
            if byte == 0x07 && is_mark {
                let text = std::mem::take(open);
                self.open = None;
                let from = self.position - text.len() as u64 - 1;
                self.position += 1;
                self.note(&text[START.len()..], from, leads);
            } else if byte == 0x1B {
                // Something else begins.
                open.clear();
                self.position += 1;
            } else if open.len() >= MARK_BYTES || !is_mark && !begins(open, byte) {
                self.open = None;
                self.position += 1;
            } else {
                open.push(byte);
                self.position += 1;
                if open == BEGUN {
                    self.open = None;
                    self.editor = (self.position - BEGUN.len() as u64 - 1, self.position);
                } else if open == RESET {
                    self.open = None;
                    self.alternate.leave(self.position);
                } else if open == ACCEPTED {
                    self.open = None;
                    let from = self.position - ACCEPTED.len() as u64 - 1;
                    // Where nothing was typed it is a program that says so.
                    if self.is_typed {
                        self.remember(Mark { kind: Kind::Accepted, from, to: self.position });
                    }
                } else if let Some(is_there) = of_modes(open) {
                    let from = self.position - open.len() as u64 - 1;
                    self.open = None;
                    if is_there { self.alternate.enter(from) } else { self.alternate.leave(self.position) }
                }
            }
            rest = &rest[1..];
        }
    }

    fn note(&mut self, text: &[u8], mut from: u64, leads: &Leads<'_>) {
        let Ok(text) = std::str::from_utf8(text) else { return };
        let Some(text) = text.strip_suffix(&self.word).and_then(|text| text.strip_suffix(';')) else { return };
        let kind = match text {
            "N" if !**leads => return,
            "N" => {
                // What it said of itself before is no output.
                self.is_plain = true;
                self.begin = self.position;
                return;
            }
            // A command is on its way to the hatch: what is recorded before it is of others.
            "H" if self.hatch.is_handed() => {
                self.begins_line();
                return;
            }
            // A prompt without a code begins, such as one that expands nothing.
            "A" => {
                self.redrawn = self.redrawn.or(Some(from).filter(|_| self.shows_a_prompt()));
                return;
            }
            "B" => {
                if let Some(from) = self.redrawn.take() {
                    self.remember(Mark { kind: Kind::Redrawn, from, to: self.position });
                }
                Kind::Prompt
            }
            "P" => Kind::Continuation,
            "C" => Kind::Begin,
            _ => match text.strip_prefix("D;").and_then(ended) {
                Some((_, number))
                    if number.is_some() && number != self.number && **leads && self.hatch.has_line_editor() =>
                {
                    (self.number, self.redrawn, self.is_typed) = (number, Some(from), false);
                    return;
                }
                Some((_, number)) if number.is_some() && number == self.number && self.shows_a_prompt() => {
                    self.redrawn = Some(from);
                    return;
                }
                Some((code, number)) => {
                    if self.editor.1 == from {
                        from = self.editor.0;
                    }
                    let is_old = number.is_some() && number == self.number;
                    if **leads {
                        self.number = number;
                    }
                    Kind::End(if is_old { NOT_WHOLE } else { code })
                }
                None => return,
            },
        };
        let mark = Mark { kind, from, to: self.position };
        // The shell says that a command begins before it hands the terminal over, and that is read when it has.
        let is_doubted = kind != Kind::Begin && !**leads;
        match kind {
            Kind::Prompt if self.is_typed => return,
            Kind::End(_) if is_doubted => {
                self.doubted = Some(mark).filter(|_| !self.last_is_end());
                return;
            }
            _ if is_doubted => return,
            Kind::Prompt => {
                if let Some(end) = self.doubted.take() {
                    self.remember(end);
                }
                // What read in that command reads no more.
                let is_untold = self.last().is_some_and(|mark| mark.kind == Kind::Begin);
                self.ends += u64::from(is_untold);
            }
            Kind::Begin | Kind::End(_) | Kind::Continuation | Kind::Accepted | Kind::Typed | Kind::Redrawn => {
                self.doubted = None
            }
        }
        self.is_typed = false;
        self.alternate.give_up();
        self.remember(mark);
    }

    /// Whether a full-screen program has a screen of its own.
    pub fn is_alternate(&self) -> bool {
        self.alternate.is_there()
    }

    /// Whether a prompt is there, with or without what was typed at it.
    fn shows_a_prompt(&self) -> bool {
        self.last().is_some_and(|mark| matches!(mark.kind, Kind::Prompt | Kind::Typed | Kind::Redrawn))
    }

    /// Whether a prompt is being drawn in place of the one that was there.
    pub(super) fn is_being_drawn(&self) -> bool {
        self.redrawn.is_some()
    }

    fn last_is_end(&self) -> bool {
        self.last().is_some_and(|mark| matches!(mark.kind, Kind::End(_)))
    }

    /// Notes that the shell reads a line, though it marked no prompt. Its prompt is there where it told of the end of a command
    /// before; where it only took a line, nobody knows what that became.
    pub fn reads_a_line(&mut self) {
        match self.last().map(|mark| mark.kind) {
            Some(Kind::End(_)) => {
                self.is_typed = false;
                self.remember(Mark { kind: Kind::Prompt, from: self.position, to: self.position });
            }
            Some(Kind::Accepted | Kind::Begin) => self.is_silent = true,
            Some(Kind::Prompt | Kind::Continuation | Kind::Typed | Kind::Redrawn) | None => {}
        }
    }

    /// Has the begin of the command that was typed last be news.
    pub fn tell_begin(&mut self) {
        self.tells_begin = true;
    }

    /// Whether the shell took a line, and reads another one without having said what became of it.
    pub fn is_silent(&self) -> bool {
        self.is_silent
    }

    fn remember(&mut self, mark: Mark) {
        self.is_silent = false;
        self.ends += u64::from(matches!(mark.kind, Kind::End(_)));
        self.found.push_back(mark);
        if self.found.len() > MARKS {
            self.found.pop_front();
            self.forgotten += 1;
        }
    }

    /// The position behind what was taken until now.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The word of these marks.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// Whether the shell said that it is a plain one, of which no more than the basics can be asked.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// How many were found until now.
    pub fn count(&self) -> u64 {
        self.forgotten + self.found.len() as u64
    }

    /// How many commands ended until now.
    pub fn ends(&self) -> u64 {
        self.ends
    }

    /// The last one.
    pub fn last(&self) -> Option<Mark> {
        self.found.back().copied()
    }

    /// Where the last line was typed.
    pub fn typed_at(&self) -> Option<u64> {
        self.found.iter().rev().find(|mark| mark.kind == Kind::Typed).map(|mark| mark.from)
    }

    /// Those that came after the first `count`.
    pub fn since(&self, count: u64) -> impl Iterator<Item = Mark> + '_ {
        let skip = usize::try_from(count.saturating_sub(self.forgotten)).unwrap_or(usize::MAX);
        self.found.iter().skip(skip).copied()
    }
}

/// The code and the number in the mark of an end.
fn ended(text: &str) -> Option<(i32, Option<i64>)> {
    match text.split_once(';') {
        Some((code, number)) => Some((code.parse().ok()?, Some(number.parse().ok()?))),
        None => Some((text.parse().ok()?, None)),
    }
}

/// Whether `open` and `byte` together begin what is looked for.
fn begins(open: &[u8], byte: u8) -> bool {
    let is_of_modes = open.starts_with(MODES) && open.last().is_some_and(|last| !matches!(last, b'h' | b'l'));
    is_of_modes && matches!(byte, b'0'..=b'9' | b';' | b'h' | b'l')
        || [START, MODES, RESET].iter().any(|known| known.starts_with(open) && known.get(open.len()) == Some(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_its_own_marks_wherever_the_stream_is_cut_and_no_others() {
        let stream = b"x\x1b]133;D;0;w\x07\x1b]133;B;w\x07ls\r\n\x1b[1m\x1b]133;C;w\x07out\x1b]133;D;0;fake\x07\x1b]133;C\x1b\x1b]133;D;13;w\x07";
        let mark = |kind, from, to| Mark { kind, from, to };
        let expected = [
            mark(Kind::End(0), 1, 13),
            mark(Kind::Prompt, 13, 23),
            mark(Kind::Begin, 31, 41),
            mark(Kind::End(13), 67, 80),
        ];
        for size in 1..stream.len() {
            let mut marks = Marks::new("w".into());
            let mut told = 0;
            for piece in stream.chunks(size) {
                told += usize::from(marks.take(piece, &|| true));
            }
            // A prompt and two ends; the beginning of a command wakes nobody.
            assert!((1..=3).contains(&told) && (size > 1 || told == 3), "{size}: {told}");
            assert_eq!(marks.since(0).collect::<Vec<_>>(), expected, "{size}");
            assert_eq!(marks.since(3).collect::<Vec<_>>(), expected[3..]);
            assert_eq!(marks.printed(0, 80), [(0, 1), (23, 31), (41, 67)]);
            assert_eq!(marks.printed(45, 50), [(45, 50)]);
        }
    }

    /// A program that had found the word printed an end and a prompt, and was given the next command to read.
    #[test]
    fn ends_and_prompts_are_believed_while_the_shell_has_the_terminal() {
        let said = |pieces: &[(&[u8], bool)]| -> Vec<Kind> {
            let mut marks = Marks::new("w".into());
            for (bytes, leads) in pieces {
                marks.take(bytes, &|| *leads);
            }
            marks.since(0).map(|mark| mark.kind).collect()
        };
        let (begin, end, fake, prompt): (&[u8], &[u8], &[u8], &[u8]) =
            (b"\x1b]133;C;w\x07", b"\x1b]133;D;9;w\x07", b"\x1b]133;D;0;w\x07", b"\x1b]133;B;w\x07");
        assert_eq!(said(&[(begin, false), (fake, false), (prompt, false)]), [Kind::Begin]);
        assert_eq!(said(&[(b"\x1b]133;P;w\x07", false)]), []);
        let true_end = [Kind::Begin, Kind::End(9), Kind::Prompt];
        assert_eq!(said(&[(begin, false), (fake, false), (prompt, false), (end, true), (prompt, true)]), true_end);
        // A hook behind the end, or what it prints, had the terminal when the end was read.
        assert_eq!(said(&[(begin, false), (fake, false), (end, false), (prompt, true)]), true_end);
        assert_eq!(said(&[(begin, false), (end, true), (fake, false), (prompt, true)]), true_end);
        // Of the command before.
        assert_eq!(said(&[(fake, false), (begin, true), (prompt, true)]), [Kind::Begin, Kind::Prompt]);
        let mut marks = Marks::new("w".into());
        let looks = std::cell::Cell::new(0);
        marks.take(&[b"text", begin].concat(), &|| unreachable!("nothing is to be believed"));
        marks.take(&[fake, prompt, end, prompt].concat(), &|| {
            looks.set(looks.get() + 1);
            true
        });
        assert_eq!(looks.get(), 1);
    }
}
