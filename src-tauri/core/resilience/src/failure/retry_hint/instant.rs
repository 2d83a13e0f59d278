//! Instants as upstreams write them: ISO 8601 with much or little, and month and day without a year.

use domain::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

/// A text that is an ISO 8601 instant and nothing else.
pub(super) fn whole(text: &str) -> Option<Timestamp> {
    let mut reader = Reader { rest: text.as_bytes() };
    let at = reader.iso()?;
    reader.rest.is_empty().then_some(at)
}

/// The instant a text begins with. Without a zone it is UTC; without a year it is the next of that day and time.
pub(super) fn leading(text: &[u8], now: Timestamp) -> Option<Timestamp> {
    Reader { rest: text }.iso().or_else(|| Reader { rest: text }.month_and_day(now))
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    /// `YYYY-MM-DD`, a `T` or blank, `HH:MM`, perhaps `:SS` and a fraction, perhaps `Z` or an offset.
    fn iso(&mut self) -> Option<Timestamp> {
        let year = self.digits(4)?;
        let (month, day) = self.dashed(true)?;
        if !self.take(b'T') && !self.take(b't') && !self.take(b' ') {
            return None;
        }
        let time = self.time()?;
        let offset = self.offset()?;
        instant(i16::try_from(year).ok()?, month, day, time, offset)
    }

    /// `MM-DD HH:MM`, perhaps `:SS`, then `UTC`.
    fn month_and_day(&mut self, now: Timestamp) -> Option<Timestamp> {
        let (month, day) = self.dashed(false)?;
        if !self.take(b' ') {
            return None;
        }
        let time = self.time()?;
        if !self.take(b' ') || !self.rest.get(..3)?.eq_ignore_ascii_case(b"utc") {
            return None;
        }
        let today = jiff::Timestamp::from_millisecond(i64::try_from(now.as_millis()).ok()?).ok()?;
        let year = Offset::UTC.to_datetime(today).year();
        let this_year = instant(year, month, day, time, Offset::UTC).filter(|at| *at > now);
        this_year.or_else(|| instant(year.checked_add(1)?, month, day, time, Offset::UTC))
    }

    fn dashed(&mut self, dash_before: bool) -> Option<(i8, i8)> {
        if dash_before && !self.take(b'-') {
            return None;
        }
        let month = self.digits(2)?;
        if !self.take(b'-') {
            return None;
        }
        Some((i8::try_from(month).ok()?, i8::try_from(self.digits(2)?).ok()?))
    }

    /// Hour, minute, second and nanosecond.
    fn time(&mut self) -> Option<(i8, i8, i8, i32)> {
        let hour = self.digits(2)?;
        if !self.take(b':') {
            return None;
        }
        let minute = self.digits(2)?;
        let second = if self.take(b':') { self.digits(2)? } else { 0 };
        let mut nanoseconds = 0;
        if self.rest.first() == Some(&b'.') && self.rest.get(1).is_some_and(u8::is_ascii_digit) {
            self.rest = &self.rest[1..];
            nanoseconds = self.fraction();
        }
        Some((i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, i8::try_from(second).ok()?, nanoseconds))
    }

    fn fraction(&mut self) -> i32 {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        (0..9).fold(0, |sum, at| sum * 10 + digits.get(at).map_or(0, |byte| i32::from(byte - b'0')))
    }

    /// UTC where none is stated; none where one is stated that does not exist.
    fn offset(&mut self) -> Option<Offset> {
        if self.take(b'Z') || self.take(b'z') {
            return Some(Offset::UTC);
        }
        let sign = match self.rest.first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(_) | None => return Some(Offset::UTC),
        };
        self.rest = &self.rest[1..];
        let hours = self.digits(2)?;
        self.take(b':');
        let minutes = self.digits(2)?;
        let seconds = i32::from(hours) * 3_600 + i32::from(minutes) * 60;
        Offset::from_seconds(sign * seconds).ok()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.rest.first() == Some(&wanted);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn digits(&mut self, count: usize) -> Option<u16> {
        let (digits, rest) = self.rest.split_at_checked(count)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.rest = rest;
        Some(digits.iter().fold(0, |sum, byte| sum * 10 + u16::from(byte - b'0')))
    }
}

fn instant(year: i16, month: i8, day: i8, time: (i8, i8, i8, i32), offset: Offset) -> Option<Timestamp> {
    let (hour, minute, second, nanosecond) = time;
    let time = jiff::civil::Time::new(hour, minute, second, nanosecond).ok()?;
    let date = Date::new(year, month, day).ok()?;
    let at = offset.to_timestamp(date.to_datetime(time)).ok()?;
    u64::try_from(at.as_millisecond()).ok().map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-08-09T12:00:00Z
    const NOON: u64 = 1_786_276_800_000;

    #[test]
    fn every_form_of_an_instant() {
        for (text, millis) in [
            ("2026-08-09T12:00:00Z", Some(NOON)),
            ("2026-08-09 12:00", Some(NOON)),
            ("2026-08-09T12:00:00", Some(NOON)),
            ("2026-08-09T14:00:00+02:00", Some(NOON)),
            ("2026-08-09T06:30:00-0530", Some(NOON)),
            ("2026-08-09t12:00:00.123456789z", Some(NOON + 123)),
            ("1969-12-31T23:59:59Z", None),
            ("2026-13-09T12:00Z", None),
            ("2026-02-30T12:00Z", None),
            ("2026-08-09T25:00Z", None),
            ("2026-08-09T12:00:00+99:00", None),
            ("2026-08-09T12:00:00Z.", None),
            ("2026-08-09", None),
            ("12:00", None),
            ("", None),
        ] {
            assert_eq!(whole(text).map(Timestamp::as_millis), millis, "{text:?}");
        }
    }

    #[test]
    fn a_day_without_a_year_is_the_next_one() {
        let at = |text: &str| whole(text).expect("an instant");
        for (text, now, expected) in [
            ("12-31 23:00 UTC", "2026-01-01T00:00Z", Some("2026-12-31T23:00Z")), // RH-22
            ("12-31 23:00 UTC", "2026-12-31T23:30Z", Some("2027-12-31T23:00Z")),
            ("08-10 04:00:30 utc.", "2026-08-09T12:00Z", Some("2026-08-10T04:00:30Z")),
            ("02-29 00:00 UTC", "2027-06-01T00:00Z", Some("2028-02-29T00:00Z")),
            ("02-29 00:00 UTC", "2025-06-01T00:00Z", None),
            ("08-10 04:00", "2026-08-09T12:00Z", None),
        ] {
            assert_eq!(leading(text.as_bytes(), at(now)), expected.map(at), "{text:?} from {now:?}");
        }
    }
}
