//! What operations work on: the running gateway, the token that opens management, and the way to move the listener.

use std::ops::Deref;
use std::sync::Arc;

use gateway::Gateway;
use parking_lot::Mutex;
use tokio::sync::{MutexGuard, OwnedMutexGuard, mpsc, oneshot};

use crate::credential_health::Checks;
use crate::health::HealthCache;
use crate::management_token::TokenKeeper;
use crate::quota;

/// The argument of every operation. Cheap to clone; reads like the [`Gateway`] it wraps.
#[derive(Clone)]
pub struct Control(Arc<Inner>);

struct Inner {
    gateway: Gateway,
    token: TokenKeeper,
    listener: mpsc::Sender<ListenerMove>,
    health: Mutex<HealthCache>,
    combo_change: tokio::sync::Mutex<()>,
    key_change: tokio::sync::Mutex<()>,
    simulation: Arc<tokio::sync::Mutex<()>>,
    quota_asked: Mutex<quota::Asked>,
    quota_refresh: tokio::sync::Mutex<()>,
    credential_checks: Checks,
}

/// Asks the server to listen elsewhere. The answer comes once the new place is reserved: `Ok` carries the word to go,
/// which is sent after the new settings are stored; dropping it leaves everything as it was.
#[derive(Debug)]
pub struct ListenerMove {
    pub bind_address: String,
    pub port: u16,
    pub reserved: oneshot::Sender<Result<oneshot::Sender<()>, MoveRefused>>,
}

/// Why the listener cannot move.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveRefused {
    #[error("port {port} is in use by another program")]
    PortTaken { port: u16 },
    #[error("{address} cannot be listened on: {reason}")]
    NotBindable { address: String, reason: String },
}

impl Control {
    /// `listener` is served by whoever owns the sockets.
    pub fn new(gateway: Gateway, token: TokenKeeper, listener: mpsc::Sender<ListenerMove>) -> Self {
        Control(Arc::new(Inner {
            gateway,
            token,
            listener,
            health: Mutex::default(),
            combo_change: tokio::sync::Mutex::default(),
            key_change: tokio::sync::Mutex::default(),
            simulation: Arc::default(),
            quota_asked: Mutex::default(),
            quota_refresh: tokio::sync::Mutex::default(),
            credential_checks: Checks::default(),
        }))
    }

    pub fn gateway(&self) -> &Gateway {
        &self.0.gateway
    }

    pub fn token(&self) -> &TokenKeeper {
        &self.0.token
    }

    pub(crate) fn health_cache(&self) -> &Mutex<HealthCache> {
        &self.0.health
    }

    /// Waits until nobody else changes combos, and keeps others waiting while the guard lives: a combo is checked beside
    /// all others, which must not change before it is stored.
    pub(crate) async fn one_combo_change(&self) -> MutexGuard<'_, ()> {
        self.0.combo_change.lock().await
    }

    /// Waits until nobody else changes keys, and keeps others waiting while the guard lives: a change writes the whole key
    /// back as it found it, and would undo a rotation or a switching off that came in between.
    pub(crate) async fn one_key_change(&self) -> MutexGuard<'_, ()> {
        self.0.key_change.lock().await
    }

    /// Waits until no other simulation runs, and keeps others waiting while the guard lives, which goes with the work: one
    /// keeps a core busy for seconds.
    pub(crate) async fn one_simulation(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.0.simulation).lock_owned().await
    }

    pub(crate) fn credential_checks(&self) -> &Checks {
        &self.0.credential_checks
    }

    pub(crate) fn quota_asked(&self) -> &Mutex<quota::Asked> {
        &self.0.quota_asked
    }

    /// Waits until nobody else asks vendors, and keeps others waiting while the guard lives.
    pub(crate) async fn one_quota_refresh(&self) -> MutexGuard<'_, ()> {
        self.0.quota_refresh.lock().await
    }

    /// Reserves another place to listen; see [`ListenerMove`]. `None` when the server is stopping.
    pub(crate) async fn reserve_listener(
        &self,
        bind_address: String,
        port: u16,
    ) -> Option<Result<oneshot::Sender<()>, MoveRefused>> {
        let (reserved, answer) = oneshot::channel();
        self.0.listener.send(ListenerMove { bind_address, port, reserved }).await.ok()?;
        answer.await.ok()
    }
}

impl Deref for Control {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        self.gateway()
    }
}
