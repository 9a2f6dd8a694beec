//! A command as a person is shown it before they say yes (R-AP-3), and what may be remembered of that yes.

use super::super::Action;
use super::CommandAnalysis;
use crate::error::is_deceptive;

/// 8,000 characters: four screens. What is longer nobody reads, and the text says so.
const CHARACTERS: usize = 8_000;
/// 16 blanks in a row, or 3 empty lines: more are counted instead of shown, so that nothing is pushed out of sight.
const BLANKS: usize = 16;
const EMPTY_LINES: usize = 3;

/// A command for a person's eyes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalText {
    /// Line by line as it was written; control, invisible and direction-changing characters escaped, long runs of blanks
    /// and empty lines counted.
    pub text: String,
    /// Whether part of the command is left out; the text then says how much, where it is left out.
    pub shortened: bool,
}

/// Shows a command whole, so that no character of it can hide, move or colour another.
pub fn approval_text(command: &str) -> ApprovalText {
    let mut text = String::with_capacity(command.len());
    let mut empty = 0;
    for line in command.trim_end_matches('\n').split('\n') {
        if line.trim_matches([' ', '\t']).is_empty() {
            empty += 1;
            continue;
        }
        end_empty(&mut text, &mut empty);
        push_line(&mut text, line);
        text.push('\n');
    }
    end_empty(&mut text, &mut empty);
    text.truncate(text.trim_end_matches('\n').len());

    let count = text.chars().count();
    if count <= CHARACTERS {
        return ApprovalText { text, shortened: false };
    }
    let half = CHARACTERS / 2;
    let border = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(position, _)| position);
    let shown = format!(
        "{}\n[... {} characters of the command are not shown here ...]\n{}",
        &text[..border(half)],
        count - 2 * half,
        &text[border(count - half)..]
    );
    ApprovalText { text: shown, shortened: true }
}

fn end_empty(text: &mut String, empty: &mut usize) {
    if *empty > EMPTY_LINES {
        text.push_str(&format!("[{empty} empty lines]\n"));
    } else {
        text.extend(std::iter::repeat_n('\n', *empty));
    }
    *empty = 0;
}

fn push_line(text: &mut String, line: &str) {
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let blanks = rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if blanks > BLANKS {
            text.push_str(&format!("[{blanks} blanks]"));
            rest = &rest[blanks..];
            continue;
        }
        // A blank that is not a space can look like one, or like nothing.
        if is_deceptive(character) || (character.is_whitespace() && character != ' ') {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
        rest = &rest[character.len_utf8()..];
    }
}

impl CommandAnalysis {
    /// The words of a command line that is one plain command, all of it known, nothing redirected: what "always allow" may
    /// remember, as a beginning of words and never as a pattern over the text. `None` for everything else.
    pub fn plain_argv(&self) -> Option<Vec<&str>> {
        let [command] = self.commands.as_slice() else { return None };
        let plain = self.parsed
            && self.unresolved.is_empty()
            && self.verdict.action != Action::Deny
            && !self.redirected
            && !command.wrapper;
        if plain { command.argv.iter().map(Option::as_deref).collect() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CommandContext, analyze};
    use super::*;

    #[test]
    fn hides_nothing() {
        for (command, expected) in [
            ("ls -la", "ls -la"),
            ("a\nb\n\nc\n", "a\nb\n\nc"),
            ("a\u{1b}[2Jb\r\0", r"a\u{1b}[2Jb\r\u{0}"),
            ("a\u{202E}b\u{200B}\u{A0}\tc", r"a\u{202e}b\u{200b}\u{a0}\tc"),
            ("é 😀 'x'", "é 😀 'x'"),
        ] {
            assert_eq!(approval_text(command), ApprovalText { text: expected.into(), shortened: false });
        }
        let padded = format!("ls{}; rm x{}rm y", " ".repeat(500), "\n".repeat(100));
        assert_eq!(approval_text(&padded).text, "ls[500 blanks]; rm x\n[99 empty lines]\nrm y");
    }

    #[test]
    fn says_how_much_is_left_out() {
        let shown = approval_text(&format!("first{}last", "é".repeat(10_000)));
        assert!(shown.shortened);
        assert!(shown.text.starts_with("firsté") && shown.text.ends_with("élast"));
        assert!(shown.text.contains("\n[... 2009 characters of the command are not shown here ...]\n"));
    }

    #[test]
    fn remembers_only_a_plain_command() {
        let argv = |command: &str| {
            let analysis = analyze(command, &CommandContext::default());
            analysis.plain_argv().map(|words| words.join("|"))
        };
        assert_eq!(argv("git  commit -m 'a b'"), Some("git|commit|-m|a b".to_owned()));
        for command in
            ["a; b", "a $X", "a *", "a > f", "a < f", "nohup a", "X=1 PATH=y a", "sudo a", "a 'x", "", "$(a)"]
        {
            assert_eq!(argv(command), None, "{command}");
        }
    }
}
