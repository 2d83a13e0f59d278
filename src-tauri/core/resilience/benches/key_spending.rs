//! What limits of a local key add to each of its requests: asked once before it, charged once after it. Keys are a thousand,
//! all with limits; divan prints the cost by limits of the one that asks. Run with
//! `cargo bench -p resilience --bench key_spending`.

use divan::{Bencher, black_box};
use domain::client_key::ClientKey;
use domain::key_limits::{KeyLimits, LimitScope, TokenLimit};
use domain::{Millis, Timestamp};
use jiff::tz::TimeZone;
use resilience::key_spending::{Charge, Ledger, Spent};

fn main() {
    divan::main();
}

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const KEYS: usize = 1_000;
const LIMITS: [usize; 3] = [1, 5, 20];

fn key(n: usize, limits: usize) -> ClientKey {
    let token_limits = (1..limits).map(|n| TokenLimit {
        scope: LimitScope::Model(format!("openai/model-{n}*")),
        token_limit: u64::MAX,
        reset_interval: None,
    });
    let limits =
        KeyLimits { budget_daily_usd: Some(1e6), token_limits: token_limits.collect(), ..KeyLimits::default() };
    let id = format!("0192f0c4-{n:04}");
    ClientKey { limits, ..ClientKey::new(id.as_str().into(), id, [0; 32], String::new(), NOW) }
}

fn ledger(limits: usize) -> (Ledger, ClientKey) {
    let keys: Vec<ClientKey> = (0..KEYS).map(|n| key(n, limits)).collect();
    let mut ledger = Ledger::new(|| TimeZone::UTC);
    let read: Vec<_> = ledger.missing(&keys, NOW).into_iter().map(|missing| (missing, Vec::new())).collect();
    ledger.follow(&keys, &read);
    (ledger, keys[KEYS / 2].clone())
}

#[divan::bench(args = LIMITS)]
fn ask(bencher: Bencher<'_, '_>, limits: usize) {
    let (mut ledger, key) = ledger(limits);
    let provider = "openai".into();
    bencher.bench_local(|| {
        let all = ledger.exceeded(black_box(&key.id), NOW);
        (all, ledger.exceeded_for(&key.id, &provider, "model-1", NOW))
    });
}

#[divan::bench(args = LIMITS)]
fn charge(bencher: Bencher<'_, '_>, limits: usize) {
    let (mut ledger, key) = ledger(limits);
    let spent = Spent { usd: 1e-6, tokens: 19, unpriced: 0 };
    let charge = Charge { provider: Some("openai".into()), model: Some("model-1".to_owned()), spent };
    bencher.bench_local(|| ledger.charge(black_box(&key.id), NOW, &charge, NOW + Millis::seconds(1)));
}
