//! A query, cut down to one directory below where it searches: how a search is shared out between file systems that lie
//! within one another, each of which has paths of its own.

use super::filter::{leads_out, located};
use super::pattern::{Glob, Hit, PatternSet, Reach, literal};
use super::query::{FindQuery, GlobQuery, GrepQuery};
use crate::error::Result;
use crate::path::VirtualPath;

/// A search for names, ready to be shared out.
pub(crate) struct SharedGlob<'q> {
    query: &'q GlobQuery,
    glob: Glob,
    negated: bool,
    /// Whether the pattern begins with `/`. A share of it does too, so that it means nothing but what lies below.
    absolute: bool,
    /// Where the search begins: the query's path, or where its absolute pattern leads.
    pub(crate) base: VirtualPath,
}

impl<'q> SharedGlob<'q> {
    /// Reads the pattern; the errors are those of [`super::glob`].
    pub(crate) fn new(query: &'q GlobQuery) -> Result<Self> {
        let (glob, negated, base) = located(&query.pattern, &query.path)?;
        let absolute = Glob::parse(query.pattern.trim_start_matches('!'), Reach::Here)?.absolute;
        Ok(Self { query, glob, negated, absolute, base })
    }

    /// The query that finds below `path` (a path of another file system) what this one finds below `base/names`. `None`
    /// when nothing there can match.
    pub(crate) fn below(&self, names: &str, path: VirtualPath) -> Option<GlobQuery> {
        let hidden = self.query.hidden;
        let pattern = if self.negated {
            if !hidden && segments(names).any(|name| name.starts_with('.')) || self.takes_any(names, true) {
                return None;
            }
            match self.glob.remaining(names, true) {
                Some(rest) => format!("!{}", self.spelled(&rest, &path)),
                // Nothing below is excluded.
                None => "**".to_owned(),
            }
        } else {
            self.spelled(&self.glob.remaining(names, hidden)?, &path)
        };
        Some(GlobQuery { pattern, path, ..self.query.clone() })
    }

    fn spelled(&self, rest: &Glob, path: &VirtualPath) -> String {
        let rest = rest.to_pattern(Reach::Here);
        if self.absolute { format!("{}/{rest}", literal(path)) } else { rest }
    }

    /// Whether `names`, a directory below `base`, is a result itself.
    pub(crate) fn matches_directory(&self, names: &str) -> bool {
        if self.negated {
            let hidden = !self.query.hidden && segments(names).any(|name| name.starts_with('.'));
            return !hidden && !self.takes_any(names, true);
        }
        takes(&self.glob, names, self.query.hidden)
    }

    /// Whether the pattern takes the directory or one above it.
    fn takes_any(&self, names: &str, hidden: bool) -> bool {
        prefixes(names).any(|names| takes(&self.glob, names, hidden))
    }
}

/// The query that finds below `path` (a path of another file system) what `query` finds below `names`, a directory
/// below its own path. `None` when nothing there can match.
pub(crate) fn grep_below(query: &GrepQuery, names: &str, path: VirtualPath) -> Result<Option<GrepQuery>> {
    // Only a glob that spells the dot shows what is hidden.
    let no_includes = query.globs.iter().all(|pattern| pattern.starts_with('!'));
    if no_includes && !query.hidden && segments(names).any(|name| name.starts_with('.')) {
        return Ok(None);
    }
    let mut globs = Vec::new();
    for pattern in &query.globs {
        let (text, excludes) = match pattern.strip_prefix('!') {
            Some(text) => (text, true),
            None => (pattern.as_str(), false),
        };
        let mut glob = Glob::parse(text, Reach::AnyDepth)?;
        if glob.absolute {
            glob = glob.below(&query.path).ok_or_else(|| leads_out(text, &query.path))?;
        }
        if excludes {
            if prefixes(names).any(|names| takes(&glob, names, true)) {
                return Ok(None);
            }
            if let Some(rest) = glob.remaining(names, true) {
                globs.push(format!("!{}", rest.to_pattern(Reach::AnyDepth)));
            }
        } else {
            if let Some(rest) = glob.remaining(names, query.hidden) {
                globs.push(rest.to_pattern(Reach::AnyDepth));
            }
        }
    }
    if !no_includes && globs.iter().all(|glob| glob.starts_with('!')) {
        return Ok(None);
    }
    Ok(Some(GrepQuery { path, globs, ..query.clone() }))
}

