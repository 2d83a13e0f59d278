//! Upstreams that break the rules of HTTP, of their media type or of their dialect: a table of what they do, and for each
//! dialect what the agent sees, who is charged for it, and that nothing stays held.
//!
//! Faults that have a scenario of their own (a reset, a hang, an error inside a 200, signs of life alone) are proven there;
//! here stand the ways to be wrong that no scenario names.

use std::time::Duration;

use acceptance::{Ask, Connection, Reply, World, beginning, ending, until, whole_answer};
use async_compression::tokio::write::{GzipEncoder, ZstdEncoder};
use bytes::Bytes;
use domain::Dialect;
use fake_upstream::{Break, FakeUpstream, Gate, Options, Pause, Step};
use tokio::io::AsyncWriteExt;

use crate::cast::{DIALECTS, post, start};

/// What becomes of a request whose first account does this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The answer reaches the agent, and nobody is charged.
    Served,
    /// The second account answers; the agent sees nothing of the first, which is charged.
    PassedOver,
    /// Something was promised already: the agent is told that the answer broke off, and nobody else is asked.
    BrokenOff,
}

/// One way to be wrong.
struct Fault {
    name: &'static str,
    /// Whether the agent asks for a stream.
    stream: bool,
    step: Step,
    then: Then,
}

const JSON: &str = "content-type: application/json\r\n";
const EVENTS: &str = "content-type: text/event-stream\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\n";

/// A response that ends with its connection.
fn response(headers: &str, body: impl AsRef<[u8]>) -> Bytes {
    Bytes::from([OK.as_bytes(), headers.as_bytes(), b"\r\n", body.as_ref()].concat())
}

fn close(bytes: impl Into<Bytes>) -> Step {
    Step::wire([bytes], Break::Close)
}

fn story(dialect: Dialect) -> String {
    format!("{}{}", beginning(dialect), ending(dialect))
}

/// One chunk of the framing of HTTP/1.1.
fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn sized(length: usize, text: &str) -> Bytes {
    response(&format!("{JSON}content-length: {length}\r\n"), text)
}

async fn gzip(text: &str, whole: bool) -> Vec<u8> {
    let mut encoder = GzipEncoder::new(Vec::new());
    encoder.write_all(text.as_bytes()).await.expect("compressed");
    if whole {
        encoder.shutdown().await.expect("ended");
    } else {
        encoder.flush().await.expect("flushed");
    }
    encoder.into_inner()
}

async fn zstd(text: &str) -> Vec<u8> {
    let mut encoder = ZstdEncoder::new(Vec::new());
    encoder.write_all(text.as_bytes()).await.expect("compressed");
    encoder.shutdown().await.expect("ended");
    encoder.into_inner()
}

