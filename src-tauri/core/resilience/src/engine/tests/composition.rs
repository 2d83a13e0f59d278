//! How the mechanisms keep out of each other's way.

use super::*;

#[test]
fn a_switched_off_connection_and_a_full_one_are_excluded() {
    let world = World::new();
    let off = Candidate { enabled: false, ..world.candidate("c1", "m1") };
    let limits = Limits::default();
    let ask = Admission::new(&off, &limits, Caller::Direct);
    let availability = world.engine.availability(&ask, &world.settings, START);
    assert!(matches!(availability, Availability::Excluded(e) if e.mechanism == Mechanism::SwitchedOff));

    let mut world = World::new();
    let permit = world.enters("c1", "m1").expect("it is available");
    let candidate = world.candidate("c1", "m1");
    let limits = Limits { max_concurrent: Some(1), ..Limits::default() };
    let ask = Admission::new(&candidate, &limits, Caller::Direct);
    assert!(matches!(world.engine.admit(&ask, &world.settings, START), Admitted::Refused(_)));
    world.ends(permit, &Outcome::Neutral(Neutral::ClientAborted));
    assert!(matches!(world.engine.admit(&ask, &world.settings, START), Admitted::Permit(_)));
}

#[test]
fn what_only_concerns_the_request_or_nobody_leaves_no_trace() {
    // CC-18, CB-27, CB-28, CB-29, XC-06
    let nobody = Failure { scope: Scope::Nobody, ..failure(400, Reason::ContextOverflow) };
    for outcome in [
        Outcome::Neutral(Neutral::ClientAborted),
        Outcome::Neutral(Neutral::Abandoned),
        Outcome::Neutral(Neutral::InvalidRequest),
        Outcome::Neutral(Neutral::LocalLimit),
        Outcome::Failure(nobody),
    ] {
        let mut world = World::new();
        for _ in 0..100 {
            let permit = world.enters("c1", "m1").expect("it is available");
            assert_eq!(world.ends(permit, &outcome), Vec::new());
        }
        let account = world.account("c1");
        assert_eq!((account.status, account.last_error, account.in_flight), (TestStatus::Unknown, None, 0));
        assert_eq!(world.breaker(), (State::Closed, 0));
        assert!(world.store.is_empty());
    }
}

#[test]
fn a_test_is_let_through_and_changes_nothing() {
    // CB-40, CC-19
    let mut world = World::new();
    for connection in ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12"] {
        world.fails(connection, "m1", &down());
    }
    assert!(matches!(world.breaker(), (State::Open { .. }, 12)));
    let before = world.engine.clone();
    world.caller = Caller::Test;
    for outcome in [Outcome::Success(Success::default()), Outcome::Failure(lasting(Permanence::Banned))] {
        let permit = world.enters("c1", "m1").expect("a test is never refused");
        assert_eq!(world.ends(permit, &outcome), Vec::new());
        assert_eq!(world.account("c1").status, TestStatus::Unavailable);
        assert_eq!(world.engine.breakers, before.breakers);
    }
}

#[test]
fn a_service_that_is_down_is_spared_and_comes_back_by_one_probe() {
    // CB-02, CB-12, CB-14, CB-19, XC-02
    let mut world = World::new();
    for n in 0..12 {
        world.fails(&format!("c{n}"), "m1", &down());
    }
    assert_eq!(world.excluded("fresh", "m1"), Some((Mechanism::CircuitBreaker, Some(seconds(30)))));
    world.passes(seconds(30));
    assert_eq!(world.breaker(), (State::HalfOpen, 12));
    let probe = world.enters("fresh", "m1").expect("one probe");
    assert!((0..19).all(|_| world.enters("other", "m1").is_none()));
    let limited = world.ends(probe, &Outcome::Failure(limited()));
    assert!(
        limited
            .iter()
            .any(|event| matches!(event, Event::BreakerChanged { transition, .. } if transition.to == "HALF_OPEN"))
    );
    assert_eq!(world.breaker(), (State::HalfOpen, 12), "a limit says nothing about the service");
    world.succeeds("other", "m1");
    assert_eq!(world.breaker(), (State::Closed, 0));
}

