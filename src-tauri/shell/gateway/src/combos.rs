//! Combos and the patterns that lead to them: an immutable snapshot, rebuilt when one of them changes. A request takes it
//! at its start and keeps it.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ProviderId;
use domain::section::Section;
use routing::ComboNames;
use routing::combo::{Combo, Config, Mapping, StepKind};
use serde_json::{Map, Value};
use settings::Settings;

/// Every combo, in its owner's order.
#[derive(Debug, Default)]
pub struct Combos {
    ordered: Vec<Arc<Combo>>,
    by_name: BTreeMap<String, Arc<Combo>>,
    by_id: BTreeMap<String, Arc<Combo>>,
    mappings: Vec<Mapping>,
    names: ComboNames,
}

impl Combos {
    /// `combos` in their order, `mappings` in any.
    pub(crate) fn new(combos: Vec<Combo>, mut mappings: Vec<Mapping>) -> Self {
        Mapping::sort(&mut mappings);
        let names = ComboNames::new(&combos, &mappings);
        let ordered: Vec<Arc<Combo>> = combos.into_iter().map(Arc::new).collect();
        let by = |key: fn(&Combo) -> &String| {
            ordered.iter().map(|combo| (key(combo).clone(), Arc::clone(combo))).collect::<BTreeMap<_, _>>()
        };
        Combos { by_name: by(|combo| &combo.name), by_id: by(|combo| &combo.id), ordered, mappings, names }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Combo>> {
        self.ordered.iter()
    }

    /// The combo of exactly that name, switched off or not.
    pub fn named(&self, name: &str) -> Option<&Arc<Combo>> {
        self.by_name.get(name)
    }

    pub fn get(&self, id: &str) -> Option<&Arc<Combo>> {
        self.by_id.get(id)
    }

    /// In the order in which they are asked.
    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// What names are resolved against (`routing::resolve_name`).
    pub fn names(&self) -> &ComboNames {
        &self.names
    }
}

/// A combo's numbers after the cascade: defaults, the settings of all combos, those at its provider, its own.
pub fn config_of(combo: &Combo, settings: &Settings) -> Config {
    let defaults = match Section::tree(&settings.combo_defaults) {
        Value::Object(defaults) => defaults,
        _ => Map::new(),
    };
    let nothing = Map::new();
    let of_provider = only_provider(combo)
        .and_then(|provider| settings.provider_overrides.get(provider.as_str()))
        .unwrap_or(&nothing);
    Config::cascade(&[&defaults, of_provider, &combo.config]).0
}

/// The provider of all the combo's models, where it is one.
fn only_provider(combo: &Combo) -> Option<&ProviderId> {
    let mut providers = combo.models.iter().map(|step| match &step.kind {
        StepKind::Model { provider_id, .. } | StepKind::ProviderWildcard { provider_id, .. } => Some(provider_id),
        StepKind::ComboRef { .. } => None,
    });
    let first = providers.next()??;
    providers.all(|provider| provider == Some(first)).then_some(first)
}
