//! Where a shell is, asked of the kernel, and what the name of a directory led to meanwhile.
//!
//! A shell keeps the name by which it entered a directory, and goes up from that (`cd ..`). The kernel knows the directory alone.
//! So a name is ruled out only where it led to the same since the shell may have been given it: no directory on its way
//! had an entry made, renamed or removed, which leaves a time that nobody sets, and none of its parts is a link.

use std::time::{Duration, SystemTime};

use super::resolve::{Resolver, Right};
use super::system::into_std;
use crate::backend::Standing;
use crate::error::ErrorKind;
use crate::path::VirtualPath;

/// Nanoseconds of a second.
const NANOS: i128 = 1_000_000_000;
/// 50 ms by which the clock of changes may lag behind.
const LAG: Duration = Duration::from_millis(50);

/// Where the process is, as against `directory`; `None` where that is not known.
pub(super) fn standing(
    resolver: &Resolver,
    process: u32,
    directory: &VirtualPath,
    since: SystemTime,
) -> Option<Standing> {
    let stands = rustix::fs::stat(format!("/proc/{process}/cwd")).ok()?;
    match resolver.open_directory(directory) {
        Ok(opened) => {
            let is_named_so = opened.path == *directory;
            let there = rustix::fs::fstat(into_std(opened.handle)).ok()?;
            if (stands.st_dev, stands.st_ino) == (there.st_dev, there.st_ino) {
                return Some(Standing::In);
            }
            if !is_named_so {
                return Some(Standing::Elsewhere);
            }
        }
        Err(error) if error.kind() == ErrorKind::FileNotFound => {}
        Err(_) => return Some(Standing::Elsewhere),
    }
    Some(if led_nowhere_else(resolver, directory, since) { Standing::Never } else { Standing::Elsewhere })
}

/// Whether the process is in that directory, where it takes nothing that might be waited for to say so.
pub(super) fn stands_at_hand(resolver: &Resolver, process: u32, directory: &VirtualPath) -> bool {
    let there = resolver.identify_directory_at_hand(directory);
    let stands = rustix::fs::stat(format!("/proc/{process}/cwd")).ok();
    there.is_some() && there == stands.map(|stands| (stands.st_dev, stands.st_ino))
}

/// Whether the name led to what it leads to now, or to nothing, since that time.
fn led_nowhere_else(resolver: &Resolver, directory: &VirtualPath, since: SystemTime) -> bool {
    let Some(since) = since.checked_sub(LAG).and_then(|since| since.duration_since(SystemTime::UNIX_EPOCH).ok()) else {
        return false;
    };
    let mut path = directory.clone();
    while let Some(parent) = path.parent() {
        // Above the walls nothing is the agent's to change.
        if resolver.locate(&parent, Right::Read).is_err() {
            break;
        }
        match resolver.open_directory(&parent) {
            Ok(opened) if opened.path == parent => {
                let Ok(facts) = rustix::fs::fstat(into_std(opened.handle)) else { return false };
                let changed = i128::from(facts.st_ctime) * NANOS + i128::from(facts.st_ctime_nsec);
                if u128::try_from(changed).map_or(true, |changed| changed >= since.as_nanos()) {
                    return false;
                }
            }
            Err(error) if error.kind() == ErrorKind::FileNotFound => {}
            Ok(_) | Err(_) => return false,
        }
        path = parent;
    }
    true
}

#[cfg(all(test, not(feature = "portable")))]
mod tests {
    use std::process::Command;

    use super::super::open::{Opened, open};
    use super::super::options::LocalOptions;
    use super::super::resolve::Strategy;
    use super::*;
    use crate::sandbox::{Mount, Sandbox};

    #[test]
    fn a_process_stands_where_it_is_and_in_a_mount_whatever_has_its_name_now() {
        for strategy in [Strategy::Kernel, Strategy::Walk] {
            let base = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(base.path().join("w/sub")).unwrap();
            let sandbox = Sandbox::new(vec![Mount::new("w", "/w")], base.path()).unwrap();
            let options = LocalOptions { sandbox: Some(sandbox), ..LocalOptions::default() };
            let Opened { table, roots, .. } = open(&options).unwrap();
            let resolver = Resolver::new(table, roots, strategy);
            let stays = |directory: &str| {
                Command::new("sleep").arg("60").current_dir(base.path().join(directory)).spawn().unwrap()
            };
            let mut all = [stays("w"), stays("w/sub"), stays("")];
            let looks = |resolver: &Resolver| {
                let stands = |process: u32, directory: &str| {
                    stands_at_hand(resolver, process, &VirtualPath::absolute(directory).unwrap())
                };
                all.each_ref().map(|child| [stands(child.id(), "/w"), stands(child.id(), "/w/sub")])
            };
            // By a walk only a mount takes nothing that might be waited for.
            let by_kernel = strategy == Strategy::Kernel;
            assert_eq!(looks(&resolver), [[true, false], [false, by_kernel], [false, false]], "{strategy:?}");
            std::fs::rename(base.path().join("w"), base.path().join("moved")).unwrap();
            std::fs::create_dir_all(base.path().join("w/sub")).unwrap();
            assert_eq!(looks(&resolver), [[true, false], [false, by_kernel], [false, false]], "{strategy:?}");
            for child in &mut all {
                child.kill().unwrap();
                child.wait().unwrap();
            }
        }
    }
}
