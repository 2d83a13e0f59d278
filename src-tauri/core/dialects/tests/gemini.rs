//! The Gemini dialect in translation: its requests as every other dialect has them, and everybody's answers as its
//! clients get them.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read their fixtures from files")]

mod support;

use bytes::{Bytes, BytesMut};
use dialects::canonical::{Answer, IdMap, Names, Origin, Request, Target, ToolKind};
use dialects::error::ErrorOrigin::{Garbled, Stated};
use dialects::translate::{self, Reply, gemini_array_writer, read_answer, read_request, write_answer, write_request};
use dialects::{DeltaKind, Event, FinishReason, Framing, PartKind};
use domain::Dialect;
use proptest::prelude::*;
use serde_json::Value;

const TARGETS: [Dialect; 4] = [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini];

fn fixture(case: &str) -> Vec<u8> {
    std::fs::read(support::folder(Dialect::Gemini).join("requests").join(format!("{case}.json"))).unwrap()
}

fn read(case: &str) -> Request {
    read_request(Dialect::Gemini, &fixture(case), "gemini-2.5-pro", true).unwrap()
}

fn google(model: &str) -> Target {
    Target { origin: Origin::Google, call_ids: true, ..Target::unknown(model) }
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
        wants_usage_chunk: true,
        estimated_input: 11,
        ids: IdMap { origin: Origin::Anthropic, ..IdMap::default() },
    }
}

#[test]
fn requests_of_this_dialect_mean_what_their_snapshots_say() {
    for case in ["official", "official-without-ids", "loose"] {
        let request = read(case);
        snapshot(Dialect::Gemini, "requests", format!("{case}.canonical"), &format!("{request:#?}"));
        for target in TARGETS {
            let written = match write_request(target, &request, &Target::unknown("m")) {
                Ok(written) => written,
                Err(refusal) if refusal.message == "is not written yet" => continue,
                Err(refusal) => {
                    snapshot(Dialect::Gemini, "requests", format!("{case}.{target}"), &format!("{refusal:#?}"));
                    continue;
                }
            };
            let body: Value = serde_json::from_slice(&written.body).unwrap();
            let told = format!("{body:#}\n{:#?}\n{:#?}", written.warnings, written.ids);
            snapshot(Dialect::Gemini, "requests", format!("{case}.{target}"), &told);
        }
    }
}

#[test]
fn official_requests_survive_reading_and_writing() {
    for (case, target) in [
        ("official", google("gemini-2.5-flash")),
        ("official-without-ids", Target { call_ids: false, ..google("gemini-2.5-flash") }),
    ] {
        let written = write_request(Dialect::Gemini, &read(case), &target).unwrap();
        let (before, after): (Value, Value) =
            (serde_json::from_slice(&fixture(case)).unwrap(), serde_json::from_slice(&written.body).unwrap());
        assert_eq!(format!("{after:#}"), format!("{before:#}"), "{case}");
        assert_eq!(written.warnings, []);
    }
}

/// The stream that a Gemini client gets of these events.
fn written(events: &[Event], reply: Reply, as_array: bool) -> BytesMut {
    let mut writer = if as_array { gemini_array_writer(reply) } else { translate::writer(Dialect::Gemini, reply) };
    let mut out = BytesMut::new();
    for event in events {
        writer.push(event, &mut out);
    }
    if !events.iter().any(|event| matches!(event, Event::Failed(_))) {
        writer.end(&mut out);
    }
    out
}

#[test]
fn everybodys_streams_reach_gemini_clients() {
    for golden in support::goldens() {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        let (events, _) = support::events(golden.dialect, &frames);
        let stream = written(&events, reply(), false);
        snapshot(golden.dialect, "", format!("{}.gemini", golden.case), std::str::from_utf8(&stream).unwrap());
    }
}

/// What a client makes of an answer: text, thoughts, calls by name with their arguments, and how it ended.
type Heard = (String, String, Vec<(String, Value)>, FinishReason);

