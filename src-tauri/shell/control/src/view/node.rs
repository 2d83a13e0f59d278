//! Custom providers: a base URL that speaks one of the four dialects (gateway specification, 4.2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::ToSchema;

use super::words::present;
use super::words_of_domain::{AuthCarrier, Dialect, ProviderClass};
use super::{Instant, ProbeProblem, Secret};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct Nodes {
    pub nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct NodeReply {
    pub node: Node,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Also the provider id of its connections.
    pub id: String,
    pub name: String,
    /// What clients write before the slash.
    pub prefix: String,
    pub api_type: Dialect,
    /// `openai-compatible`, `anthropic-compatible` or `gemini-compatible`.
    #[serde(rename = "type")]
    pub family: String,
    /// With the version segment.
    pub base_url: String,
    pub auth_carrier: AuthCarrier,
    pub extra_headers: BTreeMap<String, String>,
    pub models_path: Option<String>,
    pub allow_private_network: bool,
    pub provider_class: ProviderClass,
    pub created_at: Instant,
    pub updated_at: Instant,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeDraft {
    pub name: String,
    /// Lower-case letters, digits and hyphens; unique, and no built-in provider's id or alias.
    pub prefix: String,
    pub api_type: Dialect,
    /// Must fit `apiType` when given.
    #[serde(rename = "type")]
    #[specta(optional)]
    pub family: Option<String>,
    /// With the version segment: `https://host/v1`.
    pub base_url: String,
    /// The dialect's own when absent.
    #[specta(optional)]
    pub auth_carrier: Option<AuthCarrier>,
    #[serde(default)]
    #[specta(optional)]
    pub extra_headers: BTreeMap<String, String>,
    /// Path of the model list relative to the base URL; the dialect's own when absent.
    #[specta(optional)]
    pub models_path: Option<String>,
    #[serde(default)]
    #[specta(optional)]
    pub allow_private_network: bool,
    /// `local` when the address is loopback or private, else `apikey`, when absent.
    #[specta(optional)]
    pub provider_class: Option<ProviderClass>,
}

/// A change to a node: absent members stay, `null` unsets, `extraHeaders` is replaced whole. Prefix and dialect make the
/// node's id, so they can change only while no connection uses it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NodeChange {
    /// Refuse the change (409) unless this is still the record's `updatedAt`.
    #[specta(optional)]
    pub updated_at: Option<Instant>,
    #[specta(optional)]
    pub name: Option<String>,
    #[specta(optional)]
    pub base_url: Option<String>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<AuthCarrier>)]
    #[schema(value_type = Option<AuthCarrier>)]
    pub auth_carrier: Option<Option<AuthCarrier>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<BTreeMap<String, String>>)]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub extra_headers: Option<Option<BTreeMap<String, String>>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<String>)]
    #[schema(value_type = Option<String>)]
    pub models_path: Option<Option<String>>,
    #[specta(optional)]
    pub allow_private_network: Option<bool>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<ProviderClass>)]
    #[schema(value_type = Option<ProviderClass>)]
    pub provider_class: Option<Option<ProviderClass>>,
}

#[derive(Clone, Debug, Default, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeTest {
    #[specta(optional)]
    pub api_key: Option<Secret>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeTestReply {
    pub ok: bool,
    pub status: Option<u16>,
    #[specta(type = u32)]
    pub latency_ms: u64,
    /// How many models it lists.
    pub models: Option<u32>,
    pub error: Option<ProbeProblem>,
}
