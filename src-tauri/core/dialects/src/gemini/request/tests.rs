//! What the writer does for conversations and options of other dialects.

use domain::Dialect;
use serde_json::{Value, json};

use super::{read, write};
use crate::canonical::{
    Effort, Media, Origin, OutputFormat, Part, Reasoning, ReasoningMode, Request, Role, Source, Target, Tool,
    ToolChoice, ToolKind, Turn, Warning, Written,
};

fn text(text: &str) -> Part {
    Part::Text { text: text.to_owned(), cache: None }
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
    Part::ToolCall { id, name, arguments, kind: ToolKind::Function, signature: None, cache: None }
}

fn result(call_id: &str, content: Vec<Part>, is_error: bool) -> Part {
    Part::ToolResult { call_id: call_id.to_owned(), content, is_error, cache: None }
}

fn thought(text: &str, signature: Option<&str>, origin: Origin) -> Part {
    let signature = signature.map(str::to_owned);
    Part::Reasoning { text: text.to_owned(), signature, encrypted: None, item_id: None, origin }
}

fn encrypted(proof: &str, origin: Origin) -> Part {
    Part::Reasoning { text: String::new(), signature: None, encrypted: Some(proof.to_owned()), item_id: None, origin }
}

fn image(source: Source) -> Part {
    Part::Image { media: Media { source, name: None, detail: None }, cache: None }
}

fn png() -> Part {
    image(Source::Inline { mime: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() })
}

fn chat(turns: Vec<(Role, Vec<Part>)>) -> Request {
    let turns = turns.into_iter().map(|(role, parts)| Turn { role, parts }).collect();
    Request { turns, ..Request::new("m", Dialect::Chat) }
}

fn google() -> Target {
    Target { origin: Origin::Google, ..Target::unknown("gemini-2.5-flash") }
}

fn gemini3() -> Target {
    Target { thinking_level: true, ..Target { model: "gemini-3-flash".to_owned(), ..google() } }
}

fn written(request: &Request, target: &Target) -> (Value, Written) {
    let written = write(request, target).expect("a request Gemini can have");
    (serde_json::from_slice(&written.body).expect("JSON"), written)
}

fn contents(request: &Request, target: &Target) -> Value {
    written(request, target).0["contents"].take()
}

fn codes(written: &Written) -> Vec<(&'static str, &str)> {
    written.warnings.iter().map(|Warning { code, about }| (*code, about.as_str())).collect()
}

