use domain::Millis;
use domain::key_limits::TokenLimit;

use super::*;

/// 2026-09-30T00:00:00Z, a Wednesday.
const MIDNIGHT: Timestamp = Timestamp::from_millis(1_790_726_400_000);

fn utc() -> TimeZone {
    TimeZone::UTC
}

fn key(limits: KeyLimits) -> ClientKey {
    ClientKey { limits, ..ClientKey::new("k".into(), "k".to_owned(), [0; 32], String::new(), Timestamp::ZERO) }
}

fn tokens(scope: LimitScope, token_limit: u64) -> TokenLimit {
    TokenLimit { scope, token_limit, reset_interval: None }
}

fn spent(usd: f64, tokens: u64) -> Charge {
    let spent = Spent { usd, tokens, unpriced: 0 };
    Charge { provider: Some("openai".into()), model: Some("m1".to_owned()), spent }
}

/// A ledger that follows one key, of which the table holds nothing.
fn ledger(key: &ClientKey) -> Ledger {
    let mut ledger = Ledger::new(utc);
    follow(&mut ledger, key, MIDNIGHT, &[]);
    ledger
}

fn follow(ledger: &mut Ledger, key: &ClientKey, now: Timestamp, stored: &[Charge]) {
    let missing = ledger.missing([key], now);
    let read: Vec<_> = missing.into_iter().map(|missing| (missing, stored.to_vec())).collect();
    ledger.follow([key], &read);
}

#[test]
fn a_budget_is_exceeded_when_it_is_spent_and_new_at_its_reset() {
    let key = key(KeyLimits { budget_daily_usd: Some(1.0), ..KeyLimits::default() });
    let mut ledger = ledger(&key);
    let noon = MIDNIGHT + Millis::hours(12);
    assert!(!ledger.charge(&key.id, noon, &spent(0.5, 10), noon), "half of it is nothing to speak of");
    assert!(ledger.charge(&key.id, noon, &spent(0.3, 10), noon), "the warning");
    assert_eq!(ledger.standings(&key.id, noon)[0].level, Level::Warning);
    assert_eq!(ledger.exceeded(&key.id, noon), None);
    assert!(ledger.charge(&key.id, noon, &spent(0.2, 10), noon), "used up");
    let end = MIDNIGHT + Millis::days(1);
    assert_eq!(ledger.exceeded(&key.id, end - Millis::new(1)).map(|found| found.period.end), Some(end));
    assert_eq!(ledger.exceeded(&key.id, end), None, "at the reset instant it is new");
    assert_eq!(ledger.standings(&key.id, end)[0].spent, Spent::default());
}

#[test]
fn a_request_counts_in_the_period_in_which_it_arrived() {
    let key = key(KeyLimits { budget_daily_usd: Some(1.0), ..KeyLimits::default() });
    let mut ledger = ledger(&key);
    let (late, next_day) = (MIDNIGHT + Millis::hours(23), MIDNIGHT + Millis::hours(25));
    ledger.charge(&key.id, late, &spent(5.0, 10), next_day);
    assert_eq!(ledger.exceeded(&key.id, next_day), None);
}

#[test]
fn all_limits_apply_and_the_one_that_is_back_last_is_named() {
    let limits = KeyLimits {
        budget_daily_usd: Some(1.0),
        budget_weekly_usd: Some(2.0),
        budget_monthly_usd: Some(100.0),
        token_limits: vec![tokens(LimitScope::Global, 50)],
        ..KeyLimits::default()
    };
    let key = key(limits);
    let mut ledger = ledger(&key);
    ledger.charge(&key.id, MIDNIGHT, &spent(0.1, 50), MIDNIGHT);
    let found = ledger.exceeded(&key.id, MIDNIGHT).expect("the tokens are used up");
    assert!(matches!(found.limit, Limit::Tokens { tokens: 50, .. }), "{found:?}");
    ledger.charge(&key.id, MIDNIGHT, &spent(2.0, 0), MIDNIGHT);
    let found = ledger.exceeded(&key.id, MIDNIGHT).expect("two budgets are spent");
    assert_eq!(found.limit, Limit::Budget { interval: Interval::Weekly, usd: 2.0 });
    assert_eq!(ledger.standings(&key.id, MIDNIGHT).len(), 4);
}

