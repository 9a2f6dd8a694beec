//! The pipeline: named tools over a backend, and the only place that joins tools, rules, approvals and hooks.
//!
//! ```text
//! call
//!  1 find      registry → tool                     unknown → UnknownTool, lists the names
//!  2 decode    JSON → input                        InvalidInput: where, what was expected, one example
//!  3 pre       hooks: global, then the tool's      a new input is decoded again
//!  4 plan      which accesses, as asked and where they lead          (plan.rs)
//!  5 decide    rules + mounts: deny > ask > allow                    (policy.rs, plan.rs)
//!  6 approve   remembered? granted? → Approver     nobody, or a failure = not approved   (approve.rs)
//!  7 run       against deadline and abort; the backend asks the guard again at open time (guard.rs)
//!  8 shape     the output is bounded
//!  9 post      hooks: the tool's, then global      also for failures
//! ```
//!
//! `assess` is steps 1, 2, 4 and 5 and runs no hook. Two toolsets share no state.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

use crate::approval::{ApprovalMemory, ApprovalMode, ApprovalOrder, Approver};
use crate::backend::{Backend, InUse, Shell};
use crate::custom::{CustomTools, Instruction};
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::hooks::{CommandJudge, Hooks, NoHooks};
use crate::limits::Limits;
use crate::media::Gate;
use crate::memory::ReadMemory;
use crate::permissions::{CommandContext, PermissionChecker, Ruleset};
use crate::sandbox::file_too_large;
use crate::scratch::Scratch;
use crate::session::Sessions;
use crate::tool::ToolSettings;

#[cfg(test)]
#[cfg(unix)]
mod above_tests;
#[cfg(test)]
#[cfg(unix)]
mod approval_samples;
mod approve;
#[cfg(test)]
mod approve_tests;
mod call;
#[cfg(test)]
mod custom_tests;
mod exposed;
mod guard;
mod guarded;
#[cfg(test)]
mod hook_tests;
#[cfg(test)]
#[cfg(unix)]
mod link_tests;
mod links;
mod options;
mod plan;
mod policy;
mod programs;
#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
mod tests;
mod text;
mod whereabouts;

pub use approve::{ApprovedBy, Assessment, AssessmentStatus};
pub use call::{CallOptions, CallReport, CallVerdict};
pub use guarded::{GuardOptions, GuardedBackend};
pub use options::{EditFormat, PermissionsOption, ToolsetOptions};
pub use text::{Profile, ToolText};

use approve::Assessed;
use exposed::Exposed;
use policy::{Policy, Rules};
use programs::Programs;
use whereabouts::Whereabouts;

/// 4 KiB of input hold a command that is judged within microseconds, on whichever thread asks.
const SHORT_BYTES: usize = 4 << 10;

/// Named tools over a backend. Clones of a toolset, and its subsets, share its state.
#[derive(Clone)]
pub struct Toolset {
    shared: Arc<Shared>,
    exposed: Arc<[Exposed]>,
}

/// What all views of one toolset share.
struct Shared {
    id: String,
    backend: Arc<dyn Backend>,
    policy: Arc<Policy>,
    settings: ToolSettings,
    limits: Limits,
    mode: ApprovalMode,
    need_approval: Vec<String>,
    pre_approved: Vec<String>,
    max_retries: u32,
    always_post: bool,
    hooks: Arc<dyn Hooks>,
    approver: Option<Arc<dyn Approver>>,
    commands: Option<Arc<dyn CommandJudge>>,
    order: ApprovalOrder,
    /// Held while somebody is asked, where requests come one by one.
    turn: tokio::sync::Mutex<()>,
    remembered: ApprovalMemory,
    assessed: Mutex<Assessed>,
    sessions: Arc<Sessions>,
    whereabouts: Whereabouts,
    programs: Programs,
    scratch: Scratch,
    memory: Arc<ReadMemory>,
    media: Gate,
    failures: Mutex<HashMap<String, u32>>,
    calls: AtomicU64,
    closed: AtomicBool,
    closing: crate::cancel::CancelToken,
}

/// The application's own code behind a toolset; what is absent costs nothing.
#[derive(Clone, Default)]
pub struct Application {
    /// Code around every call.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Who is asked.
    pub approver: Option<Arc<dyn Approver>>,
    /// What runs the tools of `ToolsetOptions::custom_tools`.
    pub tools: Option<Arc<dyn CustomTools>>,
    /// The policy for commands, instead of the built-in one.
    pub commands: Option<Arc<dyn CommandJudge>>,
}

/// What a framework needs to know about a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// The name that the model calls.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// JSON Schema of the input: draft-07 subset without `$ref`, closed.
    pub input_schema: Value,
    /// Hints in the terms of the Model Context Protocol: `readOnlyHint`, `destructiveHint`.
    pub annotations: Value,
}

