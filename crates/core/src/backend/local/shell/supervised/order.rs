//! What a supervisor is told of a command: its words, its variables and its ceilings.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use gloveport_supervisor::{self as wire, Order, Request};
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use rustix::io::Errno;

use super::super::COMMAND_BYTES;
use super::super::child::refused;
use super::super::running::Launch;
use super::super::tree::MARK_VARIABLE;
use crate::backend::{Background, CommandLimits};
use crate::error::{Error, Result};

/// Runs a command that is too long for an argument (R-SH-11). The script begins by closing the descriptor that it comes
/// from, which the shell has opened anew by then, so that no program inherits it.
const RUN_SCRIPT: &str = ". /proc/self/fd/3";
const SCRIPT_START: &[u8] = b"exec 3<&-; ";

/// The bytes that order a command, whose processes carry `mark`; with it the script that travels beside them where the command
/// is too long for an argument.
pub(super) fn order_of(launch: &Launch, mark: &str) -> Result<(Vec<u8>, Option<OwnedFd>)> {
    let script = if launch.command.len() > COMMAND_BYTES { Some(script_of(&launch.command)?) } else { None };
    let order = Order::Run(request(launch, mark, script.is_some())?);
    Ok((order.encode().ok_or_else(|| refused(Some(Errno::TOOBIG)))?, script))
}

fn request(launch: &Launch, mark: &str, has_script: bool) -> Result<Request> {
    let text = |bytes: Vec<u8>| CString::new(bytes).map_err(|_| Error::internal("A NUL was let through to a command."));
    let command = if has_script { RUN_SCRIPT } else { &launch.command };
    let pair = |name: &[u8], value: &[u8]| text([name, b"=", value].concat());
    let mut environment = launch
        .environment
        .iter()
        .map(|(name, value)| pair(name.as_bytes(), value.as_bytes()))
        .collect::<Result<Vec<_>>>()?;
    environment.push(pair(MARK_VARIABLE.as_bytes(), mark.as_bytes())?);
    Ok(Request {
        // A command that begins with a dash is no option of the shell.
        arguments: vec![c"/bin/sh".to_owned(), c"-c".to_owned(), c"--".to_owned(), text(command.into())?],
        environment,
        limits: limits(launch.limits),
        keep: launch.background == Background::Keep,
        has_stdin: launch.with_stdin || launch.terminal.is_some(),
        has_script,
        is_terminal: launch.terminal.is_some(),
        is_announced: launch.is_announced,
    })
}

/// The kernel counts a process's time in those, and the next one where it is more.
pub(super) fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

fn limits(limits: CommandLimits) -> wire::Limits {
    let CommandLimits { memory_bytes, cpu_time, processes, file_bytes, open_files } = limits;
    // Part of a second counts as a whole one: a limit of none at all would end everything.
    let cpu_seconds = cpu_time.map(whole_seconds);
    wire::Limits { memory_bytes, cpu_seconds, processes, file_bytes, open_files }
}

fn script_of(command: &str) -> Result<OwnedFd> {
    let write = || -> rustix::io::Result<OwnedFd> {
        let script = memfd_create("command", MemfdFlags::CLOEXEC)?;
        for part in [SCRIPT_START, command.as_bytes()] {
            let mut rest = part;
            while !rest.is_empty() {
                let written = rustix::io::write(&script, rest)?;
                rest = &rest[written..];
            }
        }
        seek(&script, SeekFrom::Start(0))?;
        Ok(script)
    };
    write().map_err(|error| refused(Some(error)))
}
