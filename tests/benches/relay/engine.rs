//! The Engine's share of a request: everything it is asked on the way of one, in the order of the pipeline.
//!
//! What is left of a request when the Engine's answer is fixed is the request less these calls, so they are timed by
//! themselves: a difference of two whole requests would drown in the noise of the sockets.

use std::hint::black_box;
use std::time::Instant;

use domain::{Candidate, Limits, Nature, Outcome, Success, Timestamp};
use http::HeaderMap;
use http::header::HeaderValue;
use resilience::{Admission, Admitted, Caller, Engine, Settings};

use crate::figures::{Sample, micros};

const ROUNDS: usize = 20_000;

/// Prints the p50 and p99 of a request's calls, with replies that announce limits and with silent ones.
pub fn share() {
    println!("\nthe Engine's calls of one request: may it go, let it in, what its reply announced, how it ended");
    for (name, headers) in [("silent reply", HeaderMap::new()), ("reply with limits", limits())] {
        let calls = calls(&headers);
        println!("  {name:<18} p50 {:>9}  p99 {:>9}", micros(calls.p50()), micros(calls.p99()));
    }
}

fn limits() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("x-ratelimit-limit-requests", "10000"),
        ("x-ratelimit-remaining-requests", "9999"),
        ("x-ratelimit-reset-requests", "6ms"),
        ("x-ratelimit-limit-tokens", "2000000"),
        ("x-ratelimit-remaining-tokens", "1999000"),
        ("x-ratelimit-reset-tokens", "30ms"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
}

fn calls(headers: &HeaderMap) -> Sample {
    let candidate = Candidate {
        provider: "openai".into(),
        connection: "c1".into(),
        model: "bytes-1k".to_owned(),
        priority: 1,
        enabled: true,
        nature: Nature::default(),
    };
    let (limits, settings) = (Limits::default(), Settings::default());
    let admission = Admission::new(&candidate, &limits, Caller::Direct);
    let success = Outcome::Success(Success::default());
    let mut engine = Engine::default();
    let once = |round: u64| {
        let now = Timestamp::from_millis(1_790_000_000_000 + round);
        let start = Instant::now();
        black_box(engine.availability(&admission, &settings, now));
        if let Admitted::Permit(permit) = engine.admit(&admission, &settings, now) {
            black_box(engine.observe(&permit, headers, &settings, now));
            black_box(engine.settle(permit, &success, &settings, now));
        }
        start.elapsed()
    };
    Sample::new((0..).map(once).take(ROUNDS).collect())
}
