//! File systems that take `A` for `a`: rules, mounts and suffixes speak of names letter by letter, so that the other
//! spelling of what is there leads nowhere. On Linux the folding is put on for these tests (`resolve/spelling.rs`).

use std::sync::Arc;

use super::super::resolve::Resolver;
use super::*;
use crate::access::Guard;
use crate::error::Error;
use crate::sandbox::Allowances;

fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

fn folding(sandbox: Sandbox, strategy: Strategy) -> LocalBackend {
    let options = LocalOptions { sandbox: Some(sandbox), ..LocalOptions::default() };
    LocalBackend::with_changed(options, strategy, Resolver::folding).unwrap()
}

/// Denies what is called `.env`, in this spelling.
struct DeniesSecrets;

impl Guard for DeniesSecrets {
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()> {
        match path.file_name() {
            Some(".env") => {
                let message = format!("{} of '{path}' is denied.", operation.name());
                Err(Error::new(ErrorKind::PermissionDenied, message))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// CVE-2025-59944 was this: a rule named a file, and another case of its letters led around the rule.
#[tokio::test]
async fn another_case_leads_around_no_rule() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = folding(Sandbox::new(vec![Mount::new("root", "/").read_write()], base.path()).unwrap(), strategy);
        let root = base.path().join("root");
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/.env"), "SECRET").unwrap();
        fs::write(root.join("plain"), "P").unwrap();
        symlink("D/.ENV", root.join("link")).unwrap();
        let call = Call { guard: Arc::new(DeniesSecrets), ..Call::default() };
        let (files, writer) = (backend.files(), backend.writer().unwrap());
        assert_eq!(kind(files.read_bytes(&at("/d/.env"), 99, &call).await), ErrorKind::PermissionDenied);
        for path in ["/d/.ENV", "/D/.env", "/link"] {
            let path = at(path);
            assert_eq!(kind(files.read_bytes(&path, 99, &call).await), ErrorKind::FileNotFound, "{path}");
            assert!(writer.append(&path, vec![1], &call).await.is_err(), "{path}");
            assert!(writer.copy(&path, &at("/copy"), &call).await.is_err(), "{path}");
        }
        for path in ["/d/.ENV", "/D/.env"] {
            let path = at(path);
            assert!(files.stat(&path, &call).await.is_err(), "{path}");
            assert!(files.resolve(&path, &call).await.is_err(), "{path}");
            assert!(writer.remove(&path, true, &call).await.is_err(), "{path}");
            assert!(writer.rename(&path, &at("/moved"), &call).await.is_err(), "{path}");
            assert!(writer.rename(&at("/plain"), &path, &call).await.is_err(), "{path}");
            assert!(writer.copy(&at("/plain"), &path, &call).await.is_err(), "{path}");
            assert!(writer.make_directory(&path, &call).await.is_err(), "{path}");
        }
        assert_eq!(kind(writer.append(&at("/PLAIN"), vec![1], &call).await), ErrorKind::AlreadyExists);
        assert_eq!(kind(writer.remove(&at("/D"), true, &call).await), ErrorKind::AlreadyExists);
        assert_eq!(kind(writer.append(&at("/D/new/f"), vec![1], &call).await), ErrorKind::AlreadyExists);
        assert_eq!(kind(writer.make_directory(&at("/D/new"), &call).await), ErrorKind::FileNotFound);
        assert_eq!(names(&backend, "/", 9).await.unwrap(), ["/d", "/d/.env", "/plain"]);
        assert_eq!(fs::read_to_string(root.join("d/.env")).unwrap(), "SECRET");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 3, "nothing was made beside it");
    }
}

#[tokio::test]
async fn another_case_reaches_nothing_that_a_nested_mount_shadows_or_a_derived_sandbox_lacks() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let mounts = vec![Mount::new("outer", "/").read_write(), Mount::new("inner", "/nested")];
        let sandbox = Sandbox::new(mounts, base.path()).unwrap();
        fs::create_dir_all(base.path().join("outer/nested")).unwrap();
        fs::write(base.path().join("outer/nested/f"), "SHADOWED").unwrap();
        fs::create_dir(base.path().join("outer/open")).unwrap();
        fs::write(base.path().join("outer/closed"), "CLOSED").unwrap();
        let whole = folding(sandbox.clone(), strategy);
        for path in ["/NESTED/f", "/Nested/f"] {
            assert_eq!(kind(read(&whole, path).await), ErrorKind::FileNotFound, "{path}");
            assert!(write(&whole, path, "x").await.is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(base.path().join("outer/nested/f")).unwrap(), "SHADOWED");
        let allow = Some(vec!["/open".to_owned()]);
        let child = sandbox.derive(&Allowances { allow_write: allow, ..Allowances::default() }).unwrap();
        let narrow = folding(child, strategy);
        assert_eq!(kind(write(&narrow, "/OPEN/f", "x").await), ErrorKind::PathNotWritable);
        assert_eq!(kind(read(&narrow, "/CLOSED").await), ErrorKind::PathNotInSandbox);
    }
}

