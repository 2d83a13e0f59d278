//! Tools, choices among them and formats of answers, as each provider is told of them (gateway specification, 2.5 and 2.9).

use acceptance::Reply;
use domain::Dialect;
use fake_upstream::Step;
use serde_json::{Value, json};

use crate::world::{DIALECTS, Upstreams};

/// Pairs whose bytes do not pass as they are.
fn pairs() -> impl Iterator<Item = (Dialect, Dialect)> {
    let all = DIALECTS.into_iter().flat_map(|client| DIALECTS.into_iter().map(move |upstream| (client, upstream)));
    all.filter(|(client, upstream)| client != upstream)
}

/// A plain request with these members on top.
fn ask(client: Dialect, upstream: Dialect, more: &Value) -> (String, String) {
    let ask = Upstreams::ask(client, upstream, false);
    let mut body: Value = serde_json::from_str(&ask.body).expect("JSON");
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    (ask.path, body.to_string())
}

async fn post(upstreams: &Upstreams, client: Dialect, upstream: Dialect, more: &Value) -> Reply {
    let (path, body) = ask(client, upstream, more);
    upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::ok("{\"city\":\"Berlin\"}"));
    upstreams.world.agent().post(&path, body).await
}

/// What arrives at the provider, and the warnings of the reply.
async fn arrives(upstreams: &Upstreams, client: Dialect, upstream: Dialect, more: &Value) -> (Value, String) {
    let reply = post(upstreams, client, upstream, more).await;
    assert_eq!(reply.status, 200, "{client} over {upstream}: {}\n{more}", reply.text());
    let warnings = reply.header("x-omniroute-warnings").unwrap_or_default().to_owned();
    (upstreams.world.calls(upstreams.of(upstream)).last().expect("a call").json(), warnings)
}

fn function(client: Dialect, name: &str, schema: &Value) -> Value {
    match client {
        Dialect::Chat => json!({"type": "function", "function": {"name": name, "parameters": schema}}),
        Dialect::Responses => json!({"type": "function", "name": name, "parameters": schema, "strict": false}),
        Dialect::Messages => json!({"name": name, "input_schema": schema}),
        Dialect::Gemini => json!({"functionDeclarations": [{"name": name, "parametersJsonSchema": schema}]}),
    }
}

fn functions(client: Dialect, names: &[&str]) -> Value {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    names.iter().map(|name| function(client, name, &schema)).collect()
}

/// The names of the functions that a provider is told of.
fn told_of(upstream: Dialect, sent: &Value) -> Vec<String> {
    let tools = sent["tools"].as_array().cloned().unwrap_or_default();
    let named = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    match upstream {
        Dialect::Chat => tools.iter().map(|tool| named(&tool["function"])).collect(),
        Dialect::Responses | Dialect::Messages => tools.iter().map(named).collect(),
        Dialect::Gemini => {
            let groups = tools.iter().filter_map(|group| group["functionDeclarations"].as_array());
            groups.flatten().map(named).collect()
        }
    }
}

#[tokio::test]
async fn gemini_is_told_of_schemas_in_the_words_it_knows() {
    let upstreams = Upstreams::start().await;
    upstreams.world.upstream.strict(true);
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
        "required": ["from", "gone"],
        "$defs": {"place": {"type": "object", "additionalProperties": false, "required": ["name"], "properties": {
            "name": {"type": "string", "minLength": 1, "format": "hostname"}, "near": {"$ref": "#/$defs/place"}}}},
        "properties": {
            "from": {"$ref": "#/$defs/place"},
            "kind": {"const": "trip"},
            "at": {"type": "string", "format": "date-time"},
            "who": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "stops": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "integer"}]}},
            "seats": {"type": "integer", "exclusiveMinimum": 0},
        },
    });
    let place = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "minLength": 1}, "near": {"type": "object"}}});
    let expected = json!({
        "type": "object", "required": ["from"],
        "properties": {
            "from": place,
            "kind": {"type": "string", "enum": ["trip"]},
            "at": {"type": "string", "format": "date-time"},
            "who": {"type": "string", "nullable": true},
            "stops": {"type": "array", "items": {"anyOf": [place, {"type": "integer"}]}},
            "seats": {"type": "integer", "minimum": 0},
        },
    });
    for client in [Dialect::Chat, Dialect::Responses, Dialect::Messages] {
        let tools = json!([function(client, "plan", &schema)]);
        let (sent, _) = arrives(&upstreams, client, Dialect::Gemini, &json!({"tools": tools})).await;
        let declared = &sent["tools"][0]["functionDeclarations"][0];
        assert_eq!((&declared["name"], &declared["parameters"]), (&json!("plan"), &expected), "{client}: {declared}");
    }
    upstreams.world.check_invariants().await;
}

