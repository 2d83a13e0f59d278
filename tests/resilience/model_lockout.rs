//! Model lockout: one model of one account rests (resilience specification, 11; scenarios ML).
//!
//! Direct requests take the path that is always on; the configurable one belongs to combos.

use std::collections::BTreeSet;

use acceptance::{Ask, Connection, World};
use domain::Millis;
use fake_upstream::{Break, Gate, Step};
use http::Method;
use serde_json::json;

use crate::cast::{AK, MS, ask, open, post, post_m1, start};

/// A world with a model-scoped provider and one account of it.
async fn model_scoped() -> (World, String, Connection) {
    let world = start().await;
    let node = world.node(MS, "apikey").await;
    let c1 = world.connect(&node, "c1").await;
    (world, node, c1)
}

fn lock(model: &str, seconds: u64) -> Vec<(String, Millis)> {
    vec![(model.to_owned(), Millis::seconds(seconds))]
}

#[tokio::test]
async fn a_limit_of_one_model_locks_that_model_of_that_account() {
    // ML-01, ML-26, ML-02 on the path that is always on.
    let (world, node, c1) = model_scoped().await;
    let settings = world.managed(Method::GET, "/api/resilience", None).await;
    assert_eq!(settings["modelLockout"]["enabled"], false, "{settings}");
    let c2 = world.connect(&node, "c2").await;
    world.script_model(&c1, "m1").then(Step::error(429, "slow down"));
    for rest in [3, 6, 12, 24, 48, 96, 96] {
        let reply = post_m1(&world, MS).await;
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()), "{}", reply.text());
        assert_eq!(world.locked(&c1), lock("m1", rest));
        assert_eq!(world.locks(&c2), []);
        let other = post(&world, &ask(MS, "m2")).await;
        assert_eq!(other.header("x-omniroute-selected-connection-id"), Some(c1.id.as_str()), "m2 is served");
        assert_eq!(world.health(&c1).cooling_until, None, "the account is fine");
        world.advance(Millis::seconds(rest));
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_lock_ends_at_its_very_instant() {
    // ML-10
    let (world, _, c1) = model_scoped().await;
    world.script(&c1).then(Step::error(429, "slow down")).then(Step::ok("fine"));
    post_m1(&world, MS).await;
    world.advance(Millis::new(2_999));
    let reply = post_m1(&world, MS).await;
    assert_eq!((reply.status.as_u16(), world.calls(&c1).len()), (429, 1), "{}", reply.text());
    world.advance(Millis::new(1));
    assert_eq!(post_m1(&world, MS).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_locked_model_is_a_429_that_names_it_in_every_dialect_of_its_client() {
    // Resilience specification, 4.8: model_cooldown.
    let (world, _, c1) = model_scoped().await;
    world.script(&c1).then(Step::error(429, "slow down").with_header("retry-after", "90"));
    post_m1(&world, MS).await;
    let reply = post_m1(&world, MS).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some("90")), "{}", reply.text());
    let error = reply.json()["error"].clone();
    assert_eq!((&error["code"], &error["type"]), (&json!("model_cooldown"), &json!("rate_limit_error")), "{error}");
    assert_eq!((&error["model"], &error["reset_seconds"]), (&json!("m1"), &json!(90)), "{error}");
    assert_eq!(error["credentials_cooling"], 1, "{error}");
    assert!(error["retry_after"].as_str().is_some_and(|at| at.ends_with('Z')), "{error}");
    let gemini = world.connect("gemini", "c1").await;
    world.script(&gemini).then(Step::error(429, "slow down").with_header("retry-after", "90"));
    for stream in [false, true] {
        let asked = Ask::of("gemini", "m1", domain::Dialect::Gemini, stream);
        post(&world, &asked).await;
        let reply = post(&world, &asked).await;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some("90")), "{}", reply.text());
        assert_eq!(reply.error_word(), "RESOURCE_EXHAUSTED");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn each_status_locks_what_it_speaks_of() {
    // ML-05 on the path that is always on, ML-08, ML-28, EC-06
    let rows = [
        (404, Some("m1")),
        (408, Some("m1")),
        (429, Some("m1")),
        (502, Some("m1")),
        (503, Some("m1")),
        (504, Some("m1")),
        (403, Some("m1")),
        (500, None),
    ];
    for (status, locked) in rows {
        let (world, _, c1) = model_scoped().await;
        world.script_model(&c1, "m1").then(Step::error(status, "no"));
        post_m1(&world, MS).await;
        let locks: Vec<String> = world.locks(&c1).into_iter().map(|lock| lock.model).collect();
        assert_eq!(locks.first().map(String::as_str), locked, "{status}");
        assert!(locks.len() <= 1, "{status}: {locks:?}");
        let health = world.health(&c1);
        assert_eq!((health.cooling_until, health.status.is_terminal()), (None, false), "{status}");
        assert!(health.last_error.is_some(), "{status}");
        assert_eq!(post(&world, &ask(MS, "m2")).await.status, 200, "{status}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn an_announced_wait_is_taken_as_it_is() {
    // ML-27, ML-16
    for seconds in [1, 600] {
        let (world, _, c1) = model_scoped().await;
        let step = Step::error(429, "slow down").with_header("retry-after", &seconds.to_string());
        world.script(&c1).then(step);
        post_m1(&world, MS).await;
        assert_eq!(world.locked(&c1), lock("m1", seconds));
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_longer_lock_survives_a_shorter_one() {
    // ML-11
    let (world, _, c1) = model_scoped().await;
    let limited = |seconds: &str| Step::error(429, "slow down").with_header("retry-after", seconds);
    let gate = Gate::closed();
    world.script(&c1).then(limited("120").held(&gate)).then(limited("1800"));
    let slow = crate::cast::begin(&world, &c1, &ask(MS, "m1")).await;
    post_m1(&world, MS).await;
    world.advance(Millis::minutes(1));
    gate.open();
    slow.await.expect("a reply");
    assert_eq!(world.locked(&c1), lock("m1", 1_740));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_long_silence_begins_the_ladder_anew() {
    // ML-14: the window is the breaker's reset time, 30 s, after the last lock.
    let (world, _, c1) = model_scoped().await;
    world.script(&c1).then(Step::error(429, "slow down"));
    for (wait, rest) in [(0, 3), (3, 6), (6 + 30, 12), (12 + 31, 3)] {
        world.advance(Millis::seconds(wait));
        post_m1(&world, MS).await;
        assert_eq!(world.locked(&c1), lock("m1", rest), "after {wait} s");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn nothing_is_locked_while_the_provider_is_out() {
    // ML-17
    let (world, node, c1) = model_scoped().await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::error(503, "down").held(&gate));
    let asked = ask(MS, "slow");
    let slow = crate::cast::begin(&world, &c1, &asked).await;
    let c2 = world.connect(&node, "c2").await;
    world.change(&c1, json!({ "isActive": false })).await;
    world.script(&c2).then(Step::error(503, "down"));
    crate::cast::send(&world, MS, 12).await;
    assert_eq!(world.breaker_state(&node).0, "OPEN");
    gate.open();
    slow.await.expect("a reply");
    assert_eq!(world.locks(&c1), []);
    world.check_invariants().await;
}

#[tokio::test]
async fn locks_outlive_a_restart_where_they_are_kept() {
    // ML-18, ML-19
    for kept in [true, false] {
        let (mut world, _, c1) = model_scoped().await;
        world.resilience(json!({ "modelLockout": { "persist": kept } })).await;
        world.script(&c1).then(Step::error(429, "slow down").with_header("retry-after", "600"));
        post_m1(&world, MS).await;
        let before = world.locks(&c1);
        world.advance(Millis::seconds(60));
        world.restart().await;
        let settings = world.managed(Method::GET, "/api/resilience", None).await;
        assert_eq!(settings["modelLockout"]["persist"], kept, "{settings}");
        if kept {
            let after = world.locks(&c1);
            assert_eq!(world.locked(&c1), lock("m1", 540));
            assert_eq!((&after[0].reason, after[0].failure_count), (&before[0].reason, before[0].failure_count));
            assert_eq!(post_m1(&world, MS).await.status, 429);
        } else {
            assert_eq!(world.locks(&c1), []);
        }
        assert_eq!(world.calls(&c1).len(), 1);
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn an_alias_of_a_provider_is_the_provider() {
    // ML-21: the node's id and its prefix.
    let (world, node, c1) = model_scoped().await;
    world.script(&c1).then(Step::error(429, "slow down"));
    post_m1(&world, MS).await;
    let by_id = world.agent().post("/v1/chat/completions", acceptance::chat_body(&format!("{node}/m1"), false)).await;
    assert_eq!((by_id.status.as_u16(), world.calls(&c1).len()), (429, 1), "{}", by_id.text());
    assert_eq!(world.locks(&c1)[0].provider.as_str(), node);
    world.check_invariants().await;
}

#[tokio::test]
async fn fifty_refusals_at_once_are_one_episode() {
    // ML-23
    let (world, _, c1) = model_scoped().await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::error(429, "slow down").held(&gate));
    let asking = crate::cast::crowd(&world, &c1, &ask(MS, "m1"), 50).await;
    gate.open();
    for reply in asking {
        assert_eq!(reply.await.expect("a reply").status, 429);
    }
    assert_eq!(world.locked(&c1), lock("m1", 3));
    assert_eq!(world.locks(&c1)[0].failure_count, 1);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_success_on_the_direct_path_clears_the_lock_of_its_model() {
    // ML-25: a request that was under way when the model was locked comes back well.
    let (world, _, c1) = model_scoped().await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::ok("fine").held(&gate)).then(Step::error(429, "slow down"));
    let well = crate::cast::begin(&world, &c1, &ask(MS, "m1")).await;
    post_m1(&world, MS).await;
    assert_eq!(world.locked(&c1), lock("m1", 3));
    gate.open();
    assert_eq!(well.await.expect("a reply").status, 200);
    assert_eq!(world.locks(&c1), []);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_connection_may_say_whether_its_quotas_are_per_model() {
    // ML-29
    let world = start().await;
    let node = world.node(MS, "apikey").await;
    let whole = json!({ "providerSpecificData": { "passthroughModels": false } });
    let c1 = world.connect_with(&node, "c1", whole).await;
    let single = json!({ "providerSpecificData": { "passthroughModels": true } });
    let c2 = world.connect_with(AK, "c2", single).await;
    for account in [&c1, &c2] {
        world.script(account).then(Step::error(429, "slow down"));
    }
    post_m1(&world, MS).await;
    post_m1(&world, AK).await;
    assert_eq!((world.cooling(&c1), world.locks(&c1)), (Some(Millis::seconds(3)), Vec::new()));
    assert_eq!((world.cooling(&c2), world.locked(&c2)), (None, lock("m1", 3)));
    world.check_invariants().await;
}

#[tokio::test]
async fn bounds_of_the_lockout_are_checked_when_they_are_set() {
    // ML-20
    let world = start().await;
    for wrong in [
        json!({ "baseCooldownMs": 1_000 }),
        json!({ "baseCooldownMs": 600_000, "maxCooldownMs": 500_000 }),
        json!({ "maxBackoffSteps": 21 }),
        json!({ "errorCodes": [99] }),
        json!({ "errorCodes": [600] }),
    ] {
        let reply = world.manage(Method::PATCH, "/api/resilience", Some(json!({ "modelLockout": wrong }))).await;
        assert_eq!(reply.status, 400, "{wrong}: {}", reply.text());
    }
    world.check_invariants().await;
}

/// Two models of the shared scope, and one with a scope of its own.
const CODEX: [&str; 3] = ["gpt-5-codex", "gpt-5", "gpt-5.3-codex-spark"];

async fn codex(step: Step) -> (World, Connection) {
    let world = start().await;
    let c1 = world.connect("codex", "c1").await;
    world.script_model(&c1, CODEX[0]).then(step);
    post(&world, &ask("codex", CODEX[0])).await;
    (world, c1)
}

/// Which of the three models an account still serves.
async fn served(world: &World) -> Vec<bool> {
    let mut served = Vec::new();
    for model in CODEX {
        served.push(post(world, &ask("codex", model)).await.status == 200);
    }
    served
}

#[tokio::test]
async fn a_codex_limit_concerns_its_family_and_a_codex_fault_one_model() {
    // ML-06, ML-07, ML-08; handed case.
    let empty = Step::sse([acceptance::empty_stream(domain::Dialect::Responses)]);
    let rows = [
        ("429", Step::error(429, "slow down").with_header("retry-after", "600"), [false, false, true], true),
        ("502", Step::error(502, "bad gateway"), [false, true, true], true),
        ("503", Step::error(503, "down"), [false, true, true], true),
        ("404", Step::error(404, "no such model"), [false, true, true], true),
        ("empty", empty, [false, true, true], true),
        ("cut", Step::sse([": opened\n\n"]).broken(usize::MAX, Break::Close), [false, true, true], true),
    ];
    for (name, step, expected, locked) in rows {
        let (world, c1) = codex(step).await;
        assert_eq!(!world.locks(&c1).is_empty(), locked, "{name}: {:?}", world.locks(&c1));
        assert_eq!(served(&world).await, expected, "{name}: {:?}", world.locks(&c1));
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn the_scope_of_a_codex_limit_outlives_a_restart() {
    // ML-31
    let (mut world, c1) = codex(Step::error(429, "slow down").with_header("retry-after", "600")).await;
    world.restart().await;
    assert_eq!(served(&world).await, [false, false, true], "{:?}", world.locks(&c1));
    world.check_invariants().await;
}

#[tokio::test]
async fn locks_are_of_the_account_that_failed() {
    // XC-03: `m2` of the same account and `m1` of another go on.
    let world = start().await;
    let node = world.node(MS, "apikey").await;
    let c1 = world.connect(&node, "c1").await;
    world.script_model(&c1, "m1").then(Step::error(404, "no such model"));
    post_m1(&world, MS).await;
    assert_eq!((world.breaker_state(&node), world.cooling(&c1)), (("CLOSED", 0), None));
    assert_eq!(world.locks(&c1).len(), 1);
    assert_eq!(post(&world, &ask(MS, "m2")).await.status, 200);
    open(&world, AK, 12).await;
    assert_eq!(post(&world, &ask(MS, "m3")).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_thousand_locks_are_kept_and_none_that_runs_makes_room_for_another() {
    // ML-22
    let (world, _, c1) = model_scoped().await;
    world.script(&c1).then(Step::error(429, "slow down").with_header("retry-after", "1"));
    assert_ne!(post(&world, &ask(MS, "ended")).await.status, 200);
    world.advance(Millis::seconds(1));
    world.script(&c1).then(Step::error(429, "slow down").with_header("retry-after", "3600"));
    for number in 0..2_000 {
        let refused = post(&world, &ask(MS, &format!("m{number}"))).await;
        assert_ne!(refused.status, 200);
    }
    let locked = world.model_cooldowns().await;
    let names: BTreeSet<&str> = locked.iter().filter_map(|lock| lock["model"].as_str()).collect();
    let expected: Vec<String> = (0..1_000).map(|number| format!("m{number}")).collect();
    assert_eq!(names, expected.iter().map(String::as_str).collect(), "the one that had ended made room");
    let calls = world.calls(&c1).len();
    post(&world, &ask(MS, "m0")).await;
    assert_eq!(world.calls(&c1).len(), calls, "locked");
    post(&world, &ask(MS, "m1999")).await;
    assert_eq!(world.calls(&c1).len(), calls + 1, "there was no room");
    world.check_invariants().await;
}
