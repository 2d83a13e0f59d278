//! Targets and statistics that tests of scoring and choosing share.

use std::sync::{Arc, LazyLock};

use domain::quota::{Quota, Window};
use domain::{Availability, Exclusion, Mechanism, Timestamp};

use crate::combo::Config;
use crate::target::{Facts, Telemetry};
use crate::view::RequestFacts;
use crate::{Target, View};

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

static CONFIG: LazyLock<Config> = LazyLock::new(Config::default);

/// `name` is the execution key, the model and the account; the provider is `p`.
pub(crate) fn target(name: &str) -> Target {
    Target {
        execution_key: name.to_owned(),
        top: 0,
        provider: "p".into(),
        model: name.to_owned(),
        connection: Some(name.into()),
        allowed_connections: Vec::new(),
        weight: 1,
        label: None,
        prompt: None,
        tags: Vec::new(),
        fallback_only_on_quota_exhaustion: false,
        facts: Facts::default(),
        availability: Availability::Available,
    }
}

pub(crate) fn targets(count: usize) -> Vec<Target> {
    (0..count).map(|n| target(&format!("t{n}"))).collect()
}

pub(crate) fn excluded(mechanism: Mechanism) -> Availability {
    Availability::Excluded(Exclusion::lasting(mechanism, "tested"))
}

pub(crate) fn view(request: &RequestFacts) -> View<'_> {
    View { now: NOW, combo: "combo", config: &CONFIG, request }
}

/// A quota with one window.
pub(crate) fn quota(window: &str, used: f64, reset_at: Option<Timestamp>) -> Arc<Quota> {
    let window = (window.to_owned(), Window { percent_used: Some(used), reset_at });
    Arc::new(Quota { windows: [window].into(), fetched_at: NOW, ..Quota::default() })
}

pub(crate) fn telemetry(p95: f64, deviation: f64, success: f64) -> Telemetry {
    Telemetry {
        samples: 50,
        p95_latency: Some(p95),
        latency_deviation: Some(deviation),
        success_rate: Some(success),
        ..Telemetry::default()
    }
}

/// Pearson's statistic of counts against expected proportions.
pub(crate) fn chi_square(counts: &[u32], proportions: &[f64]) -> f64 {
    let all: f64 = counts.iter().map(|&count| f64::from(count)).sum();
    counts
        .iter()
        .zip(proportions)
        .map(|(&count, proportion)| {
            let expected = all * proportion;
            (f64::from(count) - expected).powi(2) / expected
        })
        .sum()
}
