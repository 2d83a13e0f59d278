//! The layers beside each other: each sees its own trouble and nothing else (scenarios XC and DG).

use acceptance::Ask;
use domain::Millis;
use domain::health::TestStatus;
use fake_upstream::{Break, Step};
use http::Method;
use serde_json::{Value, json};

use crate::cast::{AK, DIALECTS, MS, begin, error_of, open, post_m1, start};

#[tokio::test]
async fn one_refused_key_is_one_keys_trouble() {
    // XC-01, EC-07
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let c2 = world.connect(AK, "c2").await;
    world.script(&c1).then(Step::error(401, "bad key"));
    for _ in 0..5 {
        let reply = post_m1(&world, AK).await;
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()), "{}", reply.text());
    }
    assert_eq!((world.breaker_state(AK), world.status(&c2)), (("CLOSED", 0), TestStatus::Active));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_storm_on_one_key_cools_it_and_in_the_end_spares_the_provider() {
    // XC-02
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let c2 = world.connect(AK, "c2").await;
    world.connect(AK, "c3").await;
    world.script(&c1).then(Step::error(503, "down"));
    assert_eq!(post_m1(&world, AK).await.status, 200);
    // The success of the next account takes one failure back, so only failures without one add up.
    assert_eq!((world.cooling(&c1), world.breaker_state(AK).1), (Some(Millis::seconds(3)), 0));
    for account in [&c2] {
        world.change(account, json!({ "isActive": false })).await;
    }
    world.upstream.set_default(Step::error(503, "down"));
    for _ in 0..12 {
        world.advance(Millis::hours(1));
        if world.breaker_state(AK).0 == "OPEN" {
            break;
        }
        post_m1(&world, AK).await;
    }
    let (before, state) = (world.calls(&c1).len(), world.breaker_state(AK).0);
    assert!(state == "HALF_OPEN" || state == "OPEN", "{state}");
    world.change(&c2, json!({ "isActive": true })).await;
    assert!(before >= 6);
    world.check_invariants().await;
}

