//! Bodies of another kind than their media type says, or than was asked for (gateway specification, 1.9).

use std::time::Duration;

use acceptance::{Ask, Reply, beginning, ending, error_event, whole_answer};
use domain::{Dialect, Millis};
use fake_upstream::{Break, Gate, Pause, Step};
use http::HeaderMap;
use serde_json::json;

use crate::world::{DIALECTS, Upstreams, heard, text};

const MEDIA: [Option<&str>; 5] =
    [None, Some("text/plain"), Some("application/json"), Some("application/octet-stream"), Some("text/event-stream")];

/// A good reply with this body, under this media type.
fn under(media: Option<&'static str>, body: String) -> Step {
    let step = Step::raw(200, HeaderMap::new(), body);
    media.map_or(step.clone(), |media| step.with_header("content-type", media))
}

/// The same, a few bytes at a time.
fn in_pieces(media: &str, body: &str) -> Step {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {media}\r\nconnection: close\r\n\r\n");
    let mut pieces = vec![(head.into_bytes(), Duration::ZERO)];
    pieces.extend(body.as_bytes().chunks(7).map(|piece| (piece.to_vec(), Duration::from_micros(300))));
    Step::paced_wire(pieces, Break::Close)
}

#[tokio::test]
async fn a_stream_is_one_whatever_its_media_type_says() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let stream = format!("{}{}", beginning(upstream), ending(upstream));
        for media in MEDIA {
            for client in DIALECTS {
                for streams in [true, false] {
                    upstreams.world.script_model(upstreams.of(upstream), "m1").then(under(media, stream.clone()));
                    let reply = upstreams.post(&Upstreams::ask(client, upstream, streams)).await;
                    let case = format!("{client} over {upstream}, stream {streams}, {media:?}: {}", reply.text());
                    assert_eq!(text(&heard(client, &reply, streams)), "Once upon", "{case}");
                    if client == upstream && streams {
                        assert_eq!(reply.text(), stream, "{case}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_whole_answer_is_told_as_a_stream_whatever_its_media_type_says() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        for media in MEDIA {
            for client in DIALECTS {
                for streams in [true, false] {
                    let step = under(media, whole_answer(upstream).to_owned());
                    upstreams.world.script_model(upstreams.of(upstream), "m1").then(step);
                    let reply = upstreams.post(&Upstreams::ask(client, upstream, streams)).await;
                    let case = format!("{client} over {upstream}, stream {streams}, {media:?}: {}", reply.text());
                    assert_eq!(text(&heard(client, &reply, streams)), "Once upon", "{case}");
                }
            }
        }
    }
}

#[tokio::test]
async fn lines_of_json_are_the_frames_of_a_stream() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let lines = lines_of(upstream).concat();
        for media in ["application/x-ndjson", "application/json", "text/event-stream"] {
            for client in DIALECTS {
                upstreams.world.script_model(upstreams.of(upstream), "m1").then(under(Some(media), lines.clone()));
                let reply = upstreams.post(&Upstreams::ask(client, upstream, true)).await;
                let case = format!("{client} over {upstream}, {media}: {}", reply.text());
                assert_eq!(text(&heard(client, &reply, true)), "Once upon", "{case}");
            }
        }
    }
}

#[tokio::test]
async fn the_kind_of_a_body_is_told_from_however_few_bytes_at_a_time() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let stream = format!("\u{feff}{}{}", beginning(upstream), ending(upstream));
        for (media, body) in [("text/plain", stream.as_str()), ("text/event-stream", whole_answer(upstream))] {
            for client in DIALECTS {
                upstreams.world.script_model(upstreams.of(upstream), "m1").then(in_pieces(media, body));
                let reply = upstreams.post(&Upstreams::ask(client, upstream, true)).await;
                let case = format!("{client} over {upstream}, {media}: {}", reply.text());
                assert_eq!(text(&heard(client, &reply, true)), "Once upon", "{case}");
            }
        }
    }
}

/// The lines of a stream, one object each.
fn lines_of(upstream: Dialect) -> Vec<String> {
    let stream = format!("{}{}", beginning(upstream), ending(upstream));
    let frames = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    frames.filter(|data| *data != "[DONE]").map(|data| format!("{data}\n")).collect()
}

