//! [`Sandbox`]: a mount table and the host directories behind it, checked once when it is built.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::derive::{Allowances, Allowed, Scope};
use super::mount::{Mount, parse_mount_point};
use super::table::{Located, MountEntry, MountId, MountTable};
use crate::access::Operation;
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::path::VirtualPath;

/// The mounts that are an agent's whole world. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    table: Arc<MountTable>,
    /// The canonical host directory of each mount, in the order of the table.
    hosts: Arc<[PathBuf]>,
    /// The mounts as the author wrote them.
    mounts: Arc<[Mount]>,
}

/// What [`Sandbox::path_config`] tells of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathConfig {
    /// The mount point, normalised.
    pub mount_point: VirtualPath,
    /// Where the path lies on the host. For display and set-up only.
    pub host_path: PathBuf,
    /// The mount as its author wrote it.
    pub mount: Mount,
}

impl Sandbox {
    /// Checks the mounts, then makes their host directories. Relative hosts lie beneath `base_path`. `InvalidInput`
    /// when there is no mount, when two have the same mount point, or when two hosts are equal or one holds the other,
    /// also through links (FS-3). Mount points may lie within each other: the most specific one wins.
    pub fn new(mounts: Vec<Mount>, base_path: &Path) -> Result<Self> {
        if mounts.is_empty() {
            return Err(Error::invalid("A sandbox needs at least one mount."));
        }
        let mut entries = Vec::with_capacity(mounts.len());
        let mut hosts = Vec::with_capacity(mounts.len());
        for mount in &mounts {
            entries.push(entry_of(mount)?);
            hosts.push(canonical_prefix(&base_path.join(&mount.host_path)).map_err(|error| host_error(mount, &error))?);
        }
        refuse_duplicates(&entries)?;
        refuse_overlaps(&entries, &hosts)?;
        let made: Result<Vec<PathBuf>> = mounts
            .iter()
            .zip(&hosts)
            .map(|(mount, host)| make_directory(host).map_err(|error| host_error(mount, &error)))
            .collect();
        let hosts = made?;
        refuse_overlaps(&entries, &hosts)?;
        Ok(Self { table: Arc::new(MountTable::new(entries, true)), hosts: hosts.into(), mounts: mounts.into() })
    }

    /// The pure table.
    pub fn table(&self) -> &Arc<MountTable> {
        &self.table
    }

    /// The mounts as the author wrote them.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// The canonical host directory of each mount, in the order of [`Sandbox::mounts`].
    pub fn hosts(&self) -> &[PathBuf] {
        &self.hosts
    }

    /// Where `path` lies on the host, links followed as far as they exist. For display and set-up only: whoever opens
    /// what this returns is outside the walls. `PathNotInSandbox` when it leads out.
    pub fn resolve(&self, path: &str) -> Result<PathBuf> {
        let path = parse(path)?;
        let located = self.table.require_read(&path)?;
        self.host_of(&located, &path)
    }

    /// Whether `path` may be read, by the mount table alone; false for what is no path.
    pub fn can_read(&self, path: &str) -> bool {
        parse(path).is_ok_and(|path| self.table.can_read(&path))
    }

    /// Whether `path` may be written, by the mount table alone.
    pub fn can_write(&self, path: &str) -> bool {
        parse(path).is_ok_and(|path| self.table.can_write(&path))
    }

    /// Whether somebody is asked before `path` is read; false on any error (FS-12).
    pub fn needs_read_approval(&self, path: &str) -> bool {
        parse(path).is_ok_and(|path| self.table.needs_read_approval(&path))
    }

    /// Whether somebody is asked before `path` is written; false on any error.
    pub fn needs_write_approval(&self, path: &str) -> bool {
        parse(path).is_ok_and(|path| self.table.needs_write_approval(&path))
    }

    /// The mount of `path`. An `operation` that changes files asks for the right to write (FS-13).
    pub fn path_config(&self, path: &str, operation: Operation) -> Result<PathConfig> {
        let path = parse(path)?;
        let located =
            if operation.mutates() { self.table.require_write(&path)? } else { self.table.require_read(&path)? };
        Ok(PathConfig {
            mount_point: self.table.mount(located.mount).mount_point.clone(),
            host_path: self.host_of(&located, &path)?,
            mount: self.mounts[located.mount.index()].clone(),
        })
    }

    /// The host directory mounted at `mount_point`; allow-lists of a derived sandbox do not count (FS-16).
    pub fn mount_root(&self, mount_point: &str) -> Result<PathBuf> {
        let point = parse_mount_point(mount_point)?;
        self.table
            .ids()
            .find(|id| self.table.mount(*id).mount_point == point)
            .map(|id| self.hosts[id.index()].clone())
            .ok_or_else(|| Error::invalid(format!("Nothing is mounted at '{point}'.")))
    }

