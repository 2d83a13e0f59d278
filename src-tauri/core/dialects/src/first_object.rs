//! One JSON object where a stream was asked for: is it a whole answer, or the first line of one?

use bytes::Bytes;
use domain::{Dialect, Operation};

use crate::chat;
use crate::error::ErrorOrigin;
use crate::event::{Remainder, reader};
use crate::framing::Frame;
use crate::response::inspect;

/// What the first object of a body is, by what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstObject {
    /// The answer has ended with it, or failed.
    Ends,
    /// A piece of a stream: more of the answer has to come.
    Continues,
    /// It does not say: a whole answer that gives no reason for its end, a piece that looks like one, or something else.
    Open,
}

/// Looks at the first object of the body of a 2xx answer.
pub fn first_object(operation: Operation, object: &Bytes) -> FirstObject {
    let dialect = operation.dialect();
    let mut reader = reader(dialect);
    let frame = Frame { raw: object.clone(), event: None, data: object.clone(), is_comment: false };
    reader.push(&frame, &mut Vec::new());
    if reader.dropped() == 0 {
        let is_piece = match dialect {
            Dialect::Chat => chat::response::is_piece(object),
            // Their pieces are events, and their whole answers are none.
            Dialect::Messages | Dialect::Responses => true,
            // A piece has the shape of a whole answer.
            Dialect::Gemini => false,
        };
        return match reader.remainder() {
            Remainder::Counts | Remainder::Nothing => FirstObject::Ends,
            Remainder::Answer if is_piece => FirstObject::Continues,
            Remainder::Answer => FirstObject::Open,
        };
    }
    let found = inspect(operation, object);
    let has_failed = found.error.is_some_and(|error| error.origin == ErrorOrigin::Stated);
    if has_failed || found.finish.is_some() { FirstObject::Ends } else { FirstObject::Open }
}

#[cfg(test)]
mod tests {
    use domain::Operation::{ChatCompletions, Messages, Responses, StreamGenerateContent};

    use super::*;
    use FirstObject::{Continues, Ends, Open};

    #[test]
    fn what_an_object_says_decides_whether_more_of_the_answer_follows() {
        for (operation, object, expected) in [
            (ChatCompletions, r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#, Continues),
            (ChatCompletions, r#"{"choices":[{"delta":{"content":"Hel"},"finish_reason":null}]}"#, Continues),
            (ChatCompletions, r#"{"object":"chat.completion.chunk","choices":[]}"#, Continues),
            (ChatCompletions, r#"{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}"#, Ends),
            (ChatCompletions, r#"{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}"#, Ends),
            (ChatCompletions, r#"{"choices":[{"message":{"content":"Hello"}}]}"#, Open),
            (
                ChatCompletions,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"},{"index":1,"delta":{"content":"a"}}]}"#,
                Continues,
            ),
            (ChatCompletions, r#"{"choices":[],"prompt_filter_results":[]}"#, Open),
            (ChatCompletions, r#"{"error":{"message":"no"}}"#, Ends),
            (ChatCompletions, r#"{"event":"ping"}"#, Open),
            (ChatCompletions, r#"{"choices":[{"delta":{"content":"a" "b"}}]}"#, Open),
            (Messages, r#"{"type":"message_start","message":{"id":"m","content":[],"stop_reason":null}}"#, Continues),
            (Messages, r#"{"type":"ping"}"#, Continues),
            (Messages, r#"{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}"#, Ends),
            (Messages, r#"{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":null}"#, Open),
            (Messages, r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#, Ends),
            (Responses, r#"{"type":"response.created","response":{"id":"r","status":"in_progress"}}"#, Continues),
            (
                Responses,
                r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}"#,
                Ends,
            ),
            (Responses, r#"{"object":"response","status":"completed","output":[]}"#, Ends),
            (Responses, r#"{"object":"response","status":"in_progress","output":[]}"#, Open),
            (Responses, r#"{"error":{"message":"no","code":"server_error"}}"#, Ends),
            (StreamGenerateContent, r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}"#, Open),
            (
                StreamGenerateContent,
                r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}"#,
                Ends,
            ),
            (StreamGenerateContent, r#"{"error":{"code":503,"message":"busy"}}"#, Ends),
        ] {
            let object = Bytes::from_static(object.as_bytes());
            assert_eq!(first_object(operation, &object), expected, "{operation:?} {object:?}");
        }
    }
}
