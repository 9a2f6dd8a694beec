//! [`AuditLog`]: records as lines of a file, written by a thread of their own.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use serde_json::{Value, json};

use super::mask::mask_json;
use crate::backend::FileSystem;
use crate::error::{Error, ErrorKind, Result};

/// 4,096 records that wait to be written; a slow disk loses what comes on top, and says how many.
const QUEUE_RECORDS: usize = 4_096;
/// 16 MiB of records that wait.
const QUEUE_BYTES: usize = 16 << 20;
/// 4 KiB of one text in a record: enough for a command or the beginning of a file, not a copy of every file.
const TEXT_BYTES: usize = 4 << 10;

/// Is told what went wrong; runs on the log's own thread.
pub type OnError = Box<dyn Fn(Error) + Send>;

/// A file of records, one JSON object a line. Only its owner can read what it makes.
pub struct AuditLog {
    queue: SyncSender<Message>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    waiting_bytes: AtomicUsize,
    lost: AtomicU64,
}

enum Message {
    Record(String),
    Flush(tokio::sync::oneshot::Sender<()>),
}

impl AuditLog {
    /// Opens `path` for appending, and makes it where it does not exist. Refuses one that lies where files are changed through
    /// `watched`: whom the log is about would write it.
    pub fn open(path: &Path, watched: &dyn FileSystem, on_error: OnError) -> Result<Self> {
        if directory_of(path).is_some_and(|directory| watched.changes_host(&directory)) {
            return Err(Error::invalid(
                "`auditLog` lies in a directory that the agent may write, and so could be forged; put it elsewhere.",
            ));
        }
        let file = open(path).map_err(|error| {
            Error::invalid(format!("`auditLog` cannot be opened for appending ({}).", error.kind()))
        })?;
        let (queue, records) = sync_channel(QUEUE_RECORDS);
        let counts = Arc::new(Counts::default());
        let writer = Writer { file, counts: Arc::clone(&counts), on_error, failing: false };
        thread::Builder::new()
            .name("gloveport-audit".to_owned())
            .spawn(move || writer.run(&records))
            .map_err(|_| Error::new(ErrorKind::Io, "The thread of the audit log could not be started."))?;
        Ok(Self { queue, counts })
    }

    /// Hands over one record as JSON. Never waits: where the queue is full the record is lost, and counted.
    pub fn append(&self, record: String) {
        let bytes = record.len();
        let waiting = self.counts.waiting_bytes.fetch_add(bytes, Ordering::AcqRel);
        if waiting + bytes > QUEUE_BYTES || self.queue.try_send(Message::Record(record)).is_err() {
            self.counts.waiting_bytes.fetch_sub(bytes, Ordering::AcqRel);
            self.counts.lost.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Ends when everything that was handed over before is in the file.
    pub async fn flush(&self) {
        let (done, written) = tokio::sync::oneshot::channel();
        let queue = self.queue.clone();
        // A full queue must drain first.
        let sent = tokio::task::spawn_blocking(move || queue.send(Message::Flush(done)));
        if sent.await.is_ok_and(|sent| sent.is_ok()) {
            let _ = written.await;
        }
    }
}

/// The canonical directory that a file is in, or will be made in.
fn directory_of(path: &Path) -> Option<PathBuf> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::canonicalize(parent).ok()
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = file.metadata()?;
        // A log that others could read until now is closed to them; `/dev/stderr` and its like stay as they are.
        if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

struct Writer {
    file: File,
    counts: Arc<Counts>,
    on_error: OnError,
    /// Whether the last write failed: one report for a full disk, not one a record.
    failing: bool,
}

impl Writer {
    fn run(mut self, records: &Receiver<Message>) {
        while let Ok(message) = records.recv() {
            match message {
                Message::Record(record) => {
                    self.counts.waiting_bytes.fetch_sub(record.len(), Ordering::AcqRel);
                    self.write(&record);
                }
                Message::Flush(done) => {
                    self.say_lost();
                    let _ = done.send(());
                }
            }
        }
        self.say_lost();
    }

    fn write(&mut self, record: &str) {
        self.say_lost();
        let Ok(mut record) = serde_json::from_str::<Value>(record) else { return };
        mask_json(&mut record);
        shorten(&mut record);
        self.put(&record);
    }

    /// Says in the file, and to the application, that records are missing here.
    fn say_lost(&mut self) {
        let lost = self.counts.lost.swap(0, Ordering::AcqRel);
        if lost > 0 {
            self.put(&json!({ "type": "records-lost", "count": lost }));
            (self.on_error)(Error::new(
                ErrorKind::Busy,
                format!("The audit log lost {lost} records: its file is written more slowly than calls are made."),
            ));
        }
    }

    /// One line in one write, so that lines of several logs of one file do not mix.
    fn put(&mut self, record: &Value) {
        let mut line = record.to_string();
        line.push('\n');
        match self.file.write_all(line.as_bytes()) {
            Ok(()) => self.failing = false,
            Err(error) => {
                if !self.failing {
                    (self.on_error)(Error::new(
                        ErrorKind::Io,
                        format!("A record of the audit log could not be written ({}).", error.kind()),
                    ));
                }
                self.failing = true;
            }
        }
    }
}

/// Cuts long texts, and says so.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > TEXT_BYTES => {
            let kept = text.floor_char_boundary(TEXT_BYTES);
            let dropped = text.len() - kept;
            text.truncate(kept);
            text.push_str(&format!("… ({dropped} more bytes)"));
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
