use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{from_gemini, is_strict, object_schema, to_gemini};

#[test]
fn arguments_are_always_an_object_without_alternatives_at_its_top() {
    let plain =
        json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}, "additionalProperties": false});
    for (schema, expected) in [
        (None, json!({"type": "object", "properties": {}})),
        (Some(json!(true)), json!({"type": "object", "properties": {}})),
        (Some(json!({})), json!({"type": "object", "properties": {}})),
        (Some(plain.clone()), plain),
        (Some(json!({"properties": {"a": {}}})), json!({"type": "object", "properties": {"a": {}}})),
        (
            Some(json!({"type": ["object", "null"], "description": "d"})),
            json!({"type": "object", "description": "d", "properties": {}}),
        ),
        (
            Some(json!({"anyOf": [
                {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", "b"]},
                {"type": "object", "properties": {"a": {"type": "integer"}, "c": {}}, "required": ["a", "c"]},
            ]})),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}, "c": {}}, "required": ["a"]}),
        ),
        (
            Some(json!({
                "type": "object", "properties": {"a": {}}, "required": ["a"],
                "oneOf": [{"required": ["b"]}, {"required": ["c"]}],
                "allOf": [{"properties": {"b": {}}, "required": ["b"]}],
            })),
            json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]}),
        ),
        (
            Some(
                json!({"$ref": "#/$defs/In", "$defs": {"In": {"type": "object", "properties": {"n": {"$ref": "#/$defs/In"}}}}}),
            ),
            json!({
                "$defs": {"In": {"type": "object", "properties": {"n": {"$ref": "#/$defs/In"}}}},
                "type": "object", "properties": {"n": {"$ref": "#/$defs/In"}},
            }),
        ),
        (
            Some(json!({"type": "array", "items": {"$ref": "#/$defs/I"}, "$defs": {"I": {"type": "string"}}})),
            json!({
                "type": "object", "properties": {"value": {"type": "array", "items": {"$ref": "#/$defs/I"}}},
                "required": ["value"], "$defs": {"I": {"type": "string"}},
            }),
        ),
        (
            Some(json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})),
            json!({
                "type": "object", "properties": {"value": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
                "required": ["value"],
            }),
        ),
    ] {
        assert_eq!(*object_schema(schema.as_ref()), expected, "{schema:?}");
    }
}

#[test]
fn a_reference_to_itself_at_the_top_comes_to_an_end() {
    let schema = json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}});
    assert_eq!(object_schema(Some(&schema))["type"], "object");
}

#[test]
fn strict_is_earned_by_closed_objects_that_require_everything() {
    for (strict, schema) in [
        (
            true,
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}),
        ),
        (false, json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})),
        (false, json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false})),
        (false, json!({"type": "object"})),
        (
            false,
            json!({
                "type": "object", "required": ["a"], "additionalProperties": false,
                "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"b": {}}}}},
            }),
        ),
        // A property may be called like a keyword, and data may look like a schema.
        (
            true,
            json!({
                "type": "object", "required": ["properties"], "additionalProperties": false,
                "properties": {"properties": {"type": "string", "default": {"type": "object"}}},
            }),
        ),
    ] {
        assert_eq!(is_strict(&schema), strict, "{schema}");
    }
}

