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

/// Moves the clock by minutes until this account was tried, as it then must have been.
async fn until_its_turn(world: &World, account: &Connection) {
    let looking = async {
        loop {
            for _ in 0..20 {
                if !world.monitoring().await.json()["credentialHealth"][&account.id].is_null() {
                    return;
                }
            }
            world.advance(Millis::minutes(1));
        }
    };
    tokio::time::timeout(acceptance::PATIENCE, looking).await.expect("it is tried");
}

#[tokio::test]
async fn a_host_without_a_list_is_asked_once_an_interval_and_tells_nothing() {
    let world = every_hour().await;
    let began = world.now();
    let silent = world.connect(AK, "silent").await;
    world.script_model(&silent, LIST_MODELS).then(Step::error(404, "not found"));
    world.advance(Millis::minutes(5));
    let first = world.connect("groq", "first").await;
    world.advance(Millis::minutes(5));
    let second = world.connect("mistral", "second").await;
    world.advance(Millis::minutes(51));
    world.wait_for_calls(&silent, 1).await;
    // Each is tried in a round of its own, after the one before is over.
    until_its_turn(&world, &first).await;
    until_its_turn(&world, &second).await;
    assert!(world.now() < began + Millis::minutes(121), "its next turn has not come");
    let asked = [&silent, &first, &second].map(|account| world.calls(account).len());
    assert_eq!(asked, [1, 1, 1]);
    let tried = world.monitoring().await.json()["credentialHealth"].as_object().expect("a map").clone();
    assert!(!tried.contains_key(&silent.id), "{tried:?}");

    world.advance((began + Millis::minutes(122)).since(world.now()));
    assert_eq!(world.wait_for_calls(&silent, 2).await.len(), 2);
    world.check_invariants().await;
}

#[tokio::test]
async fn what_was_known_of_a_credential_stays_when_its_host_has_no_list_any_more() {
    let world = every_hour().await;
    let account = world.connect(AK, "a").await;
    let revoked = Step::error(401, "this key was revoked");
    world.script_model(&account, LIST_MODELS).then(revoked).then(Step::error(404, "not found"));
    world.advance(Millis::minutes(61));
    let before = until_tried(&world, &account).await;
    assert_eq!(before["problem"], json!("unauthorized"));
    world.advance(Millis::minutes(5));
    let later = world.connect("groq", "later").await;
    until_its_turn(&world, &later).await;
    assert_eq!(world.calls(&account).len(), 2);
    assert_eq!(world.monitoring().await.json()["credentialHealth"][&account.id], before);
    world.check_invariants().await;
}
