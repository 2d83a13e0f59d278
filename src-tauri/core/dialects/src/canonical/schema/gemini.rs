//! The OpenAPI subset that Gemini's `parameters` and `responseSchema` take, there and back.
//!
//! Built by naming what is kept, not what is removed: a keyword nobody thought of is then no 400. References are written
//! out, within a bound of depth and of work, because a small schema can refer to itself without end.

use serde_json::{Map, Value, json};

use super::{merge, resolve, strings};

/// The deepest chain of references that is followed.
const MAX_REFERENCES: usize = 8;
/// The most schemas that are written for one; what lies beyond is some object.
const MAX_SCHEMAS: u32 = 5_000;
/// Formats that Gemini knows; others are refused.
const FORMATS: [&str; 6] = ["date-time", "enum", "int32", "int64", "float", "double"];
/// Keywords taken as they are, by the type they say something of; the empty word is any type.
const KEPT: [(&str, &str); 11] = [
    ("", "description"),
    ("", "nullable"),
    ("string", "minLength"),
    ("string", "maxLength"),
    ("string", "pattern"),
    ("number", "minimum"),
    ("number", "maximum"),
    ("array", "minItems"),
    ("array", "maxItems"),
    ("object", "minProperties"),
    ("object", "maxProperties"),
];

/// Further keywords, by the type they say something of.
const OF_TYPE: [(&str, &str); 5] = [
    ("string", "enum"),
    ("array", "items"),
    ("object", "properties"),
    ("object", "required"),
    ("object", "propertyOrdering"),
];

/// A JSON schema in the words Gemini knows.
pub fn to_gemini(schema: &Value) -> Value {
    let mut cleaner = Cleaner { root: schema, left: MAX_SCHEMAS };
    Value::Object(cleaner.clean(schema, &mut Vec::new()))
}

struct Cleaner<'r> {
    root: &'r Value,
    /// How many more schemas may be written.
    left: u32,
}

impl<'r> Cleaner<'r> {
    /// `trail` are the references that led here.
    fn clean(&mut self, schema: &'r Value, trail: &mut Vec<&'r str>) -> Map<String, Value> {
        let Value::Object(members) = schema else { return Map::new() };
        let Some(left) = self.left.checked_sub(1) else { return some_object(members) };
        self.left = left;
        let mut base = match member(members, "$ref").and_then(Value::as_str) {
            Some(reference) => self.follow(reference, members, trail),
            None => self.own(members, trail),
        };
        for part in member(members, "allOf").and_then(Value::as_array).into_iter().flatten() {
            let part = self.clean(part, trail);
            merge(&mut base, part);
        }
        for name in ["anyOf", "oneOf"] {
            if let Some(branches) = member(members, name).and_then(Value::as_array) {
                base = self.alternatives(base, branches, trail);
            }
        }
        finished(base)
    }

    fn follow(
        &mut self,
        reference: &'r str,
        members: &'r Map<String, Value>,
        trail: &mut Vec<&'r str>,
    ) -> Map<String, Value> {
        let target =
            resolve(self.root, reference).filter(|_| trail.len() < MAX_REFERENCES && !trail.contains(&reference));
        let Some(target) = target else { return some_object(members) };
        trail.push(reference);
        let mut base = self.clean(target, trail);
        trail.pop();
        if let Some(description) = member(members, "description").filter(|text| text.is_string()) {
            base.insert("description".to_owned(), description.clone());
        }
        base
    }

