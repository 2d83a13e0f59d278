//! What a Chat server cannot take is left out, said otherwise or refused, as its target tells (gateway specification,
//! 2.3 to 2.9 and 2.16).
#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]

use dialects::canonical::{
    CacheMark, Effort, Media, Origin, Part, Reasoning, ReasoningMode, Request, Role, Source, Target, ToolKind, Turn,
};
use dialects::translate;
use domain::Dialect;
use serde_json::{Value, json};

fn read(body: Value) -> Request {
    let body = serde_json::to_vec(&body).expect("JSON");
    translate::read_request(Dialect::Chat, &body, "", false).expect("a good request")
}

fn text(text: &str) -> Part {
    Part::Text { text: text.to_owned(), cache: None }
}

/// The request in its target's words, and the warnings as `CODE about`.
fn write(request: &Request, target: &Target) -> (Value, Vec<String>) {
    let written = translate::write_request(Dialect::Chat, request, target).expect("is written");
    let warnings = written.warnings.iter().map(|warning| format!("{} {}", warning.code, warning.about)).collect();
    (serde_json::from_slice(&written.body).expect("JSON"), warnings)
}

struct Case {
    name: &'static str,
    request: Request,
    target: Target,
    /// JSON pointers and what is there; null where nothing is.
    expected: Vec<(&'static str, Value)>,
    warnings: Vec<&'static str>,
}

fn check(cases: Vec<Case>) {
    for Case { name, request, target, expected, warnings } in cases {
        let (body, warned) = write(&request, &target);
        for (pointer, value) in expected {
            let found = body.pointer(pointer).cloned().unwrap_or_default();
            assert_eq!(found, value, "{name}: {pointer} in {body:#}");
        }
        assert_eq!(warned, warnings, "{name}");
    }
}

fn from(source: Dialect, body: Value) -> Request {
    Request { source: source.into(), ..read(body) }
}

fn hello() -> Value {
    json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])
}

fn plain() -> Target {
    Target::unknown("m")
}

#[test]
fn system_text_takes_the_role_that_the_server_has() {
    let request = || read(json!({"messages": hello()}));
    let middle = || Request {
        turns: vec![
            Turn { role: Role::User, parts: vec![text("Hi")] },
            Turn { role: Role::Assistant, parts: vec![text("Yes?")] },
            Turn { role: Role::System, parts: vec![text("Be kind.")] },
            Turn { role: Role::User, parts: vec![text("So")] },
        ],
        ..request()
    };
    check(vec![
        Case {
            name: "system",
            request: request(),
            target: plain(),
            expected: vec![("/messages/0/role", json!("system")), ("/messages/0/content", json!("Be brief."))],
            warnings: vec![],
        },
        Case {
            name: "developer",
            request: request(),
            target: Target { developer_role: true, ..plain() },
            expected: vec![("/messages/0/role", json!("developer"))],
            warnings: vec![],
        },
        Case {
            name: "in the middle it stays in its place",
            request: middle(),
            target: plain(),
            expected: vec![("/messages/3", json!({"role": "system", "content": "Be kind."}))],
            warnings: vec![],
        },
        Case {
            name: "without the role it is said by the user",
            request: middle(),
            target: Target { system_role: false, string_content_only: true, ..plain() },
            expected: vec![
                ("/messages/0", json!({"role": "user", "content": "Be brief.\nHi"})),
                ("/messages/2", json!({"role": "user", "content": "<system>\nBe kind.\n</system>\nSo"})),
            ],
            warnings: vec![],
        },
    ]);
}

/// Several answers at once are nothing that another dialect could be asked for.
fn one_answer(mut request: Request) -> Request {
    let refusal = translate::write_request(Dialect::Chat, &request, &plain()).expect_err("two answers");
    assert_eq!(refusal.field, "n");
    request.sampling.n = None;
    request
}