#[test]
fn one_account_s_trouble_never_reaches_the_breaker() {
    // CB-06, XC-01, XC-03
    for (failure, status) in [
        (lasting(Permanence::Unauthorized), TestStatus::Expired),
        (failure(403, Reason::Forbidden), TestStatus::Unavailable),
        (limited(), TestStatus::Unavailable),
        (failure(404, Reason::ModelNotFound), TestStatus::Active),
    ] {
        let mut world = World::new();
        for n in 0..20 {
            world.fails(&format!("c{n}"), "m1", &failure);
        }
        assert_eq!((world.breaker(), world.status("c1")), ((State::Closed, 0), status), "{failure:?}");
    }
}

#[test]
fn where_quotas_are_per_model_a_limit_locks_the_model_only() {
    // ML-26, ML-27, ML-25, CC-28
    let mut world = World::scoped();
    for length in [3, 6, 12] {
        let events = world.fails("c1", "m1", &limited());
        assert!(events.iter().any(|event| matches!(event, Event::ModelLocked { .. })));
        assert_eq!(world.excluded("c1", "m1"), Some((Mechanism::ModelLockout, Some(seconds(length)))));
        assert_eq!((world.excluded("c1", "m2"), world.account("c1").cooling_until), (None, None));
        world.passes(seconds(length));
    }
    world.fails("c1", "m1", &hinted(seconds(1)));
    assert_eq!(world.locks(), [("m1".to_owned(), seconds(1), 4)]);
    world.passes(seconds(1));
    world.succeeds("c1", "m1");
    world.fails("c1", "m1", &limited());
    assert_eq!(world.locks(), [("m1".to_owned(), seconds(3), 1)]);
    // ML-28
    let mut world = World::scoped();
    world.fails("c1", "m1", &failure(500, Reason::ServerError));
    assert_eq!((world.excluded("c1", "m1"), world.account("c1").last_error.is_some()), (None, true));
}

#[test]
fn in_a_combo_both_rules_write_one_lock() {
    // ML-02, ML-30, CC-33, CC-35
    let mut world = World { caller: Caller::Combo, ..World::scoped() };
    world.settings.model_lockout.enabled = true;
    world.fails("c1", "m1", &limited());
    assert_eq!(world.locks(), [("m1".to_owned(), seconds(120), 1)]);
    assert_eq!(world.account("c1").backoff_level, 0);

    for (enabled, mechanism) in [(false, Mechanism::ConnectionCooldown), (true, Mechanism::ModelLockout)] {
        let mut world = World { caller: Caller::Combo, ..World::new() };
        world.settings.model_lockout.enabled = enabled;
        world.fails("c1", "m1", &down());
        assert_eq!(world.excluded("c1", "m1").map(|(mechanism, _)| mechanism), Some(mechanism));
    }
}

#[test]
fn no_lock_is_written_while_the_provider_is_stopped() {
    // ML-17
    let mut world = World::scoped();
    let late = world.enters("late", "m1").expect("it is available");
    for n in 0..12 {
        world.fails(&format!("c{n}"), "m1", &down());
    }
    let before = world.locks().len();
    world.ends(late, &Outcome::Failure(limited()));
    assert_eq!((before, world.locks().len()), (12, 12));
}

#[test]
fn broken_answers_lock_at_the_third_in_a_row() {
    // ST-27
    let mut world = World::scoped();
    let broken = Failure { after_output: true, ..failure(502, Reason::StreamCut) };
    for finished in [true, false] {
        for _ in 0..2 {
            world.fails("c1", "m1", &broken);
            assert_eq!(world.excluded("c1", "m1"), None);
        }
        if finished {
            world.succeeds("c1", "m1");
        }
    }
    world.fails("c1", "m1", &broken);
    assert_eq!(world.excluded("c1", "m1").map(|(mechanism, _)| mechanism), Some(Mechanism::ModelLockout));
}

