//! A request waits for an account to come back (resilience specification, 15), and not for what an operator gives back in
//! the meantime.

use domain::Timestamp;
use tokio::sync::watch;

use crate::gateway::Gateway;

/// Waits until then, or until somebody is there to be asked: `freed` ([`crate::EngineHandle::freed`], from before it was
/// found that nobody is) says when that may be, `is_anybody_there` whether it is.
pub(crate) async fn until(
    gateway: &Gateway,
    until: Timestamp,
    mut freed: watch::Receiver<()>,
    is_anybody_there: impl Fn() -> bool,
) {
    loop {
        tokio::select! {
            biased;
            () = gateway.clock().sleep_until(until) => return,
            changed = freed.changed() => if changed.is_err() || is_anybody_there() { return },
        }
    }
}
