//! Whose container it is: labels, and the removal of what processes that died left behind (R-DK-5).
//!
//! A container ends with its holder by itself. What is swept is what could not: the engine was stopped meanwhile, or the
//! holder died between making and starting. An owner is a process of one start of one machine, seen from one process
//! namespace; whoever cannot tell whether it lives leaves the container alone.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::calls::{remove, text};
use super::client::{Engine, Path, Payload};
use super::engine::refused;
use crate::error::{Error, Result};

/// Says that a container is ours, and which session it serves.
const SESSION: &str = "dev.gloveport.session";
/// Says whose it is in the author's own words, for people and their tools; nothing of ours reads it.
const ID: &str = "dev.gloveport.id";
/// 128 characters: an id becomes a directory and part of a name elsewhere.
const ID_CHARS: usize = 128;
/// Says which process made it.
const OWNER: &str = "dev.gloveport.owner";
/// Says that it goes when its owner does.
const REMOVE: &str = "dev.gloveport.remove";

/// The labels of a container that this process makes.
pub(super) fn labels(session: &str, remove: bool) -> Map<String, Value> {
    let mut labels = Map::new();
    labels.insert(SESSION.to_owned(), session.into());
    labels.insert(REMOVE.to_owned(), remove.to_string().into());
    // Said also where it is unknown: an image may bring along what an owner of before was.
    labels.insert(OWNER.to_owned(), OURSELVES.as_deref().unwrap_or_default().into());
    labels
}

/// The label that says whose it is. Said also of nobody's: an image may bring along whose the one before was.
pub(super) fn id_label(id: Option<&str>) -> (String, Value) {
    (ID.to_owned(), id.unwrap_or_default().into())
}

/// Refuses an id that is no plain name.
pub(super) fn check_id(id: Option<&str>) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let is_plain =
        |id: &str| id.len() <= ID_CHARS && id.starts_with(|c: char| c.is_ascii_alphanumeric()) && id.chars().all(plain);
    if id.is_none_or(is_plain) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`sessionId` has up to {ID_CHARS} letters, digits, `_`, `.` and `-`, and begins with a letter or a digit."
    )))
}

/// This process, where it can be told from every other one.
static OURSELVES: LazyLock<Option<String>> = LazyLock::new(|| {
    let place = place()?;
    let pid = std::process::id();
    Some(format!("{place} {pid} {}", start_of(pid)?))
});

/// This start of this machine, and this process namespace.
fn place() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.to_str()?))
}

/// When a process began, in ticks since the machine did. `None` when it does not live, or may not be looked at.
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, also blanks and parentheses; the last one ends it.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

/// Whether the owner is known to be dead.
fn is_dead(owner: &str) -> bool {
    let Some((place_of, process)) = owner.rsplit_once(' ').and_then(|(rest, start)| {
        let (place, pid) = rest.rsplit_once(' ')?;
        Some((place, (pid.parse::<u32>().ok()?, start.parse::<u64>().ok()?)))
    }) else {
        return false;
    };
    let Some(here) = place() else { return false };
    let (boot, _) = place_of.split_once(' ').unwrap_or((place_of, ""));
    let same_machine = here.starts_with(boot);
    same_machine && place_of == here && is_gone(is_there(process.0), start_of(process.0), process.1)
}

/// Whether a container was made and never started for so long that nobody will: whoever should have has died, before this machine
/// started again, or where this process cannot look for it.
fn is_abandoned(container: &Value, now: SystemTime) -> bool {
    let made = container
        .get("Created")
        .and_then(Value::as_u64)
        .and_then(|made| UNIX_EPOCH.checked_add(Duration::from_secs(made)));
    let age = made.and_then(|made| now.duration_since(made).ok());
    text(container, "State") == Some("created") && age.is_some_and(|age| age > ABANDONED)
}

/// Whether the process that began at `start` is gone: nobody has its number, or somebody who began at another time. One
/// that is there and cannot be looked at (`/proc` with `hidepid`) is not known to be.
fn is_gone(there: bool, began: Option<u64>, start: u64) -> bool {
    !there || began.is_some_and(|began| began != start)
}

/// Whether a process has this number, also one of another user.
#[cfg(target_os = "linux")]
fn is_there(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_none_or(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(target_os = "linux"))]
fn is_there(_pid: u32) -> bool {
    true
}

/// Whether a container bears the name that one of this session was made with. Labels alone say little: an image that was
/// made of a container (`docker commit`) hands them to containers of anybody.
fn is_as_made(container: &Value) -> bool {
    let Some(session) = container.get("Labels").and_then(|labels| text(labels, SESSION)) else { return false };
    let names = [name_of(session), stage_of(session)].map(|name| format!("/{name}"));
    let theirs = container.get("Names").and_then(Value::as_array).into_iter().flatten();
    theirs.filter_map(Value::as_str).any(|theirs| names.iter().any(|name| name == theirs))
}

/// The name of a container without one of its author's.
pub(super) fn name_of(session: &str) -> String {
    format!("gloveport-{session}")
}

/// The name of the container through which its guest comes, where its root cannot be written.
pub(super) fn stage_of(session: &str) -> String {
    format!("{}-guest", name_of(session))
}

