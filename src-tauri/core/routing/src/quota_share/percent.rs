//! Who used which part of an account's percentage.
//!
//! A vendor says how full a window is, not who filled it. Whenever it says more than before, the difference is shared out
//! among those who have asked the account since, in proportion to the tokens they consumed. Those who asked it past every
//! pool take their part too, so that nobody in a pool pays for them; what nobody here asked for is nobody's.
//!
//! What was used before a window was first seen is nobody's either, and a window that begins anew is counted from nothing.
//! Only its reset tells that it did: replies that overtake one another also say less than was said before, and what they
//! seem to take back was used all the same. The most that was said of a window stands until the next window.

use std::collections::BTreeMap;

use domain::{ClientKeyId, ConnectionId, Timestamp, quota};

use super::Window;

/// Percentages below this are what rounding leaves.
const LEAST: f64 = 1e-9;
/// A window of which nobody says when it ends has begun anew once less than this part of what was used is in use.
const LARGE_FALL: f64 = 0.5;

/// A key that asked by way of a pool; none, whoever asked past them.
pub type Asker = Option<(String, ClientKeyId)>;

/// Percentage points that a key has used by way of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub pool: String,
    pub key: ClientKeyId,
    pub window: Window,
    pub points: f64,
}

/// How full every window of every shared account was when last looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meter {
    windows: BTreeMap<(ConnectionId, Window), Level>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Level {
    /// The largest fraction that was said of the window.
    used: Option<f64>,
    reset_at: Option<Timestamp>,
    /// Tokens since then.
    asked: BTreeMap<Asker, f64>,
}

impl Meter {
    /// Somebody consumed tokens of an account, and this is how full its windows are now as far as anyone said.
    pub fn observe(
        &mut self,
        account: &ConnectionId,
        asker: &Asker,
        tokens: f64,
        quota: Option<&quota::Quota>,
        now: Timestamp,
    ) -> Vec<Part> {
        let mut parts = Vec::new();
        for window in [Window::FiveHours, Window::Daily, Window::Weekly, Window::Monthly] {
            let level = self.windows.entry((account.clone(), window)).or_default();
            // A request of which nobody knows the size still counts as one.
            *level.asked.entry(asker.clone()).or_default() += tokens.max(1.0);
            let known = window.of_account().and_then(|name| quota?.windows.get(name));
            let Some(rise) = known.and_then(|known| level.rise(known, now)) else { continue };
            parts.extend(level.share_out(rise).into_iter().map(|(pool, key, points)| Part {
                pool,
                key,
                window,
                points,
            }));
        }
        parts
    }

    /// Forgets accounts that no pool shares any more.
    pub fn retain(&mut self, shared: impl Fn(&ConnectionId) -> bool) {
        self.windows.retain(|(account, _), _| shared(account));
    }
}

impl Level {
    /// By how much a window has filled since it was last looked at, as a fraction; none, by nothing, or nobody knows.
    fn rise(&mut self, now_known: &quota::Window, now: Timestamp) -> Option<f64> {
        let used = now_known.used(now)?;
        let Some(before) = self.used else {
            (self.used, self.reset_at) = (Some(used), now_known.reset_at);
            self.asked.clear();
            return None;
        };
        let rise = if self.begins_anew(before, used, now_known, now) {
            (self.used, self.reset_at) = (Some(used), now_known.reset_at);
            used
        } else {
            // A reply that was overtaken speaks of an earlier end, too.
            (self.used, self.reset_at) = (Some(before.max(used)), self.reset_at.max(now_known.reset_at));
            used - before
        };
        (rise > LEAST).then_some(rise)
    }

    /// Whether this is said of another window than what was said before.
    fn begins_anew(&self, before: f64, used: f64, now_known: &quota::Window, now: Timestamp) -> bool {
        let has_fallen_far = used < before * LARGE_FALL;
        match (self.reset_at, now_known.reset_at) {
            // A vendor may begin a window before its time; then it has fallen.
            (Some(end), Some(_)) => now_known.resets_after(end) && (end <= now || used < before),
            (Some(end), None) => end <= now || has_fallen_far,
            (None, _) => has_fallen_far,
        }
    }

    /// Divides percentage points by tokens; nobody has asked anything afterwards.
    fn share_out(&mut self, rise: f64) -> Vec<(String, ClientKeyId, f64)> {
        let asked = std::mem::take(&mut self.asked);
        let all: f64 = asked.values().sum();
        let part = |(asker, tokens): (Asker, f64)| {
            let (pool, key) = asker?;
            Some((pool, key, rise * 100.0 * tokens / all))
        };
        asked.into_iter().filter_map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use domain::Millis;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000_000);
    const LATER: Timestamp = Timestamp::from_millis(2_000_000_000);

    fn session(used: f64, reset_at: Option<Timestamp>) -> quota::Quota {
        let window = quota::Window::new(used, reset_at);
        quota::Quota { windows: [("session".to_owned(), window)].into(), ..quota::Quota::default() }
    }

    fn key(name: &str) -> Asker {
        Some(("pool".to_owned(), name.into()))
    }

