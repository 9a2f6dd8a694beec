//! What must be stopped, what must run, and what must be asked about.

use super::*;

mod aliases;
mod bounds;
mod chosen;
mod corpus;
mod disguises;
mod harmless;
mod hostile;
mod lists;
mod meanings;
mod modes;
mod neighbours;
mod numbers;
mod options;
mod programs;
mod random;
mod readings;
mod started;
mod tricks;
mod turns;
mod unknown;
mod walked;
mod whereabouts;
mod words;

use corpus::{DANGEROUS, UNRESOLVED};
use harmless::HARMLESS;

/// An agent at work in a project.
fn context() -> CommandContext {
    CommandContext {
        working_directory: "/work/project".into(),
        home: Some("/home/u".into()),
        roots: vec!["/work/project".into()],
        ..CommandContext::default()
    }
}

fn action(command: &str) -> Action {
    analyze(command, &context()).verdict.action
}

/// Those of the commands that get another answer, with that.
fn judged_otherwise<'a>(commands: &[&'a str], expected: Action) -> Vec<(&'a str, CommandJudgement)> {
    let judged = commands.iter().map(|command| (*command, analyze(command, &context()).verdict));
    judged.filter(|(_, verdict)| verdict.action != expected).collect()
}

/// Those of the commands that are allowed.
fn allowed<'a>(commands: &[&'a str]) -> Vec<&'a str> {
    commands.iter().copied().filter(|command| action(command) == Action::Allow).collect()
}

fn texts(command: &str) -> Vec<String> {
    analyze(command, &context()).commands.into_iter().map(|command| command.text).collect()
}

fn allowed_by(entries: &[&str], command: &str) -> bool {
    let allowed_commands = Some(entries.iter().map(|entry| (*entry).to_owned()).collect());
    analyze(command, &CommandContext { allowed_commands, ..context() }).verdict.action == Action::Allow
}

#[test]
fn denies_what_is_dangerous_in_any_spelling() {
    let missed: Vec<_> = DANGEROUS.iter().filter(|command| action(command) != Action::Deny).collect();
    assert_eq!(missed, Vec::<&&str>::new());
}

/// TT-21, TT-23: every program of the list, by itself, by its path, in capitals, and in the text of any shell.
#[test]
fn denies_every_program_that_is_no_project_s_business() {
    const NAMES: [&str; 41] = [
        "sudo",
        "su",
        "reboot",
        "shutdown",
        "halt",
        "poweroff",
        "init",
        "chown",
        "chgrp",
        "umount",
        "mount",
        "mkfs",
        "fdisk",
        "parted",
        "fsck",
        "mkswap",
        "swapon",
        "swapoff",
        "service",
        "systemctl",
        "systemd",
        "iptables",
        "ip6tables",
        "ifconfig",
        "route",
        "iptables-save",
        "crontab",
        "at",
        "batch",
        "useradd",
        "userdel",
        "usermod",
        "passwd",
        "chpasswd",
        "newgrp",
        "modprobe",
        "rmmod",
        "insmod",
        "lsmod",
        "doas",
        "pkexec",
    ];
    for name in NAMES {
        for command in [
            name.to_owned(),
            format!("{name} x y"),
            format!("ls; /usr/sbin/{name} x"),
            name.to_uppercase(),
            format!("bash -c '{name} x'"),
            format!("sh -ec 'ls | {name}'"),
            format!("/bin/dash -c \"{name}\""),
            format!("zsh -lc {name}"),
            format!("bash.exe -c {name}"),
            format!("ksh -c {name}"),
            format!("ash -c {name}"),
        ] {
            assert_eq!(action(&command), Action::Deny, "{command}");
        }
        for command in [format!("echo {name}"), format!("man {name}"), format!("cat {name}.txt"), format!("./{name}-x")]
        {
            assert_eq!(action(&command), Action::Allow, "{command}");
        }
    }
}

/// Names of programs, descriptors, variables, directories and patterns that hid what runs, and programs that run others.
#[test]
fn allows_no_trick() {
    let lists = [
        tricks::STOPPED,
        disguises::STOPPED,
        numbers::STOPPED,
        programs::STOPPED,
        options::STOPPED,
        aliases::STOPPED,
        unknown::STOPPED,
    ];
    let allowed: Vec<_> = lists.into_iter().flatten().filter(|command| action(command) == Action::Allow).collect();
    assert_eq!(allowed, Vec::<&&str>::new());
}

