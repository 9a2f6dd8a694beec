//! The screen of a terminal as a picture, for models that see: drawn with a bitmap font, by the rules of a terminal.
//!
//! What is drawn is what a person would see: colours, bold, underline, the cursor. A character that the font does not have
//! is a box, of two cells where it is wide; nothing of a program's output is run as an instruction here.

use std::sync::LazyLock;

use vt100::{Cell, Color, Screen};

use super::encode;
use super::image::MAX_EDGE;
use super::shrink::{Picture, Shrink};
use crate::order;

/// 8 pixels: one byte a row of a glyph.
const CELL_WIDTH: usize = 8;
/// 16 pixels.
const CELL_HEIGHT: usize = 16;
/// Behind the magic number, the flags and the height of a glyph.
const FONT_HEADER: usize = 4;
/// 512 glyphs, as the flags of the font say.
const GLYPHS: usize = 512;
/// Between the characters of one glyph and the next.
const GLYPH_END: u16 = 0xFFFF;

const FOREGROUND: Rgb = [0xE0, 0xE0, 0xE0];
const BRIGHT: Rgb = [0xFF, 0xFF, 0xFF];
const BACKGROUND: Rgb = [0, 0, 0];
/// The first sixteen colours: no standard says what they are; these can be told apart and read on black.
const PALETTE: [Rgb; 16] = [
    [0x00, 0x00, 0x00],
    [0xCD, 0x31, 0x31],
    [0x0D, 0xBC, 0x79],
    [0xE5, 0xE5, 0x10],
    [0x24, 0x72, 0xC8],
    [0xBC, 0x3F, 0xBC],
    [0x11, 0xA8, 0xCD],
    [0xE0, 0xE0, 0xE0],
    [0x66, 0x66, 0x66],
    [0xF1, 0x4C, 0x4C],
    [0x23, 0xD1, 0x8B],
    [0xF5, 0xF5, 0x43],
    [0x3B, 0x8E, 0xEA],
    [0xD6, 0x70, 0xD6],
    [0x29, 0xB8, 0xDB],
    [0xFF, 0xFF, 0xFF],
];

/// Characters that command line programs like, and what the font has that looks like them.
const LOOKALIKES: [(char, char); 8] =
    [('✓', '√'), ('✔', '√'), ('✖', '✗'), ('❯', '›'), ('❮', '‹'), ('➜', '→'), ('⏺', '●'), ('◉', '⊙')];

type Rgb = [u8; 3];
/// The rows of a cell from the top, the leftmost pixel in the highest bit.
type Glyph = [u8; CELL_HEIGHT];

const EMPTY: Glyph = [0; CELL_HEIGHT];

/// A picture of a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shot {
    /// PNG.
    pub bytes: Vec<u8>,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
}

/// Draws a screen, 8 by 16 pixels a character; scaled where its long edge would be over [`MAX_EDGE`]. `None` where that
/// cannot be encoded.
pub fn draw(screen: &Screen) -> Option<Shot> {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let width = u32::from(columns) * CELL_WIDTH as u32;
    let height = u32::from(rows) * CELL_HEIGHT as u32;
    let mut canvas = Canvas::new(width, height);
    let cursor = (!screen.hide_cursor()).then(|| screen.cursor_position());
    let mut line = Vec::with_capacity(width as usize * 3);
    for row in 0..rows {
        let cells: Vec<Drawn> =
            (0..columns).map(|column| drawn(screen, row, column, cursor == Some((row, column)))).collect();
        for y in 0..CELL_HEIGHT {
            line.clear();
            for Drawn { glyph, ink, paper } in &cells {
                let bits = glyph.get(y).copied().unwrap_or_default();
                for x in 0..CELL_WIDTH {
                    line.extend(if bits & (0x80 >> x) == 0 { paper } else { ink });
                }
            }
            canvas.push(&line);
        }
    }
    let picture = canvas.finish();
    Some(Shot { bytes: encode::png(&picture)?, width: picture.width, height: picture.height })
}

/// Takes the rows of pixels.
enum Canvas {
    Exact(Picture),
    Scaled(Box<Shrink>),
}

