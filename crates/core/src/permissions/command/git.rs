//! `git`: its global options stand before the subcommand and hide it from rules, and some of what it does is running others.

use super::argument::Argument;
use super::shells::texts;
use super::unwrap::{Layer, Unwrapped};

/// Global options that take the next word, unless their value is glued to them by a `=`.
const VALUES: [&str; 6] = ["-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"];
/// Global options by themselves.
const FLAGS: [&str; 16] = [
    "-P",
    "-p",
    "--no-pager",
    "--paginate",
    "--bare",
    "--no-replace-objects",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-advice",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
    "--html-path",
    "--version",
    "--help",
];
/// Settings that `-c` may set without a question: none of them names a program.
const SETTINGS: [&str; 8] = [
    "user.name=",
    "user.email=",
    "color.",
    "advice.",
    "core.quotepath=",
    "init.defaultbranch=",
    "core.autocrlf=",
    "gc.auto=",
];
/// Settings with the one value that runs nothing.
const SAFE: [&str; 4] = ["core.pager=cat", "core.pager=", "commit.gpgsign=false", "tag.gpgsign=false"];

/// Subcommands of git whose business is to run programs that settings, files or their own words name.
const GIT_STARTERS: [&str; 21] = [
    "citool",
    "cvsexportcommit",
    "cvsimport",
    "cvsserver",
    "daemon",
    "difftool",
    "for-each-repo",
    "gui",
    "hook",
    "instaweb",
    "maintenance",
    "merge-index",
    "mergetool",
    "p4",
    "quiltimport",
    "remote-ext",
    "remote-fd",
    "send-email",
    "shell",
    "submodule--helper",
    "web--browse",
];

/// Options of subcommands that name a program to run.
const STARTING: [&str; 5] = ["--exec", "--extcmd", "--open-files-in-pager", "--receive-pack", "--upload-pack"];

/// Whether a word is that long option, or a beginning of it, with a value or without.
fn begins(word: &str, option: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    name.len() > 2 && option.starts_with(name)
}

/// Whether `setting` (`key=value`) runs nothing.
fn is_harmless_setting(setting: &str) -> bool {
    let setting = setting.to_ascii_lowercase();
    SAFE.contains(&setting.as_str()) || SETTINGS.iter().any(|known| setting.starts_with(known))
}

/// What a call of git is without its global options, and what it runs.
pub(super) fn git(arguments: &[Argument], layer: &Layer, found: &mut Unwrapped) {
    let words = &arguments[1..];
    let mut index = 0;
    let unknown = |found: &mut Unwrapped| {
        found.unresolved.push("an option of 'git' makes what it runs known only when it runs".to_owned());
    };
    while let Some(word) = words.get(index) {
        let Some(text) = word.exact() else {
            // Even a name that is partly known may be an option or a subcommand.
            unknown(found);
            return;
        };
        if !text.starts_with('-') {
            break;
        }
        index += 1;
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        if VALUES.contains(&name) {
            index += usize::from(!text.contains('='));
        } else if text == "-c" {
            let harmless = words.get(index).and_then(Argument::exact).is_some_and(is_harmless_setting);
            index += 1;
            if !harmless {
                unknown(found);
            }
        } else if !FLAGS.contains(&text) {
            unknown(found);
        }
    }
    let Some(rest) = words.get(index..).filter(|rest| !rest.is_empty()) else { return };
    if index > 0 {
        let arguments = arguments[..1].iter().chain(rest).cloned().collect();
        found.transparent = true;
        found.inner.push(Layer {
            arguments,
            has_terminal_input: layer.has_terminal_input,
            restated: true,
            silent: false,
        });
        // The plain spelling is looked into in its turn.
        return;
    }
    runs(rest, layer, found);
}

