//! Programs and directories by another name, laid by the line itself or known from earlier ones.

use std::collections::HashMap;
use std::sync::Arc;

use super::*;

pub(super) const STOPPED: &[&str] = &[
    "ln -s /usr/bin/sudo x; ./x ls",
    "ln -s /usr/bin/sudo x && cd . && ./x ls",
    "ln /usr/bin/sudo x; ./x ls",
    "link /usr/bin/sudo x; ./x ls",
    "cp -s /usr/bin/sudo x; ./x ls",
    "ln -s /usr/bin/{sudo,su} .; ./sudo ls",
    "ln -s /usr/bin/sudo x; xargs ./x < f",
    "ln -s /proc/self/root r; r/usr/bin/sudo ls",
    "cd sub; ln -s /usr/bin/sudo ../x; ../x ls",
    "ln -s /usr/bin/sudo; ./sudo ls",
    "ln -s /usr/bin/sud? x; ./x ls",
    "ln -s /usr/*/sudo x; ./x ls",
    "ln -st tools /usr/bin/sudo; tools/sudo ls",
    "ln -s --target-directory=tools /usr/bin/sudo; tools/sudo ls",
    "ln -s ../../../usr/bin/sudo sub/x; sub/x ls",
    "ln -s /usr/bin tools; tools/sudo ls",
    "ln -s / r; r/usr/bin/sudo ls",
    "ln -s /usr u; ln -s u/bin b; b/sudo ls",
    "ln -s /usr/bin/sudo \"$D\"/x; cd \"$D\"; ./x ls",
    "ln -s /usr/bin/sudo $T; ./x ls",
    "ln -s \"$(command -v sudo)\" x; ./x ls",
    "ln -s \"$D/sudo\" x; ./x ls",
    "T=x; ln -s /usr/bin/sudo $T; ./x ls",
    "cp /bin/rm x; ./x -rf /",
    "cp /bin/rm tools; tools/rm -rf /",
    "cp /bin/r? x; ./x -rf /",
    "cp -r /bin b; b/rm -rf /",
    "install /bin/rm x; ./x -rf /",
    "mv /bin/rm x; ./x -rf /",
    "dd if=/bin/rm of=x; ./x -rf /",
    "cp /bin/rm x; mv x y; ./y -rf /",
    "cp /bin/rm x; cp x y; ./y -rf /",
    "ln -s /bin/bash sh2; ./sh2 -c 'sudo ls'",
    "ln -s /usr/bin/env x; ./x sudo ls",
    "ln -s /usr/bin/env x; ln -s ./x y; ./y sudo ls",
    "ln -s /bin/busybox rm; ./rm -rf /",
    "sh -c 'ln -s /usr/bin/sudo x'; ./x ls",
    "f() { ./x ls; }; ln -s /usr/bin/sudo x; f",
    "find . -exec ln -s /usr/bin/sudo x \\; ; ./x ls",
];

pub(super) const HARMLESS: &[&str] = &[
    "ln -s /usr/bin/python3 py; ./py x.py",
    "cp /usr/bin/true x; ./x",
    "cp tools/sudo x; ./x ls",
    "cp build/* dist/; ./dist/run.sh",
    "ln -s ../shared/config.json config.json; cat config.json",
    "ln -s \"$(pwd)/dist/cli.js\" cli; ./cli x",
    "cp \"$built\" app; ./app",
    "ln -sf \"$SRC/data\" data; ls data/",
    "ln -s ../lib lib; cd lib && ls",
    "python3 -m venv .venv; .venv/bin/python x.py",
    "cd -P sub && ls",
    "cd -P ../project && ls",
    "set -eu; ls",
];

fn fenced(links: &[(&str, &str)], command: &str) -> Action {
    let links = links.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect();
    analyze(command, &CommandContext { fence: true, links, ..context() }).verdict.action
}

