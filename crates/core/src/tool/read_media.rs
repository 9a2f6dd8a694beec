//! What `read_file` shows of files that are not plain text: images and documents as parts, notebooks as cells.
//!
//! Whether a file is an image or a document is decided by its content, after a read as text was refused; only a notebook,
//! which is text, is known by its name. A part is bounded, and so are all parts of one call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::backend::Window;
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::limits::Limits;
use crate::media::{self, Media, image, notebook, pdf};
use crate::path::VirtualPath;
use crate::text::numbered::{self, Style, ViewOptions};
use crate::text::window::{self, WindowRequest};
use crate::tool::{Part, ToolResult, View};

/// 20 images and documents of one call: what the model interfaces take without scaling them down further.
const MAX_PARTS: usize = 20;

/// Suffixes of images and documents: an empty file of such a name is told as what it was meant to be (BE-105).
const MEDIA_SUFFIXES: [&str; 6] = ["png", "jpg", "jpeg", "gif", "webp", "pdf"];

/// What one call may still hand over.
pub(super) struct PartsLeft {
    bytes: u64,
    parts: usize,
}

impl PartsLeft {
    pub(super) fn of(limits: &Limits) -> Self {
        Self { bytes: limits.part_bytes, parts: MAX_PARTS }
    }

    /// Takes one part of the call's room, or leaves it.
    fn take(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let fits = self.parts > 0 && bytes <= self.bytes;
        if fits {
            self.parts -= 1;
            self.bytes -= bytes;
        }
        fits
    }
}

fn suffix(path: &VirtualPath) -> Option<String> {
    let name = path.as_str().rsplit('/').next()?;
    name.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase())
}

/// Whether the name is that of a Jupyter notebook.
pub(super) fn is_notebook(path: &VirtualPath) -> bool {
    suffix(path).as_deref() == Some("ipynb")
}

/// Whether the name is that of an image or a document.
pub(super) fn is_named_like_media(path: &VirtualPath) -> bool {
    suffix(path).is_some_and(|suffix| MEDIA_SUFFIXES.contains(&suffix.as_str()))
}

/// The error for an image or document without content.
pub(super) fn empty(path: &VirtualPath) -> Error {
    let what = if suffix(path).as_deref() == Some("pdf") { "document" } else { "image" };
    Error::new(ErrorKind::BinaryFile, format!("The {what} '{path}' is empty.")).with_path(path.as_str())
}

/// The image or document that `path` holds, after a read as text ended with `refusal`; else that refusal.
pub(super) async fn instead_of(
    refusal: Error,
    view: &View<'_>,
    path: &VirtualPath,
    left: &mut PartsLeft,
) -> Result<ToolResult> {
    let media_type = refusal.details().and_then(|details| details["mediaType"].as_str());
    let (Some(media_type), Some(max_image_bytes), true) =
        (media_type, view.settings.image_bytes, refusal.kind() == ErrorKind::BinaryFile)
    else {
        return Err(refusal);
    };
    // A large image may become small enough.
    let is_document = media_type == "application/pdf";
    let max_bytes = if is_document { view.limits.document_bytes } else { view.limits.file_bytes };
    let content = view.files().read_bytes(path, max_bytes, view.call).await?;
    view.check_binding(path, Some(content.version))?;
    match Media::of(&content.bytes) {
        Some(Media::Image(_)) => image(view, path, content.bytes, max_image_bytes, left).await,
        Some(Media::Pdf) if is_document => document(path, &content.bytes, left),
        // It is another file by now.
        Some(Media::Pdf) | None => Err(refusal),
    }
}

async fn image(
    view: &View<'_>,
    path: &VirtualPath,
    bytes: Vec<u8>,
    max_bytes: u64,
    left: &mut PartsLeft,
) -> Result<ToolResult> {
    let size = bytes.len() as u64;
    let image = prepare(view, path, bytes, max_bytes).await?;
    if !left.take(image.bytes.len()) {
        return Err(no_room(path));
    }
    let mut text = format!("Image {path} ({}x{} pixels, {})", image.width, image.height, media::size(size));
    if let Some((width, height)) = image.scaled {
        text.push_str(&format!(", shown at {width}x{height}"));
    }
    text.push('.');
    let (shown_width, shown_height) = image.scaled.unwrap_or((image.width, image.height));
    let data = json!({
        "path": path.as_str(), "bytes": size, "mediaType": image.format.media_type(), "width": image.width, "height": image.height,
        "shownWidth": shown_width, "shownHeight": shown_height, "shownBytes": image.bytes.len(),
    });
    Ok(ToolResult { parts: vec![part_of(&image)], ..ToolResult::new(text, data) })
}