#[test]
fn limits_sampling_and_options_follow_the_target() {
    let full = || {
        json!({"messages": hello(), "max_tokens": 9000, "temperature": 1.0, "top_p": 0.5, "top_k": 40, "stream": true,
            "stop": ["1", "2", "3", "4", "5"], "n": 2, "parallel_tool_calls": false, "reasoning_effort": "xhigh",
            "prompt_cache_key": "k", "verbosity": "low", "user": "u", "metadata": {"a": "b"}, "store": false,
            "service_tier": "auto", "tools": [{"type": "function", "function": {"name": "ls"}}]})
    };
    check(vec![
        Case {
            name: "a reasoning model of OpenAI",
            request: read(full()),
            target: Target {
                origin: Origin::OpenAi,
                max_completion_tokens: true,
                max_output: Some(4096),
                efforts: vec![Effort::Low, Effort::High],
                unsupported: ["temperature", "top_p", "stop", "n"].map(str::to_owned).to_vec(),
                ..plain()
            },
            expected: vec![
                ("/max_completion_tokens", json!(4096)),
                ("/max_tokens", Value::Null),
                ("/temperature", Value::Null),
                ("/stop", Value::Null),
                ("/top_k", Value::Null),
                ("/reasoning_effort", json!("high")),
                ("/prompt_cache_key", json!("k")),
                ("/verbosity", json!("low")),
                ("/service_tier", json!("auto")),
                ("/store", json!(false)),
                ("/stream_options", json!({"include_usage": true})),
                ("/parallel_tool_calls", json!(false)),
            ],
            warnings: vec![
                "DROPPED_PARAMETER n",
                "DROPPED_PARAMETER stop",
                "DROPPED_PARAMETER temperature",
                "DROPPED_PARAMETER top_k",
                "DROPPED_PARAMETER top_p",
            ],
        },
        Case {
            name: "a small server, and a client of another dialect",
            request: one_answer(from(Dialect::Messages, full())),
            target: Target {
                stream_options: false,
                parallel_flag: false,
                reasoning_effort: false,
                top_k: true,
                ..plain()
            },
            expected: vec![
                ("/max_tokens", json!(9000)),
                ("/max_completion_tokens", Value::Null),
                ("/top_k", json!(40)),
                ("/stop", json!(["1", "2", "3", "4"])),
                ("/n", Value::Null),
                ("/reasoning_effort", Value::Null),
                ("/prompt_cache_key", Value::Null),
                ("/metadata", Value::Null),
                ("/store", Value::Null),
                ("/stream_options", Value::Null),
                ("/parallel_tool_calls", Value::Null),
                ("/user", json!("u")),
                ("/tools/0/function/parameters", json!({"type": "object", "properties": {}})),
            ],
            warnings: vec![
                "DROPPED_PARAMETER metadata",
                "DROPPED_PARAMETER prompt_cache_key",
                "DROPPED_PARAMETER reasoning_effort",
                "DROPPED_PARAMETER service_tier",
                "DROPPED_PARAMETER stop",
                "DROPPED_PARAMETER verbosity",
            ],
        },
        Case {
            name: "without tools there is nothing to choose",
            request: read(json!({"messages": hello(), "tool_choice": "auto", "parallel_tool_calls": true})),
            target: plain(),
            expected: vec![
                ("/tool_choice", Value::Null),
                ("/parallel_tool_calls", Value::Null),
                ("/tools", Value::Null),
            ],
            warnings: vec![],
        },
    ]);
}

