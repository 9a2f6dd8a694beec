//! Which bytes of a stream are the echo of a line that was typed at a shell.
//!
//! A line editor draws the line while commands in the background may print: what is drawn of it ends where the shell says that
//! it has the line, and is known by its characters. Blanks and moves of the cursor are the editor's own.

use std::time::{Duration, Instant};

use memchr::memmem;

use crate::text::ansi::strip;

use self::drawn::{CUT_OFF, Drawn, is_drawn, redrawn_from};

mod drawn;

/// 64 KiB and 16 times the line: an editor draws some lines more than once. More is no echo.
const BYTES: usize = 64 << 10;
const TIMES: usize = 16;
/// 3 s for a shell to say that it has the line. One that says nothing any more holds no output back for longer.
const PATIENCE: Duration = Duration::from_secs(3);

/// The keys around a pasted line, as they are drawn where a part of them is missing.
const PASTED: (&[u8], &[u8]) = (b"[200~", b"[201~");

/// How much of a typed line a shell had, by what it drew of it: another program may read the same terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Taken {
    /// All of it, or it is nothing that runs.
    #[default]
    Whole,
    /// All of it stands among something else, or was deleted again.
    Among,
    /// This alone.
    Part(String),
    /// It is not seen.
    Unseen,
}

/// A line whose echo is on its way.
#[derive(Debug)]
pub(super) struct TypedLine {
    /// The position in the stream where it was typed.
    pub(super) from: u64,
    at: Instant,
    /// The characters of its rows without blanks, of those that have any.
    text: Vec<Vec<u8>>,
    /// The blanks that the line begins with.
    indent: usize,
    /// Before which of the characters of all rows the line has a blank or begins a row.
    parted: Vec<usize>,
    /// The characters, without blanks, that the terminal itself echoes of the keys, where the line editor may not be there when they come.
    unedited: Vec<u8>,
    most: usize,
    /// What came since.
    bytes: Vec<u8>,
}

impl TypedLine {
    pub(super) fn new(line: &str, from: u64) -> Self {
        let rows = line.lines().map(|row| row.bytes().filter(|byte| is_drawn(*byte)).collect());
        let text = rows.filter(|row: &Vec<u8>| !row.is_empty()).collect();
        let most = line.len().saturating_mul(TIMES).saturating_add(BYTES);
        let indent = line.len() - line.trim_start_matches(' ').len();
        Self {
            from,
            at: Instant::now(),
            text,
            indent,
            parted: parted(line),
            unedited: Vec::new(),
            most,
            bytes: Vec::new(),
        }
    }

    /// Typed by these keys at a shell whose line editor may not be there when they come: the terminal echoes them then.
    pub(super) fn by_keys(self, keys: &str) -> Self {
        Self { unedited: unedited(keys), ..self }
    }

