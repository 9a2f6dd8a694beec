//! Several mounts: nesting, modes, rules of the call, and the directories of an author.

use std::sync::Arc;

use super::*;
use crate::access::Guard;
use crate::error::Error;
use crate::sandbox::{Allowances, MountMode};

fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

fn nested(base: &Path, strategy: Strategy) -> LocalBackend {
    fs::create_dir_all(base.join("outer/sub/special")).unwrap();
    fs::write(base.join("outer/sub/special/shadowed"), "SHADOWED").unwrap();
    fs::write(base.join("outer/f"), "outer").unwrap();
    symlink("sub/special/shadowed", base.join("outer/sneak")).unwrap();
    symlink("sub/special", base.join("outer/sneak-dir")).unwrap();
    let mut special = Mount::new("inner", "/sub/special");
    special.mode = MountMode::ReadOnly;
    let backend = sandbox(base, vec![Mount::new("outer", "/").read_write(), special], strategy);
    fs::write(base.join("inner/f"), "inner").unwrap();
    backend
}

#[tokio::test]
async fn what_a_nested_mount_shadows_cannot_be_reached_through_the_outer_one() {
    // D32: a nested mount's own mode was by-passed through its parent, and shadowed files were listed.
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = nested(base.path(), strategy);
        let call = Call::default();
        assert_eq!(read(&backend, "/sub/special/f").await.unwrap(), "inner");
        assert_eq!(kind(read(&backend, "/sub/special/shadowed").await), ErrorKind::FileNotFound);
        for path in ["/sneak", "/sneak-dir/shadowed", "/sneak-dir/new"] {
            assert_eq!(kind(read(&backend, path).await), ErrorKind::PathNotInSandbox, "{path}");
            assert_eq!(kind(write(&backend, path, "x").await), ErrorKind::PathNotInSandbox, "{path}");
        }
        assert_eq!(kind(write(&backend, "/x/../sub/special/f", "x").await), ErrorKind::PathNotWritable);
        assert_eq!(names(&backend, "/", 9).await.unwrap(), ["/sub", "/sub/special", "/sub/special/f", "/f"]);
        let writer = backend.writer().unwrap();
        for path in ["/sub", "/sub/special", "/"] {
            assert_eq!(kind(writer.remove(&at(path), true, &call).await), ErrorKind::PathNotWritable, "{path}");
            assert_eq!(kind(writer.rename(&at(path), &at("/n"), &call).await), ErrorKind::PathNotWritable, "{path}");
        }
        assert_eq!(fs::read_to_string(base.path().join("outer/sub/special/shadowed")).unwrap(), "SHADOWED");
    }
}

#[tokio::test]
async fn files_move_between_mounts_and_rules_hold_on_both_sides() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let mut small = Mount::new("small", "/small").read_write();
        small.max_file_bytes = Some(3);
        small.suffixes = Some(vec![".txt".into()]);
        let backend = sandbox(base.path(), vec![Mount::new("big", "/big").read_write(), small], strategy);
        let call = Call::default();
        let writer = backend.writer().unwrap();
        write(&backend, "/big/long.txt", "12345").await.unwrap();
        write(&backend, "/big/a.md", "1").await.unwrap();
        writer.make_directory(&at("/big/dir"), &call).await.unwrap();
        for (from, to, expected) in [
            // D40: the target's size was not checked.
            ("/big/long.txt", "/small/long.txt", ErrorKind::FileTooLarge),
            ("/big/a.md", "/small/a.md", ErrorKind::SuffixNotAllowed),
            ("/big/missing", "/small/b.txt", ErrorKind::FileNotFound),
        ] {
            assert_eq!(kind(writer.copy(&at(from), &at(to), &call).await), expected, "copy {from}");
            assert_eq!(kind(writer.rename(&at(from), &at(to), &call).await), expected, "move {from}");
        }
        assert_eq!(kind(writer.rename(&at("/big/dir"), &at("/small/dir"), &call).await), ErrorKind::Unsupported);
        writer.rename(&at("/big/a.md"), &at("/small/n/a.txt"), &call).await.unwrap();
        assert_eq!(
            names(&backend, "/", 9).await.unwrap(),
            ["/big", "/big/dir", "/big/long.txt", "/small", "/small/n", "/small/n/a.txt"]
        );
        let listed = backend.files().stat(&VirtualPath::root(), &call).await.unwrap().unwrap();
        assert_eq!((listed.kind, listed.path.as_str()), (FileKind::Directory, "/"));
        assert_eq!(kind(write(&backend, "/new", "x").await), ErrorKind::PathNotInSandbox);
    }
}

#[tokio::test]
async fn a_derived_sandbox_holds_on_the_opened_file() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let parent = Sandbox::new(vec![Mount::new("d", "/d").read_write()], base.path()).unwrap();
        fs::create_dir_all(base.path().join("d/open")).unwrap();
        fs::write(base.path().join("d/closed"), "CLOSED").unwrap();
        symlink("../closed", base.path().join("d/open/link")).unwrap();
        let allow = Some(vec!["/d/open".to_owned()]);
        let child = parent.derive(&Allowances { allow_write: allow, ..Allowances::default() }).unwrap();
        let options = LocalOptions { sandbox: Some(child), ..LocalOptions::default() };
        let backend = LocalBackend::with_strategy(options, strategy).unwrap();
        assert_eq!(kind(read(&backend, "/d/open/link").await), ErrorKind::PathNotInSandbox);
        assert_eq!(kind(read(&backend, "/d/closed").await), ErrorKind::PathNotInSandbox);
        assert!(write(&backend, "/d/open/link", "x").await.is_err());
        write(&backend, "/d/open/new", "x").await.unwrap();
        assert_eq!(names(&backend, "/", 9).await.unwrap(), ["/d", "/d/open", "/d/open/new"]);
        assert_eq!(fs::read_to_string(base.path().join("d/closed")).unwrap(), "CLOSED");
    }
}

