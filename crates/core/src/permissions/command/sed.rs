//! Programs of `sed`, which can run commands and open files: only what is plainly harmless counts as that.
//!
//! The editor's own commands `e`, `w`, `r` and the flags `e` and `w` of `s` hide behind addresses, braces and options, so
//! that looking for them finds some; here every command of a program must be one that is known to do none of it.

use super::argument::{ANY_CHARACTER, ANY_NAME, ANYTHING, Argument};

/// Whether a call of `sed` can run commands or open files that its operands do not name.
pub(super) fn may_run(words: &[Argument]) -> bool {
    let Some(words) = words.iter().map(known).collect::<Option<Vec<&str>>>() else { return true };
    let Some(given) = programs(&words) else { return true };
    // The text of `a` in one goes on in the next.
    let joined = given.join("\n");
    let is_unread =
        |program: &str| [Labels::Short, Labels::Long].into_iter().any(|labels| Program(program).read(labels).is_none());
    given
        .into_iter()
        .chain([joined.as_str()])
        .any(|program| program.contains([ANY_NAME, ANY_CHARACTER, ANYTHING]) || is_unread(program))
}

/// A word that is known, or names that begin so that none of them is an option (`src/*.ts`, `"src/$x"`).
fn known(word: &Argument) -> Option<&str> {
    let is_names = || word.is_one() && !word.marked().starts_with(['-', ANY_NAME, ANY_CHARACTER, ANYTHING]);
    word.exact().or_else(|| is_names().then(|| word.marked()))
}

/// Whether a file is the command's own input, whose text nobody sees, or may be.
fn is_input(file: &str) -> bool {
    file.contains(ANYTHING) || super::shells::is_input(&Argument::known(file))
}

/// The program texts among the words; `None` where an option is not known. A program in a file is a script like any other,
/// whose name is what there is to judge.
fn programs<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    const LONG: [&str; 14] = [
        "in-place",
        "quiet",
        "silent",
        "regexp-extended",
        "separate",
        "unbuffered",
        "null-data",
        "zero-terminated",
        "posix",
        "debug",
        "sandbox",
        "follow-symlinks",
        "help",
        "version",
    ];
    let mut programs = Vec::new();
    let mut operands = Vec::new();
    let mut has_file = false;
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        if word == "--" {
            operands.extend(words.by_ref());
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            match name {
                "expression" => programs.push(value.or_else(|| words.next())?),
                "file" => {
                    has_file = true;
                    value.or_else(|| words.next()).filter(|file| !is_input(file))?;
                }
                "line-length" => {
                    value.or_else(|| words.next())?;
                }
                known if LONG.contains(&known) => {}
                _ => return None,
            }
        } else if word.starts_with('-') && word.len() > 1 {
            for (position, letter) in word.char_indices().skip(1) {
                let rest = Some(&word[position + letter.len_utf8()..]).filter(|rest| !rest.is_empty());
                match letter {
                    'n' | 'r' | 'E' | 's' | 'u' | 'z' => continue,
                    'i' => {}
                    'e' => programs.push(rest.or_else(|| words.next())?),
                    'f' => {
                        has_file = true;
                        rest.or_else(|| words.next()).filter(|file| !is_input(file))?;
                    }
                    'l' => {
                        rest.or_else(|| words.next())?;
                    }
                    _ => return None,
                }
                break;
            }
        } else {
            operands.push(word);
        }
    }
    if programs.is_empty() && !has_file {
        programs.extend(operands.first());
    }
    Some(programs)
}

/// Where a label ends: implementations differ.
#[derive(Debug, Clone, Copy)]
enum Labels {
    /// At a blank, or a brace behind a jump.
    Short,
    /// At the end of the command.
    Long,
}

/// The rest of a program.
struct Program<'a>(&'a str);

