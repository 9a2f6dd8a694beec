//! A source tree of realistic shape, made once and reused: the same files on every machine.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Stands in 20 files of 50,000.
pub(crate) const RARE: &str = "quetzalcoatlus";
/// Stands in no file.
pub(crate) const ABSENT: &str = "zyzzyva_nowhere";

const WORDS: &[&str] = &[
    "function", "return", "const", "import", "export", "default", "async", "await", "value", "result", "error",
    "handler", "request", "response", "config", "options", "index", "buffer", "stream", "client", "server", "parse",
    "render", "update", "create", "delete", "select", "insert", "context", "session", "token", "cache", "queue",
];

const SUFFIXES: &[(&str, u32)] =
    &[("ts", 40), ("tsx", 12), ("js", 15), ("json", 8), ("md", 8), ("css", 7), ("html", 4), ("py", 4), ("snap", 2)];

/// Xorshift: no dependency, the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// The root of a tree of `files` files below `base`; made when it is not there.
pub(crate) fn tree(base: &Path, files: usize) -> io::Result<PathBuf> {
    let root = base.join(format!("search-corpus-2-{files}"));
    let complete = base.join(format!("search-corpus-2-{files}.complete"));
    if complete.exists() {
        return Ok(root);
    }
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    fs::create_dir_all(&root)?;
    fs::create_dir(root.join(".git"))?;
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n")?;
    fs::write(root.join(".gitignore"), "node_modules/\ndist/\n*.log\n/coverage\n.env*\n!.env.example\n*.tmp\n")?;
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut directory = root.clone();
    let rare = (files / 2500).max(1);
    for index in 0..files {
        // About ten files a directory, three to eight levels deep; one file in twenty-five is ignored.
        if index % 10 == 0 {
            directory = root.clone();
            if index % 250 == 0 {
                directory.push("node_modules");
            }
            for level in 0..2 + random.below(6) {
                let width = if level < 3 { 12 } else { 4 };
                directory.push(format!("{}-{}", WORDS[random.below(WORDS.len() as u64) as usize], random.below(width)));
            }
            fs::create_dir_all(&directory)?;
            if index % 500 == 0 {
                fs::write(directory.join(".gitignore"), "/generated\n*.bak\n")?;
            }
        }
        let mut pick = random.below(100) as u32;
        let suffix = SUFFIXES
            .iter()
            .find(|(_, share)| {
                pick < *share || {
                    pick -= share;
                    false
                }
            })
            .map_or("txt", |s| s.0);
        let stem = WORDS[random.below(WORDS.len() as u64) as usize];
        let mut text = content(&mut random);
        if index % (files / rare) == 137 {
            let _ = writeln!(text, "// {RARE}");
        }
        fs::write(directory.join(format!("{stem}{index}.{suffix}")), text)?;
    }
    fs::write(complete, "")?;
    Ok(root)
}

/// Between 200 bytes and 60 KB, half of them below 3 KB.
fn content(random: &mut Random) -> String {
    let spread = random.below(1 << 12) + 1;
    let size = (200 + (1 << 23) / (spread * spread / 4 + 140)).min(60_000) as usize;
    let size = size / 2 + random.below(size as u64) as usize;
    let mut text = String::with_capacity(size + 100);
    while text.len() < size {
        let indent = random.below(4) as usize;
        text.push_str(&"  ".repeat(indent));
        for _ in 0..2 + random.below(8) {
            let word = WORDS[random.below(WORDS.len() as u64) as usize];
            let _ = write!(text, "{word}{} ", [".", "(", ");", " =", ",", "_x", "Id", ""][random.below(8) as usize]);
        }
        let _ = writeln!(text, "{}", random.below(10_000));
    }
    text
}
