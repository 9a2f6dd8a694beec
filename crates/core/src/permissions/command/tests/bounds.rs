//! Texts made to take long: each is answered after a bounded number of steps, and none is allowed for being long (R-CMD-5).

use super::hostile::{HOSTILE, filled};
use super::*;

/// A quarter of what a command may hold: a step that looks at all of it for each part takes minutes of this already.
const TEXT_BYTES: usize = COMMAND_BYTES / 4;

/// Found by fuzzing: every `cd` doubled the directories that a command could be in, and a hundred bytes took seconds.
#[test]
fn directories_that_may_be_entered_are_bounded() {
    let cds = "cd a; cd b; cd c; cd d; cd e; cd f; cd g; cd h; ";
    for command in [
        r"sh -c 'cd a;s f|||cd a- c|{ f|||cd c|{|cd ad a8 E|cd a4 EEEE ;--o/[/a-/a-ut'c|{|cd a8 EEEEeEEE-c 'cd(a;",
        &format!("{cds}{cds}ls"),
        &format!("while :; do {cds} cd i; done"),
        &filled(TEXT_BYTES, "", "cd %;", ""),
        &filled(TEXT_BYTES, "f() { ", "cd %;", " }; f"),
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
    for &(name, start, turn, end) in HOSTILE {
        let command = filled(TEXT_BYTES, start, turn, end);
        // A search without a bound takes minutes here, and what it lists is many times the text.
        let analysis = analyze(&command, &context());
        let listed: usize = analysis.commands.iter().map(|command| command.text.len()).sum();
        assert!(analysis.commands.len() <= COMMANDS + WRAPPED, "{name}: {} commands", analysis.commands.len());
        assert!(listed <= 40 * TEXT_BYTES, "{name}: {listed} bytes");
    }
}

/// Six names for every word of a copy, each looked at four times: 64 KiB took 85 ms.
#[test]
fn names_that_may_be_in_many_directories_are_followed_so_often_and_no_more() {
    use super::super::paths::NORMALISED;
    let cds = "cd a; cd b; cd c; cd d; cd e; ";
    for (start, turn, end) in [("cp -r", " f%", " x"), ("", "ln -s a% b;", ""), ("cat", " f%", ""), ("mine", " f%", "")]
    {
        NORMALISED.set(0);
        let text = filled(TEXT_BYTES, &format!("{cds}{start}"), turn, end);
        let verdict = analyze(&text, &context()).verdict;
        assert_eq!(verdict.action, Action::Deny, "{start}{turn}");
        assert!(verdict.reason.contains("too many"), "{start}{turn}: {}", verdict.reason);
        // Twice: what may run in another order is read again.
        let steps = NORMALISED.get();
        assert!(steps <= 2 * 50_000, "{start}{turn}: {steps}");
    }
    let copies: String = (0..100).map(|number| format!(" f{number}")).collect();
    assert_ne!(action(&format!("{cds}cp -r{copies} x")), Action::Deny);
}

/// Each `cd` beyond those that are kept made every later name one place longer, and each word of `rm` was looked up five times,
/// among roots that were normalised for each: 150 ms for 35 KB.
#[test]
fn directories_and_deletions_take_steps_in_proportion_to_the_text() {
    use super::super::paths::NORMALISED;
    // Directories that a name is counted from, and how often a word is looked at.
    for (start, turn, per_turn) in [("", "cd d%;", 2 * 17 + 4), ("rm -rf", " a%/b", 4), ("rm -rf", " a/b", 4)] {
        for turns in [200, 400] {
            let text: String = (0..turns).map(|number| turn.replace('%', &number.to_string())).collect();
            NORMALISED.set(0);
            let analysis = analyze(&format!("{start}{text}"), &context());
            assert!(analysis.commands.len() <= turns && analysis.entered.all.len() <= 18, "{:?}", analysis.entered);
            let steps = NORMALISED.get();
            assert!(steps <= turns * per_turn + 100, "{turns} of '{turn}': {steps}");
        }
    }
}
