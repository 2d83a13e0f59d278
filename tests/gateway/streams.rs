//! After the first byte nothing is repeated, and nothing ends as if it were complete when it is not (gateway
//! specification, 1.9).

use acceptance::{Ask, Connection, Reply, World, messages_body, parse_sse};
use domain::{Dialect, Millis};
use fake_upstream::{Break, Gate, Pause, Step};
use serde_json::{Value, json};

use crate::fixtures::{beginning, error_event, odd_stream};

const DIALECTS: [Dialect; 4] = [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini];

/// The accounts of a dialect: the one that fails, and the one that must not be asked.
async fn pair(world: &World, ask: &Ask) -> (Connection, Connection) {
    let name = |which: &str| format!("{which} {:?}", ask.dialect);
    (world.connect(ask.provider, &name("first")).await, world.connect(ask.provider, &name("second")).await)
}

/// What follows the beginning of a stream that broke, in the dialect's own words.
fn assert_told(dialect: Dialect, reply: &Reply) {
    let text = reply.text();
    let rest = text.strip_prefix(beginning(dialect)).unwrap_or_else(|| panic!("{dialect:?}: {text}"));
    let events = parse_sse(rest);
    match dialect {
        // Clients of this dialect take an error chunk after content for text: the stream ends without its end marker.
        Dialect::Chat => assert_eq!(rest, "", "{dialect:?}"),
        Dialect::Responses => {
            let data: Value = serde_json::from_str(&events[0].data).expect("JSON");
            assert_eq!(events[0].event.as_deref(), Some("response.failed"), "{rest}");
            assert_eq!((&data["response"]["id"], &data["response"]["status"]), (&json!("resp_1"), &json!("failed")));
            assert!(data["response"]["error"]["message"].is_string() && data["response"]["error"]["code"].is_string());
            assert_eq!(data["sequence_number"], 2, "the numbering goes on: {rest}");
        }
        Dialect::Messages => {
            let data: Value = serde_json::from_str(&events[0].data).expect("JSON");
            assert_eq!(events[0].event.as_deref(), Some("error"), "{rest}");
            assert_eq!(data["type"], "error");
            assert!(data["error"]["type"].is_string() && data["error"]["message"].is_string(), "{rest}");
        }
        Dialect::Gemini => {
            let data: Value = serde_json::from_str(&events[0].data).expect("JSON");
            assert!(data["error"]["code"].is_u64() && data["error"]["status"].is_string(), "{rest}");
        }
    }
    assert!(events.len() <= 1, "{rest}");
    assert!(
        !text.contains("[DONE]") && !text.contains("message_stop") && !text.contains("response.completed"),
        "{text}"
    );
}

#[tokio::test]
async fn a_stream_cut_after_some_text_ends_with_an_error_and_no_second_call() {
    let world = World::start().await;
    for dialect in DIALECTS {
        let ask = Ask::new(dialect, true);
        let (first, second) = pair(&world, &ask).await;
        for (name, step) in [
            ("closed", Step::sse([beginning(dialect)]).broken(usize::MAX, Break::Close)),
            ("without its end", Step::sse([beginning(dialect)])),
        ] {
            world.script(&first).then(step);
            let reply = world.agent().post(&ask.path, ask.body.clone()).await;
            assert_eq!(reply.status, 200, "{dialect:?} {name}");
            assert_told(dialect, &reply);
            assert!(world.calls(&second).is_empty(), "{dialect:?} {name}");
            let row = world.last_request().await;
            assert_eq!(
                (&row["outcome"], &row["errorCode"]),
                (&json!("failure"), &json!("stream_cut")),
                "{name}: {row}"
            );
            assert_eq!(row["attempts"], 1);
            let shown = world.connection(&first).await;
            assert!(shown["lastError"].is_string(), "the upstream's failure is remembered: {shown}");
            world.managed(http::Method::POST, &format!("/api/providers/{}/reset", first.id), None).await;
        }
        delete(&world, [first, second]).await;
    }
    world.check_invariants().await;
}

