//! The pace an upstream announced in the headers of its replies (resilience specification, 5.5).
//!
//! A limit of so many requests a minute becomes a spacing, a little faster than the limit so that it is used up. While more
//! than half of it is left nothing is spaced: the upstream counts too, and an agent with parallel tools shall not be slowed
//! before there is a need. Below a tenth, what is left is also counted down until the reset. What was announced holds for a
//! day at most.

use domain::{ConnectionId, Millis, Timestamp};
use serde::{Deserialize, Serialize};

use super::QueueKey;

/// What was announced longer ago is ignored.
const VALID: Millis = Millis::days(1);
/// Spacing for an upstream that says only that its limit is exceeded.
const OVER_LIMIT: Millis = Millis::new(200);
/// By so much requests come faster than an even spread of the limit.
const FASTER_BY: u64 = 10;
/// A wait that a reply asks for beyond this is the business of `connection_cooldown`.
const LONGEST_PAUSE: Millis = Millis::minutes(1);
/// When nobody says until when a budget holds.
const USUAL_RESET: Millis = Millis::minutes(1);

/// What one reply's headers say about the pace; what they do not say is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    pub requests: Option<Allowance>,
    /// Of tokens nothing is left before this instant.
    pub tokens_spent_until: Option<Timestamp>,
    /// The upstream says that its limit is exceeded.
    pub over_limit: bool,
    /// How long the reply asks everybody to wait.
    pub retry_after: Option<Millis>,
}

/// A limit on requests, as far as it was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    pub limit: Option<u64>,
    pub remaining: Option<u64>,
    pub reset_at: Option<Timestamp>,
}

/// The pace that holds at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    at: Timestamp,
    spacing: Millis,
    budget: Option<Budget>,
    pause_until: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Budget {
    left: u64,
    until: Timestamp,
}

/// A learned pace as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LearnedLimit {
    pub connection: ConnectionId,
    pub model: Option<String>,
    pub at: Timestamp,
    pub spacing_ms: Millis,
    pub left: Option<u64>,
    pub left_until: Option<Timestamp>,
}

impl Announced {
    pub fn says_nothing(&self) -> bool {
        *self == Announced::default()
    }
}

impl Learned {
    pub fn from(announced: &Announced, now: Timestamp) -> Learned {
        let allowance = announced.requests.unwrap_or_default();
        let both = allowance.limit.zip(allowance.remaining);
        let plenty = both.is_some_and(|(limit, left)| left > limit / 2);
        let scarce = allowance.remaining == Some(0) || both.is_some_and(|(limit, left)| left < limit.div_ceil(10));
        let even = allowance
            .limit
            .filter(|limit| *limit > 0)
            .map(|limit| Millis::new((60_000 / limit).saturating_sub(FASTER_BY)));
        let mut spacing = even.filter(|_| !plenty).unwrap_or(Millis::ZERO);
        if announced.over_limit {
            spacing = spacing.max(OVER_LIMIT);
        }
        let until = |reset: Option<Timestamp>| reset.unwrap_or(now + USUAL_RESET).min(now + VALID);
        let budget =
            allowance.remaining.filter(|_| scarce).map(|left| Budget { left, until: until(allowance.reset_at) });
        let pause = announced.retry_after.filter(|wait| !wait.is_zero() && *wait <= LONGEST_PAUSE);
        let spent = announced.tokens_spent_until.map(|at| at.min(now + VALID));
        Learned { at: now, spacing, budget, pause_until: pause.map(|wait| now + wait).max(spent) }
    }

    /// Whether it slows anybody.
    pub fn paces(&self, now: Timestamp) -> bool {
        let valid = now < self.at + VALID;
        let counts = self.budget.is_some_and(|budget| now < budget.until);
        valid && (!self.spacing.is_zero() || counts || self.pause_until.is_some_and(|until| now < until))
    }

    /// Until when nobody may go, after a request went at `last_start`; none, the way is free.
    pub fn closed_until(&self, last_start: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        if now >= self.at + VALID {
            return None;
        }
        let spaced = last_start.map(|at| at + self.spacing);
        let spent = self.budget.filter(|budget| budget.left == 0).map(|budget| budget.until);
        [spaced, spent, self.pause_until].into_iter().flatten().max().filter(|until| *until > now)
    }

