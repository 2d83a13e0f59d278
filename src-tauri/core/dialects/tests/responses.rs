//! Translation from and to OpenAI Responses: what requests mean, what answers look like, and what must hold for all.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests read their fixtures from files"
)]

use std::path::PathBuf;

use bytes::{Bytes, BytesMut};
use dialects::canonical::{Answer, Effort, IdMap, Names, Origin, Request, Target, ToolKind};
use dialects::translate::{Reply, read_answer, read_request, write_answer, write_request, writer};
use dialects::{DeltaKind, Event, FinishReason, Framing, PartKind};
use domain::{Dialect, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

mod support;

fn folder(name: &str) -> PathBuf {
    support::folder(Dialect::Responses).join(name)
}

/// The fixtures of a folder, by name.
fn fixtures(name: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(!files.is_empty(), "no fixtures in {name}");
    let read =
        |file: PathBuf| (file.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read(&file).unwrap());
    files.into_iter().map(read).collect()
}

fn snapshot(folder: PathBuf, name: String, told: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, told));
}

fn read(body: &[u8]) -> Request {
    read_request(Dialect::Responses, body, "", false).unwrap()
}

fn openai() -> Target {
    Target { origin: Origin::OpenAi, developer_role: true, ..Target::unknown("gpt-5") }
}

fn reply(ids: IdMap) -> Reply {
    Reply {
        id: "1".to_owned(),
        model: "m".to_owned(),
        created: 1_764_403_200,
        wants_usage_chunk: false,
        estimated_input: 1,
        ids,
    }
}

#[test]
fn requests_mean_what_their_snapshots_say() {
    for (case, body) in fixtures("requests") {
        snapshot(folder("requests"), format!("{case}.canonical"), &format!("{:#?}", read(&body)));
    }
}

#[test]
fn a_request_of_the_official_shape_is_written_as_it_was_read() {
    for (case, body) in fixtures("official") {
        let written = write_request(Dialect::Responses, &read(&body), &openai()).unwrap();
        let [original, again]: [Value; 2] =
            [&body[..], &written.body[..]].map(|body| serde_json::from_slice(body).unwrap());
        assert_eq!(again, original, "{case}");
        assert!(written.warnings.is_empty(), "{case}: {:?}", written.warnings);
    }
}

#[test]
fn requests_are_written_for_servers_of_every_dialect() {
    let origins = [Origin::Anyone, Origin::Anyone, Origin::Anthropic, Origin::Google];
    for (case, body) in fixtures("requests") {
        for (dialect, origin) in
            [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini].into_iter().zip(origins)
        {
            let target = Target { origin, takes_json_schema: dialect != Dialect::Responses, ..Target::unknown("m") };
            let told = match write_request(dialect, &read(&body), &target) {
                Ok(written) => {
                    let value: Value = serde_json::from_slice(&written.body).unwrap();
                    format!("{value:#}\n{:#?}\n{:#?}", written.warnings, written.ids)
                }
                Err(refusal) => format!("{refusal:#?}"),
            };
            snapshot(folder("requests"), format!("{case}.{dialect}"), &told);
        }
    }
}

