//! May this be tried now, and if not: which mechanism says no, why, and until when.

use serde::{Deserialize, Serialize};

use crate::{ConnectionId, ProviderId, Timestamp};

/// One thing an attempt could be sent to: an account at a provider, and a model there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub provider: ProviderId,
    pub connection: ConnectionId,
    pub model: String,
    /// 1 is asked first.
    pub priority: u32,
    /// Switched on by its owner.
    pub enabled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    Available,
    Excluded(Exclusion),
}

/// Why a candidate is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exclusion {
    pub mechanism: Mechanism,
    /// Stable, low in cardinality; see `domain::wire::reason`.
    pub reason: String,
    /// When asking again could give another answer; absent when no waiting helps.
    pub until: Option<Timestamp>,
}

/// What said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// Switched off by its owner.
    SwitchedOff,
    /// The client's key may not use it.
    KeyAllowList,
    /// The model is on the connection's own exclusion list.
    ExcludedModel,
    /// No usable credential is stored.
    CredentialGate,
    /// It already failed in this very request.
    RequestExhaustion,
    /// As many requests are under way as the connection allows.
    ConcurrencyCap,
    /// It speaks another wire format than the client.
    DialectMismatch,
}
