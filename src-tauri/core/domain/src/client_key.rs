//! A key that an agent presents to this gateway (gateway specification, 1.3). Only its digest is ever stored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::key_limits::KeyLimits;
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

/// A model of one account that `auto` leaves out for a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoCandidate {
    pub connection_id: ConnectionId,
    /// As the provider calls it, without the provider.
    pub model: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClientKey {
    pub id: ClientKeyId,
    pub name: String,
    /// SHA-256 of the key text.
    pub hash: [u8; 32],
    /// Last four characters, for recognition.
    pub tail: String,
    pub is_active: bool,
    pub scopes: Vec<Scope>,
    /// Globs over the requested and the resolved `provider/model`; empty allows all.
    pub allowed_models: Vec<String>,
    /// Names of combos that may be asked for; empty allows all. What such a combo asks in turn is its owner's choice, as far
    /// as models and connections allow it.
    pub allowed_combos: Vec<String>,
    /// Hard allow-list; empty allows all.
    pub allowed_connections: Vec<ConnectionId>,
    /// Asked before other accounts of the same provider, first choice first. Grants nothing.
    pub preferred_connections: Vec<ConnectionId>,
    /// What the pools of `auto/…` leave out, by channel: `auto` itself, or what follows `auto/`.
    pub excluded_auto_candidates: BTreeMap<String, Vec<AutoCandidate>>,
    pub limits: KeyLimits,
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
    /// A key that opens everything without end.
    pub fn new(id: ClientKeyId, name: String, hash: [u8; 32], tail: String, created_at: Timestamp) -> Self {
        ClientKey {
            id,
            name,
            hash,
            tail,
            is_active: true,
            scopes: Vec::new(),
            allowed_models: Vec::new(),
            allowed_combos: Vec::new(),
            allowed_connections: Vec::new(),
            preferred_connections: Vec::new(),
            excluded_auto_candidates: BTreeMap::new(),
            limits: KeyLimits::default(),
            expires_at: None,
            last_used_at: None,
            created_at,
        }
    }

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

    /// Whether a combo of this name, `auto/…` included, may be asked for.
    pub fn allows_combo(&self, name: &str) -> bool {
        self.allowed_combos.is_empty() || self.allowed_combos.iter().any(|allowed| allowed == name)
    }

    /// The place of a connection in the key's order; behind all that are named where it is not.
    pub fn preference(&self, connection: &ConnectionId) -> usize {
        let place = self.preferred_connections.iter().position(|preferred| preferred == connection);
        place.unwrap_or(self.preferred_connections.len())
    }

    /// Whether the pool of this `auto` channel leaves a model of an account out.
    pub fn excludes_candidate(&self, channel: &str, connection: &ConnectionId, model: &str) -> bool {
        let of_channel = self.excluded_auto_candidates.get(channel).map(Vec::as_slice).unwrap_or_default();
        of_channel.iter().any(|candidate| candidate.connection_id == *connection && candidate.model == model)
    }

    /// Whether anything at all is out of the key's reach.
    pub fn is_narrowed(&self) -> bool {
        !(self.allowed_models.is_empty() && self.allowed_combos.is_empty() && self.allowed_connections.is_empty())
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
