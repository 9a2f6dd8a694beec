//! Names that are none on Windows, or not what they seem: there they are refused before anything is asked of the system
//! (R-FS-9). Elsewhere they are names like any other.
//!
//! Aliases such as `LONGNA~1` look like ordinary names: they are found, and refused as not spelled like their entry
//! (`resolve/spelling.rs`).

/// Devices that lie in every directory, whatever follows a `.` in their name.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
/// Devices with a number; a superscript digit counts as one.
const NUMBERED: [&str; 2] = ["com", "lpt"];

/// Whether Windows takes `name` as it is written, for an ordinary file.
pub(super) fn is_ordinary(name: &str) -> bool {
    let is_forbidden =
        |letter: char| letter < ' ' || matches!(letter, '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*');
    // A `:` begins a stream or follows a drive; the end of a name is cut by the system.
    !name.is_empty() && !name.contains(is_forbidden) && !name.ends_with(['.', ' ']) && !is_device(name)
}

fn is_device(name: &str) -> bool {
    let base = name.split('.').next().unwrap_or(name).trim_end_matches(' ').to_lowercase();
    let is_numbered = |device: &str| {
        base.strip_prefix(device).is_some_and(|rest| {
            let mut letters = rest.chars();
            matches!((letters.next(), letters.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
        })
    };
    DEVICES.contains(&base.as_str()) || NUMBERED.iter().any(|device| is_numbered(device))
}

#[cfg(test)]
mod tests {
    use super::is_ordinary;

    #[test]
    fn devices_streams_and_names_that_the_system_would_cut_are_none() {
        for name in [
            "CON",
            "con",
            "Nul",
            "nul.txt",
            "NUL .tar.gz",
            "aux",
            "PRN",
            "COM1",
            "com9.log",
            "COM¹",
            "LPT0",
            "conin$",
            "CONOUT$",
            "file.txt:stream",
            "file::$DATA",
            "c:",
            "c:x",
            "a.",
            "a ",
            "a. ",
            "..",
            ".",
            "a\\b",
            "a/b",
            "a*",
            "a?",
            "<a>",
            "a|b",
            "\"a\"",
            "a\nb",
            "a\0",
            "\\\\?\\c:",
            "",
        ] {
            assert!(!is_ordinary(name), "{name:?}");
        }
        for name in [
            "console", "nulls", "com", "com10", "lpt", "aux_", "a.b", ".env", " a", "a..b.txt", "..a", "LONGNA~1",
            "Größe",
        ] {
            assert!(is_ordinary(name), "{name:?}");
        }
    }
}
