//! What the Engine looks like from outside: the picture that screens, the REST API and the tests see.
//!
//! Plain data, taken at one instant with time already applied: an open breaker whose wait is over is half-open here, and
//! a cooldown or lock whose end has passed is not listed.

use std::collections::BTreeMap;

use domain::health::{LastError, TestStatus};
use domain::{ConnectionId, Millis, ProviderId, Timestamp};

use crate::circuit_breaker::{State, Transition};
pub use crate::request_queue::QueuePicture;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub breakers: BTreeMap<ProviderId, BreakerPicture>,
    pub connections: BTreeMap<ConnectionId, ConnectionPicture>,
    /// Active locks, the longest remaining first.
    pub lockouts: Vec<LockoutPicture>,
    /// Accounts and providers spared by the optional provider cooldown.
    pub provider_cooldowns: Vec<ProviderCooldownPicture>,
    /// Request queues in use.
    pub queues: Vec<QueuePicture>,
    /// Attempts under way.
    pub in_flight: u32,
    /// Requests that wait for a place.
    pub waiting: u32,
    /// The same by account; who waits at a queue or a gate waits for one.
    pub waiting_for: BTreeMap<ConnectionId, u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BreakerPicture {
    pub state: State,
    pub failure_count: u32,
    /// Failed probes since the last recovery.
    pub open_cycles: u32,
    pub last_failure: Option<Timestamp>,
    /// Time until a probe is let through; zero unless open.
    pub retry_after: Millis,
    /// Whether the one probe of the half-open state is under way.
    pub probing: bool,
    /// The latest twenty, oldest first.
    pub transitions: Vec<Transition>,
}

/// One account as screens see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionPicture {
    pub provider: Option<ProviderId>,
    pub in_flight: u32,
    pub status: TestStatus,
    /// End of the cooldown, while it runs.
    pub cooling_until: Option<Timestamp>,
    /// When one request is let through to see whether a long bench has ended early (specification's decision 19).
    pub probe_at: Option<Timestamp>,
    pub backoff_level: u32,
    /// Consecutive refusals of single requests (resilience specification, 7.5).
    pub refusals: u32,
    pub expired_retry_count: u32,
    pub expired_retry_at: Option<Timestamp>,
    pub last_error: Option<LastError>,
    pub last_used_at: Option<Timestamp>,
}

/// One lock (resilience specification, 11.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockoutPicture {
    pub provider: ProviderId,
    pub connection: ConnectionId,
    /// The model, or the name of the quota family.
    pub model: String,
    /// `rate_limit`, `rate_limited`, `quota_exhausted`, `not_found`, `forbidden`, `server_error`, `model_capacity`, …
    pub reason: String,
    /// `family`, `model` or `exact`.
    pub scope: &'static str,
    pub locked_at: Timestamp,
    pub until: Timestamp,
    pub failure_count: u32,
    pub last_cooldown: Millis,
    pub probe_at: Option<Timestamp>,
    /// Id of the rule that declared it.
    pub rule: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderCooldownPicture {
    pub provider: ProviderId,
    /// None: the provider as a whole.
    pub connection: Option<ConnectionId>,
    pub until: Timestamp,
}
