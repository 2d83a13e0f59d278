//! Chat as source and as target of translation: what requests, answers and streams become (gateway specification, 2.18).
//!
//! `golden/requests` and `golden/answers` hold bodies of the dialect; a case that begins with `official-` is in the
//! vendor's own shape and comes back the same. Every recorded stream, whatever its dialect, is also written as Chat.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests read their fixtures from files"
)]

mod support;

use std::fmt::Write;
use std::path::PathBuf;

use bytes::{Bytes, BytesMut};
use dialects::canonical::{Answer, IdMap, Origin, Target};
use dialects::translate::{self, Reply};
use dialects::{DeltaKind, Event, FinishReason, Framing, PartKind};
use domain::{Dialect, Usage};
use proptest::prelude::*;
use serde_json::Value;

/// Cases of one kind: name and body.
fn cases(kind: &str) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(folder(kind)).expect("the folder of golden files");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("a golden file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let case = |file: PathBuf| {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read(file).expect("a golden file"))
    };
    files.into_iter().map(case).collect()
}

fn folder(kind: &str) -> PathBuf {
    support::folder(Dialect::Chat).join(kind)
}

fn assert_golden(folder: PathBuf, name: String, told: String) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, told));
}

/// OpenAI itself, of which Chat is the own dialect.
fn openai(model: &str) -> Target {
    Target { origin: Origin::OpenAi, developer_role: true, max_completion_tokens: true, ..Target::unknown(model) }
}

fn reply() -> Reply {
    Reply {
        id: "1".to_owned(),
        model: "asked".to_owned(),
        created: 1_700_000_000,
        wants_usage_chunk: true,
        estimated_input: 7,
        ids: IdMap::default(),
    }
}

fn read(body: &[u8]) -> dialects::canonical::Request {
    translate::read_request(Dialect::Chat, body, "", false).expect("a good request")
}

/// A request as it is sent, and what it lost.
fn written(dialect: Dialect, body: &[u8]) -> String {
    let request = read(body);
    let target = Target::unknown(&request.model);
    match translate::write_request(dialect, &request, &target) {
        Ok(written) => {
            let value: Value = serde_json::from_slice(&written.body).expect("JSON");
            let mut told = format!("{value:#}\n");
            for warning in &written.warnings {
                writeln!(told, "-- {} {}", warning.code, warning.about).unwrap();
            }
            told
        }
        Err(refusal) => format!("-- {refusal} ({})", refusal.code),
    }
}

#[test]
fn requests_mean_what_their_snapshots_say() {
    for (case, body) in cases("requests") {
        assert_golden(folder("requests"), format!("{case}.canonical"), format!("{:#?}", read(&body)));
    }
}

#[test]
fn requests_are_written_for_servers_of_every_dialect() {
    for (case, body) in cases("requests") {
        for dialect in Dialect::ALL {
            assert_golden(folder("requests"), format!("{case}.{dialect}"), written(dialect, &body));
        }
    }
}

#[test]
fn the_official_shapes_come_back_as_they_were() {
    let mut count = 0;
    for (case, body) in cases("requests").into_iter().filter(|(case, _)| case.starts_with("official-")) {
        let request = read(&body);
        let written = translate::write_request(Dialect::Chat, &request, &openai(&request.model)).expect("is written");
        let [before, after] = [&body[..], &written.body].map(|json| serde_json::from_slice::<Value>(json).unwrap());
        assert_eq!(after, before, "{case}");
        assert_eq!(written.warnings, [], "{case}");
        count += 1;
    }
    assert!(count >= 7, "the official shapes are missing");
}

#[test]
fn whole_answers_are_read_and_written_as_their_snapshots_say() {
    for (case, body) in cases("answers") {
        let mut told = String::new();
        match translate::read_answer(Dialect::Chat, &body) {
            Ok(events) => {
                for event in &events {
                    writeln!(told, "{event:?}").unwrap();
                }
                let answer = Answer::fold(events).expect("a whole answer");
                let again = translate::write_answer(Dialect::Chat, &answer, &reply());
                let again: Value = serde_json::from_slice(&again).expect("JSON");
                writeln!(told, "{again:#}").unwrap();
            }
            Err(error) => writeln!(told, "{error:?}").unwrap(),
        }
        assert_golden(folder("answers"), format!("{case}.chat"), told);
    }
}

