use domain::health::LastError;
use domain::request_log::AttemptRecord;
use domain::wire::code;
use domain::{Failure, Timestamp};
use serde_json::json;

use super::*;
use crate::capability::Capability;
use crate::exhaustion::back_at;
use crate::strategies::auto::OverBudget;
use crate::strategies::fixtures::{NOW, target};

/// What spares the nth target: mechanism, milliseconds left, cause.
type Sparing = (Mechanism, Option<u64>, Option<Reason>);

fn spared_by(sparing: &[Sparing]) -> Vec<(Target, LeftOut)> {
    let one = |(n, &(mechanism, left, cause)): (usize, &Sparing)| {
        let exclusion = Exclusion {
            until: left.map(|left| NOW + Millis::new(left)),
            cause: cause.map(|reason| LastError {
                message: "no".to_owned(),
                reason: Some(reason),
                status: None,
                at: Timestamp::ZERO,
            }),
            ..Exclusion::lasting(mechanism, "word_of_the_trace")
        };
        (target(n), LeftOut::Spared(exclusion))
    };
    sparing.iter().enumerate().map(one).collect()
}

fn journey(failures: &[(u16, Reason)]) -> Journey {
    let mut journey = Journey::default();
    for (n, &(status, reason)) in failures.iter().enumerate() {
        journey.attempts.push(attempt(n, status));
        journey.failed("account-name".into(), Failure::plain(Some(status), reason, "no"));
    }
    journey
}

fn attempt(n: usize, status: u16) -> AttemptRecord {
    AttemptRecord {
        n: 1,
        provider: format!("p{n}").into(),
        model: format!("m{n}"),
        connection: "account-id".into(),
        connection_name: "account-name".to_owned(),
        started_at: NOW,
        queued: Millis::ZERO,
        execution_key: None,
        connect: None,
        first_token: None,
        duration: Millis::ZERO,
        status: Some(status),
        kind: "x".to_owned(),
        decision: "x".to_owned(),
        message: None,
        usage: None,
        cost: None,
    }
}

fn run(strategy: Strategy, left_out: &[(Target, LeftOut)], journey: &Journey, stop: Option<Stop>) -> ComboAnswer {
    let pool_size = left_out.len() + journey.attempts.len();
    let left_out: Vec<_> = left_out.iter().map(|(target, why)| (target, why)).collect();
    answer(&Terminal {
        strategy,
        pool_size,
        left_out: &left_out,
        journey,
        stop,
        timed_out: false,
        back_at: None,
        protected_as_502: false,
        now: NOW,
    })
}

fn idle(strategy: Strategy, sparing: &[Sparing]) -> ComboAnswer {
    run(strategy, &spared_by(sparing), &Journey::default(), None)
}

fn brief(answer: &ComboAnswer) -> (u16, &str, Option<u64>, &str) {
    let seconds = answer.answer.retry_after.map(Millis::as_retry_after_seconds);
    (answer.answer.status, answer.answer.code, seconds, answer.diagnostics.recovery.action)
}

