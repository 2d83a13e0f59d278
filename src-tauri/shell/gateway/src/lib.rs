//! The request pipeline on axum; owner of the running Engine.
//!
//! [`pipeline`] reads like the table of contents of a request: arrive, glance, resolve, plan, admit, translate, send,
//! hold, commit, relay, settle, record. Each stage is a function in the file of its name. [`Gateway`] is the handle that
//! everything around it holds: management operations, the server, the window.

mod accounts;
mod address_book;
mod admit;
mod attempt;
mod attempt_loop;
mod auto_disable;
mod client_auth;
mod combo;
mod combos;
mod deadline;
pub mod edge;
mod egress;
mod engine_handle;
mod error;
pub mod events;
mod exchange;
mod exhaustion;
pub mod explain;
mod failed;
mod gateway;
mod hold;
mod ingress;
mod journal;
mod judge;
mod keep_alive;
mod key_spending;
mod last_resort;
mod learned_limits;
mod listed_combos;
mod live;
mod memo;
mod models;
mod ollama;
mod path;
mod pause;
mod pins;
mod pipeline;
mod plan;
mod quota_pools;
mod record;
mod redaction;
mod relay;
mod request_facts;
mod resolve;
mod response_headers;
mod routes;
mod routing_handle;
mod send;
mod session_name;
mod table;
mod telemetry;
mod throttle;
mod token_count;
mod transcript;
mod translate;
mod underway;
mod upstream_body;
mod usage_estimate;
mod whole_body;

pub use address_book::{Connections, Entry, Keys};
pub use combo::{ComboTarget, Selected, Selections, catalogued, fitness_layers, models_of, sessions_free, weighed};
pub use combos::{Combos, config_of};
pub use engine_handle::EngineHandle;
pub use error::{Blame, GatewayError};
pub use events::{Changed, Topic};
pub use gateway::{Error, Gateway, Parts, SETTINGS};
pub use live::Live;
pub use quota_pools::{NOBODY, Pools};
pub use routes::router;
pub use telemetry::{Sample, Telemetries};
pub use throttle::Throttle;
pub use underway::{Stage, Underway};
