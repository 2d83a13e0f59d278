//! Time is an argument.
//!
//! [`Timestamp`] is an instant, [`Millis`] a length; both count milliseconds and saturate instead of overflowing, so a
//! hostile hint such as `Retry-After: 99999999999999` can lengthen a wait but never break arithmetic.

use std::fmt;
use std::future::Future;
use std::ops::{Add, Sub};
use std::pin::Pin;

use serde::{Deserialize, Serialize};

/// An instant: milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(u64);

/// The one source of time in the shell. It never runs backwards (specification's decision 27).
pub trait Clock: Send + Sync + 'static {
    /// The current instant: at least every instant returned before.
    fn now(&self) -> Timestamp;
    /// Completes once [`Clock::now`] has reached `at`; at once when it already has.
    fn sleep_until(&self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

impl Timestamp {
    pub const ZERO: Timestamp = Timestamp(0);
    pub const MAX: Timestamp = Timestamp(u64::MAX);

    pub const fn from_millis(millis: u64) -> Self {
        Timestamp(millis)
    }

    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, zero when `earlier` is later.
    pub const fn since(self, earlier: Timestamp) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Millis {
    pub const ZERO: Millis = Millis(0);
    pub const MAX: Millis = Millis(u64::MAX);

    pub const fn new(millis: u64) -> Self {
        Millis(millis)
    }

    pub const fn seconds(seconds: u64) -> Self {
        Millis(seconds.saturating_mul(1_000))
    }

    pub const fn minutes(minutes: u64) -> Self {
        Self::seconds(minutes.saturating_mul(60))
    }

    pub const fn hours(hours: u64) -> Self {
        Self::minutes(hours.saturating_mul(60))
    }

    pub const fn days(days: u64) -> Self {
        Self::hours(days.saturating_mul(24))
    }

    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Whole seconds, rounded up, at least 1: the form of a `Retry-After` header.
    pub const fn as_retry_after_seconds(self) -> u64 {
        let seconds = self.0.div_ceil(1_000);
        if seconds == 0 { 1 } else { seconds }
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add<Millis> for Timestamp {
    type Output = Timestamp;
    fn add(self, length: Millis) -> Timestamp {
        Timestamp(self.0.saturating_add(length.0))
    }
}

impl Sub<Millis> for Timestamp {
    type Output = Timestamp;
    fn sub(self, length: Millis) -> Timestamp {
        Timestamp(self.0.saturating_sub(length.0))
    }
}

impl Add for Millis {
    type Output = Millis;
    fn add(self, other: Millis) -> Millis {
        Millis(self.0.saturating_add(other.0))
    }
}

/// In the largest unit that needs no fraction, as people say it: `250 ms`, `90 s`, `10 min`.
impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: u64 = 1_000;
        const MINUTE: u64 = 60 * SECOND;
        match self.0 {
            0 => write!(f, "0 s"),
            whole if whole.is_multiple_of(MINUTE) => write!(f, "{} min", whole / MINUTE),
            whole if whole.is_multiple_of(SECOND) => write!(f, "{} s", whole / SECOND),
            length => write!(f, "{length} ms"),
        }
    }
}

impl From<Millis> for std::time::Duration {
    fn from(length: Millis) -> Self {
        std::time::Duration::from_millis(length.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_written_as_people_say_it() {
        let lengths = [(0, "0 s"), (250, "250 ms"), (1_500, "1500 ms"), (90_000, "90 s"), (600_000, "10 min")];
        for (length, said) in lengths {
            assert_eq!(Millis::new(length).to_string(), said);
        }
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Timestamp::MAX + Millis::MAX, Timestamp::MAX);
        assert_eq!(Timestamp::ZERO - Millis::seconds(1), Timestamp::ZERO);
        assert_eq!(Timestamp::from_millis(5).since(Timestamp::from_millis(9)), Millis::ZERO);
        assert_eq!(Millis::days(u64::MAX), Millis::MAX);
    }

    #[test]
    fn retry_after_is_a_whole_second_of_at_least_one() {
        assert_eq!(Millis::ZERO.as_retry_after_seconds(), 1);
        assert_eq!(Millis::new(1).as_retry_after_seconds(), 1);
        assert_eq!(Millis::new(1_001).as_retry_after_seconds(), 2);
    }
}
