//! Streams that go on and on and say next to nothing (resilience specification, 17.3; scenarios ST).

use std::time::Duration;

use acceptance::{Ask, Connection, World, beginning, chat_body, ending};
use bytes::Bytes;
use domain::{Dialect, Millis};
use fake_upstream::Step;
use serde_json::json;

use crate::cast::{DIALECTS, start};
use crate::streams::while_time_passes;

/// Some text, then these frames once, then signs of life for as long as anybody listens.
fn murmur(dialect: Dialect, then: &str) -> Step {
    let ping = match dialect {
        Dialect::Messages => "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        Dialect::Chat | Dialect::Responses | Dialect::Gemini => ": ping\n\n",
    };
    let first = Bytes::from(format!("{}{then}", beginning(dialect)));
    let pings = std::iter::repeat_n((Bytes::from_static(ping.as_bytes()), Duration::from_millis(3)), 20_000);
    Step::paced(std::iter::once((first, Duration::ZERO)).chain(pings))
}

/// More text than fits between an upstream and a client that does not read.
fn flood() -> Vec<Bytes> {
    let text = "x".repeat(64 * 1024);
    let frame =
        Bytes::from(format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"));
    let ends = [beginning(Dialect::Chat), ending(Dialect::Chat)].map(|end| Bytes::from_static(end.as_bytes()));
    let [beginning, ending] = ends;
    std::iter::once(beginning).chain(std::iter::repeat_n(frame, 1_200)).chain([ending]).collect()
}

async fn watched(world: &World, enabled: bool) {
    world.resilience(json!({ "streamRecovery": { "throughputWatchdog": { "enabled": enabled } } })).await;
}

async fn pair(world: &World, ask: &Ask) -> (Connection, Connection) {
    (world.connect(ask.provider, "first").await, world.connect(ask.provider, "second").await)
}

#[tokio::test]
async fn a_stream_that_says_too_little_is_given_up_and_not_repeated() {
    // ST-12, ST-14, ST-18
    for dialect in DIALECTS {
        let world = start().await;
        watched(&world, true).await;
        let ask = Ask::new(dialect, true);
        let (first, second) = pair(&world, &ask).await;
        world.script(&first).then(murmur(dialect, ""));
        let begun = world.now();
        let (agent, asked) = (world.agent(), ask.clone());
        let asking = tokio::spawn(async move { agent.post(&asked.path, asked.body).await });
        world.wait_for_calls(&first, 1).await;
        let reply = while_time_passes(&world, asking).await;
        assert!(world.now().since(begun) >= Millis::seconds(60), "{dialect:?}: not before warm-up and window");
        assert!(reply.text().contains("Once upon"), "{dialect:?}: {}", reply.text());
        let row = world.last_request().await;
        assert_eq!(
            (&row["outcome"], &row["errorCode"]),
            (&json!("failure"), &json!("STREAM_THROUGHPUT_TOO_LOW")),
            "{row}"
        );
        assert!(world.calls(&second).is_empty(), "{dialect:?}: nothing is said twice");
        assert!(world.wait_for_endings(&first, 1).await[0].cancelled(), "{dialect:?}");
        let health = world.health(&first);
        assert!(health.last_error.is_some() && health.cooling_until.is_none(), "{dialect:?}: {health:?}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn switched_off_or_while_a_tool_call_is_written_nothing_is_given_up() {
    // ST-11, ST-15
    let tool = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}\n\n";
    for (enabled, then) in [(false, ""), (true, tool)] {
        let world = start().await;
        watched(&world, enabled).await;
        let ask = Ask::new(Dialect::Chat, true);
        let first = world.connect(ask.provider, "first").await;
        world.script(&first).then(murmur(Dialect::Chat, then));
        let mut stream = world.agent().stream(&ask.path, ask.body.clone()).await;
        stream.until(if then.is_empty() { "Once upon" } else { "tool_calls" }).await;
        for _ in 0..60 {
            world.advance(Millis::seconds(10));
            stream.until("ping").await;
        }
        assert!(world.health(&first).last_error.is_none(), "{enabled}");
        drop(stream);
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_the_upstreams_slowness() {
    // ST-12
    let world = start().await;
    watched(&world, true).await;
    let ask = Ask::new(Dialect::Chat, true);
    let first = world.connect(ask.provider, "first").await;
    let frames = flood();
    let whole: usize = frames.iter().map(Bytes::len).sum();
    world.script(&first).then(Step::sse(frames)).then(Step::ok("Hello"));
    let mut stream = world.agent().stream(&ask.path, ask.body).await;
    let mut read = stream.next().await.expect("a beginning").len();
    // Plenty happens meanwhile, so that all stands full between the two.
    for _ in 0..40 {
        assert_eq!(world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await.status, 200);
        world.advance(Millis::seconds(5));
    }
    assert_eq!(world.calls(&first)[0].ending, fake_upstream::Ending::Open);
    while let Some(piece) = stream.next().await {
        read += piece.len();
    }
    assert_eq!(read, whole);
    assert!(world.health(&first).last_error.is_none());
    world.check_invariants().await;
}
