//! Reading and listing. A look-up holds the tree's lock for as long as it takes to find a name; what is then read is a
//! file that no later change touches.

use std::sync::Arc;

use super::StateBackend;
use super::errors;
use super::tree::{Directory, File, Node, Place};
use crate::access::Operation;
use crate::backend::stream::{FileReader, piece};
use crate::backend::{BoxFuture, Call, FileContent, FileInfo, FileKind, FileSlice, FileSystem, Listing, Resolution};
use crate::error::Result;
use crate::path::VirtualPath;
use crate::search::{FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepOutcome, GrepQuery, Outline, OutlineQuery};
use crate::text::window::{self, Window, WindowRequest};

impl StateBackend {
    fn resolve_now(&self, path: &VirtualPath) -> Result<Resolution> {
        self.check_open()?;
        let tree = self.tree.read();
        let (kind, version) = match tree.find(path) {
            Place::File(file) => (Some(FileKind::File), Some(file.version())),
            Place::Directory(_) => (Some(FileKind::Directory), None),
            Place::Missing { .. } | Place::Blocked { .. } => (None, None),
        };
        Ok(Resolution {
            resolved: path.clone(),
            kind,
            version,
            writable: true,
            read_approval: false,
            write_approval: false,
        })
    }

    fn stat_now(&self, path: &VirtualPath, call: &Call) -> Result<Option<FileInfo>> {
        self.check_open()?;
        call.guard.check(Operation::Ls, path)?;
        Ok(self.node(path).ok().map(|node| node.info(shown_name(path), path.to_string())))
    }

    fn list_now(&self, path: &VirtualPath, depth: u32, call: &Call) -> Result<Listing> {
        self.begin(call)?;
        call.guard.check(Operation::Ls, path)?;
        let directory = match self.node(path) {
            Ok(Node::Directory(directory)) => directory,
            Ok(file @ Node::File(_)) => {
                let entries = vec![file.info(shown_name(path), path.to_string())];
                return Ok(Listing { entries, truncated: false });
            }
            Err(_) => return Err(errors::not_found(path)),
        };
        let mut listing = Listing::default();
        let mut open = Vec::new();
        let prefix = if path.is_root() { "" } else { path.as_str() };
        if depth > 0 {
            open_directory(&directory, prefix, 1, &mut open);
        }
        while let Some(Unlisted { path, name_at, node, level }) = open.pop() {
            if listing.entries.len() % CHECK_EVERY == 0 {
                call.deadline.check()?;
            }
            if !call.guard.is_open() && !is_shown(call, &path) {
                continue;
            }
            if listing.entries.len() >= self.limits.list_entries {
                listing.truncated = true;
                break;
            }
            if let Node::Directory(directory) = node
                && level < depth
            {
                open_directory(directory, &path, level + 1, &mut open);
            }
            listing.entries.push(node.info(path.get(name_at..).unwrap_or_default(), path.clone()));
        }
        Ok(listing)
    }

    fn read_now(&self, path: &VirtualPath, window: Window, call: &Call) -> Result<FileSlice> {
        let file = self.file(path, call)?;
        let text = window::read(
            &mut file.bytes.as_slice(),
            &WindowRequest {
                window,
                size: file.size(),
                count_lines_bytes: self.limits.count_lines_bytes,
                path: path.as_str(),
                deadline: &call.deadline,
            },
        )?;
        Ok(FileSlice {
            content: text.content,
            offset: window.offset,
            lines: text.lines,
            total_lines: text.total_lines,
            bytes: file.size(),
            next_offset: text.next_offset,
            truncated: text.truncated,
            encoding: text.encoding,
            resolved: path.clone(),
            version: file.version(),
        })
    }

    fn read_bytes_now(&self, path: &VirtualPath, max_bytes: u64, call: &Call) -> Result<FileContent> {
        let file = self.file(path, call)?;
        if file.size() > max_bytes {
            return Err(errors::file_too_large(path, file.size(), max_bytes));
        }
        Ok(FileContent { bytes: file.bytes.clone(), resolved: path.clone(), version: file.version() })
    }

    /// The file at `path`, for reading.
    fn file(&self, path: &VirtualPath, call: &Call) -> Result<Arc<File>> {
        self.begin(call)?;
        call.guard.check(Operation::Read, path)?;
        match self.node(path)? {
            Node::File(file) => Ok(file),
            Node::Directory(_) => Err(errors::not_a_file(path)),
        }
    }

