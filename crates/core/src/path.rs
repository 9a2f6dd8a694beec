//! The only path type that tools and backends speak: a [`VirtualPath`] is absolute, `/`-separated and normalised.
//!
//! Normalising is pure work on words: `.`, `..`, `//` and a trailing `/` are resolved before anything looks at a
//! disk. Nothing is expanded: `~`, `$HOME`, `%2e` and `file://` are ordinary characters, and so is `\`. Turning a
//! virtual path into a place on the host is the business of one module only (`backend::local`).

use std::fmt;

use memchr::memchr2;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result, Shown};

/// 4096 bytes: the longest path Linux takes (`PATH_MAX`).
pub const MAX_PATH_BYTES: usize = 4096;
/// 255 bytes: the longest name that common file systems take (`NAME_MAX`).
pub const MAX_NAME_BYTES: usize = 255;

/// Whether file systems of this system commonly take `A` for `a`, so that rules about names must not tell them apart.
pub const NAMES_FOLD: bool = cfg!(any(target_vendor = "apple", windows));

/// An absolute, normalised path as the agent sees it. Invariants: starts with `/`; no empty, `.` or `..` segment; no
/// NUL; no trailing `/` except for the root itself; within [`MAX_PATH_BYTES`] and [`MAX_NAME_BYTES`].
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VirtualPath(String);

impl VirtualPath {
    /// `/`.
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// Reads a path as a tool or a program gave it: absolute, or relative to `base`. The empty string and `.` are
    /// `base` itself. Fails with `InvalidInput` for NUL, for `..` above `/`, and for names or paths that are too long.
    pub fn parse(input: &str, base: &Self) -> Result<Self> {
        if let Some(position) = input.find('\0') {
            return Err(Error::invalid(format!(
                "The path holds a NUL character at byte {position}; a path is text without NUL."
            )));
        }
        let mut path = String::with_capacity(base.0.len() + input.len() + 1);
        if !input.starts_with('/') && !base.is_root() {
            path.push_str(&base.0);
        }
        for segment in input.split('/') {
            match segment {
                "" | "." => {}
                ".." => match path.rfind('/') {
                    Some(slash) => path.truncate(slash),
                    None => {
                        return Err(Error::invalid(format!(
                            "'{}' goes above '/'; there is nothing above it.",
                            Shown(&shortened(input))
                        )));
                    }
                },
                name if name.len() > MAX_NAME_BYTES => {
                    return Err(Error::invalid(format!(
                        "The path has a name of {} bytes ('{}'); at most {MAX_NAME_BYTES} are possible.",
                        name.len(),
                        Shown(&shortened(name))
                    )));
                }
                name => {
                    path.push('/');
                    path.push_str(name);
                    if path.len() > MAX_PATH_BYTES {
                        return Err(Error::invalid(format!(
                            "The path is longer than {MAX_PATH_BYTES} bytes ('{}').",
                            Shown(&shortened(input))
                        )));
                    }
                }
            }
        }
        if path.is_empty() {
            path.push('/');
        }
        Ok(Self(path))
    }

    /// Reads an absolute path.
    pub fn absolute(input: &str) -> Result<Self> {
        if input.starts_with('/') {
            Self::parse(input, &Self::root())
        } else {
            Err(Error::invalid(format!("'{}' is not an absolute path; begin it with '/'.", Shown(&shortened(input)))))
        }
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `/`.
    pub fn is_root(&self) -> bool {
        self.0.len() == 1
    }

    /// The last name, or `None` for `/`.
    pub fn file_name(&self) -> Option<&str> {
        self.0.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// Everything but the last name, or `None` for `/`.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let slash = self.0.rfind('/')?;
        Some(Self(if slash == 0 { "/".to_owned() } else { self.0[..slash].to_owned() }))
    }

    /// This path with one more name. `name` must be one segment; what is not is refused.
    pub fn join(&self, name: &str) -> Result<Self> {
        if name.is_empty() || name == "." || name == ".." || memchr2(b'/', 0, name.as_bytes()).is_some() {
            return Err(Error::invalid(format!("'{}' is not a single file name.", Shown(name))));
        }
        let above = if self.is_root() { "" } else { &self.0 };
        let length = above.len() + 1 + name.len();
        if name.len() > MAX_NAME_BYTES || length > MAX_PATH_BYTES {
            // Says what is too long.
            return Self::parse(name, self);
        }
        let mut path = String::with_capacity(length);
        path.push_str(above);
        path.push('/');
        path.push_str(name);
        Ok(Self(path))
    }

    /// The part of this path below `prefix`, without a leading `/` (empty when they are equal), or `None` when this
    /// path does not lie at or below it. Whole segments only: `/memory` is not below `/mem`.
    pub fn relative_to(&self, prefix: &Self) -> Option<&str> {
        if prefix.is_root() {
            return Some(&self.0[1..]);
        }
        let rest = self.0.strip_prefix(prefix.as_str())?;
        if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
    }

    /// Whether this path is `prefix` or lies below it.
    pub fn is_within(&self, prefix: &Self) -> bool {
        self.relative_to(prefix).is_some()
    }

    /// The lower-cased last suffix with its dot (`.gz` of `a.tar.gz`), or `None`: a dot-file such as `.txt` has none.
    pub fn suffix(&self) -> Option<String> {
        let name = self.file_name()?;
        let dot = name.rfind('.')?;
        if dot == 0 || dot + 1 == name.len() { None } else { Some(name[dot..].to_lowercase()) }
    }
}

impl From<VirtualPath> for String {
    fn from(path: VirtualPath) -> Self {
        path.0
    }
}

impl Serialize for VirtualPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Whoever wrote the text is not believed: it is parsed like any other.
impl<'de> Deserialize<'de> for VirtualPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::absolute(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for VirtualPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(&self.0).fmt(f)
    }
}

