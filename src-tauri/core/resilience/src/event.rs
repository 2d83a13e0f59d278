//! Everything that can be said about a change of state. Log, screen and store are told the same.

use domain::health::LastError;
use domain::{ConnectionId, ProviderId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The upstream failed this connection.
    ConnectionFailed { provider: ProviderId, connection: ConnectionId, error: LastError },
    /// It works again after a failure.
    ConnectionRecovered { provider: ProviderId, connection: ConnectionId },
}
