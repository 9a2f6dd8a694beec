//! Programs that run others by an option or a subcommand: harmless by their names, and not by these words.

use self::settings::is_setting_of_go;
use self::tables::{DIRECT, FLAGS, OPTIONS, SUBCOMMANDS, TEXTS, VALUED};
use super::allow::is_option;
use super::argument::Argument;
use super::shells::texts;
use super::unwrap::{Layer, Unwrapped};
use super::{databases, git, makers};

mod compilers;
mod consoles;
mod managers;
mod settings;
mod tables;
mod with;

/// Looks for what `name` runs besides itself.
pub(super) fn look(name: &str, rest: &[Argument], found: &mut Unwrapped) {
    let name = compilers::plain(name).unwrap_or(name);
    let mut options = OPTIONS.iter().filter(|(names, _)| names.contains(&name)).flat_map(|(_, options)| *options);
    let own = || rest.iter().take_while(|word| word.marked() != "--");
    if let Some(option) = options.find(|option| own().any(|word| is_option(word.marked(), option))) {
        found.unresolved.push(format!("'{option}' of '{name}' runs another program"));
    }
    found.unresolved.extend(compilers::starts(name, rest));
    found.unresolved.extend(consoles::runs_text(name, rest));
    found.unresolved.extend(settings::names_program(name, rest));
    if matches!(name, "pnpm" | "yarn") {
        managers::implicit(name, rest, found);
    }
    let is_first = |names: &[&str]| {
        first_operand(rest).is_some_and(|(index, word)| names.contains(&word) || later(own(), index, names).is_some())
    };
    match name {
        "fd" | "fdfind" => fd(rest, found),
        "git" => git::starters(rest, found),
        "docker" | "podman" | "nerdctl" if in_container(rest) => {
            found.unresolved.push(format!("'{name}' runs commands in a container, which are not read here"));
        }
        "rsync" if rest.iter().enumerate().any(|(index, word)| names_shell(word.marked(), rest.get(index + 1))) => {
            found.unresolved.push("'-e' of 'rsync' runs another program".to_owned());
        }
        _ if makers::MAKERS.contains(&name) => makers::make(name, rest, found),
        "zip" if rest.iter().any(|word| word.marked().starts_with('-') && word.marked().contains("TT")) => {
            found.unresolved.push("'-TT' of 'zip' runs another program".to_owned());
        }
        "gh" if is_first(&["alias", "config", "extension"])
            && rest.iter().any(|word| matches!(word.exact(), Some("set" | "import"))) =>
        {
            found.unresolved.push("a setting of 'gh' may name a program".to_owned());
        }
        "mvn" | "mvnw" | "./mvnw"
            if rest
                .iter()
                .any(|word| word.marked().starts_with("exec:") || word.marked().contains("exec-maven-plugin")) =>
        {
            found.unresolved.push(format!("'{name}' starts a program that its settings name"));
        }
        _ if TEXTS.iter().any(|(known, subcommands)| *known == name && is_first(subcommands)) => {
            found.unresolved.push(format!("'{name}' runs text or commands that are not read here"));
        }
        _ if git::is_starter(name) => found.unresolved.push(format!("'{name}' starts other programs")),
        _ if emulates(name) => found.unresolved.push(format!("'{name}' runs a program on another machine's processor")),
        "aria2c" if rest.iter().any(|word| word.marked().starts_with("--on-")) => {
            found.unresolved.push("an option of 'aria2c' runs another program".to_owned());
        }
        "go" if rest.iter().any(|word| word.marked().contains("-extld"))
            || (is_first(&["env"])
                && own().any(|word| word.marked() == "-w" || word.is_dynamic())
                && !own().all(|word| is_setting_of_go(word.marked()))) =>
        {
            found.unresolved.push("a setting of 'go' may name a program".to_owned());
        }
        "cargo" if is_first(&["watch"]) => {
            found.unresolved.push("'cargo watch' runs commands that are not read here".to_owned());
        }
        "kubectl" | "oc" if is_first(&["exec", "run", "debug", "cp"]) => {
            found.unresolved.push(format!("'{name}' runs commands elsewhere, which are not read here"));
        }
        "ruby" if rest.iter().any(|word| word.marked().starts_with("-S")) => {
            found.unresolved.push("'ruby -S' looks for a program by its name".to_owned());
        }
        "cmake" => makers::cmake(rest, found),
        "nix" if is_first(&["run", "shell", "develop", "eval"]) => {
            found.unresolved.push("'nix' starts programs that are not read here".to_owned());
        }
        "ccache" | "sccache" | "distcc" | "icecc" => compilers::wrapped(name, rest, found),
        "torchrun" => compilers::torchrun(rest, found),
        "bun" if is_first(&["exec"]) => {
            let behind = rest.iter().skip_while(|word| word.exact() != Some("exec")).skip(1);
            texts(&behind.cloned().collect::<Vec<_>>(), name, found);
        }
        _ if databases::CLIENTS.contains(&name) => {
            if databases::has_command(name, rest) {
                found.unresolved.push(format!("the text of '{name}' may run commands"));
            }
        }
        _ if DIRECT.contains(&name) => started(name, rest, found),
        _ => {
            let Some(index) = first_place(rest) else { return };
            let is_runner = || SUBCOMMANDS.iter().any(|(known, ..)| *known == name);
            if is_runner() && rest[index].is_dynamic() {
                found.unresolved.push(format!("what '{name}' does is known only when it runs"));
            }
            let Some(word) = rest[index].exact() else { return };
            if matches!(name, "npm" | "pnpm" | "yarn")
                && matches!(word, "run" | "run-script" | "rum" | "urn")
                && rest.get(index + 1).is_some_and(|script| script.exact() == Some("env"))
            {
                started(name, &rest[index + 2..], found);
            }
            if name == "npm" && runs_words(word) && hands_text(rest, index) {
                found.unresolved.push(format!("'-c' of '{name}' runs a text"));
            }
            // npm takes every beginning of a command that is no other's.
            let is_cut = |full: &&str| name == "npm" && word.len() > 2 && full.starts_with(word);
            let starts = |(known, names, _): &&(&str, &[&str], usize)| {
                *known == name && (names.contains(&word) || names.iter().any(is_cut))
            };
            if let Some((_, _, between)) = SUBCOMMANDS.iter().find(starts) {
                // `yarn node` starts what it says itself.
                let start = if name == "yarn" && word == "node" { index } else { index + 1 };
                behind(name, &rest[start..], *between, found);
            } else {
                if name == "npm"
                    && later(own(), index, &["exec", "x"]).is_some()
                    && own().any(|word| word.exact() == Some("-c"))
                {
                    found.unresolved.push("'-c' of 'npm' runs a text".to_owned());
                }
                for (_, names, between) in SUBCOMMANDS.iter().filter(|(known, ..)| *known == name) {
                    if let Some(at) = later(own(), index, names) {
                        behind(name, &rest[at + 1..], *between, found);
                    }
                }
            }
        }
    }
}

