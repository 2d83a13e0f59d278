//! The Messages dialect in translation: its requests as every other dialect has them, and everybody's answers as its
//! clients get them.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read their fixtures from files")]

mod support;

use bytes::{Bytes, BytesMut};
use dialects::canonical::{Answer, IdMap, Names, Origin, Request, Target, ToolKind};
use dialects::translate::{self, Reply, read_answer, read_request, write_answer, write_request};
use dialects::{DeltaKind, Event, FinishReason, Framing, PartKind};
use domain::{Dialect, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

const OFFICIAL: [&str; 6] = [
    "official-text",
    "official-tools",
    "official-thinking",
    "official-adaptive",
    "official-media",
    "official-server-tools",
];

fn fixture(case: &str) -> Vec<u8> {
    std::fs::read(support::folder(Dialect::Messages).join("requests").join(format!("{case}.json"))).unwrap()
}

fn read(case: &str) -> Request {
    read_request(Dialect::Messages, &fixture(case), "", false).unwrap()
}

fn snapshot(dialect: Dialect, folder: &str, name: String, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(support::folder(dialect).join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn reply() -> Reply {
    Reply {
        id: "r1".to_owned(),
        model: "m".to_owned(),
        created: 1,
        wants_usage_chunk: false,
        estimated_input: 11,
        ids: IdMap { origin: Origin::Google, ..IdMap::default() },
    }
}

#[test]
fn requests_of_this_dialect_mean_what_their_snapshots_say() {
    for case in OFFICIAL.into_iter().chain(["claude-code", "broken-history"]) {
        let request = read(case);
        snapshot(Dialect::Messages, "requests", format!("{case}.canonical"), &format!("{request:#?}"));
        for target in Dialect::ALL {
            let told = match write_request(target, &request, &Target::unknown("m")) {
                Ok(written) => {
                    let body: Value = serde_json::from_slice(&written.body).unwrap();
                    format!("{body:#}\n{:#?}\n{:#?}", written.warnings, written.ids)
                }
                Err(refusal) => format!("{refusal:#?}"),
            };
            snapshot(Dialect::Messages, "requests", format!("{case}.{target}"), &told);
        }
    }
}

#[test]
fn official_requests_survive_reading_and_writing() {
    for case in OFFICIAL {
        let request = read(case);
        let target = Target {
            origin: Origin::Anthropic,
            adaptive_thinking: case == "official-adaptive",
            ..Target::unknown(&request.model)
        };
        let written = write_request(Dialect::Messages, &request, &target).unwrap();
        let (before, after): (Value, Value) =
            (serde_json::from_slice(&fixture(case)).unwrap(), serde_json::from_slice(&written.body).unwrap());
        assert_eq!(after, before, "{case}");
        assert_eq!(written.warnings, [], "{case}");
        let digits = String::from_utf8_lossy(&written.body).contains("9007199254740993");
        assert_eq!(digits, case == "official-tools", "numbers stay as they were written");
    }
}

#[test]
fn a_request_that_cannot_be_read_names_the_field() {
    for (body, field) in [
        (r#"{"#, "body"),
        (r#"[]"#, "body"),
        (r#"{"messages":[{"role":"tool","content":"x"}]}"#, "messages.0.role"),
        (r#"{"messages":[{"role":"user"}]}"#, "messages.0.content"),
        (r#"{"messages":[{"role":"user","content":[{"type":"text"},3]}]}"#, "messages.0.content.1"),
        (r#"{"messages":[{"role":"user","content":[{"type":"image"}]}]}"#, "messages.0.content.0.source"),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":{"b":7}}]}]}"#,
            "messages.0.content.0.content",
        ),
        (r#"{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#, "messages.0.content.0.tool_use_id"),
        (
            r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}]}"#,
            "messages.0.content.0.name",
        ),
        (r#"{"messages":[],"tools":[{}]}"#, "tools.0.name"),
    ] {
        assert_eq!(read_request(Dialect::Messages, body.as_bytes(), "", false).unwrap_err().field, field, "{body}");
    }
    let empty = read_request(Dialect::Messages, br#"{"model":"m","messages":[]}"#, "", false).unwrap();
    assert_eq!(write_request(Dialect::Messages, &empty, &Target::unknown("m")).unwrap_err().field, "messages");
}

/// The stream that a client of this dialect gets of these events.
fn written(events: &[Event], reply: Reply) -> Bytes {
    let mut writer = translate::writer(Dialect::Messages, reply);
    let mut out = BytesMut::new();
    for event in events {
        writer.push(event, &mut out);
    }
    if !events.iter().any(|event| matches!(event, Event::Failed(_))) {
        writer.end(&mut out);
    }
    out.freeze()
}

#[test]
fn everybodys_streams_reach_clients_of_this_dialect() {
    for golden in support::goldens() {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        let (events, _) = support::events(golden.dialect, &frames);
        let stream = written(&events, reply());
        let whole = !events.iter().any(|event| matches!(event, Event::Failed(_)));
        assert_well_formed(&stream, whole, &golden.case);
        let told = std::str::from_utf8(&stream).unwrap();
        snapshot(golden.dialect, "", format!("{}.messages", golden.case), told);
    }
}

/// What a client makes of an answer: text, thoughts, calls by name with their arguments, and how it ended.
type Heard = (String, String, Vec<(String, String)>, FinishReason);

fn heard(events: Vec<Event>) -> Option<Heard> {
    let answer = Answer::fold(events).ok()?;
    let (mut text, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
    for part in &answer.parts {
        match &part.kind {
            PartKind::Text | PartKind::Refusal => text.push_str(&part.text),
            PartKind::Reasoning => thoughts.push_str(&part.text),
            PartKind::ToolCall { name, .. } => calls.push((name.clone(), part.text.clone())),
            PartKind::RedactedReasoning | PartKind::Opaque => {}
        }
    }
    Some((text, thoughts, calls, answer.finish()))
}

#[test]
fn what_is_written_whole_or_as_a_stream_says_the_same() {
    for golden in support::goldens() {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        let (events, _) = support::events(golden.dialect, &frames);
        let Some(before) = heard(events.clone()) else { continue };
        let case = format!("{}/{}", golden.dialect, golden.case);
        let stream = written(&events, reply());
        let (again, reader) = support::events(Dialect::Messages, &support::frames(Framing::Sse, [stream]));
        assert_eq!(heard(again).as_ref(), Some(&before), "{case}");
        assert_eq!(reader.dropped(), 0, "{case}");
        let body = write_answer(Dialect::Messages, &Answer::fold(events).unwrap(), &reply());
        let (text, thoughts, calls, reason) = heard(read_answer(Dialect::Messages, &body).unwrap()).unwrap();
        assert_eq!((&text, &thoughts, reason), (&before.0, &before.1, before.3), "{case}");
        assert_eq!(calls.len(), before.2.len(), "{case}");
    }
}

/// Checks what every client of this dialect relies on: one message, blocks numbered from zero without a gap, one open at a
/// time, nothing after its stop, and one end.
fn assert_well_formed(stream: &Bytes, whole: bool, case: &str) {
    let (mut next, mut open, mut names) = (0, None, Vec::new());
    for frame in support::frames(Framing::Sse, [stream.clone()]) {
        let data: Value = serde_json::from_slice(&frame.data).unwrap();
        let name = data["type"].as_str().unwrap().to_owned();
        assert_eq!(frame.event.as_deref(), Some(name.as_str()), "{case}");
        match name.as_str() {
            "content_block_start" => {
                assert_eq!((data["index"].as_u64(), open), (Some(next), None), "{case}");
                open = Some(next);
                next += 1;
            }
            "content_block_delta" => assert_eq!(data["index"].as_u64(), open, "{case}"),
            "content_block_stop" => {
                assert_eq!(data["index"].as_u64(), open.take(), "{case}");
            }
            "message_start" => assert!(data["message"]["usage"]["input_tokens"].as_u64() > Some(0), "{case}"),
            _ => {}
        }
        names.push(name);
    }
    let count = |name: &str| names.iter().filter(|other| *other == name).count();
    let ends = usize::from(whole);
    assert_eq!((count("message_delta"), count("message_stop")), (ends, ends), "{case}");
    assert!(count("message_start") == 1 || !whole, "{case}");
    if whole {
        assert_eq!(names.first().map(String::as_str), Some("message_start"), "{case}");
        assert_eq!((names.last().map(String::as_str), open), (Some("message_stop"), None), "{case}");
    }
}

fn start(index: u32, kind: PartKind) -> Event {
    Event::PartStarted { index, kind }
}

fn call(index: u32) -> Event {
    start(index, PartKind::ToolCall { id: Some(format!("id{index}")), name: format!("tool{index}") })
}

fn delta(index: u32, kind: DeltaKind, text: &str) -> Event {
    Event::Delta { index, kind, text: text.to_owned() }
}

fn blocks(stream: &Bytes) -> Vec<String> {
    let frames = support::frames(Framing::Sse, [stream.clone()]);
    let told = frames.iter().filter_map(|frame| {
        let data: Value = serde_json::from_slice(&frame.data).unwrap();
        let block = &data["content_block"];
        let delta = data["delta"].as_object().filter(|delta| delta.contains_key("type"));
        match (block["type"].as_str(), delta) {
            (Some(kind), _) => Some(format!("+{kind}")),
            (None, Some(delta)) => delta.iter().find(|(key, _)| *key != "type").map(|(_, text)| text.to_string()),
            (None, None) => None,
        }
    });
    told.collect()
}

#[test]
fn parts_that_come_at_once_are_told_one_after_the_other() {
    let (text, args) = (DeltaKind::Text, DeltaKind::Arguments);
    for (events, expected) in [
        (
            vec![call(0), call(1), delta(1, args, "{"), delta(0, args, "{}"), delta(1, args, "}")],
            vec!["+tool_use", "\"{}\"", "+tool_use", "\"{}\""],
        ),
        (
            vec![start(0, PartKind::Text), delta(0, text, "a"), call(1), delta(1, args, "{}"), delta(0, text, "b")],
            vec!["+text", "\"a\"", "+tool_use", "\"{}\"", "+text", "\"b\""],
        ),
        (vec![start(0, PartKind::Reasoning), start(1, PartKind::Text), delta(1, text, "a")], vec!["+text", "\"a\""]),
        (
            vec![
                start(0, PartKind::Reasoning),
                delta(0, DeltaKind::Reasoning, "hm"),
                delta(0, DeltaKind::Signature, "si"),
                delta(0, DeltaKind::Signature, "g"),
            ],
            vec!["+thinking", "\"hm\"", "\"omr1.google.sig\""],
        ),
        (vec![start(0, PartKind::RedactedReasoning), delta(0, DeltaKind::Signature, "b")], vec!["+redacted_thinking"]),
        (vec![], vec!["+text"]),
    ] {
        let events: Vec<_> = events.into_iter().chain([Event::Finished(FinishReason::End)]).collect();
        assert_eq!(blocks(&written(&events, reply())), expected, "{events:?}");
    }
}

#[test]
fn a_client_gets_its_own_names_back_and_an_emulated_format_as_text() {
    let names = Names { name: "mcp.fs/read".to_owned(), kind: ToolKind::Function, namespace: None };
    let ids = IdMap {
        names: [("tool0".to_owned(), names)].into(),
        format_tool: Some("tool1".to_owned()),
        ..IdMap::default()
    };
    for (event, expected, reason) in [
        (call(0), "\"name\":\"mcp.fs/read\"", "\"tool_use\""),
        (call(1), "\"text_delta\",\"text\":\"{}\"", "\"end_turn\""),
    ] {
        let Event::PartStarted { index, .. } = event else { unreachable!() };
        let events = [event, delta(index, DeltaKind::Arguments, "{}"), Event::Finished(FinishReason::ToolCalls)];
        let stream = written(&events, Reply { ids: ids.clone(), ..reply() });
        let told = std::str::from_utf8(&stream).unwrap();
        assert!(told.contains(expected) && told.contains(&format!("\"stop_reason\":{reason}")), "{told}");
    }
}

#[test]
fn true_counts_come_with_the_end_and_an_estimate_before() {
    let usage = Usage { input_fresh: Some(40), cache_read: Some(2), output: Some(3), ..Usage::default() };
    let events = [Event::Started { id: None, model: None }, Event::Finished(FinishReason::End), Event::Usage(usage)];
    let frames = support::frames(Framing::Sse, [written(&events, reply())]);
    let said: Vec<Value> = frames.iter().map(|frame| serde_json::from_slice(&frame.data).unwrap()).collect();
    assert_eq!(said[0]["message"]["usage"]["input_tokens"], 11);
    let end = said.iter().find(|data| data["type"] == "message_delta").unwrap();
    assert_eq!(
        end["usage"],
        json!({"input_tokens": 40, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2, "output_tokens": 3})
    );
}

/// Up to four calls, their fragments in any order, some ended early.
fn interleaved() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((0_u32..4, 0_u8..8), 1..40).prop_map(|steps| {
        let (mut events, mut started, mut ended) =
            (vec![Event::Started { id: None, model: None }], Vec::new(), Vec::new());
        for (slot, step) in steps {
            let index = match started.iter().position(|known| *known == slot) {
                Some(index) => u32::try_from(index).unwrap(),
                None => {
                    started.push(slot);
                    let index = u32::try_from(started.len() - 1).unwrap();
                    events.push(if slot == 3 { start(index, PartKind::Text) } else { call(index) });
                    index
                }
            };
            if ended.contains(&index) {
                continue;
            }
            if step == 0 {
                ended.push(index);
                events.push(Event::PartEnded { index });
            } else {
                let kind = if slot == 3 { DeltaKind::Text } else { DeltaKind::Arguments };
                events.push(delta(index, kind, &format!("{index}.{step} ")));
            }
        }
        events.push(Event::Finished(FinishReason::ToolCalls));
        events
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_interleaving_gives_a_well_formed_stream_that_loses_nothing(events in interleaved()) {
        let stream = written(&events, reply());
        assert_well_formed(&stream, true, "interleaved");
        let (again, _) = support::events(Dialect::Messages, &support::frames(Framing::Sse, [stream]));
        let (before, after) = (heard(events).unwrap(), heard(again).unwrap());
        prop_assert_eq!((before.0, before.2), (after.0, after.2));
    }

    #[test]
    fn any_chunking_of_a_written_stream_gives_the_same_events(events in interleaved(), size in 1_usize..64) {
        let stream = written(&events, reply());
        let whole = support::events(Dialect::Messages, &support::frames(Framing::Sse, [stream.clone()])).0;
        let chunks = stream.chunks(size).map(Bytes::copy_from_slice);
        prop_assert_eq!(support::events(Dialect::Messages, &support::frames(Framing::Sse, chunks)).0, whole);
    }
}
