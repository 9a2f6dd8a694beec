//! A container that takes no program of ours: files by the tools that every POSIX system has, commands by the engine.
//!
//! It is slower than a guest (each step of a file's way is a command), has neither background commands nor terminals, holds a command
//! to ceilings on files alone, and can end one only by what it left in the environment of its processes: one that cleans that is found by the end of the container.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::calls::exec_of;
use super::client::{Engine, Input, Output, Path, Payload};
use super::engine::refused;
use crate::backend::capture::{Capture, Captured};
use crate::backend::command_line;
use crate::backend::posix::PosixPlace;
use crate::backend::remote::{RemoteBackend, RemoteOptions};
use crate::backend::{
    Backend, Background, BoxFuture, Call, CommandLimits, ExecuteOutcome, ExecuteRequest, Shell, Stream, temp,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::path::VirtualPath;

/// Names the processes of one command.
const MARK: &str = "GLOVEPORT_COMMAND";
/// 4 MiB of one answer of the tools: a megabyte of content in their letters, with room.
const ANSWER_BYTES: usize = 4 << 20;
/// 60 s for a shell to make a directory, beside fifty others.
const PROBE: Duration = Duration::from_secs(60);
/// 10 s to end the processes of a command.
const END: Duration = Duration::from_secs(10);
/// Ends every process whose environment holds the mark `$1`, but this one and `$2`. What forks meanwhile is found by the
/// next look; nine of them are enough for anything that does not race on purpose.
const END_MARKED: &str = r#"n=0
while [ $n -lt 9 ]; do
  n=$((n+1)); found=
  for e in /proc/[0-9]*/environ; do
    p=${e#/proc/}; p=${p%/environ}
    [ "$p" = "$$" ] || [ "$p" = "$2" ] || { grep -q "$1" "$e" && kill -9 "$p" && found=1; } 2>/dev/null
  done
  [ -n "$found" ] || break
done"#;
/// Runs `$1` in the directory `$4` as its own shell would, ends what it leaves behind (by `$2`, the script above, and the mark `$3`),
/// and says how it ended. Without the directory it says nothing, and ends with [`NO_PLACE`]. Where memory runs out the kernel ends the
/// command first, before its shell of ours and what else is in the container.
const RUN: &str = r#"cd -- "$4" 2>/dev/null || exit 126
({ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null; exec sh -c -- "$1"); c=$?; sh -c "$2" sh "$3" "$$" </dev/null >/dev/null 2>&1; exit $c"#;
/// What [`RUN`] ends with where there is no directory to run in; a command may end so too.
const NO_PLACE: i32 = 126;
/// 131,071 bytes: what Linux takes as one argument without its final NUL.
const COMMAND_BYTES: usize = 128 * 1024 - 1;

/// Says so where the shell can hold what it begins to a size of files and a number of open ones: to what it is held to already.
const PROBE_CEILINGS: &str =
    r#"(ulimit -f "$(ulimit -f)" && ulimit -n "$(ulimit -n)") >/dev/null 2>&1 && echo ceilings"#;
/// Runs `$1` as [`RUN`] does, held to files of `$5` blocks and to `$6` open ones, where these are not empty and it is not held to
/// less already. What cannot be held to them is not run.
const RUN_WITHIN: &str = r#"cd -- "$4" 2>/dev/null || exit 126
hold() {
  [ -z "$2" ] && return
  now=$(ulimit -H "$1") || return
  [ "$now" != unlimited ] && [ "$now" -le "$2" ] && return
  ulimit "$1" "$2"
}
(hold -f "$5" && hold -n "$6" && { { echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null; exec sh -c -- "$1"; }); c=$?; sh -c "$2" sh "$3" "$$" </dev/null >/dev/null 2>&1; exit $c"#;
/// 512 bytes: what POSIX has a shell count the size of files in.
const BLOCK_BYTES: u64 = 512;

/// Where commands run, and as whom.
pub(super) struct Place<'a> {
    pub(super) engine: Engine,
    pub(super) id: String,
    pub(super) user: Option<&'a str>,
    /// `NAME=value` for all of them.
    pub(super) environment: Vec<String>,
    /// What each of them is held to.
    pub(super) ceilings: CommandLimits,
}

/// Commands of a container by the engine's own means.
#[derive(Clone)]
struct ExecShell {
    engine: Engine,
    id: String,
    user: Option<String>,
    environment: Vec<String>,
    /// Bytes of output that are kept.
    room: usize,
    /// What each command is held to.
    ceilings: CommandLimits,
    /// Whether the shell can hold one to anything.
    has_ceilings: bool,
    /// Whether it runs scripts of ours alone: they leave nothing behind that must be looked for, and say themselves how they ended.
    /// What is stopped is ended all the same.
    only_scripts: bool,
}

/// The container through its shell. `Unsupported` where it has none.
pub(super) async fn backend(
    Place { engine, id, user, environment, ceilings }: Place<'_>,
    working_directory: VirtualPath,
    limits: Limits,
) -> Result<Arc<dyn Backend>> {
    let shell = |room| {
        let (engine, id, user) = (engine.clone(), id.clone(), user.map(str::to_owned));
        let (environment, ceilings) = (environment.clone(), CommandLimits::default());
        ExecShell { engine, id, user, environment, room, ceilings, has_ceilings: false, only_scripts: false }
    };
    let (mut files, mut commands) = (shell(ANSWER_BYTES), shell(limits.output_bytes));
    files.only_scripts = true;
    let directory = crate::backend::posix::quote(working_directory.as_str());
    let make = format!("mkdir -p -- {directory}; made=$?; {PROBE_CEILINGS}; exit $made");
    let mut make = ExecuteRequest::new(make);
    make.timeout = Some(PROBE);
    let made = commands.run(make, &Call::default()).await?;
    if made.timed_out {
        return Err(Error::new(ErrorKind::BackendUnavailable, "The container's shell does not answer."));
    }
    if made.exit_code.is_none_or(|code| code == 126 || code == 127) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "The container takes no program, and has no shell with the usual tools either.",
        ));
    }
    commands.has_ceilings = made.stdout.lines().any(|line| line == "ceilings");
    commands.ceilings = ceilings;
    let place = Arc::new(PosixPlace::new(Arc::new(files)));
    Ok(Arc::new(RemoteBackend::new(place, Some(Arc::new(commands)), RemoteOptions { working_directory, limits })))
}