#[test]
fn the_provider_cooldown_is_the_combos_own() {
    // GP-09, GP-10, GP-13, GP-14
    let mut world = World { caller: Caller::Combo, ..World::new() };
    world.settings.provider_cooldown.enabled = true;
    world.nature.class = ProviderClass::Local;
    for connection in ["c1", "c2"] {
        world.fails(connection, "m1", &down());
    }
    world.resets(&ResetScope::Breakers);
    assert_eq!(world.excluded("c3", "m1"), Some((Mechanism::ProviderCooldown, Some(Millis::minutes(1)))));
    assert_eq!((world.status("c3"), world.breaker()), (TestStatus::Unknown, (State::Closed, 0)));
    world.caller = Caller::Direct;
    assert_eq!(world.excluded("c3", "m1"), None);
    world.caller = Caller::Combo;
    world.restarts();
    assert_eq!(world.excluded("c3", "m1"), None);
}

#[test]
fn each_mechanism_is_cleared_by_its_own_scope() {
    // XC-04, XC-05
    let mut world = World::scoped();
    for n in 0..12 {
        world.fails(&format!("c{n}"), "m1", &down());
    }
    world.nature.per_model_quota = false;
    world.passes(seconds(1));
    let breakers = world.resets(&ResetScope::Breakers);
    assert_eq!((breakers.breakers, breakers.lockouts, breakers.connections), (1, 0, 0));
    world.fails("c1", "m2", &limited());
    let model = ResetScope::Model { provider: "ak".into(), connection: Some("c1".into()), model: "m1".to_owned() };
    assert_eq!((world.resets(&model).lockouts, world.resets(&model).lockouts), (1, 0));
    assert_eq!(world.excluded("c1", "m1").map(|(mechanism, _)| mechanism), Some(Mechanism::ConnectionCooldown));
    assert_eq!(world.resets(&ResetScope::Cooldowns(vec!["c1".into(), "c2".into()])).connections, 2);
    assert_eq!(world.excluded("c2", "m1"), None);
    assert_eq!(world.resets(&ResetScope::Models).lockouts, 10);
    assert_eq!(world.locks(), []);
    assert_eq!(world.resets(&ResetScope::Breaker("nobody".into())).breakers, 0);
}

#[test]
fn the_persistent_parts_outlive_a_restart() {
    // RP-01, RP-04, RP-05, ML-18
    let mut world = World::scoped();
    for n in 0..12 {
        world.fails(&format!("c{n}"), "m1", &Failure { hint: None, ..down() });
    }
    world.nature.per_model_quota = false;
    let before = world.engine.snapshot(&world.settings, world.now);
    world.restarts();
    assert_eq!(world.engine.snapshot(&world.settings, world.now), before);
    world.settings.model_lockout.persist = false;
    world.restarts();
    assert_eq!(world.locks(), []);
    world.passes(seconds(40));
    assert_eq!(world.breaker().0, State::HalfOpen);
}

#[test]
fn a_tick_notes_what_time_has_done() {
    // CB-09
    let mut world = World::new();
    for n in 0..12 {
        world.fails(&format!("c{n}"), "m1", &down());
    }
    world.passes(Millis::minutes(10));
    let effects = world.engine.tick(&world.settings, world.now);
    assert!(matches!(effects.events.as_slice(), [Event::BreakerChanged { .. }]));
    let rested =
        effects.rows.iter().filter(|row| matches!(row, Row::Connection(row) if row.rate_limited_until.is_none()));
    assert_eq!(rested.count(), 12);
    assert_eq!(world.engine.tick(&world.settings, world.now), Effects::default());
}
