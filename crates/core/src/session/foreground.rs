//! Who waits for what is typed at a terminal: asked of the kernel, to which no program can lie.
//!
//! A process that sleeps in a call that waits for input is known by the call's number and descriptors (`/proc/<pid>/syscall`);
//! that one of them is the terminal, by its device. Where a kernel tells nobody, nobody is known to wait.

#[cfg(target_os = "linux")]
use std::io::Read as _;
#[cfg(target_os = "linux")]
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};

/// 256 processes of a session are looked at: more than a person starts in one.
#[cfg(target_os = "linux")]
const PROCESSES: usize = 256;
/// 64 descriptors of one call are looked at.
#[cfg(target_os = "linux")]
const DESCRIPTORS: usize = 64;
/// 64 KiB of one file of the kernel's are read: a program can have it tell of hundreds of thousands of descriptors.
#[cfg(target_os = "linux")]
const READ_BYTES: u64 = 64 << 10;
#[cfg(target_os = "linux")]
const LINE_BYTES: usize = 512;
/// `/dev/tty`: the terminal of whoever opens it.
#[cfg(target_os = "linux")]
const OWN_TERMINAL: (u32, u32) = (5, 0);

/// Whether a program waits for what is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no other system tells"))]
pub(super) enum Waits {
    /// Until something is typed.
    On,
    /// For a time, behind which it goes on: vim waits so for what a terminal may still say, and then ends.
    ForATime,
    /// Not, or that cannot be known.
    No,
}

