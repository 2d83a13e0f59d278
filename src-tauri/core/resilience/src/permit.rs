//! What an admitted attempt holds.
//!
//! A permit is a receipt, not a guard: the shell wraps it in one (`gateway::Attempt`) whose `Drop` settles it, and the
//! Engine refuses to settle the same permit twice. It cannot be cloned.

use domain::{ConnectionId, Nature, ProviderId};

use crate::circuit_breaker::Ticket;
use crate::engine::Caller;
use crate::model_lockout::Target;

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
    /// It looks whether a long rest of the account or the model has ended early.
    pub(crate) looks: bool,
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

    pub(crate) fn target(&self) -> Target<'_> {
        Target { provider: &self.provider, connection: &self.connection, model: &self.model, nature: &self.nature }
    }
}
