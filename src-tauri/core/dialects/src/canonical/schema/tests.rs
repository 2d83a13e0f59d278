use serde_json::{Value, json};

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
    let properties: serde_json::Map<String, Value> =
        (0..40).map(|n| (format!("p{n}"), json!({"$ref": format!("#/$defs/D{n}")}))).collect();
    let definitions: serde_json::Map<String, Value> =
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
    assert_eq!(from_gemini(&schema), expected);
}
