//! What a process waits for, by the call in which it sleeps (`/proc/<pid>/syscall`).

/// 64 descriptors of one call are looked at.
const DESCRIPTORS: usize = 64;

/// How a process waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// In a read.
    Read,
    /// Until there is something to read, or something else happens.
    Choice,
    /// The same, for a time.
    ChoiceForATime,
}

impl Wait {
    fn choice(has_time: bool) -> Self {
        if has_time { Self::ChoiceForATime } else { Self::Choice }
    }
}

/// Whether a call is that by which the line editor of bash waits at its prompt, which is asked before each command: for the first descriptor
/// alone and for any time. A `read` of bash with a time gives one, and without one it reads.
pub(super) fn is_line_editor(call: &str) -> bool {
    let words: [&str; 6] = {
        let mut words = call.split_ascii_whitespace();
        std::array::from_fn(|_| words.next().unwrap_or_default())
    };
    match (std::env::consts::ARCH, words) {
        ("x86_64", ["23" | "270", "0x1", _, "0x0", _, "0x0"]) | ("aarch64", ["72", "0x1", _, "0x0", _, "0x0"]) => true,
        (_, _) => false,
    }
}

/// The descriptors that a call (`number first second …`, or `running`) waits to read. `memory` reads so many bytes of its process.
pub(super) fn waited_for(call: &str, memory: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Option<(Wait, Vec<u64>)> {
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
pub(super) fn event_loop_of(call: &str) -> Option<u64> {
    let mut words = call.split_ascii_whitespace();
    match (std::env::consts::ARCH, words.next()?) {
        ("x86_64", "232" | "281" | "441") | ("aarch64", "22" | "441") => {
            u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()
        }
        _ => None,
    }
}

/// The descriptors that such a one waits to read, of what the kernel tells of it: lines `tfd: number events: bits data: …`.
pub(super) fn listened_to(known: &str) -> impl Iterator<Item = u64> + '_ {
    let reads = |line: &str| {
        let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
        let descriptor = words.next()?.parse().ok()?;
        let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
        // EPOLLIN
        (events & 1 != 0).then_some(descriptor)
    };
    known.lines().filter_map(reads).take(DESCRIPTORS)
}

#[cfg(all(test, target_arch = "x86_64"))]
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
}
