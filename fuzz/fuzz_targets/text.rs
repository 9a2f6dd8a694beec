//! Decoding, windows and streams of text: what is read piece by piece is what is there.
#![no_main]

use arbitrary::Arbitrary;
use gloveport_core::cancel::Deadline;
use gloveport_core::text::ansi;
use gloveport_core::text::encoding::{Content, Document, sniff};
use gloveport_core::text::head_tail::HeadTail;
use gloveport_core::text::numbered::{Style, ViewOptions, render};
use gloveport_core::text::stream::Utf8Stream;
use gloveport_core::text::window::{self, TextWindow, Window, WindowRequest};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    content: Vec<u8>,
    offset: u8,
    limit: u8,
    max_bytes: u16,
    column: u8,
    piece: u8,
}

fuzz_target!(|input: Input| {
    let content = input.content.as_slice();
    decodes_there_and_back(content);
    windows(content, &input);
    streams(content, usize::from(input.piece) + 1);
});

fn decodes_there_and_back(content: &[u8]) {
    match (sniff(content), Document::open(content, "/f")) {
        (Content::Text(_), Ok(document)) => {
            let text = document.text.to_vec();
            assert_eq!(document.encode(text), content);
        }
        (Content::Binary(_), Err(_)) => {}
        (content, _) => panic!("{content:?} is judged in two ways"),
    }
}

fn read(content: &[u8], window: Window) -> Result<TextWindow, gloveport_core::error::Error> {
    let deadline = Deadline::default();
    let size = content.len() as u64;
    let request = WindowRequest { window, size, count_lines_bytes: 1 << 20, path: "/f", deadline: &deadline };
    window::read(&mut &*content, &request)
}

fn windows(content: &[u8], input: &Input) {
    let limit = u64::from(input.limit) + 1;
    let window = Window { offset: u64::from(input.offset), limit, max_bytes: u64::from(input.max_bytes) };
    if let Ok(seen) = read(content, window) {
        for style in [Style::Numbered, Style::Tagged] {
            let options =
                ViewOptions { style, line_chars: usize::from(input.piece) + 1, column: usize::from(input.column) };
            let _ = render(&seen.view(window.offset), &options);
        }
        assert!(seen.lines <= limit);
    }
    // Windows of the whole file, put together, are the whole file.
    let whole = Window { offset: 0, limit: u64::MAX, max_bytes: u64::MAX };
    let Ok(all) = read(content, whole) else { return };
    let (mut text, mut offset, mut lines) = (String::new(), 0, 0);
    loop {
        let part = read(content, Window { offset, limit, ..whole }).expect("the whole can be read");
        text.push_str(&part.content);
        lines += part.lines;
        match part.next_offset {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!((text.as_str(), Some(lines)), (all.content.as_str(), all.total_lines));
}

fn streams(content: &[u8], piece: usize) {
    let mut stream = Utf8Stream::new();
    let mut text: String = content.chunks(piece).map(|piece| stream.push(piece)).collect();
    text.push_str(&stream.finish());
    assert_eq!(text, String::from_utf8_lossy(content));
    let mut stripper = ansi::AnsiStripper::new();
    let mut plain = String::new();
    for piece in content.chunks(piece) {
        stripper.push(piece, &mut plain);
    }
    stripper.finish(&mut plain);
    let mut bounded = HeadTail::new(piece * 3);
    for piece in content.chunks(piece) {
        bounded.push(piece);
    }
    assert_eq!(bounded.total_bytes(), content.len() as u64);
    let _ = bounded.capture();
}
