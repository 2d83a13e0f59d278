//! A combo: one name, many models behind it (gateway specification, 3.1 and 3.2).
//!
//! [`input`] reads what a person wrote, [`validate`] refuses what cannot work, [`document`] carries combos between
//! installations, [`mapping`] leads other names to them, [`expand`] turns the steps into what may be asked now.

pub mod config;
pub mod document;
pub mod expand;
mod input;
pub(crate) mod mapping;
mod strategy;
mod validate;

use std::collections::BTreeMap;

use domain::{ConnectionId, ProviderId, Timestamp};
use serde::{Deserialize, Serialize};

pub use config::{Config, ConfigProblem};
pub use expand::{Asker, Book, Expansion, Nested, Skipped, expand};
pub use mapping::Mapping;
pub use strategy::{Strategy, UnknownStrategy};

/// A combo as its owner wrote it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Combo {
    pub id: String,
    /// What clients send as the model; unique, 1–100 characters without control characters.
    pub name: String,
    pub strategy: Strategy,
    pub models: Vec<Step>,
    /// Overrides of the defaults, as wire names: validated by [`Config`].
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
    /// Put before the request's own system text.
    #[serde(default, rename = "system_message", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keep one target for a conversation while it is healthy.
    #[serde(default, rename = "context_cache_protection")]
    pub context_cache_protection: bool,
    #[serde(default)]
    pub is_hidden: bool,
    #[serde(default = "active")]
    pub is_active: bool,
    #[serde(default)]
    pub order: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composite_tiers: Option<CompositeTiers>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

fn active() -> bool {
    true
}

/// Another order of the steps, for `priority`: the default tier first, then its fallbacks, then the rest as listed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompositeTiers {
    pub default_tier: String,
    pub tiers: BTreeMap<String, Tier>,
}

/// One tier: a step, and the tier to go to after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tier {
    pub step_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_tier: Option<String>,
}

impl CompositeTiers {
    /// The ids of the steps in the order of the chain; a chain that bites its tail ends there.
    pub fn chain(&self) -> Vec<&str> {
        let mut chain = Vec::new();
        let mut next = self.tiers.get(&self.default_tier);
        while let Some(tier) = next.filter(|_| chain.len() < self.tiers.len()) {
            chain.push(tier.step_id.as_str());
            next = tier.fallback_tier.as_ref().and_then(|name| self.tiers.get(name));
        }
        chain
    }
}

/// One line of a combo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Stable over edits.
    pub id: String,
    #[serde(flatten)]
    pub kind: StepKind,
    /// 0–100.
    #[serde(default)]
    pub weight: u32,
    #[serde(default = "active")]
    pub enabled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum StepKind {
    Model {
        /// `provider/model` as its owner wrote it.
        model: String,
        provider_id: ProviderId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connection_id: Option<ConnectionId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        allowed_connection_ids: Vec<ConnectionId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
        #[serde(default)]
        fallback_only_on_quota_exhaustion: bool,
    },
    ComboRef {
        combo_name: String,
    },
    ProviderWildcard {
        provider_id: ProviderId,
        model_pattern: String,
    },
}

impl Combo {
    /// Whether a plan may weigh what a request is about: `auto` does, and so may a combo within.
    pub fn may_weigh_tasks(&self) -> bool {
        let is_combo = |step: &Step| matches!(step.kind, StepKind::ComboRef { .. });
        self.strategy == Strategy::Auto || self.models.iter().any(is_combo)
    }

    /// A combo that stands nowhere: a name and a strategy, without steps.
    pub fn made_up(name: &str, strategy: Strategy) -> Combo {
        Combo {
            id: name.to_owned(),
            name: name.to_owned(),
            strategy,
            models: Vec::new(),
            config: serde_json::Map::new(),
            system_message: None,
            context_cache_protection: false,
            is_hidden: false,
            is_active: true,
            order: 0,
            composite_tiers: None,
            created_at: Timestamp::ZERO,
            updated_at: Timestamp::ZERO,
        }
    }

