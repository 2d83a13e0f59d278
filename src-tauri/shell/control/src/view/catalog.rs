//! Providers that can be connected: the built-in catalogue and the custom nodes.

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::ToSchema;

use super::words_of_domain::{AuthType, Dialect, ProviderClass};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct CatalogProviders {
    pub providers: Vec<CatalogProvider>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogProvider {
    pub id: String,
    /// What clients write before the slash in a model's name.
    pub alias: String,
    pub name: String,
    pub class: ProviderClass,
    /// The one it is spoken to in unless a model says otherwise.
    pub dialect: Dialect,
    pub dialects: Vec<Dialect>,
    pub auth_type: AuthType,
    /// Any model name is passed on, also one the catalogue does not know.
    pub passthrough_models: bool,
    pub per_model_quota: bool,
    pub base_url: String,
    /// Page on which a person gets a key.
    pub key_url: Option<String>,
    /// How a key begins, `sk-ant-…`.
    pub key_hint: Option<String>,
    /// Whether it is a custom node.
    pub custom: bool,
    pub models: u32,
}
