//! From [`LocalOptions`] to open mounts: what is checked once, when a backend is made.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::options::LocalOptions;
use super::resolve::Root;
use super::system::is_system;
use crate::error::{Error, Result, Shown};
use crate::path::VirtualPath;
use crate::sandbox::{Allowances, MountEntry, MountMode, MountTable, Sandbox};

/// Mounts with their handles.
pub(super) struct Opened {
    pub(super) table: Arc<MountTable>,
    pub(super) roots: Vec<Root>,
    pub(super) working_directory: VirtualPath,
}

/// Opens what `options` name. `InvalidInput`, naming the directory as the author wrote it, when one cannot be used.
pub(super) fn open(options: &LocalOptions) -> Result<Opened> {
    match &options.sandbox {
        Some(_) if options.root.is_some() || !options.allowed_directories.is_empty() => {
            Err(Error::invalid("A local backend takes either `sandbox` or `root` and `allowedDirectories`, not both."))
        }
        Some(sandbox) => open_sandbox(sandbox, options.read_only),
        None => open_directories(options),
    }
}

fn open_sandbox(sandbox: &Sandbox, read_only: bool) -> Result<Opened> {
    let narrowed;
    let sandbox = if read_only {
        narrowed = sandbox.derive(&Allowances { inherit: true, readonly: true, ..Allowances::default() })?;
        &narrowed
    } else {
        sandbox
    };
    let roots = sandbox.hosts().iter().map(|host| open_root(host, host)).collect::<Result<_>>()?;
    Ok(Opened { table: Arc::clone(sandbox.table()), roots, working_directory: VirtualPath::root() })
}

/// A directory that the author named.
#[derive(Clone)]
struct Named {
    spelled: VirtualPath,
    canonical: VirtualPath,
    /// On the host, canonical.
    host: PathBuf,
}

/// Directories under their own host paths. The spelling of the author is the mount point, the canonical one an alias.
fn open_directories(options: &LocalOptions) -> Result<Opened> {
    let root = match (&options.root, options.allowed_directories.first()) {
        (Some(root), _) => root.clone(),
        (None, Some(first)) => first.clone(),
        (None, None) => PathBuf::from("."),
    };
    let root = named(&root)?;
    let mut directories = vec![];
    for path in &options.allowed_directories {
        directories.push(named(path)?);
    }
    let working = root.clone();
    directories.insert(0, root);
    let mut kept: Vec<Named> = Vec::new();
    for directory in directories {
        if kept.iter().any(|other| directory.canonical.is_within(&other.canonical)) {
            continue;
        }
        kept.retain(|other| !other.canonical.is_within(&directory.canonical));
        kept.push(directory);
    }
    let mode = if options.read_only { MountMode::ReadOnly } else { MountMode::ReadWrite };
    let mut entries = Vec::with_capacity(kept.len());
    let mut roots = Vec::with_capacity(kept.len());
    for directory in &kept {
        roots.push(open_root(&directory.host, &directory.host)?);
        entries.push(MountEntry {
            mount_point: directory.spelled.clone(),
            aliases: if directory.spelled == directory.canonical { vec![] } else { vec![directory.canonical.clone()] },
            mode,
            suffixes: None,
            max_file_bytes: None,
            write_approval: false,
            read_approval: false,
        });
    }
    // A root inside an allowed directory is no mount of its own, but still where relative paths begin.
    let working_directory = match kept.iter().find(|directory| working.canonical.is_within(&directory.canonical)) {
        Some(holder) => {
            VirtualPath::parse(working.canonical.relative_to(&holder.canonical).unwrap_or(""), &holder.spelled)?
        }
        None => working.spelled,
    };
    Ok(Opened { table: Arc::new(MountTable::new(entries, false)), roots, working_directory })
}

fn named(path: &Path) -> Result<Named> {
    let unusable = |reason: &str| {
        Error::invalid(format!("The directory '{}' cannot be used: {reason}.", Shown(&path.to_string_lossy())))
    };
    let canonical = fs::canonicalize(path).map_err(|_| unusable("it does not exist or cannot be reached"))?;
    if !canonical.is_dir() {
        return Err(unusable("it is not a directory"));
    }
    let text = |path: &Path| {
        let spelled = spelled(path).ok_or_else(|| unusable("its name is not UTF-8, or lies on a network share"))?;
        VirtualPath::absolute(&spelled)
    };
    let absolute = std::path::absolute(path).map_err(|_| unusable("it cannot be reached"))?;
    let canonical_text = text(&canonical)?;
    // `..` behind a link: by words it is another place than by the disk, and then only the disk's spelling is used.
    let spelled = match text(&absolute) {
        Ok(spelled) if fs::canonicalize(spelled.as_str()).is_ok_and(|again| again == canonical) => spelled,
        Ok(_) | Err(_) => canonical_text.clone(),
    };
    Ok(Named { spelled, canonical: canonical_text, host: canonical })
}

/// The path of a host directory as an agent sees it where directories are mounted under their own names.
#[cfg(not(windows))]
fn spelled(host: &Path) -> Option<String> {
    host.to_str().map(str::to_owned)
}

/// The path of a host directory as an agent sees it: `C:\\Users\\me` is `/c/Users/me`. A network share has none.
#[cfg(windows)]
fn spelled(host: &Path) -> Option<String> {
    use std::path::{Component, Prefix};

    let mut text = String::new();
    for component in host.components() {
        match component {
            Component::Prefix(prefix) => match prefix.kind() {
                Prefix::Disk(letter) | Prefix::VerbatimDisk(letter) => {
                    text.push('/');
                    text.push(char::from(letter.to_ascii_lowercase()));
                }
                _ => return None,
            },
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir => return None,
            Component::Normal(name) => {
                text.push('/');
                text.push_str(name.to_str()?);
            }
        }
    }
    Some(text)
}

fn open_root(host: &Path, shown: &Path) -> Result<Root> {
    let unusable = |reason: &str| {
        Error::invalid(format!("The directory '{}' cannot be used: {reason}.", Shown(&shown.to_string_lossy())))
    };
    let root = Root::open(host).map_err(|_| unusable("it cannot be opened"))?;
    if is_system(root.handle()).map_err(|_| unusable("it cannot be opened"))? {
        return Err(unusable("it belongs to the kernel, and its files are not files"));
    }
    Ok(root)
}
