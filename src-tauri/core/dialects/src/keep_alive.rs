//! Signs of life while an upstream is silent (gateway specification, 1.9): in each dialect the smallest thing that its
//! clients' idle timers really count, and that none of its parsers trips over.

use bytes::Bytes;
use domain::Dialect;
use serde::Serialize;

#[derive(Serialize)]
struct EmptyChunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [EmptyChoice; 1],
}

#[derive(Serialize)]
struct EmptyChoice {
    index: u8,
    delta: EmptyDelta,
    finish_reason: Option<&'static str>,
}

#[derive(Serialize)]
struct EmptyDelta {}

/// One keep-alive frame of an SSE stream. `id` and `model` are those of the chat answer, the same in every frame of one
/// request; the other dialects do not use them.
///
/// Chat clients get a legal empty chunk because some of them fail on comments; Messages clients get `ping` because
/// Claude Code's watchdog does not count comments; Gemini clients get a blank line because Google's library for Python
/// fails on comments, and on any chunk of an answer an agent would see.
pub fn keep_alive(dialect: Dialect, id: &str, model: &str) -> Bytes {
    match dialect {
        Dialect::Chat => {
            let choice = EmptyChoice { index: 0, delta: EmptyDelta {}, finish_reason: None };
            let chunk = EmptyChunk { id, object: "chat.completion.chunk", created: 0, model, choices: [choice] };
            crate::error::sse_frame(None, &chunk)
        }
        Dialect::Messages => Bytes::from_static(b"event: ping\ndata: {\"type\":\"ping\"}\n\n"),
        Dialect::Responses => Bytes::from_static(b": keep-alive\n\n"),
        Dialect::Gemini => Bytes::from_static(b"\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, reader};
    use crate::framing::SseDecoder;

    #[test]
    fn each_dialect_gets_what_its_clients_count() {
        for (dialect, expected) in [
            (
                Dialect::Chat,
                "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\",\
                 \"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":null}]}\n\n",
            ),
            (Dialect::Messages, "event: ping\ndata: {\"type\":\"ping\"}\n\n"),
            (Dialect::Responses, ": keep-alive\n\n"),
            (Dialect::Gemini, "\n"),
        ] {
            assert_eq!(keep_alive(dialect, "chatcmpl-1", "m"), expected);
        }
    }

    #[test]
    fn our_own_readers_see_no_output_in_it() {
        for dialect in Dialect::ALL {
            let mut frames = Vec::new();
            let mut decoder = SseDecoder::new(1024);
            decoder.push(keep_alive(dialect, "x", ""), &mut frames).unwrap();
            let mut events = Vec::new();
            reader(dialect).push(&frames[0], &mut events);
            assert!(!events.iter().any(Event::is_progress), "{dialect}: {events:?}");
        }
    }
}
