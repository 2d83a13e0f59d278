//! Any agent with any provider: every client dialect over an upstream of every dialect, through real sockets (gateway
//! specification, 2).

#![expect(clippy::expect_used, clippy::panic, reason = "only ever part of tests: what fails here fails a test")]

mod arrays;
mod between_turns;
mod bounds;
mod cache_marks;
mod counting;
mod disguised;
mod ends;
mod every_pair;
mod garbled;
mod handed_requests;
mod handed_streams;
mod inline_think;
mod ollama;
mod parts;
mod quirks;
mod refusals;
mod tools;
mod unclosed;
mod usage;
mod world;
mod wrong_values;
