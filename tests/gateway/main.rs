//! The agent surface: passthrough, names, keys, the edge, failures before and after the first byte.

#![expect(clippy::expect_used, clippy::panic, reason = "only ever part of tests: what fails here fails a test")]

mod accounts;
mod affinity;
mod bodies;
mod early_start;
mod edge;
mod failover;
mod fixtures;
mod headers;
mod key_reach;
mod key_spending;
mod keys;
mod last_resort;
mod limits;
mod log_lines;
mod models;
mod names;
mod passthrough;
mod paths;
mod records;
mod refusals;
mod streams;
mod wire_form;