    /// What a schema says itself, apart from references and combinations.
    fn own(&mut self, members: &'r Map<String, Value>, trail: &mut Vec<&'r str>) -> Map<String, Value> {
        let (kinds, nullable) = kinds(members);
        let mut base = match kinds.as_slice() {
            [] => self.of_kind("", members, trail),
            [kind] => self.of_kind(kind, members, trail),
            several => {
                let branches = several.iter().map(|kind| {
                    let mut branch = self.of_kind(kind, members, trail);
                    branch.remove("description");
                    Value::Object(finished(branch))
                });
                let mut base = Map::new();
                base.insert("anyOf".to_owned(), Value::Array(branches.collect()));
                if let Some(description) = member(members, "description") {
                    base.insert("description".to_owned(), description.clone());
                }
                base
            }
        };
        if nullable {
            base.insert("nullable".to_owned(), Value::Bool(true));
        }
        base
    }

    fn of_kind(&mut self, kind: &str, members: &'r Map<String, Value>, trail: &mut Vec<&'r str>) -> Map<String, Value> {
        let mut clean = Map::new();
        if !kind.is_empty() {
            clean.insert("type".to_owned(), json!(kind));
        }
        let family = family(kind);
        for (about, name) in KEPT {
            let value = member(members, name).filter(|value| !value.is_null());
            if let Some(value) = value.filter(|_| about.is_empty() || about == family) {
                clean.insert(name.to_owned(), value.clone());
            }
        }
        if let Some(format) =
            member(members, "format").and_then(Value::as_str).filter(|format| FORMATS.contains(format))
        {
            clean.insert("format".to_owned(), json!(format));
        }
        match family {
            "number" => bounds(members, &mut clean),
            "array" => self.items(members, &mut clean, trail),
            "object" => self.properties(members, &mut clean, trail),
            _ => {}
        }
        values(kind, members, &mut clean);
        clean
    }

    fn items(&mut self, members: &'r Map<String, Value>, clean: &mut Map<String, Value>, trail: &mut Vec<&'r str>) {
        let tuple = member(members, "prefixItems").or_else(|| member(members, "items")).and_then(Value::as_array);
        let mut items = match tuple {
            Some(places) => self.alternatives(Map::new(), places, trail),
            None => member(members, "items").map(|items| self.clean(items, trail)).unwrap_or_default(),
        };
        if !items.contains_key("type") && !items.contains_key("anyOf") {
            items.insert("type".to_owned(), json!("string"));
        }
        clean.insert("items".to_owned(), Value::Object(finished(items)));
    }

    fn properties(
        &mut self,
        members: &'r Map<String, Value>,
        clean: &mut Map<String, Value>,
        trail: &mut Vec<&'r str>,
    ) {
        let properties = member(members, "properties").and_then(Value::as_object);
        let properties: Map<String, Value> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), Value::Object(of_some_type(self.clean(schema, trail)))))
            .collect();
        if !properties.is_empty() {
            clean.insert("properties".to_owned(), Value::Object(properties));
        }
        for name in ["required", "propertyOrdering"] {
            if let Some(list) = member(members, name).filter(|list| list.is_array()) {
                clean.insert(name.to_owned(), list.clone());
            }
        }
    }

    /// `base`, and one of `branches`. Beside `anyOf` nothing else may stand, so each branch takes what `base` says.
    fn alternatives(
        &mut self,
        mut base: Map<String, Value>,
        branches: &'r [Value],
        trail: &mut Vec<&'r str>,
    ) -> Map<String, Value> {
        let mut kept: Vec<Map<String, Value>> = Vec::new();
        for branch in branches {
            if branch.get("type").is_some_and(|kind| kind == "null") {
                base.insert("nullable".to_owned(), Value::Bool(true));
                continue;
            }
            let branch = self.clean(branch, trail);
            let says_something = ["type", "properties", "anyOf"].iter().any(|name| branch.contains_key(*name));
            if says_something && !kept.contains(&branch) {
                kept.push(branch);
            }
        }
        if let Some(known) = base.remove("anyOf") {
            // Two lists of alternatives: the second would multiply the first.
            base.insert("anyOf".to_owned(), known);
            return base;
        }
        match kept.len() {
            0 => {}
            1 => kept.into_iter().for_each(|only| merge(&mut base, only)),
            _ => {
                let description = base.remove("description");
                let nullable = base.remove("nullable");
                let branches = kept.into_iter().map(|mut branch| {
                    merge(&mut branch, base.clone());
                    Value::Object(finished(branch))
                });
                let branches = Value::Array(branches.collect());
                base = Map::new();
                base.insert("anyOf".to_owned(), branches);
                base.extend(description.map(|text| ("description".to_owned(), text)));
                base.extend(nullable.map(|flag| ("nullable".to_owned(), flag)));
            }
        }
        base
    }
}

