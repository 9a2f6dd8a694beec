//! What a line editor draws of a line, as characters of a stream.
//!
//! An editor draws a line in runs: where a row of the terminal goes on below, and where the last row is full, it returns to the left and
//! draws some of it once more, by its characters or by moves over them. What a terminal can do, the locale, and how many rows of the line
//! its screen shows decide which. So a drawing is known by this: each run goes on where those before it came to, or lies within what they
//! drew, and the last one ends with the line.

use memchr::memmem;

/// 8 characters that begin a line are looked for where an editor drew others in between,
const BEGIN: usize = 8;
/// which are at most 64 and a quarter of the line.
const BETWEEN: usize = 64;
/// 16 characters, and four times those of a run, are how far it lies back at most.
const BACK: usize = 16;
const BACK_TIMES: usize = 4;

/// 16,384 runs are looked at for one line: what prints beside it may begin as it does again and again.
const FOLLOWED: usize = 16 << 10;

/// What stands first where an editor draws the end of a line alone, as on a terminal that cannot move its cursor up.
pub(super) const CUT_OFF: u8 = b'<';

/// What parts a prompt that is drawn within a line from it.
const PROMPT: (&[u8], &[u8]) = (b"\x1b]133;D;", b"\x1b]133;B;");

pub(super) fn is_drawn(byte: u8) -> bool {
    byte > b' ' && byte != 0x7F
}

/// What is drawn of a stream: its characters without blanks, and where each stands.
pub(super) struct Drawn<'a> {
    bytes: &'a [u8],
    pub(super) text: Vec<u8>,
    pub(super) at: Vec<usize>,
    /// Before which of its characters a run begins, and whether that begins a line.
    runs: Vec<(usize, bool)>,
}

impl<'a> Drawn<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let (mut text, mut at, mut runs) = (Vec::new(), Vec::new(), vec![(0, true)]);
        let mut index = 0;
        while let Some(&byte) = bytes.get(index) {
            match byte {
                0x1B => {
                    let prompt = prompt(&bytes[index..]);
                    runs.extend(prompt.map(|_| (text.len(), false)));
                    index += prompt.unwrap_or_else(|| sequence(&bytes[index..]));
                    continue;
                }
                b'\r' | b'\n' => runs.push((text.len(), byte == b'\n')),
                _ if is_drawn(byte) => {
                    text.push(byte);
                    at.push(index);
                }
                _ => {}
            }
            index += 1;
        }
        Self { bytes, text, at, runs }
    }

    /// Whether something was deleted behind all of it, or a prompt drawn in its place.
    pub(super) fn is_erased(&self) -> bool {
        let rest = self.at.last().map_or(self.bytes, |last| &self.bytes[last + 1..]);
        let deletes = [&b"\x1b[K"[..], b"\x1b[J", b"\x1b[P", PROMPT.1];
        rest.contains(&0x08) || deletes.iter().any(|keys| memmem::find(rest, keys).is_some())
    }

    /// Whether it is one drawing of that line, and nothing else.
    pub(super) fn is_whole(&self, line: &[u8]) -> bool {
        self.whole(line).is_some_and(|(first, last)| first == 0 && last + 1 == self.text.len())
    }

    /// The first and the last character of the last drawing of a whole line that begins where a line of the stream does, and ends with one.
    pub(super) fn whole(&self, line: &[u8]) -> Option<(usize, usize)> {
        self.whole_as_it_is(line).or_else(|| self.whole_as_it_is(&in_octal(line)?))
    }

    fn whole_as_it_is(&self, line: &[u8]) -> Option<(usize, usize)> {
        let begins = (0..self.runs.len()).rev().filter(|run| self.runs[*run].1);
        let mut left = FOLLOWED;
        begins.filter(|_| !line.is_empty()).find_map(|run| Some((self.runs[run].0, self.follow(line, run, &mut left)?)))
    }

    /// The last character of a drawing that begins with that run, if `left` runs have it.
    fn follow(&self, line: &[u8], first: usize, left: &mut usize) -> Option<usize> {
        let mut drawn = 0;
        for (run, (begin, _)) in self.runs.iter().enumerate().skip(first) {
            *left = left.checked_sub(1)?;
            let (end, ends_line) = self.runs.get(run + 1).copied().unwrap_or((self.text.len(), true));
            let text = &self.text[*begin..end];
            drawn = match text {
                [] => drawn,
                [CUT_OFF, rest @ ..] if line.ends_with(rest) && self.is_behind_return(*begin) => line.len(),
                _ => drawn.max(behind(line, text, drawn)?),
            };
            if ends_line && drawn == line.len() && behind(line, text, drawn).is_none_or(|end| end == drawn) {
                return end.checked_sub(1);
            }
        }
        None
    }

    /// Its characters without those that runs draw once more.
    pub(super) fn joined(&self) -> Vec<u8> {
        let ends = self.runs[1..].iter().map(|(end, _)| *end).chain([self.text.len()]);
        let mut all = Vec::new();
        for ((begin, _), end) in self.runs.iter().zip(ends) {
            match &self.text[*begin..end] {
                run if all.ends_with(run) => {}
                [first, rest @ ..] if all.last() == Some(first) => all.extend_from_slice(rest),
                run => all.extend_from_slice(run),
            }
        }
        all
    }

    /// Whether a character stands directly behind a return, or before all.
    fn is_behind_return(&self, index: usize) -> bool {
        self.at[index].checked_sub(1).is_none_or(|before| self.bytes[before] == b'\r')
    }

    /// The first and the last character of the last drawing of a row that begins before `limit`.
    pub(super) fn row(&self, row: &[u8], limit: usize) -> Option<(usize, usize)> {
        self.row_as_it_is(row, limit).or_else(|| self.row_as_it_is(&in_octal(row)?, limit))
    }

    fn row_as_it_is(&self, row: &[u8], limit: usize) -> Option<(usize, usize)> {
        let text = &self.text[..limit];
        if let Some(first) = memmem::rfind(text, row) {
            return Some((first, first + row.len() - 1));
        }
        // An editor may draw others where a row goes on below.
        let first = memmem::rfind(text, row.get(..BEGIN)?)?;
        let mut last = first;
        let mut rest = row.iter().peekable();
        for (index, byte) in text.iter().enumerate().skip(first) {
            if rest.next_if_eq(&byte).is_some() {
                last = index;
            }
        }
        let between = (last + 1 - first).saturating_sub(row.len());
        let is_one_row = !self.bytes[self.at[first]..self.at[last]].contains(&b'\n');
        (rest.peek().is_none() && is_one_row && between <= BETWEEN + row.len() / 4).then_some((first, last))
    }

    /// Where a row begins: with the blanks before it, where it begins a line or follows another row; else with those that are its own.
    pub(super) fn start(&self, first: usize, before: &[(u64, u64)], from: u64, indent: usize) -> u64 {
        let least = before.last().map_or(0, |(_, to)| to - from);
        let at = self.at[first];
        let blanks = self.bytes[..at].iter().rev().take_while(|byte| b" \t\r".contains(byte)).count();
        let begin = (at - blanks) as u64;
        if begin <= least || self.bytes[..at - blanks].ends_with(b"\n") {
            begin.max(least)
        } else {
            (at - blanks.min(indent)) as u64
        }
    }

    /// Where a row ends: behind its line end, which is the editor's.
    pub(super) fn end(&self, last: usize) -> u64 {
        let end = self.at[last] + 1;
        let mut index = end;
        while let Some(&byte) = self.bytes.get(index) {
            match byte {
                b'\n' => return index as u64 + 1,
                // NUL is what an editor gives an old terminal time with.
                b'\r' | b' ' | 0x00 | 0x08 => index += 1,
                0x1B => index += sequence(&self.bytes[index..]),
                _ => break,
            }
        }
        end as u64
    }
}

