//! Makes an image smaller while its rows come in: each pixel of the result is the mean of what it covers.
//!
//! Only rows of the result are held, so that a large image costs little beyond its decoder. Colours are weighed by their
//! opacity: what cannot be seen does not tint its surroundings.

/// Pixels in rows from the top, `channels` bytes each: 1 gray, 2 with alpha, 3 colour, 4 with alpha.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) channels: usize,
    pub(super) pixels: Vec<u8>,
}

impl Picture {
    /// Whether any pixel can be seen through.
    pub(super) fn has_alpha(&self) -> bool {
        is_with_alpha(self.channels)
            && self.pixels.chunks_exact(self.channels).any(|pixel| pixel.last() != Some(&u8::MAX))
    }
}

fn is_with_alpha(channels: usize) -> bool {
    channels == 2 || channels == 4
}

/// An image that is being made smaller.
#[derive(Debug)]
pub(super) struct Shrink {
    source: (u32, u32),
    result: Picture,
    /// The sums of the row of the result that is being filled.
    sums: Vec<f32>,
    /// The same for one row of the source.
    row: Vec<f32>,
    /// The row of the source that comes next, and the one of the result that it goes to.
    next: (u32, u32),
}

impl Shrink {
    /// For an image of `source` width and height, of which at least one is over `max_edge`.
    pub(super) fn new(source: (u32, u32), channels: usize, max_edge: u32) -> Self {
        let long = source.0.max(source.1);
        let scaled = |edge: u32| {
            let exact = (u64::from(edge) * u64::from(max_edge) + u64::from(long) / 2) / u64::from(long.max(1));
            u32::try_from(exact).unwrap_or(max_edge).clamp(1, edge.max(1))
        };
        let (width, height) = (scaled(source.0), scaled(source.1));
        let length = width as usize * channels;
        let result = Picture { width, height, channels, pixels: Vec::with_capacity(length * height as usize) };
        Self { source, result, sums: vec![0.0; length], row: vec![0.0; length], next: (0, 0) }
    }

    /// Takes the next row of the source.
    pub(super) fn push(&mut self, row: &[u8]) {
        let (y, mut target) = self.next;
        let (rows, height) = (u64::from(self.source.1), u64::from(self.result.height));
        if target >= self.result.height {
            return;
        }
        self.mean_of(row);
        // In units of 1 / (rows * height) of the whole, so that nothing is rounded: where this row ends, and where the row
        // of the result ends.
        let (start, end) = (u64::from(y) * height, u64::from(y + 1) * height);
        let mut from = start;
        while from < end && target < self.result.height {
            let border = u64::from(target + 1) * rows;
            let to = end.min(border);
            let weight = (to - from) as f32 / rows as f32;
            for (sum, value) in self.sums.iter_mut().zip(&self.row) {
                *sum += value * weight;
            }
            if to == border {
                self.emit();
                target += 1;
            }
            from = to;
        }
        self.next = (y + 1, target);
    }

    /// The result; rows that never came are empty.
    pub(super) fn finish(mut self) -> Picture {
        let length = self.sums.len() * self.result.height as usize;
        let missing = length.saturating_sub(self.result.pixels.len());
        // By copying: `resize` goes byte by byte where code is built for size.
        self.result.pixels.extend_from_slice(&vec![0; missing]);
        self.result
    }

    /// Makes a row of the source as wide as the result.
    fn mean_of(&mut self, row: &[u8]) {
        let (columns, width) = (u64::from(self.source.0), u64::from(self.result.width));
        let channels = self.result.channels;
        let with_alpha = is_with_alpha(channels);
        self.row.fill(0.0);
        let (mut target, mut from) = (0_u64, 0_u64);
        for (x, pixel) in row.chunks_exact(channels).enumerate() {
            let end = (x as u64 + 1) * width;
            let opacity = if with_alpha { f32::from(pixel[channels - 1]) / 255.0 } else { 1.0 };
            while from < end && target < width {
                let border = (target + 1) * columns;
                let to = end.min(border);
                let weight = (to - from) as f32 / columns as f32;
                let at = target as usize * channels;
                let colours = if with_alpha { channels - 1 } else { channels };
                let sums = &mut self.row[at..at + channels];
                for (sum, value) in sums.iter_mut().zip(&pixel[..colours]) {
                    *sum += f32::from(*value) * opacity * weight;
                }
                if with_alpha {
                    sums[colours] += opacity * weight;
                }
                if to == border {
                    target += 1;
                }
                from = to;
            }
        }
    }

    /// Ends a row of the result.
    fn emit(&mut self) {
        let channels = self.result.channels;
        for sums in self.sums.chunks_exact(channels) {
            if is_with_alpha(channels) {
                let opacity = sums[channels - 1];
                let by = if opacity > 0.0 { opacity.recip() } else { 0.0 };
                self.result.pixels.extend(sums[..channels - 1].iter().map(|sum| byte(sum * by)));
                self.result.pixels.push(byte(opacity * 255.0));
            } else {
                self.result.pixels.extend(sums.iter().map(|sum| byte(*sum)));
            }
        }
        self.sums.fill(0.0);
    }
}

/// The nearest byte; the cast ends at the borders.
fn byte(value: f32) -> u8 {
    (value + 0.5) as u8
}
