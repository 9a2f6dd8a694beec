//! Programs that run others by an option or a subcommand: harmless by their names, and not by these words.

use super::allow::is_option;
use super::argument::Argument;
use super::git;
use super::shells::is_input;
use super::unwrap::{Layer, Unwrapped};
use super::variables::{self, Becomes};

/// Options that name a program, or hand over program text.
const OPTIONS: &[(&[&str], &[&str])] = &[
    (&["rg"], &["--pre", "--hostname-bin"]),
    (&["ag", "ack", "bat", "batcat", "delta"], &["--pager"]),
    (&["sort"], &["--compress-program"]),
    (&["split"], &["--filter"]),
    (&["install"], &["--strip-program"]),
    (&["sdiff", "diff3"], &["--diff-program"]),
    (&["prove"], &["--exec", "-e"]),
    (&["dpkg"], &["--pre-invoke", "--post-invoke", "--status-logger"]),
    (&["man"], &["-P", "--pager", "-H", "--html", "-C", "--config-file"]),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["scp", "sftp"], &["-S", "-o", "-F", "-D"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["make", "gmake", "bmake"], &["--eval", "SHELL", ".SHELLFLAGS", "MAKEFLAGS", "MAKEFILES", "MAKE"]),
    (&["npx", "npm", "pnpm"], &["--call", "--script-shell", "--shell", "--node-options"]),
    (&["git"], &["--upload-pack", "--receive-pack", "--open-files-in-pager", "--ext-diff"]),
    (&["psql", "mysql", "mariadb", "sqlite3"], &["-cmd", "--init-command", "-init"]),
    (&["less", "more"], &["+"]),
    (&["less"], &["--lesskey-src", "--lesskey-file", "--lesskey-content", "-k"]),
    (&["docker", "podman", "nerdctl"], &["--privileged"]),
    (&["cpio"], &["--rsh-command"]),
    (&["cargo"], &["--config"]),
    (&["go"], &["-toolexec", "-vettool", "-exec", "--toolexec", "--exec"]),
    (
        &["gcc", "g++", "cc", "c++", "clang", "clang++"],
        &["-wrapper", "-fplugin", "-fpass-plugin", "-specs", "--specs", "-load"],
    ),
    (&["ld", "ld.bfd", "ld.gold", "ld.lld", "lld", "mold"], &["-plugin", "--plugin"]),
    (&["java"], &["-XX:OnError", "-XX:OnOutOfMemoryError"]),
    (&["exim", "exim4", "sendmail"], &["-be", "-bem"]),
    (&["curl"], &["-K", "--config"]),
    (&["wget"], &["-e", "--execute", "--use-askpass", "--config"]),
    (&["ssh-keygen"], &["-D"]),
    (&["ssh-add"], &["-s"]),
    (&["ugrep", "ug"], &["--pager", "--filter"]),
    (&["just"], &["--shell", "--shell-arg", "--shell-command", "-c", "--command"]),
    (&["fzf", "sk"], &["--preview", "--bind", "--cmd"]),
    (&["nc", "ncat", "netcat"], &["-e", "--exec", "-c", "--sh-exec", "--lua-exec"]),
    (&["tcpdump"], &["-z"]),
    (&["yt-dlp", "youtube-dl"], &["--exec", "--exec-before-download", "--netrc-cmd", "--config-locations"]),
    (&["hg"], &["--config"]),
    (&["svn"], &["--config-option", "--diff-cmd", "--diff3-cmd", "--editor-cmd", "--config-dir"]),
    (&["cargo-watch"], &["-s", "-x", "--shell", "--exec"]),
    (&["ctags"], &["--options"]),
    (&["apt", "apt-get"], &["-o", "--option", "-c", "--config-file"]),
    (&["bazel", "bazelisk"], &["--run_under"]),
    (&["ctest"], &["--build-and-test", "--test-command", "-S", "-SP", "--script"]),
    (&["gradle", "gradlew", "./gradlew"], &["-I", "--init-script"]),
    (&["mix"], &["-e", "--eval"]),
    (&["openssl"], &["-engine", "-provider", "-provider-path"]),
    (&["protoc"], &["--plugin"]),
    (&["rake"], &["-e", "-E", "-p", "--execute"]),
];

