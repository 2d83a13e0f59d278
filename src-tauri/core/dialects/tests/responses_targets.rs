//! What differs between servers of the Responses dialect, and between ends of answers.
#![expect(clippy::unwrap_used, reason = "tests know their fixtures")]

use bytes::BytesMut;
use dialects::canonical::{Answer, IdMap, Origin, Part, Request, Target};
use dialects::translate::{Reply, read_request, write_answer, write_request, writer};
use dialects::{DeltaKind, Event, FinishReason, PartKind};
use domain::{Dialect, Usage};
use serde_json::{Value, json};

fn read(body: &Value) -> Request {
    read_request(Dialect::Responses, body.to_string().as_bytes(), "", false).unwrap()
}

fn body(dialect: Dialect, request: &Request, target: &Target) -> Value {
    serde_json::from_slice(&write_request(dialect, request, target).unwrap().body).unwrap()
}

fn vendor(origin: Origin) -> Target {
    Target { origin, ..Target::unknown("m") }
}

fn reply(ids: IdMap) -> Reply {
    Reply { id: "1".into(), model: "m".into(), created: 1, wants_usage_chunk: false, estimated_input: 1, ids }
}

/// The whole answer and the last event of the stream.
fn shown(events: &[Event], ids: &IdMap) -> [Value; 2] {
    let mut writer = writer(Dialect::Responses, reply(ids.clone()));
    let mut out = BytesMut::new();
    events.iter().for_each(|event| writer.push(event, &mut out));
    writer.end(&mut out);
    let text = std::str::from_utf8(&out).unwrap();
    let last = text.trim_end().rsplit("\ndata: ").next().unwrap();
    let answer = Answer::fold(events.iter().cloned()).unwrap();
    let whole = write_answer(Dialect::Responses, &answer, &reply(ids.clone()));
    [serde_json::from_slice(&whole).unwrap(), serde_json::from_str(last).unwrap()]
}

#[test]
fn thinking_of_another_vendor_comes_back_to_it_through_this_dialect_and_to_no_other() {
    for (kind, text, signature) in
        [(PartKind::Reasoning, "I should", "EqQB/+=="), (PartKind::RedactedReasoning, "", "EmwK")]
    {
        let events = [
            Event::PartStarted { index: 0, kind },
            Event::Delta { index: 0, kind: DeltaKind::Reasoning, text: text.to_owned() },
            Event::Delta { index: 0, kind: DeltaKind::Signature, text: signature.to_owned() },
            Event::PartEnded { index: 0 },
            Event::PartStarted { index: 1, kind: PartKind::ToolCall { id: Some("toolu_1".into()), name: "ls".into() } },
            Event::PartEnded { index: 1 },
            Event::Finished(FinishReason::ToolCalls),
        ];
        let ids = IdMap { origin: Origin::Anthropic, ..IdMap::default() };
        for answer in shown(&events, &ids) {
            let response = answer.get("response").unwrap_or(&answer);
            let mut input = vec![json!({"role": "user", "content": "list"})];
            input.extend(response["output"].as_array().unwrap().iter().cloned());
            input.push(json!({"type": "function_call_output", "call_id": "toolu_1", "output": "a"}));
            let request = read(&json!({
                "model": "m", "input": input, "reasoning": {"effort": "high"},
                "tools": [{"type": "function", "name": "ls", "parameters": {"type": "object", "properties": {}}}],
            }));
            let Some(Part::Reasoning { origin, .. }) = request.turns[1].parts.first() else { unreachable!() };
            assert_eq!(*origin, Origin::Anthropic);
            let told = body(Dialect::Messages, &request, &vendor(Origin::Anthropic));
            let expected = match text {
                "" => json!({"type": "redacted_thinking", "data": signature}),
                text => json!({"type": "thinking", "thinking": text, "signature": signature}),
            };
            assert_eq!(told["messages"][1]["content"][0], expected);
            let foreign = body(Dialect::Responses, &request, &vendor(Origin::OpenAi)).to_string();
            assert!(!foreign.contains(signature) && !foreign.contains("encrypted_content\":"), "{foreign}");
        }
    }
}

