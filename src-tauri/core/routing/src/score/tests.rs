//! The factors of the table, row by row, and the laws of a score.

use domain::Millis;
use proptest::prelude::*;

use super::fitness::Layers;
use super::pool::{CostClass, Hint, Pool};
use super::samples::{NOW, quota, target, targets, telemetry, view};
use super::{Factor, Weights, breakdown, factors, score};
use crate::Target;
use crate::target::{Breaker, Facts, Tier};
use crate::view::RequestFacts;

/// The values of a factor for every target of a pool.
fn values(factor: Factor, targets: &[Target], request: &RequestFacts, hint: Hint) -> Vec<f64> {
    let all: Vec<usize> = (0..targets.len()).collect();
    let pool = Pool::explained(targets, &all, &view(request), hint, &Layers::default());
    pool.members.iter().map(|member| (factors::all(member, &pool)[factor as usize] * 1e6).round() / 1e6).collect()
}

/// The values over targets whose facts are these.
fn over(factor: Factor, facts: Vec<Facts>) -> Vec<f64> {
    let targets: Vec<Target> = facts.into_iter().map(|facts| Target { facts, ..target("m") }).collect();
    values(factor, &targets, &RequestFacts::default(), Hint::default())
}

fn priced(input: f64, output: f64) -> Facts {
    Facts { input_price: Some(input), output_price: Some(output), ..Facts::default() }
}

fn measured(p95: f64, deviation: f64, success: f64) -> Facts {
    Facts { telemetry: telemetry(p95, deviation, success), ..Facts::default() }
}

#[test]
fn factors_of_one_candidate() {
    let breaker = |breaker| Facts { breaker, ..Facts::default() };
    let tier = |tier| Facts { tier, ..Facts::default() };
    let resets_in = |used, length| Facts { quota: Some(quota("weekly", used, Some(NOW + length))), ..Facts::default() };
    let pool_size = |pool_size| Facts { pool_size, ..Facts::default() };
    let sessions = |free| Facts { sessions_free: Some(free), ..Facts::default() };
    let quality = |quality| Facts { quality: Some(quality), ..Facts::default() };
    for (factor, facts, expected) in [
        (Factor::Quota, Facts::default(), 1.0),
        (Factor::Quota, resets_in(0.75, Millis::days(1)), 0.25),
        (Factor::Health, breaker(Breaker::Closed), 1.0),
        (Factor::Health, breaker(Breaker::Degraded), 0.75),
        (Factor::Health, breaker(Breaker::HalfOpen), 0.5),
        (Factor::Health, breaker(Breaker::Open), 0.0),
        (Factor::TaskFit, Facts::default(), 0.5),
        (Factor::TierPriority, tier(Tier::Ultra), 0.8),
        (Factor::TierPriority, tier(Tier::Pro), 0.536),
        (Factor::TierPriority, tier(Tier::Standard), 0.264),
        (Factor::TierPriority, tier(Tier::Unknown), 0.264),
        (Factor::TierPriority, tier(Tier::Free), 0.0),
        (Factor::TierPriority, Facts { tier: Tier::Free, ..resets_in(0.1, Millis::days(15)) }, 0.1),
        (Factor::TierPriority, Facts { tier: Tier::Free, ..resets_in(0.1, Millis::days(40)) }, 0.0),
        (Factor::SessionAvailability, Facts::default(), 1.0),
        (Factor::SessionAvailability, sessions(0.25), 0.25),
        (Factor::SessionAvailability, sessions(f64::NAN), 0.0),
        (Factor::ConnectionDensity, pool_size(0), 0.0),
        (Factor::ConnectionDensity, pool_size(1), 0.0),
        (Factor::ConnectionDensity, pool_size(6), 0.5),
        (Factor::ConnectionDensity, pool_size(40), 1.0),
        (Factor::CacheAffinity, Facts::default(), 0.0),
        (Factor::ResetWindowAffinity, Facts::default(), 0.5),
        (Factor::ResetWindowAffinity, resets_in(0.1, Millis::hours(84)), 0.5),
        (Factor::ResetWindowAffinity, resets_in(0.1, Millis::days(30)), 0.0),
        (Factor::Quality, Facts::default(), 0.5),
        (Factor::Quality, quality(0.9), 0.9),
        (Factor::Quality, quality(f64::INFINITY), 0.0),
        (Factor::Reliability, Facts::default(), 1.0),
        (Factor::Reliability, measured(1.0, 1.0, 0.75), 0.75),
    ] {
        assert_eq!(over(factor, vec![facts.clone()]), [expected], "{} of {facts:?}", factor.as_str());
    }
}

#[test]
fn figures_are_compared_with_the_most_of_the_pool_and_unknown_is_the_median() {
    for (factor, facts, expected) in [
        // 0.6 × 10 + 0.4 × 10 = 10 is the most; 5 is half of it.
        (Factor::CostInv, vec![priced(10.0, 10.0), priced(5.0, 5.0), priced(0.0, 0.0)], vec![0.0, 0.5, 1.0]),
        (Factor::CostInv, vec![priced(10.0, 10.0), Facts::default(), priced(2.0, 2.0)], vec![0.0, 0.4, 0.8]),
        (Factor::CostInv, vec![Facts::default(), Facts::default()], vec![0.5, 0.5]),
        (Factor::CostInv, vec![priced(0.0, 0.0), priced(0.0, 0.0)], vec![1.0, 1.0]),
        (
            Factor::LatencyInv,
            vec![measured(4_000.0, 1.0, 1.0), measured(1_000.0, 1.0, 1.0), Facts::default()],
            vec![0.0, 0.75, 0.375],
        ),
        (Factor::Stability, vec![measured(1.0, 200.0, 1.0), measured(1.0, 50.0, 1.0)], vec![0.0, 0.75]),
        (Factor::Stability, vec![measured(1.0, 0.0, 1.0)], vec![1.0]),
    ] {
        assert_eq!(over(factor, facts), expected, "{}", factor.as_str());
    }
}

