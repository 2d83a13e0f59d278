//! What one Engine call costs with a thousand connections that have each served fifty models. Budget (architecture, 18):
//! p99 ≤ 5 µs, growing like log n. Run with `cargo bench -p resilience`.

use divan::{Bencher, black_box};
use domain::{Candidate, Failure, Outcome, Reason, Success, Timestamp};
use resilience::settings::Settings;
use resilience::{Admission, Admitted, Engine, Permit};

fn main() {
    divan::main();
}

const CONNECTIONS: [usize; 3] = [10, 1_000, 10_000];
const MODELS: usize = 50;

/// An Engine that has seen every connection serve every model, and one in ten of them fail.
struct World {
    engine: Engine,
    settings: Settings,
    candidates: Vec<Candidate>,
    asked: usize,
}

impl World {
    fn new(connections: usize) -> World {
        let candidates = (0..connections * MODELS).map(|n| candidate(n % connections, n / connections)).collect();
        let mut world = World { engine: Engine::default(), settings: Settings::default(), candidates, asked: 0 };
        for n in 0..world.candidates.len() {
            let outcome = if n % 10 == 0 { failure() } else { success() };
            if let Some(permit) = world.admit_next() {
                world.settle(permit, &outcome);
            }
        }
        world
    }

    /// Candidates in an order that no cache foresees.
    fn next(&mut self) -> usize {
        self.asked = (self.asked + 7_919) % self.candidates.len();
        self.asked
    }

    fn admit_next(&mut self) -> Option<Permit> {
        let candidate = self.next();
        let admission = Admission { candidate: &self.candidates[candidate], max_concurrent: Some(64) };
        match self.engine.admit(&admission, &self.settings, NOW) {
            Admitted::Permit(permit) => Some(permit),
            Admitted::Refused(_) => None,
        }
    }

    fn settle(&mut self, permit: Permit, outcome: &Outcome) {
        black_box(self.engine.settle(permit, outcome, &self.settings, NOW));
    }
}

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn candidate(connection: usize, model: usize) -> Candidate {
    Candidate {
        provider: format!("provider-{}", connection % 20).into(),
        connection: format!("0197f0a0-0000-7000-8000-{connection:012}").into(),
        model: format!("model-{model}"),
        priority: 1,
        enabled: true,
        nature: domain::Nature::default(),
    }
}

fn success() -> Outcome {
    Outcome::Success(Success::default())
}

fn failure() -> Outcome {
    Outcome::Failure(Failure::plain(Some(503), Reason::ServerError, "down"))
}

#[divan::bench(args = CONNECTIONS)]
fn availability(bencher: Bencher<'_, '_>, connections: usize) {
    let mut world = World::new(connections);
    bencher.bench_local(|| {
        let candidate = world.next();
        let ask =
            Admission { candidate: &world.candidates[candidate], max_concurrent: Some(64), caller: Caller::Direct };
        world.engine.availability(black_box(&ask), &world.settings, NOW)
    });
}

#[divan::bench(args = CONNECTIONS)]
fn admit_and_settle(bencher: Bencher<'_, '_>, connections: usize) {
    let mut world = World::new(connections);
    let outcome = success();
    bencher.bench_local(|| {
        if let Some(permit) = world.admit_next() {
            world.settle(permit, black_box(&outcome));
        }
    });
}

#[divan::bench(args = CONNECTIONS)]
fn admit_and_fail(bencher: Bencher<'_, '_>, connections: usize) {
    let mut world = World::new(connections);
    let outcome = failure();
    bencher.bench_local(|| {
        if let Some(permit) = world.admit_next() {
            world.settle(permit, black_box(&outcome));
        }
    });
}
