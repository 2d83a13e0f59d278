//! The list of locked models and the hand that frees them (resilience specification, 12; scenarios MA).

use acceptance::{Connection, World};
use domain::Millis;
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

use crate::cast::{MS, ask, post, post_m1, start};

const PATH: &str = "/api/resilience/model-cooldowns";

/// Two accounts of a model-scoped provider; every model of both is limited.
async fn limited() -> (World, String, Connection, Connection) {
    let world = start().await;
    let node = world.node(MS, "apikey").await;
    let c1 = world.connect(&node, "c1").await;
    let c2 = world.connect(&node, "c2").await;
    for account in [&c1, &c2] {
        world.script(account).then(Step::error(429, "slow down"));
    }
    (world, node, c1, c2)
}

async fn free(world: &World, body: Value) -> Value {
    world.managed(Method::DELETE, PATH, Some(body)).await
}

/// Whether the reply says that something was removed, as a word or as a count.
fn removed(reply: &Value) -> bool {
    reply["removed"] == true || reply["removed"].as_u64().is_some_and(|count| count > 0)
}

#[tokio::test]
async fn only_the_management_token_opens_it() {
    // MA-01
    let world = start().await;
    for method in [Method::GET, Method::DELETE] {
        for client in [world.stranger(), world.agent()] {
            let reply = client.send(method.clone(), PATH, Some(r#"{"all":true}"#.into())).await;
            assert_eq!(reply.status, 401, "{method}: {}", reply.text());
        }
        world.advance(Millis::minutes(1));
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn locks_are_listed_the_longest_first_and_only_while_they_last() {
    // MA-02, MA-03
    let (world, node, c1, c2) = limited().await;
    world.change(&c2, json!({ "isActive": false })).await;
    post(&world, &ask(MS, "m1")).await;
    world.script_model(&c1, "m2").then(Step::error(429, "slow down").with_header("retry-after", "60"));
    post(&world, &ask(MS, "m2")).await;
    let items = world.model_cooldowns().await;
    let shown: Vec<(&Value, &Value, &Value, &Value)> =
        items.iter().map(|row| (&row["provider"], &row["connectionId"], &row["model"], &row["remainingMs"])).collect();
    let (node, id) = (json!(node), json!(c1.id));
    assert_eq!(shown, [(&node, &id, &json!("m2"), &json!(60_000)), (&node, &id, &json!("m1"), &json!(3_000))]);
    let ends = control::view::Instant::from(world.now() + Millis::seconds(60)).to_string();
    assert_eq!((&items[0]["expiresAt"], &items[0]["reason"]), (&json!(ends), &json!("rate_limited")), "{items:?}");
    assert_eq!(items[0]["failureCount"], 1, "{items:?}");
    world.advance(Millis::seconds(3));
    let left: Vec<Value> = world.model_cooldowns().await.iter().map(|row| row["model"].clone()).collect();
    assert_eq!(left, ["m2"]);
    world.check_invariants().await;
}

#[tokio::test]
async fn one_lock_is_freed_and_its_ladder_begins_anew() {
    // MA-04, MA-07
    let (world, node, c1, c2) = limited().await;
    post_m1(&world, MS).await;
    world.advance(Millis::seconds(3));
    post_m1(&world, MS).await;
    assert_eq!((world.locked(&c1)[0].1, world.locked(&c2)[0].1), (Millis::seconds(6), Millis::seconds(6)));
    let reply = free(&world, json!({ "provider": node, "connection": c1.id, "model": "m1" })).await;
    assert!(reply["ok"] == true && removed(&reply), "{reply}");
    assert_eq!((world.locks(&c1).len(), world.locks(&c2).len()), (0, 1));
    let before = world.calls(&c1).len();
    post_m1(&world, MS).await;
    assert_eq!(world.calls(&c1).len(), before + 1, "the next request uses it");
    assert_eq!(world.locked(&c1)[0].1, Millis::seconds(3));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_model_is_freed_on_every_account_and_all_models_at_once() {
    // MA-05, MA-06
    let (world, node, c1, c2) = limited().await;
    post(&world, &ask(MS, "m1")).await;
    post(&world, &ask(MS, "m2")).await;
    let reply = free(&world, json!({ "provider": node, "model": "m1" })).await;
    assert!(removed(&reply), "{reply}");
    assert_eq!((world.locked(&c1).len(), world.locked(&c2).len()), (1, 1));
    let reply = free(&world, json!({ "provider": node, "model": "never-asked" })).await;
    assert!(reply["ok"] == true && !removed(&reply), "{reply}");
    for wrong in [json!({}), json!({ "provider": node }), json!({ "model": "m1" })] {
        let reply = world.manage(Method::DELETE, PATH, Some(wrong)).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
    }
    let reply = free(&world, json!({ "all": true })).await;
    assert_eq!((&reply["ok"], &reply["clearedAll"]), (&json!(true), &json!(true)), "{reply}");
    assert_eq!(world.model_cooldowns().await, Vec::<Value>::new());
    world.check_invariants().await;
}
