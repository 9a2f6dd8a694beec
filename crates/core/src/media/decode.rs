//! The decoders, each behind the same few lines: a header that is judged before memory is taken, then rows.

use std::io::Cursor;

use serde_json::json;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;

use super::image::{Bounds, Format, MAX_EDGE, MAX_PIXELS};
use super::orientation::Orientation;
use super::shrink::{Picture, Shrink};
use super::{damaged, orientation};
use crate::error::{Error, ErrorKind, Result, Shown};

/// 64 rows between two looks at the deadline.
const ROWS_UNCHECKED: u32 = 64;

/// 64 passes of a progressive JPEG: real ones have about ten, and each costs time for the whole image.
const MAX_SCANS: usize = 64;

/// What a decoder found besides the pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    /// How the camera was held.
    pub(super) orientation: Orientation,
    /// Whether the picture is lossy anyway, so that JPEG is right for it.
    pub(super) lossy: bool,
}

/// Takes the rows of an image, from the top, and keeps them scaled; or only counts them, when the image is small.
pub(super) struct Rows<'a> {
    bounds: &'a Bounds<'a>,
    size: (u32, u32),
    seen: u32,
    shrink: Option<Shrink>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(bounds: &'a Bounds<'a>) -> Self {
        Self { bounds, size: (0, 0), seen: 0, shrink: None }
    }

    /// Width and height of the image.
    pub(super) fn size(&self) -> (u32, u32) {
        self.size
    }

    /// The scaled picture; `None` for an image that stays as it is.
    pub(super) fn finish(self) -> Result<Option<Picture>> {
        if self.seen < self.size.1 {
            return Err(self.damaged());
        }
        Ok(self.shrink.map(Shrink::finish))
    }

    /// Judges the size by the header. Called before anything of that size is allocated.
    fn begin(&mut self, width: u32, height: u32) -> Result<()> {
        let pixels = u64::from(width) * u64::from(height);
        if pixels == 0 {
            return Err(self.damaged());
        }
        if pixels > MAX_PIXELS {
            let message = format!(
                "Image '{}' too large ({width}x{height} pixels, max {} million).",
                Shown(self.bounds.path),
                MAX_PIXELS / 1_000_000
            );
            return Err(Error::new(ErrorKind::FileTooLarge, message)
                .with_path(self.bounds.path)
                .with_details(json!({ "pixels": pixels, "maxPixels": MAX_PIXELS })));
        }
        self.size = (width, height);
        self.bounds.deadline.check()
    }

    /// Says how many bytes a pixel has: 1 gray, 2 with alpha, 3 colour, 4 with alpha.
    fn channels(&mut self, channels: usize) {
        let (width, height) = self.size;
        if width.max(height) > MAX_EDGE {
            self.shrink = Some(Shrink::new(self.size, channels, MAX_EDGE));
        }
    }

    fn push(&mut self, row: &[u8]) -> Result<()> {
        if self.seen.is_multiple_of(ROWS_UNCHECKED) {
            self.bounds.deadline.check()?;
        }
        self.seen += 1;
        if let Some(shrink) = &mut self.shrink {
            shrink.push(row);
        }
        Ok(())
    }

    /// All rows of a decoded buffer.
    fn push_all(&mut self, pixels: &[u8], channels: usize) -> Result<()> {
        self.channels(channels);
        pixels.chunks_exact(self.size.0 as usize * channels).try_for_each(|row| self.push(row))
    }

    fn damaged(&self) -> Error {
        damaged(self.bounds.path, "image")
    }
}

/// Decodes `bytes` into `rows`.
pub(super) fn decode(format: Format, bytes: &[u8], rows: &mut Rows<'_>) -> Result<Facts> {
    match format {
        Format::Png => png(bytes, rows),
        Format::Jpeg => jpeg(bytes, rows),
        Format::Gif => gif(bytes, rows),
        Format::WebP => webp(bytes, rows),
    }
}

fn png(bytes: &[u8], rows: &mut Rows<'_>) -> Result<Facts> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    // Compressed text and colour profiles are not looked at, so they cannot be bombs.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let header = decoder.read_header_info().map_err(|_| rows.damaged())?;
    let (width, height) = (header.width, header.height);
    rows.begin(width, height)?;
    let mut reader = decoder.read_info().map_err(|_| rows.damaged())?;
    let channels = reader.output_color_type().0.samples();
    if reader.info().interlaced {
        let size = reader.output_buffer_size().ok_or_else(|| rows.damaged())?;
        let mut pixels = vec![0; size];
        reader.next_frame(&mut pixels).map_err(|_| rows.damaged())?;
        rows.push_all(&pixels, channels)?;
    } else {
        rows.channels(channels);
        while rows.seen < height {
            let Some(row) = reader.next_row().map_err(|_| rows.damaged())? else { break };
            rows.push(row.data())?;
        }
    }
    Ok(Facts { orientation: Orientation::default(), lossy: false })
}

