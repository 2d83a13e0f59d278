//! What translation costs: a large request from each dialect to each other, and every event of a translated stream.
//! Run with `cargo bench -p dialects --bench translation`.
//!
//! The tables before divan's own put a number beside each budget. Requests are compared with the least that any
//! translator must do, parsing the body into a tree once; streams with reading the same stream for a client of the same
//! dialect. divan's columns of allocations show what is held at most while a stream is open.
#![expect(
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench prints, tells the time, and has nothing to measure without its input"
)]

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use dialects::canonical::{IdMap, Target};
use dialects::ollama::Form;
use dialects::translate::{Reply, StreamWriter, read_request, write_request};
use dialects::{Client, Event, SseDecoder, StreamReader, reader};
use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher};
use domain::{Dialect, Timestamp};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const MESSAGES: usize = 60;
const TOOLS: usize = 40;
const BYTES: usize = 200 * 1024;
const EVENTS: usize = 200;
const ROUNDS: usize = 60;

fn main() {
    requests();
    streams();
    divan::main();
}

/// An agent's request in this dialect: 60 messages and 40 tools in 200 KiB.
fn request(dialect: Dialect) -> Bytes {
    let chat = Bytes::from(chat_request().to_string());
    if dialect == Dialect::Chat {
        return chat;
    }
    let request = read_request(Dialect::Chat, &chat, "m", true).unwrap();
    write_request(dialect, &request, &Target::unknown("m")).unwrap().body
}

fn chat_request() -> Value {
    let code = "pub fn parse(text: &str) -> Result<Value, Error> {\n    let mut scanner = Scanner::new(text);\n    scanner.value(\"a\\\\b\")\n}\n";
    let turns = MESSAGES / 3;
    let filler = code.repeat((BYTES - TOOLS * 900 - MESSAGES * 160) / turns / code.len() / 11 * 10);
    let mut messages = Vec::new();
    for turn in 0..turns {
        let call = json!({"id": format!("call_{turn}"), "type": "function", "function": {"name": "tool_1",
            "arguments": format!("{{\"path\":\"src/parser_{turn}.rs\",\"from\":1,\"to\":200}}")}});
        messages.push(json!({"role": "user", "content": "Please look at the parser: it fails for nested input."}));
        messages.push(json!({"role": "assistant", "content": "Looking.", "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": format!("call_{turn}"), "content": filler}));
    }
    let tools: Vec<Value> = (0..TOOLS).map(tool).collect();
    json!({"model": "provider/model", "stream": true, "max_tokens": 4096, "temperature": 0.2, "tools": tools, "messages": messages})
}

fn tool(number: usize) -> Value {
    let text = "Says what it is for, in a sentence that is as long as such sentences are, and when not to use it. ";
    let property = json!({"type": "string", "description": text});
    json!({"type": "function", "function": {"name": format!("tool_{number}"), "description": text.repeat(2), "parameters": {
        "type": "object",
        "properties": {
            "path": property, "from": {"type": "integer", "minimum": 1}, "to": {"type": "integer"},
            "mode": {"type": "string", "enum": ["read", "write", "append"]},
            "options": {"type": "object", "properties": {"deep": {"type": "boolean"}, "names": {"type": "array", "items": property}}},
        },
        "required": ["path"], "additionalProperties": false,
    }}})
}

/// The middle of several runs.
fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

fn requests() {
    println!(
        "request of {MESSAGES} messages and {TOOLS} tools: read + write, budget 1500 µs and 3 × a parse into `Value`"
    );
    for from in Dialect::ALL {
        let body = request(from);
        let parse = median(|| drop(black_box(serde_json::from_slice::<Value>(&body).unwrap())));
        for to in Dialect::ALL {
            let time = median(|| drop(black_box(translated(from, to, &body))));
            let (micros, ratio) = (time.as_micros(), time.as_secs_f64() / parse.as_secs_f64());
            let verdict = if micros <= 1500 && ratio <= 3.0 { "ok" } else { "OVER" };
            println!("  {from:>9} → {to:<9} {:>4} KiB {micros:>5} µs {ratio:>5.2} × {verdict}", body.len() / 1024);
        }
    }
}

fn translated(from: Dialect, to: Dialect, body: &[u8]) -> Bytes {
    let request = read_request(from, black_box(body), "m", true).unwrap();
    write_request(to, &request, &Target::unknown("m")).unwrap().body
}

#[divan::bench(args = Dialect::ALL)]
fn read_and_write_for_all(bencher: Bencher<'_, '_>, from: Dialect) {
    let body = request(from);
    bencher.bench_local(|| Dialect::ALL.map(|to| translated(from, to, &body)));
}

#[divan::bench(args = Dialect::ALL)]
fn parse_into_value(bencher: Bencher<'_, '_>, from: Dialect) {
    let body = request(from);
    bencher.bench_local(|| serde_json::from_slice::<Value>(black_box(&body)).unwrap());
}

