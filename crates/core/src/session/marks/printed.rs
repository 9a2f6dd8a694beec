//! What commands printed, told from prompts and echoes by the marks.

use super::{Kind, Mark, Marks};

impl Marks {
    /// The parts of the stream that are the echo of what was typed there, once they are known.
    fn echo_of(&self, typed: &Mark) -> Option<&[(u64, u64)]> {
        let index = self.echoes.binary_search_by_key(&typed.from, |(from, _)| *from).ok()?;
        self.echoes.get(index).map(|(_, echo)| echo.as_slice())
    }

    /// The parts of the stream between `from` and `to` that commands printed: without prompts, and without the echo of
    /// what was typed at them, and without what was drawn on a screen that is gone, or shown as one.
    pub fn printed(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        // Thousands of marks lie before what is asked for: the last of them says whether a part was open there.
        let first = self.found.partition_point(|mark| mark.to <= from);
        let before = self.found.range(..first).rev().find(|mark| mark.kind != Kind::Redrawn);
        let is_open = before.is_none_or(|mark| match mark.kind {
            Kind::Begin | Kind::Prompt | Kind::Accepted => true,
            Kind::Typed => self.echo_of(mark).is_some(),
            Kind::End(_) | Kind::Continuation | Kind::Redrawn => false,
        });
        let mut start = is_open.then_some(from);
        let echoes = self.echoes.iter().flat_map(|(_, echo)| echo);
        let mut holes: Vec<_> = echoes.filter(|(_, end)| *end > from).copied().collect();
        holes.extend(self.alternate.parts(from).take_while(|(begin, _)| *begin < to));
        for mark in self.found.range(first..) {
            if mark.from > to {
                break;
            }
            match mark.kind {
                // A part that began before ends here: a prompt follows, or an echo.
                Kind::End(_) => parts.extend(start.take().map(|begin| (begin, mark.from))),
                Kind::Typed => {
                    if self.echo_of(mark).is_some() {
                        start = start.or(Some(mark.from));
                    } else {
                        parts.extend(start.take().map(|begin| (begin, mark.from)));
                    }
                }
                Kind::Redrawn => holes.push((mark.from, mark.to)),
                // Of several commands in one line each begins, and only the last one ends.
                Kind::Begin => {
                    parts.extend(start.take().map(|begin| (begin, mark.from)));
                    start = Some(mark.to);
                }
                // What is printed at a prompt before anything is typed is of commands in the background.
                Kind::Prompt => start = start.or(Some(mark.to)),
                Kind::Continuation => start = None,
                Kind::Accepted => {
                    parts.extend(start.map(|begin| (begin, mark.from)));
                    start = Some(mark.to);
                }
            }
        }
        parts.extend(start.map(|begin| (begin, to)));
        without(parts, holes)
            .iter()
            .map(|(begin, end)| ((*begin).max(from).max(self.begin), (*end).min(to)))
            .filter(|(begin, end)| begin < end)
            .collect()
    }
}

/// The parts, in order, without the holes.
fn without(parts: Vec<(u64, u64)>, mut holes: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    if holes.is_empty() {
        return parts;
    }
    holes.sort_unstable();
    let mut left = Vec::new();
    let mut next = 0;
    for (mut begin, end) in parts {
        while holes.get(next).is_some_and(|(_, to)| *to <= begin) {
            next += 1;
        }
        for (from, to) in holes[next..].iter().take_while(|(from, _)| *from < end) {
            left.push((begin, *from));
            begin = begin.max(*to);
        }
        left.push((begin, end));
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_of_commands_are_told_from_prompts_and_echoes() {
        let mut marks = Marks::new("w".into());
        let mut all = Vec::new();
        let mut take = |marks: &mut Marks, bytes: &[u8]| {
            marks.take(bytes, &|| true);
            all.extend_from_slice(bytes);
        };
        take(&mut marks, b"\x1b[?2004h\x1b]133;D;0;1;w\x07prompt\x1b]133;B;w\x07");
        take(&mut marks, b"back\x1b]133;D;0;1;w\x07prompt\x1b]133;B;w\x07ground");
        marks.typed("echo a");
        take(
            &mut marks,
            b" 1\r\necho a\x1b]133;D;0;1;w\x07prompt\x1b]133;B;w\x07echo a\r\n2\r\n\x1b[?2004l\r\x1b]133;C;w\x07a\x1b[?1049hdrawn\x1b[?1049l\r\n\x1b[?47hleft",
        );
        take(&mut marks, b"\x1b]133;D;0;2;w\x07prompt\x1b]133;B;w\x07");
        marks.typed("fi");
        // A line that is no command begins nothing.
        take(&mut marks, b"fi\r\n\x1b[?2004l\rsyntax error\x1b]133;D;2;3;w\x07prompt\x1b]133;B;w\x07");
        let printed: Vec<u8> = marks
            .printed(0, all.len() as u64)
            .iter()
            .flat_map(|(from, to)| all[*from as usize..*to as usize].to_vec())
            .collect();
        assert_eq!(String::from_utf8(printed).unwrap(), "background 1\r\n2\r\n\ra\r\n\x1b[?47hleft\rsyntax error");
        // What is asked of a piece is that piece of the whole, wherever it is cut.
        let (end, whole) = (all.len() as u64, marks.printed(0, all.len() as u64));
        let bytes = |parts: &[(u64, u64)]| -> Vec<u64> { parts.iter().flat_map(|(from, to)| *from..*to).collect() };
        for (from, to) in (0..=end).flat_map(|from| (from..=end).map(move |to| (from, to))) {
            let cut: Vec<_> = bytes(&whole).into_iter().filter(|at| (from..to).contains(at)).collect();
            assert_eq!(bytes(&marks.printed(from, to)), cut, "{from}..{to}");
        }
    }

    /// What was read before was taken for a part of what a program in the background printed at the prompt.
    #[test]
    fn what_is_thrown_away_at_a_prompt_stands_first_there() {
        let at_prompt = |behind: &[u8]| {
            let mut marks = Marks::new("w".into());
            marks.take(b"\x1b]133;D;0;1;w\x07# \x1b]133;B;w\x07", &|| true);
            let prompt = marks.position();
            marks.take(behind, &|| true);
            (marks, prompt)
        };
        for (lines, behind, expected) in [
            ("y", &b"y\r\x1b[C\x1b[C\x1b[K"[..], true),
            ("a b\nc", b"a b\r\x1b[C\x1b[C\x1b[Kc\r\x1b[C\x1b[C\x1b[K", true),
            ("y", b"ready\r\n", false),
            ("y", b"", false),
            ("a\nb", b"b\r\x1b[K", false),
        ] {
            let (mut marks, prompt) = at_prompt(behind);
            assert_eq!(marks.thrown_away(lines, prompt, behind), expected, "{lines:?}");
            let left = marks.printed(prompt, prompt + behind.len() as u64);
            let left: Vec<u8> = left
                .iter()
                .flat_map(|(from, to)| behind[(from - prompt) as usize..(to - prompt) as usize].to_vec())
                .collect();
            let left = crate::text::ansi::strip(&String::from_utf8(left).unwrap());
            assert_eq!(left.trim().is_empty(), expected || behind.is_empty(), "{lines:?}: {left:?}");
        }
        // A line that was typed there since is another one's.
        let (mut marks, prompt) = at_prompt(b"y\r\x1b[K");
        marks.typed("true");
        assert!(!marks.thrown_away("y", prompt, b"y\r\x1b[K"));
    }
}
