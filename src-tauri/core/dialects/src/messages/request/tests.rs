//! What the writer does to requests of other dialects.

use domain::Dialect;
use serde_json::{Value, json};

use super::write;
use crate::canonical::{
    CacheMark, CacheMarks, Effort, IdMap, Media, Origin, OutputFormat, Part, ReasoningMode, Request, Role, Source,
    Target, Tool, ToolChoice, ToolKind, Turn,
};

fn text(text: &str) -> Part {
    Part::Text { text: text.to_owned(), cache: None }
}

fn turn(role: Role, parts: Vec<Part>) -> Turn {
    Turn { role, parts }
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        kind: ToolKind::Function,
        signature: None,
        cache: None,
    }
}

fn result(call_id: &str, content: Vec<Part>) -> Part {
    Part::ToolResult { call_id: call_id.to_owned(), content, is_error: false, cache: None }
}

fn reasoning(signature: Option<&str>, origin: Origin) -> Part {
    Part::Reasoning {
        text: "thought".to_owned(),
        signature: signature.map(str::to_owned),
        encrypted: None,
        item_id: None,
        origin,
    }
}

fn tool(name: &str) -> Tool {
    Tool { name: name.to_owned(), ..Tool::default() }
}

fn asking(turns: Vec<Turn>) -> Request {
    Request { turns, ..Request::new("m", Dialect::Chat) }
}

fn claude() -> Target {
    Target { origin: Origin::Anthropic, ..Target::unknown("claude") }
}

