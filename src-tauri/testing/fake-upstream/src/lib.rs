//! A scripted provider: a real HTTP server in four dialects.
//!
//! Tests, load runs and people need an upstream that does exactly what they say. This one listens on a loopback port,
//! tells requests apart by the credential and the model they carry, and plays for each pair the steps of a script: an
//! answer with text, reasoning and tool calls in whatever dialect the path asks for, an error in that dialect's shape,
//! a hang, a reset before the head, a cut in the middle of a stream, bytes that are not HTTP. It keeps a bounded
//! journal of what it received and of how each call ended, so that a test can ask for both.
//!
//! The server runs on threads and a runtime of its own. A test may therefore pause or block its runtime without
//! stopping the upstream, and a load run can give it a core.
//!
//! ```no_run
//! use fake_upstream::{FakeUpstream, Step};
//!
//! # async fn example() -> Result<(), fake_upstream::Error> {
//! let upstream = FakeUpstream::start()?;
//! upstream.script("key-1", Some("m1")).then(Step::error(429, "slow down")).then(Step::ok("hello"));
//! // … send two requests to `upstream.url()` with `Authorization: Bearer key-1` …
//! let calls = upstream.wait_for_calls("key-1", 2).await?;
//! assert_eq!(calls[0].model.as_deref(), Some("m1"));
//! upstream.stop().await;
//! # Ok(())
//! # }
//! ```

mod answer;
mod body;
mod connection;
mod dialects;
mod journal;
mod listing;
mod load;
mod preset;
mod request;
mod script;
mod seen;
mod serve;
mod server;
mod step;
mod tls;
mod validate;

pub use answer::{Answer, Finish, ToolCall, ToolKind};
pub use journal::{Call, Count, Ending, Recording};
pub use listing::ModelCard;
pub use load::{Load, LoadShape};
pub use preset::SDK_MODELS;
pub use request::Endpoint;
pub use script::{COUNT_TOKENS, LIST_MODELS, Script};
pub use server::{Error, FakeUpstream, Options, PATIENCE};
pub use step::{Break, Gate, Pause, Step};
pub use tls::{Certificate, HttpVersions, Tls, TlsError};
