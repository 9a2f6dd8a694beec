//! The command parser against the shells that will run what it judged (R-CMD-4): every command that a real shell runs
//! is one that the analysis has found.
//!
//! A shell that knows no programs but a few that log their words, and some that start others, runs made-up scripts; what
//! is logged must be among the commands of the analysis, word for word, or the analysis must have said that it did not
//! understand.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use gloveport_core::permissions::{Action, CommandContext, analyze};
use proptest::prelude::*;
use proptest::sample::select;

/// Pieces of scripts. `m1` … `m4` are commands that leave a trace; nothing else does anything.
const PIECES: &[&str] = &[
    "m1",
    "m2",
    "m3",
    "m4",
    " ",
    " ",
    " ",
    "\n",
    "\n",
    ";",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "(",
    ")",
    "{ ",
    "; }",
    "<",
    ">",
    "<<E",
    "<<'E'",
    "<<-E",
    "\nE\n",
    "'",
    "'",
    "\"",
    "\"",
    "`",
    "`",
    "$(",
    ")",
    "${x:-",
    "}",
    "$((",
    "))",
    "\\",
    "\\\n",
    "#",
    " # ",
    "if ",
    "; then ",
    "; else ",
    "; fi",
    "for i in ",
    "; do ",
    "; done",
    "while ",
    "case x in ",
    "x) ",
    ";;",
    " esac",
    "! ",
    "f() ",
    "x=",
    "$x",
    "$'",
    "\\'",
    "$\"",
    "<(",
    ">(",
    "2>",
    "&>",
    "[[ ",
    " ]]",
    "echo ",
    "eval ",
    "sh -c ",
    "time ",
    "*",
    "~",
    "1",
    "a",
    "=",
    "-",
    "in ",
    "do ",
    "function g ",
    "<<<",
    "|&",
    ";&",
    "\t",
];

/// Real programs that start others, where this machine has them.
const WRAPPERS: &[&str] =
    &["sh", "bash", "env", "nice", "nohup", "timeout", "xargs", "find", "stdbuf", "setsid", "true"];

/// A directory with the marks `m1` … `m4` and the wrappers; nothing else is found by a script. Each run of a mark leaves a
/// file with its words, so that runs at once do not mix.
fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = PROGRAMS.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        for mark in 1..=4 {
            let program = directory.path().join(format!("m{mark}"));
            let text = format!(
                "#!/bin/sh\ntext=m{mark}\nfor word; do text=\"$text\u{1}$word\"; done\nprintf '%s\\002' \"$text\" >> \"$MARKS/$$\"\n"
            );
            std::fs::write(&program, text).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in WRAPPERS {
            let found = ["/usr/bin", "/bin"].iter().map(|place| Path::new(place).join(name)).find(|path| path.exists());
            if let Some(program) = found {
                symlink(program, directory.path().join(name)).unwrap();
            }
        }
        directory
    });
    made.path()
}

/// The words of each mark that `shell` runs of `script`.
fn run(shell: &str, script: &str) -> Vec<Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let marks = directory.path().join("marks");
    let work = directory.path().join("work");
    std::fs::create_dir(&marks).unwrap();
    std::fs::create_dir(&work).unwrap();
    let mut child = Command::new("/usr/bin/timeout")
        .args(["-s", "KILL", "2", shell, "-c", script])
        .env_clear()
        .env("PATH", programs())
        .env("LC_ALL", "C.UTF-8")
        .env("MARKS", &marks)
        .current_dir(&work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let group = rustix::process::Pid::from_child(&child);
    child.wait().unwrap();
    // A script may end before what it started: `cat <(while true; do :; done)` where there is no `cat`.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let mut runs = Vec::new();
    for file in std::fs::read_dir(&marks).unwrap() {
        let text = String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()).into_owned();
        // A run that the time limit cut short has no end mark.
        let whole = text.rsplit_once('\u{2}').map_or("", |(whole, _)| whole);
        for run in whole.split('\u{2}').filter(|run| !run.is_empty()) {
            runs.push(run.split('\u{1}').map(str::to_owned).collect());
        }
    }
    runs.sort();
    runs.dedup();
    runs
}

/// Whether the words that ran are those that were expected; `None` stands for any number of words.
fn fits(expected: &[Option<String>], words: &[String]) -> bool {
    match (expected.split_first(), words.split_first()) {
        (None, _) => words.is_empty(),
        (Some((None, rest)), None) => fits(rest, words),
        (Some((None, rest)), Some((_, other))) => fits(rest, words) || fits(expected, other),
        (Some((Some(one), rest)), Some((word, other))) => one == word && fits(rest, other),
        (Some((Some(_), _)), None) => false,
    }
}

