//! A provider: where it listens, what it speaks, how it takes a credential.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::connection::AuthType;
use domain::node::{AuthCarrier, CustomNode};
use domain::{Dialect, Millis, Nature, ProviderClass, ProviderId, ProviderLimits};
use resilience::failure::ProviderRules;
use resilience::usage_report::UsageReport;

use crate::Model;
use crate::rules::QuotaFamily;

/// Context window of a model that nobody stated one for, in tokens. A missing or zero window switches off automatic
/// compaction in some agents (gateway specification, 1.5).
pub const DEFAULT_CONTEXT: u64 = 128_000;

/// An entry of the catalogue (gateway specification, 4.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    pub id: ProviderId,
    /// Short name before the slash of a model name; the prefix of a custom node. May equal the id.
    pub alias: String,
    pub name: String,
    /// Decides the profile of breaker and cooldown.
    pub class: ProviderClass,
    /// `None` means that no credential is *needed*; one that is stored is still sent unless the carrier is `none`.
    pub auth_type: AuthType,
    /// What the host has endpoints for, the primary one first; never empty.
    pub dialects: Vec<Dialect>,
    /// Up to and with the version segment, without a slash at the end: `https://api.openai.com/v1`.
    pub base_url: String,
    pub auth_carrier: AuthCarrier,
    /// Sent with every request. They identify this program where a host asks for that, never another one.
    pub extra_headers: BTreeMap<String, String>,
    /// Query of every request, without the question mark: `beta=true`.
    pub url_query: Option<String>,
    /// Path of the model list relative to `base_url`; the dialect's own when absent.
    pub models_path: Option<String>,
    /// The list of models is open by nature.
    pub passthrough_models: bool,
    /// 404 and 429 speak of one model, not of the account.
    pub per_model_quota: bool,
    /// Tokens, for models that state no window.
    pub default_context: u64,
    /// How long an answer may take to begin, where the host needs more than the setting.
    pub start_timeout: Option<Millis>,
    /// What all its accounts have to keep to.
    pub limits: ProviderLimits,
    /// Where it says what is left of an account, and in which form.
    pub usage_report: Option<UsageReport>,
    pub models: Vec<Model>,
    pub quirks: BTreeSet<Quirk>,
    /// Names of the `anthropic-beta` header that are passed on; all of them when absent.
    pub beta_allow_list: Option<Vec<String>>,
    /// Has an embeddings endpoint.
    pub embeddings: bool,
    /// Counts tokens itself; otherwise they are estimated.
    pub count_tokens: bool,
    /// Page where a person creates a key.
    pub key_url: Option<String>,
    /// How its keys begin, for recognition: `sk-ant-…`.
    pub key_hint: Option<String>,
    /// Providers of one bucket count their quota per outgoing address, not per account.
    pub egress_bucket: Option<String>,
    /// Models that share one quota.
    pub quota_families: Vec<QuotaFamily>,
    /// Beginnings of model ids by the way their thinking is asked for.
    pub thinking: BTreeMap<Thinking, Vec<String>>,
    /// What is known about its failures.
    pub rules: Arc<ProviderRules>,
    /// Made by the user.
    pub custom: bool,
    /// May be on a loopback or private address.
    pub allow_private_network: bool,
}

/// How a model is told how much to think (gateway specification, 2.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// By tokens.
    #[default]
    Budget,
    /// It decides itself, with an effort as a hint; a budget is refused (newest Anthropic models).
    Adaptive,
    /// By a level (Gemini 3).
    Level,
    /// Not at all: it refuses to be told.
    Refused,
}

