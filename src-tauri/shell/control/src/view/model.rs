//! Models that can be asked for, and the user's own names for them.

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::Instant;
use super::words_of_domain::Dialect;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct Models {
    pub models: Vec<Model>,
}

/// One model of one provider, as the catalogue knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    pub provider: String,
    pub provider_name: String,
    pub id: String,
    pub name: String,
    /// What an agent writes: `provider alias/model`.
    pub qualified: String,
    pub dialect: Dialect,
    /// Tokens.
    #[specta(type = Option<u32>)]
    pub context: Option<u64>,
    /// Tokens.
    #[specta(type = Option<u32>)]
    pub max_output: Option<u64>,
    pub supports: ModelSupports,
    pub efforts: Vec<String>,
    pub price: Option<ModelPrice>,
    /// A connection that is switched on offers it.
    pub enabled: bool,
}

/// `null` where the catalogue does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelSupports {
    pub tools: Option<bool>,
    pub vision: Option<bool>,
    pub reasoning: Option<bool>,
    pub structured_output: Option<bool>,
    pub audio: Option<bool>,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrice {
    #[specta(type = u32)]
    pub input: f64,
    #[specta(type = u32)]
    pub output: f64,
    #[specta(type = u32)]
    pub cache_read: f64,
    #[specta(type = u32)]
    pub cache_write: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ModelFilter {
    /// Provider id.
    #[specta(optional)]
    pub provider: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct Aliases {
    pub aliases: Vec<Alias>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct AliasReply {
    pub alias: Alias,
}

/// A user's own name for a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Alias {
    pub id: String,
    pub alias: String,
    /// `provider/model`, or the name of a combo.
    pub target: String,
    pub created_at: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AliasDraft {
    pub alias: String,
    pub target: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AliasChange {
    #[specta(optional)]
    pub alias: Option<String>,
    #[specta(optional)]
    pub target: Option<String>,
}
