//! Somebody's yes or no to one call: [`Approver`], what it is shown ([`ApprovalRequest`]) and what it answers
//! ([`ApprovalDecision`]).
//!
//! An approval is bound to what it showed: tool, input, and the state of every file that the request names. What a
//! session remembers ([`ApprovalMemory`]) is keyed on tool, input, where its paths lead and why somebody was asked, never on
//! the tool's name alone. Who must be asked
//! is decided by `toolset`; this module only carries the question and the answer.

use std::collections::HashSet;

use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::access::Operation;
use crate::backend::BoxFuture;
use crate::call_info::CallInfo;
use crate::error::Result;
use crate::order;
use crate::permissions::CommandAnalysis;

/// 10,000: remembered approvals of one toolset; past that nothing new is remembered, and people are asked again.
const MAX_REMEMBERED: usize = 10_000;

/// How asks are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// The approver is asked.
    #[default]
    Interactive,
    /// Every ask is a yes; denials stay denials. For tests and for programs that wall the agent in elsewhere.
    ApproveAll,
    /// Every ask is a no; no approver can loosen it.
    Strict,
}

/// How requests of calls that run at once reach the approver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalOrder {
    /// The next one is shown when the last one is answered. The default: a person reads one thing at a time, and what they
    /// allow for the session need not be asked again.
    #[default]
    OneByOne,
    /// All at once, for approvers that show many.
    Together,
}

/// What somebody is asked to approve.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The call.
    pub call_id: String,
    /// The tool, by our own name.
    pub tool: String,
    /// The input as the hooks left it: what `call` takes again.
    pub input: Value,
    /// The input as the tool takes it: decoded, with what was left out filled in.
    pub decoded_input: Value,
    /// One line: what will happen, control characters escaped.
    pub description: String,
    /// Why somebody is asked.
    pub reason: String,
    /// What will be touched.
    pub touches: Vec<Touch>,
    /// The unified diff of a write or edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The parsed picture of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandAnalysis>,
    /// What a tool of the application says to whoever is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// One path or command that a call touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Touch {
    /// What is done.
    pub operation: Operation,
    /// The path as asked, or the command.
    pub target: String,
    /// Where the path really leads, when that is another place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalDecision {
    /// Yes or no.
    pub approved: bool,
    /// Why, for the model.
    #[serde(default)]
    pub reason: Option<String>,
    /// Whether the same call needs no further question.
    #[serde(default)]
    pub remember: Remember,
    /// Another input, which is decoded and decided afresh. `null` is one too, and a wrong one: it does not stand for the
    /// input that somebody wanted changed.
    #[serde(default, deserialize_with = "given")]
    pub input: Option<Value>,
}

/// A value that is there, `null` too.
pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// How long an approval holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Remember {
    /// For this call.
    #[default]
    None,
    /// For the same tool and input where they touch the same files for the same reasons, as long as the toolset lives.
    Session,
}

/// Asks somebody.
pub trait Approver: Send + Sync {
    /// The answer to one request. An error is a no.
    fn decide<'a>(
        &'a self,
        call: CallInfo<'a>,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<ApprovalDecision>>;
}

/// A grant that the caller brings along: somebody said yes elsewhere (a framework's own approval).
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalGrant {
    /// Must be `true`; `false` is a denial with `reason`.
    pub approved: bool,
    /// Why, for the model.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Identifies what was approved: the tool, its input, key order ignored, and `grounds`: what else somebody said yes to, such
/// as where a path led.
pub fn approval_key(tool: &str, input: &Value, grounds: &Value) -> String {
    let mut key = String::with_capacity(64);
    key.push_str(tool);
    for part in [input, grounds] {
        key.push('\0');
        write_canonical(part, &mut key);
    }
    key
}

/// JSON that is the same for equal values: keys sorted.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

/// JSON with sorted keys. Iterative, so that deep input cannot overflow the stack.
fn write_canonical(value: &Value, out: &mut String) {
    enum Step<'a> {
        Value(&'a Value),
        Text(String),
    }
    let mut steps = vec![Step::Value(value)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(text) => out.push_str(&text),
            Step::Value(Value::Array(items)) => {
                steps.push(Step::Text("]".to_owned()));
                for (index, item) in items.iter().enumerate().rev() {
                    steps.push(Step::Value(item));
                    steps.push(Step::Text(if index == 0 { String::new() } else { ",".to_owned() }));
                }
                out.push('[');
            }
            Step::Value(Value::Object(fields)) => {
                let mut sorted: Vec<_> = fields.iter().collect();
                order::sort_by(&mut sorted, |one, other| other.0.cmp(one.0));
                steps.push(Step::Text("}".to_owned()));
                let first = sorted.len().saturating_sub(1);
                for (index, (name, field)) in sorted.into_iter().enumerate() {
                    steps.push(Step::Value(field));
                    let comma = if index == first { "" } else { "," };
                    steps.push(Step::Text(format!("{comma}{}:", Value::from(name.as_str()))));
                }
                out.push('{');
            }
            Step::Value(scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_))) => {
                out.push_str(&scalar.to_string());
            }
        }
    }
}

/// What a toolset remembers of approvals "for this session".
#[derive(Debug, Default)]
pub struct ApprovalMemory(Mutex<HashSet<String>>);

impl ApprovalMemory {
    /// Whether the same tool and input were approved for the session.
    pub fn contains(&self, key: &str) -> bool {
        self.0.lock().contains(key)
    }

    /// Remembers an approval, unless the memory is full.
    pub fn remember(&self, key: String) {
        let mut keys = self.0.lock();
        if keys.len() < MAX_REMEMBERED {
            keys.insert(key);
        }
    }

    /// What is remembered: `{ "tool", "input" }` each, sorted.
    pub fn list(&self) -> Vec<Value> {
        let mut keys: Vec<String> = self.0.lock().iter().cloned().collect();
        order::sort_by(&mut keys, Ord::cmp);
        let read = |key: &String| {
            let mut parts = key.split('\0');
            let (tool, input) = (parts.next()?, parts.next()?);
            Some(json!({ "tool": tool, "input": serde_json::from_str::<Value>(input).ok()? }))
        };
        keys.iter().filter_map(read).collect()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_ignores_the_order_of_fields_and_nothing_else() {
        let key = |value| approval_key("write_file", &value, &json!([]));
        assert_eq!(
            key(json!({"a": 1, "b": [1, {"d": 2, "c": null}]})),
            key(json!({"b": [1, {"c": null, "d": 2}], "a": 1}))
        );
        for other in [
            json!({"a": 1}),
            json!({"a": "1", "b": [1, {"c": null, "d": 2}]}),
            json!({"a": 1, "b": [[1], {"c": null, "d": 2}]}),
        ] {
            assert_ne!(key(json!({"a": 1, "b": [1, {"c": null, "d": 2}]})), key(other));
        }
        assert_ne!(approval_key("a", &json!({}), &json!([])), approval_key("b", &json!({}), &json!([])));
        assert_ne!(approval_key("a", &json!({}), &json!(["/a"])), approval_key("a", &json!({}), &json!(["/b"])));
    }

    #[test]
    fn what_is_remembered_can_be_read_again() {
        let memory = ApprovalMemory::default();
        for input in
            [json!({}), json!([]), json!({"a": [], "b": [1, "x\0\n", {"c": null, "\"": {}}], "c": {"d": true}})]
        {
            memory.remember(approval_key("tool", &input, &json!(["/\0"])));
            assert_eq!(memory.list(), [json!({"tool": "tool", "input": input})]);
            memory.clear();
        }
    }
}
