//! What an admitted attempt holds.
//!
//! A permit is a receipt, not a guard: the shell wraps it in one (`gateway::Attempt`) whose `Drop` settles it, and the
//! Engine refuses to settle the same permit twice. It cannot be cloned.

use domain::{ConnectionId, Nature, ProviderId};

use crate::engine::Caller;

#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    pub(crate) number: u64,
    pub(crate) provider: ProviderId,
    pub(crate) connection: ConnectionId,
    pub(crate) model: String,
    pub(crate) nature: Nature,
    pub(crate) caller: Caller,
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
}
