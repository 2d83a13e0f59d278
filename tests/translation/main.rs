//! Any agent with any provider: every client dialect over an upstream of every dialect, through real sockets (gateway
//! specification, 2).

#![expect(clippy::expect_used, clippy::panic, reason = "only ever part of tests: what fails here fails a test")]

mod between_turns;
mod counting;
mod every_pair;
mod handed_requests;
mod handed_streams;
mod inline_think;
mod ollama;
mod quirks;
mod refusals;
mod world;
mod wrong_values;
