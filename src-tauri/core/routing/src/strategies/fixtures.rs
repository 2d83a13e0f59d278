//! Targets and views for the tests of all strategies, and the laws they share.

use std::sync::Arc;

use domain::quota::{Quota, Window};
use domain::{Availability, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::combo::Config;
use crate::target::{Facts, Target};
use crate::view::{RequestFacts, View};

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_000_000_000);

/// The nth target: step `s<n>`, model `m<n>` of provider `p<n>`.
pub(crate) fn target(n: usize) -> Target {
    Target {
        execution_key: format!("s{n}"),
        top: n,
        provider: format!("p{n}").into(),
        model: format!("m{n}"),
        connection: None,
        allowed_connections: Vec::new(),
        weight: 0,
        label: None,
        prompt: None,
        tags: Vec::new(),
        fallback_only_on_quota_exhaustion: false,
        facts: Facts::default(),
        availability: Availability::Available,
    }
}

pub(crate) fn targets(count: usize) -> Vec<Target> {
    (0..count).map(target).collect()
}

/// One target for each fact, given by what sets it.
pub(crate) fn each<T>(values: impl IntoIterator<Item = T>, set: impl Fn(&mut Target, T)) -> Vec<Target> {
    let with = |(n, value)| {
        let mut target = target(n);
        set(&mut target, value);
        target
    };
    values.into_iter().enumerate().map(with).collect()
}

/// Windows by name: fraction used, milliseconds until the reset.
pub(crate) fn quota(windows: &[(&str, Option<f64>, Option<u64>)]) -> Arc<Quota> {
    let window = |used, reset: Option<u64>| Window {
        percent_used: used,
        reset_at: reset.map(|wait| Timestamp::from_millis(NOW.as_millis() + wait)),
    };
    Arc::new(Quota {
        windows: windows.iter().map(|&(name, used, reset)| (name.to_owned(), window(used, reset))).collect(),
        fetched_at: NOW,
        ..Quota::default()
    })
}

/// What a view borrows.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) config: Config,
    pub(crate) request: RequestFacts,
}

impl World {
    pub(crate) fn view(&self) -> View<'_> {
        View { now: NOW, combo: "c", config: &self.config, request: &self.request }
    }
}

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Whether the counts fit the expected shares: χ² below its 99.9 % quantile (Wilson–Hilferty).
pub(crate) fn fits(counts: &[u32], shares: &[f64]) -> bool {
    let total: f64 = counts.iter().map(|&count| f64::from(count)).sum();
    let squares = counts.iter().zip(shares).map(|(&count, share)| {
        let expected = total * share;
        (f64::from(count) - expected).powi(2) / expected
    });
    let statistic: f64 = squares.sum();
    let freedom = (counts.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    statistic < freedom * (1.0 - spread + 3.09 * spread.sqrt()).powi(3)
}

/// How often each of `n` comes first in `draws` rankings.
pub(crate) fn firsts(n: usize, draws: u32, mut rank: impl FnMut() -> Vec<usize>) -> Vec<u32> {
    let mut counts = vec![0; n];
    for _ in 0..draws {
        counts[rank()[0]] += 1;
    }
    counts
}
