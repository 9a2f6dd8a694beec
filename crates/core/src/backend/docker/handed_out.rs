//! Which directories of this machine a container is not given (R-DK-2).

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::path::VirtualPath;

/// Places of which no part is handed out: the system's own, and what engines keep of every container.
const WITHIN: [&str; 11] = [
    "/proc",
    "/sys",
    "/dev",
    "/etc",
    "/boot",
    "/run",
    "/var/run",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/kubelet",
];
/// Places of which no part can be written by a container: programs that this machine runs as root, and what it starts by itself.
const PROGRAMS: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/var/spool", "/var/lib/systemd"];
/// Places that are not handed out whole.
const WHOLE: [&str; 8] = ["/", "/var", "/var/lib", "/home", "/root", "/Users", "/opt", "/srv"];
/// What lies in a home, whoever's it is.
const OF_A_HOME: [&str; 4] = [".ssh", ".bashrc", ".profile", ".zshrc"];
/// Where engines usually listen, below places that are somebody's own.
const SOCKETS: [&str; 2] = ["docker.sock", "podman.sock"];

/// Refuses host directories that hand out the machine. `host` is canonical; `engines` are the addresses at which one may listen.
pub(super) fn check(host: &Path, point: &VirtualPath, writes: bool, engines: &[String]) -> Result<()> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    if is_handed_out(host, writes, home.as_deref(), engines) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "The host directory of '{point}' is not given to a container: it is, or holds, the machine's own (a system directory, \
         a home, the engine's socket). Mount a directory for the agent.",
    )))
}

/// Refuses host directories that are, hold or lie in what the engine keeps of all its containers.
pub(super) fn check_kept(host: &Path, point: &VirtualPath, kept: &Path) -> Result<()> {
    let there = canonical(kept);
    let mut kept = std::iter::once(kept).chain(there.as_deref());
    if kept.any(|kept| host.starts_with(kept) || kept.starts_with(host)) {
        return Err(Error::invalid(format!(
            "The host directory of '{point}' is not given to a container: it is, holds or lies in what the engine keeps of all of \
             them. Mount a directory for the agent.",
        )));
    }
    Ok(())
}

fn is_handed_out(host: &Path, writes: bool, home: Option<&Path>, addresses: &[String]) -> bool {
    // On macOS `/etc` and `/var` are links into `/private`.
    let plain = host.strip_prefix("/private").map_or_else(|_| host.to_owned(), |rest| Path::new("/").join(rest));
    let within = WITHIN.iter().any(|system| plain.starts_with(system));
    let whole = WHOLE.iter().any(|whole| plain == Path::new(whole));
    let programs = writes && PROGRAMS.iter().any(|place| plain.starts_with(place));
    let somebodys = ["/home", "/Users"].iter().any(|homes| plain.parent() == Some(Path::new(homes)))
        && OF_A_HOME.iter().any(|name| host.join(name).symlink_metadata().is_ok());
    let is_home = home.is_some_and(|home| host == home || canonical(home).is_some_and(|home| host == home));
    let usual = SOCKETS.iter().any(|name| is_socket(&host.join(name)));
    let chosen = addresses.iter().any(|address| {
        let socket = address.strip_prefix("unix://").map(Path::new);
        socket.is_some_and(|socket| {
            // The socket may not be there yet; its directory is where it will be.
            let there = canonical(socket).or_else(|| Some(canonical(socket.parent()?)?.join(socket.file_name()?)));
            socket.starts_with(host) || there.is_some_and(|socket| socket.starts_with(host))
        })
    });
    !(within || whole || programs || somebodys || is_home || usual || chosen)
}

fn canonical(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

#[cfg(unix)]
fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|facts| facts.file_type().is_socket())
}

#[cfg(not(unix))]
fn is_socket(_path: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_opens_the_machine_is_handed_out() {
        for host in [
            "/",
            "/proc/1",
            "/etc/ssh",
            "/run/containerd",
            "/run/user/1000",
            "/var/lib/docker/volumes",
            "/private/etc",
            "/home",
            "/boot",
        ] {
            assert!(!is_handed_out(Path::new(host), false, None, &[]), "{host}");
        }
        for host in ["/usr/local/bin", "/bin", "/lib64", "/var/spool/cron"] {
            assert!(!is_handed_out(Path::new(host), true, None, &[]), "{host}");
            assert!(is_handed_out(Path::new(host), false, None, &[]), "{host}");
        }
        for host in ["/home/somebody/project", "/srv/project", "/opt/project", "/var/lib/mine", "/etcetera"] {
            assert!(is_handed_out(Path::new(host), true, None, &[]), "{host}");
        }
    }

    #[test]
    fn neither_a_home_by_another_name_nor_a_socket_however_deep() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let (home, link) = (place.join("home"), place.join("link"));
        std::fs::create_dir_all(home.join("a/b")).unwrap();
        std::os::unix::fs::symlink(&home, &link).unwrap();
        assert!(!is_handed_out(&home, false, Some(&link), &[]));
        assert!(is_handed_out(&home.join("a"), false, Some(&link), &[]));
        let address = format!("unix://{}/a/b/any.sock", link.display());
        for (host, free) in [("", false), ("a", false), ("a/b", false), ("a/c", true)] {
            assert_eq!(is_handed_out(&home.join(host), false, None, std::slice::from_ref(&address)), free, "{host}");
        }
    }
}
