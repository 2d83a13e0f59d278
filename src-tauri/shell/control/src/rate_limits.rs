//! What an account may be given at once and in a row: checked, merged and shown (gateway specification, 4.4).

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use domain::{Millis, RateLimitOverrides};

use crate::ControlError;
use crate::view::{self, RateLimitOverridesChange};

/// The most requests that a cap may allow.
pub(crate) const MOST_CONCURRENT: u32 = 10_000;
const MOST_PER_MINUTE: u32 = 1_000_000;
const MOST_TOKENS: u64 = 1_000_000_000_000;
const LONGEST_SPACING: u64 = 3_600_000;
const LONGEST_WAIT: u64 = 86_400_000;
const MOST_NAMES: usize = 500;
const NAME_LENGTH: usize = 200;

/// Merges a change member by member. Nothing is merged when one member is wrong.
pub(crate) fn merge(
    overrides: &RateLimitOverrides,
    change: RateLimitOverridesChange,
) -> Result<RateLimitOverrides, ControlError> {
    let mut merged = overrides.clone();
    let RateLimitOverridesChange { rpm, tpm, tpd, min_time, max_concurrent, max_wait_ms, .. } = change;
    if let Some(rpm) = rpm {
        merged.rpm = positive("rpm", rpm, MOST_PER_MINUTE)?;
    }
    if let Some(tpm) = tpm {
        merged.tpm = tokens("tpm", tpm)?;
    }
    if let Some(tpd) = tpd {
        merged.tpd = tokens("tpd", tpd)?;
    }
    if let Some(spacing) = min_time {
        merged.min_time = length("minTime", spacing, 0, LONGEST_SPACING)?;
    }
    if let Some(cap) = max_concurrent {
        merged.max_concurrent = positive("maxConcurrent", cap, MOST_CONCURRENT)?;
    }
    if let Some(wait) = max_wait_ms {
        merged.max_wait = length("maxWaitMs", wait, 1, LONGEST_WAIT)?;
    }
    if let Some(wait) = change.execution_max_wait_ms {
        merged.execution_max_wait = length("executionMaxWaitMs", wait, 1, LONGEST_WAIT)?;
    }
    if let Some(caps) = change.model_concurrency {
        merged.model_concurrency = by_model(caps.unwrap_or_default())?;
    }
    Ok(merged)
}

/// Percent that must be left, by window.
pub(crate) fn thresholds(given: BTreeMap<String, u32>) -> Result<BTreeMap<String, u32>, ControlError> {
    const FIELD: &str = "quotaWindowThresholds";
    check_names(FIELD, given.keys())?;
    match given.iter().find(|(_, percent)| **percent > 100) {
        Some((window, _)) => Err(ControlError::invalid(format!("{FIELD}.{window}"), "must be from 0 to 100")),
        None => Ok(given),
    }
}

/// As it is shown.
pub(crate) fn view(overrides: &RateLimitOverrides) -> view::RateLimitOverrides {
    let caps = overrides.model_concurrency.iter();
    view::RateLimitOverrides {
        rpm: overrides.rpm.map(NonZeroU32::get),
        tpm: overrides.tpm.map(NonZeroU64::get),
        tpd: overrides.tpd.map(NonZeroU64::get),
        min_time: overrides.min_time.map(Millis::as_millis),
        max_concurrent: overrides.max_concurrent.map(NonZeroU32::get),
        max_wait_ms: overrides.max_wait.map(Millis::as_millis),
        execution_max_wait_ms: overrides.execution_max_wait.map(Millis::as_millis),
        model_concurrency: caps.map(|(model, cap)| (model.clone(), cap.get())).collect(),
    }
}

fn by_model(caps: BTreeMap<String, u32>) -> Result<BTreeMap<String, NonZeroU32>, ControlError> {
    check_names("rateLimitOverrides.modelConcurrency", caps.keys())?;
    let checked = caps.into_iter().map(|(model, cap)| {
        let field = format!("modelConcurrency.{model}");
        match positive(&field, Some(cap), MOST_CONCURRENT)? {
            Some(cap) => Ok((model, cap)),
            None => Err(out_of(&field, 1, u64::from(MOST_CONCURRENT))),
        }
    });
    checked.collect()
}

