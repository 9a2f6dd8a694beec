//! Facts about a PDF document that cost little: how many pages it has, and whether it is locked.

use memchr::memmem::{find, find_iter, rfind};

/// 1 KiB: a linearized document says its count of pages at its very beginning.
const HEAD: usize = 1 << 10;
/// 16 KiB around a node of the page tree in which its count stands.
const NODE: usize = 16 << 10;
/// 1,000 nodes of the page tree; a document with more is not counted.
const MAX_NODES: usize = 1_000;

/// What can be told without reading the document's structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pdf {
    /// How many pages; `None` where that stands in a compressed part.
    pub pages: Option<u64>,
    /// Whether it is encrypted: models refuse such documents.
    pub encrypted: bool,
}

/// Looks at the bytes of a document.
pub fn look(bytes: &[u8]) -> Pdf {
    Pdf { pages: linearized(bytes).or_else(|| page_tree(bytes)), encrypted: find(bytes, b"/Encrypt").is_some() }
}

fn linearized(bytes: &[u8]) -> Option<u64> {
    let head = &bytes[..bytes.len().min(HEAD)];
    let dictionary = &head[find(head, b"/Linearized")?..];
    let dictionary = &dictionary[..find(dictionary, b">>")?];
    find_iter(dictionary, b"/N").find_map(|at| number(&dictionary[at + 2..]))
}

/// The largest count in any node: the root of the tree counts all pages.
fn page_tree(bytes: &[u8]) -> Option<u64> {
    let mut most = None;
    for (count, at) in find_iter(bytes, b"/Pages").enumerate() {
        if count >= MAX_NODES {
            return None;
        }
        let named = bytes[..at].trim_ascii_end().ends_with(b"/Type");
        if !named || bytes.get(at + 6).is_some_and(u8::is_ascii_alphanumeric) {
            continue;
        }
        let before = &bytes[at.saturating_sub(NODE)..at];
        let after = &bytes[at..bytes.len().min(at + NODE)];
        let start = at - (before.len() - rfind(before, b" obj").unwrap_or(0));
        let end = at + find(after, b"endobj").unwrap_or(after.len());
        let node = &bytes[start..end];
        let counted = find_iter(node, b"/Count").filter_map(|at| number(&node[at + 6..])).max();
        most = most.max(counted);
    }
    most
}

/// A whole number behind white space.
fn number(bytes: &[u8]) -> Option<u64> {
    let digits = bytes.trim_ascii_start();
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&digits[..length]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R /Outlines 9 0 R >> endobj\n\
                        9 0 obj << /Type /Outlines /Count 77 >> endobj\n\
                        2 0 obj << /Type /Pages /Kids [3 0 R 4 0 R] /Count 12 >> endobj\n\
                        3 0 obj <</Type/Pages/Count 5/Kids[]>> endobj\n";

    #[test]
    fn pages_are_counted_where_they_stand_in_the_open() {
        let linear = "%PDF-1.5\n4 0 obj\n<</Linearized 1/L 9000/O 6/E 5000/N 31/T 8000>>\nendobj\n";
        let table: [(&str, Option<u64>); 6] = [
            (TREE, Some(12)),
            (linear, Some(31)),
            ("%PDF-1.7\n", None),
            ("%PDF-1.7 /Type /Pages", None),
            ("%PDF-1.7 1 0 obj << /Type /Pages /Count 99999999999999999999999 >>", None),
            ("%PDF-1.7 1 0 obj << /Type /PagesLike /Count 4 >>", None),
        ];
        for (bytes, pages) in table {
            assert_eq!(look(bytes.as_bytes()), Pdf { pages, encrypted: false }, "{bytes}");
        }
        assert!(look(format!("{TREE}trailer << /Encrypt 8 0 R >>").as_bytes()).encrypted);
    }

    #[test]
    fn a_document_of_many_nodes_is_given_up_soon() {
        let bytes = ["%PDF-1.7 ".to_owned(), "/Type/Pages ".repeat(2_000)].concat();
        assert_eq!(look(bytes.as_bytes()).pages, None);
    }
}
