//! Measures reading and editing against the least work that could do the same: `cargo bench -p gloveport-core --bench text`.
//!
//! Each row is the median of many rounds of ours and of a floor, taken in turns, so that noise of the machine meets both.
//! The floor is plain positioned reads and counting, or one write to a temporary file and a rename.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use gloveport_core::cancel::Deadline;
use gloveport_core::edit::{Edit, EditOptions, StrReplace, apply, apply_owned};
use gloveport_core::limits::Limits;
use gloveport_core::text::ansi::AnsiStripper;
use gloveport_core::text::head_tail::HeadTail;
use gloveport_core::text::numbered::{Style, ViewOptions, render};
use gloveport_core::text::window::{self, TextWindow, Window, WindowRequest};
use memchr::memchr_iter;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Bytes of the large file: 200 MB, as the requirement says.
const LARGE: usize = 200_000_000;

fn main() -> Outcome {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    println!("{:<44} {:>12} {:>12} {:>7} {:>7}", "", "ours", "floor", "ratio", "at most");
    reading(folder.path())?;
    editing(folder.path())?;
    streams();
    Ok(())
}

/// The median of `rounds` of each, in turns.
fn medians(
    rounds: usize,
    mut ours: impl FnMut() -> Outcome,
    mut floor: impl FnMut() -> Outcome,
) -> Outcome<(Duration, Duration)> {
    let (mut our_times, mut floor_times) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
    for _ in 0..rounds {
        let start = Instant::now();
        ours()?;
        our_times.push(start.elapsed());
        let start = Instant::now();
        floor()?;
        floor_times.push(start.elapsed());
    }
    Ok((median(our_times), median(floor_times)))
}

fn median_of(rounds: usize, mut work: impl FnMut()) -> Duration {
    let times = (0..rounds).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    median(times.collect())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn row(name: &str, (ours, floor): (Duration, Duration), at_most: f64) {
    let ratio = ours.as_secs_f64() / floor.as_secs_f64();
    println!("{name:<44} {ours:>12.2?} {floor:>12.2?} {ratio:>7.2} {at_most:>7.2}");
}

fn line(name: &str, time: Duration, note: &str) {
    println!("{name:<44} {time:>12.2?} {note}");
}

fn read(file: &File, size: u64, offset: u64, limit: u64) -> Outcome<TextWindow> {
    let limits = Limits::default();
    let deadline = Deadline::default();
    let request = WindowRequest {
        window: Window { offset, limit, max_bytes: limits.read_bytes },
        size,
        count_lines_bytes: limits.count_lines_bytes,
        path: "/large.txt",
        deadline: &deadline,
    };
    Ok(window::read(&mut &*file, &request)?)
}

/// Reads until `lines` lines ended, and counts.
fn read_and_count(file: &File, lines: usize, buffer: &mut [u8]) -> Outcome {
    let (mut at, mut count) = (0, 0);
    while count < lines {
        let read = file.read_at(buffer, at)?;
        if read == 0 {
            break;
        }
        at += read as u64;
        count += memchr_iter(b'\n', &buffer[..read]).count();
    }
    black_box(count);
    Ok(())
}

fn reading(folder: &Path) -> Outcome {
    let path = folder.join("large.txt");
    let mut writer = std::io::BufWriter::new(File::create(&path)?);
    let (mut size, mut number) = (0, 0_u64);
    while size < LARGE {
        // About 100 bytes, of many lengths.
        let text = format!("{number:>8} {}\n", "lorem ipsum dolor ".repeat(2 + (number % 7) as usize));
        writer.write_all(text.as_bytes())?;
        size += text.len();
        number += 1;
    }
    writer.flush()?;
    drop(writer);
    let file = File::open(&path)?;
    let size = file.metadata()?.len();
    let mut buffer = vec![0; 64 << 10];
    let before = peak_memory();
    let mut ours = || read(&file, size, 0, 2000).map(|window| drop(black_box(window)));
    row("first 2,000 lines of 200 MB", medians(300, &mut ours, || read_and_count(&file, 2000, &mut buffer))?, 2.5);
    let deep = || read(&file, size, 1_000_000, 2000).map(|window| drop(black_box(window)));
    row(
        "lines 1,000,000-1,002,000 of 200 MB",
        medians(30, deep, || read_and_count(&file, 1_002_000, &mut buffer))?,
        1.2,
    );
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        println!(
            "{:<44} {:>9} KiB (at most 8,192)",
            "  more memory at its peak meanwhile",
            after.saturating_sub(before)
        );
    }

    let small = folder.join("small.txt");
    let text: String = (0..110).map(|number| format!("let value_{number} = compute({number}, \"text\");\n")).collect();
    fs::write(&small, &text)?;
    let file = File::open(&small)?;
    let ours = || {
        let window = read(&file, text.len() as u64, 0, 2000)?;
        let options = ViewOptions { style: Style::Numbered, line_chars: 2000, column: 0 };
        black_box(render(&window.view(0), &options));
        Ok(())
    };
    row("5 KB read and numbered", medians(5000, ours, || read_and_count(&file, 2000, &mut buffer))?, f64::INFINITY);
    let window = read(&file, text.len() as u64, 0, 2000)?;
    let options = ViewOptions { style: Style::Tagged, line_chars: 2000, column: 0 };
    line("5 KB tagged", median_of(1000, || drop(black_box(render(&window.view(0), &options)))), "");
    Ok(())
}