fn jpeg(bytes: &[u8], rows: &mut Rows<'_>) -> Result<Facts> {
    let options = DecoderOptions::default()
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_max_scans(MAX_SCANS)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|_| rows.damaged())?;
    let info = decoder.info().ok_or_else(|| rows.damaged())?;
    rows.begin(u32::from(info.width), u32::from(info.height))?;
    let orientation = decoder.exif().map(|exif| orientation::of_exif(exif)).unwrap_or_default();
    let size = decoder.output_buffer_size().ok_or_else(|| rows.damaged())?;
    let mut pixels = vec![0; size];
    decoder.decode_into(&mut pixels).map_err(|_| rows.damaged())?;
    rows.push_all(&pixels, 3)?;
    Ok(Facts { orientation, lossy: true })
}

fn gif(bytes: &[u8], rows: &mut Rows<'_>) -> Result<Facts> {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::Indexed);
    let mut decoder = options.read_info(Cursor::new(bytes)).map_err(|_| rows.damaged())?;
    let (width, height) = (u32::from(decoder.width()), u32::from(decoder.height()));
    rows.begin(width, height)?;
    let frame = decoder.next_frame_info().map_err(|_| rows.damaged())?.ok_or_else(|| rows.damaged())?;
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    let (frame_width, frame_height) = (usize::from(frame.width), usize::from(frame.height));
    let transparent = frame.transparent;
    // The picture may be larger than the screen it is on.
    if frame_width as u64 * frame_height as u64 > MAX_PIXELS || frame_width * frame_height == 0 {
        return Err(rows.damaged());
    }
    let mut indices = vec![0; decoder.buffer_size()];
    decoder.read_into_buffer(&mut indices).map_err(|_| rows.damaged())?;
    let palette = decoder.palette().map_err(|_| rows.damaged())?;
    rows.channels(4);
    let mut row = vec![0; width as usize * 4];
    for y in 0..height as usize {
        row.fill(0);
        let line = y.checked_sub(top).and_then(|line| indices.chunks_exact(frame_width).nth(line)).unwrap_or_default();
        for (pixel, &index) in row.chunks_exact_mut(4).skip(left).zip(line) {
            if Some(index) == transparent {
                continue;
            }
            if let Some(colour) = palette.get(usize::from(index) * 3..usize::from(index) * 3 + 3) {
                pixel[..3].copy_from_slice(colour);
                pixel[3] = u8::MAX;
            }
        }
        rows.push(&row)?;
    }
    Ok(Facts { orientation: Orientation::default(), lossy: false })
}

fn webp(bytes: &[u8], rows: &mut Rows<'_>) -> Result<Facts> {
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(|_| rows.damaged())?;
    let (width, height) = decoder.dimensions();
    for (width, height) in lossy_pictures(bytes) {
        rows.begin(width, height)?;
    }
    rows.begin(width, height)?;
    let size = decoder.output_buffer_size().ok_or_else(|| rows.damaged())?;
    let exif = decoder.exif_metadata().ok().flatten();
    let mut pixels = vec![0; size];
    decoder.read_image(&mut pixels).map_err(|_| rows.damaged())?;
    rows.push_all(&pixels, if decoder.has_alpha() { 4 } else { 3 })?;
    let orientation = exif.map(|exif| orientation::of_exif(&exif)).unwrap_or_default();
    Ok(Facts { orientation, lossy: decoder.is_lossy() })
}

/// The sizes of the lossy pictures in a WebP file. The decoder takes memory for one before it compares its size with that
/// of the canvas.
fn lossy_pictures(bytes: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    /// Behind the name of the chunk: its length, three bytes of flags, and the mark of a picture.
    const MARK: [u8; 3] = [0x9D, 0x01, 0x2A];
    let edge = |bytes: [u8; 2]| u32::from(u16::from_le_bytes(bytes) & 0x3FFF).max(1);
    memchr::memmem::find_iter(bytes, b"VP8 ").filter_map(move |at| match bytes.get(at + 11..at + 18)? {
        [a, b, c, width, wide, height, high] if [*a, *b, *c] == MARK => {
            Some((edge([*width, *wide]), edge([*height, *high])))
        }
        _ => None,
    })
}
