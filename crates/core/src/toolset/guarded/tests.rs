//! Every method of a guarded backend, judged.

use serde_json::{Value, json};

use super::super::tests::{Answering, World, yes};
use super::*;
use crate::approval::{ApprovalDecision, Remember};
use crate::backend::{ExecuteRequest, Missing, TerminalRequest, Window};
use crate::search::{GlobQuery, GrepQuery};

const WHOLE: Window = Window { offset: 0, limit: 100, max_bytes: 1_000 };

fn guarded(world: &World, permissions: Value, approver: Option<Arc<dyn Approver>>) -> GuardedBackend {
    let options = serde_json::from_value(json!({ "permissions": permissions })).unwrap();
    GuardedBackend::new(Arc::clone(&world.backend), options, approver).unwrap()
}

fn path(backend: &GuardedBackend, name: &str) -> VirtualPath {
    VirtualPath::parse(name, backend.files().working_directory()).unwrap()
}

/// Tries every method and answers with the codes.
async fn codes(backend: &GuardedBackend) -> Vec<(&'static str, &'static str)> {
    let call = Call::default();
    let (a, b, c) = (path(backend, "a.txt"), path(backend, "b.txt"), path(backend, "c.txt"));
    let root = path(backend, ".");
    let files = backend.files();
    fn told<T>(result: Result<T>) -> &'static str {
        result.map_or_else(|error| error.kind().code(), |_| "OK")
    }
    let write = |content: &'static str| Box::new(move |_| Ok(content.into())) as crate::backend::Transform;
    let mut codes = vec![
        ("stat", told(files.stat(&a, &call).await)),
        ("list", told(files.list(&root, 1, &call).await)),
        ("read", told(files.read(&a, WHOLE, &call).await)),
        ("read_bytes", told(files.read_bytes(&a, 100, &call).await)),
        ("open_reader", told(files.open_reader(&a, &call).await)),
        ("glob", told(files.glob(&GlobQuery::new("*", root.clone()), &call).await)),
        ("grep", told(files.grep(&GrepQuery::new("one", root.clone()), &call).await)),
    ];
    match backend.writer() {
        None => codes.push(("writer", "NONE")),
        Some(writer) => {
            let opened = match writer.open_writer(&b, &call).await {
                Ok(Some(writer)) => {
                    writer.abandon().await;
                    "OK"
                }
                other => told(other),
            };
            codes.extend([
                ("edit", told(writer.update(&a, Operation::Edit, Missing::Refuse, write("one\n"), &call).await)),
                ("write", told(writer.update(&b, Operation::Write, Missing::Create, write("b"), &call).await)),
                ("append", told(writer.append(&b, b"c".to_vec(), &call).await)),
                ("open_writer", opened),
                ("mkdir", told(writer.make_directory(&path(backend, "d"), &call).await)),
                ("copy", told(writer.copy(&a, &c, &call).await)),
                ("remove", told(writer.remove(&c, false, &call).await)),
                ("rename", told(writer.rename(&b, &c, &call).await)),
            ]);
        }
    }
    match backend.shell() {
        None => codes.push(("shell", "NONE")),
        Some(shell) => {
            codes.push(("execute", told(shell.execute(ExecuteRequest::new("true"), &call).await)));
            codes.push(("start", told(shell.start(ExecuteRequest::new("true"), &call).await)));
        }
    }
    codes
}

