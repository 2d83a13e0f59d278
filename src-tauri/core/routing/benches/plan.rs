//! What planning costs. Budget (architecture, 18): 200 targets in 50 µs, 10 000 in 3 ms, by every strategy that asks one
//! target at a time. Run with `cargo bench -p routing`.
//!
//! The table before divan's own is the budget's: p50 and p99 of whole calls, each with its own copy of the targets, with
//! what a call does before it ranks (leaving out a fifth of them) and after.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench prints and tells the time"
)]

use std::time::{Duration, Instant};

use divan::{Bencher, black_box};
use domain::quota::{Quota, Window};
use domain::{Availability, Candidate, Exclusion, Mechanism, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use routing::combo::Config;
use routing::target::{Facts, Telemetry};
use routing::view::RequestFacts;
use routing::{Memory, Route, Strategy, Target, View, account, plan};

/// Targets of a plan, and how often it is made.
const PLANS: [(u32, usize); 2] = [(200, 2_000), (10_000, 200)];

fn main() {
    plans();
    divan::main();
}

const CANDIDATES: [u32; 3] = [1, 20, 200];

/// Accounts in no order, every fifth of them not available.
fn candidates(count: u32) -> Vec<Candidate> {
    (0..count)
        .map(|n| Candidate {
            provider: "openai".into(),
            connection: format!("0197f0a0-0000-7000-8000-{n:012}").into(),
            model: "gpt-4o-mini".to_owned(),
            priority: n * 7_919 % count,
            enabled: n % 5 != 4,
            nature: domain::Nature::default(),
        })
        .collect()
}

fn availability(enabled: bool) -> Availability {
    if enabled {
        return Availability::Available;
    }
    Availability::Excluded(Exclusion::lasting(Mechanism::SwitchedOff, domain::wire::reason::SWITCHED_OFF))
}

#[divan::bench(args = CANDIDATES)]
fn accounts_by_priority(bencher: Bencher<'_, '_>, count: u32) {
    let candidates = candidates(count);
    bencher.bench_local(|| account::by_priority(black_box(&candidates), |candidate| availability(candidate.enabled)));
}

/// Targets with every fact known, every fifth of them not available.
fn targets(count: u32) -> Vec<Target> {
    let target = |n: u32| {
        let share = f64::from(n * 7_919 % count) / f64::from(count);
        let window =
            Window { percent_used: Some(share), reset_at: Some(Timestamp::from_millis(u64::from(n) * 60_000)) };
        let windows = ["session", "weekly"].map(|name| (name.to_owned(), window)).into();
        Target {
            execution_key: format!("0197f0a0-0000-7000-8000-{:012}@0197f0a0-0000-7000-8000-{n:012}", n / 4),
            top: (n / 4) as usize,
            provider: "openai".into(),
            model: "gpt-4o-mini".to_owned(),
            connection: Some(format!("0197f0a0-0000-7000-8000-{n:012}").into()),
            allowed_connections: Vec::new(),
            weight: n % 100,
            label: None,
            prompt: None,
            tags: Vec::new(),
            fallback_only_on_quota_exhaustion: false,
            facts: Facts {
                input_price: Some(share * 10.0),
                output_price: Some(share * 30.0),
                context_window: Some(u64::from(n) * 100),
                telemetry: Telemetry {
                    samples: 50,
                    average_latency: Some(share * 900.0),
                    p95_latency: Some(share * 2_000.0),
                    latency_deviation: Some(share * 100.0),
                    first_token: Some(share * 500.0),
                    success_rate: Some(1.0 - share),
                },
                quota: Some(Quota { windows, ..Quota::default() }),
                ..Facts::default()
            },
            availability: availability(n % 5 != 4),
        }
    };
    (0..count).map(target).collect()
}

/// Each strategy over few targets and many.
fn plans() {
    println!("{:<20}{:>24}{:>26}", "", "200 targets", "10 000 targets");
    println!("{:<20}{:>12}{:>12}{:>14}{:>12}", "strategy", "p50", "p99", "p50", "p99");
    for strategy in Strategy::PUBLIC {
        let [few, many] = PLANS.map(|(count, rounds)| durations(strategy, &targets(count), rounds));
        let figures = [at(&few, 50), at(&few, 99), at(&many, 50), at(&many, 99)].map(|time| format!("{time:.1?}"));
        let [few_p50, few_p99, many_p50, many_p99] = figures;
        println!("{:<20}{few_p50:>12}{few_p99:>12}{many_p50:>14}{many_p99:>12}", strategy.as_str());
    }
}

/// How long each of so many plans took, in rising order. The first tenth warms up.
fn durations(strategy: Strategy, targets: &[Target], rounds: usize) -> Vec<Duration> {
    let config = Config::default();
    let request = RequestFacts {
        cache_key: Some("a conversation's beginning".to_owned()),
        session: Some("0123456789abcdef".to_owned()),
        ..RequestFacts::default()
    };
    let view = View { now: Timestamp::from_millis(1), combo: "c", config: &config, request: &request };
    let route = Route::Combo { strategy, tiers: None, protects_cache: false, taste: None };
    let (mut memory, mut rng) = (Memory::default(), ChaCha8Rng::seed_from_u64(1));
    let once = |_| {
        let targets = targets.to_vec();
        let start = Instant::now();
        let planned = plan(&route, black_box(targets), &view, &mut memory, &mut rng);
        let took = start.elapsed();
        drop(black_box(planned));
        took
    };
    let mut durations: Vec<Duration> = (0..rounds + rounds / 10).map(once).skip(rounds / 10).collect();
    durations.sort_unstable();
    durations
}

fn at(durations: &[Duration], percent: usize) -> Duration {
    durations.get(durations.len() * percent / 100).copied().unwrap_or_default()
}
