//! Which files a command touches, where it runs, and which directories are more than a file's worth.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use super::CommandContext;
use super::argument::{ANYTHING, Argument};
use super::deny::is_sink;
use crate::access::Operation;

mod aliases;
mod archives;
mod derived;
mod directories;
mod dotted;
mod entered;
mod git_options;
mod handed;
mod names;
mod operands;
mod outputs;
mod packed;
mod pathspecs;
mod plain;
mod repositories;
mod searches;
mod subcommands;
mod values;

pub(super) use aliases::Aliases;
pub(crate) use entered::Entered;
pub(super) use entered::Moved;
use entered::is_anywhere;
pub(super) use names::may_match;
use names::{Disguise, disguised, leads_elsewhere, may_be_within};

/// 2,000 places: a command line has no room for more that matter.
const PLACES: usize = 2_000;
/// 40,000 looks at where a name leads from a directory that a line may be in besides another: some 10 ms.
const LOOKS: usize = 40_000;

/// What a command does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Use {
    Read,
    Write,
    Delete,
    /// The command is not known: it reads the file, or perhaps writes it.
    Perhaps,
    /// A text that may be the name of a file, such as the end of an option: only what a rule says of it counts.
    Glued,
    /// A directory is read with all that lies below it.
    Whole,
    /// Files are written below a directory, by names that nobody knows.
    Filled,
    /// Something in a directory is touched that no word names: only a rule for all of that counts.
    Within(Operation),
    /// The word may be the name of a file that is written, or of something else, such as a branch.
    PerhapsWrite,
}

/// A file that a command touches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// Where it can be: absolute, normalised, with the markers of [`super::argument`]; several where the directory that
    /// the command runs in is not certain.
    pub(crate) paths: Vec<String>,
    /// The same as they are spelled, where a `..` stands behind a name: the kernel goes up from where that name leads, which
    /// only those know who can follow links.
    pub(crate) dotted: Vec<String>,
    pub(crate) what: Use,
}

/// The directories and files of a command line, as it is read from left to right.
pub(super) struct Places<'a> {
    context: &'a CommandContext,
    /// The roots, the home and the working directory, normalised: each word is compared with them.
    roots: Vec<String>,
    home: Option<String>,
    base: String,
    /// Every directory that a command can be in by now, up to 16; [`ANYTHING`] behind them when there are more.
    everywhere: Vec<String>,
    /// What is entered from wherever it is then.
    targets: Vec<String>,
    /// Where it is for sure, as long as `&&` follows a `cd`.
    here: Option<Vec<String>>,
    /// Directories that a command behind this one leads to, where commands do not run in the order of their text.
    maybe: Vec<String>,
    /// Where it is behind the script, if all went well.
    last: Option<Vec<String>>,
    /// Whether it led somewhere that nobody knows.
    is_lost: bool,
    /// Whether it holds what leads its shell later.
    is_led_later: bool,
    /// Whether what is noted is touched later, by a session's shell.
    runs_later: bool,
    /// Names of functions, which lead wherever their bodies do.
    functions: HashSet<String>,
    repeats: bool,
    places: Vec<Rc<Place>>,
    /// The same, to be found: each file is looked up among up to [`PLACES`].
    known: HashSet<Rc<Place>>,
    /// Other names of programs, and of what links lead to.
    aliases: Aliases,
    /// How many names were looked at that something got.
    renames: usize,
    /// Whether a program got a name that nobody knows.
    hides: bool,
    /// What the environment may end the names of backups with.
    suffixes: Vec<Argument>,
    /// The words that were noted since the directories changed.
    noted: HashSet<(String, Use)>,
    /// The directory from which names count, where an option names another than the present one.
    from: Option<String>,
    /// Whether what is written takes the place of what has the name, and is not poured into it.
    replaces: bool,
    /// How many names were followed from more than one directory.
    looks: Cell<usize>,
    /// Whether there were more files than are noted.
    is_full: bool,
    reads: Vec<String>,
    writes: Vec<String>,
    /// What is told in `reads`, and in `writes`.
    told: [HashSet<String>; 2],
}

