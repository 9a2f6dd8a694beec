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
