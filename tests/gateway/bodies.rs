//! What agents asked and were answered, kept where their owner wants it (gateway specification, 5.6 and 8.5).

use std::fs;
use std::path::PathBuf;

use acceptance::{Ask, PATIENCE, World, chat_body};
use domain::{Dialect, Millis};
use fake_upstream::{Break, Step};
use http::Method;
use serde_json::{Value, json};

use crate::fixtures::beginning;

async fn keeping() -> World {
    let world = World::start().await;
    world.set(json!({ "logging": { "detailed": true } })).await;
    world
}

/// Every kept body on the disk.
fn files(world: &World) -> Vec<PathBuf> {
    let days = fs::read_dir(world.folder().join("call_logs")).into_iter().flatten();
    let files = days.flat_map(|day| fs::read_dir(day.expect("a day").path()).into_iter().flatten());
    let files = files.map(|file| file.expect("a file").path());
    // Under another name it is still being written.
    files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

/// Waits until what is on the disk is as wanted: it is written and removed behind.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{what}"));
}

async fn until_kept(world: &World, wanted: usize) {
    until("the bodies are written", async || files(world).len() >= wanted).await;
}

/// The newest request's bodies.
async fn kept(world: &World) -> (Value, Value) {
    let row = world.last_request().await;
    (row["requestBody"].clone(), row["responseBody"].clone())
}

fn parsed(body: &Value) -> Value {
    let text = body.as_str().unwrap_or_else(|| panic!("a body, not {body}"));
    serde_json::from_str(text).unwrap_or_else(|_| panic!("JSON, not {text}"))
}

#[tokio::test]
async fn nothing_of_what_is_said_is_kept_unless_its_owner_wants_it() {
    let mut world = World::start().await;
    world.connect("openai", "c1").await;
    world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await;
    assert_eq!(kept(&world).await, (Value::Null, Value::Null));
    world.stop().await;
    assert!(!world.folder().join("call_logs").exists());
}

