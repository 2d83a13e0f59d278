//! Combos as documents: what the API is sent, and what one installation exports for another.
//!
//! A document of one combo may leave out whatever has a default. A document of several is `{"version": 2, "combos": […]}`;
//! a bare list and a single combo are read too. Combos of one document may lead to each other in any order.

use std::collections::BTreeSet;

use domain::Timestamp;
use domain::section::FieldError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{Combo, Step, Strategy, UnknownStrategy};

/// Version of the list of steps (gateway specification, 3.1).
const VERSION: u64 = 2;

const FIELDS: [&str; 12] = [
    "id",
    "name",
    "strategy",
    "models",
    "config",
    "system_message",
    "context_cache_protection",
    "isHidden",
    "isActive",
    "order",
    "compositeTiers",
    "version",
];
/// Set by the store; read in a document without effect.
const STAMPS: [&str; 2] = ["createdAt", "updatedAt"];

/// What an import does with a name that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The import is refused and says which.
    Refuse,
    /// The combo of that name becomes the imported one and keeps its id.
    Replace,
}

impl Combo {
    /// Reads what a person or a program wrote, strictly. `exists` knows the names of combos, for shorthand steps. What
    /// the combo means beside others is for [`Combo::validate`] to say.
    pub fn from_input(
        value: &Value,
        exists: impl Fn(&str) -> bool,
        mut new_id: impl FnMut() -> String,
        now: Timestamp,
    ) -> Result<Combo, Vec<FieldError>> {
        let Value::Object(fields) = value else { return Err(vec![FieldError::new("body", "expected an object")]) };
        let mut errors = Vec::new();
        let unknown = fields.keys().filter(|name| !FIELDS.contains(&name.as_str()) && !STAMPS.contains(&name.as_str()));
        errors.extend(unknown.map(|name| FieldError::new(name, "unknown field: remove it, or correct its name")));

        let strategy = match take::<String>(fields, "strategy", "text", &mut errors).map(|word| word.parse()) {
            Some(Ok(strategy)) => strategy,
            Some(Err(unknown @ UnknownStrategy)) => {
                errors.push(FieldError::new("strategy", unknown.to_string()));
                Strategy::default()
            }
            None => Strategy::default(),
        };
        let id =
            take(fields, "id", "text", &mut errors).filter(|id: &String| !id.is_empty()).unwrap_or_else(&mut new_id);
        let models: Vec<Value> = take(fields, "models", "a list of steps", &mut errors).unwrap_or_default();
        let models = Step::list_from_input(&models, exists, new_id).unwrap_or_else(|wrong| {
            errors.extend(wrong);
            Vec::new()
        });
        let combo = Combo {
            id,
            name: take(fields, "name", "text", &mut errors).unwrap_or_default(),
            strategy,
            models,
            config: take(fields, "config", "an object", &mut errors).unwrap_or_default(),
            system_message: take(fields, "system_message", "text", &mut errors),
            context_cache_protection: take(fields, "context_cache_protection", TRUTH, &mut errors).unwrap_or(false),
            is_hidden: take(fields, "isHidden", TRUTH, &mut errors).unwrap_or(false),
            is_active: take(fields, "isActive", TRUTH, &mut errors).unwrap_or(true),
            order: take(fields, "order", "a whole number from 0 upwards", &mut errors).unwrap_or(0),
            composite_tiers: take(fields, "compositeTiers", TIERS, &mut errors),
            created_at: now,
            updated_at: now,
        };
        if errors.is_empty() { Ok(combo) } else { Err(errors) }
    }
}

const TRUTH: &str = "true or false";
const TIERS: &str = "{defaultTier, tiers: {name: {stepId, fallbackTier}}}";

/// The value of a field, none where it is absent, `null` or wrong.
fn take<T: DeserializeOwned>(
    fields: &Map<String, Value>,
    name: &str,
    expected: &str,
    errors: &mut Vec<FieldError>,
) -> Option<T> {
    let value = fields.get(name).filter(|value| !value.is_null())?;
    match serde_json::from_value(value.clone()) {
        Ok(value) => Some(value),
        Err(_) => {
            errors.push(FieldError::new(name, format!("expected {expected}")));
            None
        }
    }
}

/// The document that [`import`] reads back. Stamps stay home.
pub fn export(combos: &[Combo]) -> Value {
    let combos = combos.iter().map(|combo| {
        let mut document = json!(combo);
        if let Value::Object(fields) = &mut document {
            for stamp in STAMPS {
                fields.shift_remove(stamp);
            }
        }
        document
    });
    json!({ "version": VERSION, "combos": combos.collect::<Vec<_>>() })
}