/// The stream that a client receives.
fn stream(events: &[Event], reply: Reply) -> Bytes {
    let mut writer = translate::writer(Dialect::Chat, reply);
    let mut out = BytesMut::new();
    for event in events {
        writer.push(event, &mut out);
    }
    if !events.iter().any(|event| matches!(event, Event::Failed(_))) {
        writer.end(&mut out);
    }
    out.freeze()
}

fn events_of(stream: &Bytes) -> Vec<Event> {
    support::events(Dialect::Chat, &support::frames(Framing::Sse, [stream.clone()])).0
}

#[test]
fn streams_of_every_dialect_are_written_as_their_snapshots_say() {
    for golden in support::goldens() {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        let (events, _) = support::events(golden.dialect, &frames);
        let told = stream(&events, reply());
        let told = String::from_utf8(told.to_vec()).expect("text");
        assert_golden(support::folder(golden.dialect), format!("{}.chat", golden.case), told);
    }
}

/// What a client can tell of an answer whose parts have no boundaries.
#[derive(Debug, Default, PartialEq)]
struct Told {
    text: String,
    reasoning: String,
    refusal: String,
    calls: Vec<(String, String)>,
    finish: Option<FinishReason>,
    usage: Usage,
}

fn told(answer: &Answer) -> Told {
    let mut told = Told { finish: Some(answer.finish()), usage: answer.usage, ..Told::default() };
    for part in &answer.parts {
        match &part.kind {
            PartKind::Text => told.text.push_str(&part.text),
            PartKind::Reasoning | PartKind::RedactedReasoning => told.reasoning.push_str(&part.text),
            PartKind::Refusal => told.refusal.push_str(&part.text),
            PartKind::ToolCall { name, .. } => {
                let arguments = if part.text.is_empty() { "{}" } else { &part.text };
                told.calls.push((name.clone(), arguments.to_owned()));
            }
            PartKind::Opaque => {}
        }
    }
    told
}

#[test]
fn a_written_stream_says_what_the_events_said() {
    for golden in support::goldens() {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        let (events, _) = support::events(golden.dialect, &frames);
        let Ok(answer) = Answer::fold(events.clone()) else {
            let again = events_of(&stream(&events, reply()));
            assert!(Answer::fold(again).is_err(), "{}/{} ends well by accident", golden.dialect, golden.case);
            continue;
        };
        let again = Answer::fold(events_of(&stream(&events, reply()))).expect("a whole answer");
        let (mut expected, seen) = (told(&answer), told(&again));
        // The words of the dialect are fewer, and what is not known of the prompt is estimated.
        expected.finish = match expected.finish {
            Some(FinishReason::StopSequence | FinishReason::Paused) => Some(FinishReason::End),
            Some(FinishReason::ContextFull) => Some(FinishReason::Length),
            finish => finish,
        };
        expected.usage = Usage { provider_cost: None, ..seen.usage };
        assert_eq!(seen, expected, "{}/{}", golden.dialect, golden.case);
        assert_eq!(seen.usage.output.unwrap_or_default(), answer.usage.output.unwrap_or_default(), "{}", golden.case);
    }
}

#[test]
fn a_whole_answer_and_a_stream_say_the_same() {
    for golden in support::goldens() {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        let (events, _) = support::events(golden.dialect, &frames);
        let Ok(answer) = Answer::fold(events.clone()) else { continue };
        let whole = translate::write_answer(Dialect::Chat, &answer, &reply());
        let whole = translate::read_answer(Dialect::Chat, &whole).expect("an answer");
        let whole = Answer::fold(whole).expect("a whole answer");
        let streamed = Answer::fold(events_of(&stream(&events, reply()))).expect("a whole answer");
        assert_eq!(told(&whole), told(&streamed), "{}/{}", golden.dialect, golden.case);
    }
}

