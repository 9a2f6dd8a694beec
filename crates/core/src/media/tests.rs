//! Images and notebooks, also broken and hostile ones.

use std::borrow::Cow;
use std::time::Duration;

use image::{Bounds, Format, Image, MAX_EDGE};
use proptest::prelude::*;

use super::decode::{Rows, decode};
use super::shrink::{Picture, Shrink};
use super::*;

const MAX_BYTES: u64 = 10 << 20;

/// Left half red, right half blue, three bytes a pixel.
fn two_colours(width: u32, height: u32) -> Vec<u8> {
    let row = (0..width).flat_map(|x| if x < width / 2 { [200, 0, 0] } else { [0, 0, 200] });
    row.collect::<Vec<u8>>().repeat(height as usize)
}

fn picture(width: u32, height: u32) -> Picture {
    Picture { width, height, channels: 3, pixels: two_colours(width, height) }
}

fn gif(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = ::gif::Encoder::new(&mut bytes, width, height, &[200, 0, 0, 0, 0, 200]).unwrap();
    for _ in 0..2 {
        let row = (0..width).map(|x| u8::from(x >= width / 2)).collect::<Vec<u8>>();
        let buffer = Cow::Owned(row.repeat(usize::from(height)));
        encoder.write_frame(&::gif::Frame { width, height, buffer, ..::gif::Frame::default() }).unwrap();
    }
    drop(encoder);
    bytes
}

fn webp(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = image_webp::WebPEncoder::new(&mut bytes);
    encoder.encode(&two_colours(width, height), width, height, image_webp::ColorType::Rgb8).unwrap();
    bytes
}

/// The same two colours in every format.
fn every_format(width: u16, height: u16) -> [(Format, Vec<u8>); 4] {
    let (wide, high) = (u32::from(width), u32::from(height));
    [
        (Format::Png, encode::png(&picture(wide, high)).unwrap()),
        (Format::Jpeg, encode::jpeg(&picture(wide, high)).unwrap()),
        (Format::Gif, gif(width, height)),
        (Format::WebP, webp(wide, high)),
    ]
}

fn prepare_within(bytes: &[u8], max_bytes: u64) -> Result<Image> {
    image::prepare(bytes.to_vec(), &Bounds { path: "/x.png", max_bytes, deadline: &Deadline::default() })
}

fn prepare(bytes: &[u8]) -> Result<Image> {
    prepare_within(bytes, MAX_BYTES)
}

/// The pixels of an image that is small enough not to be scaled: 3 bytes each, whatever it holds.
fn pixels(image: &Image) -> Vec<Vec<u8>> {
    let deadline = Deadline::default();
    let bounds = Bounds { path: "/x", max_bytes: MAX_BYTES, deadline: &deadline };
    let mut rows = Rows::new(&bounds);
    decode(image.format, &image.bytes, &mut rows).unwrap();
    let (width, height) = rows.size();
    let decoded: (u32, u32, Vec<u8>, usize) = match image.format {
        Format::Png => {
            let mut reader = ::png::Decoder::new(std::io::Cursor::new(&image.bytes)).read_info().unwrap();
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut pixels).unwrap();
            (info.width, info.height, pixels, info.color_type.samples())
        }
        Format::Jpeg => {
            let mut decoder = zune_jpeg::JpegDecoder::new(zune_core::bytestream::ZCursor::new(&image.bytes));
            (width, height, decoder.decode().unwrap(), 3)
        }
        Format::Gif | Format::WebP => unreachable!("scaled images are PNG or JPEG"),
    };
    assert_eq!((decoded.0, decoded.1), (width, height));
    decoded.2.chunks_exact(decoded.3).map(<[u8]>::to_vec).collect()
}

fn near(one: u8, other: u8) -> bool {
    one.abs_diff(other) <= 12
}

#[test]
fn an_image_that_models_take_as_it_is_stays_byte_for_byte_what_it_is() {
    for (format, bytes) in every_format(MAX_EDGE as u16, 3) {
        let image = prepare(&bytes).unwrap();
        let expected = Image { format, bytes, width: MAX_EDGE, height: 3, scaled: None };
        assert_eq!(image, expected, "{format:?}");
    }
}

