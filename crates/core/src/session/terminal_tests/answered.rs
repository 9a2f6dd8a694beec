//! A yes to what is typed into a session is one to what read there when somebody was asked.

use std::collections::VecDeque;
use std::sync::{OnceLock, Weak};

use parking_lot::Mutex;

use super::*;
use crate::approval::{ApprovalDecision, ApprovalGrant, ApprovalRequest, Approver, Remember};
use crate::backend::BoxFuture;
use crate::call_info::CallInfo;
use crate::error::{ErrorKind, Result};

/// Reads a line, or until it is told to end. What came of it when its time was up is kept.
const ASKS: &str = "y=; until [ -e go ] || IFS= read -r -t 0.02 x; do y=$y$x; done; rm -f go; echo \"got [$y$x]\"";

/// What happens in the session while somebody is asked.
#[derive(Debug, Clone, Copy)]
enum Meanwhile {
    Nothing,
    /// What ran ends.
    Ends,
    /// And another program runs in its place.
    IsReplaced,
    /// The session ends, and there is another of its name.
    IsAnother,
}

impl Meanwhile {
    async fn happens(self, toolset: &Toolset, go: &std::path::Path) {
        let session = toolset.sessions().find("s").unwrap();
        let terminal = session.terminal.as_ref().unwrap();
        if matches!(self, Self::Ends | Self::IsReplaced) {
            fs::write(go, "").unwrap();
            assert!(terminal.prompt(&session.process, Duration::from_secs(60), &Deadline::default()).await.unwrap());
        }
        if matches!(self, Self::IsReplaced) {
            let ran = terminal.run(&session, "cat", Duration::ZERO, &Deadline::default()).await;
            assert_eq!(ran.unwrap(), Ran::Running);
        }
        if matches!(self, Self::IsAnother) {
            session.process.end().await;
            assert!(!exec(toolset, "true").await.is_error);
            start(toolset, ASKS).await;
        }
    }
}

/// Says yes when it has happened, perhaps to another input.
#[derive(Default)]
struct Slow {
    input: Option<Value>,
    toolset: OnceLock<Weak<Toolset>>,
    go: std::path::PathBuf,
    next: Mutex<VecDeque<Meanwhile>>,
}

impl Approver for Slow {
    fn decide<'a>(&'a self, _: CallInfo<'a>, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<ApprovalDecision>> {
        Box::pin(async move {
            let toolset = self.toolset.get().and_then(Weak::upgrade).unwrap();
            let next = self.next.lock().pop_front().unwrap();
            next.happens(&toolset, &self.go).await;
            Ok(ApprovalDecision { approved: true, input: self.input.clone(), ..ApprovalDecision::default() })
        })
    }
}

fn toolset(world: &World, approver: Option<Arc<Slow>>) -> Arc<Toolset> {
    let options = json!({ "tools": ["terminal"], "needApproval": ["shell_write_to_process"], "requireExecuteApproval": false,
        "permissions": "permissive" });
    let backend = Arc::clone(&world.backend) as Arc<dyn Backend>;
    let application = Application {
        approver: approver.clone().map(|approver| approver as Arc<dyn Approver>),
        ..Application::default()
    };
    let toolset = Arc::new(Toolset::new(backend, serde_json::from_value(options).unwrap(), application).unwrap());
    if let Some(approver) = approver {
        approver.toolset.set(Arc::downgrade(&toolset)).unwrap();
    }
    toolset
}

/// A yes to an answer ran as a command where the program had ended, or answered another one.
#[tokio::test]
async fn what_somebody_said_yes_to_is_typed_into_what_read_when_they_were_asked_and_into_nothing_else() {
    for meanwhile in [Meanwhile::Nothing, Meanwhile::Ends, Meanwhile::IsReplaced, Meanwhile::IsAnother] {
        let world = World::new();
        let go = world.directory.path().join("go");
        let approver = Arc::new(Slow { go, next: Mutex::new([meanwhile].into()), ..Slow::default() });
        let toolset = toolset(&world, Some(approver));
        exec(&toolset, "true").await;
        start(&toolset, ASKS).await;
        let answered = write(&toolset, "touch bad").await;
        if matches!(meanwhile, Meanwhile::Nothing) {
            assert_eq!(answered.text, "touch bad\ngot [touch bad]\n--- COMMAND FINISHED (exit code 0) ---");
            continue;
        }
        assert_eq!(answered.code.as_deref(), Some("BUSY"), "{meanwhile:?}: {}", answered.text);
        assert_eq!(
            answered.text,
            "Error: What reads in session 's' is another program than before, so nothing was typed. Look at it with `shell_view`, then \
             repeat the call where it still fits."
        );
        assert!(!screen(&toolset).await.text.contains("touch bad"), "{meanwhile:?}");
        assert!(!world.directory.path().join("bad").exists(), "{meanwhile:?}");
    }
}

