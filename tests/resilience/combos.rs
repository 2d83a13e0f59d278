//! What the mechanisms do where a combo asks (scenarios SR-08, PR-05, PR-06, CB-40).

use acceptance::{Connection, Reply, World, messages_body};
use domain::Millis;
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

use crate::cast::{AK, open, start};

const ROUTER: &str = "agentrouter";
/// "The user's quota is not enough."
const QUOTA: &str = "用户额度不足";

async fn combo(world: &World, name: &str, models: Value) -> String {
    let config = json!({ "maxRetries": 0, "disableSessionStickiness": true });
    let body = json!({ "name": name, "strategy": "priority", "models": models, "config": config });
    let made = world.managed(Method::POST, "/api/combos", Some(body)).await;
    made["combo"]["id"].as_str().expect("an id").to_owned()
}

async fn ask(world: &World, name: &str) -> Reply {
    world.agent().post("/v1/messages", messages_body(name, false)).await
}

/// The models that an account was asked for, in order.
fn asked(world: &World, account: &Connection) -> Vec<String> {
    world.calls(account).into_iter().filter_map(|call| call.model).collect()
}

#[tokio::test]
async fn a_combo_whose_targets_are_all_out_of_quota_is_a_429_with_a_window() {
    // SR-08
    let world = start().await;
    let c1 = world.connect(ROUTER, "c1").await;
    let c2 = world.connect(ROUTER, "c2").await;
    for account in [&c1, &c2] {
        world.script(account).then(Step::error(403, QUOTA));
    }
    combo(&world, "pair", json!(["agentrouter/m1", "agentrouter/m2"])).await;
    let reply = ask(&world, "pair").await;
    assert_eq!(reply.status, 429, "{}", reply.text());
    assert_eq!(reply.error_word(), "rate_limit_error", "{}", reply.text());
    let window: u64 = reply.header("retry-after").expect("a window").parse().expect("seconds");
    assert!(window >= 1, "{window}");
    assert_eq!((world.calls(&c1).len(), world.calls(&c2).len()), (1, 1), "each account found out once");
    world.check_invariants().await;
}

#[tokio::test]
async fn an_account_that_is_out_of_quota_is_not_asked_twice_by_one_combo() {
    // PR-05: two steps pinned to it; PR-06: a plain list goes to the other account, and with one account nowhere.
    let world = start().await;
    let c1 = world.connect(ROUTER, "c1").await;
    world.script(&c1).then(Step::error(429, "额度不足"));
    let pinned = |model: &str| json!({ "model": format!("agentrouter/{model}"), "connectionId": c1.id });
    combo(&world, "pinned", json!([pinned("m1"), pinned("m2")])).await;
    combo(&world, "plain", json!(["agentrouter/m1", "agentrouter/m2"])).await;

    for name in ["pinned", "plain"] {
        let reply = ask(&world, name).await;
        assert!(!reply.status.is_success(), "{name}: {}", reply.text());
        assert_eq!(asked(&world, &c1), ["m1"], "{name}");
        assert!(world.locks(&c1).is_empty(), "{name}: the account is out, not a model");
        world.upstream.reset();
        world.script(&c1).then(Step::error(429, "额度不足"));
        world.advance(Millis::hours(1));
    }

    let c2 = world.connect(ROUTER, "c2").await;
    let reply = ask(&world, "plain").await;
    assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()), "{}", reply.text());
    assert_eq!(asked(&world, &c1), ["m1"]);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_trial_of_a_combo_asks_behind_an_open_breaker_and_changes_nothing() {
    // CB-40
    let world = start().await;
    let opener = open(&world, AK, 12).await;
    let id = combo(&world, "tried", json!(["openai/m1"])).await;
    for (step, ok) in [(Step::ok("fine"), true), (Step::error(503, "down"), false)] {
        world.script(&opener).then(step);
        let before = (world.breaker(AK), world.calls(&opener).len());
        let tried = world.managed(Method::POST, &format!("/api/combos/{id}/test"), Some(json!({}))).await;
        assert_eq!(tried.to_string().contains("\"ok\":true"), ok, "{tried}");
        let after = (world.breaker(AK), world.calls(&opener).len());
        assert_eq!((after.0, after.1), (before.0, before.1 + 1), "{ok}");
    }
    world.check_invariants().await;
}
