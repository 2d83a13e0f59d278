//! Gates: caps, order, patience, quota-share.

use std::num::NonZeroU32;

use super::line::{Line, candidate, overriding};
use super::*;
use crate::concurrency_gate::GateKey;
use crate::quota_preflight::ProviderQuota;

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

#[test]
fn one_place_serves_all_in_their_order() {
    // QS-01, QS-23
    let mut line = Line::capped(1);
    NAMES.iter().for_each(|name| line.enters(name));
    assert_eq!((line.running.len(), line.waiting()), (1, 7));
    for name in NAMES {
        assert_eq!(line.running.keys().collect::<Vec<_>>(), [&name]);
        line.ends(name);
    }
    assert_eq!((line.went.as_slice(), line.engine.gates.clone()), (&NAMES[..], Default::default()));
}

#[test]
fn as_many_go_as_the_cap_allows_and_all_without_one() {
    // QS-02, QS-03, QS-16
    for (cap, at_once) in [(2, 2), (8, 8), (0, 8)] {
        let mut line = Line::capped(cap);
        NAMES.iter().for_each(|name| line.enters(name));
        assert_eq!(line.running.len(), at_once, "{cap}");
    }
}

#[test]
fn each_model_has_its_cap_and_the_account_its_own() {
    // QS-10, QS-11
    let overrides = overriding(Some(4), &[("glm-5", 1), ("glm-4.7", 3), ("zai/other", 1)]);
    let mut line = Line::new(Limits { overrides, ..Limits::default() });
    for (name, model) in NAMES.iter().zip(["glm-5", "glm-5", "glm-5", "glm-4.7", "glm-4.7", "glm-4.7", "glm-4.7"]) {
        line.enters_at(name, "c1", model);
    }
    assert_eq!(line.went, ["a", "d", "e", "f"]);
    line.ends("d");
    assert_eq!(line.went, ["a", "d", "e", "f", "g"], "a place of glm-4.7 serves glm-4.7");
    line.ends("a");
    assert_eq!(line.went.last(), Some(&"b"));
    line.ends("g");
    line.enters_at("x", "c1", "other");
    assert_eq!(line.went.last(), Some(&"x"), "another spelling caps nothing");
}

#[test]
fn who_waits_for_a_model_is_not_in_the_way_of_another() {
    // QS-12
    let mut line = Line::new(Limits { overrides: overriding(Some(2), &[("glm-5", 1)]), ..Limits::default() });
    for (name, model) in [("a", "glm-5"), ("b", "glm-5"), ("c", "glm-4.7")] {
        line.enters_at(name, "c1", model);
    }
    assert_eq!(line.went, ["a", "c"]);
}

#[test]
fn the_longest_waiting_goes_first_over_all_models_of_the_account() {
    let mut line = Line::new(Limits { overrides: overriding(Some(1), &[("m1", 1), ("m2", 1)]), ..Limits::default() });
    for (name, model) in NAMES.iter().zip(["m1", "m2", "m1", "m3", "m2"]) {
        line.enters_at(name, "c1", model);
    }
    for name in ["a", "b", "c", "d", "e"] {
        line.ends(name);
    }
    assert_eq!(line.went, ["a", "b", "c", "d", "e"]);
}

#[test]
fn a_place_that_serves_two_gates_goes_to_the_older_of_those_at_either() {
    // b stands at its account, c at the global gate; the end of a opens both.
    let mut line = Line::capped(1);
    line.settings.request_queue.global_concurrent_requests = 2;
    line.enters_at("a", "c1", "m1");
    line.enters_at("b", "c1", "m1");
    line.enters_at("other", "c2", "m1");
    line.enters_at("c", "c3", "m1");
    assert_eq!((line.went.as_slice(), line.waiting()), (&["a", "other"][..], 2));
    line.ends("a");
    assert_eq!(line.went, ["a", "other", "b"]);
}