/// Every run of a mark, words and all, is one that an analysis that claims to have understood has found. `exact` wants
/// the very words; without it only the name counts, for wrappers that add words of their own.
fn check(script: &str, exact: bool) -> Result<usize, TestCaseError> {
    let analysis = analyze(script, &CommandContext::default());
    if !analysis.parsed || !analysis.unresolved.is_empty() {
        prop_assert!(analysis.verdict.action != Action::Allow, "{script:?} is allowed");
        return Ok(0);
    }
    let mut compared = 0;
    for shell in ["/bin/sh", "/bin/bash"] {
        if !Path::new(shell).exists() {
            continue;
        }
        // POSIX knows neither; what a plain shell takes for text the analysis takes for what bash makes of it.
        let of_bash = script.contains("$'") || script.contains('{');
        let exact = exact && !(shell == "/bin/sh" && of_bash);
        for words in run(shell, script) {
            compared += 1;
            let found = analysis.commands.iter().any(|command| {
                if exact {
                    fits(&command.argv, &words)
                } else {
                    command.argv.first().is_some_and(|name| name.as_deref() == Some(&words[0]))
                }
            });
            let argv: Vec<_> = analysis.commands.iter().map(|command| &command.argv).collect();
            prop_assert!(found, "{shell} runs {words:?} in {script:?}; found {argv:?}");
        }
    }
    Ok(compared)
}

/// Ways to start `%`, each by a program or a built-in that is not the command itself.
const STARTERS: &[&str] = &[
    "env %",
    "env -i PATH=\"$PATH\" MARKS=\"$MARKS\" %",
    "env A=1 %",
    "env -u A %",
    "nice %",
    "nice -n 3 %",
    "nohup %",
    "timeout 1 %",
    "timeout -s KILL 1 %",
    "timeout --signal=KILL 1s %",
    "xargs %",
    "echo a | xargs %",
    "echo a b | xargs -n 1 %",
    "echo a | xargs -I X % X",
    "find . -exec % {} \\;",
    "find . -exec % {} +",
    "find . -execdir % ';'",
    "command %",
    "exec %",
    "exec -a x %",
    "builtin command %",
    "eval %",
    "eval '%'",
    "sh -c '%'",
    "bash -c \"%\"",
    "sh -ec '%'",
    "bash --norc -c '%'",
    "sh -c '% \"$@\"' x y",
    "time %",
    "time -p %",
    "! %",
    "stdbuf -o0 %",
    "setsid -w %",
    "trap '%' EXIT",
    "echo '%' | sh",
    "sh <<< '%'",
    "sh <<E\n%\nE",
    "sh <<'E'\n%\nE",
    ". /dev/stdin <<E\n%\nE",
    "alias z=%",
    "cd . && %",
    "if %; then true; fi",
    "while ! %; do true; done",
    "true | %",
    "% < /dev/null > /dev/null 2>&1",
    "A=1 B=2 %",
    "f() { % \"$1\"; }; f x",
    "case a in a) % ;; esac",
    "for i in a b; do %; done",
    "{ %; } &\nwait",
    "(%)",
    "coproc %",
    "echo \"$(%)\"",
    "echo `%`",
    "cat <(%)",
    "true && % || %",
    "set -- %; \"$@\"",
    "A='%'; $A",
    "printf '%s' '%' | bash -s",
];

/// Words, each spelled in some way of shells.
const SPELLINGS: &[&str] = &[
    "a",
    "'a b'",
    "\"a b\"",
    "a\\ b",
    "''",
    "\"\"",
    "a''b",
    "a\"b\"'c'",
    "\\a",
    "\\'",
    "\\\"",
    "\"\\\"\"",
    "\"\\$\"",
    "\"\\a\"",
    "'\\'",
    "$'a\\tb'",
    "$'\\x41'",
    "$'\\101'",
    "$'\\u00e9'",
    "$'a\\\\b'",
    "é",
    "a=b",
    "-x",
    "--",
    "#a",
    "a#b",
    "{a,b}",
    "{1..3}",
    "~x",
    "a~",
    "a\\\nb",
    "'a\nb'",
    "\"a\nb\"",
    "!",
    "[a]",
    "a*b",
    "?",
    "$",
    "a$",
    "$x",
    "\"$x\"",
    "${x}",
    "${x:-d}",
    "$((1+1))",
    "$(true)",
    "%",
    "@",
    ":",
    "^",
    "a,b",
    "+",
    "1",
    "=",
    "]",
    "}",
    "{",
    "if",
    "in",
    "\"'\"",
    "'\"'",
    "\"`\"'",
    "$\"a\"",
    "\\\\",
    "\"\\\\\"",
    "\"\\\na\"",
    "2>/dev/null",
    "</dev/null",
    "\u{a0}",
];