fn check_names<'a>(field: &str, mut names: impl ExactSizeIterator<Item = &'a String>) -> Result<(), ControlError> {
    if names.len() > MOST_NAMES {
        return Err(ControlError::invalid(field, format!("at most {MOST_NAMES} entries are possible")));
    }
    let is_wrong = |name: &&String| {
        name.trim() != name.as_str()
            || name.is_empty()
            || name.chars().count() > NAME_LENGTH
            || name.chars().any(char::is_control)
    };
    match names.find(is_wrong) {
        Some(_) => Err(ControlError::invalid(field, format!("a name is one line of at most {NAME_LENGTH} characters"))),
        None => Ok(()),
    }
}

fn positive(member: &str, value: Option<u32>, most: u32) -> Result<Option<NonZeroU32>, ControlError> {
    let Some(value) = value else { return Ok(None) };
    let wrong = || out_of(member, 1, u64::from(most));
    NonZeroU32::new(value).filter(|value| value.get() <= most).map(Some).ok_or_else(wrong)
}

fn tokens(member: &str, value: Option<u64>) -> Result<Option<NonZeroU64>, ControlError> {
    let Some(value) = value else { return Ok(None) };
    let wrong = || out_of(member, 1, MOST_TOKENS);
    NonZeroU64::new(value).filter(|value| value.get() <= MOST_TOKENS).map(Some).ok_or_else(wrong)
}

fn length(member: &str, value: Option<u64>, least: u64, most: u64) -> Result<Option<Millis>, ControlError> {
    let Some(value) = value else { return Ok(None) };
    if (least..=most).contains(&value) { Ok(Some(Millis::new(value))) } else { Err(out_of(member, least, most)) }
}

fn out_of(member: &str, least: u64, most: u64) -> ControlError {
    ControlError::invalid(format!("rateLimitOverrides.{member}"), format!("must be from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn changed(from: &RateLimitOverrides, change: Value) -> Result<RateLimitOverrides, String> {
        let change = serde_json::from_value(change).map_err(|error| error.to_string())?;
        merge(from, change).map_err(|error| error.to_string())
    }

    #[test]
    fn members_are_merged_and_null_unsets_one() {
        let first = changed(
            &RateLimitOverrides::default(),
            json!({ "rpm": 10, "maxWaitMs": 9_000, "modelConcurrency": { "glm-5": 1, "glm-4.7": 3 } }),
        );
        let first = first.unwrap();
        assert_eq!((first.rpm, first.max_wait), (NonZeroU32::new(10), Some(Millis::seconds(9))));
        let second = changed(&first, json!({ "rpm": null, "tpd": 5, "modelConcurrency": { "glm-5": 2 } })).unwrap();
        assert_eq!((second.rpm, second.max_wait, second.tpd), (None, first.max_wait, NonZeroU64::new(5)));
        assert_eq!(second.model_concurrency, [("glm-5".to_owned(), NonZeroU32::new(2).unwrap())].into());
    }

    #[test]
    fn what_is_no_cap_and_no_length_is_refused() {
        // QS-17, RQ-14
        for change in [
            json!({ "rpm": 0 }),
            json!({ "rpm": 1_000_001 }),
            json!({ "tpm": 0 }),
            json!({ "minTime": 3_600_001 }),
            json!({ "maxConcurrent": 0 }),
            json!({ "maxConcurrent": -1 }),
            json!({ "maxConcurrent": 1.5 }),
            json!({ "maxConcurrent": "2" }),
            json!({ "maxWaitMs": 0 }),
            json!({ "maxWaitMs": 86_400_001 }),
            json!({ "executionMaxWaitMs": 0 }),
            json!({ "modelConcurrency": { "glm-5": 0 } }),
            json!({ "modelConcurrency": { "": 1 } }),
            json!({ "modelConcurrency": { "glm-5": "1" } }),
            json!({ "depth": 1 }),
        ] {
            assert!(changed(&RateLimitOverrides::default(), change.clone()).is_err(), "{change}");
        }
        for change in [json!({ "maxWaitMs": 1 }), json!({ "maxWaitMs": 86_400_000 }), json!({ "minTime": 0 })] {
            assert!(changed(&RateLimitOverrides::default(), change.clone()).is_ok(), "{change}");
        }
    }

    #[test]
    fn a_threshold_is_a_percentage_of_a_named_window() {
        for (window, percent, accepted) in
            [("session", 0, true), ("7d:opus", 100, true), ("weekly", 101, false), ("", 5, false)]
        {
            assert_eq!(thresholds([(window.to_owned(), percent)].into()).is_ok(), accepted, "{window} {percent}");
        }
    }
}
