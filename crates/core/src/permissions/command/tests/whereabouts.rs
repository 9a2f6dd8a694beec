//! Where the commands of a line run, and where it leaves the shell of a session.

use super::super::argument::ANYTHING;
use super::super::paths::may_match;
use super::*;

/// A line for a session whose shell ran others before.
fn in_session() -> CommandContext {
    CommandContext { continues: true, fence: true, ..context() }
}

fn last(command: &str) -> Option<Vec<String>> {
    analyze(command, &in_session()).entered.last
}

#[test]
fn a_line_that_ended_well_left_its_shell_where_it_was_led_last() {
    for (command, expected) in [
        ("cd a", "a"),
        ("cd a && make", "a"),
        (" cd a/b&&ls -l && make test ", "a/b"),
        ("cd a && cd b", "a/b"),
        ("cd a && make && cd ../c && make", "c"),
        ("cd \"my app\" && npm test", "my app"),
        ("cd a && npm test 2>&1 | tail -20", "a"),
        ("cd a && make | grep x | wc -l && cd b", "a/b"),
        ("make && cd a", "a"),
        ("ls | wc -l && cd a", "a"),
        ("cd a > f", "a"),
        ("cd a &&\n\nmake", "a"),
        ("cd a # there", "a"),
        ("ls; cd a", "a"),
        ("ls || true\ncd a && make", "a"),
    ] {
        assert_eq!(last(command), Some(vec![format!("/work/project/{expected}")]), "{command}");
    }
    let either = ["/work/project/a", "/work/project/b/a"].map(str::to_owned).to_vec();
    assert_eq!(last("cd b; cd a && make"), Some(either));
    for command in [
        "cd",
        "ls",
        "cd -P a",
        "cd - ",
        "cd a; ls",
        "cd a | cat",
        "true | cd a",
        "cd a &",
        "cd a && ls &",
        "cd b & cd a",
        "(cd a)",
        "cd a || true",
        "true || cd a",
        "true || cd a && ls",
        "! cd a",
        "cd a && ! ls",
        "cd a\nls",
        "cd a && nohup cd b",
        "cd a && command cd b",
        "cd a && xargs cd b",
        "cd a && eval 'cd b'",
        "cd a && . x",
        "cd a && popd",
        "cd a && pushd b",
        "cd a && echo $(cd b)",
        "cd a && trap 'cd b' USR1",
        "cd a && if x; then cd b; fi",
        "cd a && { cd b; }",
        "CDPATH=x cd a",
        "cd $X",
        "cdx a",
        "f() { cd b; }; cd a && f",
    ] {
        assert_eq!(last(command), None, "{command}");
    }
}

/// A part of a pipe, a substitution and what stands behind `||` were taken to have led the line's own shell: what came behind was
/// judged where they led alone.
#[test]
fn a_file_counts_from_every_directory_where_the_command_may_run() {
    for command in [
        "cd private && cat key",
        "cd private && true | cd /work/project/e && cat key",
        "cd private && cd /work/project/e | true && cat key",
        "cd private && true | cd /work/project/e | cat key",
        "cd private && echo $(cd /work/project/e) && cat key",
        "cd private && echo `cd /work/project/e` && cat key",
        "cd private && X=$(cd /work/project/e) && cat key",
        "cd private && echo <(cd /work/project/e) && cat key",
        "cd private && true || cd /work/project/e && cat key",
        "cd private && true || pushd /work/project/e && cat key",
        "cd private && true ||\ncd /work/project/e && cat key",
        "cd private && (true) || cd /work/project/e && cat key",
        "cd private && (cd /work/project/e) && cat key",
        "cd private && nohup cd /work/project/e && cat key",
        "cd private && env cd /work/project/e && cat key",
        "cd private && xargs cd /work/project/e && cat key",
        "cd private && command -p cd /work/project/e && cat key",
        "cd private && cd /work/project/e & wait && cat key",
        "cd private && { true || cd /work/project/e && cat key; }",
        "cd private && { cd /work/project/e; } | true && cat key",
        "cd private && { true; cd /work/project/e; } | true && cat key",
        "cd private && if x; then cd /work/project/e; fi | true && cat key",
        "cd private && while x; do cd /work/project/e; done | cat key",
        "cd private && true | { cd /work/project/e; } | true && cat key",
        "cd private && f() { cd /work/project/e; } && cat key",
        "cd private && f() { cd /work/project/e; } | true && cat key",
        "cd private && case x in x) cd /work/project/e;; esac | true && cat key",
        "cd private && cd /work/project/e && for i in 1 2; do cat key; cd ../private; done",
        "cd e && for i in 1 2; do cat key; cd /work/project/private; done",
        "cd e && while cat key; do cd /work/project/private; done",
        "cd e && f() { cat key; }; cd ../private; f",
        "cd e && make | while cat key; do cd /work/project/private; done",
        "cd private && make | cat key",
        "cd private && make | tee x | cat key",
        "cd private && [[ 1 && cd ]] && cat key",
        "cd private && [[ 1 && cd && 1 ]] && cat key",
        "cd private && [[ 1 && cd /work/project/e ]] && cat key",
        "cd private && [[ 1 || cd == 1 ]] && cat key",
        "cd private && [[ 1 &&\ncd /work/project/e && 1 ]] && cat key",
        "cd private && (make) | cat key",
    ] {
        let places = analyze(command, &context()).places;
        let may_be_there =
            places.iter().any(|place| place.paths.iter().any(|path| path == "/work/project/private/key"));
        assert!(may_be_there, "{command}: {places:?}");
    }
    // And from no other where that is sure.
    for command in ["cd e && cat key", "(cd e && cat key)", "cd e && make | cat key", "cd d && cd ../e && cat key"] {
        let places = analyze(command, &context()).places;
        let paths: Vec<_> = places.iter().flat_map(|place| &place.paths).collect();
        assert_eq!(paths, ["/work/project/e/key"], "{command}");
    }
}