/// Options cut short, in clusters, and of a program listed by its path went past the allow list.
#[test]
fn an_allow_list_knows_dangerous_options_in_any_spelling() {
    let entries = ["sort", "sed", "/usr/bin/sort", "git log", "make", "awk", "gawk", "tar", "make V=1"];
    for command in [
        "sort --outp=x y",
        "sort -uo x y",
        "sort -ro/etc/x y",
        "sed -ni p x",
        "sed -Ei s/a/b/ x",
        "/usr/bin/sort -o x y",
        "git log --outpu=x",
        "make -f x",
        "make SHELL=./x",
        "make --eval=x",
        "make CC=./x",
        "make test V=2",
        "awk -f x y",
        "gawk -lx y",
        "gawk --inc=x y",
        "tar -xPf x",
        "tar --absolute-n -xf x",
    ] {
        assert!(!allowed_by(&entries, command), "{command}");
    }
    for command in [
        "sort -u x",
        "sed -n 1p x",
        "git log --oneline -n 3",
        "make test",
        "make V=1",
        "awk '{ print $1 }' x",
        "tar -xf x",
    ] {
        assert!(allowed_by(&entries, command), "{command}");
    }
}

/// What agents do all day, and what only looks like a trick.
#[test]
fn allows_what_is_harmless() {
    let lists = [
        HARMLESS,
        disguises::HARMLESS,
        numbers::HARMLESS,
        programs::HARMLESS,
        options::HARMLESS,
        aliases::HARMLESS,
        unknown::HARMLESS,
    ];
    let stopped: Vec<_> = lists
        .into_iter()
        .flatten()
        .map(|command| (*command, analyze(command, &context()).verdict))
        .filter(|(_, verdict)| verdict.action != Action::Allow)
        .collect();
    assert_eq!(stopped, Vec::new());
}

#[test]
fn asks_about_what_is_known_only_when_it_runs() {
    assert_eq!(judged_otherwise(UNRESOLVED, Action::Ask), Vec::new());
}

#[test]
fn finds_every_simple_command() {
    for (command, expected) in [
        ("a b 'c d' | e&&f;g&h", vec!["a b c d", "e", "f", "g", "h"]),
        ("nohup env X=1 a b", vec!["nohup env X=1 a b", "env X=1 a b", "a b"]),
        ("a $(b \"$(c)\") `d`", vec!["c", "b …", "a … …", "d"]),
        ("if a; then b; elif c; then d; else e; fi | f", vec!["a", "b", "c", "d", "e", "f"]),
        ("for x in 1 2; do a; done; while b; do c; done", vec!["a", "b", "c"]),
        ("case $x in a) b;; c|d) e;& *) f; esac", vec!["b", "e", "f"]),
        ("f() { a; }; function g { b; }; h () (c)", vec!["a", "b", "c"]),
        ("cat <<A - <<'B'\n$(a)\nA\n$(b)\nB\nc", vec!["cat -", "c", "a"]),
        ("a >(b) < <(c) 2>&1 >&2 3>f", vec!["b", "c", "a …"]),
        ("sh -c 'a; b' x; bash -lc \"c\"", vec!["sh -c a; b x", "bash -lc c", "a", "b", "c"]),
        ("find . -exec a {} \\; -o -exec b {} +", vec!["find . -exec a {} ; -o -exec b {} +", "b …", "a …"]),
        ("X=1 a; Y=2; b $Y $X", vec!["a", "b 2 …"]),
        ("a\\\nb c\\\n d", vec!["ab c d"]),
        ("a $HOME ~ ~/x ~v \"$PWD\"", vec!["a /home/u /home/u /home/u/x …v /work/project"]),
        ("a {b,c}d e{1..3} {} x{y}", vec!["a bd cd e… {} x{y}"]),
        ("a *.[ch] ?", vec!["a *.? ?"]),
        ("{ a; { b; } } > f; ( c; (d) )", vec!["a", "b", "c", "d"]),
        ("! a; time b", vec!["a", "time b", "b"]),
    ] {
        assert_eq!(texts(command), expected, "{command}");
    }
}

