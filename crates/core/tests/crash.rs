//! Other processes on the same files: killed while they write (D10, D37, R-FS-6), or writing at the same time (BE-108, R-ED-3).
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use gloveport_core::access::Operation;
use gloveport_core::backend::local::{Durability, LocalBackend, LocalOptions};
use gloveport_core::backend::{Backend, Call, Missing, Transform};
use gloveport_core::path::VirtualPath;

/// Tells a re-executed test binary where to write.
const PLACE: &str = "GLOVEPORT_CRASH_PLACE";
/// Which file is written.
const NAME: &str = "GLOVEPORT_CRASH_NAME";
/// And which lines are its own.
const FIRST: &str = "GLOVEPORT_CRASH_FIRST";
/// 10,000 overwrites in 20 lives.
const LIVES: u64 = 20;
const OVERWRITES_OF_A_LIFE: u64 = 500;
/// A version is this number of copies of its own number, so that a mixture shows.
const COPIES: usize = 512;

fn open(place: &Path) -> LocalBackend {
    let options =
        LocalOptions { root: Some(place.to_owned()), durability: Durability::None, ..LocalOptions::default() };
    LocalBackend::new(options).unwrap()
}

fn at(place: &Path, name: &str) -> VirtualPath {
    VirtualPath::absolute(place.join(name).to_str().unwrap()).unwrap()
}

fn again(test: &str, place: &Path, name: &str, first: u64) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(PLACE, place)
        .env(NAME, name)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

fn version(number: u64) -> Vec<u8> {
    format!("{number:08}").repeat(COPIES).into_bytes()
}

async fn overwrite(backend: &LocalBackend, path: &VirtualPath, bytes: Vec<u8>) {
    let transform: Transform = Box::new(move |_| Ok(bytes));
    let call = Call::default();
    backend.writer().unwrap().update(path, Operation::Write, Missing::Create, transform, &call).await.unwrap();
}

/// Where a life writes: in turns in the mounted directory and below it.
fn name_of(life: u64) -> &'static str {
    if life.is_multiple_of(2) { "deep/file" } else { "file" }
}

/// Overwrites until it is killed, and says each number before it writes it.
async fn overwrite_forever(place: &Path, first: u64) {
    let backend = open(place);
    let path = at(place, &std::env::var(NAME).unwrap());
    for number in first.. {
        println!("#{number}");
        overwrite(&backend, &path, version(number)).await;
    }
}

/// Temporary files in a directory.
fn temporaries(directory: &Path) -> usize {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".tmp")).count()
}

#[tokio::test]
async fn a_killed_writer_leaves_the_old_or_the_new_file_and_no_debris_after_the_next_open() {
    let first: u64 = std::env::var(FIRST).map_or(0, |text| text.parse().unwrap());
    if let Some(place) = std::env::var_os(PLACE) {
        return overwrite_forever(Path::new(&place), first).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    fs::create_dir(place.join("deep")).unwrap();
    let mut number = 0;
    let mut debris = 0;
    for life in 1..=LIVES {
        let test = "a_killed_writer_leaves_the_old_or_the_new_file_and_no_debris_after_the_next_open";
        let (mut child, output) = again(test, &place, name_of(life), number);
        let mut said = number;
        // Kept until the child is dead: it must die of the signal, not of a closed pipe.
        let mut lines = output.lines();
        for line in lines.by_ref() {
            let line = line.unwrap();
            let Some(text) = line.rsplit('#').next().and_then(|text| text.parse::<u64>().ok()) else { continue };
            said = text;
            if said >= life * OVERWRITES_OF_A_LIFE {
                break;
            }
        }
        // Somewhere in the next write, a little later in each life.
        for _ in 0..life * 4_000 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let file = place.join(name_of(life));
        let bytes = fs::read(&file).unwrap();
        let found: u64 = std::str::from_utf8(&bytes[..8]).unwrap().parse().unwrap();
        assert_eq!(bytes, version(found), "a mixture of versions after life {life}");
        assert!(found + 1 >= said, "version {said} was being written, {found} was found");
        debris += temporaries(file.parent().unwrap());
        number = found + 1;
        let backend = open(&place);
        if life.is_multiple_of(2) {
            // Below the mounted directory it is the first write to a directory that cleans it.
            overwrite(&backend, &at(&place, name_of(life)), version(number)).await;
        }
        assert_eq!(temporaries(file.parent().unwrap()), 0, "debris after life {life}");
        // Both files hold the last version, so that each life goes on from it.
        for life in [1, 2] {
            overwrite(&backend, &at(&place, name_of(life)), version(number)).await;
        }
    }
    println!("{number} overwrites in {LIVES} lives, {debris} temporary files found and removed");
    assert!(number >= LIVES * OVERWRITES_OF_A_LIFE);
}

/// Appends 25 lines of its own, all at once.
async fn append_lines(place: &Path, first: u64) {
    let backend = Arc::new(open(place));
    let path = at(place, "log");
    let tasks: Vec<_> = (first..first + 25)
        .map(|number| {
            let (backend, path) = (Arc::clone(&backend), path.clone());
            tokio::spawn(async move {
                let transform: Transform = Box::new(move |old| {
                    let mut bytes = old.map_or_else(Vec::new, |old| old.bytes);
                    bytes.extend_from_slice(format!("{number}\n").as_bytes());
                    Ok(bytes)
                });
                let call = Call::default();
                let writer = backend.writer().unwrap();
                writer.update(&path, Operation::Edit, Missing::Create, transform, &call).await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_updates_of_one_file_from_two_processes_are_all_applied() {
    let first: u64 = std::env::var(FIRST).map_or(0, |text| text.parse().unwrap());
    if let Some(place) = std::env::var_os(PLACE) {
        return append_lines(Path::new(&place), first).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    let test = "fifty_updates_of_one_file_from_two_processes_are_all_applied";
    let children = [again(test, &place, "log", 0), again(test, &place, "log", 25)];
    for (mut child, output) in children {
        for line in output.lines() {
            line.unwrap();
        }
        assert!(child.wait().unwrap().success());
    }
    let mut lines: Vec<u64> =
        fs::read_to_string(place.join("log")).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    lines.sort_unstable();
    assert_eq!(lines, (0..50).collect::<Vec<_>>());
}