/// Kilobytes that the process held at its peak, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn editing(folder: &Path) -> Outcome {
    for (name, lines, rounds, at_most) in [("5 KB", 100, 1500, 1.6), ("5 MB", 100_000, 200, 1.3)] {
        let path = folder.join("edited.txt");
        let temporary = folder.join("edited.tmp");
        let text: String =
            (0..lines).map(|number| format!("let value_{number:>8} = compute({number:>8}, text);\n")).collect();
        fs::write(&path, &text)?;
        let middle = lines / 2;
        let edit = |from: &str, to: &str| {
            let pattern = |word: &str| format!("compute({middle:>8}, {word}");
            Edit::StrReplace(StrReplace { old_string: pattern(from), new_string: pattern(to), replace_all: false })
        };
        let deadline = Deadline::default();
        let options = EditOptions { path: "/edited.txt", max_bytes: 64 << 20, deadline: &deadline };
        let mut flip = false;
        let ours = || {
            let (from, to) = if flip { ("changed", "text") } else { ("text", "changed") };
            flip = !flip;
            let mut bytes = Vec::with_capacity(text.len() + 4096);
            File::open(&path)?.read_to_end(&mut bytes)?;
            let applied = apply_owned(bytes, &[edit(from, to)], &options)?;
            fs::write(&temporary, &applied.bytes)?;
            fs::rename(&temporary, &path)?;
            black_box(applied);
            Ok(())
        };
        let other = folder.join("other.txt");
        fs::write(&other, &text)?;
        let floor = || {
            fs::write(&temporary, text.as_bytes())?;
            Ok(fs::rename(&temporary, &other)?)
        };
        row(&format!("unique replacement in {name}"), medians(rounds, ours, floor)?, at_most);

        let hit = [edit("text", "changed")];
        line("  of it, the edit alone", median_of(50, || drop(black_box(apply(text.as_bytes(), &hit, &options)))), "");
        let miss = [edit("txet", "changed")];
        line("  a miss, explained", median_of(20, || drop(black_box(apply(text.as_bytes(), &miss, &options)))), "");
    }
    Ok(())
}

fn streams() {
    let output = "\u{1b}[32m   Compiling\u{1b}[0m some-crate v1.2.3 (a path)\r\nplain text without any colour in it\n"
        .repeat(20_000);
    let time = median_of(20, || {
        let (mut stripper, mut text) = (AnsiStripper::new(), String::new());
        for piece in output.as_bytes().chunks(8192) {
            stripper.push(piece, &mut text);
        }
        black_box(&text);
    });
    line("terminal control out of 2 MB", time, &throughput(output.len(), time));

    let time = median_of(20, || {
        let mut buffer = HeadTail::new(100_000);
        for piece in output.as_bytes().chunks(8192) {
            buffer.push(piece);
        }
        black_box(buffer.capture());
    });
    line("head and tail of 2 MB", time, &throughput(output.len(), time));
}

fn throughput(bytes: usize, time: Duration) -> String {
    format!("{:.0} MB/s", bytes as f64 / 1e6 / time.as_secs_f64())
}