impl fmt::Debug for VirtualPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A path as somebody spelled it, without what leads elsewhere than its words say: `.`, `..`, doubled slashes and one at the
/// end. `None` where the spelling has none of them. A `..` above `/` stays there, as in every file system; one in front of a
/// relative path has nothing to undo and stays in the text.
pub fn without_detours(spelling: &str) -> Option<String> {
    let is_absolute = spelling.starts_with('/');
    let words = spelling.strip_prefix('/').unwrap_or(spelling);
    if words.is_empty() || !words.split('/').any(|word| matches!(word, "" | "." | "..")) {
        return None;
    }
    let mut kept: Vec<&str> = Vec::new();
    for word in words.split('/') {
        match word {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => drop(kept.pop()),
            ".." if is_absolute => {}
            word => kept.push(word),
        }
    }
    let plain = kept.join("/");
    Some(match (is_absolute, plain.is_empty()) {
        (true, _) => format!("/{plain}"),
        (false, true) => ".".to_owned(),
        (false, false) => plain,
    })
}

/// The first 80 characters of over-long input, for a message.
fn shortened(input: &str) -> String {
    match input.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &input[..end]),
        None => input.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(base: &str, input: &str) -> String {
        match VirtualPath::parse(input, &VirtualPath::absolute(base).unwrap()) {
            Ok(path) => path.as_str().to_owned(),
            Err(error) => error.kind().code().to_owned(),
        }
    }

    #[test]
    fn normalises_words_and_expands_nothing() {
        for (base, input, expected) in [
            ("/w", "", "/w"),
            ("/w", ".", "/w"),
            ("/w", "a/./b//c/", "/w/a/b/c"),
            ("/w", "a/../b", "/w/b"),
            ("/w", "../x", "/x"),
            ("/w", "../../x", "INVALID_INPUT"),
            ("/", "/..", "INVALID_INPUT"),
            ("/w", "/", "/"),
            ("/w", "~/x", "/w/~/x"),
            ("/w", "$HOME", "/w/$HOME"),
            ("/w", "%2e%2e/x", "/w/%2e%2e/x"),
            ("/w", "file:///etc", "/w/file:/etc"),
            ("/w", "a\\b", "/w/a\\b"),
            ("/w", "a..b.txt", "/w/a..b.txt"),
            ("/w", "...", "/w/..."),
            ("/w", " a ", "/w/ a "),
            ("/w", "a\0b", "INVALID_INPUT"),
        ] {
            assert_eq!(parse(base, input), expected, "{input:?} beneath {base:?}");
        }
        assert_eq!(parse("/", &"n".repeat(256)), "INVALID_INPUT");
        assert_eq!(parse("/", &"n/".repeat(2049)), "INVALID_INPUT");
    }

    #[test]
    fn a_name_joined_is_the_name_read_from_there() {
        let deep = "/n".repeat(MAX_PATH_BYTES / 2 - 2);
        for base in ["/", "/w", "/w/é", &deep] {
            let base = VirtualPath::absolute(base).unwrap();
            for name in ["a", "é.txt", "...", " a ", "ab", "abc", "abcd", &"n".repeat(255), &"n".repeat(256)] {
                let (joined, parsed) = (base.join(name), VirtualPath::parse(name, &base));
                assert_eq!(joined.map_err(|error| error.kind()), parsed.map_err(|error| error.kind()), "{name}");
            }
            for name in ["", ".", "..", "a/b", "/", "a\0"] {
                assert_eq!(base.join(name).unwrap_err().kind().code(), "INVALID_INPUT", "{name:?}");
            }
        }
    }

    #[test]
    fn a_spelling_loses_its_detours_and_nothing_else() {
        for (spelling, plain) in [
            ("/w/../etc/passwd", Some("/etc/passwd")),
            ("/w/./a", Some("/w/a")),
            ("//w//a/", Some("/w/a")),
            ("/../../etc", Some("/etc")),
            ("/..", Some("/")),
            ("a/../b", Some("b")),
            ("a/..", Some(".")),
            ("a/../../b", Some("../b")),
            ("../../b/../c", Some("../../c")),
            ("./a", Some("a")),
            ("a/", Some("a")),
            ("..", Some("..")),
            ("/w/a", None),
            ("a", None),
            ("/", None),
            ("", None),
            ("/w/..a/.b/c..", None),
        ] {
            assert_eq!(without_detours(spelling).as_deref(), plain, "{spelling:?}");
        }
    }

    #[test]
    fn prefixes_are_whole_segments() {
        let path = VirtualPath::absolute("/memory/a").unwrap();
        assert!(!path.is_within(&VirtualPath::absolute("/mem").unwrap()));
        assert_eq!(path.relative_to(&VirtualPath::absolute("/memory").unwrap()), Some("a"));
        assert_eq!(path.relative_to(&VirtualPath::root()), Some("memory/a"));
        assert_eq!(path.relative_to(&path), Some(""));
    }

    #[test]
    fn takes_the_last_suffix_only() {
        for (name, expected) in
            [("a.TXT", Some(".txt")), ("a.tar.gz", Some(".gz")), (".txt", None), ("a.", None), ("a", None)]
        {
            assert_eq!(VirtualPath::root().join(name).unwrap().suffix().as_deref(), expected, "{name}");
        }
    }
}
