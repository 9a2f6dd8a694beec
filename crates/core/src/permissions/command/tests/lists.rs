//! What an allow list stops besides names that are not in it (R-CMD-3), where the parser stops (R-CMD-1), and what it says
//! that it could not resolve.

use super::*;

fn by(entries: &[&str], command: &str) -> Action {
    let allowed_commands = Some(entries.iter().map(|entry| (*entry).to_owned()).collect());
    analyze(command, &CommandContext { allowed_commands, ..context() }).verdict.action
}

#[test]
fn a_listed_program_is_not_made_to_run_another() {
    let list = ["rg", "npm run", "npm test", "ls", "xargs"];
    for command in [
        "rg --pre ./x y",
        "rg --pre=./x y",
        "rg -n --pre ./x y",
        "rg --hostname-bin=./x y",
        "npm run --prefix x build",
        "npm run build --prefix=x",
        "npm run --script-shell ./x build",
        "npm run build --script-shell=./x",
        "npm test --script-sh=./x",
        "npm --prefix x run build",
        "xargs rm",
        "xargs ls",
        "ls | xargs rm",
        "ls | xargs -I % sh -c %",
        "ls | xargs -n 1 ls",
        "xargs -a f ls",
    ] {
        assert_eq!(by(&list, command), Action::Deny, "{command}");
    }
    for command in ["rg -n y", "rg --pretty y", "npm run build", "npm run build -- --watch", "npm test", "ls"] {
        assert_eq!(by(&list, command), Action::Allow, "{command}");
    }
    // Whoever lists the option is asked all the same, for nobody here knows what that program does.
    assert_eq!(by(&["rg --pre ./x"], "rg --pre ./x y"), Action::Ask);
    assert_eq!(by(&["rg --pre ./x"], "rg --pre ./z y"), Action::Deny);
}

#[test]
fn a_listed_program_writes_no_file_that_an_option_names() {
    let list = ["git", "sdiff", "ctags", "pip", "pip3", "pip3.12", "date", "hostname"];
    for command in [
        "git archive -o x.tar HEAD",
        "git archive -ox.tar HEAD",
        "git --no-pager archive -o x.tar HEAD",
        "git archive --output=x.tar HEAD",
        "git format-patch -o x -1",
        "git format-patch --output-directory=x -1",
        "git format-patch --output-dir x -1",
        "git --attr-source HEAD archive -o x.tar HEAD",
        "git bugreport -o x",
        "git index-pack -o x y",
        "git bundle create x HEAD",
        "git fast-export --export-marks=x HEAD",
        "sdiff -o x a b",
        "sdiff --output=x a b",
        "ctags -o x a",
        "ctags -L x",
        "pip list --log x",
        "pip3 --python x list",
        "pip install -t x y",
        "pip install --targ=x y",
        "pip install --prefix x y",
        "pip install --root x y",
        "pip install --src x y",
        "pip download -d x y",
        "pip wheel -wx y",
        "pip3.12 install --target x y",
        "pip install --cache-dir x y",
        "pip install -Ut x y",
        "pip lock -o x y",
        "pip lock --output=x y",
        "pip config --editor x edit",
        "git mailinfo x y",
        "git mailinfo -- -a -b",
        "date -s 2020-01-01",
        "hostname x",
    ] {
        assert_eq!(by(&list, command), Action::Deny, "{command}");
    }
    for command in [
        "git archive HEAD",
        "git format-patch -1 --stdout",
        "git bundle verify create",
        "git ls-files -o",
        "git commit -o a -m x",
        "git log --oneline",
        "sdiff a b",
        "pip list",
        "pip install --pre -r requirements.txt",
        "pip install -rrequirements.txt -e.[dev] -cconstraints.txt -Ufwheels",
        "pip list -o",
        "pip install --root-user-action ignore x",
        "date -u +%s",
        "hostname -f",
    ] {
        assert_eq!(by(&list, command), Action::Allow, "{command}");
    }
    assert_eq!(by(&["git", "git archive -o"], "git archive -o x.tar HEAD"), Action::Allow);
}

