//! What choosing by score and by share costs. Budget (issue of combos): 200 targets in 50 µs at p99, 10 000 in 3 ms. Run
//! with `cargo bench -p routing --bench scoring`.

use std::collections::BTreeMap;
use std::sync::Arc;

use divan::{Bencher, black_box};
use domain::quota::{Quota, Window};
use domain::{Availability, Millis, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use routing::combo::Config;
use routing::quota_share;
use routing::score::fitness::Layers;
use routing::strategies::auto::{self, Profile, Scene};
use routing::target::{Facts, Telemetry};
use routing::view::{RequestFacts, Task};
use routing::{Target, View};

fn main() {
    divan::main();
}

const COUNTS: [usize; 3] = [20, 200, 10_000];
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const MODELS: [&str; 5] = ["claude-sonnet-4-5", "gpt-5-mini", "gemini-2.5-flash", "qwen3-coder", "unheard-of"];

/// Accounts with quota and telemetry, every model on every fifth of them.
fn targets(count: usize) -> Vec<Target> {
    (0..count)
        .map(|n| Target {
            execution_key: format!("0197f0a0-0000-7000-8000-{n:012}>step@account-{n}"),
            top: n,
            provider: format!("provider-{}", n % 17).into(),
            model: format!("{}-{}", MODELS[n % MODELS.len()], n / MODELS.len() % 40),
            connection: Some(format!("account-{n}").into()),
            allowed_connections: Vec::new(),
            weight: 1 + (n % 5) as u32,
            label: None,
            prompt: None,
            tags: Vec::new(),
            fallback_only_on_quota_exhaustion: false,
            facts: facts(n),
            availability: Availability::Available,
        })
        .collect()
}

fn facts(n: usize) -> Facts {
    let spread = (n * 7_919 % 1_000) as f64 / 1_000.0;
    let window = |used, hours| Window { percent_used: Some(used), reset_at: Some(NOW + Millis::hours(hours)) };
    Facts {
        input_price: Some(spread * 5.0),
        output_price: Some(spread * 20.0),
        telemetry: Telemetry {
            samples: 50,
            p95_latency: Some(500.0 + spread * 4_000.0),
            latency_deviation: Some(spread * 300.0),
            success_rate: Some(1.0 - spread / 10.0),
            ..Telemetry::default()
        },
        quota: Some(Arc::new(Quota {
            windows: BTreeMap::from([
                ("session".to_owned(), window(spread, 3)),
                ("weekly".to_owned(), window(spread / 2.0, 90)),
            ]),
            limit_reached: false,
            fetched_at: NOW,
            ..Quota::default()
        })),
        in_flight: (n % 3) as u32,
        max_concurrent: Some(4),
        pool_size: 5,
        ..Facts::default()
    }
}

fn with_view<R>(body: impl FnOnce(View<'_>) -> R) -> R {
    let (config, request) = (Config::default(), RequestFacts { task: Task::Coding, ..RequestFacts::default() });
    body(View { now: NOW, combo: "combo", config: &config, request: &request })
}

#[divan::bench(args = COUNTS)]
fn by_score(bencher: Bencher<'_, '_>, count: usize) {
    let (targets, layers, profile) = (targets(count), Layers::default(), Profile::default());
    let (mut memory, mut rng) = (auto::Memory::default(), ChaCha8Rng::seed_from_u64(1));
    with_view(|view| {
        let scene = Scene { profile: &profile, layers: &layers, last_good: None, incident: false };
        bencher.bench_local(|| auto::rank(black_box(&targets), &view, &scene, &mut memory, &mut rng));
    });
}

#[divan::bench(args = COUNTS)]
fn by_share(bencher: Bencher<'_, '_>, count: usize) {
    let targets = targets(count);
    let mut memory = quota_share::Memory::default();
    with_view(|view| bencher.bench_local(|| quota_share::rank(black_box(&targets), &view, &mut memory)));
}