#[test]
fn a_limit_of_one_provider_or_model_bars_only_what_it_covers() {
    let limits = KeyLimits {
        token_limits: vec![
            tokens(LimitScope::Provider("openai".into()), 100),
            tokens(LimitScope::Model("openai/m*".to_owned()), 10),
        ],
        ..KeyLimits::default()
    };
    let key = key(limits);
    let mut ledger = ledger(&key);
    ledger.charge(&key.id, MIDNIGHT, &spent(0.0, 10), MIDNIGHT);
    assert_eq!(ledger.exceeded(&key.id, MIDNIGHT), None);
    let mut barred =
        |provider: &str, model: &str| ledger.exceeded_for(&key.id, &provider.into(), model, MIDNIGHT).is_some();
    assert!(barred("openai", "m1") && barred("openai", "m2"));
    assert!(!barred("openai", "other") && !barred("anthropic", "m1"));
    ledger.charge(&key.id, MIDNIGHT, &spent(0.0, 90), MIDNIGHT);
    assert!(ledger.exceeded_for(&key.id, &"openai".into(), "other", MIDNIGHT).is_some());
}

#[test]
fn an_unknown_price_counts_tokens_and_no_dollars() {
    let limits = KeyLimits {
        budget_daily_usd: Some(0.01),
        token_limits: vec![tokens(LimitScope::Global, 1_000)],
        ..KeyLimits::default()
    };
    let key = key(limits);
    let mut ledger = ledger(&key);
    let unknown = Charge { spent: Spent { usd: 0.0, tokens: 999, unpriced: 1 }, ..spent(0.0, 0) };
    ledger.charge(&key.id, MIDNIGHT, &unknown, MIDNIGHT);
    let standings = ledger.standings(&key.id, MIDNIGHT);
    assert_eq!((standings[0].level, standings[0].spent.unpriced), (Level::Within, 1));
    assert_eq!(standings[1].level, Level::Warning);
}

#[test]
fn what_the_table_holds_is_where_a_new_limit_begins() {
    let mut key = key(KeyLimits { budget_daily_usd: Some(1.0), ..KeyLimits::default() });
    let mut ledger = Ledger::new(utc);
    let stored = [spent(0.25, 10), Charge { provider: Some("anthropic".into()), ..spent(0.5, 20) }];
    follow(&mut ledger, &key, MIDNIGHT, &stored);
    assert_eq!(ledger.standings(&key.id, MIDNIGHT)[0].spent.usd, 0.75);

    // Another cap of the same sum asks nothing; a limit of another kind does, and the sum goes on.
    key.limits.budget_daily_usd = Some(9.0);
    assert!(ledger.missing([&key], MIDNIGHT).is_empty());
    key.limits.token_limits = vec![tokens(LimitScope::Provider("anthropic".into()), 40)];
    ledger.charge(&key.id, MIDNIGHT, &spent(1.0, 1), MIDNIGHT);
    follow(&mut ledger, &key, MIDNIGHT, &stored);
    let standings = ledger.standings(&key.id, MIDNIGHT);
    assert_eq!((standings[0].spent.usd, standings[1].spent.tokens), (1.75, 20));

    // Periods that begin at another time are other periods.
    key.limits.reset_time = "06:00".parse().expect("a time");
    let missing = ledger.missing([&key], MIDNIGHT);
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].period.start, MIDNIGHT - Millis::hours(18));

    // Without limits nothing is counted, and nothing kept.
    key.limits = KeyLimits::default();
    follow(&mut ledger, &key, MIDNIGHT, &[]);
    assert!(ledger.standings(&key.id, MIDNIGHT).is_empty());
}
