//! The health document (resilience specification, 24.1).

use std::collections::{BTreeMap, BTreeSet};

use domain::{Millis, ProviderId, Timestamp};
use gateway::{Changed, Entry, Topic};
use resilience::Snapshot;
use resilience::circuit_breaker::State;
use resilience::picture::BreakerPicture;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;

use crate::view::{
    BreakerCounts, ConnectionCounts, Health, HealthLockout, HealthStatus, Instant, MemoryUsage, ProviderBreaker,
    ProviderHealth, ProviderSummary, RateLimitStatus, StoreHealth, SystemStatus,
};
use crate::{Control, ControlError, breakers, credential_health};

/// How long one document serves whoever asks, as long as nothing it shows has changed or ended.
const LIFETIME: Millis = Millis::seconds(1);
/// Breakers of providers named like this are tests' and not shown.
const HIDDEN: [&str; 2] = ["test-", "test_"];

/// The document as it was last made, so that a client that asks in a loop costs next to nothing.
#[derive(Default)]
pub(crate) struct HealthCache(Option<Made>);

struct Made {
    until: Timestamp,
    health: Health,
    changes: Receiver<Changed>,
}

/// How the gateway does. Names nothing private: it is served without a token.
pub async fn health_get(control: &Control) -> Result<Health, ControlError> {
    let now = control.now();
    if let Some(health) = control.health_cache().lock().get(now) {
        return Ok(health);
    }
    let changes = control.subscribe();
    let snapshot = control.engine().snapshot();
    let health = document(control, &snapshot, now);
    let until = next_end(&snapshot, now).map_or(now + LIFETIME, |end| end.min(now + LIFETIME));
    *control.health_cache().lock() = HealthCache(Some(Made { until, health: health.clone(), changes }));
    Ok(health)
}

impl HealthCache {
    fn get(&mut self, now: Timestamp) -> Option<Health> {
        let made = self.0.as_mut()?;
        (now < made.until && !made.has_changed()).then(|| made.health.clone())
    }
}

impl Made {
    /// Whether anything was announced since that the document shows. Requests come all the time and are not.
    fn has_changed(&mut self) -> bool {
        loop {
            match self.changes.try_recv() {
                Ok(change) if change.topics.iter().all(|topic| matches!(topic, Topic::Requests | Topic::Usage)) => {}
                Ok(_) | Err(TryRecvError::Lagged(_)) => return true,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return false,
            }
        }
    }
}

/// When the first of what the document shows ends by itself.
fn next_end(snapshot: &Snapshot, now: Timestamp) -> Option<Timestamp> {
    let breakers = snapshot.breakers.values().filter_map(|breaker| match breaker.state {
        State::Open { until } => Some(until),
        State::Closed | State::Degraded | State::HalfOpen => None,
    });
    let cooldowns = snapshot.connections.values().filter_map(|connection| connection.cooling_until);
    let locks = snapshot.lockouts.iter().map(|lock| lock.until);
    breakers.chain(cooldowns).chain(locks).filter(|end| *end > now).min()
}

fn document(control: &Control, snapshot: &Snapshot, now: Timestamp) -> Health {
    let connections = control.connections();
    let entries: Vec<&Entry> = connections.iter().map(AsRef::as_ref).collect();
    let shown: Vec<(&ProviderId, &BreakerPicture)> =
        snapshot.breakers.iter().filter(|(id, _)| !HIDDEN.iter().any(|start| id.as_str().starts_with(start))).collect();
    let store = control.store().health();
    let uptime = now.since(control.started_at()).as_millis() / 1_000;
    let memory_usage = MemoryUsage { rss: resident_bytes() };
    Health {
        status: if store.healthy { HealthStatus::Healthy } else { HealthStatus::Degraded },
        timestamp: now.into(),
        version: control.version().to_owned(),
        uptime,
        memory_usage,
        active_connections: control.live().in_flight,
        system: SystemStatus {
            version: control.version().to_owned(),
            uptime,
            memory_usage,
            pid: std::process::id(),
            platform: std::env::consts::OS.to_owned(),
        },
        circuit_breakers: breaker_counts(&shown),
        provider_breakers: shown.iter().map(|(id, picture)| provider_breaker(id, picture)).collect(),
        provider_health: shown.iter().map(|(id, picture)| (id.to_string(), provider_health(picture))).collect(),
        provider_summary: providers(control, &entries, count(shown.len())),
        connection_health: counts(&entries, snapshot),
        rate_limit_status: rate_limits(snapshot),
        lockouts: lockouts(snapshot, now),
        credential_health: credential_health::shown(control),
        store: StoreHealth { healthy: store.healthy, dropped: store.dropped },
        setup_complete: !control.keys().is_empty() && !entries.is_empty(),
    }
}