#[test]
fn what_only_the_vendor_stores_is_refused_with_the_code_that_makes_codex_send_everything() {
    for (body, field, code) in [
        (
            json!({"model": "m", "input": [{"type": "item_reference", "id": "msg_1"}]}),
            "input[0]",
            "previous_response_not_found",
        ),
        (json!({"model": "m", "input": "a", "prompt": {"id": "pmpt_1"}}), "prompt", "bad_request"),
        (json!({"model": "m", "input": "a", "conversation": "conv_1"}), "conversation", "bad_request"),
        (json!({"model": "m", "input": 7}), "input", "bad_request"),
        (json!({"model": "m", "input": [7]}), "input[0]", "bad_request"),
        (json!([]), "body", "bad_request"),
    ] {
        let refusal = read_request(Dialect::Responses, body.to_string().as_bytes(), "", false).unwrap_err();
        assert_eq!((refusal.field.as_str(), refusal.code), (field, code), "{body}");
    }
    let continued = read(br#"{"model":"m","input":"a","previous_response_id":"resp_1"}"#);
    for dialect in [Dialect::Chat, Dialect::Messages, Dialect::Gemini] {
        let refusal = write_request(dialect, &continued, &Target::unknown("m")).unwrap_err();
        assert_eq!(refusal.code, "previous_response_not_found");
    }
    let empty = read(br#"{"model":"m","input":"a","prompt":null,"conversation":null,"background":false}"#);
    assert!(empty.dropped.is_empty());
}

/// A request of another dialect, changed, as it is written here.
fn written(change: impl FnOnce(&mut Request), target: &Target) -> (Value, Vec<String>) {
    let mut request = read(br#"{"model":"m","input":"hi","stream":true}"#);
    request.source = Dialect::Messages.into();
    change(&mut request);
    let written = write_request(Dialect::Responses, &request, target).unwrap();
    let told = written.warnings.iter().map(|warning| format!("{} {}", warning.code, warning.about)).collect();
    (serde_json::from_slice(&written.body).unwrap(), told)
}

#[test]
fn parameters_follow_what_the_target_knows() {
    use dialects::canonical::{OutputFormat, ReasoningMode};
    let effort = |effort| move |request: &mut Request| request.reasoning.mode = ReasoningMode::Effort(effort);
    let known = Target { efforts: vec![Effort::Low, Effort::High], ..openai() };
    let (body, _) = written(effort(Effort::Max), &known);
    assert_eq!(body["reasoning"], json!({"effort": "high"}));
    assert_eq!((&body["store"], &body["include"]), (&json!(false), &json!(["reasoning.encrypted_content"])));
    let deaf = Target { reasoning_effort: false, ..openai() };
    let (body, warnings) = written(effort(Effort::Low), &deaf);
    assert_eq!((body.get("reasoning"), body.get("include")), (None, None));
    assert_eq!(warnings, ["DROPPED_PARAMETER reasoning"]);
    let (body, _) = written(|request| request.reasoning.mode = ReasoningMode::Off, &openai());
    assert_eq!(body.get("reasoning"), None, "models that cannot be kept from thinking refuse `none`");

    let refusing = Target { unsupported: vec!["temperature".to_owned(), "max_output_tokens".to_owned()], ..openai() };
    let all = |request: &mut Request| {
        request.sampling.temperature = Some(0.1);
        request.sampling.stop = vec!["x".to_owned()];
        request.max_output = Some(1);
        request.user = Some("u".repeat(65));
        request.service_tier = Some("standard_only".to_owned());
    };
    let (body, warnings) = written(all, &refusing);
    assert_eq!((body.get("temperature"), body.get("max_output_tokens"), body.get("stop")), (None, None, None));
    let dropped = ["max_output_tokens", "service_tier", "stop", "temperature", "user"];
    assert_eq!(warnings, dropped.map(|name| format!("DROPPED_PARAMETER {name}")));
    assert_eq!(written(all, &openai()).0["max_output_tokens"], 16);

    let object = |request: &mut Request| request.output_format = OutputFormat::JsonObject;
    let (body, _) = written(object, &openai());
    assert_eq!(body["text"], json!({"format": {"type": "json_object"}}));
    assert!(body["input"][0].to_string().contains("JSON"), "the vendor demands the word");
}

#[test]
fn tools_are_told_flat_and_strict_only_where_they_earn_it() {
    use dialects::canonical::Tool;
    let tools = |request: &mut Request| {
        let strict = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
        let loose = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        for (name, schema) in [("earned", Some(strict)), ("not.earned", Some(loose)), ("none", None)] {
            request.tools.push(Tool { name: name.to_owned(), schema, strict: Some(true), ..Tool::default() });
        }
        request.tools.push(Tool {
            name: "web_search".to_owned(),
            kind: ToolKind::Server("web_search".to_owned()),
            ..Tool::default()
        });
        request.tools.push(Tool {
            name: "computer".to_owned(),
            kind: ToolKind::Server("computer".to_owned()),
            ..Tool::default()
        });
    };
    let (body, warnings) = written(tools, &openai());
    let told: Vec<_> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str(), tool["strict"].as_bool()))
        .collect();
    assert_eq!(
        told,
        [(Some("earned"), Some(true)), (Some("not_earned"), Some(false)), (Some("none"), Some(false)), (None, None)]
    );
    assert_eq!(body["tools"][3], json!({"type": "web_search"}));
    assert_eq!(body["tools"][2]["parameters"], json!({"type": "object", "properties": {}}));
    assert_eq!(warnings, ["DROPPED_TOOL computer"]);
}

/// What a client sees of an answer, whole and streamed.
fn shown(events: &[Event], ids: &IdMap) -> String {
    let mut told = match Answer::fold(events.iter().cloned()) {
        Ok(answer) => {
            let body = write_answer(Dialect::Responses, &answer, &reply(ids.clone()));
            serde_json::to_string_pretty(&serde_json::from_slice::<Value>(&body).unwrap()).unwrap()
        }
        Err(error) => format!("{error:?}"),
    };
    told.push_str("\n\n");
    told.push_str(std::str::from_utf8(&stream(events, ids)).unwrap());
    told
}

fn stream(events: &[Event], ids: &IdMap) -> Bytes {
    let mut writer = writer(Dialect::Responses, reply(ids.clone()));
    let mut out = BytesMut::new();
    for event in events {
        writer.push(event, &mut out);
    }
    writer.end(&mut out);
    out.freeze()
}

#[test]
fn answers_of_every_dialect_are_shown_as_their_snapshots_say() {
    for golden in support::goldens() {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        let (events, _) = support::events(golden.dialect, &frames);
        let origin = match golden.dialect {
            Dialect::Messages => Origin::Anthropic,
            Dialect::Gemini => Origin::Google,
            Dialect::Responses => Origin::OpenAi,
            Dialect::Chat => Origin::Anyone,
        };
        let ids = IdMap { origin, ..IdMap::default() };
        snapshot(support::folder(golden.dialect), format!("{}.responses", golden.case), &shown(&events, &ids));
    }
}

#[test]
fn tools_of_other_kinds_come_back_as_the_client_defined_them() {
    let names = |name: &str, kind, namespace: Option<&str>| Names {
        name: name.to_owned(),
        kind,
        namespace: namespace.map(str::to_owned),
    };
    let ids = IdMap {
        names: [
            ("apply_patch".to_owned(), names("apply_patch", ToolKind::Custom, None)),
            ("local_shell".to_owned(), names("local_shell", ToolKind::LocalShell, None)),
            ("mail__send".to_owned(), names("send", ToolKind::Function, Some("mail"))),
        ]
        .into(),
        ..IdMap::default()
    };
    let mut events = vec![Event::Started { id: None, model: None }];
    for (index, name, arguments) in [
        (0, "apply_patch", r#"{"input":"*** Begin Patch\n"}"#),
        (1, "local_shell", r#"{"command":["ls"],"workdir":"/w","timeout_ms":5}"#),
        (2, "mail__send", ""),
        (3, "apply_patch", "not the form"),
    ] {
        events.push(Event::PartStarted { index, kind: PartKind::ToolCall { id: None, name: name.to_owned() } });
        events.push(Event::Delta { index, kind: DeltaKind::Arguments, text: arguments.to_owned() });
        events.push(Event::PartEnded { index });
    }
    events.push(Event::Finished(FinishReason::ToolCalls));
    snapshot(folder("answers"), "tools-of-other-kinds.responses".to_owned(), &shown(&events, &ids));
}

#[test]
fn a_structured_answer_by_tool_is_text_to_the_client() {
    let ids = IdMap { format_tool: Some("person".to_owned()), ..IdMap::default() };
    let call = PartKind::ToolCall { id: Some("toolu_1".to_owned()), name: "person".to_owned() };
    let events = [
        Event::PartStarted { index: 0, kind: call },
        Event::Delta { index: 0, kind: DeltaKind::Arguments, text: r#"{"name":"Ada"}"#.to_owned() },
        Event::PartEnded { index: 0 },
        Event::Finished(FinishReason::ToolCalls),
    ];
    let (read, _) = support::events(Dialect::Responses, &support::frames(Framing::Sse, [stream(&events, &ids)]));
    let answer = Answer::fold(read).unwrap();
    assert_eq!((&answer.parts[0].kind, answer.parts[0].text.as_str()), (&PartKind::Text, r#"{"name":"Ada"}"#));
    assert_eq!(answer.finish(), FinishReason::End);
}

#[test]
fn whole_answers_are_read_like_their_streams() {
    let completed = json!({
        "id": "resp_1", "object": "response", "model": "m", "status": "completed", "error": null,
        "output": [
            {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gA"},
            {"type": "message", "id": "msg", "role": "assistant", "content": [{"type": "output_text", "text": "hi", "annotations": []}]},
            {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"},
        ],
        "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}},
    });
    let answer = Answer::fold(read_answer(Dialect::Responses, completed.to_string().as_bytes()).unwrap()).unwrap();
    let told: Vec<_> = answer.parts.iter().map(|part| (part.text.as_str(), part.signature.as_str())).collect();
    assert_eq!(told, [("hm", "gA"), ("hi", ""), ("{}", "")]);
    assert_eq!(
        (answer.usage.input_fresh, answer.usage.cache_read, answer.usage.reasoning),
        (Some(6), Some(4), Some(2))
    );
    assert_eq!(answer.finish(), FinishReason::ToolCalls);
    for (body, message) in [
        (json!({"status": "failed", "error": {"code": "server_error", "message": "broke"}, "output": []}), "broke"),
        (json!({"status": "cancelled", "output": []}), "the upstream ended the answer with `cancelled`"),
        (json!({"status": "in_progress", "output": []}), "the upstream ended the answer with `in_progress`"),
        (json!({"error": {"message": "no"}}), "no"),
    ] {
        assert_eq!(
            read_answer(Dialect::Responses, body.to_string().as_bytes()).unwrap_err().message,
            message,
            "{body}"
        );
    }
    assert!(read_answer(Dialect::Responses, b"<html>").is_err());
}

#[test]
fn a_stream_that_fails_leaves_the_shape_of_its_error_to_how_far_it_came() {
    use dialects::StreamProgress;
    let mut writer = writer(Dialect::Responses, reply(IdMap::default()));
    let mut out = BytesMut::new();
    assert_eq!(writer.progress(), StreamProgress::NothingSent);
    writer.push(&Event::Started { id: Some("chatcmpl-9".to_owned()), model: None }, &mut out);
    let expected =
        StreamProgress::Opened { response_id: "resp_9", model: "m", created_at: 1_764_403_200, sequence_number: 2 };
    assert_eq!(writer.progress(), expected);
    writer.push(&Event::Failed(dialects::UpstreamError::default()), &mut out);
    let length = out.len();
    writer.end(&mut out);
    assert_eq!(out.len(), length, "nothing is completed after a failure");
}

/// A part of an answer: its kind and its pieces.
#[derive(Clone, Debug)]
struct Script {
    kind: PartKind,
    pieces: Vec<String>,
}

fn script() -> impl Strategy<Value = Vec<Script>> {
    let pieces = || prop::collection::vec("[a-zé\"\\\\\n😀]{1,6}", 1..4);
    let other = (prop::sample::select(vec![PartKind::Text, PartKind::Reasoning, PartKind::Refusal]), pieces());
    let call = pieces();
    let others = prop::collection::vec(other.prop_map(|(kind, pieces)| Script { kind, pieces }), 0..3);
    (others, prop::collection::vec(call, 0..4)).prop_map(|(mut parts, calls)| {
        parts.extend(calls.into_iter().enumerate().map(|(at, pieces)| {
            let kind = PartKind::ToolCall { id: Some(format!("call_{at}")), name: format!("tool_{at}") };
            Script { kind, pieces }
        }));
        parts
    })
}

/// The parts one after the other, except that the calls are mixed as `order` says.
fn play(parts: &[Script], order: &[usize]) -> Vec<Event> {
    let mut events = vec![Event::Started { id: Some("resp_1".to_owned()), model: Some("m".to_owned()) }];
    let mut mixed: Vec<(u32, std::collections::VecDeque<Event>)> = Vec::new();
    for (index, part) in (0_u32..).zip(parts) {
        let kind = match part.kind {
            PartKind::Text => DeltaKind::Text,
            PartKind::Refusal => DeltaKind::Refusal,
            PartKind::Reasoning => DeltaKind::Reasoning,
            _ => DeltaKind::Arguments,
        };
        let mut own = vec![Event::PartStarted { index, kind: part.kind.clone() }];
        own.extend(part.pieces.iter().map(|text| Event::Delta { index, kind, text: text.clone() }));
        own.push(Event::PartEnded { index });
        if kind == DeltaKind::Arguments { mixed.push((index, own.into())) } else { events.extend(own) }
    }
    // Part indexes follow the order of appearance, so every call begins before any goes on.
    for (_, own) in &mut mixed {
        events.extend(own.pop_front());
    }
    for pick in order.iter().copied().chain(0..) {
        mixed.retain(|(_, own)| !own.is_empty());
        if mixed.is_empty() {
            break;
        }
        let at = pick % mixed.len();
        events.extend(mixed[at].1.pop_front());
    }
    let has_calls = parts.iter().any(|part| matches!(part.kind, PartKind::ToolCall { .. }));
    events.push(Event::Finished(if has_calls { FinishReason::ToolCalls } else { FinishReason::End }));
    events.push(Event::Usage(Usage {
        input_fresh: Some(7),
        cache_read: Some(0),
        output: Some(3),
        reasoning: Some(0),
        ..Usage::default()
    }));
    events
}

/// What strict clients check of a stream.
fn assert_well_formed(bytes: &Bytes) {
    let frames = support::frames(Framing::Sse, [bytes.clone()]);
    let events: Vec<Value> = frames.iter().map(|frame| serde_json::from_slice(&frame.data).unwrap()).collect();
    let mut open: Option<(Value, Value)> = None;
    let mut done = Vec::new();
    for (number, (event, frame)) in events.iter().zip(&frames).enumerate() {
        let kind = event["type"].as_str().unwrap();
        assert_eq!(frame.event.as_deref(), Some(kind));
        assert_eq!(event["sequence_number"], number);
        match kind {
            "response.output_item.added" => {
                assert!(open.is_none(), "two items open at once");
                assert_eq!(event["output_index"], done.len());
                open = Some((event["item"]["id"].clone(), event["output_index"].clone()));
            }
            "response.output_item.done" => {
                let (id, at) = open.take().unwrap();
                assert_eq!((&event["item"]["id"], &event["output_index"]), (&id, &at));
                done.push(event["item"].clone());
            }
            "response.created" | "response.in_progress" => assert!(number < 2),
            "response.completed" => {
                assert_eq!(number + 1, events.len());
                assert_eq!(event["response"]["output"], Value::Array(done.clone()));
            }
            _ => {
                let (id, at) = open.clone().unwrap_or_else(|| panic!("{kind} without an item"));
                assert_eq!((&event["item_id"], &event["output_index"]), (&id, &at));
            }
        }
    }
    assert!(open.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn calls_mixed_in_any_order_make_a_well_formed_stream(parts in script(), order in prop::collection::vec(0_usize..8, 0..24)) {
        let events = play(&parts, &order);
        let bytes = stream(&events, &IdMap::default());
        assert_well_formed(&bytes);
        let (read, reader) = support::events(Dialect::Responses, &support::frames(Framing::Sse, [bytes]));
        prop_assert_eq!(reader.dropped(), 0);
        let mut expected = Answer::fold(play(&parts, &[])).unwrap();
        let calls = expected.parts.iter_mut().filter(|part| matches!(part.kind, PartKind::ToolCall { .. }));
        calls.filter(|part| part.text.trim().is_empty()).for_each(|part| part.text = "{}".to_owned());
        // This dialect always says a number.
        expected.usage.cache_write.get_or_insert(0);
        prop_assert_eq!(Answer::fold(read), Ok(expected));
    }

    #[test]
    fn a_written_stream_reads_the_same_in_any_chunks(parts in script(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let bytes = stream(&play(&parts, &[]), &IdMap::default());
        let whole = support::frames(Framing::Sse, [bytes.clone()]);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let chunks = places.windows(2).map(|pair| bytes.slice(pair[0]..pair[1]));
        let cut = support::frames(Framing::Sse, chunks);
        prop_assert_eq!(support::events(Dialect::Responses, &cut).0, support::events(Dialect::Responses, &whole).0);
    }
}