#[tokio::test]
async fn each_trouble_shows_in_its_own_place_and_clearing_one_leaves_the_others() {
    // XC-04, XC-05
    let world = start().await;
    let node = world.node(MS, "apikey").await;
    let locked = world.connect(&node, "locked").await;
    world.script(&locked).then(Step::error(429, "slow down").with_header("retry-after", "600"));
    post_m1(&world, MS).await;
    let cooling = world.connect("anthropic", "cooling").await;
    world.script(&cooling).then(Step::error(429, "slow down").with_header("retry-after", "600"));
    post_m1(&world, "anthropic").await;
    let banned = world.connect("deepseek", "banned").await;
    world.script(&banned).then(Step::error(403, "your account has been suspended"));
    post_m1(&world, "deepseek").await;
    open(&world, AK, 12).await;

    let detail = world.managed(Method::GET, &format!("/api/providers/{}", locked.id), None).await;
    assert_eq!((&detail["lockouts"][0]["model"], &detail["breaker"]["state"]), (&json!("m1"), &json!("CLOSED")));
    assert_eq!(world.model_cooldowns().await.len(), 1);
    assert_eq!(world.monitoring().await.json()["circuitBreakers"]["open"], 1);

    world.managed(Method::POST, "/api/resilience/reset", Some(json!({ "provider": AK }))).await;
    assert_eq!(world.breaker_state(AK), ("CLOSED", 0));
    world.managed(Method::POST, "/api/resilience/reset", None).await;
    assert_eq!(world.cooling(&cooling), Some(Millis::minutes(10)), "a cooldown is no breaker");
    assert_eq!(world.status(&banned), TestStatus::Banned, "nor is a ban");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_hundred_clients_that_leave_change_nothing() {
    // XC-06, CB-27; handed case: the user's Esc, for each dialect, before the head and in the stream.
    for dialect in DIALECTS {
        let world = start().await;
        let asked = Ask::new(dialect, true);
        let c1 = world.connect(asked.provider, "c1").await;
        let before = world.health(&c1);
        for number in 1..=25_u64 {
            if number % 2 == 0 {
                world.script(&c1).then(Step::Hang);
                begin(&world, &c1, &asked).await.abort();
            } else {
                let text = acceptance::beginning(dialect);
                world.script(&c1).then(Step::sse([text]).broken(usize::MAX, Break::Stall));
                let mut reply = world.agent().stream(&asked.path, asked.body.clone()).await;
                reply.until("Once upon").await;
            }
            world.wait_for_endings(&c1, number).await;
        }
        world.settle().await;
        let after = world.health(&c1);
        assert_eq!(
            (after.status, after.cooling_until, after.backoff_level, &after.last_error),
            (before.status, None, 0, &None),
            "{dialect:?}"
        );
        assert_eq!((world.locks(&c1), world.breaker_state(asked.provider)), (Vec::new(), ("CLOSED", 0)));
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn the_only_healthy_account_is_the_only_one_asked() {
    // XC-07 without the breaker, which is the provider's.
    let world = start().await;
    let node = world.node(MS, "apikey").await;
    let per_account = json!({ "providerSpecificData": { "passthroughModels": false } });
    let cooling = world.connect_with(&node, "cooling", per_account).await;
    let locked = world.connect(&node, "locked").await;
    let banned = world.connect(&node, "banned").await;
    let off = world.connect_with(&node, "off", json!({ "isActive": false })).await;
    let healthy = world.connect(&node, "healthy").await;
    for account in [&cooling, &locked] {
        world.script(account).then(Step::error(429, "slow down"));
    }
    world.script(&banned).then(Step::error(403, "your account has been suspended"));
    for _ in 0..10 {
        let reply = post_m1(&world, MS).await;
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(healthy.id.as_str()), "{}", reply.text());
    }
    let calls = [&cooling, &locked, &banned, &off].map(|account| world.calls(account).len());
    assert_eq!(calls, [1, 1, 1, 0]);
    let row = world.last_request().await;
    let mut why: Vec<&str> = row["trace"]["exclusions"]
        .as_array()
        .expect("exclusions")
        .iter()
        .filter_map(|one| one["mechanism"].as_str())
        .collect();
    why.sort_unstable();
    assert_eq!(why, ["connection_cooldown", "model_lockout", "switched_off", "terminal_state"], "{row}");
    world.check_invariants().await;
}

#[tokio::test]
async fn an_answer_about_waiting_is_whole_seconds_and_waiting_helps() {
    // DG-03, DG-06, DG-07, DG-08 for a direct request.
    let world = start().await;
    let reply = post_m1(&world, AK).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (404, None), "{}", reply.text());
    assert_eq!(error_of(&reply)["code"], "no_executable_targets");
    let c1 = world.connect(AK, "a private name").await;
    world.script(&c1).then(Step::error(503, "down")).then(Step::ok("fine"));
    post_m1(&world, AK).await;
    for (passed, told) in [(0, 3), (500, 3), (500, 2), (1_800, 1)] {
        world.advance(Millis::new(passed));
        let reply = post_m1(&world, AK).await;
        assert_eq!(reply.header("retry-after"), Some(told.to_string().as_str()), "{passed}: {}", reply.text());
        assert!(!reply.text().contains("private"), "DG-07: {}", reply.text());
    }
    world.advance(Millis::seconds(1));
    assert_eq!(post_m1(&world, AK).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn explaining_a_name_says_what_routing_would_do() {
    // Issue, 7: the very function that routing uses; nothing is sent and nothing changes.
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let c2 = world.connect(AK, "c2").await;
    world.script(&c1).then(Step::error(429, "slow down").with_header("retry-after", "90"));
    post_m1(&world, AK).await;
    let before = (world.calls(&c1).len(), world.calls(&c2).len());
    let told = world.managed(Method::GET, "/api/resilience/explain?model=openai/m1", None).await;
    let target = &told["targets"][0];
    let of = |place: usize| (&target["connections"][place]["connectionId"], &target["connections"][place]["available"]);
    assert_eq!((of(0), of(1)), ((&json!(c1.id), &json!(false)), (&json!(c2.id), &json!(true))), "{told}");
    let exclusion = &target["connections"][0]["exclusion"];
    assert_eq!(exclusion["mechanism"], "connection_cooldown", "{told}");
    assert_eq!((&exclusion["retryAfterMs"], &exclusion["cause"]["status"]), (&json!(90_000), &json!(429)), "{told}");
    assert_eq!((&target["connectionId"], &told["answer"]), (&json!(c2.id), &Value::Null), "{told}");
    assert_eq!((world.calls(&c1).len(), world.calls(&c2).len()), before);
    world.check_invariants().await;
}
