//! The batch forms that the file-arranging tools share: one target or several, done in order, each with its own answer.
//!
//! A batch is not a transaction: what failed is named, what worked stays. The accesses of all items are judged before
//! the first one runs.

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::tool::ToolResult;

/// 200: items of one call.
pub(super) const MAX_ITEMS: usize = 200;

/// One item, or several.
pub(super) fn items<'a, T: ?Sized>(
    one: Option<&'a T>,
    several: Option<Vec<&'a T>>,
    names: (&str, &str),
) -> Result<Vec<&'a T>> {
    match (one, several) {
        (Some(one), None) => Ok(vec![one]),
        (None, Some(several)) if (1..=MAX_ITEMS).contains(&several.len()) => Ok(several),
        _ => Err(Error::invalid(format!("Give either {}, or {} with 1 to {MAX_ITEMS} items.", names.0, names.1))),
    }
}

/// What became of the items.
pub(super) struct Report {
    lines: Vec<String>,
    items: Vec<Value>,
    first_error: Option<Error>,
    failed: usize,
}

impl Report {
    pub(super) fn new() -> Self {
        Self { lines: Vec::new(), items: Vec::new(), first_error: None, failed: 0 }
    }

    /// Adds the outcome of one item; `facts` name it in `data`.
    pub(super) fn push(&mut self, mut facts: Value, outcome: Result<String>) {
        let success = outcome.is_ok();
        let message = match outcome {
            Ok(message) => message,
            Err(error) => {
                self.failed += 1;
                facts["code"] = json!(error.kind().code());
                let message = format!("Error: {}", error.message());
                self.first_error.get_or_insert(error);
                message
            }
        };
        facts["success"] = json!(success);
        facts["message"] = json!(message);
        self.lines.push(message);
        self.items.push(facts);
    }

    /// The result: a failure only when every item failed.
    pub(super) fn finish(self) -> Result<ToolResult> {
        let count = self.items.len();
        match self.first_error {
            Some(error) if count == 1 => return Err(error),
            _ => {}
        }
        let mut text = self.lines.join("\n");
        if self.failed > 0 {
            text.push_str(&format!("\n{} of {count} done, {} failed.", count - self.failed, self.failed));
        }
        let data = json!({ "items": self.items, "failed": self.failed });
        let code = self.first_error.filter(|_| self.failed == count).map(|error| error.kind().code().to_owned());
        Ok(ToolResult { is_error: code.is_some(), code, ..ToolResult::new(text, data) })
    }
}