/// Whether a program in the foreground of the terminal, whose session `leader` leads, is blocked until something is typed.
#[cfg(target_os = "linux")]
pub(super) fn waits_for_input(leader: u32) -> Waits {
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
#[cfg(target_os = "linux")]
pub(super) fn listens_for_input(leader: u32) -> bool {
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
#[cfg(target_os = "linux")]
pub(super) fn edits_a_line(leader: u32) -> bool {
    matches!(own_wait(leader), Some(Wait::Choice | Wait::ChoiceForATime))
}

/// Whether it does so without end, as bash at its prompt, and not for a `read` of its own but one in the line editor (`read -e`).
#[cfg(target_os = "linux")]
pub(super) fn may_prompt(leader: u32) -> bool {
    own_wait(leader) == Some(Wait::Choice)
}

/// How the leader waits where it has the terminal itself.
#[cfg(target_os = "linux")]
fn own_wait(leader: u32) -> Option<Wait> {
    let session = Stat::of(leader)?;
    wait_of(leader, session.terminal).filter(|_| session.foreground == session.group)
}

/// Whether the leader itself is blocked until something is typed, whoever has the terminal: what is typed now is its own to read. So it is
/// where it is blocked because its terminal takes no output, which a key stops (Ctrl-S). `None` where that cannot be known.
#[cfg(target_os = "linux")]
pub(super) fn reads_a_line(leader: u32) -> Option<bool> {
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

/// Whether a call is that by which the line editor of bash waits at its prompt, which is asked before each command: for the first descriptor
/// alone and for any time. A `read` of bash with a time gives one, and without one it reads.
#[cfg(target_os = "linux")]
fn is_line_editor(call: &str) -> bool {
    let words: [&str; 6] = {
        let mut words = call.split_ascii_whitespace();
        std::array::from_fn(|_| words.next().unwrap_or_default())
    };
    match (std::env::consts::ARCH, words) {
        ("x86_64", ["23" | "270", "0x1", _, "0x0", _, "0x0"]) | ("aarch64", ["72", "0x1", _, "0x0", _, "0x0"]) => true,
        (_, _) => false,
    }
}

/// Whether a process that the leader started is stopped, as by Ctrl-Z. `None` where that cannot be known.
#[cfg(target_os = "linux")]
pub(super) fn has_stopped_child(leader: u32) -> Option<bool> {
    Stat::of(leader)?;
    Some(children_of(leader).into_iter().any(|child| is_stopped(&read(format!("/proc/{child}/stat")))))
}

/// `T` behind a name that may hold anything.
#[cfg(target_os = "linux")]
fn is_stopped(stat: &str) -> bool {
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
}

/// Whether a shell is alone: whether nothing runs that it started, nor what one of those left behind, which its supervisor has then. It is
/// asked before each of its commands.
#[derive(Debug)]
pub(super) struct Alone {
    leader: String,
    /// The children of the shell, and those of its supervisor.
    #[cfg(target_os = "linux")]
    children: [std::fs::File; 2],
}

#[cfg(target_os = "linux")]
impl Alone {
    /// Of a shell that leads a terminal; `None` where that cannot be known.
    pub(super) fn of(leader: u32) -> Option<Self> {
        let stat = read(format!("/proc/{leader}/stat"));
        let parent = stat.rsplit(')').next()?.split_ascii_whitespace().nth(1)?.parse().ok()?;
        // Neither has other threads.
        let children = |pid: u32| std::fs::File::open(format!("/proc/{pid}/task/{pid}/children")).ok();
        Some(Self { leader: leader.to_string(), children: [children(leader)?, children(parent)?] })
    }

    pub(super) fn holds(&self) -> bool {
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

#[cfg(not(target_os = "linux"))]
impl Alone {
    pub(super) fn of(_leader: u32) -> Option<Self> {
        None
    }

    pub(super) fn holds(&self) -> bool {
        !self.leader.is_empty()
    }
}

#[cfg(target_os = "linux")]
fn children_of(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = |thread: std::fs::DirEntry| read(format!("{}/children", thread.path().display()));
    let numbers = |children: String| -> Vec<u32> {
        children.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect()
    };
    threads.take(PROCESSES).map(children).flat_map(numbers).collect()
}

/// Whether what the leader prints as errors goes to a terminal: so do a shell's prompts.
pub(super) fn shows_prompts(leader: u32) -> bool {
    std::fs::read_link(format!("/proc/{leader}/fd/2")).is_ok_and(|errors| errors.starts_with("/dev/pts"))
}

/// The words that the program of the leader was started with, each with a NUL behind it; none where that cannot be known.
pub(super) fn words_of(leader: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{leader}/cmdline")).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn waits_for_input(_leader: u32) -> Waits {
    Waits::No
}

#[cfg(not(target_os = "linux"))]
pub(super) fn has_stopped_child(_leader: u32) -> Option<bool> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reads_a_line(_leader: u32) -> Option<bool> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(super) fn edits_a_line(_leader: u32) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
pub(super) fn may_prompt(_leader: u32) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
pub(super) fn listens_for_input(_leader: u32) -> bool {
    false
}

/// How a process waits.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// In a read.
    Read,
    /// Until there is something to read, or something else happens.
    Choice,
    /// The same, for a time.
    ChoiceForATime,
}

#[cfg(target_os = "linux")]
impl Wait {
    fn choice(has_time: bool) -> Self {
        if has_time { Self::ChoiceForATime } else { Self::Choice }
    }
}

/// What is known of a process.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    group: i32,
    /// Major and minor number of its terminal.
    terminal: (u32, u32),
    /// The group that has the terminal.
    foreground: i32,
}

#[cfg(target_os = "linux")]
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

#[cfg(target_os = "linux")]
fn read(path: String) -> String {
    // Most of what the kernel tells is a line: it comes in one piece.
    let mut bytes = Vec::with_capacity(LINE_BYTES);
    // What cannot be read says nothing.
    let _ = std::fs::File::open(path).and_then(|file| file.take(READ_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How the process waits for that terminal, if it does.
#[cfg(target_os = "linux")]
fn wait_of(pid: u32, terminal: (u32, u32)) -> Option<Wait> {
    let (wait, descriptors) = waited_for(&read(format!("/proc/{pid}/syscall")), |address, bytes| {
        let mut memory = vec![0; bytes];
        std::fs::File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut memory, address).ok()?;
        Some(memory)
    })?;
    descriptors.into_iter().any(|descriptor| is_terminal(pid, descriptor, terminal)).then_some(wait)
}

#[cfg(target_os = "linux")]
fn is_terminal(pid: u32, descriptor: u64, terminal: (u32, u32)) -> bool {
    // A name is enough, and asks no file system that may not answer, as a look through the link at what is open would.
    let Ok(name) = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}")) else { return false };
    name.starts_with("/dev/")
        && std::fs::symlink_metadata(name).is_ok_and(|file| {
            let device = (rustix::fs::major(file.rdev()), rustix::fs::minor(file.rdev()));
            file.file_type().is_char_device() && (device == terminal || device == OWN_TERMINAL)
        })
}

/// The descriptors that a call (`number first second …`, or `running`) waits to read. `memory` reads so many bytes of its process.
#[cfg(target_os = "linux")]
fn waited_for(call: &str, memory: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Option<(Wait, Vec<u64>)> {
    let mut words = call.split_ascii_whitespace();
    let number = words.next()?;
    let mut argument = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (first, second) = (argument()?, argument()?);
    let (third, _, fifth) = (argument().unwrap_or(0), argument(), argument().unwrap_or(0));
    match (std::env::consts::ARCH, number) {
        // read
        ("x86_64", "0") | ("aarch64", "63") => Some((Wait::Read, vec![first])),
        // select and pselect6: a bit for each descriptor
        ("x86_64", "23" | "270") | ("aarch64", "72") => {
            let count = usize::try_from(first).ok()?.min(DESCRIPTORS);
            let bits = memory(second, count.div_ceil(8))?;
            let is_set = |descriptor: &usize| bits[descriptor / 8] & (1 << (descriptor % 8)) != 0;
            let set = (0..count).filter(is_set).map(|descriptor| descriptor as u64).collect();
            Some((Wait::choice(fifth != 0), set))
        }
        // poll and ppoll: eight bytes for each
        ("x86_64", "7" | "271") | ("aarch64", "73") => {
            // Milliseconds, of which less than none are without end; or the address of a time.
            let has_time = if number == "7" { third & (1 << 31) == 0 } else { third != 0 };
            let count = usize::try_from(second).ok()?.min(DESCRIPTORS);
            let all = memory(first, count * 8)?;
            // POLLIN and POLLRDNORM
            let reads = all.chunks_exact(8).filter(|each| each[4] & 0x41 != 0);
            let number = |each: &[u8]| <[u8; 4]>::try_from(&each[..4]).ok().map(i32::from_ne_bytes);
            let set = reads.filter_map(number).filter_map(|number| u64::try_from(number).ok()).collect();
            Some((Wait::choice(has_time), set))
        }
        _ => None,
    }
}

/// The descriptor by which a call (`number first …`) waits for events: `epoll_wait` and its kin.
#[cfg(target_os = "linux")]
fn event_loop_of(call: &str) -> Option<u64> {
    let mut words = call.split_ascii_whitespace();
    match (std::env::consts::ARCH, words.next()?) {
        ("x86_64", "232" | "281" | "441") | ("aarch64", "22" | "441") => {
            u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()
        }
        _ => None,
    }
}

/// The descriptors that such a one waits to read, of what the kernel tells of it: lines `tfd: number events: bits data: …`.
#[cfg(target_os = "linux")]
fn listened_to(known: &str) -> impl Iterator<Item = u64> + '_ {
    let reads = |line: &str| {
        let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
        let descriptor = words.next()?.parse().ok()?;
        let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
        // EPOLLIN
        (events & 1 != 0).then_some(descriptor)
    };
    known.lines().filter_map(reads).take(DESCRIPTORS)
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn knows_what_a_call_waits_for() {
        let memory = |address: u64, bytes: usize| match address {
            0x10 => Some(vec![0b1000_0001; bytes]),
            0x20 => Some([[4, 0, 0, 0, 1, 0, 0, 0], [5, 0, 0, 0, 4, 0, 0, 0], [0xFF; 8]].concat()[..bytes].to_vec()),
            _ => None,
        };
        let choice = |descriptors: &[u64]| Some((Wait::Choice, descriptors.to_vec()));
        let for_a_time = |descriptors: &[u64]| Some((Wait::ChoiceForATime, descriptors.to_vec()));
        for (call, expected) in [
            ("0 0x0 0x7ffe 0x1 0x0 0x0 0x0 0x7ffe 0x7f3a\n", Some((Wait::Read, vec![0]))),
            ("0 0x3 0x7ffe 0x1 0x0\n", Some((Wait::Read, vec![3]))),
            ("270 0x1 0x10 0x0\n", choice(&[0])),
            ("23 0x9 0x10 0x0\n", choice(&[0, 7, 8])),
            ("270 0x1 0x0 0x0\n", None),
            ("270 0x1 0x10 0x0 0x0 0x7ffe 0x0\n", for_a_time(&[0])),
            ("7 0x20 0x1 0xffffffff\n", choice(&[4])),
            ("7 0x20 0x1 0xffffffffffffffff\n", choice(&[4])),
            ("7 0x20 0x1 0x64\n", for_a_time(&[4])),
            ("271 0x20 0x3 0x0\n", choice(&[4])),
            ("271 0x20 0x3 0x7ffe\n", for_a_time(&[4])),
            ("7 0x30 0x1 0xffffffff\n", None),
            ("232 0x4 0x7ffe\n", None),
            ("61 0xffffffff 0x0\n", None),
            ("running\n", None),
            ("", None),
        ] {
            assert_eq!(waited_for(call, memory), expected, "{call}");
        }
    }

    #[test]
    fn knows_how_a_line_editor_waits() {
        for (call, expected) in [
            ("270 0x1 0x7ffc 0x0 0x0 0x0 0x7ffd 0x7ffe 0x7f3a\n", true),
            ("23 0x1 0x7ffc 0x0 0x0 0x0 0x7ffd 0x7ffe 0x7f3a\n", true),
            // For a time, for another descriptor, to write.
            ("270 0x1 0x7ffc 0x0 0x0 0x7ffc 0x7ffd 0x7ffe 0x7f3a\n", false),
            ("270 0x2 0x7ffc 0x0 0x0 0x0 0x7ffd 0x7ffe 0x7f3a\n", false),
            ("270 0x1 0x7ffc 0x7ffc 0x0 0x0 0x7ffd 0x7ffe 0x7f3a\n", false),
            ("0 0x0 0x7ffc 0x0 0x0 0x0 0x7ffd 0x7ffe 0x7f3a\n", false),
            ("running\n", false),
            ("", false),
        ] {
            assert_eq!(is_line_editor(call), expected, "{call}");
        }
    }

    #[test]
    fn knows_what_an_event_loop_listens_to() {
        assert_eq!(event_loop_of("281 0xd 0x7ffe 0x400 0xffffffffffffffff 0x0 0x8 0x7ffe 0x7f3a\n"), Some(13));
        assert_eq!(event_loop_of("0 0xd 0x7ffe\n"), None);
        assert_eq!(event_loop_of("running\n"), None);
        let known = "pos:\t0\nflags:\t02000002\nino:\t17\ntfd:       16 events:       19 data:               10  pos:0 ino:e sdev:9\n\
                     tfd:       17 events:        4 data:               11  pos:0\ntfd:       x events: 1\n";
        assert_eq!(listened_to(known).collect::<Vec<_>>(), [16]);
    }

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
