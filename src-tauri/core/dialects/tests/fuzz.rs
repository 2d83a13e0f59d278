//! Damaged input: every reader, every framing and what the writers make of it, with the recorded corpus as seed.
//!
//! Runs on stable Rust as a test of bounded length. Every case follows from one number, so a failure names the number and
//! prints the input; `DIALECTS_FUZZ_SEED` starts elsewhere and `DIALECTS_FUZZ_CASES` goes on for longer.
//!
//! What must hold for any bytes whatever: nothing panics, frames are the input again, a stream has one terminal event
//! and dense parts, where it is cut does not matter, and everything that is written is well-formed.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests read their fixtures from files and say what failed"
)]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use bytes::{Bytes, BytesMut};
use dialects::canonical::{Answer, IdMap, Target};
use dialects::client::Times;
use dialects::ollama::{Form, embed, listing, loads_only};
use dialects::translate::{Reply, read_answer, write_answer, write_request};
use dialects::{Client, Event, Frame, Framing, PartKind, continuation, error, glance, inspect, models};
use domain::{Dialect, Operation, Timestamp};
use serde_json::value::RawValue;

/// Cases of each target, unless the environment says otherwise. All targets together take some seconds.
const CASES: u64 = 1_500;

const CLIENTS: [Client; 6] = [
    Client::Shared(Dialect::Chat),
    Client::Shared(Dialect::Responses),
    Client::Shared(Dialect::Messages),
    Client::Shared(Dialect::Gemini),
    Client::Ollama(Form::Chat),
    Client::Ollama(Form::Generate),
];

/// What readers look for: put in anywhere, doubled, or in the place of something else.
const WORDS: [&str; 40] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\\",
    "\\u",
    "\\ud83d",
    "\n",
    "\r",
    "\n\n",
    "\r\n",
    "\u{feff}",
    "data:",
    "event: ",
    ": c\n",
    "null",
    "true",
    "-1",
    "1e999",
    "9007199254740993",
    "\"\"",
    "{}",
    "[]",
    "[[[[",
    "\"type\":",
    "\"error\":",
    "\"index\":",
    "\"id\":",
    "\"tool_calls\":",
    "\"text\":",
    "\"role\":",
    "\"content\":",
    "data: [DONE]\n\n",
    "\u{0}",
    "é",
    "\"data:image/png;base64,\"",
    "\"$ref\":\"#\"",
];

/// SplitMix64: one number after the other from one seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`; zero when there is nothing below.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    /// A short range of a text of this length.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..(start + self.below(24)).min(length)
    }
}

/// One of the corpus with a few places damaged.
fn damaged(corpus: &[Bytes], dice: &mut Dice) -> Bytes {
    let mut bytes = corpus[dice.below(corpus.len())].to_vec();
    for _ in 0..dice.below(5) {
        let range = dice.range(bytes.len());
        match dice.below(7) {
            0 => drop(bytes.drain(range)),
            1 => {
                let again = bytes[range.clone()].to_vec();
                drop(bytes.splice(range.end..range.end, again));
            }
            2 => drop(bytes.splice(range, WORDS[dice.below(WORDS.len())].bytes())),
            3 => {
                let word = WORDS[dice.below(WORDS.len())];
                drop(bytes.splice(range.start..range.start, word.bytes()));
            }
            4 => {
                if let Some(byte) = bytes.get_mut(range.start) {
                    *byte ^= 1 << dice.below(8);
                }
            }
            5 => bytes.truncate(range.start),
            _ => {
                let other = &corpus[dice.below(corpus.len())];
                let piece = dice.range(other.len());
                drop(bytes.splice(range, other[piece].iter().copied()));
            }
        }
    }
    Bytes::from(bytes)
}

