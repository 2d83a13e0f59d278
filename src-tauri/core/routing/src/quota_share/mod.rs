//! Quota-share: several local keys share subscription accounts fairly (gateway specification, 3.6; resilience
//! specification, 14.5).
//!
//! A pool joins accounts, says how much of them there is to share, and who gets which part. Each model of its accounts is
//! reachable as `qtSd/<slug>/<provider>/<model>`. Two questions are kept apart: *which account serves* is [`rank`], which
//! only lowers and never refuses; *may this key still ask* is [`fair_share`], which may.

pub mod fair_share;
pub mod leases;
pub mod percent;
mod selection;

use std::collections::BTreeSet;
use std::fmt;

use domain::section::FieldError;
use domain::{ClientKeyId, ConnectionId, Millis, ProviderId, quota};
use serde::{Deserialize, Serialize};

pub use selection::{Deficits, rank};

use crate::Target;

/// Start of the names of pool models.
pub const PREFIX: &str = "qtSd/";
/// Slug of a pool whose name has no letter or digit.
const NAMELESS: &str = "pool";

/// What quota-share keeps between requests. Deficits and leases are in memory only; usage is put down by the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    pub deficits: Deficits,
    pub leases: leases::Leases,
    pub usage: fair_share::Ledger,
    pub percent: percent::Meter,
}

impl Memory {
    /// A later stage (stickiness) sends the request to another target than the winner: that one pays for the turn. Its slot
    /// goes with it by way of [`leases::Leases::moved`].
    pub fn moved(&mut self, combo: &str, from: &Target, to: &Target) {
        self.deficits.moved(combo, &from.execution_key, &to.execution_key);
    }
}

/// What in-flight requests of a target are counted by: its account, or the target where none is fixed.
pub fn slot(target: &Target) -> &str {
    target.connection.as_ref().map_or(target.execution_key.as_str(), ConnectionId::as_str)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    pub id: String,
    pub name: String,
    /// See [`slug`].
    pub slug: String,
    pub connections: Vec<ConnectionId>,
    pub dimensions: Vec<Dimension>,
    /// Nobody named: every key may use everything.
    pub allocations: Vec<Allocation>,
}

/// How much there is to share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dimension {
    pub unit: Unit,
    pub window: Window,
    /// In the unit; of `percent`, 100 is the whole account.
    pub limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    Percent,
    Requests,
    Tokens,
    Usd,
}

/// The length of the two buckets in which use is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Window {
    #[serde(rename = "5h")]
    FiveHours,
    Hourly,
    Daily,
    Weekly,
    /// Thirty days.
    Monthly,
}

impl Window {
    pub const fn length(self) -> Millis {
        match self {
            Window::FiveHours => Millis::hours(5),
            Window::Hourly => Millis::hours(1),
            Window::Daily => Millis::days(1),
            Window::Weekly => Millis::days(7),
            Window::Monthly => Millis::days(30),
        }
    }

    /// What an account's quota calls a window of this length; none, no vendor announces one.
    pub const fn of_account(self) -> Option<&'static str> {
        match self {
            Window::FiveHours => Some(quota::window::SESSION),
            Window::Hourly => None,
            Window::Daily => Some(quota::window::DAILY),
            Window::Weekly => Some(quota::window::WEEKLY),
            Window::Monthly => Some(quota::window::MONTHLY),
        }
    }
}

/// One key's part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Allocation {
    pub api_key_id: ClientKeyId,
    /// Its share is its part of all weights.
    pub weight: f64,
    /// Never more than this, however much is left; in the unit of the pool's first dimension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap_value: Option<f64>,
    pub policy: Policy,
}

/// What happens at the end of a share once half of the pool is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Refused.
    Hard,
    /// Ranked lower.
    Soft,
    /// May use what others leave.
    Burst,
}

impl Pool {
    /// Whether the vendor's percentages are shared out.
    pub fn shares_percent(&self) -> bool {
        self.dimensions.iter().any(|dimension| dimension.unit == Unit::Percent)
    }

    /// What a person should not save, each with its remedy; empty, all is well.
    pub fn problems(&self) -> Vec<FieldError> {
        let mut problems = Vec::new();
        let mut problem = |field: String, message: &str| problems.push(FieldError::new(field, message));
        if self.slug != slug(&self.slug) {
            problem("slug".to_owned(), "use lower-case letters and digits only");
        }
        let usable = |number: f64| number.is_finite() && number > 0.0;
        let mut dimensions = BTreeSet::new();
        for (n, Dimension { unit, window, limit }) in self.dimensions.iter().enumerate() {
            if !usable(*limit) {
                problem(format!("dimensions.{n}.limit"), "must be a number above 0");
            }
            if *unit == Unit::Percent && window.of_account().is_none() {
                problem(
                    format!("dimensions.{n}.window"),
                    "no vendor tells percentages of an hour: choose a longer window",
                );
            }
            if !dimensions.insert((*unit, *window)) {
                problem(format!("dimensions.{n}"), "the same unit and window are there already: remove one of them");
            }
        }
        let mut keys = BTreeSet::new();
        for (n, allocation) in self.allocations.iter().enumerate() {
            if !allocation.weight.is_finite() || allocation.weight < 0.0 {
                problem(format!("allocations.{n}.weight"), "must be a number from 0 upwards");
            }
            if allocation.cap_value.is_some_and(|cap| !usable(cap)) {
                problem(format!("allocations.{n}.capValue"), "must be a number above 0, or absent");
            }
            if allocation.cap_value.is_some() && self.dimensions.is_empty() {
                problem(format!("allocations.{n}.capValue"), "counts the first dimension: add one, or leave it out");
            }
            if !keys.insert(&allocation.api_key_id) {
                problem(format!("allocations.{n}.apiKeyId"), "the key is there already: remove one of the two");
            }
        }
        problems
    }

