//! Combos among the models that clients are shown (gateway specification, 1.5).

use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::Provider;
use dialects::models::ModelEntry;
use domain::ProviderId;
use domain::client_key::ClientKey;
use domain::model_name::glob_matches;
use routing::combo::{Combo, StepKind};

use crate::combos::Combos;
use crate::gateway::Gateway;

const OWNER: &str = "omniroute";

/// The combos that are switched on and not hidden, of which the key may use the name and somebody who serves. Their window
/// is the smallest known one of their models, since any of them may have to serve.
pub(crate) fn entries(gateway: &Gateway, key: Option<&ClientKey>) -> Vec<ModelEntry> {
    let combos = gateway.combos();
    let entry = |combo: &Arc<Combo>| {
        let members = Members::of(gateway, &combos, combo);
        let usable =
            key.is_none_or(|key| key.allows_combo(&combo.name) && members.can_serve(gateway, &combo.name, key));
        usable.then(|| ModelEntry {
            id: combo.name.clone(),
            display_name: combo.name.clone(),
            owned_by: OWNER.to_owned(),
            context: members.smallest_context,
            ..ModelEntry::default()
        })
    };
    combos.iter().filter(|combo| combo.is_active && !combo.is_hidden).filter_map(entry).collect()
}

/// The models that a combo leads to, by way of others included.
#[derive(Default)]
struct Members {
    /// Provider and model.
    models: BTreeSet<(ProviderId, String)>,
    smallest_context: Option<u64>,
}

impl Members {
    fn of(gateway: &Gateway, combos: &Combos, combo: &Combo) -> Members {
        let mut members = Members::default();
        members.gather(gateway, combos, combo, &mut BTreeSet::new());
        members
    }

    /// Whether one of the models is open to the key, which asks for it by the combo's name, on an account it may use.
    fn can_serve(&self, gateway: &Gateway, combo: &str, key: &ClientKey) -> bool {
        let connections = gateway.connections();
        self.models.iter().any(|(provider, model)| {
            key.allows_model(&[combo, &format!("{provider}/{model}")])
                && connections.of_provider(provider).any(|entry| entry.may_serve(model, Some(key)))
        })
    }

    /// `visited` holds the names of the combos that were looked at.
    fn gather(&mut self, gateway: &Gateway, combos: &Combos, combo: &Combo, visited: &mut BTreeSet<String>) {
        if !combo.is_active || !visited.insert(combo.name.clone()) {
            return;
        }
        let catalog = gateway.catalog();
        for step in combo.models.iter().filter(|step| step.enabled) {
            match &step.kind {
                StepKind::Model { model, .. } => {
                    let known = model.split_once('/').and_then(|(name, id)| Some((catalog.by_name(name)?, id)));
                    if let Some((provider, id)) = known {
                        self.add(gateway, provider, id);
                    }
                }
                StepKind::ProviderWildcard { provider_id, model_pattern } => {
                    if let Some(provider) = catalog.get(provider_id) {
                        self.add_matching(gateway, provider, model_pattern);
                    }
                }
                StepKind::ComboRef { combo_name } => {
                    if let Some(child) = combos.named(combo_name) {
                        self.gather(gateway, combos, child, visited);
                    }
                }
            }
        }
    }

    /// One model. Its window is what the list of models says of it: the provider's own word, the catalogue's, the usual one
    /// of the provider. Of a model that nobody lists it is not known.
    fn add(&mut self, gateway: &Gateway, provider: &Provider, id: &str) {
        let catalogued = provider.model(id);
        let id = catalogued.map_or(id, |model| model.id.as_str());
        let discovered = gateway.discovered(&provider.id).into_iter().find(|model| model.id == id);
        let is_listed = catalogued.is_some() || discovered.is_some();
        let stated = discovered.and_then(|model| model.context).or_else(|| catalogued?.context);
        let context = stated.or(is_listed.then_some(provider.default_context));
        self.smallest_context = [self.smallest_context, context].into_iter().flatten().min();
        self.models.insert((provider.id.clone(), id.to_owned()));
    }

    fn add_matching(&mut self, gateway: &Gateway, provider: &Provider, pattern: &str) {
        let discovered = gateway.discovered(&provider.id);
        let catalogued = provider.models.iter().map(|model| &model.id);
        let ids: BTreeSet<&String> = catalogued.chain(discovered.iter().map(|model| &model.id)).collect();
        for id in ids.into_iter().filter(|id| glob_matches(pattern, id)) {
            self.add(gateway, provider, id);
        }
    }
}