/// Runs a target over damaged members of its corpus. A failure is told with the seed and the input that made it.
fn run(target: &str, corpus: &[Bytes], check: impl Fn(&Bytes, &mut Dice)) {
    let number = |name: &str, usual: u64| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (first, cases) = (number("DIALECTS_FUZZ_SEED", 1), number("DIALECTS_FUZZ_CASES", CASES));
    assert!(!corpus.is_empty(), "{target} has no corpus");
    for seed in first..first + cases {
        let mut dice = Dice(seed);
        let input = damaged(corpus, &mut dice);
        if let Err(cause) = catch_unwind(AssertUnwindSafe(|| check(&input, &mut dice))) {
            eprintln!("{target} fails: DIALECTS_FUZZ_SEED={seed} DIALECTS_FUZZ_CASES=1, input {input:?}");
            resume_unwind(cause);
        }
    }
}

/// The JSON files of a folder beside the dialect's code.
fn bodies(folder: &str) -> Vec<Bytes> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let is_body = |file: &std::path::PathBuf| file.extension().is_some_and(|extension| extension == "json");
    files.into_iter().filter(is_body).map(|file| Bytes::from(std::fs::read(file).unwrap())).collect()
}

/// Every recorded stream that ended well, told as a whole answer of this dialect.
fn answers(dialect: Dialect) -> Vec<Bytes> {
    let folded = support::goldens().into_iter().filter_map(|golden| {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        Answer::fold(support::events(golden.dialect, &frames).0).ok()
    });
    folded.map(|answer| write_answer(dialect, &answer, &reply())).collect()
}

fn reply() -> Reply {
    Reply {
        id: "r1".to_owned(),
        model: "m".to_owned(),
        created: 1,
        wants_usage_chunk: true,
        estimated_input: 1,
        ids: IdMap::default(),
    }
}

fn assert_json(bytes: &[u8]) {
    let read = serde_json::from_slice::<&RawValue>(bytes);
    assert!(read.is_ok(), "{read:?}: {}", String::from_utf8_lossy(bytes));
}

/// In two or three pieces.
fn cut(bytes: &Bytes, dice: &mut Dice) -> Vec<Bytes> {
    let mut places = [0, dice.below(bytes.len() + 1), dice.below(bytes.len() + 1), bytes.len()];
    places.sort_unstable();
    places.windows(2).map(|pair| bytes.slice(pair[0]..pair[1])).collect()
}

#[test]
fn framings_lose_nothing() {
    let corpus: Vec<Bytes> = support::goldens().into_iter().map(|golden| golden.bytes).collect();
    run("framing", &corpus, |input, dice| {
        for framing in [Framing::Sse, Framing::JsonArray, Framing::JsonLines] {
            let whole = support::frames(framing, [input.clone()]);
            let joined: Vec<u8> = whole.iter().flat_map(|frame| frame.raw.iter().copied()).collect();
            assert_eq!(joined, *input, "{framing:?}");
            assert_eq!(support::frames(framing, cut(input, dice)), whole, "{framing:?}");
        }
    });
}

#[test]
fn stream_readers_tell_a_story_with_one_end() {
    for dialect in Dialect::ALL {
        // Garbage needs no damage.
        let is_good = |golden: &support::Golden| golden.dialect == dialect && golden.case != "garbage";
        let goldens = support::goldens().into_iter().filter(is_good);
        let corpus: Vec<Bytes> = goldens.map(|golden| golden.bytes).collect();
        run(&format!("{dialect} streams"), &corpus, |input, _| {
            for framing in [Framing::Sse, Framing::JsonArray] {
                let frames = support::frames(framing, [input.clone()]);
                let (events, _) = support::events(dialect, &frames);
                assert_story(&events);
                CLIENTS.into_iter().for_each(|client| assert_written(client, &events));
            }
        });
    }
}

fn assert_story(events: &[Event]) {
    let (mut parts, mut ends, mut open) = (0, 0, Vec::new());
    for event in events {
        match event {
            Event::PartStarted { index, .. } => {
                assert_eq!(*index, parts, "parts are numbered as they come");
                parts += 1;
                open.push(*index);
            }
            Event::Delta { index, .. } => assert!(open.contains(index), "what is added has a place"),
            Event::PartEnded { index } => {
                assert!(open.contains(index), "a part ends once");
                open.retain(|other| other != index);
            }
            Event::Finished(_) | Event::Failed(_) => ends += 1,
            Event::Started { .. } | Event::Usage(_) | Event::KeepAlive => {}
        }
    }
    assert_eq!(ends, 1, "one terminal event");
}

