//! Readers know when an answer is over, in each dialect, and when a piece of it could not be read.

use bytes::Bytes;
use dialects::{Frame, Remainder};
use domain::Dialect;

fn frame(data: &str) -> Frame {
    let data = Bytes::copy_from_slice(data.as_bytes());
    Frame { raw: data.clone(), event: None, data, is_comment: false }
}

#[test]
fn an_answer_has_ended_with_its_reason_and_is_over_with_the_marker_of_its_dialect() {
    const OPEN: &str =
        r#"{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}],"id":"c"}"#;
    use Remainder::{Answer, Counts, Nothing};
    for (dialect, steps) in [
        (
            Dialect::Chat,
            &[
                (OPEN, Answer),
                (r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, Answer),
                (r#"{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}"#, Counts),
                (r#"{"choices":[],"usage":{"prompt_tokens":1}}"#, Counts),
                ("[DONE]", Nothing),
            ][..],
        ),
        (
            Dialect::Messages,
            &[
                (r#"{"type":"message_start","message":{"id":"m"}}"#, Answer),
                (r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#, Counts),
                (r#"{"type":"message_stop"}"#, Nothing),
            ],
        ),
        (
            Dialect::Responses,
            &[
                (r#"{"type":"response.created","response":{"id":"r"}}"#, Answer),
                (r#"{"type":"response.incomplete","response":{"id":"r","status":"incomplete","output":[]}}"#, Nothing),
            ],
        ),
        (
            Dialect::Gemini,
            &[
                (r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}"#, Answer),
                (r#"{"candidates":[{"finishReason":"STOP"}]}"#, Counts),
                (r#"{"usageMetadata":{"promptTokenCount":1}}"#, Counts),
            ],
        ),
    ] {
        let mut reader = dialects::reader(dialect);
        let mut events = Vec::new();
        for (data, expected) in steps {
            reader.push(&frame(data), &mut events);
            assert_eq!(reader.remainder(), *expected, "{dialect}: {data}");
        }
    }
}

#[test]
fn only_json_that_is_none_is_a_gap() {
    for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini] {
        for (data, expected) in [("ping", false), ("{\"a\":1}", false), ("{\"a\":\"\t\"}", false), ("{\"a\":", true)] {
            let mut reader = dialects::reader(dialect);
            reader.push(&frame(data), &mut Vec::new());
            assert_eq!(reader.is_garbled(), expected, "{dialect}: {data}");
        }
    }
}
