//! The resilience settings under the names of the original's API (resilience specification, 23 and 24.2).
//!
//! They are one section of the settings tree, `resilienceSettings`, with the same bounds and layers; this is a second
//! door to it, with the original's strictness and with its older forms of a change. What the specification's reply does
//! not show (numbers that only the environment and `/api/settings` set, and values that are not set) is left out of the
//! reply here.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::view::{ResiliencePatch, ResilienceTree, ResilienceUpdated};
use crate::{Control, ControlError, FieldProblem};

/// The section of the settings tree.
pub(crate) const SECTION: &str = "resilienceSettings";
const LEGACY: &str = "legacy";
/// Older global keys that tools of the original read, and what they repeat.
const REPEATED: [(&str, &str); 2] = [("requestRetry", "maxRetries"), ("maxRetryIntervalSec", "maxRetryWaitSec")];
/// Members that the specification's reply does not have.
const NOT_SHOWN: [(&str, &[&str]); 2] = [
    ("providerBreaker", &["maxBackoffMultiplier", "backoffEscalationCount"]),
    ("providerCooldown", &["oauth", "apikey", "local"]),
];

/// The resilience settings in force.
pub async fn resilience_get(control: &Control) -> Result<ResilienceTree, ControlError> {
    Ok(ResilienceTree(tree(control)))
}

/// Changes resilience settings: all of the patch, or nothing. Live when it returns.
pub async fn resilience_update(control: &Control, patch: ResiliencePatch) -> Result<ResilienceUpdated, ControlError> {
    let patch = translate(patch.0)?;
    if patch.is_empty() {
        return Err(ControlError::invalid("body", "name at least one section to change"));
    }
    let waits = patch.contains_key("waitForCooldown");
    control.update_settings(&json!({ SECTION: patch })).await.map_err(|error| shorten(error.into()))?;
    if waits {
        repeat(control).await?;
    }
    Ok(ResilienceUpdated { ok: true, sections: tree(control) })
}

fn tree(control: &Control) -> BTreeMap<String, Value> {
    let mut settings = control.with_layered(settings::Layered::tree);
    let mut sections: BTreeMap<String, Value> = match settings.get_mut(SECTION).map(Value::take) {
        Some(Value::Object(sections)) => sections.into_iter().collect(),
        _ => BTreeMap::new(),
    };
    for (name, hidden) in NOT_SHOWN {
        sections.entry(name.to_owned()).and_modify(|section| hide(section, hidden));
    }
    sections.values_mut().for_each(drop_unset);
    sections.insert(LEGACY.to_owned(), json!({}));
    sections
}

/// Removes members of these names, at every depth.
fn hide(value: &mut Value, names: &[&str]) {
    let Value::Object(members) = value else { return };
    members.retain(|name, _| !names.contains(&name.as_str()));
    members.values_mut().for_each(|member| hide(member, names));
}

/// Removes members that are not set.
fn drop_unset(value: &mut Value) {
    let Value::Object(members) = value else { return };
    members.retain(|_, member| !member.is_null());
    members.values_mut().for_each(drop_unset);
}

/// Paths as this API spells them, without the section's name.
pub(crate) fn shorten(error: ControlError) -> ControlError {
    let ControlError::InvalidRequest { details, .. } = error else { return error };
    let short = |problem: FieldProblem| {
        let field = problem.field.strip_prefix(SECTION).and_then(|rest| rest.strip_prefix('.')).map(str::to_owned);
        FieldProblem { field: field.unwrap_or(problem.field), ..problem }
    };
    ControlError::invalid_fields(details.into_iter().map(short).collect())
}

/// Writes the older global keys beside the settings.
async fn repeat(control: &Control) -> Result<(), ControlError> {
    let tree = tree(control);
    let Some(waits) = tree.get("waitForCooldown") else { return Ok(()) };
    let keys = REPEATED.iter().map(|(key, member)| ((*key).to_owned(), waits.get(*member).cloned()));
    control.store().change_settings(&keys.collect(), control.now()).await?;
    Ok(())
}

/// Turns the older forms `profiles` and `defaults` into sections; what the sections say themselves goes before.
pub(crate) fn translate(patch: BTreeMap<String, Value>) -> Result<Map<String, Value>, ControlError> {
    let mut sections: Map<String, Value> = Map::new();
    let mut newer = Map::new();
    for (name, value) in patch {
        match name.as_str() {
            "profiles" => profiles(&value, &mut sections)?,
            "defaults" => defaults(&value, &mut sections)?,
            LEGACY if value.as_object().is_some_and(Map::is_empty) => {}
            _ => {
                newer.insert(name, value);
            }
        }
    }
    merge(&mut sections, newer);
    Ok(sections)
}

