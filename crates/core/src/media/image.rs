//! Images for a model: checked by decoding them, and scaled when they are larger than models look at.
//!
//! An image of at most [`MAX_EDGE`] pixels on its long edge stays byte for byte what it is. A larger one is decoded, scaled
//! with its proportions kept, turned as its camera says, and encoded anew: photographs as JPEG, everything else as PNG.
//! Of an animation that is scaled, the first picture is shown.

use crate::cancel::Deadline;
use crate::error::Result;

use super::decode::{self, Rows};
use super::{damaged, encode, orientation, too_large};

/// 1,568 pixels: what models scale to by themselves, so that more would only cost tokens (BE-105).
pub const MAX_EDGE: u32 = 1_568;

/// 50 million pixels: a phone's camera. What is decoded takes up to 9 bytes of memory a pixel, by the format.
pub const MAX_PIXELS: u64 = 50_000_000;

/// A format that models take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF, perhaps an animation.
    Gif,
    /// WebP, lossy or not, perhaps an animation.
    WebP,
}

impl Format {
    /// Judges by the first bytes.
    pub fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Self::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            _ => None,
        }
    }

    /// Such as `image/png`.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }
}

/// What bounds an image.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    /// The virtual path, for messages.
    pub path: &'a str,
    /// Bytes of what is handed to the model.
    pub max_bytes: u64,
    /// Checked between rows.
    pub deadline: &'a Deadline,
}

/// An image as a model is handed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The format of `bytes`.
    pub format: Format,
    /// The image: the file's own bytes, or a scaled picture.
    pub bytes: Vec<u8>,
    /// Pixels of the file's image.
    pub width: u32,
    /// Pixels of the file's image.
    pub height: u32,
    /// Width and height of what is handed over, when it was scaled.
    pub scaled: Option<(u32, u32)>,
}

/// Checks the image in `bytes`, and scales it when its long edge is over [`MAX_EDGE`].
///
/// Errors: `BinaryFile` for what is no image or a damaged one; `FileTooLarge` for more than [`MAX_PIXELS`], decided by the
/// header, and for more than `max_bytes` to hand over; `Timeout` and `Aborted`.
pub fn prepare(bytes: Vec<u8>, bounds: &Bounds<'_>) -> Result<Image> {
    let Some(format) = Format::of(&bytes) else { return Err(damaged(bounds.path, "image")) };
    let mut rows = Rows::new(bounds);
    let facts = decode::decode(format, &bytes, &mut rows)?;
    let (width, height) = rows.size();
    let Some(picture) = rows.finish()? else {
        return fitting(Image { format, bytes, width, height, scaled: None }, bounds);
    };
    drop(bytes);
    let picture = orientation::apply(picture, facts.orientation);
    let (lossy, has_alpha) = (facts.lossy, picture.has_alpha());
    let encoded = |format: Format| -> Result<Image> {
        let bytes = match format {
            Format::Jpeg => encode::jpeg(&picture),
            Format::Png | Format::Gif | Format::WebP => encode::png(&picture),
        };
        let bytes = bytes.ok_or_else(|| damaged(bounds.path, "image"))?;
        Ok(Image { format, bytes, width, height, scaled: Some((picture.width, picture.height)) })
    };
    if lossy && !has_alpha {
        return fitting(encoded(Format::Jpeg)?, bounds);
    }
    let exact = encoded(Format::Png)?;
    if exact.bytes.len() as u64 > bounds.max_bytes && !has_alpha {
        return fitting(encoded(Format::Jpeg)?, bounds);
    }
    fitting(exact, bounds)
}

fn fitting(image: Image, bounds: &Bounds<'_>) -> Result<Image> {
    let bytes = image.bytes.len() as u64;
    if bytes > bounds.max_bytes { Err(too_large(bounds.path, "Image", bytes, bounds.max_bytes)) } else { Ok(image) }
}