/// Checks and scales an image, away from the threads that answer.
async fn prepare(view: &View<'_>, path: &VirtualPath, bytes: Vec<u8>, max_bytes: u64) -> Result<image::Image> {
    let (name, deadline) = (path.as_str().to_owned(), view.call.deadline.clone());
    let work = move || image::prepare(bytes, &image::Bounds { path: &name, max_bytes, deadline: &deadline });
    view.media.run(path.as_str(), &view.call.deadline, work).await
}

fn part_of(image: &image::Image) -> Part {
    Part::Image { media_type: image.format.media_type().to_owned(), data: STANDARD.encode(&image.bytes) }
}

fn document(path: &VirtualPath, bytes: &[u8], left: &mut PartsLeft) -> Result<ToolResult> {
    let pdf::Pdf { pages, encrypted } = pdf::look(bytes);
    if encrypted {
        return Err(Error::new(
            ErrorKind::BinaryFile,
            format!("The document '{path}' is encrypted, so it cannot be shown."),
        )
        .with_path(path.as_str())
        .with_details(json!({ "reason": "encrypted" })));
    }
    if !left.take(bytes.len()) {
        return Err(no_room(path));
    }
    let length = match pages {
        Some(1) => "1 page, ".to_owned(),
        Some(pages) => format!("{pages} pages, "),
        None => String::new(),
    };
    let text = format!("Document {path} (PDF, {length}{}).", media::size(bytes.len() as u64));
    let data = json!({ "path": path.as_str(), "bytes": bytes.len(), "mediaType": "application/pdf", "pages": pages });
    let name = path.as_str().rsplit('/').next().unwrap_or_default().to_owned();
    let part = Part::File { media_type: "application/pdf".to_owned(), data: STANDARD.encode(bytes), name };
    Ok(ToolResult { parts: vec![part], ..ToolResult::new(text, data) })
}

fn no_room(path: &VirtualPath) -> Error {
    let message = format!(
        "'{}' does not fit into this call beside the others; read it in a call of its own.",
        Shown(path.as_str())
    );
    Error::new(ErrorKind::FileTooLarge, message).with_path(path.as_str())
}

/// The cells of a notebook, of which `window` chooses lines; `None` where the file is none after all, or is too large, so
/// that it is shown as text.
pub(super) async fn notebook(
    view: &View<'_>,
    path: &VirtualPath,
    window: Window,
    column: usize,
    left: &mut PartsLeft,
) -> Result<Option<ToolResult>> {
    let content = match view.files().read_bytes(path, view.limits.file_bytes, view.call).await {
        Ok(content) => content,
        Err(error) if error.kind() == ErrorKind::FileTooLarge => return Ok(None),
        Err(error) => return Err(error),
    };
    view.check_binding(path, Some(content.version))?;
    let bytes = content.bytes.len();
    let work = move || Ok(notebook::render(&content.bytes));
    let Some(cells) = view.media.run(path.as_str(), &view.call.deadline, work).await? else { return Ok(None) };
    let request = WindowRequest {
        window,
        size: cells.text.len() as u64,
        count_lines_bytes: u64::MAX,
        path: path.as_str(),
        deadline: &view.call.deadline,
    };
    let shown = window::read(&mut cells.text.as_bytes(), &request)?;
    let options = ViewOptions { style: Style::Numbered, line_chars: view.limits.line_chars, column };
    let language = cells.language.as_deref().map(|language| format!(", {}", Shown(language))).unwrap_or_default();
    let mut text = format!(
        "Notebook {path}: {} cells{language}. The line numbers are those of this view; to edit, read the JSON with raw=true.\n\n{}",
        cells.cells,
        numbered::render(&shown.view(window.offset), &options)
    );
    let mut parts = Vec::new();
    let in_window = window.offset..window.offset + shown.lines;
    for (index, cell) in cells.images.into_iter().enumerate() {
        let (Some(max_bytes), true) = (view.settings.image_bytes, in_window.contains(&cell.line)) else { continue };
        match prepare(view, path, cell.bytes, max_bytes).await {
            Ok(image) if left.take(image.bytes.len()) => parts.push(part_of(&image)),
            Ok(_) => text.push_str(&format!("\nImage {} does not fit into this call.", index + 1)),
            Err(error) if matches!(error.kind(), ErrorKind::Aborted | ErrorKind::Timeout) => return Err(error),
            Err(_) => text.push_str(&format!("\nImage {} cannot be shown.", index + 1)),
        }
    }
    let data = json!({
        "path": path.as_str(), "bytes": bytes, "cells": cells.cells, "language": cells.language, "offset": window.offset,
        "lines": shown.lines, "totalLines": shown.total_lines, "nextOffset": shown.next_offset, "truncated": shown.truncated,
    });
    Ok(Some(ToolResult { parts, truncated: shown.truncated, ..ToolResult::new(text, data) }))
}