#[tokio::test]
async fn every_method_is_judged_by_its_operation() {
    let methods: [(&str, &[&str]); 8] = [
        ("read", &["read", "read_bytes", "open_reader", "copy", "rename", "edit"]),
        ("write", &["write", "append", "open_writer", "mkdir", "copy", "rename"]),
        ("edit", &["edit"]),
        ("delete", &["remove", "rename"]),
        ("execute", &["execute", "start"]),
        ("glob", &["glob"]),
        ("grep", &["grep"]),
        ("ls", &["stat", "list"]),
    ];
    let world = World::new();
    let all = codes(&guarded(&world, json!({ "default": "allow" }), None)).await;
    assert_eq!(all.iter().filter(|(_, code)| *code != "OK").collect::<Vec<_>>(), Vec::<&(&str, &str)>::new());
    for (operation, judged) in methods {
        let world = World::new();
        // One rule, so that no whole operation is gone.
        let rules = json!({ "default": "allow", operation: { "default": "allow", "rules": [{ "pattern": "**", "action": "deny" }] } });
        let answers = codes(&guarded(&world, rules, None)).await;
        for (method, code) in answers {
            let expected = if !judged.contains(&method) {
                // What was not written is not there to be copied, moved or removed.
                ["OK", "FILE_NOT_FOUND"].as_slice()
            } else if operation == "execute" {
                ["COMMAND_BLOCKED"].as_slice()
            } else {
                ["PERMISSION_DENIED"].as_slice()
            };
            assert!(expected.contains(&code), "{operation}: {method} answers {code}");
        }
        let asking = json!({ "default": "allow", operation: { "default": "ask" } });
        let answers = codes(&guarded(&World::new(), asking, None)).await;
        for (method, code) in answers.into_iter().filter(|(method, _)| judged.contains(method) && *method != "edit") {
            assert_eq!(code, "APPROVAL_REQUIRED", "{operation}: {method}");
        }
    }
}

#[tokio::test]
async fn what_is_denied_altogether_is_not_there() {
    let world = World::new();
    let backend = guarded(&world, json!("readonly"), None);
    assert!(backend.writer().is_none() && backend.shell().is_none());
    assert_eq!(backend.no_shell_reason(), "The rules of this backend deny all commands.");
    assert_eq!(backend.files().writable_roots(), Vec::<String>::new());
}

/// BE-78: what must not be read shows in no search, however it is reached.
#[tokio::test]
async fn denied_names_are_left_out_and_links_are_judged_as_they_resolve() {
    let world = World::new();
    std::fs::write(world.directory.path().join(".env"), "KEY=one\n").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(".env", world.directory.path().join("link.txt")).unwrap();
    let rules = json!({
        "default": "allow",
        "read": { "default": "allow", "rules": [{ "pattern": "**/.env", "action": "deny" }] },
        "ls": { "default": "allow", "rules": [{ "pattern": "**/.env", "action": "deny" }] },
    });
    let backend = guarded(&world, rules, None);
    let call = Call::default();
    let names = backend.files().list(&path(&backend, "."), 1, &call).await.unwrap().entries;
    assert!(!names.iter().any(|entry| entry.name == ".env"), "{names:?}");
    let found = backend.files().grep(&GrepQuery::new("one", path(&backend, ".")), &call).await.unwrap();
    assert!(!format!("{found:?}").contains("KEY"), "{found:?}");
    #[cfg(unix)]
    {
        let error = backend.files().read(&path(&backend, "link.txt"), WHOLE, &call).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    }
    let error = backend.shell().unwrap().execute(ExecuteRequest::new("cat .env"), &call).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommandBlocked);
}

#[tokio::test]
async fn somebody_is_asked_and_their_yes_is_held_to_what_was_there() {
    let world = World::new();
    let rules = json!({ "default": "allow", "read": { "default": "ask" } });
    let asked = Answering::new(yes());
    let backend = guarded(&world, rules.clone(), Some(Arc::clone(&asked) as Arc<dyn Approver>));
    let (a, call) = (path(&backend, "a.txt"), Call::default());
    assert_eq!(backend.files().read(&a, WHOLE, &call).await.unwrap().content, "one\ntwo\n");
    assert_eq!(asked.count(), 1);

    let file = world.directory.path().join("a.txt");
    let changing = Answering::while_asked(yes(), move || change(&file));
    let backend = guarded(&world, rules.clone(), Some(Arc::clone(&changing) as Arc<dyn Approver>));
    let error = backend.files().read(&a, WHOLE, &call).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StaleFile);
    assert_eq!(changing.count(), MAX_ASKED);

    for decision in [
        ApprovalDecision::default(),
        // Nobody can approve one thing and have another done.
        ApprovalDecision { input: Some(json!({ "path": "b.txt" })), ..yes() },
    ] {
        let backend = guarded(&world, rules.clone(), Some(Answering::new(decision)));
        let error = backend.files().read(&a, WHOLE, &call).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ApprovalDenied);
    }
}

