//! What an admitted attempt holds.
//!
//! A permit is a receipt, not a guard: the shell wraps it in one (`gateway::Attempt`) whose `Drop` settles it, and the
//! Engine refuses to settle the same permit twice. It cannot be cloned.

use domain::{ConnectionId, Millis, Nature, ProviderId};

use crate::circuit_breaker::Ticket;
use crate::concurrency_gate::{GateKey, Held};
use crate::engine::Caller;
use crate::model_lockout::Target;
use crate::request_queue::QueueKey;

#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    pub(crate) number: u64,
    pub(crate) provider: ProviderId,
    pub(crate) connection: ConnectionId,
    pub(crate) model: String,
    pub(crate) nature: Nature,
    pub(crate) caller: Caller,
    /// None, the provider goes without a breaker.
    pub(crate) breaker: Option<Ticket>,
    /// What was known about the account when the attempt left: a success may only wipe what it has seen.
    pub(crate) record: u64,
    pub(crate) held: Held,
    /// The queue it was let through by; none, nothing paces the account.
    pub(crate) queue: Option<QueueKey>,
    pub(crate) execution_limit: Option<Millis>,
    /// It looks whether a long rest of the account or the model has ended early.
    pub(crate) looks: bool,
}

/// Places at the gates of one account that a request keeps between two attempts. It cannot be cloned.
#[derive(Debug, PartialEq, Eq)]
pub struct KeptPlaces {
    pub(crate) connection: ConnectionId,
    pub(crate) held: Held,
}

impl KeptPlaces {
    pub fn connection(&self) -> &ConnectionId {
        &self.connection
    }

    /// The gates they are at.
    pub fn gates(&self) -> &[GateKey] {
        self.held.keys()
    }

    /// Takes out the place among the quota-share requests of the account, which a request keeps for as long as it may come
    /// back (resilience specification, 14.4); none, it has none.
    pub fn take_share(&mut self) -> Option<KeptPlaces> {
        let held = self.held.take_share()?;
        Some(KeptPlaces { connection: self.connection.clone(), held })
    }
}

impl Permit {
    pub fn connection(&self) -> &ConnectionId {
        &self.connection
    }

    pub fn provider(&self) -> &ProviderId {
        &self.provider
    }

    pub fn model(&self) -> &str {
        &self.model
    }

    /// How long the attempt may take from now to its end; none, no queue governs the account. Beyond it the shell ends the
    /// attempt with [`crate::LocalLimit::ExecutionTimeout`], as a neutral outcome.
    pub fn execution_limit(&self) -> Option<Millis> {
        self.execution_limit
    }

    /// The gates it holds places at.
    pub fn gates(&self) -> &[GateKey] {
        self.held.keys()
    }

    /// Takes its places out of it, so that a request that is to be sent once more keeps them, also over a pause. Given back
    /// by [`crate::Engine::give_back`], or to the next permit by [`Permit::put_back`].
    pub fn keep_places(&mut self) -> Option<KeptPlaces> {
        let held = std::mem::take(&mut self.held);
        let connection = self.connection.clone();
        (!held.keys().is_empty()).then_some(KeptPlaces { connection, held })
    }

    /// The attempt goes on in places that were kept.
    pub fn put_back(&mut self, kept: KeptPlaces) {
        self.held.join(kept.held);
    }

    pub(crate) fn target(&self) -> Target<'_> {
        Target { provider: &self.provider, connection: &self.connection, model: &self.model, nature: &self.nature }
    }
}
