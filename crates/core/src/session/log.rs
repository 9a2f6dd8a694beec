//! Logs of terminal sessions for the application: plain text without escapes, or recordings that can be played
//! (asciicast v2), of what draws ([`super::recording`]). A log is a new file under a name that no other has; nothing that lies in its folder is touched (D63).

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Deserialize;
use serde_json::json;

use super::recording::Drawing;
use crate::backend::process::TerminalSize;
use crate::text::ansi::AnsiStripper;
use crate::text::stream::Utf8Stream;

/// 64 MiB of one log where nobody says; what comes later is not logged, and its last line says so.
const LOG_BYTES: usize = 64 << 20;
/// 10,000 names are tried.
const NAMES: u32 = 10_000;

/// Where sessions are logged.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionLogs {
    /// An existing folder of the host.
    pub directory: PathBuf,
    /// Whether recordings are made instead of text.
    #[serde(default)]
    pub asciicast: bool,
    /// Bytes of one log, besides the last line of one that is full.
    #[serde(default)]
    pub max_bytes: Option<u64>,
}

/// One log. Its file is made when there is something to log: a session that did not open leaves none.
pub struct SessionLog {
    directory: PathBuf,
    id: String,
    file: Option<File>,
    left: usize,
    is_over: bool,
    opened: Instant,
    size: TerminalSize,
    form: Form,
}

enum Form {
    Text(AnsiStripper),
    Asciicast(Utf8Stream, Drawing),
}

impl SessionLogs {
    /// A log for a session.
    pub fn open(&self, id: &str, size: TerminalSize) -> SessionLog {
        let form = if self.asciicast {
            Form::Asciicast(Utf8Stream::new(), Drawing::default())
        } else {
            Form::Text(AnsiStripper::new())
        };
        SessionLog {
            directory: self.directory.clone(),
            id: id.to_owned(),
            file: None,
            left: self.max_bytes.map_or(LOG_BYTES, |most| usize::try_from(most).unwrap_or(usize::MAX)),
            is_over: false,
            opened: Instant::now(),
            size,
            form,
        }
    }
}

fn new_file(directory: &Path, id: &str, suffix: &str) -> Option<File> {
    (0..NAMES).find_map(|number| {
        let number = if number == 0 { String::new() } else { format!("-{number}") };
        let path = directory.join(format!("session_{id}{number}.{suffix}"));
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.write(true).create_new(true).open(path).ok()
    })
}

impl SessionLog {
    /// Logs what was printed on a terminal of that size.
    pub(super) fn take(&mut self, bytes: &[u8], size: TerminalSize) {
        if self.file.is_none() && !self.is_over {
            self.begin();
        }
        let resized = std::mem::replace(&mut self.size, size) != size;
        if resized && matches!(self.form, Form::Asciicast(..)) {
            self.write(&self.event("r", &format!("{}x{}", size.columns, size.rows)));
        }
        let text = match &mut self.form {
            Form::Text(stripper) => {
                let mut text = String::new();
                stripper.push(bytes, &mut text);
                text
            }
            Form::Asciicast(stream, drawing) => match drawing.keep(&stream.push(bytes)) {
                text if text.is_empty() => text,
                text => self.event("o", &text),
            },
        };
        self.write(&text);
    }

    /// Makes its file. A folder that takes none ends the log, not the session.
    fn begin(&mut self) {
        let suffix = if matches!(self.form, Form::Asciicast(..)) { "cast" } else { "log" };
        self.file = new_file(&self.directory, &self.id, suffix);
        self.is_over = self.file.is_none();
        if matches!(self.form, Form::Asciicast(..)) {
            let TerminalSize { columns, rows } = self.size;
            self.write(&format!("{}\n", json!({ "version": 2, "width": columns, "height": rows })));
        }
    }

    fn event(&self, kind: &str, text: &str) -> String {
        format!("{}\n", json!([self.opened.elapsed().as_secs_f64(), kind, text]))
    }

    fn write(&mut self, text: &str) {
        if self.is_over || text.is_empty() {
            return;
        }
        // A recording is cut between its lines, and a full disk ends the log, not the session.
        let last = (text.len() > self.left).then(|| self.last_words());
        let logged = last.as_deref().unwrap_or(text).as_bytes();
        let is_written = self.file.as_mut().is_some_and(|file| file.write_all(logged).is_ok());
        self.is_over = last.is_some() || !is_written;
        self.left = self.left.saturating_sub(text.len());
    }

