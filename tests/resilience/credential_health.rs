//! Credentials that nobody uses are tried now and then (resilience specification, 21.5).

use acceptance::{Connection, World};
use domain::Millis;
use domain::health::TestStatus;
use fake_upstream::{LIST_MODELS, Step};
use serde_json::{Value, json};

use crate::cast::{AK, post_m1, start};

async fn every_hour() -> World {
    let world = start().await;
    world.resilience(json!({ "credentialHealthCheck": { "intervalMinutes": 60 } })).await;
    world
}

/// Waits until the health document shows something about this account, from this instant on.
async fn until_tried(world: &World, account: &Connection) -> Value {
    let looking = async {
        loop {
            let shown = world.monitoring().await.json()["credentialHealth"][&account.id].clone();
            let at = shown["checkedAt"].as_str().and_then(|at| at.parse::<jiff::Timestamp>().ok());
            if at.is_some_and(|at| u64::try_from(at.as_millisecond()).is_ok_and(|at| at == world.now().as_millis())) {
                return shown;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(acceptance::PATIENCE, looking).await.expect("it is tried")
}

#[tokio::test]
async fn an_idle_credential_is_tried_and_what_came_of_it_is_told_and_nothing_more() {
    let world = every_hour().await;
    let idle = world.connect(AK, "idle").await;
    world.advance(Millis::minutes(61));
    let shown = until_tried(&world, &idle).await;
    assert_eq!((&shown["ok"], &shown["problem"]), (&json!(true), &json!(null)), "{shown}");
    let calls = world.calls(&idle);
    assert_eq!((calls.len(), calls[0].method.as_str()), (1, "GET"), "a question that costs nothing");

    world.script_model(&idle, LIST_MODELS).then(Step::error(401, "this key was revoked"));
    world.advance(Millis::minutes(61));
    let shown = until_tried(&world, &idle).await;
    assert_eq!((&shown["ok"], &shown["problem"]), (&json!(false), &json!("unauthorized")), "{shown}");
    assert!(!world.status(&idle).is_terminal() && world.health(&idle).last_error.is_none());
    assert_eq!(post_m1(&world, AK).await.status, 200, "traffic alone decides about routing");
    world.check_invariants().await;
}

#[tokio::test]
async fn who_is_used_or_kept_away_or_switched_off_is_not_tried() {
    let world = every_hour().await;
    let used = world.connect(AK, "used").await;
    let banned = world.connect("deepseek", "banned").await;
    let off = world.connect_with("groq", "off", json!({ "isActive": false })).await;
    let idle = world.connect("mistral", "idle").await;
    world.script(&banned).then(Step::error(403, "your account has been suspended"));
    post_m1(&world, "deepseek").await;
    assert_eq!(world.status(&banned), TestStatus::Banned);
    world.advance(Millis::minutes(30));
    post_m1(&world, AK).await;
    world.advance(Millis::minutes(31));
    until_tried(&world, &idle).await;
    let tried = world.monitoring().await.json()["credentialHealth"].as_object().expect("a map").clone();
    assert_eq!(tried.keys().collect::<Vec<_>>(), [&idle.id], "{tried:?}");
    assert_eq!([&used, &banned, &off].map(|account| world.calls(account).len()), [1, 1, 0]);
    world.check_invariants().await;
}