/// DG-01
#[test]
fn a_weighted_combo_whose_targets_all_cool_says_so_with_reasons_and_seconds() {
    use Mechanism::ModelLockout;
    let answer = idle(
        Strategy::Weighted,
        &[
            (ModelLockout, Some(60_000), Some(Reason::RateLimit)),
            (ModelLockout, Some(120_000), Some(Reason::QuotaExhausted)),
        ],
    );
    assert_eq!(brief(&answer), (503, "all_targets_cooling_down", Some(60), "wait"));
    assert_eq!(answer.kind, "service_unavailable");
    assert_eq!(
        serde_json::to_value(&answer.diagnostics).expect("json"),
        json!({
            "poolSize": 2, "attempted": 0,
            "excluded": [
                { "provider": "p0", "model": "m0", "reason": "model_lockout", "retry_after_seconds": 60 },
                { "provider": "p1", "model": "m1", "reason": "model_lockout", "retry_after_seconds": 120 },
            ],
            "attemptOrder": [], "terminalReason": "all_targets_cooling_down",
            "recovery": { "action": "wait", "next_step": "send the request again in 60 s", "retry_after_seconds": 60 },
        })
    );
    let headers = answer.headers();
    for expected in [
        ("retry-after", "60"),
        ("x-omniroute-retry-after-seconds", "60"),
        ("x-omniroute-combo-pool-size", "2"),
        ("x-omniroute-combo-attempted", "0"),
        ("x-omniroute-combo-excluded", "p0/m0:model_lockout(60s), p1/m1:model_lockout(120s)"),
        ("x-omniroute-combo-terminal-reason", "all_targets_cooling_down"),
        ("x-omniroute-recovery-action", "wait"),
        ("x-omniroute-recovery-next-step", "send the request again in 60 s"),
    ] {
        assert!(headers.iter().any(|(name, text)| (*name, text.as_str()) == expected), "{expected:?}");
    }
    let line = log_line(&answer).expect("a line");
    assert!(
        line.starts_with(
            "[COMBO] Weighted selection: every target excluded before dispatch — p0/m0:model_lockout(60s)"
        )
    );
}

/// DG-02, DG-03, DG-04, DG-06
#[test]
fn reasons_are_the_four_words_and_timers_decide_between_503_and_404() {
    use Mechanism::*;
    let four = idle(
        Strategy::Weighted,
        &[
            (CircuitBreaker, Some(9_000), None),
            (ProviderCooldown, Some(9_000), None),
            (ModelLockout, Some(9_000), None),
            (TerminalState, None, None),
        ],
    );
    let words: Vec<&str> = four.diagnostics.excluded.iter().map(|excluded| excluded.reason.as_str()).collect();
    assert_eq!(words, ["circuit_open", "provider_cooldown", "model_lockout", "unavailable"]);
    assert_eq!(brief(&four), (503, "all_targets_cooling_down", Some(9), "wait"));

    let cooling = idle(Strategy::Weighted, &[(ConnectionCooldown, Some(200), Some(Reason::Auth))]);
    assert_eq!(brief(&cooling), (503, "all_targets_cooling_down", Some(1), "wait"));
    assert_eq!(cooling.diagnostics.excluded[0].reason, "unavailable");
    assert_eq!(cooling.diagnostics.excluded[0].retry_after_seconds, Some(1));

    let none = idle(Strategy::Weighted, &[]);
    assert_eq!(brief(&none), (404, "no_executable_targets", None, "switch-combo"));
    let no_timer = idle(Strategy::Weighted, &[(CredentialGate, None, None)]);
    assert_eq!(brief(&no_timer), (404, "no_executable_targets", None, "switch-combo"));
    assert!(!no_timer.headers().iter().any(|(name, _)| *name == "retry-after"));
}

/// CR-12, CR-13, CR-14
#[test]
fn a_passing_limit_is_announced_and_a_lasting_one_is_not() {
    use Mechanism::*;
    for (sparing, status, code, wait) in [
        (vec![(ModelLockout, Some(120_000), Some(Reason::RateLimit))], 429, "all_targets_rate_limited", Some(120)),
        (
            vec![
                (ModelLockout, Some(300_000), Some(Reason::RateLimit)),
                (ModelLockout, Some(200_000), Some(Reason::QuotaExhausted)),
            ],
            429,
            "all_targets_rate_limited",
            Some(300),
        ),
        (vec![(ModelLockout, Some(5_000), Some(Reason::QuotaExhausted))], 503, "ALL_TARGETS_SKIPPED", None),
        (vec![(ModelLockout, Some(5_000), Some(Reason::ModelNotFound))], 503, "ALL_TARGETS_SKIPPED", None),
        (vec![(ModelLockout, Some(5_000), None)], 503, "ALL_TARGETS_SKIPPED", None),
        (vec![(CircuitBreaker, Some(5_000), None)], 503, "ALL_TARGETS_SKIPPED", Some(5)),
        (vec![(ConcurrencyCap, None, None)], 503, "ALL_TARGETS_SKIPPED", Some(1)),
        (vec![(SwitchedOff, None, None)], 503, "ALL_ACCOUNTS_INACTIVE", None),
        (vec![(TerminalState, None, None), (TerminalState, None, None)], 502, "all_connections_terminal", None),
        (vec![], 404, "no_executable_targets", None),
        (vec![(ModelLockout, Some(7_200_000), Some(Reason::RateLimit))], 429, "all_targets_rate_limited", Some(3_600)),
    ] {
        let answer = idle(Strategy::Priority, &sparing);
        let (found_status, found_code, seconds, _) = brief(&answer);
        assert_eq!((found_status, found_code, seconds), (status, code, wait), "{sparing:?}");
        assert_eq!(answer.reset_at.is_some(), status == 429);
        assert_eq!(answer.answer.should_retry, (status == 502).then_some(false));
        assert_eq!(log_line(&answer), None);
    }
}