impl<'a> Places<'a> {
    /// `maybe` are directories that a command may be in besides those that the commands before it lead to.
    pub(super) fn new(context: &'a CommandContext, maybe: Vec<String>, mut aliases: Aliases) -> Self {
        aliases.extend(aliases::known(&context.links));
        let everywhere = match context.directories.as_slice() {
            [] => vec![normalised(&context.working_directory, "/")],
            known => known.iter().map(|directory| normalised(directory, "/")).collect(),
        };
        Self {
            context,
            roots: context.roots.iter().map(|root| normalised(root, "/")).collect(),
            home: context.home.as_ref().map(|home| normalised(home, "/")),
            base: normalised(&context.working_directory, "/"),
            everywhere,
            targets: Vec::new(),
            here: None,
            last: None,
            is_lost: false,
            is_led_later: false,
            runs_later: false,
            maybe,
            functions: HashSet::new(),
            repeats: false,
            places: Vec::new(),
            known: HashSet::new(),
            aliases,
            renames: 0,
            hides: false,
            suffixes: Vec::new(),
            noted: HashSet::new(),
            from: None,
            replaces: false,
            looks: Cell::new(0),
            is_full: false,
            reads: Vec::new(),
            writes: Vec::new(),
            told: Default::default(),
        }
    }

    /// Begins the next simple command; `holds` when it is for sure where the one before left its shell.
    pub(super) fn begin(&mut self, holds: bool) {
        if !holds && self.here.is_some() {
            self.lead(None);
        }
    }

    /// Where it is for sure.
    pub(super) fn here(&self) -> Option<Vec<String>> {
        self.here.clone()
    }

    /// Notes whether what comes next runs later, in the shell of a session that is led on until then.
    pub(super) fn run_later(&mut self, is_so: bool) {
        if std::mem::replace(&mut self.runs_later, is_so) != is_so {
            self.noted.clear();
        }
    }

    /// Notes that something leads the shell later, from wherever it is then.
    pub(super) fn lead_later(&mut self) {
        self.is_led_later = true;
    }

    /// Notes that it is in one of these directories from here on; with `None`, that it may be wherever anything led.
    pub(super) fn lead(&mut self, here: Option<Vec<String>>) {
        self.here = here;
        self.noted.clear();
    }

    /// Notes what a script holds before its commands come.
    pub(super) fn see_script(&mut self, functions: impl Iterator<Item = String>, repeats: bool) {
        self.functions.extend(functions);
        self.repeats |= repeats;
    }

    /// Whether some files were not noted, since there are too many, or too many places where they can be.
    pub(super) fn is_full(&self) -> bool {
        self.is_full || self.looks.get() > LOOKS
    }

    /// Other names that the line gives.
    pub(super) fn aliases(&self) -> &Aliases {
        &self.aliases
    }

    /// Whether a program got a name that is known only when the line runs.
    pub(super) fn hides_program(&self) -> bool {
        self.hides
    }

