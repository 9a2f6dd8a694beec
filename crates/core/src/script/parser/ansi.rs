//! The escapes of `$'…'`.

/// The text that `$'…'` stands for, or `None` where it holds a NUL, an unknown escape or no character.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let escape = rest.next()?;
        let code = match escape {
            'n' => u32::from(b'\n'),
            't' => u32::from(b'\t'),
            'r' => u32::from(b'\r'),
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 27,
            'f' => 12,
            'v' => 11,
            '\\' | '"' | '?' => u32::from(escape),
            'x' => digits(&mut rest, 16, 2)?,
            'u' => digits(&mut rest, 16, 4)?,
            'U' => digits(&mut rest, 16, 8)?,
            '0'..='7' => {
                let first = escape.to_digit(8)?;
                let more = rest.clone().take(2).take_while(|digit| digit.is_digit(8)).count();
                (0..more).try_fold(first, |code, _| Some(code * 8 + rest.next()?.to_digit(8)?))?
            }
            _ => return None,
        };
        // A byte beyond ASCII is half a character: nothing that a judgement could compare.
        let is_byte = matches!(escape, 'x' | '0'..='7') && code > 0x7F;
        match char::from_u32(code) {
            Some(character) if code != 0 && !is_byte => out.push(character),
            Some(_) | None => return None,
        }
    }
    Some(out)
}

/// Up to `most` digits; at least one.
fn digits(rest: &mut std::str::Chars<'_>, radix: u32, most: usize) -> Option<u32> {
    let count = rest.clone().take(most).take_while(|digit| digit.is_digit(radix)).count();
    if count == 0 {
        return None;
    }
    (0..count).try_fold(0, |code: u32, _| code.checked_mul(radix)?.checked_add(rest.next()?.to_digit(radix)?))
}
