//! What planning costs. Budget (architecture, 18): 200 candidates in 50 µs. Run with `cargo bench -p routing`.

use divan::{Bencher, black_box};
use domain::wire::reason;
use domain::{Availability, Candidate, Exclusion, Mechanism};
use routing::{Route, plan};

fn main() {
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

#[divan::bench(args = CANDIDATES)]
fn direct(bencher: Bencher<'_, '_>, count: u32) {
    let candidates = candidates(count);
    bencher.bench_local(|| {
        plan(Route::Direct, black_box(&candidates), |candidate| {
            if candidate.enabled {
                return Availability::Available;
            }
            let reason = reason::SWITCHED_OFF.to_owned();
            Availability::Excluded(Exclusion::lasting(Mechanism::SwitchedOff, &reason))
        })
    });
}
