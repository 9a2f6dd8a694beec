//! What the walls cost: opening a file through the sandbox against a plain `open` of the same file, and looking a path
//! up in a table of 100 mounts. Both kinds of opening are measured in turns in one run, so that a slow machine slows
//! both; the ratio of the medians is what counts.
//!
//! `cargo bench -p gloveport-core --bench opening`, and with `GLOVEPORT_RESOLVER=walk` for the other resolver.
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::symlink;
use std::time::Instant;

use gloveport_core::backend::local::{LocalBackend, LocalOptions};
use gloveport_core::path::VirtualPath;
use gloveport_core::sandbox::{Mount, Sandbox};

/// Each sample is the mean of this many opens.
const OPENS: u32 = 200;
const SAMPLES: usize = 200;
const CHECKS: u32 = 2_000_000;

fn sample(work: impl Fn()) -> f64 {
    let begin = Instant::now();
    for _ in 0..OPENS {
        work();
    }
    begin.elapsed().as_nanos() as f64 / f64::from(OPENS)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn compare(backend: &LocalBackend, host: &std::path::Path, path: &VirtualPath, what: &str, most: f64) {
    let (mut plain, mut walled) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        plain.push(sample(|| drop(black_box(File::open(host).unwrap()))));
        walled.push(sample(|| drop(black_box(backend.open_file(path).unwrap()))));
    }
    let (plain, walled) = (median(plain), median(walled));
    println!("{what:<32} open {plain:>7.0} ns   sandbox {walled:>7.0} ns   {:.2} x (at most {most})", walled / plain);
}

fn main() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    let sandbox = Sandbox::new(vec![Mount::new("root", "/work")], &root).unwrap();
    let options = LocalOptions { sandbox: Some(sandbox), ..LocalOptions::default() };
    let backend = LocalBackend::new(options).unwrap();
    for depth in [1, 4, 12] {
        let directories: String = (1..depth).map(|level| format!("d{level}/")).collect();
        let below = root.join("root").join(&directories);
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("file"), "x").unwrap();
        symlink("file", below.join("link")).unwrap();
        // A link to the directory in the middle of the way; at depth 1 one in front of the only name.
        let middle = depth / 2;
        let above: String = (1..middle).map(|level| format!("d{level}/")).collect();
        let behind: String = (middle + 1..depth).map(|level| format!("d{level}/")).collect();
        let target = if middle == 0 { ".".to_owned() } else { format!("d{middle}") };
        let through = format!("{above}to-the-middle-{depth}/{behind}");
        symlink(&target, root.join("root").join(&above).join(format!("to-the-middle-{depth}"))).unwrap();
        for (what, relative, most) in [
            ("no link", format!("{directories}file"), 2.0),
            ("a link at the end", format!("{directories}link"), 6.0),
            ("a link in the middle", format!("{through}file"), 6.0),
            ("links at both", format!("{through}link"), 6.0),
        ] {
            let path = VirtualPath::absolute(&format!("/work/{relative}")).unwrap();
            compare(&backend, &root.join("root").join(&relative), &path, &format!("depth {depth}, {what}"), most);
        }
    }

    let mounts =
        (0..100).map(|number| Mount::new(format!("m{number}"), format!("/mnt/group{}/m{number}", number % 10)));
    let table = Sandbox::new(mounts.collect(), &root).unwrap();
    let table = table.table();
    let paths: Vec<VirtualPath> = (0..200)
        .map(|number| format!("/mnt/group{}/m{number}/src/components/button.tsx", number % 10))
        .map(|path| VirtualPath::absolute(&path).unwrap())
        .collect();
    let begin = Instant::now();
    for path in paths.iter().cycle().take(CHECKS as usize) {
        black_box(table.can_read(black_box(path)));
    }
    let rate = f64::from(CHECKS) / begin.elapsed().as_secs_f64() / 1e6;
    println!("mount table of 100               {rate:.1} million checks a second (at least 1)");
}
