//! Other names of what has one already: `ln -s /usr/bin/sudo x` makes `./x` a name of a program, and `ln -s /etc out` makes `out`
//! a way out.
//!
//! What a line lays is followed here; links that lie there are told by whoever looked, and what earlier lines gave a name by
//! whoever remembers ([`super::CommandContext`]).

use std::collections::HashMap;

use super::super::argument::{ANYTHING, Argument, is_marked};
use super::{PLACES, Places, may_be_within};

/// 8 names, each of which stands for the next.
const HOPS: usize = 8;
/// 32 directories above a name that is followed.
const DEPTH: usize = 32;
/// 1,024 bytes of a path that a name stands for.
const PATH_BYTES: usize = 1_024;

/// 10,000 looks at what one line may mean by the names that it gives, in each directory that it may be in: some 10 ms.
const RENAMES: usize = 10_000;

/// Directories of programs that are the system's, also where `/` is a root.
const PROGRAM_DIRECTORIES: [&str; 6] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Origin {
    /// A path, or [`ANYTHING`].
    path: String,
    /// Whether it is the same thing, and no copy of it.
    is_link: bool,
}

/// Other names by what they are the name of.
pub(in super::super) type Aliases = HashMap<String, Origin>;

/// What is known before the line is read.
pub(super) fn known(links: &[(String, String)]) -> impl Iterator<Item = (String, Origin)> {
    links.iter().map(|(name, path)| (name.clone(), Origin { path: path.clone(), is_link: true }))
}