#[test]
fn names_the_files_that_are_read_and_written() {
    for (command, reads, writes) in [
        ("sort < a > b 2>> c 2>&1", vec!["a"], vec!["b", "c"]),
        ("cat a -n b | tee c", vec!["a", "b"], vec!["c"]),
        ("grep -n x a b", vec!["a", "b"], vec![]),
        ("grep -A 3 -e x a -m1", vec!["a"], vec![]),
        ("rg -g '*.ts' -f p x y", vec!["p", "x", "y"], vec![]),
        ("awk -F : -v a=b '{ print }' x", vec!["x"], vec![]),
        ("sed -i s/a/b/ f", vec![], vec!["f"]),
        ("cp a b c", vec!["a", "b"], vec!["c"]),
        ("mv a b", vec!["a"], vec!["a", "b"]),
        ("rm -- -x y", vec![], vec!["-x", "y"]),
        ("dd if=a of=b", vec!["a"], vec!["b"]),
        ("exec 3<>f; cat <<A >g\nA", vec!["f"], vec!["f", "g"]),
    ] {
        let analysis = analyze(command, &context());
        assert_eq!(
            (analysis.reads, analysis.writes),
            (reads.iter().map(ToString::to_string).collect(), writes.iter().map(ToString::to_string).collect()),
            "{command}"
        );
    }
}

#[test]
fn an_allow_list_holds_for_every_simple_command_and_fails_closed() {
    let list = ["git status", "npm run *", "ls", "find", "git -C sub log", "echo", "make test:*"];
    for command in [
        "git status",
        "git status -s",
        "npm run build",
        "npm run build -- --watch",
        "ls -la | ls; ls && git status || ls",
        "ls 2>/dev/null >&2",
        "find . -name x",
        "git -C sub log",
        "make test:unit -j2",
        "'ls' \"x y\"",
        "ls *.ts",
    ] {
        assert!(allowed_by(&list, command), "{command}: {:?}", analyze(command, &context()));
    }
    for command in [
        "git push",
        "git",
        "gitstatus",
        "git -c x=y status",
        "npm run",
        "npm install",
        "ls & rm x",
        "ls &",
        "ls\nrm x",
        "ls; rm x",
        "ls | sh",
        "ls $(rm x)",
        "ls `rm x`",
        "ls <(rm x)",
        "ls > f",
        "ls < f",
        "X=1 ls",
        "X=1",
        "/bin/ls",
        "./ls",
        "LS",
        "7z x",
        "./x.sh",
        "env ls",
        "sh -c ls",
        "ls $X",
        "$X",
        "find . -delete",
        "find . -exec ls {} +",
        "if ls; then ls; fi",
        "(ls)",
        "{ ls; }",
        "f() { ls; }",
        "git -C other log",
        "make test",
        "",
        "# x",
        "ls 'unclosed",
        "sudo ls",
    ] {
        assert!(!allowed_by(&list, command), "{command}");
    }
    for command in ["ls", "git status", "", "true", ":"] {
        assert!(!allowed_by(&[], command), "{command}");
    }
}

#[test]
fn a_fence_holds_cd_and_pushd() {
    let fenced = CommandContext { fence: true, ..context() };
    let action = |command: &str| analyze(command, &fenced).verdict.action;
    for (command, expected) in [
        ("cd src && ls", Action::Allow),
        ("cd src/../lib", Action::Allow),
        ("cd /work/project/x", Action::Allow),
        ("cd ..", Action::Deny),
        ("cd /", Action::Deny),
        ("cd", Action::Deny),
        ("cd ~", Action::Deny),
        ("pushd /etc", Action::Deny),
        ("chdir ..", Action::Deny),
        ("cd -- ..", Action::Deny),
        ("cd -P '..'", Action::Deny),
        ("cd a; cd ../..", Action::Deny),
        ("bash -c 'cd ..'", Action::Deny),
        ("(cd ..; ls)", Action::Deny),
        ("cd -", Action::Ask),
        ("cd $X", Action::Ask),
        ("cd `echo /`", Action::Ask),
        ("echo cd /etc", Action::Allow),
        ("cd a && cd b && cd ../..", Action::Allow),
    ] {
        assert_eq!(action(command), expected, "{command}");
    }
    assert_eq!(analyze("cd ..", &context()).verdict.action, Action::Allow);
}

