//! What one Engine call costs with thousands of connections that have each served fifty models, a thousand of them locked
//! (the most that are kept, of two thousand asked for). Budget (architecture, 18): p99 ≤ 5 µs with a thousand
//! connections, growing like log n. Run with `cargo bench -p resilience`.

use divan::{Bencher, black_box};
use domain::{BreakerCharge, Candidate, Failure, Limits, Millis, Nature, Outcome, Reason, Success, Timestamp};
use resilience::{Admission, Admitted, Caller, Engine, Permit, Settings};

fn main() {
    divan::main();
}

const CONNECTIONS: [usize; 3] = [1_000, 3_000, 10_000];
const MODELS: usize = 50;
const LOCKS: usize = 2_000;
const PROVIDERS: usize = 200;
const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

/// An Engine that has seen every connection serve every model, many of them locked, and one connection in twenty rest.
struct World {
    engine: Engine,
    settings: Settings,
    limits: Limits,
    candidates: Vec<Candidate>,
    asked: usize,
    now: Timestamp,
}

impl World {
    fn new(connections: usize) -> World {
        let candidates: Vec<Candidate> =
            (0..connections * MODELS).map(|n| candidate(n % connections, n / connections)).collect();
        let mut world = World {
            engine: Engine::default(),
            settings: Settings::default(),
            limits: Limits { max_concurrent: Some(64), ..Limits::default() },
            candidates,
            asked: 0,
            now: NOW,
        };
        for n in 0..world.candidates.len() {
            world.attempt(n, &success());
        }
        for _ in 0..LOCKS {
            let candidate = world.next();
            world.attempt(candidate, &limited());
        }
        for n in (0..connections).step_by(20) {
            world.attempt(n, &unwell());
        }
        world
    }

    /// Candidates in an order that no cache foresees.
    fn next(&mut self) -> usize {
        self.asked = (self.asked + 7_919) % self.candidates.len();
        self.asked
    }

    fn attempt(&mut self, candidate: usize, outcome: &Outcome) {
        if let Some(permit) = self.admit(candidate) {
            self.settle(permit, outcome);
        }
    }

    fn admit(&mut self, candidate: usize) -> Option<Permit> {
        let admission = Admission::new(&self.candidates[candidate], &self.limits, Caller::Direct);
        match self.engine.admit(&admission, &self.settings, self.now) {
            Admitted::Permit(permit) => Some(permit),
            Admitted::Refused(_) => None,
        }
    }

    fn settle(&mut self, permit: Permit, outcome: &Outcome) {
        black_box(self.engine.settle(permit, outcome, &self.settings, self.now));
    }
}

/// Every second provider counts quotas per model.
fn candidate(connection: usize, model: usize) -> Candidate {
    Candidate {
        provider: format!("provider-{}", connection % PROVIDERS).into(),
        connection: format!("0197f0a0-0000-7000-8000-{connection:012}").into(),
        model: format!("model-{model}"),
        priority: 1,
        enabled: true,
        nature: Nature { per_model_quota: connection.is_multiple_of(2), ..Nature::default() },
    }
}

fn success() -> Outcome {
    Outcome::Success(Success::default())
}

fn limited() -> Outcome {
    Outcome::Failure(Failure {
        cooldown: domain::Cooldown::Fixed(Millis::minutes(10)),
        ..Failure::plain(Some(429), Reason::RateLimit, "slow down")
    })
}

fn unwell() -> Outcome {
    let failure = Failure::plain(Some(503), Reason::ServerError, "down");
    Outcome::Failure(Failure { breaker: BreakerCharge::Counts, ..failure })
}

#[divan::bench(args = CONNECTIONS)]
fn availability(bencher: Bencher<'_, '_>, connections: usize) {
    let mut world = World::new(connections);
    bencher.bench_local(|| {
        let candidate = world.next();
        let ask = Admission::new(&world.candidates[candidate], &world.limits, Caller::Combo);
        world.engine.availability(black_box(&ask), &world.settings, world.now)
    });
}

#[divan::bench(args = CONNECTIONS)]
fn admit_and_succeed(bencher: Bencher<'_, '_>, connections: usize) {
    let mut world = World::new(connections);
    let outcome = success();
    bencher.bench_local(|| {
        let candidate = world.next();
        world.attempt(candidate, black_box(&outcome));
    });
}

/// Every failure finds its account rested and its provider on the way to opening or half-open: a minute passes each time.
#[divan::bench(args = CONNECTIONS)]
fn admit_and_fail(bencher: Bencher<'_, '_>, connections: usize) {
    let mut world = World::new(connections);
    let outcome = unwell();
    bencher.bench_local(|| {
        world.now = world.now + Millis::minutes(1);
        let candidate = world.next();
        world.attempt(candidate, black_box(&outcome));
    });
}
