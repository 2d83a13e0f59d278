//! One account at a provider, as a person manages it (gateway specification, 4.4).
//!
//! Health is not here: it is the Engine's. Credentials are not here: the store hands them out separately, sealed at
//! rest and never part of a reply.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ConnectionId, Limits, ProviderId, ProviderLimits, RateLimitOverrides, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthType {
    Oauth,
    Apikey,
    None,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    pub id: ConnectionId,
    pub provider: ProviderId,
    /// Unique within the provider.
    pub name: String,
    pub auth_type: AuthType,
    /// 1 is asked first.
    pub priority: u32,
    pub is_active: bool,
    pub default_model: Option<String>,
    /// Last four characters of the credential, for recognition.
    pub credential_tail: Option<String>,
    /// Requests under way at once; none, no cap.
    pub max_concurrent: Option<u32>,
    /// Its owner wants it paced with the numbers of the request queue (resilience specification, 16.1).
    pub rate_limit_protection: bool,
    pub rate_limit_overrides: RateLimitOverrides,
    /// Shares in percent that must be left of a quota window, by window.
    pub quota_window_thresholds: BTreeMap<String, u32>,
    pub excluded_models: Vec<String>,
    pub proxy_url: Option<String>,
    pub tags: Vec<String>,
    pub specific: ProviderSpecific,
    /// Keys of `providerSpecificData` that belong to later capabilities: kept, not interpreted.
    pub extra: serde_json::Map<String, serde_json::Value>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The interpreted part of `providerSpecificData`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderSpecific {
    /// Replaces the provider's base URL up to and with its version segment (specification's decision 34).
    pub base_url: Option<String>,
    pub allow_private_network: bool,
}

impl Connection {
    /// Whether a credential is stored.
    pub fn has_credential(&self) -> bool {
        self.credential_tail.is_some()
    }

    /// What its owner allows at a provider that bears so much.
    pub fn limits(&self, of_provider: ProviderLimits) -> Limits {
        Limits {
            max_concurrent: self.max_concurrent,
            rate_limit_protection: self.rate_limit_protection,
            overrides: self.rate_limit_overrides.clone(),
            quota_thresholds: self.quota_window_thresholds.clone(),
            spacing_floor: of_provider.spacing_floor,
            most_tools: of_provider.most_tools,
        }
    }
}