impl Canvas {
    fn new(width: u32, height: u32) -> Self {
        if width.max(height) > MAX_EDGE {
            return Self::Scaled(Box::new(Shrink::new((width, height), 3, MAX_EDGE)));
        }
        let pixels = Vec::with_capacity(width as usize * height as usize * 3);
        Self::Exact(Picture { width, height, channels: 3, pixels })
    }

    fn push(&mut self, line: &[u8]) {
        match self {
            Self::Exact(picture) => picture.pixels.extend_from_slice(line),
            Self::Scaled(shrink) => shrink.push(line),
        }
    }

    fn finish(self) -> Picture {
        match self {
            Self::Exact(picture) => picture,
            Self::Scaled(shrink) => shrink.finish(),
        }
    }
}

/// A cell as it is drawn.
struct Drawn {
    glyph: Glyph,
    ink: Rgb,
    paper: Rgb,
}

fn drawn(screen: &Screen, row: u16, column: u16, has_cursor: bool) -> Drawn {
    let Some(cell) = screen.cell(row, column) else {
        return Drawn { glyph: EMPTY, ink: FOREGROUND, paper: BACKGROUND };
    };
    // The right half of a wide character looks like its left.
    let left = column.checked_sub(1).and_then(|column| screen.cell(row, column));
    let (source, half) = match left {
        Some(left) if cell.is_wide_continuation() => (left, Half::Right),
        _ if cell.is_wide() => (cell, Half::Left),
        _ => (cell, Half::Whole),
    };
    let mut glyph = glyph_of(source, half);
    if source.underline() {
        glyph[CELL_HEIGHT - 2] = 0xFF;
    }
    let mut ink = match source.fgcolor() {
        // Bold strokes would run together at this size: bold is bright.
        Color::Default if source.bold() => BRIGHT,
        Color::Idx(index @ 0..8) if source.bold() => indexed(index + 8),
        plain => colour(plain, FOREGROUND),
    };
    let mut paper = colour(source.bgcolor(), BACKGROUND);
    if source.dim() {
        ink = [0, 1, 2].map(|part| ink[part].midpoint(paper[part]));
    }
    if source.inverse() != has_cursor {
        std::mem::swap(&mut ink, &mut paper);
    }
    Drawn { glyph, ink, paper }
}

fn colour(colour: Color, default: Rgb) -> Rgb {
    match colour {
        Color::Default => default,
        Color::Rgb(red, green, blue) => [red, green, blue],
        Color::Idx(index) => indexed(index),
    }
}

/// One of the 256 colours: sixteen, a cube of six steps, and grays.
fn indexed(index: u8) -> Rgb {
    match index {
        0..16 => PALETTE[usize::from(index)],
        16..232 => {
            let index = index - 16;
            [index / 36, index / 6 % 6, index % 6].map(|step| if step == 0 { 0 } else { 55 + step * 40 })
        }
        232.. => [8 + (index - 232) * 10; 3],
    }
}

/// Which part of a character a cell shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Whole,
    Left,
    Right,
}

fn glyph_of(cell: &Cell, half: Half) -> Glyph {
    let Some(character) = cell.contents().chars().next() else { return EMPTY };
    if half == Half::Whole
        && let Some(glyph) = FONT.glyph(character).or_else(|| block(character))
    {
        return glyph;
    }
    missing(half)
}

/// A box for a character that the font does not have.
fn missing(half: Half) -> Glyph {
    let (edge, side) = match half {
        Half::Whole => (0x7E, 0x42),
        Half::Left => (0x7F, 0x40),
        Half::Right => (0xFE, 0x02),
    };
    let mut glyph = EMPTY;
    for (y, bits) in glyph.iter_mut().enumerate() {
        *bits = match y {
            2 | 13 => edge,
            3..13 => side,
            _ => 0,
        };
    }
    glyph
}