    /// Takes the next bytes; whether they may be of the echo still.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(self.most - self.bytes.len())]);
        self.bytes.len() < self.most
    }

    /// Whether the shell should have said that it has the line.
    pub(super) fn is_late(&self) -> bool {
        self.at.elapsed() >= PATIENCE
    }

    /// The parts of the stream that are the echo, in order, of what came before `end`. Where the prompt was drawn again each drawing
    /// is.
    pub(super) fn echo(&self, end: u64, is_redrawn: bool) -> Vec<(u64, u64)> {
        let length = usize::try_from(end.saturating_sub(self.from)).unwrap_or(usize::MAX).min(self.bytes.len());
        let bytes = &self.bytes[..length];
        let before = redrawn_from(bytes).unwrap_or(length);
        let all = Drawn::of(bytes);
        let last = all.whole(&self.text.concat());
        let drawn = if last.is_some() { all } else { Drawn::of(&bytes[..before]) };
        let mut limit = last.map_or(drawn.text.len(), |(first, _)| first);
        let mut parts: Vec<_> = last.into_iter().collect();
        while is_redrawn || parts.is_empty() {
            let Some((mut rows, first)) = self.rows(&drawn, limit) else { break };
            parts.append(&mut rows);
            limit = first;
        }
        parts.reverse();
        let mut whole: Vec<(u64, u64)> = Vec::new();
        for (from, to) in parts {
            let (from, to) = (self.from + drawn.start(from, &whole, self.from, self.indent), self.from + drawn.end(to));
            join(&mut whole, from, to);
        }
        if let Some((_, to)) = whole.last_mut() {
            let rest = usize::try_from(*to - self.from).ok().and_then(|to| bytes[..before].get(to..));
            if rest.is_some_and(|rest| before < length && rest.iter().all(|byte| *byte == b' ')) {
                *to = self.from + length as u64;
            }
        }
        if self.unedited.is_empty() { whole } else { self.with_unedited(bytes, whole) }
    }

    /// How much of it the shell had when it took the line, at `end`, where it drew what it had. `echo` is what was found of it.
    pub(super) fn drawn(&self, end: u64, echo: &[(u64, u64)]) -> Taken {
        let length = usize::try_from(end.saturating_sub(self.from)).unwrap_or(usize::MAX).min(self.bytes.len());
        let bytes = &self.bytes[..length];
        let drawn = Drawn::of(&bytes[..redrawn_from(bytes).unwrap_or(length)]);
        let line = self.text.concat();
        let keys = [PASTED.0, &line, PASTED.1].concat();
        let is_of_keys = |text: &[u8]| {
            let mut all = keys.iter();
            text.iter().all(|byte| all.any(|key| key == byte))
        };
        let all = Drawn::of(bytes);
        let is_of_line = match all.joined().as_slice() {
            [] => false,
            [CUT_OFF, end @ ..] => echo.is_empty() && is_of_keys(end),
            text => is_of_keys(text),
        };
        let is_whole = drawn.text == line || drawn.text.first() != Some(&CUT_OFF) && all.is_whole(&line);
        // Where no more than a blank is missing the characters around it stand side by side.
        let is_glued =
            drawn.text == line && self.parted.iter().any(|&index| drawn.at[index] == drawn.at[index - 1] + 1);
        if matches!(line.first(), None | Some(b'#')) || (is_whole && !is_glued && !drawn.is_erased()) {
            Taken::Whole
        } else if (is_glued || !is_whole) && is_of_line {
            Taken::Part(strip(&String::from_utf8_lossy(bytes)).trim().to_owned())
        } else if echo.is_empty() {
            Taken::Unseen
        } else {
            Taken::Among
        }
    }

    /// Those parts and what the terminal itself echoed. What the shell ends its line with may stand within that.
    fn with_unedited(&self, bytes: &[u8], mut parts: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
        let drawn = Drawn::of(bytes);
        let echoes = memmem::find_iter(&drawn.text, &self.unedited);
        let ends = echoes.map(|first| (drawn.at[first], drawn.at[first + self.unedited.len() - 1] + 1));
        parts.extend(ends.map(|(from, to)| (self.from + from as u64, self.from + to as u64)));
        parts.sort_unstable();
        let mut whole = Vec::new();
        for (from, to) in parts {
            join(&mut whole, from, to);
        }
        whole
    }

    /// The last drawing of all rows of the line before `limit`, the last row first: where the first and the last character of each
    /// stands. And the first of all.
    fn rows(&self, drawn: &Drawn<'_>, mut limit: usize) -> Option<(Vec<(usize, usize)>, usize)> {
        let mut rows = Vec::new();
        for row in self.text.iter().rev() {
            let (first, last) = drawn.row(row, limit)?;
            rows.push((first, last));
            limit = first;
        }
        (!rows.is_empty()).then_some((rows, limit))
    }
}

/// Puts a part behind those that begin before it.
fn join(parts: &mut Vec<(u64, u64)>, from: u64, to: u64) {
    match parts.last_mut() {
        Some(last) if last.1 >= from => last.1 = last.1.max(to),
        _ => parts.push((from, to)),
    }
}

/// What a terminal echoes of keys, without blanks: a control as `^` and a letter, but that which lets it go on, of which it shows nothing.
fn unedited(keys: &str) -> Vec<u8> {
    let mut echo = Vec::with_capacity(keys.len() * 2);
    for byte in keys.bytes() {
        match byte {
            0x11 | b'\t' | b' ' => {}
            0..=0x1F | 0x7F => echo.extend([b'^', byte ^ 0x40]),
            _ => echo.push(byte),
        }
    }
    echo
}

