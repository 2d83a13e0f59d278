//! What routing spares at present and why; what can be done about it (resilience specification, 12, 13 and 24).
//!
//! None of it carries a credential or an e-mail address. Lengths of time are milliseconds and say so in their names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::words_of_domain::{AuthType, TestStatus};
use super::{BreakerState, Instant, Lockout};

/// The sections of the resilience settings by name, and `legacy`, which is always empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(transparent)]
pub struct ResilienceTree(pub BTreeMap<String, Value>);

/// At least one section, each with any of its members; `null` unsets. The older forms `profiles` and `defaults` are
/// understood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(transparent)]
pub struct ResiliencePatch(pub BTreeMap<String, Value>);

/// The tree as it is in force after a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct ResilienceUpdated {
    pub ok: bool,
    #[serde(flatten)]
    pub sections: BTreeMap<String, Value>,
}

/// Which breakers to close: one provider's, or all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BreakerSelection {
    #[specta(optional)]
    pub provider: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResilienceReset {
    pub ok: bool,
    /// Breakers that are closed now and were not as new before.
    pub reset_count: u32,
    /// Model locks that ended.
    pub lockouts_cleared: u32,
    pub message: String,
}

/// The same in the words of the health document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthReset {
    pub success: bool,
    pub message: String,
    pub reset_count: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct Breakers {
    /// By provider.
    pub breakers: Vec<BreakerDetail>,
}

/// One provider's circuit breaker with its numbers and its latest changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerDetail {
    pub provider: String,
    /// The provider's id where the catalogue no longer knows it.
    pub provider_name: String,
    pub state: BreakerState,
    pub failure_count: u32,
    /// Failures at which traffic stops.
    pub failure_threshold: u32,
    /// Failures at which the provider is shown as degraded.
    pub degradation_threshold: u32,
    /// Failed probes since the last recovery.
    pub open_cycles: u32,
    pub last_failure: Option<Instant>,
    /// Until a probe is let through; 0 unless open.
    #[specta(type = u32)]
    pub retry_after_ms: u64,
    /// The one probe of the half-open state is under way.
    pub probing: bool,
    /// The latest twenty, oldest first.
    pub transitions: Vec<BreakerTransition>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerTransition {
    pub from: BreakerState,
    pub to: BreakerState,
    pub timestamp: Instant,
    pub failure_count: u32,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct ModelCooldowns {
    /// The longest remaining first.
    pub items: Vec<ModelCooldown>,
}

/// A model, or the models that share its quota, that rests on one account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCooldown {
    pub provider: String,
    pub connection_id: String,
    /// The id where the connection is gone.
    pub connection_name: String,
    pub model: String,
    pub reason: String,
    /// `family`, `model` or `exact`.
    pub scope: String,
    #[specta(type = u32)]
    pub remaining_ms: u64,
    pub failure_count: u32,
    pub locked_at: Instant,
    pub expires_at: Instant,
    /// When one request is let through to see whether it ended early.
    pub probe_at: Option<Instant>,
}

/// Which locks to end: `provider` and `model`, on one `connection` or on all of the provider; or `all`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelCooldownSelection {
    #[specta(optional)]
    pub provider: Option<String>,
    /// Connection id.
    #[specta(optional)]
    pub connection: Option<String>,
    #[specta(optional)]
    pub model: Option<String>,
    #[specta(optional)]
    pub all: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCooldownsCleared {
    pub ok: bool,
    pub removed: u32,
    /// Whether all were asked for.
    pub cleared_all: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct CooldownFilter {
    /// Provider id, at most 128 characters.
    #[specta(optional)]
    pub provider: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cooldowns {
    /// By provider, then priority.
    pub connections: Vec<CooldownConnection>,
    pub generated_at: Instant,
}

/// One account and what keeps it out of routing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CooldownConnection {
    pub id: String,
    pub provider: String,
    pub name: String,
    pub auth_type: AuthType,
    pub priority: u32,
    pub is_active: bool,
    /// The strongest that holds.
    pub status: CooldownStatus,
    pub test_status: TestStatus,
    pub rate_limited_until: Option<Instant>,
    #[specta(type = u32)]
    pub cooldown_remaining_ms: u64,
    pub backoff_level: u32,
    /// HTTP status of the last failure.
    pub error_code: Option<u16>,
    /// One line, redacted.
    pub last_error: Option<String>,
    pub last_error_type: Option<String>,
    pub last_error_at: Option<Instant>,
    /// The longest remaining first.
    pub lockouts: Vec<Lockout>,
}

/// From the strongest to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CooldownStatus {
    /// Out until its owner acts: banned, expired, without credit.
    Terminal,
    CoolingDown,
    ModelLocked,
    /// Switched off, or its last rest is over and nothing has succeeded since.
    Unavailable,
    Healthy,
}