/// Reads a document into combos that stand well beside `existing`, or says everything that is wrong with it. A combo
/// whose id is taken by one of another name gets a new one.
pub fn import(
    document: &Value,
    existing: &[Combo],
    taken: Taken,
    mut new_id: impl FnMut() -> String,
    now: Timestamp,
) -> Result<Vec<Combo>, Vec<FieldError>> {
    let written = listed(document)?;
    let names: BTreeSet<&str> = written
        .iter()
        .filter_map(|combo| combo.get("name")?.as_str())
        .chain(existing.iter().map(|combo| combo.name.as_str()))
        .collect();
    let mut errors = Vec::new();
    let mut imported: Vec<Combo> = Vec::with_capacity(written.len());
    for (index, value) in written.iter().enumerate() {
        match Combo::from_input(value, |name| names.contains(name), &mut new_id, now) {
            Ok(mut combo) => {
                let clash = existing.iter().find(|other| other.name == combo.name);
                match clash.filter(|_| taken == Taken::Replace) {
                    Some(replaced) => {
                        combo.id.clone_from(&replaced.id);
                        combo.created_at = replaced.created_at;
                    }
                    None if existing.iter().chain(&imported).any(|other| other.id == combo.id) => combo.id = new_id(),
                    None => {}
                }
                imported.push(combo);
            }
            Err(wrong) => errors.extend(wrong.into_iter().map(|error| placed(index, error))),
        }
    }
    let kept = existing.iter().filter(|other| !imported.iter().any(|combo| combo.id == other.id));
    let all: Vec<Combo> = imported.iter().chain(kept).cloned().collect();
    for (index, combo) in imported.iter().enumerate() {
        let wrong = combo.validate(&all).err().unwrap_or_default();
        errors.extend(wrong.into_iter().map(|error| placed(index, error)));
    }
    if errors.is_empty() { Ok(imported) } else { Err(errors) }
}

fn placed(index: usize, error: FieldError) -> FieldError {
    let field = format!("combos[{index}].{}", error.field);
    error.at(field)
}

fn listed(document: &Value) -> Result<Vec<&Value>, Vec<FieldError>> {
    let wrong = |field: &str, message: &str| vec![FieldError::new(field, message)];
    match document {
        Value::Array(combos) => Ok(combos.iter().collect()),
        Value::Object(fields) => match (fields.get("combos"), fields.get("version").and_then(Value::as_u64)) {
            (_, Some(version)) if version > VERSION => {
                Err(wrong("version", "written by a later version of the program: update this one first"))
            }
            (Some(Value::Array(combos)), _) => Ok(combos.iter().collect()),
            (Some(_), _) => Err(wrong("combos", "expected a list of combos")),
            (None, _) => Ok(vec![document]),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(wrong("body", "expected {\"version\": 2, \"combos\": […]}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::combo;
    use super::*;

    fn ids() -> impl FnMut() -> String {
        let mut n = 0;
        move || {
            n += 1;
            format!("n{n}")
        }
    }

    fn words(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_name_and_steps_in_shorthand_are_enough() {
        let value = json!({ "name": "c", "strategy": "usage", "models": ["openai/gpt", "other"] });
        let read =
            Combo::from_input(&value, |name| name == "other", ids(), Timestamp::from_millis(5)).expect("a combo");
        assert_eq!((read.strategy, read.is_active, read.created_at.as_millis()), (Strategy::LeastUsed, true, 5));
        assert_eq!(read.references().collect::<Vec<_>>(), ["other"]);
    }

    #[test]
    fn every_wrong_field_is_named_at_once() {
        let value = json!({ "name": 3, "strategy": "best", "models": [1], "isActive": "no", "colour": 1 });
        let errors = Combo::from_input(&value, |_| false, ids(), Timestamp::ZERO).expect_err("wrong");
        let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["colour", "strategy", "models[0]", "name", "isActive"]);
        assert!(errors[1].message.starts_with("unknown strategy: choose one of priority weighted"));
    }

    #[test]
    fn what_is_exported_is_imported_again() {
        let combos = [combo("a", Strategy::Weighted, &["@b", "x/y-*"]), combo("b", Strategy::Auto, &["x/y"])];
        let document = export(&combos);
        assert_eq!(document["combos"][0].get("createdAt"), None);
        let read = import(&document, &[], Taken::Refuse, ids(), Timestamp::ZERO).expect("combos");
        assert_eq!(read, combos);
    }

    #[test]
    fn a_taken_name_is_refused_or_replaced() {
        let existing = [combo("a", Strategy::Random, &["x/y"])];
        let document = json!([{ "name": "a", "models": ["x/z"] }]);
        let errors = import(&document, &existing, Taken::Refuse, ids(), Timestamp::ZERO).expect_err("taken");
        assert_eq!(words(&errors), ["combos[0].name: another combo has this name: choose a different one"]);
        let read = import(&document, &existing, Taken::Replace, ids(), Timestamp::ZERO).expect("replaced");
        assert_eq!((read[0].id.as_str(), read[0].strategy), ("id-a", Strategy::Priority));
    }

    #[test]
    fn an_id_that_belongs_to_another_is_not_taken_over() {
        let existing = [combo("a", Strategy::Random, &[])];
        let document = json!({ "id": "id-a", "name": "b", "models": ["a"] });
        let read = import(&document, &existing, Taken::Refuse, ids(), Timestamp::ZERO).expect("a combo");
        assert_ne!(read[0].id, "id-a");
        assert_eq!(read[0].references().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn a_ring_inside_a_document_and_a_later_version_are_refused() {
        let ring = json!([{ "name": "a", "models": ["b"] }, { "name": "b", "models": ["a"] }]);
        let errors = import(&ring, &[], Taken::Refuse, ids(), Timestamp::ZERO).expect_err("a ring");
        assert!(errors[0].message.contains("a → b → a"), "{errors:?}");
        let later = json!({ "version": 3, "combos": [] });
        assert_eq!(import(&later, &[], Taken::Refuse, ids(), Timestamp::ZERO).expect_err("later")[0].field, "version");
    }
}