    /// `SuffixNotAllowed` when the mount of `path` does not take its suffix.
    pub fn check_suffix(&self, path: &str) -> Result<()> {
        let path = parse(path)?;
        self.table.require_read(&path)?;
        self.table.check_suffix(&path)
    }

    /// `FileTooLarge` when a file lies at `path` and is larger than its mount takes. Looks at the disk.
    pub fn check_size(&self, path: &str) -> Result<()> {
        let path = parse(path)?;
        let located = self.table.require_read(&path)?;
        let host = self.host_of(&located, &path)?;
        match fs::metadata(host) {
            Ok(facts) if facts.is_file() => self.table.check_size(&path, facts.len()),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Paths that can be read (FS-14).
    pub fn readable_roots(&self) -> Vec<String> {
        self.table.readable_roots()
    }

    /// Paths that can be written.
    pub fn writable_roots(&self) -> Vec<String> {
        self.table.writable_roots()
    }

    /// A sandbox over the same mounts that can do at most what this one can (FS-17). An entry names a directory, which
    /// need not exist; one with `..`, or one that is a file, is `InvalidInput`; one that this sandbox may not read (or
    /// write) is refused with the error that an access would get.
    pub fn derive(&self, allowances: &Allowances) -> Result<Self> {
        let read = self.entries(allowances.allow_read.as_deref(), Operation::Read)?;
        let write = self.entries(allowances.allow_write.as_deref(), Operation::Write)?;
        let (readable, writable) = match (read, write) {
            (None, None) if allowances.inherit => (self.table.readable.clone(), self.table.writable.clone()),
            (None, None) => (Scope::Listed(Vec::new()), Scope::Listed(Vec::new())),
            (Some(read), None) => (Scope::Listed(read), Scope::Listed(Vec::new())),
            (None, Some(write)) => {
                // What the parent writes blindly, the child does not read either.
                let read = write.iter().filter(|entry| self.table.can_read(&entry.label)).cloned().collect();
                (Scope::Listed(read), Scope::Listed(write))
            }
            (Some(read), Some(write)) => (Scope::Listed(read), Scope::Listed(write)),
        };
        let mut table = MountTable::clone(&self.table);
        table.readable = readable;
        table.writable = if allowances.readonly { Scope::Listed(Vec::new()) } else { writable };
        Ok(Self { table: Arc::new(table), hosts: Arc::clone(&self.hosts), mounts: Arc::clone(&self.mounts) })
    }

    fn entries(&self, list: Option<&[String]>, operation: Operation) -> Result<Option<Vec<Allowed>>> {
        let Some(list) = list else { return Ok(None) };
        let mut entries: Vec<Allowed> = Vec::with_capacity(list.len());
        for text in list {
            let entry = self.entry(text, operation)?;
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        Ok(Some(entries))
    }

    fn entry(&self, text: &str, operation: Operation) -> Result<Allowed> {
        let spelled = text.trim().replace('\\', "/");
        if spelled.split('/').any(|segment| segment == "..") {
            return Err(Error::invalid(format!(
                "The allow-list entry '{}' must not hold '..'; name the directory itself.",
                Shown(text)
            )));
        }
        let path = parse(&spelled)?;
        let require = |path: &VirtualPath| match operation.mutates() {
            true => self.table.require_write(path),
            false => self.table.require_read(path),
        };
        let located = require(&path)?;
        let host = self.host_of(&located, &path)?;
        if host.is_file() {
            let parent = path.parent().unwrap_or_else(VirtualPath::root);
            return Err(Error::invalid(format!(
                "The allow-list entry '{path}' is a file; name a directory, such as its parent '{parent}'."
            )));
        }
        let resolved = self.virtual_of(located.mount, &host).ok_or_else(|| self.table.outside(&path))?;
        let target = require(&resolved).map_err(|_| self.table.outside(&path))?;
        if target.mount != located.mount {
            return Err(self.table.outside(&path));
        }
        Ok(Allowed { label: path, resolved, mount: located.mount })
    }

    /// The host path of a located path, its existing part canonical; refused when it leaves the mount.
    fn host_of(&self, located: &Located, asked: &VirtualPath) -> Result<PathBuf> {
        let point = &self.table.mount(located.mount).mount_point;
        let host = &self.hosts[located.mount.index()];
        let rest = located.path.relative_to(point).unwrap_or("");
        let full = canonical_prefix(&host.join(rest)).map_err(|_| self.table.outside(asked))?;
        match self.virtual_of(located.mount, &full) {
            Some(resolved) if self.table.find(&resolved) == Some(located.mount) => Ok(full),
            Some(_) | None => Err(self.table.outside(asked)),
        }
    }

    /// The path that an agent sees for a host path of one mount.
    fn virtual_of(&self, mount: MountId, host: &Path) -> Option<VirtualPath> {
        let below = host.strip_prefix(&self.hosts[mount.index()]).ok()?;
        // Whatever separates names on the host, a `/` does here.
        let names: Option<Vec<&str>> = below.components().map(|name| name.as_os_str().to_str()).collect();
        VirtualPath::parse(&names?.join("/"), &self.table.mount(mount).mount_point).ok()
    }
}

fn parse(path: &str) -> Result<VirtualPath> {
    VirtualPath::parse(path, &VirtualPath::root())
}

fn entry_of(mount: &Mount) -> Result<MountEntry> {
    Ok(MountEntry {
        mount_point: parse_mount_point(&mount.mount_point)?,
        aliases: Vec::new(),
        mode: mount.mode,
        suffixes: mount.suffixes.as_ref().map(|list| list.iter().map(|suffix| suffix.to_lowercase()).collect()),
        max_file_bytes: mount.max_file_bytes,
        write_approval: mount.write_approval,
        read_approval: mount.read_approval,
    })
}

fn refuse_duplicates(entries: &[MountEntry]) -> Result<()> {
    for (index, entry) in entries.iter().enumerate() {
        if entries[..index].iter().any(|other| other.mount_point == entry.mount_point) {
            return Err(Error::invalid(format!(
                "Two mounts have the mount point '{}'; each needs its own.",
                entry.mount_point
            )));
        }
    }
    Ok(())
}

fn refuse_overlaps(entries: &[MountEntry], hosts: &[PathBuf]) -> Result<()> {
    for (index, host) in hosts.iter().enumerate() {
        for (other_index, other) in hosts[..index].iter().enumerate() {
            if host.starts_with(other) || other.starts_with(host) {
                return Err(Error::invalid(format!(
                    "Host directories of mounts must not overlap: '{}' is '{}' and '{}' is '{}'.",
                    entries[other_index].mount_point,
                    Shown(&other.to_string_lossy()),
                    entries[index].mount_point,
                    Shown(&host.to_string_lossy()),
                )));
            }
        }
    }
    Ok(())
}

fn make_directory(host: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(host)?;
    let canonical = fs::canonicalize(host)?;
    if canonical.is_dir() { Ok(canonical) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// The constructor speaks to the author, not to a model: it may name host directories.
fn host_error(mount: &Mount, error: &io::Error) -> Error {
    let reason = match error.kind() {
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "it is, or lies beneath, a file",
        io::ErrorKind::PermissionDenied => "the operating system denies it",
        io::ErrorKind::NotFound => "a '..' follows a name that does not exist",
        _ => "it cannot be reached",
    };
    Error::new(
        ErrorKind::InvalidInput,
        format!(
            "The host directory '{}' of the mount '{}' cannot be used: {reason}.",
            Shown(&mount.host_path.to_string_lossy()),
            Shown(&mount.mount_point)
        ),
    )
}

/// 40 links: where Linux gives up too.
const MAX_LINKS: usize = 40;

/// `path` with its longest existing part canonical and the rest appended by words. A link that leads nowhere is no
/// missing name: what it would create lies where it points. `..` behind a name that is missing, or that is a file, is
/// refused, as by the kernel: by words, a link to `missing/..` would open the directory that it lies in.
fn canonical_prefix(path: &Path) -> io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..MAX_LINKS {
        match canonical_or_link(&path)? {
            Step::Canonical(full) => return Ok(full),
            Step::Linked(next) => path = next,
        }
    }
    Err(io::ErrorKind::InvalidInput.into())
}

enum Step {
    Canonical(PathBuf),
    Linked(PathBuf),
}

fn canonical_or_link(path: &Path) -> io::Result<Step> {
    let mut missing: Vec<Component<'_>> = Vec::new();
    let mut existing = path;
    loop {
        match fs::canonicalize(existing) {
            Ok(mut full) => {
                full.extend(missing.iter().rev());
                return Ok(Step::Canonical(full));
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                if let Ok(target) = fs::read_link(existing) {
                    let mut next = existing.parent().unwrap_or(existing).join(target);
                    next.extend(missing.iter().rev());
                    // Without `.`, behind which a link would not be seen.
                    return Ok(Step::Linked(next.components().collect()));
                }
                let Some(last @ Component::Normal(_)) = existing.components().next_back() else { return Err(error) };
                missing.push(last);
                existing = existing.parent().ok_or(error)?;
            }
            Err(error) => return Err(error),
        }
    }
}