async fn delete(world: &World, connections: [Connection; 2]) {
    for connection in connections {
        world.managed(http::Method::DELETE, &format!("/api/providers/{}", connection.id), None).await;
    }
}

#[tokio::test]
async fn a_reset_in_the_middle_of_a_stream_is_told_too() {
    for dialect in DIALECTS {
        let world = World::start().await;
        let ask = Ask::new(dialect, true);
        let (first, second) = pair(&world, &ask).await;
        let text = beginning(dialect);
        let gate = Gate::closed();
        let pieces = [(text, Pause::None), (": more\n\n", Pause::from(&gate))];
        world.script(&first).then(Step::paced(pieces).cut(text.len() + 1));
        let mut reply = world.agent().stream(&ask.path, ask.body).await;
        let mut body = reply.until("Once upon").await;
        // A reset discards what was not read yet.
        gate.open();
        let rest = reply.rest().await;
        body.extend_from_slice(&rest.body);
        assert_told(dialect, &Reply { body: body.into(), ..rest });
        assert!(world.calls(&second).is_empty(), "{dialect:?}");
        assert_eq!(world.last_request().await["outcome"], "failure", "{dialect:?}");
        world.check_invariants().await;
    }
}

/// The stream as it would be without the pauses in it.
fn without_signs(dialect: Dialect, text: &str) -> String {
    if dialect != Dialect::Gemini {
        return text.replace(crate::wire_form::sign_of_life(dialect, dialect), "");
    }
    let mut text = text.to_owned();
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text
}

