//! Where a command line leads the shell that runs it, and every directory where that may be.

use super::super::argument::{ANYTHING, Argument};
use super::operands::divide;
use super::{Places, is_within, normalised};

/// 16 directories that a command line may be in at one point; more are taken as unknown.
const DIRECTORIES: usize = 16;

/// Where a shell may be behind a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entered {
    /// Where it was and wherever it was led; [`ANYTHING`] among them where nobody knows.
    pub(crate) all: Vec<String>,
    /// Where it is if the line ended well, where that says so.
    pub(crate) last: Option<Vec<String>>,
    /// Whether something leads it later, such as a function: then nobody knows any more.
    pub(crate) is_led_later: bool,
}

/// Where a `cd` leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Moved {
    /// Nowhere, or to a directory that may be entered.
    Inside,
    /// Out of the fence.
    Outside(String),
    /// The same from one of the directories where it may be.
    PerhapsOutside { target: String, from: String },
    /// Nobody knows.
    Unknown,
}

impl Places<'_> {
    /// Every directory that was seen to be entered.
    pub(in super::super) fn entered(&self) -> &[String] {
        &self.everywhere
    }

    /// The same where so many functions and texts may run each other: each call leads one step further on.
    pub(in super::super) fn entered_by_calls(&self, calls: usize) -> Vec<String> {
        let mut entered = self.everywhere.clone();
        for _ in 1..calls {
            let known = entered.len();
            for target in &self.targets {
                for index in 0..known {
                    let further = normalised(target, &entered[index]);
                    let origin = self.origin(&further, true);
                    for directory in std::iter::once(further).chain(origin) {
                        if !entered.iter().any(|known| stands_for(known, &directory)) {
                            entered.push(directory);
                        }
                    }
                    if entered.len() > DIRECTORIES {
                        entered.push(ANYTHING.into());
                        return entered;
                    }
                }
            }
            if entered.len() == known {
                break;
            }
        }
        entered
    }

    /// Notes where the script itself ends, if it is plain; texts that it hands to others come behind.
    pub(in super::super) fn end_script(&mut self, is_plain: bool) {
        self.last = self.here.clone().filter(|_| is_plain);
    }

    /// The same for a shell that goes on.
    pub(in super::super) fn whereabouts(&self) -> Entered {
        let mut all = self.everywhere.clone();
        let is_lost = self.is_lost || self.is_led_later;
        if is_lost {
            all.push(ANYTHING.into());
        }
        Entered { all, last: self.last.clone().filter(|_| !is_lost), is_led_later: self.is_led_later }
    }

    pub(super) fn enter(&mut self, name: &str, arguments: &[Argument], repeats: bool) -> Moved {
        let (options, operands) = divide(arguments);
        // `pushd -n` leads nowhere, and between `[[` and `]]` it is no command at all.
        let knows = |option: &&str| name != "pushd" && option.chars().all(|character| "-LPe@".contains(character));
        // `pushd` alone changes places with the directory that was put aside last.
        let swaps = name == "pushd" && operands.is_empty();
        if !options.iter().all(knows) || operands.len() > 1 || swaps {
            return Moved::Unknown;
        }
        let home = self.context.home.clone().map_or_else(Argument::unknown, Argument::known);
        let target = operands.first().map_or(&home, |word| *word);
        let Some(text) = target.exact().filter(|text| *text != "-" && !text.starts_with('+')) else {
            return Moved::Unknown;
        };
        if !text.starts_with('/') {
            if self.here.is_none() && self.everywhere.iter().any(|directory| is_anywhere(directory)) {
                return Moved::Unknown;
            }
            if !self.targets.iter().any(|known| known == text) {
                self.targets.push(text.to_owned());
            }
        }
        let mut reached = self.all(text);
        // What the kernel calls `..` is above where a link leads, and not above the link.
        let behind_links = || {
            let mut names = text.split('/').skip_while(|name| matches!(*name, "" | "." | ".."));
            names.any(|name| name == "..")
        };
        if options.iter().any(|option| option.contains('P')) && behind_links() {
            return Moved::Unknown;
        }
        for index in 0..reached.len() {
            if let Some(origin) = self.origin(&reached[index], true)
                && !reached.contains(&origin)
            {
                reached.push(origin);
            }
        }
        if repeats && !text.starts_with('/') {
            // Each turn leads one level further down.
            let further: Vec<String> =
                reached.iter().map(|directory| format!("{}/{ANYTHING}", directory.trim_end_matches('/'))).collect();
            reached.extend(further);
        }
        let all = reached.clone();
        reached.retain(|directory| !all.iter().any(|other| other != directory && stands_for(other, directory)));
        self.noted.clear();
        for directory in &reached {
            if self.everywhere.iter().any(|known| stands_for(known, directory)) {
                continue;
            }
            // Each further `cd` could double them.
            if self.everywhere.len() >= DIRECTORIES {
                if !self.everywhere.iter().any(|known| is_anywhere(known)) {
                    self.everywhere.push(ANYTHING.into());
                }
                return Moved::Unknown;
            }
            self.everywhere.push(directory.clone());
        }
        if reached.iter().any(|directory| is_anywhere(directory)) {
            return Moved::Unknown;
        }
        if self.context.fence && !reached.iter().all(|directory| self.is_beneath_root(directory)) {
            let target = target.shown();
            let from = self.here.as_ref().unwrap_or(&self.everywhere).iter();
            let (inside, outside): (Vec<_>, Vec<_>) =
                from.partition(|directory| self.is_beneath_root(&normalised(text, directory)));
            return match (inside.is_empty(), outside.first()) {
                (false, Some(from)) => Moved::PerhapsOutside { target, from: Argument::known(from.as_str()).shown() },
                _ => Moved::Outside(target),
            };
        }
        if self.repeats && text.split('/').any(|segment| segment == "..") {
            // Each turn of a loop leads one level further up.
            return Moved::Unknown;
        }
        self.lead(Some(reached));
        Moved::Inside
    }

    pub(super) fn is_beneath_root(&self, path: &str) -> bool {
        self.roots.iter().any(|root| is_within(path, root))
    }
}

/// Whether a directory is another one, or stands for all below one in which that lies.
fn stands_for(known: &str, directory: &str) -> bool {
    known == directory
        || known.strip_suffix(ANYTHING).is_some_and(|base| {
            base.len() > 1 && base.ends_with('/') && directory.starts_with(base) && directory.len() > base.len()
        })
}

/// Whether a directory stands for all of them.
pub(super) fn is_anywhere(directory: &str) -> bool {
    directory.starts_with(ANYTHING)
}