/// How much of a line is drawn behind a run of it, where `drawn` of it were before: the run goes on there, or lies within that.
fn behind(line: &[u8], run: &[u8], drawn: usize) -> Option<usize> {
    let back = BACK + run.len() * BACK_TIMES;
    (drawn.saturating_sub(back)..=drawn).rev().find(|from| line[*from..].starts_with(run)).map(|from| from + run.len())
}

/// The bytes of a prompt that begins there, where it is drawn again.
fn prompt(bytes: &[u8]) -> Option<usize> {
    let end = bytes.starts_with(PROMPT.0).then(|| memmem::find(bytes, PROMPT.1)).flatten()?;
    Some(end + sequence(&bytes[end..]))
}

/// Where an editor begins to draw the last character of a row again that is full: so that no terminal takes the row for one that
/// goes on below, it wraps, comes back and draws that.
pub(super) fn redrawn_from(bytes: &[u8]) -> Option<usize> {
    let (_, mut rest) = bytes.strip_suffix(b"\r\n")?.split_last()?;
    let mut is_deleted = false;
    loop {
        rest = match rest {
            [shorter @ .., 0x00] | [shorter @ .., 0x1B, b'[', b'C'] => shorter,
            [shorter @ .., 0x1B, b'[', b'K'] if !is_deleted => {
                is_deleted = true;
                shorter
            }
            _ => break,
        };
    }
    // A screen that shows the end of the line alone has its cursor in no other row.
    let up = [&b"\x1b[A"[..], b"\x1bM"].iter().find_map(|up| rest.strip_suffix(*up));
    up.unwrap_or(rest).strip_suffix(b" \r").filter(|_| is_deleted).map(<[u8]>::len)
}

/// A row as an editor draws it that takes what is not ASCII for no characters, as in the locale `C`; `None` where all of it is ASCII.
fn in_octal(row: &[u8]) -> Option<Vec<u8>> {
    let drawn = |byte: &u8| if byte.is_ascii() { vec![*byte] } else { format!("\\{byte:03o}").into_bytes() };
    (!row.is_ascii()).then(|| row.iter().flat_map(drawn).collect())
}

/// The bytes of an escape sequence.
pub(super) fn sequence(bytes: &[u8]) -> usize {
    let end = match bytes.get(1) {
        Some(b'[') => bytes[2..].iter().position(|byte| (b'@'..=b'~').contains(byte)).map(|end| end + 3),
        Some(b']') => memchr::memchr2(0x07, 0x1B, &bytes[2..]).map(|end| end + 3),
        Some(_) => Some(2),
        None => Some(1),
    };
    end.unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each beginning was followed to the end of all: thousands of millions of looks at what another program printed meanwhile.
    #[test]
    fn what_begins_as_the_line_does_again_and_again_is_not_followed_for_ever() {
        let beside = "e\n".repeat(100_000);
        assert_eq!(Drawn::of(beside.as_bytes()).whole(b"echohi"), None);
        let drawn = format!("{beside}echo hi\r\n");
        assert_eq!(Drawn::of(drawn.as_bytes()).whole(b"echohi"), Some((100_000, 100_005)));
    }
}
