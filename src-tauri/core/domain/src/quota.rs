//! How much of an account is used up, as far as anyone said (gateway specification, 5.1).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// One window of a quota. `percent_used` is a fraction in `0..=1`; unknown is unknown, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    pub percent_used: Option<f64>,
    pub reset_at: Option<Timestamp>,
}

/// Windows by canonical name: `session`, `daily`, `weekly`, `monthly`, `7d:<model>`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quota {
    pub windows: BTreeMap<String, Window>,
    pub limit_reached: bool,
    pub fetched_at: Timestamp,
}
