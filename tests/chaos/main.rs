//! The real program under real trouble: killed, told to stop, out of space, crowded, behind bad certificates.
//!
//! Everything is bounded in count and time, so these run with the others.

#![expect(clippy::expect_used, clippy::panic, reason = "only ever part of tests: what fails here fails a test")]

mod counts;
mod crowd;
mod kills;
mod program;
mod scripted;
mod survival;
mod tls;
