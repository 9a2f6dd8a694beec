//! Reading, editing and listing through the local backend, with its walls, locks and guards, against a floor that makes
//! only the system calls which no program can do without: `cargo bench -p gloveport-core --bench files`.
//!
//! Each row is the median of many rounds of both, in turns, so that noise of the machine meets both. The folder is that of
//! the build, on a real disk: `fdatasync` costs what it costs.
#![allow(clippy::unwrap_used, reason = "a measurement that fails has nothing to say")]
#![cfg_attr(not(target_os = "linux"), allow(unused))]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::hint::black_box;
    use std::io::Write;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use gloveport_core::access::Operation;
    use gloveport_core::backend::local::{Durability, LocalBackend, LocalOptions};
    use gloveport_core::backend::{Call, FileSystem, Missing, Window, WritableFileSystem};
    use gloveport_core::cancel::Deadline;
    use gloveport_core::change::{self, Bounds};
    use gloveport_core::edit::{Edit, StrReplace};
    use gloveport_core::limits::Limits;
    use gloveport_core::path::VirtualPath;
    use gloveport_core::text::numbered::{Style, ViewOptions, render};
    use memchr::memchr_iter;
    use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, StatxFlags, fdatasync, fstat, open, renameat, statx};
    use rustix::io::{pread, write};

    /// What is promised, and whether it held.
    struct Report {
        missed: bool,
    }

    impl Report {
        fn row(&mut self, name: &str, (ours, floor): (Duration, Duration), at_most: f64) {
            let ratio = ours.as_secs_f64() / floor.as_secs_f64();
            let holds = ratio <= at_most;
            self.missed |= !holds;
            let mark = if holds { "ok  " } else { "MISS" };
            println!("{mark} {name:<44} {ours:>10.2?}  floor {floor:>10.2?}  {ratio:>5.2} x (at most {at_most})");
        }
    }

    pub(super) fn main() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let missed = runtime.block_on(measure());
        if missed {
            std::process::exit(1);
        }
    }

    async fn measure() -> bool {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let place = folder.path().canonicalize().unwrap();
        let mut report = Report { missed: false };
        reading(&place, &mut report).await;
        listing(&place, &mut report).await;
        for durability in [Durability::Data, Durability::None] {
            editing(&place, durability, &mut report).await;
        }
        report.missed
    }

    fn backend(place: &Path, durability: Durability) -> LocalBackend {
        LocalBackend::new(LocalOptions { root: Some(place.to_owned()), durability, ..LocalOptions::default() }).unwrap()
    }

    fn at(path: &Path) -> VirtualPath {
        VirtualPath::absolute(path.to_str().unwrap()).unwrap()
    }

    /// The medians of `rounds` of each, in turns.
    async fn medians(rounds: usize, mut ours: impl AsyncFnMut(), mut floor: impl FnMut()) -> (Duration, Duration) {
        let (mut our_times, mut floor_times) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
        for _ in 0..rounds {
            let start = Instant::now();
            ours().await;
            our_times.push(start.elapsed());
            let start = Instant::now();
            floor();
            floor_times.push(start.elapsed());
        }
        (median(our_times), median(floor_times))
    }

    fn median(mut times: Vec<Duration>) -> Duration {
        times.sort_unstable();
        times[times.len() / 2]
    }

    /// Lines of about 100 bytes and of many lengths.
    fn lines_file(path: &Path, bytes: usize) {
        let mut writer = std::io::BufWriter::new(File::create(path).unwrap());
        let (mut size, mut number) = (0, 0_u64);
        while size < bytes {
            let text = format!("{number:>8} {}\n", "lorem ipsum dolor ".repeat(2 + (number % 7) as usize));
            writer.write_all(text.as_bytes()).unwrap();
            size += text.len();
            number += 1;
        }
        writer.flush().unwrap();
    }

    /// Opens, looks, reads until `lines` lines ended, counts them, closes.
    fn read_and_count(path: &Path, lines: usize, buffer: &mut [u8]) {
        let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let size = fstat(&file).unwrap().st_size as u64;
        let (mut at, mut count) = (0, 0);
        while count < lines && at < size {
            let read = pread(&file, &mut *buffer, at).unwrap();
            at += read as u64;
            count += memchr_iter(b'\n', &buffer[..read]).count();
        }
        black_box(count);
    }

    async fn read(backend: &LocalBackend, path: &VirtualPath, offset: u64) {
        let window = Window { offset, limit: 2_000, max_bytes: Limits::default().read_bytes };
        black_box(backend.read(path, window, &Call::default()).await.unwrap());
    }

    async fn reading(place: &Path, report: &mut Report) {
        let backend = backend(place, Durability::None);
        let mut buffer = vec![0; 64 << 10];
        for (name, bytes) in [("20 MB", 20_000_000), ("200 MB", 200_000_000)] {
            let path = place.join("lines.txt");
            lines_file(&path, bytes);
            let file = at(&path);
            read(&backend, &file, 0).await;
            let times =
                medians(400, async || read(&backend, &file, 0).await, || read_and_count(&path, 2_000, &mut buffer))
                    .await;
            report.row(&format!("first 2,000 lines of {name}"), times, 2.5);
        }
        let (path, file) = (place.join("lines.txt"), at(&place.join("lines.txt")));
        // The kernel forgets the peak so far.
        fs::write("/proc/self/clear_refs", "5").unwrap();
        let before = peak_memory();
        let deep = medians(
            25,
            async || read(&backend, &file, 1_000_000).await,
            || read_and_count(&path, 1_002_000, &mut buffer),
        )
        .await;
        report.row("lines 1,000,000-1,002,000 of 200 MB", deep, 1.2);
        let more = peak_memory().saturating_sub(before);
        report.missed |= more > 8 << 10;
        println!("     {:<44} {more} KiB (at most 8192)", "  more memory at its peak meanwhile");
        fs::remove_file(&path).unwrap();

        let path = place.join("small.txt");
        let text: String =
            (0..110).map(|number| format!("let value_{number} = compute({number}, \"text\");\n")).collect();
        fs::write(&path, &text).unwrap();
        let file = at(&path);
        let window = Window { offset: 0, limit: 2_000, max_bytes: Limits::default().read_bytes };
        let ours = async || {
            let slice = backend.read(&file, window, &Call::default()).await.unwrap();
            black_box(render(&slice.view(), &ViewOptions { style: Style::Numbered, line_chars: 2_000, column: 0 }));
        };
        let times = medians(5_000, ours, || read_and_count(&path, 2_000, &mut buffer)).await;
        report.row("5 KB read and numbered", times, 5.0);
    }

    /// Kilobytes that the process held at its peak.
    fn peak_memory() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    async fn listing(place: &Path, report: &mut Report) {
        let folder = place.join("many");
        fs::create_dir(&folder).unwrap();
        for number in 0..10_000 {
            fs::write(folder.join(format!("component-number-{number}.tsx")), "x").unwrap();
        }
        let backend = backend(place, Durability::None);
        let path = at(&folder);
        let ours = async || {
            let listing = backend.list(&path, 1, &Call::default()).await.unwrap();
            assert_eq!(listing.entries.len(), 10_000);
            black_box(listing);
        };
        let floor = || {
            let directory = open(&folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
            let mut entries = 0;
            for entry in Dir::read_from(&directory).unwrap() {
                let entry = entry.unwrap();
                let wanted = StatxFlags::SIZE | StatxFlags::MTIME | StatxFlags::TYPE;
                black_box(statx(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW, wanted).unwrap());
                entries += 1;
            }
            assert_eq!(entries, 10_002);
        };
        report.row("ls of 10,000 entries with sizes and times", medians(60, ours, floor).await, 1.5);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Writes beside the file, settles as asked, renames over it.
    fn replace(temporary: &Path, target: &Path, bytes: &[u8], durability: Durability) {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = open(temporary, flags, Mode::from_raw_mode(0o644)).unwrap();
        let mut rest = bytes;
        while !rest.is_empty() {
            let written = write(&file, rest).unwrap();
            rest = &rest[written..];
        }
        if durability == Durability::Data {
            fdatasync(&file).unwrap();
        }
        renameat(CWD, temporary, CWD, target).unwrap();
    }

    async fn editing(place: &Path, durability: Durability, report: &mut Report) {
        let backend = backend(place, durability);
        for (name, lines, rounds, at_most) in [("5 KB", 100, 400, 1.6), ("5 MB", 100_000, 60, 1.3)] {
            let path = place.join("edited.txt");
            let text: String =
                (0..lines).map(|number| format!("let value_{number:>8} = compute({number:>8}, text);\n")).collect();
            fs::write(&path, &text).unwrap();
            let file = at(&path);
            let middle = lines / 2;
            let mut flip = false;
            let ours = async || {
                let (from, to) = if flip { ("changed", "text") } else { ("text", "changed") };
                flip = !flip;
                let pattern = |word: &str| format!("compute({middle:>8}, {word}");
                let edit = StrReplace { old_string: pattern(from), new_string: pattern(to), replace_all: false };
                let bounds = Bounds { max_bytes: 64 << 20, deadline: Deadline::default() };
                let (transform, receipt) = change::apply(&file, vec![Edit::StrReplace(edit)], bounds, None).await;
                let call = Call::default();
                backend.update(&file, Operation::Edit, Missing::Refuse, transform, &call).await.unwrap();
                black_box(receipt.take().unwrap());
            };
            let (other, temporary) = (place.join("other.txt"), place.join("other.tmp"));
            fs::write(&other, &text).unwrap();
            let floor = || replace(&temporary, &other, text.as_bytes(), durability);
            let kind = if durability == Durability::Data { "data" } else { "none" };
            let times = medians(rounds, ours, floor).await;
            report.row(&format!("unique replacement in {name}, durability {kind}"), times, at_most);
        }
    }
}
