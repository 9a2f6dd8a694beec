//! How a window of lines is shown to a model: numbered (BE-23) or tagged (BE-91), long lines cut, and where to read on.
//!
//! What is shown is not what is there: a `\r` at a line's end is hidden in the numbered style, and a long line is cut with
//! a marker. The content itself stays in the [`View`].

use gloveport_lines::{Lines, Numbers, Sign};

use super::hashline::LineTag;

/// Bytes that a line gets besides its own: six digits or more, a tab or a tag, a line end. 8; more only asks for memory once more.
const LINE_EXTRA: usize = 8;

/// A window of lines, as [`super::window::TextWindow`] and `backend::FileSlice` hold it.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The lines, each with its own line end.
    pub content: &'a str,
    /// Lines skipped before them.
    pub offset: u64,
    /// Lines of the whole file, where known.
    pub total_lines: Option<u64>,
    /// Where to read on; `None` at the end.
    pub next_offset: Option<u64>,
    /// Whether `content` ends before the file does.
    pub truncated: bool,
}

/// How lines are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `     1\ttext`: the number padded to 6 places; a `\r` at the end is hidden.
    Numbered,
    /// `1:5d|text`: number and tag; a `\r` is kept, as the tag counts it.
    Tagged,
}

/// How to show a view.
#[derive(Debug, Clone, Copy)]
pub struct ViewOptions {
    /// The style.
    pub style: Style,
    /// Characters of a line before it is cut: `Limits::line_chars`.
    pub line_chars: usize,
    /// Characters of the first line to skip: how one reads on in a line that was cut. 0 for all others.
    pub column: usize,
}

/// The text for a model: the lines, and a trailer that says where to read on.
///
/// An empty file is `(empty file)` when numbered and `1:d4|` when tagged, so that its one line can be named (BE-91).
pub fn render(view: &View<'_>, options: &ViewOptions) -> String {
    render_lines(view, &Lines::of(view.content), options)
}

/// As [`render`], where the lines of the content are known.
pub fn render_lines(view: &View<'_>, lines: &Lines<'_>, options: &ViewOptions) -> String {
    if view.content.is_empty() && view.offset == 0 {
        return match options.style {
            Style::Numbered => "(empty file)".to_owned(),
            Style::Tagged => format!("1:{}|", LineTag::of(b"")),
        };
    }
    let content = view.content;
    let mut text = String::with_capacity(content.len() + (lines.count() + 1) * LINE_EXTRA + 80);
    // The last line may go on behind the view. A window without text is one empty line.
    let cut_by_budget = view.truncated && !content.ends_with('\n');
    let count = lines.count().max(1);
    let whole = if cut_by_budget { count - 1 } else { count };
    let sign = match options.style {
        Style::Numbered => Sign::Tab,
        Style::Tagged => Sign::Colon,
    };
    let mut numbers = Numbers::from(view.offset + 1, sign);
    let mut index = 0;
    while index < count {
        if index > 0 {
            if options.style == Style::Numbered {
                // Most lines are shown as they are.
                index = numbers.push_lines(&mut text, lines, index, whole, options.line_chars);
            }
            if index == count {
                break;
            }
            text.push('\n');
        }
        let line = lines.get(index).unwrap_or_default();
        let number = numbers.push(&mut text);
        let line = match options.style {
            Style::Numbered => line.strip_suffix('\r').unwrap_or(line),
            Style::Tagged => {
                text.push_str(LineTag::of(line.as_bytes()).as_str());
                text.push('|');
                line
            }
        };
        let column = if index == 0 { options.column } else { 0 };
        push_line(&mut text, line, number, &Cut { column, line_chars: options.line_chars, goes_on: index >= whole });
        index += 1;
    }
    push_trailer(&mut text, view);
    text
}

struct Cut {
    column: usize,
    line_chars: usize,
    /// The line's end is not in the view.
    goes_on: bool,
}

fn push_line(text: &mut String, line: &str, number: u64, cut: &Cut) {
    if cut.column == 0 && !cut.goes_on && line.len() <= cut.line_chars {
        text.push_str(line);
        return;
    }
    let byte_at = |from: &str, chars: usize| from.char_indices().nth(chars).map(|(at, _)| at);
    let Some(start) = byte_at(line, cut.column).or((cut.column == 0).then_some(0)) else {
        text.push_str(&format!("[line {number} has {} characters]", line.chars().count()));
        return;
    };
    let shown = &line[start..];
    let end = byte_at(shown, cut.line_chars);
    if cut.column > 0 {
        text.push('…');
    }
    text.push_str(&shown[..end.unwrap_or(shown.len())]);
    if end.is_none() && !cut.goes_on {
        return;
    }
    let length = if cut.goes_on { "more".to_owned() } else { line.chars().count().to_string() };
    let next = cut.column + end.map_or_else(|| shown.chars().count(), |_| cut.line_chars);
    text.push_str(&format!(
        "… [line {number} has {length} characters; read on with offset={}, limit=1, column={next}]",
        number - 1
    ));
}

