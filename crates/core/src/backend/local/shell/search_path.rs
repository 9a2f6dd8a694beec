//! Where the programs of a command are looked up: directories in which the agent cannot put one (R-CMD-3).
//!
//! A host process that was started by `npm start` has the project's `node_modules/.bin` first on its `PATH`. A file `ls`
//! planted there by the agent would run for every `ls` that somebody allowed. So a directory that lies in a place where
//! the agent may write, or is reached through a link that does, is not searched; nor is a relative or empty one, which is
//! whatever directory the command runs in.
//!
//! Judged once, when the backend is made. The host's own later changes to links are the host's.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// 40 links: where Linux gives up too.
const MAX_LINKS: usize = 40;
/// The path that finds nothing. An empty one would be the working directory.
const NOWHERE: &str = "/dev/null";

/// The directories below which the agent may write, as devices and inodes: however they are spelled.
#[derive(Debug, Clone, Default)]
pub struct WritablePlaces(Vec<(u64, u64)>);

impl WritablePlaces {
    /// The places with these devices and inodes. The root of the file system is none of them: it has no outside, and
    /// what the agent may write there is for the rights of the host's user to say.
    pub fn new(places: impl Iterator<Item = (u64, u64)>) -> Self {
        let top = std::fs::metadata("/").ok().map(|facts| (facts.dev(), facts.ino()));
        Self(places.filter(|place| Some(*place) != top).collect())
    }

    /// Whether one of the directories of a search path must not be searched.
    pub fn any_in(&self, search_path: &OsStr) -> bool {
        let mut seen = Seen::default();
        std::env::split_paths(search_path).any(|directory| !self.is_outside(&directory, &mut seen))
    }

    /// A search path without what must not be searched.
    pub fn without(&self, search_path: &OsStr) -> OsString {
        let mut seen = Seen::default();
        let kept = std::env::split_paths(search_path).filter(|directory| self.is_outside(directory, &mut seen));
        match std::env::join_paths(kept) {
            Ok(kept) if !kept.is_empty() => kept,
            Ok(_) | Err(_) => NOWHERE.into(),
        }
    }

    /// Whether nobody but the host says what lies in a directory.
    fn is_outside(&self, directory: &Path, seen: &mut Seen) -> bool {
        if !directory.is_absolute() {
            return false;
        }
        let mut path = directory.to_owned();
        for _ in 0..MAX_LINKS {
            match self.follow(&path, seen) {
                Way::Outside => return true,
                Way::Inside => return false,
                Way::Linked(next) => path = next,
            }
        }
        false
    }

    /// Goes along a path up to its first link. What is missing may be made later, where its name says.
    fn follow(&self, path: &Path, seen: &mut Seen) -> Way {
        let mut place = PathBuf::new();
        let mut components = path.components();
        while let Some(component) = components.next() {
            match component {
                Component::ParentDir => {
                    place.pop();
                    continue;
                }
                Component::CurDir => continue,
                Component::Normal(_) | Component::RootDir | Component::Prefix(_) => place.push(component),
            }
            let is_link = match seen.at(&place) {
                Facts::Place { identity, .. } if self.0.contains(&identity) => return Way::Inside,
                Facts::Place { is_link, .. } => is_link,
                Facts::Missing => continue,
                // What we cannot look into, the command cannot either.
                Facts::Closed => return Way::Outside,
            };
            if is_link {
                let Ok(target) = std::fs::read_link(&place) else { return Way::Inside };
                place.pop();
                return Way::Linked(place.join(target).join(components.as_path()));
            }
        }
        Way::Outside
    }
}

/// What was found on the way. The directories of a search path have most of theirs in common, and each is looked at once.
#[derive(Default)]
struct Seen(HashMap<PathBuf, Facts>);

#[derive(Clone, Copy)]
enum Facts {
    Place { identity: (u64, u64), is_link: bool },
    Missing,
    Closed,
}

impl Seen {
    fn at(&mut self, place: &Path) -> Facts {
        if let Some(facts) = self.0.get(place) {
            return *facts;
        }
        let facts = match std::fs::symlink_metadata(place) {
            Ok(facts) => Facts::Place { identity: (facts.dev(), facts.ino()), is_link: facts.is_symlink() },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Facts::Missing,
            Err(_) => Facts::Closed,
        };
        self.0.insert(place.to_owned(), facts);
        facts
    }
}

/// Where a path goes.
enum Way {
    Outside,
    Inside,
    Linked(PathBuf),
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn places(directories: &[&Path]) -> WritablePlaces {
        let identity = |directory: &&Path| {
            let facts = std::fs::metadata(directory).unwrap();
            (facts.dev(), facts.ino())
        };
        WritablePlaces::new(directories.iter().map(identity))
    }

    #[test]
    fn leaves_out_what_lies_in_or_leads_through_a_place_where_the_agent_writes() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path();
        let (work, host) = (base.join("work"), base.join("host"));
        for directory in [&work.join("bin"), &host.join("bin")] {
            std::fs::create_dir_all(directory).unwrap();
        }
        symlink(&host, work.join("out")).unwrap();
        symlink("../work/bin", host.join("in")).unwrap();
        symlink(work.join("out"), host.join("through")).unwrap();
        symlink("round", host.join("round")).unwrap();
        let places = places(&[&work]);
        for (directory, kept) in [
            (host.join("bin"), true),
            (host.join("none/bin"), true),
            (base.to_owned(), true),
            (base.join("workshop"), true),
            (work.join("../host/bin"), false),
            (work.clone(), false),
            (work.join("bin"), false),
            (work.join("none/bin"), false),
            (host.join("../work/bin"), false),
            (work.join("out/bin"), false),
            (host.join("in"), false),
            (host.join("through/bin"), false),
            (host.join("round"), false),
            (PathBuf::from("bin"), false),
            (PathBuf::from("."), false),
            (PathBuf::new(), false),
        ] {
            assert_eq!(places.is_outside(&directory, &mut Seen::default()), kept, "{}", directory.display());
        }
    }

    #[test]
    fn keeps_the_order_of_the_rest_and_never_leaves_an_empty_path() {
        let base = tempfile::tempdir().unwrap();
        let places = places(&[base.path()]);
        let inside = base.path().to_str().unwrap();
        for (search_path, rest, any) in [
            ("/b:/a".to_owned(), "/b:/a", false),
            (format!("{inside}/bin:/b::./x:/a:{inside}:"), "/b:/a", true),
            (format!("{inside}/bin"), NOWHERE, true),
            (String::new(), NOWHERE, true),
        ] {
            assert_eq!(places.without(OsStr::new(&search_path)), OsStr::new(rest), "{search_path}");
            assert_eq!(places.any_in(OsStr::new(&search_path)), any, "{search_path}");
        }
        assert!(!self::places(&[Path::new("/")]).any_in(OsStr::new("/usr/bin")), "the root of all has no outside");
    }
}
