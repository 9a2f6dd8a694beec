//! The constructor that holds a shell, in this order: it hides the process from others of the user, sees that the kernel lets it say
//! where words and variables lie, says that it waits, takes a command, and becomes the shell of that command.
//!
//! The C library may not have begun by then, so that nothing of it is used. The dynamic linker is done: what the shell runs from
//! here on is its own.
#![allow(unsafe_code, reason = "the words and variables that a program begins with are an array of the kernel's")]

use core::ffi::{CStr, c_char, c_int};

use crate::message::{
    Answer, DESCRIPTORS, HEADER_BYTES, Header, LIBRARY, LIMITS, MESSAGE_BYTES, PRELOAD, READY, SOCKET,
};
use crate::system::{self, EINTR, Places, Result};

/// 1 KiB: `/proc/self/stat` is a third of that.
const STAT_BYTES: usize = 1 << 10;

/// Called by the dynamic linker with what `main` gets later.
#[cfg(standby)]
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: unsafe extern "C" fn(c_int, *mut *const c_char, *mut *const c_char) = hold;

/// Returns as the shell of a command, or not at all; at once in a process that is none of the supervisor's.
///
/// # Safety
/// `arguments` and `environment` are the arrays that the kernel laid on the stack of this process, and nobody else uses them yet.
#[cfg_attr(not(standby), allow(dead_code, reason = "nobody calls it but the dynamic linker"))]
unsafe extern "C" fn hold(count: c_int, arguments: *mut *const c_char, environment: *mut *const c_char) {
    // SAFETY: as the caller vouches for.
    let Some(mut own) = (unsafe { Own::of(count, arguments, environment) }) else { return };
    system::close(LIBRARY);
    let prepared = (|| {
        let places = places()?;
        let dumpable = system::dumpable()?;
        system::set_dumpable(0)?;
        // What it refuses later it refuses now.
        places.tell()?;
        let room = system::map(MESSAGE_BYTES)?;
        system::send(SOCKET, &[READY])?;
        Ok((places, dumpable, room))
    })();
    let Ok::<_, i32>((places, dumpable, room)) = prepared else { system::exit(1) };
    let (length, descriptors) = loop {
        match system::receive::<DESCRIPTORS>(SOCKET, room) {
            Err(EINTR) => {}
            // Nobody needs it any more.
            Ok((0, _)) => system::exit(0),
            Ok(message) => break message,
            Err(_) => system::exit(1),
        }
    };
    let Some(message) = Message::of(&room[..length]) else { system::exit(1) };
    let answer = match own.become_shell_of(&message, descriptors, places) {
        Ok(()) => Answer::Runs,
        Err(answer) => answer,
    };
    // As it was, before anybody hears of it: it fails in no process that could set the other.
    let _ = system::set_dumpable(dumpable);
    let is_told = system::send(SOCKET, &answer.encode()).is_ok();
    if answer != Answer::Runs || !is_told {
        system::exit(127);
    }
    system::close(SOCKET);
}

/// The words and variables that the process began with.
struct Own {
    arguments: *mut *const c_char,
    environment: *mut *const c_char,
    /// How many of each there is room for.
    argument_count: usize,
    variable_count: usize,
}

impl Own {
    /// `None` in a process that the supervisor did not start, or where what comes is not what the kernel laid out.
    ///
    /// # Safety
    /// As for [`hold`].
    unsafe fn of(count: c_int, arguments: *mut *const c_char, environment: *mut *const c_char) -> Option<Self> {
        let argument_count = usize::try_from(count).ok()?;
        if environment != arguments.wrapping_add(argument_count).wrapping_add(1) || arguments.is_null() {
            return None;
        }
        // SAFETY: the variables lie behind the words, and end with a null.
        unsafe {
            let first = *environment;
            if first.is_null() || CStr::from_ptr(first) != PRELOAD {
                return None;
            }
            let mut variable_count = 0;
            while !(*environment.add(variable_count)).is_null() {
                variable_count += 1;
            }
            Some(Self { arguments, environment, argument_count, variable_count })
        }
    }

    /// Takes over all that `message` says, the limits last. `descriptors` are closed.
    fn become_shell_of(
        &mut self,
        message: &Message<'_>,
        descriptors: [c_int; DESCRIPTORS],
        mut places: Places,
    ) -> core::result::Result<(), Answer> {
        let [directory, stdin, stdout, stderr] = descriptors;
        system::enter(directory).map_err(Answer::Directory)?;
        for (descriptor, target) in [(stdin, 0), (stdout, 1), (stderr, 2)] {
            system::place(descriptor, target).map_err(Answer::Setup)?;
        }
        for descriptor in descriptors {
            system::close(descriptor);
        }
        if message.header.is_terminal == 1 {
            system::take_terminal(0).map_err(Answer::Setup)?;
        }
        const EINVAL: i32 = 22;
        let words = list(message.arguments, self.arguments, self.argument_count).ok_or(Answer::Setup(EINVAL))?;
        if words != self.argument_count {
            return Err(Answer::Setup(EINVAL));
        }
        let variables = list(message.environment, self.environment, self.variable_count);
        let variables = variables.ok_or(Answer::Setup(EINVAL))?;
        // SAFETY: there is a place for a null behind as many as there were at first.
        unsafe { *self.environment.add(variables) = core::ptr::null() };
        let range = |bytes: &[u8]| bytes.as_ptr_range();
        let ends = |bytes| [range(bytes).start as u64, range(bytes).end as u64];
        (places.arguments, places.environment) = (ends(message.arguments), ends(message.environment));
        places.heap[1] = system::heap_end();
        places.tell().map_err(Answer::Setup)?;
        let limits = message.header.limits.get(..message.header.limit_count as usize).unwrap_or_default();
        for limit in limits {
            system::set_limit(limit.resource, limit.current, limit.maximum).map_err(Answer::Setup)?;
        }
        Ok(())
    }
}

