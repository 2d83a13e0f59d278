//! Health of providers, connections and models.
//!
//! A pure value: facts go in with the current time, answers and effects come out. Nothing here waits, reads a clock or
//! touches the outside. [`engine::Engine`] is the one place where mechanisms meet; every path of the program asks it.
//!
//! | mechanism | scope | question |
//! | --- | --- | --- |
//! | [`concurrency_gate`] | connection | how many requests may be under way at once? |
//! | [`failure`] | one reply | whose fault was it, and what should be tried next? |

pub mod concurrency_gate;
pub mod engine;
pub mod event;
pub mod failure;
pub mod permit;
pub mod settings;

pub use engine::{Admission, Admitted, Effects, Engine, Snapshot};
pub use event::Event;
pub use permit::Permit;
pub use settings::Settings;