/// Denies everything that has one name in its path.
struct Denies(&'static str);

impl Guard for Denies {
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()> {
        if path.as_str().split('/').any(|name| name == self.0) {
            let message = format!("{} of '{path}' is denied.", operation.name());
            return Err(Error::new(ErrorKind::PermissionDenied, message));
        }
        Ok(())
    }
}

#[tokio::test]
async fn rules_are_asked_about_the_real_file_and_about_all_that_moves_with_a_directory() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), strategy);
        write(&backend, "/d/secret/key", "K").await.unwrap();
        write(&backend, "/d/plain", "P").await.unwrap();
        symlink("d/secret/key", base.path().join("root/alias")).unwrap();
        let call = Call { guard: Arc::new(Denies("secret")), ..Call::default() };
        let writer = backend.writer().unwrap();
        let denied = ErrorKind::PermissionDenied;
        assert_eq!(kind(backend.files().read_bytes(&at("/alias"), 10, &call).await), denied);
        assert_eq!(kind(backend.files().stat(&at("/alias"), &call).await), denied);
        assert_eq!(kind(writer.append(&at("/alias"), vec![1], &call).await), denied);
        assert_eq!(kind(writer.copy(&at("/alias"), &at("/copy"), &call).await), denied);
        assert_eq!(kind(writer.rename(&at("/d"), &at("/e"), &call).await), denied);
        assert_eq!(kind(writer.remove(&at("/d"), true, &call).await), denied);
        // A name that does not exist yet, and one that only a parent would get.
        assert_eq!(kind(writer.make_directory(&at("/n/secret/deep"), &call).await), denied);
        assert_eq!(kind(writer.append(&at("/m/secret"), vec![1], &call).await), denied);
        assert_eq!(kind(writer.rename(&at("/d/plain"), &at("/secret"), &call).await), denied);
        let listed = backend.files().list(&VirtualPath::root(), 9, &call).await.unwrap();
        let paths: Vec<_> = listed.entries.iter().map(|entry| entry.path.as_str()).collect();
        assert!(paths.contains(&"/d/plain") && !paths.iter().any(|path| path.contains("secret")), "{paths:?}");
        assert_eq!(read(&backend, "/d/secret/key").await.unwrap(), "K");
    }
}

#[tokio::test]
async fn directories_of_an_author_are_mounts_at_their_own_paths() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let real = base.path().canonicalize().unwrap();
        fs::create_dir_all(real.join("project/inside")).unwrap();
        fs::create_dir_all(real.join("other")).unwrap();
        fs::write(real.join("secret"), "S").unwrap();
        symlink("project", real.join("link")).unwrap();
        let options = LocalOptions {
            root: Some(real.join("link")),
            allowed_directories: vec![real.join("other"), real.join("project/inside")],
            ..LocalOptions::default()
        };
        let backend = LocalBackend::with_strategy(options, strategy).unwrap();
        let spelled = |path: &str| format!("{}/{path}", real.to_str().unwrap());
        assert_eq!(backend.files().working_directory().as_str(), spelled("link"));
        assert_eq!(backend.files().readable_roots(), [spelled("other"), spelled("link")], "one inside another goes");
        assert!(!backend.files().mounts_ask());
        write(&backend, &spelled("link/f"), "x").await.unwrap();
        assert_eq!(read(&backend, &spelled("project/f")).await.unwrap(), "x", "the canonical spelling is an alias");
        write(&backend, &spelled("other/f"), "y").await.unwrap();
        assert_eq!(kind(read(&backend, &spelled("secret")).await), ErrorKind::PathNotInSandbox);
        assert_eq!(kind(names(&backend, "/", 1).await), ErrorKind::PathNotInSandbox);
        let gone = LocalOptions { root: Some(real.join("missing")), ..LocalOptions::default() };
        assert_eq!(kind(LocalBackend::new(gone)), ErrorKind::InvalidInput);
        assert!(!real.join("missing").exists(), "no directory is made");
    }
}

#[tokio::test]
async fn commands_are_refused_where_mounts_are_walls() {
    let base = tempfile::tempdir().unwrap();
    let walls = Sandbox::new(vec![Mount::new("d", "/d")], base.path()).unwrap();
    let options = |confinement| LocalOptions {
        sandbox: Some(walls.clone()),
        execute: true,
        confinement,
        ..LocalOptions::default()
    };
    let refused = LocalBackend::new(options(crate::backend::local::Confinement::Auto)).unwrap();
    assert!(refused.shell().is_none() && refused.no_shell_reason().contains("`confinement: 'none'`"));
    assert!(refused.writer().is_none(), "nothing can be written: no writer");
    assert!(LocalBackend::new(options(crate::backend::local::Confinement::None)).unwrap().shell().is_some());
}