/// Integers are numbers to the keywords.
fn family(kind: &str) -> &str {
    if kind == "integer" { "number" } else { kind }
}

/// A member of a schema. There are few of them and many that are asked for: looking through is quicker than hashing.
fn member<'r>(members: &'r Map<String, Value>, name: &str) -> Option<&'r Value> {
    members.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// What stands for a schema that is not followed further.
fn some_object(members: &Map<String, Value>) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    if let Some(description) = member(members, "description").filter(|text| text.is_string()) {
        object.insert("description".to_owned(), description.clone());
    }
    object
}

/// A schema that allows any value: Gemini wants the types named. Lists are left out, they would need one for their items.
fn of_some_type(mut schema: Map<String, Value>) -> Map<String, Value> {
    if schema.contains_key("type") || schema.contains_key("anyOf") {
        return schema;
    }
    let kinds = ["string", "number", "boolean", "object"].map(|kind| json!({ "type": kind }));
    schema.insert("anyOf".to_owned(), json!(kinds));
    finished(schema)
}

/// The last touch: required names that exist, and alternatives alone with what belongs to each of them.
fn finished(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(branches)) = schema.remove("anyOf") {
        return alone(branches, &schema);
    }
    if let Some(kind) = schema.get("type").and_then(Value::as_str).map(|kind| family(kind).to_owned()) {
        // Merged schemas may contradict each other; what says nothing of the type that won is refused.
        schema.retain(|name, _| {
            OF_TYPE.iter().chain(&KEPT).all(|(about, known)| known != name || about.is_empty() || *about == kind)
        });
    }
    for name in ["required", "propertyOrdering"] {
        let Some(Value::Array(mut listed)) = schema.remove(name) else { continue };
        let properties = schema.get("properties").and_then(Value::as_object);
        listed.retain(|name| {
            name.as_str().is_some_and(|name| properties.is_some_and(|properties| properties.contains_key(name)))
        });
        if !listed.is_empty() {
            schema.insert(name.to_owned(), Value::Array(listed));
        }
    }
    schema
}

fn alone(branches: Vec<Value>, schema: &Map<String, Value>) -> Map<String, Value> {
    let flat = branches.into_iter().flat_map(|branch| match branch {
        Value::Object(mut members) if members.contains_key("anyOf") => match members.remove("anyOf") {
            Some(Value::Array(inner)) => inner,
            _ => Vec::new(),
        },
        other => vec![other],
    });
    let mut branches: Vec<Value> = Vec::new();
    for mut branch in flat {
        if let Value::Object(members) = &mut branch {
            for name in ["description", "nullable"] {
                if let Some(value) = schema.get(name) {
                    members.entry(name).or_insert_with(|| value.clone());
                }
            }
        }
        // What differed before may say the same now.
        if !branches.contains(&branch) {
            branches.push(branch);
        }
    }
    match branches.as_mut_slice() {
        [Value::Object(only)] => std::mem::take(only),
        _ => Map::from_iter([("anyOf".to_owned(), Value::Array(branches))]),
    }
}

/// The types a schema allows, and whether it allows null beside them. A schema that names none shows it by its keywords.
fn kinds(members: &Map<String, Value>) -> (Vec<&str>, bool) {
    let mut kinds = match member(members, "type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(kinds @ Value::Array(_)) => strings(Some(kinds)),
        _ => implied_kind(members).into_iter().collect(),
    };
    let named = kinds.len();
    kinds.retain(|kind| *kind != "null");
    let has_null = choices(members).iter().any(|value| value.is_null());
    let nullable = kinds.len() < named || has_null;
    if kinds.is_empty() && named > 0 {
        kinds.push("string");
    }
    (kinds, nullable)
}

