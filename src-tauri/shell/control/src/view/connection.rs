//! Accounts at providers (gateway specification, 4.4 and 6.1).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::words::present;
use super::words_of_domain::{AuthType, ProviderClass, TestStatus};
use super::{Instant, RateLimitOverrides, RateLimitOverridesChange, Secret};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct Connections {
    /// By provider, then priority.
    pub connections: Vec<Connection>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct ConnectionReply {
    pub connection: Connection,
}

/// One account, without its credential.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    pub id: String,
    pub provider: String,
    /// Unique within the provider.
    pub name: String,
    pub auth_type: AuthType,
    /// 1 is asked first.
    pub priority: u32,
    pub is_active: bool,
    pub email: Option<String>,
    pub display_name: Option<String>,
    pub default_model: Option<String>,
    pub has_credential: bool,
    /// Last four characters of the credential.
    pub credential_tail: Option<String>,
    pub token_expires_at: Option<Instant>,
    pub scopes: Option<Vec<String>>,
    pub test_status: TestStatus,
    /// End of its rest, while it rests.
    pub rate_limited_until: Option<Instant>,
    /// How often its rest has doubled.
    pub backoff_level: u32,
    /// One line, redacted.
    pub last_error: Option<String>,
    /// `unauthorized`, `rate_limited`, `server_error`, … (resilience specification, 6.7).
    pub last_error_type: Option<String>,
    /// `upstream` or `transport`.
    pub last_error_source: Option<String>,
    /// HTTP status of the last failure.
    pub error_code: Option<u16>,
    pub last_error_at: Option<Instant>,
    pub expired_retry_count: u32,
    pub expired_retry_at: Option<Instant>,
    pub consecutive_use_count: u32,
    pub last_used_at: Option<Instant>,
    pub max_concurrent: Option<u32>,
    /// Paced with the numbers of the request queue.
    pub rate_limit_protection: bool,
    pub rate_limit_overrides: RateLimitOverrides,
    /// Percent that must be left, by quota window.
    pub quota_window_thresholds: BTreeMap<String, u32>,
    pub excluded_models: Vec<String>,
    pub proxy_url: Option<String>,
    pub tags: Vec<String>,
    /// `baseUrl`, `allowPrivateNetwork` and further keys of gateway specification 4.4.
    pub provider_specific_data: BTreeMap<String, Value>,
    pub created_at: Instant,
    pub updated_at: Instant,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ConnectionFilter {
    /// Provider id.
    #[specta(optional)]
    pub provider: Option<String>,
    #[specta(optional)]
    pub class: Option<ProviderClass>,
}

/// A new account. Nothing is sent to the provider when it is stored.
#[derive(Clone, Debug, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectionDraft {
    /// Catalogue id or node id.
    pub provider: String,
    pub name: String,
    #[specta(optional)]
    pub api_key: Option<Secret>,
    /// The catalogue's when absent.
    #[specta(optional)]
    pub auth_type: Option<AuthType>,
    /// The last one's + 1 when absent.
    #[specta(optional)]
    pub priority: Option<u32>,
    #[specta(optional)]
    pub is_active: Option<bool>,
    #[specta(optional)]
    pub default_model: Option<String>,
    /// Requests under way at once; absent for no limit.
    #[serde(alias = "max_concurrent")]
    #[specta(optional)]
    pub max_concurrent: Option<u32>,
    #[specta(optional)]
    pub rate_limit_protection: Option<bool>,
    #[specta(optional)]
    pub rate_limit_overrides: Option<RateLimitOverridesChange>,
    /// Percent that must be left, by quota window.
    #[serde(default)]
    #[specta(optional)]
    pub quota_window_thresholds: BTreeMap<String, u32>,
    #[serde(default)]
    #[specta(optional)]
    pub excluded_models: Vec<String>,
    #[specta(optional)]
    pub proxy_url: Option<String>,
    #[serde(default)]
    #[specta(optional)]
    pub tags: Vec<String>,
    #[serde(default)]
    #[specta(optional)]
    pub provider_specific_data: BTreeMap<String, Value>,
}

impl ConnectionDraft {
    /// A draft that states nothing but what it must.
    pub fn of(provider: &str, name: &str) -> Self {
        ConnectionDraft {
            provider: provider.to_owned(),
            name: name.to_owned(),
            api_key: None,
            auth_type: None,
            priority: None,
            is_active: None,
            default_model: None,
            max_concurrent: None,
            rate_limit_protection: None,
            rate_limit_overrides: None,
            quota_window_thresholds: BTreeMap::new(),
            excluded_models: Vec::new(),
            proxy_url: None,
            tags: Vec::new(),
            provider_specific_data: BTreeMap::new(),
        }
    }
}

