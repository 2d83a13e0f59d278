//! Who used which part of an account's percentage.
//!
//! A vendor says how full a window is, not who filled it. Whenever it says more than before, the difference is shared out
//! among those who have asked the account since, in proportion to the tokens they consumed. Those who asked it past every
//! pool take their part too, so that nobody in a pool pays for them; what nobody here asked for is nobody's.
//!
//! What was used before a window was first seen is nobody's either, and a window that begins anew is counted from nothing.

use std::collections::BTreeMap;

use domain::{ClientKeyId, ConnectionId, Timestamp, quota};

use super::Window;

/// Percentages below this are what rounding leaves.
const LEAST: f64 = 1e-9;

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
    /// A fraction.
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
        let begun_anew = self.reset_at.is_some_and(|at| at <= now) || self.used.is_some_and(|before| used < before);
        let before = self.used.replace(used);
        self.reset_at = now_known.reset_at;
        match before {
            None => {
                self.asked.clear();
                None
            }
            Some(_) if begun_anew => Some(used),
            Some(before) => Some(used - before),
        }
        .filter(|rise| *rise > LEAST)
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
    fn an_account_that_is_shared_no_more_is_forgotten() {
        let (mut meter, account) = (Meter::default(), ConnectionId::from("c1"));
        meter.observe(&account, &key("a"), 1.0, Some(&session(0.1, None)), NOW);
        meter.retain(|_| false);
        assert_eq!(meter, Meter::default());
    }
}
