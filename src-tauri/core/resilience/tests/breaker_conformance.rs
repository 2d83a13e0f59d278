//! What other circuit breakers promise, asked of ours.
//!
//! The cases state facts from the test suites of three well-known implementations, in one small vocabulary: what happens
//! around the half-open state, to late results, and between generations. Where those breakers count differently in the
//! closed state (failure rates, only consecutive failures) the cases use plain runs of failures, on which all agree.
//!
//! - sony/gobreaker: `gobreaker_test.go`
//! - App-vNext/Polly: `test/Polly.Specs/CircuitBreaker/CircuitBreakerSpecs.cs`
//! - resilience4j: `resilience4j-circuitbreaker/src/test/java/…/internal/CircuitBreakerStateMachineTest.java`, with one
//!   permitted call in the half-open state

use std::collections::BTreeMap;

use domain::{Millis, Timestamp};
use resilience::circuit_breaker::{CircuitBreaker, Config, FailureKind, State, Terms, Ticket};

/// What happens, and what must then be true. Numbers name requests.
#[derive(Clone, Copy, Debug)]
enum Step {
    Enters(u8),
    Refused,
    Succeeds(u8),
    Fails(u8),
    /// It ends in a way that says nothing about the service.
    Neutral(u8),
    Seconds(u64),
    Reset,
    Flowing,
    Open,
    HalfOpen,
}

use Step::{Enters, Fails, Flowing, HalfOpen, Neutral, Open, Refused, Reset, Seconds, Succeeds};

/// Plays the steps against a breaker that opens after so many failures for so many seconds.
fn play(source: &str, failures: u32, seconds: u64, cases: &[(&str, &[Step])]) {
    let config = Config {
        failure_threshold: failures,
        degradation_threshold: failures.saturating_sub(1).max(1),
        reset_timeout: Millis::seconds(seconds),
        max_backoff_multiplier: 1,
        ..Config::default()
    };
    let terms = Terms { config: &config, obeys_kinds: false };
    for (name, steps) in cases {
        let (mut breaker, mut now) = (CircuitBreaker::default(), Timestamp::from_millis(1_790_000_000_000));
        let mut tickets: BTreeMap<u8, Ticket> = BTreeMap::new();
        for (n, step) in steps.iter().enumerate() {
            let place = format!("{source}, {name}: step {n} {step:?}");
            let state = breaker.state(terms, now);
            match *step {
                Enters(request) => {
                    let admitted = breaker.admit(terms, now);
                    assert!(admitted.is_ok(), "{place}: refused");
                    tickets.extend(admitted.ok().map(|(ticket, _)| (request, ticket)));
                }
                Refused => assert!(breaker.admit(terms, now).is_err(), "{place}"),
                Succeeds(request) => {
                    breaker.on_success(terms, tickets[&request], now);
                }
                Fails(request) => {
                    breaker.on_failure(terms, tickets[&request], FailureKind::Transient, now);
                }
                Neutral(request) => breaker.on_neutral(tickets[&request]),
                Seconds(seconds) => now = now + Millis::seconds(seconds),
                Reset => {
                    breaker.reset(now);
                }
                Flowing => assert!(matches!(state, State::Closed | State::Degraded), "{place}: {state:?}"),
                Open => assert!(matches!(state, State::Open { .. }), "{place}: {state:?}"),
                HalfOpen => assert_eq!(state, State::HalfOpen, "{place}"),
            }
        }
    }
}

#[test]
fn gobreaker() {
    let six_failures: &[Step] = &[
        Enters(1),
        Fails(1),
        Enters(1),
        Fails(1),
        Enters(1),
        Fails(1),
        Enters(1),
        Fails(1),
        Enters(1),
        Fails(1),
        Flowing,
        Enters(1),
        Fails(1),
        Open,
        Refused,
        Seconds(59),
        Open,
        Refused,
        Seconds(1),
        HalfOpen,
        Enters(2),
        Fails(2),
        Open,
        Seconds(60),
        HalfOpen,
        Enters(3),
        Succeeds(3),
        Flowing,
        Enters(4),
        Fails(4),
        Enters(4),
        Fails(4),
        Enters(4),
        Fails(4),
        Enters(4),
        Fails(4),
        Enters(4),
        Fails(4),
        Flowing,
    ];
    play("gobreaker", 6, 60, &[("the default breaker, closed to open to half-open and back", six_failures)]);
    play(
        "gobreaker",
        1,
        60,
        &[
            (
                "no more than the permitted requests while half-open",
                &[
                    Enters(1),
                    Fails(1),
                    Seconds(60),
                    Enters(2),
                    Refused,
                    Refused,
                    Succeeds(2),
                    Flowing,
                    Enters(3),
                    Enters(4),
                ],
            ),
            (
                "a request of an earlier generation has no effect",
                &[
                    Enters(1),
                    Enters(2),
                    Enters(3),
                    Enters(4),
                    Fails(1),
                    Open,
                    Fails(2),
                    Seconds(60),
                    HalfOpen,
                    Succeeds(3),
                    HalfOpen,
                    Enters(5),
                    Succeeds(5),
                    Flowing,
                    Fails(4),
                    Flowing,
                ],
            ),
            (
                "counts begin anew in each generation",
                &[
                    Enters(1),
                    Fails(1),
                    Seconds(60),
                    Enters(2),
                    Fails(2),
                    Open,
                    Seconds(60),
                    Enters(3),
                    Succeeds(3),
                    Flowing,
                    Enters(4),
                    Fails(4),
                    Open,
                ],
            ),
        ],
    );
}

