//! What is too much, and what is not JSON (gateway specification, 1.1).

use acceptance::{Ask, World};
use async_compression::tokio::write::{GzipEncoder, ZstdEncoder};
use bytes::Bytes;
use domain::Dialect;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::fixtures::assert_refused;

const LIMIT: usize = 64 * 1024 * 1024;

/// A valid request of exactly so many bytes.
fn request_of(ask: &Ask, length: usize) -> Bytes {
    let open = r#"{"pad":""#;
    let rest = format!(r#"",{}"#, &ask.body[1..]);
    let mut body = Vec::with_capacity(length);
    body.extend_from_slice(open.as_bytes());
    body.resize(length - rest.len(), b'x');
    body.extend_from_slice(rest.as_bytes());
    body.into()
}

#[tokio::test]
async fn a_body_of_64_mib_passes_and_one_byte_more_does_not() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let ask = Ask::new(Dialect::Chat, false);
    let reply = world.agent().post(&ask.path, request_of(&ask, LIMIT)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(world.calls(&connection)[0].body.len(), LIMIT - "openai/".len());
    let reply = world.agent().post(&ask.path, request_of(&ask, LIMIT + 1)).await;
    assert_refused(&ask, &reply, 413);
    assert_eq!(world.calls(&connection).len(), 1);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_a_413_in_every_dialect() {
    let world = World::start().await;
    world.connect_all().await;
    world.set(json!({"gateway": {"bodyLimitBytes": 4096}})).await;
    for ask in Ask::all(false) {
        assert_eq!(world.agent().post(&ask.path, request_of(&ask, 4096)).await.status, 200, "{}", ask.path);
        // Far more than the sockets hold: the refusal must reach a client that is still sending.
        for length in [4097, 1024 * 1024, 32 * 1024 * 1024] {
            let reply = world.agent().post(&ask.path, request_of(&ask, length)).await;
            assert_refused(&ask, &reply, 413);
            assert!(reply.error_message().contains("4096"), "{}", reply.text());
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_compressed_bomb_is_not_unpacked() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let ask = Ask::new(Dialect::Chat, false);
    let bomb = request_of(&ask, LIMIT + 1);
    let mut gzip = GzipEncoder::new(Vec::new());
    gzip.write_all(&bomb).await.expect("written");
    gzip.shutdown().await.expect("finished");
    let mut zstd = ZstdEncoder::new(Vec::new());
    zstd.write_all(&bomb).await.expect("written");
    zstd.shutdown().await.expect("finished");
    for (encoding, bytes) in [("gzip", gzip.into_inner()), ("zstd", zstd.into_inner())] {
        assert!(bytes.len() < 1024 * 1024, "{encoding}: a small bomb");
        let reply = world.agent().with("content-encoding", encoding).post(&ask.path, bytes).await;
        assert_refused(&ask, &reply, 413);
    }
    assert!(world.calls(&connection).is_empty());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_body_that_is_not_json_is_a_400_that_names_the_place() {
    let world = World::start().await;
    world.connect_all().await;
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)) {
        for (body, place) in [
            (&b"{\n  \"model\": \"openai/m1\",\n  oops\n}"[..], Some((3, 3))),
            (b"{\"model\":\"openai/m1\",}", Some((1, 22))),
            (b"", Some((1, 1))),
            (b"hello", Some((1, 1))),
            (b"{\"model\":\"openai/m1\"} trailing", Some((1, 23))),
            (b"{\"a\":\"\xff\"}", Some((1, 7))),
            (b"[]", None),
            (b"\"text\"", None),
        ] {
            let reply = world.agent().post(&ask.path, body).await;
            assert_refused(&ask, &reply, 400);
            if let Some((line, _)) = place {
                let message = reply.error_message();
                assert!(message.contains(&format!("line {line}, column ")), "{body:?}: {message}");
            }
        }
    }
    assert!(world.upstream.calls(None).is_empty());
    world.check_invariants().await;
}

#[tokio::test]
async fn members_that_matter_are_held_to_their_types() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let ask = Ask::new(Dialect::Chat, false);
    for (body, field) in [
        (r#"{"model":7,"messages":[]}"#, "model"),
        (r#"{"model":"openai/m1","messages":[],"stream":"yes"}"#, "stream"),
        (r#"{"model":"openai/m1","model":"openai/m2","messages":[]}"#, "model"),
    ] {
        let reply = world.agent().post(&ask.path, body).await;
        assert_refused(&ask, &reply, 400);
        assert!(reply.error_message().contains(&format!("`{field}`")), "{}", reply.text());
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_deeply_nested_body_is_refused_and_costs_no_stack() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let ask = Ask::new(Dialect::Chat, false);
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!(r#"{{"model":"openai/m1","deep":{open}{close},"messages":[{{"role":"user","content":"x"}}]}}"#)
    };
    assert_eq!(world.agent().post(&ask.path, nested(100)).await.status, 200);
    for depth in [200, 100_000, 5_000_000] {
        let reply = world.agent().post(&ask.path, nested(depth)).await;
        assert_refused(&ask, &reply, 400);
        assert!(reply.error_message().contains("nested"), "{}", reply.text());
    }
    assert_eq!(world.calls(&connection).len(), 1);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_client_that_stops_in_its_body_is_let_go() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let mut wire = acceptance::Wire::open(world.address()).await;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{",
        world.key
    );
    wire.write(head.as_bytes()).await;
    let reply = tokio::select! {
        reply = wire.rest() => reply,
        () = async { loop { world.advance(domain::Millis::seconds(1)); tokio::task::yield_now().await; } } => unreachable!("endless"),
    };
    assert_eq!(reply.status(), 408, "{}", reply.text());
    assert!(reply.text().contains(r#""type":"timeout_error","code":"timeout""#), "{}", reply.text());
    world.check_invariants().await;
}
