//! What runs a program: the interpreter that its file names (ELF, 64 bits, little-endian).

use core::ffi::CStr;

use rustix::fs::{Mode, OFlags, open};

/// 4 KiB: the table of its parts and the name of its interpreter stand at the beginning of a program.
const READ_BYTES: usize = 4 << 10;
const MAGIC: &[u8] = b"\x7FELF\x02\x01";
/// `PT_INTERP`.
const INTERPRETER: u32 = 3;
/// How the dynamic linker of glibc is called everywhere; that of musl is `ld-musl-…`.
const GLIBC: &[u8] = b"ld-linux";

/// Whether the dynamic linker of glibc starts the program.
pub(crate) fn is_run_by_glibc(path: &CStr) -> bool {
    let Ok(file) = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else { return false };
    let mut bytes = [0; READ_BYTES];
    let Ok(count) = rustix::io::read(&file, &mut bytes) else { return false };
    bytes
        .get(..count)
        .and_then(interpreter)
        .is_some_and(|path| path.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(GLIBC)))
}

/// The path of the interpreter; `None` where there is none, or the file is no such program.
fn interpreter(file: &[u8]) -> Option<&[u8]> {
    if !file.starts_with(MAGIC) {
        return None;
    }
    let table = usize::try_from(u64_at(file, 32)?).ok()?;
    let (entry_bytes, count) = (usize::from(u16_at(file, 54)?), usize::from(u16_at(file, 56)?));
    (0..count).find_map(|index| {
        let entry = file.get(table.checked_add(index.checked_mul(entry_bytes)?)?..)?;
        if u32_at(entry, 0)? != INTERPRETER {
            return None;
        }
        let from = usize::try_from(u64_at(entry, 8)?).ok()?;
        let length = usize::try_from(u64_at(entry, 32)?).ok()?;
        file.get(from..from.checked_add(length)?)
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    /// A program whose second part names this interpreter.
    fn program(name: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 64 + 2 * 56];
        file[..MAGIC.len()].copy_from_slice(MAGIC);
        file[32..40].copy_from_slice(&64u64.to_le_bytes());
        file[54..56].copy_from_slice(&56u16.to_le_bytes());
        file[56..58].copy_from_slice(&2u16.to_le_bytes());
        let at = file.len() as u64;
        let entry = 64 + 56;
        file[entry..entry + 4].copy_from_slice(&INTERPRETER.to_le_bytes());
        file[entry + 8..entry + 16].copy_from_slice(&at.to_le_bytes());
        file[entry + 32..entry + 40].copy_from_slice(&(name.len() as u64).to_le_bytes());
        file.extend_from_slice(name);
        file
    }

    #[test]
    fn the_interpreter_of_a_program_is_found() {
        let whole = program(b"/lib64/ld-linux-x86-64.so.2\0");
        assert_eq!(interpreter(&whole), Some(&b"/lib64/ld-linux-x86-64.so.2\0"[..]));
        for length in 0..whole.len() {
            assert_eq!(interpreter(&whole[..length]), None, "{length}");
        }
        let mut nowhere = whole.clone();
        nowhere[64 + 56 + 8..64 + 56 + 16].fill(0xFF);
        assert_eq!(interpreter(&nowhere), None);
        assert_eq!(interpreter(b"#!/bin/sh\n"), None);
    }

    #[test]
    fn glibc_is_told_from_others() {
        let folder = tempfile::tempdir().unwrap();
        for (name, expected) in [
            (&b"/lib64/ld-linux-x86-64.so.2\0"[..], true),
            (b"/lib/ld-linux-aarch64.so.1\0", true),
            (b"/lib/ld-musl-x86_64.so.1\0", false),
            (b"/ld-linux/other\0", false),
            (b"", false),
        ] {
            let path = folder.path().join("program");
            std::fs::write(&path, program(name)).unwrap();
            let path = CString::new(path.as_os_str().as_bytes()).unwrap();
            assert_eq!(is_run_by_glibc(&path), expected, "{}", String::from_utf8_lossy(name));
        }
        assert!(!is_run_by_glibc(c"/nowhere"));
    }
}