/// Where one of these subcommands stands behind the first operand, which is the value of an option that is not known here, or one of these
/// that take a subcommand of their own.
fn later<'a>(words: impl Iterator<Item = &'a Argument>, first: usize, names: &[&str]) -> Option<usize> {
    const OVER: [&str; 5] = ["env", "recursive", "tool", "workspace", "workspaces"];
    let words: Vec<&str> = words.map(Argument::marked).collect();
    let is_over = words.get(first).is_some_and(|word| OVER.contains(word));
    let is_value = words.iter().take(first).any(|word| !word.contains('='));
    let is_one = |at: &usize| names.contains(&words[*at]);
    if is_over || is_value { (first + 1..words.len()).find(is_one) } else { None }
}

/// What a subcommand starts that stands behind its options and so many words.
fn behind(name: &str, words: &[Argument], between: usize, found: &mut Unwrapped) {
    let options = if between == 0 { 0 } else { words.iter().take_while(|word| word.marked().starts_with('-')).count() };
    started(name, words.get(options + between..).unwrap_or_default(), found);
}

/// Whether rsync is told by this word to reach the other side by another program than the one that it takes anyway.
fn names_shell(word: &str, next: Option<&Argument>) -> bool {
    let is_own = |value: &str| value == "ssh";
    // The first `e` of a cluster takes what stands behind it.
    let is_cluster = word.starts_with('-') && !word.starts_with("--");
    let takes_next = word == "--rsh" || (is_cluster && word.find('e').is_some_and(|at| at + 1 == word.len()));
    match word.split_once('=') {
        Some((option, value)) if is_option(option, "--rsh") => !is_own(value),
        None if takes_next => !next.and_then(Argument::exact).is_some_and(is_own),
        Some(_) | None => is_option(word, "-e") || is_option(word, "--rsh"),
    }
}

/// Whether a subcommand has npm start what the other words say.
fn runs_words(word: &str) -> bool {
    matches!(word, "exec" | "exe" | "x")
}

/// Whether npm is given a text to run by `-c`, before what it starts.
fn hands_text(rest: &[Argument], subcommand: usize) -> bool {
    let behind =
        rest[subcommand + 1..].iter().take_while(|word| word.marked().starts_with('-') && word.marked() != "--");
    rest[..subcommand].iter().chain(behind).any(|word| word.exact() == Some("-c"))
}

