//! Short fingerprints of lines, to tell whether a line is still what it was.
//!
//! Whoever writes the lines must not find two that look alike: the fingerprint is a polynomial over the line, evaluated at a
//! secret point of the field of 2^61 - 1 elements. Two different lines of at most `n` bytes agree at no more than `n / 7 + 4`
//! points, so that even the best choice of lines has a chance of that in 2^61, as long as neither points nor fingerprints
//! are told to anybody. They are compared and nothing else: no table can be keyed by them.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use crate::Lines;

/// 2^61 - 1, a prime: what is above its bits is added below them.
const PRIME: u64 = (1 << 61) - 1;

/// Bytes of one coefficient: the most that are below the prime.
const WORD: usize = 7;

/// Four coefficients: their products do not wait for one another.
const BLOCK: usize = 4 * WORD;

/// A block and one byte more: its last word is read as eight bytes, too.
const READ: usize = BLOCK + 1;

/// The lower bytes of eight.
const WORD_BITS: u64 = (1 << (8 * WORD)) - 1;

/// The secret point, with its powers.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    powers: [u64; 4],
}

impl Default for Key {
    /// A point that nobody knows: from the randomness that keys the maps of this process.
    fn default() -> Self {
        Self::at(RandomState::new().hash_one(0_u64))
    }
}

impl Key {
    fn at(point: u64) -> Self {
        // 0 would see the last coefficient only.
        let first = (point % (PRIME - 1)) + 1;
        let next = |power: u64| folded(u128::from(power) * u128::from(first));
        let second = next(first);
        let third = next(second);
        Self { powers: [first, second, third, next(third)] }
    }

    /// The fingerprints of the first `count` lines of a text.
    pub fn of_first(&self, lines: &Lines<'_>, count: usize) -> Vec<u64> {
        let mut fingerprints = Vec::with_capacity(count.min(lines.count()));
        fingerprints.extend(lines.from(0).take(count).map(|line| self.of(line.as_bytes())));
        fingerprints
    }

    /// The fingerprint of a line.
    #[inline]
    pub fn of(&self, line: &[u8]) -> u64 {
        // The length comes first, so that a line and the same with NULs behind it differ.
        let mut sum = line.len() as u64;
        let mut rest = line;
        while let Some(block) = rest.first_chunk::<READ>() {
            sum = self.step(sum, block);
            rest = &rest[BLOCK..];
        }
        if !rest.is_empty() {
            sum = self.step(sum, &padded(rest));
        }
        sum
    }

    #[inline]
    fn step(&self, sum: u64, block: &[u8; READ]) -> u64 {
        let [first, second, third, fourth] = self.powers;
        let word = |index: usize| {
            let bytes = block[index * WORD..].first_chunk().copied().unwrap_or_default();
            u64::from_le_bytes(bytes) & WORD_BITS
        };
        // Below 2^124: nothing wraps, and nothing is to be checked.
        let product = |factor: u64, power: u64| u128::from(factor).wrapping_mul(u128::from(power));
        let wide = product(sum, fourth).wrapping_add(product(word(0), third));
        let wide = wide.wrapping_add(product(word(1), second)).wrapping_add(product(word(2), first));
        folded(wide.wrapping_add(u128::from(word(3))))
    }
}

/// Up to a block of bytes, with NULs behind them.
#[inline]
fn padded(bytes: &[u8]) -> [u8; READ] {
    let mut block = [0; READ];
    // Two copies of a fixed length, over one another in the middle, are several times faster than one of any length.
    if !(both_ends::<16>(&mut block, bytes) || both_ends::<8>(&mut block, bytes) || both_ends::<4>(&mut block, bytes)) {
        block.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    }
    block
}

/// Copies the first and the last `N` bytes of `N` to `2 * N`; `false` where they are fewer.
#[inline]
fn both_ends<const N: usize>(block: &mut [u8; READ], bytes: &[u8]) -> bool {
    let (Some(start), Some(end)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) else { return false };
    let Some(block) = block.get_mut(..bytes.len()) else { return false };
    if let Some(to) = block.first_chunk_mut::<N>() {
        *to = *start;
    }
    if let Some(to) = block.last_chunk_mut::<N>() {
        *to = *end;
    }
    true
}

/// A number below 2^124 that is the same in the field, below 2^61 + 8.
#[inline]
fn folded(wide: u128) -> u64 {
    let once = (wide as u64 & PRIME).wrapping_add((wide >> 61) as u64);
    (once & PRIME).wrapping_add(once >> 61)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The polynomial as it is defined, one coefficient after the other.
    fn slowly(point: u64, line: &[u8]) -> u64 {
        let prime = u128::from(PRIME);
        let point = u128::from(point % (PRIME - 1)) + 1;
        let mut padded = line.to_vec();
        padded.resize(line.len().next_multiple_of(BLOCK), 0);
        let sum = padded.chunks(WORD).fold(line.len() as u128, |sum, word| {
            let coefficient = word.iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte));
            (sum * point + coefficient) % prime
        });
        sum as u64
    }

    proptest! {
        #[test]
        fn it_is_the_polynomial_at_the_secret_point(point: u64, line in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Key::at(point).of(&line) % PRIME, slowly(point, &line));
        }
    }

    #[test]
    fn the_largest_numbers_do_not_wrap() {
        for point in [0, 1, PRIME - 2, PRIME - 1, PRIME, u64::MAX] {
            for length in [0, 6, 7, 27, 28, 29, 1_000, 100_000] {
                let line = vec![0xFF; length];
                assert_eq!(Key::at(point).of(&line) % PRIME, slowly(point, &line), "{point} {length}");
            }
        }
    }

    #[test]
    fn lines_that_differ_a_little_differ() {
        let key = Key::default();
        let mut seen = std::collections::HashSet::new();
        let line = b"    let value = compute(first, second); // a line of code";
        let mut of = |line: &[u8]| assert!(seen.insert(key.of(line)), "{line:?}");
        for index in 0..line.len() {
            of(&line[..index]);
            for bit in 0..8 {
                let mut other = line.to_vec();
                other[index] ^= 1 << bit;
                of(&other);
            }
        }
        (1..100).for_each(|length| of(&vec![0; length]));
    }

    #[test]
    fn those_of_a_text_are_those_of_its_lines() {
        let key = Key::default();
        let lines: Vec<String> =
            (0..100).map(|length| "é line of code".chars().cycle().take(length).collect()).collect();
        let text = lines.join("\n");
        let each: Vec<u64> = lines.iter().map(|line| key.of(line.as_bytes())).collect();
        assert_eq!(key.of_first(&Lines::of(&text), 1_000), each);
        assert_eq!(key.of_first(&Lines::of(&text), 7), each[..7]);
    }

    #[test]
    fn each_key_is_another() {
        assert_ne!(Key::default().of(b"a line"), Key::default().of(b"a line"));
    }
}