/// A link in one call, and its name in the next: each was judged by itself.
#[test]
fn programs_keep_what_they_are_by_names_of_earlier_lines() {
    let laid = |commands: &[&str]| {
        commands.iter().fold(CommandContext::default(), |known, command| {
            let context = CommandContext { programs: known.programs, ..context() };
            let renamed = analyze(command, &context).renamed;
            let programs = context.programs.iter().map(|(name, path)| (name.clone(), path.clone())).chain(renamed);
            CommandContext { programs: Arc::new(programs.collect::<HashMap<_, _>>()), ..context }
        })
    };
    for (lines, next) in [
        (["ln -s /usr/bin/sudo x", "true"], "./x ls"),
        (["cp /bin/rm x", "mv x y"], "./y -rf /"),
        (["ln -s /usr/bin sub/b", "ln -s ./sub/b c"], "c/sudo ls"),
        (["cd sub && ln /usr/bin/sudo x", "true"], "sub/x ls"),
        (["ln -s /usr/bin/env x", "true"], "./x sudo ls"),
        (["cd \"$D\"; cp /bin/rm x", "true"], "./x -rf /"),
    ] {
        let context = laid(&lines);
        assert_ne!(analyze(next, &context).verdict.action, Action::Allow, "{lines:?} {next}");
        assert_eq!(action(next), Action::Allow, "{next}");
    }
    // What is no program needs no memory.
    assert_eq!(laid(&["ln -s ../lib lib", "cp a b; cp -r src /tmp/x; ln -s \"$X\" y"]).programs.len(), 0);
    assert_eq!(analyze("./x ls", &laid(&["ln -s /usr/bin/python3 x", "true"])).verdict.action, Action::Allow);
}

/// TT-24: the fence of `cd` looked at names, and a link led through it.
#[test]
fn the_fence_of_cd_holds_where_links_lead() {
    let out = [("/work/project/out", "/etc")];
    let deep = [("/work/project/deep", "/work/project/a/b"), ("/work/project/top", "/work/project")];
    for (links, command, expected) in [
        (&out[..], "cd out && pwd", Action::Deny),
        (&out, "cd out/ssh; ls", Action::Deny),
        (&out, "pushd ./out", Action::Deny),
        (&out, "sh -c 'cd out; ls'", Action::Deny),
        (&[], "ln -s /etc l; cd l", Action::Deny),
        (&[], "ln -s ../../etc l && cd l", Action::Deny),
        (&[], "ln -s \"$X\" l && cd l", Action::Ask),
        (&[], "ln -s a l; ln -sfn /etc l; cd l", Action::Ask),
        (&[], "ln -s a/b l && cd l && ls", Action::Allow),
        (&deep, "cd deep && ls", Action::Allow),
        (&deep, "cd deep && cd .. && ls", Action::Allow),
        (&deep, "cd top && cd -P ..", Action::Deny),
        // Which directory is above a link only the kernel knows.
        (&[], "cd -P out/..; pwd", Action::Ask),
        (&[], "cd -eP ./out/../x; pwd", Action::Ask),
        (&[], "set -P; cd out/..", Action::Ask),
        (&[], "set -o physical; cd out/..", Action::Ask),
        (&[], "bash -P -c 'cd out/..'", Action::Ask),
        (&[], "bash -o physical -c 'cd out/..'", Action::Ask),
        (&[], "cd -P ../project; ls", Action::Allow),
        (&[], "cd out/..; ls", Action::Allow),
    ] {
        assert_eq!(fenced(links, command), expected, "{command}");
    }
}

/// What is read behind a link by `..` lies above the link's target.
#[test]
fn files_behind_an_entered_link_are_those_above_its_target() {
    let links = vec![("/work/project/deep".to_owned(), "/work/project/a/b".to_owned())];
    let analysis = analyze("cd deep && cat ../key", &CommandContext { links, ..context() });
    let paths: Vec<_> = analysis.places.into_iter().flat_map(|place| place.paths).collect();
    assert_eq!(paths, ["/work/project/key", "/work/project/a/key"]);
}

#[test]
fn names_of_names_are_followed_in_bounded_steps() {
    let turns: String = (0..1_000).map(|number| format!("ln -s n{number}/n n{};", number + 1)).collect();
    let text = format!("ln -s /usr/bin n0;{turns}");
    let text = &text[..COMMAND_BYTES.min(text.len())];
    let cut = &text[..text.rfind(';').unwrap_or_default()];
    let analysis = analyze(cut, &context());
    let bytes: usize = analysis.renamed.iter().map(|(name, path)| name.len() + path.len()).sum();
    assert!(bytes < 4 << 20, "{bytes}");
    let deep = "a/".repeat(100);
    assert_ne!(action(&format!("ln -s /usr/bin/sudo {deep}x; {deep}x ls")), Action::Allow);
}
