//! Quota limits known before a request is sent (resilience specification, 14.4, 21.5 and 23).
//!
//! Scope: one account's quota windows, one provider's limits. Question: *is what is left worth spending on this request?*
//! It acts on what the provider announced earlier; what the provider refuses belongs to `connection_cooldown` and
//! `model_lockout`. What nobody announced is unknown and leaves nobody out, and a window whose reset has passed is full
//! again.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use domain::section;
use domain::section::Conflict;
use domain::{Limits, ProviderId, Quota, Timestamp};
use serde::{Deserialize, Serialize};

const MOST_PERCENT: u32 = 100;

section! {
    /// When an account whose quota runs out is left out beforehand.
    pub struct Config {
        /// Whether accounts below the threshold are left out.
        pub enabled: bool, env "QUOTA_PREFLIGHT_CUTOFF_ENABLED";
        /// Share of a window's quota, in percent, that must be left.
        pub default_threshold_percent: u32 = 2, in 0..=MOST_PERCENT;
        /// Share of a window's quota, in percent, from which on a warning is shown.
        pub warn_threshold_percent: u32 = 20, in 0..=MOST_PERCENT;
        /// Thresholds in percent by provider and window, instead of the default.
        pub provider_window_defaults: BTreeMap<String, BTreeMap<String, u32>>;
    }
    reconcile = Config::percentages;
}

/// How an account stands before a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Enough is left, or nobody knows.
    Fine,
    /// A warning is shown.
    Low,
    /// Too little is left of a window; none, nobody said when it begins anew.
    CutOff { until: Option<Timestamp> },
}

section! {
    /// Combos that share quotas.
    pub struct QuotaShare {
        /// Whether their requests wait for each other up to the caps of an account.
        pub enabled: bool = true;
    }
}

/// An operator's limits for one provider, instead of the catalogue's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ProviderQuota {
    /// Requests per minute of one account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpm: Option<NonZeroU32>,
    /// Requests under way at one account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<NonZeroU32>,
    /// Requests under way at all its accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_concurrency: Option<NonZeroU32>,
}

impl Config {
    /// What the known windows say about one more request for a model. Whether accounts are left out at all
    /// ([`Config::enabled`]) is asked by the caller: screens warn either way.
    pub fn standing(
        &self,
        provider: &ProviderId,
        limits: &Limits,
        quota: &Quota,
        model: &str,
        now: Timestamp,
    ) -> Standing {
        let of_provider = self.provider_window_defaults.get(provider.as_str());
        let mut standing = Standing::Fine;
        for (name, window) in quota.windows_of(model) {
            let Some(used) = window.used(now) else { continue };
            let own = limits.quota_thresholds.get(name);
            let threshold = own.or_else(|| of_provider?.get(name)).copied().unwrap_or(self.default_threshold_percent);
            // Rounded to a thousandth, or 98 % in use would leave a hair more than 2 %.
            let left = ((1.0 - used) * 100_000.0).round() / 1_000.0;
            if left <= f64::from(threshold) {
                standing = standing.worsen(window.reset_at);
            } else if left <= f64::from(self.warn_threshold_percent) && standing == Standing::Fine {
                standing = Standing::Low;
            }
        }
        standing
    }

    fn percentages(&mut self) -> Vec<Conflict> {
        let mut repaired = false;
        for percent in self.provider_window_defaults.values_mut().flat_map(BTreeMap::values_mut) {
            if *percent > MOST_PERCENT {
                *percent = MOST_PERCENT;
                repaired = true;
            }
        }
        if !repaired {
            return Vec::new();
        }
        vec![Conflict::new(&["providerWindowDefaults"], "a threshold is from 0 to 100 percent")]
    }
}

impl Standing {
    /// Another window is used up: the account is back when both have begun anew.
    fn worsen(self, reset_at: Option<Timestamp>) -> Standing {
        let until = match self {
            Standing::Fine | Standing::Low => reset_at,
            Standing::CutOff { until } => until.zip(reset_at).map(|(first, second)| first.max(second)),
        };
        Standing::CutOff { until }
    }
}

