//! Feature flags.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use specta::Type;
use utoipa::ToSchema;

use super::SettingSource;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct FeatureFlags {
    pub flags: Vec<FeatureFlag>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct FeatureFlagReply {
    pub flag: FeatureFlag,
}

/// A setting under the name of its environment variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeatureFlag {
    pub name: String,
    pub group: FlagGroup,
    /// Path of the setting that it is.
    pub setting: String,
    /// `boolean` or `choice`.
    pub kind: String,
    /// The allowed words of a choice.
    pub choices: Vec<String>,
    #[serde(default)]
    pub value: Value,
    pub default: Value,
    pub source: SettingSource,
    /// What environment or configuration file say, also where a stored value hides it.
    pub environment: Option<Value>,
    /// A change waits for the next start.
    pub restart_needed: bool,
    pub help: String,
}

/// What a flag is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlagGroup {
    Security,
    Routing,
    Streaming,
    Catalogue,
}

impl From<settings::flags::Group> for FlagGroup {
    fn from(group: settings::flags::Group) -> Self {
        match group {
            settings::flags::Group::Security => FlagGroup::Security,
            settings::flags::Group::Routing => FlagGroup::Routing,
            settings::flags::Group::Streaming => FlagGroup::Streaming,
            settings::flags::Group::Catalogue => FlagGroup::Catalogue,
        }
    }
}

/// What a flag is set to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureFlagValue {
    #[serde(default)]
    pub value: Value,
}
