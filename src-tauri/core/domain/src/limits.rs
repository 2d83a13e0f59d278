//! What an account may be given at once and in a row: its owner's caps and overrides, and what the catalogue says of its
//! provider (resilience specification, 14.1 and 16; gateway specification, 4.4).
//!
//! Nothing here is a default of the program: an empty record limits nothing.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use serde::{Deserialize, Serialize};

use crate::Millis;

/// Everything that limits one account besides its health.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests under way at the account; none, no cap.
    pub max_concurrent: Option<u32>,
    /// Its owner wants it paced with the numbers of the request queue.
    pub rate_limit_protection: bool,
    pub overrides: RateLimitOverrides,
    /// Shares in percent that must be left of a quota window, by window, instead of the settings' thresholds.
    pub quota_thresholds: BTreeMap<String, u32>,
    /// Shortest time between two requests that the provider bears, as the catalogue says; zero, any.
    pub spacing_floor: Millis,
    /// The most tools the provider takes, where the catalogue states it.
    pub most_tools: Option<u32>,
}

/// What the catalogue says of every account of a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProviderLimits {
    /// Shortest time between two requests; zero, any.
    pub spacing_floor: Millis,
    /// The most tools a request may bring; none, nobody said.
    pub most_tools: Option<u32>,
}

/// `rateLimitOverrides` of a connection. What is absent is not overridden; zero, negative and fractional numbers are
/// refused when it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RateLimitOverrides {
    /// Requests within a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpm: Option<NonZeroU32>,
    /// Tokens within a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpm: Option<NonZeroU64>,
    /// Tokens within a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpd: Option<NonZeroU64>,
    /// Shortest time between two requests, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_time: Option<Millis>,
    /// Requests under way at the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<NonZeroU32>,
    /// How long a request waits in the queue at most.
    #[serde(rename = "maxWaitMs", skip_serializing_if = "Option::is_none")]
    pub max_wait: Option<Millis>,
    /// How long a request may take once it is sent.
    #[serde(rename = "executionMaxWaitMs", skip_serializing_if = "Option::is_none")]
    pub execution_max_wait: Option<Millis>,
    /// Requests under way by model, exactly as the upstream calls it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub model_concurrency: BTreeMap<String, NonZeroU32>,
}

impl Limits {
    /// The stricter of the two caps of the whole account.
    pub fn account_cap(&self) -> Option<u32> {
        let of_overrides = self.overrides.max_concurrent.map(NonZeroU32::get);
        self.max_concurrent.into_iter().chain(of_overrides).min()
    }

    /// The cap of one model, where its owner set one.
    pub fn model_cap(&self, model: &str) -> Option<u32> {
        self.overrides.model_concurrency.get(model).map(|cap| cap.get())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cap_is_a_positive_whole_number() {
        // QS-17
        for cap in [json!(0), json!(-1), json!(1.5), json!("2")] {
            for overrides in [json!({ "maxConcurrent": cap }), json!({ "modelConcurrency": { "glm-5": cap } })] {
                assert!(serde_json::from_value::<RateLimitOverrides>(overrides.clone()).is_err(), "{overrides}");
            }
        }
        assert!(serde_json::from_value::<RateLimitOverrides>(json!({ "maxConcurent": 1 })).is_err());
        let read: RateLimitOverrides =
            serde_json::from_value(json!({ "maxWaitMs": 9_000, "modelConcurrency": { "glm-5": 1 } })).unwrap();
        assert_eq!(
            serde_json::to_value(&read).unwrap(),
            json!({ "maxWaitMs": 9_000, "modelConcurrency": { "glm-5": 1 } })
        );
        assert_eq!(read.max_wait, Some(Millis::seconds(9)));
    }

    #[test]
    fn the_stricter_cap_of_an_account_decides_and_a_model_s_key_is_its_bare_name() {
        // QS-11
        let overrides = RateLimitOverrides {
            max_concurrent: NonZeroU32::new(3),
            model_concurrency: [("zai/glm-5".to_owned(), NonZeroU32::MIN)].into(),
            ..RateLimitOverrides::default()
        };
        for (own, expected) in [(None, 3), (Some(2), 2), (Some(4), 3)] {
            let limits = Limits { max_concurrent: own, overrides: overrides.clone(), ..Limits::default() };
            assert_eq!(limits.account_cap(), Some(expected));
            assert_eq!(limits.model_cap("glm-5"), None);
        }
        assert_eq!(Limits::default().account_cap(), None);
    }
}