#[test]
fn conversations_are_made_legal() {
    use Role::{Assistant, System, User};
    for (why, turns, expected) in [
        ("somebody has to speak", vec![], json!([{"role": "user", "parts": [{"text": "."}]}])),
        (
            "the user speaks first",
            vec![(Assistant, vec![text("Hi")]), (User, vec![text("Yo")])],
            json!([
                {"role": "user", "parts": [{"text": "."}]},
                {"role": "model", "parts": [{"text": "Hi"}]},
                {"role": "user", "parts": [{"text": "Yo"}]},
            ]),
        ),
        (
            "speakers alternate, and empty text is nobody's",
            vec![(User, vec![text("a"), text(" ")]), (User, vec![text("b")])],
            json!([{"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}]),
        ),
        (
            "the system in the middle is told to the user's side",
            vec![
                (User, vec![text("a")]),
                (Assistant, vec![text("b")]),
                (System, vec![text("mind")]),
                (User, vec![text("c")]),
            ],
            json!([
                {"role": "user", "parts": [{"text": "a"}]},
                {"role": "model", "parts": [{"text": "b"}]},
                {"role": "user", "parts": [{"text": "<system>\nmind\n</system>"}, {"text": "c"}]},
            ]),
        ),
        (
            "all results stand together, what they brought behind them",
            vec![
                (User, vec![text("a")]),
                (Assistant, vec![call("1", "f", "{\"x\": 1}"), call("2", "g", "")]),
                (User, vec![result("2", vec![text("two"), png()], true)]),
                (User, vec![result("1", vec![text("{\"n\":1.50}")], false), text("go on")]),
            ],
            json!([
                {"role": "user", "parts": [{"text": "a"}]},
                {"role": "model", "parts": [
                    {"functionCall": {"name": "f", "args": {"x": 1}}}, {"functionCall": {"name": "g", "args": {}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "f", "response": {"n": 1.5}}},
                    {"functionResponse": {"name": "g", "response": {"error": "two"}}},
                    {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
                    {"text": "go on"},
                ]},
            ]),
        ),
    ] {
        assert_eq!(contents(&chat(turns), &google()), expected, "{why}");
    }
}

#[test]
fn signatures_go_back_to_google_on_the_call_they_belong_to() {
    let signed = |name: &str, signature: &str| match call(name, name, "{}") {
        Part::ToolCall { id, name, arguments, kind, cache, .. } => {
            Part::ToolCall { id, name, arguments, kind, signature: Some(signature.to_owned()), cache }
        }
        other => other,
    };
    let plain = |name: &str| json!({"functionCall": {"name": name, "args": {}}});
    let with = |name: &str, proof: &str| json!({"functionCall": {"name": name, "args": {}}, "thoughtSignature": proof});
    let results = |names: &[&str]| names.iter().map(|name| result(name, vec![text("ok")], false)).collect::<Vec<_>>();
    for (target, parts, expected) in [
        (google(), vec![signed("a", "s"), call("b", "b", "{}")], vec![with("a", "s"), plain("b")]),
        (Target::unknown("m"), vec![signed("a", "s")], vec![plain("a")]),
        (google(), vec![call("a", "a", "{}")], vec![plain("a")]),
        (
            gemini3(),
            vec![call("a", "a", "{}"), call("b", "b", "{}")],
            vec![with("a", "skip_thought_signature_validator"), plain("b")],
        ),
        (gemini3(), vec![thought("", Some("s"), Origin::Google), call("a", "a", "{}")], vec![with("a", "s")]),
        (gemini3(), vec![encrypted("s", Origin::Google), call("a", "a", "{}")], vec![with("a", "s")]),
        (google(), vec![encrypted("s", Origin::OpenAi), call("a", "a", "{}")], vec![plain("a")]),
        (google(), vec![thought("hm", Some("s"), Origin::Anthropic), call("a", "a", "{}")], vec![plain("a")]),
        (
            google(),
            vec![text("t"), thought("", Some("s"), Origin::Google), signed("a", "u")],
            vec![json!({"text": "t", "thoughtSignature": "s"}), with("a", "u")],
        ),
    ] {
        let names: Vec<&str> = ["a", "b"]
            .into_iter()
            .take(expected.iter().filter(|part| part["functionCall"].is_object()).count())
            .collect();
        let request =
            chat(vec![(Role::User, vec![text("q")]), (Role::Assistant, parts), (Role::User, results(&names))]);
        assert_eq!(contents(&request, &target)[1]["parts"], Value::Array(expected));
    }
}

#[test]
fn thinking_is_asked_for_in_the_measure_of_the_model() {
    let pro = Target { model: "gemini-2.5-pro".to_owned(), ..google() };
    let pro3 = Target { model: "gemini-3-pro".to_owned(), ..gemini3() };
    for (mode, target, expected) in [
        (ReasoningMode::Default, &google(), Value::Null),
        (ReasoningMode::Off, &google(), json!({"thinkingBudget": 0})),
        (ReasoningMode::Off, &pro, json!({"thinkingBudget": 128})),
        (ReasoningMode::Off, &gemini3(), json!({"thinkingLevel": "minimal"})),
        (ReasoningMode::Off, &pro3, json!({"thinkingLevel": "low"})),
        (ReasoningMode::Effort(Effort::High), &google(), json!({"thinkingBudget": 24_576})),
        (ReasoningMode::Effort(Effort::Max), &pro, json!({"thinkingBudget": 32_768})),
        (ReasoningMode::Effort(Effort::Medium), &gemini3(), json!({"thinkingLevel": "medium"})),
        (ReasoningMode::Budget(5_000), &google(), json!({"thinkingBudget": 5_000})),
        (ReasoningMode::Budget(5_000), &gemini3(), json!({"thinkingLevel": "medium"})),
        (ReasoningMode::Adaptive(None), &google(), json!({"thinkingBudget": -1})),
        (ReasoningMode::Adaptive(None), &gemini3(), Value::Null),
    ] {
        let reasoning = Reasoning { mode, ..Reasoning::default() };
        let request = Request { reasoning, ..chat(vec![]) };
        let config = written(&request, target).0["generationConfig"]["thinkingConfig"].take();
        assert_eq!(config, expected, "{mode:?} {}", target.model);
    }
    let gemma = Target { unsupported: vec!["thinkingConfig".to_owned()], ..google() };
    let reasoning = Reasoning { mode: ReasoningMode::Effort(Effort::Low), visible: Some(true), summary: None };
    let (body, written) = written(&Request { reasoning, ..chat(vec![]) }, &gemma);
    assert_eq!((body.get("generationConfig"), codes(&written)), (None, vec![("DROPPED_PARAMETER", "reasoning")]));
}

#[test]
fn tools_get_legal_names_clean_schemas_and_a_choice() {
    let tool = |name: &str, schema: Option<Value>| Tool { name: name.to_owned(), schema, ..Tool::default() };
    let schema = json!({"type": "object", "properties": {"a": {"const": "x"}}, "additionalProperties": false});
    let request = Request {
        tools: vec![tool("mcp/read file", Some(schema)), tool("now", None)],
        tool_choice: Some(ToolChoice::One("mcp/read file".to_owned())),
        parallel_tool_calls: Some(false),
        ..chat(vec![])
    };
    let (body, written) = written(&request, &google());
    assert_eq!(
        body["tools"],
        json!([{"functionDeclarations": [
            {"name": "mcp_read_file", "parameters": {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}}},
            {"name": "now"},
        ]}])
    );
    let config = json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["mcp_read_file"]}});
    assert_eq!(body["toolConfig"], config);
    assert_eq!(written.ids.name("mcp_read_file"), "mcp/read file");
    assert_eq!(written.ids.origin, Origin::Google);
    assert_eq!(codes(&written), [("DROPPED_PARAMETER", "parallel_tool_calls")]);
}

