//! Requests, orders and reports, and their bytes: little-endian, fixed order, lengths before content.

use alloc::ffi::CString;
use alloc::vec;
use alloc::vec::Vec;

/// 4 descriptors and a script travel with a request at most: directory, output, error output, input, script.
pub const MAX_DESCRIPTORS: usize = 5;
/// 16 MiB: four times what Linux takes as arguments and environment together with an 8 MiB stack limit.
pub const MAX_REQUEST_BYTES: usize = 16 << 20;

/// What the host asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Start this; only while nothing runs.
    Run(Request),
    /// Ask every process to end (`SIGTERM`), and leave what is left alone until [`Order::End`] or their own end.
    Terminate,
    /// Send this signal to the group of the command.
    Signal(u8),
    /// Kill every process.
    End,
}

/// One command. Its descriptors travel beside it, in this order: the directory, standard output, standard error, then
/// standard input and the script if there are any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The program, by absolute path, and its arguments; the first is both.
    pub arguments: Vec<CString>,
    /// The whole environment, each as `NAME=value`.
    pub environment: Vec<CString>,
    /// The ceilings.
    pub limits: Limits,
    /// Whether processes that the command leaves behind live on, until the host orders their end.
    pub keep: bool,
    /// Whether a descriptor for standard input is sent; `/dev/null` otherwise.
    pub has_stdin: bool,
    /// Whether a descriptor is sent that the program gets as its descriptor 3: a script too long for an argument.
    pub has_script: bool,
    /// Whether standard input is a terminal that becomes the one of the command's session; only with `has_stdin`.
    pub is_terminal: bool,
    /// Whether [`Report::Started`] is wanted.
    pub is_announced: bool,
}

/// Ceilings for one command; `None` leaves what the host has. Files hold for each process, the others for all together as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Bytes of address space of each (`RLIMIT_AS`), and of memory of all, which are counted: then all are killed.
    pub memory_bytes: Option<u64>,
    /// Seconds of processor time of each (`RLIMIT_CPU`): `SIGXCPU`, a second later `SIGKILL`; and with that second of all.
    pub cpu_seconds: Option<u64>,
    /// Living processes of the whole tree. It is counted, because `RLIMIT_NPROC` counts all threads of a user and none
    /// of root's: a tree that has more is killed. `RLIMIT_NPROC` is set to a multiple on top.
    pub processes: Option<u64>,
    /// Bytes of the largest file written (`RLIMIT_FSIZE`).
    pub file_bytes: Option<u64>,
    /// Open files (`RLIMIT_NOFILE`).
    pub open_files: Option<u64>,
}

/// What the supervisor tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// The command did not start.
    Failed {
        /// At which step.
        stage: Stage,
        /// The system's error number.
        errno: i32,
    },
    /// The command runs, under this number (only with [`Request::is_announced`]).
    Started(i32),
    /// The command ended, and processes that it left behind live on (only with [`Request::keep`]).
    Exited {
        /// How the command itself ended.
        status: Status,
        /// As of [`Ended`], until now.
        peak_bytes: u64,
    },
    /// The command ended and no process of it is left. Always the last report on a command that started.
    Ended(Ended),
}

/// The step at which a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The request made no sense.
    Request,
    /// A new process.
    Process,
    /// Entering the directory.
    Directory,
    /// Descriptors and limits.
    Setup,
    /// Running the program.
    Program,
}

/// How the command itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

/// How all of a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How the command itself ended.
    pub status: Status,
    /// Processes besides it that had to be killed.
    pub others: u32,
    /// Processes that could not be killed: another user's (a set-id program), or held by the kernel.
    pub survivors: u32,
    /// Bytes of memory at the peak: of its largest process, or of all together where a look showed more.
    pub peak_bytes: u64,
    /// Microseconds of processor time of all its processes.
    pub cpu_micros: u64,
    /// The ceiling that the supervisor killed it for.
    pub ceiling: Option<Ceiling>,
    /// Whether this supervisor can start no other command: somebody changed its own limits.
    pub is_spent: bool,
}

