//! `providerSpecificData` of a connection (gateway specification, 4.4): some of the keys below are
//! interpreted, the others are kept for what will read them, and no other key is accepted.

use std::collections::BTreeMap;

use domain::connection::{Connection, ProviderSpecific};
use domain::section::FieldType;
use serde_json::Value;
use settings::translation::CacheControlMode;

use crate::{Control, ControlError, check};

const FIELD: &str = "providerSpecificData";
const BASE_URL: &str = "baseUrl";
const ALLOW_PRIVATE_NETWORK: &str = "allowPrivateNetwork";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Switch,
    Text,
    CacheMode,
    /// A whole number from 0 to 100.
    Share,
}

/// Every key that may stand there.
const KEYS: &[(&str, Kind)] = &[
    (BASE_URL, Kind::Text),
    (ALLOW_PRIVATE_NETWORK, Kind::Switch),
    ("disableCooling", Kind::Switch),
    ("passthroughModels", Kind::Switch),
    ("lowPriorityMode", Kind::Switch),
    ("autoLimitReset", Kind::Switch),
    ("organizationUUID", Kind::Text),
    ("accountTier", Kind::Text),
    ("projectId", Kind::Text),
    ("region", Kind::Text),
    ("apiVersion", Kind::Text),
    ("deployment", Kind::Text),
    ("copilotApiHost", Kind::Text),
    ("chatgptAccountId", Kind::Text),
    ("profileArn", Kind::Text),
    ("cacheControlMode", Kind::CacheMode),
    ("weight", Kind::Share),
];

/// The object as it is shown.
pub(crate) fn view(connection: &Connection) -> BTreeMap<String, Value> {
    let mut shown: BTreeMap<String, Value> =
        connection.extra.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    if let Some(url) = &connection.specific.base_url {
        shown.insert(BASE_URL.to_owned(), Value::from(url.as_str()));
    }
    shown.insert(ALLOW_PRIVATE_NETWORK.to_owned(), Value::from(connection.specific.allow_private_network));
    shown
}

/// Merges a change key by key; `null` unsets a key. Nothing is merged when one key is wrong.
pub(crate) fn merge(
    control: &Control,
    connection: &mut Connection,
    change: &BTreeMap<String, Value>,
) -> Result<(), ControlError> {
    let mut specific = connection.specific.clone();
    let mut extra = connection.extra.clone();
    for (key, value) in change {
        check_value(key, value)?;
        match key.as_str() {
            BASE_URL => specific.base_url = value.as_str().map(|url| url.trim().trim_end_matches('/').to_owned()),
            ALLOW_PRIVATE_NETWORK => specific.allow_private_network = value.as_bool().unwrap_or(false),
            _ if value.is_null() => {
                extra.remove(key);
            }
            _ => {
                extra.insert(key.clone(), value.clone());
            }
        }
    }
    check_base_url(control, &specific)?;
    connection.specific = specific;
    connection.extra = extra;
    Ok(())
}

fn check_value(key: &str, value: &Value) -> Result<(), ControlError> {
    let field = format!("{FIELD}.{key}");
    let Some((_, kind)) = KEYS.iter().find(|(known, _)| *known == key) else {
        return Err(ControlError::invalid(field, "unknown key"));
    };
    match (kind, value) {
        (_, Value::Null) | (Kind::Switch, Value::Bool(_)) => Ok(()),
        (Kind::Text, Value::String(text)) => check::text(&field, text).map(|_| ()),
        (Kind::Share, value) if value.as_u64().is_some_and(|share| share <= 100) => Ok(()),
        (Kind::CacheMode, Value::String(word)) if CacheControlMode::from_text(word).is_some() => Ok(()),
        (Kind::CacheMode, _) => Err(ControlError::invalid(field, "must be auto, off or passthrough")),
        (Kind::Share, _) => Err(ControlError::invalid(field, "must be a whole number from 0 to 100")),
        (Kind::Switch, _) => Err(ControlError::invalid(field, "must be true or false")),
        (Kind::Text, _) => Err(ControlError::invalid(field, "must be text")),
    }
}

fn check_base_url(control: &Control, specific: &ProviderSpecific) -> Result<(), ControlError> {
    let Some(url) = &specific.base_url else { return Ok(()) };
    let field = format!("{FIELD}.{BASE_URL}");
    check::base_url(control, &field, url, specific.allow_private_network).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_keys_of_the_right_kind_are_accepted() {
        for (key, value, accepted) in [
            ("baseUrl", Value::from("https://proxy.example/v1"), true),
            ("baseUrl", Value::Null, true),
            ("baseUrl", Value::from(7), false),
            ("disableCooling", Value::from(true), true),
            ("disableCooling", Value::from("yes"), false),
            ("region", Value::from(""), false),
            ("cacheControlMode", Value::from("off"), true),
            ("cacheControlMode", Value::from("sometimes"), false),
            ("weight", Value::from(100), true),
            ("weight", Value::from(101), false),
            ("weight", Value::from(0.5), false),
            ("apiKey", Value::from("sk-in-the-wrong-place"), false),
        ] {
            assert_eq!(check_value(key, &value).is_ok(), accepted, "{key}: {value}");
        }
    }
}
