//! Everything that can be said about a change of state. Log, screen and store are told the same.

use domain::health::{LastError, TestStatus};
use domain::{ConnectionId, ProviderId, Timestamp};

use crate::circuit_breaker::Transition;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The upstream failed this connection.
    ConnectionFailed { provider: ProviderId, connection: ConnectionId, error: LastError },
    /// It works again after a failure.
    ConnectionRecovered { provider: ProviderId, connection: ConnectionId },
    /// It rests until an instant.
    ConnectionCooling { provider: ProviderId, connection: ConnectionId, until: Timestamp },
    /// It is out until its owner acts.
    ConnectionTerminal { provider: ProviderId, connection: ConnectionId, status: TestStatus },
    /// A provider's breaker changed its state.
    BreakerChanged { provider: ProviderId, transition: Transition },
    /// A model rests on one account.
    ModelLocked { provider: ProviderId, connection: ConnectionId, model: String, reason: String, until: Timestamp },
    /// It no longer does, before its time.
    ModelUnlocked { provider: ProviderId, connection: ConnectionId, model: String },
    /// Something else is left of an account than was known.
    QuotaChanged { connection: ConnectionId },
    /// The optional provider cooldown began.
    ProviderCooling { provider: ProviderId, until: Timestamp },
}