/// A ceiling that the supervisor itself watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ceiling {
    /// [`Limits::processes`].
    Processes = 1,
    /// [`Limits::memory_bytes`], of all processes together.
    Memory,
    /// [`Limits::cpu_seconds`], of all processes together.
    CpuTime,
}

/// What [`Order::decode`] found at the start of the bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Decoded {
    /// An order of so many bytes.
    Order(Order, usize),
    /// The beginning of one.
    Incomplete,
    /// No order at all.
    Nonsense,
}

const RUN: u8 = b'R';
const TERMINATE: u8 = b'T';
const SIGNAL: u8 = b'S';
const END: u8 = b'E';
/// The tag and the length of what follows.
const RUN_HEADER: usize = 1 + 4;
const KEEP: u8 = 1;
const STDIN: u8 = 2;
const SCRIPT: u8 = 4;
const TERMINAL: u8 = 8;
const ANNOUNCED: u8 = 16;

impl Order {
    /// The bytes of this order; `None` for a request beyond [`MAX_REQUEST_BYTES`].
    pub fn encode(&self) -> Option<Vec<u8>> {
        match self {
            Self::Run(request) => {
                let mut bytes = vec![RUN, 0, 0, 0, 0];
                request.encode(&mut bytes)?;
                let length = bytes.len() - RUN_HEADER;
                if length > MAX_REQUEST_BYTES {
                    return None;
                }
                bytes[1..RUN_HEADER].copy_from_slice(&u32::try_from(length).ok()?.to_le_bytes());
                Some(bytes)
            }
            Self::Terminate => Some(vec![TERMINATE]),
            Self::Signal(signal) => Some(vec![SIGNAL, *signal]),
            Self::End => Some(vec![END]),
        }
    }

    /// The first order of a stream.
    pub fn decode(bytes: &[u8]) -> Decoded {
        match bytes.first() {
            None => Decoded::Incomplete,
            Some(&TERMINATE) => Decoded::Order(Self::Terminate, 1),
            Some(&END) => Decoded::Order(Self::End, 1),
            Some(&SIGNAL) => match bytes.get(1) {
                Some(signal) => Decoded::Order(Self::Signal(*signal), 2),
                None => Decoded::Incomplete,
            },
            Some(&RUN) => {
                let Some(length) = Reader(&bytes[1..]).u32() else { return Decoded::Incomplete };
                let Ok(length) = usize::try_from(length) else { return Decoded::Nonsense };
                if length > MAX_REQUEST_BYTES {
                    return Decoded::Nonsense;
                }
                match bytes.get(RUN_HEADER..RUN_HEADER + length) {
                    None => Decoded::Incomplete,
                    Some(body) => match Request::decode(body) {
                        Some(request) => Decoded::Order(Self::Run(request), RUN_HEADER + length),
                        None => Decoded::Nonsense,
                    },
                }
            }
            Some(_) => Decoded::Nonsense,
        }
    }
}

impl Request {
    /// How many descriptors travel with it.
    pub fn descriptors(&self) -> usize {
        3 + usize::from(self.has_stdin) + usize::from(self.has_script)
    }

    fn encode(&self, bytes: &mut Vec<u8>) -> Option<()> {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        bytes.push(
            flag(self.keep, KEEP)
                | flag(self.has_stdin, STDIN)
                | flag(self.has_script, SCRIPT)
                | flag(self.is_terminal, TERMINAL)
                | flag(self.is_announced, ANNOUNCED),
        );
        for limit in self.limits.in_order() {
            // No limit is the largest number: as a limit it would mean the same.
            bytes.extend(limit.unwrap_or(u64::MAX).to_le_bytes());
        }
        for list in [&self.arguments, &self.environment] {
            bytes.extend(u32::try_from(list.len()).ok()?.to_le_bytes());
            for text in list {
                bytes.extend(text.as_bytes_with_nul());
            }
        }
        Some(())
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let [flags] = reader.take()?;
        let mut limits = [None; 5];
        for limit in &mut limits {
            *limit = Some(reader.u64()?).filter(|limit| *limit != u64::MAX);
        }
        let [memory_bytes, cpu_seconds, processes, file_bytes, open_files] = limits;
        let request = Self {
            arguments: reader.texts()?,
            environment: reader.texts()?,
            limits: Limits { memory_bytes, cpu_seconds, processes, file_bytes, open_files },
            keep: flags & KEEP != 0,
            has_stdin: flags & STDIN != 0,
            has_script: flags & SCRIPT != 0,
            is_terminal: flags & TERMINAL != 0,
            is_announced: flags & ANNOUNCED != 0,
        };
        (reader.0.is_empty() && !request.arguments.is_empty()).then_some(request)
    }
}

