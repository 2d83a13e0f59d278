//! Power of two choices: of two random targets the better one.
//!
//! `s = success + 1 / log10(average latency + 10)`, success 0–1 and 0.5 where unknown, the second term 0.25 where the
//! latency is unknown; 0.25 less while the provider's breaker is half open, never while it is open. Between equals the
//! lower index. The rest keeps its order. Comparing two instead of taking the best of all keeps parallel requests from
//! rushing to the same target.

use std::borrow::Borrow;

use rand::{Rng, RngExt};

use super::with_first;
use crate::target::{Breaker, Target};

const UNKNOWN_SUCCESS: f64 = 0.5;
const UNKNOWN_SPEED: f64 = 0.25;
const HALF_OPEN: f64 = 0.25;

/// Indexes into `targets`.
pub fn rank(targets: &[impl Borrow<Target>], rng: &mut impl Rng) -> Vec<usize> {
    let count = targets.len();
    if count < 2 {
        return (0..count).collect();
    }
    let one = rng.random_range(0..count);
    let other = (one + rng.random_range(1..count)) % count;
    let (low, high) = (one.min(other), one.max(other));
    let better = if score(targets[high].borrow()) > score(targets[low].borrow()) { high } else { low };
    with_first(better, count)
}

/// How good a target looks: about 0 to 2, negative infinity where its breaker is open.
pub fn score(target: &Target) -> f64 {
    let telemetry = &target.facts.telemetry;
    let known = |figure: Option<f64>| figure.filter(|figure| figure.is_finite());
    let success = known(telemetry.success_rate).map_or(UNKNOWN_SUCCESS, |rate| rate.clamp(0.0, 1.0));
    let latency = known(telemetry.average_latency).map(|latency| latency.max(0.0));
    let speed = latency.map_or(UNKNOWN_SPEED, |latency| 1.0 / (latency + 10.0).log10());
    match target.facts.breaker {
        Breaker::Closed | Breaker::Degraded => success + speed,
        Breaker::HalfOpen => success + speed - HALF_OPEN,
        Breaker::Open => f64::NEG_INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{each, firsts, fits, rng, targets};
    use super::*;

    #[test]
    fn the_score_is_the_documented_one() {
        for (success, latency, breaker, expected) in [
            (None, None, Breaker::Closed, 0.75),
            (Some(1.0), Some(90.0), Breaker::Degraded, 1.5),
            (Some(1.0), Some(990.0), Breaker::Closed, 1.0 + 1.0 / 3.0),
            (Some(0.0), Some(0.0), Breaker::HalfOpen, 0.75),
            (Some(f64::NAN), Some(f64::INFINITY), Breaker::Closed, 0.75),
            (Some(1.0), Some(0.0), Breaker::Open, f64::NEG_INFINITY),
        ] {
            let targets = each([()], |target, ()| {
                target.facts.telemetry.success_rate = success;
                target.facts.telemetry.average_latency = latency;
                target.facts.breaker = breaker;
            });
            let found = score(&targets[0]);
            assert!(found == expected || (found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }

    /// With distinct scores the best of `n` wins whenever it is drawn: the kth best of n wins 2(n − k) / (n (n − 1)).
    #[test]
    fn each_wins_as_often_as_it_meets_a_worse_one() {
        let rates = [0.2, 0.8, 0.4, 0.6];
        let targets = each(rates, |target, rate| target.facts.telemetry.success_rate = Some(rate));
        let mut rng = rng(5);
        let counts = firsts(4, 20_000, || rank(&targets, &mut rng));
        assert_eq!(counts[0], 0, "the worst never");
        assert!(fits(&[counts[1], counts[2], counts[3]], &[3.0 / 6.0, 1.0 / 6.0, 2.0 / 6.0]));
    }

    #[test]
    fn equals_give_the_lower_index_and_the_rest_keeps_its_order() {
        let targets = targets(3);
        let mut rng = rng(2);
        let counts = firsts(3, 20_000, || rank(&targets, &mut rng));
        assert_eq!(counts[2], 0);
        assert!(fits(&counts[..2], &[2.0 / 3.0, 1.0 / 3.0]));
        assert_eq!(rank(&targets[..1], &mut rng), [0]);
    }
}
