//! What a tool call answers: text for the model, facts for code, parts for models that see.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;

/// The answer to one call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolResult {
    /// What the model reads. Virtual paths only.
    pub text: String,
    /// Whether the call failed; `text` then says what would work.
    #[serde(default)]
    pub is_error: bool,
    /// The stable code of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Facts for programs; the shape is the tool's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Images and documents for models that take them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Whether `text` leaves something out.
    #[serde(default)]
    pub truncated: bool,
}

/// Content that is not text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Part {
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Such as `image/png`.
        media_type: String,
        /// Base64.
        data: String,
    },
    /// A document, such as a PDF.
    #[serde(rename_all = "camelCase")]
    File {
        /// Such as `application/pdf`.
        media_type: String,
        /// Base64.
        data: String,
        /// The file's name.
        name: String,
    },
}

impl ToolResult {
    /// A success with text and facts.
    pub fn new(text: impl Into<String>, data: Value) -> Self {
        Self { text: text.into(), data: Some(data), ..Self::default() }
    }

    /// The failure that a model reads for `error`.
    pub fn from_error(error: &Error) -> Self {
        Self {
            text: format!("Error: {}", error.message()),
            is_error: true,
            code: Some(error.kind().code().to_owned()),
            data: error.details().cloned(),
            ..Self::default()
        }
    }

    /// Cuts the text to `max_bytes` on a character border, with a marker that says so.
    #[must_use]
    pub fn bounded(mut self, max_bytes: usize) -> Self {
        if self.text.len() > max_bytes {
            let dropped = self.text.len() - self.text.floor_char_boundary(max_bytes);
            self.text.truncate(self.text.len() - dropped);
            self.text.push_str(&format!("\n\n... ({dropped} more bytes were cut; ask for less at once)"));
            self.truncated = true;
        }
        self
    }
}