fn heard(events: Vec<Event>) -> Option<Heard> {
    let answer = Answer::fold(events).ok()?;
    let (mut text, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
    for part in &answer.parts {
        match &part.kind {
            PartKind::Text | PartKind::Refusal => text.push_str(&part.text),
            PartKind::Reasoning => thoughts.push_str(&part.text),
            PartKind::ToolCall { name, .. } => {
                let arguments = if part.text.is_empty() { "{}" } else { &part.text };
                let unread = || serde_json::json!({ "_raw": arguments });
                calls.push((name.clone(), serde_json::from_str(arguments).unwrap_or_else(|_| unread())));
            }
            PartKind::RedactedReasoning | PartKind::Opaque => {}
        }
    }
    let reason = match answer.finish() {
        reason @ (FinishReason::Length | FinishReason::Filter | FinishReason::ToolCalls) => reason,
        FinishReason::ContextFull => FinishReason::Length,
        FinishReason::End | FinishReason::StopSequence | FinishReason::Paused => FinishReason::End,
    };
    Some((text, thoughts, calls, reason))
}

#[test]
fn what_is_written_whole_or_as_a_stream_says_the_same() {
    for golden in support::goldens() {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        let (events, _) = support::events(golden.dialect, &frames);
        let Some(before) = heard(events.clone()) else { continue };
        let case = format!("{}/{}", golden.dialect, golden.case);
        for (as_array, framing) in [(false, Framing::Sse), (true, Framing::JsonArray)] {
            let stream = written(&events, reply(), as_array).freeze();
            let (again, reader) = support::events(Dialect::Gemini, &support::frames(framing, [stream]));
            assert_eq!(heard(again).as_ref(), Some(&before), "{case}");
            assert_eq!(reader.dropped(), 0, "{case}");
        }
        let body = write_answer(Dialect::Gemini, &Answer::fold(events).unwrap(), &reply());
        assert_eq!(heard(read_answer(Dialect::Gemini, &body).unwrap()).as_ref(), Some(&before), "{case}");
    }
}

#[test]
fn a_whole_body_is_read_like_the_stream_it_might_have_been() {
    for golden in support::goldens().into_iter().filter(|golden| golden.framing == Framing::JsonArray) {
        let (events, _) = support::events(golden.dialect, &support::frames(golden.framing, [golden.bytes.clone()]));
        match read_answer(Dialect::Gemini, &golden.bytes) {
            Ok(read) if golden.case != "array-cut" => assert_eq!(read, events, "{}", golden.case),
            Ok(read) => assert_eq!(read.last(), Some(&Event::Finished(FinishReason::End))),
            Err(error) => assert!(events.contains(&Event::Failed(error)), "{}", golden.case),
        }
    }
    for (body, origin, code) in [
        (&b"{}"[..], Garbled, None),
        (b"<html>", Garbled, None),
        (
            br#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}"#,
            Stated,
            Some("RESOURCE_EXHAUSTED"),
        ),
        (br#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#, Stated, Some("malformed_function_call")),
    ] {
        let error = read_answer(Dialect::Gemini, body).unwrap_err();
        assert_eq!((error.origin, error.code.as_deref()), (origin, code));
    }
}

fn call(index: u32, name: &str) -> Event {
    let kind = PartKind::ToolCall { id: Some(format!("id{index}")), name: name.to_owned() };
    Event::PartStarted { index, kind }
}

fn arguments(index: u32, text: &str) -> Event {
    Event::Delta { index, kind: DeltaKind::Arguments, text: text.to_owned() }
}

#[test]
fn arguments_cut_off_with_the_answer_are_not_handed_over() {
    for (reason, expected) in [(FinishReason::Length, 1), (FinishReason::End, 2)] {
        let events = [
            call(0, "a"),
            arguments(0, "{\"x\":1}"),
            Event::PartEnded { index: 0 },
            call(1, "b"),
            arguments(1, "{\"path\":\"/et"),
            Event::PartEnded { index: 1 },
            Event::Finished(reason),
        ];
        for body in [
            written(&events, reply(), false).freeze(),
            write_answer(Dialect::Gemini, &Answer::fold(events.clone()).unwrap(), &reply()),
        ] {
            let text = String::from_utf8(body.to_vec()).unwrap();
            assert_eq!(text.matches("functionCall").count(), expected, "{text}");
            assert_eq!(text.contains("MAX_TOKENS"), reason == FinishReason::Length, "{text}");
        }
    }
}

#[test]
fn a_client_gets_its_own_names_back_and_an_emulated_format_as_text() {
    let mut reply = reply();
    let names = Names { name: "mcp/read".to_owned(), kind: ToolKind::Function, namespace: None };
    reply.ids.names.insert("mcp_read".to_owned(), names);
    reply.ids.format_tool = Some("answer".to_owned());
    let events = [
        call(0, "mcp_read"),
        arguments(0, ""),
        Event::PartEnded { index: 0 },
        call(1, "answer"),
        arguments(1, "{\"a\":"),
        arguments(1, "1}"),
        Event::PartEnded { index: 1 },
        Event::Finished(FinishReason::ToolCalls),
    ];
    for body in [
        written(&events, reply.clone(), false).freeze(),
        write_answer(Dialect::Gemini, &Answer::fold(events.clone()).unwrap(), &reply),
    ] {
        let text = String::from_utf8(body.to_vec()).unwrap();
        assert!(text.contains(r#"{"id":"id0","name":"mcp/read","args":{}}"#), "{text}");
        assert_eq!(text.matches("functionCall").count(), 1, "{text}");
    }
}

#[test]
fn counts_are_repeated_and_a_prompt_nobody_counted_is_estimated() {
    let usage = domain::Usage {
        input_fresh: Some(10),
        cache_read: Some(90),
        output: Some(30),
        reasoning: Some(20),
        ..domain::Usage::default()
    };
    for (usage, expected) in [
        (
            usage,
            r#"{"promptTokenCount":100,"cachedContentTokenCount":90,"candidatesTokenCount":10,"thoughtsTokenCount":20,"totalTokenCount":130}"#,
        ),
        (domain::Usage::default(), r#"{"promptTokenCount":11,"candidatesTokenCount":0,"totalTokenCount":11}"#),
    ] {
        // Usage may come after the reason.
        let events = [Event::Finished(FinishReason::End), Event::Usage(usage)];
        let text = String::from_utf8(written(&events, reply(), false).to_vec()).unwrap();
        assert!(text.contains(expected), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn interleaved_calls_come_out_whole_at_any_chunking(
        calls in prop::collection::vec(("[a-z]{1,8}", "[ -~é€𝄞]{0,12}"), 1..5),
        order in prop::collection::vec(0_usize..5, 0..60),
        cuts in prop::collection::vec(0_usize..2000, 0..12),
    ) {
        let mut events: Vec<Event> = Vec::new();
        let mut left: Vec<(u32, Vec<char>)> = Vec::new();
        let mut expected = Vec::new();
        for (index, (name, text)) in (0_u32..).zip(&calls) {
            let json = serde_json::json!({ "text": text });
            events.push(call(index, name));
            left.push((index, json.to_string().chars().rev().collect()));
            expected.push((name.clone(), json));
        }
        for pick in order {
            let count = left.len();
            let (index, rest) = &mut left[pick % count];
            if let Some(letter) = rest.pop() {
                events.push(arguments(*index, &letter.to_string()));
            }
        }
        for (index, rest) in left {
            events.push(arguments(index, &rest.into_iter().rev().collect::<String>()));
            events.push(Event::PartEnded { index });
        }
        events.push(Event::Finished(FinishReason::ToolCalls));
        for (as_array, framing) in [(false, Framing::Sse), (true, Framing::JsonArray)] {
            let stream = written(&events, reply(), as_array).freeze();
            let whole = support::events(Dialect::Gemini, &support::frames(framing, [stream.clone()])).0;
            let chunked = support::events(Dialect::Gemini, &support::frames(framing, chunks(&stream, &cuts))).0;
            prop_assert_eq!(&chunked, &whole);
            prop_assert_eq!(heard(whole).unwrap().2, expected.clone());
        }
    }
}

fn chunks(bytes: &Bytes, cuts: &[usize]) -> Vec<Bytes> {
    let mut cuts: Vec<usize> = cuts.iter().copied().filter(|cut| *cut <= bytes.len()).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| bytes.slice(pair[0]..pair[1])).collect()
}
