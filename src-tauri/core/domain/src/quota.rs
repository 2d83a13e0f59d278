//! How much of an account is used up, as far as anyone said (gateway specification, 5.1).
//!
//! Unknown is unknown, never zero: who asks decides what to make of it, and nobody is left out for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Millis, Timestamp};

/// Canonical names of windows; one of a single model is `7d:<model>`.
pub mod window {
    /// Five hours.
    pub const SESSION: &str = "session";
    pub const DAILY: &str = "daily";
    /// Seven days.
    pub const WEEKLY: &str = "weekly";
    pub const MONTHLY: &str = "monthly";
    /// For as long as the key exists.
    pub const TOTAL: &str = "total";
    /// Before the name of the one model that a week's quota concerns.
    pub const WEEKLY_OF_MODEL: &str = "7d:";
    /// Requests of a short rate limit, mostly a minute.
    pub const REQUESTS: &str = "requests";
    pub const TOKENS: &str = "tokens";
    pub const INPUT_TOKENS: &str = "input_tokens";
    pub const OUTPUT_TOKENS: &str = "output_tokens";
}

/// Two resets closer together than this are the same one: relative resets drift by the time a reply takes.
const DRIFT: Millis = Millis::minutes(1);

/// One window of a quota. `percent_used` is a fraction in `0..=1`; unknown is unknown, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    pub percent_used: Option<f64>,
    pub reset_at: Option<Timestamp>,
}

/// Who said it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The vendor's own usage endpoint.
    Endpoint,
    /// The headers of a reply.
    #[default]
    Headers,
    /// Our own counting.
    Learned,
    /// The owner.
    Manual,
}

/// Money or credits of an account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Balance {
    /// `USD`, `CNY`, `credits`, …
    pub currency: String,
    pub remaining: f64,
    /// What there was altogether, where the vendor says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

/// What is known of one account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Quota {
    /// By canonical name; see [`window`].
    pub windows: BTreeMap<String, Window>,
    /// By model, where the vendor counts models apart.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, Window>,
    /// The vendor's name for what the account has booked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub balances: Vec<Balance>,
    /// The vendor refuses further requests.
    pub limit_reached: bool,
    pub fetched_at: Timestamp,
    pub source: Source,
}

impl Window {
    /// A window used to a fraction that is drawn into `0..=1`; what is no number is unknown.
    pub fn new(used: f64, reset_at: Option<Timestamp>) -> Self {
        Window { percent_used: used.is_finite().then_some(used.clamp(0.0, 1.0)), reset_at }
    }

    /// The same whole percent, and the same reset as far as drift lets anyone tell.
    fn looks_like(&self, other: &Window) -> bool {
        let percent = |window: &Window| window.percent_used.map(|used| (used * 100.0).round());
        let apart = match (self.reset_at, other.reset_at) {
            (Some(a), Some(b)) => a.as_millis().abs_diff(b.as_millis()) >= DRIFT.as_millis(),
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        };
        percent(self) == percent(other) && !apart
    }

    /// Whether its reset lies clearly behind an instant: by more than drift explains. False where it is unknown.
    pub fn resets_after(&self, at: Timestamp) -> bool {
        self.reset_at.is_some_and(|own| own >= at + DRIFT)
    }

    /// The fraction in use at an instant: a window whose reset has passed is full again until somebody says otherwise.
    pub fn used(&self, now: Timestamp) -> Option<f64> {
        let begun_anew = self.reset_at.is_some_and(|at| at <= now);
        self.percent_used.map(|used| if begun_anew { 0.0 } else { used })
    }
}

