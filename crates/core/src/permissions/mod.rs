//! What an agent may do: rules of allow, ask and deny for each operation and path, or command.
//!
//! A judgement is a pure, total function of the operation and the target as it is asked and as it resolves: no disk, no
//! clock, no memory of earlier calls. The pipeline brings both spellings and takes the strictest answer; the backend
//! asks again with the opened file in its hand. Nothing here knows tools, approvals or backends.
//!
//! ```
//! use gloveport_core::access::Operation;
//! use gloveport_core::permissions::{Action, PermissionChecker, Ruleset};
//!
//! let checker = PermissionChecker::new(Ruleset::preset("default")?)?;
//! assert_eq!(checker.check(Operation::Read, "/project/src/main.rs").action, Action::Allow);
//! assert_eq!(checker.check(Operation::Read, "/project/.env").action, Action::Deny);
//! # Ok::<(), gloveport_core::error::Error>(())
//! ```

pub use self::check_command::CommandVerdict;
pub(crate) use self::check_command::JudgedBy;
pub use self::checker::{MatchedRule, PermissionChecker, Verdict, strictest};
pub use self::command::{CommandAnalysis, CommandContext, CommandJudgement, SimpleCommand, analyze};
pub use self::pattern::Pattern;
pub use self::presets::{CreateOptions, PRESET_NAMES};
pub use self::ruleset::{Action, OperationRules, Rule, Ruleset};
pub(crate) use self::steps::Steps;

mod check_command;
mod check_files;
mod checker;
pub mod command;
mod pattern;
mod presets;
mod ruleset;
mod shape;
mod steps;
#[cfg(test)]
mod tests;