#[tokio::test]
async fn a_stream_that_falls_silent_after_some_text_is_ended_at_the_limit() {
    let world = World::start().await;
    for dialect in DIALECTS {
        let ask = Ask::new(dialect, true);
        let (first, second) = pair(&world, &ask).await;
        world.script(&first).then(Step::sse([beginning(dialect)]).broken(usize::MAX, Break::Stall));
        let mut reply = world.agent().stream(&ask.path, ask.body.clone()).await;
        let mut body = reply.until("Once upon").await;
        let rest = tokio::select! {
            rest = reply.rest() => rest,
            () = async { loop { world.advance(Millis::seconds(10)); tokio::task::yield_now().await; } } => unreachable!("endless"),
        };
        body.extend_from_slice(&rest.body);
        // Signs of life are no life of the upstream's.
        let body = without_signs(dialect, std::str::from_utf8(&body).expect("text"));
        assert_told(dialect, &Reply { body: body.into(), ..rest });
        assert!(world.calls(&second).is_empty());
        assert!(world.wait_for_endings(&first, 1).await[0].cancelled());
        assert_eq!(world.last_request().await["errorCode"], "stream_idle_timeout");
        delete(&world, [first, second]).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn an_error_event_after_some_text_is_passed_on_as_it_is_and_recorded() {
    let world = World::start().await;
    for dialect in DIALECTS {
        let ask = Ask::new(dialect, true);
        let (first, second) = pair(&world, &ask).await;
        let stream = format!("{}{}", beginning(dialect), error_event(dialect, "the model fell over"));
        world.script(&first).then(Step::sse([stream.clone()]));
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        assert_eq!(reply.text(), stream, "{dialect:?}");
        assert!(world.calls(&second).is_empty(), "{dialect:?}");
        let row = world.last_request().await;
        assert_eq!(row["outcome"], "failure", "{dialect:?}: {row}");
        assert!(row["errorSummary"].as_str().is_some_and(|text| text.contains("fell over")), "{row}");
        delete(&world, [first, second]).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn what_breaks_after_the_end_marker_is_nobodys_business() {
    let world = World::start().await;
    world.connect_all().await;
    for dialect in DIALECTS {
        let ask = Ask::new(dialect, true);
        let stream = odd_stream(dialect);
        world.upstream.set_default(Step::sse([stream]).broken(usize::MAX, Break::Close));
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        assert_eq!(reply.text(), stream, "{dialect:?}");
        assert_eq!(world.last_request().await["outcome"], "success", "{dialect:?}");
    }
    world.check_invariants().await;
}

/// Asks for a stream and lets the clock run until the head came: only the early keep-alive can have sent it.
async fn opened_early(world: &World, ask: &Ask, waiting_on: &Connection, after: Millis) -> acceptance::StreamedReply {
    let (agent, asked) = (world.agent(), ask.clone());
    let before = world.calls(waiting_on).len() as u64;
    let asking = tokio::spawn(async move { agent.stream(&asked.path, asked.body).await });
    world.wait_for_calls(waiting_on, before + 1).await;
    world.advance(after);
    asking.await.expect("a head")
}

fn sign_of_life(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Messages => "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        Dialect::Responses => ": keep-alive\n\n",
        Dialect::Gemini => "\n",
        Dialect::Chat => "\"delta\":{}",
    }
}

fn keep_alive_after(dialect: Dialect) -> Millis {
    match dialect {
        Dialect::Messages | Dialect::Responses => Millis::seconds(2),
        Dialect::Chat | Dialect::Gemini => Millis::seconds(15),
    }
}

#[tokio::test]
async fn a_silent_upstream_is_bridged_and_failover_goes_on_behind() {
    let world = World::start().await;
    for dialect in DIALECTS {
        let ask = Ask::new(dialect, true);
        let (first, second) = pair(&world, &ask).await;
        world.script(&first).then(Step::Hang);
        let mut reply = opened_early(&world, &ask, &first, keep_alive_after(dialect)).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.headers["content-type"], "text/event-stream; charset=utf-8");
        assert!(reply.headers.contains_key("x-omniroute-request-id"));
        assert!(!reply.headers.contains_key("x-omniroute-provider"), "who serves is not known yet");
        reply.until(sign_of_life(dialect)).await;
        assert!(world.calls(&second).is_empty());
        world.advance(Millis::seconds(600));
        let rest = reply.rest().await;
        assert!(rest.text().contains("Hello"), "{dialect:?}: {}", rest.text());
        assert!(
            !rest.text().contains("event: error") && !rest.text().contains("\"error\":{"),
            "{dialect:?}: {}",
            rest.text()
        );
        assert_eq!(world.calls(&second).len(), 1);
        let row = world.last_request().await;
        assert_eq!(
            (&row["outcome"], &row["attempts"], &row["connectionId"]),
            (&json!("success"), &json!(2), &json!(second.id))
        );
        delete(&world, [first, second]).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn signs_of_life_go_on_for_as_long_as_the_upstream_is_silent() {
    let world = World::start().await;
    let connection = world.connect("anthropic", "c1").await;
    world.script(&connection).then(Step::Hang);
    let ask = Ask::new(Dialect::Messages, true);
    let mut reply = opened_early(&world, &ask, &connection, Millis::seconds(2)).await;
    for _ in 0..4 {
        let ticking = async {
            loop {
                world.advance(Millis::new(1));
                tokio::task::yield_now().await;
            }
        };
        let piece = tokio::select! {
            piece = reply.next() => piece.expect("a sign of life"),
            () = ticking => unreachable!("endless"),
        };
        let text = std::str::from_utf8(&piece).expect("text");
        assert_eq!(text.replace(sign_of_life(Dialect::Messages), ""), "");
    }
    drop(reply);
    world.wait_for_endings(&connection, 1).await;
    world.check_invariants().await;
}

#[tokio::test]
async fn a_final_failure_after_the_early_start_is_told_in_the_stream() {
    let world = World::start().await;
    for dialect in DIALECTS {
        let ask = Ask::new(dialect, true);
        let (first, second) = pair(&world, &ask).await;
        world.script(&first).then(Step::Hang);
        world.script(&second).then(Step::error(503, "no capacity left"));
        let reply = opened_early(&world, &ask, &first, keep_alive_after(dialect)).await;
        world.advance(Millis::seconds(600));
        let rest = reply.rest().await;
        assert_eq!(rest.status, 200);
        let last = parse_sse(rest.text()).pop().unwrap_or_else(|| panic!("{dialect:?}: {}", rest.text()));
        let data: Value = serde_json::from_str(&last.data).expect("JSON");
        match dialect {
            Dialect::Chat => assert!(data["error"]["code"].is_string() && data["error"]["type"].is_string(), "{data}"),
            Dialect::Responses => {
                assert_eq!(last.event.as_deref(), Some("response.failed"));
                let error = &data["response"]["error"];
                assert!(error["code"].is_string() && error["message"].is_string(), "{data}");
                assert_eq!(data["sequence_number"], 1, "{data}");
                // 1.8: only what was opened can fail.
                let names: Vec<_> = parse_sse(rest.text()).into_iter().filter_map(|event| event.event).collect();
                assert_eq!(names, ["response.created", "response.failed"], "{}", rest.text());
            }
            Dialect::Messages => {
                assert_eq!(last.event.as_deref(), Some("error"));
                assert!(data["error"]["type"].is_string(), "{data}");
            }
            Dialect::Gemini => assert!(data["error"]["status"].is_string(), "{data}"),
        }
        assert!(!rest.text().contains("[DONE]"), "{}", rest.text());
        let row = world.last_request().await;
        assert_eq!((&row["outcome"], &row["attempts"]), (&json!("failure"), &json!(2)), "{row}");
        delete(&world, [first, second]).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn an_early_start_can_be_switched_off() {
    let world = World::start().await;
    let first = world.connect("anthropic", "first").await;
    world.connect("anthropic", "second").await;
    world.script(&first).then(Step::Hang);
    world.set(json!({"gateway": {"keepAliveAfterMs": {"messages": 0}}})).await;
    let ask = Ask::new(Dialect::Messages, true);
    let reply = opened_early(&world, &ask, &first, Millis::seconds(600)).await;
    assert!(reply.headers.contains_key("x-omniroute-provider"), "the head waited for the answer");
    let rest = reply.rest().await;
    assert!(!rest.text().starts_with("event: ping"), "{}", rest.text());
    world.check_invariants().await;
}

/// A client that leaves: the upstream call is cancelled, nothing is held, nobody is blamed.
async fn assert_abandoned(world: &World, connection: &Connection, calls: u64) {
    let endings = world.wait_for_endings(connection, calls).await;
    assert!(endings.last().is_some_and(fake_upstream::Call::cancelled), "the upstream call is cancelled");
    world.settle().await;
    assert_eq!(world.in_flight(), 0);
    let rows = world.wait_for_rows(usize::try_from(calls).expect("a small number")).await;
    assert_eq!((&rows[0]["status"], &rows[0]["outcome"]), (&json!(499), &json!("aborted")), "{}", rows[0]);
    assert_eq!(rows[0]["errorCode"], "client_closed_request");
    let shown = world.connection(connection).await;
    assert_eq!((&shown["lastError"], &shown["errorCode"]), (&json!(null), &json!(null)), "nobody is blamed: {shown}");
}

#[tokio::test]
async fn a_client_that_leaves_before_the_head_cancels_the_upstream_call() {
    for dialect in DIALECTS {
        for stream in [false, true] {
            let world = World::start().await;
            let ask = Ask::new(dialect, stream);
            let connection = world.connect(ask.provider, "c1").await;
            world.script(&connection).then(Step::Hang);
            let agent = world.agent();
            let asking = tokio::spawn(async move { agent.stream(&ask.path, ask.body).await.status });
            world.wait_for_calls(&connection, 1).await;
            assert_eq!(world.in_flight(), 1);
            asking.abort();
            assert_abandoned(&world, &connection, 1).await;
            world.check_invariants().await;
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_mid_stream_cancels_the_upstream_call() {
    for dialect in DIALECTS {
        let world = World::start().await;
        let ask = Ask::new(dialect, true);
        let connection = world.connect(ask.provider, "c1").await;
        world.script(&connection).then(Step::sse([beginning(dialect)]).broken(usize::MAX, Break::Stall));
        let mut reply = world.agent().stream(&ask.path, ask.body).await;
        reply.until("Once upon").await;
        assert_eq!(world.in_flight(), 1);
        drop(reply);
        assert_abandoned(&world, &connection, 1).await;
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_during_the_early_keep_alive_cancels_the_upstream_call() {
    let world = World::start().await;
    let connection = world.connect("anthropic", "c1").await;
    world.script(&connection).then(Step::Hang);
    let ask = Ask::new(Dialect::Messages, true);
    let mut reply = opened_early(&world, &ask, &connection, Millis::seconds(2)).await;
    reply.until("ping").await;
    drop(reply);
    assert_abandoned(&world, &connection, 1).await;
    world.check_invariants().await;
}

#[tokio::test]
async fn a_client_that_leaves_does_not_start_the_next_attempt() {
    let world = World::start().await;
    let first = world.connect("openai", "first").await;
    let second = world.connect("openai", "second").await;
    world.script(&first).then(Step::Hang);
    let (agent, ask) = (world.agent(), Ask::new(Dialect::Chat, false));
    let asking = tokio::spawn(async move { agent.post(&ask.path, ask.body).await });
    world.wait_for_calls(&first, 1).await;
    asking.abort();
    assert_abandoned(&world, &first, 1).await;
    world.advance(Millis::hours(1));
    world.requests().await;
    assert!(world.calls(&second).is_empty());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_slow_client_slows_the_upstream_and_gets_every_byte() {
    const FRAMES: usize = 1_200;
    let world = World::start().await;
    let connection = world.connect("anthropic", "c1").await;
    let text = "x".repeat(64 * 1024);
    let frame = format!(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
    );
    let frame = bytes::Bytes::from(frame);
    let opening = beginning(Dialect::Messages);
    let end = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let mut frames = vec![bytes::Bytes::from_static(opening.as_bytes())];
    frames.extend(std::iter::repeat_n(frame.clone(), FRAMES));
    frames.push(bytes::Bytes::from_static(end.as_bytes()));
    let expected: usize = frames.iter().map(bytes::Bytes::len).sum();
    world.script(&connection).then(Step::sse(frames)).then(Step::ok("Hello"));
    let ask = Ask::new(Dialect::Messages, true);
    let mut reply = world.agent().stream(&ask.path, ask.body).await;
    let mut read = reply.next().await.expect("a beginning").len();
    // Plenty happens meanwhile: a gateway that reads on without its client would have read it all.
    for _ in 0..20 {
        let reply = world.agent().post("/v1/messages", messages_body("anthropic/m1", false)).await;
        assert_eq!(reply.status, 200);
    }
    let call = &world.calls(&connection)[0];
    assert_eq!(call.ending, fake_upstream::Ending::Open, "{} MiB wait in the upstream", expected / 1024 / 1024);
    while let Some(piece) = reply.next().await {
        read += piece.len();
    }
    assert_eq!(read, expected);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_stop_lets_a_running_stream_finish() {
    let mut world = World::start().await;
    let connection = world.connect("anthropic", "c1").await;
    let all = odd_stream(Dialect::Messages);
    let (opening, rest) = all.split_at(all.find("event: a_later_invention").expect("the middle"));
    let gate = Gate::closed();
    world.script(&connection).then(Step::paced([(opening, Pause::None), (rest, Pause::from(&gate))]));
    let ask = Ask::new(Dialect::Messages, true);
    let mut reply = world.agent().stream(&ask.path, ask.body).await;
    let mut body = reply.until("thinking_delta").await;
    let reading = tokio::spawn(reply.rest());
    let address = world.address();
    let opens = async {
        // The stop has begun once nobody listens any more.
        while tokio::net::TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        gate.open();
    };
    tokio::join!(world.stop(), acceptance::in_time("the listener to go", opens));
    body.extend_from_slice(&reading.await.expect("a rest").body);
    assert_eq!(std::str::from_utf8(&body).expect("text"), all);
}