#[test]
fn polly() {
    play(
        "Polly",
        2,
        60,
        &[
            (
                "opens after the stated number of consecutive failures and not before",
                &[Enters(1), Fails(1), Flowing, Enters(2), Fails(2), Open, Refused],
            ),
            (
                "does not open when a success comes between",
                &[Enters(1), Fails(1), Enters(2), Succeeds(2), Enters(3), Fails(3), Flowing],
            ),
            (
                "is half-open once the break has lasted its time",
                &[Enters(1), Fails(1), Enters(2), Fails(2), Open, Seconds(60), HalfOpen],
            ),
            (
                "opens for a whole break again when the trial fails",
                &[
                    Enters(1),
                    Fails(1),
                    Enters(2),
                    Fails(2),
                    Seconds(60),
                    Enters(3),
                    Fails(3),
                    Open,
                    Seconds(59),
                    Open,
                    Refused,
                    Seconds(1),
                    HalfOpen,
                ],
            ),
            (
                "closes when the trial succeeds, and needs the full number again",
                &[
                    Enters(1),
                    Fails(1),
                    Enters(2),
                    Fails(2),
                    Seconds(60),
                    Enters(3),
                    Succeeds(3),
                    Flowing,
                    Enters(4),
                    Fails(4),
                    Flowing,
                    Enters(5),
                    Fails(5),
                    Open,
                ],
            ),
            (
                "only one trial when it first becomes half-open",
                &[Enters(1), Fails(1), Enters(2), Fails(2), Seconds(60), Enters(3), Refused, HalfOpen],
            ),
            (
                "another trial when the first has not reported for long",
                &[
                    Enters(1),
                    Fails(1),
                    Enters(2),
                    Fails(2),
                    Seconds(60),
                    Enters(3),
                    Refused,
                    Seconds(600),
                    Enters(4),
                    Refused,
                    Succeeds(4),
                    Flowing,
                ],
            ),
            (
                "a late failure neither signals nor extends the break",
                &[
                    Enters(1),
                    Enters(2),
                    Enters(3),
                    Fails(1),
                    Fails(2),
                    Open,
                    Seconds(30),
                    Fails(3),
                    Seconds(30),
                    HalfOpen,
                ],
            ),
            (
                "a late success does not close it: only time leads out",
                &[Enters(1), Enters(2), Enters(3), Fails(1), Fails(2), Open, Succeeds(3), Open, Seconds(60), HalfOpen],
            ),
            (
                "a reset by hand closes it at once",
                &[Enters(1), Fails(1), Enters(2), Fails(2), Open, Reset, Flowing, Enters(3), Fails(3), Flowing],
            ),
        ],
    );
}

#[test]
fn resilience4j() {
    play(
        "resilience4j",
        1,
        5,
        &[
            (
                "permits exactly the configured calls while half-open",
                &[Enters(1), Fails(1), Open, Refused, Seconds(5), HalfOpen, Enters(2), Refused, Refused],
            ),
            (
                "a released permission can be taken again",
                &[
                    Enters(1),
                    Fails(1),
                    Seconds(5),
                    Enters(2),
                    Refused,
                    Neutral(2),
                    HalfOpen,
                    Enters(3),
                    Succeeds(3),
                    Flowing,
                ],
            ),
            (
                "an ignored error is neither success nor failure",
                &[Enters(1), Neutral(1), Flowing, Enters(2), Neutral(2), Flowing, Enters(3), Fails(3), Open],
            ),
            (
                "half-open turns open at the failure threshold",
                &[Enters(1), Fails(1), Seconds(5), Enters(2), Fails(2), Open, Refused, Seconds(5), HalfOpen],
            ),
            ("half-open turns closed below it", &[Enters(1), Fails(1), Seconds(5), Enters(2), Succeeds(2), Flowing]),
            (
                "results that arrive while open change nothing",
                &[
                    Enters(1),
                    Enters(2),
                    Enters(3),
                    Fails(1),
                    Open,
                    Succeeds(2),
                    Open,
                    Fails(3),
                    Open,
                    Seconds(5),
                    HalfOpen,
                ],
            ),
            (
                "a reset returns to closed with nothing counted",
                &[Enters(1), Fails(1), Open, Reset, Flowing, Enters(2), Succeeds(2), Flowing],
            ),
        ],
    );
}
