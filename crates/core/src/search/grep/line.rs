//! Turns the bytes of a line into the text that is shown.

use std::ops::Range;

/// What stands where text was cut away.
const CUT: char = '…';

/// `line` without its line end, as text of at most about `max` characters. A longer one is cut around `hit` (bytes of
/// the match within it), or at its end; bytes that are not UTF-8 become U+FFFD.
pub(super) fn shown(line: &[u8], max: usize, hit: impl FnOnce(&[u8]) -> Option<Range<usize>>) -> String {
    let line = line.strip_suffix(b"\n").map_or(line, |line| line.strip_suffix(b"\r").unwrap_or(line));
    if line.len() <= max {
        return String::from_utf8_lossy(line).into_owned();
    }
    if line.len() <= max.saturating_mul(4) {
        let text = String::from_utf8_lossy(line);
        if text.chars().count() <= max {
            return text.into_owned();
        }
    }
    // A quarter of the room is for what stands before the match.
    let start = hit(line).map_or(0, |hit| hit.start.min(line.len()));
    let before_from = start.saturating_sub(max.saturating_mul(4));
    let before = String::from_utf8_lossy(&line[before_from..start]);
    let lead = before.chars().count();
    let skipped = lead.saturating_sub(max / 4);
    let mut text = String::with_capacity(max + 2 * CUT.len_utf8());
    if before_from > 0 || skipped > 0 {
        text.push(CUT);
    }
    text.extend(before.chars().skip(skipped));
    let room = max - (lead - skipped).min(max);
    let end = start.saturating_add(room.saturating_mul(4)).min(line.len());
    let after = String::from_utf8_lossy(&line[start..end]);
    text.extend(after.chars().take(room));
    if end < line.len() || after.chars().nth(room).is_some() {
        text.push(CUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_a_long_line_around_the_match() {
        let nothing = |_: &[u8]| None;
        assert_eq!(shown(b"short\r\n", 10, nothing), "short");
        assert_eq!(shown(b"a\rb\n", 10, nothing), "a\rb");
        assert_eq!(shown(b"0123456789", 10, nothing), "0123456789");
        assert_eq!(shown(b"0123456789x", 10, nothing), "0123456789…");
        let at = |start: usize, end: usize| move |_: &[u8]| Some(start..end);
        assert_eq!(shown(b"0123456789abcdef", 8, at(10, 12)), "…89abcdef");
        assert_eq!(shown(b"0123456789abcdefghijkl", 8, at(10, 12)), "…89abcdef…");
        assert_eq!(shown("ääääääääää".as_bytes(), 10, nothing), "ääääääääää");
        assert_eq!(shown("ääääääääääb".as_bytes(), 8, at(20, 21)), "…ääb");
        assert_eq!(shown(b"\xFF\xFEa", 10, nothing), "\u{FFFD}\u{FFFD}a");
    }
}
