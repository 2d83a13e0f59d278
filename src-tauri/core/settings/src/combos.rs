//! What combos do at one provider or another (gateway specification, 3.2).

use std::collections::BTreeMap;

use domain::section::Conflict;
use routing::combo::Config;
use serde_json::{Map, Value};

/// Parts of a combo's numbers by provider. What is not said stays unsaid, so that the layers below show through.
pub type ProviderOverrides = BTreeMap<String, Map<String, Value>>;

/// Takes out what makes no sense, and says so, each by its place.
pub(crate) fn usable_overrides(overrides: &mut ProviderOverrides) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    for (provider, document) in overrides.iter_mut() {
        for error in Config::validate(document).err().unwrap_or_default() {
            let member = error.field.split('.').next().unwrap_or_default();
            document.shift_remove(member);
            conflicts.push(Conflict::new(&[&format!("providerOverrides.{provider}.{}", error.field)], error.message));
        }
    }
    conflicts
}