#[test]
fn below_five_samples_nothing_is_measured() {
    let mut early = measured(9_000.0, 9.0, 0.0);
    early.telemetry.samples = 4;
    assert_eq!(over(Factor::Reliability, vec![early.clone()]), [1.0]);
    assert_eq!(over(Factor::LatencyInv, vec![early, measured(100.0, 1.0, 1.0)]), [0.0, 0.0], "the median is 100");
}

#[test]
fn classes_are_compared_with_the_hint() {
    let pool = vec![priced(0.0, 0.0), priced(0.5, 0.5), priced(5.0, 15.0), Facts::default()];
    let targets: Vec<Target> = pool.into_iter().map(|facts| Target { facts, ..target("m") }).collect();
    let class = |class| Hint { class: Some(class), specificity: None };
    let specificity = |specificity| Hint { class: None, specificity: Some(specificity) };
    for (factor, hint, expected) in [
        (Factor::TierAffinity, class(CostClass::Free), [1.0, 0.7, 0.3, 0.5]),
        (Factor::TierAffinity, class(CostClass::Cheap), [0.7, 1.0, 0.7, 0.5]),
        (Factor::TierAffinity, class(CostClass::Premium), [0.3, 0.7, 1.0, 0.5]),
        (Factor::TierAffinity, Hint::default(), [0.5; 4]),
        (Factor::SpecificityMatch, specificity(15.0), [0.9, 0.4, 0.3, 0.5]),
        (Factor::SpecificityMatch, specificity(50.0), [0.2, 0.9, 0.3, 0.5]),
        (Factor::SpecificityMatch, specificity(50.1), [0.2, 0.4, 0.9, 0.5]),
        (Factor::SpecificityMatch, Hint::default(), [0.5; 4]),
    ] {
        assert_eq!(values(factor, &targets, &RequestFacts::default(), hint), expected, "{} {hint:?}", factor.as_str());
    }
}

#[test]
fn a_session_prefers_its_target_then_its_provider() {
    let mut targets = targets(3);
    targets[2].provider = "q".into();
    let request = RequestFacts { session_path: Some("t1".to_owned()), ..RequestFacts::default() };
    assert_eq!(values(Factor::ContextAffinity, &targets, &request, Hint::default()), [0.75, 1.0, 0.5]);
    assert_eq!(values(Factor::ContextAffinity, &targets, &RequestFacts::default(), Hint::default()), [0.5; 3]);
}

#[test]
fn a_prefix_has_one_owner_and_a_new_account_moves_only_its_own_share() {
    let (few, many) = (targets(4), targets(5));
    let mut moved = 0;
    for n in 0..1_000 {
        let request = RequestFacts { cache_key: Some(format!("key {n}")), ..RequestFacts::default() };
        let owner = |targets: &[Target]| {
            let values = values(Factor::CacheAffinity, targets, &request, Hint::default());
            assert_eq!(values.iter().sum::<f64>(), 1.0);
            values.iter().position(|value| *value == 1.0)
        };
        let (before, after) = (owner(&few), owner(&many));
        assert!(before == after || after == Some(4));
        moved += u32::from(before != after);
    }
    assert!((150..250).contains(&moved), "{moved} of 1 000 moved to the fifth");
}

fn any_facts() -> impl Strategy<Value = Facts> {
    let number = || prop_oneof![Just(None), prop::num::f64::ANY.prop_map(Some), (0.0..100.0).prop_map(Some)];
    (prop::array::uniform8(number()), 0_u32..9, 0_u32..99, prop::num::u64::ANY).prop_map(
        |(figures, samples, size, reset)| {
            let [input, output, p95, deviation, success, free, quality, used] = figures;
            let mut facts = Facts {
                input_price: input,
                output_price: output,
                sessions_free: free,
                quality,
                pool_size: size,
                quota: used.map(|used| quota("session", used, Some(domain::Timestamp::from_millis(reset)))),
                ..Facts::default()
            };
            facts.telemetry.samples = samples;
            facts.telemetry.p95_latency = p95;
            facts.telemetry.latency_deviation = deviation;
            facts.telemetry.success_rate = success;
            facts
        },
    )
}

proptest! {
    #[test]
    fn every_value_and_score_is_within_bounds_and_shares_add_up(facts in prop::collection::vec(any_facts(), 1..8)) {
        let targets: Vec<Target> = facts.into_iter().map(|facts| Target { facts, ..target("m") }).collect();
        let request = RequestFacts { cache_key: Some("k".to_owned()), ..RequestFacts::default() };
        let all: Vec<usize> = (0..targets.len()).collect();
        let hint = Hint { class: Some(CostClass::Cheap), specificity: Some(f64::NAN) };
        let pool = Pool::explained(&targets, &all, &view(&request), hint, &Layers::default());
        let weights = Weights::default();
        for member in &pool.members {
            let total = score(member, &pool, &weights);
            let parts = breakdown(member, &pool, &weights);
            prop_assert!((0.0..=1.0).contains(&total));
            prop_assert!(parts.iter().all(|part| (0.0..=1.0).contains(&part.value)));
            prop_assert!((parts.iter().map(|part| part.share).sum::<f64>() - total).abs() < 1e-9);
        }
    }
}
