//! Texts made to take long: each is answered after a bounded number of steps, and none is allowed for being long (R-CMD-5).

use super::*;

/// A quarter of what a command may hold: a step that looks at all of it for each part takes minutes of this already.
const TEXT_BYTES: usize = COMMAND_BYTES / 4;

/// As much of a pattern as fits, with the number of the turn in place of `%`.
fn filled(start: &str, turn: &str, end: &str) -> String {
    let mut text = start.to_owned();
    for number in 0.. {
        let next = turn.replace('%', &number.to_string());
        if text.len() + next.len() + end.len() > TEXT_BYTES {
            break;
        }
        text.push_str(&next);
    }
    text + end
}

/// Found by fuzzing: every `cd` doubled the directories that a command could be in, and a hundred bytes took seconds.
#[test]
fn directories_that_may_be_entered_are_bounded() {
    let cds = "cd a; cd b; cd c; cd d; cd e; cd f; cd g; cd h; ";
    for command in [
        r"sh -c 'cd a;s f|||cd a- c|{ f|||cd c|{|cd ad a8 E|cd a4 EEEE ;--o/[/a-/a-ut'c|{|cd a8 EEEEeEEE-c 'cd(a;",
        &format!("{cds}{cds}ls"),
        &format!("while :; do {cds} cd i; done"),
        &filled("", "cd %;", ""),
        &filled("f() { ", "cd %;", " }; f"),
    ] {
        assert_ne!(action(command), Action::Allow, "{}", &command[..60]);
    }
    // What cannot be followed is still what it is: anywhere is also where it must not happen.
    assert_eq!(action(&format!("{cds} rm -rf /")), Action::Deny);
    assert_eq!(action(&format!("{cds} sudo ls")), Action::Deny);
    assert_eq!(action("cd a; cd b; ls"), Action::Allow);
    let places = analyze(&format!("{cds} cat x"), &context()).places;
    assert!(
        places.iter().all(|place| place.paths.len() <= 40 && place.paths.iter().any(|path| path.contains('\u{3}')))
    );
}

#[test]
fn texts_made_to_take_long_are_answered_in_bounded_steps() {
    for (name, command) in [
        ("files", filled("cat", " f%", "")),
        ("files from many directories", filled("cd a; cd b; cd c; cd d; cd e; cat", " f%", "")),
        ("one file", filled("cd a; cd b; cd c; cd d; cat", " f", "")),
        ("deep paths", filled("cat ", "a/../b/./", "")),
        ("commands", filled("", "a%;", "")),
        ("functions", filled("", "f%() { :; };", "")),
        ("calls of functions", filled("", "f%() { f%; };", "f1")),
        ("variables", filled("", "v%=x; $v%;", "")),
        ("substitutions", filled("", "$(a%)", "")),
        ("deep substitutions", filled("", "$(", "")),
        ("deep groups", filled("", "(", "")),
        ("deep loops", filled("", "while :; do ", "")),
        ("back quotes", filled("", "`a%`", "")),
        ("alternatives", filled("rm ", "{a,b}", "")),
        ("alternatives within each other", filled("rm ", "{a,", "")),
        ("patterns", filled("rm ", "*", "")),
        ("brackets", filled("rm ", "[a", "")),
        ("here-documents", filled("cat", " <<a%", "")),
        ("shells", filled("", "sh -c 'sh -c \"a%\"';", "")),
        ("shells in shells", filled("", "sh -c ", "a")),
        ("wrappers", filled("", "env ", "a")),
        ("xargs", filled("", "a | xargs sh -c b%;", "")),
        ("subscripts", filled("", "a[b[", "")),
        ("sums", filled("", "$((", "")),
        ("expansions", filled("", "${a:-", "")),
        ("sed", filled("sed '", "s/a/b/;", "'")),
        ("git", filled("git", " -c a.b%=c", " x")),
        ("redirections", filled("a", " >f%", "")),
        ("quotes", filled("echo ", "'a'\"b\"", "")),
        ("escapes", filled("echo ", "\\a", "")),
        ("ansi", filled("echo $'", "\\x41", "'")),
        ("pipes", filled("", "a|", "a")),
        ("conditions", filled("[[ ", "a && ", "a ]]")),
        ("cases", filled("case a in ", "a%) b;; ", "esac")),
        ("traps", filled("", "trap 'a%' EXIT;", "")),
        ("evaluations", filled("", "eval 'eval a%';", "")),
    ] {
        // A search without a bound takes minutes here, and what it lists is many times the text.
        let analysis = analyze(&command, &context());
        let listed: usize = analysis.commands.iter().map(|command| command.text.len()).sum();
        assert!(analysis.commands.len() <= COMMANDS + WRAPPED, "{name}: {} commands", analysis.commands.len());
        assert!(listed <= 40 * TEXT_BYTES, "{name}: {listed} bytes");
    }
}
