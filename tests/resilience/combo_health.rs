//! What the failures of a combo's targets cost whom: the provider's breaker, the optional provider cooldown, the account
//! (resilience specification, 2.6, 3 and 4; gateway specification, 3.8; scenarios CB, GP, CC and DG).

use acceptance::{Connection, Reply, World, chat_body};
use domain::{Millis, ProviderId};
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

use crate::cast::{AK, AK2, LO, MS, OA, ask as asking, open, post, send, start, uncooled};

/// A combo named `team` that repeats nothing.
async fn combo(world: &World, strategy: &str, models: Value) {
    let config = json!({ "maxRetries": 0, "disableSessionStickiness": true });
    let body = json!({ "name": "team", "strategy": strategy, "models": models, "config": config });
    world.managed(Method::POST, "/api/combos", Some(body)).await;
}

async fn ask(world: &World) -> Reply {
    world.agent().post("/v1/chat/completions", chat_body("team", false)).await
}

fn served_by(reply: &Reply, connection: &Connection) {
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(connection.id.as_str()), "{}", reply.text());
}

/// Why the account's provider was left out of the newest request.
async fn reason(world: &World, provider: &str) -> Option<String> {
    let row = world.last_request().await;
    let excluded = row["trace"]["exclusions"].as_array().expect("a list").clone();
    let found = excluded.into_iter().find(|record| record["provider"] == provider)?;
    found["reason"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_combo_passes_an_open_provider_by_and_counts_nothing_for_it() {
    // CB-22, CB-24
    let world = start().await;
    let c1 = open(&world, AK, 12).await;
    let c2 = world.connect(OA, "c2").await;
    combo(&world, "priority", json!(["openai/m1", "claude/m1"])).await;
    let before = world.calls(&c1).len();
    served_by(&ask(&world).await, &c2);
    assert_eq!(reason(&world, AK).await.as_deref(), Some("circuit_open"));
    world.script(&c2).then(Step::error(400, "a phrase in no list"));
    for _ in 0..3 {
        ask(&world).await;
    }
    assert_eq!((world.calls(&c1).len(), world.cooling(&c1)), (before, None));
    assert_eq!(world.breaker_state(AK), ("OPEN", 12), "our own refusal is not the provider's");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_does_not_pass_a_degraded_provider_by() {
    // CB-23
    let world = start().await;
    let c1 = uncooled(&world, AK, "c1").await;
    world.connect(OA, "c2").await;
    world.script(&c1).then(Step::error(503, "down"));
    while world.breaker_state(AK).0 != "DEGRADED" {
        send(&world, AK, 1).await;
    }
    combo(&world, "priority", json!(["openai/m1", "claude/m1"])).await;
    world.script(&c1).then(Step::ok("fine"));
    served_by(&ask(&world).await, &c1);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_burst_of_a_combo_at_one_account_counts_once_and_spaced_failures_count_each() {
    // CB-26
    let world = start().await;
    let c1 = uncooled(&world, AK, "c1").await;
    world.script(&c1).then(Step::error(503, "down"));
    combo(&world, "priority", json!(["openai/m1"])).await;
    for _ in 0..12 {
        ask(&world).await;
        world.advance(Millis::new(333));
    }
    assert_eq!((world.calls(&c1).len(), world.breaker_state(AK)), (12, ("CLOSED", 1)));
    world.advance(Millis::seconds(1) + Millis::new(4));
    for failures in 2..6 {
        ask(&world).await;
        assert_eq!(world.breaker_state(AK), ("CLOSED", failures));
        world.advance(Millis::seconds(5));
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn of_several_targets_in_a_row_at_one_provider_the_last_that_is_asked_speaks_for_it() {
    // CB-26, resilience specification, 2.6: the very next target is the same provider
    let world = start().await;
    let (c1, c2) = (uncooled(&world, AK, "c1").await, uncooled(&world, AK, "c2").await);
    let pinned = |connection: &Connection, model: &str| json!({ "kind": "model", "providerId": AK, "model": model, "connectionId": connection.id });
    combo(&world, "priority", json!([pinned(&c1, "m1"), pinned(&c2, "m2"), "claude/m1"])).await;
    let c3 = world.connect(OA, "c3").await;
    world.script(&c1).then(Step::error(503, "down"));
    served_by(&ask(&world).await, &c2);
    assert_eq!(world.breaker_state(AK), ("CLOSED", 0), "the next target answered");
    world.script(&c2).then(Step::error(503, "down"));
    served_by(&ask(&world).await, &c3);
    assert_eq!(world.breaker_state(AK), ("CLOSED", 1));
    world.check_invariants().await;
}

#[tokio::test]
async fn where_the_next_target_of_the_provider_has_nobody_left_to_ask_the_failure_is_charged_once() {
    // Resilience specification, 2.6: every credential rate-limited, and the last status was a trip status
    for accounts in 1..4 {
        let world = start().await;
        let mut cast = Vec::new();
        for number in 0..accounts {
            let account = uncooled(&world, AK, &format!("c{number}")).await;
            world.script(&account).then(Step::error(503, "down"));
            cast.push(account);
        }
        let other = world.connect(OA, "other").await;
        combo(&world, "priority", json!(["openai/m1", "openai/m2", "claude/m1"])).await;
        served_by(&ask(&world).await, &other);
        let calls: usize = cast.iter().map(|account| world.calls(account).len()).sum();
        assert_eq!(calls, accounts, "each account once: the second target has nobody left");
        assert_eq!(world.breaker_state(AK), ("CLOSED", 1), "{accounts}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_request_that_meets_limits_and_then_a_sick_account_charges_the_provider_once() {
    // Resilience specification, 2.6
    let world = start().await;
    for (number, status) in [429, 429, 503].into_iter().enumerate() {
        let account = uncooled(&world, AK, &format!("c{number}")).await;
        world.script(&account).then(Step::error(status, "no"));
    }
    combo(&world, "priority", json!(["openai/m1"])).await;
    ask(&world).await;
    assert_eq!(world.breaker_state(AK), ("CLOSED", 1));
    world.check_invariants().await;
}

/// Fails a combo's first target so often, `apart` from each other.
async fn fails(world: &World, times: u32, apart: Millis) {
    for _ in 0..times {
        ask(world).await;
        world.advance(apart);
    }
}

/// A provider cooldown that concerns providers as a whole and no single account.
async fn windows_only(world: &World) {
    world.resilience(json!({ "providerCooldown": { "enabled": true, "minRetryCooldownMs": 0 } })).await;
}

#[tokio::test]
async fn a_provider_rests_from_so_many_failures_in_its_window_until_the_very_end() {
    // GP-02, GP-03, GP-05
    for (provider, failures, seconds) in [(AK, 15, 600), (OA, 10, 300)] {
        let world = start().await;
        windows_only(&world).await;
        let c1 = uncooled(&world, provider, "c1").await;
        let c2 = world.connect(AK2, "c2").await;
        world.script(&c1).then(Step::error(429, "slow down"));
        combo(&world, "priority", json!([format!("{provider}/m1"), "deepseek/m1"])).await;
        fails(&world, failures - 1, Millis::seconds(1)).await;
        served_by(&ask(&world).await, &c2);
        assert_eq!(world.calls(&c1).len(), failures as usize, "{provider}: not before the last of them");
        world.advance(Millis::new(seconds * 1_000 - 1));
        served_by(&ask(&world).await, &c2);
        assert_eq!(world.calls(&c1).len(), failures as usize, "{provider}");
        assert_eq!(reason(&world, provider).await.as_deref(), Some("provider_cooldown"), "{provider}");
        world.advance(Millis::new(1));
        ask(&world).await;
        assert_eq!(world.calls(&c1).len(), failures as usize + 1, "{provider}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_local_server_rests_from_its_second_failure_for_a_minute() {
    // GP-04. Each request is for another model, because the one that failed is locked. The breaker opens as well, and is ready
    // for a probe long before the minute is over.
    let world = start().await;
    windows_only(&world).await;
    let node = world.node(LO, "local").await;
    let (c1, c2) = (uncooled(&world, &node, "c1").await, world.connect(AK2, "c2").await);
    world.script(&c1).then(Step::error(503, "down"));
    let ask = async |model: &str| {
        let models = json!([format!("{node}/{model}"), "deepseek/m1"]);
        let body = json!({ "name": model, "models": models, "config": { "maxRetries": 0 } });
        world.managed(Method::POST, "/api/combos", Some(body)).await;
        world.agent().post("/v1/chat/completions", chat_body(model, false)).await
    };
    for (failures, model) in [(1, "first"), (2, "second")] {
        served_by(&ask(model).await, &c2);
        assert_eq!(world.calls(&c1).len(), failures, "one failure is none");
        world.advance(Millis::new(1));
    }
    world.advance(Millis::new(59_998));
    served_by(&ask("third").await, &c2);
    assert_eq!((world.calls(&c1).len(), reason(&world, &node).await.as_deref()), (2, Some("provider_cooldown")));
    assert_ne!(world.breaker_state(&node).0, "OPEN");
    world.advance(Millis::new(1));
    world.script(&c1).then(Step::ok("fine"));
    served_by(&ask("fourth").await, &c1);
    world.check_invariants().await;
}

#[tokio::test]
async fn old_failures_leave_the_window_and_a_success_empties_it() {
    // GP-06, GP-07
    let world = start().await;
    windows_only(&world).await;
    let c1 = uncooled(&world, AK, "c1").await;
    world.script(&c1).then(Step::error(429, "slow down"));
    combo(&world, "priority", json!(["openai/m1"])).await;
    let resting =
        |world: &World| world.picture().provider_cooldowns.iter().any(|rest| rest.provider == ProviderId::from(AK));
    fails(&world, 10, Millis::ZERO).await;
    world.advance(Millis::minutes(29));
    fails(&world, 4, Millis::ZERO).await;
    world.advance(Millis::minutes(2));
    fails(&world, 1, Millis::ZERO).await;
    assert!(!resting(&world), "five in the window");
    fails(&world, 9, Millis::ZERO).await;
    world.script(&c1).then(Step::ok("fine"));
    served_by(&ask(&world).await, &c1);
    world.script(&c1).then(Step::error(429, "slow down"));
    fails(&world, 1, Millis::ZERO).await;
    assert!(!resting(&world), "one since the success");
    fails(&world, 14, Millis::ZERO).await;
    assert!(resting(&world));
    world.check_invariants().await;
}

#[tokio::test]
async fn an_account_that_fails_in_a_combo_is_passed_by_for_longer_and_longer_until_it_serves() {
    // GP-08
    let world = start().await;
    world.resilience(json!({ "providerCooldown": { "enabled": true } })).await;
    let c1 = uncooled(&world, AK, "c1").await;
    let c2 = world.connect(AK2, "c2").await;
    world.script(&c1).then(Step::error(429, "slow down"));
    combo(&world, "priority", json!(["openai/m1", "deepseek/m1"])).await;
    for (times, seconds) in [5, 10, 20, 40, 80, 160, 300].into_iter().enumerate() {
        ask(&world).await;
        assert_eq!(world.calls(&c1).len(), times + 1);
        world.advance(Millis::new(seconds * 1_000 - 1));
        served_by(&ask(&world).await, &c2);
        assert_eq!(world.calls(&c1).len(), times + 1, "{seconds}");
        world.advance(Millis::new(1));
    }
    world.script(&c1).then(Step::ok("fine")).then(Step::error(429, "slow down"));
    served_by(&ask(&world).await, &c1);
    ask(&world).await;
    world.advance(Millis::seconds(5));
    let before = world.calls(&c1).len();
    ask(&world).await;
    assert_eq!(world.calls(&c1).len(), before + 1, "five seconds again");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_moments_failure_of_a_combo_cools_the_account_or_locks_the_model() {
    // CC-28, CC-35
    for enabled in [false, true] {
        let world = start().await;
        world.resilience(json!({ "modelLockout": { "enabled": enabled } })).await;
        let node = world.node(MS, "apikey").await;
        let scoped = world.connect(&node, "scoped").await;
        let plain = world.connect(AK, "plain").await;
        let last = world.connect(AK2, "last").await;
        for account in [&scoped, &plain] {
            world.script(account).then(Step::error(503, "down"));
        }
        combo(&world, "priority", json!([format!("{node}/m1"), "openai/m1", "deepseek/m1"])).await;
        served_by(&ask(&world).await, &last);
        assert_eq!(world.cooling(&scoped), None);
        let lock = world.locks(&scoped);
        assert_eq!((lock.len(), lock[0].scope), (1, "exact"), "{lock:?}");
        let expected = if enabled { (None, 1) } else { (Some(Millis::seconds(3)), 0) };
        assert_eq!((world.cooling(&plain), world.locks(&plain).len()), expected, "{enabled}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn failures_of_a_combo_that_cool_nobody_leave_the_level_of_the_ladder() {
    // CC-33
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(503, "down")).then(Step::error(404, "no such model"));
    combo(&world, "priority", json!(["openai/m1"])).await;
    ask(&world).await;
    let level = world.health(&c1).backoff_level;
    world.advance(Millis::seconds(3));
    for _ in 0..10 {
        ask(&world).await;
    }
    assert_eq!((world.calls(&c1).len(), world.health(&c1).backoff_level, world.cooling(&c1)), (11, level, None));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_with_nobody_to_draw_says_of_each_target_why() {
    // DG-02
    let world = start().await;
    let node = world.node(MS, "apikey").await;
    open(&world, AK, 12).await;
    let remembered = uncooled(&world, AK2, "remembered").await;
    let locked = world.connect(&node, "locked").await;
    let cooling = world.connect("groq", "cooling").await;
    world.script(&cooling).then(Step::error(503, "down"));
    post(&world, &asking("groq", "m1")).await;
    world.resilience(json!({ "providerCooldown": { "enabled": true } })).await;
    for account in [&remembered, &locked] {
        world.script(account).then(Step::error(429, "slow down"));
    }
    combo(&world, "weighted", json!(["openai/m1", "deepseek/m1", format!("{node}/m1"), "groq/m1"])).await;
    ask(&world).await;
    let reply = ask(&world).await;
    assert_eq!(reply.status, 503, "{}", reply.text());
    let body = reply.json();
    assert_eq!(body["error"]["code"], "all_targets_cooling_down", "{body}");
    let excluded = body["diagnostics"]["excluded"].as_array().expect("a list");
    let mut reasons: Vec<&str> = excluded.iter().filter_map(|target| target["reason"].as_str()).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["circuit_open", "model_lockout", "provider_cooldown", "unavailable"], "{body}");
    assert!(excluded.iter().all(|target| target["retry_after_seconds"].is_number()), "{body}");
    world.check_invariants().await;
}

#[tokio::test]
async fn one_timer_is_enough_for_a_wait_to_be_announced() {
    // DG-04
    let world = start().await;
    let (cooling, expired) = (world.connect(AK, "cooling").await, world.connect(AK2, "expired").await);
    world.script(&cooling).then(Step::error(503, "down"));
    world.script(&expired).then(Step::error(401, "bad key"));
    combo(&world, "weighted", json!(["openai/m1", "deepseek/m1"])).await;
    ask(&world).await;
    let reply = ask(&world).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, Some("3")), "{}", reply.text());
    let body = reply.json();
    for target in body["diagnostics"]["excluded"].as_array().expect("a list") {
        assert_eq!(target["reason"], "unavailable", "{body}");
        assert_eq!(target["retry_after_seconds"].is_number(), target["provider"] == AK, "{body}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_diagnosis_of_a_hundred_targets_is_held_to_its_bounds() {
    // DG-05
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(503, "down"));
    let models: Vec<String> = (0..100).map(|n| format!("openai/m{n}")).collect();
    combo(&world, "weighted", json!(models)).await;
    ask(&world).await;
    let reply = ask(&world).await;
    assert_eq!(reply.status, 503, "{}", reply.text());
    let body = reply.json();
    assert_eq!(body["diagnostics"]["poolSize"], 100);
    assert_eq!(body["diagnostics"]["excluded"].as_array().map(Vec::len), Some(64));
    let header = reply.header("x-omniroute-combo-excluded").expect("a list");
    assert!((1..=900).contains(&header.len()), "{}", header.len());
    world.check_invariants().await;
}