/// What subcommands run.
fn runs(rest: &[Argument], layer: &Layer, found: &mut Unwrapped) {
    let after =
        |option: &str| rest.iter().position(|word| word.exact() == Some(option)).map(|position| &rest[position + 1..]);
    let is = |index: usize, name: &str| rest.get(index).and_then(Argument::exact) == Some(name);
    if is(0, "submodule")
        && let Some(command) = after("foreach")
    {
        let options = command.iter().take_while(|word| word.marked().starts_with('-')).count();
        let command = &command[options..];
        texts(command, "git submodule foreach", found);
    } else if is(0, "bisect") && is(1, "run") {
        if let Some(arguments) = rest.get(2..).filter(|command| !command.is_empty()) {
            let has_terminal_input = layer.has_terminal_input;
            found.inner.push(Layer {
                arguments: arguments.to_vec(),
                has_terminal_input,
                restated: false,
                silent: false,
            });
        }
    } else if is(0, "rebase") || is(0, "difftool") {
        for word in rest {
            let text = word.marked();
            let glued = ["--exec=", "--extcmd=", "-x"].iter().find_map(|option| text.strip_prefix(option));
            let cluster = !text.starts_with("--") && text.starts_with('-') && text != "-x" && text.contains('x');
            if glued.is_some_and(|text| !text.is_empty()) || cluster {
                found.unresolved.push("an option of 'git' runs a command".to_owned());
            }
        }
        for option in ["--exec", "--extcmd", "-x"] {
            if let Some(command) = after(option) {
                texts(command.get(..1).unwrap_or_default(), "git --exec", found);
            }
        }
    } else if is(0, "filter-branch") || is(0, "filter-repo") {
        found.unresolved.push("'git filter-branch' runs commands that are not read here".to_owned());
    } else if rest.iter().any(|word| word.marked().starts_with("ext::")) {
        found.unresolved.push("an address of 'git' runs a command".to_owned());
    } else if is(0, "config") && rest.iter().any(|word| word.marked().starts_with('!')) {
        found.unresolved.push("a setting of 'git' gives a name to a command".to_owned());
    }
}

/// Whether this is a subcommand of git by the name of its own program.
pub(super) fn is_starter(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    base.strip_prefix("git-").is_some_and(|subcommand| GIT_STARTERS.contains(&subcommand))
}

/// `git config` that sets what may name a program, `git archive --exec`, `git grep -O`.
pub(super) fn starters(rest: &[Argument], found: &mut Unwrapped) {
    let is = |name: &str| rest.first().and_then(Argument::exact) == Some(name);
    let has = |option: &str| rest.iter().any(|word| word.marked().starts_with(option));
    let subcommand = rest.first().and_then(Argument::exact).unwrap_or_default();
    // git takes the beginning of an option for the whole; those that are written out are looked into where that is possible.
    let is_cut = |word: &Argument| {
        let text = word.marked();
        STARTING.iter().any(|option| begins(text, option))
            && !(matches!(subcommand, "rebase" | "difftool")
                && (text.starts_with("--exec") || text.starts_with("--extcmd")))
    };
    if rest.iter().take_while(|word| word.marked() != "--").any(is_cut) {
        found.unresolved.push("an option of 'git' runs another program".to_owned());
        return;
    }
    if GIT_STARTERS.contains(&subcommand) {
        found.unresolved.push(format!("'git {subcommand}' starts other programs"));
    } else if matches!(subcommand, "push" | "send-pack" | "fetch-pack") && has("--exec") {
        found.unresolved.push("an option of 'git' runs another program".to_owned());
    } else if subcommand == "apply" && has("--unsafe") {
        found.unresolved.push("'git apply' may write outside of the repository".to_owned());
    } else if subcommand == "init" && has("--temp") {
        found.unresolved.push("the template of a repository may hold hooks".to_owned());
    } else if is("config") {
        let reads = ["--get", "--list", "-l", "--unset", "--show", "--help"].iter().any(|option| has(option));
        let words: Vec<&Argument> =
            rest[1..].iter().filter(|word| !word.marked().starts_with('-') || word.marked() == "-").collect();
        let harmless = match words.as_slice() {
            [key, value] => is_harmless_setting(&format!("{}={}", key.marked(), value.marked())),
            _ => false,
        };
        if words.len() > 1 && !reads && !harmless {
            found.unresolved.push("a setting of 'git' may name a program".to_owned());
        }
    } else if (is("archive") && has("--exec")) || (is("grep") && has("-O")) {
        found.unresolved.push("an option of 'git' runs another program".to_owned());
    } else if is("clone") && (has("-c") || has("--co") || has("-u") || has("--te")) {
        let words: Vec<Option<&str>> = rest.iter().map(Argument::exact).collect();
        let is_glued = |word: &&Argument| word.marked().starts_with("-c") && word.marked() != "-c";
        let is_setting = |word: &Argument| word.marked().contains('=') && begins(word.marked(), "--config");
        let glued = has("-u") || rest.iter().any(is_setting) || has("--te") || rest.iter().any(|word| is_glued(&word));
        let settings = words.windows(2).filter(|pair| matches!(pair[0], Some("-c" | "--config")));
        let mut settings = settings.map(|pair| pair[1].is_some_and(is_harmless_setting));
        if glued || settings.any(|harmless| !harmless) {
            found.unresolved.push("an option of 'git' may name a program".to_owned());
        }
    }
}
