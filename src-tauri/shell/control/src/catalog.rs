//! Providers that can be connected.

use crate::view::{CatalogProvider, CatalogProviders};
use crate::{Control, ControlError};

/// Built-in providers and custom nodes, in the catalogue's order.
pub async fn catalog_providers(control: &Control) -> Result<CatalogProviders, ControlError> {
    let providers = control.catalog().iter().map(|provider| view(provider)).collect();
    Ok(CatalogProviders { providers })
}

fn view(provider: &::catalog::Provider) -> CatalogProvider {
    let dialects: Vec<_> = provider.dialects.iter().map(|dialect| (*dialect).into()).collect();
    CatalogProvider {
        id: provider.id.to_string(),
        alias: provider.alias.clone(),
        name: provider.name.clone(),
        class: provider.class.into(),
        dialect: primary_dialect(provider).into(),
        dialects,
        auth_type: provider.auth_type.into(),
        passthrough_models: provider.passthrough_models,
        per_model_quota: provider.per_model_quota,
        base_url: provider.base_url.clone(),
        key_url: provider.key_url.clone(),
        key_hint: provider.key_hint.clone(),
        custom: provider.custom,
        models: u32::try_from(provider.models.len()).unwrap_or(u32::MAX),
    }
}

/// The wire format a provider is spoken to in unless a model says otherwise.
pub(crate) fn primary_dialect(provider: &::catalog::Provider) -> domain::Dialect {
    provider.dialects.first().copied().unwrap_or(domain::Dialect::Chat)
}
