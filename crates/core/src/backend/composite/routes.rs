//! [`Routes`]: which part of the tree belongs to which backend, and how a part spells its paths.

use std::sync::Arc;

use super::{Strip, working_directory};
use crate::backend::Backend;
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::order;
use crate::path::VirtualPath;
use crate::sandbox::{not_in_sandbox, not_writable};

/// A backend and the path that it has in the tree.
pub(super) struct Part {
    pub(super) prefix: VirtualPath,
    pub(super) backend: Arc<dyn Backend>,
    /// What the prefix is in the backend's own paths, where that is not the prefix itself.
    base: Option<VirtualPath>,
}

/// All parts.
pub(super) struct Routes {
    /// The longest prefix first, so the default, whose prefix is `/`, is the last one.
    parts: Vec<Part>,
}

impl Routes {
    pub(super) fn new(
        default: Arc<dyn Backend>,
        routes: Vec<(String, Arc<dyn Backend>)>,
        strip: &Strip,
    ) -> Result<Self> {
        let root = VirtualPath::root();
        let mut stripped = match strip {
            Strip::All(_) => Vec::new(),
            Strip::Only(names) => {
                names.iter().map(|name| VirtualPath::parse(name, &root)).collect::<Result<Vec<_>>>()?
            }
        };
        let mut parts: Vec<Part> = Vec::with_capacity(routes.len() + 1);
        for (prefix, backend) in routes {
            let prefix = VirtualPath::parse(&prefix, &root)?;
            if prefix.is_root() {
                return Err(Error::invalid("The route '/' is the whole tree; make its backend the default instead."));
            }
            if parts.iter().any(|part| part.prefix == prefix) {
                return Err(Error::invalid(format!("There are two routes for '{prefix}'; each path can have one.")));
            }
            let strips = match strip {
                Strip::All(all) => *all,
                Strip::Only(_) => {
                    let before = stripped.len();
                    stripped.retain(|name| *name != prefix);
                    stripped.len() < before
                }
            };
            let base = strips.then(|| working_directory(&*backend));
            parts.push(Part { prefix, backend, base });
        }
        if let Some(unknown) = stripped.first() {
            return Err(Error::invalid(format!("'{unknown}' is to be stripped, but there is no such route.")));
        }
        order::sort_by(&mut parts, |one, other| {
            other.prefix.as_str().len().cmp(&one.prefix.as_str().len()).then_with(|| one.prefix.cmp(&other.prefix))
        });
        parts.push(Part { prefix: root, backend: default, base: None });
        Ok(Self { parts })
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The part that has `path`: its index among [`Routes::parts`], and itself.
    pub(super) fn owner(&self, path: &VirtualPath) -> (usize, &Part) {
        let index = self.parts.iter().position(|part| path.is_within(&part.prefix));
        let index = index.unwrap_or(self.parts.len() - 1);
        (index, &self.parts[index])
    }

    pub(super) fn default_part(&self) -> &Part {
        &self.parts[self.parts.len() - 1]
    }

    /// The routes that begin below `path`, with their indices.
    pub(super) fn below(&self, path: &VirtualPath) -> impl Iterator<Item = (usize, &Part)> {
        self.parts.iter().enumerate().filter(|(_, part)| part.prefix != *path && part.prefix.is_within(path))
    }

    /// Whether a route begins below `path`.
    pub(super) fn holds_route(&self, path: &VirtualPath) -> bool {
        self.below(path).next().is_some()
    }

    /// Whether `path` is a directory because a route begins there or below.
    pub(super) fn is_directory(&self, path: &VirtualPath) -> bool {
        self.parts.iter().any(|part| part.prefix.is_within(path))
    }

    /// The paths that can be read, for messages.
    pub(super) fn readable_roots(&self) -> Vec<String> {
        self.roots(|part| part.backend.files().readable_roots(), |_| true)
    }

    /// The paths that can be written, for messages.
    pub(super) fn writable_roots(&self) -> Vec<String> {
        self.roots(|part| part.backend.files().writable_roots(), |part| part.backend.writer().is_some())
    }

    fn roots(&self, of_default: impl Fn(&Part) -> Vec<String>, counts: impl Fn(&Part) -> bool) -> Vec<String> {
        let default = self.default_part();
        let mut roots = if counts(default) { of_default(default) } else { Vec::new() };
        let routed = self.parts.iter().filter(|part| !part.prefix.is_root() && counts(part));
        roots.extend(routed.map(|part| part.prefix.to_string()));
        order::sort_by(&mut roots, Ord::cmp);
        roots.dedup();
        roots
    }

    /// An error of a part, in the paths of the tree. `asked` are the paths that the part was asked for, as the tree
    /// spells them.
    pub(super) fn explain(&self, part: &Part, error: Error, asked: &[&VirtualPath]) -> Error {
        if !part.strips() {
            return error;
        }
        let at = |error: &Error| {
            let path = error.path().and_then(|path| VirtualPath::absolute(path).ok());
            let path = path.and_then(|path| part.outer(&path));
            path.or_else(|| asked.first().map(|path| (*path).clone())).map_or("/".to_owned(), |path| path.to_string())
        };
        // These name the roots of the part, which mean nothing here.
        match error.kind() {
            ErrorKind::PathNotInSandbox => return not_in_sandbox(&at(&error), &self.readable_roots()),
            ErrorKind::PathNotWritable => return not_writable(&at(&error), &self.writable_roots()),
            _ => {}
        }
        let pairs = asked.iter().filter_map(|path| Some((part.inner(path).ok()?, (*path).clone())));
        let named = error.path().and_then(|path| VirtualPath::absolute(path).ok());
        let named = named.and_then(|path| Some((path.clone(), part.outer(&path)?)));
        respell(&error, &pairs.chain(named).collect::<Vec<_>>())
    }
}

impl Part {
    /// Whether the part has paths of its own.
    pub(super) fn strips(&self) -> bool {
        self.base.is_some()
    }

