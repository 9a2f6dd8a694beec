//! What an exit code means, for programs whose codes are well known: `grep` that found nothing did not fail.
//!
//! Only where it is certain which program the code is of: the last one of the command line, when nothing before it can
//! end the line (`&&`, `||`, `set -e`). In doubt there is no meaning.

/// What `code` means as the end of `command`, if that is known.
pub fn meaning(command: &str, code: i32) -> Option<&'static str> {
    match code {
        0 => return None,
        126 => return Some("the program could not be run (not executable, or not permitted)"),
        127 => return Some("a program was not found"),
        129 => return Some("as after SIGHUP"),
        130 => return Some("as after SIGINT (Ctrl-C)"),
        134 => return Some("as after SIGABRT: a failed assertion, or a crash"),
        136 => return Some("as after SIGFPE: an arithmetic error"),
        137 => return Some("as after SIGKILL, for example when memory ran out"),
        139 => return Some("as after SIGSEGV: a crash"),
        141 => return Some("as after SIGPIPE: nobody read its output any more"),
        143 => return Some("as after SIGTERM"),
        152 => return Some("as after SIGXCPU: more processor time than it may use"),
        153 => return Some("as after SIGXFSZ: a larger file than it may write"),
        _ => {}
    }
    let words = last_program(command)?;
    let mut words = words.iter().map(String::as_str);
    let program = words.next()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    match (program, words.next(), code) {
        ("grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack", _, 1) | ("git", Some("grep"), 1) => {
            Some("no line matched")
        }
        ("diff" | "cmp" | "colordiff" | "zdiff", _, 1) | ("git", Some("diff"), 1) => Some("the inputs differ"),
        ("test" | "[" | "[[", _, 1) => Some("the condition is false"),
        ("expr", _, 1) => Some("the result is empty or zero"),
        ("pgrep" | "pkill" | "pidof", _, 1) => Some("no process matched"),
        ("which" | "type" | "command" | "hash", _, 1) => Some("no such command"),
        ("find", _, 1) => Some("some of the files could not be looked at"),
        ("timeout", _, 124) => Some("the time limit of `timeout` was reached"),
        ("curl", _, 6) => Some("the host name could not be resolved"),
        ("curl", _, 7) => Some("the server could not be reached"),
        ("curl", _, 22) => Some("the server answered with an error"),
        ("curl", _, 28) => Some("it took too long"),
        ("rsync", _, 23 | 24) => Some("some files were not transferred"),
        ("xargs", _, 123) => Some("one of the programs it ran failed"),
        _ => None,
    }
}

/// What stopped a command of a terminal session whose shell told this code: it has not ended. A program may end with such a code itself.
pub fn stop(code: i32) -> Option<&'static str> {
    match code {
        145 if cfg!(target_os = "macos") => Some("SIGSTOP"),
        146 if cfg!(target_os = "macos") => Some("Ctrl-Z, SIGTSTP"),
        147 => Some("SIGSTOP"),
        148 => Some("Ctrl-Z, SIGTSTP"),
        149 => Some("SIGTTIN: it read the terminal in the background"),
        150 => Some("SIGTTOU: it wrote to the terminal in the background"),
        _ => None,
    }
}

/// What it means that a signal ended a command, in brackets, where the signal stands for a ceiling.
pub fn meaning_of_signal(signal: &str) -> &'static str {
    if signal == "SIGXFSZ" { " (a larger file than it may write)" } else { "" }
}

/// The words of the program that the shell's own exit code comes from.
fn last_program(command: &str) -> Option<Vec<String>> {
    let mut program: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut is_word = false;
    let mut quote = None;
    let mut characters = command.trim_end().chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('"'), '\\') | (None, '\\') => {
                is_word = true;
                word.push(characters.next()?);
            }
            // What stands in a substitution is not looked into, and what it becomes is not known.
            (Some('"') | None, '`') | (None, '(' | ')' | '{' | '}' | '#') => return None,
            (Some('"') | None, '$') if characters.peek() == Some(&'(') => return None,
            (Some(_), _) => word.push(character),
            (None, '\'' | '"') => {
                is_word = true;
                quote = Some(character);
            }
            (None, ' ' | '\t') => {
                if std::mem::take(&mut is_word) {
                    program.push(std::mem::take(&mut word));
                }
            }
            (None, '\n' | ';' | '|' | '&') => {
                if std::mem::take(&mut is_word) {
                    program.push(std::mem::take(&mut word));
                }
                let redirects = character == '&' && characters.peek() == Some(&'>');
                if character == '&' && !redirects || characters.peek() == Some(&character) && character == '|' {
                    return None;
                }
                if program.first().is_some_and(|first| is_control(first)) {
                    return None;
                }
                program.clear();
            }
            // The target of a redirection is no argument; the name of the program stands before in all but odd cases.
            (None, '<' | '>') => {
                if characters.peek() == Some(&'<') {
                    return None;
                }
                if characters.peek() == Some(&'&') {
                    characters.next();
                }
                is_word = true;
                word.push(character);
            }
            (None, _) => {
                is_word = true;
                word.push(character);
            }
        }
    }
    if quote.is_some() {
        return None;
    }
    if is_word {
        program.push(word);
    }
    let assignments = program.iter().take_while(|word| is_assignment(word)).count();
    program.drain(..assignments);
    if program.first().is_some_and(|first| is_control(first)) { None } else { Some(program) }
}

/// Words after which the code may be another's, or another meaning.
fn is_control(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "else"
            | "elif"
            | "fi"
            | "for"
            | "while"
            | "until"
            | "do"
            | "done"
            | "case"
            | "esac"
            | "set"
            | "trap"
            | "exec"
            | "eval"
            | "!"
            | "exit"
            | "return"
            | "function"
    )
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|first: char| first.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_what_is_well_known_and_only_where_it_is_certain() {
        for (command, code, expected) in [
            ("grep -q x file", 1, Some("no line matched")),
            ("cat a | /usr/bin/grep 'x;y'", 1, Some("no line matched")),
            ("LC_ALL=C grep x file 2>&1", 1, Some("no line matched")),
            ("echo a; git grep x", 1, Some("no line matched")),
            ("git diff --exit-code", 1, Some("the inputs differ")),
            ("diff a b\n", 1, Some("the inputs differ")),
            ("[ -f x ]", 1, Some("the condition is false")),
            ("timeout 1 sleep 2", 124, Some("the time limit of `timeout` was reached")),
            ("nosuch", 127, Some("a program was not found")),
            ("node x.js", 137, Some("as after SIGKILL, for example when memory ran out")),
            ("grep x file", 2, None),
            ("grep x file", 0, None),
            ("npm test", 1, None),
            ("false && grep x file", 1, None),
            ("grep x file || false", 1, None),
            ("set -e; false; grep x file", 1, None),
            ("if false; then true; else exit 1; fi", 1, None),
            ("! grep x file", 1, None),
            ("(cd x; grep y)", 1, None),
            ("grep x $(false)", 1, None),
            ("grep 'x", 1, None),
            ("exec grep x", 1, None),
            ("echo grep", 1, None),
        ] {
            assert_eq!(meaning(command, code), expected, "{command} {code}");
        }
    }
}
