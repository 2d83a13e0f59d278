//! What is passed on in the upstream's own bytes is in the form that the official libraries of its dialect read (gateway
//! specification, 1.9): whole frames, named as they expect, errors that they raise, and signs of life that they take.

use acceptance::{Ask, Connection, Reply, SseEvent, World, beginning, ending, opening, parse_sse};
use domain::{Dialect, Millis};
use fake_upstream::{Break, Gate, Pause, Step};
use http::HeaderMap;
use serde_json::{Value, json};

use crate::fixtures::in_chunks;

const DIALECTS: [Dialect; 4] = [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini];

/// An account that no failure rests, and no breaker stops.
async fn untiring(world: &World, ask: &Ask) -> Connection {
    let breaker = json!({ "failureThreshold": 1_000, "degradationThreshold": 900 });
    world.resilience(json!({ "providerBreaker": { "apikey": breaker } })).await;
    let name = format!("c {:?}", ask.dialect);
    world.connect_with(ask.provider, &name, json!({ "providerSpecificData": { "disableCooling": true } })).await
}

async fn asked(world: &World, ask: &Ask, step: Step) -> Reply {
    world.upstream.set_default(step);
    world.agent().post(&ask.path, ask.body.clone()).await
}

fn data(event: &SseEvent) -> Value {
    serde_json::from_str(&event.data).expect("JSON")
}

/// What a stream is followed by when it was cut, as code and message; none, nothing.
fn told(dialect: Dialect, rest: &str) -> Option<(String, String)> {
    let events = parse_sse(rest);
    let [event] = &events[..] else {
        assert_eq!(rest, "", "{dialect:?}");
        return None;
    };
    let data = data(event);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let (name, error, word) = match dialect {
        Dialect::Chat => (None, &data["error"], "type"),
        Dialect::Responses => (Some("response.failed"), &data["response"]["error"], "code"),
        Dialect::Messages => (Some("error"), &data["error"], "type"),
        Dialect::Gemini => (None, &data["error"], "status"),
    };
    assert_eq!(event.event.as_deref(), name, "{rest}");
    Some((text(&error[word]), text(&error["message"])))
}