fn written(request: &Request, target: &Target) -> (Value, Vec<(&'static str, String)>, IdMap) {
    let written = write(request, target).unwrap();
    let warnings = written.warnings.into_iter().map(|warning| (warning.code, warning.about)).collect();
    (serde_json::from_slice(&written.body).unwrap(), warnings, written.ids)
}

#[test]
fn a_conversation_begins_with_the_user_and_holds_no_empty_text() {
    let user = |words: &str| json!({"role": "user", "content": words});
    for (turns, expected) in [
        (vec![turn(Role::Assistant, vec![text("hi ")])], json!([user("."), {"role": "assistant", "content": "hi"}])),
        (vec![turn(Role::User, vec![text(" "), text("hi")])], json!([user("hi")])),
        (vec![turn(Role::User, vec![text("a")]), turn(Role::Assistant, vec![text(" ")])], json!([user("a")])),
        (
            vec![turn(Role::User, vec![text("a")]), turn(Role::System, vec![text("mind")])],
            json!([{"role": "user", "content": [
                {"type": "text", "text": "a"},
                {"type": "text", "text": "<system>\nmind\n</system>"},
            ]}]),
        ),
    ] {
        let (body, _, _) = written(&asking(turns), &claude());
        assert_eq!(body["messages"], expected);
        assert_eq!(body["max_tokens"], 32_000, "required, so never left out");
    }
    let only_system = Request { system: vec![text("be kind")], ..asking(Vec::new()) };
    assert_eq!(written(&only_system, &claude()).0["messages"], json!([user(".")]));
}

#[test]
fn a_prefill_is_continued_by_the_user_where_the_model_refuses_it() {
    let turns = vec![turn(Role::User, vec![text("a")]), turn(Role::Assistant, vec![text("b")])];
    let adaptive = Target { adaptive_thinking: true, ..claude() };
    for (target, expected) in [(claude(), 2), (adaptive, 3)] {
        let (body, _, _) = written(&asking(turns.clone()), &target);
        assert_eq!(body["messages"].as_array().unwrap().len(), expected);
    }
}

#[test]
fn thinking_goes_to_its_maker_with_its_proof_or_not_at_all() {
    for (part, target, stays) in [
        (reasoning(Some("sig"), Origin::Anthropic), claude(), true),
        (reasoning(None, Origin::Anyone), claude(), false),
        (reasoning(Some("sig"), Origin::Google), claude(), false),
        (reasoning(Some("sig"), Origin::Anthropic), Target::unknown("m"), false),
    ] {
        let turns = vec![
            turn(Role::User, vec![text("a")]),
            turn(Role::Assistant, vec![part, text("b")]),
            turn(Role::User, vec![text("c")]),
        ];
        let (body, warnings, _) = written(&asking(turns), &target);
        assert_eq!(body["messages"][1]["content"].is_array(), stays);
        assert_eq!(warnings.is_empty(), stays);
    }
}

#[test]
fn a_tool_loop_without_its_thinking_goes_on_without_thinking() {
    let looped = |parts: Vec<Part>| {
        let parts = parts.into_iter().chain([call("toolu_1", "ls", "")]).collect();
        let turns = vec![
            turn(Role::User, vec![text("a")]),
            turn(Role::Assistant, parts),
            turn(Role::User, vec![result("toolu_1", vec![text("b")])]),
        ];
        let mut request = Request { tools: vec![tool("ls")], ..asking(turns) };
        request.reasoning.mode = ReasoningMode::Effort(Effort::Low);
        request
    };
    for (parts, thinks) in [(vec![reasoning(Some("s"), Origin::Anthropic)], true), (vec![], false)] {
        let (body, _, _) = written(&looped(parts), &claude());
        assert_eq!(body["thinking"]["type"] == "enabled", thinks);
        assert_eq!(body["messages"][1]["content"].as_array().unwrap().last().unwrap()["input"], json!({}));
    }
}

#[test]
fn calls_and_results_share_an_id_the_vendor_takes_and_names_find_back() {
    let turns = vec![
        turn(Role::User, vec![text("a")]),
        turn(Role::Assistant, vec![call("functions.read:0", "fs.read", "{\"b\":1,\"a\":9007199254740993}")]),
        turn(Role::User, vec![result("functions.read:0", vec![text("ok")])]),
    ];
    let (body, _, ids) = written(&Request { tools: vec![tool("fs.read")], ..asking(turns) }, &claude());
    let block = &body["messages"][1]["content"][0];
    assert_eq!(block["id"], body["messages"][2]["content"][0]["tool_use_id"]);
    assert!(block["id"].as_str().unwrap().starts_with("toolu_"));
    assert_eq!((&block["name"], &body["tools"][0]["name"]), (&json!("fs_read"), &json!("fs_read")));
    assert_eq!(body["tools"][0]["input_schema"], json!({"type": "object", "properties": {}}));
    assert_eq!(ids.name("fs_read"), "fs.read");
    assert_eq!(block["input"].to_string(), "{\"b\":1,\"a\":9007199254740993}");
}

#[test]
fn free_text_tools_are_called_with_an_object() {
    let mut patch = tool("apply_patch");
    patch.kind = ToolKind::Custom;
    let mut made = call("c1", "apply_patch", "*** Begin");
    if let Part::ToolCall { kind, .. } = &mut made {
        *kind = ToolKind::Custom;
    }
    let turns = vec![
        turn(Role::User, vec![text("a")]),
        turn(Role::Assistant, vec![made]),
        turn(Role::User, vec![result("c1", vec![])]),
    ];
    let (body, _, ids) = written(&Request { tools: vec![patch], ..asking(turns) }, &claude());
    assert_eq!(body["messages"][1]["content"][0]["input"], json!({"input": "*** Begin"}));
    assert_eq!(body["tools"][0]["input_schema"]["required"], json!(["input"]));
    assert_eq!(ids.kind("apply_patch"), &ToolKind::Custom);
}

#[test]
fn the_choice_of_tools_is_said_in_this_dialects_words() {
    let subset = |required| ToolChoice::Subset { names: vec!["b".to_owned()], required };
    for (choice, parallel, expected, tools) in [
        (None, None, Value::Null, 2),
        (None, Some(false), json!({"type": "auto", "disable_parallel_tool_use": true}), 2),
        (Some(ToolChoice::Auto), None, json!({"type": "auto"}), 2),
        (Some(ToolChoice::None), Some(false), json!({"type": "none"}), 2),
        (Some(ToolChoice::Any), Some(true), json!({"type": "any", "disable_parallel_tool_use": false}), 2),
        (Some(ToolChoice::One("a".to_owned())), None, json!({"type": "tool", "name": "a"}), 2),
        (Some(subset(true)), None, json!({"type": "any"}), 1),
        (Some(subset(false)), None, json!({"type": "auto"}), 1),
    ] {
        let mut request = asking(vec![turn(Role::User, vec![text("a")])]);
        request.tools = vec![tool("a"), tool("b")];
        request.tool_choice = choice.clone();
        request.parallel_tool_calls = parallel;
        let (body, _, _) = written(&request, &claude());
        assert_eq!(body["tool_choice"], expected, "{choice:?}");
        assert_eq!(body["tools"].as_array().unwrap().len(), tools, "{choice:?}");
    }
}

#[test]
fn structured_answers_are_native_forced_or_asked_for() {
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let list = json!({"type": "array", "items": {}});
    let old = || Target { takes_json_schema: false, ..claude() };
    for (schema, target, tools, effort, expected) in [
        (&closed, claude(), vec![], None, "native"),
        (&open, claude(), vec![], None, "tool"),
        (&closed, old(), vec![], None, "tool"),
        (&closed, old(), vec![tool("ls")], None, "asked"),
        (&closed, old(), vec![], Some(Effort::Low), "asked"),
        (&list, old(), vec![], None, "asked"),
    ] {
        let mut request = Request { tools, ..asking(vec![turn(Role::User, vec![text("a")])]) };
        let name = "my answer".to_owned();
        request.output_format =
            OutputFormat::JsonSchema { name, description: None, schema: schema.clone(), strict: None };
        request.reasoning.mode = effort.map(ReasoningMode::Effort).unwrap_or_default();
        let (body, warnings, ids) = written(&request, &target);
        let how = match (&body["output_config"]["format"], &ids.format_tool, body["system"].as_str()) {
            (format, None, None) if format["schema"] == *schema => "native",
            (Value::Null, Some(tool), None) if body["tool_choice"]["name"] == tool.as_str() => "tool",
            (Value::Null, None, Some(asked)) if asked.contains("JSON schema") => "asked",
            _ => "neither",
        };
        assert_eq!(how, expected, "{body:#}");
        assert_eq!(warnings.is_empty(), expected == "native");
    }
}

#[test]
fn at_most_four_cache_marks_are_sent_and_some_are_set_where_wanted() {
    let marked = || Part::Text { text: "a".to_owned(), cache: Some(CacheMark { ttl: None }) };
    let many = asking(vec![turn(Role::User, (0..6).map(|_| marked()).collect())]);
    let (body, warnings, _) = written(&many, &claude());
    let marks: Vec<_> = body["messages"][0]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block.get("cache_control").is_some())
        .collect();
    assert_eq!(marks, [false, false, true, true, true, true]);
    assert_eq!(warnings, [("DROPPED_PART", "cache_control".to_owned())]);

    let turns = (0..3).flat_map(|_| [turn(Role::User, vec![text("a")]), turn(Role::Assistant, vec![text("b")])]);
    let mut request = asking(turns.chain([turn(Role::User, vec![text("c")])]).collect());
    request.system = vec![text("s")];
    request.tools = vec![tool("x"), tool("y")];
    for (cache_marks, expected) in [(CacheMarks::Kept, 0), (CacheMarks::Placed, 4), (CacheMarks::Dropped, 0)] {
        let (body, _, _) = written(&request, &Target { cache_marks, ..claude() });
        assert_eq!(body.to_string().matches("cache_control").count(), expected);
    }
    let (body, warnings, _) = written(&many, &Target { cache_marks: CacheMarks::Dropped, ..claude() });
    assert_eq!((body.to_string().matches("cache_control").count(), warnings.len()), (0, 0));
}

