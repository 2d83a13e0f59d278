//! Connections and breakers side by side, with what each connection did of late (resilience specification, 24.3).

use std::collections::BTreeMap;

use domain::connection::Connection;
use domain::{ConnectionId, Millis, Timestamp};
use resilience::Snapshot;
use resilience::circuit_breaker::State;
use resilience::picture::ConnectionPicture;
use store::{GroupBy, UsageTotals};

use crate::view::{
    CountingWindow, Instant, ResilienceConnection, ResilienceConnections, ResilienceMeta, ResilienceStatus,
    ResilienceWindow,
};
use crate::{Control, ControlError, breakers, check};

const DEFAULT_WINDOW: Millis = Millis::hours(1);
const LONGEST_WINDOW: Millis = Millis::days(1);
const MOST_ROWS: usize = 1_000;

/// Every connection with its standing and its requests within the window, and every breaker.
pub async fn resilience_connections(
    control: &Control,
    query: ResilienceWindow,
) -> Result<ResilienceConnections, ControlError> {
    let provider = query.provider.map(|id| check::short("provider", &id)).transpose()?;
    let window = query.window_ms.map_or(DEFAULT_WINDOW, Millis::new);
    if window > LONGEST_WINDOW {
        return Err(ControlError::invalid("windowMs", format!("must be from 0 to {}", LONGEST_WINDOW.as_millis())));
    }
    let wanted = |id: &domain::ProviderId| provider.as_deref().is_none_or(|provider| provider == id.as_str());
    let now = control.now();
    let counts = counts(control, now - window, now).await?;
    let snapshot = control.engine().snapshot();

    let entries = control.connections();
    let mut rows: Vec<ResilienceConnection> = entries
        .iter()
        .map(|entry| &entry.connection)
        .filter(|connection| wanted(&connection.provider))
        .map(|connection| row(connection, &snapshot, counts.get(&connection.id), now))
        .collect();
    let breakers = snapshot.breakers.iter().filter(|(id, _)| wanted(id));
    let meta = ResilienceMeta {
        total_connections: count(rows.len()),
        cooling_down_count: count(rows.iter().filter(|row| row.status == ResilienceStatus::CoolingDown).count()),
        unhealthy_breaker_count: count(breakers.clone().filter(|(_, picture)| stops(picture.state)).count()),
        counts_capped: rows.len() > MOST_ROWS,
        degraded: breakers
            .clone()
            .filter(|(_, picture)| picture.state == State::Degraded)
            .map(|(id, _)| id.to_string())
            .collect(),
    };
    rows.truncate(MOST_ROWS);
    Ok(ResilienceConnections {
        connections: rows,
        breakers: breakers.map(|(id, picture)| breakers::detail(control, id, picture)).collect(),
        window: CountingWindow { since_ms: (now - window).as_millis(), until_ms: now.as_millis(), now: now.into() },
        meta,
    })
}

async fn counts(
    control: &Control,
    since: Timestamp,
    now: Timestamp,
) -> Result<BTreeMap<ConnectionId, UsageTotals>, ControlError> {
    let usage = control.store().usage_summary(GroupBy::Connection, since, now + Millis::new(1)).await?;
    let of_connection = |group: store::UsageGroup| Some((ConnectionId::from(group.group?), group.totals));
    Ok(usage.groups.into_iter().filter_map(of_connection).collect())
}

fn row(
    connection: &Connection,
    snapshot: &Snapshot,
    counts: Option<&UsageTotals>,
    now: Timestamp,
) -> ResilienceConnection {
    let unknown = ConnectionPicture::default();
    let picture = snapshot.connections.get(&connection.id).unwrap_or(&unknown);
    let broken = snapshot.breakers.get(&connection.provider).is_some_and(|breaker| stops(breaker.state));
    let error = picture.last_error.as_ref();
    ResilienceConnection {
        id: connection.id.to_string(),
        provider: connection.provider.to_string(),
        name: connection.name.clone(),
        status: status(picture, broken),
        test_status: picture.status.into(),
        rate_limited_until: picture.cooling_until.map(Instant::from),
        cooldown_remaining_ms: picture.cooling_until.map_or(0, |until| until.since(now).as_millis()),
        backoff_level: picture.backoff_level,
        error_code: error.and_then(|error| error.status),
        last_error_type: error.and_then(|error| error.reason).map(|reason| reason.category().to_owned()),
        last_error_at: error.map(|error| error.at.into()),
        lockout_count: count(snapshot.lockouts.iter().filter(|lock| lock.connection == connection.id).count()),
        in_flight: picture.in_flight,
        successes: counts.map_or(0, |totals| totals.successes),
        failures: counts.map_or(0, |totals| totals.failures),
    }
}

fn status(picture: &ConnectionPicture, broken: bool) -> ResilienceStatus {
    if picture.status.is_terminal() {
        ResilienceStatus::Terminal
    } else if broken {
        ResilienceStatus::CircuitOpen
    } else if picture.cooling_until.is_some() {
        ResilienceStatus::CoolingDown
    } else {
        ResilienceStatus::Healthy
    }
}

/// Whether a breaker in this state holds traffic back.
const fn stops(state: State) -> bool {
    match state {
        State::Open { .. } | State::HalfOpen => true,
        State::Closed | State::Degraded => false,
    }
}

fn count(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}
