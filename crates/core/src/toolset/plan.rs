//! Steps 4 and 5 of a call: which accesses it makes, and whether they are allowed, asked for, or blocked.
//!
//! Judging is pure ([`Policy`]); the only input from outside is where the backend says that a path leads. What comes
//! out is bound to the state of the files that were looked at, so that a later approval can be held to it.

use serde_json::{Value, json};

use super::guard::denied;
use super::links;
use super::policy::{Policy, Start};
use super::programs::Programs;
use super::whereabouts::{Entering, Whereabouts};
use crate::access::{Access, Operation};
use crate::approval::{Touch, approval_key};
use crate::backend::{Backend, Call, FileSystem};
use crate::call_info::CallInfo;
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::hooks::CommandJudge;
use crate::lent;
use crate::path::VirtualPath;
use crate::permissions::command::argument::is_marked;
use crate::permissions::command::paths::Entered;
use crate::permissions::{Action, CommandAnalysis, JudgedBy, Steps, Verdict};
use crate::session::terminal::Reader;
use crate::text::shown::shown_in_line;
use crate::tool::Binding;

/// 3 directories in which a shell may be are shown; in one of more it may be anywhere.
const SHOWN: usize = 3;
/// 200 characters of the name of one.
const NAME_CHARS: usize = 200;

/// A name between quotes that stand nowhere in it.
fn quoted(name: &str) -> String {
    let (length, cut) = (name.chars().count(), NAME_CHARS / 2);
    let shown = if length > NAME_CHARS {
        let head: String = name.chars().take(cut).collect();
        let tail: String = name.chars().skip(length - cut).collect();
        format!("{head}[{} characters]{tail}", length - 2 * cut)
    } else {
        name.to_owned()
    };
    format!("'{}'", shown_in_line(&shown).replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A call that no rule blocks.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Why somebody must say yes; empty when nobody must.
    pub(super) asks: Vec<String>,
    /// What will be touched.
    pub(super) touches: Vec<Touch>,
    /// The paths that were judged, as asked and as resolved, each for its operation.
    pub(super) decided: Vec<(Operation, VirtualPath)>,
    /// The states of the files that were looked at.
    pub(super) bindings: Vec<Binding>,
    /// What reads what the call types into a session.
    pub(super) reader: Option<Reader>,
    /// The parsed picture of a command.
    pub(super) command: Option<CommandAnalysis>,
    /// Where commands run.
    directories: Vec<VirtualPath>,
    /// Where the shells of sessions were taken to be, and are led.
    pub(super) sessions: Vec<Entering>,
    /// Whether one of them may be elsewhere than in the working directory.
    is_led: bool,
    /// Programs that it gives another name.
    pub(super) renamed: Vec<(String, String)>,
    /// Whether a line is ended that nobody knows.
    ends_unknown_line: bool,
}

/// What a call is judged by.
pub(super) struct Judges<'a> {
    pub(super) policy: &'a Policy,
    pub(super) backend: &'a dyn Backend,
    /// Stands in for the built-in policy for commands.
    pub(super) commands: Option<&'a dyn CommandJudge>,
    /// Whether every ask is a no. Then what the application judges can only take away.
    pub(super) is_strict: bool,
    /// Where the shells of sessions are; a backend by itself has none.
    pub(super) whereabouts: Option<&'a Whereabouts>,
    /// Programs that have another name by now.
    pub(super) programs: &'a Programs,
    pub(super) info: CallInfo<'a>,
    pub(super) call: &'a Call,
}

impl Judges<'_> {
    /// Whether the application judges commands in the place of the built-in policy.
    pub(super) fn replace_policy(&self) -> bool {
        self.commands.is_some() && !self.is_strict
    }
}

/// Judges the accesses of a call. `Err` is a block, with its reason. `asks` says why somebody is asked whatever the rules
/// say.
pub(super) async fn plan(judges: &Judges<'_>, accesses: Vec<Access>, asks: Vec<String>) -> Result<Plan> {
    let mut plan = Plan { asks, ..Plan::default() };
    let Judges { policy, backend, call, .. } = *judges;
    for access in accesses {
        match access {
            Access::Path { operation, path } => plan.judge_path(policy, backend, operation, path, call).await?,
            Access::Command { command, working_directory, session, at_prompt } => {
                let known = session.as_ref().zip(judges.whereabouts);
                let directories = match known {
                    Some((id, whereabouts)) => Some(whereabouts.of_now(id, &working_directory, backend.shell()).await),
                    None => None,
                };
                let programs = judges.programs.known();
                let session_at = directories.as_deref();
                let start = Start {
                    working_directory: &working_directory,
                    session: session_at,
                    at_prompt,
                    programs: &programs,
                    links: &[],
                };
                let entered = plan.judge_command(judges, &command, start).await?;
                if let Some((id, from)) = session.zip(directories) {
                    plan.is_led |= from != [working_directory.as_str()];
                    plan.sessions.push(Entering { id, from, entered });
                }
            }
            Access::Anything => plan.judge_anything(policy, judges.info.tool)?,
            Access::Session { id } => {
                // Whoever may start a command may end it: only a rule that asks about all commands asks here.
                let verdict = policy.ending();
                if verdict.action == Action::Ask {
                    plan.asks.push(verdict.reason);
                }
                plan.touches.push(Touch { operation: Operation::Execute, target: id, resolved: None });
            }
            Access::UnknownLine { id } => {
                plan.ends_unknown_line = true;
                // Where nothing but the built-in policy judges commands, it is no wall (a program does what its name does not
                // say) and full-screen programs need their keys.
                if judges.commands.is_some() || policy.binds_commands() {
                    plan.asks.push(format!(
                        "a line is ended in session '{}' that keys may have recalled, completed or changed, or of which a \
                         shell may get a part: it cannot be judged",
                        Shown(&id)
                    ));
                }
                plan.touches.push(Touch { operation: Operation::Execute, target: id, resolved: None });
            }
        }
    }
    Ok(plan)
}