/// What may stand around a script.
const AROUND: &[&str] = &[
    "echo %",
    "echo \"%\"",
    "echo '%'",
    "% && m2",
    "( % )",
    "{ %; }",
    "if %; then m2; fi",
    "if m1; then :; elif %; then :; fi",
    "case x in x) %;; esac",
    "case x in (x) %;; esac",
    "case x in y) ;; x) % ;& z) m2;; esac",
    "case x in x) %\nesac",
    "case $(%) in *) m2;; esac",
    "for i in %; do m3; done",
    "for i in 1; do %; done",
    "for i in 1; { %; }",
    "for ((i = 0; i < 1; i++)); do %; done",
    "while %; do break; done",
    "until ! %; do break; done",
    "select i in 1; do %; done",
    "x=%; m4",
    "x=\"$(%)\"",
    "x=(1 $(%))",
    "x[$(%)]=1",
    "cat <<E\n%\nE\n",
    "cat <<'E'\n%\nE\n",
    "cat <<E\n$(%)\nE\n",
    "echo $(%)",
    "echo \"$(%)\"",
    "\"$(%)\"",
    "echo `%`",
    "echo ${y:-%}",
    "echo \"${y:-%}\"",
    "echo \"${y:-$(%)}\"",
    "f() { %; }; f",
    "f() ( % ); f",
    "f() case x in x) %;; esac; f",
    "function g { %; }; g",
    "function g () if %; then :; fi; g",
    "eval '%'",
    "sh -c '%'",
    "# %\nm1",
    "echo \\%",
    "echo $'%'",
    "! %",
    "time %",
    "time -p %",
    "time -- %",
    "time { %; }",
    "coproc %",
    "coproc { %; }",
    "coproc N { %; }",
    "coproc N %",
    "% | m1",
    "% |& m1",
    "m1 | %",
    "m1 # %",
    "echo $((%))",
    "m1 > %",
    "m1 > \"$(%)\"",
    "echo a\\\n%",
    "[ % ]",
    "[[ -n $(%) ]]",
    "[[ x && % ]]",
    "(( 1 + $(%) ))",
    "echo <(%)",
    "A=1 %",
    ">f %",
    "command %",
    "x=(\n%\n)",
    "x=(a # %\n)",
    "x=(%) m1",
    "x+=(a \"%\")",
    "f() { local x=(%); }; f",
    "case x in esac|%",
    "case x in x) ;; esac|%\nx) ;; esac",
    "case x in %) m1;; esac",
    "case x in a|%) m1;; esac",
    "case x in (%) m1;; esac",
    "x=$(cat <<E\nE); %\nE\n)",
    "x=$(cat <<E\n%\nE\n)",
    "x=$(cat <<'E'\n%\nE\n)",
    "[[ a =~ x|#y ]]; %",
    "[[ a =~ %|b ]]",
    "time a[1 #]=x; %",
    "time a+=1 %",
    "function g case y in\n%\nx) ;; esac",
    "m1 {x}>f %",
    "for i\nin %; do m1; done",
    ": ${x[0]:=%}",
    "echo $(( 1 + $(%) ))",
];

#[test]
fn finds_what_every_starter_runs() {
    let mut compared = 0;
    for starter in STARTERS {
        for inner in ["m1", "m1 a 'b'", "m2 x"] {
            compared += check(&starter.replace('%', inner), false).unwrap();
        }
    }
    // That the marks run at all, and are compared.
    assert!(compared > 100, "only {compared} runs were compared");
}

proptest! {
    // Each case starts two shells. A failure is kept as a case of the unit tests, not in a file of seeds.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(std::env::var("CASES").map_or(400, |cases| cases.parse().unwrap())) })]

    #[test]
    fn finds_every_command_that_a_shell_runs(pieces in prop::collection::vec(select(PIECES), 2..14)) {
        check(&pieces.concat(), true)?;
    }

    #[test]
    fn finds_every_command_in_scripts_that_make_sense(
        outer in prop::collection::vec(select(AROUND), 1..5),
        inner in select(vec!["m1", "m1;m2", "$(m1)", "`m2`", "'m3'", "\"m4\"", "m1\nm2", "x # m1", "a\\;m2", "$x", "a)m1", "a'b", "}", "`", "\\"]),
    ) {
        let script = outer.into_iter().fold(inner.to_owned(), |script, around| around.replace('%', &script));
        check(&script, true)?;
    }

    /// The words of a command, however they are spelled, are those that the shell hands to the program.
    #[test]
    fn reads_words_as_shells_do(words in prop::collection::vec(select(SPELLINGS), 0..5), glued in any::<bool>()) {
        check(&format!("m1 {}", words.join(if glued { "" } else { " " })), true)?;
    }

    #[test]
    fn finds_what_starters_in_starters_run(
        outer in prop::collection::vec(select(STARTERS), 1..3),
        inner in select(vec!["m1", "m1 a", "m1; m2", "m1 'a b' && m2", "m3 $x"]),
    ) {
        let script = outer.into_iter().fold(inner.to_owned(), |script, starter| starter.replace('%', &script));
        check(&script, false)?;
    }
}
