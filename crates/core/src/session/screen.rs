//! What a terminal shows: its output drawn by the rules of a terminal, as text.
//!
//! Plain text is drawn when somebody looks, and then only what is still to be seen ([`super::undrawn`]).

use std::num::NonZeroU16;

use serde::Serialize;

use gloveport_lines::is_plain;

use super::keys::CursorKeys;
use super::strings::Strings;
use super::undrawn::{Regions, Undrawn};
use crate::backend::process::TerminalSize;
use crate::text::ansi::strip;

/// 200 characters of a title.
const TITLE_CHARS: usize = 200;
/// 4 KiB of one operating system command, such as a title: what never ends must not be kept.
const COMMAND_BYTES: usize = 4 << 10;
/// 64 KiB of plain text wait to be drawn, or four screens where that is more.
const UNDRAWN_BYTES: usize = 64 << 10;
/// 1 KiB at the end of what is printed at once: less plain text is drawn as it comes.
const WORTH_KEEPING: usize = 1 << 10;
/// 8 bytes are drawn one by one to see whether they are text or the rest of an escape sequence.
const TRIED: usize = 8;

/// 2,000,000: what may be drawn before somebody else gets their turn, about a millisecond of work. A cell that is made anew is 1.
const AFFORDABLE: usize = 2_000_000;
/// 8 for a character.
const CHARACTER: usize = 8;
/// 1,000 characters are drawn by one escape sequence that repeats the last one.
const REPEATED: usize = 1_000;
/// Goes back to the screen that is no full-screen program's.
const OTHER_SCREEN: &[u8] = b"\x1b[?1049l";
/// The cells that a folded screen keeps.
const LEAST: TerminalSize = TerminalSize { columns: 1, rows: 1 };
/// Goes to the screen of a full-screen program.
const OTHER: &str = "\x1b[?1049h";

/// A screen. Requests of programs to the terminal (clipboard, size, answers) do nothing: only what is drawn is kept.
pub struct Screen {
    parser: vt100::Parser<Told>,
    size: TerminalSize,
    /// What draws it as it is, in place of its cells.
    folded: Option<String>,
    /// What is still to be drawn; `None` where what comes next may belong to an escape sequence.
    text: Option<Undrawn>,
    strings: Strings,
    regions: Regions,
    undrawn_bytes: usize,
    worth_keeping: usize,
    /// The lines at the last look.
    looked: Vec<String>,
}

/// What programs tell the terminal besides drawing.
#[derive(Default)]
struct Told {
    title: String,
    /// Bytes of the longest title.
    #[cfg(test)]
    longest: usize,
}

impl vt100::Callbacks for Told {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        #[cfg(test)]
        {
            self.longest = self.longest.max(title.len());
        }
        self.title = strip(&String::from_utf8_lossy(title)).replace('\n', " ").chars().take(TITLE_CHARS).collect();
    }
}

/// One look at a screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScreenView {
    /// The lines from the top, without spaces at their ends, up to the last that shows something.
    pub lines: Vec<String>,
    /// The numbers, from 0, of the lines that changed since the last look.
    pub changed: Vec<usize>,
    /// The line of the cursor, from 0.
    pub cursor_row: u16,
    /// The column of the cursor, from 0.
    pub cursor_column: u16,
    /// Whether the cursor is hidden.
    pub cursor_hidden: bool,
    /// What the program called its window.
    pub title: String,
    /// Whether a full-screen program shows its own screen.
    pub alternate_screen: bool,
    /// Columns of the screen.
    pub columns: u16,
    /// Rows of the screen.
    pub rows: u16,
}

impl Screen {
    /// An empty screen.
    pub fn new(size: TerminalSize) -> Self {
        Self {
            parser: parser(size, Told::default()),
            size,
            folded: None,
            text: None,
            strings: Strings::new(COMMAND_BYTES),
            regions: Regions::default(),
            undrawn_bytes: UNDRAWN_BYTES,
            worth_keeping: WORTH_KEEPING,
            looked: Vec::new(),
        }
    }

    /// Keeps no cells, of which it may have megabytes, but what draws them: nothing more is drawn on it. What is seen of it stays.
    pub fn fold(&mut self) {
        if self.folded.is_none() {
            self.catch_up();
            let screen = self.parser.screen();
            let other = if screen.alternate_screen() { OTHER } else { "" };
            self.folded = Some(other.to_owned() + &screen.state_formatted());
        }
        (self.text, self.parser) = (None, parser(LEAST, std::mem::take(self.parser.callbacks_mut())));
    }

    /// Whether it keeps no cells.
    pub fn is_folded(&self) -> bool {
        self.folded.is_some()
    }

