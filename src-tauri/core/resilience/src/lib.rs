//! Health of providers, connections and models.
//!
//! A pure value: facts go in with the current time, answers and effects come out. Nothing here waits, reads a clock or
//! touches the outside. [`engine::Engine`] is the one place where mechanisms meet; every path of the program asks it.
//!
//! | mechanism | scope | question |
//! | --- | --- | --- |
//! | [`circuit_breaker`] | provider | is this service down? |
//! | [`provider_cooldown`] | provider, connection | did it just fail in an earlier request? (optional) |
//! | [`connection_cooldown`] | connection | is this account limited right now? |
//! | [`connection_status`] | connection | is this account out until its owner acts? |
//! | [`model_lockout`] | connection and model | is just this model limited here? |
//! | [`egress_bucket`] | outgoing address | which accounts share an exhausted quota? |
//! | [`concurrency_gate`] | everything, provider, account, model | how many requests may be under way at once? |
//! | [`request_queue`] | connection | may this request be sent yet, and is it worth waiting? |
//! | [`waiting_room`] | all who wait | whose turn is it? |
//! | [`quota_preflight`] | connection | is what is left worth spending? |
//! | [`tool_limit`] | provider | does it take so many tools? |
//! | [`key_spending`] | one client key | has it used up what its owner gave it? |
//! | [`cooldown_wait`] | one request | is it better to wait? |
//! | [`limit_headers`] | one reply | what did it say about what is left? |
//! | [`usage_report`] | one account | what does its vendor say is left? |
//! | [`stream_watchdog`] | one stream | is anything useful still coming? |
//! | [`failure`] | one reply | whose fault was it, and what should be tried next? |

pub mod backoff;
pub mod circuit_breaker;
pub mod concurrency_gate;
pub mod connection_cooldown;
pub mod connection_status;
pub mod cooldown_wait;
pub mod egress_bucket;
pub mod engine;
pub mod event;
pub mod failure;
pub mod key_spending;
pub mod limit_headers;
pub mod model_lockout;
pub mod permit;
pub mod picture;
pub mod provider_cooldown;
pub mod quota_preflight;
pub mod refusal;
pub mod request_queue;
pub mod rest_period;
pub mod settings;
pub mod stored;
pub mod stream_recovery;
pub mod stream_watchdog;
pub mod throughput_watchdog;
pub mod token_refresh;
pub mod tool_limit;
pub mod usage_report;
pub mod waiting_room;

pub use concurrency_gate::{GateKey, Patience};
pub use engine::{Admission, Admitted, Caller, Cleared, ComboGate, Effects, Engine, Entered, ResetScope};
pub use event::Event;
pub use permit::{KeptPlaces, Permit};
pub use picture::Snapshot;
pub use refusal::{LocalLimit, Refusal};
pub use settings::Settings;
pub use stored::{Row, Stored};
pub use waiting_room::Ticket;
