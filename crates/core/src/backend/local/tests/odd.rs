//! What happens rarely: a storm of renames, two file systems, names that are no text or as long as they may be.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::*;

fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

/// The kernel gives a look-up up when something is renamed anywhere meanwhile (`EAGAIN`).
#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[test]
fn a_storm_of_renames_is_waited_out_and_one_without_end_is_busy() {
    use super::super::resolve::storm;

    let base = tempfile::tempdir().unwrap();
    let backend = whole(base.path(), Strategy::Kernel);
    fs::write(base.path().join("root/f"), "x").unwrap();
    symlink("f", base.path().join("root/link")).unwrap();
    for path in ["/f", "/link"] {
        storm::lasts_for(127);
        assert!(backend.open_file(&at(path)).is_ok(), "{path}");
        storm::lasts_for(usize::MAX);
        let error = backend.open_file(&at(path)).unwrap_err();
        storm::lasts_for(0);
        assert_eq!((error.kind(), error.path()), (ErrorKind::Busy, Some(path)));
        assert!(error.to_string().contains("try again"), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_moves_to_another_file_system_whole_and_nothing_else_does() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let memory = tempfile::tempdir_in("/dev/shm").unwrap();
        let device = |path: &Path| fs::metadata(path).unwrap().dev();
        assert_ne!(device(base.path()), device(memory.path()), "this test needs two file systems");
        let mounts = vec![Mount::new("disk", "/disk").read_write(), Mount::new(memory.path(), "/memory").read_write()];
        let backend = sandbox(base.path(), mounts, strategy);
        let (call, writer) = (Call::default(), backend.writer().unwrap());
        write(&backend, "/disk/run.sh", "#!/bin/sh\n").await.unwrap();
        let host = base.path().join("disk/run.sh");
        fs::set_permissions(&host, fs::Permissions::from_mode(0o755)).unwrap();
        let modified = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(&host).unwrap().set_modified(modified).unwrap();
        fs::hard_link(&host, base.path().join("outside")).unwrap();
        symlink("run.sh", base.path().join("disk/link")).unwrap();
        write(&backend, "/memory/taken", "T").await.unwrap();

        assert_eq!(
            kind(writer.rename(&at("/disk/run.sh"), &at("/memory/taken"), &call).await),
            ErrorKind::AlreadyExists
        );
        writer.rename(&at("/disk/run.sh"), &at("/memory/new/run.sh"), &call).await.unwrap();
        assert_eq!(read(&backend, "/memory/new/run.sh").await.unwrap(), "#!/bin/sh\n");
        let facts = fs::metadata(memory.path().join("new/run.sh")).unwrap();
        assert_eq!((facts.mode() & 0o7777, facts.modified().unwrap()), (0o755, modified));
        assert_eq!(kind(read(&backend, "/disk/run.sh").await), ErrorKind::FileNotFound);
        assert_eq!(fs::read_to_string(base.path().join("outside")).unwrap(), "#!/bin/sh\n");

        writer.make_directory(&at("/disk/d"), &call).await.unwrap();
        for path in ["/disk/link", "/disk/d"] {
            let error = writer.rename(&at(path), &at("/memory/x"), &call).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{path}");
            assert!(fs::symlink_metadata(base.path().join(&path[1..])).is_ok(), "{path} stays");
        }
        assert_eq!(
            names(&backend, "/memory", 9).await.unwrap(),
            ["/memory/new", "/memory/new/run.sh", "/memory/taken"]
        );
    }
}

/// Takes an entry away between the reading of its name and the look at it.
struct TakesAway(std::path::PathBuf, &'static [&'static str]);

impl crate::access::Guard for TakesAway {
    fn check(&self, _: Operation, path: &VirtualPath) -> Result<()> {
        if let Some(name) = self.1.iter().find(|name| path.as_str() == format!("/d/{name}")) {
            let entry = self.0.join(name);
            // Asked twice, it has gone.
            let _ = fs::remove_file(&entry).or_else(|_| fs::remove_dir_all(&entry));
        }
        Ok(())
    }
}