    /// A look at it with its cells.
    fn unfolded<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        self.catch_up();
        let Some(folded) = &self.folded else { return look(self) };
        self.parser = parser(self.size, std::mem::take(self.parser.callbacks_mut()));
        self.parser.process(folded.as_bytes());
        let seen = look(self);
        self.fold();
        seen
    }

    /// Takes the next bytes of the terminal.
    pub fn draw(&mut self, bytes: &[u8]) {
        if self.is_folded() {
            return;
        }
        let mut rest = bytes;
        if let Some(text) = &mut self.text {
            match text.take(rest) {
                Some(taken) if taken == rest.len() => return,
                Some(taken) => rest = &rest[taken..],
                None => {
                    // Long as it is, it moves within few rows.
                    rest = &rest[gloveport_lines::plain_text(rest)..];
                }
            }
            self.catch_up();
        }
        let plain = rest.iter().rev().take_while(|byte| is_plain(**byte)).count();
        let (first, mut plain) = rest.split_at(rest.len() - plain);
        if !first.is_empty() {
            self.text = None;
            self.process(first);
        }
        if self.text.is_none() && plain.len() >= self.worth_keeping {
            plain = self.try_text(plain);
        }
        let Some(text) = &mut self.text else { return self.process(plain) };
        if text.take(plain).is_none() {
            self.catch_up();
        }
    }

    /// Takes the next bytes where all of them can be drawn before somebody else gets their turn; whether it did. Text is gone through
    /// once.
    pub(super) fn draw_at_once(&mut self, bytes: &[u8]) -> bool {
        if self.is_folded() {
            return true;
        }
        if let Some(text) = &mut self.text
            && gloveport_lines::plain_text(bytes) == bytes.len()
        {
            if !text.take_plain(bytes) {
                self.catch_up();
            }
            return true;
        }
        let is_affordable = self.affordable(bytes) == bytes.len();
        if is_affordable {
            self.draw(bytes);
        }
        is_affordable
    }

    /// How many of these bytes, at least one, can be drawn before somebody else gets their turn.
    pub(super) fn affordable(&self, bytes: &[u8]) -> usize {
        if self.text.is_some() && gloveport_lines::plain_text(bytes) == bytes.len() {
            return bytes.len();
        }
        let (rows, columns) = self.parser.screen().size();
        let [rows, columns] = [rows, columns].map(|count| usize::from(count.get()));
        // A line end may scroll, and so does a character each time that a row is full.
        let line = rows + columns;
        let character = CHARACTER + line / columns;
        let sequence = (rows * columns).max(REPEATED * character);
        let mut left = AFFORDABLE;
        let costs_all = |byte: &u8| {
            left = left.saturating_sub(match byte {
                0x1B => sequence,
                0..b' ' => line,
                _ => character,
            });
            left == 0
        };
        bytes.iter().position(costs_all).map_or(bytes.len(), |last| last + 1)
    }

    /// The shell waits for a command: a full-screen program that was killed left its screen behind.
    pub(super) fn leave_alternate(&mut self) {
        if self.is_alternate() {
            self.draw(OTHER_SCREEN);
        }
    }

    fn process(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (drawn, next) = self.strings.split(rest);
            self.regions.see(drawn);
            self.parser.process(drawn);
            rest = next;
        }
    }

    /// Draws a few bytes to see whether they are text; what follows them.
    fn try_text<'a>(&mut self, plain: &'a [u8]) -> &'a [u8] {
        let mut rest = plain;
        while let Some((byte, behind)) = rest.split_first()
            && plain.len() - rest.len() < TRIED
        {
            let before = self.parser.screen().cursor_position();
            self.process(&[*byte]);
            rest = behind;
            // A character that moves the cursor was printed, or ended an escape sequence: either way none is open. A line end
            // moves it within one, too.
            if *byte >= b' ' && self.parser.screen().cursor_position() != before {
                if !self.regions.seen() {
                    self.text = Some(self.undrawn());
                }
                break;
            }
        }
        rest
    }

    /// No text yet, from where the cursor is.
    fn undrawn(&self) -> Undrawn {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        Undrawn::new((rows.get(), columns.get()), screen.cursor_position(), self.undrawn_bytes)
    }

    /// Draws what is still to be drawn.
    fn catch_up(&mut self) {
        let Some(text) = &self.text else { return };
        let (before, bytes) = text.drawing();
        self.parser.process(&before);
        self.parser.process(bytes);
        self.text = Some(self.undrawn());
    }

    /// Has another size.
    pub fn resize(&mut self, size: TerminalSize) {
        if self.is_folded() {
            return;
        }
        self.size = size;
        self.catch_up();
        self.parser.set_size(at_least_one(size.rows), at_least_one(size.columns));
        if self.text.is_some() {
            self.text = Some(self.undrawn());
        }
    }

    /// Whether a full-screen program shows its own screen.
    pub fn is_alternate(&self) -> bool {
        self.parser.screen().alternate_screen() || self.folded.as_ref().is_some_and(|folded| folded.starts_with(OTHER))
    }

    /// How the program wants the keys of the cursor.
    pub fn cursor_keys(&self) -> CursorKeys {
        if self.parser.screen().application_cursor() { CursorKeys::Application } else { CursorKeys::Normal }
    }

    /// What it shows at this moment, to be drawn.
    pub fn still(&mut self) -> vt100::Screen {
        self.unfolded(|screen| screen.parser.screen().clone())
    }

    /// Looks at it.
    pub fn look(&mut self) -> ScreenView {
        self.unfolded(Self::look_now)
    }

    fn look_now(&mut self) -> ScreenView {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let mut lines: Vec<String> = screen.rows(0, columns.get()).map(|line| strip(line.trim_end())).collect();
        lines.truncate(lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1));
        let longest = lines.len().max(self.looked.len());
        let changed = (0..longest).filter(|row| lines.get(*row) != self.looked.get(*row)).collect();
        let (cursor_row, cursor_column) = screen.cursor_position();
        let view = ScreenView {
            changed,
            cursor_row,
            cursor_column,
            cursor_hidden: screen.hide_cursor(),
            title: self.parser.callbacks().title.clone(),
            alternate_screen: screen.alternate_screen(),
            columns: columns.get(),
            rows: rows.get(),
            lines: lines.clone(),
        };
        self.looked = lines;
        view
    }
}

fn parser(size: TerminalSize, told: Told) -> vt100::Parser<Told> {
    vt100::Parser::new_with_callbacks(at_least_one(size.rows), at_least_one(size.columns), 0, told)
}

fn at_least_one(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN)
}

#[cfg(test)]
mod tests;