#[test]
fn a_form_of_answer_that_the_server_lacks_is_asked_for_in_words() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": true}});
    let request = || json!({"messages": [{"role": "user", "content": "Hi"}], "response_format": format});
    check(vec![
        Case {
            name: "emulated",
            request: read(request()),
            target: Target { takes_json_schema: false, ..plain() },
            expected: vec![
                ("/response_format", json!({"type": "json_object"})),
                ("/messages/0/role", json!("system")),
                (
                    "/messages/0/content",
                    json!(format!("Answer with a JSON object of this schema and nothing else:\n{schema}")),
                ),
            ],
            warnings: vec!["EMULATED_FORMAT n"],
        },
        Case {
            name: "strict is not claimed where another vendor's schema does not earn it",
            request: from(Dialect::Responses, request()),
            target: plain(),
            expected: vec![("/response_format/json_schema/strict", Value::Null), ("/messages/1", Value::Null)],
            warnings: vec![],
        },
        Case {
            name: "the word is said where an object is asked for",
            request: read(json!({"messages": hello(), "response_format": {"type": "json_object"}})),
            target: Target { string_content_only: true, ..plain() },
            expected: vec![("/messages/0/content", json!("Be brief.\nAnswer with a JSON object."))],
            warnings: vec![],
        },
    ]);
}

#[test]
fn reasoning_goes_back_where_it_is_read_and_nowhere_else() {
    let thinking = |origin, signature: Option<&str>| Part::Reasoning {
        text: "Hm.".to_owned(),
        signature: signature.map(str::to_owned),
        encrypted: None,
        item_id: None,
        origin,
    };
    let call = || Part::ToolCall {
        id: "call.1".to_owned(),
        name: "ls".to_owned(),
        arguments: String::new(),
        kind: ToolKind::Function,
        signature: Some("CiQ=".to_owned()),
        cache: None,
    };
    let result =
        || Part::ToolResult { call_id: "call.1".to_owned(), content: vec![text("a")], is_error: true, cache: None };
    let request = |parts: Vec<Part>| Request {
        turns: vec![
            Turn { role: Role::User, parts: vec![text("Hi")] },
            Turn { role: Role::Assistant, parts },
            Turn { role: Role::User, parts: vec![result()] },
        ],
        reasoning: Reasoning { mode: ReasoningMode::Off, ..Reasoning::default() },
        ..Request::new("m", Dialect::Messages)
    };
    check(vec![
        Case {
            name: "replayed as text",
            request: request(vec![thinking(Origin::Anthropic, Some("s")), call()]),
            target: Target { reasoning_replay: true, tool_ids_9_alnum: true, ..plain() },
            expected: vec![
                ("/messages/1/reasoning_content", json!("Hm.")),
                ("/messages/1/reasoning_details", Value::Null),
                ("/messages/1/tool_calls/0/function", json!({"name": "ls", "arguments": "{}"})),
                ("/messages/1/tool_calls/0/extra_content", Value::Null),
                ("/messages/2/content", json!("Error: a")),
                ("/reasoning_effort", Value::Null),
            ],
            warnings: vec![],
        },
        Case {
            name: "demanded where there is none",
            request: request(vec![call()]),
            target: Target { reasoning_replay: true, ..plain() },
            expected: vec![
                ("/messages/1/reasoning_content", json!("")),
                ("/messages/1/content", Value::Null),
                ("/messages/2/tool_call_id", json!("call.1")),
            ],
            warnings: vec![],
        },
        Case {
            name: "with its proof to its maker",
            request: request(vec![thinking(Origin::Anthropic, Some("s")), call()]),
            target: Target { origin: Origin::Anthropic, ..plain() },
            expected: vec![(
                "/messages/1/reasoning_details/0",
                json!({"type": "reasoning.text", "text": "Hm.", "signature": "s", "format": "anthropic-claude-v1"}),
            )],
            warnings: vec![],
        },
        Case {
            name: "the proof of a call goes back to Google",
            request: request(vec![call()]),
            target: Target { origin: Origin::Google, ..plain() },
            expected: vec![(
                "/messages/1/tool_calls/0/extra_content",
                json!({"google": {"thought_signature": "CiQ="}}),
            )],
            warnings: vec![],
        },
        Case {
            name: "and to nobody else",
            request: request(vec![thinking(Origin::Google, Some("s")), text("Done."), call()]),
            target: Target { origin: Origin::Anthropic, ..plain() },
            expected: vec![
                ("/messages/1/reasoning_details", Value::Null),
                ("/messages/1/reasoning_content", Value::Null),
                ("/messages/1/content", json!("Done.")),
            ],
            warnings: vec!["DROPPED_REASONING reasoning"],
        },
    ]);
}

