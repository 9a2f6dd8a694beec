//! Which numbers a user of an image has that the image only names (`USER app`).
//!
//! Its own tables say so (`/etc/passwd`, `/etc/group`), read from a container in which nothing runs yet. They are the image's
//! word on its own users and lead nowhere else: what comes out are two numbers, for a directory of the same container.

use super::calls::of;
use super::client::Engine;

/// 1 MiB of a table: ten thousand users.
const TABLE_BYTES: usize = 1 << 20;
/// A block of a tape archive.
const BLOCK: usize = 512;

/// The user and group that `user` (`name`, `uid`, `name:group` …) is in a container that does not run. `None` where its tables do not
/// say.
pub(super) async fn numbers(engine: &Engine, id: &str, user: &str) -> Option<(u32, u32)> {
    let (name, group) = user.split_once(':').map_or((user, None), |(name, group)| (name, Some(group)));
    let (uid, own) = match name.parse() {
        // As before there were names: a number alone is its group's, too.
        Ok(uid) => (uid, Some(uid)),
        Err(_) => {
            let users = table(engine, id, "/etc/passwd").await?;
            let fields = entry(&users, name)?;
            (fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok())
        }
    };
    let gid = match group.map(|group| (group, group.parse().ok())) {
        None => own?,
        Some((_, Some(gid))) => gid,
        Some((group, None)) => {
            let groups = table(engine, id, "/etc/group").await?;
            entry(&groups, group)?.get(2)?.parse().ok()?
        }
    };
    Some((uid, gid))
}

/// The fields of the line that begins with `name`.
fn entry<'a>(table: &'a str, name: &str) -> Option<Vec<&'a str>> {
    table.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields.first() == Some(&name))
}

async fn table(engine: &Engine, id: &str, path: &str) -> Option<String> {
    let packed = engine.bytes(&of(id).then("archive").with("path", path), TABLE_BYTES).await.ok()?;
    String::from_utf8(first_file(&packed)?.to_vec()).ok()
}

/// The content of the first file of a tape archive; nothing of what is none, such as a link in its place.
fn first_file(mut archive: &[u8]) -> Option<&[u8]> {
    loop {
        let (head, rest) = archive.split_at_checked(BLOCK)?;
        let size = std::str::from_utf8(&head[124..136]).ok()?.trim_matches(['\0', ' ']);
        let size = usize::from_str_radix(size, 8).ok()?;
        match head[156] {
            b'0' | b'\0' => return rest.get(..size),
            // What newer archives say of the next entry.
            b'x' | b'g' => archive = rest.get(size.next_multiple_of(BLOCK)..)?,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::guest::archive_of;
    use super::*;

    #[test]
    fn a_table_comes_out_of_its_archive() {
        let content = b"root:x:0:0::/root:/bin/sh\napp:x:1000:50::/:/bin/sh\n";
        let packed = archive_of("passwd", content);
        assert_eq!(first_file(&packed), Some(&content[..]));
        // With what is said before it, and as a link.
        let mut before = archive_of("PaxHeaders", b"30 mtime=1700000000.000000000\n");
        before[156] = b'x';
        before.truncate(2 * BLOCK);
        assert_eq!(first_file(&[&before[..], &packed].concat()), Some(&content[..]));
        let mut link = packed.clone();
        link[156] = b'2';
        assert_eq!(first_file(&link), None);
        assert_eq!(first_file(&packed[..540]), None);
        let table = std::str::from_utf8(content).unwrap();
        assert_eq!(entry(table, "app").unwrap()[2..4], ["1000", "50"]);
        assert!(entry(table, "ap").is_none() && entry(table, "app:x").is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..2000), kind in any::<u8>()) {
            let mut bytes = bytes;
            if bytes.len() > 156 {
                bytes[124..136].copy_from_slice(b"77777777777\0");
                bytes[156] = kind;
            }
            let _ = first_file(&bytes);
        }
    }
}