/// A change to an account: absent members stay, `null` unsets, `providerSpecificData` and `rateLimitOverrides` are merged
/// key by key.
#[derive(Clone, Debug, Default, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectionChange {
    /// Refuse the change (409) unless this is still the record's `updatedAt`.
    #[specta(optional)]
    pub updated_at: Option<Instant>,
    #[specta(optional)]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[specta(optional, type = Option<Secret>)]
    #[schema(value_type = Option<Secret>)]
    pub api_key: Option<Option<Secret>>,
    #[specta(optional)]
    pub auth_type: Option<AuthType>,
    #[specta(optional)]
    pub priority: Option<u32>,
    #[specta(optional)]
    pub is_active: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    #[specta(optional, type = Option<String>)]
    #[schema(value_type = Option<String>)]
    pub default_model: Option<Option<String>>,
    #[serde(default, alias = "max_concurrent", deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<u32>)]
    pub max_concurrent: Option<Option<u32>>,
    #[specta(optional)]
    pub rate_limit_protection: Option<bool>,
    /// Merged member by member.
    #[serde(default, deserialize_with = "present")]
    #[specta(optional, type = Option<RateLimitOverridesChange>)]
    #[schema(value_type = Option<RateLimitOverridesChange>)]
    pub rate_limit_overrides: Option<Option<RateLimitOverridesChange>>,
    /// Replaced whole.
    #[serde(default, deserialize_with = "present")]
    #[specta(optional, type = Option<BTreeMap<String, u32>>)]
    #[schema(value_type = Option<BTreeMap<String, u32>>)]
    pub quota_window_thresholds: Option<Option<BTreeMap<String, u32>>>,
    /// Replaced whole.
    #[serde(default, deserialize_with = "present")]
    #[specta(optional, type = Option<Vec<String>>)]
    #[schema(value_type = Option<Vec<String>>)]
    pub excluded_models: Option<Option<Vec<String>>>,
    #[serde(default, deserialize_with = "present")]
    #[specta(optional, type = Option<String>)]
    #[schema(value_type = Option<String>)]
    pub proxy_url: Option<Option<String>>,
    /// Replaced whole.
    #[serde(default, deserialize_with = "present")]
    #[specta(optional, type = Option<Vec<String>>)]
    #[schema(value_type = Option<Vec<String>>)]
    pub tags: Option<Option<Vec<String>>>,
    #[serde(default, deserialize_with = "present")]
    #[specta(optional, type = Option<BTreeMap<String, Value>>)]
    #[schema(value_type = Option<BTreeMap<String, Value>>)]
    pub provider_specific_data: Option<Option<BTreeMap<String, Value>>>,
}

/// An account with what routing currently thinks of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionDetail {
    pub connection: Connection,
    pub lockouts: Vec<Lockout>,
    pub breaker: Breaker,
    /// Requests under way.
    pub in_flight: u32,
}

/// One model of one account that is left out until an instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lockout {
    pub model: String,
    pub reason: String,
    pub scope: String,
    #[specta(type = u32)]
    pub remaining_ms: u64,
    pub expires_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Breaker {
    pub state: BreakerState,
    pub failure_count: u32,
    #[specta(type = u32)]
    pub retry_after_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BreakerState {
    Closed,
    Degraded,
    Open,
    HalfOpen,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectionTest {
    /// The connection's default model, or the catalogue's first, when absent.
    #[specta(optional)]
    pub model: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionTestReply {
    pub ok: bool,
    /// HTTP status; `null` when there was no answer.
    pub status: Option<u16>,
    #[specta(type = u32)]
    pub latency_ms: u64,
    pub model: Option<String>,
    pub error: Option<ProbeProblem>,
    pub connection: Connection,
}

/// Why a test failed, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct ProbeProblem {
    /// `dns`, `refused`, `tls`, `timeout`, `unauthorized`, `forbidden`, `wrong_path`, `wrong_dialect`, `no_models`,
    /// `model_not_found`, `rate_limited`, `server_error`, `address_refused`.
    pub code: String,
    pub message: String,
}

/// Which accounts to test: exactly one of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BatchTest {
    #[specta(optional)]
    pub connection_ids: Option<Vec<String>>,
    #[specta(optional)]
    pub provider: Option<String>,
    #[specta(optional)]
    pub all: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct BatchTestResults {
    pub results: Vec<BatchTestResult>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchTestResult {
    pub connection_id: String,
    pub ok: bool,
    pub status: Option<u16>,
    #[specta(type = u32)]
    pub latency_ms: u64,
    pub error: Option<ProbeProblem>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionValidation {
    pub ok: bool,
    pub status: Option<u16>,
    #[specta(type = u32)]
    pub latency_ms: u64,
    pub error: Option<ProbeProblem>,
}

/// The accounts of one provider in the order in which they are to be asked; all of them, each once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectionOrder {
    pub provider: String,
    pub connection_ids: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ConnectionModelsQuery {
    /// Ask the provider instead of the last answer.
    #[specta(optional)]
    pub refresh: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionModels {
    pub models: Vec<ConnectionModel>,
    /// When the provider was last asked; `null` when it never was.
    pub fetched_at: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionModel {
    pub id: String,
    pub name: String,
    /// Tokens.
    #[specta(type = Option<u32>)]
    pub context: Option<u64>,
    /// Tokens.
    #[specta(type = Option<u32>)]
    pub max_output: Option<u64>,
    /// Not on the connection's exclusion list.
    pub enabled: bool,
    pub source: ModelSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelSource {
    Catalogue,
    Live,
}