impl Places<'_> {
    /// The name of a program of the system, when that is what a path with a slash leads to; with a marker in it where part of it
    /// is not known.
    pub(in super::super) fn program(&self, word: &str) -> Option<String> {
        let own = last_name(word);
        self.all(word).into_iter().find_map(|path| {
            let Some(origin) = self.origin(&path, false).or_else(|| self.named_anywhere(own)) else {
                return self.program_at(&path, word.starts_with('/'));
            };
            if origin.starts_with(ANYTHING) {
                return Some(last_name(&origin).to_owned());
            }
            let program = self.program_at(&origin, false)?;
            // One program that is many is told by its name which of them it shall be.
            Some(if matches!(program.as_str(), "busybox" | "toybox") { own.to_owned() } else { program })
        })
    }

    fn program_at(&self, path: &str, is_absolute: bool) -> Option<String> {
        let (directory, name) = path.rsplit_once('/')?;
        let in_programs = matches!(last_name(directory), "bin" | "sbin")
            || directory.ends_with("/lib/git-core")
            || directory.ends_with("/libexec/git-core")
            || is_marked(directory);
        let of_system = is_absolute || PROGRAM_DIRECTORIES.contains(&directory) || !self.is_own(&Argument::known(path));
        (in_programs && of_system).then(|| name.to_owned())
    }

    /// What a path leads to, where it or a directory on its way is another name of something; `links` leaves copies out.
    pub(super) fn origin(&self, path: &str, links: bool) -> Option<String> {
        if self.knows_no_other_name() {
            return None;
        }
        let mut last = self.hop(path, links)?;
        for _ in 1..HOPS {
            let Some(next) = self.hop(&last, links) else { break };
            last = next;
        }
        Some(last)
    }

    fn hop(&self, path: &str, links: bool) -> Option<String> {
        let slashes = path.match_indices('/').map(|(end, _)| end).filter(|end| *end > 0);
        let ends: Vec<usize> = slashes.chain([path.len()]).take(DEPTH).collect();
        // The longest name counts.
        ends.into_iter().rev().find_map(|end| {
            let (name, rest) = path.split_at(end);
            let origin = match self.aliases.get(name) {
                Some(origin) => (origin.is_link || !links).then_some(&origin.path)?,
                None => self.context.programs.get(name).filter(|_| !links)?,
            };
            Some(format!("{}{rest}", origin.trim_end_matches('/')))
        })
    }

    /// A program that was put under this name into a directory that nobody knows.
    fn named_anywhere(&self, name: &str) -> Option<String> {
        let origin = self.aliases.get(name).map(|origin| &origin.path);
        origin.or_else(|| self.context.programs.get(name)).cloned()
    }

    fn knows_no_other_name(&self) -> bool {
        self.aliases.is_empty() && self.context.programs.is_empty()
    }

    /// Notes what `cp`, `ln`, `mv`, `install` or `dd` gives another name.
    pub(super) fn rename(&mut self, command: &str, source: &Argument, target: Option<&Argument>) {
        let word = source.marked();
        let last = last_name(word.trim_end_matches('/'));
        let target = target.map_or(".", Argument::marked);
        // Where the target is a directory, what it gets keeps its name there.
        for (name, above) in
            [(target.to_owned(), format!("{target}/..")), (format!("{target}/{last}"), target.to_owned())]
        {
            let sources = self.sources(command, source, &above);
            let names = if sources.is_empty() || is_marked(&name) { Vec::new() } else { self.all(&name) };
            for path in sources {
                self.renames += 1;
                if self.renames > RENAMES || self.is_full() {
                    // What it gives a name from here on nobody looked at.
                    self.hides = true;
                    return;
                }
                let is_link = command == "ln" || self.origin(&path, true).is_some();
                let path = self.origin(&path, false).unwrap_or(path);
                let runs = self.may_run(&path);
                if runs && is_marked(&name) {
                    self.name_anywhere(last_name(&name), path, is_link);
                } else if runs || is_link {
                    self.give_names(&names, &path, runs, is_link);
                }
            }
        }
    }

    /// Notes a program in a directory that nobody knows: of its path there only the name is sure, if at all.
    fn name_anywhere(&mut self, name: &str, path: String, is_link: bool) {
        if is_marked(name) {
            self.hides |= !path.starts_with(ANYTHING);
        } else if !name.is_empty() {
            self.give_names(&[name.to_owned()], &path, true, is_link);
        }
    }

    fn give_names(&mut self, names: &[String], path: &str, runs: bool, is_link: bool) {
        self.renames += names.len();
        for name in names.iter().filter(|name| !is_marked(name) && *name != path) {
            if name.matches('/').count() > DEPTH || path.len() > PATH_BYTES {
                self.hides |= runs;
                continue;
            }
            if self.aliases.len() >= PLACES {
                self.is_full = true;
                return;
            }
            let leads_out = |path: &str| !self.is_beneath_root(path);
            let known = self.aliases.get(name).map(|known| &known.path);
            let known = known.or_else(|| self.context.programs.get(name));
            let path = match known {
                Some(known) if *known != path => match (self.may_run(known), runs) {
                    // Which program it is only the run says.
                    (true, true) => format!("/bin/{ANYTHING}"),
                    (true, false) => continue,
                    (false, false) if leads_out(known) != leads_out(path) => ANYTHING.to_string(),
                    (false, false) => continue,
                    (false, true) => path.to_owned(),
                },
                Some(_) | None => path.to_owned(),
            };
            self.aliases.insert(name.clone(), Origin { path, is_link });
        }
    }

    /// Where the source of such a command may be. A link leads on from the directory that it lies in, `above` its name.
    fn sources(&self, command: &str, source: &Argument, above: &str) -> Vec<String> {
        let word = source.marked();
        let is_relative = !word.starts_with('/');
        if command != "ln" {
            // Ordinary copies name no program, and there may be thousands of them.
            let leads_out = || self.everywhere.iter().any(|directory| !self.is_beneath_root(directory));
            let is_plain = is_relative && !word.contains("..") && self.knows_no_other_name() && !leads_out();
            return if is_plain || source.is_dynamic() { Vec::new() } else { self.all(word) };
        }
        if source.is_dynamic() {
            let name = last_name(word);
            // Whatever it is, it has the name that its path ends with.
            return vec![if is_marked(name) { ANYTHING.to_string() } else { format!("/usr/bin/{name}") }];
        }
        let mut sources = self.all(word);
        if is_relative {
            let there = self.all(&format!("{above}/{word}"));
            let runs = |path: &String| self.may_run(&self.origin(path, false).unwrap_or_else(|| path.clone()));
            // A hard link is of what has the name here, a symbolic one of what has it there.
            sources.retain(|path| !there.contains(path) && runs(path));
            sources.extend(there);
        }
        sources
    }

    /// Whether it is a program of the system, a directory of such, or one above them.
    fn may_run(&self, path: &str) -> bool {
        path.starts_with(ANYTHING)
            || self.program_at(path, false).is_some()
            || PROGRAM_DIRECTORIES.iter().any(|directory| may_be_within(directory, path))
    }

    /// The programs that have another name behind this line.
    pub(in super::super) fn renamed(&self) -> Vec<(String, String)> {
        let mut renamed: Vec<_> = self
            .aliases
            .iter()
            .filter(|(_, origin)| !origin.path.starts_with(ANYTHING) && self.may_run(&origin.path))
            .map(|(name, origin)| (name.clone(), origin.path.clone()))
            .collect();
        renamed.sort_unstable();
        renamed
    }
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
