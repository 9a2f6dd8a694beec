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
