//! May this be tried now, and if not: which mechanism says no, why, and until when.

use serde::{Deserialize, Serialize};

use crate::health::LastError;
use crate::{ConnectionId, ProviderClass, ProviderId, Timestamp};

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
    pub nature: Nature,
}

/// What the catalogue and the connection say about how health works here: which numbers, and what a refusal speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nature {
    /// Picks the profile of numbers; `Free` uses that of `Apikey` (resilience specification, 0.3).
    pub class: ProviderClass,
    /// Quotas are per model: 404 and 429 speak of one model, not of the account.
    pub per_model_quota: bool,
    /// Models that share one quota with this one; none, the model has its own (resilience specification, 11.1).
    pub quota_family: Option<String>,
    /// The account is never cooled, only its terminal states apply.
    pub disable_cooling: bool,
    /// Quota is counted per outgoing IP address, shared by all providers of this bucket (resilience specification, 20).
    pub egress_bucket: Option<String>,
}

impl Default for Nature {
    fn default() -> Self {
        Nature {
            class: ProviderClass::Apikey,
            per_model_quota: false,
            quota_family: None,
            disable_cooling: false,
            egress_bucket: None,
        }
    }
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
    /// What the upstream said when it came to this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<LastError>,
}

impl Exclusion {
    /// An exclusion that no waiting ends.
    pub fn lasting(mechanism: Mechanism, reason: &str) -> Self {
        Exclusion { mechanism, reason: reason.to_owned(), until: None, cause: None }
    }
}

/// What said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// Switched off by its owner.
    SwitchedOff,
    /// The client's key may not use it.
    KeyAllowList,
    /// The client's key has used up what it may of this provider or model.
    KeyLimit,
    /// The model is on the connection's own exclusion list.
    ExcludedModel,
    /// No usable credential is stored.
    CredentialGate,
    /// It already failed in this very request.
    RequestExhaustion,
    /// As many requests are under way as are allowed, and as many wait.
    ConcurrencyCap,
    /// The local request queue of the account takes no more.
    AdmissionLane,
    /// The request brings more tools than the provider takes.
    ToolLimit,
    /// Too little is left of a quota.
    QuotaCutoff,
    /// It speaks another wire format than the client.
    DialectMismatch,
    /// The provider as a whole is spared.
    CircuitBreaker,
    /// The provider, or this account of it, failed in earlier requests; combos only.
    ProviderCooldown,
    /// The account is spared.
    ConnectionCooldown,
    /// The account is out until its owner acts: banned, expired, without credit.
    TerminalState,
    /// This model is spared on this account.
    ModelLockout,
}

impl Mechanism {
    /// Nothing is wrong with the account, it only has no place right now: waiting in line can bring one.
    pub fn is_full(self) -> bool {
        matches!(self, Mechanism::ConcurrencyCap | Mechanism::AdmissionLane)
    }
}
