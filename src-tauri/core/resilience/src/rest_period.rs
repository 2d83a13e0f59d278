//! A rest with an end, and the probes of a long one.
//!
//! Scope: one account's cooldown, or one model's lock. Question: *is it over, and if not, may one request look?* A wait
//! that the upstream announced is obeyed, but vouchers and changed plans end a quota early: once six hours of a longer
//! one have passed, exactly one request is let through, and again every six hours after that (specification's decision
//! 19). Everyone else is refused and told the real end.
//!
//! A probe is reserved under the number of the permit that holds it. The reservation lapses like that of the circuit
//! breaker, so a permit that is never settled cannot keep others from looking.

use domain::{Millis, Timestamp};

use crate::backoff::LONGEST_REST;
use crate::circuit_breaker::START_TIMEOUT;

/// How long an announced rest lasts before one request may look, and between two looks.
pub const PROBE_INTERVAL: Millis = Millis::hours(6);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestPeriod {
    until: Timestamp,
    probe_at: Option<Timestamp>,
    probe: Option<Reservation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reservation {
    permit: u64,
    at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The end has passed.
    Over,
    /// It goes on, but one request may look.
    Probe,
    Resting {
        until: Timestamp,
    },
}

impl RestPeriod {
    /// A rest that begins now. One that was `announced` and is longer than six hours will be probed.
    pub fn begin(length: Millis, announced: bool, now: Timestamp) -> Self {
        let length = length.min(LONGEST_REST);
        let probed = announced && length > PROBE_INTERVAL;
        RestPeriod { until: now + length, probe_at: probed.then_some(now + PROBE_INTERVAL), probe: None }
    }

    /// A rest until an instant, never probed.
    pub fn until_then(until: Timestamp) -> Self {
        RestPeriod { until, probe_at: None, probe: None }
    }

    /// Reads a stored rest; none, it is over. Instants further away than any rest or probe may be are drawn near.
    pub fn restore(until: Timestamp, probe_at: Option<Timestamp>, now: Timestamp) -> Option<Self> {
        let until = until.min(now + LONGEST_REST);
        let probe_at = probe_at.map(|at| at.min(now + PROBE_INTERVAL));
        (until > now).then_some(RestPeriod { until, probe_at, probe: None })
    }

    /// The same rest for another account: its probe is its own.
    pub fn without_probe(&self) -> Self {
        RestPeriod { probe: None, ..self.clone() }
    }

    pub fn check(&self, now: Timestamp) -> Verdict {
        if now >= self.until {
            return Verdict::Over;
        }
        let due = self.probe_at.is_some_and(|at| now >= at);
        let taken = self.probe.is_some_and(|probe| now < probe.at + START_TIMEOUT);
        if due && !taken { Verdict::Probe } else { Verdict::Resting { until: self.until } }
    }

    /// The permit that may look. Called when [`RestPeriod::check`] said [`Verdict::Probe`].
    pub fn reserve(&mut self, permit: u64, now: Timestamp) {
        self.probe = Some(Reservation { permit, at: now });
    }

    /// Whether the permit is the one that looks.
    pub fn is_probe(&self, permit: u64) -> bool {
        self.probe.is_some_and(|probe| probe.permit == permit)
    }

    /// The probe found the limit still there: the rest goes on, the next look is six hours away. Says whether the permit
    /// was the probe.
    pub fn on_failure(&mut self, permit: u64, now: Timestamp) -> bool {
        let was_probe = self.is_probe(permit);
        if was_probe {
            self.probe = None;
            self.probe_at = Some(now + PROBE_INTERVAL).filter(|at| *at < self.until);
        }
        was_probe
    }

    /// The probe found nothing out: the next request may look.
    pub fn on_neutral(&mut self, permit: u64) {
        if self.is_probe(permit) {
            self.probe = None;
        }
    }

    /// The end; it may have passed.
    pub fn until(&self) -> Timestamp {
        self.until
    }

    /// When one request may look.
    pub fn probe_at(&self) -> Option<Timestamp> {
        self.probe_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_000_000);

    fn at(length: Millis) -> Timestamp {
        START + length
    }

    #[test]
    fn an_announced_rest_of_days_is_probed_every_six_hours() {
        // CC-31
        let mut rest = RestPeriod::begin(Millis::days(5), true, START);
        let until = at(Millis::days(5));
        assert_eq!(rest.check(at(Millis::hours(6)) - Millis::new(1)), Verdict::Resting { until });
        assert_eq!(rest.check(at(Millis::hours(6))), Verdict::Probe);
        rest.reserve(1, at(Millis::hours(6)));
        assert_eq!(rest.check(at(Millis::hours(6))), Verdict::Resting { until });

        assert!(!rest.on_failure(2, at(Millis::hours(6))), "another permit is not the probe");
        assert!(rest.on_failure(1, at(Millis::hours(6))));
        assert_eq!(rest.check(at(Millis::hours(12)) - Millis::new(1)), Verdict::Resting { until });
        assert_eq!(rest.check(at(Millis::hours(12))), Verdict::Probe);
        assert_eq!(rest.check(until), Verdict::Over);
    }

    #[test]
    fn a_short_or_unannounced_rest_is_waited_for() {
        // CC-32
        for (length, announced) in [(Millis::hours(2), true), (Millis::hours(6), true), (Millis::hours(24), false)] {
            let rest = RestPeriod::begin(length, announced, START);
            assert_eq!(rest.probe_at(), None);
            assert_eq!(rest.check(at(length) - Millis::new(1)), Verdict::Resting { until: at(length) });
            assert_eq!(rest.check(at(length)), Verdict::Over);
        }
    }

    #[test]
    fn a_probe_that_says_nothing_or_is_lost_lets_the_next_one_look() {
        let mut rest = RestPeriod::begin(Millis::days(2), true, START);
        let due = at(PROBE_INTERVAL);
        rest.reserve(1, due);
        rest.on_neutral(1);
        assert_eq!(rest.check(due), Verdict::Probe);

        rest.reserve(2, due);
        assert!(matches!(rest.check(due + START_TIMEOUT - Millis::new(1)), Verdict::Resting { .. }));
        assert_eq!(rest.check(due + START_TIMEOUT), Verdict::Probe);
        rest.reserve(3, due + START_TIMEOUT);
        assert!(!rest.on_failure(2, due + START_TIMEOUT), "a lapsed probe is no probe any more");
    }

    #[test]
    fn no_rest_is_longer_than_thirty_days_not_even_a_stored_one() {
        assert_eq!(RestPeriod::begin(Millis::MAX, true, START).until(), at(Millis::days(30)));
        let stored = RestPeriod::restore(Timestamp::MAX, Some(Timestamp::MAX), START);
        assert_eq!(stored.as_ref().map(RestPeriod::until), Some(at(Millis::days(30))));
        assert_eq!(stored.and_then(|rest| rest.probe_at()), Some(at(PROBE_INTERVAL)));
        assert_eq!(RestPeriod::restore(START, None, START), None);
    }
}
