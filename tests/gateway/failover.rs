//! Before the first byte a failed attempt is replaced without the client noticing; when nobody is left, the answer is
//! honest (gateway specification, 1.8 and 3.9; decisions 3 and 29).

use std::time::Duration;

use acceptance::{Ask, Connection, Reply, World};
use domain::{Dialect, Millis};
use fake_upstream::{Break, Step};
use http::Method;
use serde_json::json;

use crate::fixtures::{assert_refused, beginning, empty_stream, error_event};

/// An answer after which the server closes the connection, though it did not say so.
fn and_closes(status: u16, body: &str) -> Step {
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    Step::wire([format!("{head}{body}")], Break::Close)
}

#[tokio::test]
async fn an_attempt_does_not_use_the_connection_of_the_one_that_failed() {
    for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini] {
        let world = World::start().await;
        let ask = Ask::new(dialect, false);
        let [first, second] = [world.connect(ask.provider, "first").await, world.connect(ask.provider, "second").await];
        for round in 0..25 {
            let (status, body) = [(429, r#"{"error":{"message":"slow down"}}"#), (500, "{}"), (200, "{}")][round % 3];
            world.script(&first).then(and_closes(status, body));
            let reply = world.agent().post(&ask.path, ask.body.clone()).await;
            assert_eq!(reply.status, 200, "{dialect:?} {round}: {}", reply.text());
            assert!(world.health(&second).last_error.is_none(), "{dialect:?} {round}: it was not asked in vain");
            reset(&world, &first).await;
        }
        assert_eq!((world.calls(&first).len(), world.calls(&second).len()), (25, 25), "{dialect:?}");
    }
}

/// Every way to fail before something was promised, and how the attempt's record calls it.
fn faults(ask: &Ask, stream: bool) -> Vec<(&'static str, Step)> {
    let mut faults = vec![
        ("reset", Step::Reset),
        ("401", Step::error(401, "bad key")),
        ("403", Step::error(403, "no access")),
        ("402", Step::error(402, "pay first")),
        ("408", Step::error(408, "too slow")),
        ("429", Step::error(429, "slow down").with_header("retry-after", "7")),
        ("500", Step::error(500, "oops")),
        ("502", Step::error(502, "bad gateway")),
        ("503", Step::error(503, "down")),
        ("504", Step::error(504, "late")),
        ("529", Step::error(529, "overloaded")),
        ("html", Step::raw(502, http::HeaderMap::new(), "<html><title>Bad gateway</title></html>")),
        ("garbage", Step::garbage("SSH-2.0-OpenSSH_9.9\r\n")),
        ("nothing", Step::garbage("")),
        ("an empty body", Step::status(200, "")),
        ("not the dialect", Step::status(200, "{\"hello\":\"world\"}")),
        ("not JSON", Step::status(200, "hello")),
        (
            "an error with status 200",
            Step::status(200, r#"{"error":{"message":"down","type":"server_error","code":"server_error"}}"#),
        ),
    ];
    if stream {
        faults.extend([
            ("an error event first", Step::sse([error_event(ask.dialect, "down")])),
            ("a stream closed before any byte", Step::sse(Vec::<&str>::new())),
            ("a comment and the end", Step::sse([": hello\n\n"])),
            ("an empty answer", Step::sse([empty_stream(ask.dialect)])),
            ("a stream cut before content", Step::sse([": opened\n\n"]).broken(usize::MAX, Break::Close)),
            ("a stream that is not events", Step::sse(["<html>no</html>"])),
        ]);
    } else {
        faults.push(("a body cut short", Step::ok("Hello").broken(20, Break::Close)));
    }
    faults
}

#[tokio::test]
async fn a_request_that_is_too_large_for_one_account_is_shown_to_the_next() {
    // EC-21
    let world = World::start().await;
    let accounts = [world.connect("openai", "first").await, world.connect("openai", "second").await];
    let ask = Ask::new(Dialect::Chat, false);
    world.script(&accounts[0]).then(Step::error(413, "request entity too large"));
    let reply = world.agent().post(&ask.path, ask.body.clone()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(accounts[1].id.as_str()));
    world.script(&accounts[1]).then(Step::error(413, "request entity too large"));
    let reply = world.agent().post(&ask.path, ask.body.clone()).await;
    assert_refused(&ask, &reply, 413);
    for account in &accounts {
        assert_eq!((world.calls(account).len(), world.cooling(account)), (2, None));
    }
    world.check_invariants().await;
}

async fn next_serves(world: &World, ask: &Ask, stream: bool) {
    let first = world.connect(ask.provider, "first").await;
    let second = world.connect(ask.provider, "second").await;
    for (name, fault) in faults(ask, stream) {
        let before = (world.calls(&first).len(), world.calls(&second).len());
        world.script(&first).then(fault);
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        let name = format!("{name} {}", ask.path);
        assert_eq!(reply.status, 200, "{name}: {}", reply.text());
        assert!(reply.text().contains("Hello"), "{name}: {}", reply.text());
        assert!(!reply.text().contains("error\":{"), "{name}: {}", reply.text());
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(second.id.as_str()), "{name}");
        assert_eq!(reply.header("x-omniroute-fallback-attempts"), Some("1"), "{name}");
        let after = (world.calls(&first).len(), world.calls(&second).len());
        assert_eq!(after, (before.0 + 1, before.1 + 1), "{name}: each is asked once");
        let row = world.last_request().await;
        assert_eq!((&row["attempts"], &row["outcome"]), (&json!(2), &json!("success")), "{name}: {row}");
        assert_eq!(row["trace"]["attempts"][0]["decision"], "next_connection", "{name}: {row}");
        reset(world, &first).await;
    }
    world.check_invariants().await;
}

async fn reset(world: &World, connection: &Connection) {
    world.managed(Method::POST, &format!("/api/providers/{}/reset", connection.id), None).await;
}

#[tokio::test]
async fn the_next_connection_serves_a_chat_request() {
    next_serves(&World::start().await, &Ask::new(Dialect::Chat, false), false).await;
}

#[tokio::test]
async fn the_next_connection_serves_a_chat_stream() {
    next_serves(&World::start().await, &Ask::new(Dialect::Chat, true), true).await;
}

#[tokio::test]
async fn the_next_connection_serves_a_responses_request() {
    next_serves(&World::start().await, &Ask::new(Dialect::Responses, false), false).await;
}

#[tokio::test]
async fn the_next_connection_serves_a_responses_stream() {
    next_serves(&World::start().await, &Ask::new(Dialect::Responses, true), true).await;
}

#[tokio::test]
async fn the_next_connection_serves_a_messages_request() {
    next_serves(&World::start().await, &Ask::new(Dialect::Messages, false), false).await;
}

#[tokio::test]
async fn the_next_connection_serves_a_messages_stream() {
    next_serves(&World::start().await, &Ask::new(Dialect::Messages, true), true).await;
}

#[tokio::test]
async fn the_next_connection_serves_a_gemini_request() {
    next_serves(&World::start().await, &Ask::new(Dialect::Gemini, false), false).await;
}

#[tokio::test]
async fn the_next_connection_serves_a_gemini_stream() {
    next_serves(&World::start().await, &Ask::new(Dialect::Gemini, true), true).await;
}

/// A loopback address where nobody listens.
fn closed_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    format!("http://{address}/v1")
}

