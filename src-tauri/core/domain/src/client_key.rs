//! A key that an agent presents to this gateway (gateway specification, 1.3). Only its digest is ever stored.

use serde::{Deserialize, Serialize};

use crate::{ClientKeyId, ConnectionId, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    #[serde(rename = "lease:exclusive")]
    LeaseExclusive,
    #[serde(rename = "self:usage")]
    SelfUsage,
    #[serde(rename = "self:account-quota")]
    SelfAccountQuota,
    #[serde(rename = "policy:bypass-provider-quota")]
    BypassProviderQuota,
    #[serde(rename = "mcp:connect")]
    McpConnect,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientKey {
    pub id: ClientKeyId,
    pub name: String,
    /// SHA-256 of the key text.
    #[serde(skip)]
    pub hash: [u8; 32],
    /// Last four characters, for recognition.
    pub tail: String,
    pub is_active: bool,
    pub scopes: Vec<Scope>,
    /// Globs over the requested and the resolved `provider/model`; empty allows all.
    pub allowed_models: Vec<String>,
    /// Hard allow-list; empty allows all.
    pub allowed_connections: Vec<ConnectionId>,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// Why a known key is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    Disabled,
    Expired,
}

impl ClientKey {
    /// Whether the key opens the door at `now`. At exactly `expires_at` it no longer does.
    pub fn check(&self, now: Timestamp) -> Result<(), KeyRefusal> {
        if !self.is_active {
            return Err(KeyRefusal::Disabled);
        }
        match self.expires_at {
            Some(end) if now >= end => Err(KeyRefusal::Expired),
            Some(_) | None => Ok(()),
        }
    }

    pub fn allows_connection(&self, connection: &ConnectionId) -> bool {
        self.allowed_connections.is_empty() || self.allowed_connections.contains(connection)
    }

    /// Whether one of the key's globs matches one of the names (requested, resolved).
    pub fn allows_model(&self, names: &[&str]) -> bool {
        self.allowed_models.is_empty()
            || self
                .allowed_models
                .iter()
                .any(|glob| names.iter().any(|name| crate::model_name::glob_matches(glob, name)))
    }
}
