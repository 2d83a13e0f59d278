//! Shares, policies and the sliding count.

use domain::Millis;
use proptest::prelude::*;

use super::*;

/// The beginning of a bucket of every window but the monthly one.
const START: Timestamp = Timestamp::from_millis(2_000 * 7 * 24 * 3_600_000 * 5);

fn dimension(unit: Unit, window: Window, limit: f64) -> Dimension {
    Dimension { unit, window, limit }
}

/// A pool of 100 requests an hour.
fn pool(allocations: &[(&str, f64, Policy)]) -> Pool {
    Pool {
        id: "pool".to_owned(),
        name: "Pool".to_owned(),
        slug: "pool".to_owned(),
        connections: Vec::new(),
        dimensions: vec![dimension(Unit::Requests, Window::Hourly, 100.0)],
        allocations: allocations
            .iter()
            .map(|&(key, weight, policy)| Allocation { api_key_id: key.into(), weight, cap_value: None, policy })
            .collect(),
    }
}

fn requests(count: f64) -> Usage {
    Usage { requests: count, ..Usage::default() }
}

fn ledger(pool: &Pool, used: &[(&str, f64)]) -> Ledger {
    let mut ledger = Ledger::default();
    for &(key, count) in used {
        ledger.charge(pool, &key.into(), &requests(count), START);
    }
    ledger
}

fn verdict(pool: &Pool, ledger: &Ledger, key: &str) -> &'static str {
    match ledger.decide(pool, &key.into(), START, |_| None) {
        Verdict::Allow => "allow",
        Verdict::Demote => "demote",
        Verdict::Refuse(_) => "refuse",
    }
}

#[test]
fn below_half_everyone_may_exceed_above_the_policy_decides() {
    let pool = pool(&[("hard", 1.0, Policy::Hard), ("soft", 1.0, Policy::Soft), ("burst", 2.0, Policy::Burst)]);
    for (used, key, expected) in [
        (vec![], "hard", "allow"),
        (vec![("hard", 49.0)], "hard", "allow"),
        (vec![("hard", 25.0), ("burst", 25.0)], "hard", "refuse"),
        (vec![("hard", 24.0), ("burst", 26.0)], "hard", "allow"),
        (vec![("soft", 25.0), ("burst", 25.0)], "soft", "demote"),
        (vec![("soft", 24.0), ("burst", 26.0)], "soft", "allow"),
        (vec![("burst", 60.0)], "burst", "allow"),
        (vec![("burst", 60.0), ("hard", 20.0), ("soft", 20.0)], "burst", "refuse"),
        (vec![("burst", 99.0)], "burst", "allow"),
        (vec![("burst", 100.0)], "burst", "refuse"),
        (vec![("burst", 49.0)], "stranger", "allow"),
        (vec![("burst", 50.0)], "stranger", "demote"),
    ] {
        assert_eq!(verdict(&pool, &ledger(&pool, &used), key), expected, "{key} after {used:?}");
    }
}

#[test]
fn a_pool_that_names_nobody_is_everybodys() {
    let open = pool(&[]);
    assert_eq!(verdict(&open, &ledger(&open, &[("k", 1_000.0)]), "k"), "allow");
}

#[test]
fn a_cap_holds_even_while_there_is_plenty() {
    let mut pool = pool(&[("a", 1.0, Policy::Burst), ("b", 1.0, Policy::Soft)]);
    pool.allocations[0].cap_value = Some(10.0);
    assert_eq!(verdict(&pool, &ledger(&pool, &[("a", 9.0)]), "a"), "allow");
    let after = ledger(&pool, &[("a", 10.0)]);
    let Verdict::Refuse(refusal) = after.decide(&pool, &"a".into(), START, |_| None) else {
        panic!("refused");
    };
    assert_eq!((refusal.allowed, refusal.used), (10.0, 10.0));
    assert_eq!(verdict(&pool, &ledger(&pool, &[("b", 20.0)]), "b"), "allow");
}

#[test]
fn what_the_vendor_measured_counts_when_it_is_more() {
    let pool = pool(&[("a", 0.0, Policy::Hard), ("b", 1.0, Policy::Hard)]);
    let empty = Ledger::default();
    for (measured, allowed) in [(None, true), (Some(0.49), true), (Some(0.5), false), (Some(f64::NAN), true)] {
        let verdict = empty.decide(&pool, &"a".into(), START, |_| measured);
        assert_eq!(verdict == Verdict::Allow, allowed, "{measured:?}");
    }
}