    /// The names of the combos that this one's switched-on steps lead to.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        self.models.iter().filter(|step| step.enabled).filter_map(|step| match &step.kind {
            StepKind::ComboRef { combo_name } => Some(combo_name.as_str()),
            StepKind::Model { .. } | StepKind::ProviderWildcard { .. } => None,
        })
    }
}

#[cfg(test)]
pub(crate) mod fixtures {
    use super::*;

    /// A combo of steps in shorthand: `@name` is a combo, a star makes a wildcard.
    pub(crate) fn combo(name: &str, strategy: Strategy, steps: &[&str]) -> Combo {
        let steps = steps.iter().enumerate().map(|(index, text)| {
            let mut ids = || format!("{name}{index}");
            let (text, combo) = match text.strip_prefix('@') {
                Some(combo) => (combo, true),
                None => (*text, false),
            };
            Step::from_input(&text.into(), |_| combo, &mut ids).expect("a step")
        });
        Combo {
            id: format!("id-{name}"),
            name: name.to_owned(),
            strategy,
            models: steps.collect(),
            config: serde_json::Map::new(),
            system_message: None,
            context_cache_protection: false,
            is_hidden: false,
            is_active: true,
            order: 0,
            composite_tiers: None,
            created_at: Timestamp::ZERO,
            updated_at: Timestamp::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_auto_and_what_is_within_weigh_tasks() {
        for (strategy, step, weighs) in [
            (Strategy::Auto, "openai/gpt", true),
            (Strategy::Priority, "openai/gpt", false),
            (Strategy::Priority, "openai/*", false),
            (Strategy::Priority, "@other", true),
        ] {
            assert_eq!(fixtures::combo("c", strategy, &[step]).may_weigh_tasks(), weighs, "{strategy:?} {step}");
        }
    }

    #[test]
    fn the_wire_form_is_the_specifications() {
        let mut combo = fixtures::combo("c", Strategy::P2c, &["openai/gpt", "@other", "groq/llama-*"]);
        combo.models[0].weight = 7;
        combo.composite_tiers = Some(CompositeTiers {
            default_tier: "a".to_owned(),
            tiers: [("a".to_owned(), Tier { step_id: "c1".to_owned(), fallback_tier: None })].into(),
        });
        let wire = serde_json::to_value(&combo).expect("json");
        assert_eq!(
            wire,
            json!({
                "id": "id-c", "name": "c", "strategy": "p2c",
                "models": [
                    { "id": "c0", "kind": "model", "model": "openai/gpt", "providerId": "openai",
                      "fallbackOnlyOnQuotaExhaustion": false, "weight": 7, "enabled": true },
                    { "id": "c1", "kind": "combo-ref", "comboName": "other", "weight": 0, "enabled": true },
                    { "id": "c2", "kind": "provider-wildcard", "providerId": "groq", "modelPattern": "llama-*",
                      "weight": 0, "enabled": true },
                ],
                "config": {}, "context_cache_protection": false, "isHidden": false, "isActive": true, "order": 0,
                "compositeTiers": { "defaultTier": "a", "tiers": { "a": { "stepId": "c1" } } },
                "createdAt": 0, "updatedAt": 0,
            })
        );
        assert_eq!(serde_json::from_value::<Combo>(wire).expect("its own form"), combo);
    }

    #[test]
    fn a_tier_chain_ends_where_it_would_repeat() {
        let tier = |step: &str, next: &str| Tier { step_id: step.to_owned(), fallback_tier: Some(next.to_owned()) };
        let tiers = CompositeTiers {
            default_tier: "b".to_owned(),
            tiers: [("a".to_owned(), tier("s1", "b")), ("b".to_owned(), tier("s2", "a"))].into(),
        };
        assert_eq!(tiers.chain(), ["s2", "s1"]);
        assert_eq!(CompositeTiers::default().chain(), [""; 0]);
    }
}
