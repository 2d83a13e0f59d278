//! What outlives a restart, as plain data (resilience specification, 25).
//!
//! The Engine says which rows changed ([`crate::Effects::rows`]); the shell writes them behind. A row whose state is
//! terminal is written at once. On start the shell hands everything back to [`crate::Engine::restore`].

use domain::health::{LastError, TestStatus};
use domain::{ConnectionId, Millis, ProviderClass, ProviderId, Quota, Timestamp};
use serde::{Deserialize, Serialize};

use crate::circuit_breaker::Transition;

/// Everything the store holds for the Engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    pub breakers: Vec<StoredBreaker>,
    pub connections: Vec<StoredConnection>,
    pub lockouts: Vec<StoredLockout>,
    /// The last outgoing IP address of accounts.
    pub egress: Vec<StoredEgress>,
    /// What was left of accounts.
    pub quotas: Vec<StoredQuota>,
}

/// One change to what is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    Breaker(StoredBreaker),
    BreakerGone(ProviderId),
    Connection(StoredConnection),
    Lockout(StoredLockout),
    /// By `StoredLockout::key`.
    LockoutGone(String),
    Quota(StoredQuota),
}

/// A row of `domain_circuit_breakers`.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredBreaker {
    pub provider: ProviderId,
    /// `CLOSED`, `DEGRADED`, `OPEN` or `HALF_OPEN`.
    pub state: String,
    pub failure_count: u32,
    pub last_failure_time: Option<Timestamp>,
    pub options: BreakerOptions,
}

/// The JSON column `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BreakerOptions {
    pub failure_threshold: u32,
    /// Milliseconds.
    pub reset_timeout: u64,
    pub half_open_requests: u32,
    pub last_failure_kind: Option<String>,
    pub open_cycle_count: u32,
    /// Which numbers it goes by while nobody asks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_class: Option<ProviderClass>,
    pub transitions: Vec<Transition>,
}

/// The health columns of `provider_connections`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredConnection {
    pub connection: ConnectionId,
    pub provider: ProviderId,
    pub test_status: TestStatus,
    pub rate_limited_until: Option<Timestamp>,
    /// When a long bench is probed next.
    pub probe_at: Option<Timestamp>,
    pub backoff_level: u32,
    pub last_error: Option<LastError>,
    pub expired_retry_count: u32,
    pub expired_retry_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

/// A row of `domain_lockout_state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLockout {
    /// `provider:connectionId:model`, `provider:connectionId:exact:model` (resilience specification, 11.1).
    pub key: String,
    pub provider: ProviderId,
    pub connection: ConnectionId,
    pub model: String,
    /// `family`, `model` or `exact`.
    pub scope: String,
    pub reason: String,
    pub locked_at: Timestamp,
    pub until: Timestamp,
    pub failure_count: u32,
    pub last_cooldown: Millis,
    pub probe_at: Option<Timestamp>,
}

/// A row of `quota_snapshots`.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredQuota {
    pub connection: ConnectionId,
    pub quota: Quota,
}

/// Through which outgoing address an account was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEgress {
    pub connection: ConnectionId,
    pub ip: String,
    pub at: Timestamp,
}
