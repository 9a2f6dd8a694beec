//! Serves this container's files and commands.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::{stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use gloveport_core::backend::guest::{Setup, serve as serve_guest};
use gloveport_core::backend::local::shell::SupervisorProgram;
use gloveport_core::backend::local::{Durability, LocalBackend, LocalOptions};
use gloveport_core::error::Result;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// 4 threads: calls wait for disks and commands, and a container's share of processors is small.
const THREADS: usize = 4;
/// 32 calls of one container work on files at the same time; more wait.
const BLOCKING_THREADS: usize = 32;
/// 4 threads are there from the start: a command that takes all processes of the container must not take ours.
const EARLY_THREADS: usize = 4;
/// A year: a thread that is there stays.
const KEEP_ALIVE: Duration = Duration::from_hours(24 * 365);

/// Returns when the host has gone. `held` says that the host has the first process end what this one leaves, `sent` that this program's
/// file is there for this run alone.
pub(crate) fn serve(how: &str) -> ExitCode {
    // A command of the same user may neither trace this process nor read its memory.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    take_no_harm_from_large_files();
    if how == "sent" {
        remove_own_file();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_keep_alive(KEEP_ALIVE)
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return ExitCode::FAILURE };
    let early = Arc::new(Barrier::new(EARLY_THREADS));
    for _ in 0..EARLY_THREADS {
        let early = Arc::clone(&early);
        // Each waits for the others, so that none does the work of two.
        runtime.spawn_blocking(move || early.wait());
    }
    serve_guest(stdin(), stdout(), runtime.handle(), |setup| make(setup, how == "held"));
    // Work that still blocks must not keep the container's process alive.
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

/// Running programs need no name. Best effort: where the file may not be removed it is no use to anybody either.
fn remove_own_file() {
    if let Ok(path) = std::env::current_exe() {
        let _ = std::fs::remove_file(path);
    }
}

/// A file that would become larger than the container may have is an error, and not the end of this process.
#[allow(unsafe_code, reason = "no safe interface sets what a signal does")]
fn take_no_harm_from_large_files() {
    extern "C" fn nothing(_signal: libc::c_int) {}
    // SAFETY: the handler touches nothing, and no other thread runs yet. Unlike an ignored signal it is no business of commands.
    unsafe { libc::signal(libc::SIGXFSZ, nothing as extern "C" fn(libc::c_int) as libc::sighandler_t) };
}

fn make(setup: Setup, held: bool) -> Result<LocalBackend> {
    let root = PathBuf::from(setup.working_directory.as_str());
    // As a user makes it by `mkdir -p`; where that fails the backend says so.
    let _ = DirBuilder::new().recursive(true).create(&root);
    // The image's own variables are the container's, not the host's: commands see them all.
    let mut environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    environment.extend(setup.environment);
    LocalBackend::new(LocalOptions {
        root: Some(root),
        allowed_directories: vec![PathBuf::from("/")],
        execute: true,
        environment: environment.into_iter().collect(),
        limits: setup.limits,
        command_limits: setup.command_limits,
        // A container's files are gone with the machine that loses power.
        durability: Durability::None,
        supervisor: supervisor(held),
        ..LocalOptions::default()
    })
}

fn supervisor(held: bool) -> Option<SupervisorProgram> {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor"));
    if bytes.is_empty() {
        return None;
    }
    let program = SupervisorProgram::from_bytes(bytes).ok()?;
    // What a command started that has killed its supervisor cannot be told from anything else in here, but it is all ended when this
    // process is.
    Some(if held { program.when_lost(|| std::process::exit(1)) } else { program })
}