#[test]
fn a_large_image_is_scaled_to_its_long_edge_and_keeps_proportions_and_colours() {
    for (format, bytes) in every_format(3_136, 40) {
        let image = prepare(&bytes).unwrap();
        let made = if format == Format::Jpeg { Format::Jpeg } else { Format::Png };
        let facts = (image.format, image.width, image.height, image.scaled);
        assert_eq!(facts, (made, 3_136, 40, Some((MAX_EDGE, 20))), "{format:?}");
        let pixels = pixels(&image);
        assert_eq!(pixels.len(), MAX_EDGE as usize * 20);
        let (left, right) = (&pixels[MAX_EDGE as usize * 10 + 300], &pixels[MAX_EDGE as usize * 10 + 1_300]);
        assert!(near(left[0], 200) && near(left[2], 0), "{format:?} {left:?}");
        assert!(near(right[0], 0) && near(right[2], 200), "{format:?} {right:?}");
    }
    let tall = prepare(&encode::png(&picture(2, 4_000)).unwrap()).unwrap();
    assert_eq!(tall.scaled, Some((1, MAX_EDGE)));
}

#[test]
fn an_interlaced_png_and_one_of_sixteen_bits_are_scaled_too() {
    let pixels: Vec<u8> = two_colours(2_000, 4).iter().flat_map(|value| [*value, 0]).collect();
    let mut bytes = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut bytes, 2_000, 4);
    encoder.set_color(::png::ColorType::Rgb);
    encoder.set_depth(::png::BitDepth::Sixteen);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    assert_eq!(prepare(&bytes).unwrap().scaled, Some((MAX_EDGE, 3)));
    // The smallest interlaced file that there is: one that a header says to be interlaced, of one pixel.
    let mut small = encode::png(&Picture { width: 1, height: 1, channels: 1, pixels: vec![7] }).unwrap();
    small[28] = 1;
    let sum = crc32(&small[12..29]);
    small[29..33].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(prepare(&small).unwrap().scaled, None);
}

/// The checksum of PNG chunks.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 })
    })
}

#[test]
fn a_photograph_is_turned_as_its_camera_was_held() {
    let exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
    let mut bytes = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, 90);
    encoder.add_exif_metadata(exif).unwrap();
    encoder.encode(&two_colours(3_136, 40), 3_136, 40, jpeg_encoder::ColorType::Rgb).unwrap();
    let image = prepare(&bytes).unwrap();
    assert_eq!(image.scaled, Some((20, MAX_EDGE)));
    let pixels = pixels(&image);
    assert!(near(pixels[20 * 300 + 10][0], 200) && near(pixels[20 * 1_300 + 10][2], 200));
}

#[test]
fn what_cannot_be_seen_does_not_tint_what_can() {
    let mut shrink = Shrink::new((4, 2), 4, 2);
    // Green that cannot be seen beside red that can.
    shrink.push(&[[255, 0, 0, 255], [0, 255, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]].concat());
    shrink.push(&[[255, 0, 0, 255], [0, 255, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]].concat());
    let picture = shrink.finish();
    assert_eq!((picture.width, picture.height), (2, 1));
    assert_eq!(picture.pixels, [255, 0, 0, 128, 0, 0, 0, 0]);
    assert!(picture.has_alpha());
}

#[test]
fn an_image_over_the_limit_says_both_sizes() {
    let bytes = encode::png(&picture(400, 400)).unwrap();
    let error = prepare_within(&bytes, 300).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    let size = size(bytes.len() as u64);
    assert_eq!(error.message(), format!("Image '/x.png' too large ({size}, max 300 bytes)."));
    let table = [(0, "0 bytes"), (1_023, "1023 bytes"), (51_200, "50.0KB"), (10 << 20, "10.0MB")];
    for (bytes, text) in table {
        assert_eq!(super::size(bytes), text);
    }
}

#[test]
fn a_picture_that_is_too_large_as_png_is_shown_as_jpeg() {
    // Noise, which PNG cannot make small.
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let picture = Picture { width: 2_000, height: 300, channels: 3, pixels: noise.take(2_000 * 300 * 3).collect() };
    let bytes = encode::png(&picture).unwrap();
    assert_eq!(prepare(&bytes).unwrap().format, Format::Png);
    let image = prepare_within(&bytes, 400_000).unwrap();
    assert_eq!(image.format, Format::Jpeg);
    assert!(image.bytes.len() < 400_000);
}

