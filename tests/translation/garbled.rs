//! Frames and bodies that are not quite JSON, and such as are none at all: read where that is possible, and never left out
//! without a word (gateway specification, 2.12 and 2.17).

use acceptance::{Reply, beginning, ending, whole_answer};
use domain::Dialect;
use fake_upstream::{Gate, Pause, Step};
use http::HeaderMap;

use crate::world::{DIALECTS, Upstreams, heard, text};

/// What servers get wrong in a text, and what is made of it. The text is `Once upon`.
const MENDED: [(&str, &[u8], &str); 3] = [
    ("invalid UTF-8", b"Once\xff upon", "Once\u{fffd} upon"),
    ("a control character", b"Once\tupon", "Once\tupon"),
    ("what Python writes", b"Once upon\",\"x\":NaN,\"y\":\"", "Once upon"),
];

fn with(stream: &str, text: &[u8]) -> Vec<u8> {
    let at = stream.find("Once upon").expect("a text");
    [&stream.as_bytes()[..at], text, &stream.as_bytes()[at + "Once upon".len()..]].concat()
}

#[tokio::test]
async fn what_a_strict_parser_refuses_is_mended_and_told() {
    let upstreams = Upstreams::start().await;
    for (name, written, expected) in MENDED {
        for upstream in DIALECTS {
            let stream = with(&format!("{}{}", beginning(upstream), ending(upstream)), written);
            for client in DIALECTS.into_iter().filter(|client| *client != upstream) {
                for streams in [true, false] {
                    upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::sse([stream.clone()]));
                    let reply = upstreams.post(&Upstreams::ask(client, upstream, streams)).await;
                    let case = format!("{name}: {client} over {upstream}, stream {streams}");
                    assert_eq!(text(&heard(client, &reply, streams)), expected, "{case}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_whole_answer_is_mended_too_for_whoever_asks() {
    let upstreams = Upstreams::start().await;
    let twice = |body: &str| body.replacen("{\"", "{\"model\":\"first\",\"model\":\"second\",\"", 1).into_bytes();
    for upstream in DIALECTS {
        let mut bodies: Vec<_> =
            MENDED.iter().map(|(_, written, expected)| (with(whole_answer(upstream), written), *expected)).collect();
        bodies.push((twice(whole_answer(upstream)), "Once upon"));
        for (body, expected) in bodies {
            for client in DIALECTS {
                let step =
                    Step::raw(200, HeaderMap::new(), body.clone()).with_header("content-type", "application/json");
                upstreams.world.script_model(upstreams.of(upstream), "m1").then(step);
                let reply = upstreams.post(&Upstreams::ask(client, upstream, false)).await;
                assert_eq!(text(&heard(client, &reply, false)), expected, "{client} over {upstream}: {}", reply.text());
            }
        }
    }
}

#[tokio::test]
async fn a_frame_that_is_no_json_after_all_ends_a_stream_as_a_failure() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let stream = [beginning(upstream), "data: {\"choices\":[{\n\n", ending(upstream)];
        for client in DIALECTS.into_iter().filter(|client| *client != upstream) {
            // The first piece is told before the second comes.
            let gate = Gate::closed();
            let pieces = [(stream[0], Pause::None), (stream[1], Pause::from(&gate)), (stream[2], Pause::None)];
            upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::paced(pieces));
            let ask = Upstreams::ask(client, upstream, true);
            let mut reply = upstreams.world.agent().stream(&ask.path, ask.body).await;
            let mut body = reply.until("Once upon").await;
            gate.open();
            let rest = reply.rest().await;
            body.extend_from_slice(&rest.body);
            let reply = Reply { body: body.into(), ..rest };
            let case = format!("{client} over {upstream}: {}", reply.text());
            assert!(reply.text().contains("Once upon"), "{case}");
            for end in ["[DONE]", "message_stop", "response.completed", "finishReason"] {
                assert!(!reply.text().contains(end), "{case}");
            }
            let is_told = reply.text().contains("\"error\"") || reply.text().contains("response.failed");
            assert_eq!(is_told, client != Dialect::Chat, "{case}");
            let row = upstreams.world.last_request().await;
            assert_eq!((&row["outcome"], &row["errorCode"]), (&"failure".into(), &"empty_or_garbled".into()), "{case}");
            upstreams.world.reset(upstreams.of(upstream)).await;
        }
    }
}

#[tokio::test]
async fn before_anything_was_told_such_a_frame_sends_the_request_elsewhere() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let second = upstreams.world.connect(Upstreams::provider(upstream), "second").await;
        upstreams.world.script_model(&second, "m1").then(Step::ok("from the other"));
        for streams in [true, false] {
            let stream = format!("data: {{\"choices\":[{{\n\n{}{}", beginning(upstream), ending(upstream));
            upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::sse([stream]));
            let client = if upstream == Dialect::Chat { Dialect::Messages } else { Dialect::Chat };
            let reply = upstreams.post(&Upstreams::ask(client, upstream, streams)).await;
            assert_eq!(text(&heard(client, &reply, streams)), "from the other", "{upstream}, stream {streams}");
            upstreams.world.reset(upstreams.of(upstream)).await;
        }
    }
}

#[tokio::test]
async fn what_never_meant_to_be_json_is_passed_over() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let stream =
            format!("data: ping\n\n: sign of life\n\n{}data: <ok>\n\n{}", beginning(upstream), ending(upstream));
        for client in DIALECTS {
            upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::sse([stream.clone()]));
            let reply = upstreams.post(&Upstreams::ask(client, upstream, true)).await;
            if client == upstream {
                // What is no JSON Google's libraries fail on; the others are given it as it came.
                let bare = format!("{}{}", beginning(client), ending(client));
                assert_eq!(reply.text(), if client == Dialect::Gemini { &bare } else { &stream }, "{client}");
            } else {
                assert_eq!(text(&heard(client, &reply, true)), "Once upon", "{client} over {upstream}");
            }
        }
    }
}

#[tokio::test]
async fn the_last_event_is_the_last_also_where_bytes_of_it_are_no_text() {
    let upstreams = Upstreams::start().await;
    let end = ending(Dialect::Responses).replace("\"output\":[]", "\"output\":[],\"note\":\"@\"");
    let mut stream = format!("{}{end}", beginning(Dialect::Responses)).into_bytes();
    stream.iter_mut().filter(|byte| **byte == b'@').for_each(|byte| *byte = 0xff);
    upstreams.world.script_model(upstreams.of(Dialect::Responses), "m1").then(Step::sse([stream.clone()]));
    let reply = upstreams.post(&Upstreams::ask(Dialect::Responses, Dialect::Responses, true)).await;
    assert_eq!(reply.body, stream);
    assert_eq!(upstreams.world.last_request().await["outcome"], "success");
}
