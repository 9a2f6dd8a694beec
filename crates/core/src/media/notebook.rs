//! Jupyter notebooks as text that a model reads: each cell's source, and what it put out.
//!
//! Formats 4 and 3. Images of outputs and attachments are found with the line that stands for them; HTML, vector graphics
//! and widgets are named, not shown. A file that is no notebook is no error: the caller shows its text instead.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::image::Format;
use crate::text::ansi;

/// 10,000 characters of one output; the rest is left out of its middle.
const OUTPUT_CHARS: usize = 10_000;

/// Kinds of output that are text, the plainest first.
const TEXT_KINDS: [&str; 5] = ["text/plain", "text/markdown", "text/latex", "application/json", "text/html"];

/// A notebook as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notebook {
    /// The cells.
    pub text: String,
    /// The images, in the order of their lines.
    pub images: Vec<CellImage>,
    /// How many cells.
    pub cells: usize,
    /// The language of the code cells, where it is said.
    pub language: Option<String>,
}

/// An image that a cell holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellImage {
    /// The 0-based line of the text that stands for it.
    pub line: u64,
    /// Its content: by its first bytes an image.
    pub bytes: Vec<u8>,
}

/// Makes text of a notebook; `None` for anything else.
pub fn render(bytes: &[u8]) -> Option<Notebook> {
    let json = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let file: Value = serde_json::from_slice(json).ok()?;
    let cells: Vec<&Value> = match (file.get("cells"), file.get("worksheets")) {
        (Some(cells), _) => cells.as_array()?.iter().collect(),
        // Format 3.
        (None, Some(sheets)) => {
            sheets.as_array()?.iter().filter_map(|sheet| sheet["cells"].as_array()).flatten().collect()
        }
        (None, None) => return None,
    };
    let mut page = Page::default();
    for (index, cell) in cells.iter().enumerate() {
        page.cell(index + 1, cell)?;
    }
    Some(Notebook { text: page.text, images: page.images, cells: cells.len(), language: language(&file["metadata"]) })
}

fn language(metadata: &Value) -> Option<String> {
    let name = metadata["language_info"]["name"].as_str().or_else(|| metadata["kernelspec"]["language"].as_str())?;
    Some(name.chars().filter(|c| !c.is_control()).take(40).collect())
}

/// The text so far.
#[derive(Default)]
struct Page {
    text: String,
    lines: u64,
    images: Vec<CellImage>,
}

impl Page {
    /// `None` for what is no cell.
    fn cell(&mut self, number: usize, cell: &Value) -> Option<()> {
        let kind: String = cell["cell_type"].as_str()?.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
        let count = cell["execution_count"].as_u64().or_else(|| cell["prompt_number"].as_u64());
        let run = count.map(|count| format!(", run {count}")).unwrap_or_default();
        self.push(&format!("── Cell {number} ({kind}{run})"));
        self.push(
            &text_of(cell.get("source").or_else(|| cell.get("input")).unwrap_or(&Value::Null)).unwrap_or_default(),
        );
        for attached in cell["attachments"].as_object().into_iter().flat_map(Map::values).filter_map(Value::as_object) {
            self.data(number, attached, false);
        }
        for output in cell["outputs"].as_array().into_iter().flatten() {
            self.output(number, output);
        }
        Some(())
    }

    fn output(&mut self, number: usize, output: &Value) {
        match output["output_type"].as_str() {
            Some("stream") => {
                let stderr = if output["name"] == "stderr" { " (stderr)" } else { "" };
                self.push(&format!("── Output of cell {number}{stderr}"));
                self.push(&shown(&text_of(&output["text"]).unwrap_or_default()));
            }
            Some("error" | "pyerr") => {
                self.push(&format!("── Error of cell {number}"));
                let traceback: Vec<&str> =
                    output["traceback"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let text = |name: &str| output[name].as_str().unwrap_or_default().to_owned();
                let told = if traceback.is_empty() {
                    format!("{}: {}", text("ename"), text("evalue"))
                } else {
                    traceback.join("\n")
                };
                self.push(&shown(&told));
            }
            // Format 3 keeps the data beside the other fields.
            _ => {
                if let Some(data) = output["data"].as_object().or_else(|| output.as_object()) {
                    self.data(number, data, true);
                }
            }
        }
    }

    /// One output in several forms: its plainest text, and its image.
    fn data(&mut self, number: usize, data: &Map<String, Value>, with_text: bool) {
        // Format 3 has short names.
        let form = |kind: &str| {
            let short = match kind {
                "text/plain" => "text",
                _ => kind.rsplit('/').next().unwrap_or(kind),
            };
            data.get(kind).or_else(|| data.get(short)).and_then(text_of)
        };
        if with_text && let Some(text) = TEXT_KINDS.iter().find_map(|kind| form(kind)) {
            self.push(&format!("── Output of cell {number}"));
            self.push(&shown(&text));
        }
        let image = ["image/png", "image/jpeg", "image/gif", "image/webp"].iter().find_map(|kind| form(kind));
        if let Some(encoded) = image {
            let packed: String = encoded.split_ascii_whitespace().collect();
            match STANDARD.decode(packed) {
                Ok(bytes) if Format::of(&bytes).is_some() => {
                    let line = self.lines;
                    self.images.push(CellImage { line, bytes });
                    self.push(&format!("── Image {} (of cell {number})", self.images.len()));
                }
                Ok(_) | Err(_) => self.push(&format!("── Image of cell {number}: damaged, not shown")),
            }
        } else if form("image/svg+xml").is_some() {
            self.push(&format!("── Vector graphic of cell {number}: not shown"));
        }
    }

    /// Adds whole lines.
    fn push(&mut self, text: &str) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        self.lines += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64 + 1;
        self.text.push_str(text);
        self.text.push('\n');
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => lines.iter().map(Value::as_str).collect(),
        Value::Object(_) => Some(value.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Output without what only a terminal understands, and of bearable length.
fn shown(text: &str) -> String {
    let plain = ansi::strip(text);
    let chars = plain.chars().count();
    if chars <= OUTPUT_CHARS {
        return plain;
    }
    let half = OUTPUT_CHARS / 2;
    let head: String = plain.chars().take(half).collect();
    let tail: String = plain.chars().skip(chars - half).collect();
    format!("{head}\n[{} characters left out; raw=true shows all]\n{tail}", chars - 2 * half)
}
