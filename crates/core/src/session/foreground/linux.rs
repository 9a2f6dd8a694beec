//! Where the kernel tells.

use std::io::Read as _;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};

use super::Waits;
use super::calls::{Wait, event_loop_of, is_line_editor, listened_to, waited_for};

/// 256 processes of a session are looked at: more than a person starts in one.
const PROCESSES: usize = 256;
/// 64 KiB of one file of the kernel's are read: a program can have it tell of hundreds of thousands of descriptors.
const READ_BYTES: u64 = 64 << 10;
const LINE_BYTES: usize = 512;
/// `/dev/tty`: the terminal of whoever opens it.
const OWN_TERMINAL: (u32, u32) = (5, 0);

/// Whether a program in the foreground of the terminal, whose session `leader` leads, is blocked until something is typed.
pub(in crate::session) fn waits_for_input(leader: u32) -> Waits {
    let Some(session) = Stat::of(leader) else { return Waits::No };
    let mut found = Waits::No;
    for pid in session.foreground_group(leader) {
        match wait_of(pid, session.terminal) {
            Some(Wait::Read | Wait::Choice) => return Waits::On,
            Some(Wait::ChoiceForATime) => found = Waits::ForATime,
            None => {}
        }
    }
    found
}

/// The same, or in an event loop that listens to the terminal too, as those of Node: such a program may be at work as well.
pub(in crate::session) fn listens_for_input(leader: u32) -> bool {
    let Some(session) = Stat::of(leader) else { return false };
    let listens = |pid: u32| {
        let Some(events) = event_loop_of(&read(format!("/proc/{pid}/syscall"))) else { return false };
        let known = read(format!("/proc/{pid}/fdinfo/{events}"));
        listened_to(&known).any(|descriptor| is_terminal(pid, descriptor, session.terminal))
    };
    let group = session.foreground_group(leader);
    group.into_iter().any(|pid| wait_of(pid, session.terminal).is_some() || listens(pid))
}

/// Whether the leader itself has the terminal and waits in a line editor, or in a `read` that has a time.
pub(in crate::session) fn edits_a_line(leader: u32) -> bool {
    matches!(own_wait(leader), Some(Wait::Choice | Wait::ChoiceForATime))
}

/// Whether it does so without end, as bash at its prompt, and not for a `read` of its own but one in the line editor (`read -e`).
pub(in crate::session) fn may_prompt(leader: u32) -> bool {
    own_wait(leader) == Some(Wait::Choice)
}

/// How the leader waits where it has the terminal itself.
fn own_wait(leader: u32) -> Option<Wait> {
    let session = Stat::of(leader)?;
    wait_of(leader, session.terminal).filter(|_| session.foreground == session.group)
}

/// Whether the leader itself is blocked until something is typed, whoever has the terminal: what is typed now is its own to read. So it is
/// where it is blocked because its terminal takes no output, which a key stops (Ctrl-S). `None` where that cannot be known.
pub(in crate::session) fn reads_a_line(leader: u32) -> Option<bool> {
    let call = read(format!("/proc/{leader}/syscall"));
    if is_line_editor(&call) {
        return Some(true);
    }
    let mut words = call.split_ascii_whitespace();
    let (number, first) = (words.next()?, words.next());
    let terminal = Stat::of(leader)?.terminal;
    match (std::env::consts::ARCH, number, first) {
        ("x86_64", "1", Some(first)) | ("aarch64", "64", Some(first)) => {
            let descriptor = u64::from_str_radix(first.strip_prefix("0x")?, 16).ok()?;
            Some(is_terminal(leader, descriptor, terminal))
        }
        ("x86_64" | "aarch64", _, _) => Some(wait_of(leader, terminal).is_some()),
        (_, _, _) => None,
    }
}

/// Whether a process that the leader started is stopped, as by Ctrl-Z. `None` where that cannot be known.
pub(in crate::session) fn has_stopped_child(leader: u32) -> Option<bool> {
    Stat::of(leader)?;
    Some(children_of(leader).into_iter().any(|child| is_stopped(&read(format!("/proc/{child}/stat")))))
}

/// `T` behind a name that may hold anything.
fn is_stopped(stat: &str) -> bool {
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
}

/// Whether a shell is alone: whether nothing runs that it started, nor what one of those left behind, which its supervisor has then. It is
/// asked before each of its commands.
#[derive(Debug)]
pub(in crate::session) struct Alone {
    leader: String,
    /// The children of the shell, and those of its supervisor.
    children: [std::fs::File; 2],
}

