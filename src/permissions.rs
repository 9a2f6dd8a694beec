//! Rules and commands judged without a toolset: pure functions, JSON in and out.

use gloveport_core::access::Operation;
use gloveport_core::error::{Error, Result};
use gloveport_core::permissions::{self, CommandContext, CreateOptions, PRESET_NAMES, PermissionChecker, Ruleset};
use napi_derive::napi;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::convert::{NativeError, NativeOutcome, parse};

/// A checker, or why there is none.
#[napi(object, object_from_js = false)]
pub struct NativeCheckerMade {
    /// The checker.
    pub checker: Option<NativeChecker>,
    /// The failure.
    pub error: Option<NativeError>,
}

/// A ruleset, ready to judge.
#[napi]
pub struct NativeChecker {
    inner: PermissionChecker,
}

#[napi]
impl NativeChecker {
    /// Compiles a ruleset, given as JSON, and holds it to its own examples.
    #[napi(catch_unwind)]
    pub fn create(ruleset_json: String) -> NativeCheckerMade {
        match parse::<Ruleset>(&ruleset_json).and_then(PermissionChecker::new) {
            Ok(inner) => NativeCheckerMade { checker: Some(Self { inner }), error: None },
            Err(error) => NativeCheckerMade { checker: None, error: Some(error.into()) },
        }
    }

    /// The verdict on one target, as JSON in `value`.
    #[napi(catch_unwind)]
    pub fn check(&self, operation: String, target: String) -> NativeOutcome {
        let operation = Operation::ALL.into_iter().find(|known| known.name() == operation).ok_or_else(|| {
            let names: Vec<_> = Operation::ALL.iter().map(|known| known.name()).collect();
            Error::invalid(format!("There is no such operation. The operations are: {}.", names.join(", ")))
        });
        json(operation.map(|operation| self.inner.check(operation, &target)))
    }
}

/// The context of a command, as the facade writes it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ContextJson {
    working_directory: Option<String>,
    home: Option<String>,
    roots: Vec<String>,
    allowed_commands: Option<Vec<String>>,
    continues: bool,
    expands_history: Option<bool>,
}

/// The parsed picture of a command, as JSON in `value`.
#[napi(catch_unwind)]
pub fn analyze_command(command: String, context_json: String) -> NativeOutcome {
    json(parse::<ContextJson>(&context_json).map(|context| {
        let default = CommandContext::default();
        let context = CommandContext {
            fence: !context.roots.is_empty(),
            working_directory: context.working_directory.unwrap_or_else(|| default.working_directory.clone()),
            home: context.home,
            roots: context.roots,
            allowed_commands: context.allowed_commands,
            continues: context.continues,
            expands_history: context.expands_history.unwrap_or(default.expands_history),
            ..default
        };
        permissions::analyze(&command, &context)
    }))
}

/// All presets by name, as JSON in `value`.
#[napi(catch_unwind)]
pub fn presets() -> NativeOutcome {
    let all = PRESET_NAMES.iter().map(|name| {
        let ruleset = Ruleset::preset(name)?;
        Ok(((*name).to_owned(), serde_json::to_value(ruleset).map_err(|_| Error::internal("A preset is not JSON."))?))
    });
    json(all.collect::<Result<Map<String, Value>>>())
}

/// The ruleset that the answers in `options_json` describe, as JSON in `value`.
#[napi(catch_unwind)]
pub fn create_ruleset(options_json: String) -> NativeOutcome {
    json(parse::<CreateOptions>(&options_json).map(Ruleset::create))
}

fn json<T: Serialize>(result: Result<T>) -> NativeOutcome {
    match result {
        Ok(value) => NativeOutcome { value: serde_json::to_string(&value).ok(), ..NativeOutcome::default() },
        Err(error) => NativeOutcome { error: Some(error.into()), ..NativeOutcome::default() },
    }
}