fn push_trailer(text: &mut String, view: &View<'_>) {
    let Some(next) = view.next_offset else { return };
    let more = match view.total_lines {
        Some(total) => format!("{} more lines", total.saturating_sub(next)),
        None => "more lines follow".to_owned(),
    };
    text.push_str(&format!("\n\n... ({more}) Read on with offset={next}."));
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::cancel::Deadline;
    use crate::text::window::{self, TextWindow, Window, WindowRequest};

    fn read(content: &str, offset: u64, limit: u64, max_bytes: u64) -> crate::error::Result<TextWindow> {
        let deadline = Deadline::default();
        let size = content.len() as u64;
        let window = Window { offset, limit, max_bytes };
        let request = WindowRequest { window, size, count_lines_bytes: 1 << 20, path: "/f", deadline: &deadline };
        window::read(&mut content.as_bytes(), &request)
    }

    fn shown(content: &str, offset: u64, limit: u64, options: ViewOptions) -> String {
        render(&read(content, offset, limit, 1 << 20).unwrap().view(offset), &options)
    }

    const NUMBERED: ViewOptions = ViewOptions { style: Style::Numbered, line_chars: 2000, column: 0 };
    const TAGGED: ViewOptions = ViewOptions { style: Style::Tagged, line_chars: 2000, column: 0 };

    #[test]
    fn numbers_lines_and_says_where_to_read_on() {
        let table = [
            ("", 0, 9, "(empty file)"),
            ("\n", 0, 9, "     1\t"),
            ("one\ntwo\n", 0, 9, "     1\tone\n     2\ttwo"),
            ("one\r\ntwo\r\n", 0, 9, "     1\tone\n     2\ttwo"),
            ("one\ntwo\nthree\n", 0, 1, "     1\tone\n\n... (2 more lines) Read on with offset=1."),
            ("one\ntwo\n\n", 1, 1, "     2\ttwo\n\n... (1 more lines) Read on with offset=2."),
            ("one\n\n", 1, 1, "     2\t"),
        ];
        for (content, offset, limit, expected) in table {
            assert_eq!(shown(content, offset, limit, NUMBERED), expected, "{content:?}");
        }
        let far = View {
            content: "x\n",
            offset: 1_234_566,
            total_lines: None,
            next_offset: Some(1_234_567),
            truncated: true,
        };
        assert_eq!(render(&far, &NUMBERED), "1234567\tx\n\n... (more lines follow) Read on with offset=1234567.");
    }

    #[test]
    fn numbers_follow_one_another_over_every_width() {
        for offset in [0, 5, 9, 88, 985, 9_994, 99_985, 999_989, 9_999_999] {
            let content: String = (0..25).map(|index| format!("line {index}\r\n")).collect();
            let view = View { content: &content, offset, total_lines: None, next_offset: None, truncated: false };
            let numbered: Vec<String> =
                (0..25).map(|index| format!("{:>6}\tline {index}", offset + index + 1)).collect();
            assert_eq!(render(&view, &NUMBERED), numbered.join("\n"));
            let tagged: Vec<String> = (0..25)
                .map(|index| {
                    let line = format!("line {index}\r");
                    format!("{}:{}|{line}", offset + index + 1, LineTag::of(line.as_bytes()))
                })
                .collect();
            assert_eq!(render(&view, &TAGGED), tagged.join("\n"));
        }
    }

    #[test]
    fn a_window_without_text_is_one_empty_line() {
        let view = View { content: "", offset: 9, total_lines: None, next_offset: None, truncated: false };
        assert_eq!(render(&view, &NUMBERED), "    10\t");
    }

    #[test]
    fn a_long_line_is_cut_and_can_be_read_on() {
        let line = format!("{}tail", "é".repeat(10));
        let short = ViewOptions { line_chars: 6, ..NUMBERED };
        let cut = "     1\téééééé… [line 1 has 14 characters; read on with offset=0, limit=1, column=6]";
        assert_eq!(shown(&line, 0, 9, short), cut);
        let on = |column| shown(&line, 0, 1, ViewOptions { column, ..short });
        assert_eq!(on(6), "     1\t…ééééta… [line 1 has 14 characters; read on with offset=0, limit=1, column=12]");
        assert_eq!(on(12), "     1\t…il");
        assert_eq!(on(14), "     1\t[line 1 has 14 characters]");
    }

    #[test]
    fn a_line_over_the_budget_says_how_to_read_on() {
        let window = read("0123456789\nnext\n", 0, 9, 4).unwrap();
        assert_eq!(
            render(&window.view(0), &NUMBERED),
            "     1\t0123… [line 1 has more characters; read on with offset=0, limit=1, column=4]\n\n... (1 more lines) Read \
             on with offset=1."
        );
    }

    #[derive(Deserialize)]
    struct Recorded {
        format: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        content: String,
        offset: u64,
        limit: u64,
        output: String,
    }

    #[test]
    fn tagged_lines_are_those_recorded() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/hashline.json");
        let recorded: Recorded = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(recorded.format.len(), 64);
        for Case { content, offset, limit, output } in recorded.format {
            let shown = match read(&content, offset, limit, 1 << 20) {
                Ok(window) => render(&window.view(offset), &TAGGED),
                Err(error) => format!("Error: {}", error.message()),
            };
            // An empty file has 0 lines, not 1 (D1); errors name the file; the trailer says where to read on.
            let output = if content.is_empty() { output.replace("(1 lines)", "(0 lines)") } else { output };
            assert!(shown.starts_with(&output), "{content:?} {offset} {limit}: {shown:?} instead of {output:?}");
            let added = &shown[output.len()..];
            assert!(
                added.is_empty() || added.starts_with(" Read on with offset=") || added.starts_with(" of '/f'. "),
                "{content:?}: {added:?}"
            );
        }
    }
}
