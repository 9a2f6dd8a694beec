//! What a terminal shows: its output drawn by the rules of a terminal, as text.

use std::num::NonZeroU16;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

use crate::backend::process::TerminalSize;
use crate::text::ansi::strip;

/// 200 characters of a title.
const TITLE_CHARS: usize = 200;

/// A screen that a terminal draws on while others look.
pub type SharedScreen = Arc<Mutex<Screen>>;

/// A screen. Requests of programs to the terminal (clipboard, size, answers) do nothing: only what is drawn is kept.
pub struct Screen {
    parser: vt100::Parser<Told>,
    /// The lines at the last look.
    looked: Vec<String>,
}

/// What programs tell the terminal besides drawing.
#[derive(Default)]
struct Told {
    title: String,
}

impl vt100::Callbacks for Told {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
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
        let parser =
            vt100::Parser::new_with_callbacks(at_least_one(size.rows), at_least_one(size.columns), 0, Told::default());
        Self { parser, looked: Vec::new() }
    }

    /// Draws the next bytes of the terminal.
    pub fn draw(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    /// Has another size.
    pub fn resize(&mut self, size: TerminalSize) {
        self.parser.set_size(at_least_one(size.rows), at_least_one(size.columns));
    }

    /// Whether a full-screen program shows its own screen.
    pub fn is_alternate(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    /// What it shows at this moment, to be drawn.
    pub fn still(&self) -> vt100::Screen {
        self.parser.screen().clone()
    }

    /// Looks at it.
    pub fn look(&mut self) -> ScreenView {
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

fn at_least_one(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_lines_cursor_title_and_what_changed_since_the_last_look() {
        let mut screen = Screen::new(TerminalSize { columns: 20, rows: 5 });
        screen.draw(b"\x1b]2;my title\x07one\r\ntwo  \r\n\x1b]52;c;aGk=\x07");
        let first = screen.look();
        assert_eq!(first.lines, ["one", "two"]);
        assert_eq!((first.cursor_row, first.cursor_column, first.changed.clone()), (2, 0, vec![0, 1]));
        assert_eq!((first.title.as_str(), first.alternate_screen), ("my title", false));
        screen.draw(b"\x1b[2;1HTWO\x1b[?25l");
        let second = screen.look();
        assert_eq!((second.lines.clone(), second.changed), (vec!["one".to_owned(), "TWO".to_owned()], vec![1]));
        assert!(second.cursor_hidden);
        screen.draw(b"\x1b[?1049h\x1b[Hfull");
        assert!(screen.is_alternate());
        assert_eq!(screen.look().lines, ["full"]);
        screen.draw(b"\x1b[?1049l");
        assert_eq!(screen.look().lines, ["one", "TWO"]);
        screen.resize(TerminalSize { columns: 40, rows: 3 });
        assert_eq!((screen.look().columns, screen.look().rows), (40, 3));
    }

    #[test]
    fn any_bytes_are_drawn_without_a_panic() {
        let mut screen = Screen::new(TerminalSize { columns: 3, rows: 2 });
        for seed in 0_u32..2_000 {
            let noise: Vec<u8> =
                (0..24).map(|index| (seed.wrapping_mul(2_654_435_761).rotate_left(index) % 251) as u8).collect();
            screen.draw(b"\x1b[");
            screen.draw(&noise);
            screen.look();
        }
    }
}
