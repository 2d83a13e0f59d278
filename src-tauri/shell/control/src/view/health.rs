//! The health document (resilience specification, 24.1). It needs no token, so it names nothing private: connections
//! appear by id at most, and there is no account name, key, address or path in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::{BreakerState, Instant};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    pub status: HealthStatus,
    pub timestamp: Instant,
    pub version: String,
    /// Seconds since the start.
    #[specta(type = u32)]
    pub uptime: u64,
    pub memory_usage: MemoryUsage,
    /// Requests under way.
    pub active_connections: u32,
    pub system: SystemStatus,
    pub circuit_breakers: BreakerCounts,
    pub provider_breakers: Vec<ProviderBreaker>,
    /// The same by provider.
    pub provider_health: BTreeMap<String, ProviderHealth>,
    pub provider_summary: ProviderSummary,
    pub connection_health: ConnectionCounts,
    /// Per connection id: requests waiting and running.
    pub rate_limit_status: BTreeMap<String, RateLimitStatus>,
    pub lockouts: Vec<HealthLockout>,
    /// Per connection id: what came of the last try of a credential that nobody used.
    pub credential_health: BTreeMap<String, CredentialCheck>,
    pub store: StoreHealth,
    /// Whether a client key and a connection exist.
    pub setup_complete: bool,
}

/// What came of trying a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CredentialCheck {
    pub ok: bool,
    /// Why it failed, as in the reply of a test.
    pub problem: Option<String>,
    pub checked_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    Healthy,
    /// The gateway itself is unwell: the store cannot write.
    Degraded,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemStatus {
    pub version: String,
    #[specta(type = u32)]
    pub uptime: u64,
    pub memory_usage: MemoryUsage,
    pub pid: u32,
    /// `linux`, `macos`, `windows`.
    pub platform: String,
}

/// Of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct MemoryUsage {
    /// Resident bytes; `null` where the system does not say.
    #[specta(type = Option<f64>)]
    pub rss: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerCounts {
    pub open: u32,
    pub half_open: u32,
    pub degraded: u32,
    pub closed: u32,
    pub total: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderBreaker {
    pub provider: String,
    pub state: BreakerState,
    pub failure_count: u32,
    pub last_failure: Option<Instant>,
    #[specta(type = u32)]
    pub retry_after_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderHealth {
    pub state: BreakerState,
    pub failures: u32,
    pub last_failure: Option<Instant>,
    #[specta(type = u32)]
    pub retry_after_ms: u64,
}

/// A model that rests on one account, which appears by id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthLockout {
    pub provider: String,
    pub connection_id: String,
    pub model: String,
    pub reason: String,
    #[specta(type = u32)]
    pub remaining_ms: u64,
    pub expires_at: Instant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSummary {
    /// Providers that could be connected.
    pub catalog_count: u32,
    /// Providers with at least one connection.
    pub configured_count: u32,
    /// Providers with at least one connection that is switched on.
    pub active_count: u32,
    /// Providers with a circuit breaker.
    pub monitored_count: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionCounts {
    pub total: u32,
    /// Switched on and with a usable credential.
    pub ready: u32,
    /// Their last call failed.
    pub failing: u32,
    pub switched_off: u32,
    /// Switched on, but the credential is missing.
    pub without_credential: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct RateLimitStatus {
    pub queued: u32,
    /// Those that hold a place of the connection.
    pub running: u32,
    /// Those of them that are with the provider: all, as a place is taken when the attempt begins.
    pub executing: u32,
}

/// Whether what happens is being written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct StoreHealth {
    pub healthy: bool,
    /// Request records lost because the queue was full.
    #[specta(type = u32)]
    pub dropped: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct HealthHistoryQuery {
    /// How far back, 1..=1440; 60 when absent.
    #[specta(optional)]
    pub minutes: Option<u32>,
}

/// How requests fared of late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthHistory {
    pub since: Instant,
    pub until: Instant,
    /// Length of each stretch.
    #[specta(type = u32)]
    pub stretch_ms: u64,
    /// In order; those in which no request arrived are left out.
    pub stretches: Vec<HealthStretch>,
}

/// The requests that arrived within one stretch and are over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthStretch {
    /// Its beginning.
    pub at: Instant,
    pub successes: u32,
    pub failures: u32,
    /// The client left.
    pub aborted: u32,
    /// How long answered requests took; `null` without any.
    #[specta(type = Option<u32>)]
    pub p50_ms: Option<u64>,
    #[specta(type = Option<u32>)]
    pub p95_ms: Option<u64>,
    /// To the first text, tool call or reasoning.
    #[specta(type = Option<u32>)]
    pub first_token_p50_ms: Option<u64>,
    #[specta(type = Option<u32>)]
    pub first_token_p95_ms: Option<u64>,
}