/// 9: one entry that was gone by the time it was looked at ended the whole listing.
#[tokio::test]
async fn a_listing_goes_on_where_an_entry_vanishes() {
    const GONE: &[&str] = &["dir", "file", "link"];
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("root");
        fs::create_dir_all(root.join("d/dir")).unwrap();
        for name in ["a", "dir/below", "file", "z"] {
            fs::write(root.join("d").join(name), "").unwrap();
        }
        symlink("a", root.join("d/link")).unwrap();
        let backend = whole(base.path(), strategy);
        let guard = std::sync::Arc::new(TakesAway(root.join("d"), GONE));
        let listing = backend.files().list(&at("/d"), 9, &Call { guard, ..Call::default() }).await.unwrap();
        assert!(GONE.iter().all(|name| fs::symlink_metadata(root.join("d").join(name)).is_err()));
        let left: Vec<_> = listing.entries.iter().map(|entry| entry.path.as_str()).collect();
        for path in ["/d/a", "/d/z"] {
            assert!(left.contains(&path), "{left:?}");
        }
        assert!(!left.contains(&"/d/file") && !left.contains(&"/d/dir"), "{left:?}");
    }
}

/// FS-35.
#[tokio::test]
async fn a_copy_keeps_permission_bits_and_the_time_of_the_last_change() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), strategy);
        write(&backend, "/f", "x").await.unwrap();
        let host = base.path().join("root/f");
        fs::set_permissions(&host, fs::Permissions::from_mode(0o640)).unwrap();
        let modified = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(&host).unwrap().set_modified(modified).unwrap();
        backend.writer().unwrap().copy(&at("/f"), &at("/copy"), &Call::default()).await.unwrap();
        let facts = fs::metadata(base.path().join("root/copy")).unwrap();
        assert_eq!((facts.mode() & 0o7777, facts.modified().unwrap()), (0o640, modified));
    }
}

#[tokio::test]
async fn names_that_are_no_text_are_listed_and_removed_with_their_directory_and_never_opened() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), strategy);
        let root = base.path().join("root");
        let odd = root.join("d").join(OsStr::from_bytes(b"n\xff"));
        fs::create_dir_all(&odd).unwrap();
        fs::write(odd.join("f"), "needle").unwrap();
        symlink(OsStr::from_bytes(b"d/n\xff"), root.join("to-odd")).unwrap();
        symlink(OsStr::from_bytes(b"d/n\xff/f"), root.join("to-odd-file")).unwrap();
        assert_eq!(names(&backend, "/d", 9).await.unwrap(), ["/d/n\\xff"]);
        for path in ["/to-odd/f", "/to-odd-file"] {
            assert_eq!(kind(read(&backend, path).await), ErrorKind::Unsupported, "{path} by {strategy:?}");
            assert_eq!(kind(write(&backend, path, "x").await), ErrorKind::Unsupported, "{path} by {strategy:?}");
        }
        // The shown name is a name of its own, which nothing has.
        assert_eq!(kind(read(&backend, "/d/n\\xff/f").await), ErrorKind::FileNotFound);
        let (call, writer) = (Call::default(), backend.writer().unwrap());
        writer.rename(&at("/d"), &at("/e"), &call).await.unwrap();
        assert_eq!(writer.remove(&at("/e"), true, &call).await.unwrap(), 3);
        assert!(!root.join("e").exists());
    }
}

#[tokio::test]
async fn odd_names_are_names_for_every_operation() {
    let longest = format!("/{}", "n".repeat(255));
    let letters = format!("/{}é", "n".repeat(253));
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), strategy);
        let (call, writer) = (Call::default(), backend.writer().unwrap());
        for path in [
            "/a..b.txt",
            "/..a",
            "/...",
            "/a ",
            "/ a",
            "/-rf",
            "/CON",
            "/nul.txt",
            "/c:x",
            "/new\nline",
            &longest,
            &letters,
        ] {
            write(&backend, path, "1").await.unwrap();
            write(&backend, path, "2").await.unwrap();
            assert_eq!(read(&backend, path).await.unwrap(), "2", "{path:?}");
            writer.rename(&at(path), &at("/d/moved"), &call).await.unwrap();
            writer.copy(&at("/d/moved"), &at(path), &call).await.unwrap();
            assert_eq!(names(&backend, "/", 1).await.unwrap(), ["/d", path], "{path:?}");
            assert_eq!(writer.remove(&at(path), false, &call).await.unwrap(), 1);
            writer.remove(&at("/d"), true, &call).await.unwrap();
        }
        // A slash at the end says nothing, as in every path here.
        assert_eq!(write(&backend, "/file/", "x").await.unwrap().resolved.as_str(), "/file");
    }
}