#[tokio::test]
async fn what_is_spelled_as_it_is_called_works_as_everywhere() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = folding(Sandbox::new(vec![Mount::new("root", "/").read_write()], base.path()).unwrap(), strategy);
        write(&backend, "/Dir/Größe.TXT", "1").await.unwrap();
        write(&backend, "/Dir/1234", "2").await.unwrap();
        symlink("Dir/Größe.TXT", base.path().join("root/Link")).unwrap();
        assert_eq!(read(&backend, "/Link").await.unwrap(), "1");
        assert_eq!(write(&backend, "/Link", "3").await.unwrap().resolved.as_str(), "/Dir/Größe.TXT");
        let writer = backend.writer().unwrap();
        writer.rename(&at("/Dir/1234"), &at("/Dir/sub/5678"), &Call::default()).await.unwrap();
        assert_eq!(read(&backend, "/Dir/sub/5678").await.unwrap(), "2");
        assert_eq!(writer.remove(&at("/Dir"), true, &Call::default()).await.unwrap(), 4);
        assert_eq!(read(&backend, "/Link").await.unwrap_err().kind(), ErrorKind::FileNotFound);
    }
}

#[tokio::test]
async fn what_windows_would_take_for_something_else_is_refused_there_before_it_is_looked_up() {
    let base = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(vec![Mount::new("root", "/w:x").read_write()], base.path()).unwrap();
    let options = LocalOptions { sandbox: Some(sandbox), ..LocalOptions::default() };
    let backend = LocalBackend::with_changed(options, Strategy::Kernel, Resolver::refusing_windows_names).unwrap();
    let (call, writer) = (Call::default(), backend.writer().unwrap());
    write(&backend, "/w:x/plain", "P").await.unwrap();
    for name in
        ["NUL", "nul.txt", "d/COM1/f", "plain:stream", "plain::$DATA", "plain.", "plain ", "..\\secret", "c:\\x"]
    {
        let path = at(&format!("/w:x/{name}"));
        let error = read(&backend, path.as_str()).await.unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::InvalidInput, Some(path.as_str())));
        assert_eq!(kind(write(&backend, path.as_str(), "x").await), ErrorKind::InvalidInput, "{path}");
        assert_eq!(kind(names(&backend, path.as_str(), 1).await), ErrorKind::InvalidInput, "{path}");
        assert_eq!(kind(writer.make_directory(&path, &call).await), ErrorKind::InvalidInput, "{path}");
        assert_eq!(kind(writer.remove(&path, true, &call).await), ErrorKind::InvalidInput, "{path}");
        assert_eq!(kind(writer.rename(&at("/w:x/plain"), &path, &call).await), ErrorKind::InvalidInput, "{path}");
        assert_eq!(kind(writer.copy(&at("/w:x/plain"), &path, &call).await), ErrorKind::InvalidInput, "{path}");
    }
    assert_eq!(names(&backend, "/w:x", 1).await.unwrap(), ["/w:x/plain"]);
}
