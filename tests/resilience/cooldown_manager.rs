//! One page for everything that is out of routing for a while (resilience specification, 13; scenarios CM).

use acceptance::{Connection, World};
use domain::Millis;
use domain::health::TestStatus;
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

use crate::cast::{AK, AK2, MS, OA, ask, post, post_m1, start};

const PATH: &str = "/api/resilience/cooldowns";

async fn clear(world: &World, body: Value) -> Value {
    world.managed(Method::POST, PATH, Some(body)).await
}

/// What a clearing did, in the order of its reply.
fn counts(reply: &Value) -> [u64; 4] {
    ["cleared", "unchanged", "skippedTerminal", "lockoutsCleared"]
        .map(|name| reply[name].as_u64().unwrap_or_else(|| panic!("{name} of {reply}")))
}

/// An account that fails in this way, all others of its provider being spared the request.
async fn failing(world: &World, provider: &'static str, name: &str, step: Step) -> Connection {
    let connection = world.connect(provider, name).await;
    world.script(&connection).then(step);
    connection
}

fn ban() -> Step {
    Step::error(403, "your account has been suspended")
}

#[tokio::test]
async fn each_account_is_listed_with_its_strongest_trouble_and_no_secret() {
    // CM-01, CM-02
    let world = start().await;
    let cooling = failing(&world, AK, "cooling", Step::error(429, "slow down")).await;
    let banned = failing(&world, AK, "banned", ban()).await;
    let healthy = world.connect(AK, "healthy").await;
    post_m1(&world, AK).await;
    let node = world.node(MS, "apikey").await;
    let locked = world.connect(&node, "locked").await;
    world.script(&locked).then(Step::error(429, "slow down"));
    post_m1(&world, MS).await;
    let rows = world.cooldowns("").await;
    let status = |connection: &Connection| {
        rows.iter().find(|row| row["id"] == json!(connection.id)).map_or(Value::Null, |row| row["status"].clone())
    };
    for (connection, expected) in
        [(&cooling, "cooling_down"), (&locked, "model_locked"), (&banned, "terminal"), (&healthy, "healthy")]
    {
        assert_eq!(status(connection), expected, "{}: {rows:?}", connection.name);
        assert!(!json!(rows).to_string().contains(&connection.credential));
    }
    let row = rows.iter().find(|row| row["id"] == json!(cooling.id)).expect("the row");
    assert_eq!((&row["cooldownRemainingMs"], &row["backoffLevel"]), (&json!(3_000), &json!(1)), "{row}");
    let row = rows.iter().find(|row| row["id"] == json!(locked.id)).expect("the row");
    assert_eq!((&row["lockouts"][0]["model"], &row["lockouts"][0]["remainingMs"]), (&json!("m1"), &json!(3_000)));
    let only = world.cooldowns(&format!("?provider={AK}")).await;
    assert!(only.len() == 3 && only.iter().all(|row| row["provider"] == AK), "{only:?}");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_cleared_account_is_asked_at_once_and_a_terminal_one_is_not_cleared() {
    // CM-03, CM-04, CM-05, TS-21
    let world = start().await;
    let c1 = failing(&world, AK, "c1", Step::error(429, "slow down")).await;
    let banned = failing(&world, AK, "banned", ban()).await;
    let healthy = world.connect(AK, "healthy").await;
    post_m1(&world, AK).await;
    let reply = clear(&world, json!({ "connectionIds": [c1.id, banned.id] })).await;
    assert_eq!((&reply["ok"], counts(&reply)), (&json!(true), [1, 0, 1, 0]), "{reply}");
    let health = world.health(&c1);
    assert_eq!((health.cooling_until, health.backoff_level, health.last_error), (None, 0, None));
    assert_eq!(world.status(&banned), TestStatus::Banned);
    let before = world.calls(&c1).len();
    post_m1(&world, AK).await;
    assert_eq!(world.calls(&c1).len(), before + 1);
    let reply = clear(&world, json!({ "connectionIds": [healthy.id] })).await;
    assert_eq!(counts(&reply), [0, 1, 0, 0], "{reply}");
    let reply = clear(&world, json!({ "connectionIds": ["nobody"] })).await;
    assert_eq!(counts(&reply), [0, 1, 0, 0], "{reply}");
    world.check_invariants().await;
}

#[tokio::test]
async fn clearing_an_account_frees_its_models() {
    // CM-06
    let world = start().await;
    let node = world.node(MS, "apikey").await;
    let c1 = world.connect(&node, "c1").await;
    world.script(&c1).then(Step::error(429, "slow down"));
    for model in ["m1", "m2"] {
        post(&world, &ask(MS, model)).await;
    }
    let reply = clear(&world, json!({ "connectionIds": [c1.id] })).await;
    assert_eq!(counts(&reply), [1, 0, 0, 2], "{reply}");
    assert_eq!(world.locks(&c1), []);
    world.check_invariants().await;
}

#[tokio::test]
async fn all_of_one_provider_are_cleared_and_nobody_elses() {
    // CM-07
    let world = start().await;
    let mut cooling = Vec::new();
    for provider in [AK, AK2] {
        for name in ["c1", "c2"] {
            cooling.push(failing(&world, provider, name, Step::error(429, "slow down")).await);
        }
        post_m1(&world, provider).await;
    }
    let reply = clear(&world, json!({ "all": true, "provider": AK })).await;
    assert_eq!(counts(&reply)[0], 2, "{reply}");
    let left: Vec<bool> = cooling.iter().map(|connection| world.cooling(connection).is_some()).collect();
    assert_eq!(left, [false, false, true, true]);
    let reply = clear(&world, json!({ "all": true })).await;
    assert_eq!(counts(&reply)[0], 2, "{reply}");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_clearing_that_is_not_understood_is_refused() {
    // CM-08
    let world = start().await;
    let many: Vec<String> = (0..1_001).map(|number| number.to_string()).collect();
    for wrong in [
        json!({}),
        json!({ "connectionIds": [] }),
        json!({ "connectionIds": [], "all": false }),
        json!({ "connectionIds": many }),
        json!({ "connectionIds": ["x".repeat(129)] }),
        json!({ "connectionIds": ["c1"], "force": true }),
    ] {
        let reply = world.manage(Method::POST, PATH, Some(wrong)).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
    }
    let reply = world.manager().post(PATH, "{").await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    let reply = world.manage(Method::GET, &format!("{PATH}?provider={}", "x".repeat(129)), None).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    let most: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
    assert_eq!(counts(&clear(&world, json!({ "connectionIds": most })).await), [0, 1_000, 0, 0]);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_new_base_is_the_length_of_the_next_rest() {
    // CM-09
    let world = start().await;
    let c1 = failing(&world, AK, "c1", Step::error(429, "slow down")).await;
    world.resilience(json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": 10_000 } } })).await;
    post_m1(&world, AK).await;
    assert_eq!(world.cooling(&c1), Some(Millis::seconds(10)));
    world.check_invariants().await;
}

#[tokio::test]
async fn clearing_forgets_the_refusals() {
    // CM-10
    let world = start().await;
    let c1 = failing(&world, OA, "c1", Step::error(403, "Request not allowed")).await;
    for _ in 0..2 {
        post_m1(&world, OA).await;
        world.advance(Millis::minutes(20));
    }
    assert_eq!(world.health(&c1).refusals, 2);
    clear(&world, json!({ "connectionIds": [c1.id] })).await;
    post_m1(&world, OA).await;
    assert_eq!((world.health(&c1).refusals, world.status(&c1)), (1, TestStatus::Unavailable));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_clearing_amid_failures_leaves_a_whole_row() {
    // CM-11
    let mut world = start().await;
    let c1 = failing(&world, AK, "c1", Step::error(429, "slow down")).await;
    for _ in 0..20 {
        let (agent, asked) = (world.agent(), ask(AK, "m1"));
        let asking = tokio::spawn(async move { agent.post(&asked.path, asked.body).await });
        clear(&world, json!({ "connectionIds": [c1.id] })).await;
        asking.await.expect("a reply");
    }
    let before = world.health(&c1);
    let whole = (before.cooling_until.is_some(), before.backoff_level > 0, before.last_error.is_some());
    assert!(matches!(whole, (true, true, true) | (false, false, false)), "{before:?}");
    world.restart().await;
    let after = world.health(&c1);
    let both =
        [&before, &after].map(|health| (health.cooling_until, health.backoff_level, health.last_error.is_some()));
    assert_eq!(both[0], both[1]);
    world.check_invariants().await;
}
