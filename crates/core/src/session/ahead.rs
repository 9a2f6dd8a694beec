//! Lines that were typed while something ran, and that it did not read: the shell finds them at its prompt, where a return runs nothing,
//! shows each and deletes it. So whoever typed them is told, and what is shown of them is no output.

use std::time::{Duration, Instant};

use super::Session;
use super::marks::Kind;
use super::terminal::{ShellState, Terminal};

/// 30 ms behind a prompt for a shell to have shown what it found there, where something may be found.
const SHOWN: Duration = Duration::from_millis(30);
/// 64 KiB behind a prompt in which they are looked for.
const SHOWN_BYTES: usize = 64 << 10;
/// 16 lines, and 4 KiB of them, are remembered: the last ones.
const LINES: usize = 16;
const BYTES: usize = 4 << 10;

/// The lines that were typed into what runs, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Ahead(Vec<String>);

impl Ahead {
    pub(super) fn add(&mut self, lines: impl IntoIterator<Item = String>) {
        self.0.extend(lines.into_iter().filter(|line| !line.trim().is_empty()));
        let mut bytes = 0;
        let fits = |line: &&String| {
            bytes += line.len();
            bytes <= BYTES
        };
        let kept = self.0.iter().rev().take(LINES).take_while(fits).count();
        self.0.drain(..self.0.len() - kept);
    }
}

impl Terminal {
    /// Notes that these lines are typed into what runs.
    pub fn typed_ahead(&self, lines: impl IntoIterator<Item = String>) {
        self.ahead.lock().add(lines);
    }
}

impl Session {
    /// The lines that were typed into what ran before and that its shell threw away; told once. What the shell showed of them is no output
    /// from then on.
    pub async fn thrown_away(&self, terminal: &Terminal) -> Option<String> {
        if terminal.ahead.lock().0.is_empty() || terminal.state() != ShellState::AtPrompt || terminal.is_plain() {
            return None;
        }
        // The prompt behind what ran; another one is that of a line that was typed there since.
        let give_up = Instant::now() + SHOWN;
        loop {
            let position = self.process.position();
            if let Some(thrown) = self.shown_at_prompt(terminal, position) {
                return Some(thrown);
            }
            tokio::select! {
                () = self.process.changed(position) => {}
                () = tokio::time::sleep_until(give_up.into()) => {
                    // All of them were read.
                    terminal.ahead.lock().0.clear();
                    return None;
                }
            }
        }
    }

    /// Those of the lines that the shell has shown behind its prompt until `position`: the last ones, or none.
    fn shown_at_prompt(&self, terminal: &Terminal, position: u64) -> Option<String> {
        let mut marks = terminal.marks.lock();
        let prompt = marks.last().filter(|mark| mark.kind == Kind::Prompt)?.to;
        let most = usize::try_from(position.saturating_sub(prompt)).unwrap_or(usize::MAX).min(SHOWN_BYTES);
        let bytes = self.process.read(prompt, most).bytes;
        let mut ahead = terminal.ahead.lock();
        let thrown = (0..ahead.0.len()).map(|first| ahead.0[first..].join("\n"));
        let thrown = thrown.into_iter().find(|lines| marks.thrown_away(lines, prompt, &bytes))?;
        ahead.0.clear();
        Some(thrown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_remembered_within_bounds() {
        let mut ahead = Ahead::default();
        ahead.add((0..40).map(|line| format!("line {line}")).chain([" ".to_owned(), String::new()]));
        assert_eq!((ahead.0.len(), ahead.0[0].as_str(), ahead.0[15].as_str()), (16, "line 24", "line 39"));
        ahead.add(["x".repeat(BYTES)]);
        assert_eq!(ahead.0, ["x".repeat(BYTES)]);
        ahead.add(["x".repeat(BYTES + 1)]);
        assert_eq!(ahead.0, [""; 0]);
    }
}
