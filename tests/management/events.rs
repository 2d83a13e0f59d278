//! What changed, as it changes.

use acceptance::{StreamedReply, World, chat_body, parse_sse};
use domain::Millis;
use fake_upstream::{Gate, Step};
use http::Method;
use serde_json::{Value, json};

use crate::rules::assert_error;

/// Lets the clock run until one of the announced topics is this one.
pub(crate) async fn until_topic(world: &World, events: &mut StreamedReply, topic: &str) {
    let ticking = async {
        loop {
            world.advance(Millis::new(10));
            tokio::task::yield_now().await;
        }
    };
    let quoted = format!("\"{topic}\"");
    let reading = events.until(&quoted);
    tokio::select! {
        text = reading => {
            let text = String::from_utf8(text).expect("text");
            for event in parse_sse(&text) {
                assert!(matches!(event.event.as_deref(), Some("changed")), "{text}");
                let data: Value = serde_json::from_str(&event.data).expect("JSON");
                assert!(data["topics"].is_array() && data["at"].is_string(), "{text}");
            }
        }
        () = ticking => unreachable!("the clock goes on for ever"),
    }
}

pub(crate) async fn listen(world: &World, topics: &str) -> StreamedReply {
    let reply = world.manager().open(&format!("/api/events{topics}")).await;
    assert_eq!(reply.status, 200);
    assert!(reply.headers["content-type"].to_str().is_ok_and(|kind| kind.starts_with("text/event-stream")));
    reply
}

#[tokio::test]
async fn every_change_is_announced() {
    let world = World::start().await;
    let mut events = listen(&world, "").await;
    let connection = world.connect("openai", "c1").await;
    until_topic(&world, &mut events, "connections").await;
    world.make_key(json!({"name": "another"})).await;
    until_topic(&world, &mut events, "keys").await;
    world.set(json!({"network": {"connectTimeoutMs": 5_000}})).await;
    until_topic(&world, &mut events, "settings").await;
    assert_eq!(world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await.status, 200);
    until_topic(&world, &mut events, "requests").await;
    world.managed(Method::DELETE, &format!("/api/providers/{}", connection.id), None).await;
    until_topic(&world, &mut events, "connections").await;
    drop(events);
    world.check_invariants().await;
}

#[tokio::test]
async fn topics_can_be_chosen() {
    let world = World::start().await;
    let mut events = listen(&world, "?topics=keys").await;
    world.set(json!({"network": {"connectTimeoutMs": 5_000}})).await;
    world.make_key(json!({"name": "another"})).await;
    let ticking = async {
        loop {
            world.advance(Millis::new(10));
            tokio::task::yield_now().await;
        }
    };
    let text = tokio::select! {
        text = events.until("\"keys\"") => String::from_utf8(text).expect("text"),
        () = ticking => unreachable!("endless"),
    };
    assert!(!text.contains("settings"), "{text}");
    assert_error(&world.manage(Method::GET, "/api/events?topics=everything", None).await, 400, "invalid_request");
}

#[tokio::test]
async fn live_figures_come_when_they_are_asked_for() {
    let world = World::start().await;
    let mut events = listen(&world, "?topics=live").await;
    let ticking = async {
        loop {
            world.advance(Millis::new(10));
            tokio::task::yield_now().await;
        }
    };
    let text = tokio::select! {
        text = events.until("\n\n") => String::from_utf8(text).expect("text"),
        () = ticking => unreachable!("endless"),
    };
    let event = parse_sse(&text).remove(0);
    assert_eq!(event.event.as_deref(), Some("live"), "{text}");
    let data: Value = serde_json::from_str(&event.data).expect("JSON");
    for name in ["inFlight", "queued", "tokensPerSecond", "requestsPerMinute"] {
        assert!(data[name].is_number(), "{name}: {text}");
    }
}

#[tokio::test]
async fn a_quiet_stream_shows_that_it_lives_and_ends_with_the_gateway() {
    let mut world = World::start().await;
    let mut events = listen(&world, "?topics=keys").await;
    let ticking = async {
        loop {
            world.advance(Millis::seconds(1));
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        text = events.until("\n\n") => assert!(text.starts_with(b":"), "a comment"),
        () = ticking => unreachable!("endless"),
    }
    let reading = tokio::spawn(events.rest());
    world.stop().await;
    assert_eq!(reading.await.expect("an end").status, 200);
}

#[tokio::test]
async fn the_live_figures_say_who_is_on_the_way_and_who_waits_for_a_place() {
    // gateway specification 6.3: Requests, Monitoring → Health
    let world = World::start().await;
    let account = world.connect("openai", "c1").await;
    world.change(&account, json!({ "maxConcurrent": 1 })).await;
    let gate = Gate::closed();
    world.script(&account).then(Step::ok("hello").held(&gate)).cycle();
    let ask = || {
        let agent = world.agent();
        tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("openai/m1", false)).await })
    };
    let first = ask();
    world.wait_for_calls(&account, 1).await;
    let second = ask();
    world.wait_for_waiting(1).await;

    let live = live(&world).await;
    assert_eq!((&live["inFlight"], &live["queued"]), (&json!(2), &json!(1)), "{live}");
    let stages: Vec<_> = live["underway"].as_array().expect("a list").iter().map(|row| row["stage"].clone()).collect();
    assert_eq!(stages, ["asking", "waits_for_place"]);
    for row in live["underway"].as_array().expect("a list") {
        assert_eq!((&row["connectionName"], &row["requestedModel"]), (&json!("c1"), &json!("openai/m1")));
    }

    gate.open();
    for asking in [first, second] {
        assert_eq!(asking.await.expect("an answer").status, 200);
    }
    world.settle().await;
    assert_eq!(self::live(&world).await["underway"], json!([]));
    world.check_invariants().await;
}

/// The figures of this moment.
async fn live(world: &World) -> Value {
    let mut events = listen(world, "?topics=live").await;
    let text = String::from_utf8(events.until("event: live").await).expect("text");
    let event = parse_sse(&text).into_iter().find(|event| event.event.as_deref() == Some("live"));
    serde_json::from_str(&event.expect("the first event").data).expect("JSON")
}
