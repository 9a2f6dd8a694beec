use proptest::prelude::*;

use super::*;
use crate::text::lines;

const KIB: u64 = 1 << 10;

fn read_text(text: &[u8], window: Window, count_lines_bytes: u64) -> Result<TextWindow> {
    let deadline = Deadline::default();
    let request = WindowRequest { window, size: text.len() as u64, count_lines_bytes, path: "/f", deadline: &deadline };
    read(&mut &*text, &request)
}

fn window(offset: u64, limit: u64) -> Window {
    Window { offset, limit, max_bytes: 256 * KIB }
}

/// Reads one byte at a time: every border that a chunk can have.
struct Trickle<'a>(&'a [u8]);

impl ReadAt for Trickle<'_> {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(1);
        self.0.read_at(offset, &mut buffer[..length])
    }
}

#[test]
fn an_empty_file_has_no_lines_and_is_no_error() {
    let expected = TextWindow {
        content: String::new(),
        lines: 0,
        total_lines: Some(0),
        next_offset: None,
        truncated: false,
        encoding: Encoding::Utf8,
    };
    assert_eq!(read_text(b"", window(0, 2000), KIB).unwrap(), expected);
}

#[test]
fn a_window_in_the_middle_says_where_to_read_on() {
    let expected = TextWindow {
        content: "b\r\n\n".into(),
        lines: 2,
        total_lines: Some(4),
        next_offset: Some(3),
        truncated: true,
        encoding: Encoding::Utf8,
    };
    assert_eq!(read_text(b"a\nb\r\n\nd", window(1, 2), KIB).unwrap(), expected);
}

#[test]
fn the_last_window_ends_without_a_next_offset() {
    for text in ["a\nb\nc", "a\nb\nc\n"] {
        let read = read_text(text.as_bytes(), window(2, 1), KIB).unwrap();
        assert_eq!((read.next_offset, read.truncated, read.total_lines), (None, false, Some(3)), "{text:?}");
        // Beyond the counting limit the end still gives the exact total, because it was reached.
        let read = read_text(text.as_bytes(), window(2, 1), 0).unwrap();
        assert_eq!((read.next_offset, read.truncated, read.total_lines), (None, false, Some(3)), "{text:?}");
    }
}

#[test]
fn beyond_the_counting_limit_the_total_is_not_known() {
    let read = read_text(b"a\nb\nc\n", window(0, 1), 0).unwrap();
    assert_eq!((read.next_offset, read.truncated, read.total_lines), (Some(1), true, None));
}

#[test]
fn an_offset_past_the_end_says_the_length() {
    let table = [
        (&b"a\nb\nc\n"[..], 3, "Offset 3 exceeds file length (3 lines) of '/f'. The last line is at offset 2."),
        (b"a\nb", 100, "Offset 100 exceeds file length (2 lines) of '/f'. The last line is at offset 1."),
        (b"", 1, "Offset 1 exceeds file length (0 lines) of '/f'. The file is empty."),
    ];
    for (text, offset, message) in table {
        for count in [0, KIB] {
            let error = read_text(text, window(offset, 5), count).unwrap_err();
            assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidInput, message));
        }
    }
}

#[test]
fn a_limit_of_no_lines_is_refused() {
    assert_eq!(read_text(b"a", window(0, 0), KIB).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn the_byte_budget_ends_a_window_at_a_whole_line() {
    let read = read_text(b"aaaa\nbbbb\ncccc\n", Window { offset: 0, limit: 9, max_bytes: 12 }, KIB).unwrap();
    assert_eq!((read.content.as_str(), read.lines, read.next_offset), ("aaaa\nbbbb\n", 2, Some(2)));
    let read = read_text(b"aaaa\nbbbb\n", Window { offset: 0, limit: 9, max_bytes: 10 }, KIB).unwrap();
    assert_eq!((read.content.as_str(), read.lines, read.truncated), ("aaaa\nbbbb\n", 2, false));
}

#[test]
fn a_line_over_the_budget_is_cut_on_a_character_border() {
    let read = read_text("aéééé\nb\n".as_bytes(), Window { offset: 0, limit: 9, max_bytes: 6 }, KIB).unwrap();
    assert_eq!((read.content.as_str(), read.lines, read.next_offset, read.truncated), ("aéé", 1, Some(1), true));
    let read = read_text("b\naéééé".as_bytes(), Window { offset: 1, limit: 9, max_bytes: 6 }, KIB).unwrap();
    assert_eq!((read.content.as_str(), read.lines, read.next_offset, read.truncated), ("aéé", 1, None, true));
}

#[test]
fn a_byte_order_mark_is_remembered_and_not_shown() {
    let read = read_text(b"\xEF\xBB\xBFa\n", window(0, 9), KIB).unwrap();
    assert_eq!((read.content.as_str(), read.encoding), ("a\n", Encoding::Utf8Bom));
}

#[test]
fn utf16_is_read_as_text() {
    let mut text = Encoding::Utf16Le.bom().to_vec();
    text.extend("é\r\n😀\n".encode_utf16().flat_map(u16::to_le_bytes));
    let read = read_text(&text, window(1, 9), KIB).unwrap();
    assert_eq!((read.content.as_str(), read.total_lines, read.encoding), ("😀\n", Some(2), Encoding::Utf16Le));
}

#[test]
fn bytes_that_are_not_utf8_are_said_plainly() {
    let read = read_text(b"plain\ncaf\xE9\n", window(0, 9), KIB).unwrap();
    assert_eq!((read.content.as_str(), read.encoding), ("plain\ncaf\u{FFFD}\n", Encoding::Unknown));
}

#[test]
fn a_file_that_shrinks_while_it_is_read_ends_early() {
    let deadline = Deadline::default();
    let request =
        WindowRequest { window: window(0, 9), size: 100, count_lines_bytes: KIB, path: "/f", deadline: &deadline };
    let read = read(&mut &b"a\nb"[..], &request).unwrap();
    assert_eq!((read.content.as_str(), read.total_lines), ("a\nb", Some(2)));
}

/// An endless text, and how much of it was read.
struct Endless {
    read: u64,
}

impl ReadAt for Endless {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = if (offset + at as u64) % 10 == 9 { b'\n' } else { b'x' };
        }
        self.read += buffer.len() as u64;
        Ok(buffer.len())
    }
}