/// CVE-2026-22708: a built-in that nobody listed changed what the listed command after it did.
#[test]
fn built_ins_must_be_listed_as_anything_else() {
    for built_in in [
        "cd x",
        "pushd x",
        "popd",
        "export A=1",
        "typeset A=1",
        "declare -x A=1",
        "readonly A=1",
        "local A=1",
        "unset PATH",
        "alias ls=rm",
        "set -e",
        "shopt -s expand_aliases",
        "hash -p ./x ls",
        "enable -f ./x ls",
        "trap x EXIT",
        "umask 0",
        "ulimit -n 1",
        "read a",
        "printf -v PATH x",
        "getopts x PATH",
        ". ./x",
        "source ./x",
        "eval ls",
        "exec ls",
        "builtin ls",
        "command ls",
        "true",
        ":",
        "echo x",
        "test -f x",
        "[ -f x ]",
    ] {
        assert_eq!(by(&["ls"], built_in), Action::Deny, "{built_in}");
        assert_eq!(by(&["ls"], &format!("{built_in}; ls")), Action::Deny, "{built_in}; ls");
        assert_eq!(by(&["ls"], &format!("ls && {built_in}")), Action::Deny, "ls && {built_in}");
    }
    assert!(by(&["ls", "cd"], "cd x; ls") == Action::Allow);
    assert!(by(&["ls", "export A=1"], "export A=1; ls") == Action::Allow);
}

/// R-CMD-1: 40 levels, of which the script is the first.
#[test]
fn forty_levels_are_read_and_no_more() {
    for (open, close) in [("( ", " )"), ("{ ", "; }"), ("if :; then ", "; fi"), ("echo $(", ")"), ("echo ${x:-", "}")] {
        for (levels, is_read) in [(39, true), (40, true), (41, false)] {
            let nested = levels - 1;
            let command = format!("{}:{}", open.repeat(nested), close.repeat(nested));
            let analysis = analyze(&command, &context());
            assert_eq!(analysis.parsed, is_read, "{levels} levels of {open}");
            assert_eq!(analysis.verdict.action == Action::Deny, !is_read, "{levels} levels of {open}");
            // In a parameter it is a word, and not a command.
            if !open.contains("${") {
                let hidden = format!("{}sudo ls{}", open.repeat(nested), close.repeat(nested));
                assert_eq!(action(&hidden), Action::Deny, "{levels} levels of {open}");
            }
        }
    }
}

#[test]
fn tells_everything_that_it_could_not_resolve() {
    const NAME: &str = "the name of a command is known only when it runs";
    for (command, expected) in [
        ("eval \"$s\"", vec!["'eval' runs what is known only when it runs"]),
        ("$X a; cat \"$Y\"", vec![NAME]),
        ("curl x | sh", vec!["'sh' runs what it reads from its input"]),
        (
            "\"$A\"; `b` c; eval \"$s\"; sh -c \"$t\"",
            vec![NAME, "'eval' runs what is known only when it runs", "what 'sh' runs is known only when it runs"],
        ),
        (". ./x; source \"$y\"", vec!["'source' runs what is known only when it runs"]),
        ("ls; cat x", vec![]),
    ] {
        assert_eq!(analyze(command, &context()).unresolved, expected, "{command}");
    }
}

/// An application that judges for itself is shown what a program with other rights would start.
#[test]
fn what_is_started_with_other_rights_is_shown() {
    let own = CommandContext { deny_dangerous: false, ..context() };
    for (command, inner) in [
        ("doas rm -rf /", "rm -rf /"),
        ("doas -u root rm -rf /", "rm -rf /"),
        ("sudo rm -rf /", "rm -rf /"),
        ("sudo sh -c 'rm -rf /'", "rm -rf /"),
    ] {
        let analysis = analyze(command, &own);
        assert!(analysis.commands.iter().any(|one| one.text == inner), "{command}: {:?}", analysis.commands);
        assert_ne!(analysis.verdict.action, Action::Deny, "{command}");
    }
}
