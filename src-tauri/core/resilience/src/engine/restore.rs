//! What outlives a restart (resilience specification, 25, 2.9, 4.6 and 11.6).

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::health::TestStatus;
use domain::{ConnectionId, Reason, Timestamp};

use super::settle::BAN;
use super::{ConnectionHealth, Engine};
use crate::circuit_breaker::Breakers;
use crate::connection_cooldown::ConnectionCooldown;
use crate::connection_status::{ConnectionStatus, Retries};
use crate::model_lockout::ModelLockouts;
use crate::settings::Settings;
use crate::stored::{Stored, StoredConnection};

impl Engine {
    /// Rebuilds what outlived a restart. Instants are clamped to what a mechanism allows, so a clock that was wrong when
    /// they were written cannot keep anyone away for longer.
    pub fn restore(stored: Stored, settings: &Settings, now: Timestamp) -> Engine {
        let lockouts = if settings.model_lockout.persist { stored.lockouts } else { Vec::new() };
        let connections: BTreeMap<ConnectionId, ConnectionHealth> =
            stored.connections.into_iter().map(|row| (row.connection.clone(), health(row, now))).collect();
        let mut engine = Engine {
            breakers: Breakers::restore(stored.breakers, now),
            lockouts: ModelLockouts::restore(lockouts, now),
            connections,
            quotas: stored.quotas.into_iter().map(|row| (row.connection, Arc::new(row.quota))).collect(),
            ..Engine::default()
        };
        for sighting in stored.egress {
            engine.note_egress(&sighting.connection, &sighting.ip, sighting.at.min(now));
        }
        engine
    }
}

fn health(row: StoredConnection, now: Timestamp) -> ConnectionHealth {
    let refused = row.last_error.as_ref().filter(|error| error.reason == Some(Reason::RequestRejected));
    let retries = Retries { count: row.expired_retry_count, at: row.expired_retry_at };
    let mut cooldown = ConnectionCooldown::restore(row.rate_limited_until, row.probe_at, row.backoff_level, now);
    if row.test_status == TestStatus::Banned
        && let Some(until) = row.rate_limited_until.filter(|until| *until > now)
    {
        cooldown.rest_until(until.min(now + BAN));
    }
    ConnectionHealth {
        status: ConnectionStatus::restore(row.test_status, retries, refused.map(|error| error.at), now),
        cooldown,
        provider: Some(row.provider),
        last_error: row.last_error,
        last_used_at: row.last_used_at,
        stored_use: row.last_used_at,
        ..ConnectionHealth::default()
    }
}
