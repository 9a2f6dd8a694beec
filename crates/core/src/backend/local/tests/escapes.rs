//! Paths and entries that try to lead out, to block, or to be something else than a file.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, Mode, mkfifoat};

use super::*;

/// The code of an error, or what was read.
async fn outcome(backend: &LocalBackend, path: &str) -> String {
    match VirtualPath::parse(path, &VirtualPath::root()) {
        Ok(path) => match read(backend, path.as_str()).await {
            Ok(text) => text,
            Err(error) => {
                assert!(!format!("{error} {:?}", error.details()).contains("/tmp/"), "R-FS-8: {error}");
                error.kind().code().to_owned()
            }
        },
        Err(error) => error.kind().code().to_owned(),
    }
}

fn plant(base: &Path) {
    let root = base.join("root");
    fs::create_dir_all(root.join("d/e")).unwrap();
    fs::write(root.join("d/e/f.txt"), "F").unwrap();
    fs::write(root.join("a..b.txt"), "dots").unwrap();
    fs::write(root.join("~"), "tilde").unwrap();
    fs::write(root.join("back\\slash"), "backslash").unwrap();
    fs::write(root.join("gone (deleted)"), "still here").unwrap();
    fs::write(base.join("secret"), "SECRET").unwrap();
    fs::hard_link(base.join("secret"), root.join("hard")).unwrap();
    mkfifoat(CWD, root.join("fifo"), Mode::RWXU).unwrap();
    drop(UnixListener::bind(root.join("socket")).unwrap());
    for (target, link) in [
        ("fifo", "to-fifo"),
        ("gone (deleted)", "to-gone"),
        ("..", "up"),
        ("../secret", "out"),
        ("d/../../secret", "out-by-words"),
        ("../root/d/e/f.txt", "out-and-back"),
        ("/etc/passwd", "absolute"),
        ("/proc/self/root", "magic"),
        ("/dev/null", "device"),
        ("d/e/../e/f.txt", "inside-by-dots"),
        ("d", "dir"),
        ("dir/e/f.txt", "through-a-link"),
        ("self", "self"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    symlink("..", root.join("d/parent")).unwrap();
    symlink("../..", root.join("d/grandparent")).unwrap();
}

#[tokio::test]
async fn every_trick_has_one_answer() {
    let long_name = format!("/{}", "n".repeat(256));
    let long_path = "/n".repeat(2049);
    let table: &[(&str, &str)] = &[
        ("/d/e/f.txt", "F"),
        ("d/e/f.txt", "F"),
        ("/d/e/f.txt/", "F"),
        ("//d///e/./f.txt", "F"),
        ("/d/e/../e/f.txt", "F"),
        ("/nowhere/../d/e/f.txt", "F"),
        ("/inside-by-dots", "F"),
        ("/dir/e/f.txt", "F"),
        ("/through-a-link", "F"),
        ("/d/parent/d/e/f.txt", "F"),
        ("/a..b.txt", "dots"),
        ("/~", "tilde"),
        ("/back\\slash", "backslash"),
        ("/gone (deleted)", "still here"),
        ("/to-gone", "still here"),
        // A hard link is a file of the mount like any other: reads are not what it could leak by (D38).
        ("/hard", "SECRET"),
        ("/../secret", "INVALID_INPUT"),
        ("/d/../../secret", "INVALID_INPUT"),
        ("..", "INVALID_INPUT"),
        ("/d/\0", "INVALID_INPUT"),
        (&long_name, "INVALID_INPUT"),
        (&long_path, "INVALID_INPUT"),
        ("/D/e/f.txt", "FILE_NOT_FOUND"),
        ("/d/e/f.txt/x", "NOT_A_DIRECTORY"),
        ("/%2e%2e/secret", "FILE_NOT_FOUND"),
        ("/up/secret", "PATH_NOT_IN_SANDBOX"),
        ("/out", "PATH_NOT_IN_SANDBOX"),
        ("/out/", "PATH_NOT_IN_SANDBOX"),
        ("/out-by-words", "PATH_NOT_IN_SANDBOX"),
        ("/out-and-back", "PATH_NOT_IN_SANDBOX"),
        ("/absolute", "PATH_NOT_IN_SANDBOX"),
        ("/magic/etc/passwd", "PATH_NOT_IN_SANDBOX"),
        ("/device", "PATH_NOT_IN_SANDBOX"),
        ("/d/grandparent/secret", "PATH_NOT_IN_SANDBOX"),
        ("/self", "IO"),
        ("/fifo", "NOT_A_FILE"),
        ("/to-fifo", "NOT_A_FILE"),
        ("/socket", "NOT_A_FILE"),
        ("/d", "NOT_A_FILE"),
        ("/dir", "NOT_A_FILE"),
        ("/", "NOT_A_FILE"),
    ];
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        plant(base.path());
        let backend = whole(base.path(), strategy);
        for (path, expected) in table {
            assert_eq!(outcome(&backend, path).await, *expected, "{path:?} by {strategy:?}");
        }
    }
}

#[tokio::test]
async fn nothing_outside_changes_whatever_is_written_removed_or_moved() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        plant(base.path());
        fs::create_dir(base.path().join("outside")).unwrap();
        symlink("../outside", base.path().join("root/way-out")).unwrap();
        let backend = whole(base.path(), strategy);
        let call = Call::default();
        for path in ["/out", "/out-and-back", "/absolute", "/up/secret", "/way-out/new", "/d/grandparent/secret"] {
            let writer = backend.writer().unwrap();
            assert_eq!(write(&backend, path, "X").await.unwrap_err().kind(), ErrorKind::PathNotInSandbox, "{path}");
            let error = writer.copy(&at("/d/e/f.txt"), &at(&format!("{path}/n")), &call).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::PathNotInSandbox | ErrorKind::NotADirectory), "{path}: {error}");
            let error = writer.make_directory(&at(path), &call).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PathNotInSandbox, "{path}");
            let error = writer.remove(&at(&format!("{path}/secret")), true, &call).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PathNotInSandbox, "{path}");
        }
        write(&backend, "/hard", "X").await.unwrap();
        let writer = backend.writer().unwrap();
        // Removing and moving act on the link itself.
        writer.remove(&at("/out"), true, &call).await.unwrap();
        writer.rename(&at("/up"), &at("/moved-up"), &call).await.unwrap();
        assert_eq!(writer.remove(&at("/way-out"), true, &call).await.unwrap(), 1);
        assert_eq!(fs::read_to_string(base.path().join("secret")).unwrap(), "SECRET");
        assert_eq!(fs::read_dir(base.path().join("outside")).unwrap().count(), 0);
        for path in ["/fifo", "/socket", "/d"] {
            assert_eq!(write(&backend, path, "X").await.unwrap_err().kind(), ErrorKind::NotAFile, "{path}");
        }
    }
}

