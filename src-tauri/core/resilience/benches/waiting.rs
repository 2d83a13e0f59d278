//! What waiting costs: a request that passes gates and queue at once (budget: 30 µs added to a dispatch), and lines of
//! growing length that drain one by one. The time per request of a drained line must not grow with its length: divan
//! prints the curve. Run with `cargo bench -p resilience --bench waiting`.

use std::num::NonZeroU32;

use divan::{Bencher, black_box, counter::ItemsCount};
use domain::{Candidate, Limits, Millis, Nature, Neutral, Outcome, RateLimitOverrides, Timestamp};
use resilience::{Admission, Caller, Engine, Entered, Patience, Permit, Settings};

fn main() {
    divan::main();
}

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const LENGTHS: [usize; 4] = [500, 1_000, 2_500, 5_000];

struct World {
    engine: Engine,
    settings: Settings,
    limits: Limits,
    candidates: Vec<Candidate>,
}

impl World {
    /// So many models of one account, which takes one request at a time.
    fn new(models: usize, queued: bool) -> World {
        let mut settings = Settings::default();
        settings.request_queue.auto_enable_api_key_providers = queued;
        settings.request_queue.requests_per_minute = 1_000_000;
        settings.request_queue.min_time_between_requests = Millis::ZERO;
        let names = (0..models).map(|n| format!("model-{n}"));
        let model_concurrency = names.clone().map(|name| (name, NonZeroU32::MIN)).collect();
        World {
            engine: Engine::default(),
            settings,
            limits: Limits {
                max_concurrent: Some(1),
                overrides: RateLimitOverrides { model_concurrency, ..RateLimitOverrides::default() },
                ..Limits::default()
            },
            candidates: names.map(candidate).collect(),
        }
    }

    fn enter(&mut self, n: usize) -> Entered {
        let patience = Patience { wait: Millis::hours(1), depth: None };
        let candidate = &self.candidates[n % self.candidates.len()];
        let admission = Admission { patience, ..Admission::new(candidate, &self.limits, Caller::Combo) };
        self.engine.enter(&admission, &self.settings, NOW)
    }

    /// Everybody arrives, then everybody ends in turn.
    fn drain(&mut self, length: usize) {
        let mut under_way: Vec<Permit> = Vec::new();
        for n in 0..length {
            if let Entered::Permit(permit) = self.enter(n) {
                under_way.push(permit);
            }
        }
        let mut ended = 0;
        while let Some(permit) = under_way.pop() {
            let outcome = Outcome::Neutral(Neutral::ClientAborted);
            let effects = self.engine.settle(permit, &outcome, &self.settings, NOW);
            under_way.extend(effects.granted.into_iter().map(|(_, permit)| permit));
            ended += 1;
        }
        assert_eq!(ended, length);
    }
}

fn candidate(model: String) -> Candidate {
    Candidate {
        provider: "provider".into(),
        connection: "0197f0a0-0000-7000-8000-000000000001".into(),
        model,
        priority: 1,
        enabled: true,
        nature: Nature::default(),
    }
}

#[divan::bench(args = [false, true])]
fn enter_and_settle(bencher: Bencher<'_, '_>, queued: bool) {
    let mut world = World::new(1, queued);
    bencher.bench_local(|| {
        if let Entered::Permit(permit) = world.enter(black_box(0)) {
            let outcome = Outcome::Neutral(Neutral::ClientAborted);
            black_box(world.engine.settle(permit, &outcome, &world.settings, NOW));
        }
    });
}

#[divan::bench(args = LENGTHS, sample_count = 20, sample_size = 1)]
fn drain_one_lane(bencher: Bencher<'_, '_>, length: usize) {
    bencher
        .counter(ItemsCount::new(length))
        .with_inputs(|| World::new(1, false))
        .bench_local_values(|mut world| world.drain(length));
}

#[divan::bench(args = LENGTHS, sample_count = 20, sample_size = 1)]
fn drain_twenty_lanes(bencher: Bencher<'_, '_>, length: usize) {
    bencher
        .counter(ItemsCount::new(length))
        .with_inputs(|| World::new(20, false))
        .bench_local_values(|mut world| world.drain(length));
}

#[divan::bench(args = LENGTHS, sample_count = 20, sample_size = 1)]
fn drain_a_queue(bencher: Bencher<'_, '_>, length: usize) {
    bencher
        .counter(ItemsCount::new(length))
        .with_inputs(|| World::new(1, true))
        .bench_local_values(|mut world| world.drain(length));
}
