//! Lines that were typed while something ran, and that it did not read: the shell finds them at its prompt, where a return runs nothing,
//! shows each and deletes it. So whoever typed them is told, and what is shown of them is no output.

use std::time::{Duration, Instant};

use super::Session;
use super::foreground::reads_a_line;
use super::marks::Kind;
use super::running::BEGIN;
use super::terminal::{ShellState, Terminal};

/// 20 ms without output at a prompt, where something may be found there: the shell has shown it by then. Where the kernel tells that it does
/// not read yet it is waited for, at most as long as for a hand-over.
const QUIET: Duration = Duration::from_millis(20);
/// 200 ms where what runs in the background prints on and on.
const NEVER_QUIET: Duration = Duration::from_millis(200);
/// 64 KiB behind a prompt in which they are looked for.
const SHOWN_BYTES: usize = 64 << 10;
/// 16 lines, and 4 KiB of them, are remembered: the last ones.
const LINES: usize = 16;
const BYTES: usize = 4 << 10;

/// The lines that were typed into what runs, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    lines: Vec<String>,
    /// Those that were found to be thrown away, and that nobody was told of.
    thrown: Option<String>,
}

impl Ahead {
    pub(super) fn add(&mut self, lines: impl IntoIterator<Item = String>) {
        self.lines.extend(lines.into_iter().filter(|line| !line.trim().is_empty()));
        let mut bytes = 0;
        let fits = |line: &&String| {
            bytes += line.len();
            bytes <= BYTES
        };
        let kept = self.lines.iter().rev().take(LINES).take_while(fits).count();
        self.lines.drain(..self.lines.len() - kept);
    }
}

impl Terminal {
    /// Notes that these lines are typed into what runs.
    pub fn typed_ahead(&self, lines: impl IntoIterator<Item = String>) {
        self.ahead.lock().add(lines);
    }

    /// The lines that were found to be thrown away ([`Session::find_thrown_away`]). They count as told.
    pub fn take_thrown_away(&self) -> Option<String> {
        self.ahead.lock().thrown.take()
    }

    /// Where the prompt ends that is there.
    fn prompt_end(&self) -> Option<u64> {
        self.marks.lock().last().filter(|mark| mark.kind == Kind::Prompt).map(|mark| mark.to)
    }
}

impl Session {
    /// Finds the lines that were typed into what ran before and that its shell threw away. What the shell showed of them is no output from
    /// then on.
    pub async fn find_thrown_away(&self, terminal: &Terminal) {
        if terminal.ahead.lock().lines.is_empty() || terminal.state() != ShellState::AtPrompt || terminal.is_plain() {
            return;
        }
        let begun = Instant::now();
        loop {
            let reads = self.process.leader().and_then(reads_a_line) != Some(false);
            let is_shown = self.process.quiet_for() >= QUIET || begun.elapsed() >= NEVER_QUIET;
            let is_settled = reads && is_shown || begun.elapsed() >= BEGIN;
            let position = self.process.position();
            if self.finds_at_prompt(terminal, position, is_settled) {
                return;
            }
            if is_settled {
                // All of them were read.
                terminal.ahead.lock().lines.clear();
                return;
            }
            tokio::select! {
                () = self.process.changed(position) => {}
                () = tokio::time::sleep(QUIET) => {}
            }
        }
    }

    /// Whether the shell has shown some of the lines behind its prompt until `position`: all, and where it shows no more the last ones.
    /// Before that the first of two that are the same would be taken for the last.
    fn finds_at_prompt(&self, terminal: &Terminal, position: u64, is_settled: bool) -> bool {
        let Some(prompt) = terminal.prompt_end() else { return false };
        let most = usize::try_from(position.saturating_sub(prompt)).unwrap_or(usize::MAX).min(SHOWN_BYTES);
        // No lock is held meanwhile: whoever takes output locks the marks within that.
        let bytes = self.process.read(prompt, most).bytes;
        let mut marks = terminal.marks.lock();
        let mut ahead = terminal.ahead.lock();
        let candidates = if is_settled { ahead.lines.len() } else { ahead.lines.len().min(1) };
        let mut thrown = (0..candidates).map(|first| ahead.lines[first..].join("\n"));
        let Some(thrown) = thrown.find(|lines| marks.thrown_away(lines, prompt, &bytes)) else { return false };
        ahead.lines.clear();
        let before = ahead.thrown.take().map_or_else(String::new, |before| before + "\n");
        ahead.thrown = Some(before + &thrown);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_remembered_within_bounds() {
        let mut ahead = Ahead::default();
        ahead.add((0..40).map(|line| format!("line {line}")).chain([" ".to_owned(), String::new()]));
        assert_eq!((ahead.lines.len(), ahead.lines[0].as_str(), ahead.lines[15].as_str()), (16, "line 24", "line 39"));
        ahead.add(["x".repeat(BYTES)]);
        assert_eq!(ahead.lines, ["x".repeat(BYTES)]);
        ahead.add(["x".repeat(BYTES + 1)]);
        assert_eq!(ahead.lines, [""; 0]);
    }
}
