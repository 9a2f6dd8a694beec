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

/// One log.
pub struct SessionLog {
    file: File,
    left: usize,
    is_over: bool,
    begin: Instant,
    form: Form,
}

enum Form {
    Text(AnsiStripper),
    Asciicast(Utf8Stream, Drawing),
}

impl SessionLogs {
    /// A log for a session; `None` where the folder takes none.
    pub fn open(&self, id: &str, size: TerminalSize) -> Option<SessionLog> {
        let suffix = if self.asciicast { "cast" } else { "log" };
        let file = new_file(&self.directory, id, suffix)?;
        let form = if self.asciicast {
            Form::Asciicast(Utf8Stream::new(), Drawing::default())
        } else {
            Form::Text(AnsiStripper::new())
        };
        let left = self.max_bytes.map_or(LOG_BYTES, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let mut log = SessionLog { file, left, is_over: false, begin: Instant::now(), form };
        if self.asciicast {
            log.write(&format!("{}\n", json!({ "version": 2, "width": size.columns, "height": size.rows })));
        }
        Some(log)
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
    /// Logs what was printed.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let text = match &mut self.form {
            Form::Text(stripper) => {
                let mut text = String::new();
                stripper.push(bytes, &mut text);
                text
            }
            Form::Asciicast(stream, drawing) => match drawing.keep(&stream.push(bytes)) {
                text if text.is_empty() => text,
                text => format!("{}\n", json!([self.begin.elapsed().as_secs_f64(), "o", text])),
            },
        };
        self.write(&text);
    }

    fn write(&mut self, text: &str) {
        if self.is_over || text.is_empty() {
            return;
        }
        // A recording is cut between its lines, and a full disk ends the log, not the session.
        let last = (text.len() > self.left).then(|| self.last_words());
        let written = self.file.write_all(last.as_deref().unwrap_or(text).as_bytes());
        self.is_over = last.is_some() || written.is_err();
        self.left = self.left.saturating_sub(text.len());
    }

    /// What stands at the end of a log that is full.
    fn last_words(&self) -> String {
        let words = "[The log ends here: it is full. The session went on.]";
        match self.form {
            Form::Text(_) => format!("\n{words}\n"),
            Form::Asciicast(..) => {
                format!("{}\n", json!([self.begin.elapsed().as_secs_f64(), "o", format!("\r\n{words}\r\n")]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_plain_or_playable_and_never_touch_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("session_a.log"), "mine").unwrap();
        let size = TerminalSize { columns: 80, rows: 24 };
        let logs = SessionLogs { directory: folder.path().to_owned(), asciicast: false, max_bytes: None };
        let mut log = logs.open("a", size).unwrap();
        log.take(b"\x1b[31mred\x1b[0m\r\n\x1b]52;c;");
        log.take(b"aGk=\x07end");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("session_a.log"), "mine");
        assert_eq!(read("session_a-1.log"), "red\nend");
        let recorded = SessionLogs { asciicast: true, ..logs };
        let mut log = recorded.open("a", size).unwrap();
        log.take(b"\x1b[1m\xC3");
        log.take(b"\xA9\x1b]52;c;");
        log.take(b"aGk=\x07\x1b]133;D;0;word\x07\x1b[6n");
        let cast = read("session_a.cast");
        let lines: Vec<serde_json::Value> = cast.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0], json!({ "version": 2, "width": 80, "height": 24 }));
        assert_eq!(lines.len(), 3, "nothing is recorded where nothing draws: {cast}");
        assert_eq!((&lines[1][1], &lines[1][2], &lines[2][2]), (&json!("o"), &json!("\u{1b}[1m"), &json!("é")));
        assert!(
            SessionLogs { directory: "/nonexistent".into(), asciicast: false, max_bytes: None }
                .open("a", size)
                .is_none()
        );
    }
    /// A log ended without a word.
    #[test]
    fn a_full_log_says_so_once() {
        let folder = tempfile::tempdir().unwrap();
        let size = TerminalSize { columns: 80, rows: 24 };
        for (asciicast, name, most) in [(false, "session_a.log", 100), (true, "session_a.cast", 170)] {
            let logs = SessionLogs { directory: folder.path().to_owned(), asciicast, max_bytes: Some(most) };
            let mut log = logs.open("a", size).unwrap();
            for _ in 0..10 {
                log.take(&[b'x'; 60]);
            }
            let logged = std::fs::read_to_string(folder.path().join(name)).unwrap();
            assert_eq!(logged.matches("The log ends here").count(), 1, "{logged}");
            assert_eq!(logged.matches(&"x".repeat(60)).count(), 1, "{logged}");
            assert!(logged.lines().last().is_some_and(|line| line.contains("The log ends here")), "{logged}");
        }
    }
}
