//! Search against the programs that people would start instead: `rg` and `fdfind` (or `fd`), process start included.
//!
//! `cargo bench -p gloveport-core --bench search` makes source trees of 500, 5,000 and 50,000 files once, asks both
//! sides the same questions in turn, and prints the median and the best time of each, their ratio (below 1: we are
//! faster), and the peak of this process' memory. A question that both sides answer differently ends it with an error.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gloveport_core::backend::local::{LocalBackend, LocalOptions};
use gloveport_core::backend::{Backend, Call};
use gloveport_core::path::VirtualPath;
use gloveport_core::sandbox::{Mount, Sandbox};
use gloveport_core::search::{GlobQuery, GrepQuery, SortOrder};
use tokio::runtime::Runtime;

mod corpus;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What is compared: a name, the program with its arguments, and our way to the same count.
struct Question {
    name: &'static str,
    program: &'static str,
    arguments: Vec<&'static str>,
    ours: Ours,
}

enum Ours {
    Glob(GlobQuery),
    Grep(GrepQuery),
}

fn main() -> Outcome<()> {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    println!(
        "{:>6}  {:<34} {:>10} {:>10}   {:>10} {:>10}   ratio of medians (of bests)",
        "files", "", "ours", "best", "theirs", "best"
    );
    for (files, rounds) in [(500, 40), (5_000, 20), (50_000, 10)] {
        let root = corpus::tree(base, files)?;
        let sandbox = Sandbox::new(vec![Mount::new(".", "/")], &root)?;
        let backend = LocalBackend::new(LocalOptions { sandbox: Some(sandbox), ..LocalOptions::default() })?;
        for question in questions() {
            compare(&runtime, &backend, &root, files, rounds, &question)?;
        }
    }
    if let Some(peak) = peak_memory() {
        println!("peak memory of this process: {peak}");
    }
    Ok(())
}

fn questions() -> Vec<Question> {
    let grep = |pattern: &str| GrepQuery { limit: 200, ..GrepQuery::new(pattern, VirtualPath::root()) };
    let regex = r"(async|await)\w* \w+\( ";
    let glob = GlobQuery::new("**/*.ts", VirtualPath::root());
    vec![
        Question {
            name: "grep, rare literal",
            program: "rg",
            arguments: vec!["-n", "-e", corpus::RARE, "."],
            ours: Ours::Grep(grep(corpus::RARE)),
        },
        Question {
            name: "grep, no match",
            program: "rg",
            arguments: vec!["-n", "-e", corpus::ABSENT, "."],
            ours: Ours::Grep(grep(corpus::ABSENT)),
        },
        Question {
            name: "grep, common regex",
            program: "rg",
            arguments: vec!["-n", "-e", regex, "."],
            ours: Ours::Grep(grep(regex)),
        },
        Question {
            name: "grep, regex in *.ts",
            program: "rg",
            arguments: vec!["-n", "-g", "*.ts", "-e", regex, "."],
            ours: Ours::Grep(GrepQuery { globs: vec!["*.ts".to_owned()], ..grep(regex) }),
        },
        Question {
            name: "grep, case-insensitive word",
            program: "rg",
            arguments: vec!["-n", "-i", "-w", "-e", "resultId", "."],
            ours: Ours::Grep(GrepQuery {
                word: true,
                case: gloveport_core::search::CaseMode::Insensitive,
                ..grep("resultId")
            }),
        },
        Question {
            name: "glob **/*.ts, newest first, to fd",
            program: if has("fdfind") { "fdfind" } else { "fd" },
            arguments: vec!["-t", "f", "-g", "*.ts"],
            ours: Ours::Glob(glob.clone()),
        },
        Question {
            name: "glob **/*.ts, by path, to rg",
            program: "rg",
            arguments: vec!["--files", "-g", "*.ts"],
            ours: Ours::Glob(GlobQuery { sort: SortOrder::Path, ..glob.clone() }),
        },
        Question {
            name: "glob **/*.ts, all files, to fd",
            program: if has("fdfind") { "fdfind" } else { "fd" },
            arguments: vec!["-I", "-t", "f", "-g", "*.ts"],
            ours: Ours::Glob(GlobQuery { respect_ignore: false, ..glob }),
        },
    ]
}

fn compare(
    runtime: &Runtime,
    backend: &LocalBackend,
    root: &Path,
    files: usize,
    rounds: usize,
    question: &Question,
) -> Outcome<()> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // In turn, so that whatever else the machine does falls on both. The first round warms up and is not counted.
    for round in 0..=rounds {
        let begun = Instant::now();
        let our_count = answer(runtime, backend, &question.ours)?;
        let our_time = begun.elapsed();
        let begun = Instant::now();
        let their_count = run(root, question)?;
        let their_time = begun.elapsed();
        if our_count != their_count {
            return Err(
                format!("{}: we find {our_count}, {} finds {their_count}", question.name, question.program).into()
            );
        }
        if round > 0 {
            ours.push(our_time);
            theirs.push(their_time);
        }
    }
    let (our_median, our_best) = summary(&mut ours);
    let (their_median, their_best) = summary(&mut theirs);
    println!(
        "{files:>6}  {:<34} {:>10} {:>10}   {:>10} {:>10}   {:.2} ({:.2})",
        question.name,
        milliseconds(our_median),
        milliseconds(our_best),
        milliseconds(their_median),
        milliseconds(their_best),
        our_median.as_secs_f64() / their_median.as_secs_f64(),
        our_best.as_secs_f64() / their_best.as_secs_f64(),
    );
    Ok(())
}

fn answer(runtime: &Runtime, backend: &LocalBackend, ours: &Ours) -> Outcome<u64> {
    let call = Call::default();
    Ok(match ours {
        Ours::Glob(query) => runtime.block_on(backend.files().glob(query, &call))?.total as u64,
        Ours::Grep(query) => runtime.block_on(backend.files().grep(query, &call))?.total_matches,
    })
}

/// Lines that the program prints.
fn run(root: &Path, question: &Question) -> Outcome<u64> {
    let output =
        Command::new(question.program).args(&question.arguments).current_dir(root).stdin(Stdio::null()).output()?;
    Ok(output.stdout.iter().filter(|byte| **byte == b'\n').count() as u64)
}

fn has(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|paths| std::env::split_paths(&paths).any(|path: PathBuf| path.join(program).exists()))
}

/// Median and best.
fn summary(times: &mut [Duration]) -> (Duration, Duration) {
    times.sort_unstable();
    (times.get(times.len() / 2).copied().unwrap_or_default(), times.first().copied().unwrap_or_default())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map(|peak| peak.trim().to_owned())
}