#[tokio::test]
async fn a_listing_survives_whatever_lies_in_the_directory() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        plant(base.path());
        fs::write(base.path().join("root").join(OsStr::from_bytes(b"n\xff\n")), "").unwrap();
        let backend = whole(base.path(), strategy);
        let listing = backend.files().list(&VirtualPath::root(), 1, &Call::default()).await.unwrap();
        let shown: Vec<(&str, FileKind)> =
            listing.entries.iter().map(|entry| (entry.name.as_str(), entry.kind)).collect();
        assert_eq!(
            shown,
            [
                ("d", FileKind::Directory),
                ("dir", FileKind::Directory),
                ("a..b.txt", FileKind::File),
                ("back\\slash", FileKind::File),
                ("fifo", FileKind::Other),
                ("gone (deleted)", FileKind::File),
                ("hard", FileKind::File),
                ("inside-by-dots", FileKind::File),
                ("n\\xff\n", FileKind::File),
                ("socket", FileKind::Other),
                ("through-a-link", FileKind::File),
                ("to-fifo", FileKind::Other),
                ("to-gone", FileKind::File),
                ("~", FileKind::File),
            ]
        );
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn kernel_file_systems_and_devices_are_never_opened() {
    for strategy in STRATEGIES {
        let refused = LocalBackend::with_strategy(
            LocalOptions { root: Some("/proc/self".into()), ..LocalOptions::default() },
            strategy,
        );
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
        let backend = LocalBackend::with_strategy(
            LocalOptions { root: Some("/".into()), read_only: true, ..LocalOptions::default() },
            strategy,
        )
        .unwrap();
        for path in ["/proc/self/environ", "/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"] {
            let kind = read(&backend, path).await.unwrap_err().kind();
            assert!(matches!(kind, ErrorKind::NotAFile | ErrorKind::FileNotFound), "{path}: {kind:?}");
        }
        for path in ["/dev/null", "/dev/zero", "/dev/tty"] {
            assert_eq!(read(&backend, path).await.unwrap_err().kind(), ErrorKind::NotAFile, "{path}");
        }
        // The kernel calls this a magic link: it would lead to whatever the process has open.
        assert!(read(&backend, "/proc/self/root/etc/passwd").await.is_err());
    }
}

/// A random tree showed it: a write went through such a link, and the file could not be read back through it.
#[tokio::test]
async fn a_link_that_ends_with_a_slash_leads_to_a_directory_or_nowhere() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/file"), "inside").unwrap();
        fs::write(root.join("file"), "kept").unwrap();
        for (target, name) in
            [("file//", "to-file"), ("file/.", "to-file-dot"), ("missing/", "to-missing"), ("d//", "to-d")]
        {
            symlink(target, root.join(name)).unwrap();
        }
        let backend = whole(base.path(), strategy);
        for name in ["to-file", "to-file-dot", "to-missing"] {
            assert!(write(&backend, &format!("/{name}"), "WRITTEN").await.is_err(), "{name} by {strategy:?}");
            assert!(read(&backend, &format!("/{name}")).await.is_err(), "{name} by {strategy:?}");
        }
        assert_eq!(read(&backend, "/to-d/file").await.unwrap(), "inside");
        assert_eq!(fs::read_to_string(root.join("file")).unwrap(), "kept");
        assert!(!root.join("missing").exists());
    }
}
