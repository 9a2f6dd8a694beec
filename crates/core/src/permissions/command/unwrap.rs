//! Commands that run other commands: what they run, and what of it cannot be known.

use super::analyzer::Input;
use super::argument::{Argument, is_marked};
use super::each::{find, starts_sed, takes_names, xargs_marks};
use super::harnesses;
use super::paths::Places;
use super::runners;
use super::shells::{alias, interpreter, is_input, shell, text_option, texts};
use super::wrappers::{FLAGS, FOREIGN_SHELLS, GNU, INTERPRETERS, OPAQUE, SHELL_STARTERS, SHELLS, WRAPPERS, Wrapper};

/// A command that is to be looked into.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub(super) arguments: Vec<Argument>,
    /// Whether its input is that of the simple command it was found in.
    pub(super) has_terminal_input: bool,
    /// Whether it is the same command again in its plain spelling, and not one that it starts.
    pub(super) restated: bool,
    /// Whether only what takes away counts for it: the command around it names it already.
    pub(super) silent: bool,
}

impl Layer {
    /// A command that another one starts, with another input than that.
    pub(super) const fn started(arguments: Vec<Argument>) -> Self {
        Self { arguments, has_terminal_input: false, restated: false, silent: false }
    }

    /// The same, where the words of the one that starts it name it already.
    pub(super) const fn named(arguments: Vec<Argument>) -> Self {
        Self { arguments, has_terminal_input: false, restated: true, silent: true }
    }

    /// Gives it the input of the one that starts it.
    pub(super) fn reading_as(self, layer: &Self) -> Self {
        Self { has_terminal_input: layer.has_terminal_input, ..self }
    }
}

/// What a command runs.
#[derive(Debug, Default)]
pub(super) struct Unwrapped {
    /// Whether it does nothing but start `inner`.
    pub(super) transparent: bool,
    /// The commands that it starts.
    pub(super) inner: Vec<Layer>,
    /// Texts that it hands to a shell.
    pub(super) scripts: Vec<String>,
    /// What it runs and nobody can tell.
    pub(super) unresolved: Vec<String>,
    /// Variables that it sets for what it starts: the words that do, or the name of one that it takes away.
    pub(super) assigned: Vec<String>,
    /// Whether it starts that without any variable but those.
    pub(super) clears: bool,
}

/// The command's name as its tables know it: without the directory where that is one of the system, in lower case
/// (some file systems do not care). `None` when it is not known.
pub(super) fn command_name(arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    let word = arguments.first()?.exact()?;
    if word.is_empty() || word.contains([' ', '\t', '\n']) {
        return None;
    }
    let of_system = if word.contains('/') { places.program(word) } else { None };
    let name = Argument::known(of_system.as_deref().unwrap_or(word));
    let name = name.exact()?;
    let name = name.strip_suffix(".exe").unwrap_or(name).to_ascii_lowercase();
    match name.strip_prefix('g') {
        Some(bare) if GNU.contains(&bare) => Some(bare.to_owned()),
        Some(_) | None => Some(name),
    }
}

/// Whether this is the program that starts programs: its argument is what runs.
fn is_loader(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    base == "ld.so" || (base.starts_with("ld-") && base.contains(".so"))
}

