//! Random command lines run by a real bash: a file that a command was given in a directory is one of those that the analysis names,
//! and where the shell ends is where the analysis says that it may.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::super::argument::ANYTHING;
use super::*;

/// Every directory that a line can lead to by six of these names is there.
const NAMES: [&str; 2] = ["a", "b"];
const LEVELS: usize = 6;
/// 5 s for a line: one in some 100,000 was seen never to end, as bash went on in a loop behind its `break`. It is not compared.
const LONGEST: &str = "5";

/// `@` is the root of all, `%` and `^` are lines, and `?` is the name of a file of its own.
const LEAVES: &str = r#"cd a   cd b   cd a/b   cd @/a   cd @/b/a   cd ..   cd a   cd b   pushd b   cd a/b   true   false   cat ?   cat ?
cat ?   cat ?   nohup cd a   env cd b   command cd a   builtin cd b   cd missing   time cd a"#;
const FORMS: &str = r#"% && ^   % && ^   % && ^   % || ^   %; ^   %¶^   % | ^   % & ^   ( % )   { %; }   ( % ) && ^   { %; } && ^
{ %; } | ^   ( % ) | ^   % | { ^; }   { %; } || ^   echo $( % )   X=$( % ) && ^   ! % && ^   ! %
if %; then ^; fi   if %; then true; else ^; fi   f() { %; }; ^ && f   f() { %; } && f && ^   g() ( % ); ^; g
case x in x) %;; esac && ^   for i in 1 2; do %; done   for i in 1; do %; done && ^   eval '%' && ^
bash -c '%' && ^   sh -c '%'; ^   trap '%' ERR; ^   trap '%' EXIT; ^   time % && ^   { % && ^; }   echo `%` && ^
% &&¶^   % ||¶^   % |¶^   % && ^ &   % |& ^   until %; do ^; break; done   while %; do ^; break; done && true
% > /dev/null && ^   [ -n "$( % )" ] && ^   cat < <( % ) && ^   select x in 1; do %; done; ^   coproc % ; ^
coproc { %; }; ^   time { %; } && ^   time -p % | ^   echo "$( % )" && ^   X="$( % )"; ^   : "${x:-$( % )}" && ^
cat <<E >&2¶$( % )¶E¶^   [[ -n $( % ) ]] && ^   case "$( % )" in *) ^;; esac   for i in $( % ); do ^; done
% > "$( ^ )"   if ! %; then ^; fi   if true; then %; fi && ^   { %; } > x && ^   ( % ) || ^ && true
% && ^ || true   % || true && ^   x=( $( % ) ) && ^   for d in a b; do cd $d && %; done; ^
for d in a/b @/b; do ( cd "$d" && % ); done && ^   for d in b ..; do cd $d; %; done   for d in a b; do cd $d || ^; done && %"#;

/// Three spaces part them, and a pilcrow is the end of a line.
fn parted(texts: &str) -> Vec<String> {
    texts.lines().flat_map(|line| line.split("   ")).map(|text| text.replace('¶', "\n")).collect()
}

fn line() -> impl Strategy<Value = String> {
    prop::sample::select(parted(LEAVES)).prop_recursive(5, 12, 2, |inner| {
        (prop::sample::select(parted(FORMS)), inner.clone(), inner).prop_map(|(form, first, second)| {
            // Quotes and back-quotes hold none of their kind. Functions call none: it might be the one that calls, without end.
            let nests = ["'", "`", "f()", "g()"].iter().any(|held| form.contains(held) && first.contains(held));
            if nests { first } else { form.replace('%', &first).replace('^', &second) }
        })
    })
}

/// With numbers for the files, and the root for what stands for it.
fn written(line: &str, root: &Path) -> String {
    let mut parts = line.split('?');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (number, part) in parts.enumerate() {
        text.push_str(&format!("k{number}{part}"));
    }
    text.replace('@', root.to_str().unwrap())
}

/// What bash does: each file that was read with the directory where, and last the code with the directory where it ended.
fn run(line: &str, start: &Path) -> Vec<(String, String)> {
    let script = format!(
        "exec 9>&1 >/dev/null 2>&1 </dev/null\ncat() {{ printf '%s %s\\n' \"$1\" \"$PWD\" >&9; }}\nexport -f cat\n\
         eval {}\nprintf 'end=%s %s\\n' $? \"$PWD\" >&9\ntrap - EXIT ERR\n",
        quoted(line)
    );
    let mut bash = Command::new("timeout");
    bash.args([LONGEST, "/bin/bash", "--norc", "-c", &script])
        .current_dir(start)
        .env("PWD", start)
        .env_remove("OLDPWD")
        .stdin(Stdio::null());
    let output = bash.output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    told.lines().map(|line| line.split_once(' ').unwrap()).map(|(what, at)| (what.to_owned(), at.to_owned())).collect()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn grow(directory: &Path, levels: usize) {
    for name in NAMES.iter().filter(|_| levels > 0) {
        let below = directory.join(name);
        std::fs::create_dir(&below).unwrap();
        grow(&below, levels - 1);
    }
}

/// Whether one of the paths is this one, with any text for what is not known of it.
fn hold(paths: &[String], path: &str) -> bool {
    paths.iter().any(|known| match known.split_once(ANYTHING) {
        None => known == path,
        Some((before, rest)) => {
            let behind = rest.rsplit(ANYTHING).next().unwrap_or_default();
            path.len() >= before.len() + behind.len() && path.starts_with(before) && path.ends_with(behind)
        }
    })
}

#[test]
fn no_command_of_a_line_runs_where_the_analysis_does_not_look() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path().canonicalize().unwrap();
    grow(&root, LEVELS);
    let start = root.join("a/b");
    let context = CommandContext {
        working_directory: start.to_str().unwrap().to_owned(),
        roots: vec![root.to_str().unwrap().to_owned()],
        ..CommandContext::default()
    };
    let in_session = CommandContext { continues: true, ..context.clone() };
    let config = ProptestConfig::with_cases(std::env::var("CASES").map_or(600, |cases| cases.parse().unwrap()));
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let looked = std::cell::Cell::new(0);
    let known = std::cell::Cell::new(0);
    runner
        .run(&(line(), any::<bool>()), |(line, continues)| {
            let line = written(&line, &root);
            let analysis = analyze(&line, if continues { &in_session } else { &context });
            // Somebody looks at it.
            if analysis.verdict.action != Action::Allow {
                return Ok(());
            }
            looked.set(looked.get() + 1);
            let mut told = run(&line, &start);
            // A line may end its shell.
            let Some(end) = told.iter().position(|(what, _)| what.starts_with("end=")) else { return Ok(()) };
            let (end, at) = told.remove(end);
            prop_assert!(hold(&analysis.entered.all, &at), "ended in {}: {}\n{:?}", at, line, analysis.entered);
            if let Some(last) = analysis.entered.last.as_ref().filter(|_| end == "end=0") {
                known.set(known.get() + 1);
                prop_assert!(hold(last, &at), "ended well in {}: {}\n{:?}", at, line, last);
            }
            for (file, at) in told.into_iter().filter(|(file, _)| file.starts_with('k')) {
                let path = format!("{at}/{file}");
                let is_there = analysis.places.iter().any(|place| hold(&place.paths, &path));
                prop_assert!(is_there, "{}: {}\n{:?}", path, line, analysis.places);
            }
            Ok(())
        })
        .unwrap();
    // That lines are compared at all.
    assert!(looked.get() > 200 && known.get() > 5, "{} {}", looked.get(), known.get());
}
