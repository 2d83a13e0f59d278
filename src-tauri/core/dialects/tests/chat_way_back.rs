//! The way back to a Chat client undoes what the way out changed: names, kinds of tools, emulated forms, and whose proofs
//! are whose. Streams and whole answers say the same.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use bytes::BytesMut;
use dialects::canonical::{Answer, IdMap, Names, Origin, ToolKind};
use dialects::translate::{self, Reply};
use dialects::{DeltaKind, Event, FinishReason, PartKind};
use domain::Dialect;
use serde_json::{Value, json};

fn reply(ids: IdMap) -> Reply {
    Reply { id: "1".to_owned(), model: "m".to_owned(), created: 1, wants_usage_chunk: false, estimated_input: 1, ids }
}

fn call(index: u32, name: &str, arguments: &str, signature: &str) -> Vec<Event> {
    vec![
        Event::PartStarted { index, kind: PartKind::ToolCall { id: Some(format!("c{index}")), name: name.to_owned() } },
        Event::Delta { index, kind: DeltaKind::Signature, text: signature.to_owned() },
        Event::Delta { index, kind: DeltaKind::Arguments, text: arguments.to_owned() },
        Event::PartEnded { index },
    ]
}

/// The same events as a stream, put together again, and as a whole answer: message and finish reason.
fn told(events: &[Event], ids: &IdMap) -> [(Value, Value); 2] {
    let mut writer = translate::writer(Dialect::Chat, reply(ids.clone()));
    let mut out = BytesMut::new();
    for event in events {
        writer.push(event, &mut out);
    }
    writer.end(&mut out);
    let (mut message, mut finish) = (json!({"content": "", "tool_calls": []}), Value::Null);
    for line in std::str::from_utf8(&out).unwrap().lines().filter_map(|line| line.strip_prefix("data: {")) {
        let chunk: Value = serde_json::from_str(&format!("{{{line}")).unwrap();
        let choice = &chunk["choices"][0];
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
        for (key, value) in choice["delta"].as_object().unwrap() {
            match (key.as_str(), value) {
                ("content", Value::String(text)) => {
                    message["content"] = json!(format!("{}{text}", message["content"].as_str().unwrap()));
                }
                ("tool_calls", pieces) => gather(&mut message["tool_calls"], &pieces[0]),
                (key, value) => message[key] = value.clone(),
            }
        }
    }
    let answer = Answer::fold(events.iter().cloned()).unwrap();
    let whole: Value =
        serde_json::from_slice(&translate::write_answer(Dialect::Chat, &answer, &reply(ids.clone()))).unwrap();
    let mut told = whole["choices"][0]["message"].clone();
    told.as_object_mut().unwrap().remove("refusal");
    if told["content"].is_null() {
        told["content"] = json!("");
    }
    let calls = told.as_object_mut().unwrap().entry("tool_calls").or_insert(json!([]));
    assert!(calls.is_array());
    [(message, finish), (told, whole["choices"][0]["finish_reason"].clone())]
}

/// What an SDK does with the pieces of a call.
fn gather(calls: &mut Value, piece: &Value) {
    let index = usize::try_from(piece["index"].as_u64().unwrap()).unwrap();
    let calls = calls.as_array_mut().unwrap();
    if index == calls.len() {
        calls.push(json!({}));
    }
    for (key, value) in piece.as_object().unwrap().iter().filter(|(key, _)| *key != "index") {
        match (calls[index].get_mut(key), value) {
            (Some(known), Value::Object(more)) => {
                for (key, value) in more {
                    let before = known[key].as_str().unwrap_or_default().to_owned();
                    known[key] = json!(format!("{before}{}", value.as_str().unwrap()));
                }
            }
            _ => calls[index][key] = value.clone(),
        }
    }
}

#[test]
fn calls_come_back_under_the_clients_own_names_and_kinds() {
    let names = |name: &str, kind| Names { name: name.to_owned(), kind, namespace: None };
    let mut ids = IdMap { origin: Origin::Google, ..IdMap::default() };
    ids.names.insert("list_files".to_owned(), names("list files", ToolKind::Function));
    ids.names.insert("patch".to_owned(), names("patch", ToolKind::Custom));
    let mut events = call(0, "list_files", "", "CiQ=");
    events.extend(call(1, "patch", r#"{"input":"*** Begin\n"}"#, ""));
    events.push(Event::Finished(FinishReason::End));
    let expected = json!({"role": "assistant", "content": "", "tool_calls": [
        {"id": "c0", "type": "function", "function": {"name": "list files", "arguments": "{}"},
            "extra_content": {"google": {"thought_signature": "CiQ="}}},
        {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin\n"}},
    ]});
    for (message, finish) in told(&events, &ids) {
        assert_eq!(message, expected);
        assert_eq!(finish, "tool_calls");
    }
}

#[test]
fn the_call_that_stands_for_a_structured_answer_is_its_text() {
    let ids = IdMap { format_tool: Some("answer".to_owned()), ..IdMap::default() };
    let mut events = call(0, "answer", r#"{"a":1}"#, "");
    events.push(Event::Finished(FinishReason::ToolCalls));
    for (message, finish) in told(&events, &ids) {
        assert_eq!(message, json!({"role": "assistant", "content": "{\"a\":1}", "tool_calls": []}));
        assert_eq!(finish, "stop");
    }
}

#[test]
fn proofs_of_reasoning_travel_with_the_name_of_their_maker() {
    for (origin, kind, expected) in [
        (Origin::Anthropic, PartKind::Reasoning, json!({"type": "reasoning.text", "signature": "omr1.anthropic.EqQ="})),
        (Origin::OpenAi, PartKind::Reasoning, json!({"type": "reasoning.encrypted", "data": "omr1.openai.EqQ="})),
        (
            Origin::Anthropic,
            PartKind::RedactedReasoning,
            json!({"type": "reasoning.encrypted", "data": "omr1.anthropic.EqQ="}),
        ),
        (Origin::Anyone, PartKind::Reasoning, Value::Null),
    ] {
        let events = [
            Event::PartStarted { index: 0, kind },
            Event::Delta { index: 0, kind: DeltaKind::Signature, text: "Eq".to_owned() },
            Event::Delta { index: 0, kind: DeltaKind::Signature, text: "Q=".to_owned() },
            Event::PartEnded { index: 0 },
            Event::Finished(FinishReason::End),
        ];
        for (message, _) in told(&events, &IdMap { origin, ..IdMap::default() }) {
            assert_eq!(message["reasoning_details"][0], expected, "{origin:?}");
        }
    }
}