#[test]
fn what_was_asked_weighs_more_than_what_was_left_out() {
    use Reason::*;
    let limited = spared_by(&[(Mechanism::ModelLockout, Some(7_000), Some(RateLimit))]);
    for (failures, status, code, wait) in [
        (vec![(500, ServerError), (429, RateLimit)], 502, "bad_gateway", None),
        (vec![(429, RateLimit), (429, RateLimit)], 429, "rate_limit_exceeded", Some(7)),
        (vec![(401, Auth), (403, Forbidden)], 502, "upstream_auth_failed", None),
        (vec![(400, ContextOverflow), (413, ContextOverflow)], 400, "bad_request", None),
        (vec![(404, ModelNotFound), (400, ModelNotFound)], 400, "bad_request", None),
        (vec![(504, ResponseStartTimeout), (500, ServerError)], 504, "gateway_timeout", None),
    ] {
        let answer = run(Strategy::Priority, &limited, &journey(&failures), Some(Stop::Exhausted));
        let (found_status, found_code, seconds, _) = brief(&answer);
        assert_eq!((found_status, found_code, seconds), (status, code, wait), "{failures:?}");
        assert_eq!(answer.diagnostics.terminal_reason, "all_models_failed");
        assert_eq!(answer.diagnostics.attempt_order, ["p0/m0", "p1/m1"]);
    }
}

#[test]
fn an_end_of_our_own_has_its_own_code() {
    let asked = journey(&[(400, Reason::InvalidRequest)]);
    for (stop, status, code, why) in [
        (Stop::MaxAttempts, 503, "MAX_ATTEMPTS", "max_attempts_exceeded"),
        (Stop::IdenticalErrors, 400, "IDENTICAL_MODEL_ERROR_STREAK", "all_models_failed"),
        (Stop::ContextOverflow, 400, "bad_request", "all_models_failed"),
        (Stop::ProtectedTarget, 503, "service_unavailable", "all_models_failed"),
    ] {
        let answer = run(Strategy::Priority, &[], &asked, Some(stop));
        let found = (answer.answer.status, answer.answer.code, answer.diagnostics.terminal_reason);
        assert_eq!(found, (status, code, why));
    }
    let as_502 = Terminal {
        strategy: Strategy::Priority,
        pool_size: 1,
        left_out: &[],
        journey: &asked,
        stop: Some(Stop::ProtectedTarget),
        timed_out: false,
        back_at: None,
        protected_as_502: true,
        now: NOW,
    };
    assert_eq!(brief(&answer(&as_502)), (502, "bad_gateway", None, "retry"));
    let nothing = Journey::default();
    let late = Terminal {
        strategy: Strategy::Priority,
        pool_size: 1,
        left_out: &[],
        journey: &nothing,
        stop: None,
        timed_out: true,
        back_at: None,
        protected_as_502: false,
        now: NOW,
    };
    assert_eq!(brief(&answer(&late)), (504, "COMBO_TIMEOUT", None, "retry"));
}