#[cfg(test)]
mod tests {
    use domain::quota::Window;
    use domain::section::Section;
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);
    const LATER: Timestamp = Timestamp::from_millis(2_000_000);

    fn quota(windows: &[(&str, f64)]) -> Quota {
        let windows = windows.iter().map(|(name, used)| ((*name).to_owned(), Window::new(*used, Some(LATER))));
        Quota { windows: windows.collect(), ..Quota::default() }
    }

    #[test]
    fn an_account_is_left_out_when_two_percent_are_left_and_warned_of_from_twenty() {
        let config = Config::default();
        let (provider, limits) = (ProviderId::from("claude"), Limits::default());
        let standing = |quota: &Quota, now| config.standing(&provider, &limits, quota, "claude-sonnet", now);
        for (used, expected) in [
            (0.79, Standing::Fine),
            (0.80, Standing::Low),
            (0.979, Standing::Low),
            (0.98, Standing::CutOff { until: Some(LATER) }),
            (1.0, Standing::CutOff { until: Some(LATER) }),
        ] {
            assert_eq!(standing(&quota(&[("session", used)]), NOW), expected, "{used}");
        }
        assert_eq!(standing(&quota(&[("session", 1.0)]), LATER), Standing::Fine);
        assert_eq!(standing(&Quota::default(), NOW), Standing::Fine);
        let unknown = Quota { windows: [("session".to_owned(), Window::default())].into(), ..Quota::default() };
        assert_eq!(standing(&unknown, NOW), Standing::Fine);
        assert_eq!(standing(&quota(&[("7d:opus", 1.0)]), NOW), Standing::Fine, "of another model");
    }

    #[test]
    fn a_threshold_of_the_account_comes_before_that_of_its_provider_before_the_usual_one() {
        let mut config = Config::default();
        let provider = ProviderId::from("claude");
        let mut limits = Limits::default();
        let used = quota(&[("session", 0.75)]);
        assert_eq!(config.standing(&provider, &limits, &used, "m", NOW), Standing::Fine);
        config.provider_window_defaults.entry("claude".to_owned()).or_default().insert("session".to_owned(), 30);
        assert_eq!(config.standing(&provider, &limits, &used, "m", NOW), Standing::CutOff { until: Some(LATER) });
        limits.quota_thresholds.insert("session".to_owned(), 10);
        assert_eq!(config.standing(&provider, &limits, &used, "m", NOW), Standing::Fine);
    }

    #[test]
    fn an_account_is_back_when_its_last_exhausted_window_begins_anew() {
        let mut both = quota(&[("session", 1.0), ("weekly", 1.0)]);
        both.windows.insert("session".to_owned(), Window::new(1.0, Some(NOW + domain::Millis::new(1))));
        let standing = |quota: &Quota| Config::default().standing(&"p".into(), &Limits::default(), quota, "m", NOW);
        assert_eq!(standing(&both), Standing::CutOff { until: Some(LATER) });
        both.windows.insert("weekly".to_owned(), Window::new(1.0, None));
        assert_eq!(standing(&both), Standing::CutOff { until: None });
    }

    #[test]
    fn a_window_s_threshold_is_a_percentage() {
        let mut config = Config::default();
        assert!(config.apply(&json!({ "providerWindowDefaults": { "claude": { "session": 101 } } })).is_empty());
        assert_eq!(config.reconcile().len(), 1);
        assert_eq!(config.provider_window_defaults["claude"]["session"], 100);
    }

    #[test]
    fn a_provider_s_limit_is_positive_and_known() {
        for (quota, accepted) in [
            (json!({ "rpm": 10 }), true),
            (json!({ "rpm": 10, "concurrency": 1, "providerConcurrency": 2 }), true),
            (json!({ "rpm": 0 }), false),
            (json!({ "rpm": -1 }), false),
            (json!({ "tpm": 1 }), false),
        ] {
            assert_eq!(serde_json::from_value::<ProviderQuota>(quota.clone()).is_ok(), accepted, "{quota}");
        }
    }
}