    fn node(&self, path: &VirtualPath) -> Result<Node> {
        match self.tree.read().find(path) {
            Place::File(file) => Ok(Node::File(Arc::clone(file))),
            Place::Directory(directory) => Ok(Node::Directory(Arc::clone(directory))),
            Place::Missing { .. } => Err(errors::not_found(path)),
            Place::Blocked { names } => Err(errors::not_a_directory(path, names)),
        }
    }
}

/// Entries between two looks at the clock: a few microseconds of work.
const CHECK_EVERY: usize = 256;

/// An entry that a listing has yet to show.
struct Unlisted<'a> {
    path: String,
    /// Where in `path` the name begins.
    name_at: usize,
    node: &'a Node,
    level: u32,
}

/// Adds the entries of a directory so that they are taken directories first, then by name.
fn open_directory<'a>(directory: &'a Directory, path: &str, level: u32, open: &mut Vec<Unlisted<'a>>) {
    let begin = open.len();
    for kind in [FileKind::Directory, FileKind::File] {
        for (name, node) in directory.entries.iter().filter(|(_, node)| node.kind() == kind) {
            open.push(Unlisted { path: format!("{path}/{name}"), name_at: path.len() + 1, node, level });
        }
    }
    if let Some(added) = open.get_mut(begin..) {
        added.reverse();
    }
}

fn is_shown(call: &Call, path: &str) -> bool {
    VirtualPath::absolute(path).is_ok_and(|path| call.guard.check(Operation::Ls, &path).is_ok())
}

/// The last name, or `/` for the root.
fn shown_name(path: &VirtualPath) -> &str {
    path.file_name().unwrap_or("/")
}

/// A file that no later change touches.
struct Opened(Arc<File>);

impl FileReader for Opened {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read<'a>(&'a mut self, offset: u64, length: usize, call: &'a Call) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            call.deadline.check()?;
            Ok(piece(&self.0.bytes, offset, length).to_vec())
        })
    }
}

impl FileSystem for StateBackend {
    fn working_directory(&self) -> &VirtualPath {
        &self.working_directory
    }

    fn readable_roots(&self) -> Vec<String> {
        vec!["/".to_owned()]
    }

    fn writable_roots(&self) -> Vec<String> {
        vec!["/".to_owned()]
    }

    fn mounts_ask(&self) -> bool {
        false
    }

    fn resolve<'a>(&'a self, path: &'a VirtualPath, _call: &'a Call) -> BoxFuture<'a, Result<Resolution>> {
        Box::pin(async move { self.resolve_now(path) })
    }

    fn stat<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Option<FileInfo>>> {
        Box::pin(async move { self.stat_now(path, call) })
    }

    fn list<'a>(&'a self, path: &'a VirtualPath, depth: u32, call: &'a Call) -> BoxFuture<'a, Result<Listing>> {
        Box::pin(async move {
            self.mind_the_caller(0).await;
            self.list_now(path, depth, call)
        })
    }

    fn read<'a>(&'a self, path: &'a VirtualPath, window: Window, call: &'a Call) -> BoxFuture<'a, Result<FileSlice>> {
        Box::pin(async move {
            self.mind_the_reader(path).await;
            self.read_now(path, window, call)
        })
    }

    fn read_bytes<'a>(
        &'a self,
        path: &'a VirtualPath,
        max_bytes: u64,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<FileContent>> {
        Box::pin(async move {
            self.mind_the_reader(path).await;
            self.read_bytes_now(path, max_bytes, call)
        })
    }

    fn open_reader<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Box<dyn FileReader>>> {
        Box::pin(async move { Ok(Box::new(Opened(self.file(path, call)?)) as Box<dyn FileReader>) })
    }

    fn glob<'a>(&'a self, query: &'a GlobQuery, call: &'a Call) -> BoxFuture<'a, Result<GlobOutcome>> {
        Box::pin(self.glob_now(query, call))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery, call: &'a Call) -> BoxFuture<'a, Result<GrepOutcome>> {
        Box::pin(self.grep_now(query, call))
    }

    fn find<'a>(&'a self, query: &'a FindQuery, call: &'a Call) -> BoxFuture<'a, Result<FindOutcome>> {
        Box::pin(self.find_now(query, call))
    }

    fn outline<'a>(&'a self, query: &'a OutlineQuery, call: &'a Call) -> BoxFuture<'a, Result<Outline>> {
        Box::pin(self.outline_now(query, call))
    }
}