/// A yes for the session to what `cat` reads was one to every program of the session, and to its shell.
#[tokio::test]
async fn a_yes_to_what_a_program_reads_is_not_remembered() {
    let world = World::new();
    let count = Arc::new(Mutex::new(0));
    let approver = Arc::new(Remembers(Arc::clone(&count)));
    let options = json!({ "tools": ["terminal"], "needApproval": ["shell_write_to_process"], "requireExecuteApproval": false,
        "permissions": "permissive" });
    let application = Application { approver: Some(approver), ..Application::default() };
    let backend = Arc::clone(&world.backend) as Arc<dyn Backend>;
    let toolset = Toolset::new(backend, serde_json::from_value(options).unwrap(), application).unwrap();
    exec(&toolset, "true").await;
    let at_prompt = write(&toolset, "echo a").await;
    assert!(at_prompt.text.starts_with("a\n"), "{}", at_prompt.text);
    write(&toolset, "echo a").await;
    assert_eq!(*count.lock(), 1);
    start(&toolset, "cat").await;
    for asked in 2..4 {
        write(&toolset, "echo a").await;
        assert_eq!(*count.lock(), asked);
    }
}

/// Says yes for the session, and counts.
struct Remembers(Arc<Mutex<usize>>);

impl Approver for Remembers {
    fn decide<'a>(&'a self, _: CallInfo<'a>, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<ApprovalDecision>> {
        *self.0.lock() += 1;
        let decision = ApprovalDecision { approved: true, remember: Remember::Session, ..ApprovalDecision::default() };
        Box::pin(async move { Ok(decision) })
    }
}

/// The input that somebody changed was taken for a question about what reads by then.
#[tokio::test]
async fn a_yes_to_another_input_is_one_to_the_same_program() {
    for meanwhile in [Meanwhile::Nothing, Meanwhile::Ends, Meanwhile::IsReplaced] {
        let world = World::new();
        let go = world.directory.path().join("go");
        let input = Some(json!({ "id": "s", "command": "touch other" }));
        let approver = Arc::new(Slow { go, input, next: Mutex::new([meanwhile].into()), ..Slow::default() });
        let toolset = toolset(&world, Some(approver));
        exec(&toolset, "true").await;
        start(&toolset, ASKS).await;
        let answered = write(&toolset, "touch bad").await;
        let expected = (!matches!(meanwhile, Meanwhile::Nothing)).then_some("BUSY");
        assert_eq!(answered.code.as_deref(), expected, "{meanwhile:?}: {}", answered.text);
        assert!(!world.directory.path().join("other").exists(), "{meanwhile:?}");
    }
}

/// The same of a yes that comes later, with the call anew.
#[tokio::test]
async fn a_yes_that_came_later_holds_for_the_program_that_was_shown() {
    for meanwhile in [Meanwhile::Nothing, Meanwhile::Ends, Meanwhile::IsReplaced, Meanwhile::IsAnother] {
        let world = World::new();
        let toolset = toolset(&world, None);
        exec(&toolset, "true").await;
        start(&toolset, ASKS).await;
        let input = json!({ "id": "s", "command": "yes" });
        let options = |approval| CallOptions { call_id: Some("a".to_owned()), approval, ..CallOptions::default() };
        let asked = toolset.call("shell_write_to_process", input.clone(), options(None)).await.unwrap_err();
        assert_eq!(asked.kind(), ErrorKind::ApprovalRequired);
        meanwhile.happens(&toolset, &world.directory.path().join("go")).await;
        let grant = ApprovalGrant { approved: true, reason: None };
        let answered = toolset.call("shell_write_to_process", input, options(Some(grant))).await.unwrap();
        if matches!(meanwhile, Meanwhile::Nothing) {
            assert!(answered.text.starts_with("yes\ngot [yes]"), "{}", answered.text);
        } else {
            assert_eq!(answered.code.as_deref(), Some("STALE_FILE"), "{meanwhile:?}: {}", answered.text);
            // Nor does it hold the second time, where nobody was asked anew.
            let input = json!({ "id": "s", "command": "yes" });
            let grant = ApprovalGrant { approved: true, reason: None };
            let again =
                toolset.call("shell_write_to_process", input.clone(), options(Some(grant.clone()))).await.unwrap();
            assert_eq!(again.code.as_deref(), Some("STALE_FILE"), "{meanwhile:?}: {}", again.text);
            if matches!(meanwhile, Meanwhile::IsReplaced) {
                let asked = toolset.call("shell_write_to_process", input.clone(), options(None)).await.unwrap_err();
                assert_eq!(asked.kind(), ErrorKind::ApprovalRequired);
                let answered = toolset.call("shell_write_to_process", input, options(Some(grant))).await.unwrap();
                assert!(!answered.is_error && answered.text.ends_with("yes\nyes"), "{}", answered.text);
            }
        }
    }
}
