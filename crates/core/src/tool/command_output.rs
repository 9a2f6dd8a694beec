//! What a model is told of a command that ended in a terminal session: its own output, apart from what the session printed
//! before, with both ends of it where it is long, and all of it in a file.

use crate::backend::{Spill, Spilling};
use crate::blocking::blocking;
use crate::exit_code::stop;
use crate::session::CommandOutput;
use crate::session::overflow::Finished;
use crate::text::ansi::strip_parting;
use crate::text::head_tail::HeadTail;
use crate::text::ours::set_off;
use crate::text::progress::{printed_once, readable};

/// A quarter of what a call may tell is for what was printed before its command.
const SHARE_OF_BEFORE: usize = 4;

/// The output as text for a model.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// What the session printed before the command and nobody had looked at.
    pub(super) before: String,
    /// The exit code of what ended there before, where nobody was told of it.
    pub(super) missed: Option<i32>,
    /// What the command printed.
    pub(super) output: String,
    /// Bytes of both that are left out.
    pub(super) dropped: u64,
    /// The file that holds what `output` does not.
    pub(super) file: Option<String>,
    /// Where that file holds only the beginning: so many bytes.
    pub(super) file_bytes: Option<u64>,
    /// Whether that file misses the beginning, which was gone already.
    pub(super) is_part: bool,
}

/// Shapes the output of a command within `most` bytes. What is left out goes to a file first.
pub(super) async fn tell(output: CommandOutput, missed: Option<i32>, most: usize, spill: Spill) -> Told {
    let (before, before_dropped) = before_of(&output.before, output.before_dropped, most);
    let own = output.own;
    if let Some(overflow) = output.own_overflow {
        let finished = blocking(move || overflow.finish(&own)).await.unwrap_or_default();
        let dropped = before_dropped + finished.dropped;
        let Finished { text, file, file_bytes, .. } = finished;
        return Told { before, missed, output: text, dropped, file, file_bytes, is_part: false };
    }
    let (text, dropped) = bounded(&own_text_of(&own), output.own_dropped, most);
    let (file, file_bytes) = if dropped == 0 {
        (None, None)
    } else {
        blocking(move || keep(&spill, &whole_text_of(&own))).await.unwrap_or_default()
    };
    let is_part = output.own_dropped > 0;
    Told { before, missed, output: text, dropped: before_dropped + dropped, file, file_bytes, is_part }
}

/// What was printed before a command, within its share of `most` bytes, and how many bytes of it are left out.
pub(super) fn before_of(bytes: &[u8], dropped: u64, most: usize) -> (String, u64) {
    bounded(&text_of(bytes), dropped, most / SHARE_OF_BEFORE)
}

/// What is said before the output of a command: what was printed before it, and how what ran there ended.
pub(super) fn said_before(before: &str, missed: Option<i32>) -> String {
    let mut text = String::new();
    if !before.is_empty() {
        text.push_str(&format!("(Printed in the session before this command:)\n{}\n", set_off(before)));
    }
    if let Some(code) = missed {
        let how = match stop(code) {
            Some(stop) => format!("ended, or was stopped, with exit code {code}: {stop}; `jobs` lists what is stopped"),
            None => format!("ended with exit code {code}"),
        };
        text.push_str(&format!("(The command before this one {how}.)\n"));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

impl Told {
    /// Everything, behind what is said of the command itself: `head` gets the output.
    pub(super) fn text(&self, head: impl FnOnce(&str) -> String) -> String {
        let mut text = said_before(&self.before, self.missed);
        text.push_str(&head(&set_off(&self.output)));
        if let Some(file) = &self.file {
            let what = match self.file_bytes {
                Some(bytes) => format!("The first {bytes} bytes of the output are"),
                None if self.is_part => "The last 1 MiB of the output is".to_owned(),
                None => "The whole output is".to_owned(),
            };
            text.push_str(&format!("\n\n({what} in {file}; look into it with `read_file` or `grep`.)"));
        }
        text
    }
}

fn text_of(bytes: &[u8]) -> String {
    own_text_of(bytes).trim_start_matches('\n').to_owned()
}

/// The same of a command whose begin is known: blank lines before its text are its own.
fn own_text_of(bytes: &[u8]) -> String {
    readable(&String::from_utf8_lossy(bytes)).trim_end_matches('\n').to_owned()
}

fn whole_text_of(bytes: &[u8]) -> String {
    strip_parting(&printed_once(&String::from_utf8_lossy(bytes))).trim_end_matches('\n').to_owned()
}

/// Both ends of a text of which `dropped` bytes before it are gone already, and how many bytes are left out in all.
fn bounded(text: &str, dropped: u64, most: usize) -> (String, u64) {
    let mut ends = HeadTail::new(most);
    ends.push(text.as_bytes());
    let kept = ends.capture();
    let gone = if dropped == 0 { String::new() } else { format!("... [{dropped} bytes of output left out] ...\n") };
    (gone + &kept.text, dropped + kept.dropped_bytes)
}

/// Writes a text to a file of its own: its path, and where it holds only the beginning, how many bytes.
fn keep(spill: &Spill, text: &str) -> (Option<String>, Option<u64>) {
    let mut file = Spilling::of(Some(Spill::clone(spill)));
    file.write(text.as_bytes());
    file.told()
}
