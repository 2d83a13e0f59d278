//! The configurable lockout, which only combos take (resilience specification, 11.2, path B; scenarios ML).

use acceptance::{Connection, Reply, World, chat_body};
use domain::Millis;
use fake_upstream::{Gate, Step};
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::cast::{AK, MS, start};

/// A combo of one model of one model-scoped account, with the lockout switched on.
async fn locking(lockout: Value) -> (World, Connection) {
    let world = start().await;
    let node = world.node(MS, "apikey").await;
    let account = world.connect(&node, "c1").await;
    let mut lockout = lockout;
    lockout["enabled"] = json!(true);
    world.resilience(json!({ "modelLockout": lockout })).await;
    combo(&world, "one", "ms/m1").await;
    (world, account)
}

async fn combo(world: &World, name: &str, model: &str) {
    let body = json!({ "name": name, "models": [model], "config": { "maxRetries": 0 } });
    world.managed(Method::POST, "/api/combos", Some(body)).await;
}

async fn ask(world: &World, name: &str) -> Reply {
    world.agent().post("/v1/chat/completions", chat_body(name, false)).await
}

#[tokio::test]
async fn each_lock_is_twice_the_last_as_far_as_the_operator_lets_it() {
    // ML-02, ML-03, ML-04, ML-30: both paths fire, and one failure is one step.
    for (lockout, ladder) in [
        (json!({}), [120, 240, 480, 960, 1_800, 1_800]),
        (json!({ "useExponentialBackoff": false }), [120; 6]),
        (json!({ "maxBackoffSteps": 1 }), [120, 240, 240, 240, 240, 240]),
    ] {
        let (world, c1) = locking(lockout.clone()).await;
        world.script_model(&c1, "m1").then(Step::error(429, "slow down"));
        for (n, seconds) in ladder.into_iter().enumerate() {
            assert!(!ask(&world, "one").await.status.is_success());
            assert_eq!(world.locked(&c1), [("m1".to_owned(), Millis::seconds(seconds))], "{lockout} {n}");
            assert_eq!(world.locks(&c1)[0].failure_count as usize, n + 1, "{lockout}");
            world.advance(Millis::seconds(seconds));
        }
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn the_listed_statuses_lock_whatever_the_provider_and_no_other_does() {
    // ML-05, ML-32, CC-35: of an ordinary provider too, whose account then does not cool beside it.
    for status in [403, 404, 429, 502, 503, 504, 500] {
        let world = start().await;
        let c1 = world.connect(AK, "c1").await;
        world.resilience(json!({ "modelLockout": { "enabled": true } })).await;
        combo(&world, "one", "openai/m1").await;
        let text = if status == 403 { "no access to this mode" } else { "it does not work" };
        world.script(&c1).then(Step::error(status, text));
        ask(&world, "one").await;
        let locked = world.locked(&c1);
        if status == 500 {
            assert!(locked.is_empty(), "{status}: {locked:?}");
            assert!(world.cooling(&c1).is_some(), "{status}");
        } else {
            assert_eq!(locked, [("m1".to_owned(), Millis::minutes(2))], "{status}");
            let reason = match status {
                403 => "forbidden",
                429 => "rate_limit",
                _ => "unknown",
            };
            assert_eq!(world.locks(&c1)[0].reason, reason, "{status}");
            if matches!(status, 502..=504) {
                assert_eq!(world.cooling(&c1), None, "{status}");
            }
        }
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn an_announced_wait_counts_where_it_is_longer_than_the_first_lock() {
    // ML-16
    for (announced, seconds) in [("600", 600), ("10", 120)] {
        let (world, c1) = locking(json!({})).await;
        world.script(&c1).then(Step::error(429, "slow down").with_header("retry-after", announced));
        ask(&world, "one").await;
        assert_eq!(world.locked(&c1), [("m1".to_owned(), Millis::seconds(seconds))], "{announced}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_quota_that_names_no_end_lasts_until_midnight_and_half_an_hour_at_most() {
    // ML-15: the clock here stands far from any midnight.
    let (world, c1) = locking(json!({})).await;
    world.script(&c1).then(Step::error(403, "your quota has been exceeded"));
    ask(&world, "one").await;
    assert_eq!(world.locks(&c1)[0].reason, "quota_exhausted");
    assert_eq!(world.locked(&c1), [("m1".to_owned(), Millis::minutes(30))]);
    world.check_invariants().await;
}

/// A lockout that begins with five seconds, `failures` of them in a row, and as many requests that were sent before and are
/// answered well one after another as their gates are opened.
async fn failed_with_some_under_way(
    failures: u32,
    under_way: usize,
) -> (World, Connection, Vec<(Gate, JoinHandle<Reply>)>) {
    let (world, c1) = locking(json!({ "baseCooldownMs": 5_000 })).await;
    world.set(json!({ "comboDefaults": { "targetTimeoutMs": 600_000 } })).await;
    let gates: Vec<Gate> = (0..under_way).map(|_| Gate::closed()).collect();
    let mut script = world.script_model(&c1, "m1");
    for gate in &gates {
        script = script.then(Step::ok("fine").held(gate));
    }
    script.then(Step::error(429, "slow down"));
    let mut asking = Vec::new();
    for (before, gate) in gates.into_iter().enumerate() {
        let agent = world.agent();
        let reply = tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("one", false)).await });
        world.wait_for_calls(&c1, before as u64 + 1).await;
        asking.push((gate, reply));
    }
    for failure in 0..failures {
        assert_ne!(ask(&world, "one").await.status, 200);
        assert_eq!(world.locked(&c1), [("m1".to_owned(), Millis::seconds(5 << failure))]);
        if failure + 1 < failures {
            world.advance(Millis::seconds(5 << failure));
        }
    }
    (world, c1, asking)
}

#[tokio::test]
async fn each_success_halves_what_was_counted_and_the_last_one_ends_the_lock_before_its_time() {
    // ML-12
    let (world, c1, asking) = failed_with_some_under_way(5, 3).await;
    let mut counted = vec![world.locks(&c1)[0].failure_count];
    for (gate, reply) in asking {
        gate.open();
        assert_eq!(reply.await.expect("a reply").status, 200);
        counted.push(world.locks(&c1).first().map_or(0, |lock| lock.failure_count));
    }
    assert_eq!(counted, [5, 2, 1, 0]);
    assert!(world.model_cooldowns().await.is_empty(), "nothing is left of it");
    world.script_model(&c1, "m1").then(Step::ok("fine"));
    assert_eq!(ask(&world, "one").await.status, 200, "the timer has 80 s to go, the lock has not");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_success_between_makes_the_next_lock_shorter() {
    // ML-13: four failures, a success, a failure: the third step of the ladder.
    let (world, c1, asking) = failed_with_some_under_way(4, 1).await;
    for (gate, reply) in asking {
        gate.open();
        assert_eq!(reply.await.expect("a reply").status, 200);
    }
    assert_eq!(world.locks(&c1)[0].failure_count, 2);
    world.advance(Millis::seconds(40));
    assert_ne!(ask(&world, "one").await.status, 200);
    assert_eq!(world.locked(&c1), [("m1".to_owned(), Millis::seconds(20))]);
    assert_eq!(world.locks(&c1)[0].failure_count, 3);
    world.check_invariants().await;
}