/// How a host departs from the dialect it speaks (gateway specification, 2.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quirk {
    /// Refuses `stream_options`.
    NoStreamOptions,
    /// Wants `max_completion_tokens` instead of `max_tokens`.
    MaxCompletionTokens,
    /// Refuses the system role.
    NoSystemRole,
    /// Takes message content as a string only.
    StringContentOnly,
    /// Wants earlier reasoning back on turns that called tools.
    NeedsReasoningReplay,
    /// Writes reasoning into the text, between `<think>` and `</think>`.
    InlineThink,
    /// Refuses `reasoning_effort`.
    NoReasoningEffort,
    /// Tool call ids are exactly nine letters or digits.
    #[serde(rename = "tool_ids_9_alnum")]
    ToolIds9Alnum,
    /// Refuses `parallel_tool_calls`.
    NoParallelFlag,
    /// Takes `top_k` in Chat, which OpenAI does not.
    TakesTopK,
    /// Honours `cache_control` in Chat content parts for Claude models.
    ClaudeCacheMarks,
    /// Wants `?beta=true` on the Messages endpoint.
    AnthropicBetaQuery,
}

impl Provider {
    /// A custom node as a provider. It lists no models and is spared per model, because nobody knows what stands behind
    /// it; beta names are kept back, because hosts refuse those they do not know.
    pub fn from_node(node: &CustomNode) -> Provider {
        let keyless = node.auth_carrier == AuthCarrier::None || node.provider_class == ProviderClass::Local;
        Provider {
            id: ProviderId::from(&node.id),
            alias: node.prefix.clone(),
            name: node.name.clone(),
            class: node.provider_class,
            auth_type: if keyless { AuthType::None } else { AuthType::Apikey },
            dialects: vec![node.api_type],
            base_url: node.base_url.trim_end_matches('/').to_owned(),
            auth_carrier: node.auth_carrier,
            extra_headers: node.extra_headers.clone(),
            url_query: None,
            models_path: node.models_path.clone(),
            passthrough_models: true,
            per_model_quota: true,
            default_context: DEFAULT_CONTEXT,
            start_timeout: None,
            limits: ProviderLimits::default(),
            usage_report: None,
            models: Vec::new(),
            quirks: BTreeSet::new(),
            beta_allow_list: Some(Vec::new()),
            embeddings: matches!(node.api_type, Dialect::Chat | Dialect::Gemini),
            count_tokens: node.api_type == Dialect::Gemini,
            key_url: None,
            key_hint: None,
            egress_bucket: None,
            quota_families: Vec::new(),
            thinking: BTreeMap::new(),
            rules: Arc::new(ProviderRules::default()),
            custom: true,
            allow_private_network: node.allow_private_network,
        }
    }

    /// The first dialect: the one to use when the client's own is not among them.
    pub fn primary_dialect(&self) -> Dialect {
        self.dialects.first().copied().unwrap_or(Dialect::Chat)
    }

    /// The model of that id or alias, where the entry lists it.
    pub fn model(&self, name: &str) -> Option<&Model> {
        self.models
            .iter()
            .find(|model| model.id == name)
            .or_else(|| self.models.iter().find(|model| model.is_named(name)))
    }

    /// How health works for one of its models on one connection. `passthrough_models` and `disable_cooling` are the
    /// connection's own words (`providerSpecificData`); the first overrides, either way, whether quotas are per model.
    pub fn nature(&self, model: &str, passthrough_models: Option<bool>, disable_cooling: bool) -> Nature {
        let family = self
            .quota_families
            .iter()
            .filter_map(|family| family.matches(model).map(|length| (length, &family.name)))
            .max_by_key(|(length, _)| *length);
        Nature {
            class: self.class,
            per_model_quota: passthrough_models.unwrap_or(self.per_model_quota),
            quota_family: family.map(|(_, name)| name.clone()),
            disable_cooling,
            egress_bucket: self.egress_bucket.clone(),
        }
    }

    /// How that model is told how much to think: the longest beginning that fits its id decides.
    pub fn thinking(&self, model: &str) -> Thinking {
        let beginnings = self.thinking.iter().flat_map(|(form, names)| names.iter().map(move |name| (name, *form)));
        let fitting = beginnings.filter(|(name, _)| model.starts_with(name.as_str()));
        fitting.max_by_key(|(name, _)| name.len()).map(|(_, form)| form).unwrap_or_default()
    }

    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }
}
