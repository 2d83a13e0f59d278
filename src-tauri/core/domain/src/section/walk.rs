//! The walks over a section and its nested sections, one per thing that can be asked of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::wire::fault::OUT_OF_RANGE;

use super::{Absorbed, Conflict, Field, FieldError, Member, Section, Shape, Slot};

/// Where a variable's name takes the word of the section around it.
const PLACE: &str = "{}";

pub(super) fn read(section: &mut dyn Section) -> Value {
    let mut tree = Map::new();
    for member in section.members() {
        let value = match member.slot {
            Slot::Value(slot) => slot.read(),
            Slot::Section(inner) => read(inner),
        };
        tree.insert(member.name, value);
    }
    Value::Object(tree)
}

pub(super) fn describe(section: &mut dyn Section, path: &str, prefix: &str, rows: &mut Vec<Field>) {
    for member in section.members() {
        let path = join(path, &member.name);
        match member.slot {
            Slot::Section(inner) => describe(inner, &path, &variable(prefix, member.env.unwrap_or_default()), rows),
            Slot::Value(slot) => {
                let Shape { kind, unit, min, max, choices, is_secret, fault: _ } = slot.shape();
                let unit = unit.or_else(|| unit_in_name(&member.name));
                let env = member.env.map(|name| variable(prefix, name));
                rows.push(Field {
                    path,
                    kind,
                    unit,
                    min,
                    max,
                    choices,
                    is_secret,
                    default: slot.read(),
                    env,
                    help: member.help,
                });
            }
        }
    }
}

pub(super) fn apply(section: &mut dyn Section, tree: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Value::Object(entries) = tree else {
        errors.push(not_an_object(path));
        return;
    };
    for (path, value, member) in pair(section, entries, path) {
        match member.map(|member| member.slot) {
            None => errors.push(FieldError::new(path, "unknown setting")),
            Some(Slot::Section(inner)) => apply(inner, value, &path, errors),
            Some(Slot::Value(_)) if value.is_null() => {}
            Some(Slot::Value(mut slot)) => {
                let Shape { min, max, fault, .. } = slot.shape();
                errors.extend(slot.set(value).err().map(|message| refused(path, message, min.zip(max), fault)));
            }
        }
    }
}

/// A value that does not fit, with the bounds it has to keep.
fn refused(path: String, message: String, bounds: Option<(Value, Value)>, fault: &'static str) -> FieldError {
    let error = FieldError::new(path, message);
    match bounds {
        Some((min, max)) => error.coded(OUT_OF_RANGE, &[min, max]),
        None => error.coded::<String>(fault, &[]),
    }
}

pub(super) fn absorb(section: &mut dyn Section, tree: &Value, path: &str, outcome: &mut Absorbed) {
    let Value::Object(entries) = tree else {
        outcome.warnings.push(not_an_object(path));
        return;
    };
    for (path, value, member) in pair(section, entries, path) {
        match member.map(|member| member.slot) {
            None => outcome.unknown.push(path),
            Some(Slot::Section(inner)) => absorb(inner, value, &path, outcome),
            Some(Slot::Value(_)) if value.is_null() => {}
            Some(Slot::Value(mut slot)) => match slot.absorb(value) {
                Ok(adjusted) => {
                    outcome.warnings.extend(adjusted.map(|message| FieldError::new(&path, message)));
                    outcome.taken.push(path);
                }
                Err(message) => outcome.warnings.push(FieldError::new(path, format!("{message}; ignored"))),
            },
        }
    }
}

pub(super) fn merge(
    section: &mut dyn Section,
    stored: &mut Map<String, Value>,
    patch: &Value,
    path: &str,
    paths: &mut Vec<String>,
) {
    let Value::Object(entries) = patch else { return };
    for (name, value) in entries {
        let path = join(path, name);
        let member = section.members().into_iter().find(|member| member.name == *name);
        match member.map(|member| member.slot) {
            None => {}
            Some(Slot::Section(inner)) => {
                let mut document = match stored.remove(name) {
                    Some(Value::Object(document)) => document,
                    _ => Map::new(),
                };
                merge(inner, &mut document, value, &path, paths);
                stored.insert(name.clone(), Value::Object(document));
            }
            Some(Slot::Value(_)) => {
                if value.is_null() {
                    stored.remove(name);
                } else {
                    stored.insert(name.clone(), value.clone());
                }
                paths.push(path);
            }
        }
    }
}

