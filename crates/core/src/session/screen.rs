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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session::paint::paint;

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

    fn cells(screen: &vt100::Screen) -> Vec<Option<&vt100::Cell>> {
        let (rows, columns) = screen.size();
        (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| screen.cell(row, column))).collect()
    }

    /// Pieces of what terminals are sent.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let fixed = [
            "\x1b[31m",
            "\x1b[0m",
            "\x1b[2J",
            "\x1b[H",
            "\x1b[3;4H",
            "\x1b[K",
            "\x1b[A",
            "\x1b7",
            "\x1b8",
            "\x1bM",
            "\x1bc",
            "\x1b[3b",
            "\x1b[?1049h",
            "\x1b[?1049l",
            "\x1b[?25l",
            "\x1b]2;title",
            "\x07",
            "\x1b[",
            "\x1b",
            "\x08",
            "é",
            "全",
            "\u{301}",
            "\x1b[2S",
            "\x1b[2L",
        ];
        // Few enough that most streams hold none.
        let regions = ["\x1b[2;3r", "\x1b[r", "\x1b[?6h"];
        prop_oneof![
            8 => "[a-z ]{1,60}".prop_map(String::into_bytes),
            4 => prop::collection::vec("[A-Z]{0,9}(\r\n|\r\n|\n|\r|\t)", 1..20).prop_map(|lines| lines.concat().into_bytes()),
            5 => prop::sample::select(fixed.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
            1 => prop::sample::select(regions.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 1..4),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn what_was_drawn_late_is_what_drawing_everything_shows(
            rows in 1_u16..7,
            columns in 1_u16..12,
            pieces in prop::collection::vec((piece(), 0..12_u8), 1..40),
            cut in 1_usize..50,
        ) {
            let size = TerminalSize { columns, rows };
            let mut late = Screen { undrawn_bytes: 1, worth_keeping: 1, ..Screen::new(size) };
            let mut plain = Screen::new(size).parser;
            let mut waiting = Vec::new();
            for (piece, then) in &pieces {
                waiting.extend_from_slice(piece);
                if *then < 8 {
                    continue;
                }
                // In the same pieces: half a character at the end of one is joined with few bytes of the next.
                for bytes in std::mem::take(&mut waiting).chunks(cut) {
                    prop_assert!(late.draw_at_once(bytes));
                    plain.process(bytes);
                }
                prop_assert_eq!(late.is_alternate(), plain.screen().alternate_screen());
                if *then == 10 {
                    let size = TerminalSize { columns: columns + 2, rows: rows + 3 };
                    late.resize(size);
                    plain.set_size(at_least_one(size.rows), at_least_one(size.columns));
                }
                if *then >= 9 {
                    let (late, plain) = (late.still(), plain.screen());
                    prop_assert_eq!(late.cursor_position(), plain.cursor_position());
                    prop_assert_eq!(late.contents_formatted(), plain.contents_formatted());
                    prop_assert_eq!(late.state_formatted(), plain.state_formatted());
                    let wrapped = |screen: &vt100::Screen| (0..rows).map(|row| screen.row_wrapped(row)).collect::<Vec<_>>();
                    prop_assert_eq!(wrapped(&late), wrapped(plain));
                    // A screen that is over is seen as it was, again and again.
                    let mut over = Screen::new(TerminalSize { columns: late.size().1.get(), rows: late.size().0.get() });
                    over.parser.process(if late.alternate_screen() { OTHER.as_bytes() } else { b"" });
                    over.parser.process(late.state_formatted().as_bytes());
                    let before = (over.look(), over.still());
                    over.fold();
                    over.draw(b"\x1bcnothing");
                    prop_assert_eq!(over.parser.screen().size(), (at_least_one(1), at_least_one(1)));
                    for _ in 0..2 {
                        let (look, still) = (over.look(), over.still());
                        prop_assert_eq!(&look, &ScreenView { changed: Vec::new(), ..before.0.clone() });
                        prop_assert_eq!(cells(&still), cells(&before.1));
                        prop_assert_eq!(paint(&still), paint(&before.1));
                    }
                }
            }
        }
    }

    #[test]
    fn long_text_is_shown_as_if_all_of_it_had_been_drawn() {
        let size = TerminalSize { columns: 120, rows: 40 };
        let lines: String = (0..20_000).map(|line| format!("line {line}{}\r\n", "\tx".repeat(line % 30))).collect();
        let stream = format!("$ seq\r\n\x1b[?2004l{}{lines}\x1b[1mdone\x1b[0m$ ", "x".repeat(300_000));
        for cut in [4_095, 65_536, stream.len()] {
            let (mut late, mut plain) = (Screen::new(size), Screen::new(size).parser);
            stream.as_bytes().chunks(cut).for_each(|bytes| late.draw(bytes));
            plain.process(stream.as_bytes());
            assert_eq!(late.still().state_formatted(), plain.screen().state_formatted());
            let larger = TerminalSize { columns: 120, rows: 500 };
            late.resize(larger);
            plain.set_size(at_least_one(500), at_least_one(120));
            assert_eq!(late.still().state_formatted(), plain.screen().state_formatted());
        }
    }

    /// A program that never ended a title filled the memory of the host: the parser keeps it until it ends.
    #[test]
    fn a_title_without_an_end_is_not_kept() {
        let mut screen = Screen::new(TerminalSize { columns: 20, rows: 5 });
        screen.draw(b"\x1b]2;endless ");
        let piece = vec![b'x'; 64 << 10];
        for _ in 0..64 {
            screen.draw(&piece);
            screen.draw("\r\né".as_bytes());
        }
        screen.draw(b"\x07drawn");
        let view = screen.look();
        assert_eq!((view.lines, view.title.starts_with("endless xxx")), (vec!["drawn".to_owned()], true));
        let longest = screen.parser.callbacks().longest;
        assert!((TITLE_CHARS..=COMMAND_BYTES).contains(&longest), "{longest}");
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