/// Whether a call of docker runs something in a container, wherever its own options end.
fn in_container(rest: &[Argument]) -> bool {
    let words = || rest.iter().filter_map(Argument::exact);
    let starts = |names: &[&str]| words().take(16).any(|word| names.contains(&word));
    match first_operand(rest) {
        // These take names that say nothing of what is done.
        Some((_, "build" | "buildx" | "pull" | "push" | "tag" | "images" | "logs" | "inspect")) => false,
        _ => starts(&["run", "exec", "create", "container", "cp"]),
    }
}

/// `qemu-aarch64 program` and its kin.
fn emulates(name: &str) -> bool {
    const OTHERS: [&str; 6] = ["img", "io", "nbd", "ga", "pr-helper", "storage-daemon"];
    name.strip_prefix("qemu-").is_some_and(|kind| !OTHERS.contains(&kind))
}

/// The first word that is no option, with its place.
fn first_operand(rest: &[Argument]) -> Option<(usize, &str)> {
    let index = first_place(rest)?;
    Some((index, rest[index].exact()?))
}

/// Its place alone.
fn first_place(rest: &[Argument]) -> Option<usize> {
    let mut index = 0;
    while let Some(word) = rest.get(index) {
        if !word.marked().starts_with('-') {
            return Some(index);
        }
        index += 1 + usize::from(VALUED.contains(&word.marked()));
    }
    None
}

/// The command behind options of a runner. The runner's own words name it for rules and allow lists.
fn started(name: &str, words: &[Argument], found: &mut Unwrapped) {
    let is_skipped = |word: &&Argument| {
        let text = word.marked();
        FLAGS.contains(&text)
            || (name == "cross-env" && text.contains('='))
            || (text == "run" && matches!(name, "dotenv" | "uv"))
    };
    let mut skipped = 0;
    while let Some(word) = words.get(skipped) {
        skipped += match with::length(name, &words[skipped..]) {
            0 if is_skipped(&word) => 1,
            0 => break,
            taken => taken,
        };
    }
    let (own, command) = words.split_at(skipped);
    let is_setting = |word: &&str| name == "cross-env" && word.contains('=');
    found.assigned.extend(own.iter().map(Argument::marked).filter(is_setting).map(str::to_owned));
    let Some(first) = command.first() else { return };
    if first.is_dynamic() || first.marked().starts_with('-') {
        found.unresolved.push(format!("what '{name}' starts is known only when it runs"));
        return;
    }
    // What is started may be told apart from what it is started with (`mise exec node@20 -- x`).
    let dashes = command.iter().position(|word| word.marked() == "--");
    if let Some(apart) = dashes.and_then(|at| command.get(at + 1..)).filter(|apart| !apart.is_empty()) {
        found.inner.push(Layer::named(apart.to_vec()));
    }
    let mut arguments = command.to_vec();
    // `rimraf@5`
    let is_version = |(bare, version): &(&str, &str)| {
        // `npm:a/rimraf` for those that fetch it.
        let is_place = DIRECT.contains(&name) && version.contains(':') && !version.contains("..");
        !bare.is_empty() && !bare.contains('/') && (is_place || !version.contains('/'))
    };
    if let Some((bare, _)) = first.exact().and_then(|text| text.split_once('@')).filter(is_version) {
        arguments[0] = Argument::known(bare);
    }
    // `hatch run lint:ruff`: what stands before it is an environment.
    if let Some((_, bare)) = first.exact().and_then(|text| text.split_once(':')).filter(|_| name == "hatch") {
        arguments[0] = Argument::known(bare);
    }
    found.inner.push(Layer::named(arguments));
}

/// `fd -x command`: the rest of the words, once for each file.
fn fd(rest: &[Argument], found: &mut Unwrapped) {
    for (index, word) in rest.iter().enumerate() {
        let text = word.marked();
        let short = text.strip_prefix('-').filter(|short| !short.starts_with('-'));
        let runs = short.is_some_and(|short| short.contains(['x', 'X'])) || text.starts_with("--exec");
        if !runs {
            continue;
        }
        let is_last = short.is_some_and(|short| short.ends_with(['x', 'X'])) || !text.contains('=');
        // `{.}`, `{//}`: the file, or a part of its name.
        let is_file =
            |word: &Argument| ["{}", "{.}", "{/}", "{//}", "{/.}"].iter().any(|mark| word.marked().contains(mark));
        let words = rest[index + 1..].iter();
        let mut arguments: Vec<Argument> =
            words.map(|word| if is_file(word) { Argument::unknown() } else { word.clone() }).collect();
        if !is_last || arguments.is_empty() {
            found.unresolved.push("'fd' runs commands that are known only when it runs".to_owned());
            return;
        }
        arguments.push(Argument::unknown());
        found.inner.push(Layer::started(arguments));
        return;
    }
}
