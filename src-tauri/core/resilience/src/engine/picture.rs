//! The Engine as screens see it: plain data with time applied.

use domain::{ConnectionId, Millis, ProviderClass, ProviderId, Timestamp};

use super::{ConnectionHealth, Engine};
use crate::circuit_breaker::{CircuitBreaker, State};
use crate::failure::lock_scope::LockScope;
use crate::picture::{BreakerPicture, ConnectionPicture, LockoutPicture, ProviderCooldownPicture, Snapshot};
use crate::settings::Settings;
use crate::stored::StoredLockout;

impl Engine {
    pub fn snapshot(&self, settings: &Settings, now: Timestamp) -> Snapshot {
        let breakers = self.breakers.iter().map(|(provider, class, breaker)| {
            let picture = breaker_picture(breaker, class, settings, now);
            (provider.clone(), picture)
        });
        let connections = self.connections.iter().filter(|(_, health)| !health.forgotten);
        let resting = self.provider_cooldowns.resting(settings, now).into_iter();
        Snapshot {
            breakers: breakers.collect(),
            connections: connections
                .map(|(id, health)| (id.clone(), connection_picture(health, self.in_flight(id), now)))
                .collect(),
            lockouts: self.lockouts.active(now).into_iter().map(lockout_picture).collect(),
            provider_cooldowns: resting
                .map(|resting| ProviderCooldownPicture {
                    provider: resting.provider,
                    connection: resting.connection,
                    until: resting.until,
                })
                .collect(),
            queues: self.queues.pictures(settings, now),
            in_flight: u32::try_from(self.open.len()).unwrap_or(u32::MAX),
            waiting: u32::try_from(self.room.len()).unwrap_or(u32::MAX),
            waiting_for: self.waiting_for(),
        }
    }

    /// How a provider's breaker stands; closed where it was never needed.
    pub fn breaker_state(&self, provider: &ProviderId, settings: &Settings, now: Timestamp) -> State {
        let known = self.breakers.iter().find(|(known, _, _)| *known == provider);
        known.map_or(State::Closed, |(_, class, breaker)| breaker.state(settings.breaker_terms(class), now))
    }

    /// One connection's part of the snapshot.
    pub fn connection(&self, id: &ConnectionId, _settings: &Settings, now: Timestamp) -> ConnectionPicture {
        let health = self.connections.get(id).filter(|health| !health.forgotten);
        health.map(|health| connection_picture(health, self.in_flight(id), now)).unwrap_or_default()
    }
}

fn breaker_picture(
    breaker: &CircuitBreaker,
    class: ProviderClass,
    settings: &Settings,
    now: Timestamp,
) -> BreakerPicture {
    let terms = settings.breaker_terms(class);
    let state = breaker.state(terms, now);
    let retry_after = match state {
        State::Open { until } => until.since(now),
        State::Closed | State::Degraded | State::HalfOpen => Millis::ZERO,
    };
    BreakerPicture {
        state,
        failure_count: breaker.failures(),
        open_cycles: breaker.cycles(),
        last_failure: breaker.last_failure(),
        retry_after,
        probing: breaker.is_probing(terms, now),
        transitions: breaker.transitions().cloned().collect(),
    }
}

fn connection_picture(health: &ConnectionHealth, in_flight: u32, now: Timestamp) -> ConnectionPicture {
    let retries = health.status.retries();
    ConnectionPicture {
        provider: health.provider.clone(),
        in_flight,
        status: health.status.shown(health.cooldown.is_resting(now)),
        cooling_until: health.cooldown.until(now),
        probe_at: health.cooldown.probe_at(now),
        backoff_level: health.cooldown.level(),
        refusals: health.status.refusals(),
        expired_retry_count: retries.count,
        expired_retry_at: retries.at,
        last_error: health.last_error.clone(),
        last_used_at: health.last_used_at,
    }
}

fn lockout_picture((row, rule): (StoredLockout, Option<String>)) -> LockoutPicture {
    LockoutPicture {
        provider: row.provider,
        connection: row.connection,
        model: row.model,
        reason: row.reason,
        scope: LockScope::parse(&row.scope).map_or("", LockScope::as_str),
        locked_at: row.locked_at,
        until: row.until,
        failure_count: row.failure_count,
        last_cooldown: row.last_cooldown,
        probe_at: row.probe_at,
        rule,
    }
}