/// Writes where each of some texts begins into an array with `room` for so many; how many there are. `None` where they are more.
fn list(texts: &[u8], array: *mut *const c_char, room: usize) -> Option<usize> {
    let mut count = 0;
    let mut begins = true;
    for byte in texts {
        if begins {
            if count == room {
                return None;
            }
            // SAFETY: the array has room for it; the text outlives the process's own memory of it.
            unsafe { *array.add(count) = (&raw const *byte).cast() };
            count += 1;
        }
        begins = *byte == 0;
    }
    begins.then_some(count)
}

/// A message as it was received.
struct Message<'a> {
    header: Header,
    arguments: &'a [u8],
    environment: &'a [u8],
}

impl<'a> Message<'a> {
    /// `None` where the bytes are not those of one.
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let (first, rest) = bytes.split_at_checked(HEADER_BYTES)?;
        // SAFETY: there are as many bytes, the header has no invalid value, and it is copied from any alignment.
        let header = unsafe { first.as_ptr().cast::<Header>().read_unaligned() };
        let (arguments, rest) = rest.split_at_checked(header.argument_bytes as usize)?;
        let is_whole = rest.len() == header.environment_bytes as usize && header.limit_count as usize <= LIMITS;
        is_whole.then_some(Self { header, arguments, environment: rest })
    }
}

/// Where the parts of this process lie: `pid (name) state …` of `/proc/self/stat`, whose name may hold anything.
fn places() -> Result<Places> {
    const ENOENT: i32 = 2;
    let mut buffer = [0; STAT_BYTES];
    let length = system::read_file(c"/proc/self/stat", &mut buffer)?;
    parsed(buffer.get(..length).unwrap_or_default()).ok_or(ENOENT)
}

fn parsed(stat: &[u8]) -> Option<Places> {
    /// The number of the word behind the name, as the kernel's documentation counts.
    const FIRST: usize = 3;
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut places = Places::default();
    let mut found = 0;
    for (index, word) in stat.get(name_end + 2..)?.split(|byte| *byte == b' ').enumerate() {
        let place = match index + FIRST {
            26 => &mut places.code[0],
            27 => &mut places.code[1],
            28 => &mut places.stack,
            45 => &mut places.data[0],
            46 => &mut places.data[1],
            47 => &mut places.heap[0],
            48 => &mut places.arguments[0],
            49 => &mut places.arguments[1],
            50 => &mut places.environment[0],
            51 => &mut places.environment[1],
            _ => continue,
        };
        *place = number(word)?;
        found += 1;
    }
    places.heap[1] = places.heap[0].max(system::heap_end());
    (found == 10).then_some(places)
}

fn number(word: &[u8]) -> Option<u64> {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold(0u64, |number, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
    word.first()?.is_ascii_digit().then_some(number)
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::{String, ToString};
    use std::vec::Vec;

    use super::*;

    #[test]
    fn texts_are_listed_where_they_begin_and_no_more_than_there_is_room_for() {
        let texts = b"a\0\0bc\0";
        let mut array = [core::ptr::null(); 3];
        assert_eq!(list(texts, array.as_mut_ptr(), 3), Some(3));
        let begins: Vec<usize> = array.iter().map(|text| *text as usize - texts.as_ptr() as usize).collect();
        assert_eq!(begins, [0, 2, 3]);
        assert_eq!(list(texts, array.as_mut_ptr(), 2), None);
        assert_eq!(list(b"a\0b", array.as_mut_ptr(), 3), None);
        assert_eq!(list(b"", array.as_mut_ptr(), 0), Some(0));
    }

    #[test]
    fn a_message_is_taken_whole_or_not_at_all() {
        let header = Header { argument_bytes: 2, environment_bytes: 3, limit_count: 1, ..Header::default() };
        let whole = [&header.bytes()[..], b"a\0B=\0"].concat();
        let message = Message::of(&whole).unwrap();
        assert_eq!((message.header, message.arguments, message.environment), (header, &b"a\0"[..], &b"B=\0"[..]));
        for length in 0..whole.len() {
            assert!(Message::of(&whole[..length]).is_none(), "{length}");
        }
        let beyond = Header { limit_count: 7, ..Header::default() };
        assert!(Message::of(&beyond.bytes()).is_none());
    }

    #[test]
    fn the_places_of_a_process_are_read_behind_its_name() {
        let words: Vec<String> = (4..=52).map(|number| (number * 1_000).to_string()).collect();
        let stat = format!("1 (a) b 99) S {}\n", words.join(" "));
        let places = parsed(stat.as_bytes()).unwrap();
        assert_eq!((places.code, places.data, places.stack), ([26_000, 27_000], [45_000, 46_000], 28_000));
        assert_eq!((places.arguments, places.environment), ([48_000, 49_000], [50_000, 51_000]));
        assert_eq!(places.heap[0], 47_000);
        assert!(parsed(b"1 (a) S 4 5").is_none());
        assert!(parsed(b"").is_none());
        // Of this process too.
        assert!(super::places().is_ok());
    }
}