/// The query that finds below `path` (a path of another file system) what `query` finds below `names`, a directory
/// below its own path. `None` when that is hidden.
pub(crate) fn find_below(query: &FindQuery, names: &str, path: VirtualPath) -> Option<FindQuery> {
    if !query.hidden && segments(names).any(|name| name.starts_with('.')) {
        return None;
    }
    let above = if names.is_empty() { query.above.clone() } else { format!("{}{names}/", query.above) };
    Some(FindQuery { path, above, ..query.clone() })
}

fn segments(names: &str) -> impl Iterator<Item = &str> {
    names.split('/').filter(|name| !name.is_empty())
}

/// `a`, `a/b`, `a/b/c`.
fn prefixes(names: &str) -> impl Iterator<Item = &str> {
    names.match_indices('/').map(|(at, _)| &names[..at]).chain((!names.is_empty()).then_some(names))
}

fn takes(glob: &Glob, names: &str, hidden: bool) -> bool {
    let set = PatternSet::new([glob.clone()]);
    let mut positions = set.start();
    let (parent, last) = names.rsplit_once('/').unwrap_or(("", names));
    for name in segments(parent) {
        positions = set.enter(&positions, name.as_bytes(), hidden).0;
    }
    !last.is_empty() && set.matches(&positions, last.as_bytes(), hidden) != Hit::No
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_pattern_is_read_as_it_was_written(
            pattern in r"(\*|\*\*|/|\?|a|b|,|é|\\[*?\[\]{},!-]|\{a,\*b\}|\{x/y,\[!a-c\]\}|\[\]a-\]|\[\\\]-\^\]|\.|!){0,8}",
            path in "(/[a*!,]{1,3}){0,3}",
        ) {
            for reach in [Reach::Here, Reach::AnyDepth] {
                let Ok(mut glob) = Glob::parse(&pattern, reach) else { continue };
                glob.absolute = false;
                prop_assert_eq!(&Glob::parse(&glob.to_pattern(reach), reach).unwrap(), &glob);
                let path = VirtualPath::parse(&path, &VirtualPath::root()).unwrap();
                let absolute = format!("{}/{}", literal(&path), glob.to_pattern(Reach::Here));
                let below = Glob::parse(&absolute, reach).unwrap().below(&path);
                // Behind a `**` that begins the pattern, its own rest is implied.
                prop_assert_eq!(below, glob.remaining("", true));
            }
        }
    }

    #[test]
    fn a_search_for_lines_keeps_what_its_globs_mean() {
        let below = |globs: &[&str], names: &str| {
            let mut query = GrepQuery::new("x", VirtualPath::root());
            query.globs = globs.iter().map(|glob| (*glob).to_owned()).collect();
            grep_below(&query, names, VirtualPath::root()).unwrap().map(|query| query.globs)
        };
        let globs = |globs: &[&str]| Some(globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>());
        assert_eq!(below(&["*.ts"], "src"), globs(&["**/*.ts"]));
        // Without a second part it would be taken at any depth.
        assert_eq!(below(&["src/*.ts"], "src"), globs(&["./*.ts"]));
        assert_eq!(below(&["lib/*.ts"], "src"), None);
        assert_eq!(below(&["lib/*.ts", "!b"], "src"), None);
        assert_eq!(below(&["!lib"], "src/lib"), None);
        assert_eq!(below(&["!src"], "src/lib/x"), None);
        assert_eq!(below(&["!src/b"], "src"), globs(&["!./b"]));
        assert_eq!(below(&["!lib/b"], "src"), globs(&[]));
        assert_eq!(below(&[], ".git"), None);
        assert_eq!(below(&[".git/*"], ".git"), globs(&["./*"]));
    }
}