#[test]
fn content_that_the_server_cannot_take_is_named_instead() {
    let image = |source| Part::Image { media: Media { source, name: None, detail: None }, cache: None };
    let document = |source| Part::Document { media: Media { source, name: None, detail: None }, cache: None };
    let png = || Source::Inline { mime: "image/png".to_owned(), data: "AAAA".to_owned() };
    let request = |parts: Vec<Part>| Request {
        turns: vec![Turn { role: Role::User, parts }],
        ..Request::new("m", Dialect::Messages)
    };
    let marked = || Part::Text { text: "Hi".to_owned(), cache: Some(CacheMark { ttl: Some("1h".to_owned()) }) };
    check(vec![
        Case {
            name: "an image for a model that sees none",
            request: request(vec![text("Look"), image(png())]),
            target: Target { takes_images: false, ..plain() },
            expected: vec![("/messages/0/content/1", json!({"type": "text", "text": "[image omitted]"}))],
            warnings: vec!["DROPPED_PART image"],
        },
        Case {
            name: "a file kept at another vendor",
            request: request(vec![document(Source::File("file-1".to_owned()))]),
            target: plain(),
            expected: vec![("/messages/0/content", json!("[file omitted]"))],
            warnings: vec!["DROPPED_PART file"],
        },
        Case {
            name: "a document of plain text",
            request: request(vec![document(Source::Text("All of it.".to_owned()))]),
            target: plain(),
            expected: vec![("/messages/0/content", json!("All of it."))],
            warnings: vec![],
        },
        Case {
            name: "sound for a server of plain text",
            request: request(vec![
                text("Hear"),
                Part::Audio { media: Media { source: png(), name: None, detail: None } },
            ]),
            target: Target { string_content_only: true, ..plain() },
            expected: vec![("/messages/0/content", json!("Hear\n[audio omitted]"))],
            warnings: vec!["DROPPED_PART audio"],
        },
        Case {
            name: "cache marks",
            request: request(vec![marked()]),
            target: plain(),
            expected: vec![("/messages/0/content", json!("Hi"))],
            warnings: vec![],
        },
        Case {
            name: "cache marks where they are honoured",
            request: request(vec![marked()]),
            target: Target { chat_cache_marks: true, ..plain() },
            expected: vec![("/messages/0/content/0/cache_control", json!({"type": "ephemeral", "ttl": "1h"}))],
            warnings: vec![],
        },
    ]);
}

#[test]
fn a_request_that_is_none_is_refused_by_the_name_of_its_field() {
    for (body, field) in [
        ("{", "body"),
        ("[]", "body"),
        ("{}", "messages"),
        (r#"{"messages":{}}"#, "messages"),
        (r#"{"messages":[7]}"#, "messages[0]"),
        (r#"{"messages":[{"role":"user","content":"a"},{"role":"bot","content":"b"}]}"#, "messages[1].role"),
        (r#"{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#, "messages[0].content"),
        (r#"{"messages":[],"tools":[{"type":"function","function":{}}]}"#, "tools[0]"),
        (r#"{"messages":[],"tools":"all"}"#, "tools"),
        (r#"{"messages":[],"response_format":{"type":"json_schema"}}"#, "response_format.json_schema.schema"),
    ] {
        let refusal = translate::read_request(Dialect::Chat, body.as_bytes(), "", false).expect_err(body);
        assert_eq!(refusal.field, field, "{body}: {refusal}");
    }
    let request = Request { previous_response_id: Some("resp_1".to_owned()), ..Request::new("m", Dialect::Responses) };
    let refusal = translate::write_request(Dialect::Chat, &request, &plain()).expect_err("nothing is kept");
    assert_eq!(refusal.code, "previous_response_not_found");
}
