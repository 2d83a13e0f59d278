//! Bodies of another kind than their media type says, or than was asked for (gateway specification, 1.9).

use std::time::Duration;

use acceptance::{beginning, ending, error_event, whole_answer};
use domain::Dialect;
use fake_upstream::{Break, Step};
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
        let stream = format!("{}{}", beginning(upstream), ending(upstream));
        let frames = stream.lines().filter_map(|line| line.strip_prefix("data: "));
        let lines: String = frames.filter(|data| *data != "[DONE]").map(|data| format!("{data}\n")).collect();
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
