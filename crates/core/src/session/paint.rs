//! A screen as lines that may be written to a person's terminal.
//!
//! Nothing that a program printed gets there as it came (R-SH-7): the lines are made anew from the cells that it drew, with
//! colours, attributes and moves of the cursor of our own, and without characters that hide or reorder others.

use std::fmt::Write as _;

use serde::Serialize;
use vt100::{Cell, Color, Screen};

use crate::error::is_deceptive;

/// A screen at one moment, to be written line by line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Painting {
    /// All lines from the top. Each begins and ends with plain attributes.
    pub lines: Vec<String>,
    /// The line of the cursor, from 0.
    pub cursor_row: u16,
    /// The column of the cursor, from 0.
    pub cursor_column: u16,
    /// Whether the cursor is hidden.
    pub cursor_hidden: bool,
    /// Whether the program wants the arrow keys in their other form (`ESC O A` for `ESC [ A`).
    pub application_cursor: bool,
    /// Columns of the screen.
    pub columns: u16,
    /// Rows of the screen.
    pub rows: u16,
}

/// Paints a screen.
pub fn paint(screen: &Screen) -> Painting {
    let (rows, columns) = screen.size();
    let (cursor_row, cursor_column) = screen.cursor_position();
    Painting {
        lines: (0..rows.get()).map(|row| line(screen, row, columns.get())).collect(),
        cursor_row,
        cursor_column,
        cursor_hidden: screen.hide_cursor(),
        application_cursor: screen.application_cursor(),
        columns: columns.get(),
        rows: rows.get(),
    }
}

fn line(screen: &Screen, row: u16, columns: u16) -> String {
    let cells = || (0..columns).filter_map(|column| Some((column, screen.cell(row, column)?)));
    let is_drawn = |cell: &Cell| cell.has_contents() || Style::of(cell) != Style::default();
    let end = cells().rfind(|(_, cell)| is_drawn(cell)).map_or(0, |(column, _)| column + 1);
    let mut line = String::new();
    let mut style = Style::default();
    for (column, cell) in cells().take(usize::from(end)).filter(|(_, cell)| !cell.is_wide_continuation()) {
        let own = Style::of(cell);
        if own != style {
            own.write(&mut line);
            style = own;
        }
        let start = line.len();
        line.extend(cell.contents().chars().filter(|character| !is_deceptive(*character)));
        if line.len() == start {
            line.push(' ');
        }
        if !line[start..].is_ascii() {
            // Terminals do not agree on the width of everything: what follows stands where it belongs.
            let next = column + if cell.is_wide() { 3 } else { 2 };
            let _ = write!(line, "\x1b[{next}G");
        }
    }
    if style != Style::default() {
        line.push_str("\x1b[m");
    }
    line
}

/// How a cell looks besides its characters.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Style {
    ink: Color,
    paper: Color,
    /// Bold, dim, italic, underlined, inverse.
    flags: [bool; 5],
}

/// The codes of [`Style::flags`].
const FLAG_CODES: [&str; 5] = [";1", ";2", ";3", ";4", ";7"];

impl Style {
    fn of(cell: &Cell) -> Self {
        let flags = [cell.bold(), cell.dim(), cell.italic(), cell.underline(), cell.inverse()];
        Self { ink: cell.fgcolor(), paper: cell.bgcolor(), flags }
    }

    fn write(self, line: &mut String) {
        line.push_str("\x1b[0");
        for (code, _) in FLAG_CODES.iter().zip(self.flags).filter(|(_, is_on)| *is_on) {
            line.push_str(code);
        }
        for (colour, kind) in [(self.ink, 38), (self.paper, 48)] {
            // Writing to a string does not fail.
            let _ = match colour {
                Color::Default => Ok(()),
                Color::Idx(index) => write!(line, ";{kind};5;{index}"),
                Color::Rgb(red, green, blue) => write!(line, ";{kind};2;{red};{green};{blue}"),
            };
        }
        line.push('m');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backend::process::TerminalSize;
    use crate::session::screen::Screen;

    fn painting(columns: u16, rows: u16, bytes: &[u8]) -> Painting {
        let mut screen = Screen::new(TerminalSize { columns, rows });
        screen.draw(bytes);
        paint(&screen.still())
    }

    #[test]
    fn lines_are_made_anew_with_colours_and_attributes() {
        let painted = painting(12, 3, b"a\x1b[1;31mb\x1b[0m c\r\n\x1b[7m  \x1b[38;2;1;2;3mx\x1b[m\x1b[?1h\x1b[?25l");
        assert_eq!(painted.lines, ["a\x1b[0;1;38;5;1mb\x1b[0m c", "\x1b[0;7m  \x1b[0;7;38;2;1;2;3mx\x1b[m", ""]);
        assert_eq!((painted.cursor_row, painted.cursor_column), (1, 3));
        assert!(painted.application_cursor && painted.cursor_hidden);
    }

    #[test]
    fn what_follows_a_character_of_unsure_width_stands_where_it_belongs() {
        assert_eq!(painting(12, 1, "日é.".as_bytes()).lines, ["日\x1b[3Gé\x1b[4G."]);
    }

    #[test]
    fn what_draws_or_deceives_on_a_persons_terminal_does_not_get_there() {
        let hostile =
            "\x1b]52;c;aGk=\x07\x1b]2;title\x07\x1b[6n\x1b[c\x1bP+q544e\x1b\\a\u{202e}b\u{200b}\x1b[?1049h\x1b[5i";
        assert_eq!(painting(12, 1, hostile.as_bytes()).lines, [""]);
        let drawn = hostile.replace("\x1b[?1049h", "");
        assert_eq!(painting(12, 1, drawn.as_bytes()).lines, ["ab"]);
    }

    proptest! {
        /// Only our own sequences are in a line, whatever was printed.
        #[test]
        fn any_bytes_become_text_and_our_own_sequences(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for line in painting(20, 4, &bytes).lines {
                let mut rest = line.as_str();
                while let Some(at) = rest.find('\x1b') {
                    prop_assert!(!rest[..at].chars().any(is_deceptive));
                    let sequence = rest[at + 1..].strip_prefix('[');
                    prop_assert!(sequence.is_some());
                    rest = sequence.unwrap_or_default().trim_start_matches(|character: char| {
                        character.is_ascii_digit() || character == ';'
                    });
                    prop_assert!(rest.starts_with(['m', 'G']));
                    rest = &rest[1..];
                }
                prop_assert!(!rest.chars().any(is_deceptive));
            }
        }
    }
}
