//! What the hot path costs: looking at a request and changing its model, and reading a stream frame by frame. Budgets:
//! architecture, 18. Run with `cargo bench -p dialects`.
#![expect(clippy::unwrap_used, reason = "a bench that cannot prepare its input has nothing to measure")]

use std::fmt::Write;

use bytes::Bytes;
use dialects::{Event, SseDecoder, ensure_include_usage, glance, model_edit, reader, splice};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use domain::{Dialect, Operation};

fn main() {
    divan::main();
}

const SIZES: [usize; 4] = [1_000, 100_000, 500_000, 5_000_000];
const EVENTS: usize = 200;

/// A chat request like an agent's: prose, code with many escapes, tool calls and tool schemas.
fn request(size: usize) -> Bytes {
    let turn = r#"{"role":"user","content":"Please look at the parser. It fails for nested input:\n\n```rust\nfn main() {\n    let text = \"{\\\"a\\\": [1, 2, 3]}\";\n    println!(\"{}\", parse(text));\n}\n```\n\nKeep the public interface as it is, and add a test that names the behaviour."},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"src/parser.rs\",\"from\":1,\"to\":200}"}}]},{"role":"tool","tool_call_id":"call_1","content":"pub fn parse(text: &str) -> Result<Value, Error> {\n    let mut scanner = Scanner::new(text);\n    scanner.value()\n}\n"}"#;
    let tool = r#"{"type":"function","function":{"name":"read_file","description":"Reads a file","parameters":{"type":"object","properties":{"path":{"type":"string"},"from":{"type":"integer","minimum":1}},"required":["path"],"additionalProperties":false}}}"#;
    let mut body = format!(r#"{{"temperature":0.2,"stream":true,"tools":[{tool}],"messages":["#);
    body.push_str(turn);
    while body.len() + turn.len() + 40 < size {
        body.push(',');
        body.push_str(turn);
    }
    body.push_str(r#"],"model":"provider/model"}"#);
    Bytes::from(body)
}

#[divan::bench(args = SIZES)]
fn glance_and_splice(bencher: Bencher<'_, '_>, size: usize) {
    let body = request(size);
    bencher.counter(BytesCount::new(body.len())).bench_local(|| {
        let found = glance(Operation::ChatCompletions, black_box(&body)).unwrap();
        let mut edits: Vec<_> = model_edit(&found, "model").into_iter().chain(ensure_include_usage(&found)).collect();
        splice(&body, &mut edits)
    });
}

#[divan::bench(args = SIZES)]
fn glance_only(bencher: Bencher<'_, '_>, size: usize) {
    let body = request(size);
    bencher
        .counter(BytesCount::new(body.len()))
        .bench_local(|| glance(Operation::ChatCompletions, black_box(&body)).unwrap());
}

/// The measure to beat: the same proof that a body is JSON, by serde.
#[divan::bench(args = SIZES)]
fn serde_ignored_any(bencher: Bencher<'_, '_>, size: usize) {
    let body = request(size);
    bencher
        .counter(BytesCount::new(body.len()))
        .bench_local(|| serde_json::from_slice::<serde::de::IgnoredAny>(black_box(&body)).unwrap());
}

fn stream(dialect: Dialect) -> Bytes {
    let mut text = String::new();
    for number in 0..EVENTS {
        match dialect {
            Dialect::Chat => write!(text, "data: {{\"id\":\"chatcmpl-CgX1\",\"object\":\"chat.completion.chunk\",\"created\":1764403200,\"model\":\"gpt-4o-2024-08-06\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_a1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{number}\"}},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null,\"obfuscation\":\"a8s7d6\"}}\n\n"),
            Dialect::Responses => write!(text, "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{number},\"item_id\":\"msg_68a0c1\",\"output_index\":0,\"content_index\":0,\"delta\":\" word{number}\",\"logprobs\":[],\"obfuscation\":\"a8s7d6\"}}\n\n"),
            Dialect::Messages if number == 0 => write!(text, "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n"),
            Dialect::Messages => write!(text, "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\" word{number}\"}}}}\n\n"),
            Dialect::Gemini => write!(text, "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\" word{number}\"}}],\"role\":\"model\"}},\"index\":0}}],\"usageMetadata\":{{\"promptTokenCount\":300,\"candidatesTokenCount\":{number},\"totalTokenCount\":400,\"promptTokensDetails\":[{{\"modality\":\"TEXT\",\"tokenCount\":300}}]}},\"modelVersion\":\"gemini-2.5-pro\",\"responseId\":\"gR4a\"}}\r\n\r\n"),
        }
        .unwrap();
    }
    Bytes::from(text)
}

/// A stream of 200 events in chunks of 1 400 bytes, about what a network packet carries.
#[divan::bench(args = Dialect::ALL)]
fn decode_and_read(bencher: Bencher<'_, '_>, dialect: Dialect) {
    let bytes = stream(dialect);
    let chunks: Vec<Bytes> = bytes.chunks(1400).map(|chunk| bytes.slice_ref(chunk)).collect();
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| {
        let mut decoder = SseDecoder::new(dialects::framing::MAX_FRAME);
        let mut reader = reader(dialect);
        let (mut frames, mut events): (_, Vec<Event>) = (Vec::new(), Vec::new());
        for chunk in &chunks {
            decoder.push(chunk.clone(), &mut frames).unwrap();
            for frame in frames.drain(..) {
                reader.push(&frame, &mut events);
            }
            black_box(&events);
            events.clear();
        }
    });
}