#[test]
fn the_usage_chunk_comes_only_when_it_was_asked_for_and_once() {
    let events = [
        Event::Usage(Usage { input_fresh: Some(3), ..Usage::default() }),
        Event::Finished(FinishReason::End),
        Event::Usage(Usage { input_fresh: Some(3), output: Some(5), ..Usage::default() }),
    ];
    for (wanted, count) in [(true, 1), (false, 0)] {
        let stream = stream(&events, Reply { wants_usage_chunk: wanted, ..reply() });
        let text = String::from_utf8(stream.to_vec()).unwrap();
        assert_eq!(text.matches("\"usage\"").count(), count, "{text}");
        assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    }
}

/// The parts of an answer, each cut into pieces, and an order in which the pieces come.
fn interleaved() -> impl Strategy<Value = Vec<Event>> {
    let part = (0_u8..4, prop::collection::vec("[a-zé ]{1,6}", 1..5));
    (prop::collection::vec(part, 1..6), prop::collection::vec(any::<prop::sample::Index>(), 40)).prop_map(
        |(parts, order)| {
            let mut queues: Vec<Vec<Event>> =
                parts.iter().enumerate().map(|(at, (kind, pieces))| queue(at, *kind, pieces)).collect();
            let mut events = vec![Event::Started { id: Some("id".to_owned()), model: None }];
            // Parts begin in the order of their numbers.
            events.extend(queues.iter_mut().map(|queue| queue.remove(0)));
            for place in order.iter().cycle() {
                queues.retain(|queue| !queue.is_empty());
                if queues.is_empty() {
                    break;
                }
                let next = place.index(queues.len());
                events.push(queues[next].remove(0));
            }
            events.push(Event::Finished(FinishReason::End));
            events
        },
    )
}

fn queue(at: usize, kind: u8, pieces: &[String]) -> Vec<Event> {
    let index = u32::try_from(at).unwrap();
    let (part, delta, pieces) = match kind {
        0 => (PartKind::Text, DeltaKind::Text, pieces.to_vec()),
        1 => (PartKind::Reasoning, DeltaKind::Reasoning, pieces.to_vec()),
        _ => {
            let mut cut = vec!["{\"a\":\"".to_owned()];
            cut.extend(pieces.iter().cloned());
            cut.push("\"}".to_owned());
            (
                PartKind::ToolCall { id: Some(format!("call_{at}")), name: format!("tool_{at}") },
                DeltaKind::Arguments,
                cut,
            )
        }
    };
    let mut events = vec![Event::PartStarted { index, kind: part }];
    events.extend(pieces.into_iter().map(|text| Event::Delta { index, kind: delta, text }));
    events.push(Event::PartEnded { index });
    events
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn interleaved_parts_give_a_well_formed_stream(events in interleaved(), cuts in prop::collection::vec(0_usize..4000, 0..20)) {
        let stream = stream(&events, reply());
        let whole = events_of(&stream);
        let mut cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut <= stream.len()).chain([0, stream.len()]).collect();
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|pair| stream.slice(pair[0]..pair[1]));
        let cut = support::events(Dialect::Chat, &support::frames(Framing::Sse, chunks)).0;
        prop_assert_eq!(&cut, &whole);
        let [seen, expected] = [whole, events].map(|events| Answer::fold(events).expect("a whole answer"));
        let (seen, expected) = (told(&seen), told(&expected));
        prop_assert_eq!(&seen.calls, &expected.calls);
        prop_assert_eq!(seen.finish, expected.finish);
        // Parts of one kind run into each other, so only their letters can be compared.
        let letters = |text: &str| { let mut all: Vec<char> = text.chars().collect(); all.sort_unstable(); all };
        prop_assert_eq!(letters(&seen.text), letters(&expected.text));
        prop_assert_eq!(letters(&seen.reasoning), letters(&expected.reasoning));
    }
}