/// The indices of the drawn characters of a line that follow a blank or the end of a row, but for the first.
fn parted(line: &str) -> Vec<usize> {
    let (mut count, mut is_behind_blank, mut indices) = (0, false, Vec::new());
    for byte in line.bytes() {
        if !is_drawn(byte) {
            is_behind_blank |= matches!(byte, b' ' | b'\t' | b'\n');
            continue;
        }
        if std::mem::take(&mut is_behind_blank) && count > 0 {
            indices.push(count);
        }
        count += 1;
    }
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a stream without the echo of a line.
    fn left(line: &str, stream: &[u8], size: usize) -> String {
        let mut typed = TypedLine::new(line, 7);
        for piece in stream.chunks(size) {
            assert!(typed.take(piece));
        }
        let mut left = Vec::new();
        let mut begin = 0;
        for (from, to) in typed.echo(7 + stream.len() as u64, false) {
            let [from, to] = [from, to].map(|at| usize::try_from(at - 7).unwrap());
            left.extend_from_slice(&stream[begin..from]);
            begin = to;
        }
        left.extend_from_slice(&stream[begin..]);
        String::from_utf8(left).unwrap()
    }

    #[test]
    fn only_the_echo_is_cut_out_of_what_is_printed_meanwhile() {
        let wide = format!("echo {}", "x".repeat(100));
        let rows = format!("B1\r\necho {} \r{}\r\nB2", "x".repeat(60), "x".repeat(40));
        // A row that is full.
        let again = format!(" \r\x1b[A{}\x1b[K", "\x1b[C".repeat(4));
        let full = format!("B1\r\ntrue{again}e\r\n");
        let same = format!("xxxx{again}x\r\n");
        let blank = format!("true {again} \r\n");
        let octal = format!("B1\r\necho {} \r\\303\\251{}\r\nB2", "x".repeat(60), "x".repeat(40));
        let long = format!("echo {}é{}", "x".repeat(60), "x".repeat(40));
        let torn = format!("B1\r\necho {}x\r\x1b[K^M{}\r\nB2", "x".repeat(60), "x".repeat(39));
        for (line, stream, expected) in [
            ("true", "true\r\n", ""),
            ("true", "B1\r\nB2\r\ntrue\r\nB3\r\n", "B1\r\nB2\r\nB3\r\n"),
            ("true", "no end trueB3\r\n", "no end B3\r\n"),
            ("  true", "\x1b[C   true\r\n", "\x1b[C "),
            ("for i in 1\ndo\n\techo $i\ndone", "for i in 1\r\n\rdo\r\n\r    echo $i\r\n\rdone\r\nB", "B"),
            ("echo é全", "\x1b[Kecho \x1b[1mé全\x1b[0m\r\n", "\x1b[K"),
            ("true\n\n  true", "B1\r\ntrue\r\nB2\r\n\r  true\r\nB3", "B1\r\nB2\r\nB3"),
            ("true", "\x1b]133;A;true\x07# true\r\n", "\x1b]133;A;true\x07# "),
            // Drawn twice, one over the other.
            ("a b", "a b\ra b\r\n", ""),
            // Not there: a shell whose editor draws nowhere to be seen.
            ("true", "B1\r\nB2", "B1\r\nB2"),
            (" ", "B1", "B1"),
            ("true", "t B1 r u e", "t B1 r u e"),
            (&wide, &rows, "B1\r\nB2"),
            (&wide, &torn, "B1\r\nB2"),
            ("echo é全", "echo \\303\\251\\345\\205\\250\r\né全\r\n", "é全\r\n"),
            (&long, &octal, "B1\r\nB2"),
            ("true", &full, "B1\r\n"),
            ("xxxx", &same, ""),
            ("true ", &blank, ""),
            // One whose line has more rows than the screen; on other terminals.
            ("echo hi", "B1\r\necho hi \r\x1b[C\x1b[C\x1b[Ki\r\n", "B1\r\n"),
            ("echo hi", "echo hi \r\x1bM\x1b[C\x1b[Ki\r\n", ""),
            ("echo hi", "echo hi \r\x1b[A\x1b[C\0\0\x1b[K\0\0i\r\n", ""),
            // In the locale `C`: rows that go on below, one that is full, and one that is full behind the prompt.
            ("_=abcdefgh", "B1\r\n_=ab\rbcdef\rfgh\r\nB2", "B1\r\nB2"),
            ("xxxx", "xx\rxxx\r\n", ""),
            ("_=abcdef echo hi", "_=abcdef\rf echo hi \r\x1b[Af echo h\x1b[Ki\r\n", ""),
            ("_=a", "B1\r\n_=a \r\x1b[A\x1b]133;D;0;1;w\x07# \x1b]133;B;w\x07_=\x1b[Ka\r\n", "B1\r\n"),
            ("_=é", "_=\\3\r3\r\n\r03\\251\r1\r\r\n", ""),
            // Its end alone, as on a terminal that cannot move its cursor up.
            ("echo hi", "B1\r\n\r< hi    \r\r< hi\r\n", "B1\r\n"),
            ("echo hi", "\r<ho hi    \x08\x08\x08\x08\r\n", ""),
            ("echo hi", "echo hi\r\n<\r\n< hi\r\n", "<\r\n< hi\r\n"),
            // A row of the line is none of another text.
            ("echo hi", "ec\rho you\r\n", "ec\rho you\r\n"),
            ("echo hi", "echo hi\rhi you\r\n", "\rhi you\r\n"),
        ] {
            for size in [1, 3, 1_000] {
                assert_eq!(left(line, stream.as_bytes(), size), expected, "{line:?} {stream:?}");
            }
        }
    }

    /// A shell that is interrupted has given its line editor up for a moment.
    #[test]
    fn what_the_terminal_itself_echoes_of_the_keys_is_cut_out_too() {
        let keys = "\x11\x07\x1b[200~true\x1b[201~\x1ea";
        let echo = "^G^[[200~true^[[201~^^a";
        for (stream, expected) in [
            (format!("^C\r\n{echo}# true\r\nB"), "^C\r\n# B"),
            (format!("^C\r\n{echo}"), "^C\r\n"),
            (format!("{echo}B{echo}"), "B"),
            ("^C^G^[[20\r\n0~true^[[201~^^a# true\r\nB".to_owned(), "^C# B"),
            ("^C\r\n# true\r\nB".to_owned(), "^C\r\n# B"),
            ("^C\r\n".to_owned(), "^C\r\n"),
        ] {
            let mut typed = TypedLine::new("true", 0).by_keys(keys);
            typed.take(stream.as_bytes());
            let mut left = stream.clone();
            for (from, to) in typed.echo(stream.len() as u64, false).into_iter().rev() {
                left.replace_range(usize::try_from(from).unwrap()..usize::try_from(to).unwrap(), "");
            }
            assert_eq!(left, expected, "{stream:?}");
        }
    }

    /// A command of which another program had a part was told as one that had run.
    #[test]
    fn a_line_that_is_drawn_in_part_is_one_that_the_shell_had_a_part_of() {
        let part = |text: &str| Taken::Part(text.to_owned());
        let long = format!("echo {}", "x".repeat(100));
        for (line, stream, expected) in [
            ("echo one two", "echo one two\r\n", Taken::Whole),
            // Where a row goes on below in the locale `C`, and where the last one is full.
            ("echo one two", "echo on t\rtwo\r\n", part("echo on t\ntwo")),
            ("echo one two", "echo on \r\x1b[Aech\x1b[Ko on\r\n", part("echo on \necho on")),
            ("echo one two", "\x1b[Kho one two\r\n", part("ho one two")),
            ("echo one two", "echo two\r\n", part("echo two")),
            ("echo one two", "echo one\r\n", part("echo one")),
            // Without a blank alone, or the end of a row.
            ("echo one two", "echoone two\r\n", part("echoone two")),
            ("echo one  two", "echo onetwo\r\n", part("echo onetwo")),
            ("true\n\tls", "truels\r\n", part("truels")),
            ("true\n\tls", "true\r\n\r    ls\r\n", Taken::Whole),
            ("  true\tone ", "true\x1b[Cone\r\n", Taken::Whole),
            ("echo é 全", "echo é 全\r\n", Taken::Whole),
            ("echo é 全", "echo é全\r\n", part("echo é全")),
            ("echo one two", "", Taken::Unseen),
            // Between what something else prints.
            ("echo one two", "B1\r\necho one two\r\n", Taken::Among),
            // Without the first key of the paste, without its beginning, and with the last keys of its end alone.
            ("echo one two", "[200~echo one two\r\x1b[K", part("[200~echo one two")),
            ("echo one two", "echo one two\x08\x08\x08\x08\x1b[K", Taken::Among),
            ("echo one two", "201~\r\n", part("201~")),
            ("echo one two", "<ne two\r\n", Taken::Among),
            ("echo <one two", "<one two\r\n", Taken::Among),
            // A row that is full.
            ("echo", &format!("echo \r\x1b[A{}\x1b[Ko\r\n", "\x1b[C".repeat(3)), Taken::Whole),
            ("echo", "echo \r\x1b[C\x1b[Ko\r\n", Taken::Whole),
            ("echo", "echo \r\x1b[A\x1b[C\x1b[Ko\r\x1b[K\r\n", Taken::Among),
            ("echo one two", "echo one t\rtwo \r\x1b[Atw\x1b[Ko\r\n", Taken::Whole),
            ("echo one two", "echo one two\r\x1b[C\x1b[K\r\n", Taken::Among),
            ("echo one two", "echo one two\r\r\x1b]133;D;0;1;w\x07# \x1b]133;B;w\x07   \r\r\n", Taken::Among),
            ("echo one two", "\r<n two  \x08\x08\r\n", part("<n two")),
            ("echo one two", "\r<na two\r\n", Taken::Unseen),
            ("echo one two", "ecB1\r\nho one two\r\n", Taken::Unseen),
            ("", "B1", Taken::Whole),
            ("# one", "B1", Taken::Whole),
            (&long, &long[3..], part(&long[3..])),
        ] {
            let mut typed = TypedLine::new(line, 7);
            typed.take(stream.as_bytes());
            let end = 7 + stream.len() as u64;
            assert_eq!(typed.drawn(end, &typed.echo(end, false)), expected, "{line:?} {stream:?}");
        }
    }

    #[test]
    fn what_is_too_much_for_an_echo_ends_it() {
        let mut typed = TypedLine::new("true", 0);
        assert!(typed.take(&vec![b'x'; BYTES]));
        assert!(!typed.take(&[b'x'; 1_000]) && typed.bytes.len() == typed.most);
        assert!(!typed.is_late());
    }
}
