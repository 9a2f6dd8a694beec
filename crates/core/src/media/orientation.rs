//! How a camera was held, as EXIF says it. A picture that is encoded anew loses its EXIF, so it is turned here.

use super::shrink::Picture;

/// The tag of the orientation in the first directory.
const ORIENTATION: u16 = 0x0112;
/// A 16-bit number.
const SHORT: u16 = 3;

/// One of the eight ways to lay a picture down; 1 is upright, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Orientation(u8);

impl Default for Orientation {
    fn default() -> Self {
        Self(1)
    }
}

/// The orientation in EXIF data, which begins at its TIFF header. Upright where it says none or nonsense.
pub(super) fn of_exif(exif: &[u8]) -> Orientation {
    find(exif).unwrap_or_default()
}

fn find(exif: &[u8]) -> Option<Orientation> {
    // Some writers keep the mark of the JPEG segment.
    let exif = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
    let low_first = match exif.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let short = |at: usize| -> Option<u16> {
        let bytes: [u8; 2] = exif.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if low_first { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let long = |at: usize| -> Option<usize> {
        let bytes: [u8; 4] = exif.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(if low_first { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }).ok()
    };
    let directory = long(4)?;
    let entries = usize::from(short(directory)?);
    (0..entries).map_while(|entry| directory.checked_add(2 + entry * 12)).find_map(|at| {
        let is_it = short(at)? == ORIENTATION && short(at + 2)? == SHORT;
        let value = short(at + 8)?;
        (is_it && (1..=8).contains(&value)).then(|| Orientation(value.to_le_bytes()[0]))
    })
}

/// Turns a picture upright.
pub(super) fn apply(picture: Picture, orientation: Orientation) -> Picture {
    let Picture { width, height, channels, ref pixels } = picture;
    let (columns, rows) = if orientation.0 >= 5 { (height, width) } else { (width, height) };
    if orientation.0 == 1 {
        return picture;
    }
    let mut turned = Vec::with_capacity(pixels.len());
    for y in 0..rows {
        for x in 0..columns {
            let (from_x, from_y) = match orientation.0 {
                2 => (width - 1 - x, y),
                3 => (width - 1 - x, height - 1 - y),
                4 => (x, height - 1 - y),
                5 => (y, x),
                6 => (y, height - 1 - x),
                7 => (width - 1 - y, height - 1 - x),
                8 => (width - 1 - y, x),
                _ => (x, y),
            };
            let at = (from_y as usize * width as usize + from_x as usize) * channels;
            turned.extend_from_slice(&pixels[at..at + channels]);
        }
    }
    Picture { width: columns, height: rows, channels, pixels: turned }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exif(low_first: bool, orientation: u16) -> Vec<u8> {
        let short = |value: u16| if low_first { value.to_le_bytes() } else { value.to_be_bytes() };
        let long = |value: u32| if low_first { value.to_le_bytes() } else { value.to_be_bytes() };
        let mut bytes = if low_first { b"II*\0".to_vec() } else { b"MM\0*".to_vec() };
        bytes.extend(long(8));
        bytes.extend(short(2));
        for (tag, value) in [(0x010F_u16, 7_u16), (ORIENTATION, orientation)] {
            bytes.extend(short(tag));
            bytes.extend(short(SHORT));
            bytes.extend(long(1));
            bytes.extend(short(value));
            bytes.extend(short(0));
        }
        bytes
    }

    #[test]
    fn the_orientation_is_found_in_either_byte_order_and_nonsense_is_upright() {
        for low_first in [true, false] {
            for value in 0..10 {
                let expected = if (1..=8).contains(&value) { value as u8 } else { 1 };
                assert_eq!(of_exif(&exif(low_first, value)), Orientation(expected), "{low_first} {value}");
            }
        }
        let whole = exif(true, 6);
        for length in 0..whole.len() {
            let cut = of_exif(&whole[..length]);
            assert!(cut == Orientation(1) || cut == Orientation(6), "{length}");
        }
        assert_eq!(of_exif(b"II*\0\xFF\xFF\xFF\xFF"), Orientation(1));
    }

    #[test]
    fn each_orientation_ends_upright() {
        // ab      The same picture as a camera stores it in each of the eight ways.
        // cd
        // ef
        let upright = b"abcdef".to_vec();
        let stored: [(u32, u32, &[u8]); 8] = [
            (2, 3, b"abcdef"),
            (2, 3, b"badcfe"),
            (2, 3, b"fedcba"),
            (2, 3, b"efcdab"),
            (3, 2, b"acebdf"),
            (3, 2, b"bdface"),
            (3, 2, b"fdbeca"),
            (3, 2, b"ecafdb"),
        ];
        for (index, (width, height, pixels)) in stored.into_iter().enumerate() {
            let picture = Picture { width, height, channels: 1, pixels: pixels.to_vec() };
            let turned = apply(picture, Orientation(index as u8 + 1));
            assert_eq!((turned.width, turned.height, turned.pixels), (2, 3, upright.clone()), "{}", index + 1);
        }
    }
}