/// A good reply under this media type, its second piece behind a gate; then the connection ends like this.
fn in_two(media: &str, first: &str, second: &str, gate: &Gate, then: Break) -> Step {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {media}\r\nconnection: close\r\n\r\n{first}");
    Step::paced_wire([(head, Pause::None), (second.to_owned(), Pause::from(gate))], then)
}

/// Asks for a stream and lets five seconds pass before the second piece comes: more than an ended answer is waited for.
async fn after_a_gap(upstreams: &Upstreams, ask: &Ask, upstream: Dialect, gate: &Gate) -> Reply {
    let before = upstreams.world.calls(upstreams.of(upstream)).len() as u64;
    let (agent, asked) = (upstreams.world.agent(), ask.clone());
    let asking = tokio::spawn(async move { agent.post(&asked.path, asked.body).await });
    upstreams.world.wait_for_calls(upstreams.of(upstream), before + 1).await;
    for _ in 0..10 {
        // Each answer shows that the gateway has come round.
        upstreams.world.stranger().get("/health").await;
        upstreams.world.advance(Millis::new(500));
    }
    gate.open();
    asking.await.expect("a reply")
}

#[tokio::test]
async fn a_second_line_is_never_late() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let lines = lines_of(upstream);
        let (first, rest) = (&lines[0], lines[1..].concat());
        for media in ["application/json", "text/event-stream", "text/plain", "application/x-ndjson"] {
            for client in DIALECTS {
                let gate = Gate::closed();
                let step = in_two(media, first, &rest, &gate, Break::Close);
                upstreams.world.script_model(upstreams.of(upstream), "m1").then(step);
                let ask = Upstreams::ask(client, upstream, true);
                let reply = after_a_gap(&upstreams, &ask, upstream, &gate).await;
                let case = format!("{client} over {upstream}, {media}: {}", reply.text());
                assert_eq!(text(&heard(client, &reply, true)), "Once upon", "{case}");
                assert_eq!(upstreams.world.last_request().await["outcome"], "success", "{case}");
            }
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_whole_answer_is_one_when_nothing_follows_however_long_it_is_waited() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        for client in DIALECTS {
            // It is never closed, and its second piece never comes.
            let step = in_two("application/json", whole_answer(upstream), "", &Gate::closed(), Break::Stall);
            upstreams.world.script_model(upstreams.of(upstream), "m1").then(step);
            let ask = Upstreams::ask(client, upstream, true);
            let reply = after_a_gap(&upstreams, &ask, upstream, &Gate::closed()).await;
            assert_eq!(text(&heard(client, &reply, true)), "Once upon", "{client} over {upstream}: {}", reply.text());
        }
    }
    // One that gives no reason for its end is one once its upstream has closed.
    let unfinished = whole_answer(Dialect::Chat).replace(",\"finish_reason\":\"stop\"", "");
    let gate = Gate::closed();
    let step = in_two("application/json", &unfinished, "", &gate, Break::Close);
    upstreams.world.script_model(upstreams.of(Dialect::Chat), "m1").then(step);
    let ask = Upstreams::ask(Dialect::Chat, Dialect::Chat, true);
    let reply = after_a_gap(&upstreams, &ask, Dialect::Chat, &gate).await;
    assert_eq!(text(&heard(Dialect::Chat, &reply, true)), "Once upon", "{}", reply.text());
}

/// A piece is no answer, whatever becomes of the stream behind it.
#[tokio::test]
async fn a_stream_that_ends_with_its_first_line_is_a_cut_one() {
    let upstreams = Upstreams::start().await;
    let first = &lines_of(Dialect::Chat)[0];
    for media in ["application/json", "text/event-stream"] {
        for client in DIALECTS {
            upstreams.world.script_model(upstreams.of(Dialect::Chat), "m1").then(under(Some(media), first.clone()));
            let reply = upstreams.post(&Upstreams::ask(client, Dialect::Chat, true)).await;
            let case = format!("{client}, {media}: {}", reply.text());
            assert!(reply.text().contains("Once upon"), "{case}");
            for end in ["[DONE]", "message_stop", "response.completed", "finishReason", "\"stop\""] {
                assert!(!reply.text().contains(end), "{case}");
            }
            let row = upstreams.world.last_request().await;
            assert_eq!((&row["outcome"], &row["errorCode"]), (&json!("failure"), &json!("stream_cut")), "{case}");
            upstreams.world.reset(upstreams.of(Dialect::Chat)).await;
        }
    }
}