/// Programs that start what stands behind a subcommand, and how many words stand between.
const SUBCOMMANDS: &[(&str, &[&str], usize)] = &[
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
    ("npm", &["explore"], 1),
    ("yarn", &["node"], 0),
    ("volta", &["run"], 0),
    ("fnm", &["exec"], 0),
    ("nvm", &["exec", "run"], 1),
    ("asdf", &["exec"], 0),
    ("opam", &["exec"], 0),
    ("stack", &["exec"], 0),
    ("cabal", &["exec"], 0),
    ("rustup", &["run"], 1),
    ("aws-vault", &["exec"], 1),
    ("chamber", &["exec"], 1),
    ("op", &["run"], 0),
    ("infisical", &["run"], 0),
    ("nx", &["exec"], 0),
    ("lerna", &["exec"], 0),
    ("pixi", &["run"], 0),
    ("mamba", &["run"], 0),
    ("micromamba", &["run"], 0),
    ("composer", &["exec"], 0),
    ("foreman", &["run"], 0),
    ("gem", &["exec"], 0),
    ("honcho", &["run"], 0),
    ("rvm", &["do"], 0),
    ("uv", &["tool"], 1),
    ("tox", &["exec"], 0),
];
/// Subcommands that are handed program text, or commands for elsewhere.
const TEXTS: &[(&str, &[&str])] = &[
    ("crystal", &["eval"]),
    ("docker-compose", &["run", "exec"]),
    ("jupyter", &["console", "run"]),
    ("mix", &["eval"]),
    ("openssl", &["engine"]),
    ("podman-compose", &["run", "exec"]),
    ("rails", &["runner", "r", "console", "c"]),
    ("sops", &["exec-env", "exec-file"]),
];
/// Commands of sqlite3 that run programs, or open files of their own.
const DOT_COMMANDS: &[&str] = &[
    ".ar", ".backup", ".cd", ".clone", ".excel", ".import", ".load", ".log", ".once", ".open", ".out", ".read",
    ".restore", ".save", ".session", ".sh", ".sy", ".trace", ".www",
    // It takes blanks and quotes before the name, and signs by their numbers in these.
    ". ", ".\t", ".\"", ".'", ".\\",
];
/// The same for psql and mysql.
const BACKSLASHES: &[&str] = &["\\i", "\\o", "\\w", "\\g", "\\s ", "\\cd", "\\e", "\\lo_", "\\.", "\\t ", "\\copy"];
/// Functions and statements of databases that do so.
const DATABASE_WORDS: &[&str] = &[
    "attach",
    "edit",
    "fsdir",
    "infile",
    "load_extension",
    "load_file",
    "lo_export",
    "lo_import",
    "outfile",
    "dumpfile",
    "pg_ls_dir",
    "pg_read_binary_file",
    "pg_read_file",
    "readfile",
    "source",
    "tee",
    "writefile",
];
/// Programs that start what their own words say.
const DIRECT: [&str; 7] = ["npx", "bunx", "pnpx", "uvx", "cross-env", "dotenv", "corepack"];
/// Options of runners that take the next word.
const VALUED: [&str; 13] = [
    "--filter",
    "-F",
    "-C",
    "--dir",
    "--prefix",
    "-w",
    "--workspace",
    "--cwd",
    "--directory",
    "--project",
    "--env-file",
    "-p",
    "--python",
];
/// Programs that do what a file of rules says, and can be told to read it from their input.
const MAKERS: [&str; 8] = ["make", "gmake", "bmake", "ninja", "just", "rake", "task", "ant"];
/// Options of those that take no further word.
const FLAGS: [&str; 8] = ["-y", "--yes", "--no", "-q", "--quiet", "--silent", "--no-install", "--"];

/// The compiler that a name with a version or a target is (`x86_64-linux-gnu-gcc-12`).
fn compiler(name: &str) -> Option<&'static str> {
    const NAMES: [(&str, &str); 11] = [
        ("gcc", "gcc"),
        ("g++", "g++"),
        ("cc", "cc"),
        ("c++", "c++"),
        ("clang", "clang"),
        ("clang++", "clang++"),
        ("cpp", "gcc"),
        ("c89", "cc"),
        ("c99", "cc"),
        ("gfortran", "gcc"),
        ("gccgo", "gcc"),
    ];
    let is_version = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let name = name.rsplit_once('-').filter(|(_, version)| is_version(version)).map_or(name, |(name, _)| name);
    let name = name.rsplit('-').next().unwrap_or(name);
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, plain)| *plain)
}