impl Toolset {
    /// Makes a toolset. Fails with `InvalidInput` for an unknown tool, group or preset, and with `Unsupported` for a
    /// tool that was named and that the backend cannot run.
    pub fn new(backend: Arc<dyn Backend>, options: ToolsetOptions, application: Application) -> Result<Self> {
        static TOOLSETS: AtomicU64 = AtomicU64::new(1);
        let Application { hooks, approver, tools, commands } = application;
        if commands.is_some() && options.allowed_commands.is_some() {
            return Err(Error::invalid(
                "Give `allowedCommands` or `allowCommand`, not both: the function takes the place of the list.",
            ));
        }
        if options.session_logs.as_ref().is_some_and(|logs| !logs.directory.is_dir()) {
            return Err(Error::invalid(
                "`sessionLogs.directory` is no directory: make it first, logs are written into it.",
            ));
        }
        let id = match options.id.clone() {
            Some(id) if exposed::is_name(&id) => id,
            Some(_) => return Err(Error::invalid("`id` must be 1 to 64 letters, digits, '_' and '-'.")),
            None => format!("toolset-{}", TOOLSETS.fetch_add(1, Ordering::Relaxed)),
        };
        let policy = Arc::new(policy_of(&options, &*backend)?);
        let exposed = exposed::exposed(&*backend, &policy, &options, tools.as_ref())?;
        let settings = ToolSettings {
            ignore_hidden: options.ignore_hidden,
            image_bytes: match options.image_bytes {
                Some(0) => None,
                Some(bytes) => Some(bytes),
                None => Some(options.limits.image_bytes),
            },
            hashline: options.edit_format == EditFormat::Hashline,
        };
        let hooks = hooks.unwrap_or_else(|| Arc::new(NoHooks));
        let listening = Arc::clone(&hooks);
        let sessions = Sessions::new(Arc::new(move |ended| listening.session_ended(&ended)), options.session_logs);
        let sessions = Arc::new(sessions);
        let shared = Shared {
            whereabouts: Whereabouts::new(Arc::clone(&sessions)),
            sessions,
            programs: Programs::default(),
            scratch: Scratch::new(Arc::clone(&backend)),
            id,
            backend,
            policy,
            settings,
            limits: options.limits,
            mode: options.approval_mode,
            need_approval: options.need_approval,
            pre_approved: options.pre_approved,
            max_retries: options.max_retries,
            always_post: options.always_post,
            hooks,
            approver,
            commands,
            order: options.approval_order,
            turn: tokio::sync::Mutex::new(()),
            remembered: ApprovalMemory::default(),
            assessed: Mutex::default(),
            memory: Arc::default(),
            media: Gate::default(),
            failures: Mutex::default(),
            calls: AtomicU64::new(1),
            closed: AtomicBool::new(false),
            closing: crate::cancel::CancelToken::new(),
        };
        Ok(Self { shared: Arc::new(shared), exposed: exposed.into() })
    }

    /// Names this toolset in logs; unique within the process, unless the application chose it.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// Whether calls end when they are first polled; see [`Backend::is_immediate`].
    pub fn is_immediate(&self) -> bool {
        self.shared.scratch.backend().is_immediate()
    }

    /// See [`Backend::in_use`].
    pub fn in_use(&self) -> Option<InUse> {
        self.shared.backend.in_use()
    }

    /// Whether calls of the tool `name` do.
    pub fn answers_at_once(&self, name: &str) -> bool {
        let backend = self.shared.scratch.backend();
        backend.is_immediate() || (backend.reads_at_hand() && self.find(name).is_ok_and(Exposed::reads_files))
    }

    /// Whether a call of the tool `name` with so many bytes of input starts something when it is first polled and then gives the
    /// thread back.
    pub fn starts_at_hand(&self, name: &str, bytes: usize) -> bool {
        bytes <= SHORT_BYTES
            && self.shared.backend.shell().is_some_and(Shell::starts_at_hand)
            && self.find(name).is_ok_and(Exposed::types_commands)
    }