#[tokio::test]
async fn bodies_are_kept_in_each_dialect_and_of_a_stream_the_whole_answer() {
    let world = keeping().await;
    world.connect_all().await;
    let mut wanted = 0;
    for stream in [false, true] {
        for ask in Ask::all(stream) {
            let dialect = ask.dialect;
            let reply = world.agent().post(&ask.path, ask.body.clone()).await;
            assert_eq!(reply.status, 200, "{dialect}");
            wanted += 1;
            until_kept(&world, wanted).await;
            let (request, response) = kept(&world).await;
            assert_eq!(parsed(&request), serde_json::from_str::<Value>(&ask.body).expect("JSON"), "{dialect}");
            let response = parsed(&response);
            let text = match dialect {
                Dialect::Chat => &response["choices"][0]["message"]["content"],
                Dialect::Responses => &response["output"][0]["content"][0]["text"],
                Dialect::Messages => &response["content"][0]["text"],
                Dialect::Gemini => &response["candidates"][0]["content"]["parts"][0]["text"],
            };
            assert!(text.as_str().is_some_and(|text| text.contains("Hello")), "{dialect} {stream}: {response}");
            if !stream {
                assert_eq!(response, reply.json(), "{dialect}");
            }
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_refusal_and_an_answer_in_another_dialect_are_kept_as_the_client_read_them() {
    let world = keeping().await;
    let c1 = world.connect("anthropic", "c1").await;
    for (step, status) in [(Step::ok("Hello"), 200), (Step::error(400, "the request is odd"), 400)] {
        world.script(&c1).then(step);
        let before = files(&world).len();
        let reply = world.agent().post("/v1/chat/completions", chat_body("anthropic/m1", false)).await;
        assert_eq!(reply.status, status, "{}", reply.text());
        until_kept(&world, before + 1).await;
        assert_eq!(parsed(&kept(&world).await.1), reply.json(), "{status}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn secrets_signatures_and_images_are_not_kept_and_only_the_owner_may_read_the_rest() {
    let world = keeping().await;
    world.connect("anthropic", "c1").await;
    let image = "iVBORw0KGgo".repeat(100);
    let body = json!({
        "model": "anthropic/m1", "max_tokens": 64,
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "The key is sk-proj-abcd1234efgh, mail anna.rossi@example.com, see /home/anna/notes." },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": image } },
            ] },
            { "role": "assistant", "content": [{ "type": "thinking", "thinking": "Hm.", "signature": "EqQBCkYIBxgCKkA=" }] },
            { "role": "user", "content": "Go on." },
        ],
    });
    assert_eq!(world.agent().post("/v1/messages", body.to_string()).await.status, 200);
    until_kept(&world, 1).await;
    let request = parsed(&kept(&world).await.0);
    let first = &request["messages"][0]["content"];
    assert_eq!(first[0]["text"], "The key is <redacted>, mail a…@example.com, see ~/notes.");
    assert_eq!(first[1]["source"]["data"], format!("<image {} bytes>", image.len() * 3 / 4));
    assert_eq!(request["messages"][1]["content"][0]["thinking"], "Hm.");
    assert_eq!(request["messages"][1]["content"][0]["signature"], "<redacted>");
    #[cfg(unix)]
    for file in files(&world) {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &std::path::Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().expect("a day"))), (0o600, 0o700));
        assert_eq!(fs::read(&file).expect("a file")[..2], [0x1f, 0x8b], "packed");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn of_a_client_that_left_is_kept_what_it_had_read() {
    let world = keeping().await;
    let c1 = world.connect("anthropic", "c1").await;
    let ask = Ask::new(Dialect::Messages, true);
    world.script(&c1).then(Step::sse([beginning(Dialect::Messages)]).broken(usize::MAX, Break::Stall));
    let mut reply = world.agent().stream(&ask.path, ask.body.clone()).await;
    reply.until("Once upon").await;
    drop(reply);
    until_kept(&world, 1).await;
    let (request, response) = kept(&world).await;
    assert_eq!(parsed(&request)["model"], "anthropic/m1");
    assert!(response.as_str().is_some_and(|text| text.contains("Once upon")), "{response}");
    world.script(&c1).then(Step::Hang);
    let agent = world.agent();
    let asking = tokio::spawn(async move { agent.stream(&ask.path, ask.body).await.status });
    world.wait_for_calls(&c1, 2).await;
    asking.abort();
    until_kept(&world, 2).await;
    let row = world.wait_for_rows(2).await[0].clone();
    assert_eq!(row["outcome"], "aborted");
    assert_eq!(kept(&world).await.1, Value::Null, "it had read nothing");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_damaged_file_is_a_request_of_which_nothing_was_kept() {
    let world = keeping().await;
    world.connect("openai", "c1").await;
    world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await;
    until_kept(&world, 1).await;
    for damage in ["", "not gzip"] {
        fs::write(&files(&world)[0], damage).expect("a damaged file");
        assert_eq!(kept(&world).await, (Value::Null, Value::Null), "{damage:?}");
        assert_eq!(world.requests().await.len(), 1);
    }
    assert!(world.has_logged("the kept bodies of a request cannot be read"));
}

#[tokio::test]
async fn bodies_go_after_their_days_and_with_their_requests() {
    let world = keeping().await;
    world.connect("openai", "c1").await;
    world.set(json!({ "logging": { "bodyRetentionDays": 2 } })).await;
    let ask = async |kept: usize| {
        world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await;
        until_kept(&world, kept).await;
    };
    ask(1).await;
    world.advance(Millis::days(1));
    ask(2).await;
    world.advance(Millis::days(2) + Millis::hours(1));
    until("the older one has gone", async || files(&world).len() == 1).await;
    assert_eq!(world.requests().await.len(), 2, "the requests themselves stay for thirty days");
    assert!(kept(&world).await.0.is_string());
    ask(2).await;
    let before = world.requests().await[0]["timestamp"].clone();
    let deleted = world.managed(Method::DELETE, "/api/requests", Some(json!({ "before": before }))).await;
    assert_eq!((&deleted["deleted"], files(&world).len()), (&json!(2), 1));
    ask(2).await;
    let deleted = world.managed(Method::DELETE, "/api/requests", Some(json!({ "all": true }))).await;
    assert_eq!((&deleted["deleted"], files(&world).len()), (&json!(2), 0));
    world.set(json!({ "logging": { "detailed": false } })).await;
    world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await;
    assert_eq!(kept(&world).await, (Value::Null, Value::Null), "switched off at once");
}

#[tokio::test]
async fn what_was_used_goes_after_its_days_and_not_with_the_log() {
    let world = keeping().await;
    world.connect("openai", "c1").await;
    let used = async || {
        let path = "/api/usage/summary?since=2000-01-01T00:00:00.000Z&until=2100-01-01T00:00:00.000Z";
        world.managed(Method::GET, path, None).await["totals"]["requests"].clone()
    };
    let set = |days: u32| json!({ "logging": { "usageRetentionDays": days } });
    let refused = world.manage(Method::PATCH, "/api/settings", Some(set(31))).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert_eq!(refused.json()["error"]["details"][0]["field"], "logging.usageRetentionDays");
    world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await;
    world.wait_for_rows(1).await;
    world.advance(Millis::days(31));
    until("the log is empty", async || world.requests().await.is_empty()).await;
    assert_eq!(used().await, 1, "for ever, where nobody says otherwise");
    world.set(set(32)).await;
    world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await;
    world.wait_for_rows(1).await;
    assert_eq!(used().await, 2);
    until("the older one has gone", async || {
        world.advance(Millis::hours(1));
        used().await == 1
    })
    .await;
    assert!(world.now().as_millis() >= Millis::days(32).as_millis(), "not before its days are over");
    assert_eq!(world.requests().await.len(), 1);
}
