//! A custom provider: a base URL that speaks one of the four dialects (gateway specification, 4.2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Dialect, NodeId, ProviderClass, Timestamp};

/// Where the credential travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthCarrier {
    #[default]
    Bearer,
    XApiKey,
    XGoogApiKey,
    ApiKey,
    None,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomNode {
    /// `openai-compatible-<prefix>`, `anthropic-compatible-<prefix>` or `gemini-compatible-<prefix>`.
    pub id: NodeId,
    pub name: String,
    /// What clients write before the slash: `<prefix>/<model>`. Unique, never a built-in alias.
    pub prefix: String,
    pub api_type: Dialect,
    /// With the version segment: `https://host/v1`.
    pub base_url: String,
    pub auth_carrier: AuthCarrier,
    pub extra_headers: BTreeMap<String, String>,
    /// Path of the model list relative to `base_url`; the dialect's own when absent.
    pub models_path: Option<String>,
    pub allow_private_network: bool,
    pub provider_class: ProviderClass,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl CustomNode {
    /// The id of a node: the dialect's family and the prefix.
    pub fn id_for(api_type: Dialect, prefix: &str) -> NodeId {
        let family = match api_type {
            Dialect::Chat | Dialect::Responses => "openai-compatible",
            Dialect::Messages => "anthropic-compatible",
            Dialect::Gemini => "gemini-compatible",
        };
        NodeId::from(format!("{family}-{prefix}"))
    }
}
