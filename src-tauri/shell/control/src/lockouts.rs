//! Models that rest on one account, and how they are brought back (resilience specification, 12).

use domain::{ConnectionId, ProviderId, Timestamp};
use resilience::ResetScope;
use resilience::picture::LockoutPicture;

use crate::view::{Instant, Lockout, ModelCooldown, ModelCooldownSelection, ModelCooldowns, ModelCooldownsCleared};
use crate::{Control, ControlError, check};

/// Active locks, the longest remaining first.
pub async fn model_cooldowns_list(control: &Control) -> Result<ModelCooldowns, ControlError> {
    let now = control.now();
    let connections = control.connections();
    let name =
        |id: &ConnectionId| connections.get(id).map_or_else(|| id.to_string(), |entry| entry.connection.name.clone());
    let items = control.engine().snapshot().lockouts.into_iter().map(|lock| ModelCooldown {
        connection_name: name(&lock.connection),
        provider: lock.provider.to_string(),
        connection_id: lock.connection.to_string(),
        remaining_ms: lock.until.since(now).as_millis(),
        model: lock.model,
        reason: lock.reason,
        scope: lock.scope.to_owned(),
        failure_count: lock.failure_count,
        locked_at: lock.locked_at.into(),
        expires_at: lock.until.into(),
        probe_at: lock.probe_at.map(Instant::from),
    });
    Ok(ModelCooldowns { items: items.collect() })
}

/// Ends locks before their time; their failure counts start anew.
pub async fn model_cooldowns_clear(
    control: &Control,
    which: ModelCooldownSelection,
) -> Result<ModelCooldownsCleared, ControlError> {
    let (scope, cleared_all) = match (which.all, which.provider, which.model) {
        (Some(true), None, None) if which.connection.is_none() => (ResetScope::Models, true),
        (None | Some(false), Some(provider), Some(model)) => {
            let connection = which.connection.map(|id| check::short("connection", &id)).transpose()?;
            let scope = ResetScope::Model {
                provider: ProviderId::from(check::short("provider", &provider)?),
                connection: connection.map(ConnectionId::from),
                model: check::text("model", &model)?,
            };
            (scope, false)
        }
        (None | Some(false), None, _) => return Err(missing("provider")),
        (None | Some(false), Some(_), None) => return Err(missing("model")),
        (Some(true), _, _) => {
            return Err(ControlError::invalid("all", "stands alone: leave out provider, connection and model"));
        }
    };
    let removed = control.engine().reset(&scope).lockouts;
    Ok(ModelCooldownsCleared { ok: true, removed, cleared_all })
}

/// A lock as it stands beside its connection.
pub(crate) fn brief(lock: &LockoutPicture, now: Timestamp) -> Lockout {
    Lockout {
        model: lock.model.clone(),
        reason: lock.reason.clone(),
        scope: lock.scope.to_owned(),
        remaining_ms: lock.until.since(now).as_millis(),
        expires_at: lock.until.into(),
    }
}

fn missing(field: &str) -> ControlError {
    ControlError::invalid(field, "is needed, unless {\"all\": true} ends every lock")
}
