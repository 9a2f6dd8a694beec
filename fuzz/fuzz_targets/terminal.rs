//! What programs print on a terminal: any bytes are drawn and painted, in any pieces the same, and marks stay in bounds.
#![no_main]

use arbitrary::Arbitrary;
use gloveport_core::backend::process::TerminalSize;
use gloveport_core::session::marks::Marks;
use gloveport_core::session::paint::paint;
use gloveport_core::session::screen::Screen;
use gloveport_core::text::encoding::whole_characters;
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    columns: u8,
    rows: u8,
    piece: u8,
    /// What comes before the terminal gets its other size.
    before: Vec<u8>,
    other_columns: u8,
    other_rows: u8,
    behind: Vec<u8>,
}

fuzz_target!(|input: Input| {
    let first = size(input.columns, input.rows);
    let (mut whole, mut pieces) = (Screen::new(first), Screen::new(first));
    let mut marks = Marks::new("w".to_owned());
    for (bytes, other) in [(&input.before, Some(size(input.other_columns, input.other_rows))), (&input.behind, None)] {
        whole.draw(bytes);
        for piece in cut(bytes, usize::from(input.piece) + 4) {
            pieces.draw(piece);
            marks.take(piece, &|| true);
        }
        if let Some(other) = other {
            whole.resize(other);
            pieces.resize(other);
            marks.typed("line");
        }
    }
    let (still, other) = (whole.still(), pieces.still());
    // What is no text may be joined with few bytes of the next piece: the parser's way with half a character.
    if str::from_utf8(&input.before).is_ok() && str::from_utf8(&input.behind).is_ok() {
        assert_eq!(still.state_formatted(), other.state_formatted());
    }
    let painting = paint(&still);
    // Nothing that a program printed reaches a person's terminal but as colours, moves and plain characters.
    let is_ours = |line: &String| line.split('\x1b').skip(1).all(|escape| escape.starts_with('['));
    assert!(painting.lines.iter().all(is_ours), "{:?}", painting.lines);
    whole.look();
    let end = marks.position();
    let printed = marks.printed(0, end);
    assert!(printed.iter().all(|(from, to)| from < to && *to <= end), "{printed:?} of {end}");
    assert!(printed.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{printed:?}");
});

/// Pieces of at most `most` bytes, which end where a character does.
fn cut(mut bytes: &[u8], most: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let piece = &bytes[..most.min(bytes.len())];
        let (piece, rest) = bytes.split_at(match whole_characters(piece) {
            0 => piece.len(),
            whole => whole,
        });
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

/// From 1 to 64, as few as a fuzzer likes.
fn size(columns: u8, rows: u8) -> TerminalSize {
    TerminalSize { columns: u16::from(columns % 64) + 1, rows: u16::from(rows % 64) + 1 }
}