#[test]
fn the_strictest_dimension_decides() {
    let mut pool = pool(&[("a", 1.0, Policy::Hard), ("b", 1.0, Policy::Hard)]);
    pool.dimensions.push(dimension(Unit::Usd, Window::Daily, 10.0));
    let mut ledger = Ledger::default();
    ledger.charge(&pool, &"a".into(), &Usage { usd: 5.0, ..requests(1.0) }, START);
    let Verdict::Refuse(refusal) = ledger.decide(&pool, &"a".into(), START, |_| None) else {
        panic!("refused");
    };
    assert_eq!((refusal.dimension.unit, refusal.used), (Unit::Usd, 5.0));
}

#[test]
fn the_count_slides() {
    let pool = pool(&[("a", 1.0, Policy::Hard), ("b", 0.0, Policy::Hard)]);
    let mut ledger = ledger(&pool, &[("a", 80.0)]);
    let used = |ledger: &Ledger, minutes| {
        ledger.used("pool", &"a".into(), &pool.dimensions[0], START + Millis::minutes(minutes))
    };
    for (minutes, expected) in [(0, 80.0), (59, 80.0), (60, 80.0), (75, 60.0), (90, 40.0), (120, 0.0), (9_999, 0.0)] {
        assert!((used(&ledger, minutes) - expected).abs() < 1e-9, "after {minutes} minutes");
    }
    ledger.charge(&pool, &"a".into(), &requests(10.0), START + Millis::minutes(90));
    assert!((used(&ledger, 90) - 50.0).abs() < 1e-9);
    assert!((used(&ledger, 105) - 30.0).abs() < 1e-9);
}

#[test]
fn a_ledger_survives_a_restart() {
    let pool = pool(&[("a", 1.0, Policy::Hard), ("b", 1.0, Policy::Hard)]);
    let mut before = Ledger::default();
    let put_down: Vec<Row> =
        ["a", "b"].into_iter().flat_map(|key| before.charge(&pool, &key.into(), &requests(3.0), START)).collect();
    let text = serde_json::to_string(&put_down).expect("writes");
    assert_eq!(Ledger::restore(serde_json::from_str::<Vec<Row>>(&text).expect("reads")), before);
}

proptest! {
    // A refusal that names an end is over then, and not long before.
    #[test]
    fn a_refusal_ends_when_it_says(
        first in 0.0..200.0_f64, second in 0.0..200.0_f64, bound in 0.5..150.0_f64, minutes in 0_u64..60,
    ) {
        let pool = pool(&[("a", 1.0, Policy::Hard)]);
        let key = ClientKeyId::from("a");
        let mut ledger = Ledger::default();
        ledger.charge(&pool, &key, &requests(first), START);
        let now = START + Millis::hours(1) + Millis::minutes(minutes);
        ledger.charge(&pool, &key, &requests(second), now);
        let used = |at| ledger.used("pool", &key, &pool.dimensions[0], at);
        prop_assume!(used(now) >= bound);
        let counter = ledger.counter("pool", &key, &pool.dimensions[0]).expect("charged");
        let until = counter.falls_below(bound, Window::Hourly, now).expect("the bound is above 0");
        prop_assert!(used(until) < bound, "{} at the end", used(until));
        prop_assert!(until <= now + Millis::hours(2));
        let before = Timestamp::from_millis(until.as_millis() - 20);
        prop_assert!(before <= now || used(before) >= bound - 1e-6);
    }

    #[test]
    fn any_numbers_are_survived(amounts in prop::collection::vec((prop::num::f64::ANY, any::<u64>()), 0..20), limit in prop::num::f64::ANY) {
        let mut pool = pool(&[("a", limit, Policy::Burst), ("b", 1.0, Policy::Hard)]);
        pool.dimensions[0].limit = limit;
        let mut ledger = Ledger::default();
        for (amount, at) in amounts {
            let now = Timestamp::from_millis(at);
            ledger.charge(&pool, &"a".into(), &requests(amount), now);
            prop_assert!(ledger.used("pool", &"a".into(), &pool.dimensions[0], now).is_finite());
            ledger.decide(&pool, &"a".into(), now, |_| Some(amount));
        }
    }
}
