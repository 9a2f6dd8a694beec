//! Short fingerprints of lines, to tell whether a line is still what it was (`expectation`).
//!
//! Whoever writes the lines must not find two that look alike: the fingerprint is a polynomial over the line, evaluated at a
//! secret point of the field of 2^61 - 1 elements. Two different lines of at most `n` bytes agree at no more than `n / 7 + 4`
//! points, so that even the best choice of lines has a chance of that in 2^61, as long as neither points nor fingerprints
//! are told to anybody. They are compared and nothing else: no table can be keyed by them.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// 2^61 - 1, a prime: what is above its bits is added below them.
const PRIME: u64 = (1 << 61) - 1;

/// Bytes of one coefficient: the most that are below the prime.
const WORD: usize = 7;

/// Four coefficients: their products do not wait for one another.
const BLOCK: usize = 4 * WORD;

/// The secret point, with its powers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
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

    /// The fingerprint of a line.
    pub(super) fn of(&self, line: &[u8]) -> u64 {
        // The length comes first, so that a line and the same with NULs behind it differ.
        let mut sum = line.len() as u64;
        let (blocks, rest) = line.as_chunks::<BLOCK>();
        for block in blocks {
            sum = self.step(sum, block);
        }
        if !rest.is_empty() {
            let mut block = [0; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            sum = self.step(sum, &block);
        }
        sum
    }

    fn step(&self, sum: u64, block: &[u8; BLOCK]) -> u64 {
        let [first, second, third, fourth] = self.powers.map(u128::from);
        let (words, _) = block.as_chunks::<WORD>();
        let word = |index: usize| {
            let [a, b, c, d, e, f, g] = words[index];
            u128::from(u64::from_le_bytes([a, b, c, d, e, f, g, 0]))
        };
        folded(u128::from(sum) * fourth + word(0) * third + word(1) * second + word(2) * first + word(3))
    }
}

/// A number below 2^124 that is the same in the field, below 2^61 + 8.
fn folded(wide: u128) -> u64 {
    let once = (wide as u64 & PRIME) + (wide >> 61) as u64;
    (once & PRIME) + (once >> 61)
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
    fn each_key_is_another() {
        assert_ne!(Key::default().of(b"a line"), Key::default().of(b"a line"));
    }
}
