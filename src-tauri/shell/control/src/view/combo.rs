//! Combos and the patterns that lead to them (gateway specification, 3.1 and 6.1).
//!
//! What a person writes is read by the core, which names everything that is wrong with it at once; [`ComboDraft`] and
//! [`ComboChange`] therefore carry the members as they came, and [`ComboFields`] and [`ComboChangeFields`] say what they
//! may be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::Instant;
use super::words_of_domain::Strategy;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct Combos {
    pub combos: Vec<Combo>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct ComboReply {
    pub combo: Combo,
    pub warnings: Vec<ComboWarning>,
}

/// One name, many models behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Combo {
    pub id: String,
    /// What clients send as the model.
    pub name: String,
    pub strategy: Strategy,
    pub models: Vec<ComboStep>,
    /// Overrides of `comboDefaults` in the settings; what is not said is theirs.
    pub config: BTreeMap<String, Value>,
    /// Put before the request's own system text.
    #[serde(rename = "system_message")]
    pub system_message: Option<String>,
    /// Keep one target for a conversation while it is healthy.
    #[serde(rename = "context_cache_protection")]
    pub context_cache_protection: bool,
    /// Works, but is not listed.
    pub is_hidden: bool,
    pub is_active: bool,
    pub order: u32,
    pub composite_tiers: Option<CompositeTiers>,
    pub created_at: Instant,
    pub updated_at: Instant,
}

/// One line of a combo. `weight` is 0–100.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(tag = "kind")]
pub enum ComboStep {
    #[serde(rename = "model", rename_all = "camelCase")]
    Model {
        id: String,
        /// `provider/model`.
        model: String,
        provider_id: String,
        /// The one account that may serve it.
        connection_id: Option<String>,
        /// The accounts that may serve it; empty, all.
        allowed_connection_ids: Vec<String>,
        weight: u32,
        enabled: bool,
        label: Option<String>,
        /// `fusion`, `pipeline`: what this step is told.
        prompt: Option<String>,
        tags: Vec<String>,
        fallback_only_on_quota_exhaustion: bool,
    },
    /// The steps of another combo, or its choice.
    #[serde(rename = "combo-ref", rename_all = "camelCase")]
    ComboRef { id: String, combo_name: String, weight: u32, enabled: bool, label: Option<String> },
    /// Every enabled model of a provider whose id matches.
    #[serde(rename = "provider-wildcard", rename_all = "camelCase")]
    ProviderWildcard {
        id: String,
        provider_id: String,
        /// `*` stands for any run of characters.
        model_pattern: String,
        weight: u32,
        enabled: bool,
        label: Option<String>,
    },
}

/// Another order of the steps, for `priority`: the default tier first, then its fallbacks, then the rest as listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompositeTiers {
    pub default_tier: String,
    pub tiers: BTreeMap<String, ComboTier>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComboTier {
    pub step_id: String,
    #[serde(default)]
    #[specta(optional)]
    pub fallback_tier: Option<String>,
}