/// A header that promises much, and nothing behind it.
fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let mut png = encode::png(&Picture { width: 1, height: 1, channels: 1, pixels: vec![0] }).unwrap();
    png[16..24].copy_from_slice(&[0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF]);
    let sum = crc32(&png[12..29]);
    png[29..33].copy_from_slice(&sum.to_be_bytes());
    let mut gif = gif(1, 1);
    gif[6..10].fill(0xFF);
    let mut jpeg = encode::jpeg(&picture(8, 8)).unwrap();
    let frame = jpeg.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    jpeg[frame + 5..frame + 9].fill(0xFF);
    let mut webp = webp(1, 1);
    let at = webp.windows(4).position(|name| name == b"VP8L").unwrap() + 9;
    // 14 bits each for width and height, less one: 16,383 of each.
    webp[at..at + 3].copy_from_slice(&[0xFE, 0xBF, 0xFF]);
    webp[at + 3] |= 0x0F;
    // A canvas of one pixel, and a picture on it that is larger than that.
    let picture = [0x10, 0, 0, 0x9D, 0x01, 0x2A, 0xFF, 0x3F, 0xFF, 0x3F, 0, 0];
    let mut hidden = b"RIFF\x26\0\0\0WEBPVP8X\x0A\0\0\0\0\0\0\0\0\0\0\0\0\0VP8 \x0C\0\0\0".to_vec();
    hidden.extend(picture);
    vec![("png", png), ("gif", gif), ("jpeg", jpeg), ("webp", webp), ("webp, behind its canvas", hidden)]
}

#[test]
fn a_header_that_promises_too_many_pixels_is_refused_before_memory_is_taken() {
    for (name, bytes) in bombs() {
        let error = prepare(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge, "{name}: {error}");
        assert!(error.message().contains("pixels, max 50 million"), "{name}: {error}");
    }
}

#[test]
fn an_aborted_call_stops_between_rows() {
    let deadline = Deadline::default();
    deadline.cancel.cancel();
    for (format, bytes) in every_format(2_000, 4) {
        let bounds = Bounds { path: "/x", max_bytes: MAX_BYTES, deadline: &deadline };
        assert_eq!(image::prepare(bytes, &bounds).unwrap_err().kind(), ErrorKind::Aborted, "{format:?}");
    }
}

#[tokio::test]
async fn the_gate_answers_an_abort_while_another_piece_of_work_holds_it_and_survives_a_panic() {
    let gate = Gate::default();
    let deadline = Deadline::default();
    let broken = gate.run::<()>("/x", &deadline, || panic!("a defect of a decoder")).await.unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::BinaryFile);
    let (release, held) = std::sync::mpsc::channel::<()>();
    let working = gate.run("/x", &deadline, move || Ok(held.recv().is_ok()));
    let impatient = Deadline::default().within(Duration::ZERO);
    let waiting = async {
        let error = gate.run("/y", &impatient, || Ok(())).await.unwrap_err();
        release.send(()).unwrap();
        error
    };
    let (worked, error) = tokio::join!(working, waiting);
    assert_eq!((worked.unwrap(), error.kind()), (true, ErrorKind::Timeout));
}

/// What hostile bytes may end with.
fn check_hostile(bytes: &[u8]) {
    match prepare(bytes) {
        Ok(image) => assert!(image.width > 0 && image.height > 0),
        Err(error) => assert!(matches!(error.kind(), ErrorKind::BinaryFile | ErrorKind::FileTooLarge), "{error}"),
    }
}

