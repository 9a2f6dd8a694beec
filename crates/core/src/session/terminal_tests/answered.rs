//! A yes to what is typed into a session is one to what read there when somebody was asked.

use std::collections::VecDeque;
use std::sync::{OnceLock, Weak};

use parking_lot::Mutex;

use super::*;
use crate::approval::{ApprovalDecision, ApprovalGrant, ApprovalRequest, Approver};
use crate::backend::BoxFuture;
use crate::call_info::CallInfo;
use crate::error::{ErrorKind, Result};

/// Reads a line, or until it is told to end.
const ASKS: &str = "until [ -e go ] || read -t 0.02 x; do :; done; rm -f go; echo \"got [$x]\"";

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

/// Says yes when it has happened.
#[derive(Default)]
struct Slow {
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
            Ok(ApprovalDecision { approved: true, ..ApprovalDecision::default() })
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
        }
    }
}