/// The schema of the answer that a provider is told of.
fn answer_schema(upstream: Dialect, sent: &Value) -> Value {
    match upstream {
        Dialect::Chat => sent["response_format"]["json_schema"]["schema"].clone(),
        Dialect::Responses => sent["text"]["format"]["schema"].clone(),
        Dialect::Messages => sent["output_config"]["format"]["schema"].clone(),
        Dialect::Gemini => {
            let config = &sent["generationConfig"];
            [&config["responseJsonSchema"], &config["responseSchema"]]
                .into_iter()
                .find(|it| it.is_object())
                .cloned()
                .unwrap_or_default()
        }
    }
}

#[tokio::test]
async fn geminis_schema_of_an_answer_is_a_json_schema_elsewhere() {
    let upstreams = Upstreams::start().await;
    let schema = json!({
        "type": "OBJECT", "required": ["city"], "propertyOrdering": ["city", "tags"],
        "properties": {
            "city": {"type": "STRING", "nullable": true},
            "tags": {"type": "ARRAY", "items": {"type": "STRING", "enum": ["a", "b"]}},
        },
    });
    let config = json!({"generationConfig": {"responseMimeType": "application/json", "responseSchema": schema}});
    for upstream in [Dialect::Chat, Dialect::Responses, Dialect::Messages] {
        let (sent, _) = arrives(&upstreams, Dialect::Gemini, upstream, &config).await;
        let told = if upstream == Dialect::Messages && sent["tools"].is_array() {
            sent["tools"][0]["input_schema"].clone()
        } else {
            answer_schema(upstream, &sent)
        };
        assert_eq!(told["type"], "object", "{upstream}: {sent}");
        assert_eq!(told["required"], json!(["city"]), "{upstream}: {sent}");
        assert_eq!(told["properties"]["city"]["type"], json!(["string", "null"]), "{upstream}: {sent}");
        let tags = json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}});
        assert_eq!(told["properties"]["tags"], tags, "{upstream}: {sent}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn any_json_object_is_asked_for_in_every_providers_own_way() {
    let upstreams = Upstreams::start().await;
    for (client, upstream) in pairs() {
        let wish = match client {
            Dialect::Chat => json!({"response_format": {"type": "json_object"}}),
            Dialect::Responses => json!({"text": {"format": {"type": "json_object"}}}),
            Dialect::Gemini => json!({"generationConfig": {"responseMimeType": "application/json"}}),
            // Anthropic's clients can ask for a schema only.
            Dialect::Messages => continue,
        };
        let (sent, _) = arrives(&upstreams, client, upstream, &wish).await;
        let case = format!("{client} over {upstream}: {sent}");
        match upstream {
            Dialect::Chat => assert_eq!(sent["response_format"], json!({"type": "json_object"}), "{case}"),
            Dialect::Responses => assert_eq!(sent["text"]["format"], json!({"type": "json_object"}), "{case}"),
            Dialect::Gemini => {
                assert_eq!(sent["generationConfig"]["responseMimeType"], "application/json", "{case}");
            }
            Dialect::Messages => assert!(sent["system"].to_string().contains("JSON"), "{case}"),
        }
        // OpenAI refuses the format unless the word stands somewhere in the request's texts.
        if matches!(upstream, Dialect::Chat | Dialect::Responses) {
            let texts = format!("{}{}{}", sent["messages"], sent["instructions"], sent["input"]);
            assert!(texts.to_lowercase().contains("json"), "{case}");
        }
    }
    upstreams.world.check_invariants().await;
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
    Auto,
    None,
    Any,
    /// `ls`.
    One,
    /// `ls` or `cat`; whether one of them must be called.
    Some {
        required: bool,
    },
}

