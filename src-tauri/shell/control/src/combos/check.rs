//! What only this installation knows about a combo: whether its providers and accounts exist, and what is worth a warning.

use catalog::Provider;
use domain::ConnectionId;
use domain::section::FieldError;
use domain::wire::fault;
use routing::combo::{Combo, Step, StepKind};

use crate::Control;
use crate::view::{ComboWarning, ComboWarningCode};

/// What is made of an account that does not exist here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    Refused,
    /// A document of another installation names its own accounts; see [`warnings`].
    Passed,
}

/// What is wrong with the steps, except those that were so before: a combo whose account is gone can still be changed.
/// Providers are written by their ids from here on.
pub(super) fn steps(control: &Control, combo: &mut Combo, before: Option<&Combo>, unknown: Unknown) -> Vec<FieldError> {
    let known = before.map(|before| before.models.as_slice()).unwrap_or_default();
    let mut errors = Vec::new();
    for (index, step) in combo.models.iter_mut().enumerate() {
        if !known.contains(step)
            && let Err(error) = check(control, step, unknown)
        {
            let field = format!("models[{index}].{}", error.field);
            errors.push(error.at(field));
        }
    }
    errors
}

fn check(control: &Control, step: &mut Step, unknown: Unknown) -> Result<(), FieldError> {
    match &mut step.kind {
        StepKind::ComboRef { .. } => Ok(()),
        StepKind::ProviderWildcard { provider_id, .. } => {
            *provider_id = provider(control, "providerId", provider_id.as_str())?;
            Ok(())
        }
        StepKind::Model { model, provider_id, connection_id, allowed_connection_ids, .. } => {
            let named = model.split_once('/').map_or(model.as_str(), |(name, _)| name);
            let found = provider(control, "model", named)?;
            let stated = provider(control, "providerId", provider_id.as_str())?;
            if stated != found {
                let message = format!("{model} is a model of {found}: leave providerId out, or write {stated}/{model}");
                return Err(FieldError::new("providerId", message));
            }
            *provider_id = found;
            if unknown == Unknown::Passed {
                return Ok(());
            }
            let exists = |id: &ConnectionId| {
                control.connections().get(id).is_some_and(|entry| entry.connection.provider == *provider_id)
            };
            let message = || format!("there is no account of {provider_id} with this id");
            if connection_id.as_ref().is_some_and(|id| !exists(id)) {
                return Err(FieldError::new("connectionId", message()));
            }
            if !allowed_connection_ids.iter().all(exists) {
                return Err(FieldError::new("allowedConnectionIds", message()));
            }
            Ok(())
        }
    }
}

fn provider(control: &Control, field: &str, name: &str) -> Result<domain::ProviderId, FieldError> {
    let catalog = control.catalog();
    match catalog.by_name(&name.to_ascii_lowercase()).or_else(|| catalog.by_name(name)) {
        Some(provider) => Ok(provider.id.clone()),
        None => {
            let message = format!("there is no provider {name}: GET /api/catalog/providers lists them");
            Err(FieldError::new(field, message).coded(fault::NOT_FOUND, &[name]))
        }
    }
}

/// What is worth knowing about a combo, without being a fault.
pub(super) fn warnings(control: &Control, combo: &Combo) -> Vec<ComboWarning> {
    let mut warnings: Vec<ComboWarning> = shadowed(control, &combo.name).into_iter().collect();
    for step in combo.models.iter().filter(|step| step.enabled) {
        for warning in of_step(control, step) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

fn of_step(control: &Control, step: &Step) -> Vec<ComboWarning> {
    let StepKind::Model { model, provider_id, connection_id, allowed_connection_ids, .. } = &step.kind else {
        return Vec::new();
    };
    let model = model.split_once('/').map_or(model.as_str(), |(_, model)| model);
    let warning = |code| ComboWarning { code, model_id: model.to_owned(), provider_id: provider_id.to_string() };
    let catalog = control.catalog();
    let is_listed = catalog.get(provider_id).is_some_and(|provider| listed(control, provider, model).is_some());
    let connections = control.connections();
    let mut bound = connection_id.iter().chain(allowed_connection_ids);
    let mut warnings = Vec::new();
    if !is_listed {
        warnings.push(warning(ComboWarningCode::ModelUnknown));
    }
    if bound.any(|id| connections.get(id).is_none()) {
        warnings.push(warning(ComboWarningCode::ConnectionUnknown));
    }
    warnings
}

/// The model that a name would mean if no combo had it: `provider/model`, or a bare id, of a connected provider first.
fn shadowed(control: &Control, name: &str) -> Option<ComboWarning> {
    let catalog = control.catalog();
    let qualified = name.split_once('/').and_then(|(prefix, model)| {
        let provider = catalog.by_name(&prefix.to_ascii_lowercase())?;
        Some((provider, listed(control, provider, model)?))
    });
    let bare = || {
        let mut listing = catalog.iter().filter_map(|provider| Some((provider, listed(control, provider, name)?)));
        let first = listing.next()?;
        let connected = |provider: &Provider| control.connections().is_connected(&provider.id);
        let connected = std::iter::once(first.clone()).chain(listing).find(|(provider, _)| connected(provider));
        Some(connected.unwrap_or(first))
    };
    let (provider, model_id) = qualified.or_else(bare)?;
    let code = ComboWarningCode::ComboNameShadowsModel;
    Some(ComboWarning { code, model_id, provider_id: provider.id.to_string() })
}

/// The id under which a provider knows a model, where the catalogue or the provider itself lists it.
fn listed(control: &Control, provider: &Provider, name: &str) -> Option<String> {
    let catalogued = provider.model(name).map(|model| model.id.clone());
    catalogued.or_else(|| control.discovered(&provider.id).into_iter().map(|model| model.id).find(|id| id == name))
}