#[test]
fn everything_and_a_provider_have_gates_too() {
    let provider_concurrency = NonZeroU32::new(2);
    let quota = ProviderQuota { provider_concurrency, ..ProviderQuota::default() };
    for (global, provider) in [(2, None), (0, Some(quota))] {
        let mut line = Line::new(Limits::default());
        line.settings.request_queue.global_concurrent_requests = global;
        line.settings.provider_quota_overrides.extend(provider.map(|quota| ("ak".to_owned(), quota)));
        for (name, connection) in NAMES.iter().zip(["c1", "c2", "c3"]) {
            line.enters_at(name, connection, "m1");
        }
        assert_eq!((line.running.len(), line.waiting()), (2, 1));
        line.ends("a");
        assert_eq!(line.went, ["a", "b", "c"]);
    }
}

#[test]
fn patience_ends_with_typed_errors_that_hurt_nobody() {
    // QS-14
    let mut line = Line::capped(1);
    line.patience = Patience { wait: seconds(30), depth: Some(1) };
    for name in ["a", "b", "c"] {
        line.enters(name);
    }
    assert_eq!(line.code("c"), Some("SEMAPHORE_QUEUE_FULL"));
    line.passes(Millis::new(29_999));
    assert_eq!(line.waiting(), 1);
    line.passes(Millis::new(1));
    assert_eq!((line.code("b"), line.waiting()), (Some("SEMAPHORE_TIMEOUT"), 0));
    line.ends("a");
    let picture = line.engine.connection(&"c1".into(), &line.settings, line.now);
    assert_eq!((picture.status, picture.last_error, picture.cooling_until), (TestStatus::Active, None, None));
    let snapshot = line.engine.snapshot(&line.settings, line.now);
    assert!(snapshot.lockouts.is_empty() && snapshot.breakers.values().all(|it| it.failure_count == 0));
}

#[test]
fn a_full_gate_leaves_a_candidate_out_only_when_as_many_wait_as_may() {
    let mut line = Line::capped(1);
    line.patience = Patience { wait: seconds(30), depth: Some(1) };
    let candidate = candidate("c1", "m1");
    let limits = line.limits.clone();
    let ask = Admission { patience: line.patience, ..Admission::new(&candidate, &limits, Caller::Combo) };
    for (name, expected) in [("a", true), ("b", false)] {
        line.enters(name);
        let availability = line.engine.availability(&ask, &line.settings, line.now);
        assert_eq!(availability == Availability::Available, expected, "after {name}");
    }
    assert!(matches!(
        line.engine.admit(&ask, &line.settings, line.now),
        Admitted::Refused(exclusion) if exclusion.mechanism == Mechanism::ConcurrencyCap
    ));
}

#[test]
fn whoever_leaves_the_line_gives_its_place_to_the_next() {
    // QS-08, RQ-17
    let mut line = Line::capped(1);
    ["a", "b", "c"].iter().for_each(|name| line.enters(name));
    line.aborts("b");
    line.ends_with("a", &Outcome::Neutral(Neutral::Abandoned));
    assert_eq!(line.went, ["a", "c"]);
    line.ends_with("c", &Outcome::Failure(failure(500, Reason::ServerError)));
    assert_eq!((line.engine.gates.clone(), line.engine.room.len()), (Default::default(), 0));
}

#[test]
fn a_raised_cap_serves_those_who_wait_at_once() {
    // QS-24
    let mut line = Line::capped(1);
    ["a", "b", "c", "d"].iter().for_each(|name| line.enters(name));
    line.limits.max_concurrent = Some(2);
    let limits = line.limits.clone();
    let effects = line.engine.limits_changed(&"c1".into(), &limits, &line.settings, line.now);
    line.take(effects);
    assert_eq!(line.went, ["a", "b"]);
    line.ends("a");
    assert_eq!(line.went, ["a", "b", "c"]);

    line.settings.request_queue.global_concurrent_requests = 1;
    line.ticks();
    line.ends("b");
    assert_eq!(line.waiting(), 1, "the lowered cap counts those under way");
    line.ends("c");
    assert_eq!(line.went.last(), Some(&"d"));
}

#[test]
fn a_newcomer_with_a_higher_cap_overtakes_nobody() {
    let mut line = Line::capped(1);
    ["a", "b"].iter().for_each(|name| line.enters(name));
    line.limits.max_concurrent = Some(2);
    line.enters("c");
    assert_eq!(line.went, ["a"]);
    line.ends("a");
    assert_eq!(line.went, ["a", "b", "c"]);
}