/// Whether a container that was looked at was made by us. The label alone does not say so: an image that was made of one of
/// ours (`docker commit`) hands it to containers of anybody. Then the image has it too, and one of our making has another one.
pub(super) async fn is_ours(engine: &Engine, found: &Value) -> Result<bool> {
    let Some(session) = session_of(found) else { return Ok(false) };
    let Some(image) = text(found, "Image") else { return Ok(false) };
    match engine.ask("GET", &Path::new("/images").name(image).then("json"), Payload::Nothing).await {
        Ok(image) => Ok(session_of(&image) != Some(session)),
        // What is not known to be ours is not.
        Err(failure) if failure.is_missing() => Ok(false),
        Err(failure) => Err(refused("look for an image", &failure)),
    }
}

fn session_of(found: &Value) -> Option<&str> {
    found.pointer("/Config/Labels").and_then(|labels| text(labels, SESSION))
}

/// The engines that were swept, or are being, by this process.
static SWEPT: LazyLock<Mutex<HashMap<String, Instant>>> = LazyLock::new(Mutex::default);
/// 1 h until an engine is swept again by a process that uses it all the time.
const AGAIN: Duration = Duration::from_hours(1);
/// A day: nothing takes so long between making a container and starting it.
const ABANDONED: Duration = Duration::from_hours(24);

/// Sweeps an engine the first time that this process uses it and from time to time, and says whether it does. Nobody waits for the
/// end of it.
pub(super) fn sweep_once(engine: &Engine) -> bool {
    let name = engine.name();
    {
        let mut swept = SWEPT.lock();
        if swept.get(&name).is_some_and(|last| last.elapsed() < AGAIN) {
            return false;
        }
        swept.insert(name.clone(), Instant::now());
    }
    let engine = engine.clone();
    tokio::spawn(async move {
        if sweep(&engine).await.is_none() {
            // The next start tries again.
            SWEPT.lock().remove(&name);
        }
    });
    true
}

/// Removes containers of ours whose owner is dead, and says how many; nothing where the engine does not say what there is.
/// Best effort: what stays is found by the next process.
async fn sweep(engine: &Engine) -> Option<usize> {
    let filters = json!({ "label": [OWNER, format!("{REMOVE}=true")] }).to_string();
    let path = Path::new("/containers/json").with("all", "true").with("filters", &filters);
    let containers = engine.ask("GET", &path, Payload::Nothing).await.ok()?;
    let mut removed = 0;
    for container in containers.as_array().into_iter().flatten() {
        let owner = container.get("Labels").and_then(|labels| text(labels, OWNER));
        let (Some(id), Some(owner)) = (text(container, "Id"), owner) else { continue };
        let is_left = is_dead(owner) || is_abandoned(container, SystemTime::now());
        if is_as_made(container) && is_left && remove(engine, id).await.is_ok() {
            removed += 1;
        }
    }
    Some(removed)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_may_not_be_looked_at_is_not_gone() {
        assert!(is_gone(false, None, 5) && is_gone(true, Some(6), 5));
        assert!(!is_gone(true, None, 5) && !is_gone(true, Some(5), 5));
        assert!(is_there(std::process::id()) && is_there(1) && !is_there(4_194_304));
    }

    #[test]
    fn labels_that_came_with_an_image_make_no_container_ours() {
        let of = |name: &str| json!({ "Names": [name], "Labels": { SESSION: "ab" } });
        assert!(is_as_made(&of("/gloveport-ab")) && is_as_made(&of("/gloveport-ab-guest")));
        assert!(!is_as_made(&of("/amazing_name")) && !is_as_made(&of("/gloveport-abc")));
        assert!(!is_as_made(&json!({ "Names": ["/gloveport-"], "Labels": {} })));
    }

    /// After the machine had started again, or of an application that is itself in a container, nobody could say that an owner is dead.
    #[test]
    fn what_was_made_and_never_started_is_given_up_after_a_day() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        for (state, made, left) in [
            ("created", 1_000_000 - 86_401, true),
            ("created", 1_000_000 - 86_399, false),
            ("created", 1_000_001, false),
            ("running", 0, false),
            ("exited", 0, false),
        ] {
            assert_eq!(is_abandoned(&json!({ "State": state, "Created": made }), now), left, "{state} {made}");
        }
        assert!(!is_abandoned(&json!({ "State": "created" }), now));
    }

    #[test]
    fn only_a_process_that_is_known_to_be_dead_is_dead() {
        let ours = OURSELVES.clone().unwrap();
        assert!(!is_dead(&ours));
        let (rest, start) = ours.rsplit_once(' ').unwrap();
        let (place, pid) = rest.rsplit_once(' ').unwrap();
        // Another process has the number now.
        assert!(is_dead(&format!("{place} {pid} {}", start.parse::<u64>().unwrap() + 1)));
        // No process has it.
        assert!(is_dead(&format!("{place} 4194304 {start}")));
        // Another machine, another namespace, and nonsense.
        for other in [format!("x{place} {pid} 1"), format!("{place}x {pid} 1"), "nonsense".to_owned(), String::new()] {
            assert!(!is_dead(&other), "{other}");
        }
    }
}
