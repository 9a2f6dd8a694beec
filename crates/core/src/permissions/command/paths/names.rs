//! Names that are partly known, and paths that are others in disguise.

use super::super::argument::{ANY_CHARACTER, ANY_NAME, ANYTHING, is_marked};
use super::is_within;

/// What a path below `/proc` really is.
pub(super) enum Disguise {
    Root,
    WorkingDirectory,
    /// A thread of the process in front of it.
    Process,
    Unknown,
}

/// `/proc/self/root` is `/`, for every process that a command can name, and `/proc/self/cwd` the working directory; where
/// another process works, and what a descriptor of a directory leads to, nobody knows.
pub(super) fn disguised(path: &str) -> Option<Disguise> {
    if let Some(descriptor) = path.strip_prefix("/dev/fd/") {
        return descriptor.contains('/').then_some(Disguise::Unknown);
    }
    let (process, rest) = path.strip_prefix("/proc/")?.split_once('/')?;
    let own = matches!(process, "self" | "thread-self");
    if !own && !process.bytes().all(|byte| byte.is_ascii_digit()) {
        return is_marked(process).then_some(Disguise::Unknown);
    }
    match rest {
        "root" => Some(Disguise::Root),
        "cwd" if own => Some(Disguise::WorkingDirectory),
        "cwd" => Some(Disguise::Unknown),
        _ if rest.strip_prefix("task/").is_some_and(|thread| !thread.is_empty() && !thread.contains('/')) => {
            Some(Disguise::Process)
        }
        _ if rest.strip_prefix("fd/").is_some_and(|descriptor| descriptor.contains('/')) => Some(Disguise::Unknown),
        _ => None,
    }
}

/// Whether a path below `/proc` or `/dev` may be a link, so that `..` behind it is not what stands in front of it.
pub(super) fn leads_elsewhere(path: &str) -> bool {
    const DEVICES: [&str; 8] = ["fd", "stdin", "stdout", "stderr", "core", "shm", "log", "initctl"];
    if let Some(device) = path.strip_prefix("/dev/") {
        let name = device.split('/').next().unwrap_or_default();
        return DEVICES.contains(&name) || is_marked(device);
    }
    let Some(entry) = path.strip_prefix("/proc/") else { return false };
    let (process, rest) = entry.split_once('/').unwrap_or((entry, ""));
    let is_process = process == "self" || (!process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit()));
    let is_directory = match process {
        "sys" => !is_marked(rest),
        _ => is_process && matches!(rest, "" | "task" | "fd" | "fdinfo"),
    };
    !is_directory
}

/// Whether a name with the markers of [`super::argument`] may turn out to be `name`.
pub(in super::super) fn may_match(marked: &str, name: &str) -> bool {
    let marked: Vec<char> = marked.chars().collect();
    let mut states = vec![false; marked.len() + 1];
    let skip = |states: &mut [bool]| {
        for (index, character) in marked.iter().enumerate() {
            states[index + 1] |= states[index] && matches!(*character, ANY_NAME | ANYTHING);
        }
    };
    states[0] = true;
    skip(&mut states);
    for expected in name.chars() {
        let mut next = vec![false; states.len()];
        for (index, character) in marked.iter().enumerate().filter(|(index, _)| states[*index]) {
            match *character {
                ANY_NAME | ANYTHING => next[index] = true,
                ANY_CHARACTER => next[index + 1] = true,
                character => next[index + 1] |= character == expected,
            }
        }
        skip(&mut next);
        states = next;
    }
    states[marked.len()]
}

/// Whether `inner` may lie within `outer` or be it; either may hold markers.
pub(super) fn may_be_within(inner: &str, outer: &str) -> bool {
    if !is_marked(inner) && !is_marked(outer) {
        return is_within(inner, outer);
    }
    let segments = |path: &str| path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (inner, outer) = (segments(inner), segments(outer));
    outer.len() <= inner.len()
        && outer.iter().zip(&inner).all(|(outer, inner)| {
            outer == inner
                || (is_marked(outer) && may_match(outer, inner))
                || (is_marked(inner) && may_match(inner, outer))
        })
}