fn breaker_counts(shown: &[(&ProviderId, &BreakerPicture)]) -> BreakerCounts {
    let mut counts = BreakerCounts { total: count(shown.len()), ..BreakerCounts::default() };
    for (_, picture) in shown {
        let place = match picture.state {
            State::Closed => &mut counts.closed,
            State::Degraded => &mut counts.degraded,
            State::Open { .. } => &mut counts.open,
            State::HalfOpen => &mut counts.half_open,
        };
        *place += 1;
    }
    counts
}

fn provider_breaker(id: &ProviderId, picture: &BreakerPicture) -> ProviderBreaker {
    ProviderBreaker {
        provider: id.to_string(),
        state: breakers::state(picture.state),
        failure_count: picture.failure_count,
        last_failure: picture.last_failure.map(Instant::from),
        retry_after_ms: picture.retry_after.as_millis(),
    }
}

fn provider_health(picture: &BreakerPicture) -> ProviderHealth {
    ProviderHealth {
        state: breakers::state(picture.state),
        failures: picture.failure_count,
        last_failure: picture.last_failure.map(Instant::from),
        retry_after_ms: picture.retry_after.as_millis(),
    }
}

fn lockouts(snapshot: &Snapshot, now: Timestamp) -> Vec<HealthLockout> {
    let shown = snapshot.lockouts.iter().map(|lock| HealthLockout {
        provider: lock.provider.to_string(),
        connection_id: lock.connection.to_string(),
        model: lock.model.clone(),
        reason: lock.reason.clone(),
        remaining_ms: lock.until.since(now).as_millis(),
        expires_at: lock.until.into(),
    });
    shown.collect()
}

/// What the process holds in memory. Linux says so in pages of 4 KiB (on the machines this runs on); elsewhere nobody
/// says it in a file.
fn resident_bytes() -> Option<u64> {
    const PAGE: u64 = 4_096;
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(PAGE))
}

fn providers(control: &Control, entries: &[&Entry], monitored_count: u32) -> ProviderSummary {
    let distinct = |entries: &mut dyn Iterator<Item = &&Entry>| {
        count(entries.map(|entry| &entry.connection.provider).collect::<BTreeSet<_>>().len())
    };
    ProviderSummary {
        catalog_count: count(control.catalog().iter().count()),
        configured_count: distinct(&mut entries.iter()),
        active_count: distinct(&mut entries.iter().filter(|entry| entry.connection.is_active)),
        monitored_count,
    }
}

fn counts(entries: &[&Entry], snapshot: &Snapshot) -> ConnectionCounts {
    let mut counts = ConnectionCounts { total: count(entries.len()), ..ConnectionCounts::default() };
    for entry in entries {
        let connection = &entry.connection;
        let failed = snapshot.connections.get(&connection.id).is_some_and(|picture| picture.last_error.is_some());
        let needs_credential = connection.auth_type != domain::connection::AuthType::None;
        let place = if !connection.is_active {
            &mut counts.switched_off
        } else if needs_credential && entry.credential.is_none() {
            &mut counts.without_credential
        } else if failed {
            &mut counts.failing
        } else {
            &mut counts.ready
        };
        *place += 1;
    }
    counts
}

fn rate_limits(snapshot: &Snapshot) -> BTreeMap<String, RateLimitStatus> {
    let mut shown: BTreeMap<String, RateLimitStatus> = BTreeMap::new();
    for (id, picture) in snapshot.connections.iter().filter(|(_, picture)| picture.in_flight > 0) {
        let status = shown.entry(id.to_string()).or_default();
        (status.running, status.executing) = (picture.in_flight, picture.in_flight);
    }
    for (id, waiting) in &snapshot.waiting_for {
        shown.entry(id.to_string()).or_default().queued = *waiting;
    }
    shown
}

fn count(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}