#[test]
fn an_account_that_begins_to_rest_sends_those_who_wait_for_it_elsewhere() {
    // RQ-16
    let mut line = Line::capped(1);
    ["a", "b", "c"].iter().for_each(|name| line.enters(name));
    line.ends_with("a", &Outcome::Failure(failure(500, Reason::ServerError)));
    for name in ["b", "c"] {
        let refusal = line.refused.remove(name).expect("its turn has come");
        let Refusal::Excluded(exclusion) = refusal else { panic!("{name} is refused for another reason: {refusal:?}") };
        assert_eq!(exclusion.mechanism, Mechanism::ConnectionCooldown);
    }
    assert_eq!(line.waiting(), 0);
}

#[test]
fn whoever_waits_for_a_deleted_account_is_told() {
    let mut line = Line::capped(1);
    ["a", "b"].iter().for_each(|name| line.enters(name));
    let effects = line.engine.forget(&"c1".into());
    line.take(effects);
    assert!(matches!(&line.refused["b"], Refusal::Excluded(it) if it.mechanism == Mechanism::SwitchedOff));
    line.ends("a");
    assert!(line.engine.connections.is_empty());
}

#[test]
fn quota_share_requests_wait_for_each_other_but_are_never_refused() {
    // QS-01, QS-05, QS-06
    let mut line = Line::capped(1);
    line.share = true;
    line.patience = Patience { wait: Millis::new(100), depth: Some(2) };
    ["a", "b", "c", "d"].iter().for_each(|name| line.enters(name));
    assert_eq!(line.went, ["a", "d"], "the last finds too many waiting and goes without a place");
    line.passes(Millis::new(99));
    assert_eq!(line.waiting(), 2);
    line.passes(Millis::new(1));
    assert_eq!(line.went, ["a", "d", "b", "c"]);
    for name in ["a", "b", "c", "d"] {
        line.ends(name);
    }
    assert_eq!((line.refused.len(), line.engine.gates.clone()), (0, Default::default()));
}

#[test]
fn whoever_is_beyond_its_share_waits_behind_those_who_come_later() {
    let mut line = Line::capped(1);
    line.share = true;
    line.enters("a");
    line.lowered = true;
    ["b", "c"].iter().for_each(|name| line.enters(name));
    line.lowered = false;
    ["d", "e"].iter().for_each(|name| line.enters(name));
    for name in ["a", "d", "e", "b", "c"] {
        line.ends(name);
    }
    assert_eq!(line.went, ["a", "d", "e", "b", "c"]);
}

#[test]
fn a_place_that_is_kept_between_two_attempts_is_nobody_elses() {
    // QS-07
    let mut line = Line::capped(1);
    line.share = true;
    line.enters("a");
    line.enters("b");
    let kept = line.keeps("a").expect("a place");
    line.ends("a");
    assert_eq!(line.waiting(), 1, "the place is still taken");
    line.enters_again("a", kept);
    line.ends("a");
    assert_eq!(line.went, ["a", "a", "b"]);
    let kept = line.keeps("b").expect("a place");
    line.enters("c");
    line.ends("b");
    let Line { engine, settings, now, .. } = &mut line;
    let effects = engine.give_back(kept, settings, *now);
    line.take(effects);
    line.ends("c");
    assert_eq!((line.waiting(), line.engine.gates.clone()), (0, Default::default()));
}

#[test]
fn places_that_are_kept_between_two_attempts_are_nobody_elses_at_any_gate() {
    let mut line = Line::new(Limits { overrides: overriding(Some(1), &[("m1", 1)]), ..Limits::default() });
    line.settings.request_queue.global_concurrent_requests = 1;
    ["a", "b"].iter().for_each(|name| line.enters(name));
    let kept = line.keeps("a").expect("places");
    line.ends_with("a", &Outcome::Neutral(Neutral::Abandoned));
    line.enters("c");
    assert_eq!(line.waiting(), 2, "the places are still taken");
    line.enters_again("a", kept);
    for name in ["a", "b", "c"] {
        line.ends(name);
    }
    assert_eq!((line.went.as_slice(), line.engine.gates.clone()), (&["a", "a", "b", "c"][..], Default::default()));
}

