//! The acceptance harness: a headless server on real sockets with a clock in hand, scripted providers behind it, and
//! agents in front.
//!
//! A test speaks of the world, not of plumbing: `world.connect("openai", "c1")`, `world.advance(30 s)`,
//! `agent.chat(…)`. It asserts through the public surface only: replies, operations, the journal of the fake upstream.

mod agent;
mod sse;
mod world;

pub use agent::{Agent, Reply, StreamedReply};
pub use sse::{SseEvent, parse as parse_sse};
pub use world::{Connection, World};

/// A request body that no dialect would mistake for another, with the model in it.
pub fn chat_body(model: &str, stream: bool) -> String {
    format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"Say hello."}}],"stream":{stream}}}"#)
}

/// A Responses request.
pub fn responses_body(model: &str, stream: bool) -> String {
    format!(r#"{{"model":"{model}","input":"Say hello.","stream":{stream},"store":false}}"#)
}

/// A Messages request.
pub fn messages_body(model: &str, stream: bool) -> String {
    format!(
        r#"{{"model":"{model}","max_tokens":64,"messages":[{{"role":"user","content":"Say hello."}}],"stream":{stream}}}"#
    )
}

/// A Gemini request: its model is in the path.
pub fn gemini_body() -> String {
    r#"{"contents":[{"role":"user","parts":[{"text":"Say hello."}]}]}"#.to_owned()
}