impl Plan {
    /// What a yes to this call is remembered by: the tool and its input, and what they came to when somebody was asked. A link
    /// that leads elsewhere since, another directory or another reason is another question.
    pub(super) fn key(&self, tool: &str, input: &Value) -> String {
        let directories: Vec<&str> = self.directories.iter().map(VirtualPath::as_str).collect();
        let sessions: Vec<&[String]> = self.sessions.iter().map(|entering| entering.from.as_slice()).collect();
        let places = if sessions.is_empty() { json!(directories) } else { json!([directories, sessions]) };
        approval_key(tool, input, &json!([self.asks, self.touches, places]))
    }

    /// Where the shell of the session may be, for whoever is asked what runs there; nothing where it is in the working directory.
    /// The names are an agent's own: nothing in them looks like what is said of them, and none takes the place of the command.
    pub(super) fn place(&self) -> Option<String> {
        let from = &self.sessions.first().filter(|_| self.is_led)?.from;
        if from.iter().any(|directory| is_marked(directory)) || from.len() > SHOWN {
            return Some("in a directory that is not known".to_owned());
        }
        let names: Vec<String> = from.iter().map(|directory| quoted(directory)).collect();
        Some(format!("in {}", names.join(" or ")))
    }

    /// Whether what it types goes to what runs in a session. Another program may read the same the next time.
    pub(super) fn is_for_program(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| !reader.is_shell())
    }

    /// Whether what it types goes to that reader, as somebody was shown.
    pub(super) fn is_for(&self, shown: Option<&Reader>) -> bool {
        self.reader.as_ref() == shown
    }

    /// Whether all that is asked about is known: a command that takes a part from elsewhere (`rm $X`) is another one the next
    /// time, so that a yes to it holds once (R-AP-3).
    pub(super) fn is_literal(&self) -> bool {
        !self.ends_unknown_line
            && !self.is_for_program()
            && self.command.as_ref().is_none_or(|command| command.parsed && command.unresolved.is_empty())
    }

    async fn judge_path(
        &mut self,
        policy: &Policy,
        backend: &dyn Backend,
        operation: Operation,
        path: VirtualPath,
        call: &Call,
    ) -> Result<()> {
        let asked = policy.path(operation, &path);
        if asked.action == Action::Deny {
            return Err(denied(operation, &path, &asked.reason));
        }
        if let Some(reason) = policy.shows_denied(operation, &path) {
            return Err(denied(operation, &path, &reason));
        }
        let files = backend.files();
        if operation.mutates() && backend.writer().is_none() {
            return Err(read_only(&path, files));
        }
        let nobody_asks = self.asks.is_empty() && asked.action == Action::Allow && !files.mounts_ask();
        if nobody_asks && policy.is_uniform(operation) {
            // Where it leads changes nothing: the backend refuses what lies outside when it opens it.
            self.touches.push(Touch { operation, target: path.as_str().to_owned(), resolved: None });
            return Ok(());
        }
        let resolution = files.resolve(&path, call).await?;
        if operation.mutates() && !resolution.writable {
            return Err(read_only(&path, files));
        }
        let elsewhere = (resolution.resolved != path).then(|| resolution.resolved.clone());
        let mut verdict = asked;
        if let Some(resolved) = &elsewhere {
            let there = policy.path(operation, resolved);
            if there.action == Action::Deny {
                return Err(denied(operation, &path, &there.reason));
            }
            if let Some(reason) = policy.shows_denied(operation, resolved) {
                return Err(denied(operation, &path, &reason));
            }
            if there.action > verdict.action {
                verdict = there;
            }
        }
        if verdict.action == Action::Ask {
            self.asks.push(format!("{} of '{path}': {}", operation.name(), verdict.reason));
        }
        let mount_asks = if operation.mutates() { resolution.write_approval } else { resolution.read_approval };
        if mount_asks {
            let kind = if operation.mutates() { "write" } else { "read" };
            self.asks.push(format!("the mount of '{path}' asks for approval before a {kind}"));
        }
        self.touches.push(Touch {
            operation,
            target: path.as_str().to_owned(),
            resolved: elsewhere.as_ref().map(|resolved| resolved.as_str().to_owned()),
        });
        self.bindings.push((path.clone(), resolution.version));
        self.decided.push((operation, path));
        self.decided.extend(elsewhere.map(|resolved| (operation, resolved)));
        Ok(())
    }

    async fn judge_command(&mut self, judges: &Judges<'_>, command: &str, start: Start<'_>) -> Result<Entered> {
        let (analysis, links) = links::analyzed(judges, command, start).await?;
        let start = Start { links: &links, ..start };
        let by = if judges.replace_policy() { JudgedBy::Rules } else { JudgedBy::Policy };
        let by_rules = compared(judges.call, |steps| judges.policy.command(command, &analysis, start, steps, by));
        let verdict = match (by_rules.await?, judges.commands) {
            (by_rules, Some(judge)) => judge_by_application(judges, judge, by_rules, &analysis).await?,
            (by_rules, None) => by_rules,
        };
        match verdict.action {
            Action::Deny => return Err(blocked(&verdict.reason, command)),
            Action::Ask => self.asks.push(verdict.reason),
            Action::Allow => {}
        }
        self.directories.push(start.working_directory.clone());
        self.touches.push(Touch { operation: Operation::Execute, target: command.to_owned(), resolved: None });
        let of_links = links::judge(judges, &analysis, start, self).await?;
        let entered = analysis.entered.clone();
        if !judges.programs.have_room(&analysis.renamed) {
            self.asks
                .push("it gives a program another name, and there are more of those than are remembered".to_owned());
        }
        self.renamed.extend(analysis.renamed.iter().cloned());
        self.command = Some(analysis);
        match of_links.action {
            Action::Deny => Err(blocked(&of_links.reason, command)),
            Action::Ask => {
                self.asks.push(of_links.reason);
                Ok(entered)
            }
            Action::Allow => Ok(entered),
        }
    }

    /// A tool that does not say what it touches.
    fn judge_anything(&mut self, policy: &Policy, tool: &str) -> Result<()> {
        let reason = format!("{tool} does not say what it touches, and is judged like a command");
        match policy.flag(Operation::Execute).action {
            Action::Deny => {
                Err(Error::new(ErrorKind::PermissionDenied, format!("{reason}: commands are not permitted.")))
            }
            Action::Ask => {
                self.asks.push(reason);
                Ok(())
            }
            Action::Allow => Ok(()),
        }
    }
}