#[test]
fn only_the_share_of_kept_places_outlives_going_elsewhere() {
    let mut line = Line::capped(1);
    line.limits.overrides = overriding(Some(1), &[]);
    line.share = true;
    line.enters("a");
    let mut kept = line.keeps("a").expect("places");
    line.ends("a");
    let share = kept.take_share().expect("a share");
    assert_eq!(share.gates(), [GateKey::QuotaShare("c1".into())]);
    assert_eq!(kept.take_share(), None);
    let Line { engine, settings, now, .. } = &mut line;
    engine.give_back(kept, settings, *now);
    assert_eq!(engine.in_flight(&"c1".into()), 0);
    engine.forget(&"c1".into());
    engine.give_back(share, settings, *now);
    assert_eq!(engine.gates, Default::default());
}

#[test]
fn nothing_is_left_of_a_deleted_account_once_its_kept_places_are_given_back() {
    let mut line = Line::capped(1);
    line.enters("a");
    let kept = line.keeps("a").expect("places");
    let effects = line.engine.forget(&"c1".into());
    line.take(effects);
    line.ends("a");
    let Line { engine, settings, now, .. } = &mut line;
    engine.give_back(kept, settings, *now);
    assert!(engine.connections.is_empty() && engine.gates == Default::default());
}

#[test]
fn without_a_cap_or_with_the_switch_off_quota_share_requests_do_not_wait() {
    // QS-03, QS-04
    for (cap, enabled) in [(0, true), (1, false)] {
        let mut line = Line::capped(cap);
        line.share = true;
        line.settings.quota_share_concurrency_limit.enabled = enabled;
        ["a", "b", "c", "d", "e"].iter().for_each(|name| line.enters(name));
        assert_eq!(line.running.len(), 5, "{cap} {enabled}");
    }
}

#[test]
fn a_share_given_up_does_not_lift_the_caps_of_its_overrides() {
    let mut line =
        Line::new(Limits { max_concurrent: Some(1), overrides: overriding(None, &[("m1", 1)]), ..Limits::default() });
    line.share = true;
    line.patience = Patience { wait: Millis::new(100), depth: None };
    ["a", "b"].iter().for_each(|name| line.enters(name));
    line.passes(seconds(20));
    assert_eq!((line.went.as_slice(), line.waiting()), (&["a"][..], 1));
    line.passes(seconds(11));
    assert_eq!(line.code("b"), Some("SEMAPHORE_TIMEOUT"));
}

#[test]
fn a_combo_s_target_has_a_gate_of_its_own() {
    let mut line = Line::new(Limits::default());
    let candidate = candidate("c1", "m1");
    let limits = Limits::default();
    let gate = |key| Some(ComboGate::Target { combo: "fast", execution_key: key, cap: 1 });
    let ask = |key| Admission { combo_gate: gate(key), ..Admission::new(&candidate, &limits, Caller::Combo) };
    let first = line.engine.admit(&ask("k1"), &line.settings, START);
    let Admitted::Permit(permit) = first else { panic!("it is free") };
    assert!(permit.gates().iter().any(|gate| gate.to_string() == "combo:fast:k1"));
    assert!(matches!(line.engine.admit(&ask("k1"), &line.settings, START), Admitted::Refused(_)));
    assert!(matches!(line.engine.admit(&ask("k2"), &line.settings, START), Admitted::Permit(_)));
    assert!(matches!(line.engine.enter(&ask("k1"), &line.settings, START), Entered::Queued(_)));
    let effects = line.engine.settle(permit, &Outcome::Neutral(Neutral::Abandoned), &line.settings, START);
    assert_eq!(effects.granted.len(), 1);
}

#[test]
fn a_test_passes_every_gate_and_is_counted() {
    let mut line = Line::capped(1);
    line.enters("a");
    let candidate = candidate("c1", "m1");
    let limits = line.limits.clone();
    let ask = Admission::new(&candidate, &limits, Caller::Test);
    assert!(matches!(line.engine.enter(&ask, &line.settings, START), Entered::Permit(_)));
    assert_eq!(line.engine.connection(&"c1".into(), &line.settings, START).in_flight, 2);
}