/// Another file each time, whatever the clock of the file system can tell apart.
fn change(file: &std::path::Path) {
    let content = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, format!("{content}more\n")).unwrap();
}

/// A change between question and answer was an error for the caller, who could only begin anew.
#[tokio::test]
async fn somebody_is_asked_again_about_what_changed_until_they_answered() {
    let world = World::new();
    let file = world.directory.path().join("a.txt");
    let once = std::sync::Once::new();
    let asked = Answering::while_asked(yes(), move || once.call_once(|| change(&file)));
    let rules = json!({ "default": "allow", "read": { "default": "ask" } });
    let backend = guarded(&world, rules, Some(Arc::clone(&asked) as Arc<dyn Approver>));
    let slice = backend.files().read(&path(&backend, "a.txt"), WHOLE, &Call::default()).await.unwrap();
    assert_eq!((slice.content.as_str(), asked.count()), ("one\ntwo\nmore\n", 2));
}

/// `remember` had no effect, and everybody was asked for ever.
#[tokio::test]
async fn a_yes_for_the_session_holds_for_the_same_method_on_the_same_file() {
    let world = World::new();
    let rules = json!({ "default": "allow", "read": { "default": "ask" }, "execute": { "default": "ask" } });
    let asked = Answering::new(ApprovalDecision { remember: Remember::Session, ..yes() });
    let backend = guarded(&world, rules, Some(Arc::clone(&asked) as Arc<dyn Approver>));
    std::fs::write(world.directory.path().join("b.txt"), "b\n").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("a.txt", world.directory.path().join("link")).unwrap();
    let call = Call::default();
    let files = backend.files();
    for (name, count) in [("a.txt", 1), ("a.txt", 1), ("b.txt", 2), ("a.txt", 2)] {
        files.read(&path(&backend, name), WHOLE, &call).await.unwrap();
        assert_eq!(asked.count(), count, "{name}");
    }
    files.read_bytes(&path(&backend, "a.txt"), 100, &call).await.unwrap();
    assert_eq!(asked.count(), 3);
    for (command, count) in [("true", 4), ("true", 4), ("true x", 5)] {
        backend.shell().unwrap().execute(ExecuteRequest::new(command), &call).await.unwrap();
        assert_eq!(asked.count(), count, "{command}");
    }
    #[cfg(unix)]
    {
        let link = path(&backend, "link");
        files.read(&link, WHOLE, &call).await.unwrap();
        files.read(&link, WHOLE, &call).await.unwrap();
        assert_eq!(asked.count(), 6);
        std::fs::remove_file(world.directory.path().join("link")).unwrap();
        std::os::unix::fs::symlink("b.txt", world.directory.path().join("link")).unwrap();
        files.read(&link, WHOLE, &call).await.unwrap();
        assert_eq!(asked.count(), 7);
    }
}

/// A shell that waits for what is typed can be told anything.
#[tokio::test]
async fn a_terminal_without_a_command_is_asked_about() {
    let backend = guarded(&World::new(), json!({ "default": "allow" }), None);
    let request = TerminalRequest {
        command: None,
        working_directory: None,
        environment: Vec::new(),
        size: crate::backend::process::TerminalSize::new(80, 24).unwrap(),
        limits: crate::backend::CommandLimits::default(),
        tap: None,
    };
    let error = backend.shell().unwrap().open_terminal(request, &Call::default()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ApprovalRequired);
}