impl Quota {
    /// The windows that a request for this model draws on, with their names: all but those of other models.
    pub fn windows_of<'a>(&'a self, model: &'a str) -> impl Iterator<Item = (&'a str, &'a Window)> {
        let concerns = |name: &str| match name.strip_prefix(window::WEEKLY_OF_MODEL) {
            Some(of) => model.to_ascii_lowercase().contains(&of.to_ascii_lowercase()),
            None => true,
        };
        let shared = self.windows.iter().filter(move |(name, _)| concerns(name));
        shared.chain(self.models.get_key_value(model)).map(|(name, window)| (name.as_str(), window))
    }

    /// The fraction of the fullest window in use, of those that are known.
    pub fn percent_used(&self, model: &str, now: Timestamp) -> Option<f64> {
        self.windows_of(model).filter_map(|(_, window)| window.used(now)).max_by(f64::total_cmp)
    }

    /// When the fullest window of those that are known begins anew.
    pub fn reset_at(&self, model: &str, now: Timestamp) -> Option<Timestamp> {
        let known = self.windows_of(model).filter_map(|(_, window)| Some((window.used(now)?, window)));
        known.max_by(|a, b| a.0.total_cmp(&b.0))?.1.reset_at.filter(|at| *at > now)
    }

    /// Whether a person would see the same: whole percents, resets and refusals, not when it was said.
    pub fn looks_like(&self, other: &Quota) -> bool {
        let alike = |a: &BTreeMap<String, Window>, b: &BTreeMap<String, Window>| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && a.1.looks_like(b.1))
        };
        alike(&self.windows, &other.windows)
            && alike(&self.models, &other.models)
            && self.limit_reached == other.limit_reached
            && self.plan == other.plan
            && self.balances == other.balances
            && self.source == other.source
    }

    /// Takes over what somebody said later; what they did not speak of stays. Older news changes nothing.
    pub fn absorb(&mut self, news: Quota) {
        if news.fetched_at < self.fetched_at {
            return;
        }
        self.windows.extend(news.windows);
        self.models.extend(news.models);
        self.plan = news.plan.or(self.plan.take());
        if !news.balances.is_empty() {
            self.balances = news.balances;
        }
        self.limit_reached = news.limit_reached;
        self.fetched_at = news.fetched_at;
        self.source = news.source;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);
    const LATER: Timestamp = Timestamp::from_millis(2_000_000);

    fn quota(windows: &[(&str, f64, Option<Timestamp>)], fetched_at: Timestamp) -> Quota {
        let windows = windows.iter().map(|(name, used, reset)| ((*name).to_owned(), Window::new(*used, *reset)));
        Quota { windows: windows.collect(), fetched_at, ..Quota::default() }
    }

    #[test]
    fn what_nobody_would_see_is_no_change() {
        let seen = quota(&[("session", 0.500, Some(NOW))], NOW);
        for (news, same) in [
            (quota(&[("session", 0.504, Some(NOW + Millis::seconds(59)))], LATER), true),
            (quota(&[("session", 0.506, Some(NOW))], LATER), false),
            (quota(&[("session", 0.500, Some(NOW + Millis::minutes(1)))], LATER), false),
            (quota(&[("session", 0.500, None)], LATER), false),
            (quota(&[("weekly", 0.500, Some(NOW))], LATER), false),
            (Quota { limit_reached: true, ..seen.clone() }, false),
        ] {
            assert_eq!(seen.looks_like(&news), same, "{news:?}");
        }
    }

    #[test]
    fn a_reset_that_only_drifted_is_no_later_one() {
        for (reset_at, expected) in [
            (None, false),
            (Some(NOW), false),
            (Some(NOW + Millis::seconds(59)), false),
            (Some(NOW + Millis::minutes(1)), true),
        ] {
            assert_eq!(Window::new(0.5, reset_at).resets_after(NOW), expected, "{reset_at:?}");
        }
    }

    #[test]
    fn a_fraction_is_within_bounds_and_unknown_is_not_zero() {
        for (given, expected) in [(0.5, Some(0.5)), (1.2, Some(1.0)), (-1.0, Some(0.0)), (f64::NAN, None)] {
            assert_eq!(Window::new(given, None).percent_used, expected);
        }
        assert_eq!(Window::default().used(NOW), None);
        assert_eq!(Quota::default().percent_used("m", NOW), None);
    }

    #[test]
    fn a_window_whose_reset_has_passed_is_full_again() {
        let window = Window::new(0.9, Some(LATER));
        assert_eq!((window.used(NOW), window.used(LATER)), (Some(0.9), Some(0.0)));
    }

    #[test]
    fn the_fullest_window_that_concerns_the_model_counts() {
        let quota = quota(&[("session", 0.2, Some(LATER)), ("weekly", 0.6, None), ("7d:opus", 0.9, Some(LATER))], NOW);
        for (model, used, reset) in [("claude-opus-4", 0.9, Some(LATER)), ("claude-sonnet", 0.6, None)] {
            assert_eq!(quota.percent_used(model, NOW), Some(used), "{model}");
            assert_eq!(quota.reset_at(model, NOW), reset, "{model}");
        }
    }

    #[test]
    fn newer_words_override_older_ones_window_by_window() {
        let mut known = quota(&[("session", 0.2, None), ("weekly", 0.6, None)], NOW);
        known.absorb(quota(&[("session", 0.3, None)], LATER));
        known.absorb(quota(&[("session", 0.1, None)], NOW));
        assert_eq!(known.windows["session"].percent_used, Some(0.3));
        assert_eq!(known.windows["weekly"].percent_used, Some(0.6));
    }
}
