//! What the supervisor and a shell that stands by tell each other, over a socket that keeps messages apart.
//!
//! The shell says [`READY`]; the supervisor sends one message, a [`Header`] and behind it the words of the command and its variables,
//! each ended by a NUL, with [`DESCRIPTORS`] beside it; the shell gives an [`Answer`]. Both are built from this source.

use core::ffi::CStr;

/// The descriptor of a held shell that is its end of the socket.
pub const SOCKET: i32 = 3;
/// The descriptor that the library is loaded from.
pub const LIBRARY: i32 = 4;
/// The first variable of a shell that is held: how it gets the library, and how the library knows it.
pub const PRELOAD: &CStr = c"LD_PRELOAD=/proc/self/fd/4";
/// What a held shell says when it waits.
pub const READY: u8 = b'R';
/// Beside a message travel the directory, standard input, standard output and standard error.
pub const DESCRIPTORS: usize = 4;
/// As many limits as may be set.
pub const LIMITS: usize = 6;
/// 32 KiB of a message: a long command with an ordinary environment. What is longer takes longer to run.
pub const MESSAGE_BYTES: usize = 32 << 10;
/// The size of a [`Header`].
pub const HEADER_BYTES: usize = size_of::<Header>();

/// The beginning of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// Bytes of the words.
    pub argument_bytes: u32,
    /// Bytes of the variables behind them.
    pub environment_bytes: u32,
    /// How many limits are set.
    pub limit_count: u32,
    /// Whether standard input becomes the terminal of the session: 1 or 0.
    pub is_terminal: u32,
    /// The limits.
    pub limits: [Limit; LIMITS],
}

/// One limit, as the kernel takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Limit {
    /// The number of the resource.
    pub resource: u64,
    /// The limit that holds.
    pub current: u64,
    /// The most that it may be raised to.
    pub maximum: u64,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The command runs.
    Runs,
    /// The directory may not be entered, for this reason; the shell ends.
    Directory(i32),
    /// A descriptor, the terminal or a limit could not be set; the shell ends.
    Setup(i32),
}

impl Answer {
    /// Every answer has this many bytes.
    pub const BYTES: usize = 8;

    /// The bytes of this answer.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let (kind, errno) = match self {
            Self::Runs => (0, 0),
            Self::Directory(errno) => (1, errno),
            Self::Setup(errno) => (2, errno),
        };
        let [a, b, c, d] = errno.to_le_bytes();
        [kind, 0, 0, 0, a, b, c, d]
    }

    /// The answer of these bytes; `None` where they are none.
    pub fn decode(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let [kind, _, _, _, a, b, c, d] = bytes;
        let errno = i32::from_le_bytes([a, b, c, d]);
        match kind {
            0 => Some(Self::Runs),
            1 => Some(Self::Directory(errno)),
            2 => Some(Self::Setup(errno)),
            _ => None,
        }
    }
}

impl Header {
    /// Its bytes.
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let counts = [self.argument_bytes, self.environment_bytes, self.limit_count, self.is_terminal];
        let (first, rest) = bytes.split_at_mut(size_of_val(&counts));
        for (place, count) in first.chunks_exact_mut(4).zip(counts) {
            place.copy_from_slice(&count.to_ne_bytes());
        }
        let numbers = self.limits.iter().flat_map(|limit| [limit.resource, limit.current, limit.maximum]);
        for (place, number) in rest.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_what_was_given() {
        for answer in [Answer::Runs, Answer::Directory(13), Answer::Setup(-1), Answer::Setup(i32::MAX)] {
            assert_eq!(Answer::decode(answer.encode()), Some(answer));
        }
        assert_eq!(Answer::decode([3, 0, 0, 0, 0, 0, 0, 0]), None);
    }

    /// The held shell reads the header where it was received, as it lies in memory.
    #[test]
    fn a_header_lies_in_its_bytes_as_in_memory() {
        let limit = |number| Limit { resource: number, current: number << 40, maximum: u64::MAX - number };
        let header = Header {
            argument_bytes: 1,
            environment_bytes: 2,
            limit_count: 3,
            is_terminal: 1,
            limits: [0, 1, 2, 3, 4, 5].map(limit),
        };
        let bytes = header.bytes();
        let at = |offset: usize, length: usize| &bytes[offset..offset + length];
        assert_eq!(at(core::mem::offset_of!(Header, environment_bytes), 4), 2u32.to_ne_bytes());
        assert_eq!(at(core::mem::offset_of!(Header, is_terminal), 4), 1u32.to_ne_bytes());
        for (index, limit) in header.limits.iter().enumerate() {
            let place = core::mem::offset_of!(Header, limits) + index * size_of::<Limit>();
            assert_eq!(at(place + core::mem::offset_of!(Limit, resource), 8), limit.resource.to_ne_bytes());
            assert_eq!(at(place + core::mem::offset_of!(Limit, current), 8), limit.current.to_ne_bytes());
            assert_eq!(at(place + core::mem::offset_of!(Limit, maximum), 8), limit.maximum.to_ne_bytes());
        }
    }
}