#[test]
fn a_form_of_answer_is_set_or_beside_functions_of_older_models_asked_for() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    let format = OutputFormat::JsonSchema { name: "n".to_owned(), description: None, schema, strict: Some(true) };
    let function = Tool { name: "f".to_owned(), ..Tool::default() };
    let clean = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for (tools, target, mime, schema, emulated) in [
        (vec![], google(), json!("application/json"), clean.clone(), false),
        (vec![function.clone()], gemini3(), json!("application/json"), clean, false),
        (vec![function], google(), Value::Null, Value::Null, true),
        (vec![], Target { takes_json_schema: false, ..google() }, json!("application/json"), Value::Null, true),
    ] {
        let request = Request { output_format: format.clone(), tools, ..chat(vec![]) };
        let (body, written) = written(&request, &target);
        let config = &body["generationConfig"];
        assert_eq!((&config["responseMimeType"], &config["responseSchema"]), (&mime, &schema));
        assert_eq!(body["systemInstruction"].is_object(), emulated);
        assert_eq!(codes(&written).contains(&("EMULATED_FORMAT", "response_format")), emulated);
    }
}

#[test]
fn limits_are_kept_and_what_has_no_word_is_told() {
    let mut request = Request { max_output: Some(100_000), verbosity: Some("low".to_owned()), ..chat(vec![]) };
    request.sampling.temperature = Some(3.0);
    request.sampling.stop = ["", "a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
    request.dropped = vec!["prediction".to_owned()];
    let target = Target { max_output: Some(65_536), unsupported: vec!["seed".to_owned()], ..google() };
    request.sampling.seed = Some(1);
    let (body, written) = written(&request, &target);
    let expected = json!({"temperature": 2.0, "maxOutputTokens": 65_536, "stopSequences": ["a", "b", "c", "d", "e"]});
    assert_eq!(body["generationConfig"], expected);
    let about: Vec<&str> = codes(&written).into_iter().map(|(_, about)| about).collect();
    assert_eq!(about, ["prediction", "seed", "stop", "verbosity"]);
}

#[test]
fn what_cannot_be_said_or_opened_is_refused_or_omitted() {
    let with = |part: Part| chat(vec![(Role::User, vec![part])]);
    let url = with(image(Source::Url("https://example.org/a.png".to_owned())));
    assert_eq!(write(&url, &google()).expect_err("another's address").field, "contents");
    let kept = with(image(Source::File("gs://bucket/a.png".to_owned())));
    let file = json!({"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/a.png"}});
    assert_eq!(contents(&kept, &google())[0]["parts"][0], file);
    let blind = Target { takes_images: false, ..google() };
    let (body, written) = written(&with(png()), &blind);
    assert_eq!(body["contents"][0]["parts"], json!([{"text": "[image omitted]"}]));
    assert_eq!(codes(&written), [("DROPPED_PART", "image")]);
    let further = Request { previous_response_id: Some("resp_1".to_owned()), ..chat(vec![]) };
    assert_eq!(write(&further, &google()).expect_err("no store").code, "previous_response_not_found");
}

