//! The words every crate shares.
//!
//! Plain data, no behaviour beyond arithmetic and parsing: identifiers, time, wire formats, candidates and their
//! availability, how an attempt ended, the records a person manages, and the names that outsiders depend on.

pub mod availability;
pub mod client_key;
pub mod connection;
pub mod dialect;
pub mod health;
mod hex;
pub mod id;
pub mod key_limits;
pub mod limits;
pub mod model_alias;
pub mod model_name;
pub mod node;
pub mod outcome;
pub mod provider_class;
mod proxy_url;
pub mod quota;
pub mod request_log;
pub mod section;
pub mod time;
pub mod usage;
pub mod wire;

pub use availability::{Availability, Candidate, Exclusion, Mechanism, Nature};
pub use dialect::{Dialect, Operation};
pub use hex::hex;
pub use id::{AliasId, ClientKeyId, ConnectionId, NodeId, ProviderId, RequestId};
pub use limits::{Limits, ProviderLimits, RateLimitOverrides};
pub use outcome::{
    BreakerCharge, Cooldown, Failure, Hint, Neutral, Outcome, Permanence, Provenance, Reason, Scope, Success,
};
pub use provider_class::ProviderClass;
pub use proxy_url::ProxyUrl;
pub use quota::Quota;
pub use time::{Clock, Millis, Timestamp};
pub use usage::Usage;