    /// What stands at the end of a log that is full.
    fn last_words(&self) -> String {
        let words = "[The log ends here: it is full. The session went on.]";
        match self.form {
            Form::Text(_) => format!("\n{words}\n"),
            Form::Asciicast(..) => self.event("o", &format!("\r\n{words}\r\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is in a control string has no place in a log; each other text ends what is open before it.
    const PARTS: [&str; 11] = [
        "\x18seen",
        "\x18é全",
        "\x18\r\nseen\r\n",
        "\x1b]2;HIDDEN\x07",
        "\x1b]52;c;HIDDEN\x1b\\",
        "\x1bPHIDDEN\x1b\\",
        "\x1b[31m",
        "\x1b[38;2;1;2;3m",
        "\x1b[?1049h",
        "\x1b",
        "\x1b]8;;HIDDEN",
    ];

    #[test]
    fn logs_are_plain_or_playable_and_never_touch_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("session_a.log"), "mine").unwrap();
        let size = TerminalSize { columns: 80, rows: 24 };
        let logs = SessionLogs { directory: folder.path().to_owned(), asciicast: false, max_bytes: None };
        let mut log = logs.open("a", size);
        log.take(b"\x1b[31mred\x1b[0m\r\n\x1b]52;c;", size);
        log.take(b"aGk=\x07end", size);
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("session_a.log"), "mine");
        assert_eq!(read("session_a-1.log"), "red\nend");
        let recorded = SessionLogs { asciicast: true, ..logs };
        let mut log = recorded.open("a", size);
        log.take(b"\x1b[1m\xC3", size);
        log.take(b"\xA9\x1b]52;c;", size);
        log.take(b"aGk=\x07\x1b]133;D;0;word\x07\x1b[6n", size);
        let cast = read("session_a.cast");
        let lines: Vec<serde_json::Value> = cast.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0], json!({ "version": 2, "width": 80, "height": 24 }));
        assert_eq!(lines.len(), 3, "nothing is recorded where nothing draws: {cast}");
        assert_eq!((&lines[1][1], &lines[1][2], &lines[2][2]), (&json!("o"), &json!("\u{1b}[1m"), &json!("é")));
        log.take(b"\x1b[6n", TerminalSize { columns: 100, rows: 30 });
        log.take(b"x", TerminalSize { columns: 100, rows: 30 });
        let cast = read("session_a.cast");
        let last: Vec<serde_json::Value> =
            cast.lines().skip(3).map(|line| serde_json::from_str(line).unwrap()).collect();
        let [resized, printed] = last.as_slice() else { panic!("{cast}") };
        assert_eq!((&resized[1], &resized[2]), (&json!("r"), &json!("100x30")));
        assert!(printed[1] == json!("o") && printed[0].as_f64() >= resized[0].as_f64(), "{cast}");
        // Nothing is lost but the log where its folder is gone.
        SessionLogs { directory: folder.path().join("gone"), asciicast: false, max_bytes: None }
            .open("a", size)
            .take(b"x", size);
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["session_a-1.log", "session_a.cast", "session_a.log"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// Sequences that are cut by a piece or by the end leave nothing of themselves, and take nothing of what follows.
        #[test]
        fn a_log_is_the_same_wherever_its_stream_is_cut_and_holds_no_control(
            parts in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 0..24),
            size in 1_usize..9,
            end in any::<prop::sample::Index>(),
        ) {
            let stream = parts.concat();
            let stream = &stream.as_bytes()[..end.index(stream.len() + 1)];
            let folder = tempfile::tempdir().unwrap();
            let terminal = TerminalSize { columns: 80, rows: 24 };
            let logged = |asciicast: bool, id: &str, size: usize| {
                let logs = SessionLogs { directory: folder.path().to_owned(), asciicast, max_bytes: None };
                let mut log = logs.open(id, terminal);
                stream.chunks(size).for_each(|piece| log.take(piece, terminal));
                let suffix = if asciicast { "cast" } else { "log" };
                // Nothing was printed: there is none.
                std::fs::read_to_string(folder.path().join(format!("session_{id}.{suffix}"))).unwrap_or_default()
            };
            let text = logged(false, "cut", size);
            prop_assert_eq!(&text, &logged(false, "whole", stream.len().max(1)));
            prop_assert!(!text.contains(|character: char| character.is_control() && !"\t\n".contains(character)), "{:?}", text);
            prop_assert!(!text.contains("HIDDEN"), "{:?}", text);
            prop_assert_eq!(text.matches("seen").count(), String::from_utf8_lossy(stream).matches("seen").count());
            let played = |cast: String| -> String {
                let events = cast.lines().skip(1).map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
                events.map(|event| event[2].as_str().unwrap().to_owned()).collect()
            };
            let recorded = played(logged(true, "cut", size));
            prop_assert_eq!(&recorded, &played(logged(true, "whole", stream.len().max(1))));
            prop_assert!(!recorded.contains("HIDDEN"), "{:?}", recorded);
            prop_assert_eq!(recorded.matches("seen").count(), String::from_utf8_lossy(stream).matches("seen").count());
        }
    }

    /// A log ended without a word.
    #[test]
    fn a_full_log_says_so_once() {
        let folder = tempfile::tempdir().unwrap();
        let size = TerminalSize { columns: 80, rows: 24 };
        // What fills it to the last byte is whole.
        for (asciicast, id, most, pieces) in [(false, "a", 119, 1), (false, "b", 120, 2), (true, "c", 170, 1)] {
            let logs = SessionLogs { directory: folder.path().to_owned(), asciicast, max_bytes: Some(most) };
            let mut log = logs.open(id, size);
            for _ in 0..10 {
                log.take(&[b'x'; 60], size);
            }
            let name = format!("session_{id}.{}", if asciicast { "cast" } else { "log" });
            let logged = std::fs::read_to_string(folder.path().join(name)).unwrap();
            assert_eq!(logged.matches("The log ends here").count(), 1, "{logged}");
            assert_eq!(logged.matches(&"x".repeat(60)).count(), pieces, "{logged}");
            assert!(logged.lines().last().is_some_and(|line| line.contains("The log ends here")), "{logged}");
        }
    }
}
