//! The numbers of lines that follow one another.

use std::fmt::Write as _;

use crate::Lines;

/// Digits that line numbers before a tab are padded to. 6, as BE-23.
const WIDTH: usize = 6;

/// What stands behind a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `     1\t`: a tab, and the number is padded to 6 places.
    Tab,
    /// `1:`: a colon.
    Colon,
}

/// Numbers to write before lines. What stands before the last digit is the same for ten of them.
#[derive(Debug)]
pub struct Numbers {
    next: u64,
    front: String,
    sign: Sign,
}

impl Numbers {
    /// Numbers from `next` on.
    pub fn from(next: u64, sign: Sign) -> Self {
        let mut numbers = Self { next, front: String::new(), sign };
        numbers.begin_ten();
        numbers
    }

    fn begin_ten(&mut self) {
        /// What stands before the last digit.
        const FRONT: usize = WIDTH - 1;
        let tens = self.next / 10;
        self.front.clear();
        // Writing to a string cannot fail.
        let _ = match (self.sign, tens) {
            (Sign::Tab, 0) => write!(self.front, "{:>FRONT$}", ""),
            (Sign::Tab, _) => write!(self.front, "{tens:>FRONT$}"),
            (Sign::Colon, 0) => Ok(()),
            (Sign::Colon, _) => write!(self.front, "{tens}"),
        };
    }

    /// Adds the next number with the sign behind it, and says which it was.
    pub fn push(&mut self, text: &mut String) -> u64 {
        let (number, digit) = (self.next, (self.next % 10) as usize * 2);
        let digits = match self.sign {
            Sign::Tab => "0\t1\t2\t3\t4\t5\t6\t7\t8\t9\t",
            Sign::Colon => "0:1:2:3:4:5:6:7:8:9:",
        };
        text.push_str(&self.front);
        text.push_str(&digits[digit..digit + 2]);
        self.next += 1;
        if self.next.is_multiple_of(10) {
            self.begin_ten();
        }
        number
    }

    /// Adds the lines from `first` up to `end`, each with a `\n` and its number before it and without a `\r` at its end, and
    /// says where it stopped: at `end`, or at the first line of more than `most` bytes.
    pub fn push_lines(&mut self, text: &mut String, lines: &Lines<'_>, first: usize, end: usize, most: usize) -> usize {
        let mut index = first;
        for line in lines.from(first).take(end.saturating_sub(first)) {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.len() > most {
                break;
            }
            text.push('\n');
            self.push(text);
            text.push_str(line);
            index += 1;
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_one_another_over_every_width() {
        for first in [1, 6, 10, 89, 986, 9_995, 99_986, 999_990, 10_000_000] {
            for (sign, width, mark) in [(Sign::Tab, WIDTH, '\t'), (Sign::Colon, 0, ':')] {
                let (mut numbers, mut text) = (Numbers::from(first, sign), String::new());
                for number in first..first + 25 {
                    assert_eq!(numbers.push(&mut text), number);
                }
                let expected: String = (first..first + 25).map(|number| format!("{number:>width$}{mark}")).collect();
                assert_eq!(text, expected);
            }
        }
    }

    #[test]
    fn lines_are_added_up_to_the_end_or_to_one_that_is_too_long() {
        let lines = Lines::of("zero\none\r\n\nthree\r\rfour is long\r\nfive");
        let table = [
            (1, 3, 9, "\n     7\tone\n     8\t", 3),
            (1, 9, 9, "\n     7\tone\n     8\t", 3),
            (0, 9, 99, "\n     7\tzero\n     8\tone\n     9\t\n    10\tthree\r\rfour is long\n    11\tfive", 5),
            (3, 9, 9, "", 3),
            (4, 9, 4, "\n     7\tfive", 5),
            (4, 9, 3, "", 4),
            (3, 2, 99, "", 3),
            (9, 10, 99, "", 9),
        ];
        for (first, end, most, expected, stopped) in table {
            let mut text = String::new();
            let index = Numbers::from(7, Sign::Tab).push_lines(&mut text, &lines, first, end, most);
            assert_eq!((text.as_str(), index), (expected, stopped), "{first} {end} {most}");
        }
    }
}