#[test]
fn gemini_gets_the_keywords_it_knows_and_no_others() {
    for (schema, expected) in [
        (json!(true), json!({})),
        (
            json!({
                "$schema": "s", "$id": "i", "title": "T", "type": "object", "description": "d", "additionalProperties": false,
                "properties": {
                    "const": {"const": "x"},
                    "when": {"type": "string", "format": "uri", "default": "", "examples": ["e"]},
                    "time": {"type": "string", "format": "date-time", "minLength": 1, "contentEncoding": "base64"},
                    "n": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9, "exclusiveMaximum": 10, "multipleOf": 2},
                    "list": {"type": "array", "uniqueItems": true, "minItems": 1},
                    "title": {"type": "string", "pattern": "^a"},
                },
                "required": ["n", "gone"], "patternProperties": {}, "if": {}, "then": {}, "not": {}, "$defs": {},
            }),
            json!({
                "type": "object", "description": "d",
                "properties": {
                    "const": {"type": "string", "enum": ["x"]},
                    "when": {"type": "string"},
                    "time": {"type": "string", "format": "date-time", "minLength": 1},
                    "n": {"type": "integer", "minimum": 0, "maximum": 9},
                    "list": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                    "title": {"type": "string", "pattern": "^a"},
                },
                "required": ["n"],
            }),
        ),
        (
            json!({"type": "object", "properties": {"any": true, "told": {"description": "d"}}}),
            json!({"type": "object", "properties": {
                "any": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "object"}]},
                "told": {"anyOf": [
                    {"type": "string", "description": "d"},
                    {"type": "number", "description": "d"},
                    {"type": "boolean", "description": "d"},
                    {"type": "object", "description": "d"},
                ]},
            }}),
        ),
        (json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true})),
        (
            json!({"type": ["string", "integer", "null"], "description": "d", "minimum": 1}),
            json!({"anyOf": [
                {"type": "string", "description": "d", "nullable": true},
                {"type": "integer", "minimum": 1, "description": "d", "nullable": true},
            ]}),
        ),
        (json!({"enum": ["a", "", null]}), json!({"type": "string", "enum": ["a"], "nullable": true})),
        (json!({"type": "string", "enum": ["a", 1]}), json!({"type": "string", "enum": ["a", "1"]})),
        (json!({"type": "integer", "enum": [1, 2]}), json!({"type": "integer", "description": "One of: 1, 2"})),
        (json!({"const": true, "description": "d"}), json!({"type": "boolean", "description": "d (one of: true)"})),
        (
            json!({"description": "d", "oneOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"description": "d", "type": "string", "nullable": true}),
        ),
        (
            json!({"description": "d", "anyOf": [{"type": "string", "description": "s"}, {"type": "integer"}, {"type": "null"}]}),
            json!({"anyOf": [
                {"type": "string", "description": "s", "nullable": true},
                {"type": "integer", "description": "d", "nullable": true},
            ]}),
        ),
        // Alternatives that only demand something of the object beside them are no alternatives to Gemini.
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        ),
        (
            json!({
                "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                "oneOf": [{"properties": {"b": {"type": "string"}}, "required": ["b"]}, {"properties": {"c": {"type": "string"}}}],
            }),
            json!({"anyOf": [
                {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}, "required": ["b", "a"]},
                {"type": "object", "properties": {"c": {"type": "string"}, "a": {"type": "string"}}, "required": ["a"]},
            ]}),
        ),
        (
            json!({"allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"properties": {"b": {"type": "string"}}, "required": ["b"]},
            ]}),
            json!({
                "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"],
            }),
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
            json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}),
        ),
        (
            json!({
                "type": "object", "properties": {"head": {"$ref": "#/$defs/Node", "description": "the first"}},
                "$defs": {"Node": {"type": "object", "properties": {
                    "next": {"$ref": "#/$defs/Node"}, "away": {"$ref": "https://example.org/x"},
                }}},
            }),
            json!({
                "type": "object",
                "properties": {"head": {
                    "type": "object", "description": "the first",
                    "properties": {"next": {"type": "object"}, "away": {"type": "object"}},
                }},
            }),
        ),
    ] {
        assert_eq!(to_gemini(&schema), expected, "{schema}");
    }
}

#[test]
fn what_is_clean_stays_as_it_is() {
    for schema in [
        json!({"type": "object", "properties": {"a": {"type": "string", "enum": ["x"], "nullable": true}}, "required": ["a"]}),
        json!({"anyOf": [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "number", "format": "float"}}}]}),
        json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}),
    ] {
        assert_eq!(to_gemini(&schema), schema);
        assert_eq!(to_gemini(&to_gemini(&schema)), schema);
    }
}

#[test]
fn a_schema_that_grows_without_end_is_cut_off() {
    let properties: Map<String, Value> =
        (0..40).map(|n| (format!("p{n}"), json!({"$ref": format!("#/$defs/D{n}")}))).collect();
    let definitions: Map<String, Value> =
        (0..40).map(|n| (format!("D{n}"), json!({"type": "object", "properties": properties}))).collect();
    let schema = json!({"type": "object", "properties": properties, "$defs": definitions});
    assert!(to_gemini(&schema).to_string().len() < 4 * 1024 * 1024);
}