/// Each byte is looked at once: with what was looked at before, these would be more than 10^12 steps.
#[tokio::test]
async fn blank_space_in_front_of_an_answer_costs_nobody_anything() {
    let upstreams = Upstreams::start().await;
    let stream = format!("{}{}", beginning(Dialect::Chat), ending(Dialect::Chat));
    let bodies = [
        [" ".repeat(3 << 20).as_str(), whole_answer(Dialect::Chat)].concat(),
        [whole_answer(Dialect::Chat), &" ".repeat(3 << 20)].concat(),
        ["\n".repeat(1 << 18).as_str(), &stream].concat(),
    ];
    for body in bodies {
        for client in [Dialect::Chat, Dialect::Messages] {
            upstreams.world.script_model(upstreams.of(Dialect::Chat), "m1").then(under(None, body.clone()));
            let reply = upstreams.post(&Upstreams::ask(client, Dialect::Chat, true)).await;
            assert_eq!(text(&heard(client, &reply, true)), "Once upon", "{client}");
        }
    }
}

/// What is neither is no answer, and the next account is asked.
#[tokio::test]
async fn a_page_is_no_stream() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let second = upstreams.world.connect(Upstreams::provider(upstream), "second").await;
        upstreams.world.script_model(&second, "m1").then(Step::ok("from the other"));
        for media in [Some("text/html"), Some("text/event-stream")] {
            let page = under(media, "<html><title>Maintenance</title></html>".to_owned());
            upstreams.world.script_model(upstreams.of(upstream), "m1").then(page);
            let reply = upstreams.post(&Upstreams::ask(upstream, upstream, true)).await;
            assert_eq!(text(&heard(upstream, &reply, true)), "from the other", "{upstream}, {media:?}");
            upstreams.world.reset(upstreams.of(upstream)).await;
        }
    }
}

/// Decision 15: an error inside a good reply says when to come back as a bad reply would.
#[tokio::test]
async fn the_wait_that_an_error_inside_a_good_reply_names_is_obeyed() {
    let upstreams = Upstreams::start().await;
    let retry_info = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "41s" });
    let limited = json!({ "message": "Rate limit", "type": "rate_limit_error", "code": "rate_limit_exceeded" });
    let mut inner = limited.clone();
    inner["retry_after_ms"] = json!(41_000);
    let account = upstreams.of(Dialect::Chat);
    for (name, body, header) in [
        ("RetryInfo", json!({ "error": { "code": 429, "message": "Quota hit", "details": [retry_info] } }), None),
        ("beside the error", json!({ "error": limited, "retry_after_ms": 41_000 }), None),
        ("in the error", json!({ "error": inner }), None),
        ("in the head", json!({ "error": limited }), Some("41")),
    ] {
        for streams in [true, false] {
            let body = if streams { format!("data: {body}\n\n") } else { body.to_string() };
            let mut step = under(Some(if streams { "text/event-stream" } else { "application/json" }), body);
            if let Some(wait) = header {
                step = step.with_header("retry-after", wait);
            }
            upstreams.world.script_model(account, "m1").then(step);
            for client in [Dialect::Chat, Dialect::Messages] {
                let reply = upstreams.post(&Upstreams::ask(client, Dialect::Chat, streams)).await;
                let case = format!("{name}, {client}, stream {streams}: {}", reply.text());
                assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some("41")), "{case}");
                upstreams.world.reset(account).await;
            }
        }
    }
    // Without either, only the status is known.
    upstreams.world.script_model(account, "m1").then(Step::sse([error_event(Dialect::Chat, "no")]));
    let reply = upstreams.post(&Upstreams::ask(Dialect::Chat, Dialect::Chat, true)).await;
    assert_ne!(reply.header("retry-after"), Some("41"));
}