impl Program<'_> {
    /// `Some` where every command is one that neither runs nor opens anything.
    fn read(mut self, labels: Labels) -> Option<()> {
        loop {
            self.skip(|character| character.is_ascii_whitespace() || character == ';');
            if self.0.is_empty() {
                return Some(());
            }
            if self.0.starts_with('#') {
                self.skip(|character| character != '\n');
                continue;
            }
            self.addresses()?;
            let command = self.next()?;
            match command {
                '{' | '}' => {}
                '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => self.end()?,
                'l' | 'q' | 'Q' => {
                    self.skip(|character| character == ' ' || character.is_ascii_digit());
                    self.end()?;
                }
                'a' | 'i' | 'c' => self.text(),
                'b' | 't' | 'T' | ':' => {
                    if matches!(labels, Labels::Short) {
                        self.skip(|character| character == ' ' || character == '\t');
                    }
                    self.skip(|character| match labels {
                        Labels::Short => {
                            !character.is_ascii_whitespace() && character != ';' && (command == ':' || character != '}')
                        }
                        Labels::Long => character != '\n' && character != ';',
                    });
                }
                's' => {
                    let divider = self.next().filter(char::is_ascii_punctuation)?;
                    self.until(divider)?;
                    self.until(divider)?;
                    self.skip(|character| matches!(character, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9'));
                    self.end()?;
                }
                'y' => {
                    let divider = self.next().filter(char::is_ascii_punctuation)?;
                    self.until(divider)?;
                    self.until(divider)?;
                    self.end()?;
                }
                _ => return None,
            }
        }
    }

    /// Up to two addresses and a `!`.
    fn addresses(&mut self) -> Option<()> {
        self.address()?;
        self.skip(|character| character == ' ');
        if let Some(rest) = self.0.strip_prefix(',') {
            self.0 = rest;
            self.skip(|character| matches!(character, ' ' | '+' | '~'));
            self.address()?;
        }
        self.skip(|character| matches!(character, ' ' | '!'));
        Some(())
    }

    fn address(&mut self) -> Option<()> {
        match self.0.chars().next()? {
            '0'..='9' | '$' => self.skip(|character| matches!(character, '0'..='9' | '$' | '~')),
            '/' => {
                self.next();
                self.until('/')?;
                self.skip(|character| matches!(character, 'I' | 'M'));
            }
            '\\' => {
                self.next();
                let divider = self.next().filter(char::is_ascii_punctuation)?;
                self.until(divider)?;
                self.skip(|character| matches!(character, 'I' | 'M'));
            }
            _ => {}
        }
        Some(())
    }

    /// Past the next divider that no backslash hides. Brackets hide none here: where `sed` reads on, what follows is no
    /// command that is known.
    fn until(&mut self, divider: char) -> Option<()> {
        let mut escaped = false;
        let mut bracketed = false;
        for (position, character) in self.0.char_indices() {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '[' if divider != '[' => bracketed = true,
                ']' => bracketed = false,
                _ if character == divider => {
                    // Implementations differ about a divider in brackets.
                    if bracketed {
                        return None;
                    }
                    self.0 = &self.0[position + character.len_utf8()..];
                    return Some(());
                }
                _ => {}
            }
        }
        None
    }

    /// The text of `a`, `i`, `c`: to the end of a line that no backslash continues.
    fn text(&mut self) {
        let mut escaped = false;
        let end = self.0.find(|character: char| {
            let ends = character == '\n' && !escaped;
            escaped = character == '\\' && !escaped;
            ends
        });
        self.0 = end.map_or("", |end| &self.0[end..]);
    }

    /// What may follow a command.
    fn end(&mut self) -> Option<()> {
        self.skip(|character| character == ' ');
        let ends = self.0.is_empty() || self.0.starts_with([';', '\n', '}', '#']);
        ends.then_some(())
    }

    fn next(&mut self) -> Option<char> {
        let character = self.0.chars().next()?;
        self.0 = &self.0[character.len_utf8()..];
        Some(character)
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        self.0 = self.0.trim_start_matches(skipped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(words: &[&str]) -> bool {
        may_run(&words.iter().map(|word| Argument::known(*word)).collect::<Vec<_>>())
    }

    #[test]
    fn harmless_programs_are_told() {
        for words in [
            &["-n", "1,20p", "x"][..],
            &["s/a/b/g", "x"],
            &["-e", "s|/usr|/opt|", "x"],
            &["-i.bak", "-E", "s/(a|b)/\\1/gI; $!d", "e.txt"],
            &["-n", "/start/,/end/{=;p}", "x"],
            &["/a/d\n\\,b,d", "x"],
            &["1i\\\nexec me\n2d", "w"],
            &["-n", "-e", "1p", "-e", "$p", "--", "e"],
            &["--expression=y/abc/xyz/", "--in-place"],
            &["s/\\/e/x/", "f"],
            &["-f", "script.sed", "f"],
            &["$!N;P;D", "f"],
            &["# e rm\np", "f"],
            &["1~2d;0,/x/d;2,+3d", "f"],
        ] {
            assert!(!runs(words), "{words:?}");
        }
    }

    #[test]
    fn whatever_runs_or_opens_something_is_told_however_it_hides() {
        for words in [
            &["1e rm x", "f"][..],
            &["e", "f"],
            &["/x/e rm x", "f"],
            &["\\,x,e rm x", "f"],
            &["$!e rm x", "f"],
            &["1~2e rm x", "f"],
            &["/x/I,+3 ! e rm", "f"],
            &["{e rm x\n}", "f"],
            &["/a/{p;e rm x\n}", "f"],
            &["s/a/b/e", "f"],
            &["s/a/b/ge", "f"],
            &["{s/a/b/e}", "f"],
            &["s,a,b,w out", "f"],
            &["w out", "f"],
            &["r .env", "f"],
            &["R .env", "f"],
            &["-n", "-e1e rm x", "f"],
            &["-ne", "1e rm x", "f"],
            &["p", "-e", "e rm", "f"],
            &["f", "--expression=1e rm"],
            &["--expr=1e rm", "f"],
            &["p;e rm x", "f"],
            &["p\ne rm x", "f"],
            &["s/[/]/x/;e", "f"],
            &["a\\\ntext\ne rm", "f"],
            &["s/a/b", "f"],
        ] {
            assert!(runs(words), "{words:?}");
        }
    }
}
