//! The settings tree, and the table that says what each leaf is. Sections are serialised as they are, so the window
//! renders from the very types the mechanisms read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use specta::Type;
use utoipa::ToSchema;

/// Sections by name, and `sources`: which layer each leaf's value comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct SettingsTree {
    /// By dotted path.
    pub sources: BTreeMap<String, SettingSource>,
    #[serde(flatten)]
    pub sections: BTreeMap<String, Value>,
}

/// Any part of the tree; `null` unsets. Checked by the settings' own bounds, which name what they refuse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(transparent)]
pub struct SettingsPatch(pub BTreeMap<String, Value>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SettingSource {
    Default,
    Environment,
    Stored,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct SettingFields {
    pub fields: Vec<SettingField>,
}

/// One leaf of the settings tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct SettingField {
    /// `gateway.port`.
    pub path: String,
    /// `boolean`, `integer`, `duration`, `text`, `choice`, `list`, …
    pub kind: String,
    /// `ms`, `bytes`, `days`, …
    pub unit: Option<String>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// The allowed words of a choice; empty for other kinds.
    pub choices: Vec<String>,
    pub default: Value,
    /// Environment variable that sets it.
    pub env: Option<String>,
    /// What environment or configuration file say, also where a stored value hides it.
    pub environment: Option<Value>,
    pub value: Value,
    pub source: SettingSource,
    pub help: String,
}
