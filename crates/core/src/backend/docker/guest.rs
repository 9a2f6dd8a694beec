//! The guest program: where it comes from and how it gets into a container.

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};

/// Where the guest lies in a container of ours.
pub(super) const GUEST_DIRECTORY: &str = "/.gloveport";
/// The guest itself.
pub(super) const GUEST_PROGRAM: &str = "/.gloveport/guest";
/// 64 MiB: a build for tests is large; nothing that is larger is our program.
const MAX_BYTES: u64 = 64 << 20;
/// A block of a tape archive.
const BLOCK: usize = 512;
/// 2,097,151: the largest number of a user that seven octal digits hold.
const OCTAL_MOST: u32 = 0o7_777_777;

/// The program for each kind of processor, as the engine names them (`x86_64`, `aarch64`).
#[derive(Debug, Clone, Default)]
pub struct GuestProgram(Arc<[(String, PathBuf)]>);

impl GuestProgram {
    /// Files of this machine, by the engine's name of the processor.
    pub fn from_paths(paths: impl IntoIterator<Item = (String, PathBuf)>) -> Self {
        Self(paths.into_iter().collect())
    }

    /// The program for an engine of this kind.
    pub(super) async fn load(&self, architecture: &str) -> Result<Vec<u8>> {
        let name = match architecture {
            "amd64" => "x86_64",
            "arm64" => "aarch64",
            name => name,
        };
        let missing = || {
            Error::new(
                ErrorKind::Unsupported,
                "This installation of gloveport lacks the program that works inside containers of this engine's processor; \
                 install the package for that platform too.",
            )
        };
        let path = self.0.iter().find(|(processor, _)| processor == name).ok_or_else(missing)?.1.clone();
        let read = tokio::task::spawn_blocking(move || {
            let facts = std::fs::metadata(&path).ok()?;
            if facts.len() > MAX_BYTES {
                return None;
            }
            std::fs::read(&path).ok()
        });
        read.await.ok().flatten().filter(|bytes| bytes.starts_with(b"\x7fELF")).ok_or_else(missing)
    }
}

/// A tape archive that holds the program, and directories that must be there with their owners.
pub(super) fn archive(program: &[u8], directories: &[(&str, u32, u32)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() + 8 * BLOCK);
    header(&mut bytes, ".gloveport/", 0o755, (0, 0), 0, b'5');
    header(&mut bytes, ".gloveport/guest", 0o755, (0, 0), program.len(), b'0');
    bytes.extend(program);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    for (path, user, group) in directories {
        let name = format!("{}/", path.trim_start_matches('/'));
        header(&mut bytes, &name, 0o755, (*user, *group), 0, b'5');
    }
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    bytes
}

/// A tape archive of the program alone, for its directory.
pub(super) fn program_only(program: &[u8]) -> Vec<u8> {
    one_file("guest", 0o755, program)
}

/// A tape archive of one small file.
pub(super) fn archive_of(name: &str, content: &[u8]) -> Vec<u8> {
    one_file(name, 0o644, content)
}

fn one_file(name: &str, mode: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.len() + 4 * BLOCK);
    header(&mut bytes, name, mode, (0, 0), content.len(), b'0');
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
    bytes
}

/// A `ustar` header. The names are ours or were checked to fit.
fn header(bytes: &mut Vec<u8>, name: &str, mode: u32, owner: (u32, u32), size: usize, kind: u8) {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, &name[..name.floor_char_boundary(100)]);
    put(100, &format!("{mode:07o}"));
    for (at, number) in [(108, owner.0), (116, owner.1)] {
        if number <= OCTAL_MOST {
            put(at, &format!("{number:07o}"));
        }
    }
    put(124, &format!("{size:011o}"));
    put(136, "00000000000");
    put(148, "        ");
    put(257, "ustar");
    put(263, "00");
    block[156] = kind;
    for (at, number) in [(108, owner.0), (116, owner.1)] {
        if number > OCTAL_MOST {
            // As every `tar` since GNU's writes what does not fit: a mark, and the number itself.
            block[at] = 0x80;
            block[at + 4..at + 8].copy_from_slice(&number.to_be_bytes());
        }
    }
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    bytes.extend(block);
}

/// Prints the first directory's file in which a program may be run, writes what it reads there, and says `ok`. Nothing is sent
/// before it says where: an engine may take for ever what nobody reads. Only what every POSIX shell has: a container that is
/// attached to may have nothing else.
pub(super) const RECEIVE: &str = r#"umask 077
for d in /tmp /var/tmp "$HOME" /dev/shm /run /; do
  f="$d/.gloveport-guest-$1"
  [ -d "$d" ] && { [ ! -e "$f" ] || rm -f "$f" 2>/dev/null; } || continue
  (printf '#!/bin/sh\nexit 0\n' >"$f") 2>/dev/null && chmod 700 "$f" && "$f" 2>/dev/null || { rm -f "$f" 2>/dev/null; continue; }
  echo "$f"
  cat >"$f" && echo ok && exit 0
  rm -f "$f" 2>/dev/null
  exit 1
done
exit 1"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_archive_is_one_that_tar_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar");
        std::fs::write(&path, archive(b"\x7fELF program", &[("/work/a b", 1000, 4_000_000_000)])).unwrap();
        let list = std::process::Command::new("tar").arg("tvf").arg(&path).arg("--numeric-owner").output().unwrap();
        let text = String::from_utf8(list.stdout).unwrap();
        assert!(list.status.success(), "{text}");
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
        assert_eq!(lines[0][..3], ["drwxr-xr-x", "0/0", "0"]);
        assert_eq!(lines[1][..3], ["-rwxr-xr-x", "0/0", "12"]);
        assert_eq!(lines[2][..2], ["drwxr-xr-x", "1000/4000000000"]);
        assert!(text.contains("work/a b/"), "{text}");
    }

    #[tokio::test]
    async fn says_when_there_is_no_program_for_a_processor() {
        let error = GuestProgram::default().load("riscv64").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}