/// A loop led further down with each turn, and a function with each call: two of them were followed.
#[test]
fn what_runs_again_and_again_leads_further_each_time() {
    for (command, there) in [
        ("for i in 1 2 3; do cd a; done; cat key", "a/a/a/key"),
        ("while x; do cd a && cat key; done", "a/a/a/a/key"),
        ("until x; do cd a; make; done && cat key", "a/a/a/key"),
        ("f() { cd a; }; f; f; f; f; cat key", "a/a/a/a/key"),
        ("f() { cd a && make; }; f && f && f && cat key", "a/a/a/key"),
        ("f() { cd a; cat key; f; }; f", "a/a/a/a/key"),
        ("f() ( cd a; cat key; f )", "a/a/a/a/key"),
        ("f() { (cd a; f; cat key); }; f", "a/a/a/a/key"),
        ("f() ( eval 'cd a; f'; cat key ); f", "a/a/a/key"),
        ("f() ( cd a; cat key; g ); eval 'g() { f; }'; f", "a/a/a/a/key"),
        ("for i in 1 2 3; do eval 'cd a'; done; cat key", "a/a/a/key"),
        ("(for i in 1 2 3; do cd a; done; cat key)", "a/a/a/key"),
        ("trap 'cd a' DEBUG; true; true; true; cat key", "a/a/a/key"),
        ("f() ( cat key ); g() ( cd a; f ); h() ( cd b; g ); h", "b/a/key"),
        ("f() ( cat key ); g() ( cd c; f ); h() ( cd b; g ); i() ( cd a; h ); i", "a/b/c/key"),
        ("a() ( cat key ); b() ( cd x; a ); c() ( cd x; b ); d() ( cd x; c ); e() ( cd x; d ); e", "x/x/x/x/key"),
    ] {
        let places = analyze(command, &context()).places;
        let path = format!("/work/project/{there}");
        let may_be_there = places.iter().any(|place| place.paths.iter().any(|known| may_match(known, &path)));
        assert!(may_be_there, "{command}: {places:?}");
    }
    // What begins anew each time leads nowhere.
    for command in ["for i in 1 2 3; do (cd a && cat key); done", "f() { (cd a && cat key); }; f; f"] {
        let places = analyze(command, &context()).places;
        let nowhere = places.iter().flat_map(|place| &place.paths).all(|path| !path.contains(ANYTHING));
        assert!(nowhere, "{command}: {places:?}");
        assert_eq!(action(command), Action::Allow, "{command}");
    }
}

