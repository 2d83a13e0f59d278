//! What catalogue and operator know about a provider's errors (resilience specification, 19; scenarios PR).

use acceptance::{Connection, World};
use domain::Millis;
use domain::health::TestStatus;
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

use crate::cast::{AK, ask, post, post_m1, start, uncooled};

const ROUTER: &str = "agentrouter";

async fn rules(world: &World, rules: Value) {
    world.set(json!({ "providerErrorRules": rules })).await;
}

fn minutes(connection_locks: &[(String, Millis)]) -> Vec<(&str, u64)> {
    connection_locks.iter().map(|(model, left)| (model.as_str(), left.as_millis() / 60_000)).collect()
}

#[tokio::test]
async fn a_refused_model_is_locked_for_as_long_as_the_operator_allows_at_most() {
    // PR-01, PR-02
    for (ceiling, expected) in [(None, 30), (Some(3_600_000), 60)] {
        let world = start().await;
        let c1 = world.connect(ROUTER, "c1").await;
        if let Some(ceiling) = ceiling {
            world.resilience(json!({ "modelLockout": { "maxCooldownMs": ceiling } })).await;
        }
        world.script_model(&c1, "m1").then(Step::error(403, "无权访问模型 m1"));
        post_m1(&world, ROUTER).await;
        assert_eq!(minutes(&world.locked(&c1)), [("m1", expected)]);
        assert_eq!(world.locks(&c1)[0].reason, "forbidden");
        assert_eq!(post(&world, &ask(ROUTER, "m2")).await.status, 200);
        assert_eq!((world.cooling(&c1), world.status(&c1)), (None, TestStatus::Active));
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_quota_rule_cools_the_account_and_the_same_request_goes_elsewhere() {
    // PR-03, PR-04
    let world = start().await;
    let c1 = world.connect(ROUTER, "c1").await;
    let c2 = world.connect(ROUTER, "c2").await;
    world.script(&c1).then(Step::error(429, "额度不足"));
    let reply = post_m1(&world, ROUTER).await;
    assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()), "{}", reply.text());
    assert_eq!((world.cooling(&c1), world.locks(&c1)), (Some(Millis::seconds(3)), Vec::new()));
    assert_eq!(world.status(&c1), TestStatus::Unavailable, "TS-22: a rest, no end");

    let world = start().await;
    let c1 = uncooled(&world, ROUTER, "c1").await;
    world.script_model(&c1, "m1").then(Step::error(429, "额度不足"));
    post_m1(&world, ROUTER).await;
    assert_eq!((world.cooling(&c1), world.locks(&c1).len()), (None, 1), "PR-04");
    assert_eq!(post(&world, &ask(ROUTER, "m2")).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn rules_of_providers_outside_the_lists_only_label() {
    // PR-07, PR-08, PR-16
    let world = start().await;
    let router = world.connect("openrouter", "c1").await;
    world.allow_extra_header("x-title");
    world.script_model(&router, "m1").then(Step::error(402, "pay first"));
    post_m1(&world, "openrouter").await;
    assert_eq!(
        (world.cooling(&router), world.locks(&router).len()),
        (None, 1),
        "a pass-through gateway locks the model"
    );
    assert_eq!(post(&world, &ask("openrouter", "m2")).await.status, 200);

    let mini = world.connect("minimax", "c1").await;
    let step = Step::error(429, "slow down").with_header("x-model-quota-remaining", "m1=0");
    world.script_model(&mini, "m1").then(step);
    post_m1(&world, "minimax").await;
    let error = world.health(&mini).last_error.expect("an error");
    assert_eq!(error.status, Some(429), "{error:?}");
    assert!(!world.status(&mini).is_terminal());
    world.check_invariants().await;
}

#[tokio::test]
async fn an_operators_rule_acts_without_a_restart_and_ends_with_its_removal() {
    // PR-09, PR-13, PR-18
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(429, "You hit the DAILY CAP of your team"));
    let rule = json!({ "status": 429, "match": "daily cap", "scope": "connection", "cooldownMs": 120_000 });
    rules(&world, json!({ AK: [rule] })).await;
    post_m1(&world, AK).await;
    assert_eq!(world.cooling(&c1), Some(Millis::minutes(2)));
    world.reset(&c1).await;
    rules(&world, json!({})).await;
    post_m1(&world, AK).await;
    assert_eq!(world.cooling(&c1), Some(Millis::seconds(3)), "the default is back at once");
    world.check_invariants().await;
}

#[tokio::test]
async fn an_operators_rule_comes_first_and_its_scope_is_honoured_everywhere() {
    // PR-10, PR-11
    let world = start().await;
    let own = json!({ "status": 429, "match": "额度不足", "scope": "model", "cooldownMs": 90_000 });
    let model = json!({ "status": 429, "match": "only this one", "scope": "model", "cooldownMs": 60_000 });
    rules(&world, json!({ ROUTER: [own], AK: [model] })).await;
    let r1 = world.connect(ROUTER, "c1").await;
    world.script_model(&r1, "m1").then(Step::error(429, "额度不足"));
    post_m1(&world, ROUTER).await;
    assert_eq!((world.cooling(&r1), world.locked(&r1)), (None, vec![("m1".to_owned(), Millis::seconds(90))]));
    let c1 = world.connect(AK, "c1").await;
    world.script_model(&c1, "m1").then(Step::error(429, "slow down, only this one"));
    post_m1(&world, AK).await;
    assert_eq!((world.cooling(&c1), world.locked(&c1)), (None, vec![("m1".to_owned(), Millis::seconds(60))]));
    assert_eq!(post(&world, &ask(AK, "m2")).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn rules_that_are_not_well_formed_are_refused() {
    // PR-12
    let world = start().await;
    let rule = json!({ "status": 429, "match": "x", "scope": "connection" });
    let many: Vec<Value> = vec![rule.clone(); 51];
    for wrong in [
        json!({ AK: many }),
        json!({ AK: many[..26], ROUTER: many[..25] }),
        json!({ AK: [{ "status": 429, "match": "x", "scope": "everything" }] }),
        json!({ AK: [{ "status": 429, "match": "", "scope": "model" }] }),
        json!({ AK: [{ "status": 429, "match": "x", "scope": "model", "unknown": 1 }] }),
    ] {
        let reply = world.manage(Method::PATCH, "/api/settings", Some(json!({ "providerErrorRules": wrong }))).await;
        assert_eq!(reply.status, 400, "{wrong}: {}", reply.text());
    }
    rules(&world, json!({ AK: many[..50] })).await;
    world.check_invariants().await;
}

#[tokio::test]
async fn a_rule_for_400_applies_and_other_400s_stay_what_they_are() {
    // PR-14, specification's decision 14
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let c2 = world.connect(AK, "c2").await;
    rules(
        &world,
        json!({ AK: [{ "status": 400, "match": "plan is empty", "scope": "connection", "cooldownMs": 60_000 }] }),
    )
    .await;
    world.script(&c1).then(Step::error(400, "your plan is empty"));
    let reply = post_m1(&world, AK).await;
    assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()), "{}", reply.text());
    assert_eq!(world.cooling(&c1), Some(Millis::minutes(1)));
    world.reset(&c1).await;
    world.script(&c1).then(Step::error(400, "bad request"));
    assert_eq!(post_m1(&world, AK).await.status, 400);
    assert_eq!(world.cooling(&c1), None);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_permanent_reason_is_no_temporary_cooldown() {
    // PR-15, TS-22: the ban phrase decides, whatever a rule says.
    let world = start().await;
    let c1: Connection = world.connect(ROUTER, "c1").await;
    world.script(&c1).then(Step::error(429, "额度不足: your account has been suspended"));
    post_m1(&world, ROUTER).await;
    assert_eq!(world.status(&c1), TestStatus::Banned);
    world.check_invariants().await;
}