    /// The part's own path for a path of the tree that it has.
    pub(super) fn inner(&self, path: &VirtualPath) -> Result<VirtualPath> {
        match &self.base {
            None => Ok(path.clone()),
            Some(base) => VirtualPath::parse(path.relative_to(&self.prefix).unwrap_or_default(), base),
        }
    }

    /// The path of the tree for one of the part's own; `None` when it lies outside what the route shows.
    pub(super) fn outer(&self, path: &VirtualPath) -> Option<VirtualPath> {
        match &self.base {
            None => Some(path.clone()),
            Some(base) => VirtualPath::parse(path.relative_to(base)?, &self.prefix).ok(),
        }
    }

    /// [`Part::outer`] for a path that is only shown, and may hold escaped bytes.
    pub(super) fn shown(&self, path: String) -> String {
        let Some(base) = &self.base else { return path };
        let base = if base.is_root() { "" } else { base.as_str() };
        match path.strip_prefix(base) {
            Some("/" | "") => self.prefix.to_string(),
            Some(rest) => format!("{}{rest}", self.prefix),
            None => path,
        }
    }

    /// Where a path of the tree stands among the part's own, as text to compare with: before all or behind all of them
    /// where it is none of the part's.
    pub(super) fn inner_place(&self, path: String) -> String {
        /// Greater than any path.
        const BEHIND_ALL: &str = "\u{10FFFF}";
        let Some(base) = &self.base else { return path };
        let prefix = format!("{}/", self.prefix.as_str().trim_end_matches('/'));
        match path.strip_prefix(&prefix) {
            Some(rest) => format!("{}/{rest}", base.as_str().trim_end_matches('/')),
            None if path < prefix => String::new(),
            None => BEHIND_ALL.to_owned(),
        }
    }

    /// An error with paths of the tree, in the part's own paths: what [`Routes::explain`] turns back.
    pub(super) fn retell(&self, error: Error) -> Error {
        if !self.strips() {
            return error;
        }
        let path = error.path().and_then(|path| VirtualPath::absolute(path).ok());
        match path.and_then(|path| Some((path.clone(), self.inner(&path).ok()?))) {
            Some(pair) => respell(&error, &[pair]),
            None => error,
        }
    }
}

/// The error with each path that is the first of a pair, alone between quotation marks, as the second.
fn respell(error: &Error, pairs: &[(VirtualPath, VirtualPath)]) -> Error {
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(from, to)| (format!("{}'", Shown(from.as_str())), format!("{}'", Shown(to.as_str()))))
        .collect();
    let mut message = String::with_capacity(error.message().len() + 64);
    let mut rest = error.message();
    while let Some(quote) = rest.find('\'') {
        let (before, after) = rest.split_at(quote + 1);
        message.push_str(before);
        rest = match pairs.iter().find_map(|(from, to)| Some((to, after.strip_prefix(from.as_str())?))) {
            Some((to, after)) => {
                message.push_str(to);
                after
            }
            None => after,
        };
    }
    message.push_str(rest);
    let mut respelled = Error::new(error.kind(), message);
    if let Some(path) = error.path() {
        let quoted = format!("{}'", Shown(path));
        let to = pairs.iter().find(|(from, _)| *from == quoted).map_or(path, |(_, to)| to.trim_end_matches('\''));
        respelled = respelled.with_path(to);
    }
    match error.details() {
        Some(details) => respelled.with_details(details.clone()),
        None => respelled,
    }
}