/// Looks into a command of that name.
pub(super) fn unwrap(layer: &Layer, name: Option<&str>, input: &Input) -> Unwrapped {
    let mut found = Unwrapped::default();
    let arguments = &layer.arguments;
    let Some(name) = name else {
        found.unresolved.push("the name of a command is known only when it runs".to_owned());
        return found;
    };
    let rest = &arguments[1..];
    let inherited = Input::Inherited;
    let input = if layer.has_terminal_input { input } else { &inherited };
    let bare = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    let bare = bare.strip_suffix('-').unwrap_or(bare);
    // A program of one's own may be anything: that its file is called like a shell is enough to read what it is handed.
    let file = bare.rsplit('/').next().unwrap_or(bare);
    let is_own = name.contains('/');
    runners::look(name, rest, &mut found);
    match name {
        "env" => super::env::env(rest, layer, &mut found),
        "find" => find(rest, &mut found),
        "eval" => texts(behind_dashes(rest), "eval", &mut found),
        "watch" => {
            let start = options_length(rest, "nqs", &["--interval", "--equexit", "--shotsdir"]);
            watch(&rest[..start], &rest[start..], layer, &mut found);
        }
        "trap" => match rest.iter().find(|word| word.marked() != "--").map(Argument::exact) {
            Some(None) => found.unresolved.push("'trap' runs what is known only when it runs".to_owned()),
            Some(Some(text)) if !matches!(text, "-" | "" | "-l" | "-p") => found.scripts.push(text.to_owned()),
            Some(Some(_)) | None => {}
        },
        "alias" => alias(rest, &mut found),
        "jobs" => {
            let options =
                rest.iter().take_while(|word| word.marked().starts_with('-') && word.marked() != "--").count();
            let command = behind_dashes(&rest[options..]);
            if rest[..options].iter().any(|word| word.marked().contains('x')) && !command.is_empty() {
                found.inner.push(Layer::started(command.to_vec()));
            }
        }
        "history" if rest.iter().any(|word| word.is_dynamic() || is_option_of_history(word.marked())) => {
            found.unresolved.push("'history' changes or tells what the shell runs again".to_owned());
        }
        "shopt" | "setopt" => found.unresolved.push(format!("'{name}' changes how the shell reads what follows")),
        "source" | "." => {
            if behind_dashes(rest).first().is_some_and(|file| file.is_dynamic() || is_input(file)) {
                found.unresolved.push(format!("'{name}' runs what is known only when it runs"));
            }
        }
        "hyperfine" => harnesses::hyperfine(rest, &mut found),
        "valgrind" => harnesses::valgrind(rest, layer, &mut found),
        "xvfb-run" => harnesses::xvfb_run(rest, layer, &mut found),
        "git" => super::git::git(arguments, layer, &mut found),
        _ if super::git::subcommand_of(name).is_some() && !super::git::is_starter(name) => {
            super::git::restate(name, rest, layer, &mut found);
        }
        "tar" | "gtar" | "bsdtar" => {
            if super::tar::may_run(rest) {
                found.unresolved.push("'tar' may start another program".to_owned());
            }
        }
        _ if OPAQUE.contains(&name) || name.starts_with("vim.") || is_loader(name) => {
            found.unresolved.push(format!("'{name}' starts commands in a way that is not read here"));
        }
        "parallel" => found.unresolved.push("'parallel' runs commands that are known only when it runs".to_owned()),
        "su" | "runuser" => text_option(rest, name, &mut found),
        "script" => {
            text_option(rest, name, &mut found);
            if !is_told_command(rest) {
                found.unresolved.push("'script' starts a shell, which runs what it reads".to_owned());
            }
            // On BSD the command stands behind the name of the file.
            if let Some(first) = rest.iter().position(|word| !word.marked().starts_with('-'))
                && let Some(command) = rest.get(first + 1..).filter(|command| !command.is_empty())
            {
                found.inner.push(Layer::named(command.to_vec()));
            }
        }
        _ if SHELLS.contains(&name) || SHELLS.contains(&bare) => shell(rest, name, input, &mut found),
        _ if is_own && SHELLS.contains(&file) => shell(rest, file, input, &mut found),
        _ if is_own && FOREIGN_SHELLS.contains(&file) && rest.iter().any(|word| word.marked().starts_with("-c")) => {
            found.unresolved.push(format!("'{name}' runs commands in a language that is not read here"));
        }
        _ if FOREIGN_SHELLS.contains(&name) => {
            found.unresolved.push(format!("'{name}' runs commands in a language that is not read here"));
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            if super::awk::may_run(rest) {
                found.unresolved.push(format!("the program of '{name}' may run commands or write files"));
            }
        }
        "sed" | "gsed" => {
            if super::sed::may_run(rest) {
                found.unresolved.push("the program of 'sed' may run commands or open files".to_owned());
            }
        }
        _ => {
            // The program of many names by its path starts them as well.
            let is_many = is_own && (file.starts_with("busybox") || file.starts_with("toybox"));
            let plain = if is_many { "busybox" } else { name };
            // A single letter (`./r`) is the name of anything.
            let known = if file.len() > 1 { file } else { bare };
            if let Some((_, letters)) = INTERPRETERS.iter().find(|(name, _)| *name == known) {
                let file_name = name.rsplit('/').next().unwrap_or(name);
                interpreter(rest, (file_name, known), letters, &mut found);
            } else if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&plain)) {
                wrapped(wrapper, name, rest, (layer, input), &mut found);
            }
        }
    }
    found
}

/// Whether `script` is told a command: by an option that is surely no value of another one, or behind the name of its file (BSD).
fn is_told_command(rest: &[Argument]) -> bool {
    let is_flags =
        |word: &str| word.strip_prefix('-').is_some_and(|letters| letters.chars().all(|one| "aefqr".contains(one)));
    let is_told = |(index, word): (usize, &Argument)| {
        let text = word.marked();
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let flags_and_text = letters.and_then(|letters| letters.split_once('c'));
        let long = text.strip_prefix("--c").map(|_| text.split_once('=').map_or("", |(_, glued)| glued));
        let Some(glued) = flags_and_text.map(|(_, glued)| glued).or(long) else { return false };
        let has_text = match glued {
            "" => rest.get(index + 1).is_some_and(|next| !next.marked().trim().is_empty()),
            glued => !glued.trim().is_empty(),
        };
        has_text
            && flags_and_text.is_none_or(|(flags, _)| is_flags(&format!("-{flags}")))
            && rest[..index].iter().all(|word| is_flags(word.marked()))
    };
    let operands = rest.iter().skip_while(|word| is_flags(word.marked()));
    rest.iter().enumerate().any(is_told) || operands.take_while(|word| !word.marked().starts_with('-')).count() > 1
}

/// Whether this is an option of `history` other than one that forgets: `-s` and `-p` make lines, the others read and write files.
fn is_option_of_history(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|letters| {
        letters.contains(|letter: char| letter.is_alphabetic() && letter != 'c' && letter != 'd')
    })
}