    fn told(parts: Vec<Part>) -> Vec<(String, f64)> {
        parts.into_iter().map(|part| (part.key.to_string(), (part.points * 1000.0).round() / 1000.0)).collect()
    }

    #[test]
    fn a_rise_is_shared_out_by_tokens_and_what_was_there_before_is_nobodys() {
        let (mut meter, account) = (Meter::default(), ConnectionId::from("c1"));
        let mut observe = |asker: &Asker, tokens, quota: Option<quota::Quota>| {
            told(meter.observe(&account, asker, tokens, quota.as_ref(), NOW))
        };
        assert_eq!(observe(&key("a"), 900.0, Some(session(0.5, Some(LATER)))), []);
        assert_eq!(observe(&key("a"), 300.0, None), [], "nobody said anything");
        assert_eq!(observe(&key("b"), 100.0, Some(session(0.5, Some(LATER)))), [], "no fuller than before");
        let parts = observe(&None, 100.0, Some(session(0.6, Some(LATER))));
        assert_eq!(parts, [("a".to_owned(), 6.0), ("b".to_owned(), 2.0)], "the last fifth was asked past the pool");
        assert_eq!(observe(&key("b"), 1.0, Some(session(0.7, Some(LATER)))), [("b".to_owned(), 10.0)]);
    }

    #[test]
    fn a_window_that_begins_anew_is_counted_from_nothing() {
        let (mut meter, account) = (Meter::default(), ConnectionId::from("c1"));
        meter.observe(&account, &key("a"), 1.0, Some(&session(0.9, Some(LATER))), NOW);
        let after = LATER + Millis::seconds(1);
        let next = session(0.04, Some(LATER + Millis::hours(5)));
        assert_eq!(told(meter.observe(&account, &key("a"), 1.0, Some(&next), after)), [("a".to_owned(), 4.0)]);
    }

    #[test]
    fn replies_that_overtake_one_another_begin_no_window() {
        for reset_at in [Some(LATER), None] {
            let (mut meter, account) = (Meter::default(), ConnectionId::from("c1"));
            let mut points = |used, drift| {
                let quota = session(used, reset_at.map(|at| at + Millis::seconds(drift)));
                told(meter.observe(&account, &key("a"), 1.0, Some(&quota), NOW))
            };
            assert_eq!(points(0.91, 9), [], "{reset_at:?}: there before");
            assert_eq!(points(0.90, 0), [], "{reset_at:?}: said before, heard after");
            assert_eq!(points(0.92, 12), [("a".to_owned(), 1.0)], "{reset_at:?}");
        }
    }

    #[test]
    fn a_window_begins_anew_by_its_reset_or_by_a_large_fall_where_nobody_says_when() {
        let later = Some(LATER);
        let early = Some(LATER - Millis::hours(1));
        let passed = LATER + Millis::seconds(1);
        for (first, second, now, expected) in [
            ((0.9, later), (0.95, Some(LATER + Millis::seconds(9))), passed, 5.0),
            ((0.9, later), (0.95, Some(LATER + Millis::hours(5))), passed, 95.0),
            ((0.9, later), (0.04, Some(LATER + Millis::hours(1))), NOW, 4.0),
            ((0.9, later), (0.04, early), NOW, 0.0),
            ((0.9, later), (0.04, None), NOW, 4.0),
            ((0.9, None), (0.04, None), NOW, 4.0),
            ((0.9, None), (0.6, later), NOW, 0.0),
        ] {
            let (mut meter, account) = (Meter::default(), ConnectionId::from("c1"));
            meter.observe(&account, &key("a"), 1.0, Some(&session(first.0, first.1)), NOW);
            let parts = told(meter.observe(&account, &key("a"), 1.0, Some(&session(second.0, second.1)), now));
            let points: f64 = parts.iter().map(|(_, points)| points).sum();
            assert!((points - expected).abs() < 1e-6, "{first:?} then {second:?}: {parts:?}");
        }
    }

    #[test]
    fn an_overtaken_reply_of_the_window_before_ends_no_window() {
        let (mut meter, account) = (Meter::default(), ConnectionId::from("c1"));
        let after = LATER + Millis::seconds(1);
        let next = Some(LATER + Millis::hours(5));
        meter.observe(&account, &key("a"), 1.0, Some(&session(0.9, Some(LATER))), NOW);
        for (used, reset_at, expected) in [
            (0.04, next, vec![("a".to_owned(), 4.0)]),
            (0.91, Some(LATER), vec![]),
            (0.05, next, vec![("a".to_owned(), 1.0)]),
        ] {
            let parts = meter.observe(&account, &key("a"), 1.0, Some(&session(used, reset_at)), after);
            assert_eq!(told(parts), expected, "{used}");
        }
    }

    #[test]
    fn an_account_that_is_shared_no_more_is_forgotten() {
        let (mut meter, account) = (Meter::default(), ConnectionId::from("c1"));
        meter.observe(&account, &key("a"), 1.0, Some(&session(0.1, None)), NOW);
        meter.retain(|_| false);
        assert_eq!(meter, Meter::default());
    }
}
