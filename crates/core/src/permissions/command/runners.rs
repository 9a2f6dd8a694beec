//! Programs that run others by an option or a subcommand: harmless by their names, and not by these words.

use super::allow::is_option;
use super::argument::Argument;
use super::git::is_harmless_setting;
use super::unwrap::{Layer, Unwrapped};

/// Options that name a program, or hand over program text.
const OPTIONS: [(&[&str], &[&str]); 14] = [
    (&["rg"], &["--pre", "--hostname-bin"]),
    (&["ag", "ack", "bat", "batcat", "delta"], &["--pager"]),
    (&["sort"], &["--compress-program"]),
    (&["split"], &["--filter"]),
    (&["man"], &["-P", "--pager", "-H", "--html"]),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["scp", "sftp"], &["-S", "-o", "-F"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["make", "gmake"], &["--eval", "SHELL", ".SHELLFLAGS", "MAKEFLAGS"]),
    (&["npx", "npm", "pnpm"], &["--call", "--script-shell", "--shell"]),
    (&["git"], &["--upload-pack", "--receive-pack", "--open-files-in-pager", "--ext-diff"]),
    (&["psql", "mysql", "mariadb", "sqlite3"], &["-cmd", "--init-command", "-init"]),
    (&["less", "more"], &["+"]),
    (&["docker", "podman", "nerdctl"], &["--privileged"]),
];

/// Programs that start what stands behind a subcommand, and how many words stand between.
const SUBCOMMANDS: [(&str, &[&str], usize); 20] = [
    ("npm", &["exec", "x"], 0),
    ("pnpm", &["exec", "dlx"], 0),
    ("yarn", &["exec", "dlx"], 0),
    ("bun", &["x"], 0),
    ("bundle", &["exec"], 0),
    ("poetry", &["run"], 0),
    ("uv", &["run"], 0),
    ("pipenv", &["run"], 0),
    ("pipx", &["run"], 0),
    ("pdm", &["run"], 0),
    ("rye", &["run"], 0),
    ("hatch", &["run"], 0),
    ("conda", &["run"], 0),
    ("mise", &["exec", "x"], 0),
    ("direnv", &["exec"], 1),
    ("rbenv", &["exec"], 0),
    ("pyenv", &["exec"], 0),
    ("devbox", &["run"], 0),
    ("doppler", &["run"], 0),
    ("dotenvx", &["run"], 0),
];
/// Programs that start what their own words say.
const DIRECT: [&str; 6] = ["npx", "bunx", "pnpx", "uvx", "cross-env", "dotenv"];
/// Options of those that take no further word.
const FLAGS: [&str; 8] = ["-y", "--yes", "--no", "-q", "--quiet", "--silent", "--no-install", "--"];

/// Looks for what `name` runs besides itself.
pub(super) fn look(name: &str, rest: &[Argument], found: &mut Unwrapped) {
    let mut options = OPTIONS.iter().filter(|(names, _)| names.contains(&name)).flat_map(|(_, options)| *options);
    let own = || rest.iter().take_while(|word| word.marked() != "--");
    if let Some(option) = options.find(|option| own().any(|word| is_option(word.marked(), option))) {
        found.unresolved.push(format!("'{option}' of '{name}' runs another program"));
    }
    let is_first = |names: &[&str]| first_operand(rest).is_some_and(|(_, word)| names.contains(&word));
    match name {
        "fd" | "fdfind" => fd(rest, found),
        "git" => git(rest, found),
        "docker" | "podman" | "nerdctl" if is_first(&["run", "exec", "create", "container", "cp"]) => {
            found.unresolved.push(format!("'{name}' runs commands in a container, which are not read here"));
        }
        "make" if rest.iter().any(|word| matches!(word.exact(), Some("-f-" | "-" | "/dev/stdin"))) => {
            found.unresolved.push("'make' runs what it reads from its input".to_owned());
        }
        "sqlite3" | "psql" | "mysql" | "mariadb" => {
            let runs = |text: &str| {
                text.contains("\\!") || [".sh", ".sy", ".load", "system "].iter().any(|sign| text.contains(sign))
            };
            if rest.iter().any(|word| word.exact().is_none_or(runs)) {
                found.unresolved.push(format!("the text of '{name}' may run commands"));
            }
        }
        _ if DIRECT.contains(&name) => started(name, rest, found),
        _ => {
            let Some((_, names, between)) = SUBCOMMANDS.iter().find(|(known, _, _)| *known == name) else { return };
            if let Some((index, word)) = first_operand(rest)
                && names.contains(&word)
            {
                started(name, rest.get(index + 1 + between..).unwrap_or_default(), found);
            }
        }
    }
}

/// The first word that is no option, with its place.
fn first_operand(rest: &[Argument]) -> Option<(usize, &str)> {
    rest.iter()
        .enumerate()
        .find(|(_, word)| !word.marked().starts_with('-'))
        .and_then(|(index, word)| Some((index, word.exact()?)))
}

/// The command behind options of a runner. The runner's own words name it for rules and allow lists.
fn started(name: &str, words: &[Argument], found: &mut Unwrapped) {
    let is_skipped = |word: &&Argument| {
        let text = word.marked();
        FLAGS.contains(&text) || (name == "cross-env" && text.contains('='))
    };
    let skipped = words.iter().take_while(is_skipped).count();
    let command = &words[skipped..];
    let Some(first) = command.first() else { return };
    if first.is_dynamic() || first.marked().starts_with('-') {
        found.unresolved.push(format!("what '{name}' starts is known only when it runs"));
        return;
    }
    found.inner.push(Layer { arguments: command.to_vec(), has_terminal_input: false, restated: true, silent: true });
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
        let mut arguments = rest[index + 1..].to_vec();
        if !is_last || arguments.is_empty() {
            found.unresolved.push("'fd' runs commands that are known only when it runs".to_owned());
            return;
        }
        arguments.push(Argument::unknown());
        found.inner.push(Layer { arguments, has_terminal_input: false, restated: false, silent: false });
        return;
    }
}

/// `git config` that sets what may name a program, `git archive --exec`, `git grep -O`.
fn git(rest: &[Argument], found: &mut Unwrapped) {
    let is = |name: &str| rest.first().and_then(Argument::exact) == Some(name);
    let has = |option: &str| rest.iter().any(|word| word.marked().starts_with(option));
    if is("config") {
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
    } else if is("clone") && (has("-c") || has("--config") || has("-u") || has("--template")) {
        let words: Vec<Option<&str>> = rest.iter().map(Argument::exact).collect();
        let glued = has("-u") || has("--config=") || has("--template");
        let settings = words.windows(2).filter(|pair| matches!(pair[0], Some("-c" | "--config")));
        let mut settings = settings.map(|pair| pair[1].is_some_and(is_harmless_setting));
        if glued || settings.any(|harmless| !harmless) {
            found.unresolved.push("an option of 'git' may name a program".to_owned());
        }
    }
}