#[test]
fn geminis_own_words_are_read_as_json_schema() {
    let schema = json!({
        "type": "OBJECT", "propertyOrdering": ["a"], "required": ["a"],
        "properties": {
            "a": {"type": "ARRAY", "minItems": "1", "items": {"type": "INTEGER", "format": "int32"}},
            "type": {"type": "STRING", "nullable": true, "enum": ["X"]},
            "any": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}], "nullable": true},
        },
    });
    let expected = json!({
        "type": "object", "required": ["a"],
        "properties": {
            "a": {"type": "array", "minItems": 1, "items": {"type": "integer", "format": "int32"}},
            "type": {"type": ["string", "null"], "enum": ["X", null]},
            "any": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
        },
    });
    assert_eq!(from_gemini(schema), expected);
}

/// Schemas of every keyword, sensible or not.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!({})),
        Just(json!({"type": "string", "enum": ["a", "", 1, null], "format": "uri"})),
        Just(json!({"type": ["integer", "null"], "const": 3, "exclusiveMinimum": 0, "description": "n"})),
        Just(json!({"type": "array"})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/properties/a", "description": "r"})),
        Just(json!({"type": "null"})),
        Just(json!({"required": ["a"], "propertyOrdering": ["b"]})),
        Just(json!({"type": ["string", "object", "array"], "minLength": 1, "nullable": true})),
    ];
    leaf.prop_recursive(4, 48, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4);
        let named = prop::collection::btree_map("a|b|type|anyOf", inner.clone(), 0..4);
        let base =
            prop_oneof![Just(json!({"description": "d"})), Just(json!({"type": "object", "required": ["a", "z"]}))];
        (
            base,
            prop::option::of(named),
            prop::option::of(inner),
            prop::collection::btree_map("anyOf|oneOf|allOf|prefixItems", list, 0..3),
        )
            .prop_map(|(mut schema, properties, items, lists)| {
                if let Some(members) = schema.as_object_mut() {
                    members.extend(properties.map(|it| ("properties".to_owned(), json!(it))));
                    members.extend(items.map(|it| ("items".to_owned(), it)));
                    members.extend(lists.into_iter().map(|(name, list)| (name, Value::Array(list))));
                }
                schema
            })
    })
}

/// Whether Gemini knows every word of a schema.
fn is_known(schema: &Value) -> bool {
    const KNOWN: [&str; 18] = [
        "type",
        "description",
        "nullable",
        "format",
        "enum",
        "items",
        "properties",
        "required",
        "propertyOrdering",
        "anyOf",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "minProperties",
    ];
    let Some(members) = schema.as_object() else { return false };
    let below = |name: &str| members.get(name).and_then(Value::as_array).into_iter().flatten();
    let properties = members.get("properties").and_then(Value::as_object);
    members.keys().all(|name| KNOWN.contains(&name.as_str()))
        && members.get("type").is_none_or(Value::is_string)
        && (!members.contains_key("anyOf") || members.len() == 1)
        && below("anyOf").all(is_known)
        && below("required").all(|name| properties.is_some_and(|it| it.contains_key(name.as_str().unwrap_or_default())))
        && properties.is_none_or(|it| it.values().all(is_known))
        && (members.get("type") != Some(&json!("array")) || members.contains_key("items"))
        && members.get("items").is_none_or(|items| is_known(items) && items != &json!({}))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_schema_comes_out_in_words_gemini_knows_and_stays_so(schema in any_schema()) {
        let clean = to_gemini(&schema);
        prop_assert!(is_known(&clean), "{clean}");
        prop_assert_eq!(to_gemini(&clean), clean);
        let object = object_schema(Some(&schema)).into_owned();
        prop_assert!(object["type"] == "object" && object["properties"].is_object(), "{object}");
        prop_assert_eq!(&*object_schema(Some(&object)), &object);
    }
}
