//! Ollama's own protocol: its requests as every upstream dialect has them, and everybody's answers as its clients get them.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read their fixtures from files")]

mod support;

use std::path::{Path, PathBuf};

use bytes::{Bytes, BytesMut};
use dialects::canonical::{Answer, IdMap, Part, Role, Target};
use dialects::client::Times;
use dialects::ollama::{Form, embed, listing, loaded, loads_only};
use dialects::translate::{Reply, write_request};
use dialects::{Client, DeltaKind, ErrorBody, Event, FinishReason, ModelEntry, PartKind, StreamProgress};
use domain::{Dialect, Timestamp, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

const FORMS: [Form; 2] = [Form::Chat, Form::Generate];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ollama/golden/requests")
}

fn snapshot(folder: &Path, name: String, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn reply(ids: IdMap) -> Reply {
    Reply { id: "r1".to_owned(), model: "m".to_owned(), created: 1, wants_usage_chunk: true, estimated_input: 11, ids }
}

#[test]
fn requests_mean_what_their_snapshots_say() {
    for (case, form) in [("chat", Form::Chat), ("chat-by-id", Form::Chat), ("generate", Form::Generate)] {
        let body = std::fs::read(folder().join(format!("{case}.json"))).unwrap();
        let request = Client::Ollama(form).read_request(&body, "m", true).unwrap();
        snapshot(&folder(), format!("{case}.canonical"), &format!("{request:#?}"));
        for dialect in Dialect::ALL {
            let written = write_request(dialect, &request, &Target::unknown("m")).unwrap();
            let body: Value = serde_json::from_slice(&written.body).unwrap();
            let told = format!("{body:#}\n{:#?}", written.warnings);
            snapshot(&folder(), format!("{case}.{dialect}"), &told);
        }
    }
}

#[test]
fn a_request_that_cannot_be_read_names_the_field() {
    for (form, body, field) in [
        (Form::Chat, r#"{"#, "body"),
        (Form::Chat, r#"{"messages":3}"#, "messages"),
        (Form::Chat, r#"{"messages":[{"role":"user","content":"a"},3]}"#, "messages[1]"),
        (Form::Chat, r#"{"messages":[{"role":"critic","content":"a"}]}"#, "messages[0].role"),
        (Form::Chat, r#"{"messages":[],"tools":[{"type":"function"}]}"#, "tools"),
        (Form::Chat, r#"{"messages":[],"options":[1]}"#, "options"),
        (Form::Chat, r#"{"messages":[],"options":{"temperature":"hot"}}"#, "options.temperature"),
        (Form::Chat, r#"{"messages":[],"options":{"stop":5}}"#, "options.stop"),
        (Form::Generate, r#"{"prompt":"a","format":"yaml"}"#, "format"),
        (Form::Generate, r#"{"prompt":"a","suffix":"b"}"#, "suffix"),
    ] {
        let refused = Client::Ollama(form).read_request(body.as_bytes(), "m", true).unwrap_err();
        assert_eq!(refused.field, field, "{body}");
    }
}

#[test]
fn a_result_finds_its_call_by_id_by_tool_or_by_order() {
    let call = |name: &str| json!({"function": {"name": name, "arguments": {}}});
    for (results, expected) in [
        (json!([{"tool_name": "b"}, {"tool_name": "a"}, {"tool_name": "a"}]), [1, 0, 2]),
        (json!([{}, {}, {}]), [0, 1, 2]),
        (json!([{"name": "a"}, {"tool_name": "a"}, {}]), [0, 2, 1]),
    ] {
        let mut messages = vec![json!({"role": "assistant", "tool_calls": [call("a"), call("b"), call("a")]})];
        messages.extend(results.as_array().unwrap().iter().map(|result| {
            let mut message = result.clone();
            message["role"] = json!("tool");
            message["content"] = json!("done");
            message
        }));
        let body = json!({ "messages": messages }).to_string();
        let request = Client::Ollama(Form::Chat).read_request(body.as_bytes(), "m", true).unwrap();
        let ids: Vec<&str> = request.turns[0].parts.iter().map(id_of).collect();
        let answered: Vec<&str> = request.turns[1].parts.iter().map(id_of).collect();
        assert_eq!(answered, expected.map(|place| ids[place]), "{results}");
        assert_eq!(request.turns[1].role, Role::User);
    }
}

fn id_of(part: &Part) -> &str {
    match part {
        Part::ToolCall { id, .. } | Part::ToolResult { call_id: id, .. } => id,
        _ => "",
    }
}

/// The lines that a client gets of these events, one every ten milliseconds.
fn written(form: Form, events: &[Event], ids: IdMap) -> BytesMut {
    let mut writer = Client::Ollama(form).writer(reply(ids), Timestamp::ZERO);
    let mut out = BytesMut::new();
    for (number, event) in events.iter().enumerate() {
        writer.at(Timestamp::from_millis(10 * number as u64));
        writer.push(event, &mut out);
    }
    if !events.iter().any(|event| matches!(event, Event::Failed(_))) {
        writer.end(&mut out);
    }
    out
}

#[test]
fn everybodys_streams_reach_these_clients() {
    for golden in support::goldens() {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        let (events, _) = support::events(golden.dialect, &frames);
        let stream = written(Form::Chat, &events, IdMap::default());
        let folder = support::folder(golden.dialect);
        snapshot(&folder, format!("{}.ollama", golden.case), std::str::from_utf8(&stream).unwrap());
    }
}

/// What a client makes of the lines: text, thinking, calls, and how it ended.
type Heard = (String, String, Vec<Value>, Option<String>);

fn heard(form: Form, lines: &[u8]) -> Heard {
    let mut heard = Heard::default();
    for line in std::str::from_utf8(lines).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(heard.3.is_none(), "nothing follows the end");
        let (said, text) = match form {
            Form::Chat => (&line["message"], "content"),
            Form::Generate => (&line, "response"),
        };
        heard.0.push_str(said[text].as_str().unwrap());
        heard.1.push_str(said["thinking"].as_str().unwrap_or_default());
        heard.2.extend(said["tool_calls"].as_array().into_iter().flatten().cloned());
        if line["done"] == true {
            heard.3 = Some(line["done_reason"].as_str().unwrap().to_owned());
        }
    }
    heard
}

#[test]
fn streams_and_whole_answers_say_the_same() {
    for golden in support::goldens() {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        let (events, _) = support::events(golden.dialect, &frames);
        for form in FORMS {
            let streamed = heard(form, &written(form, &events, IdMap::default()));
            let Ok(answer) = Answer::fold(events.iter().cloned()) else {
                assert_eq!(streamed.3, None, "{}: a broken answer has no end", golden.case);
                continue;
            };
            let times = Times { arrived: Timestamp::ZERO, now: Timestamp::from_millis(30) };
            let whole = Client::Ollama(form).write_answer(&answer, &reply(IdMap::default()), times);
            assert_eq!(streamed, heard(form, &whole), "{}/{} as {form:?}", golden.dialect, golden.case);
        }
    }
}

#[test]
fn the_last_line_counts_tokens_and_nanoseconds() {
    let usage = Usage { input_fresh: Some(20), cache_read: Some(5), output: Some(3), ..Usage::default() };
    let events = [
        Event::Started { id: None, model: Some("served".to_owned()) },
        Event::PartStarted { index: 0, kind: PartKind::Text },
        Event::Delta { index: 0, kind: DeltaKind::Text, text: "a".to_owned() },
        Event::KeepAlive,
        Event::Finished(FinishReason::Length),
        Event::Usage(usage),
    ];
    let lines = written(Form::Generate, &events, IdMap::default());
    let lines: Vec<Value> =
        std::str::from_utf8(&lines).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = json!({
        "model": "served", "created_at": "1970-01-01T00:00:00.05Z", "response": "", "done": true, "done_reason": "length",
        "total_duration": 50_000_000, "load_duration": 0, "prompt_eval_count": 25, "prompt_eval_duration": 20_000_000,
        "eval_count": 3, "eval_duration": 30_000_000,
    });
    assert_eq!(lines.last(), Some(&expected));
    assert_eq!(lines.len(), 3, "a sign of life in the middle is an empty line");
}

#[test]
fn cut_off_calls_are_left_out_and_a_format_tool_is_text() {
    let call = |name: &str, arguments: &str, reason| {
        [
            Event::PartStarted { index: 0, kind: PartKind::ToolCall { id: None, name: name.to_owned() } },
            Event::Delta { index: 0, kind: DeltaKind::Arguments, text: arguments.to_owned() },
            Event::PartEnded { index: 0 },
            Event::Finished(reason),
        ]
    };
    let ids = || IdMap { format_tool: Some("answer".to_owned()), ..IdMap::default() };
    let cut = heard(Form::Chat, &written(Form::Chat, &call("ls", "{\"a\":", FinishReason::Length), ids()));
    assert_eq!((cut.2.len(), cut.3.as_deref()), (0, Some("length")));
    let text = heard(Form::Chat, &written(Form::Chat, &call("answer", "{\"a\":1}", FinishReason::End), ids()));
    assert_eq!((text.0.as_str(), text.2.len(), text.3.as_deref()), ("{\"a\":1}", 0, Some("stop")));
}

#[test]
fn errors_are_one_sentence_and_a_sign_of_life_is_a_line() {
    let body = ErrorBody::new(529, "overloaded", "too much to do");
    let client = Client::Ollama(Form::Chat);
    assert_eq!(client.status_for(529), 503);
    assert_eq!(client.write_error(&body), r#"{"error":"too much to do"}"#);
    for progress in [StreamProgress::NothingSent, StreamProgress::ContentSent] {
        assert_eq!(client.write_stream_error(&body, progress), "{\"error\":\"too much to do\"}\n");
    }
    let alive = client.keep_alive("id", "m", Timestamp::ZERO);
    let expected = "{\"model\":\"m\",\"created_at\":\"1970-01-01T00:00:00Z\",\
                    \"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":false}\n";
    assert_eq!(alive, expected);
}

#[test]
fn a_request_without_a_prompt_only_loads() {
    for (form, body, expected) in [
        (Form::Chat, r#"{"model":"m"}"#, Some(false)),
        (Form::Chat, r#"{"model":"m","messages":[],"keep_alive":0}"#, Some(true)),
        (Form::Chat, r#"{"model":"m","messages":[],"keep_alive":"0s"}"#, Some(true)),
        (Form::Chat, r#"{"model":"m","messages":[{"role":"user","content":"a"}]}"#, None),
        (Form::Generate, r#"{"model":"m","prompt":"","keep_alive":"10m"}"#, Some(false)),
        (Form::Generate, r#"{"model":"m","prompt":"a"}"#, None),
        (Form::Generate, r#"{"model":"m","images":["AAAA"]}"#, None),
        (Form::Chat, r#"{"messages":3}"#, None),
    ] {
        assert_eq!(loads_only(form, body.as_bytes()), expected, "{body}");
    }
    let told: Value = serde_json::from_slice(&loaded(Form::Generate, "m", Timestamp::ZERO, true)).unwrap();
    assert_eq!((&told["response"], &told["done_reason"]), (&json!(""), &json!("unload")));
}

#[test]
fn embeddings_are_asked_and_told_in_other_words() {
    let asked = |form, body: &str| {
        embed::request(form, body.as_bytes()).map(|body| String::from_utf8_lossy(&body).into_owned())
    };
    assert_eq!(
        asked(embed::Form::Embed, r#"{"model":"m","input":["a","b"],"dimensions":8,"truncate":true}"#).unwrap(),
        r#"{"model":"m","input":["a","b"],"dimensions":8}"#
    );
    assert_eq!(
        asked(embed::Form::Embeddings, r#"{"model":"m","prompt":"a"}"#).unwrap(),
        r#"{"model":"m","input":"a"}"#
    );
    assert_eq!(asked(embed::Form::Embed, r#"{"model":"m"}"#).unwrap_err().field, "input");
    let body = br#"{"object":"list","model":"served","data":[{"embedding":[0.10,2e-3]},{"embedding":[1]}],"usage":{"prompt_tokens":4}}"#;
    let times = Times { arrived: Timestamp::ZERO, now: Timestamp::from_millis(2) };
    assert_eq!(
        embed::answer(embed::Form::Embed, body, times).unwrap(),
        r#"{"model":"served","embeddings":[[0.10,2e-3],[1]],"total_duration":2000000,"load_duration":0,"prompt_eval_count":4}"#
    );
    assert_eq!(embed::answer(embed::Form::Embeddings, body, times).unwrap(), r#"{"embedding":[0.10,2e-3]}"#);
    assert_eq!(embed::answer(embed::Form::Embed, b"{}", times), None);
}

#[test]
fn models_are_listed_with_what_clients_decide_by() {
    let entry = ModelEntry {
        id: "openai/gpt-x".to_owned(),
        owned_by: "openai".to_owned(),
        display_name: "GPT X".to_owned(),
        context: Some(400_000),
        ..ModelEntry::default()
    };
    let tags: Value = serde_json::from_slice(&listing::tags(std::slice::from_ref(&entry))).unwrap();
    assert_eq!((&tags["models"][0]["name"], &tags["models"][0]["model"]), (&json!(entry.id), &json!(entry.id)));
    assert_eq!(tags["models"][0]["digest"].as_str().map(str::len), Some(64));
    let shown: Value = serde_json::from_slice(&listing::show(&entry)).unwrap();
    assert_eq!(shown["model_info"]["openai.context_length"], 400_000);
    assert_eq!(shown["capabilities"], json!(["completion", "tools", "vision"]));
    for (body, expected) in [(r#"{"model":"a"}"#, Some("a")), (r#"{"name":"b"}"#, Some("b")), ("{}", None), ("", None)]
    {
        assert_eq!(listing::shown(body.as_bytes()).as_deref(), expected, "{body}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn where_the_network_cuts_a_stream_changes_no_line(cuts in prop::collection::vec(0_usize..6000, 0..20)) {
        for golden in support::goldens() {
            let whole = support::frames(golden.framing, [golden.bytes.clone()]);
            let mut places: Vec<usize> = cuts.iter().copied().filter(|cut| *cut <= golden.bytes.len()).collect();
            places.extend([0, golden.bytes.len()]);
            places.sort_unstable();
            let chunks: Vec<Bytes> = places.windows(2).map(|pair| golden.bytes.slice(pair[0]..pair[1])).collect();
            let cut = support::frames(golden.framing, chunks);
            let lines = |frames| written(Form::Chat, &support::events(golden.dialect, frames).0, IdMap::default());
            prop_assert_eq!(lines(&cut), lines(&whole));
        }
    }
}