/// A choice in a client's words; none where it has no words for it.
fn chosen(client: Dialect, choice: Choice) -> Option<Value> {
    let mode = |required| if required { "required" } else { "auto" };
    let allowed = || json!([{"type": "function", "name": "ls"}, {"type": "function", "name": "cat"}]);
    let value = match (client, choice) {
        (Dialect::Chat | Dialect::Responses, Choice::Auto) => json!("auto"),
        (Dialect::Chat | Dialect::Responses, Choice::None) => json!("none"),
        (Dialect::Chat | Dialect::Responses, Choice::Any) => json!("required"),
        (Dialect::Chat, Choice::One) => json!({"type": "function", "function": {"name": "ls"}}),
        (Dialect::Responses, Choice::One) => json!({"type": "function", "name": "ls"}),
        (Dialect::Chat, Choice::Some { required }) => {
            let tools = json!([{"type": "function", "function": {"name": "ls"}}, {"type": "function", "function": {"name": "cat"}}]);
            json!({"type": "allowed_tools", "allowed_tools": {"mode": mode(required), "tools": tools}})
        }
        (Dialect::Responses, Choice::Some { required }) => {
            json!({"type": "allowed_tools", "mode": mode(required), "tools": allowed()})
        }
        (Dialect::Messages, Choice::Auto) => json!({"type": "auto"}),
        (Dialect::Messages, Choice::None) => json!({"type": "none"}),
        (Dialect::Messages, Choice::Any) => json!({"type": "any"}),
        (Dialect::Messages, Choice::One) => json!({"type": "tool", "name": "ls"}),
        (Dialect::Messages, Choice::Some { .. }) => return None,
        (Dialect::Gemini, Choice::Auto) => calling("AUTO", &[]),
        (Dialect::Gemini, Choice::None) => calling("NONE", &[]),
        (Dialect::Gemini, Choice::Any) => calling("ANY", &[]),
        (Dialect::Gemini, Choice::One) => calling("ANY", &["ls"]),
        (Dialect::Gemini, Choice::Some { required }) => {
            calling(if required { "ANY" } else { "VALIDATED" }, &["ls", "cat"])
        }
    };
    Some(value)
}

fn calling(mode: &str, names: &[&str]) -> Value {
    let mut config = json!({"mode": mode});
    if !names.is_empty() {
        config["allowedFunctionNames"] = json!(names);
    }
    json!({"functionCallingConfig": config})
}

fn member(dialect: Dialect) -> &'static str {
    if dialect == Dialect::Gemini { "toolConfig" } else { "tool_choice" }
}

