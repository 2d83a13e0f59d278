//! The management API over the wire: its rules, its records, its settings, its events (gateway specification, 6.1).

#![expect(clippy::expect_used, reason = "only ever part of tests: what fails here fails a test")]

mod combos;
mod connections;
mod events;
mod flags;
mod keys;
mod nodes;
mod quota;
mod quota_pools;
mod rules;
mod settings;