#[test]
fn no_more_is_read_than_a_window_needs() {
    // D36: the whole file was read for any window.
    for (offset, limit, max_bytes, at_most) in [
        (0, 10, 1 << 20, CHUNK as u64),
        (0, 100_000, 1 << 10, CHUNK as u64),
        (100_000, 10, 1 << 20, 1_000_000 + 2 * CHUNK as u64),
    ] {
        let mut text = Endless { read: 0 };
        let deadline = Deadline::default();
        let window = Window { offset, limit, max_bytes };
        let request =
            WindowRequest { window, size: 1 << 50, count_lines_bytes: 16 << 20, path: "/f", deadline: &deadline };
        let shown = read(&mut text, &request).unwrap();
        assert_eq!((shown.total_lines, shown.truncated), (None, true));
        assert!(text.read <= at_most, "{} bytes were read for {window:?}", text.read);
    }
}

#[test]
fn a_cancelled_call_stops() {
    let deadline = Deadline::default();
    deadline.cancel.cancel();
    let request =
        WindowRequest { window: window(0, 9), size: 3, count_lines_bytes: KIB, path: "/f", deadline: &deadline };
    assert_eq!(read(&mut &b"a\nb"[..], &request).unwrap_err().kind(), ErrorKind::Aborted);
}

#[test]
fn a_deep_window_in_a_large_file_is_exact() {
    let text: String = (0..300_000).map(|line| format!("line {line}\n")).collect();
    let read = read_text(text.as_bytes(), window(299_000, 2), 0).unwrap();
    assert_eq!((read.content.as_str(), read.next_offset), ("line 299000\nline 299001\n", Some(299_002)));
    let read = read_text(text.as_bytes(), window(299_998, 9), 0).unwrap();
    assert_eq!((read.content.as_str(), read.total_lines), ("line 299998\nline 299999\n", Some(300_000)));
}

/// What [`read`] must answer, computed from the whole text.
fn model(text: &[u8], window: Window, count: bool) -> Option<TextWindow> {
    let all: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let offset = usize::try_from(window.offset).unwrap();
    if offset > 0 && offset >= all.len() {
        return None;
    }
    let (mut content, mut taken, mut cut) = (Vec::new(), 0, false);
    for line in &all[offset..] {
        if taken == window.limit {
            break;
        }
        let fits = content.len() + line.len() <= usize::try_from(window.max_bytes).unwrap();
        if !fits && taken > 0 {
            break;
        }
        content.extend_from_slice(line);
        taken += 1;
        if !fits {
            content.truncate(usize::try_from(window.max_bytes).unwrap());
            content.truncate(whole_characters(&content));
            cut = true;
            break;
        }
    }
    let next = window.offset + taken;
    let more = next < all.len() as u64;
    let encoding = if std::str::from_utf8(&content).is_ok() { Encoding::Utf8 } else { Encoding::Unknown };
    Some(TextWindow {
        content: String::from_utf8_lossy(&content).into_owned(),
        lines: taken,
        total_lines: (count || !more).then_some(lines::count(text)),
        next_offset: more.then_some(next),
        truncated: more || cut,
        encoding,
    })
}

proptest! {
    #[test]
    fn equals_a_model_that_holds_the_whole_text(
        text in "[a\u{e9}\u{1F600}\r\n]{0,60}",
        offset in 0_u64..8,
        limit in 1_u64..8,
        max_bytes in 4_u64..40,
        count in any::<bool>(),
    ) {
        let window = Window { offset, limit, max_bytes };
        let count_lines_bytes = if count { 1000 } else { 0 };
        let expected = model(text.as_bytes(), window, count);
        prop_assert_eq!(read_text(text.as_bytes(), window, count_lines_bytes).ok(), expected.clone());

        let deadline = Deadline::default();
        let request = WindowRequest { window, size: text.len() as u64, count_lines_bytes, path: "/f", deadline: &deadline };
        prop_assert_eq!(read(&mut Trickle(text.as_bytes()), &request).ok(), expected);
    }

    #[test]
    fn a_border_between_two_reads_changes_nothing(
        text in "[a\u{e9}\u{1F600}\r\n]{0,60}",
        before_the_border in 0_usize..40,
        offset in 0_u64..8,
        limit in 1_u64..8,
        max_bytes in 4_u64..40,
    ) {
        let lines_before = (CHUNK - before_the_border) / 4;
        let text = "xyz\n".repeat(lines_before) + &text;
        let window = Window { offset: offset + lines_before as u64 - 4, limit, max_bytes };
        prop_assert_eq!(read_text(text.as_bytes(), window, 0).ok(), model(text.as_bytes(), window, false));
    }

    #[test]
    fn windows_put_together_are_the_text(text in "[ab\n]{0,80}", limit in 1_u64..5) {
        let (mut whole, mut offset) = (String::new(), 0);
        loop {
            let read = read_text(text.as_bytes(), window(offset, limit), 0).unwrap();
            whole.push_str(&read.content);
            match read.next_offset {
                Some(next) => offset = next,
                None => break,
            }
        }
        prop_assert_eq!(whole, text);
    }
}
