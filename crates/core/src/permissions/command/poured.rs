//! What the commands of a pipeline pour into it, where all of that is known: text for the client of a database at its end.

use super::analyzer::Input;
use super::argument::{Argument, is_marked};
use super::databases;
use super::script::RawCommand;

/// Whether a text has orders for such a client, and whether it has back-quotes, in which some find a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Orders {
    are_some: bool,
    are_quoted: bool,
}

impl Orders {
    /// Whether the client of that name may run something by them.
    pub(super) fn run(self, client: &str) -> bool {
        self.are_some || (self.are_quoted && client == "psql")
    }

    fn add(&mut self, text: &str) {
        // Of all of them it finds most in a text.
        self.are_some |= databases::may_run("sqlite3", text);
        self.are_quoted |= text.contains('`');
    }

    fn join(&mut self, other: Self) {
        self.are_some |= other.are_some;
        self.are_quoted |= other.are_quoted;
    }
}

/// A script as it is read from left to right.
#[derive(Debug, Default)]
pub(super) struct Poured {
    /// By the commands of this pipeline so far.
    here: Orders,
    /// By all commands so far: a pipe out of a compound may take any of them.
    before: Orders,
    is_piped: bool,
}

impl Poured {
    /// Begins the next command. What it reads, where that comes by a pipe.
    pub(super) fn begin(&mut self, command: &RawCommand) -> Input {
        let was_piped = std::mem::replace(&mut self.is_piped, command.piped_out);
        if !command.piped_in {
            self.here = Orders::default();
            return Input::Inherited;
        }
        if !was_piped {
            self.here = self.before;
        }
        if self.here == Orders::default() { Input::Unknown } else { Input::Poured(self.here) }
    }

    /// What such a command prints.
    pub(super) fn see(&mut self, arguments: &[Argument], input: &Input) {
        const PRINTERS: [&str; 4] = ["echo", "printf", "cat", "tee"];
        let name = |word: &Argument| word.marked().rsplit('/').next().unwrap_or_default().to_owned();
        // `command echo`, `env -i printf`
        let found = arguments.iter().take(4).position(|word| PRINTERS.contains(&name(word).as_str()));
        let Some(found) = found else { return };
        let words: Vec<&str> = arguments[found + 1..].iter().map(Argument::marked).collect();
        let mut orders = Orders::default();
        match (name(&arguments[found]).as_str(), input) {
            ("echo", _) => see_text(&words.join(" "), &mut orders),
            ("printf", _) => {
                see_text(&words.join(" "), &mut orders);
                see_text(&words.join("\n"), &mut orders);
            }
            (_, Input::Text(text)) => orders.add(text),
            _ => {}
        }
        self.here.join(orders);
        self.before.join(orders);
    }
}

/// A text that is printed, in which `\n` begins a line.
fn see_text(text: &str, orders: &mut Orders) {
    let text = text.replace("\\n", "\n").replace("\\t", "\t");
    orders.add(&text);
    // Signs by their numbers, and a form that puts an order together.
    let is_numbered = ["\\0", "\\1", "\\x", "\\u"].iter().any(|sign| text.contains(sign));
    let is_made = |line: &str| {
        let line = line.trim_start().trim_start_matches("-e ").trim_start_matches("-n ");
        let word = line.split_ascii_whitespace().next().unwrap_or_default();
        let is_form = word.starts_with('%') && word.chars().nth(2).is_some_and(char::is_alphabetic);
        is_form || (word.starts_with('.') && (word == "." || word.contains(['%', '\\']) || is_marked(word)))
    };
    orders.are_some |= is_numbered || text.lines().any(is_made);
}