    /// The tools that a model may be given, in order.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.exposed.iter().map(Exposed::spec).collect()
    }

    /// Text for the system prompt: where the agent is, and what each tool says of itself, less the tools in `without`. Of
    /// tools that share a group the first one speaks. What `told` holds for a tool of the application, by our name, stands in
    /// the place of what it said when the toolset was made. Empty where there is nothing to tell: none of the tools is ours,
    /// and none says anything (TS-10).
    pub fn instructions(&self, without: &[String], told: &BTreeMap<String, Option<Instruction>>) -> String {
        let files = self.shared.backend.files();
        let mut text = format!("You work with files; the working directory is {}.", files.working_directory());
        let roots = files.readable_roots();
        if roots.iter().any(|root| root != files.working_directory().as_str()) {
            let shown: Vec<_> = roots.iter().map(|root| Shown(root).to_string()).collect();
            text.push_str(&format!(" You can read: {}.", shown.join(", ")));
            let shown: Vec<_> = files.writable_roots().iter().map(|root| Shown(root).to_string()).collect();
            let writable = if shown.is_empty() { "nothing".to_owned() } else { shown.join(", ") };
            text.push_str(&format!(" You can write: {writable}."));
        }
        let opening = text.len();
        exposed::instruct(&mut text, self.exposed.iter().filter(|exposed| !without.contains(&exposed.name)), told);
        if text.len() == opening { String::new() } else { text }
    }

    /// The same toolset with only the named tools; names it does not have are an error that lists those it has.
    pub fn subset(&self, names: &[String]) -> Result<Self> {
        let chosen = names.iter().map(|name| self.find(name).cloned()).collect::<Result<Vec<_>>>()?;
        Ok(Self { shared: Arc::clone(&self.shared), exposed: chosen.into() })
    }

    /// The tools and inputs that were approved for the session: `{ "tool", "input" }` each, in no order that means anything.
    pub fn remembered(&self) -> Vec<Value> {
        self.shared.remembered.list()
    }

    /// Forgets what was approved for the session: the same calls ask again.
    pub fn forget_approvals(&self) {
        self.shared.remembered.clear();
    }

    /// Ends what the toolset started and refuses later calls. Never closes the backend. A second close does nothing.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.closing.cancel();
        self.shared.remembered.clear();
        self.shared.sessions.close();
    }

    /// Ends when nothing that the toolset started is left; after [`Toolset::close`].
    pub async fn over(&self) {
        self.shared.sessions.over().await;
        let scratch = self.shared.scratch.clone();
        // A removal that fails is repeated with the last reference.
        let _ = tokio::task::spawn_blocking(move || scratch.close()).await;
    }

    /// Keeps `content` in the toolset's private folder, where the tools read it by the path that is returned; until the close,
    /// or until 100 newer ones are there. See [`Scratch::keep`].
    pub async fn keep(&self, name: String, content: Vec<u8>) -> Result<String> {
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(call::closed());
        }
        if content.len() as u64 > self.shared.limits.file_bytes {
            return Err(file_too_large(&name, content.len() as u64, self.shared.limits.file_bytes));
        }
        let scratch = self.shared.scratch.clone();
        tokio::task::spawn_blocking(move || scratch.keep(&name, &content))
            .await
            .map_err(|_| Error::internal("A file could not be kept."))?
    }

    /// Where whole outputs are kept.
    #[cfg(test)]
    pub(crate) fn scratch(&self) -> &Scratch {
        &self.shared.scratch
    }

    /// What the toolset runs beside its calls.
    pub fn sessions(&self) -> &Sessions {
        &self.shared.sessions
    }

    /// Step 1: by the exposed name, or by ours.
    fn find(&self, name: &str) -> Result<&Exposed> {
        let by_exposed = self.exposed.iter().find(|exposed| exposed.name == name);
        by_exposed.or_else(|| self.exposed.iter().find(|exposed| exposed.ours() == name)).ok_or_else(|| {
            let names: Vec<_> = self.exposed.iter().map(|exposed| exposed.name.as_str()).collect();
            let shown: String = name.chars().take(80).collect();
            let known = if names.is_empty() {
                "There are none".to_owned()
            } else {
                format!("The tools are: {}", names.join(", "))
            };
            Error::new(ErrorKind::UnknownTool, format!("There is no tool '{}'. {known}.", Shown(&shown)))
        })
    }
}

/// The policy that the options describe.
fn policy_of(options: &ToolsetOptions, backend: &dyn Backend) -> Result<Policy> {
    if options.allowed_commands.is_some() && backend.shell().is_some_and(Shell::searches_writable) {
        return Err(Error::invalid(
            "`allowedCommands` cannot hold here: the `PATH` that the backend's `env` sets has a directory that is relative \
             or where the agent may write, and a program put there would run under a listed name. Leave it out of `PATH`.",
        ));
    }
    let files = backend.files();
    let ruleset = match &options.permissions {
        None => None,
        Some(PermissionsOption::Preset(name)) => Some(Ruleset::preset(name)?),
        Some(PermissionsOption::Rules(rules)) => Some((**rules).clone()),
    };
    let rules = match ruleset {
        None => {
            Rules::Flags { write_asks: options.require_write_approval, execute_asks: options.require_execute_approval }
        }
        Some(ruleset) => Rules::Checked {
            checker: Box::new(PermissionChecker::new(ruleset)?.of_roots(&files.readable_roots())?),
            working_directory: files.working_directory().clone(),
        },
    };
    let commands = CommandContext {
        home: backend.shell().and_then(|shell| shell.home()),
        roots: files.readable_roots(),
        fence: true,
        allowed_commands: options.allowed_commands.clone(),
        ..CommandContext::default()
    };
    Ok(Policy { rules, commands })
}
