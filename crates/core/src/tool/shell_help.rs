//! `shell_ask_user_for_help` of the group `terminal`: a person answers, or works in the session themselves.

use std::time::Duration;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::terminal::{DEFAULT_TIMEOUT_S, more_of, open, or_none, plain, terminal_of};
use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::session::settle::{COLLECT, settle};
use crate::session::terminal::{ShellState, Terminal};
use crate::session::{Help, Hold, OF_A_PERSON, Session, Sessions};
use crate::text::ours::set_off;
use crate::text::shown::{shown_in_line, shown_to_person};
use crate::tool::terminal_view::{look, screen_text};
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// 3 s for a person to be led out of a session when their time is over. Whoever aborts a call wants it back: 150 ms then.
const LEAVE: Duration = Duration::from_secs(3);
const LEAVE_ABORTED: Duration = Duration::from_millis(150);

/// The input of `shell_ask_user_for_help`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ShellHelp {
    /// The session.
    id: String,
    /// What the person should do or answer.
    prompt: String,
}

impl Tool for ShellHelp {
    const SPEC: Spec = Spec {
        name: "shell_ask_user_for_help",
        groups: &[Group::Terminal],
        description: "Asks a person for help with a terminal session, such as a password or a decision. They see what it shows; \
                      what they answer is typed into it, and you get what happened then. Without a session of that `id` their \
                      answer is run as a command in a new one.",
        instruction: "`shell_ask_user_for_help` hands a terminal session to a person, for passwords and decisions.",
        operation: Operation::Execute,
        needs: Need::Terminals,
        destructive: true,
        example: r#"{"id": "main", "prompt": "Type the password of the server."}"#,
    };

    /// The person who answers types it themselves: that is their yes.
    fn accesses(&self, _: &VirtualPath) -> Result<Vec<Access>> {
        Ok(vec![Access::Session { id: self.id.clone() }])
    }

    fn describe(&self) -> String {
        format!("Ask for help in terminal session {}: {}", shown_in_line(&self.id), shown_to_person(&self.prompt))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let deadline = &view.call.deadline;
            Sessions::check_id(&self.id)?;
            let session = view.sessions.find(&self.id).filter(|session| session.process.ended().is_none());
            let _hold = match &session {
                Some(session) => Some(Hold::take(session, deadline).await?),
                None => None,
            };
            if let Some(session) = &session {
                // What a model typed before must not be the beginning of what a person types.
                let terminal = terminal_of(session)?;
                terminal.clear_prompt(session, deadline).await?;
                session.drawn().await;
                if terminal.open_line().has_text() && !session.is_full_screen() {
                    return Err(Error::invalid(format!(
                        "Something was typed into session '{}' whose line has not ended: end it with `enter` before a person \
                         types behind it.",
                        session.id
                    )));
                }
            }
            let asked = session.as_deref().and_then(|session| session.terminal.as_ref()).map(Terminal::asked);
            let shown = match &session {
                Some(session) => screen_text(session)?,
                None => String::new(),
            };
            // Without a session there will be one, and it runs the answer.
            let runs_answer = match &session {
                Some(session) => terminal_of(session)?.state() == ShellState::AtPrompt,
                None => true,
            };
            let request = json!({
                "sessionId": self.id, "prompt": shown_to_person(&self.prompt), "screen": shown, "exists": session.is_some(),
                "runsAnswer": runs_answer,
            });
            let answer = tokio::select! {
                answer = view.help.help(view.info, &request, deadline) => answer?,
                stop = left_alone(deadline) => return Err(stop),
            };
            deadline.check()?;
            let answer = match (answer, &session) {
                (Some(Help::Answer(answer)), _) => Some(answer),
                (Some(Help::TookOver), Some(session)) => {
                    return Ok(taken_over(view, session).await);
                }
                (Some(Help::TookOver), None) => Some(String::new()),
                (None, _) => None,
            };
            let Some(answer) = answer else {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "Nobody is there to help; go on without, or end the session with `shell_kill_process`.",
                ));
            };
            // Where it was written may end lines in its own way; the last one is ended here.
            let answer = answer.replace("\r\n", "\n");
            let answer = answer.trim_end_matches('\n').to_owned();
            if answer.trim().is_empty() {
                return Ok(ToolResult::new("The person gave no answer.", json!({ "id": self.id, "answered": false })));
            }
            let Some(session) = session else {
                let session = open(view, &self.id, OF_A_PERSON, None, Self::SPEC.name).await?;
                let time = Duration::from_secs_f64(DEFAULT_TIMEOUT_S);
                terminal_of(&session)?.run(&session, &answer, time, &view.call.deadline).await?;
                let fresh = session.fresh_printed(view.limits.output_bytes);
                let (output, more) = (plain(&fresh), more_of(&fresh));
                let id = &session.id;
                let text =
                    format!("The person's answer was run in the new session '{id}':\n{}{more}", set_off(&output));
                return Ok(ToolResult::new(text, json!({ "id": session.id, "answered": true })));
            };
            let mut typed = answer.into_bytes();
            typed.push(b'\r');
            let typist = terminal_of(&session)?.typist();
            let typed = asked.and_then(|asked| typist.of_answer(typed, asked)).ok_or_else(|| {
                let text = format!(
                    "What asked in session '{}' was over when the person answered, and nothing was typed. Look with `shell_view`.",
                    session.id
                );
                Error::new(ErrorKind::Busy, text)
            })?;
            let given = session.process.position();
            session.process.give(&typed, &view.call.deadline).await?;
            settle(&session.process, COLLECT, Some(given), &view.call.deadline, || false).await?;
            let (shown, code) = look(view, &session).await;
            let text = format!("The person answered; session '{}' went on:\n{}", session.id, shown.text);
            let mut data = json!({ "id": session.id, "answered": true, "exitCode": code });
            if let Some(thrown) =
                shown.data.map(|mut data| data["thrownAway"].take()).filter(|thrown| !thrown.is_null())
            {
                data["thrownAway"] = thrown;
            }
            Ok(ToolResult::new(text, data))
        })
    }
}

/// Ends when a helper did not, though its time was over and it was told so.
async fn left_alone(deadline: &Deadline) -> Error {
    let stop = deadline.reached().await;
    let is_aborted = stop.kind() == ErrorKind::Aborted;
    tokio::time::sleep(if is_aborted { LEAVE_ABORTED } else { LEAVE }).await;
    stop
}

/// What a model is told of a session that a person worked in.
async fn taken_over(view: &View<'_>, session: &Session) -> ToolResult {
    let (mut result, _) = look(view, session).await;
    let meanwhile = or_none(&result.text);
    result.text =
        format!("The person worked in session '{}' and gave it back. Output meanwhile:\n{meanwhile}", session.id);
    if let Some(data) = result.data.as_mut().and_then(serde_json::Value::as_object_mut) {
        data.insert("answered".to_owned(), true.into());
        data.insert("tookOver".to_owned(), true.into());
    }
    result
}