/// Bars and braille patterns, which progress bars and spinners are made of.
fn block(character: char) -> Option<Glyph> {
    let code = u32::from(character);
    let mut glyph = EMPTY;
    match code {
        // The lower one to seven eighths.
        0x2581..=0x2587 => {
            let filled = (code - 0x2580) as usize * 2;
            glyph[CELL_HEIGHT - filled..].fill(0xFF);
        }
        // The left seven to one eighths.
        0x2589..=0x258F => glyph.fill(0xFF << (code - 0x2588)),
        0x2800..=0x28FF => {
            for (dot, (row, bits)) in BRAILLE.into_iter().enumerate() {
                if code & (1 << dot) != 0 {
                    glyph[row] |= bits;
                    glyph[row + 1] |= bits;
                }
            }
        }
        _ => return None,
    }
    Some(glyph)
}

/// Where the eight dots of a braille pattern are, in the order of their bits: the upper row and the two columns.
const BRAILLE: [(usize, u8); 8] =
    [(1, 0x60), (5, 0x60), (9, 0x60), (1, 0x06), (5, 0x06), (9, 0x06), (13, 0x60), (13, 0x06)];

/// The font: the glyphs, and the characters by number with the index of their glyph.
struct Font {
    glyphs: &'static [u8],
    index: Vec<(u16, u16)>,
}

static FONT: LazyLock<Font> = LazyLock::new(Font::load);

impl Font {
    /// Reads the PC screen font (version 1, with a table of characters) that the crate brings.
    fn load() -> Self {
        let (glyphs, table) = spleen_font::FONT_8X16[FONT_HEADER..].split_at(GLYPHS * CELL_HEIGHT);
        let mut index = Vec::new();
        let mut glyph = 0;
        for pair in table.chunks_exact(2) {
            match u16::from_le_bytes([pair[0], pair[1]]) {
                GLYPH_END => glyph += 1,
                character => index.push((character, glyph)),
            }
        }
        order::sort_by(&mut index, Ord::cmp);
        Self { glyphs, index }
    }

    fn glyph(&self, character: char) -> Option<Glyph> {
        let lookalike = LOOKALIKES.iter().find(|(other, _)| *other == character);
        let character = lookalike.map_or(character, |(_, known)| *known);
        let code = u16::try_from(u32::from(character)).ok()?;
        let found = self.index.binary_search_by_key(&code, |(known, _)| *known).ok()?;
        let start = usize::from(self.index[found].1) * CELL_HEIGHT;
        self.glyphs.get(start..start + CELL_HEIGHT)?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;

    fn screen(columns: u16, rows: u16, bytes: &[u8]) -> Screen {
        let size = |count| NonZeroU16::new(count).unwrap();
        let mut parser = vt100::Parser::new(size(rows), size(columns), 0);
        parser.process(bytes);
        parser.screen().clone()
    }

    /// The pixels of a cell, as the decoder of another library sees them.
    struct Seen {
        width: usize,
        pixels: Vec<u8>,
    }

    impl Seen {
        fn of(screen: &Screen) -> Self {
            let shot = draw(screen).unwrap();
            let mut reader = png::Decoder::new(std::io::Cursor::new(shot.bytes)).read_info().unwrap();
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut pixels).unwrap();
            assert_eq!((info.width, info.height), (shot.width, shot.height));
            Self { width: shot.width as usize, pixels }
        }

        /// The cell's pixels of that colour, a row a byte.
        fn cell(&self, row: usize, column: usize, ink: Rgb) -> Glyph {
            std::array::from_fn(|y| {
                (0..CELL_WIDTH).fold(0, |bits, x| {
                    let at = ((row * CELL_HEIGHT + y) * self.width + column * CELL_WIDTH + x) * 3;
                    bits << 1 | u8::from(self.pixels[at..at + 3] == ink)
                })
            })
        }
    }

    fn glyph(character: char) -> Glyph {
        FONT.glyph(character).unwrap()
    }

