//! `read_file` over real backends: what is no plain text, and several files at once.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gloveport_core::backend::Backend;
use gloveport_core::backend::local::{LocalBackend, LocalOptions};
use gloveport_core::backend::memory::{StateBackend, StateOptions};
use gloveport_core::limits::Limits;
use gloveport_core::tool::{Part, ToolResult};
use gloveport_core::toolset::{Application, CallOptions, Toolset};
use serde_json::{Value, json};

/// An image of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn dot() -> Vec<u8> {
    STANDARD.decode(PNG).unwrap()
}

fn pdf() -> Vec<u8> {
    b"%PDF-1.4\n1 0 obj << /Type /Pages /Count 3 /Kids [] >> endobj\n".to_vec()
}

/// A wide image of `width` by 1 pixels.
fn wide(width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, 1);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&vec![9; width as usize]).unwrap();
    bytes
}

/// The same files on a disk and in memory.
struct World {
    _directory: tempfile::TempDir,
    backends: [Arc<dyn Backend>; 2],
}

impl World {
    fn new(files: &[(&str, Vec<u8>)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut held = serde_json::Map::new();
        for (name, bytes) in files {
            std::fs::write(directory.path().join(name), bytes).unwrap();
            held.insert(format!("/{name}"), json!({ "content": STANDARD.encode(bytes), "encoding": "base64" }));
        }
        let local = LocalOptions { root: Some(directory.path().to_owned()), ..LocalOptions::default() };
        let local = LocalBackend::new(local).unwrap();
        let options: StateOptions = serde_json::from_value(json!({ "files": held })).unwrap();
        let state = StateBackend::new(options, Limits::default()).unwrap();
        Self { _directory: directory, backends: [Arc::new(local), Arc::new(state)] }
    }

    /// The answer, which must be the same on every backend but for the directory in paths.
    async fn read(&self, options: Value, input: Value) -> ToolResult {
        let mut answers = Vec::new();
        for backend in &self.backends {
            let options = serde_json::from_value(options.clone()).unwrap();
            let toolset = Toolset::new(Arc::clone(backend), options, Application::default()).unwrap();
            let mut answer = toolset.call("read_file", input.clone(), CallOptions::default()).await.unwrap();
            let base = backend.files().working_directory().as_str().trim_end_matches('/').to_owned() + "/";
            answer.text = answer.text.replace(&base, "/");
            answer.data = None;
            answers.push(answer);
        }
        assert_eq!(answers[0], answers[1], "{input}");
        answers.swap_remove(0)
    }
}

fn image(bytes: &[u8]) -> Part {
    Part::Image { media_type: "image/png".to_owned(), data: STANDARD.encode(bytes) }
}

/// BE-105.
#[tokio::test]
async fn images_and_documents_are_known_by_content_and_come_back_as_parts() {
    let world = World::new(&[("dot.txt", dot()), ("text.png", b"no image\n".to_vec()), ("a.dat", pdf())]);
    let answer = world.read(json!({}), json!({ "path": "dot.txt" })).await;
    assert_eq!(answer.text, "Image /dot.txt (1x1 pixels, 70 bytes).");
    assert_eq!(answer.parts, [image(&dot())]);
    let answer = world.read(json!({}), json!({ "path": "text.png" })).await;
    assert_eq!((answer.text.as_str(), answer.parts.len()), ("     1\tno image", 0));
    let answer = world.read(json!({}), json!({ "path": "a.dat" })).await;
    assert_eq!(answer.text, "Document /a.dat (PDF, 3 pages, 61 bytes).");
    let part =
        Part::File { media_type: "application/pdf".to_owned(), data: STANDARD.encode(pdf()), name: "a.dat".to_owned() };
    assert_eq!(answer.parts, [part]);
}

#[tokio::test]
async fn a_large_image_is_handed_over_scaled() {
    let world = World::new(&[("wide.png", wide(4_000))]);
    let answer = world.read(json!({}), json!({ "path": "wide.png" })).await;
    assert!(answer.text.starts_with("Image /wide.png (4000x1 pixels, "), "{}", answer.text);
    assert!(answer.text.ends_with("), shown at 1568x1."), "{}", answer.text);
    let [Part::Image { media_type, data }] = answer.parts.as_slice() else { unreachable!("one image") };
    let bytes = STANDARD.decode(data).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((media_type.as_str(), info.width, info.height), ("image/png", 1_568, 1));
    assert!(pixels.iter().all(|pixel| *pixel == 9));
}

/// BE-105; D26: a size is told in a unit in which it is not 0.
#[tokio::test]
async fn an_image_that_is_refused_says_why() {
    let broken = dot()[..40].to_vec();
    let locked = [pdf(), b"trailer << /Encrypt 4 0 R >>".to_vec()].concat();
    let world = World::new(&[
        ("dot.png", dot()),
        ("broken.png", broken),
        ("empty.png", vec![]),
        ("empty.pdf", vec![]),
        ("locked.pdf", locked),
        ("a.zip", b"PK\x03\x04".to_vec()),
    ]);
    let plain = json!({});
    for (options, file, code, text) in [
        (
            json!({ "imageBytes": 0 }),
            "dot.png",
            "BINARY_FILE",
            "it looks like a PNG image. It can only be read as bytes.",
        ),
        (
            json!({ "imageBytes": 69 }),
            "dot.png",
            "FILE_TOO_LARGE",
            "Image '/dot.png' too large (70 bytes, max 69 bytes).",
        ),
        (
            plain.clone(),
            "broken.png",
            "BINARY_FILE",
            "The image '/broken.png' is damaged or of a kind that cannot be shown.",
        ),
        (plain.clone(), "empty.png", "BINARY_FILE", "The image '/empty.png' is empty."),
        (plain.clone(), "empty.pdf", "BINARY_FILE", "The document '/empty.pdf' is empty."),
        (plain.clone(), "locked.pdf", "BINARY_FILE", "The document '/locked.pdf' is encrypted, so it cannot be shown."),
        (json!({ "imageBytes": 0 }), "locked.pdf", "BINARY_FILE", "it looks like a PDF document."),
        (json!({ "limits": { "documentBytes": 9 } }), "locked.pdf", "FILE_TOO_LARGE", "at most 9 are allowed here."),
        (plain, "a.zip", "BINARY_FILE", "it looks like a ZIP archive"),
    ] {
        let answer = world.read(options.clone(), json!({ "path": file })).await;
        assert_eq!(answer.code.as_deref(), Some(code), "{file} {options}: {}", answer.text);
        assert!(answer.text.contains(text), "{file} {options}: {}", answer.text);
        assert_eq!(answer.parts, []);
    }
}

#[tokio::test]
async fn several_files_are_read_in_one_call_and_one_that_fails_does_not_hide_the_others() {
    let world = World::new(&[("a.txt", b"one\n".to_vec()), ("dot.png", dot()), ("b.txt", b"two\n".to_vec())]);
    let answer = world.read(json!({}), json!({ "paths": ["a.txt", "missing", "dot.png", "b.txt"] })).await;
    let parts: Vec<&str> = answer.text.split("\n\n").collect();
    assert_eq!(parts[0], "==> a.txt <==\n     1\tone");
    assert!(parts[1].starts_with("==> missing <==\nError: "), "{}", parts[1]);
    assert_eq!(parts[2], "==> dot.png <==\nImage /dot.png (1x1 pixels, 70 bytes).");
    assert_eq!(parts[3], "==> b.txt <==\n     1\ttwo");
    assert_eq!(answer.parts, [image(&dot())]);
    assert!(!answer.is_error);
}

#[tokio::test]
async fn what_one_call_hands_over_is_bounded_in_bytes_and_in_parts() {
    let world = World::new(&[("dot.png", dot())]);
    let answer = world
        .read(json!({ "limits": { "partBytes": 150 } }), json!({ "paths": ["dot.png", "dot.png", "dot.png"] }))
        .await;
    assert_eq!(answer.parts.len(), 2);
    assert!(
        answer
            .text
            .ends_with("'/dot.png' does not fit into this call beside the others; read it in a call of its own.")
    );
    let answer = world.read(json!({}), json!({ "paths": vec!["dot.png"; 25] })).await;
    assert_eq!(answer.parts.len(), 20);
}

fn notebook() -> Vec<u8> {
    let cells = json!([
        { "cell_type": "markdown", "source": ["# Title\n", "words"] },
        { "cell_type": "code", "execution_count": 1, "source": "plot()", "outputs": [
            { "output_type": "display_data", "data": { "text/plain": "<Figure>", "image/png": PNG } },
            { "output_type": "display_data", "data": { "image/png": STANDARD.encode(&dot()[..40]) } },
        ] },
    ]);
    let notebook = json!({ "nbformat": 4, "metadata": { "language_info": { "name": "python" } }, "cells": cells });
    serde_json::to_vec(&notebook).unwrap()
}

#[tokio::test]
async fn a_notebook_is_shown_as_its_cells_with_the_images_of_its_outputs() {
    let world = World::new(&[("a.ipynb", notebook()), ("b.ipynb", b"{\"no\": \"notebook\"}".to_vec())]);
    let answer = world.read(json!({}), json!({ "path": "a.ipynb" })).await;
    let head = "Notebook /a.ipynb: 2 cells, python. The line numbers are those of this view; to edit, read the JSON with raw=true.";
    let lines = [
        "── Cell 1 (markdown)",
        "# Title",
        "words",
        "── Cell 2 (code, run 1)",
        "plot()",
        "── Output of cell 2",
        "<Figure>",
        "── Image 1 (of cell 2)",
        "── Image 2 (of cell 2)",
    ];
    let numbered: Vec<String> = lines.iter().enumerate().map(|(at, line)| format!("{:>6}\t{line}", at + 1)).collect();
    assert_eq!(answer.text, format!("{head}\n\n{}\nImage 2 cannot be shown.", numbered.join("\n")));
    assert_eq!(answer.parts, [image(&dot())]);
    // A window of it, which leaves the image out.
    let answer = world.read(json!({}), json!({ "path": "a.ipynb", "offset": 1, "limit": 2 })).await;
    assert!(
        answer.text.ends_with("     2\t# Title\n     3\twords\n\n... (6 more lines) Read on with offset=3."),
        "{}",
        answer.text
    );
    assert_eq!((answer.parts.len(), answer.truncated), (0, true));
    // Without images there are still its words; raw, it is its JSON; and what is no notebook is text.
    let answer = world.read(json!({ "imageBytes": 0 }), json!({ "path": "a.ipynb" })).await;
    assert_eq!((answer.text.contains("plot()"), answer.parts.len()), (true, 0));
    let answer = world.read(json!({}), json!({ "path": "a.ipynb", "raw": true })).await;
    assert!(answer.text.starts_with("     1\t{\"nbformat\":4"), "{}", answer.text);
    let answer = world.read(json!({}), json!({ "path": "b.ipynb" })).await;
    assert_eq!(answer.text, "     1\t{\"no\": \"notebook\"}");
}