#[test]
fn an_application_with_a_policy_of_its_own_turns_the_deny_list_off() {
    let own = CommandContext { deny_dangerous: false, ..context() };
    assert_eq!(analyze("sudo ls", &own).verdict.action, Action::Allow);
    assert_eq!(analyze("sudo $X", &own).verdict.action, Action::Ask);
}

#[test]
fn limits_fail_closed() {
    let deep = |open: &str, close: &str, levels: usize| format!("{}:{}", open.repeat(levels), close.repeat(levels));
    for command in [
        "x".repeat(COMMAND_BYTES + 1),
        deep("( ", " )", 200),
        deep("$(", ")", 20_000),
        deep("\"$(", ")\"", 10_000),
        deep("${x:-", "}", 10_000),
        deep("if :; then ", "; fi", 2_000),
        deep("{ ", "; }", 10_000),
        "a;".repeat(5_000),
        "`a`".repeat(500),
        "eval ".repeat(50) + "x",
        "env ".repeat(70) + "x",
        // The last file was out of the sight of rules.
        (0..2_100).fold("cat".to_owned(), |command, file| command + &format!(" f{file}")) + " .env",
    ] {
        let start = &command[..30];
        // What is not looked at may be anything on the deny list (R-CMD-5).
        assert_eq!(action(&command), Action::Deny, "{start}");
        // An application with a policy of its own is told that it was not understood.
        let own = analyze(&command, &CommandContext { deny_dangerous: false, ..context() });
        assert_eq!((own.verdict.action, own.parsed), (Action::Ask, false), "{start}");
    }
    assert!(analyze(&"a;".repeat(5_000), &context()).verdict.reason.contains("write them to a script"));
    // What is no command of a shell at all is not run by one.
    assert_eq!(action(&format!("echo {}x", "(".repeat(30_000))), Action::Ask);
}

/// From `/`, the mode looked like the path of a top directory.
#[test]
fn the_mode_of_chmod_is_no_path() {
    let reason = |command: &str| analyze(command, &CommandContext::default()).verdict.reason;
    assert_eq!(
        reason("chmod -R 777 /"),
        "The command is blocked: 'chmod' changes the mode of the root of the file system."
    );
    assert_eq!(action("chmod -x /"), Action::Deny);
    assert_eq!(action("chmod --reference=x /"), Action::Deny);
    assert_eq!(action("chmod 7 7 /"), Action::Deny);
    assert_eq!(analyze("chmod -R 755 /w/p/build", &CommandContext::default()).verdict.action, Action::Allow);
}

#[test]
fn says_why() {
    assert_eq!(
        analyze("echo a; sudo ls", &context()).verdict.reason,
        "The command is blocked: 'sudo' takes another user's rights."
    );
    assert_eq!(
        analyze("$X", &context()).verdict.reason,
        "The command needs somebody's approval: the name of a command is known only when it runs."
    );
}

#[test]
fn serialises_for_typescript() {
    let analysis = analyze("nohup cat a \"$X\" > b", &context());
    assert_eq!(
        serde_json::to_value(&analysis).unwrap(),
        serde_json::json!({
            "parsed": true,
            "commands": [
                { "text": "nohup cat a …", "argv": ["nohup", "cat", "a", null], "wrapper": true },
                { "text": "cat a …", "argv": ["cat", "a", null], "wrapper": false },
            ],
            "reads": ["a", "…"],
            "writes": ["b"],
            "unresolved": [],
            "verdict": { "action": "allow", "reason": "The command was understood, and nothing in it is known to be dangerous." },
        })
    );
}

/// `exec < file` in a session's shell: what it reads then are its next lines, which nobody judged.
#[test]
fn a_shell_that_goes_on_is_not_handed_other_input() {
    let later = CommandContext { continues: true, ..context() };
    for command in ["exec < x", "exec 0<>x", "exec <&3", "exec <<E\nls\nE", "exec <<<ls"] {
        assert_eq!(analyze(command, &later).verdict.action, Action::Ask, "{command}");
        assert_eq!(action(command), Action::Allow, "{command}");
    }
    for command in ["exec >x", "exec 2>&1", "exec ls <x"] {
        assert_eq!(analyze(command, &later).verdict.action, Action::Allow, "{command}");
    }
}
