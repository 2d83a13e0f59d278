//! The acceptance harness: a headless server on real sockets with a clock in hand, scripted providers behind it, and
//! agents in front.
//!
//! A test speaks of the world, not of plumbing: `world.connect("openai", "c1")`, `world.advance(30 s)`,
//! `agent.post(…)`. It asserts through the public surface only: replies, operations, the journal of the fake upstream.
//! [`World::check_invariants`] holds after every scenario.

#![expect(clippy::expect_used, clippy::panic, reason = "only ever part of tests: what fails here fails a test")]

mod agent;
mod ask;
mod health;
mod invariants;
mod log;
mod sse;
mod streams;
mod wire;
mod world;

pub use agent::{Agent, Reply, StreamedReply, in_time, until};
pub use ask::{Ask, chat_body, gemini_body, messages_body, responses_body};
pub use fake_upstream::PATIENCE;
pub use sse::{SseEvent, parse as parse_sse};
pub use streams::{beginning, empty_stream, ending, error_event, opening, whole_answer};
pub use wire::{Wire, WireReply};
pub use world::{Connection, World};