    /// Where the path can lead: from the present directory, or from each that it may be.
    pub(super) fn all(&self, path: &str) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        let (here, more): (&[String], &[String]) = match &self.here {
            Some(here) => (here, &[]),
            None => (&self.everywhere, &self.maybe),
        };
        // What `/proc/self/cwd` is depends on the directory.
        if path.starts_with('/') && !path.contains("/proc/") {
            return vec![normalised(path, "/")];
        }
        self.looks.set(self.looks.get() + (here.len() + more.len()).saturating_sub(1));
        // A line that is denied for that is looked at where it begins.
        let most = if self.looks.get() > LOOKS { 1 } else { usize::MAX };
        let here = here.iter().chain(more).take(most);
        for directory in here {
            let is_anywhere = is_anywhere(directory) && !path.starts_with('/');
            let path = if is_anywhere { directory.clone() } else { normalised(path, directory) };
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// Notes that a file is touched.
    pub(super) fn add(&mut self, word: &Argument, what: Use) {
        if !self.add_unlisted(word, what) {
            return;
        }
        let [told_reads, told_writes] = &mut self.told;
        let list = match what {
            Use::Read => Some((&mut self.reads, told_reads)),
            Use::Write | Use::Delete => Some((&mut self.writes, told_writes)),
            Use::Perhaps | Use::Glued | Use::Whole | Use::Filled | Use::Within(_) | Use::PerhapsWrite => None,
        };
        if let Some((list, told)) = list {
            let shown = word.shown();
            if told.insert(shown.clone()) {
                list.push(shown);
            }
        }
    }

    /// The same for rules alone, of a file that the words name only together; whether it is new.
    fn add_unlisted(&mut self, word: &Argument, what: Use) -> bool {
        let path = word.marked();
        if self.is_full() || path.is_empty() || path == "-" || word.is_pipe() {
            return false;
        }
        let path = match &self.from {
            Some(from) if !path.starts_with(['/', ANYTHING]) => format!("{from}/{path}"),
            Some(_) | None => path.to_owned(),
        };
        if !self.noted.insert((path.clone(), what)) {
            return false;
        }
        let path = &path[..];
        if self.places.len() >= PLACES {
            self.is_full = true;
            return false;
        }
        let mut place = Place { paths: self.all(path), dotted: Vec::new(), what };
        self.see_dotted(path, &mut place);
        if self.runs_later && !path.starts_with(['/', ANYTHING]) {
            // Wherever the shell of the session is then.
            place.paths.push(format!("/{ANYTHING}/{path}"));
        }
        if place.paths.iter().all(|path| is_sink(path)) {
            // What rules protect are files, and here none is written: half of all scripts say `>/dev/null`.
            match what {
                Use::Write if !self.replaces => return true,
                Use::Perhaps => place.what = Use::Read,
                Use::Glued | Use::PerhapsWrite => return true,
                Use::Read | Use::Write | Use::Delete | Use::Whole | Use::Filled | Use::Within(_) => {}
            }
        }
        let place = Rc::new(place);
        if self.known.insert(Rc::clone(&place)) {
            self.places.push(place);
        }
        true
    }

    /// Notes what a command touches, and follows it where it goes; `repeats` when it may run again and again.
    pub(super) fn see_command(&mut self, name: &str, arguments: &[Argument], repeats: bool) -> Moved {
        let is_function = self.functions.contains(name);
        if name == "popd" {
            self.is_lost = true;
        }
        if matches!(name, "cd" | "pushd" | "chdir") {
            let moved = self.enter(name, arguments, repeats);
            self.is_lost |= moved == Moved::Unknown;
            if moved == Moved::Unknown || is_function {
                self.lead(None);
            }
            return moved;
        }
        if matches!(name, "popd" | "eval" | "source" | "." | "trap") || is_function {
            // They lead back, or wherever their texts do.
            self.lead(None);
        }
        // Only of these it is known that they open what has the name; `mv` puts another file there.
        self.replaces = !matches!(name, "tee" | "dd" | "touch" | "truncate" | "sort" | "find" | "git" | "uniq" | "xxd");
        self.see_operands(name, arguments);
        self.replaces = false;
        Moved::Inside
    }

    pub(super) fn finish(self) -> (Vec<String>, Vec<String>, Vec<Place>) {
        drop(self.known);
        (self.reads, self.writes, self.places.into_iter().map(Rc::unwrap_or_clone).collect())
    }
}

#[cfg(test)]
thread_local! {
    /// How many paths were normalised, for tests that count steps.
    pub(super) static NORMALISED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Whether `path` is `directory` or lies below it; both normalised.
pub(in crate::permissions) fn is_within(path: &str, directory: &str) -> bool {
    directory == "/" || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `path` as seen from `base`: absolute, without `.`, `..` and doubled slashes. Where an unknown part could lead anywhere
/// the whole is unknown.
pub(super) fn normalised(path: &str, base: &str) -> String {
    #[cfg(test)]
    NORMALISED.with(|count| count.set(count.get() + 1));
    let unknown = || ANYTHING.to_string();
    if path.starts_with(ANYTHING) {
        return unknown();
    }
    if let Some(position) = path.find(ANYTHING)
        && path[position..].split('/').any(|segment| segment == "..")
    {
        return unknown();
    }
    let mut out = String::with_capacity(base.len() + path.len() + 1);
    if !path.starts_with('/') {
        out.push_str(base.trim_end_matches('/'));
    }
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                let above = out.rfind('/').unwrap_or_default();
                if out[above..].contains(ANYTHING) || leads_elsewhere(&out) {
                    // It may be any number of names.
                    return unknown();
                }
                out.truncate(above);
            }
            name => {
                out.push('/');
                out.push_str(name);
                match disguised(&out) {
                    None => {}
                    Some(Disguise::Root) => out.clear(),
                    Some(Disguise::WorkingDirectory) => {
                        out.clear();
                        out.push_str(base.trim_end_matches('/'));
                    }
                    Some(Disguise::Process) => out.truncate(out.find("/task/").unwrap_or(out.len())),
                    Some(Disguise::Unknown) => return unknown(),
                }
            }
        }
    }
    // A slash at the end says "a directory", which no pattern of ours needs to know.
    if out.is_empty() { "/".to_owned() } else { out }
}
