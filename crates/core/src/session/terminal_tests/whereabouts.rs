//! Where a session's shell is, for the rules: one call leads it, and the next is judged there.

use super::*;
use crate::approval::{ApprovalDecision, ApprovalRequest, Approver};
use crate::backend::BoxFuture;
use crate::call_info::CallInfo;
use crate::error::{ErrorKind, Result};

fn code(result: &ToolResult) -> String {
    result.code.clone().unwrap_or_else(|| "OK".to_owned())
}

/// `cd private` in one call and `cat key` in the next were judged each by itself, where the session began.
#[tokio::test]
async fn the_lines_of_a_session_are_judged_where_its_shell_is() {
    let world = World::new();
    for (name, text) in [("private/key", "TOPSECRET"), ("public/key", "open"), ("public/sub/x", "x")] {
        let path = world.directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let rules = json!({ "default": "allow", "read": { "default": "allow", "rules": [
        { "pattern": "private/**", "action": "deny" } ] } });
    let toolset = world
        .toolset(json!({ "permissions": rules, "tools": ["terminal", "execute", "run_in_background", "shell_input"] }));
    let run = |id: &'static str, command: &'static str| {
        let toolset = &toolset;
        async move { code(&call(toolset, "shell_exec", json!({ "id": id, "command": command, "timeout": 60 })).await) }
    };
    for (id, command, expected) in [
        ("a", "cd private", "OK"),
        ("a", "cat key", "COMMAND_BLOCKED"),
        ("a", "cat $PWD/key", "COMMAND_BLOCKED"),
        ("a", "cd ../public && cat key", "OK"),
        ("a", "cat key", "OK"),
        ("a", "cat sub/x", "OK"),
        ("a", "cat ../private/key", "COMMAND_BLOCKED"),
        // Where it may be in either, the stricter counts.
        ("b", "cd private; true", "OK"),
        ("b", "cat key", "COMMAND_BLOCKED"),
        // Another session is where it was.
        ("c", "cat public/key", "OK"),
        ("c", "cd public && false", "OK"),
        ("c", "cat key", "OK"),
        ("c", "cd sub", "OK"),
        ("c", "cat ../../private/key", "COMMAND_BLOCKED"),
    ] {
        assert_eq!(run(id, command).await, expected, "{id}: {command}");
    }
    // Several directories in one line, a name with a space, and a pipe.
    for (id, command, expected) in [
        ("e", "cd public && cd sub", "OK"),
        ("e", "cat ../../private/key", "COMMAND_BLOCKED"),
        ("e", "cd ../..", "OK"),
        ("e", "mkdir 'a b' && cd 'a b' && ls | wc -l", "OK"),
        ("e", "cd ..", "OK"),
        ("e", "cat public/key", "OK"),
    ] {
        assert_eq!(run(id, command).await, expected, "{id}: {command}");
    }
    // What failed led it somewhere all the same: the kernel says where it is.
    for (id, command, expected) in [
        ("f", "cd public && false", "OK"),
        ("f", "cd ..", "OK"),
        ("f", "cat public/key", "OK"),
        ("f", "cd private; false", "OK"),
        ("f", "cat key", "COMMAND_BLOCKED"),
        ("f", "cd ../public", "OK"),
        ("f", "cat key", "OK"),
        ("f", "cd ../private || true", "OK"),
        ("f", "cat key", "COMMAND_BLOCKED"),
    ] {
        assert_eq!(run(id, command).await, expected, "{id}: {command}");
    }
    // It was opened there.
    let opened = json!({ "id": "d", "command": "true", "cwd": "private" });
    assert_eq!(code(&call(&toolset, "shell_exec", opened).await), "OK");
    assert_eq!(run("d", "cat key").await, "COMMAND_BLOCKED");
    let there = json!({ "command": "cat key", "cwd": "private" });
    assert_eq!(code(&call(&toolset, "execute", there).await), "COMMAND_BLOCKED");
    // A shell in the background was led there before it was given a line.
    let started = call(&toolset, "run_in_background", json!({ "command": "cd private && exec cat" })).await;
    let id = started.data.unwrap()["shellId"].clone();
    let line = json!({ "shell_id": id, "text": "cat key" });
    let given = call(&toolset, "shell_input", line).await;
    assert_eq!(code(&given), "COMMAND_BLOCKED", "{}", given.text);
    let started = json!({ "command": "exec cat", "cwd": "private" });
    let id = call(&toolset, "run_in_background", started).await.data.unwrap()["shellId"].clone();
    let line = json!({ "shell_id": id, "text": "cat key" });
    let given = call(&toolset, "shell_input", line).await;
    assert_eq!(code(&given), "COMMAND_BLOCKED", "{}", given.text);
    // A name that is used again begins anew.
    assert_eq!(code(&call(&toolset, "shell_kill_process", json!({ "id": "a" })).await), "OK");
    assert_eq!(run("a", "cat public/key").await, "OK");
    toolset.close();
    toolset.sessions().over().await;
}

/// A function led the shell from one directory to another, where a file lies that rules deny; what came behind was judged without it.
#[tokio::test]
async fn what_leads_a_shell_later_needs_a_yes_and_is_never_forgotten() {
    let world = World::new();
    for (name, text) in [("e/private/key", "TOPSECRET"), ("e/key", "open")] {
        let path = world.directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let rules = json!({ "default": "allow", "read": { "default": "allow", "rules": [
        { "pattern": "e/private/**", "action": "deny" } ] } });
    let options = json!({ "permissions": rules, "tools": ["terminal"] });
    let asked = world.toolset(options.clone());
    for command in ["f() { cd private; }", "trap 'cd private' USR1", "alias ls='cd private'"] {
        let input = json!({ "id": "a", "command": command });
        let refused = asked.call("shell_exec", input, CallOptions::default()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ApprovalRequired, "{command}");
    }
    // In a shell of its own it leads nothing.
    let apart =
        call(&asked, "shell_exec", json!({ "id": "a", "command": "f() { (cd e && ls); }; f && cat e/key" })).await;
    assert_eq!(code(&apart), "OK", "{}", apart.text);
    asked.close();
    asked.sessions().over().await;
}

/// Says yes to what holds a text, and no to all else.
struct YesTo(&'static str);

impl Approver for YesTo {
    fn decide<'a>(&'a self, _: CallInfo<'a>, request: &'a ApprovalRequest) -> BoxFuture<'a, Result<ApprovalDecision>> {
        let approved = request.description.contains(self.0);
        Box::pin(async move { Ok(ApprovalDecision { approved, ..ApprovalDecision::default() }) })
    }
}

#[tokio::test]
async fn behind_a_yes_to_what_leads_a_shell_later_every_name_is_asked_about() {
    let world = World::new();
    let key = world.directory.path().join("e/private/key");
    fs::create_dir_all(key.parent().unwrap()).unwrap();
    fs::write(&key, "TOPSECRET").unwrap();
    let rules = json!({ "default": "allow", "read": { "default": "allow", "rules": [
        { "pattern": "e/private/**", "action": "deny" } ] } });
    let options = json!({ "permissions": rules, "tools": ["terminal"], "requireExecuteApproval": false });
    let application = Application { approver: Some(Arc::new(YesTo("f"))), ..Application::default() };
    let backend = Arc::clone(&world.backend) as Arc<dyn Backend>;
    let toolset = Toolset::new(backend, serde_json::from_value(options).unwrap(), application).unwrap();
    let root = world.directory.path().join("e").display().to_string();
    for (command, expected) in [
        ("f() { cd private; }".to_owned(), "OK"),
        // Whole, but nobody knows whether something led it on.
        (format!("cd {root} && ls"), "OK"),
        ("cat key".to_owned(), "APPROVAL_DENIED"),
        ("f".to_owned(), "OK"),
        ("cat key".to_owned(), "APPROVAL_DENIED"),
        ("cd ..".to_owned(), "APPROVAL_DENIED"),
    ] {
        let result = call(&toolset, "shell_exec", json!({ "id": "a", "command": command })).await;
        assert_eq!(code(&result), expected, "{command}: {}", result.text);
    }
    // A session of the same name begins anew.
    assert_eq!(code(&call(&toolset, "shell_kill_process", json!({ "id": "a" })).await), "OK");
    for command in ["cd e && ls", "cat key || true"] {
        assert_eq!(
            code(&call(&toolset, "shell_exec", json!({ "id": "a", "command": command })).await),
            "OK",
            "{command}"
        );
    }
    toolset.close();
    toolset.sessions().over().await;
}

/// The kernel knows the directory of a shell, and not the name by which the shell goes up from it; and calls that are no lines of a
/// session can move what that stands in.
#[tokio::test]
async fn a_shell_whose_directory_was_given_another_place_is_not_taken_to_be_where_it_was() {
    let world = World::new();
    let root = world.directory.path().display().to_string();
    let key = world.directory.path().join("private/key");
    for name in ["private", "x/y", "x/private", "v/y", "u/y/private", "w/y/sub", "o/p/y/sub"] {
        fs::create_dir_all(world.directory.path().join(name)).unwrap();
    }
    fs::write(&key, "TOPSECRET").unwrap();
    for (link, target) in [("k", "x/y"), ("l", "w/y"), ("m", "o/p/y")] {
        std::os::unix::fs::symlink(target, world.directory.path().join(link)).unwrap();
    }
    let rules = json!({ "default": "allow", "read": { "default": "allow", "rules": [
        { "pattern": "private/**", "action": "deny" } ] } });
    let toolset = world.toolset(json!({ "permissions": rules, "tools": ["terminal", "execute"] }));
    let outcome = async |tool: &str, id: &str, command: &str| {
        if tool == "a program" {
            // Lays a link anew.
            let link = world.directory.path().join(id);
            fs::remove_file(&link).unwrap();
            std::os::unix::fs::symlink(command, link).unwrap();
            return "OK".to_owned();
        }
        let command = command.replace('@', &root);
        let input = if tool == "execute" {
            json!({ "command": command })
        } else {
            json!({ "id": id, "command": command, "timeout": 60 })
        };
        match toolset.call(tool, input, CallOptions::default()).await {
            Ok(result) => code(&result),
            Err(error) => error.kind().code().to_owned(),
        }
    };
    for (tool, id, command, expected) in [
        // Other shells start first: what changed right before a line may have changed behind it.
        ("shell_exec", "g", "true", "OK"),
        ("shell_exec", "h", "true", "OK"),
        ("shell_exec", "f", "true", "OK"),
        // Its name leads to nothing, and may lead somewhere again.
        ("shell_exec", "f", "cd o/p/y/sub", "OK"),
        ("shell_exec", "f", "cd @/m/sub; mv @/o/p @/o/q; false && cd @/o/q/y/sub", "OK"),
        ("a program", "m", "private", "OK"),
        ("shell_exec", "f", "true; false", "OK"),
        ("shell_exec", "f", "cd ..", "OK"),
        ("shell_exec", "f", "cat key", "COMMAND_BLOCKED"),
        // Its name led to another directory when it was entered.
        ("shell_exec", "a", "cd x/y", "OK"),
        ("shell_exec", "a", "cd @/k; rm @/k; mkdir @/k; false", "OK"),
        ("shell_exec", "a", "cd ..", "OK"),
        ("shell_exec", "a", "cat private/key", "COMMAND_BLOCKED"),
        // The same between two lines.
        ("execute", "", "rmdir k && ln -s x/y k", "OK"),
        ("shell_exec", "b", "cd x/y", "OK"),
        ("shell_exec", "b", "cd @/k; false", "OK"),
        ("execute", "", "rm k && mkdir k", "OK"),
        ("shell_exec", "b", "true; false", "OK"),
        ("shell_exec", "b", "cd ..", "OK"),
        ("shell_exec", "b", "cat private/key", "COMMAND_BLOCKED"),
        // Its name leads out of the walls by now, from where the shell goes up all the same.
        ("shell_exec", "e", "cd w/y/sub", "OK"),
        ("shell_exec", "e", "cd @/l/sub; false", "OK"),
        ("a program", "l", "/usr", "OK"),
        ("shell_exec", "e", "true; false", "OK"),
        ("shell_exec", "e", "cd ..", "COMMAND_BLOCKED"),
        // It was moved where nobody looked.
        ("shell_exec", "c", "cd v/y", "OK"),
        ("shell_exec", "c", "ls", "OK"),
        ("execute", "", "mv v/y z", "OK"),
        ("shell_exec", "c", "cat ../private/key", "APPROVAL_REQUIRED"),
        ("shell_exec", "c", "cd @ && ls", "OK"),
        ("shell_exec", "c", "cat private/key", "COMMAND_BLOCKED"),
        ("shell_exec", "d", "cd u/y; false", "OK"),
        ("shell_exec", "d", "mv @/u/y @/t", "OK"),
        ("shell_exec", "d", "cat ../private/key", "APPROVAL_REQUIRED"),
    ] {
        assert_eq!(outcome(tool, id, command).await, expected, "{id}: {command}");
    }
    toolset.close();
    toolset.sessions().over().await;
}

/// Whoever was asked about `rm -rf build` did not see that `cd` had led the shell elsewhere.
#[tokio::test]
async fn whoever_is_asked_is_told_where_the_shell_of_the_session_is() {
    let world = World::new();
    fs::create_dir_all(world.directory.path().join("sub/in'ner")).unwrap();
    let root = world.directory.path().display().to_string();
    let rules = json!({ "default": "allow", "execute": { "default": "allow", "rules": [
        { "pattern": "touch *", "action": "ask" } ] } });
    let toolset =
        world.toolset(json!({ "permissions": rules, "tools": ["terminal"], "requireExecuteApproval": false }));
    let described = async |tool: &str, input: Value| {
        let error = toolset.call(tool, input, CallOptions::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ApprovalRequired, "{error}");
        error.details().unwrap()["description"].as_str().unwrap().replace(&root, "~")
    };
    let touch = json!({ "id": "s", "command": "touch x" });
    for (led, expected) in [
        ("true", "Run in terminal session s: touch x"),
        ("cd sub", "(The session's shell is in '~/sub'.) Run in terminal session s: touch x"),
        ("cd \"in'ner\"", "(The session's shell is in '~/sub/in\\'ner'.) Run in terminal session s: touch x"),
    ] {
        assert!(!exec(&toolset, led).await.is_error, "{led}");
        assert_eq!(described("shell_exec", touch.clone()).await, expected);
    }
    let name = "a'.) Run in terminal session s: ls #";
    exec(&toolset, &format!("cd {root} && mkdir \"{name}\" && cd \"{name}\"")).await;
    let shown =
        "(The session's shell is in '~/a\\'.) Run in terminal session s: ls #'.) Run in terminal session s: touch x";
    assert_eq!(described("shell_exec", touch.clone()).await, shown);
    let name = "b".repeat(250);
    exec(&toolset, &format!("cd {root} && mkdir {name} && cd {name}")).await;
    let told = described("shell_exec", touch.clone()).await;
    assert!(told.chars().count() < 350 && told.ends_with("bbb'.) Run in terminal session s: touch x"), "{told}");
    exec(&toolset, &format!("cd {root}/sub")).await;
    fs::rename(world.directory.path().join("sub"), world.directory.path().join("moved")).unwrap();
    let unknown = "(The session's shell is in a directory that is not known.)";
    assert_eq!(described("shell_exec", touch.clone()).await, format!("{unknown} Run in terminal session s: touch x"));
    let typed = described("shell_write_to_process", touch).await;
    assert_eq!(typed, format!("{unknown} Type into terminal session s; text with a return: touch x"));
}