#[tokio::test]
async fn every_choice_among_tools_means_the_same_at_every_provider() {
    let upstreams = Upstreams::start().await;
    upstreams.world.upstream.strict(true);
    let some = [true, false].map(|required| Choice::Some { required });
    for (client, upstream) in pairs() {
        for choice in [Choice::Auto, Choice::None, Choice::Any, Choice::One].into_iter().chain(some) {
            let Some(words) = chosen(client, choice) else { continue };
            let more = json!({"tools": functions(client, &["ls", "cat", "rm"]), member(client): words});
            let (sent, _) = arrives(&upstreams, client, upstream, &more).await;
            let case = format!("{client} over {upstream}, {choice:?}: {sent}");
            // Where a choice among some cannot be said, these tools alone are told of.
            let narrowed = match (upstream, choice) {
                (Dialect::Chat | Dialect::Messages, Choice::Some { required }) => Some(required),
                (Dialect::Gemini, Choice::Some { required: false }) => Some(false),
                _ => None,
            };
            let (names, said) = match narrowed {
                Some(required) => (vec!["ls", "cat"], if required { Choice::Any } else { Choice::Auto }),
                None => (vec!["ls", "cat", "rm"], choice),
            };
            assert_eq!(told_of(upstream, &sent), names, "{case}");
            assert_eq!(Some(&sent[member(upstream)]), chosen(upstream, said).as_ref(), "{case}");
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn one_call_at_a_time_is_asked_for_where_it_can_be_and_missed_aloud_elsewhere() {
    let upstreams = Upstreams::start().await;
    for (client, upstream) in pairs() {
        let mut more = match client {
            Dialect::Chat | Dialect::Responses => json!({"parallel_tool_calls": false}),
            Dialect::Messages => json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}),
            Dialect::Gemini => continue,
        };
        more["tools"] = functions(client, &["ls"]);
        let (sent, warnings) = arrives(&upstreams, client, upstream, &more).await;
        let case = format!("{client} over {upstream}, {warnings}: {sent}");
        match upstream {
            Dialect::Chat | Dialect::Responses => assert_eq!(sent["parallel_tool_calls"], false, "{case}"),
            Dialect::Messages => {
                assert_eq!(sent["tool_choice"], json!({"type": "auto", "disable_parallel_tool_use": true}), "{case}");
            }
            Dialect::Gemini => assert!(warnings.contains("DROPPED_PARAMETER:parallel_tool_calls"), "{case}"),
        }
    }
    upstreams.world.check_invariants().await;
}

/// A tool that a client's vendor runs, in its words, and the name a refusal has to say.
fn of_the_vendor(client: Dialect, kind: &str) -> Option<(Value, &'static str)> {
    Some(match (client, kind) {
        (Dialect::Responses, "web_search") => (json!({"type": "web_search"}), "web_search"),
        (Dialect::Responses, "computer") => (
            json!({"type": "computer_use_preview", "display_width": 1024, "display_height": 768, "environment": "linux"}),
            "computer",
        ),
        (Dialect::Messages, "web_search") => {
            (json!({"type": "web_search_20250305", "name": "web_search"}), "web_search")
        }
        (Dialect::Messages, "computer") => (
            json!({"type": "computer_20250124", "name": "computer", "display_width_px": 1024, "display_height_px": 768}),
            "computer",
        ),
        (Dialect::Gemini, "web_search") => (json!({"googleSearch": {}}), "googleSearch"),
        (Dialect::Gemini, "computer") => {
            (json!({"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}), "computerUse")
        }
        _ => return None,
    })
}

/// A search in the words of a provider that runs it.
fn search(upstream: Dialect) -> Option<Value> {
    match upstream {
        Dialect::Chat => None,
        Dialect::Responses => Some(json!({"type": "web_search"})),
        Dialect::Messages => Some(json!({"type": "web_search_20250305", "name": "web_search"})),
        Dialect::Gemini => Some(json!({"googleSearch": {}})),
    }
}

#[tokio::test]
async fn a_vendors_own_tool_goes_where_it_runs_and_is_named_in_the_refusal_elsewhere() {
    let upstreams = Upstreams::start().await;
    for (client, upstream) in pairs() {
        for kind in ["web_search", "computer"] {
            let Some((tool, name)) = of_the_vendor(client, kind) else { continue };
            let case = format!("{kind}, {client} over {upstream}");
            let alone = json!({"tools": [tool]});
            if let Some(theirs) = search(upstream).filter(|_| kind == "web_search") {
                let (sent, warnings) = arrives(&upstreams, client, upstream, &alone).await;
                let told = &sent["tools"][0];
                for (member, value) in theirs.as_object().expect("an object") {
                    assert_eq!(&told[member], value, "{case}: {sent}");
                }
                assert!(!warnings.contains("DROPPED_TOOL"), "{case}: {warnings}");
                continue;
            }
            upstreams.world.set(json!({"translation": {"foreignTools": "refuse"}})).await;
            let before = upstreams.world.calls(upstreams.of(upstream)).len();
            let reply = post(&upstreams, client, upstream, &alone).await;
            assert_eq!(reply.status, 400, "{case}: {}", reply.text());
            assert!(reply.error_message().contains(&format!("`{name}`")), "{case}: {}", reply.text());
            assert_eq!(upstreams.world.calls(upstreams.of(upstream)).len(), before, "{case}");
            upstreams.world.set(json!({"translation": {"foreignTools": "drop"}})).await;
            let (sent, warnings) = arrives(&upstreams, client, upstream, &alone).await;
            assert!(sent["tools"].is_null() && sent[member(upstream)].is_null(), "{case}: {sent}");
            assert_eq!(warnings, format!("DROPPED_TOOL:{name}"), "{case}");
        }
    }
    upstreams.world.check_invariants().await;
}