#[test]
fn what_cannot_be_shown_is_said_to_be_missing() {
    let inline = |mime: &str, data: &str| Source::Inline { mime: mime.to_owned(), data: data.to_owned() };
    let media = |source| Media { source, name: None, detail: None };
    let image = |source| Part::Image { media: media(source), cache: None };
    let document = |source| Part::Document { media: media(source), cache: None };
    let blind = || Target { takes_images: false, ..claude() };
    for (part, target, expected) in [
        (image(inline("image/png", "AAAA")), claude(), "image"),
        (image(inline("image/tiff", "AAAA")), claude(), "text"),
        (image(inline("image/png", "AAAA")), blind(), "text"),
        (image(Source::File("f".to_owned())), claude(), "text"),
        (document(inline("application/pdf", "AAAA")), claude(), "document"),
        (document(inline("text/plain", "aGk=")), claude(), "document"),
        (document(inline("application/zip", "AAAA")), claude(), "text"),
        (Part::Audio { media: media(inline("audio/wav", "AAAA")) }, claude(), "text"),
    ] {
        let turns = vec![turn(Role::User, vec![part.clone(), text("b")])];
        let (body, warnings, _) = written(&asking(turns), &target);
        assert_eq!(body["messages"][0]["content"][0]["type"], expected, "{part:?}");
        assert_eq!(warnings.is_empty(), expected != "text", "{part:?}");
    }
}
