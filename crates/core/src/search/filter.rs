//! [`Filter`]: which paths a search is about, as positions that are carried from directory to directory.

use super::pattern::{Glob, Hit, PatternSet, Positions, Reach};
use crate::error::{Error, Result, Shown};
use crate::path::VirtualPath;

/// 64: a caller that has more globs than this wants one with `*`.
const MAX_GLOBS: usize = 64;

/// Paths to take and paths to leave.
#[derive(Debug)]
pub(crate) struct Filter {
    /// A path must match it, where there is one.
    include: Option<PatternSet>,
    /// A path that it matches is left, with all that lies below.
    exclude: Option<PatternSet>,
    /// The name of a file must match it besides, where there is one.
    names: Option<(PatternSet, Positions)>,
    /// Whether names that begin with `.` are taken.
    hidden: bool,
}

/// How far a directory has come in the patterns of a filter.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    include: Option<Positions>,
    exclude: Option<Positions>,
}

impl Filter {
    /// The filter of one glob pattern, with the path to search: `path`, or the directory that the literal names of an
    /// absolute pattern spell when it leads elsewhere. A leading `!` takes all that the rest does not match.
    pub(crate) fn of_pattern(pattern: &str, path: &VirtualPath, hidden: bool) -> Result<(Self, VirtualPath)> {
        let (glob, negated, base) = located(pattern, path)?;
        let set = Some(PatternSet::new([glob]));
        let (include, exclude) = if negated { (None, set) } else { (set, None) };
        Ok((Self { include, exclude, names: None, hidden }, base))
    }

    /// The filter of a search for lines: files that one of `globs` matches, `!` excluding, and whose name one of
    /// `names` matches. A glob without `/` is held against names at any depth; an absolute one must lead into `path`.
    pub(crate) fn of_globs(globs: &[String], names: &[String], path: &VirtualPath, hidden: bool) -> Result<Self> {
        if globs.len() > MAX_GLOBS {
            return Err(Error::invalid(format!(
                "There are {} globs; at most {MAX_GLOBS} are possible. '{{a,b}}' joins several into one.",
                globs.len()
            )));
        }
        let (mut include, mut exclude) = (Vec::new(), Vec::new());
        for pattern in globs {
            let (text, side) = match pattern.strip_prefix('!') {
                Some(rest) => (rest, &mut exclude),
                None => (pattern.as_str(), &mut include),
            };
            let glob = Glob::parse(text, Reach::AnyDepth)?;
            side.push(if glob.absolute { glob.below(path).ok_or_else(|| leads_out(text, path))? } else { glob });
        }
        let names = names.iter().map(|name| Glob::parse(name, Reach::Here)).collect::<Result<Vec<_>>>()?;
        let compiled = |globs: Vec<Glob>| if globs.is_empty() { None } else { Some(PatternSet::new(globs)) };
        let names = compiled(names).map(|set| {
            let start = set.start();
            (set, start)
        });
        Ok(Self { include: compiled(include), exclude: compiled(exclude), names, hidden })
    }

    /// The place of the directory that is searched.
    pub(crate) fn start(&self) -> Place {
        Place {
            include: self.include.as_ref().map(PatternSet::start),
            exclude: self.exclude.as_ref().map(PatternSet::start),
        }
    }

    /// What a file called `name` in a directory at `place` is to the filter.
    pub(crate) fn file(&self, place: &Place, name: &[u8]) -> Hit {
        if let Some((set, start)) = &self.names
            && set.matches(start, name, true) == Hit::No
        {
            return Hit::No;
        }
        self.entry(place, name)
    }

    /// What an entry of any kind called `name` in a directory at `place` is to the filter, as a result.
    pub(crate) fn entry(&self, place: &Place, name: &[u8]) -> Hit {
        let hit = match (&self.include, &place.include) {
            (Some(set), Some(positions)) => set.matches(positions, name, self.hidden),
            _ => self.unless_hidden(name),
        };
        if hit != Hit::No && self.excludes(place, name) { Hit::No } else { hit }
    }

    /// The place of the directory called `name` in one at `place`, with what it is to the filter: `None` when nothing
    /// below it can match.
    pub(crate) fn enter(&self, place: &Place, name: &[u8]) -> Option<(Place, Hit)> {
        let (include, hit) = match (&self.include, &place.include) {
            (Some(set), Some(positions)) => {
                let (entered, hit) = set.enter(positions, name, self.hidden);
                (Some(entered), hit)
            }
            _ => (None, self.unless_hidden(name)),
        };
        if hit == Hit::No || self.excludes(place, name) {
            return None;
        }
        let exclude = match (&self.exclude, &place.exclude) {
            (Some(set), Some(positions)) => Some(set.enter(positions, name, true).0),
            _ => None,
        };
        Some((Place { include, exclude }, hit))
    }

    fn unless_hidden(&self, name: &[u8]) -> Hit {
        if self.hidden || name.first() != Some(&b'.') { Hit::Pattern } else { Hit::No }
    }

    fn excludes(&self, place: &Place, name: &[u8]) -> bool {
        match (&self.exclude, &place.exclude) {
            (Some(set), Some(positions)) => set.matches(positions, name, true) != Hit::No,
            _ => false,
        }
    }
}

/// Reads a glob pattern for a search of `path`: the pattern relative to where the search begins, whether a leading `!`
/// turned it around, and where that is.
pub(crate) fn located(pattern: &str, path: &VirtualPath) -> Result<(Glob, bool, VirtualPath)> {
    let (pattern, negated) = match pattern.strip_prefix('!') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut glob = Glob::parse(pattern, Reach::Here)?;
    let mut base = path.clone();
    if glob.absolute {
        let directory = glob.literal_directory()?;
        glob = match glob.below(path) {
            Some(below) => below,
            None if negated => return Err(leads_out(pattern, path)),
            None => {
                base = directory;
                glob.below(&base).ok_or_else(|| leads_out(pattern, path))?
            }
        };
    }
    Ok((glob, negated, base))
}

pub(super) fn leads_out(pattern: &str, path: &VirtualPath) -> Error {
    Error::invalid(format!(
        "The glob '{}' matches nothing below '{path}', where it is searched; make it relative to that path, or give \
         another path.",
        Shown(&pattern.chars().take(80).collect::<String>())
    ))
}