/// Faults of the head, the same for whole answers and streams.
fn heads(dialect: Dialect, stream: bool) -> Vec<Fault> {
    let (media, body) = if stream { (EVENTS, story(dialect)) } else { (JSON, whole_answer(dialect).to_owned()) };
    let good = response(media, &body);
    let drops = good.iter().map(|byte| (Bytes::copy_from_slice(&[*byte]), Duration::from_micros(100)));
    let prefixed = |prefix: &str| close([prefix.as_bytes(), &good[..]].concat());
    let headed = |header: &str| close(response(&format!("{media}{header}\r\n"), &body));
    let rows = [
        ("byte by byte", Step::paced_wire(drops, Break::Close), Then::Served),
        (
            "information before it",
            prefixed("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
            Then::Served,
        ),
        ("HTTP/1.0", close(String::from_utf8_lossy(&good).replacen("1.1", "1.0", 1)), Then::Served),
        ("a header of one mebibyte", headed(&format!("x-long: {}", "x".repeat(1 << 20))), Then::PassedOver),
        ("a thousand headers", headed("x-many: 1\r\n".repeat(1_000).trim_end()), Then::PassedOver),
        ("two lengths", headed("content-length: 5\r\ncontent-length: 7"), Then::PassedOver),
        ("a length that is none", headed("content-length: many"), Then::PassedOver),
        ("a header without a colon", headed("x-broken header"), Then::PassedOver),
        ("a reset in the head", Step::wire([good.slice(..40)], Break::Reset), Then::PassedOver),
        (
            "another protocol",
            close("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: close\r\n\r\n"),
            Then::PassedOver,
        ),
        ("no content", close("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"), Then::PassedOver),
        ("not modified", close("HTTP/1.1 304 Not Modified\r\nconnection: close\r\n\r\n"), Then::PassedOver),
        ("a status nobody knows", close("HTTP/1.1 999 Denied\r\nconnection: close\r\n\r\n"), Then::PassedOver),
        (
            "a web page",
            close(response("content-type: text/html\r\n", "<!DOCTYPE html><title>Log in</title>")),
            Then::PassedOver,
        ),
        (
            "a compression nobody asked for",
            close(response(&format!("{media}content-encoding: zstd\r\n"), "x")),
            Then::PassedOver,
        ),
        (
            "what is no brotli",
            close(response(&format!("{media}content-encoding: br\r\n"), [255; 64])),
            Then::PassedOver,
        ),
        ("a redirect to itself", close("HTTP/1.1 307 X\r\nlocation: /\r\nconnection: close\r\n\r\n"), Then::PassedOver),
    ];
    rows.into_iter().map(|(name, step, then)| Fault { name, stream, step, then }).collect()
}

async fn whole(dialect: Dialect) -> Vec<Fault> {
    let text = whole_answer(dialect);
    let unescaped = text.replace("Once upon", "Once upon\0");
    let compressed = gzip(text, true).await;
    let gzipped = |body: &[u8]| close(response(&format!("{JSON}content-encoding: gzip\r\n"), body));
    let chunked = |framing: &str| close(response(&format!("{JSON}transfer-encoding: chunked\r\n"), framing));
    let rows = [
        ("no media type", close(response("", text)), Then::Served),
        ("a trailer", chunked(&format!("{}0\r\nx-after: 1\r\n\r\n", chunk(text))), Then::Served),
        ("no last chunk", chunked(&chunk(text)), Then::PassedOver),
        ("a chunk of no size", chunked(&format!("zz\r\n{text}\r\n0\r\n\r\n")), Then::PassedOver),
        ("too long a length", close(sized(text.len() + 10, text)), Then::PassedOver),
        ("too short a length", close(sized(text.len() - 5, text)), Then::PassedOver),
        ("gzip all the same", gzipped(&compressed), Then::Served),
        ("half a gzip", gzipped(&compressed[..compressed.len() / 2]), Then::PassedOver),
        ("events instead of a body", Step::sse([story(dialect)]), Then::Served),
        ("half the events", Step::sse([beginning(dialect)]), Then::PassedOver),
        ("NUL in a text, mended by its escape", close(response(JSON, unescaped)), Then::Served),
        ("a body that stops", close(response(JSON, &text[..text.len() / 2])), Then::PassedOver),
        ("two bodies", close(response(JSON, format!("{text}{text}"))), Then::PassedOver),
    ];
    rows.into_iter().map(|(name, step, then)| Fault { name, stream: false, step, then }).collect()
}

async fn streamed(dialect: Dialect) -> Vec<Fault> {
    let (begins, ends, story) = (beginning(dialect), ending(dialect), story(dialect));
    let gzipped = |body: Vec<u8>| close(response(&format!("{EVENTS}content-encoding: gzip\r\n"), body));
    let chunked = |framing: String| close(response(&format!("{EVENTS}transfer-encoding: chunked\r\n"), framing));
    let sized = |length: usize| close(response(&format!("{EVENTS}content-length: {length}\r\n"), &story));
    let long = |length: usize| story.replace("Once upon", &format!("Once upon {}", "x".repeat(length)));
    let zipped_story = zstd(&story).await;
    let then_reset = [(response(EVENTS, begins), Duration::ZERO), (Bytes::new(), Duration::from_millis(20))];
    let rows = [
        ("a byte order mark", Step::sse([format!("\u{feff}{story}")]), Then::Served),
        ("NUL between the events", Step::sse([begins, ": \0\0\n\n", "data: \0\n\n", ends]), Then::Served),
        ("one line of ten megabytes", Step::sse([long(10 << 20)]), Then::Served),
        ("one line of twenty megabytes", Step::sse([long(20 << 20)]), Then::PassedOver),
        ("a line without an end", Step::drip("data: x".repeat(1 << 16), Duration::ZERO, 64), Then::PassedOver),
        ("a body instead of events", Step::status(200, whole_answer(dialect)), Then::Served),
        ("half a body instead of events", Step::status(200, &whole_answer(dialect)[..20]), Then::PassedOver),
        ("a trailer", chunked(format!("{}0\r\nx-after: 1\r\n\r\n", chunk(&story))), Then::Served),
        ("no last chunk", chunked(chunk(&story)), Then::Served),
        ("a chunk of no size at once", chunked("zz\r\n".to_owned()), Then::PassedOver),
        ("a chunk of no size later", chunked(format!("{}zz\r\n", chunk(begins))), Then::BrokenOff),
        ("too long a length", sized(story.len() + 10), Then::Served),
        ("too short a length", sized(begins.len() + 8), Then::BrokenOff),
        ("gzip all the same", gzipped(gzip(&story, true).await), Then::Served),
        ("half a gzip", gzipped(gzip(begins, false).await), Then::BrokenOff),
        ("zstd", close(response(&format!("{EVENTS}content-encoding: zstd\r\n"), zipped_story)), Then::PassedOver),
        ("comments and the end", Step::sse([": a\n\n: b\n\n"]), Then::PassedOver),
        ("a reset after some text", Step::paced_wire(then_reset, Break::Reset), Then::BrokenOff),
    ];
    rows.into_iter().map(|(name, step, then)| Fault { name, stream: true, step, then }).collect()
}

/// Asks an account that does this, with a good one behind it.
async fn check(world: &World, dialect: Dialect, fault: Fault) {
    let name = format!("{dialect:?}, stream {}: {}", fault.stream, fault.name);
    let ask = Ask::new(dialect, fault.stream);
    let first = world.connect(ask.provider, "first").await;
    let second = world.connect(ask.provider, "second").await;
    world.script(&first).then(fault.step.clone());
    let reply = post(world, &ask).await;
    assert_eq!(reply.status, 200, "{name}: {}", reply.text());
    let charged = world.health(&first).last_error.is_some();
    let asked = (world.calls(&first).len(), world.calls(&second).len());
    let outcome = world.last_request().await["outcome"].as_str().map(str::to_owned);
    let ended = outcome.as_deref().unwrap_or_default();
    match fault.then {
        Then::Served => {
            assert_eq!((asked, charged, ended), ((1, 0), false, "success"), "{name}");
            assert!(is_whole(&ask, &reply), "{name}: {:?}", head(&reply));
        }
        Then::PassedOver => {
            assert_eq!((asked, charged, ended), ((1, 1), true, "success"), "{name}: {:?}", head(&reply));
            assert!(!reply.text().contains("Once"), "{name}: {:?}", head(&reply));
            world.script(&second).then(fault.step);
            all_are_like_this(world, &ask, [&first, &second], &name).await;
        }
        Then::BrokenOff => {
            assert_eq!((asked, charged, ended), ((1, 0), true, "failure"), "{name}: {:?}", head(&reply));
            assert!(reply.text().contains("Once upon") && !is_whole(&ask, &reply), "{name}: {}", reply.text());
        }
    }
    assert!(world.health(&second).last_error.is_none() || fault.then == Then::PassedOver, "{name}");
    for connection in [first, second] {
        world.delete(&connection).await;
    }
    world.managed(http::Method::POST, "/api/resilience/reset", None).await;
}

/// With nobody better behind it, the agent gets an error status in its own dialect.
async fn all_are_like_this(world: &World, ask: &Ask, accounts: [&Connection; 2], name: &str) {
    for account in accounts {
        world.reset(account).await;
    }
    let reply = post(world, ask).await;
    assert!(reply.status.is_server_error(), "{name}: {} {}", reply.status, reply.text());
    assert_eq!(reply.header("content-type"), Some("application/json"), "{name}");
    assert!(!reply.error_word().is_empty() && !reply.error_message().is_empty(), "{name}: {}", reply.text());
}

/// Whether an agent of the dialect takes the reply for a complete answer.
fn is_whole(ask: &Ask, reply: &Reply) -> bool {
    let says = reply.text().contains("Once upon");
    if !says || reply.text().contains("\"error\":{") {
        return false;
    }
    let marks = match ask.dialect {
        Dialect::Chat => ["[DONE]", "chat.completion\""],
        Dialect::Responses => ["response.completed", "\"status\":\"completed\""],
        Dialect::Messages => ["message_stop", "\"stop_reason\":\"end_turn\""],
        Dialect::Gemini => ["\"finishReason\":\"STOP\"", "\"finishReason\":\"STOP\""],
    };
    let is_stream = reply.header("content-type").is_some_and(|media| media.starts_with("text/event-stream"));
    reply.text().contains(marks[usize::from(!is_stream)])
}

/// As much of a reply as a failing test should show.
fn head(reply: &Reply) -> String {
    reply.text().chars().take(600).collect()
}

#[tokio::test]
async fn a_broken_head_is_survived_or_passed_over() {
    for dialect in DIALECTS {
        for stream in [false, true] {
            let world = start().await;
            for fault in heads(dialect, stream) {
                check(&world, dialect, fault).await;
            }
            world.check_invariants().await;
        }
    }
}

#[tokio::test]
async fn a_broken_whole_answer_is_survived_or_passed_over() {
    for dialect in DIALECTS {
        let world = start().await;
        for fault in whole(dialect).await {
            check(&world, dialect, fault).await;
        }
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_broken_stream_is_survived_passed_over_or_told() {
    for dialect in DIALECTS {
        let world = start().await;
        for fault in streamed(dialect).await {
            check(&world, dialect, fault).await;
        }
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_kept_connection_that_has_died_costs_nobody_anything() {
    // Nothing was sent on it yet, so the request goes out on a fresh one.
    let world = start().await;
    for dialect in DIALECTS {
        let ask = Ask::new(dialect, false);
        let account = world.connect(ask.provider, "c1").await;
        let text = whole_answer(dialect);
        let kept = response(&format!("{JSON}content-length: {}\r\n", text.len()), text);
        for how in [Break::Close, Break::Reset] {
            for round in 1..=4 {
                let gate = Gate::closed();
                let later = [(kept.clone(), Pause::None), (Bytes::new(), Pause::from(&gate))];
                world.script(&account).then(Step::paced_wire(later, how));
                let reply = post(&world, &ask).await;
                assert_eq!(reply.status, 200, "{dialect:?} {how:?} {round}: {}", reply.text());
                gate.open();
                until("the end of the kept connection", || world.upstream.connections() == 0).await;
                // What has come to the gateway's sockets by now it sees before it serves whatever comes later.
                world.stranger().get("/health").await;
            }
        }
        assert_eq!(world.calls(&account).len(), 8, "{dialect:?}: each request was sent once");
        assert!(world.health(&account).last_error.is_none(), "{dialect:?}");
        world.delete(&account).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_provider_that_is_only_there_in_ipv6_is_reached() {
    let Ok(upstream) = FakeUpstream::start_with(Options { ipv6: true, ..Options::default() }) else {
        println!("skipped: this computer has no ::1");
        return;
    };
    let world = start().await;
    let port = upstream.address().port();
    let names = tokio::net::lookup_host(("localhost", port)).await.expect("localhost has an address");
    let named = names.into_iter().any(|address| address.is_ipv6());
    // Some computers do not know the name's second address.
    let hosts = if named { vec!["[::1]", "localhost"] } else { vec!["[::1]"] };
    for host in &hosts {
        let account = world.connect_to(crate::cast::AK, "c1", &format!("http://{host}:{port}/v1")).await;
        let reply = post(&world, &Ask::new(Dialect::Chat, true)).await;
        assert_eq!(reply.status, 200, "{host}: {}", reply.text());
        world.delete(&account).await;
    }
    assert_eq!(upstream.count(None).completed, hosts.len() as u64);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_request_that_was_sent_on_a_kept_connection_is_not_sent_to_it_twice() {
    let world = start().await;
    for dialect in DIALECTS {
        let ask = Ask::new(dialect, false);
        let first = world.connect(ask.provider, "first").await;
        let second = world.connect(ask.provider, "second").await;
        world.script(&first).then(Step::ok("fine")).then(Step::Reset);
        assert_eq!(post(&world, &ask).await.status, 200, "{dialect:?}");
        let reply = post(&world, &ask).await;
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(second.id.as_str()), "{dialect:?}");
        assert_eq!((world.calls(&first).len(), world.calls(&second).len()), (2, 1), "{dialect:?}");
        for connection in [first, second] {
            world.delete(&connection).await;
        }
        world.managed(http::Method::POST, "/api/resilience/reset", None).await;
    }
    world.check_invariants().await;
}
