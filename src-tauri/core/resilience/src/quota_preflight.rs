//! Quota limits known before a request is sent (resilience specification, 14.4, 21.5 and 23).
//!
//! Scope: one account's quota windows, one provider's limits. Question: *is what is left worth spending on this request?*
//! It acts on what the provider announced earlier; what the provider refuses belongs to `connection_cooldown` and
//! `model_lockout`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use domain::section;
use domain::section::Conflict;
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

#[cfg(test)]
mod tests {
    use domain::section::Section;
    use serde_json::json;

    use super::*;

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