impl Limits {
    fn in_order(&self) -> [Option<u64>; 5] {
        [self.memory_bytes, self.cpu_seconds, self.processes, self.file_bytes, self.open_files]
    }
}

impl Report {
    /// Every report has this many bytes.
    pub const BYTES: usize = 40;

    /// The bytes of this report.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        match self {
            Self::Failed { stage, errno } => {
                bytes[0] = 1;
                bytes[1] = *stage as u8;
                bytes[4..8].copy_from_slice(&errno.to_le_bytes());
            }
            Self::Started(pid) => {
                bytes[0] = 4;
                bytes[4..8].copy_from_slice(&pid.to_le_bytes());
            }
            Self::Exited { status, peak_bytes } => {
                bytes[0] = 2;
                put_status(&mut bytes, *status);
                bytes[8..16].copy_from_slice(&peak_bytes.to_le_bytes());
            }
            Self::Ended(ended) => {
                bytes[0] = 3;
                put_status(&mut bytes, ended.status);
                bytes[2] = ended.ceiling.map_or(0, |ceiling| ceiling as u8);
                bytes[3] = ended.is_spent.into();
                bytes[8..12].copy_from_slice(&ended.others.to_le_bytes());
                bytes[12..16].copy_from_slice(&ended.survivors.to_le_bytes());
                bytes[16..24].copy_from_slice(&ended.peak_bytes.to_le_bytes());
                bytes[24..32].copy_from_slice(&ended.cpu_micros.to_le_bytes());
            }
        }
        bytes
    }

    /// The report of these bytes; `None` where they are none.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let mut reader = Reader(&bytes[4..]);
        match bytes[0] {
            1 => {
                let stage = [Stage::Request, Stage::Process, Stage::Directory, Stage::Setup, Stage::Program]
                    .into_iter()
                    .find(|stage| *stage as u8 == bytes[1])?;
                Some(Self::Failed { stage, errno: reader.i32()? })
            }
            4 => Some(Self::Started(reader.i32()?)),
            2 => Some(Self::Exited { status: status_of(bytes[1], reader.i32()?)?, peak_bytes: reader.u64()? }),
            3 => Some(Self::Ended(Ended {
                status: status_of(bytes[1], reader.i32()?)?,
                others: reader.u32()?,
                survivors: reader.u32()?,
                peak_bytes: reader.u64()?,
                cpu_micros: reader.u64()?,
                ceiling: [Ceiling::Processes, Ceiling::Memory, Ceiling::CpuTime]
                    .into_iter()
                    .find(|ceiling| *ceiling as u8 == bytes[2]),
                is_spent: bytes[3] != 0,
            })),
            _ => None,
        }
    }
}

fn put_status(bytes: &mut [u8; Report::BYTES], status: Status) {
    let (kind, value) = match status {
        Status::Exited(code) => (0, code),
        Status::Signalled(signal) => (1, signal),
    };
    bytes[1] = kind;
    bytes[4..8].copy_from_slice(&value.to_le_bytes());
}

fn status_of(kind: u8, value: i32) -> Option<Status> {
    match kind {
        0 => Some(Status::Exited(value)),
        1 => Some(Status::Signalled(value)),
        _ => None,
    }
}