/// `f() { cd private; }` in one call, and `cd e && f` in the next: nobody followed the shell to `e/private`.
#[test]
fn what_leads_the_shell_of_a_session_later_is_asked_about_and_nobody_knows_behind_it() {
    for command in [
        "f() { cd b; }",
        "function f { pushd b; }",
        "f() { true && cd b; }",
        "f() { if x; then cd b; fi; }",
        "f() { command cd b; }",
        "f() { eval 'cd b'; }",
        "eval 'f() { cd b; }'",
        "trap 'cd b' USR1",
        "trap -- 'true; builtin cd b' DEBUG",
        "f() { trap 'cd b' USR1; }",
        "alias x='cd b'",
        "cd a && f() { cd b; }",
    ] {
        let analysis = analyze(command, &in_session());
        assert_eq!(analysis.verdict.action, Action::Ask, "{command}");
        assert!(analysis.entered.is_led_later, "{command}");
        assert!(analysis.entered.all.contains(&ANYTHING.to_string()), "{command}");
        assert_eq!(analysis.entered.last, None, "{command}");
        // A shell that ends with its line is led by nothing later.
        assert!(!analyze(command, &context()).entered.is_led_later, "{command}");
    }
    for command in [
        "cd b",
        "f() { (cd b && make); }",
        "f() ( cd b; make )",
        "f() { x=$(cd b && pwd); }",
        "f() { cd b | cat; }",
        "f() { sh -c 'cd b; make'; }",
        "trap 'rm -f x' EXIT",
        "trap '(cd b && make clean)' EXIT",
        "sh -c 'f() { cd b; }; f'",
        "(f() { cd b; }; f)",
        "eval 'cd b'",
        "for d in a b; do (cd $d && make); done",
    ] {
        assert!(!analyze(command, &in_session()).entered.is_led_later, "{command}");
    }
    assert_eq!(action("f() { cd b; }; f && make"), Action::Allow);
    // What is above a directory that any number of names lead to, nobody knows.
    for command in ["for i in 1 2; do cd a; done; cd ..", "f() { cd a; }; f; cd ../b"] {
        assert_eq!(action(command), Action::Ask, "{command}");
    }
}

/// What a function or a trap of a session reads was judged where it was defined.
#[test]
fn what_is_read_later_counts_from_wherever_the_session_is_then() {
    let may_be_private = |context: &CommandContext, command: &str| {
        let places = analyze(command, context).places;
        places.iter().any(|place| place.paths.iter().any(|path| may_match(path, "/work/project/private/key")))
    };
    for command in [
        "f() { cat key; }",
        "cat key; f() { cat key; }",
        "cat key; trap 'cat key' USR1",
        "trap 'cat key' USR1",
        "trap '(cat key)' EXIT",
        "f() ( cat < key )",
        "f() { eval 'cat key'; }",
    ] {
        assert!(may_be_private(&in_session(), command), "{command}");
        assert!(!may_be_private(&context(), command), "{command}");
    }
    for command in ["cat key", "f() { cat /work/key; }", "f() { cat other; }", "for i in 1; do cat key; done"] {
        assert!(!may_be_private(&in_session(), command), "{command}");
    }
}

/// A `cd` that leads nowhere, or that shells refuse, was taken to lead where its last word says.
#[test]
fn a_cd_with_other_options_or_more_words_is_asked_about() {
    for command in ["pushd -n e", "pushd -0 e", "cd -ot e", "cd a b", "cd -z a", "pushd +1"] {
        assert_eq!(action(command), Action::Ask, "{command}");
        assert_eq!(last(&format!("{command} && cd x")), None, "{command}");
    }
    for command in ["cd -L a", "cd -- a", "cd -P a", "cd -Pe a", "pushd a"] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
}

/// The message said that `..` lies outside, to a shell that was below.
#[test]
fn a_way_that_leads_out_from_one_of_the_directories_names_that_one() {
    let context =
        CommandContext { directories: vec!["/work/project/a/b".into(), "/work/project".into()], ..in_session() };
    assert_eq!(
        analyze("cd ..", &context).verdict.reason,
        "The command is blocked: the shell may be in '/work/project' by now, from where 'cd' leads to '..', outside the directories \
         that are yours; use the full path."
    );
    for command in ["cd /", "cd ../../../.."] {
        let reason = analyze(command, &context).verdict.reason;
        assert!(reason.contains(&format!("'cd' leads to '{}', outside", &command[3..])), "{reason}");
    }
    assert_eq!(analyze("cd /work/project", &context).verdict.action, Action::Allow);
    // From where it is for sure it is led on, wherever it was before.
    let lost = CommandContext { directories: vec![ANYTHING.into()], ..context };
    assert_eq!(analyze("cd /work/project/a && cd b", &lost).entered.last, Some(vec!["/work/project/a/b".to_owned()]));
    assert_eq!(analyze("cd b", &lost).verdict.action, Action::Ask);
}
