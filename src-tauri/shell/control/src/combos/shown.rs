//! Combos as they are shown.

use domain::ConnectionId;
use routing::combo::{Combo, CompositeTiers, Step, StepKind};

use crate::view::{self, ComboStep, ComboTier};

pub(super) fn combo(combo: &Combo) -> view::Combo {
    view::Combo {
        id: combo.id.clone(),
        name: combo.name.clone(),
        strategy: combo.strategy.into(),
        models: combo.models.iter().map(step).collect(),
        config: combo.config.clone().into_iter().collect(),
        system_message: combo.system_message.clone(),
        context_cache_protection: combo.context_cache_protection,
        is_hidden: combo.is_hidden,
        is_active: combo.is_active,
        order: combo.order,
        composite_tiers: combo.composite_tiers.as_ref().map(tiers),
        created_at: combo.created_at.into(),
        updated_at: combo.updated_at.into(),
    }
}

fn step(step: &Step) -> ComboStep {
    let (id, weight, enabled, label) = (step.id.clone(), step.weight, step.enabled, step.label.clone());
    let text = ConnectionId::to_string;
    match &step.kind {
        StepKind::Model {
            model,
            provider_id,
            connection_id,
            allowed_connection_ids,
            prompt,
            tags,
            fallback_only_on_quota_exhaustion,
        } => ComboStep::Model {
            id,
            model: model.clone(),
            provider_id: provider_id.to_string(),
            connection_id: connection_id.as_ref().map(text),
            allowed_connection_ids: allowed_connection_ids.iter().map(text).collect(),
            weight,
            enabled,
            label,
            prompt: prompt.clone(),
            tags: tags.clone(),
            fallback_only_on_quota_exhaustion: *fallback_only_on_quota_exhaustion,
        },
        StepKind::ComboRef { combo_name } => {
            ComboStep::ComboRef { id, combo_name: combo_name.clone(), weight, enabled, label }
        }
        StepKind::ProviderWildcard { provider_id, model_pattern } => ComboStep::ProviderWildcard {
            id,
            provider_id: provider_id.to_string(),
            model_pattern: model_pattern.clone(),
            weight,
            enabled,
            label,
        },
    }
}

fn tiers(tiers: &CompositeTiers) -> view::CompositeTiers {
    let tier = |tier: &routing::combo::Tier| ComboTier {
        step_id: tier.step_id.clone(),
        fallback_tier: tier.fallback_tier.clone(),
    };
    view::CompositeTiers {
        default_tier: tiers.default_tier.clone(),
        tiers: tiers.tiers.iter().map(|(name, value)| (name.clone(), tier(value))).collect(),
    }
}