    pub fn spacing(&self, now: Timestamp) -> Millis {
        if now < self.at + VALID { self.spacing } else { Millis::ZERO }
    }

    /// A request was sent.
    pub fn on_start(&mut self) {
        if let Some(budget) = &mut self.budget {
            budget.left = budget.left.saturating_sub(1);
        }
    }

    pub fn store(&self, key: &QueueKey) -> LearnedLimit {
        LearnedLimit {
            connection: key.connection.clone(),
            model: key.model.clone(),
            at: self.at,
            spacing_ms: self.spacing,
            left: self.budget.map(|budget| budget.left),
            left_until: self.budget.map(|budget| budget.until),
        }
    }

    /// Instants of a clock that was wrong are drawn near.
    pub fn restore(stored: LearnedLimit, now: Timestamp) -> (QueueKey, Learned) {
        let budget = stored.left.zip(stored.left_until);
        let learned = Learned {
            at: stored.at.min(now),
            spacing: stored.spacing_ms.min(Millis::minutes(1)),
            budget: budget.map(|(left, until)| Budget { left, until: until.min(now + VALID) }),
            pause_until: None,
        };
        (QueueKey { connection: stored.connection, model: stored.model }, learned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

    fn announced(limit: u64, remaining: Option<u64>) -> Announced {
        let reset_at = Some(NOW + Millis::seconds(30));
        Announced { requests: Some(Allowance { limit: Some(limit), remaining, reset_at }), ..Announced::default() }
    }

    #[test]
    fn a_limit_becomes_a_spacing_unless_more_than_half_is_left() {
        for (limit, remaining, spacing) in [
            (60, None, 990),
            (60, Some(30), 990),
            (60, Some(31), 0),
            (7, Some(0), 8_561),
            (6_000, Some(1_000), 0),
            (0, None, 0),
            (u64::MAX, Some(u64::MAX), 0),
        ] {
            let learned = Learned::from(&announced(limit, remaining), NOW);
            assert_eq!(learned.spacing, Millis::new(spacing), "{limit} {remaining:?}");
        }
    }

    #[test]
    fn below_a_tenth_what_is_left_is_counted_down_until_the_reset() {
        let mut learned = Learned::from(&announced(6_000, Some(2)), NOW);
        assert_eq!(learned.closed_until(None, NOW), None);
        learned.on_start();
        learned.on_start();
        assert_eq!(learned.closed_until(Some(NOW), NOW), Some(NOW + Millis::seconds(30)));
        assert_eq!(learned.closed_until(Some(NOW), NOW + Millis::seconds(30)), None);
        assert!(!learned.paces(NOW + Millis::seconds(30)));
        assert!(!Learned::from(&announced(6_000, Some(601)), NOW).paces(NOW));
    }

    #[test]
    fn an_exceeded_limit_alone_spaces_a_little_and_a_short_wait_is_kept() {
        let exceeded = Announced { over_limit: true, ..Announced::default() };
        assert_eq!(Learned::from(&exceeded, NOW).spacing, Millis::new(200));
        for (wait, closed) in [(5, true), (60, true), (61, false), (0, false)] {
            let asked = Announced { retry_after: Some(Millis::seconds(wait)), ..Announced::default() };
            assert_eq!(Learned::from(&asked, NOW).closed_until(None, NOW).is_some(), closed, "{wait}");
        }
    }

    #[test]
    fn what_was_announced_holds_for_a_day_also_when_it_was_stored() {
        let learned = Learned::from(&announced(60, None), NOW);
        assert!(learned.paces(NOW + Millis::hours(23)));
        assert!(!learned.paces(NOW + Millis::days(1)));
        let key = QueueKey { connection: "c1".into(), model: None };
        let (again, restored) = Learned::restore(learned.store(&key), NOW + Millis::hours(1));
        assert_eq!((again, restored), (key, learned));
    }
}