/// The patch without secrets that come back as they were shown: they stay what they are.
pub(super) fn keep_secrets(section: &mut dyn Section, patch: &Value) -> Value {
    let Value::Object(entries) = patch else { return patch.clone() };
    let mut kept = Map::new();
    for (name, value) in entries {
        let member = section.members().into_iter().find(|member| member.name == *name);
        match member.map(|member| member.slot) {
            Some(Slot::Section(inner)) => {
                kept.insert(name.clone(), keep_secrets(inner, value));
            }
            Some(Slot::Value(slot)) if *value == slot.read() && *value != slot.exposed() => {}
            Some(Slot::Value(_)) | None => {
                kept.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(kept)
}

pub(super) fn environment(
    section: &mut dyn Section,
    variables: &BTreeMap<String, String>,
    prefix: &str,
    warnings: &mut Vec<FieldError>,
) -> Map<String, Value> {
    let mut tree = Map::new();
    for member in section.members() {
        let env = variable(prefix, member.env.unwrap_or_default());
        match member.slot {
            Slot::Section(inner) => {
                let inner = environment(inner, variables, &env, warnings);
                if !inner.is_empty() {
                    tree.insert(member.name, Value::Object(inner));
                }
            }
            Slot::Value(mut slot) => {
                let set = member.env.and_then(|_| variables.get(&env)).filter(|text| !text.trim().is_empty());
                let Some(text) = set else { continue };
                match slot.absorb_text(text.trim()) {
                    Ok(adjusted) => {
                        warnings.extend(adjusted.map(|message| FieldError::new(env, message)));
                        tree.insert(member.name, slot.exposed());
                    }
                    Err(message) => warnings.push(FieldError::new(env, format!("{message}; ignored"))),
                }
            }
        }
    }
    tree
}

pub(super) fn clamp(section: &mut dyn Section) {
    for member in section.members() {
        match member.slot {
            Slot::Section(inner) => clamp(inner),
            Slot::Value(mut slot) => {
                slot.clamp();
            }
        }
    }
}

pub(super) fn reconcile(section: &mut dyn Section, path: &str, conflicts: &mut Vec<Conflict>) {
    for member in section.members() {
        if let Slot::Section(inner) = member.slot {
            reconcile(inner, &join(path, &member.name), conflicts);
        }
    }
    conflicts.extend(section.rule().into_iter().map(|conflict| Conflict {
        fields: conflict.fields.iter().map(|field| join(path, field)).collect(),
        ..conflict
    }));
}

/// The entries of an object, each with its path and with the member of that name.
fn pair<'s, 't>(
    section: &'s mut dyn Section,
    entries: &'t Map<String, Value>,
    path: &str,
) -> Vec<(String, &'t Value, Option<Member<'s>>)> {
    let mut members: BTreeMap<String, Member<'s>> =
        section.members().into_iter().map(|member| (member.name.clone(), member)).collect();
    entries.iter().map(|(name, value)| (join(path, name), value, members.remove(name))).collect()
}

fn not_an_object(path: &str) -> FieldError {
    FieldError::new(if path.is_empty() { "body" } else { path }, "expected an object")
}

/// The name of a variable below a section whose own word is `outer`: put in place of `{}`, else in front.
fn variable(outer: &str, name: &str) -> String {
    if name.contains(PLACE) { name.replace(PLACE, outer) } else { format!("{outer}{name}") }
}

/// The unit a name ends with, for numbers whose type carries none.
fn unit_in_name(name: &str) -> Option<&'static str> {
    const UNITS: [(&str, &str); 7] = [
        ("PerSecond", "per second"),
        ("PerMinute", "per minute"),
        ("Bytes", "bytes"),
        ("Days", "days"),
        ("Minutes", "minutes"),
        ("Percent", "percent"),
        ("Sec", "s"),
    ];
    UNITS.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|&(_, unit)| unit)
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