/// Takes values off the front of some bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.take().map(i32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn texts(&mut self) -> Option<Vec<CString>> {
        let count = self.u32()?;
        // The count is not believed: each text takes a byte at least.
        let mut texts = Vec::new();
        for _ in 0..count {
            let end = self.0.iter().position(|byte| *byte == 0)?;
            texts.push(CString::new(&self.0[..end]).ok()?);
            self.0 = &self.0[end + 1..];
        }
        Some(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = CString> {
        prop::collection::vec(1u8.., 0..20).prop_map(|bytes| CString::new(bytes).unwrap())
    }

    fn limit() -> impl Strategy<Value = Option<u64>> {
        prop::option::of(0..u64::MAX)
    }

    prop_compose! {
        fn request()(
            arguments in prop::collection::vec(text(), 1..5),
            environment in prop::collection::vec(text(), 0..5),
            [memory_bytes, cpu_seconds, processes, file_bytes, open_files] in [limit(), limit(), limit(), limit(), limit()],
            [keep, has_stdin, has_script, is_terminal, is_announced] in any::<[bool; 5]>(),
        ) -> Request {
            let limits = Limits { memory_bytes, cpu_seconds, processes, file_bytes, open_files };
            Request { arguments, environment, limits, keep, has_stdin, has_script, is_terminal, is_announced }
        }
    }

    proptest! {
        #[test]
        fn orders_come_out_as_they_went_in(request in request(), next in any::<Vec<u8>>()) {
            let order = Order::Run(request);
            let mut bytes = order.encode().unwrap();
            let length = bytes.len();
            for cut in 0..length {
                prop_assert_eq!(Order::decode(&bytes[..cut]), Decoded::Incomplete);
            }
            bytes.extend(next);
            prop_assert_eq!(Order::decode(&bytes), Decoded::Order(order, length));
        }

        #[test]
        fn any_bytes_are_survived(bytes in any::<Vec<u8>>(), report in prop::array::uniform32(any::<u8>())) {
            let mut run = vec![RUN];
            run.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
            run.extend(&bytes);
            let _ = Order::decode(&run);
            let _ = Order::decode(&bytes);
            let mut frame = [0; Report::BYTES];
            frame[..32].copy_from_slice(&report);
            let _ = Report::decode(&frame);
        }
    }

    #[test]
    fn short_orders_come_out_as_they_went_in() {
        for order in [Order::Terminate, Order::Signal(2), Order::Signal(255), Order::End] {
            let bytes = order.encode().unwrap();
            let length = bytes.len();
            assert_eq!(Order::decode(&bytes[..length - 1]), Decoded::Incomplete);
            assert_eq!(Order::decode(&bytes), Decoded::Order(order, length));
        }
    }

    #[test]
    fn reports_come_out_as_they_went_in() {
        let ended = Ended {
            status: Status::Exited(3),
            others: 7,
            survivors: 1,
            peak_bytes: 1 << 40,
            cpu_micros: 5,
            ceiling: Some(Ceiling::Processes),
            is_spent: true,
        };
        for report in [
            Report::Failed { stage: Stage::Program, errno: 2 },
            Report::Failed { stage: Stage::Request, errno: 0 },
            Report::Started(123_456),
            Report::Exited { status: Status::Signalled(9), peak_bytes: 1 << 40 },
            Report::Ended(ended),
            Report::Ended(Ended { ceiling: Some(Ceiling::Memory), ..ended }),
            Report::Ended(Ended { ceiling: Some(Ceiling::CpuTime), ..ended }),
            Report::Ended(Ended { status: Status::Signalled(15), ceiling: None, is_spent: false, ..ended }),
        ] {
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
    }

    #[test]
    fn a_request_names_its_descriptors() {
        let mut request = Request::default();
        assert_eq!(request.descriptors(), 3);
        request.has_stdin = true;
        request.has_script = true;
        assert_eq!(request.descriptors(), MAX_DESCRIPTORS);
    }

    #[test]
    fn orders_of_one_byte_and_nonsense_are_told_apart() {
        assert_eq!(Order::decode(b"TE"), Decoded::Order(Order::Terminate, 1));
        assert_eq!(Order::decode(b"E"), Decoded::Order(Order::End, 1));
        assert_eq!(Order::decode(b"x"), Decoded::Nonsense);
        assert_eq!(Order::decode(b"R\xFF\xFF\xFF\xFF"), Decoded::Nonsense);
    }
}
