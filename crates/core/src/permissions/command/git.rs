//! `git`: its global options stand before the subcommand and hide it from rules, and some of what it does is running others.

use super::allow::is_option;
use super::argument::{Argument, is_marked};
use super::shells::texts;
use super::unwrap::{Layer, Unwrapped};

/// Global options that take the next word, unless their value is glued to them by a `=`.
pub(super) const VALUES: [&str; 6] =
    ["-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"];
/// Global options by themselves.
const FLAGS: [&str; 15] = [
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
/// Options by which `git config` sets nothing.
const READING: [&str; 12] = [
    "--get",
    "--get-all",
    "--get-color",
    "--get-colorbool",
    "--get-regexp",
    "--get-urlmatch",
    "--list",
    "-l",
    "--unset",
    "--unset-all",
    "--help",
    "-h",
];
/// Settings with the one value that runs nothing.
const SAFE: [&str; 4] = ["core.pager=cat", "core.pager=", "commit.gpgsign=false", "tag.gpgsign=false"];

/// Subcommands of git whose business is to run programs that settings, files or their own words name.
const GIT_STARTERS: [&str; 22] = [
    "citool",
    "credential",
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

/// Whether `setting` (`key=value`) runs nothing.
fn is_harmless_setting(setting: &str) -> bool {
    let setting = setting.to_ascii_lowercase();
    SAFE.contains(&setting.as_str()) || SETTINGS.iter().any(|known| setting.starts_with(known))
}

/// Long options of one subcommand or another that name a program. git takes every beginning of an option that is no other's
/// beginning too.
const PROGRAMS: [&str; 6] =
    ["--exec", "--extcmd", "--ext-diff", "--open-files-in-pager", "--receive-pack", "--upload-pack"];

/// Whether a cluster has that letter, or may have it: not behind one of those in `takes`, whose value is glued to it.
fn may_have(word: &Argument, letter: char, takes: &str) -> bool {
    let Some(letters) = word.marked().strip_prefix('-').filter(|letters| !letters.starts_with('-')) else {
        return false;
    };
    let own = letters.find(|one| takes.contains(one)).map_or(letters, |at| &letters[..at]);
    own.contains(letter) || is_marked(own)
}

/// The values of an option, by its long name and its letter: glued, behind a `=`, or the next word.
fn values<'a>(rest: &'a [Argument], long: &'a str, letter: char) -> impl Iterator<Item = Argument> + 'a {
    rest.iter().enumerate().filter_map(move |(index, word)| {
        let text = word.marked();
        let glued = if is_option(word.marked(), long) {
            text.split_once('=').map_or("", |(_, value)| value)
        } else if word.has_letter(letter) {
            text.split_once(letter).map_or("", |(_, value)| value)
        } else {
            return None;
        };
        let next = || rest.get(index + 1).cloned().unwrap_or_else(Argument::unknown);
        Some(if glued.is_empty() { next() } else { Argument::known(glued) })
    })
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
        found.inner.push(Layer { silent: false, ..Layer::named(arguments).reading_as(layer) });
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
        // Of several words only the first is read by a shell.
        if command.len() > 1 {
            found.inner.push(Layer::named(command.to_vec()).reading_as(layer));
        }
    } else if is(0, "bisect") && is(1, "run") {
        if let Some(arguments) = rest.get(2..).filter(|command| !command.is_empty()) {
            found.inner.push(Layer::started(arguments.to_vec()).reading_as(layer));
        }
    } else if is(0, "rebase") || is(0, "difftool") {
        let long = ["--exec", "--extcmd"];
        for (index, word) in rest.iter().enumerate() {
            let text = word.marked();
            let is_long = long.iter().any(|option| is_option(word.marked(), option));
            if (is_long && text.contains('=')) || (may_have(word, 'x', "sCX") && text != "-x") {
                found.unresolved.push("an option of 'git' runs a command".to_owned());
            }
            if is_long && let Some((_, command)) = text.split_once('=') {
                texts(&[Argument::known(command)], "git --exec", found);
            } else if is_long || text == "-x" {
                texts(rest.get(index + 1..index + 2).unwrap_or_default(), "git --exec", found);
            }
        }
    } else if is(0, "filter-branch") || is(0, "filter-repo") {
        found.unresolved.push("'git filter-branch' runs commands that are not read here".to_owned());
    } else if rest.iter().any(|word| word.marked().starts_with("ext::") || word.marked().contains("=ext::")) {
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

/// The subcommand that a program of git's own is called by (`git-rebase`).
pub(super) fn subcommand_of(name: &str) -> Option<&str> {
    name.rsplit('/').next().unwrap_or(name).strip_prefix("git-").filter(|subcommand| !subcommand.is_empty())
}

/// What such a program does, as the subcommand that it is.
pub(super) fn restate(name: &str, rest: &[Argument], layer: &Layer, found: &mut Unwrapped) {
    let Some(subcommand) = subcommand_of(name) else { return };
    let own = [Argument::known("git"), Argument::known(subcommand)];
    let arguments = own.into_iter().chain(rest.iter().cloned()).collect();
    found.inner.push(Layer::named(arguments).reading_as(layer));
}

/// The options of a `git config`, and its operands: what looks like an option behind the first operand is an operand, too, and what stands
/// behind an option that takes the next word is neither.
fn config_words(words: &[Argument]) -> (Vec<&str>, &[Argument]) {
    const VALUED: [&str; 7] = ["--file", "--blob", "--type", "--default", "--comment", "--value", "--url"];
    let (mut options, mut index) = (Vec::new(), 0);
    while let Some(text) = words.get(index).map(Argument::marked).filter(|text| text.starts_with('-')) {
        index += 1;
        if text == "--" {
            break;
        }
        options.push(text);
        let takes = if text.starts_with("--") {
            VALUED.iter().any(|option| is_option(text, option)) && !text.contains('=')
        } else {
            // Behind the first of these letters its value is glued.
            text.find(['f', 't']).is_some_and(|at| at + 1 == text.len())
        };
        index += usize::from(takes);
    }
    (options, &words[index.min(words.len())..])
}

/// `git config get x`: newer versions take such words for what to do, older ones `get` for a setting that no program has.
fn reads_by_verb(words: &[Argument]) -> bool {
    let is = |index: usize, name: &str| words.get(index).and_then(Argument::exact) == Some(name);
    let is_key = |word: &Argument| word.exact().is_some_and(|key| key.contains('.') && !key.starts_with('-'));
    is(0, "get") && words.len() == 2 && is_key(&words[1])
}

/// `git config` that sets what may name a program, options that name one, `git grep -O`.
pub(super) fn starters(rest: &[Argument], found: &mut Unwrapped) {
    let is = |name: &str| rest.first().and_then(Argument::exact) == Some(name);
    let own = || rest.iter().take_while(|word| word.marked() != "--");
    let subcommand = rest.first().and_then(Argument::exact).unwrap_or_default();
    if GIT_STARTERS.contains(&subcommand) {
        found.unresolved.push(format!("'git {subcommand}' starts other programs"));
    } else if subcommand != "rebase" && own().any(|word| PROGRAMS.iter().any(|option| is_option(word.marked(), option)))
    {
        found.unresolved.push("an option of 'git' runs another program".to_owned());
    } else if subcommand == "apply" && own().any(|word| is_option(word.marked(), "--unsafe-paths")) {
        found.unresolved.push("'git apply' may write outside of the repository".to_owned());
    } else if matches!(subcommand, "init" | "clone") && own().any(|word| is_option(word.marked(), "--template")) {
        found.unresolved.push("the template of a repository may hold hooks".to_owned());
    } else if is("config") {
        let (options, words) = config_words(&rest[1..]);
        // To read, or to take settings away; others, such as `--show-scope`, only say how it tells what it reads.
        let reads = options.iter().any(|option| READING.contains(option));
        let renames = options.iter().any(|option| is_option(option, "--rename-section"));
        let harmless = match words {
            [key, value] => !renames && is_harmless_setting(&format!("{}={}", key.marked(), value.marked())),
            _ => false,
        };
        // Behind `list` nothing is set: for older versions it is a setting without a dot, which there is none.
        let lists = options.is_empty() && words.first().and_then(Argument::exact) == Some("list");
        let reads = reads || lists || reads_by_verb(words);
        if words.len() > 1 && !reads && !harmless {
            found.unresolved.push("a setting of 'git' may name a program".to_owned());
        }
    } else if is("grep") && own().any(|word| may_have(word, 'O', "ABCefm")) {
        found.unresolved.push("an option of 'git' runs another program".to_owned());
    } else if is("clone") {
        let harmless = |setting: &Argument| setting.exact().is_some_and(is_harmless_setting);
        if own().any(|word| may_have(word, 'u', "bcjo"))
            || values(rest, "--config", 'c').any(|setting| !harmless(&setting))
        {
            found.unresolved.push("an option of 'git' may name a program".to_owned());
        }
    }
}