    /// The name under which a model of the pool is reachable.
    pub fn model_name(&self, provider: &ProviderId, model: &str) -> PoolModel {
        PoolModel { slug: self.slug.clone(), provider: provider.clone(), model: model.to_owned() }
    }
}

/// Lower-case letters and digits of a name.
pub fn slug(name: &str) -> String {
    let slug: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    if slug.is_empty() { NAMELESS.to_owned() } else { slug }
}

/// A model of a pool: `qtSd/<slug>/<provider>/<model>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolModel {
    pub slug: String,
    pub provider: ProviderId,
    /// May hold slashes.
    pub model: String,
}

impl PoolModel {
    /// Reads a client's model name; none, where it is no name of this kind.
    pub fn parse(name: &str) -> Option<PoolModel> {
        let (slug, rest) = name.strip_prefix(PREFIX)?.split_once('/')?;
        let (provider, model) = rest.split_once('/')?;
        if slug.is_empty() || provider.is_empty() || model.is_empty() {
            return None;
        }
        Some(PoolModel { slug: slug.to_owned(), provider: provider.into(), model: model.to_owned() })
    }
}

impl fmt::Display for PoolModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}/{}/{}", self.slug, self.provider, self.model)
    }
}

/// The providers whose subscriptions are known, see [`preset`]; regional ones and other keys of the same plan aside.
pub const PRESETS: [&str; 4] = ["codex", "kimi", "glm", "minimax"];

const SESSION_AND_WEEK: &[Dimension] = &[
    Dimension { unit: Unit::Percent, window: Window::FiveHours, limit: 100.0 },
    Dimension { unit: Unit::Percent, window: Window::Weekly, limit: 100.0 },
];
const KIMI: &[Dimension] = &[Dimension { unit: Unit::Requests, window: Window::Hourly, limit: 1_500.0 }];

/// What a provider's subscription is known to limit; none, the owner has to say.
pub fn preset(provider: &ProviderId) -> Option<&'static [Dimension]> {
    match provider.as_str() {
        "codex" | "glm" | "glm-cn" | "zai" | "minimax" | "minimax-cn" => Some(SESSION_AND_WEEK),
        "kimi" | "kimi-coding" | "kimi-coding-apikey" => Some(KIMI),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_read_and_written() {
        let name = "qtSd/team1/openrouter/anthropic/claude-x";
        let read = PoolModel::parse(name).expect("a pool's model");
        assert_eq!((read.slug.as_str(), read.model.as_str()), ("team1", "anthropic/claude-x"));
        assert_eq!(read.to_string(), name);
        for other in ["qtsd/a/b/c", "qtSd/a/b", "qtSd//b/c", "qtSd/a//c", "qtSd/a/b/", "gpt-5"] {
            assert_eq!(PoolModel::parse(other), None, "{other}");
        }
    }

    #[test]
    fn slugs_are_lower_case_letters_and_digits() {
        for (name, expected) in [("Team One!", "teamone"), ("  ", "pool"), ("été 2", "t2"), ("", "pool")] {
            assert_eq!(slug(name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_pool_has_the_wire_form_of_the_specification() {
        let document = json!({
            "id": "1", "name": "Team", "slug": "team", "connections": ["c1"],
            "dimensions": [{ "unit": "percent", "window": "5h", "limit": 100.0 }],
            "allocations": [{ "apiKeyId": "k1", "weight": 2.0, "capValue": 50.0, "policy": "burst" }],
        });
        let pool: Pool = serde_json::from_value(document.clone()).expect("reads");
        assert_eq!(serde_json::to_value(&pool).expect("writes"), document);
        assert!(pool.problems().is_empty());
        assert_eq!(pool.model_name(&"codex".into(), "m").to_string(), "qtSd/team/codex/m");
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let allocation =
            |weight| Allocation { api_key_id: "k1".into(), weight, cap_value: Some(0.0), policy: Policy::Hard };
        let session = SESSION_AND_WEEK[0];
        let pool = Pool {
            id: "1".to_owned(),
            name: "Team".to_owned(),
            slug: "Team".to_owned(),
            connections: Vec::new(),
            dimensions: vec![session, Dimension { limit: f64::NAN, ..session }],
            allocations: vec![allocation(-1.0), allocation(1.0)],
        };
        let problems = pool.problems();
        let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
        let expected = [
            "slug",
            "dimensions.1.limit",
            "dimensions.1",
            "allocations.0.weight",
            "allocations.0.capValue",
            "allocations.1.capValue",
            "allocations.1.apiKeyId",
        ];
        assert_eq!(fields, expected, "{problems:?}");
    }

    #[test]
    fn presets_are_those_of_the_plans() {
        assert_eq!(preset(&"codex".into()).map(<[_]>::len), Some(2));
        assert_eq!(preset(&"kimi".into()).map(|plan| plan[0].limit), Some(1_500.0));
        assert_eq!(preset(&"openai".into()), None);
    }
}