/// Whoever was asked about a write saw a name, and their yes for the session let any content be written there.
#[tokio::test]
async fn a_write_is_asked_about_with_its_diff_and_remembered_with_its_content() {
    let world = World::new();
    let rules = json!({ "default": "allow", "write": { "default": "ask" }, "edit": { "default": "ask" } });
    let asked = Answering::new(ApprovalDecision { remember: Remember::Session, ..yes() });
    let backend = guarded(&world, rules.clone(), Some(Arc::clone(&asked) as Arc<dyn Approver>));
    let (a, call) = (path(&backend, "a.txt"), Call::default());
    let writer = backend.writer().unwrap();
    let write = |content: &'static str| Box::new(move |_| Ok(content.into())) as crate::backend::Transform;
    for (content, count) in [("1\n", 1), ("1\n", 1), ("2\n", 2), ("1\n", 2)] {
        writer.update(&a, Operation::Write, Missing::Create, write(content), &call).await.unwrap();
        assert_eq!((asked.count(), world.content().as_str()), (count, content));
    }
    let diff = |index: usize| asked.asked.lock()[index].diff.clone().unwrap_or_default();
    assert!(diff(0).contains("-one\n-two\n+1\n") && diff(1).contains("-1\n+2\n"), "{} {}", diff(0), diff(1));
    for (content, count) in [("x\n", 3), ("x\n", 3), ("y\n", 4)] {
        writer.append(&a, content.into(), &call).await.unwrap();
        assert_eq!(asked.count(), count, "{content}");
    }
    assert!(diff(2).ends_with(" 1\n+x\n"), "{}", diff(2));
    // What is written piece by piece nobody knows before it comes.
    for count in [5, 6] {
        let opened = writer.open_writer(&path(&backend, "b.txt"), &call).await.unwrap().unwrap();
        opened.abandon().await;
        assert_eq!(asked.count(), count);
    }
    // An edit that cannot be made is nothing to ask about.
    let fails = || Box::new(|_| Err(Error::new(ErrorKind::EditFailed, "no"))) as crate::backend::Transform;
    let error = writer.update(&a, Operation::Edit, Missing::Refuse, fails(), &call).await.unwrap_err();
    assert_eq!((error.kind(), asked.count()), (ErrorKind::EditFailed, 6));
    let missing = path(&backend, "missing");
    let error = writer.update(&missing, Operation::Edit, Missing::Refuse, write(""), &call).await.unwrap_err();
    assert_eq!((error.kind(), asked.count()), (ErrorKind::FileNotFound, 6));

    let backend = guarded(&world, rules, None);
    let writer = backend.writer().unwrap();
    let error = writer.update(&a, Operation::Write, Missing::Create, write("new\n"), &call).await.unwrap_err();
    assert!(error.details().unwrap()["diff"].as_str().unwrap().contains("+new\n"));
}

/// The yes was to a diff, and the file was another by then.
#[tokio::test]
async fn a_yes_to_a_diff_holds_for_the_file_that_it_was_made_of() {
    for operation in [Operation::Write, Operation::Edit] {
        let world = World::new();
        let file = world.directory.path().join("a.txt");
        let changing = Answering::while_asked(yes(), move || change(&file));
        let rules = json!({ "default": "allow", "write": { "default": "ask" }, "edit": { "default": "ask" } });
        let backend = guarded(&world, rules, Some(Arc::clone(&changing) as Arc<dyn Approver>));
        let (a, call) = (path(&backend, "a.txt"), Call::default());
        let write = Box::new(move |_| Ok("x".into()));
        let writer = backend.writer().unwrap();
        let error = writer.update(&a, operation, Missing::Create, write, &call).await.unwrap_err();
        assert_eq!((error.kind(), changing.count()), (ErrorKind::StaleFile, 1));
        let error = writer.append(&a, b"x".to_vec(), &call).await.unwrap_err();
        assert_eq!((error.kind(), changing.count()), (ErrorKind::StaleFile, 2));
        assert_eq!(world.content(), "one\ntwo\nmore\nmore\n");
    }
}
