//! One name, many models behind it: combos through the whole gateway (gateway specification, 3; resilience specification,
//! 14 to 16 and 22).

#![expect(clippy::expect_used, clippy::panic, reason = "only ever part of tests: what fails here fails a test")]

mod answers;
mod attempts;
mod auto;
mod caps;
mod consumed;
mod distinct;
mod fitting;
mod foretold;
mod gates;
mod head_room;
mod hedging;
mod nesting;
mod panel;
mod quota_share;
mod quota_turns;
mod relay;
mod repeats;
mod shared_accounts;
mod simulate;
mod strategies;
mod team;
mod tools;
mod waits;
mod walk;
