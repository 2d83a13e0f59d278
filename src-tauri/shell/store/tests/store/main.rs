//! Every function of the store against a freshly migrated file.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod combos;
mod connections;
mod crash;
mod folder;
mod quota;
mod quota_pools;
mod records;
mod requests;
mod resilience;
mod secrets;
mod translation_memory;
mod usage;
mod world;
mod writer;
