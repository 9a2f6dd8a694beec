//! Images, documents and notebooks from hostile bytes: an answer or a typed error, never a panic.
#![no_main]

use gloveport_core::cancel::Deadline;
use gloveport_core::media::{Media, image, notebook, pdf};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match Media::of(bytes) {
        Some(Media::Image(_)) => {
            let deadline = Deadline::default();
            let bounds = image::Bounds { path: "/f", max_bytes: 1 << 20, deadline: &deadline };
            match image::prepare(bytes.to_vec(), &bounds) {
                Ok(image) => assert!(image.bytes.len() <= 1 << 20),
                Err(error) => assert_ne!(error.kind().code(), "INTERNAL"),
            }
        }
        Some(Media::Pdf) => {
            let _ = pdf::look(bytes);
        }
        None => {
            if let Some(notebook) = notebook::render(bytes) {
                let lines = notebook.text.lines().count() as u64;
                assert!(notebook.images.iter().all(|image| image.line < lines));
            }
        }
    }
});
