//! Models that can be asked for.

use std::collections::BTreeSet;

use catalog::{Model, Provider};
use dialects::models::ListedModel;

use crate::catalog::primary_dialect;
use crate::view::{self, ModelFilter, ModelPrice, ModelSupports, Models};
use crate::{Control, ControlError};

/// The models the catalogue knows and those that providers listed when last asked, by provider.
pub async fn models_list(control: &Control, filter: ModelFilter) -> Result<Models, ControlError> {
    let catalog = control.catalog();
    let connections = control.connections();
    let mut models = Vec::new();
    for provider in catalog.iter() {
        if filter.provider.as_deref().is_some_and(|id| id != provider.id.as_str()) {
            continue;
        }
        let enabled = connections.is_connected(&provider.id);
        let known: BTreeSet<&str> = provider.models.iter().map(|model| model.id.as_str()).collect();
        models.extend(provider.models.iter().map(|model| of_catalogue(provider, model, enabled)));
        let listed = control.discovered(&provider.id);
        let new = listed.iter().filter(|model| !known.contains(model.id.as_str()));
        models.extend(new.map(|model| of_provider(provider, model, enabled)));
    }
    Ok(Models { models })
}

fn of_catalogue(provider: &Provider, model: &Model, enabled: bool) -> view::Model {
    let supports = &model.supports;
    view::Model {
        provider: provider.id.to_string(),
        provider_name: provider.name.clone(),
        id: model.id.clone(),
        name: model.name.clone(),
        qualified: format!("{}/{}", provider.alias, model.id),
        dialect: model.dialect.unwrap_or_else(|| primary_dialect(provider)).into(),
        context: model.context.or(Some(provider.default_context)),
        max_output: model.max_output,
        supports: ModelSupports {
            tools: supports.tools,
            vision: supports.vision,
            reasoning: supports.reasoning,
            structured_output: supports.structured_output,
            audio: supports.audio,
        },
        efforts: model.efforts.iter().map(ToString::to_string).collect(),
        price: model.price.as_ref().map(|price| ModelPrice {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write: price.cache_write,
        }),
        enabled,
    }
}

fn of_provider(provider: &Provider, model: &ListedModel, enabled: bool) -> view::Model {
    view::Model {
        provider: provider.id.to_string(),
        provider_name: provider.name.clone(),
        id: model.id.clone(),
        name: model.name.clone().unwrap_or_else(|| model.id.clone()),
        qualified: format!("{}/{}", provider.alias, model.id),
        dialect: primary_dialect(provider).into(),
        context: model.context,
        max_output: model.max_output,
        supports: ModelSupports::default(),
        efforts: Vec::new(),
        price: None,
        enabled,
    }
}
