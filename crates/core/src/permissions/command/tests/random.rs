//! Random bytes and mutated commands: an answer for each, and none that allows what was not understood.

use proptest::prelude::*;

use super::corpus::{DANGEROUS, UNRESOLVED};
use super::harmless::HARMLESS;
use super::*;

/// Pieces from which mutations are made.
const PIECES: &[&str] = &[
    " ", "\n", ";", "&", "|", "(", ")", "{", "}", "<", ">", "<<", "<<<", "'", "\"", "`", "$", "$(", "${", "$((", "\\",
    "#", "if", "then", "fi", "for", "in", "do", "done", "case", "esac", "function", "EOF", "=", "*", "?", "[", "]",
    "~", "!", "é", "\0", "\r", "x",
];

fn mutated() -> impl Strategy<Value = String> {
    let all: Vec<&'static str> = DANGEROUS.iter().chain(HARMLESS).chain(UNRESOLVED).copied().collect();
    let edits =
        prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()), 1..6);
    (prop::sample::select(all), edits).prop_map(|(command, edits)| {
        let mut characters: Vec<char> = command.chars().collect();
        for (place, piece, insert) in edits {
            let position = place.index(characters.len() + 1);
            let end = if insert { position } else { (position + 1).min(characters.len()) };
            characters.splice(position..end, PIECES[piece.index(PIECES.len())].chars());
        }
        characters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn judges_any_bytes_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let analysis = analyze(&String::from_utf8_lossy(&bytes), &context());
        prop_assert!(analysis.parsed || analysis.verdict.action != Action::Allow);
        prop_assert!(analysis.unresolved.is_empty() || analysis.verdict.action != Action::Allow);
    }

    #[test]
    fn judges_mutated_commands_without_a_panic(command in mutated()) {
        let analysis = analyze(&command, &context());
        prop_assert!(analysis.parsed || analysis.verdict.action != Action::Allow);
        prop_assert!(analysis.unresolved.is_empty() || analysis.verdict.action != Action::Allow);
    }

    /// R-CMD-4: every way to run a command inside another is accounted for.
    #[test]
    fn a_dangerous_command_stays_dangerous_inside_another(
        inner in prop::sample::select(vec!["rm -rf /", "sudo ls", "echo x > /dev/sda", "mkfs.ext4 x"]),
        wraps in prop::collection::vec(prop::sample::select(vec![
            "echo $(%)", "echo `%`", "x; (%)", "{ %; }", "if %; then :; fi", "while :; do %; done", "true && %", "x | %",
            "f() { %; }; f", "case a in a) %;; esac", "cat <(%)", "echo \"$(%)\"", "% &", "! %", "echo $(%) $(ls)",
            "X=$(%)", ": ${x:-$(%)}", "echo $((1 + $(%)))", "# c\n%", "cat <<E\n$(%)\nE",
        ]), 0..5),
    ) {
        let mut command = inner.to_owned();
        for wrap in wraps {
            // Back-quotes need their content escaped, and a here-document its own lines.
            if (wrap.contains('`') && command.contains(['`', '\\', '$'])) || (command.contains('\n') && !wrap.starts_with('#')) {
                continue;
            }
            command = wrap.replace('%', &command);
        }
        prop_assert_eq!(action(&command), Action::Deny, "{}", command);
    }
}