#[tokio::test]
async fn a_stream_may_close_after_any_byte() {
    for dialect in DIALECTS {
        let world = World::start().await;
        let ask = Ask::new(dialect, true);
        let connection = untiring(&world, &ask).await;
        let stream = format!("{}{}", beginning(dialect), ending(dialect));
        for cut in 1..stream.len() {
            let sent = &stream[..cut];
            let whole = sent.rfind("\n\n").map_or(0, |end| end + 2);
            // What is left over counts where its data is whole: then nothing but the blank line is missing.
            let last = sent[whole..].trim_end();
            let is_whole = last.split_once("data: ").is_some_and(|(_, data)| {
                data == "[DONE]" || data.starts_with('{') && serde_json::from_str::<Value>(data).is_ok()
            });
            let expected = if is_whole { format!("{}{last}\n\n", &sent[..whole]) } else { sent[..whole].to_owned() };
            let reply = asked(&world, &ask, Step::sse([sent.to_owned()])).await;
            let name = format!("{dialect:?} cut at {cut}");
            if !expected.contains("Once upon") {
                assert_eq!(reply.status, 502, "{name}: {}", reply.text());
                world.reset(&connection).await;
                continue;
            }
            let rest = reply.text().strip_prefix(&expected).unwrap_or_else(|| panic!("{name}: {}", reply.text()));
            let has_ended = match dialect {
                Dialect::Chat => expected.contains("\"stop\""),
                Dialect::Responses => expected.contains("response.completed"),
                Dialect::Messages => expected.contains("end_turn"),
                Dialect::Gemini => expected.contains("STOP"),
            };
            let marker = match dialect {
                Dialect::Chat => "data: [DONE]\n\n",
                Dialect::Messages => "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
                Dialect::Responses | Dialect::Gemini => "",
            };
            if has_ended {
                assert_eq!(rest, if expected.ends_with(marker) { "" } else { marker }, "{name}");
                continue;
            }
            let word = match dialect {
                // A client of this dialect that is not known to read errors is told by the missing end marker.
                Dialect::Chat => None,
                Dialect::Responses => Some("server_error"),
                Dialect::Messages => Some("api_error"),
                Dialect::Gemini => Some("UNAVAILABLE"),
            };
            assert_eq!(told(dialect, rest).map(|(word, _)| word).as_deref(), word, "{name}");
            world.reset(&connection).await;
        }
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn an_array_may_close_after_any_byte() {
    let world = World::start().await;
    let ask = Ask::new(Dialect::Gemini, true);
    let connection = untiring(&world, &ask).await;
    let path = ask.path.replace("?alt=sse", "");
    let element = |text: &str| format!("{{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"{text}\"}}]}}}}]}}");
    let last = "{\"candidates\":[{\"content\":{\"parts\":[]},\"finishReason\":\"STOP\"}]}";
    let counts = "{\"usageMetadata\":{\"promptTokenCount\":3}}";
    let (first, stream) =
        (element("Once"), format!("[{},\r\n{},\r\n{last},\r\n{counts}\r\n]\n", element("Once"), element("upon")));
    for cut in 1 + first.len()..stream.len() {
        let reply =
            asked(&world, &Ask { path: path.clone(), ..ask.clone() }, Step::sse([stream[..cut].to_owned()])).await;
        let told: Vec<Value> = serde_json::from_slice(&reply.body)
            .unwrap_or_else(|error| panic!("cut at {cut}: {error}: {}", reply.text()));
        let whole: Vec<Value> = [first.clone(), element("upon"), last.to_owned(), counts.to_owned()]
            .iter()
            .filter(|element| stream[..cut].contains(element.as_str()))
            .map(|element| serde_json::from_str(element).expect("JSON"))
            .collect();
        assert_eq!(told[..whole.len()], whole[..], "cut at {cut}");
        match &told[whole.len()..] {
            [] => assert!(whole.len() > 2, "cut at {cut}"),
            [error] => {
                assert_eq!((whole.len() < 3, &error["error"]["status"]), (true, &json!("UNAVAILABLE")), "cut at {cut}")
            }
            more => panic!("cut at {cut}: {more:?}"),
        }
        world.reset(&connection).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn an_error_in_another_shape_is_told_in_that_of_the_dialect() {
    for (dialect, frame, word, message) in [
        (
            Dialect::Chat,
            "data: {\"object\":\"error\",\"message\":\"Rate limit reached\",\"type\":\"rate_limit_error\",\"code\":429}\n\n",
            "rate_limit_error",
            "Rate limit reached",
        ),
        (Dialect::Chat, "data: {\"error\":\"it fell over\"}\n\n", "server_error", "it fell over"),
        (Dialect::Chat, "data: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n", "server_error", "busy"),
        (
            Dialect::Chat,
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"error\":{\"message\":\"gone\"}}]}\n\n",
            "server_error",
            "gone",
        ),
        (Dialect::Chat, "event: error\ndata: {\"message\":\"no more\"}\n\n", "server_error", "no more"),
        (Dialect::Responses, "data: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n", "503", "busy"),
        (
            Dialect::Responses,
            "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":\"no more\"}}\n\n",
            "server_error",
            "no more",
        ),
        (
            Dialect::Messages,
            "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
            "overloaded_error",
            "Overloaded",
        ),
        (Dialect::Messages, "event: error\ndata: {\"message\":\"no more\"}\n\n", "api_error", "no more"),
        (Dialect::Gemini, "data: {\"error\":{\"message\":\"busy\",\"code\":\"503\"}}\n\n", "UNAVAILABLE", "busy"),
        (
            Dialect::Gemini,
            "data: {\"candidates\":[],\"error\":{\"code\":500,\"message\":\"no more\",\"status\":\"INTERNAL\"}}\n\n",
            "INTERNAL",
            "no more",
        ),
    ] {
        let world = World::start().await;
        let ask = Ask::new(dialect, true);
        untiring(&world, &ask).await;
        let begun = beginning(dialect);
        for pieces in [vec![begun.to_owned(), frame.to_owned()], vec![format!("{begun}{frame}")]] {
            let reply = asked(&world, &ask, Step::sse(pieces)).await;
            let rest = reply.text().strip_prefix(begun).unwrap_or_else(|| panic!("{frame}: {}", reply.text()));
            assert_eq!(told(dialect, rest), Some((word.to_owned(), message.to_owned())), "{frame}");
            let row = world.last_request().await;
            assert_eq!((&row["outcome"], &row["errorSummary"]), (&json!("failure"), &json!(message)), "{frame}");
        }
        world.check_invariants().await;
    }
}

fn unnamed(stream: &str) -> String {
    stream.lines().filter(|line| !line.starts_with("event:")).map(|line| format!("{line}\n")).collect()
}

#[tokio::test]
async fn frames_that_a_library_would_not_read_are_framed_anew() {
    for (dialect, name, change) in [
        (Dialect::Messages, "no names", (|stream| unnamed(stream)) as fn(&str) -> String),
        (Dialect::Responses, "no names", |stream| unnamed(stream)),
        (Dialect::Messages, "the default name", |stream| unnamed(stream).replace("data: ", "event: message\ndata: ")),
        (Dialect::Responses, "ids", |stream| stream.replace("event: ", "id: 7\nevent: ")),
        (Dialect::Responses, "fields without data", |stream| format!("retry: 3000\n\n{stream}")),
        (Dialect::Chat, "a BOM", |stream| format!("\u{feff}{stream}")),
        (Dialect::Chat, "mixed line ends", |stream| stream.replace("\n\n", "\n\r\n")),
        (Dialect::Chat, "fields without data", |stream| stream.replace("data: [", "id: 9\n\ndata: [")),
        (Dialect::Gemini, "comments", |stream| format!(": hi\n\n{}", stream.replace("data: ", ": x\ndata: "))),
        (Dialect::Gemini, "no space", |stream| stream.replace("data: ", "data:")),
        (Dialect::Gemini, "carriage returns", |stream| stream.replace('\n', "\r")),
        (Dialect::Gemini, "ids and names", |stream| stream.replace("data: ", "id: 7\nevent: x\ndata: ")),
        (Dialect::Gemini, "a BOM", |stream| format!("\u{feff}{stream}")),
        (Dialect::Gemini, "an end marker", |stream| format!("{stream}data: [DONE]\n\n")),
    ] {
        let world = World::start().await;
        let ask = Ask::new(dialect, true);
        world.connect(ask.provider, "c1").await;
        let right = format!("{}{}", beginning(dialect), ending(dialect));
        let sent = change(&right);
        assert_ne!(sent, right, "{name}");
        for size in [1, 3, 7, 64, sent.len()] {
            let reply = asked(&world, &ask, Step::sse(in_chunks(&sent, size))).await;
            assert_eq!(reply.text(), right, "{dialect:?}: {name}, in chunks of {size}");
            assert_eq!(world.last_request().await["outcome"], "success", "{dialect:?}: {name}");
        }
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn data_of_several_lines_stands_on_one_for_a_gemini_client() {
    let world = World::start().await;
    let ask = Ask::new(Dialect::Gemini, true);
    world.connect(ask.provider, "c1").await;
    let sent = format!("{}{}", beginning(Dialect::Gemini), ending(Dialect::Gemini));
    let broken = sent.replace("{\"candidates\"", "{\ndata: \"candidates\"");
    let reply = asked(&world, &ask, Step::sse([broken])).await;
    assert_eq!(reply.text(), sent.replace("{\"candidates\"", "{ \"candidates\""));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_stream_has_the_media_type_of_its_contract_whatever_the_upstream_says() {
    let world = World::start().await;
    world.connect_all().await;
    for dialect in DIALECTS {
        let ask = Ask::new(dialect, true);
        let stream = format!("{}{}", beginning(dialect), ending(dialect));
        for media in [Some("text/event-stream"), Some("text/event-stream;charset=UTF-8"), Some("text/plain"), None] {
            let mut headers = HeaderMap::new();
            if let Some(media) = media {
                headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(media));
            }
            let reply = asked(&world, &ask, Step::raw(200, headers, stream.clone())).await;
            assert_eq!(reply.text(), stream, "{dialect:?} {media:?}");
            assert_eq!(reply.header("content-type"), Some("text/event-stream; charset=utf-8"), "{dialect:?} {media:?}");
            assert_eq!(reply.header("cache-control"), Some("no-cache, no-transform"));
            assert_eq!(reply.header("x-accel-buffering"), Some("no"));
            assert_eq!((reply.header("content-length"), reply.header("content-encoding")), (None, None));
        }
    }
    world.check_invariants().await;
}

/// What stands between two frames of a stream that pauses, by client and upstream.
pub(crate) fn sign_of_life(client: Dialect, upstream: Dialect) -> &'static str {
    match client {
        Dialect::Messages => "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        Dialect::Responses => ": keep-alive\n\n",
        Dialect::Gemini => "\n",
        Dialect::Chat if upstream == Dialect::Chat => {
            "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":null}]}\n\n"
        }
        Dialect::Chat => "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":null}]}\n\n",
    }
}