/// The words behind a `--` that ends options, where it stands first.
fn behind_dashes(words: &[Argument]) -> &[Argument] {
    match words.split_first() {
        Some((first, rest)) if first.marked() == "--" => rest,
        Some(_) | None => words,
    }
}

/// `watch command`: a text for a shell, or with `-x` the words of a command.
fn watch(options: &[Argument], command: &[Argument], layer: &Layer, found: &mut Unwrapped) {
    const LONG: [&str; 8] = ["beep", "color", "differences", "errexit", "exec", "interval", "no-title", "precise"];
    let mut direct = false;
    for text in options.iter().map(Argument::marked) {
        match text.strip_prefix("--").map(|long| long.split_once('=').map_or(long, |(name, _)| name)) {
            Some("") => {}
            Some(long) if LONG.contains(&long) => direct |= long == "exec",
            Some(_) => found.unresolved.push("an option of 'watch' is not known".to_owned()),
            None => direct |= text.contains('x'),
        }
    }
    texts(command, "watch", found);
    if direct && !command.is_empty() {
        found.inner.push(Layer::named(command.to_vec()).reading_as(layer));
    }
}

/// How many words of `words` are options, with the values that they take.
fn options_length(words: &[Argument], short: &str, long: &[&str]) -> usize {
    let mut index = 0;
    while let Some(word) = words.get(index).map(Argument::marked) {
        if word == "--" {
            return index + 1;
        }
        if !word.starts_with('-') || word == "-" {
            break;
        }
        index += 1;
        let takes_next = if word.starts_with("--") {
            long.contains(&word)
        } else {
            // In `-ab` the last letter takes the next word; in `-afile` the first takes the rest.
            word[1..]
                .char_indices()
                .find(|(_, letter)| short.contains(*letter))
                .is_some_and(|(position, letter)| position + letter.len_utf8() == word.len() - 1)
        };
        index += usize::from(takes_next);
    }
    index.min(words.len())
}

fn wrapped(wrapper: &Wrapper, name: &str, rest: &[Argument], (layer, input): (&Layer, &Input), found: &mut Unwrapped) {
    if name == "command" && rest.first().and_then(Argument::exact).is_some_and(|word| matches!(word, "-v" | "-V")) {
        return;
    }
    let start = options_length(rest, wrapper.short, wrapper.long);
    let skipped = (start + wrapper.operands).min(rest.len());
    let options = &rest[..start];
    let is_unknown = |word: &Argument| {
        let long = word.marked().strip_prefix("--").filter(|name| !name.is_empty() && !name.contains('='));
        long.is_some_and(|name| !FLAGS.contains(&name) && !wrapper.long.contains(&word.marked()))
    };
    // A pattern becomes any number of words, and one of them may be the command.
    if rest[..skipped].iter().any(|word| is_marked(word.marked())) || options.iter().any(is_unknown) {
        found.unresolved.push(format!("what '{name}' starts is known only when it runs"));
    }
    // A file of `strace` that begins with `|` or `!` is a command.
    if name == "strace" && options.iter().any(|word| word.marked().contains(['|', '!'])) {
        found.unresolved.push("the output of 'strace' goes to a command".to_owned());
    }
    let mut command = &rest[skipped..];
    // These are words of the shell: settings and `!` stand behind them as before any command.
    let is_of_shell = matches!(name, "time" | "coproc");
    // The form of a time stands before the command of `annotate-output`.
    let is_form = |word: &str| name == "annotate-output" && word.starts_with('+');
    let is_skipped = |word: &str| {
        is_form(word) || (is_of_shell && word == "!") || ((is_of_shell || name == "sudo") && is_setting(word))
    };
    while let Some((word, after)) = command.split_first().filter(|(word, _)| is_skipped(word.marked())) {
        if word.marked().contains('=') {
            found.assigned.push(word.marked().to_owned());
        }
        command = after;
    }
    if name == "flock"
        && command.first().and_then(Argument::exact).is_some_and(|word| matches!(word, "-c" | "--command"))
    {
        texts(&command[1..], name, found);
        return;
    }
    if command.is_empty() {
        if SHELL_STARTERS.contains(&name) {
            found.unresolved.push(format!("'{name}' starts a shell, which runs what it reads"));
        }
        return;
    }
    found.clears |= name == "exec" && options.iter().any(|word| word.has_letter('c'));
    let mut arguments = command.to_vec();
    if name == "xargs" {
        // The words that hold the mark of `-I` are made of what is read, wherever they stand.
        let marks = xargs_marks(options);
        for word in &mut arguments {
            if marks.iter().any(|mark| word.marked().contains(mark.as_str())) {
                *word = Argument::unknown();
            }
        }
        match input {
            Input::Names(names) if takes_names(options) && starts_sed(&arguments) => arguments.extend_from_slice(names),
            _ => arguments.push(Argument::unknown()),
        }
    }
    found.transparent = !matches!(name, "xargs" | "sudo" | "doas" | "chroot");
    let started = Layer::started(arguments);
    found.inner.push(if name == "xargs" { started } else { started.reading_as(layer) });
}

fn is_setting(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    })
}