#[test]
fn an_end_is_told_in_the_words_of_the_dialect() {
    for (finish, status, reason, event) in [
        (FinishReason::End, "completed", Value::Null, "response.completed"),
        (FinishReason::StopSequence, "completed", Value::Null, "response.completed"),
        (FinishReason::ToolCalls, "completed", Value::Null, "response.completed"),
        (FinishReason::Paused, "completed", Value::Null, "response.completed"),
        (FinishReason::Length, "incomplete", json!({"reason": "max_output_tokens"}), "response.incomplete"),
        (FinishReason::ContextFull, "incomplete", json!({"reason": "max_output_tokens"}), "response.incomplete"),
        (FinishReason::Filter, "incomplete", json!({"reason": "content_filter"}), "response.incomplete"),
    ] {
        let usage = Usage {
            input_fresh: Some(3),
            cache_read: Some(5),
            cache_write: Some(2),
            output: Some(4),
            ..Usage::default()
        };
        let events = [
            Event::PartStarted { index: 0, kind: PartKind::Text },
            Event::Delta { index: 0, kind: DeltaKind::Text, text: "half".into() },
            Event::Finished(finish),
            Event::Usage(usage),
        ];
        let [whole, last] = shown(&events, &IdMap::default());
        assert_eq!(last["type"], event);
        for response in [&whole, &last["response"]] {
            assert_eq!((&response["status"], &response["incomplete_details"]), (&json!(status), &reason), "{finish:?}");
            assert_eq!(response["output"][0]["content"][0]["text"], "half");
            let usage = &response["usage"];
            assert_eq!((&usage["input_tokens"], &usage["total_tokens"]), (&json!(10), &json!(14)));
            assert_eq!(usage["input_tokens_details"]["cached_tokens"], 5);
        }
    }
}

#[test]
fn text_that_goes_on_behind_another_part_opens_a_new_item() {
    let delta = |index, kind, text: &str| Event::Delta { index, kind, text: text.to_owned() };
    let events = [
        Event::PartStarted { index: 0, kind: PartKind::Reasoning },
        delta(0, DeltaKind::Reasoning, "hm"),
        Event::PartStarted { index: 1, kind: PartKind::Text },
        delta(1, DeltaKind::Text, "one"),
        delta(0, DeltaKind::Reasoning, "and"),
        delta(1, DeltaKind::Text, "two"),
        Event::Finished(FinishReason::End),
    ];
    let [_, last] = shown(&events, &IdMap::default());
    let output = last["response"]["output"].as_array().unwrap();
    let kinds: Vec<_> = output.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["reasoning", "message", "reasoning", "message"]);
    assert_eq!(output[3]["content"][0]["text"], "two");
}

#[test]
fn servers_with_less_get_less() {
    let mut request = read(&json!({
        "model": "m", "instructions": "Be kind.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "function_call", "call_id": "c".repeat(70), "name": "see", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c".repeat(70), "output": [{"type": "input_image", "image_url": "https://a/b.png"}]},
            {"role": "developer", "content": "now"},
            {"role": "user", "content": [{"type": "input_image", "image_url": "https://a/c.png"}]},
        ],
    }));
    request.source = Dialect::Messages.into();
    let poor = Target {
        system_role: false,
        string_content_only: true,
        takes_images: false,
        reasoning_replay: true,
        ..vendor(Origin::Anyone)
    };
    let written = write_request(Dialect::Responses, &request, &poor).unwrap();
    let told: Value = serde_json::from_slice(&written.body).unwrap();
    let input = told["input"].as_array().unwrap();
    assert_eq!(input[0]["content"], "a\nb");
    assert_eq!(
        input[1],
        json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]})
    );
    let [call, result] = [&input[2]["call_id"], &input[3]["call_id"]].map(|id| id.as_str().unwrap());
    assert_eq!(call, result);
    assert!(call.len() <= 64, "{call}");
    assert_eq!(input[3]["output"], "[image omitted]");
    assert_eq!(input[4]["content"], "<system>\nnow\n</system>\n[image omitted]");
    assert_eq!(input.len(), 5);
    let warnings: Vec<_> = written.warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(warnings, ["DROPPED_PART"]);
}