/// A stream of 200 pieces of text in chunks of 1 400 bytes, about what a network packet carries.
fn stream(dialect: Dialect) -> Vec<Bytes> {
    let mut text = String::new();
    for number in 0..EVENTS {
        match dialect {
            Dialect::Chat => write!(text, "data: {{\"id\":\"chatcmpl-CgX1\",\"object\":\"chat.completion.chunk\",\"created\":1764403200,\"model\":\"gpt-x\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{number}\"}},\"finish_reason\":null}}],\"usage\":null}}\n\n"),
            Dialect::Responses if number == 0 => write!(text, "event: response.output_item.added\ndata: {{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{{\"id\":\"msg_1\",\"type\":\"message\",\"content\":[]}}}}\n\n"),
            Dialect::Responses => write!(text, "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{number},\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\" word{number}\"}}\n\n"),
            Dialect::Messages if number == 0 => write!(text, "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n"),
            Dialect::Messages => write!(text, "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\" word{number}\"}}}}\n\n"),
            Dialect::Gemini => write!(text, "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\" word{number}\"}}],\"role\":\"model\"}},\"index\":0}}],\"usageMetadata\":{{\"promptTokenCount\":300,\"candidatesTokenCount\":{number}}},\"modelVersion\":\"gemini-x\"}}\r\n\r\n"),
        }
        .unwrap();
    }
    let bytes = Bytes::from(text);
    bytes.chunks(1400).map(|chunk| bytes.slice_ref(chunk)).collect()
}

/// Both ends of one open stream.
struct Open {
    decoder: SseDecoder,
    reader: Box<dyn StreamReader + Send>,
    writer: Option<Box<dyn StreamWriter>>,
    events: Vec<Event>,
    out: BytesMut,
}

impl Open {
    /// For a client of the same dialect, where none is given.
    fn new(from: Dialect, to: Option<Client>) -> Open {
        let reply = Reply {
            id: "r1".to_owned(),
            model: "m".to_owned(),
            created: 1,
            wants_usage_chunk: true,
            estimated_input: 11,
            ids: IdMap::default(),
        };
        Open {
            decoder: SseDecoder::new(dialects::framing::MAX_FRAME),
            reader: reader(from),
            writer: to.map(|client| client.writer(reply, Timestamp::ZERO)),
            events: Vec::new(),
            out: BytesMut::new(),
        }
    }

    fn relay(&mut self, chunks: &[Bytes]) {
        let mut frames = Vec::new();
        for chunk in chunks {
            self.decoder.push(chunk.clone(), &mut frames).unwrap();
            for frame in frames.drain(..) {
                self.reader.push(&frame, &mut self.events);
                for event in self.events.drain(..) {
                    if let Some(writer) = &mut self.writer {
                        writer.push(&event, &mut self.out);
                    }
                    black_box(&event);
                }
            }
            drop(black_box(self.out.split().freeze()));
        }
    }
}

const CLIENTS: [Client; 5] = [
    Client::Shared(Dialect::Chat),
    Client::Shared(Dialect::Responses),
    Client::Shared(Dialect::Messages),
    Client::Shared(Dialect::Gemini),
    Client::Ollama(Form::Chat),
];

fn streams() {
    println!("translated stream: time per event beyond same-dialect reading, budget 10 µs");
    for from in Dialect::ALL {
        let chunks = stream(from);
        let own = median(|| Open::new(from, None).relay(&chunks));
        for to in CLIENTS {
            let time = median(|| Open::new(from, Some(to)).relay(&chunks));
            let more = time.saturating_sub(own).as_secs_f64() * 1e6 / EVENTS as f64;
            let verdict = if more <= 10.0 { "ok" } else { "OVER" };
            println!("  {from:>9} → {:<18} {more:>6.2} µs {verdict}", format!("{to:?}"));
        }
    }
}

/// Same-dialect reading.
#[divan::bench(args = Dialect::ALL)]
fn relay_own(bencher: Bencher<'_, '_>, from: Dialect) {
    let chunks = stream(from);
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| Open::new(from, None).relay(&chunks));
}

/// Column "max alloc" is what an open translated stream holds at most (budget 64 KiB).
#[divan::bench(args = pairs())]
fn relay_translated(bencher: Bencher<'_, '_>, Pair(from, to): Pair) {
    let chunks = stream(from);
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| Open::new(from, Some(to)).relay(&chunks));
}

/// The same for a stream ten times as long: allocations per event must not grow, and what is held must not follow.
#[divan::bench(args = pairs())]
fn relay_long(bencher: Bencher<'_, '_>, Pair(from, to): Pair) {
    let chunks = stream(from);
    bencher.counter(ItemsCount::new(EVENTS * 10)).bench_local(|| {
        let mut open = Open::new(from, Some(to));
        for _ in 0..10 {
            open.relay(&chunks);
        }
    });
}

/// An answer of a megabyte. Column "max alloc": Responses tells the whole text again at its end and so holds it once, the
/// others hold none of it (`docs/decisions/0010-a-responses-stream-holds-its-answer.md`).
#[divan::bench(args = CLIENTS, sample_count = 5)]
fn relay_a_megabyte(bencher: Bencher<'_, '_>, to: Client) {
    let text = "a line of an answer, as models write them.\n".repeat(24);
    let chunk = json!({"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
    let chunks = [Bytes::from(format!("data: {chunk}\n\n"))];
    bencher.bench_local(|| {
        let mut open = Open::new(Dialect::Chat, Some(to));
        for _ in 0..(1024 * 1024 / text.len()) {
            open.relay(&chunks);
        }
    });
}

#[derive(Clone, Copy, Debug)]
struct Pair(Dialect, Client);

fn pairs() -> Vec<Pair> {
    Dialect::ALL.into_iter().flat_map(|from| CLIENTS.map(|to| Pair(from, to))).collect()
}
