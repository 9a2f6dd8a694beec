//! Commands understood: what a shell command line runs, reads and writes, and whether that may be.
//!
//! A command is parsed, never matched as one string: every simple command in it counts, through lists, pipes, subshells,
//! loops, functions, substitutions, here-documents, quotes and wrappers such as `env` or `xargs`. What is known only when
//! it runs is *unresolved*, and an unresolved or unparsed command is never allowed without somebody's yes.
//!
//! ```text
//! text ─ script ─ chain, running ─ argument ─ unwrap ─ deny, allow, paths ─ CommandAnalysis
//! ```
//!
//! The deny list is a seat belt against accidents. It is no wall: a program can do what its name does not say. The walls
//! are the sandbox and the confinement of the backend.

pub use self::analysis::{CommandAnalysis, CommandContext, CommandJudgement, SimpleCommand};
use self::analyzer::Analyzer;
#[cfg(test)]
use self::analyzer::{COMMANDS, WRAPPED};
use self::paths::Aliases;
#[cfg(test)]
use super::Action;
use crate::error::is_deceptive;

mod allow;
mod analysis;
mod analyzer;
pub(crate) mod argument;
mod arrays;
mod awk;
mod bombs;
mod builtins;
mod chain;
mod databases;
mod deny;
mod doubt;
mod each;
mod ending;
mod env;
mod expansion;
mod git;
mod harnesses;
mod interpreters;
mod known;
mod later;
mod loops;
mod machine;
mod makers;
mod modes;
mod network;
mod numbers;
mod ordinary;
pub(crate) mod paths;
mod poured;
mod rights;
mod runners;
mod running;
mod sed;
mod setting;
mod shells;
mod tar;
mod terminals;
#[cfg(test)]
mod tests;
mod unwrap;
mod variables;
mod wrappers;

/// 64 KiB: judged in well under 50 ms (R-CMD-5); a longer command is a script and belongs into a file.
pub const COMMAND_BYTES: usize = 64 << 10;

/// Parses and judges a command line. Total: whatever the text, there is an answer, and no text that was not understood
/// is allowed.
pub fn analyze(command: &str, context: &CommandContext) -> CommandAnalysis {
    let analyzer = analyze_from(command, context, Vec::new(), Aliases::default());
    let leads = analyzer.places.entered().len() > 1 || analyzer.places.aliases().len() > context.links.len();
    if analyzer.reorders && leads && !analyzer.places.is_full() {
        // A loop, a function or a text for later: what stands in front may run after what stands behind.
        let calls = analyzer.functions.len() + analyzer.evaluated;
        let (maybe, aliases) = (analyzer.places.entered_by_calls(calls), analyzer.places.aliases().clone());
        return analyze_from(command, context, maybe, aliases).finish();
    }
    analyzer.finish()
}

/// One reading, in which every command may also run in the directories of `maybe`.
fn analyze_from<'a>(command: &str, context: &'a CommandContext, maybe: Vec<String>, aliases: Aliases) -> Analyzer<'a> {
    let mut analyzer = Analyzer::new(context, maybe, aliases);
    if command.len() > COMMAND_BYTES {
        analyzer.exceed("it is longer than 64 KiB");
    } else if let Some(problem) = unreadable(command) {
        analyzer.fail(problem);
    } else {
        analyzer.read_all(command);
    }
    if bombs::is_fork_bomb_text(command) {
        analyzer.deny("it starts itself without end (a fork bomb)");
    }
    analyzer
}

/// Why a text is not even looked at. A variation selector behind a picture (`❤️`) only says how that is drawn.
fn unreadable(command: &str) -> Option<&'static str> {
    let mut last = ' ';
    let hides = command.chars().any(|character| {
        let before = std::mem::replace(&mut last, character);
        let draws = matches!(character, '\u{FE0E}' | '\u{FE0F}') && !before.is_ascii() && !is_deceptive(before);
        is_deceptive(character) && !draws && !matches!(character, '\n' | '\t' | '\r')
    });
    hides.then_some("it holds invisible or control characters")
}