#[test]
fn every_beginning_of_an_image_is_an_image_or_a_typed_error() {
    for (_, bytes) in every_format(24, 9) {
        for length in 0..bytes.len() {
            check_hostile(&bytes[..length]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn broken_images_are_images_or_typed_errors(
        format in 0_usize..4,
        breaks in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = every_format(24, 9)[format].1.clone();
        for (at, value) in breaks {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        check_hostile(&bytes);
    }

    #[test]
    fn a_plain_image_stays_plain_at_any_size(
        width in 1_u32..90, height in 1_u32..90, channels in 1_usize..5, value in any::<u8>(), edge in 1_u32..60,
    ) {
        prop_assume!(width.max(height) > edge);
        let pixel = if channels % 2 == 0 { [value, value, value, 255] } else { [value; 4] };
        let pixel = &pixel[4 - channels..];
        let row = pixel.repeat(width as usize);
        let mut shrink = Shrink::new((width, height), channels, edge);
        for _ in 0..height {
            shrink.push(&row);
        }
        let small = shrink.finish();
        prop_assert_eq!(small.width.max(small.height), edge);
        prop_assert_eq!(&small.pixels, &pixel.repeat((small.width * small.height) as usize));
    }

    #[test]
    fn no_notebook_makes_a_panic(text in "[\\[\\]{}\":,a-z0-9 \n]{0,200}") {
        let _ = notebook::render(text.as_bytes());
        let _ = pdf::look(text.as_bytes());
    }
}

fn dot() -> String {
    use base64::Engine as _;
    let png = encode::png(&Picture { width: 1, height: 1, channels: 1, pixels: vec![9] }).unwrap();
    base64::engine::general_purpose::STANDARD.encode(png)
}

#[test]
fn a_notebook_is_shown_as_its_cells() {
    let json = serde_json::json!({
        "nbformat": 4, "metadata": { "language_info": { "name": "python" }, "kernelspec": { "name": "k" } },
        "cells": [
            { "cell_type": "markdown", "source": ["# Title\n", "text"], "metadata": {},
              "attachments": { "a.png": { "image/png": dot() } } },
            { "cell_type": "code", "execution_count": 5, "source": "print(1)\nplot()\n", "outputs": [
                { "output_type": "stream", "name": "stdout", "text": ["1\n"] },
                { "output_type": "stream", "name": "stderr", "text": "careful\n" },
                { "output_type": "display_data", "data": { "text/plain": "<Figure>", "text/html": "<b>", "image/png": [dot(), "\n"] } },
                { "output_type": "execute_result", "data": { "text/html": "<i>only</i>" } },
                { "output_type": "display_data", "data": { "image/svg+xml": "<svg/>" } },
                { "output_type": "display_data", "data": { "image/png": "not base64" } },
                { "output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u{1b}[31mE\u{1b}[0m: v"] },
            ] },
            { "cell_type": "raw", "source": "" },
        ],
    });
    let notebook = notebook::render(&serde_json::to_vec(&json).unwrap()).unwrap();
    let expected = "── Cell 1 (markdown)\n# Title\ntext\n── Image 1 (of cell 1)\n── Cell 2 (code, run 5)\nprint(1)\nplot()\n\
                    ── Output of cell 2\n1\n── Output of cell 2 (stderr)\ncareful\n── Output of cell 2\n<Figure>\n\
                    ── Image 2 (of cell 2)\n── Output of cell 2\n<i>only</i>\n── Vector graphic of cell 2: not shown\n\
                    ── Image of cell 2: damaged, not shown\n── Error of cell 2\nE: v\n── Cell 3 (raw)\n\n";
    assert_eq!(notebook.text, expected);
    assert_eq!((notebook.cells, notebook.language.as_deref()), (3, Some("python")));
    for image in &notebook.images {
        let line = notebook.text.lines().nth(image.line as usize).unwrap();
        assert!(line.starts_with("── Image "), "{line}");
    }
    assert_eq!(notebook.images.len(), 2);
}

#[test]
fn a_notebook_of_format_3_is_read_and_other_json_is_none() {
    let old = serde_json::json!({ "nbformat": 3, "worksheets": [{ "cells": [
        { "cell_type": "code", "input": ["1 + 1"], "prompt_number": 2, "outputs": [
            { "output_type": "pyout", "text": ["2"], "png": dot() }, { "output_type": "pyerr", "ename": "E", "evalue": "v" },
        ] },
    ] }] });
    let notebook = notebook::render(&serde_json::to_vec(&old).unwrap()).unwrap();
    let expected =
        "── Cell 1 (code, run 2)\n1 + 1\n── Output of cell 1\n2\n── Image 1 (of cell 1)\n── Error of cell 1\nE: v\n";
    assert_eq!(notebook.text, expected);
    for other in ["", "{}", "[1]", "{\"cells\": 3}", "plain text", "{\"cells\": [{}]}"] {
        assert_eq!(notebook::render(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn a_long_output_of_a_notebook_keeps_its_beginning_and_its_end() {
    let json = serde_json::json!({ "cells": [{ "cell_type": "code", "source": "x", "outputs": [
        { "output_type": "stream", "text": format!("begin{}end", "é".repeat(20_000)) } ] }] });
    let text = notebook::render(&serde_json::to_vec(&json).unwrap()).unwrap().text;
    assert!(text.contains("begin") && text.contains("[10008 characters left out; raw=true shows all]"), "{text}");
    assert!(text.ends_with("end\n") && text.chars().count() < 10_200);
}