#[test]
fn a_model_without_instructions_is_told_them_by_the_user() {
    let request =
        Request { system: vec![text("Be kind."), text("Be brief.")], ..chat(vec![(Role::User, vec![text("Hi")])]) };
    let (body, _) = written(&request, &Target { system_role: false, ..google() });
    assert_eq!(body.get("systemInstruction"), None);
    assert_eq!(
        body["contents"],
        json!([{"role": "user", "parts": [{"text": "Be kind.\n\nBe brief."}, {"text": "Hi"}]}])
    );
}

#[test]
fn what_is_no_request_is_refused_by_field() {
    for (body, field) in [
        (&b"\xff"[..], "body"),
        (b"[]", "body"),
        (br#"{"contents": [{"parts": [{"text": {}}]}]}"#, "contents[0].parts[0].text"),
        (br#"{"contents": "hi"}"#, "contents"),
        (br#"{"generationConfig": {"seed": "x"}}"#, "generationConfig.seed"),
        (br#"{"tools": [{"functionDeclarations": [{}]}]}"#, "tools[0].functionDeclarations[0].name"),
    ] {
        assert_eq!(read(body, "m", false).expect_err("no request").field, field);
    }
}

#[test]
fn a_thought_that_was_streamed_is_one_thought_with_the_proof_of_its_last_piece() {
    let proof = crate::canonical::reasoning::seal("gAAA", Origin::OpenAi, Dialect::Gemini).expect("a mark");
    let thought = |text: &str| json!({"text": text, "thought": true});
    let mut last = thought("");
    last["thoughtSignature"] = json!(proof);
    let body = json!({"contents": [{"role": "model", "parts": [thought("Berlin "), thought("it is"), last]}]});
    let request = read(body.to_string().as_bytes(), "m", true).expect("a request");
    assert!(
        matches!(&request.turns[0].parts[..], [Part::Reasoning { text, encrypted: Some(data), origin: Origin::OpenAi, .. }]
            if text == "Berlin it is" && data == "gAAA"),
        "{:?}",
        request.turns
    );
}

#[test]
fn a_result_is_taken_out_of_what_agents_wrap_it_in() {
    for (response, expected) in [
        (r#"{"output": "a\nb"}"#, Some(("a\nb", false))),
        (r#"{"result": "a"}"#, Some(("a", false))),
        (r#"{"error": "no"}"#, Some(("no", true))),
        (r#"{"result": {"a": [1, 2]}}"#, Some((r#"{"a":[1,2]}"#, false))),
        (r#"{"output": null}"#, Some(("null", false))),
        (r#"{"output": "a", "error": null}"#, Some((r#"{"output":"a","error":null}"#, false))),
        (r#"{"output": "a", "code": 0}"#, Some((r#"{"output":"a","code":0}"#, false))),
        (r#"{"name": "f", "content": "a"}"#, Some(("a", false))),
        (r#""a""#, Some(("a", false))),
        ("{}", None),
    ] {
        let body =
            format!(r#"{{"contents":[{{"parts":[{{"functionResponse":{{"name":"f","response":{response}}}}}]}}]}}"#);
        let request = read(body.as_bytes(), "m", false).expect("a request");
        let Part::ToolResult { content, is_error, .. } = &request.turns[0].parts[0] else { panic!("no result") };
        let told = content.first().map(|part| match part {
            Part::Text { text, .. } => (text.as_str(), *is_error),
            other => panic!("{other:?}"),
        });
        assert_eq!(told, expected, "{response}");
    }
}
