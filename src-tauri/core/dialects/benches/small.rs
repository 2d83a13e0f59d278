//! What reading a small request and a small answer costs: about a kilobyte, which is what most turns of a chat are. The
//! gateway reads both of every call.
//! Run with `cargo bench -p dialects --bench small`.
//!
//! Each time stands beside the least that any reader must do, parsing the same bytes into a tree, and once past them.
#![expect(
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench prints, tells the time, and has nothing to measure without its input"
)]

use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;
use dialects::canonical::{Answer, IdMap, Target};
use dialects::translate::{Reply, read_answer, read_request, write_answer, write_request};
use dialects::{Client, inspect};
use domain::{Dialect, Operation};
use mimalloc::MiMalloc;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// As the program has it: much of what reading costs is memory taken.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const SIZE: usize = 1_000;
/// So many runs are timed as one, because one is shorter than what a clock tells well.
const RUNS: u32 = 100;
const ROUNDS: usize = 200;

/// A piece of an agent's conversation, with escapes in its texts and a call of a tool.
const TURN: &str = r#"{"role":"user","content":"It fails for nested input:\n\n```rust\nfn main() {\n    let text = \"{\\\"a\\\": [1, 2]}\";\n}\n```\nKeep the interface as it is."},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"src/parser.rs\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"pub fn parse(text: &str) -> Result<Value, Error> {\n    Scanner::new(text).value()\n}\n"}"#;
const PLAIN: &str = r#"{"role":"user","content":"It fails for nested input."},{"role":"assistant","content":"Show me."},{"role":"user","content":"Here."}"#;

fn main() {
    println!("1 KB request read");
    for dialect in Dialect::ALL {
        let body = request(dialect);
        row(dialect, &body, || {
            drop(black_box(Client::from(dialect).read_request(black_box(&body), "m", true).unwrap()))
        });
    }
    println!("1 KB answer inspected");
    for dialect in Dialect::ALL {
        let body = answer(dialect);
        let operation = match dialect {
            Dialect::Chat => Operation::ChatCompletions,
            Dialect::Responses => Operation::Responses,
            Dialect::Messages => Operation::Messages,
            Dialect::Gemini => Operation::GenerateContent,
        };
        row(dialect, &body, || drop(black_box(inspect(operation, black_box(&body)))));
    }
}

fn row(dialect: Dialect, body: &[u8], run: impl FnMut()) {
    let time = nanos(run);
    let tree = nanos(|| drop(black_box(serde_json::from_slice::<Value>(black_box(body)).unwrap())));
    let past = nanos(|| {
        black_box(serde_json::from_slice::<IgnoredAny>(black_box(body)).unwrap());
    });
    println!(
        "  {dialect:>9} {:>4} bytes {time:>6.0} ns {:>5.2} × a parse into `Value`, {:>5.2} × a walk past it",
        body.len(),
        time / tree,
        time / past
    );
}

/// The middle of several rounds.
fn nanos(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            (0..RUNS).for_each(|_| run());
            start.elapsed().as_secs_f64() * 1e9 / f64::from(RUNS)
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn request(dialect: Dialect) -> Bytes {
    let mut chat = format!(r#"{{"model":"provider/model","max_tokens":1024,"stream":true,"messages":[{TURN}"#);
    while chat.len() + PLAIN.len() < SIZE {
        chat.push(',');
        chat.push_str(PLAIN);
    }
    chat.push_str("]}");
    if dialect == Dialect::Chat {
        return chat.into();
    }
    let request = read_request(Dialect::Chat, chat.as_bytes(), "m", true).unwrap();
    write_request(dialect, &request, &Target::unknown("m")).unwrap().body
}

fn answer(dialect: Dialect) -> Bytes {
    let text = "The scanner stops at the first bracket:\n\n```rust\nfn value(&mut self) -> Result<Value> {\n    self.next(\"[\")\n}\n```\n";
    let message = json!({"role": "assistant", "content": text.repeat(4), "refusal": null, "annotations": []});
    let usage = json!({"prompt_tokens": 300, "completion_tokens": 120, "total_tokens": 420,
        "prompt_tokens_details": {"cached_tokens": 128, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0}});
    let chat = json!({"id": "chatcmpl-CgX1", "object": "chat.completion", "created": 1_764_403_200, "model": "gpt-x",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"}], "usage": usage,
        "service_tier": "default", "system_fingerprint": null})
    .to_string();
    if dialect == Dialect::Chat {
        return chat.into();
    }
    let answer = Answer::fold(read_answer(Dialect::Chat, chat.as_bytes()).unwrap()).unwrap();
    let reply = Reply {
        id: "r1".to_owned(),
        model: "m".to_owned(),
        created: 1,
        wants_usage_chunk: false,
        estimated_input: 11,
        ids: IdMap::default(),
    };
    write_answer(dialect, &answer, &reply)
}
