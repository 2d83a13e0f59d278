//! From what a person wrote to a combo. Everything that is wrong with it is said at once.

use domain::Timestamp;
use domain::section::{FieldError, Section};
use routing::combo::{Combo, Config};
use serde_json::{Map, Value, json};

use super::new_id;
use crate::ControlError;
use crate::connections::later;
use crate::view::Instant;

/// What a person may state of a combo; the rest is the gateway's.
const MEMBERS: [&str; 9] =
    ["name", "strategy", "models", CONFIG, "system_message", "context_cache_protection", "isHidden", "isActive", TIERS];
const CONFIG: &str = "config";
const TIERS: &str = "compositeTiers";

/// In a change: the combo as its author saw it.
pub(super) const UPDATED_AT: &str = "updatedAt";

/// A new combo.
pub(super) fn new(members: Map<String, Value>, others: &[Combo], now: Timestamp) -> Result<Combo, Vec<FieldError>> {
    let (members, errors) = known_members(members);
    read(members, others, now, errors)
}

/// The combo with the members of a change laid over its own: `null` unsets, the configuration is merged, steps are
/// replaced whole.
pub(super) fn changed(
    before: &Combo,
    change: Map<String, Value>,
    others: &[Combo],
    now: Timestamp,
) -> Result<Combo, Vec<FieldError>> {
    let (change, mut errors) = known_members(change);
    let mut members = match json!(before) {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    members.retain(|member, _| MEMBERS.contains(&member.as_str()));
    for (member, value) in change {
        match (member.as_str(), members.get_mut(&member), value) {
            (_, _, Value::Null) => {
                members.shift_remove(&member);
            }
            (CONFIG, Some(Value::Object(config)), Value::Object(change)) => errors.extend(merge(config, change)),
            (TIERS, Some(Value::Object(tiers)), Value::Object(change)) => tiers.extend(change),
            (_, _, value) => {
                members.insert(member, value);
            }
        }
    }
    let combo = read(members, others, now, errors)?;
    Ok(Combo {
        id: before.id.clone(),
        order: before.order,
        created_at: before.created_at,
        updated_at: later(now, before.updated_at),
        ..combo
    })
}

/// Refuses a change of a combo that is no longer as its author saw it.
pub(super) fn check_current(combo: &Combo, seen: Option<Value>) -> Result<(), ControlError> {
    let Some(seen) = seen.filter(|seen| !seen.is_null()) else { return Ok(()) };
    let instant: Instant =
        serde_json::from_value(seen).map_err(|error| ControlError::invalid(UPDATED_AT, error.to_string()))?;
    if instant.timestamp() == combo.updated_at {
        return Ok(());
    }
    Err(ControlError::conflict(format!("combo {} was changed meanwhile", combo.id)))
}

/// Reads members as a combo. Shorthand means the other combos, never the combo itself: that may carry the name of the very
/// model it asks first.
fn read(
    members: Map<String, Value>,
    others: &[Combo],
    now: Timestamp,
    mut errors: Vec<FieldError>,
) -> Result<Combo, Vec<FieldError>> {
    let exists = |name: &str| others.iter().any(|other| other.name == name);
    match Combo::from_input(&Value::Object(members), exists, new_id, now) {
        Ok(combo) if errors.is_empty() => Ok(combo),
        Ok(_) => Err(errors),
        Err(wrong) => {
            errors.extend(wrong);
            Err(errors)
        }
    }
}

/// Lays a part of a configuration over another, unless it is wrong.
fn merge(config: &mut Map<String, Value>, change: Map<String, Value>) -> Vec<FieldError> {
    match Config::validate(&change) {
        Ok(()) => {
            Config::default().merge(config, &Value::Object(change));
            Vec::new()
        }
        Err(wrong) => {
            let placed = |error: FieldError| {
                let field = format!("{CONFIG}.{}", error.field);
                error.at(field)
            };
            wrong.into_iter().map(placed).collect()
        }
    }
}

/// Sets aside what a person cannot state.
fn known_members(members: Map<String, Value>) -> (Map<String, Value>, Vec<FieldError>) {
    let (known, unknown): (Map<_, _>, Map<_, _>) =
        members.into_iter().partition(|(member, _)| MEMBERS.contains(&member.as_str()));
    let error = |member: &String| FieldError::new(member, "unknown field: remove it, or correct its name");
    (known, unknown.keys().map(error).collect())
}