/// Decision 29: if all refuse, the 400 is the answer.
#[test]
fn when_all_refuse_the_refusal_is_the_answer() {
    let mut refused = Journey::default();
    refused.attempts.extend([attempt(0, 400), attempt(1, 422)]);
    assert_eq!(brief(&run(Strategy::Random, &[], &refused, Some(Stop::Exhausted))).0, 422);
}

#[test]
fn what_nobody_could_ever_serve_is_refused_with_the_reason_of_each() {
    let left_out = [(&target(0), &LeftOut::Capability(Capability::Vision))];
    let journey = Journey::default();
    let terminal = Terminal {
        strategy: Strategy::Priority,
        pool_size: 1,
        left_out: &left_out,
        journey: &journey,
        stop: None,
        timed_out: false,
        back_at: None,
        protected_as_502: false,
        now: NOW,
    };
    for (cause, status, code) in [
        (Cause::Capability(vec![Capability::Vision]), 400, "capability_mismatch"),
        (Cause::ContextRequirements, 404, "context_requirements_exhausted"),
        (Cause::OverBudget(OverBudget { cap: 1.0, cheapest: 2.0 }), 402, "payment_required"),
        (Cause::ToolLimit { limit: 1, tools: 2 }, 400, "tool_limit_exceeded"),
    ] {
        let answer = refused(&cause, &terminal);
        assert_eq!(brief(&answer), (status, code, None, "switch-combo"));
        assert_eq!(answer.diagnostics.excluded[0].reason, "capability_mismatch");
    }
}

/// DG-05, DG-07
#[test]
fn lists_are_bounded_and_name_no_account() {
    let sparing = vec![(Mechanism::ConnectionCooldown, Some(5_000), Some(Reason::RateLimit)); 100];
    let mut left_out = spared_by(&sparing);
    for (target, _) in &mut left_out {
        target.connection = Some("account-id".into());
        target.model = "a-rather-long-name-of-a-model-ü".to_owned();
    }
    let answer = run(Strategy::Weighted, &left_out, &journey(&[]), None);
    assert_eq!((answer.diagnostics.excluded.len(), answer.diagnostics.pool_size), (64, 100));
    for (name, text) in answer.headers() {
        assert!(text.len() <= 900 && text.is_ascii() && !text.contains("account"), "{name}: {text}");
    }
    let failed = run(Strategy::Weighted, &left_out, &journey(&[(500, Reason::ServerError)]), None);
    assert!(!serde_json::to_string(&failed.diagnostics).expect("json").contains("account"));
}

#[test]
fn only_what_time_ends_brings_somebody_back_and_the_soonest_of_it() {
    use Mechanism::*;
    for (sparing, back) in [
        (vec![(ModelLockout, Some(50_000), Some(Reason::RateLimit)), (CircuitBreaker, Some(9_000), None)], Some(9_000)),
        (vec![(ConnectionCooldown, Some(3_000), None), (TerminalState, None, None)], Some(3_000)),
        (vec![(KeyLimit, Some(9_000), None)], None),
        (vec![(SwitchedOff, None, None)], None),
    ] {
        let left_out = spared_by(&sparing);
        let found = back_at(left_out.iter().filter_map(|(_, left_out)| spared(left_out)));
        assert_eq!(found, back.map(|back| NOW + Millis::new(back)), "{sparing:?}");
    }
}

#[test]
fn after_failures_the_wait_is_until_the_first_is_back_and_only_where_a_wait_is_announced() {
    for (status, wait) in [(503, Some(3)), (429, Some(3)), (529, Some(3)), (500, None)] {
        let journey = journey(&[(status, Reason::ServerError), (status, Reason::ServerError)]);
        let answer = answer(&Terminal {
            strategy: Strategy::Priority,
            pool_size: 2,
            left_out: &[],
            journey: &journey,
            stop: None,
            timed_out: false,
            protected_as_502: false,
            back_at: Some(NOW + Millis::seconds(3)),
            now: NOW,
        });
        assert_eq!(
            brief(&answer),
            (status, code::of_status(status), wait, if wait.is_some() { "wait" } else { "retry" })
        );
    }
}