/// A comparison with the rules, which ends with the call, and takes no more of a thread that is lent than its time.
pub(super) async fn compared(call: &Call, compare: impl Fn(&Steps<'_>) -> Verdict) -> Result<Verdict> {
    loop {
        let is_over = || lent::is_overdue() || call.deadline.check().is_err();
        let verdict = compare(&Steps::until(&is_over));
        call.deadline.check()?;
        if !lent::is_overdue() {
            return Ok(verdict);
        }
        lent::give_back(|| true).await;
    }
}

/// The application's own policy: its answer and what the rules say, the stricter of the two. A command that was not
/// understood is asked about at best, because no policy can have judged it.
async fn judge_by_application(
    judges: &Judges<'_>,
    judge: &dyn CommandJudge,
    by_rules: Verdict,
    analysis: &CommandAnalysis,
) -> Result<Verdict> {
    if by_rules.action == Action::Deny {
        return Ok(by_rules);
    }
    let answer = tokio::select! {
        answer = judge.judge(judges.info, analysis) => answer,
        stop = judges.call.deadline.reached() => return Err(stop),
    };
    let (action, reason) = match answer {
        Ok(Action::Allow) if !analysis.parsed => (Action::Ask, "the command was not understood"),
        Ok(Action::Allow) => (Action::Allow, ""),
        Ok(Action::Ask) => (Action::Ask, "the application's policy wants somebody to approve the command"),
        Ok(Action::Deny) => (Action::Deny, "the application's policy does not allow it"),
        Err(_) => (Action::Deny, "the application's policy failed"),
    };
    Ok(Verdict { action, rule: None, reason: reason.to_owned() }.strictest(by_rules))
}

pub(super) fn blocked(reason: &str, command: &str) -> Error {
    let reason = reason.trim_end_matches('.');
    // What the built-in policy says is a sentence of its own.
    let text = match reason.starts_with("The command ") {
        true => format!("{reason}."),
        false => format!("The command is blocked: {reason}."),
    };
    Error::new(ErrorKind::CommandBlocked, text)
        .with_details(json!({ "operation": Operation::Execute, "target": command }))
}

fn read_only(path: &VirtualPath, files: &dyn FileSystem) -> Error {
    let writable = files.writable_roots();
    let advice = if writable.is_empty() {
        "nothing can be written here".to_owned()
    } else {
        format!("writable are: {}", writable.join(", "))
    };
    Error::new(ErrorKind::PathNotWritable, format!("'{path}' is read-only; {advice}.")).with_path(path.as_str())
}
