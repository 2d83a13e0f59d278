//! What planning costs. Budget (architecture, 18): 200 targets in 50 µs at p99, 10 000 in 3 ms, by every strategy that asks
//! one target at a time. Run with `cargo bench -p routing --bench plan`, or with `-- auto` behind it for one of them.
//!
//! The table before divan's own is the budget's: p50 and p99 of whole calls, each with its own copy of the targets, over 200,
//! 1 000 and 10 000 of them. Five models on each account, prices, speeds and two quota windows known of all, a fifth cooling
//! for a while, a tenth bad: failing, slow, dear, and nearly used up. `auto` has sent the bad ones away, and in the last row
//! nearly everyone.
//!
//! Calls during which the scheduler took the processor away are left out, where the system tells: they measure the others
//! that run.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench prints and tells the time"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use divan::{Bencher, black_box};
use domain::quota::{Quota, Window};
use domain::{Availability, Candidate, Exclusion, Mechanism, Millis, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use routing::combo::Config;
use routing::target::{Facts, Telemetry};
use routing::view::{Needs, RequestFacts, Task};
use routing::{Memory, Route, Strategy, Target, View, account, plan};

/// Targets of a plan, and how often it is made.
const PLANS: [(usize, usize); 3] = [(200, 2_000), (1_000, 600), (10_000, 300)];
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const MODELS: [&str; 5] = ["claude-sonnet-4-5", "gpt-5-mini", "gemini-2.5-flash", "qwen3-coder", "unheard-of"];

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
    let until = Some(NOW + Millis::seconds(40));
    let cooling = Exclusion::lasting(Mechanism::ConnectionCooldown, domain::wire::reason::SWITCHED_OFF);
    Availability::Excluded(Exclusion { until, ..cooling })
}

#[divan::bench(args = CANDIDATES)]
fn accounts_by_priority(bencher: Bencher<'_, '_>, count: u32) {
    let candidates = candidates(count);
    bencher.bench_local(|| account::by_priority(black_box(&candidates), |candidate| availability(candidate.enabled)));
}

/// Every model on every account, as an expansion lists them: step by step, of each step all accounts. `bad` of a hundred
/// targets are bad.
fn targets(count: usize, bad: usize) -> Vec<Target> {
    let accounts = count.div_ceil(MODELS.len());
    let quotas: Vec<Arc<Quota>> = (0..accounts).map(|account| Arc::new(quota(account, is_bad(account, bad)))).collect();
    let target = |n: usize| {
        let (step, account) = (n / accounts, n % accounts);
        let connection = format!("0197f0a0-0000-7000-8000-{account:012}");
        Target {
            execution_key: format!("0197f0a0-0000-7000-8000-{step:012}@{connection}"),
            top: step,
            provider: format!("provider-{}", account % 17).into(),
            model: MODELS[step % MODELS.len()].to_owned(),
            connection: Some(connection.into()),
            allowed_connections: Vec::new(),
            weight: (step % 100) as u32,
            label: None,
            prompt: None,
            tags: Vec::new(),
            fallback_only_on_quota_exhaustion: false,
            facts: facts(n, is_bad(account, bad), Arc::clone(&quotas[account])),
            availability: availability(n % 5 != 4),
        }
    };
    (0..count).map(target).collect()
}

fn is_bad(account: usize, of_a_hundred: usize) -> bool {
    account * 7_919 % 100 < of_a_hundred
}

/// A number between 0 and 1 that looks like chance.
fn spread(n: usize) -> f64 {
    (n * 7_919 % 1_009) as f64 / 1_009.0
}

fn quota(account: usize, bad: bool) -> Quota {
    let used = if bad { 0.999 } else { spread(account) * 0.9 };
    let window = |used, hours| Window { percent_used: Some(used), reset_at: Some(NOW + Millis::hours(hours)) };
    let hours = 1 + account as u64 % 160;
    let windows = [("session", window(used, 1 + hours % 5)), ("weekly", window(used / 2.0, hours))];
    Quota { windows: windows.map(|(name, window)| (name.to_owned(), window)).into(), ..Quota::default() }
}

fn facts(n: usize, bad: bool, quota: Arc<Quota>) -> Facts {
    let worth = if bad { 1.0 } else { spread(n) };
    Facts {
        input_price: Some(worth * 10.0),
        output_price: Some(worth * 30.0),
        context_window: Some(100_000 + n as u64 % 50 * 1_000),
        max_output: Some(64_000),
        telemetry: Telemetry {
            samples: 50,
            average_latency: Some(200.0 + worth * 900.0),
            p95_latency: Some(500.0 + worth * 2_000.0),
            latency_deviation: Some(worth * 100.0),
            first_token: Some(worth * 500.0),
            success_rate: Some(if bad { 0.02 } else { 1.0 - spread(n) / 10.0 }),
        },
        quota: Some(quota),
        in_flight: n as u32 % 3,
        max_concurrent: Some(4),
        pool_size: 5,
        ..Facts::default()
    }
}

/// Each strategy over few targets, more and many.
fn plans() {
    println!("p50 / p99{}", PLANS.map(|(count, _)| format!("{count:>22}")).concat());
    for strategy in Strategy::PUBLIC.into_iter().chain([Strategy::QuotaShare]) {
        row(strategy.as_str(), strategy, 10);
    }
    row("auto, most bad", Strategy::Auto, 90);
}

fn row(name: &str, strategy: Strategy, bad: usize) {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if !wanted.is_empty() && !wanted.iter().any(|word| name.starts_with(word)) {
        return;
    }
    let figures = PLANS.map(|(count, rounds)| {
        let durations = durations(strategy, &targets(count, bad), rounds);
        let figure = |percent| format!("{:.1?}", at(&durations, percent));
        format!("{:>11} {:>10}", figure(50), figure(99))
    });
    println!("{name:<17}{}", figures.concat());
}

/// How long each of so many plans took, in rising order. The first tenth warms up.
fn durations(strategy: Strategy, targets: &[Target], rounds: usize) -> Vec<Duration> {
    let mut config = Config::default();
    // Whoever fails is not wanted: only so `auto` has somebody to send away.
    config.auto_config.weights = [("reliability".to_owned(), 3.0)].into();
    let request = RequestFacts {
        cache_key: Some("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned()),
        session: Some("0123456789abcdef".to_owned()),
        needs: Needs { tools: true, input: 30_000, output: Some(8_000), ..Needs::default() },
        task: Task::Coding,
        estimated_tokens: 38_000,
        tool_count: 20,
        ..RequestFacts::default()
    };
    let view = View { now: NOW, combo: "c", config: &config, request: &request };
    let route = Route::Combo { strategy, tiers: None, protects_cache: false, taste: None };
    let (mut memory, mut rng) = (Memory::default(), ChaCha8Rng::seed_from_u64(1));
    let once = |_| {
        let targets = targets.to_vec();
        let before = interruptions();
        let start = Instant::now();
        let planned = plan(&route, black_box(targets), &view, &mut memory, &mut rng);
        let took = start.elapsed();
        drop(black_box(planned));
        (interruptions() == before).then_some(took)
    };
    let mut durations: Vec<Duration> = (0..rounds + rounds / 10).map(once).skip(rounds / 10).flatten().collect();
    durations.sort_unstable();
    durations
}

/// How often this thread was put aside against its will; none, the system does not say.
fn interruptions() -> Option<String> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    status.lines().find(|line| line.starts_with("nonvoluntary_ctxt_switches")).map(str::to_owned)
}

fn at(durations: &[Duration], percent: usize) -> Duration {
    durations.get(durations.len() * percent / 100).copied().unwrap_or_default()
}
