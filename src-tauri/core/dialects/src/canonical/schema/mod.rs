//! JSON schemas of tools and answers, fitted to the one who reads them (gateway specification, 2.5 rules 1, 7 and 8).
//!
//! A schema is the client's own words and mostly travels untouched. Three things are done to it, each only where a vendor
//! would refuse it otherwise: arguments become an object schema without alternatives at its top ([`object_schema`]);
//! Gemini's `parameters` and `responseSchema` get the subset they know ([`to_gemini`]), whose dialect of types is read back
//! by [`from_gemini`]; and `strict` is left off where the schema does not earn it ([`is_strict`]), never by rewriting it.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

mod gemini;
#[cfg(test)]
mod tests;

pub use gemini::{from_gemini, to_gemini};

/// The name under which a value that is no object is wrapped into one.
const WRAPPED: &str = "value";

/// A schema of arguments that every vendor takes: of an object, with `properties`, and without `anyOf`, `oneOf`, `allOf` or
/// `$ref` at its top. Alternatives are flattened: all their properties, and of the required ones those that all require.
pub fn object_schema(schema: Option<&Value>) -> Cow<'_, Value> {
    let Some(Value::Object(members)) = schema else {
        return Cow::Owned(json!({"type": "object", "properties": {}}));
    };
    if let Some(schema) = schema.filter(|_| is_plain_object(members)) {
        return Cow::Borrowed(schema);
    }
    let root = Value::Object(members.clone());
    let mut flat = flatten(&root, members, 0);
    if !accepts_objects(&flat) {
        return Cow::Owned(wrap(members));
    }
    flat.insert("type".to_owned(), json!("object"));
    flat.entry("properties").or_insert_with(|| json!({}));
    Cow::Owned(Value::Object(flat))
}

/// Whether a schema satisfies OpenAI's `strict`: every object in it closed, every property of it required.
pub fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            let closed = match members.get("properties").and_then(Value::as_object) {
                Some(properties) => is_closed(members) && all_required(members, properties),
                None => members.get("type").is_none_or(|kind| !names(kind, "object")) || is_closed(members),
            };
            closed && members.iter().all(|(name, value)| is_data(name) || is_strict_member(name, value))
        }
        Value::Array(list) => list.iter().all(is_strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn is_strict_member(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("properties" | "$defs" | "definitions", Value::Object(schemas)) => schemas.values().all(is_strict),
        _ => is_strict(value),
    }
}

/// Keywords whose value is an example of data, not a schema.
fn is_data(name: &str) -> bool {
    matches!(name, "const" | "enum" | "default" | "examples" | "example")
}

fn is_closed(members: &Map<String, Value>) -> bool {
    members.get("additionalProperties") == Some(&Value::Bool(false))
}

fn all_required(members: &Map<String, Value>, properties: &Map<String, Value>) -> bool {
    let required = strings(members.get("required"));
    properties.keys().all(|name| required.contains(&name.as_str()))
}

fn is_plain_object(members: &Map<String, Value>) -> bool {
    members.get("type").and_then(Value::as_str) == Some("object")
        && members.get("properties").is_some_and(Value::is_object)
        && !["anyOf", "oneOf", "allOf", "$ref"].iter().any(|name| members.contains_key(*name))
}

/// Whether a flattened schema can describe an object.
fn accepts_objects(members: &Map<String, Value>) -> bool {
    match members.get("type") {
        Some(kind) => names(kind, "object"),
        None => !["items", "enum", "const"].iter().any(|name| members.contains_key(*name)),
    }
}

fn wrap(members: &Map<String, Value>) -> Value {
    let mut inner = members.clone();
    // References are resolved from the top, so the definitions stay there.
    let definitions: Vec<_> =
        ["$defs", "definitions"].iter().filter_map(|name| inner.remove(*name).map(|value| (*name, value))).collect();
    inner.remove("$schema");
    let mut outer = Map::new();
    outer.insert("type".to_owned(), json!("object"));
    outer.insert("properties".to_owned(), json!({ WRAPPED: inner }));
    outer.insert("required".to_owned(), json!([WRAPPED]));
    outer.extend(definitions.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Value::Object(outer)
}

/// The deepest nesting of references and alternatives that is followed at the top of a schema.
const MAX_DEPTH: usize = 8;

/// A schema with what stood under `$ref`, `allOf`, `anyOf` and `oneOf` at its top taken into it.
fn flatten(root: &Value, members: &Map<String, Value>, depth: usize) -> Map<String, Value> {
    let mut flat = members.clone();
    let alternatives: Vec<Value> = ["anyOf", "oneOf"].iter().filter_map(|name| flat.remove(*name)).collect();
    let all = flat.remove("allOf");
    let reference = flat.remove("$ref");
    if depth == MAX_DEPTH {
        return flat;
    }
    let target = reference.as_ref().and_then(Value::as_str).and_then(|reference| resolve(root, reference));
    let together = target.into_iter().chain(all.iter().filter_map(Value::as_array).flatten());
    for part in together.filter_map(Value::as_object) {
        merge(&mut flat, flatten(root, part, depth + 1));
    }
    for list in alternatives.iter().filter_map(Value::as_array) {
        let branches: Vec<_> = list
            .iter()
            .filter_map(Value::as_object)
            .map(|branch| flatten(root, branch, depth + 1))
            .filter(accepts_objects)
            .collect();
        if let Some(any) = either(branches) {
            merge(&mut flat, any);
        } else if !flat.contains_key("type") {
            // Nothing among the alternatives is an object.
            flat.insert("type".to_owned(), Value::Null);
        }
    }
    flat
}

/// One schema that takes what any of these objects takes.
fn either(branches: Vec<Map<String, Value>>) -> Option<Map<String, Value>> {
    let mut branches = branches.into_iter();
    let mut any = branches.next()?;
    for branch in branches {
        let (mine, others) = (strings(any.get("required")), strings(branch.get("required")));
        let shared: Vec<Value> = mine.into_iter().filter(|name| others.contains(name)).map(Value::from).collect();
        merge(&mut any, branch);
        any.insert("required".to_owned(), Value::Array(shared));
    }
    Some(any)
}

/// Takes what `other` demands into `base`: its properties and required names are added, and of its further members those
/// that `base` has not.
pub(super) fn merge(base: &mut Map<String, Value>, other: Map<String, Value>) {
    for (name, value) in other {
        match (name.as_str(), base.get_mut(&name), value) {
            ("properties", Some(Value::Object(known)), Value::Object(more)) => {
                for (property, schema) in more {
                    known.entry(property).or_insert(schema);
                }
            }
            ("required", Some(Value::Array(known)), Value::Array(more)) => {
                let new: Vec<Value> = more.into_iter().filter(|name| !known.contains(name)).collect();
                known.extend(new);
            }
            (_, Some(_), _) => {}
            (_, None, value) => {
                base.insert(name, value);
            }
        }
    }
}

/// What a local reference points at.
pub(super) fn resolve<'r>(root: &'r Value, reference: &str) -> Option<&'r Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// Whether `type` is or lists `name`.
fn names(kind: &Value, name: &str) -> bool {
    match kind {
        Value::String(kind) => kind == name,
        Value::Array(kinds) => kinds.iter().any(|kind| kind == name),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// The strings of a list.
pub(super) fn strings(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