fn implied_kind(members: &Map<String, Value>) -> Option<&'static str> {
    if member(members, "properties").is_some() {
        return Some("object");
    }
    if ["items", "prefixItems"].iter().any(|name| member(members, name).is_some()) {
        return Some("array");
    }
    let choices: Vec<&Value> = choices(members).into_iter().filter(|value| !value.is_null()).collect();
    let all = |test: fn(&Value) -> bool| !choices.is_empty() && choices.iter().all(|value| test(value));
    match () {
        () if all(Value::is_string) => Some("string"),
        () if all(|value| value.is_i64() || value.is_u64()) => Some("integer"),
        () if all(Value::is_number) => Some("number"),
        () if all(Value::is_boolean) => Some("boolean"),
        () => None,
    }
}

/// The values a schema allows: `enum`, or the one of `const`.
fn choices(members: &Map<String, Value>) -> Vec<&Value> {
    match (member(members, "enum"), member(members, "const")) {
        (Some(Value::Array(values)), _) => values.iter().collect(),
        (_, Some(only)) => vec![only],
        _ => Vec::new(),
    }
}

/// Values to choose from. Gemini knows those of strings alone; others are told in the description.
fn values(kind: &str, members: &Map<String, Value>, clean: &mut Map<String, Value>) {
    let choices = choices(members);
    if choices.is_empty() {
        return;
    }
    if kind == "string" {
        let texts: Vec<Value> = choices.into_iter().filter_map(text_of).map(Value::String).collect();
        if !texts.is_empty() {
            clean.insert("enum".to_owned(), Value::Array(texts));
        }
        return;
    }
    let listed = choices.iter().map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
    let description = match clean.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text} (one of: {listed})"),
        None => format!("One of: {listed}"),
    };
    clean.insert("description".to_owned(), Value::String(description));
}

/// A value of a list of strings; empty ones are refused, and null is said by `nullable`.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Exclusive bounds become plain ones.
fn bounds(members: &Map<String, Value>, clean: &mut Map<String, Value>) {
    for (exclusive, plain) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(bound) = member(members, exclusive).filter(|bound| bound.is_number()) {
            clean.entry(plain).or_insert_with(|| bound.clone());
        }
    }
}

/// A schema in Gemini's words as JSON schema: types in lower case, `nullable` as a type, counts as numbers.
pub fn from_gemini(mut schema: Value) -> Value {
    make_plain(&mut schema);
    schema
}

fn make_plain(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    let nullable = members.get("nullable") == Some(&Value::Bool(true));
    members.retain(|name, value| {
        let is_unspecified = name == "type" && value == "TYPE_UNSPECIFIED";
        !is_unspecified && !matches!(name.as_str(), "nullable" | "propertyOrdering")
    });
    for (name, value) in members.iter_mut() {
        match (name.as_str(), &mut *value) {
            ("type", Value::String(kind)) => kind.make_ascii_lowercase(),
            ("properties", Value::Object(schemas)) => schemas.values_mut().for_each(make_plain),
            ("items", schema) => make_plain(schema),
            ("anyOf", Value::Array(branches)) => branches.iter_mut().for_each(make_plain),
            (
                "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties",
                Value::String(count),
            ) => {
                if let Ok(count) = count.parse::<u64>() {
                    *value = Value::from(count);
                }
            }
            _ => {}
        }
    }
    if nullable {
        allow_null(members);
    }
}

fn allow_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        branches.push(json!({"type": "null"}));
    } else if let Some(kind) = schema.get_mut("type") {
        *kind = json!([kind, "null"]);
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
}