/// What a client gets of these events, whole and as a stream.
fn assert_written(client: Client, events: &[Event]) {
    let mut writer = client.writer(reply(), Timestamp::ZERO);
    let mut out = BytesMut::new();
    for event in events {
        writer.push(event, &mut out);
    }
    let answer = Answer::fold(events.iter().cloned());
    if answer.is_ok() {
        writer.end(&mut out);
    }
    let framing = match client {
        Client::Shared(_) => Framing::Sse,
        Client::Ollama(_) => Framing::JsonLines,
    };
    let is_payload = |frame: &&Frame| !frame.is_comment && !frame.data.is_empty() && frame.data != "[DONE]";
    support::frames(framing, [out.freeze()]).iter().filter(is_payload).for_each(|frame| assert_json(&frame.data));
    if let Ok(answer) = answer {
        let times = Times { arrived: Timestamp::ZERO, now: Timestamp::ZERO };
        assert_json(&client.write_answer(&answer, &reply(), times));
    }
}

#[test]
fn request_readers_refuse_or_give_what_can_be_written() {
    for (client, folder) in CLIENTS.into_iter().zip(["chat", "responses", "messages", "gemini", "ollama", "ollama"]) {
        let corpus = bodies(&format!("{folder}/golden/requests"));
        run(&format!("{client:?} requests"), &corpus, |input, _| {
            let Ok(request) = client.read_request(input, "m", true) else { return };
            for target in Dialect::ALL {
                if let Ok(written) = write_request(target, &request, &Target::unknown("m")) {
                    assert_json(&written.body);
                }
            }
        });
    }
}

#[test]
fn answer_readers_and_glances_take_anything() {
    for dialect in Dialect::ALL {
        let corpus = answers(dialect);
        run(&format!("{dialect} answers"), &corpus, |input, _| {
            if let Ok(events) = read_answer(dialect, input) {
                let calls =
                    events.iter().filter(|it| matches!(it, Event::PartStarted { kind: PartKind::ToolCall { .. }, .. }));
                assert!(calls.count() <= input.len());
                CLIENTS.into_iter().for_each(|client| assert_written(client, &events));
            }
            error::read(500, input);
            error::read_in_stream(input);
            let _ = models::read_list(input);
            for operation in
                [Operation::ChatCompletions, Operation::Responses, Operation::Messages, Operation::GenerateContent]
            {
                inspect(operation, input);
            }
        });
    }
}

#[test]
fn what_is_cut_out_of_a_request_leaves_json() {
    let corpus: Vec<Bytes> = ["chat", "responses", "messages", "gemini", "ollama"]
        .into_iter()
        .flat_map(|folder| bodies(&format!("{folder}/golden/requests")))
        .collect();
    run("glance", &corpus, |input, _| {
        for operation in [Operation::ChatCompletions, Operation::Responses, Operation::Messages] {
            let Ok(found) = glance(operation, input) else { continue };
            // A glance proves that it is JSON.
            assert_json(input);
            let mut edits: Vec<_> = dialects::ensure_model(&found, "other").into_iter().collect();
            assert_json(&dialects::splice(input, &mut edits));
        }
        continuation::previous(input);
        continuation::stored(input);
        for form in [Form::Chat, Form::Generate] {
            loads_only(form, input);
        }
        let times = Times { arrived: Timestamp::ZERO, now: Timestamp::ZERO };
        for form in [embed::Form::Embed, embed::Form::Embeddings] {
            if let Ok(body) = embed::request(form, input) {
                assert_json(&body);
            }
            embed::answer(form, input, times);
        }
        listing::shown(input);
    });
}
