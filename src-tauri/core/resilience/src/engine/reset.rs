//! An operator's hand (resilience specification, 12, 13 and 2.10). Requests under way keep their places.

use domain::{ConnectionId, ProviderId, Timestamp};

use super::settle::released_locks;
use super::{Cleared, ConnectionHealth, Effects, Engine, ResetScope};
use crate::connection_cooldown::ConnectionCooldown;
use crate::settings::Settings;

impl Engine {
    /// An operator's hand. Requests under way keep their places.
    pub fn reset(&mut self, scope: &ResetScope, settings: &Settings, now: Timestamp) -> Cleared {
        let effects = self.pending();
        let mut cleared = Cleared { effects, ..Cleared::default() };
        match scope {
            ResetScope::Breakers => {
                let providers: Vec<ProviderId> = self.breakers.providers().cloned().collect();
                for provider in &providers {
                    self.reset_breaker(provider, settings, now, &mut cleared);
                }
            }
            ResetScope::Breaker(provider) => self.reset_breaker(provider, settings, now, &mut cleared),
            ResetScope::Connection(connection) => {
                self.reset_connection(connection, now, &mut cleared);
                cleared.effects.learned = true;
                self.serve_account(connection, settings, now, &mut cleared.effects);
            }
            ResetScope::Cooldowns(connections) => {
                cleared.effects.learned = true;
                for connection in connections {
                    self.reset_cooldown(connection, now, &mut cleared);
                    self.serve_account(connection, settings, now, &mut cleared.effects);
                }
            }
            ResetScope::Model { provider, connection, model } => {
                let connections = match connection {
                    Some(connection) => vec![connection.clone()],
                    None => self.lockouts.connections(Some(provider)),
                };
                self.reset_locks(&connections, Some(model), now, &mut cleared);
            }
            ResetScope::Models => {
                let connections = self.lockouts.connections(None);
                self.reset_locks(&connections, None, now, &mut cleared);
            }
        }
        cleared
    }

    /// The connection no longer exists. Requests still under way on it settle without effect, those that wait for it are
    /// told.
    pub fn forget(&mut self, connection: &ConnectionId) -> Effects {
        let mut effects = self.pending();
        self.send_away(connection, &mut effects);
        let under_way = self.in_flight(connection) > 0;
        if let Some(health) = self.connections.get_mut(connection) {
            health.forgotten = true;
            if !under_way {
                self.connections.remove(connection);
            }
        }
        self.provider_cooldowns.forget(connection);
        self.post_output.forget(connection);
        self.egress.forget(connection);
        self.queues.forget(connection);
        self.quotas.remove(connection);
        effects.learned = true;
        // Locks that no longer exist are gone, running or not: nobody is told that a deleted account works again.
        let released = self.lockouts.clear(std::slice::from_ref(connection), None, Timestamp::MAX);
        released_locks(released, &mut effects);
        effects
    }

    fn reset_breaker(&mut self, provider: &ProviderId, settings: &Settings, now: Timestamp, cleared: &mut Cleared) {
        let Some(transition) = self.breakers.reset(provider, now) else { return };
        cleared.breakers += 1;
        self.breaker_changed(provider, transition, settings, &mut cleared.effects);
    }

    fn reset_connection(&mut self, connection: &ConnectionId, now: Timestamp, cleared: &mut Cleared) {
        let unlocked = self.reset_locks(std::slice::from_ref(connection), None, now, cleared);
        self.clear_memories(connection);
        let health = self.connections.entry(connection.clone()).or_default();
        let news = health.status.reset();
        let changed = health.wipe() || news || unlocked;
        health.record += 1;
        health.cleared_at = health.record;
        cleared.effects.rows.extend(health.row(connection, now));
        cleared.count(changed);
    }

    fn reset_cooldown(&mut self, connection: &ConnectionId, now: Timestamp, cleared: &mut Cleared) {
        let terminal = self.connections.get(connection).is_some_and(|health| health.status.terminal().is_some());
        if terminal {
            cleared.skipped_terminal += 1;
            return;
        }
        let unlocked = self.reset_locks(std::slice::from_ref(connection), None, now, cleared);
        self.clear_memories(connection);
        let mut changed = unlocked;
        if let Some(health) = self.connections.get_mut(connection) {
            let eased = health.status.on_success();
            if health.wipe() || eased {
                changed = true;
                cleared.effects.rows.extend(health.row(connection, now));
            }
        }
        cleared.count(changed);
    }

    /// What other mechanisms remember against an account.
    fn clear_memories(&mut self, connection: &ConnectionId) {
        self.provider_cooldowns.forget(connection);
        self.post_output.forget(connection);
        self.queues.unlearn(connection);
    }

    /// Says whether a running lock was among them.
    fn reset_locks(
        &mut self,
        connections: &[ConnectionId],
        model: Option<&str>,
        now: Timestamp,
        cleared: &mut Cleared,
    ) -> bool {
        let released = self.lockouts.clear(connections, model, now);
        let running = released.iter().filter(|released| released.active).count();
        cleared.lockouts = cleared.lockouts.saturating_add(u32::try_from(running).unwrap_or(u32::MAX));
        released_locks(released, &mut cleared.effects);
        running > 0
    }
}

impl Cleared {
    fn count(&mut self, changed: bool) {
        if changed {
            self.connections += 1;
        } else {
            self.unchanged += 1;
        }
    }
}

impl ConnectionHealth {
    /// Forgets cooldown and last error. Says whether there was anything.
    fn wipe(&mut self) -> bool {
        let cooled = std::mem::take(&mut self.cooldown) != ConnectionCooldown::default();
        self.last_error.take().is_some() || cooled
    }
}
