//! The health document (resilience specification, 24.1).

use std::collections::{BTreeMap, BTreeSet};

use gateway::Entry;
use resilience::Snapshot;

use crate::view::{
    BreakerCounts, ConnectionCounts, Health, HealthStatus, ProviderSummary, RateLimitStatus, StoreHealth, SystemStatus,
};
use crate::{Control, ControlError};

/// How the gateway does. Names nothing private: it is served without a token.
pub async fn health_get(control: &Control) -> Result<Health, ControlError> {
    let connections = control.connections();
    let entries: Vec<&Entry> = connections.iter().map(AsRef::as_ref).collect();
    let snapshot = control.engine().snapshot();
    let store = control.store().health();
    let uptime = control.now().since(control.started_at()).as_millis() / 1_000;
    Ok(Health {
        status: if store.healthy { HealthStatus::Healthy } else { HealthStatus::Degraded },
        timestamp: control.now().into(),
        version: control.version().to_owned(),
        uptime,
        active_connections: control.live().in_flight,
        system: SystemStatus {
            version: control.version().to_owned(),
            uptime,
            pid: std::process::id(),
            platform: std::env::consts::OS.to_owned(),
        },
        circuit_breakers: BreakerCounts::default(),
        provider_breakers: Vec::new(),
        provider_summary: providers(control, &entries),
        connection_health: counts(&entries, &snapshot),
        rate_limit_status: rate_limits(&snapshot),
        lockouts: Vec::new(),
        store: StoreHealth { healthy: store.healthy, dropped: store.dropped },
        setup_complete: !control.keys().is_empty() && !entries.is_empty(),
    })
}

fn providers(control: &Control, entries: &[&Entry]) -> ProviderSummary {
    let distinct = |entries: &mut dyn Iterator<Item = &&Entry>| {
        count(entries.map(|entry| &entry.connection.provider).collect::<BTreeSet<_>>().len())
    };
    ProviderSummary {
        catalog_count: count(control.catalog().iter().count()),
        configured_count: distinct(&mut entries.iter()),
        active_count: distinct(&mut entries.iter().filter(|entry| entry.connection.is_active)),
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
    let busy = snapshot.connections.iter().filter(|(_, picture)| picture.in_flight > 0);
    busy.map(|(id, picture)| (id.to_string(), RateLimitStatus { queued: 0, running: picture.in_flight })).collect()
}

fn count(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}