impl Shell for ExecShell {
    fn execute<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<ExecuteOutcome>> {
        Box::pin(async move {
            self.check(&request)?;
            call.deadline.check()?;
            command_line::check(&request.command, COMMAND_BYTES)?;
            let place = request.working_directory.clone();
            let outcome = self.run(request, call).await?;
            if let Some(place) = place
                && outcome.exit_code == Some(NO_PLACE)
                && outcome.output.is_empty()
            {
                self.check_place(&place).await?;
            }
            Ok(outcome)
        })
    }
}

impl ExecShell {
    /// Refuses what cannot be promised here.
    fn check(&self, request: &ExecuteRequest) -> Result<()> {
        let unsupported = |message: &'static str| Err(Error::new(ErrorKind::Unsupported, message));
        if request.background != Background::End {
            return unsupported("This container takes no program of gloveport's: nothing of a command is kept.");
        }
        let CommandLimits { memory_bytes, cpu_time, processes, file_bytes, open_files } =
            request.limits.within(self.ceilings);
        if memory_bytes.is_some() || cpu_time.is_some() || processes.is_some() {
            return unsupported(
                "This container takes no program of gloveport's: a command can be held to `fileBytes` and `openFiles` there, and not to \
                 memory, processor time or processes of its own. The container's `memory`, `cpus` and `pids` bound them all together.",
            );
        }
        if (file_bytes.is_some() || open_files.is_some()) && !self.has_ceilings {
            return unsupported(
                "This container takes no program of gloveport's, and its shell has no `ulimit`: a command can be held to no ceilings.",
            );
        }
        Ok(())
    }

    /// Says why there is no directory of that name, where there is none.
    async fn check_place(&self, place: &VirtualPath) -> Result<()> {
        let word = crate::backend::posix::quote(place.as_str());
        let mut look = ExecuteRequest::new(format!("[ -d {word} ] || {{ [ -e {word} ] && exit 3 || exit 4; }}"));
        look.timeout = Some(PROBE);
        match self.run(look, &Call::default()).await?.exit_code {
            Some(3) => Err(Error::new(ErrorKind::NotADirectory, format!("'{place}' is not a directory."))
                .with_path(place.as_str())),
            Some(4) => Err(Error::not_found(place)),
            _ => Ok(()),
        }
    }