/// Worth knowing, and no reason to refuse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComboWarning {
    pub code: ComboWarningCode,
    pub model_id: String,
    pub provider_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ComboWarningCode {
    /// The combo is served where this model was asked for by the same name.
    ComboNameShadowsModel,
    /// The provider does not list this model; it is sent as it is (specification's decision 38).
    ModelUnknown,
    /// This model's step is bound to an account that does not exist here.
    ConnectionUnknown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ComboFilter {
    /// Whether hidden combos are listed too.
    #[specta(optional)]
    pub include_hidden: Option<bool>,
}

/// A new combo, see [`ComboFields`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(transparent)]
#[schema(value_type = ComboFields)]
pub struct ComboDraft(#[specta(type = ComboFields)] pub Map<String, Value>);

/// What is different from now on, see [`ComboChangeFields`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(transparent)]
#[schema(value_type = ComboChangeFields)]
pub struct ComboChange(#[specta(type = ComboChangeFields)] pub Map<String, Value>);

/// The members of a [`ComboDraft`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComboFields {
    pub name: String,
    /// `priority` when absent.
    #[specta(optional)]
    pub strategy: Option<Strategy>,
    pub models: Vec<ComboStepInput>,
    #[specta(optional)]
    pub config: Option<BTreeMap<String, Value>>,
    #[serde(rename = "system_message")]
    #[specta(optional)]
    pub system_message: Option<String>,
    #[serde(rename = "context_cache_protection")]
    #[specta(optional)]
    pub context_cache_protection: Option<bool>,
    #[specta(optional)]
    pub is_hidden: Option<bool>,
    #[specta(optional)]
    pub is_active: Option<bool>,
    #[specta(optional)]
    pub composite_tiers: Option<CompositeTiers>,
}

/// The members of a [`ComboChange`]: absent ones stay, `null` unsets; `config` is merged, steps are replaced whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComboChangeFields {
    /// Combos and aliases that lead to the old name lead to the new one.
    #[specta(optional)]
    pub name: Option<String>,
    #[specta(optional)]
    pub strategy: Option<Strategy>,
    #[specta(optional)]
    pub models: Option<Vec<ComboStepInput>>,
    #[specta(optional)]
    pub config: Option<BTreeMap<String, Value>>,
    #[serde(rename = "system_message")]
    #[specta(optional)]
    pub system_message: Option<String>,
    #[serde(rename = "context_cache_protection")]
    #[specta(optional)]
    pub context_cache_protection: Option<bool>,
    #[specta(optional)]
    pub is_hidden: Option<bool>,
    #[specta(optional)]
    pub is_active: Option<bool>,
    #[specta(optional)]
    pub composite_tiers: Option<CompositeTiers>,
    /// As it was read: the change is refused when the combo has changed since.
    #[specta(optional)]
    pub updated_at: Option<Instant>,
}

/// A step, or shorthand for one: the name of a combo, `provider/pattern*`, `provider/model`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(untagged)]
pub enum ComboStepInput {
    Shorthand(String),
    Step(Box<ComboStepFields>),
}

/// A step in full. `kind` may be left out where the other members show it; without `id` it gets a new one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComboStepFields {
    #[specta(optional)]
    pub id: Option<String>,
    /// `model`, `combo-ref` or `provider-wildcard`.
    #[specta(optional)]
    pub kind: Option<String>,
    #[specta(optional)]
    pub model: Option<String>,
    #[specta(optional)]
    pub provider_id: Option<String>,
    #[specta(optional)]
    pub connection_id: Option<String>,
    #[specta(optional)]
    pub allowed_connection_ids: Option<Vec<String>>,
    #[specta(optional)]
    pub combo_name: Option<String>,
    #[specta(optional)]
    pub model_pattern: Option<String>,
    #[specta(optional)]
    pub weight: Option<u32>,
    #[specta(optional)]
    pub enabled: Option<bool>,
    #[specta(optional)]
    pub label: Option<String>,
    #[specta(optional)]
    pub prompt: Option<String>,
    #[specta(optional)]
    pub tags: Option<Vec<String>>,
    #[specta(optional)]
    pub fallback_only_on_quota_exhaustion: Option<bool>,
}

/// Every combo once, in the new order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ComboOrder {
    pub ids: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ComboCopy {
    /// Name of the copy; one made from the combo's when absent.
    #[specta(optional)]
    pub name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ComboSelection {
    /// Only this combo and those it leads to; all when absent.
    #[specta(optional)]
    pub id: Option<String>,
}

/// Combos as one installation hands them to another: `{"version": 2, "combos": […]}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct ComboDocument {
    pub version: u32,
    pub combos: Vec<Value>,
}

/// Combos to take over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ComboImport {
    /// A [`ComboDocument`]; a list of combos and a single combo are read too.
    pub document: Value,
    #[serde(default)]
    #[specta(optional)]
    pub taken: ComboNameTaken,
}

/// What an import does with a name that is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ComboNameTaken {
    /// It is refused and says which.
    #[default]
    Refuse,
    /// The combo of that name becomes the imported one and keeps its id and place.
    Replace,
}

/// What an import brought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct CombosImported {
    pub combos: Vec<Combo>,
    pub warnings: Vec<ComboWarning>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct ComboMappings {
    /// In the order in which they are asked.
    pub mappings: Vec<ComboMapping>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct ComboMappingReply {
    pub mapping: ComboMapping,
}

/// Model names that match the pattern mean the combo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComboMapping {
    pub id: String,
    /// `*` stands for any run of characters.
    pub pattern: String,
    pub combo_id: String,
    /// The highest is asked first; of equals, the oldest.
    pub priority: u32,
    pub enabled: bool,
    pub created_at: Instant,
    pub updated_at: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ComboMappingDraft {
    pub pattern: String,
    pub combo_id: String,
    /// 0 when absent.
    #[serde(default)]
    #[specta(optional)]
    pub priority: Option<u32>,
    /// True when absent.
    #[serde(default)]
    #[specta(optional)]
    pub enabled: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ComboMappingChange {
    #[specta(optional)]
    pub pattern: Option<String>,
    #[specta(optional)]
    pub combo_id: Option<String>,
    #[specta(optional)]
    pub priority: Option<u32>,
    #[specta(optional)]
    pub enabled: Option<bool>,
    /// As it was read: the change is refused when the mapping has changed since.
    #[specta(optional)]
    pub updated_at: Option<Instant>,
}