/// Which accounts to make eligible again: `connectionIds`, or `all`, of one `provider` or of every one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CooldownSelection {
    /// 1 to 1000 ids of at most 128 characters.
    #[specta(optional)]
    pub connection_ids: Option<Vec<String>>,
    #[specta(optional)]
    pub all: Option<bool>,
    #[specta(optional)]
    pub provider: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CooldownsCleared {
    pub ok: bool,
    /// Connections that changed.
    pub cleared: u32,
    /// Connections, known or not, at which there was nothing to clear.
    pub unchanged: u32,
    /// Terminal states are never cleared here.
    pub skipped_terminal: u32,
    pub lockouts_cleared: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ResilienceWindow {
    /// How far back requests are counted: 0..=86400000, an hour when absent.
    #[specta(optional, type = Option<u32>)]
    pub window_ms: Option<u64>,
    /// Provider id, at most 128 characters.
    #[specta(optional)]
    pub provider: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct ResilienceConnections {
    /// By provider, then priority; at most 1000.
    pub connections: Vec<ResilienceConnection>,
    pub breakers: Vec<BreakerDetail>,
    pub window: CountingWindow,
    pub meta: ResilienceMeta,
}

/// One account, how it stands and what it did within the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResilienceConnection {
    pub id: String,
    pub provider: String,
    pub name: String,
    pub status: ResilienceStatus,
    pub test_status: TestStatus,
    pub rate_limited_until: Option<Instant>,
    #[specta(type = u32)]
    pub cooldown_remaining_ms: u64,
    pub backoff_level: u32,
    pub error_code: Option<u16>,
    pub last_error_type: Option<String>,
    pub last_error_at: Option<Instant>,
    /// Active model locks.
    pub lockout_count: u32,
    /// Requests under way.
    pub in_flight: u32,
    /// Requests it served within the window.
    #[specta(type = u32)]
    pub successes: u64,
    /// Requests that ended as a failure on it within the window.
    #[specta(type = u32)]
    pub failures: u64,
}

/// From the strongest to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResilienceStatus {
    Terminal,
    /// The provider's breaker is open.
    CircuitOpen,
    CoolingDown,
    Healthy,
}

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CountingWindow {
    #[specta(type = u32)]
    pub since_ms: u64,
    #[specta(type = u32)]
    pub until_ms: u64,
    pub now: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResilienceMeta {
    /// Before the limit of 1000.
    pub total_connections: u32,
    pub cooling_down_count: u32,
    /// Breakers that are neither closed nor merely degraded.
    pub unhealthy_breaker_count: u32,
    /// Whether connections were left out at the limit.
    pub counts_capped: bool,
    /// Providers whose breaker counts failures but lets traffic through.
    pub degraded: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BannedSignal {
    /// A phrase as it would stand in `customBannedSignals`: 1 to 200 characters.
    pub phrase: String,
}

/// What a phrase would have hit, had it been a ban signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct BannedSignalPreview {
    /// Connections whose last error it occurs in.
    pub matches: Vec<BannedSignalMatch>,
    /// Different errors of recent requests that it occurs in, the newest first; at most ten.
    pub examples: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BannedSignalMatch {
    pub connection_id: String,
    pub connection_name: String,
    pub last_error_at: Instant,
    /// The error's own line.
    pub excerpt: String,
}
