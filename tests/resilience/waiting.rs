//! A request that names one model waits for a short cooldown instead of failing (resilience specification, 15.1;
//! scenarios CC-21, CC-22), is seen meanwhile, and does not wait for what was given back.

use acceptance::{Connection, World, parse_sse};
use domain::Millis;
use fake_upstream::Step;

use http::Method;
use serde_json::{Value, json};

use crate::cast::{AK, AK2, ask, begin, post_m1};

fn limited(seconds: u64) -> Step {
    Step::error(429, "slow down").with_header("retry-after", &seconds.to_string())
}

/// Lets an account's rest pass as soon as it has begun.
async fn rest(world: &World, connection: &Connection) {
    let resting = async {
        loop {
            if let Some(left) = world.cooling(connection) {
                return world.advance(left);
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(acceptance::PATIENCE, resting).await.expect("it rests");
}

#[tokio::test]
async fn a_request_waits_for_a_short_rest_and_not_for_a_long_one() {
    // CC-21, CC-22
    let world = World::start_patient().await;
    let c1 = world.connect(AK, "c1").await;
    for (step, waits) in [(Step::error(500, "oops"), true), (limited(90), true), (limited(91), false)] {
        world.script(&c1).then(step).then(Step::ok("fine"));
        let asking = begin(&world, &c1, &ask(AK, "m1")).await;
        if waits {
            rest(&world, &c1).await;
        }
        let reply = asking.await.expect("a reply");
        assert_eq!(reply.status == 200, waits, "{}", reply.text());
        world.reset(&c1).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_request_waits_five_times_at_most() {
    // CC-22
    let world = World::start_patient().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(limited(10));
    let asking = begin(&world, &c1, &ask(AK, "m1")).await;
    for calls in 1..=5 {
        world.wait_for_calls(&c1, calls).await;
        rest(&world, &c1).await;
    }
    let reply = asking.await.expect("a reply");
    assert_eq!((reply.status.as_u16(), world.calls(&c1).len()), (429, 6), "{}", reply.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_wait() {
    // CC-22
    let world = World::start_patient().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(limited(10));
    let asking = begin(&world, &c1, &ask(AK, "m1")).await;
    world.wait_for_endings(&c1, 1).await;
    asking.abort();
    world.settle().await;
    world.advance(Millis::minutes(2));
    world.check_invariants().await;
    assert_eq!(world.calls(&c1).len(), 1, "nobody is asked for a client that is gone");
    assert_eq!(world.last_request().await["outcome"], "aborted");
}

#[tokio::test]
async fn nobody_waits_where_waiting_is_off() {
    let world = crate::cast::start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(limited(10));
    assert_eq!(post_m1(&world, AK).await.status, 429);
    assert_eq!(post_m1(&world, AK).await.status, 429);
    assert_eq!(world.calls(&c1).len(), 1);
    world.check_invariants().await;
}

/// What waits at this moment, as whoever watches the gateway is told.
pub(crate) async fn seen_waiting(world: &World) -> Vec<Value> {
    let mut events = world.manager().open("/api/events?topics=live").await;
    let told = events.until("\n\n").await;
    let mut text = String::from_utf8(told).expect("text");
    while !text.contains("event: live") {
        let more = events.until("\n\n").await;
        text.push_str(std::str::from_utf8(&more).expect("text"));
    }
    let live = parse_sse(&text).into_iter().find(|event| event.event.as_deref() == Some("live")).expect("figures");
    let figures: Value = serde_json::from_str(&live.data).expect("JSON");
    let underway = figures["underway"].as_array().expect("a list");
    underway.iter().filter(|request| request["stage"] == "waits_for_rest").cloned().collect()
}

/// Waits until so many requests are seen waiting.
pub(crate) async fn until_seen(world: &World, count: usize) -> Vec<Value> {
    let looking = async {
        loop {
            let waiting = seen_waiting(world).await;
            if waiting.len() == count {
                return waiting;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(acceptance::PATIENCE, looking).await.expect("they are seen")
}

#[tokio::test]
async fn a_waiting_request_is_seen_with_what_it_waits_for() {
    let world = World::start_patient().await;
    let c1 = world.connect(AK, "first").await;
    let c2 = world.connect(AK2, "second").await;
    world.script(&c1).then(limited(40)).then(Step::ok("fine"));
    world.script(&c2).then(limited(20)).then(Step::ok("fine"));
    let combo = json!({ "name": "both", "strategy": "priority", "models": ["openai/m1", "deepseek/m1"] });
    world.managed(Method::POST, "/api/combos", Some(combo)).await;
    assert!(seen_waiting(&world).await.is_empty());

    let body = acceptance::chat_body("both", false);
    let agent = world.agent().with("user-agent", "opencode/1.0");
    let asking = tokio::spawn(async move { agent.post("/v1/chat/completions", body).await });
    let waiting = until_seen(&world, 1).await;
    let shown = &waiting[0];
    assert_eq!((&shown["requestedModel"], &shown["agent"]), (&json!("both"), &json!("opencode")), "{shown}");
    assert_eq!(
        (&shown["provider"], &shown["comboName"]),
        (&json!(AK2), &json!("both")),
        "the first to be back: {shown}"
    );

    let direct = begin_waiting(&world, AK).await;
    let waiting = until_seen(&world, 2).await;
    let shown = &waiting[1];
    let back = world.connection(&c1).await["rateLimitedUntil"].clone();
    assert_eq!((&shown["requestedModel"], &shown["until"]), (&json!("openai/m1"), &back), "{shown}");
    assert_eq!(shown["connectionName"], "first", "{shown}");
    assert!(shown["id"].is_string() && shown["since"].is_string(), "{shown}");

    world.advance(Millis::seconds(41));
    for asked in [asking, direct] {
        assert_eq!(asked.await.expect("a reply").status, 200);
    }
    assert!(seen_waiting(&world).await.is_empty());
    world.check_invariants().await;
}

/// Sends a request for `m1` that nobody can answer yet.
async fn begin_waiting(world: &World, provider: &'static str) -> tokio::task::JoinHandle<acceptance::Reply> {
    let (agent, ask) = (world.agent(), ask(provider, "m1"));
    tokio::spawn(async move { agent.post(&ask.path, ask.body).await })
}

#[tokio::test]
async fn what_an_operator_gives_back_is_not_waited_for_any_longer() {
    // CR-17, for a direct request and for a combo; the clock stands still.
    let world = World::start_patient().await;
    let c1 = world.connect(AK, "c1").await;
    let combo = json!({ "name": "one", "strategy": "priority", "models": ["openai/m1"] });
    world.managed(Method::POST, "/api/combos", Some(combo)).await;
    let other = world.connect(AK2, "c2").await;
    for model in ["openai/m1", "one"] {
        world.script(&c1).then(limited(60)).then(Step::ok("fine"));
        let agent = world.agent();
        let body = acceptance::chat_body(model, false);
        let asking = tokio::spawn(async move { agent.post("/v1/chat/completions", body).await });
        until_seen(&world, 1).await;
        world.reset(&other).await;
        until_seen(&world, 1).await;
        assert!(!asking.is_finished(), "{model}: another account is no help");
        let clear = json!({ "connectionIds": [c1.id] });
        world.managed(Method::POST, "/api/resilience/cooldowns", Some(clear)).await;
        let reply = asking.await.expect("a reply");
        assert_eq!(reply.status, 200, "{model}: {}", reply.text());
    }
    assert_eq!(world.calls(&c1).len(), 4);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_client_that_leaves_is_seen_waiting_no_more() {
    let world = World::start_patient().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(limited(60));
    let asking = begin(&world, &c1, &ask(AK, "m1")).await;
    until_seen(&world, 1).await;
    asking.abort();
    until_seen(&world, 0).await;
    world.check_invariants().await;
}
