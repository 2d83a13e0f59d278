//! The cooldown manager: what keeps each account out of routing, and bringing accounts back (resilience specification,
//! 13). Terminal states are shown and never cleared here.

use domain::connection::Connection;
use domain::health::TestStatus;
use domain::{ConnectionId, Timestamp};
use resilience::picture::ConnectionPicture;
use resilience::{ResetScope, Snapshot};

use crate::view::{
    CooldownConnection, CooldownFilter, CooldownSelection, CooldownStatus, Cooldowns, CooldownsCleared, Instant,
    Lockout,
};
use crate::{Control, ControlError, check, lockouts};

const MOST_IDS: usize = 1_000;

/// Every connection, by provider and priority, with what spares it at present.
pub async fn cooldowns_list(control: &Control, filter: CooldownFilter) -> Result<Cooldowns, ControlError> {
    let provider = filter.provider.map(|id| check::short("provider", &id)).transpose()?;
    let snapshot = control.engine().snapshot();
    let now = control.now();
    let connections = control.connections();
    let wanted = connections
        .iter()
        .map(|entry| &entry.connection)
        .filter(|connection| provider.as_deref().is_none_or(|id| id == connection.provider.as_str()));
    Ok(Cooldowns {
        connections: wanted.map(|connection| row(connection, &snapshot, now)).collect(),
        generated_at: now.into(),
    })
}

/// Makes the given connections eligible again: cooldown, locks, last error and refusal streak.
pub async fn cooldowns_clear(control: &Control, which: CooldownSelection) -> Result<CooldownsCleared, ControlError> {
    let ids = selected(control, which)?;
    let cleared = control.engine().reset(&ResetScope::Cooldowns(ids));
    Ok(CooldownsCleared {
        ok: true,
        cleared: cleared.connections,
        unchanged: cleared.unchanged,
        skipped_terminal: cleared.skipped_terminal,
        lockouts_cleared: cleared.lockouts,
    })
}

/// Exactly one way of saying which.
fn selected(control: &Control, which: CooldownSelection) -> Result<Vec<ConnectionId>, ControlError> {
    let provider = which.provider.map(|id| check::short("provider", &id)).transpose()?;
    match (which.connection_ids, which.all, provider) {
        (Some(ids), None | Some(false), None) => {
            if ids.is_empty() || ids.len() > MOST_IDS {
                return Err(ControlError::invalid("connectionIds", format!("must name 1 to {MOST_IDS} connections")));
            }
            ids.iter().map(|id| Ok(ConnectionId::from(check::short("connectionIds", id)?))).collect()
        }
        (None, Some(true), provider) => {
            let connections = control.connections();
            let of = |connection: &Connection| {
                provider.as_deref().is_none_or(|provider| provider == connection.provider.as_str())
            };
            let wanted = connections.iter().map(|entry| &entry.connection).filter(|connection| of(connection));
            Ok(wanted.map(|connection| connection.id.clone()).collect())
        }
        (_, _, _) => {
            let message = "say either connectionIds or {\"all\": true}, the latter with a provider if need be";
            Err(ControlError::invalid("body", message))
        }
    }
}

fn row(connection: &Connection, snapshot: &Snapshot, now: Timestamp) -> CooldownConnection {
    let unknown = ConnectionPicture::default();
    let picture = snapshot.connections.get(&connection.id).unwrap_or(&unknown);
    let lockouts = of_connection(snapshot, &connection.id, now);
    let error = picture.last_error.as_ref();
    CooldownConnection {
        id: connection.id.to_string(),
        provider: connection.provider.to_string(),
        name: connection.name.clone(),
        auth_type: connection.auth_type.into(),
        priority: connection.priority,
        is_active: connection.is_active,
        status: status(connection, picture, !lockouts.is_empty()),
        test_status: picture.status.into(),
        rate_limited_until: picture.cooling_until.map(Instant::from),
        cooldown_remaining_ms: picture.cooling_until.map_or(0, |until| until.since(now).as_millis()),
        backoff_level: picture.backoff_level,
        error_code: error.and_then(|error| error.status),
        last_error: error.map(|error| error.message.clone()),
        last_error_type: error.and_then(|error| error.reason).map(|reason| reason.category().to_owned()),
        last_error_at: error.map(|error| error.at.into()),
        lockouts,
    }
}

/// The locks of one account, the longest remaining first.
pub(crate) fn of_connection(snapshot: &Snapshot, id: &ConnectionId, now: Timestamp) -> Vec<Lockout> {
    let own = snapshot.lockouts.iter().filter(|lock| lock.connection == *id);
    own.map(|lock| lockouts::brief(lock, now)).collect()
}

fn status(connection: &Connection, picture: &ConnectionPicture, locked: bool) -> CooldownStatus {
    if picture.status.is_terminal() {
        CooldownStatus::Terminal
    } else if picture.cooling_until.is_some() {
        CooldownStatus::CoolingDown
    } else if locked {
        CooldownStatus::ModelLocked
    } else if !connection.is_active || picture.status == TestStatus::Unavailable {
        CooldownStatus::Unavailable
    } else {
        CooldownStatus::Healthy
    }
}