fn profiles(value: &Value, sections: &mut Map<String, Value>) -> Result<(), ControlError> {
    for (class, profile) in members("profiles", value)? {
        let path = format!("profiles.{class}");
        if !matches!(class.as_str(), "oauth" | "apikey") {
            return Err(ControlError::invalid(path, "unknown setting"));
        }
        for (name, value) in members(&path, profile)? {
            let (section, member, value) = match name.as_str() {
                "transientCooldown" => ("connectionCooldown", "baseCooldownMs", value.clone()),
                "rateLimitCooldown" if value.as_u64() == Some(0) => {
                    ("connectionCooldown", "useUpstreamRetryHints", Value::Bool(true))
                }
                "rateLimitCooldown" => ("connectionCooldown", "useUpstreamRetryHints", Value::Bool(false)),
                "maxBackoffLevel" => ("connectionCooldown", "maxBackoffSteps", value.clone()),
                "circuitBreakerThreshold" => ("providerBreaker", "failureThreshold", value.clone()),
                "circuitBreakerReset" => ("providerBreaker", "resetTimeoutMs", value.clone()),
                _ => return Err(ControlError::invalid(format!("{path}.{name}"), "unknown setting")),
            };
            set(sections, &[section, class], member, value);
        }
    }
    Ok(())
}

fn defaults(value: &Value, sections: &mut Map<String, Value>) -> Result<(), ControlError> {
    for (name, value) in members("defaults", value)? {
        let member = match name.as_str() {
            "requestsPerMinute" => "requestsPerMinute",
            "minTimeBetweenRequests" => "minTimeBetweenRequestsMs",
            "concurrentRequests" => "concurrentRequests",
            _ => return Err(ControlError::invalid(format!("defaults.{name}"), "unknown setting")),
        };
        set(sections, &["requestQueue"], member, value.clone());
    }
    Ok(())
}

fn members<'a>(path: &str, value: &'a Value) -> Result<&'a Map<String, Value>, ControlError> {
    value.as_object().ok_or_else(|| ControlError::invalid(path, "expected an object"))
}

fn set(sections: &mut Map<String, Value>, path: &[&str], member: &str, value: Value) {
    let leaf = json!({ member: value });
    let nested = path.iter().rev().fold(leaf, |inner, name| json!({ *name: inner }));
    if let Value::Object(nested) = nested {
        merge(sections, nested);
    }
}

/// Lays one tree over another.
pub(crate) fn merge(under: &mut Map<String, Value>, over: Map<String, Value>) {
    for (name, value) in over {
        match (under.get_mut(&name), value) {
            (Some(Value::Object(under)), Value::Object(over)) => merge(under, over),
            (_, value) => {
                under.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(patch: Value) -> Result<Value, ControlError> {
        let patch = patch.as_object().expect("an object").clone().into_iter().collect();
        translate(patch).map(Value::Object)
    }

    #[test]
    fn the_older_forms_become_sections_and_the_newer_ones_go_before() {
        let patch = json!({
            "profiles": { "oauth": { "transientCooldown": 7000, "rateLimitCooldown": 0, "maxBackoffLevel": 3,
                "circuitBreakerThreshold": 9, "circuitBreakerReset": 45_000 } },
            "defaults": { "requestsPerMinute": 10, "minTimeBetweenRequests": 5, "concurrentRequests": 2 },
            "providerBreaker": { "oauth": { "failureThreshold": 11 } },
            "legacy": {},
        });
        let expected = json!({
            "connectionCooldown": { "oauth": { "baseCooldownMs": 7000, "useUpstreamRetryHints": true, "maxBackoffSteps": 3 } },
            "providerBreaker": { "oauth": { "failureThreshold": 11, "resetTimeoutMs": 45_000 } },
            "requestQueue": { "requestsPerMinute": 10, "minTimeBetweenRequestsMs": 5, "concurrentRequests": 2 },
        });
        assert_eq!(translated(patch), Ok(expected));
    }

    #[test]
    fn an_unknown_member_of_an_older_form_is_refused_by_its_path() {
        for (patch, field) in [
            (json!({ "profiles": { "local": {} } }), "profiles.local"),
            (json!({ "profiles": { "oauth": { "cooldown": 1 } } }), "profiles.oauth.cooldown"),
            (json!({ "defaults": { "rpm": 1 } }), "defaults.rpm"),
            (json!({ "defaults": 1 }), "defaults"),
        ] {
            let error = translated(patch).expect_err("a refusal");
            assert_eq!(error.details()[0].field, field);
        }
    }
}
