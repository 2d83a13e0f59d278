//! Calendar periods in a time zone, each beginning at the same time of day.

use domain::key_limits::{Interval, ResetTime};
use domain::{Millis, Timestamp};
use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// From `start` (inclusive) to `end` (exclusive).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    pub start: Timestamp,
    pub end: Timestamp,
}

impl Period {
    /// The period that `now` is in. Where the calendar cannot say, one that begins now and lasts its usual length.
    pub fn around(now: Timestamp, interval: Interval, reset: ResetTime, zone: &TimeZone) -> Period {
        let usual = match interval {
            Interval::Daily => Millis::days(1),
            Interval::Weekly => Millis::days(7),
            Interval::Monthly => Millis::days(30),
        };
        let calendar = Calendar { interval, reset, zone };
        calendar.period(now).unwrap_or(Period { start: now, end: now + usual })
    }

    pub fn contains(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }
}

struct Calendar<'a> {
    interval: Interval,
    reset: ResetTime,
    zone: &'a TimeZone,
}

impl Calendar<'_> {
    fn period(&self, now: Timestamp) -> Option<Period> {
        let instant = jiff::Timestamp::from_millisecond(i64::try_from(now.as_millis()).ok()?).ok()?;
        let mut first = self.first_day(instant.to_zoned_datetime(self.zone.clone()).date())?;
        if self.beginning(first)? > now {
            first = self.step(first, -1)?;
        }
        let mut next = self.step(first, 1)?;
        // Where a change of the clock repeats the reset time, the first occurrence counts, and now may be past it.
        if self.beginning(next)? <= now {
            (first, next) = (next, self.step(next, 1)?);
        }
        Some(Period { start: self.beginning(first)?, end: self.beginning(next)? })
    }

    /// The day on which the period of a day begins.
    fn first_day(&self, day: Date) -> Option<Date> {
        match self.interval {
            Interval::Daily => Some(day),
            Interval::Weekly => day.checked_sub(i64::from(day.weekday().to_monday_zero_offset()).days()).ok(),
            Interval::Monthly => Some(day.first_of_month()),
        }
    }

    fn step(&self, day: Date, periods: i64) -> Option<Date> {
        let span = match self.interval {
            Interval::Daily => periods.days(),
            Interval::Weekly => periods.weeks(),
            Interval::Monthly => periods.months(),
        };
        day.checked_add(span).ok()
    }

    /// The instant at which the reset time comes on a day.
    fn beginning(&self, day: Date) -> Option<Timestamp> {
        let (hour, minute) = (i8::try_from(self.reset.hour()).ok()?, i8::try_from(self.reset.minute()).ok()?);
        let begins = day.at(hour, minute, 0, 0).to_zoned_datetime(self.zone.clone()).ok()?;
        u64::try_from(begins.timestamp().as_millisecond()).ok().map(Timestamp::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz;

    use super::*;

    fn at(text: &str) -> Timestamp {
        let instant: jiff::Timestamp = text.parse().expect("an instant");
        Timestamp::from_millis(u64::try_from(instant.as_millisecond()).expect("after the epoch"))
    }

    fn period(now: &str, interval: Interval, reset: &str, zone: &TimeZone) -> (Timestamp, Timestamp) {
        let period = Period::around(at(now), interval, reset.parse().expect("a time"), zone);
        assert!(period.contains(at(now)) && !period.contains(period.end), "{now}: {period:?}");
        (period.start, period.end)
    }

    #[test]
    fn periods_begin_at_the_reset_time_of_the_local_day_week_and_month() {
        let ahead = TimeZone::fixed(tz::offset(10));
        // 30 September 2026 is a Wednesday.
        for (zone, interval, reset, now, start, end) in [
            (
                &TimeZone::UTC,
                Interval::Daily,
                "00:00",
                "2026-09-30T00:00:00Z",
                "2026-09-30T00:00Z",
                "2026-10-01T00:00Z",
            ),
            (
                &TimeZone::UTC,
                Interval::Daily,
                "06:30",
                "2026-09-30T06:29:59Z",
                "2026-09-29T06:30Z",
                "2026-09-30T06:30Z",
            ),
            (
                &TimeZone::UTC,
                Interval::Weekly,
                "00:00",
                "2026-09-30T12:00:00Z",
                "2026-09-28T00:00Z",
                "2026-10-05T00:00Z",
            ),
            (
                &TimeZone::UTC,
                Interval::Weekly,
                "09:00",
                "2026-09-28T08:00:00Z",
                "2026-09-21T09:00Z",
                "2026-09-28T09:00Z",
            ),
            (
                &TimeZone::UTC,
                Interval::Monthly,
                "00:00",
                "2026-09-30T12:00:00Z",
                "2026-09-01T00:00Z",
                "2026-10-01T00:00Z",
            ),
            (
                &TimeZone::UTC,
                Interval::Monthly,
                "12:00",
                "2027-01-01T11:00:00Z",
                "2026-12-01T12:00Z",
                "2027-01-01T12:00Z",
            ),
            (&ahead, Interval::Daily, "00:00", "2026-09-30T14:00:00Z", "2026-09-30T14:00Z", "2026-10-01T14:00Z"),
            (&ahead, Interval::Monthly, "00:00", "2026-09-30T14:00:00Z", "2026-09-30T14:00Z", "2026-10-31T14:00Z"),
        ] {
            let full = |text: &str| at(&text.replace("00Z", "00:00Z").replace("30Z", "30:00Z"));
            assert_eq!(period(now, interval, reset, zone), (full(start), full(end)), "{now} {interval:?} {reset}");
        }
    }

    /// EC-30: 25 October 2026 has 25 hours in central Europe, 28 March 2027 has 23.
    #[test]
    fn a_day_on_which_the_clock_changes_is_longer_or_shorter() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        for (now, reset, start, end) in [
            ("2026-10-25T12:00:00Z", "00:00", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
            ("2027-03-28T12:00:00Z", "00:00", "2027-03-27T23:00:00Z", "2027-03-28T22:00:00Z"),
            // Half past two comes twice, and on the other day not at all.
            ("2026-10-25T01:15:00Z", "02:30", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
            ("2027-03-28T12:00:00Z", "02:30", "2027-03-28T01:30:00Z", "2027-03-29T00:30:00Z"),
        ] {
            assert_eq!(period(now, Interval::Daily, reset, &zone), (at(start), at(end)), "{now}");
        }
    }

    #[test]
    fn beyond_the_calendar_a_period_has_its_usual_length() {
        let late = Timestamp::MAX - Millis::days(400);
        let period = Period::around(late, Interval::Weekly, ResetTime::default(), &TimeZone::UTC);
        assert_eq!(period, Period { start: late, end: late + Millis::days(7) });
    }
}