impl Alone {
    /// Of a shell that leads a terminal; `None` where that cannot be known.
    pub(in crate::session) fn of(leader: u32) -> Option<Self> {
        let stat = read(format!("/proc/{leader}/stat"));
        let parent = stat.rsplit(')').next()?.split_ascii_whitespace().nth(1)?.parse().ok()?;
        // Neither has other threads.
        let children = |pid: u32| std::fs::File::open(format!("/proc/{pid}/task/{pid}/children")).ok();
        Some(Self { leader: leader.to_string(), children: [children(leader)?, children(parent)?] })
    }

    pub(in crate::session) fn holds(&self) -> bool {
        // More than a number or two is more than one.
        let mut numbers = [0; 32];
        let mut children = |of: &std::fs::File| {
            let count = std::os::unix::fs::FileExt::read_at(of, &mut numbers, 0).ok()?;
            String::from_utf8(numbers[..count].to_vec()).ok()
        };
        let [own, supervisors] = &self.children;
        children(own).is_some_and(|own| own.is_empty())
            && children(supervisors).is_some_and(|all| all.trim_ascii_end() == self.leader)
    }
}

fn children_of(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = |thread: std::fs::DirEntry| read(format!("{}/children", thread.path().display()));
    let numbers = |children: String| -> Vec<u32> {
        children.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect()
    };
    threads.take(PROCESSES).map(children).flat_map(numbers).collect()
}

/// What is known of a process.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    group: i32,
    /// Major and minor number of its terminal.
    terminal: (u32, u32),
    /// The group that has the terminal.
    foreground: i32,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Self::parse(&read(format!("/proc/{pid}/stat")))
    }

    /// `pid (name) state parent group session terminal foreground …`; the name may hold anything, also `)`.
    fn parse(stat: &str) -> Option<Self> {
        let mut words = stat.rsplit(')').next()?.split_ascii_whitespace().skip(2);
        let group = words.next()?.parse().ok()?;
        let terminal: i32 = words.nth(1)?.parse().ok()?;
        let terminal = terminal.cast_unsigned();
        let terminal = ((terminal >> 8) & 0xFFF, (terminal & 0xFF) | ((terminal >> 12) & 0xF_FF00));
        Some(Self { group, terminal, foreground: words.next()?.parse().ok()? })
    }

    /// The processes below `leader` that are in the foreground. The first one of a pipeline may have ended.
    fn foreground_group(&self, leader: u32) -> Vec<u32> {
        let mut found: Vec<u32> = u32::try_from(self.foreground).ok().filter(|group| *group > 0).into_iter().collect();
        let (mut next, mut seen) = (vec![leader], 0);
        while let Some(pid) = next.pop() {
            seen += 1;
            if seen > PROCESSES {
                break;
            }
            if !found.contains(&pid) && Self::of(pid).is_some_and(|stat| stat.group == self.foreground) {
                found.push(pid);
            }
            next.extend(children_of(pid));
        }
        found
    }
}

fn read(path: String) -> String {
    // Most of what the kernel tells is a line: it comes in one piece.
    let mut bytes = Vec::with_capacity(LINE_BYTES);
    // What cannot be read says nothing.
    let _ = std::fs::File::open(path).and_then(|file| file.take(READ_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How the process waits for that terminal, if it does.
fn wait_of(pid: u32, terminal: (u32, u32)) -> Option<Wait> {
    let (wait, descriptors) = waited_for(&read(format!("/proc/{pid}/syscall")), |address, bytes| {
        let mut memory = vec![0; bytes];
        std::fs::File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut memory, address).ok()?;
        Some(memory)
    })?;
    descriptors.into_iter().any(|descriptor| is_terminal(pid, descriptor, terminal)).then_some(wait)
}

fn is_terminal(pid: u32, descriptor: u64, terminal: (u32, u32)) -> bool {
    // A name is enough, and asks no file system that may not answer, as a look through the link at what is open would.
    let Ok(name) = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}")) else { return false };
    name.starts_with("/dev/")
        && std::fs::symlink_metadata(name).is_ok_and(|file| {
            let device = (rustix::fs::major(file.rdev()), rustix::fs::minor(file.rdev()));
            file.file_type().is_char_device() && (device == terminal || device == OWN_TERMINAL)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_is_stopped_whatever_its_name_is() {
        for (stat, expected) in [
            ("7 (sleep) T 1 7 7", true),
            ("7 (a) T) S 1 7 7", false),
            ("7 (a) (S) T 1 7 7", true),
            ("7 (sleep) t 1 7 7", false),
            ("", false),
        ] {
            assert_eq!(is_stopped(stat), expected, "{stat}");
        }
    }

    #[test]
    fn reads_the_groups_and_the_terminal_whatever_the_name_is() {
        let stat = Stat { group: 7, terminal: (136, 259), foreground: 9 };
        assert_eq!(Stat::parse("7 (a) (b) S) S 1 7 7 1083395 9 4194560 0\n"), Some(stat));
        assert_eq!(Stat::parse(""), None);
    }
}
