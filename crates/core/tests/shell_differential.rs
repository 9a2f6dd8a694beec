//! The command parser against the shells that will run what it judged (R-CMD-4): every command that a real shell runs
//! is one that the analysis has found.
//!
//! A shell that knows no programs but a few that log their names runs made-up scripts; what it logs must be among the
//! commands of the analysis, or the analysis must have said that it did not understand.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

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

/// What `shell` runs of `script`; only the marks.
fn run(shell: &str, script: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    for mark in 1..=4 {
        let program = directory.path().join(format!("m{mark}"));
        std::fs::write(&program, format!("#!/bin/sh\nprintf 'm{mark}\\n' >> \"$LOG\"\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink("/bin/sh", directory.path().join("sh")).unwrap();
    let work = directory.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let mut child = Command::new("/usr/bin/timeout")
        .args(["-s", "KILL", "2", shell, "-c", script])
        .env_clear()
        .env("PATH", directory.path())
        .env("LOG", &log)
        .current_dir(&work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.wait().unwrap();
    let mut marks: Vec<String> = std::fs::read_to_string(&log).unwrap_or_default().lines().map(str::to_owned).collect();
    marks.sort();
    marks.dedup();
    marks
}

fn check(script: &str) -> Result<(), TestCaseError> {
    let analysis = analyze(script, &CommandContext::default());
    if analysis.verdict.action != Action::Allow {
        return Ok(());
    }
    let found: Vec<&str> = analysis.commands.iter().filter_map(|command| command.argv.first()?.as_deref()).collect();
    // An endless loop of marks is found too; the time limit ends it.
    for shell in ["/bin/sh", "/bin/bash"] {
        if !std::path::Path::new(shell).exists() {
            continue;
        }
        for mark in run(shell, script) {
            prop_assert!(found.contains(&mark.as_str()), "{shell} runs {mark} in {script:?}; found {found:?}");
        }
    }
    Ok(())
}

proptest! {
    // Each case starts two shells. A failure is kept as a case of the unit tests, not in a file of seeds.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn finds_every_command_that_a_shell_runs(pieces in prop::collection::vec(select(PIECES), 2..14)) {
        check(&pieces.concat())?;
    }

    #[test]
    fn finds_every_command_in_scripts_that_make_sense(
        outer in prop::collection::vec(select(vec![
            "echo %", "echo \"%\"", "echo '%'", "% && m2", "( % )", "{ %; }", "if %; then m2; fi", "case x in x) %;; esac",
            "for i in %; do m3; done", "x=%; m4", "cat <<E\n%\nE\n", "cat <<'E'\n%\nE\n", "echo $(%)", "echo `%`",
            "echo ${y:-%}", "echo \"${y:-%}\"", "f() { %; }; f", "eval '%'", "sh -c '%'", "# %\nm1", "echo \\%", "echo $'%'",
            "! %", "% | m1", "m1 # %", "echo $((%))", "m1 > %", "echo a\\\n%", "[ % ]", "echo <(%)",
        ]), 1..4),
        inner in select(vec!["m1", "m1;m2", "$(m1)", "`m2`", "'m3'", "\"m4\"", "m1\nm2", "x # m1", "a\\;m2", "$x", "a)m1", "a'b", "}", "`", "\\"]),
    ) {
        let script = outer.into_iter().fold(inner.to_owned(), |script, around| around.replace('%', &script));
        check(&script)?;
    }
}
