//! Compound durations: `2h30m15s`, `3 hours 20 min`, `1m2.5s`, `500ms` (resilience specification, 5.3).
//!
//! Parts stand in falling order, each at most once. The unit is the whole run of letters after the number, so "m" with an
//! "s" behind it is always milliseconds.

use domain::Millis;

/// A non-negative decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Saturates.
    pub(super) whole: u64,
    thousandths: u64,
}

impl Number {
    /// Taken as seconds.
    pub(super) fn as_millis(self) -> u64 {
        self.times(1_000)
    }

    fn times(self, unit: u64) -> u64 {
        self.whole.saturating_mul(unit).saturating_add(self.thousandths * unit / 1_000)
    }
}

/// A text that is a number and nothing else.
pub(super) fn number(text: &str) -> Option<Number> {
    let (number, used) = leading_number(text.as_bytes())?;
    (used == text.len()).then_some(number)
}

/// A text that is a duration and nothing else.
pub(super) fn whole(text: &str) -> Option<Millis> {
    let (length, used) = leading(text.as_bytes())?;
    (used == text.len()).then_some(length)
}

/// The duration a text begins with, and how many bytes it takes.
pub(super) fn leading(text: &[u8]) -> Option<(Millis, usize)> {
    let (mut total, mut used, mut rank) = (0_u64, 0, 0);
    loop {
        let start = used + spaces(&text[used..]);
        let Some((value, next, unit)) = part(&text[start..]) else { break };
        if unit.rank <= rank {
            break;
        }
        total = total.saturating_add(value.times(unit.millis));
        (used, rank) = (start + next, unit.rank);
    }
    (rank > 0).then_some((Millis::new(total), used))
}

#[derive(Clone, Copy)]
struct Unit {
    rank: u8,
    millis: u64,
}

fn part(text: &[u8]) -> Option<(Number, usize, Unit)> {
    let (value, digits) = leading_number(text)?;
    let start = digits + spaces(&text[digits..]);
    let letters = text[start..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    Some((value, start + letters, unit(&text[start..start + letters])?))
}

fn unit(word: &[u8]) -> Option<Unit> {
    const UNITS: [(u8, u64, &[&str]); 5] = [
        (1, 86_400_000, &["d", "day", "days"]),
        (2, 3_600_000, &["h", "hr", "hrs", "hour", "hours"]),
        (3, 60_000, &["m", "min", "mins", "minute", "minutes"]),
        (4, 1_000, &["s", "sec", "secs", "second", "seconds"]),
        (5, 1, &["ms", "msec", "millisecond", "milliseconds"]),
    ];
    let is_named = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()));
    UNITS.iter().find(|(_, _, names)| is_named(names)).map(|&(rank, millis, _)| Unit { rank, millis })
}

fn leading_number(text: &[u8]) -> Option<(Number, usize)> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let whole =
        text[..digits].iter().fold(0_u64, |sum, byte| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0')));
    let fraction = match text[digits..].split_first() {
        Some((b'.', rest)) => &rest[..rest.iter().take_while(|byte| byte.is_ascii_digit()).count()],
        Some(_) | None => &[],
    };
    let digit = |at: usize| fraction.get(at).map_or(0, |byte| u64::from(byte - b'0'));
    let thousandths = digit(0) * 100 + digit(1) * 10 + digit(2);
    let used = if fraction.is_empty() { digits } else { digits + 1 + fraction.len() };
    Some((Number { whole, thousandths }, used))
}

/// How many blanks a text begins with.
pub(super) fn spaces(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_grammar() {
        for (text, millis) in [
            ("1m2.5s", Some(62_500)), // RH-24
            ("500ms", Some(500)),
            ("1m30s", Some(90_000)), // RH-09
            ("1ms", Some(1)),        // RH-32
            ("1m", Some(60_000)),
            ("2h30m15s", Some(9_015_000)), // RH-20
            ("3h 20m", Some(12_000_000)),
            ("3 days", Some(259_200_000)), // RH-21
            ("1d2h3m4s5ms", Some(93_784_005)),
            ("5 MIN", Some(300_000)),
            ("2 hours 1 minute", Some(7_260_000)),
            ("26.66s", Some(26_660)), // RH-11
            ("0.0004s", Some(0)),
            ("99999999999999999999999d", Some(u64::MAX)),
            ("30s1m", None),
            ("1m1m", None),
            ("", None),
            ("m", None),
            ("12", None),
            ("-5s", None),
            ("5 lightyears", None),
            ("5s.", None),
        ] {
            assert_eq!(whole(text).map(Millis::as_millis), millis, "{text:?}");
        }
    }

    #[test]
    fn what_follows_a_duration_is_left_alone() {
        for (text, millis, used) in [("20s. Visit", 20_000, 3), ("1m 30 apples", 60_000, 2), ("30s1m", 30_000, 3)] {
            assert_eq!(leading(text.as_bytes()), Some((Millis::new(millis), used)), "{text:?}");
        }
    }

    #[test]
    fn numbers_have_no_sign_and_no_exponent() {
        for (text, found) in
            [("45", Some(45_000)), ("0.5", Some(500)), ("-1", None), ("1e3", None), ("NaN", None), ("7.", None)]
        {
            assert_eq!(number(text).map(Number::as_millis), found, "{text:?}");
        }
    }
}