/// Looks for what `name` runs besides itself.
pub(super) fn look(name: &str, rest: &[Argument], found: &mut Unwrapped) {
    let name = compiler(name).unwrap_or(name);
    let mut options = OPTIONS.iter().filter(|(names, _)| names.contains(&name)).flat_map(|(_, options)| *options);
    let own = || rest.iter().take_while(|word| word.marked() != "--");
    if let Some(option) = options.find(|option| own().any(|word| is_option(word.marked(), option))) {
        found.unresolved.push(format!("'{option}' of '{name}' runs another program"));
    }
    let is_first = |names: &[&str]| first_operand(rest).is_some_and(|(_, word)| names.contains(&word));
    match name {
        "fd" | "fdfind" => fd(rest, found),
        "git" => git::starters(rest, found),
        "docker" | "podman" | "nerdctl" if in_container(rest) => {
            found.unresolved.push(format!("'{name}' runs commands in a container, which are not read here"));
        }
        _ if MAKERS.contains(&name) => make(name, rest, found),
        "zip" if rest.iter().any(|word| word.marked().starts_with('-') && word.marked().contains("TT")) => {
            found.unresolved.push("'-TT' of 'zip' runs another program".to_owned());
        }
        "gh" if is_first(&["alias", "config", "extension"]) && rest.iter().any(|word| word.exact() == Some("set")) => {
            found.unresolved.push("a setting of 'gh' may name a program".to_owned());
        }
        "mvn" | "mvnw" | "./mvnw" if rest.iter().any(|word| word.marked().starts_with("exec:")) => {
            found.unresolved.push(format!("'{name}' starts a program that its settings name"));
        }
        _ if TEXTS.iter().any(|(known, subcommands)| *known == name && is_first(subcommands)) => {
            found.unresolved.push(format!("'{name}' runs text or commands that are not read here"));
        }
        _ if git::is_starter(name) => found.unresolved.push(format!("'{name}' starts other programs")),
        _ if emulates(name) => found.unresolved.push(format!("'{name}' runs a program on another machine's processor")),
        "rustc" if rest.iter().any(|word| word.marked().contains("linker=")) => {
            found.unresolved.push("the linker of 'rustc' is another program".to_owned());
        }
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++"
            if rest
                .iter()
                .any(|word| variables::loads_into_compiler(word.marked()) || word.marked().starts_with('@')) =>
        {
            found.unresolved.push(format!("an option of '{name}' runs or loads another program"));
        }
        "aria2c" if rest.iter().any(|word| word.marked().starts_with("--on-")) => {
            found.unresolved.push("an option of 'aria2c' runs another program".to_owned());
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
        "cmake" => cmake(rest, found),
        "nix" if is_first(&["run", "shell", "develop", "eval"]) => {
            found.unresolved.push("'nix' starts programs that are not read here".to_owned());
        }
        "npm" | "pnpm" if own().any(|word| word.exact() == Some("-c")) && own().any(runs_words) => {
            found.unresolved.push(format!("'-c' of '{name}' runs a text"));
        }
        "npm" | "pnpm" | "yarn" if sets_program(rest) => {
            found.unresolved.push(format!("a setting of '{name}' may name a program"));
        }
        "sqlite3" | "psql" | "mysql" | "mariadb" => {
            if rest.iter().any(|word| word.exact().is_none_or(database_runs)) {
                found.unresolved.push(format!("the text of '{name}' may run commands"));
            }
        }
        _ if DIRECT.contains(&name) => started(name, rest, found),
        _ => {
            let is_runner = || SUBCOMMANDS.iter().any(|(known, ..)| *known == name);
            if is_runner() && rest.iter().find(|word| !word.marked().starts_with('-')).is_some_and(Argument::is_dynamic)
            {
                found.unresolved.push(format!("what '{name}' does is known only when it runs"));
            }
            let Some((index, word)) = first_operand(rest) else { return };
            // npm takes every beginning of a command that is no other's.
            let is_cut = |full: &&str| name == "npm" && word.len() > 2 && full.starts_with(word);
            let starts = |(known, names, _): &&(&str, &[&str], usize)| {
                *known == name && (names.contains(&word) || names.iter().any(is_cut))
            };
            if let Some((_, _, between)) = SUBCOMMANDS.iter().find(starts) {
                // `yarn node` starts what it says itself.
                let start = if name == "yarn" && word == "node" { index } else { index + 1 + between };
                started(name, rest.get(start..).unwrap_or_default(), found);
            } else if rest[..index].iter().any(|word| !word.marked().contains('=')) {
                // What looks like a subcommand may be the value of an option that is not known here.
                let is_one =
                    |text: &str| SUBCOMMANDS.iter().any(|(known, names, _)| *known == name && names.contains(&text));
                let later = own().skip(index + 1).position(|word| word.exact().is_some_and(is_one));
                if let Some(later) = later {
                    started(name, rest.get(index + later + 2..).unwrap_or_default(), found);
                }
            }
        }
    }
}

/// Whether a word has npm start what the others say.
fn runs_words(word: &Argument) -> bool {
    matches!(word.exact(), Some("exec" | "exe" | "x"))
}

/// Whether text for the client of a database starts programs or opens other files than its words name: by commands of its own,
/// by pipes of these, by an editor, by functions, or by `COPY` and its kin.
pub(super) fn database_runs(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let pipes = |line: &str| {
        let line = line.trim_start();
        line.contains('|')
            && ([".o", ".r", ".i", ".e", ".w"].iter().any(|command| line.starts_with(command)) || line.contains('\\'))
    };
    let words = || lower.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    let has = |known: &[&str]| words().any(|word| known.contains(&word));
    let dots = |line: &str| DOT_COMMANDS.iter().any(|command| line.trim_start().starts_with(command));
    ["system ", "\\!"].iter().any(|sign| lower.contains(sign))
        || has(DATABASE_WORDS)
        || lower.lines().any(dots)
        // `COPY x FROM '/etc/passwd'`, `LOAD DATA INFILE`, `\copy`, `VACUUM INTO 'file'`.
        || (has(&["copy", "vacuum"]) && has(&["from", "to", "into", "program"]))
        || BACKSLASHES.iter().any(|command| lower.contains(command))
        || lower.lines().any(pipes)
}

/// Whether a call of docker runs something in a container, wherever its own options end.
fn in_container(rest: &[Argument]) -> bool {
    let words = || rest.iter().filter_map(Argument::exact);
    let starts = |names: &[&str]| words().take(6).any(|word| names.contains(&word));
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
    let mut index = 0;
    while let Some(word) = rest.get(index) {
        if !word.marked().starts_with('-') {
            return Some((index, word.exact()?));
        }
        index += 1 + usize::from(VALUED.contains(&word.marked()));
    }
    None
}

/// `make` and its kin: rules from the input, and variables whose value is a command.
fn make(name: &str, rest: &[Argument], found: &mut Unwrapped) {
    // `-sf-`, `-f/dev/stdin`, `--fil=-`
    let is_glued = |word: &Argument| {
        let text = word.marked();
        let start = text.find('/').or_else(|| text.strip_suffix('-').map(str::len));
        let value = text.split_once('=').map(|(_, value)| value).or_else(|| start.and_then(|start| text.get(start..)));
        text.len() > 2 && text.starts_with('-') && value.is_some_and(|value| is_input(&Argument::known(value)))
    };
    if matches!(name, "make" | "gmake") && rest.iter().any(hands_rules) {
        found.unresolved.push(format!("'{name}' runs rules among its own words"));
    }
    if rest.iter().any(|word| is_input(word) || is_glued(word)) {
        found.unresolved.push(format!("'{name}' runs what it reads from its input"));
    }
    let names_rules = |word: &Argument| {
        let text = word.marked();
        ["-f", "--file", "--makefile", "--justfile", "--rakefile", "--taskfile", "-buildfile"].contains(&text)
    };
    let is_unknown = |word: &Argument| word.is_dynamic() || word.is_pipe();
    if rest.windows(2).any(|pair| names_rules(&pair[0]) && is_unknown(&pair[1]))
        || rest.iter().any(|word| word.is_dynamic() && word.marked().starts_with('-'))
    {
        found.unresolved.push(format!("the rules of '{name}' are known only when it runs"));
    }
    let runs = |(variable, value): (&str, &str)| {
        let is_plain = !value.contains([' ', '/', '\t']);
        let name = variable.trim_end_matches([' ', ':', '+', '?', '!']);
        let is_rights = |word: &str| matches!(word, "sudo" | "doas" | "pkexec" | "su");
        value.contains(['$', '`', ';', '|', '&', '\n'])
            // What stands behind `!=` is run at once.
            || variable.ends_with('!')
            || variables::changes(name, Becomes::Text(value))
            || matches!(name, ".SHELLFLAGS" | "MAKE" | "MAKE_COMMAND")
            || variables::starts_denied(name, value)
            || value.split(|sign: char| !sign.is_alphanumeric()).any(is_rights)
            || (variables::is_program(name) && !is_plain)
    };
    if rest.iter().filter_map(|word| word.marked().split_once('=')).any(runs) {
        found.unresolved.push(format!("a variable of '{name}' may hold a command"));
    }
}

/// Whether a cluster of options of make holds `-E`, whose value is read like a file of rules.
fn hands_rules(word: &Argument) -> bool {
    let letters = word.marked().strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
    letters.chars().take_while(|letter| !"CfIoW".contains(*letter)).any(|letter| letter == 'E')
}

/// `cmake -E` runs commands of its own and others, `cmake -P` a script.
fn cmake(rest: &[Argument], found: &mut Unwrapped) {
    let is = |index: usize, text: &str| rest.get(index).and_then(Argument::exact) == Some(text);
    let is_unknown = |word: &Argument| word.is_dynamic() || word.is_pipe() || is_input(word);
    if rest.windows(2).any(|pair| pair[0].marked() == "-P" && is_unknown(&pair[1])) {
        found.unresolved.push("the script of 'cmake' is known only when it runs".to_owned());
    }
    if is(0, "-E") && (is(1, "env") || is(1, "time") || is(1, "chdir")) {
        let skipped = if is(1, "chdir") { 3 } else { 2 };
        let is_own = |word: &&Argument| word.marked().starts_with('-') || word.marked().contains('=');
        let settings = rest.iter().skip(skipped).take_while(is_own).map(Argument::marked);
        found.assigned.extend(settings.filter(|word| !word.starts_with('-')).map(str::to_owned));
        let command: Vec<Argument> = rest.iter().skip(skipped).skip_while(is_own).cloned().collect();
        if !command.is_empty() {
            found.inner.push(Layer { arguments: command, has_terminal_input: false, restated: true, silent: true });
        }
    }
}

/// `npm config set script-shell …`, `npm pkg set scripts.test=…`: what a later, harmless command runs.
fn sets_program(rest: &[Argument]) -> bool {
    let words: Vec<&str> = rest.iter().map(Argument::marked).filter(|word| !word.starts_with('-')).collect();
    let names_program = |words: &[&str]| {
        let words = words.iter().flat_map(|word| word.split(['=', '.'])).collect::<Vec<_>>();
        let known = [
            "script-shell",
            "scriptShell",
            "shell",
            "editor",
            "node-options",
            "scripts",
            "git",
            "viewer",
            "bin",
            "init-module",
        ];
        words.is_empty() || words.iter().any(|word| known.contains(word))
    };
    // npm takes every beginning of a command; values of options stand among the words.
    let is_settings =
        |word: &&str| *word == "c" || (word.len() > 1 && ["config", "pkg"].iter().any(|full| full.starts_with(*word)));
    words
        .iter()
        .position(|word| *word == "set")
        .is_some_and(|set| (set == 0 || words[..set].iter().any(is_settings)) && names_program(&words[set + 1..]))
}

/// The command behind options of a runner. The runner's own words name it for rules and allow lists.
fn started(name: &str, words: &[Argument], found: &mut Unwrapped) {
    let is_skipped = |word: &&Argument| {
        let text = word.marked();
        FLAGS.contains(&text)
            || (name == "cross-env" && text.contains('='))
            || (text == "run" && matches!(name, "dotenv" | "uv"))
    };
    let skipped = words.iter().take_while(is_skipped).count();
    let (own, command) = words.split_at(skipped);
    let is_setting = |word: &&str| name == "cross-env" && word.contains('=');
    found.assigned.extend(own.iter().map(Argument::marked).filter(is_setting).map(str::to_owned));
    let Some(first) = command.first() else { return };
    if first.is_dynamic() || first.marked().starts_with('-') {
        found.unresolved.push(format!("what '{name}' starts is known only when it runs"));
        return;
    }
    let mut arguments = command.to_vec();
    // `rimraf@5`
    if let Some((bare, _)) = first.exact().and_then(|text| text.rsplit_once('@')).filter(|(bare, _)| !bare.is_empty()) {
        arguments[0] = Argument::known(bare);
    }
    found.inner.push(Layer { arguments, has_terminal_input: false, restated: true, silent: true });
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