    async fn run(&self, request: ExecuteRequest, call: &Call) -> Result<ExecuteOutcome> {
        let begin = std::time::Instant::now();
        let mark = temp::name();
        let place = request.working_directory.as_ref().map_or("/", VirtualPath::as_str);
        let mut config = json!({
            "Cmd": self.command(&request, &mark, place),
            "Env": [format!("{MARK}={mark}")],
            "AttachStdin": request.stdin.is_some(),
            "AttachStdout": true,
            "AttachStderr": true,
            "Tty": false,
            // What runs anywhere must not need a directory that a command may have removed.
            "WorkingDir": "/",
        });
        if let Some(environment) = config["Env"].as_array_mut() {
            environment.extend(self.environment.iter().map(|variable| variable.as_str().into()));
            environment.extend(request.environment.iter().map(|(name, value)| format!("{name}={value}").into()));
        }
        if let Some(user) = &self.user {
            config["User"] = user.as_str().into();
        }
        let deadline = request.timeout.map_or_else(|| call.deadline.clone(), |limit| call.deadline.within(limit));
        let mut capture = Capture::new(self.room, request.on_output, request.spill);
        let begun = match deadline.check() {
            // With no time at all nothing is started.
            Err(error) => Err(error.kind()),
            Ok(()) => tokio::select! {
                begun = self.begin(config, mark) => Ok(begun?),
                error = deadline.reached() => Err(error.kind()),
            },
        };
        let (unended, exec, mut output, mut input) = match begun {
            Ok(begun) => begun,
            Err(stopped) => return Ok(outcome(capture.finish().await, begin, None, Some(stopped))),
        };
        let stdin = request.stdin.unwrap_or_default();
        let fed = async {
            // A command that reads less than it is given closes its end.
            let _ = input.write_all(&stdin).await;
            let _ = input.shutdown().await;
            std::future::pending::<()>().await;
        };
        let heard = async {
            loop {
                capture.room().await;
                match output.piece().await {
                    Ok(Some((1, bytes))) => capture.take(Stream::Stdout, &bytes),
                    Ok(Some((_, bytes))) => capture.take(Stream::Stderr, &bytes),
                    Ok(None) => return false,
                    Err(_) => return true,
                }
            }
        };
        let (stopped, lost) = tokio::select! {
            lost = heard => (None, lost),
            () = fed => (None, false),
            error = deadline.reached() => (Some(error.kind()), false),
        };
        unended.settle(stopped.is_some() || lost).await;
        if lost {
            // A connection that broke says nothing of how the command ended.
            return Err(Error::new(
                ErrorKind::BackendUnavailable,
                "The container engine was lost while a command ran; the command was ended where that was possible.",
            ));
        }
        let code = if stopped.is_none() && !self.only_scripts { self.exit_code(&exec).await? } else { None };
        Ok(outcome(capture.finish().await, begin, code, stopped))
    }

    fn command(&self, request: &ExecuteRequest, mark: &str, place: &str) -> Value {
        if self.only_scripts && request.working_directory.is_none() {
            return json!(["sh", "-c", request.command]);
        }
        let CommandLimits { file_bytes, open_files, .. } = request.limits.within(self.ceilings);
        if file_bytes.is_none() && open_files.is_none() {
            return json!(["sh", "-c", RUN, "sh", request.command, END_MARKED, mark, place]);
        }
        let text = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        // Of a part of a block there is a whole one: of none nothing could be written at all.
        let (blocks, files) = (text(file_bytes.map(|bytes| bytes.div_ceil(BLOCK_BYTES))), text(open_files));
        json!(["sh", "-c", RUN_WITHIN, "sh", request.command, END_MARKED, mark, place, blocks, files])
    }

    /// Starts a command, on a task of its own: what an engine was asked to start it starts, though nobody waits any more, and
    /// then it is ended.
    async fn begin(&self, config: Value, mark: String) -> Result<(Unended, String, Output, Input)> {
        let shell = self.clone();
        let begun = tokio::spawn(async move {
            let begun = exec_of(&shell.engine, &shell.id, &config).await;
            // Whether it was started is unknown where this failed.
            let unended = Unended(Some((shell, mark)));
            begun.map(|(exec, output, input)| (unended, exec, output, input))
        });
        begun.await.unwrap_or_else(|_| Err(Error::internal("A command of a container was lost.")))
    }

    async fn exit_code(&self, exec: &str) -> Result<Option<i32>> {
        let ended = self.engine.ask("GET", &Path::new("/exec").name(exec).then("json"), Payload::Nothing).await;
        let ended = ended.map_err(|failure| refused("say how a command ended", &failure))?;
        Ok(ended.get("ExitCode").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok()))
    }

    /// Ends what carries the mark. Best effort: the container's own end ends the rest.
    async fn end(&self, mark: &str) {
        let config = json!({
            "Cmd": ["sh", "-c", END_MARKED, "sh", mark],
            "AttachStdout": true,
            "WorkingDir": "/",
            "User": self.user.as_deref().unwrap_or_default(),
        });
        let ended = async {
            let Ok((_, mut output, _input)) = exec_of(&self.engine, &self.id, &config).await else { return };
            while let Ok(Some(_)) = output.piece().await {}
        };
        let _ = timeout(END, ended).await;
    }
}

fn outcome(
    captured: Captured,
    begin: std::time::Instant,
    exit_code: Option<i32>,
    stopped: Option<ErrorKind>,
) -> ExecuteOutcome {
    ExecuteOutcome {
        // A shell says 128 and the number for a command that a signal ended.
        exit_code,
        timed_out: stopped == Some(ErrorKind::Timeout),
        aborted: stopped == Some(ErrorKind::Aborted),
        ..captured.outcome(begin)
    }
}

/// A command that may still run. Dropped like this, because nobody waits for it any more, it is ended.
struct Unended(Option<(ExecShell, String)>);

impl Unended {
    /// The command is over, or is ended now where it must `stop`.
    async fn settle(mut self, stop: bool) {
        if let Some((shell, mark)) = &self.0
            && stop
        {
            shell.end(mark).await;
        }
        self.0 = None;
    }
}

impl Drop for Unended {
    fn drop(&mut self) {
        if let Some((shell, mark)) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { shell.end(&mark).await });
        }
    }
}