fn assert_sign(client: Dialect, upstream: Dialect, piece: &[u8]) {
    let (text, sign) = (std::str::from_utf8(piece).expect("text"), sign_of_life(client, upstream));
    if client == Dialect::Chat && upstream != Dialect::Chat {
        assert!(text.ends_with(sign) && text.matches("data: ").count() == 1, "{upstream:?}: {text:?}");
    } else {
        assert_eq!(text, sign, "{client:?} {upstream:?}");
    }
}

#[tokio::test]
async fn a_stream_that_pauses_gives_a_sign_of_life_every_fifteen_seconds() {
    for (client, provider, upstream) in [
        (Dialect::Chat, "openai", Dialect::Chat),
        (Dialect::Responses, "openai", Dialect::Responses),
        (Dialect::Messages, "anthropic", Dialect::Messages),
        (Dialect::Gemini, "gemini", Dialect::Gemini),
        (Dialect::Chat, "anthropic", Dialect::Messages),
        (Dialect::Responses, "anthropic", Dialect::Messages),
        (Dialect::Gemini, "anthropic", Dialect::Messages),
        (Dialect::Messages, "openai", Dialect::Chat),
    ] {
        let world = World::start().await;
        let connection = world.connect(provider, "c1").await;
        // Half a frame is not in the way of a sign, and is not torn apart by one.
        let (half, other) = ending(upstream).split_at(9);
        let (more, last) = (Gate::closed(), Gate::closed());
        let pieces = [(beginning(upstream), Pause::None), (half, Pause::from(&more)), (other, Pause::from(&last))];
        world.script(&connection).then(Step::paced(pieces).broken(usize::MAX, Break::Stall));
        let ask = Ask::of(provider, "m1", client, true);
        let mut reply = world.agent().stream(&ask.path, ask.body).await;
        let mut body = reply.until("Once upon").await;
        world.advance(Millis::new(14_999));
        world.advance(Millis::new(1));
        assert_sign(client, upstream, &reply.next().await.expect("a sign"));
        more.open();
        world.advance(Millis::seconds(15));
        assert_sign(client, upstream, &reply.next().await.expect("a second sign"));
        last.open();
        let last = match client {
            Dialect::Chat => "[DONE]",
            Dialect::Responses => "response.completed",
            Dialect::Messages => "message_stop",
            Dialect::Gemini => "STOP",
        };
        let end = reply.until(last).await;
        assert!(end.starts_with(if upstream == client { half.as_bytes() } else { b"" }), "{client:?} {upstream:?}");
        body.extend_from_slice(&end);
        // The upstream does not close: the clock runs until it is waited for no longer.
        let rest = tokio::select! {
            rest = reply.rest() => rest,
            () = async { loop { world.advance(Millis::seconds(1)); tokio::task::yield_now().await; } } => unreachable!("endless"),
        };
        if upstream != client {
            assert!(!rest.text().contains("keep-alive") && !rest.text().contains("ping"), "{}", rest.text());
        }
        body.extend_from_slice(&rest.body);
        if upstream == client {
            assert_eq!(body, format!("{}{}", beginning(client), ending(client)).as_bytes(), "nothing follows the end");
        }
        assert_eq!(world.last_request().await["outcome"], "success", "{client:?} {upstream:?}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn what_comes_in_time_needs_no_sign_of_life() {
    let world = World::start().await;
    let connection = world.connect("anthropic", "c1").await;
    let dialect = Dialect::Messages;
    let more = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" a time\"}}\n\n";
    let gate = Gate::closed();
    let pieces = [(beginning(dialect), Pause::None), (more, Pause::from(&gate))];
    world.script(&connection).then(Step::paced(pieces).broken(usize::MAX, Break::Stall));
    let ask = Ask::new(dialect, true);
    let mut reply = world.agent().stream(&ask.path, ask.body).await;
    reply.until("Once upon").await;
    world.advance(Millis::new(14_999));
    gate.open();
    assert_eq!(reply.next().await.expect("the rest"), more.as_bytes());
    // The pause is counted from there.
    world.advance(Millis::seconds(15));
    assert_sign(dialect, dialect, &reply.next().await.expect("a sign"));
    drop(reply);
    world.wait_for_endings(&connection, 1).await;
    world.check_invariants().await;
}

#[tokio::test]
async fn signs_of_life_can_be_switched_off_and_an_array_has_none() {
    for (interval, path) in [(0, "?alt=sse"), (15_000, "")] {
        let world = World::start().await;
        world.set(json!({ "gateway": { "heartbeatIntervalMs": interval } })).await;
        let connection = world.connect("gemini", "c1").await;
        let (dialect, ask) = (Dialect::Gemini, Ask::new(Dialect::Gemini, true));
        let (first, last) = if interval == 0 {
            (beginning(dialect), ending(dialect))
        } else {
            (
                "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Once upon\"}]}}]}",
                ",{\"candidates\":[{\"finishReason\":\"STOP\"}]}]",
            )
        };
        let gate = Gate::closed();
        world.script(&connection).then(Step::paced([(first, Pause::None), (last, Pause::from(&gate))]));
        let mut reply = world.agent().stream(&ask.path.replace("?alt=sse", path), ask.body).await;
        let mut body = reply.until("Once upon").await;
        world.advance(Millis::seconds(60));
        gate.open();
        body.extend_from_slice(&reply.rest().await.body);
        assert_eq!(std::str::from_utf8(&body).expect("text"), format!("{first}{last}"));
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn an_opening_alone_is_kept_alive_as_before_the_first_content() {
    // The early signs and those within an answer are of one form, so a client needs to take only one.
    for dialect in DIALECTS {
        let world = World::start().await;
        let ask = Ask::new(dialect, true);
        let connection = world.connect(ask.provider, "c1").await;
        world.script(&connection).then(Step::sse([opening(dialect)]).broken(usize::MAX, Break::Stall));
        let (agent, asking) = (world.agent(), ask.clone());
        let asking = tokio::spawn(async move { agent.stream(&asking.path, asking.body).await });
        world.wait_for_calls(&connection, 1).await;
        world.advance(Millis::seconds(15));
        let mut reply = asking.await.expect("a head");
        let piece = reply.next().await.expect("a sign");
        match dialect {
            Dialect::Chat => assert!(piece.ends_with(b"\"delta\":{},\"finish_reason\":null}]}\n\n"), "{piece:?}"),
            Dialect::Responses | Dialect::Messages | Dialect::Gemini => assert_sign(dialect, dialect, &piece),
        }
        drop(reply);
        world.wait_for_endings(&connection, 1).await;
        world.check_invariants().await;
    }
}