#[tokio::test]
async fn a_refused_connection_or_a_name_that_does_not_exist_is_passed_over() {
    for dialect in Dialect::ALL {
        let world = World::start().await;
        let provider = Ask::new(dialect, false).provider;
        world.connect_to(provider, "refused", &closed_address()).await;
        world.connect_to(provider, "nowhere", "https://does-not-exist.invalid/v1").await;
        let second = world.connect(provider, "second").await;
        for stream in [false, true] {
            let ask = Ask::new(dialect, stream);
            let reply = world.agent().post(&ask.path, ask.body).await;
            assert_eq!(reply.status, 200, "{dialect}: {}", reply.text());
            assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(second.id.as_str()), "{dialect}");
            // The first time they are asked, afterwards they cool.
            assert_eq!(world.last_request().await["attempts"], if stream { 1 } else { 3 }, "{dialect}");
        }
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_provider_that_never_answers_is_given_up_at_the_limit() {
    for dialect in Dialect::ALL {
        let world = World::start().await;
        let (agent, ask) = (world.agent(), Ask::new(dialect, false));
        let first = world.connect(ask.provider, "first").await;
        let second = world.connect(ask.provider, "second").await;
        world.script(&first).then(Step::Hang);
        let asking = tokio::spawn(async move { agent.post(&ask.path, ask.body).await });
        world.wait_for_calls(&first, 1).await;
        world.advance(Millis::new(599_999));
        assert!(world.calls(&second).is_empty(), "{dialect}");
        world.advance(Millis::new(1));
        assert_eq!(asking.await.expect("a reply").status, 200, "{dialect}");
        assert!(world.wait_for_endings(&first, 1).await[0].cancelled(), "{dialect}: the silent call is cancelled");
        let row = world.last_request().await;
        assert_eq!(row["trace"]["attempts"][0]["kind"], "response_start_timeout", "{row}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_stream_that_opens_and_falls_silent_is_given_up_at_the_limit() {
    let world = World::start().await;
    let first = world.connect("openai", "first").await;
    world.connect("openai", "second").await;
    world.script(&first).then(Step::sse([": opened\n\n"]).broken(usize::MAX, Break::Stall));
    world.set(json!({"gateway": {"keepAliveAfterMs": {"chat": 0}}})).await;
    let (agent, ask) = (world.agent(), Ask::new(Dialect::Chat, true));
    let asking = tokio::spawn(async move { agent.post(&ask.path, ask.body).await });
    world.wait_for_calls(&first, 1).await;
    // When the head arrives is not seen from here: the silence is counted from then on. Time stops with the first call, so
    // that the second has all of its own.
    loop {
        world.advance(Millis::seconds(40));
        let ended = tokio::time::timeout(Duration::from_millis(200), world.wait_for_endings(&first, 1));
        if ended.await.is_ok() {
            break;
        }
    }
    let reply = asking.await.expect("a reply");
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.text().contains("Hello"), "{}", reply.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_refused_request_stops_at_once_and_passes_through_unchanged() {
    let world = World::start().await;
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)).filter(|ask| ask.dialect != Dialect::Responses) {
        let first = world.connect(ask.provider, &format!("first {}", ask.path)).await;
        let second = world.connect(ask.provider, &format!("second {}", ask.path)).await;
        for status in [400, 422] {
            let body = format!(
                "{{ \"error\" : {{\"message\":\"max_tokens: {status} is too much\",\"type\":\"invalid_request_error\",\"odd\":1e400}}}}\n"
            );
            let before = world.calls(&first).len();
            world.script(&first).then(Step::status(status, body.clone()).with_header("request-id", "req_7"));
            let reply = world.agent().post(&ask.path, ask.body.clone()).await;
            assert_eq!((reply.status.as_u16(), reply.text()), (status, body.as_str()), "{}", ask.path);
            assert_eq!(reply.header("request-id"), Some("req_7"));
            assert_eq!(reply.header("content-type"), Some("application/json"));
            assert_eq!(world.calls(&first).len(), before + 1);
            assert!(world.calls(&second).is_empty(), "{status} {}", ask.path);
        }
        assert_eq!(world.connection(&first).await["lastError"], json!(null), "a bad request blames nobody");
        for connection in [first, second] {
            world.managed(Method::DELETE, &format!("/api/providers/{}", connection.id), None).await;
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_refusal_that_cannot_be_shown_as_it_is_keeps_its_status() {
    let world = World::start().await;
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)).filter(|ask| ask.dialect != Dialect::Responses) {
        let connection = world.connect(ask.provider, &ask.path).await;
        for body in ["", "plain text", "<html><title>Bad Request</title></html>"] {
            world.script(&connection).then(Step::raw(400, http::HeaderMap::new(), body.to_owned()));
            let reply = world.agent().post(&ask.path, ask.body.clone()).await;
            assert_refused(&ask, &reply, 400);
        }
        let body = |key: &str| format!("{{ \"error\":{{\"message\":\"bad request for {key} today\"}}}}");
        world.script(&connection).then(Step::status(400, body(&connection.credential)));
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        assert_eq!((reply.status.as_u16(), reply.text()), (400, body("<credential>").as_str()));
        world.managed(Method::DELETE, &format!("/api/providers/{}", connection.id), None).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_refusal_inside_a_good_status_keeps_the_status_it_states() {
    let world = World::start().await;
    world.connect_all().await;
    let too_long =
        r#"{"error":{"message":"prompt is too long","type":"invalid_request_error","code":"invalid_request_error"}}"#;
    for ask in Ask::all(false) {
        world.upstream.set_default(Step::status(200, too_long));
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        assert_refused(&ask, &reply, 400);
        assert!(reply.error_message().contains("prompt is too long"), "{}", reply.text());
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_not_taken_for_an_answer() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let away = format!("{}/v1/elsewhere", world.upstream.url());
    for status in [301, 302, 307, 308] {
        world.script(&connection).then(Step::raw(status, http::HeaderMap::new(), "").with_header("location", &away));
        let ask = Ask::new(Dialect::Chat, false);
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        assert_refused(&ask, &reply, 502);
        assert_eq!(reply.header("location"), None);
    }
    assert!(world.calls(&connection).iter().all(|call| call.path == "/v1/chat/completions"));
    world.check_invariants().await;
}

/// Both of a provider's accounts fail like this; the reply.
async fn all_fail(world: &World, ask: &Ask, faults: [Step; 2]) -> Reply {
    let [one, two] = faults;
    world.managed(Method::POST, "/api/resilience/reset", None).await;
    let first = world.connect(ask.provider, "first").await;
    let second = world.connect(ask.provider, "second").await;
    world.script(&first).then(one);
    world.script(&second).then(two);
    let reply = world.agent().post(&ask.path, ask.body.clone()).await;
    assert_eq!((world.calls(&first).len(), world.calls(&second).len()), (1, 1));
    for connection in [first, second] {
        world.managed(Method::DELETE, &format!("/api/providers/{}", connection.id), None).await;
    }
    reply
}

#[tokio::test]
async fn when_all_fail_the_client_hears_why_in_its_dialect() {
    let world = World::start().await;
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)) {
        let limited = |seconds: &str| Step::error(429, "slow down").with_header("retry-after", seconds);
        let reply = all_fail(&world, &ask, [limited("30"), limited("9")]).await;
        assert_eq!(reply.status, 429, "{}", reply.text());
        assert_eq!(reply.header("retry-after"), Some("9"), "the sooner of the two");

        let reply = all_fail(&world, &ask, [limited("0"), limited("Tue, 22 Sep 2026 00:00:00 GMT")]).await;
        assert_eq!(reply.status, 429, "{}", reply.text());

        let down = |seconds| Step::error(503, "down").with_header("retry-after", seconds);
        let reply = all_fail(&world, &ask, [down("5"), down("6")]).await;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, Some("5")), "{}", reply.text());

        let reply = all_fail(&world, &ask, [Step::error(500, "oops"), limited("9")]).await;
        assert_refused(&ask, &reply, 502);
        let reply = all_fail(&world, &ask, [Step::Reset, Step::garbage("no")]).await;
        assert_refused(&ask, &reply, 502);

        let reply = all_fail(&world, &ask, [Step::error(529, "busy"), Step::error(529, "busy")]).await;
        let expected = if ask.dialect == Dialect::Messages { 529 } else { 503 };
        assert_eq!(reply.status, expected, "{}: {}", ask.path, reply.text());
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_refused_credential_is_a_502_that_tells_the_owner_what_to_do() {
    let world = World::start().await;
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)) {
        for status in [401, 403] {
            let reply = all_fail(&world, &ask, [Step::error(status, "bad key"), Step::error(401, "bad key")]).await;
            assert_eq!(reply.status, 502, "{}", reply.text());
            assert_eq!(reply.header("x-should-retry"), Some("false"));
            assert_eq!(reply.header("retry-after"), None);
            let message = reply.error_message();
            assert!(message.contains("“first”") && message.contains("reconnect"), "{message}");
            if matches!(ask.dialect, Dialect::Chat | Dialect::Responses) {
                assert_eq!(reply.error_word(), "upstream_auth_failed");
            }
            let row = world.last_request().await;
            assert_eq!((&row["status"], &row["errorCode"]), (&json!(502), &json!("upstream_auth_failed")), "{row}");
        }
    }
    world.check_invariants().await;
}

/// Everything that was learned from failures.
async fn forget(world: &World, connection: &str) {
    world.managed(Method::POST, &format!("/api/providers/{connection}/reset"), None).await;
    world.managed(Method::POST, "/api/resilience/reset", None).await;
}

#[tokio::test]
async fn no_error_of_an_upstream_shows_its_credential() {
    let world = World::start().await;
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)) {
        let connection = world.connect(ask.provider, &ask.path).await;
        let secret = &connection.credential;
        let echo = format!("the key {secret} is wrong, {secret}!");
        for status in [400, 401, 403, 404, 429, 500, 503] {
            for step in [
                Step::error(status, echo.clone()),
                Step::raw(status, http::HeaderMap::new(), echo.clone()),
                Step::status(status, format!("[{{\"error\":{{\"message\":\"{echo}\"}}}}]")),
            ] {
                forget(&world, &connection.id).await;
                world.script(&connection).then(step);
                let reply = world.agent().post(&ask.path, ask.body.clone()).await;
                assert!(!reply.text().contains(secret.as_str()), "{status}: {}", reply.text());
                assert!(!reply.status.is_success());
            }
        }
        for step in
            [Step::sse([error_event(ask.dialect, &echo)]), Step::status(200, format!("{{\"error\":\"{echo}\"}}"))]
        {
            forget(&world, &connection.id).await;
            world.script(&connection).then(step);
            let reply = world.agent().post(&ask.path, ask.body.clone()).await;
            assert!(!reply.text().contains(secret.as_str()), "{}", reply.text());
        }
        forget(&world, &connection.id).await;
        // An error event after content is the upstream's own bytes, and no place for the credential either.
        if ask.body.contains("\"stream\":true") || ask.path.contains("alt=sse") {
            let step = Step::sse([beginning(ask.dialect).to_owned(), error_event(ask.dialect, &echo)]);
            world.script(&connection).then(step);
            let reply = world.agent().post(&ask.path, ask.body.clone()).await;
            assert!(reply.text().contains("Once upon"), "{}", reply.text());
            assert!(!reply.text().contains(secret.as_str()), "{}", reply.text());
        }
        world.managed(Method::DELETE, &format!("/api/providers/{}", connection.id), None).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn accounts_that_cannot_be_asked_say_why() {
    let world = World::start().await;
    let ask = Ask::new(Dialect::Chat, false);
    let reply = world.agent().post(&ask.path, ask.body.clone()).await;
    assert_eq!(
        (reply.status.as_u16(), reply.error_word().as_str()),
        (404, "no_executable_targets"),
        "{}",
        reply.text()
    );
    let connection = world.connect("openai", "c1").await;
    let path = format!("/api/providers/{}", connection.id);
    world.managed(Method::PATCH, &path, Some(json!({"isActive": false}))).await;
    let reply = world.agent().post(&ask.path, ask.body.clone()).await;
    assert_eq!(
        (reply.status.as_u16(), reply.error_word().as_str()),
        (503, "ALL_ACCOUNTS_INACTIVE"),
        "{}",
        reply.text()
    );
    world.managed(Method::PATCH, &path, Some(json!({"isActive": true, "excludedModels": ["m1"]}))).await;
    let reply = world.agent().post(&ask.path, ask.body.clone()).await;
    assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (503, "ALL_TARGETS_SKIPPED"), "{}", reply.text());
    world.managed(Method::PATCH, &path, Some(json!({"excludedModels": null, "apiKey": null}))).await;
    let reply = world.agent().post(&ask.path, ask.body.clone()).await;
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(reply.error_message().contains("credential"), "{}", reply.text());
    assert!(world.calls(&connection).is_empty());
    let row = world.last_request().await;
    assert_eq!(row["trace"]["exclusions"][0]["reason"], "credential_gate", "{row}");
    world.check_invariants().await;
}

#[tokio::test]
async fn priority_decides_who_is_asked_first_and_a_full_account_is_passed_over() {
    let world = World::start().await;
    let first = world.connect("openai", "first").await;
    let second = world.connect("openai", "second").await;
    let ask = Ask::new(Dialect::Chat, false);
    world.agent().post(&ask.path, ask.body.clone()).await;
    let order = json!({"provider": "openai", "connectionIds": [second.id, first.id]});
    world.managed(Method::PUT, "/api/providers/order", Some(order)).await;
    world.agent().post(&ask.path, ask.body.clone()).await;
    assert_eq!((world.calls(&first).len(), world.calls(&second).len()), (1, 1));

    world.managed(Method::PATCH, &format!("/api/providers/{}", second.id), Some(json!({"maxConcurrent": 1}))).await;
    world.script(&second).then(Step::Hang);
    let (agent, held) = (world.agent(), ask.clone());
    let holding = tokio::spawn(async move { agent.post(&held.path, held.body).await });
    world.wait_for_calls(&second, 2).await;
    assert_eq!(world.agent().post(&ask.path, ask.body.clone()).await.status, 200);
    assert_eq!((world.calls(&first).len(), world.calls(&second).len()), (2, 2));
    world.managed(Method::PATCH, &format!("/api/providers/{}", first.id), Some(json!({"isActive": false}))).await;
    let (agent, late) = (world.agent(), ask.clone());
    let waiting = tokio::spawn(async move { agent.post(&late.path, late.body).await });
    world.wait_for_waiting(1).await;
    world.advance(Millis::seconds(30));
    assert_refused_with_wait(&waiting.await.expect("an answer"));
    holding.abort();
    world.wait_for_endings(&second, 2).await;
    world.check_invariants().await;
}

fn assert_refused_with_wait(reply: &Reply) {
    assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (503, "SEMAPHORE_TIMEOUT"), "{}", reply.text());
    assert_eq!(reply.header("retry-after"), Some("1"));
}

/// Resilience specification, 2.6: an outgoing proxy that is down is our own trouble.
#[tokio::test]
async fn a_proxy_that_is_down_is_told_and_charged_to_nobody() {
    let world = World::start().await;
    let connection =
        world.connect_with("openai", "behind", json!({ "proxyUrl": closed_address().trim_end_matches("/v1") })).await;
    for _ in 0..3 {
        let ask = Ask::new(Dialect::Chat, false);
        let reply = world.agent().post(&ask.path, ask.body).await;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, Some("2")), "{}", reply.text());
        assert_eq!(reply.error_word(), "service_unavailable");
    }
    let shown = world.connection(&connection).await;
    assert_eq!((&shown["rateLimitedUntil"], &shown["lastError"]), (&json!(null), &json!(null)), "{shown}");
    assert!(world.breaker("openai").is_none_or(|breaker| breaker.failure_count == 0));
    assert!(world.calls(&connection).is_empty());
    world.check_invariants().await;
}
