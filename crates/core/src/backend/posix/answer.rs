//! What a command printed. Whatever does not look as it must is `None`: the other side may print anything.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::kind_of;
use crate::backend::FileKind;
use crate::backend::remote::Entry;

/// The output of a script between its marks and its exit code; `None` when either is missing, so that it was cut.
pub(super) fn unframe(output: &str, mark: &str, base64: bool) -> Option<(Vec<u8>, i32)> {
    let begin = format!("begin-{mark}");
    let end = format!("end-{mark}");
    let rest = &output[output.find(&begin)? + begin.len()..];
    let (count, digits) = rest[..rest.rfind(&end)?].trim_start().split_once(|at: char| at.is_ascii_whitespace())?;
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if count.parse() != Ok(digits.len()) {
        return None;
    }
    let mut bytes = if base64 { STANDARD.decode(digits).ok()? } else { from_hexadecimal(&digits)? };
    let code = take_code(&mut bytes)?;
    Some((bytes, code))
}

/// Takes ` <exit code>` off the end.
pub(super) fn take_code(bytes: &mut Vec<u8>) -> Option<i32> {
    let space = bytes.iter().rposition(|byte| *byte == b' ')?;
    let code = std::str::from_utf8(bytes.get(space + 1..)?).ok()?.parse().ok()?;
    bytes.truncate(space);
    Some(code)
}

fn from_hexadecimal(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()).collect()
}

/// The first line, and what follows it.
pub(super) fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'\n', bytes)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// `81a4 12 1700000000 99 1700000000`: mode, bytes, last change, inode, last change of the inode.
pub(super) fn facts(line: &[u8], name: &str) -> Option<Entry> {
    let line = std::str::from_utf8(line).ok()?;
    let mut fields = line.split_ascii_whitespace();
    let mode = u32::from_str_radix(fields.next()?, 16).ok()?;
    let size: u64 = fields.next()?.parse().ok()?;
    let modified: i64 = fields.next()?.parse().ok()?;
    let inode: u64 = fields.next()?.parse().ok()?;
    let changed: i64 = fields.next()?.parse().ok()?;
    let kind = kind_of(mode);
    let nanoseconds = |seconds: i64| seconds.saturating_mul(1_000_000_000);
    Some(Entry {
        size: if kind == FileKind::File { size } else { 0 },
        modified_ns: (inode != 0).then(|| nanoseconds(modified)),
        inode,
        changed_ns: nanoseconds(changed),
        // Without a `stat` the bits are made up.
        mode: (inode != 0).then_some(mode & 0o7777),
        ..Entry::new(name, kind)
    })
}

/// The records of a listing. Each is `<facts> ./<name>\n`; a name holds no slash and the facts hold none, so each slash
/// is one name's beginning, whatever else is in it.
fn records(bytes: &[u8]) -> Option<Vec<(Entry, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut parts = bytes.split(|byte| *byte == b'/');
    let mut header = parts.next()?.to_vec();
    for part in parts {
        let line = header.strip_suffix(b" .")?.to_vec();
        let end = part.iter().rposition(|byte| *byte == b'\n')?;
        let name = part.get(..end)?.to_vec();
        let (shown, is_exact) = match std::str::from_utf8(&name) {
            Ok(name) => (name.to_owned(), true),
            Err(_) => (escaped(&name), false),
        };
        let entry = facts(&line, &shown)?;
        found.push((Entry { is_exact, ..entry }, name));
        header = part.get(end + 1..)?.to_vec();
    }
    header.is_empty().then_some(found)
}

/// The entries of a directory, each link as what it leads to.
pub(super) fn listing(bytes: &[u8]) -> Option<Vec<Entry>> {
    const BORDER: &[u8] = b"//\n";
    // No record holds two slashes in a row.
    let border = bytes.windows(BORDER.len()).position(|window| window == BORDER)?;
    let (own, targets) = (records(&bytes[..border])?, records(&bytes[border + BORDER.len()..])?);
    let targets: std::collections::HashMap<Vec<u8>, Entry> =
        targets.into_iter().map(|(entry, name)| (name, entry)).collect();
    let followed = own.into_iter().map(|(entry, name)| {
        if entry.kind != FileKind::Symlink {
            return entry;
        }
        let entry = targets.get(&name).map_or(entry, Entry::clone);
        Entry { is_link: true, ..entry }
    });
    Some(followed.collect())
}

/// The files of a batch.
pub(super) fn several(mut bytes: &[u8], count: usize) -> Option<Vec<Option<Vec<u8>>>> {
    let mut contents = Vec::with_capacity(count);
    for _ in 0..count {
        let (size, rest) = split_line(bytes)?;
        let size: i64 = std::str::from_utf8(size).ok()?.trim().parse().ok()?;
        bytes = rest;
        if size < 0 {
            contents.push(None);
            continue;
        }
        let size = usize::try_from(size).ok()?;
        contents.push(Some(bytes.get(..size)?.to_vec()));
        bytes = &bytes[size..];
    }
    bytes.is_empty().then_some(contents)
}

/// Bytes as text, each byte that belongs to no character as `\xNN`.
fn escaped(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_any_byte_come_apart() {
        let listed =
            listing(b"81a4 3 1 7 1 ./a\n81a4 5 5 8 1 .\n81a4 3 1 9 1 ./b c\nd -> e\n41ed 0 1 3 1 ./d\xff\n//\n");
        // The first name holds a line break and what looks like facts.
        let names: Vec<_> = listed.unwrap().into_iter().map(|entry| (entry.name, entry.size, entry.is_exact)).collect();
        assert_eq!(
            names,
            [
                ("a\n81a4 5 5 8 1 .".to_owned(), 3, true),
                ("b c\nd -> e".to_owned(), 3, true),
                ("d\\xff".to_owned(), 0, false)
            ]
        );
    }

    #[test]
    fn what_was_cut_is_no_answer() {
        let framed = format!("junk\nbegin-m 8\n{}\nend-m\n", STANDARD.encode(b"abc 0"));
        assert_eq!(unframe(&framed, "m", true), Some((b"abc".to_vec(), 0)));
        for end in 0..framed.len() - 6 {
            assert_eq!(unframe(&framed[..end], "m", true), None, "{end}");
        }
        assert_eq!(unframe("begin-m 8\r\n6162\r\n2037\n end-m", "m", false), Some((b"ab".to_vec(), 7)));
        assert_eq!(unframe("begin-m 12\n6162\n2037\nend-m", "m", false), None, "the middle is missing");
        assert_eq!(listing(b"81a4 3 1 7 1 ./a\n81a4 5"), None);
        assert_eq!(several(b"3\nabc-1\n2\nx", 3), None);
        assert_eq!(several(b"3\nabc-1\n1\nx", 3), Some(vec![Some(b"abc".to_vec()), None, Some(b"x".to_vec())]));
    }
}
