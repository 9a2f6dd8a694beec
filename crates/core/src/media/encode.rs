//! The encoders of scaled pictures.

use fdeflate::Compressor;
use jpeg_encoder::{Encoder, ImageBuffer, JpegColorType, rgb_to_ycbcr};

use super::shrink::Picture;

/// 85 of 100: what photographs are commonly stored with.
const JPEG_QUALITY: u8 = 85;

/// As JPEG, without what alpha there is; `None` where that cannot be done.
pub(super) fn jpeg(picture: &Picture) -> Option<Vec<u8>> {
    let (width, height) = (u16::try_from(picture.width).ok()?, u16::try_from(picture.height).ok()?);
    let mut bytes = Vec::new();
    Encoder::new(&mut bytes, JPEG_QUALITY).encode_image(Coloured { picture, width, height }).ok()?;
    Some(bytes)
}

/// A picture as the JPEG encoder asks for it.
struct Coloured<'a> {
    picture: &'a Picture,
    width: u16,
    height: u16,
}

impl ImageBuffer for Coloured<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        JpegColorType::Ycbcr
    }

    fn width(&self) -> u16 {
        self.width
    }

    fn height(&self) -> u16 {
        self.height
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let channels = self.picture.channels;
        let length = usize::from(self.width) * channels;
        let row = self.picture.pixels.chunks_exact(length).nth(usize::from(y)).unwrap_or_default();
        for pixel in row.chunks_exact(channels) {
            let (red, green, blue) = match *pixel {
                [gray] | [gray, _] => (gray, gray, gray),
                [red, green, blue, ..] => (red, green, blue),
                [] => (0, 0, 0),
            };
            let (luma, cb, cr) = rgb_to_ycbcr(red, green, blue);
            buffers[0].push(luma);
            buffers[1].push(cb);
            buffers[2].push(cr);
        }
    }
}

/// As PNG; `None` where that cannot be done.
///
/// Written here rather than by a library: the one that decodes brings a second compressor for it, twice the size of all
/// else that images need.
pub(super) fn png(picture: &Picture) -> Option<Vec<u8>> {
    // Gray, gray with alpha, colour, colour with alpha.
    let colour_type = match picture.channels {
        1 => 0,
        2 => 4,
        3 => 2,
        _ => 6,
    };
    let mut header = Vec::with_capacity(13);
    header.extend(picture.width.to_be_bytes());
    header.extend(picture.height.to_be_bytes());
    header.extend([8, colour_type, 0, 0, 0]);
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut bytes, b"IHDR", &header)?;
    chunk(&mut bytes, b"IDAT", &compressed_rows(picture)?)?;
    chunk(&mut bytes, b"IEND", &[])?;
    Some(bytes)
}

fn chunk(bytes: &mut Vec<u8>, kind: &[u8; 4], content: &[u8]) -> Option<()> {
    bytes.extend(u32::try_from(content.len()).ok()?.to_be_bytes());
    let from = bytes.len();
    bytes.extend(kind);
    bytes.extend(content);
    let sum = crc32fast::hash(&bytes[from..]);
    bytes.extend(sum.to_be_bytes());
    Some(())
}

/// The rows, each behind the filter that leaves the smallest numbers.
fn compressed_rows(picture: &Picture) -> Option<Vec<u8>> {
    let length = picture.width as usize * picture.channels;
    let mut above = vec![0; length];
    let mut compressor = Compressor::new(Vec::new()).ok()?;
    let (mut best, mut other) = (Vec::with_capacity(length + 1), Vec::with_capacity(length + 1));
    for row in picture.pixels.chunks_exact(length) {
        let mut least = u64::MAX;
        for filter in [Filter::Left, Filter::Above, Filter::Paeth] {
            other.clear();
            filter.apply(row, &above, picture.channels, &mut other);
            let sum = other[1..].iter().map(|byte| u64::from(byte.cast_signed().unsigned_abs())).sum();
            if sum < least {
                least = sum;
                std::mem::swap(&mut best, &mut other);
            }
        }
        compressor.write_data(&best).ok()?;
        above.copy_from_slice(row);
    }
    compressor.finish().ok()
}

/// What is taken from each byte: what is foretold from its neighbours.
#[derive(Clone, Copy)]
enum Filter {
    Left = 1,
    Above = 2,
    Paeth = 4,
}

impl Filter {
    fn apply(self, row: &[u8], above: &[u8], channels: usize, filtered: &mut Vec<u8>) {
        filtered.push(self as u8);
        filtered.extend(row.iter().enumerate().map(|(index, byte)| {
            let before = index.checked_sub(channels);
            let left = before.map_or(0, |at| row[at]);
            let foretold = match self {
                Self::Left => left,
                Self::Above => above[index],
                Self::Paeth => paeth(left, above[index], before.map_or(0, |at| above[at])),
            };
            byte.wrapping_sub(foretold)
        }));
    }
}

/// The neighbour that is nearest to `left + above - corner`, as the PNG specification says.
fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let guess = i16::from(left) + i16::from(above) - i16::from(corner);
    let distance = |neighbour: u8| guess.abs_diff(i16::from(neighbour));
    if distance(left) <= distance(above) && distance(left) <= distance(corner) {
        left
    } else if distance(above) <= distance(corner) {
        above
    } else {
        corner
    }
}
