//! Points in time as documents spell them: RFC 3339 out, RFC 3339 and its ISO 8601 cousins in.
//!
//! Nanoseconds since 1970 in an `i64` reach from 1677 to 2262; what lies outside is no time of a file.

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400;

/// `nanoseconds` since 1970 in UTC, such as `2026-11-21T03:29:30.5Z`, with as many decimals as there are.
pub(super) fn format(nanoseconds: i64) -> String {
    let (seconds, fraction) = (nanoseconds.div_euclid(SECOND), nanoseconds.rem_euclid(SECOND));
    let (days, clock) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if fraction != 0 {
        let decimals = format!("{fraction:09}");
        text.push('.');
        text.push_str(decimals.trim_end_matches('0'));
    }
    text.push('Z');
    text
}

/// Reads `YYYY-MM-DD`, then perhaps `T` or a space and `HH:MM:SS` with any number of decimals, then perhaps `Z` or an
/// offset such as `+02:00`. What names no offset is UTC. `None` for anything else.
pub(super) fn parse(text: &str) -> Option<i64> {
    let mut rest = Cursor(text.as_bytes());
    let year = rest.digits(4)?;
    rest.expect(b"-")?;
    let month = rest.digits(2).filter(|month| (1..=12).contains(month))?;
    rest.expect(b"-")?;
    let day = rest.digits(2).filter(|day| (1..=31).contains(day))?;
    let days = days_of(year, month, day);
    if date_of(days) != (year, month, day) {
        return None;
    }
    let mut seconds = days * DAY;
    let mut fraction = 0;
    if rest.expect(b"Tt ").is_some() {
        let hour = rest.digits(2).filter(|hour| *hour < 24)?;
        rest.expect(b":")?;
        let minute = rest.digits(2).filter(|minute| *minute < 60)?;
        rest.expect(b":")?;
        // 60 is a leap second: the first second of the next minute.
        let second = rest.digits(2).filter(|second| *second <= 60)?;
        seconds += hour * 3600 + minute * 60 + second;
        if rest.expect(b".,").is_some() {
            fraction = rest.decimals()?;
        }
        seconds -= rest.offset()?;
    }
    if !rest.0.is_empty() {
        return None;
    }
    i64::try_from(i128::from(seconds) * i128::from(SECOND) + i128::from(fraction)).ok()
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn expect(&mut self, any_of: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        any_of.contains(first).then(|| {
            self.0 = rest;
            *first
        })
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = rest;
        Some(digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    }

    /// The digits after the point, as nanoseconds; the tenth and later ones are dropped.
    fn decimals(&mut self) -> Option<i64> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        let known = digits.iter().map(|digit| i64::from(digit - b'0')).chain(std::iter::repeat(0)).take(9);
        (count > 0).then(|| known.fold(0, |number, digit| number * 10 + digit))
    }

    /// Seconds east of Greenwich.
    fn offset(&mut self) -> Option<i64> {
        match self.expect(b"Zz+-") {
            None | Some(b'Z' | b'z') => Some(0),
            Some(sign) => {
                let hours = self.digits(2).filter(|hours| *hours < 24)?;
                let _ = self.expect(b":");
                let minutes = self.digits(2).filter(|minutes| *minutes < 60)?;
                let east = hours * 3600 + minutes * 60;
                Some(if sign == b'-' { -east } else { east })
            }
        }
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, by counting in years that begin in March and eras of 400
/// years (146,097 days), so that the leap day is the last of its year.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of [`days_of`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = (shifted + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_documents_hold() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some("1970-01-01T00:00:00Z")),
            ("1969-12-31T23:59:59.999999999Z", Some("1969-12-31T23:59:59.999999999Z")),
            ("2026-11-21T03:29:30.123456+00:00", Some("2026-11-21T03:29:30.123456Z")),
            ("2026-11-21T03:29:30.123456", Some("2026-11-21T03:29:30.123456Z")),
            ("2026-11-21T03:29:30+02:00", Some("2026-11-21T01:29:30Z")),
            ("2026-11-21T03:29:30-0230", Some("2026-11-21T05:59:30Z")),
            ("2024-02-29 12:00:00", Some("2024-02-29T12:00:00Z")),
            ("2024-12-31", Some("2024-12-31T00:00:00Z")),
            ("2016-12-31T23:59:60Z", Some("2017-01-01T00:00:00Z")),
            ("2023-02-29", None),
            ("1900-02-29", None),
            ("2026-13-01", None),
            ("2026-11-21T24:00:00Z", None),
            ("2026-11-21T03:29", None),
            ("2026-11-21T03:29:30.Z", None),
            ("2026-11-21T03:29:30Zx", None),
            ("9999-01-01T00:00:00Z", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(parse(text).map(format).as_deref(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_time_survives_its_spelling(nanoseconds in any::<i64>()) {
            prop_assert_eq!(parse(&format(nanoseconds)), Some(nanoseconds));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