    #[test]
    fn the_font_is_what_its_constants_say_and_has_what_programs_print() {
        let font = spleen_font::FONT_8X16;
        assert_eq!(font[..FONT_HEADER], [0x36, 0x04, 0x03, CELL_HEIGHT as u8]);
        let table = &font[FONT_HEADER + GLYPHS * CELL_HEIGHT..];
        assert_eq!(table.chunks_exact(2).filter(|pair| *pair == GLYPH_END.to_le_bytes()).count(), GLYPHS);
        for character in ('!'..='~').chain("éßñČżЖяΩ─│┌╭╰█░→•…✓❯".chars()) {
            assert!(FONT.glyph(character).is_some_and(|glyph| glyph != EMPTY), "{character}");
        }
        for (_, known) in LOOKALIKES {
            assert!(FONT.index.binary_search_by_key(&(known as u16), |(code, _)| *code).is_ok(), "{known}");
        }
    }

    #[test]
    fn draws_characters_colours_and_attributes_where_they_are() {
        let text = "A\x1b[31mB\x1b[0;1mC\x1b[0;4mD\x1b[0;7mE\x1b[0;38;5;208;48;2;1;2;3mF\x1b[0;2mG\x1b[0m\x1b[?25l";
        let seen = Seen::of(&screen(10, 2, text.as_bytes()));
        assert_eq!((seen.width, seen.pixels.len()), (80, 80 * 32 * 3));
        assert_eq!(seen.cell(0, 0, FOREGROUND), glyph('A'));
        assert_eq!(seen.cell(0, 1, PALETTE[1]), glyph('B'));
        assert_eq!(seen.cell(0, 2, BRIGHT), glyph('C'));
        assert_eq!(seen.cell(0, 3, FOREGROUND)[14], 0xFF);
        assert_eq!(seen.cell(0, 4, BACKGROUND), glyph('E'));
        assert_eq!(seen.cell(0, 5, [255, 135, 0]), glyph('F'));
        assert_eq!(seen.cell(0, 5, [1, 2, 3]), glyph('F').map(|bits| !bits));
        assert_eq!(seen.cell(0, 6, [0x70; 3]), glyph('G'));
        assert_eq!(seen.cell(1, 0, BACKGROUND), [0xFF; CELL_HEIGHT]);
    }

    #[test]
    fn shows_the_cursor_unless_it_is_hidden() {
        let shown = Seen::of(&screen(4, 1, b"ab\x1b[D"));
        assert_eq!(shown.cell(0, 1, BACKGROUND), glyph('b'));
        let hidden = Seen::of(&screen(4, 1, b"ab\x1b[D\x1b[?25l"));
        assert_eq!(hidden.cell(0, 1, FOREGROUND), glyph('b'));
    }

    #[test]
    fn what_the_font_lacks_is_a_box_or_drawn_by_rule() {
        let seen = Seen::of(&screen(8, 1, "日\u{16A0}▂▌⠋✓\x1b[?25l".as_bytes()));
        let cells: Vec<Glyph> = (0..7).map(|column| seen.cell(0, column, FOREGROUND)).collect();
        assert_eq!(cells[..3], [missing(Half::Left), missing(Half::Right), missing(Half::Whole)]);
        assert_eq!((cells[3][11], cells[3][12]), (0, 0xFF));
        assert_eq!(cells[4], [0xF0; CELL_HEIGHT]);
        // Dots 1, 2 and 4.
        assert_eq!((cells[5][1], cells[5][5], cells[5][9]), (0x66, 0x60, 0));
        assert_eq!(cells[6], glyph('√'));
    }

    #[test]
    fn the_largest_terminal_is_scaled_to_what_models_look_at() {
        let shot = draw(&screen(500, 100, b"x")).unwrap();
        assert_eq!((shot.width, shot.height), (MAX_EDGE, 627));
        assert_eq!(draw(&screen(1, 1, b"")).map(|shot| (shot.width, shot.height)), Some((8, 16)));
    }

    #[test]
    fn a_full_screen_is_small() {
        let line = "\x1b[32mcargo\x1b[0m test --workspace \x1b[1m-- running 128 tests\x1b[0m ok ".repeat(3);
        let text: String = (0..40).map(|row| format!("\x1b[{};1H{}", row + 1, &line[..100])).collect();
        let shot = draw(&screen(120, 40, text.as_bytes())).unwrap();
        assert_eq!((shot.width, shot.height), (960, 640));
        assert!(shot.bytes.len() < 200_000, "{} bytes", shot.bytes.len());
    }
}
