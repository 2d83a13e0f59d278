//! One thing a combo may ask, with everything a strategy may want to know of it.
//!
//! Strategies look nothing up: what they compare stands here, gathered once per request by the shell. Unknown is `None`,
//! never zero (gateway specification, 5.3).

use std::sync::Arc;

use domain::quota::Quota;
use domain::request_log::ExclusionRecord;
use domain::{Availability, ConnectionId, Exclusion, ProviderId};

/// A step of a combo, resolved: a model at a provider, and an account where the step pins one or the strategy compares
/// accounts (gateway specification, 3.1 and 3.3.5).
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Path of step ids joined by `>`, with `@connection` behind it where one is fixed. Keys counters, gates and stickiness.
    pub execution_key: String,
    /// Index of the top-level step it came from: what `weighted` draws.
    pub top: usize,
    pub provider: ProviderId,
    pub model: String,
    /// Fixed; otherwise the account is picked at dispatch (3.11).
    pub connection: Option<ConnectionId>,
    /// Accounts the step is limited to; empty, any.
    pub allowed_connections: Vec<ConnectionId>,
    /// 0–100, of the top-level step.
    pub weight: u32,
    pub label: Option<String>,
    /// Pipeline and fusion: system text for this step.
    pub prompt: Option<String>,
    pub tags: Vec<String>,
    /// Later targets are for an exhausted quota only (3.8, protected priority target).
    pub fallback_only_on_quota_exhaustion: bool,
    pub facts: Facts,
    /// The Engine's word: of the one account, or the best of all that the target may use.
    pub availability: Availability,
}

impl Target {
    /// A target that is not asked, as the request's page shows it.
    pub fn left_out(&self, exclusion: Exclusion) -> ExclusionRecord {
        ExclusionRecord {
            provider: self.provider.clone(),
            model: self.model.clone(),
            connection: self.connection.clone(),
            connection_name: None,
            exclusion,
        }
    }

    /// Id of the top-level step it came from.
    pub fn step_id(&self) -> &str {
        self.execution_key.split(['>', '@']).next().unwrap_or_default()
    }

    /// Same model at the same provider: targets between which only the account differs.
    pub fn is_alike(&self, other: &Target) -> bool {
        self.provider == other.provider && self.model == other.model
    }
}

/// What is known about a target now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// US dollars for a million tokens.
    pub input_price: Option<f64>,
    pub output_price: Option<f64>,
    /// Tokens.
    pub context_window: Option<u64>,
    pub max_output: Option<u64>,
    /// The most tools the provider takes, where it said so.
    pub max_tools: Option<u32>,
    pub supports: Supports,
    pub telemetry: Telemetry,
    /// Requests under way on the account (or the least busy of several).
    pub in_flight: u32,
    pub max_concurrent: Option<u32>,
    /// The account's, or of several the one with the most left.
    pub quota: Option<Arc<Quota>>,
    pub breaker: Breaker,
    pub tier: Tier,
    /// Accounts that could serve the model.
    pub pool_size: u32,
    /// Fraction of the account's session places that are free, 1 for an account without sessions; none, nobody counts them.
    pub sessions_free: Option<f64>,
    /// 0–1, from feedback; none, neutral.
    pub quality: Option<f64>,
}

/// What a model can do; unknown counts as capable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supports {
    pub tools: Option<bool>,
    pub vision: Option<bool>,
    pub audio: Option<bool>,
    pub documents: Option<bool>,
    pub structured_output: Option<bool>,
    pub reasoning: Option<bool>,
}

/// The last 200 requests or 24 hours of a model at a provider, or on one account (3.5, telemetry window).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Telemetry {
    /// Requests counted; below [`Telemetry::ENOUGH`] the figures are not to be relied on.
    pub samples: u32,
    /// Milliseconds.
    pub average_latency: Option<f64>,
    pub p95_latency: Option<f64>,
    /// Standard deviation, milliseconds.
    pub latency_deviation: Option<f64>,
    /// Average time to the first token, milliseconds.
    pub first_token: Option<f64>,
    /// 0–1.
    pub success_rate: Option<f64>,
}

impl Telemetry {
    pub const ENOUGH: u32 = 5;
}

/// State of the provider's circuit breaker as far as a strategy weighs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Breaker {
    #[default]
    Closed,
    Degraded,
    HalfOpen,
    Open,
}

/// What kind of plan the account is on, by what its vendor calls it ([`Tier::of_plan`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    Ultra,
    Pro,
    Standard,
    Free,
    #[default]
    Unknown,
}

/// Words in the names of plans, the best first: "Claude Max 20x" is the best of its words.
const PLANS: [(Tier, &[&str]); 4] = [
    (Tier::Ultra, &["ultra", "max", "enterprise"]),
    (Tier::Pro, &["pro", "plus", "premium", "team", "business"]),
    (Tier::Standard, &["standard", "basic", "lite", "starter", "go"]),
    (Tier::Free, &["free", "trial"]),
];

impl Tier {
    /// The tier of a plan by its vendor's name for it; unknown where no word of it is known.
    pub fn of_plan(name: &str) -> Tier {
        let name = name.to_ascii_lowercase();
        let has =
            |words: &[&str]| name.split(|letter: char| !letter.is_alphanumeric()).any(|word| words.contains(&word));
        PLANS.iter().find(|(_, words)| has(words)).map_or(Tier::Unknown, |(tier, _)| *tier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_as_good_as_the_best_word_in_its_name() {
        for (name, tier) in [
            ("Claude Max 20x", Tier::Ultra),
            ("plus", Tier::Pro),
            ("ChatGPT Pro", Tier::Pro),
            ("max-lite", Tier::Ultra),
            ("coding_plan_lite", Tier::Standard),
            ("free", Tier::Free),
            ("Maximal", Tier::Unknown),
            ("", Tier::Unknown),
        ] {
            assert_eq!(Tier::of_plan(name), tier, "{name}");
        }
    }
}
