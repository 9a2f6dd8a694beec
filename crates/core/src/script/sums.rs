//! Sums of plain numbers in `$(( … ))`, whose value is known before anything runs.

/// 64 bytes of a sum are read: people write less, and each parenthesis in it is a level of the reader's stack.
const SUM_BYTES: usize = 64;

/// Operators between two numbers, those that begin with another one before it, and how strongly each of them holds.
const OPERATORS: [(&str, u8); 18] = [
    ("||", 0),
    ("&&", 1),
    ("==", 5),
    ("!=", 5),
    ("<<", 7),
    (">>", 7),
    ("<=", 6),
    (">=", 6),
    ("|", 2),
    ("^", 3),
    ("&", 4),
    ("<", 6),
    (">", 6),
    ("+", 8),
    ("-", 8),
    ("*", 9),
    ("/", 9),
    ("%", 9),
];

/// The value of the sum with which a text begins and behind which `))` stands, where bash and other shells agree on its numbers.
pub(super) fn value(text: &str) -> Option<i64> {
    let end = text.bytes().take(SUM_BYTES).position(|byte| !byte.is_ascii()).unwrap_or(text.len().min(SUM_BYTES));
    let mut reader = Reader { rest: &text[..end] };
    let mut value = reader.choice()?;
    while reader.take(",") {
        value = reader.choice()?;
    }
    reader.rest.starts_with("))").then_some(value)
}

/// What of a sum is still to be read.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start_matches(' ');
        let rest_behind = rest.strip_prefix(sign);
        self.rest = rest_behind.unwrap_or(rest);
        rest_behind.is_some()
    }

    /// A sum, or one of two by what stands before a `?`.
    fn choice(&mut self) -> Option<i64> {
        let value = self.sum(0)?;
        if !self.take("?") {
            return Some(value);
        }
        let first = self.choice()?;
        let second = self.take(":").then(|| self.choice())??;
        Some(if value != 0 { first } else { second })
    }

    /// Numbers between which only operators stand that hold as strongly as that, or more.
    fn sum(&mut self, least: u8) -> Option<i64> {
        let mut left = self.number()?;
        while let Some((sign, strength)) = self.operator(least) {
            left = applied(sign, left, self.sum(strength + 1)?)?;
        }
        Some(left)
    }

    fn operator(&mut self, least: u8) -> Option<(&'static str, u8)> {
        self.take("");
        let found = OPERATORS.iter().find(|(sign, _)| self.rest.starts_with(sign)).copied();
        found.filter(|(sign, strength)| *strength >= least && self.take(sign))
    }

    fn number(&mut self) -> Option<i64> {
        if self.take("(") {
            let value = self.choice()?;
            return self.take(")").then_some(value);
        }
        if self.take("-") {
            return self.number()?.checked_neg();
        }
        if self.take("+") {
            return self.number();
        }
        if self.take("!") {
            return Some(i64::from(self.number()? == 0));
        }
        if self.take("~") {
            return Some(!self.number()?);
        }
        let length = self.rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let value = i64::from_str_radix(hexadecimal.unwrap_or(digits), if hexadecimal.is_some() { 16 } else { 10 });
        // A `0` in front makes it octal, but not in every shell.
        let is_octal = hexadecimal.is_none() && digits.len() > 1 && digits.starts_with('0');
        value.ok().filter(|value| !is_octal || *value < 8)
    }
}

fn applied(sign: &str, left: i64, right: i64) -> Option<i64> {
    let bits = || u32::try_from(right).ok().filter(|bits| *bits < i64::BITS);
    match sign {
        "||" => Some(i64::from(left != 0 || right != 0)),
        "&&" => Some(i64::from(left != 0 && right != 0)),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "&" => Some(left & right),
        "==" => Some(i64::from(left == right)),
        "!=" => Some(i64::from(left != right)),
        "<" => Some(i64::from(left < right)),
        ">" => Some(i64::from(left > right)),
        "<=" => Some(i64::from(left <= right)),
        ">=" => Some(i64::from(left >= right)),
        "<<" => left.checked_mul(1_i64.checked_shl(bits()?)?),
        ">>" => left.checked_shr(bits()?),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_plain_numbers_are_reckoned_as_shells_do() {
        for (sum, known) in [
            ("2+3*4-5%3", 12),
            ("7-2-1", 4),
            ("100/10/5", 2),
            ("-7/2", -3),
            ("-7 % 3", -1),
            ("-8>>1", -4),
            ("5 | 2 ^ 7 & 3", 5),
            ("1||0&&0", 1),
            ("1<2==1", 1),
            ("6&3==3", 0),
            ("1?2:0?3:4", 2),
            ("!3+1", 1),
            ("~5+ 2", -4),
            ("-2*-3", 6),
            ("2*(1-3)+3", -1),
            ("0x1F", 31),
        ] {
            assert_eq!(value(&format!("{sum}))")), Some(known), "{sum}");
        }
        let long = format!("1{}", "+1".repeat(40));
        for sum in ["", "x", "1/0", "010", "1 1", "(1", "1+", "1**2", "2#1", "9223372036854775807+1", "1<<64", &long] {
            assert_eq!(value(&format!("{sum}))")), None, "{sum}");
        }
        assert_eq!(value("1)"), None);
    }
}
