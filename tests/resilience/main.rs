//! The resilience engine through the whole gateway: one file a mechanism, one test a scenario of the acceptance list.
//!
//! Every scenario runs on real sockets and a real database, with the clock in hand; the invariants are checked after
//! each. What needs a combo stands in `combos`, `combo_health` and `combo_waiting`, as far as it is not a law of the Engine alone.

#![expect(clippy::expect_used, clippy::panic, reason = "only ever part of tests: what fails here fails a test")]

mod breaker;
mod cast;
mod classification;
mod combo_health;
mod combo_lockout;
mod combo_waiting;
mod combos;
mod connection_cooldown;
mod cooldown_manager;
mod credential_health;
mod cross_layer;
mod egress;
mod empty_answers;
mod hostile;
mod long_benches;
mod model_cooldowns_api;
mod model_lockout;
mod on_disk;
mod probes;
mod queue;
mod restart;
mod restatement;
mod retry_hints;
mod rules;
mod settings;
mod streams;
mod stress;
mod terminal;
mod throughput;
mod waiting;
