//! A misleading status is repaired before anything reads it (resilience specification, 18; scenarios SR).

use domain::Millis;
use domain::health::TestStatus;
use fake_upstream::Step;
use serde_json::json;

use crate::cast::{AK, ask, ask_stream, error_of, post, post_m1, start};

const ROUTER: &str = "agentrouter";
/// "The user's quota is not enough."
const QUOTA: &str = "用户额度不足";
/// "No right to use this model."
const DENIED: &str = "无权访问模型";

#[tokio::test]
async fn a_quota_told_as_a_refusal_is_a_429_with_a_window() {
    // SR-01, SR-02, SR-03, SR-07, SR-09, SR-10
    let world = start().await;
    for (status, hint, told, rest) in [(403, None, "60", 3), (400, None, "60", 3), (403, Some("10"), "10", 10)] {
        let c1 = world.connect(ROUTER, "c1").await;
        let mut step = Step::error(status, QUOTA);
        if let Some(hint) = hint {
            step = step.with_header("retry-after", hint);
        }
        world.script(&c1).then(step);
        for asked in [ask(ROUTER, "m1"), ask_stream(ROUTER, "m1")] {
            let reply = post(&world, &asked).await;
            assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some(told)), "{}", reply.text());
            assert_eq!(reply.error_word(), "rate_limit_error", "{}", reply.text());
            assert_eq!(world.cooling(&c1), Some(Millis::seconds(rest)), "the ladder's own length");
            assert_eq!(world.status(&c1), TestStatus::Unavailable);
            assert_eq!(world.locks(&c1), []);
            let row = world.last_request().await;
            assert_eq!((&row["status"], &row["trace"]["attempts"][0]["status"]), (&json!(429), &json!(429)), "{row}");
            world.reset(&c1).await;
        }
        world.delete(&c1).await;
    }
    assert_eq!(world.breaker_state(ROUTER), ("CLOSED", 0));
    world.check_invariants().await;
}

#[tokio::test]
async fn the_account_may_be_asked_before_the_client_was_told_to_come_back() {
    // SR-07
    let world = start().await;
    let c1 = world.connect(ROUTER, "c1").await;
    world.script(&c1).then(Step::error(403, QUOTA)).then(Step::ok("fine"));
    assert_eq!(post_m1(&world, ROUTER).await.header("retry-after"), Some("60"));
    world.advance(Millis::seconds(3));
    assert_eq!(post_m1(&world, ROUTER).await.status, 200);
    assert_eq!(world.calls(&c1).len(), 2);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_quota_of_one_account_leaves_the_others_to_serve() {
    // Handed case: the connection cools, the others go on.
    let world = start().await;
    let c1 = world.connect(ROUTER, "c1").await;
    let c2 = world.connect(ROUTER, "c2").await;
    world.script(&c1).then(Step::error(403, QUOTA));
    for asked in [ask(ROUTER, "m1"), ask_stream(ROUTER, "m2")] {
        let reply = post(&world, &asked).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()));
    }
    assert_eq!(world.calls(&c1).len(), 1, "the account is out for every model");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_refused_model_stays_a_403_whatever_else_is_said() {
    // SR-04, specification's decision 39
    for text in [DENIED.to_owned(), format!("{QUOTA}, {DENIED}")] {
        let world = start().await;
        let c1 = world.connect(ROUTER, "c1").await;
        world.script_model(&c1, "m1").then(Step::error(403, text));
        let reply = post_m1(&world, ROUTER).await;
        assert_eq!((reply.status.as_u16(), reply.header("x-should-retry")), (403, Some("false")), "{}", reply.text());
        assert_eq!(reply.header("retry-after"), None);
        assert_eq!(reply.error_word(), "permission_error", "{}", reply.text());
        let message = reply.error_message();
        assert!(message.contains("m1") && message.contains("c1"), "it names model and connection: {message}");
        assert_eq!(world.cooling(&c1), None);
        assert_eq!(post(&world, &ask(ROUTER, "m2")).await.status, 200);
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn the_same_words_of_another_provider_or_with_another_status_are_left_alone() {
    // SR-05, SR-06
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(403, QUOTA));
    let reply = post_m1(&world, AK).await;
    assert_eq!((reply.status.as_u16(), error_of(&reply)["code"].as_str()), (502, Some("upstream_auth_failed")));
    let r1 = world.connect(ROUTER, "c1").await;
    world.script(&r1).then(Step::error(500, QUOTA));
    let reply = post_m1(&world, ROUTER).await;
    assert_eq!(reply.status, 500, "{}", reply.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn the_words_are_found_anywhere_in_the_body_and_in_a_good_status() {
    // SR-11, SR-12
    let hidden = json!({ "error": { "message": "refused", "type": "new_api_error" }, "detail": { "reason": QUOTA } });
    let event = format!(
        "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"permission_error\",\"message\":\"{QUOTA}\"}}}}\n\n"
    );
    for (name, step, stream) in [
        ("hidden", Step::status(403, hidden.to_string()), false),
        ("event first", Step::sse([event.clone()]), true),
        ("after the opening", Step::sse([acceptance::opening(domain::Dialect::Messages).to_owned(), event]), true),
    ] {
        let world = start().await;
        let c1 = world.connect(ROUTER, "c1").await;
        world.script(&c1).then(step);
        let asked = if stream { ask_stream(ROUTER, "m1") } else { ask(ROUTER, "m1") };
        let reply = post(&world, &asked).await;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some("60")), "{name}: {}", reply.text());
        assert_eq!(world.cooling(&c1), Some(Millis::seconds(3)), "{name}");
        world.check_invariants().await;
    }
}

/// The error that says that the client has gone, as an object of an upstream's stream or body.
fn gone(status: u16) -> String {
    json!({ "error": { "message": "the operation was cancelled", "code": status } }).to_string()
}

#[tokio::test]
async fn an_upstream_that_says_that_the_client_has_gone_is_a_bad_gateway() {
    // Gateway specification, 1.8: 499 is for the log alone, and for a client that really has gone.
    for (status, provider) in [(499, AK), (460, AK), (499, "anthropic"), (499, "gemini"), (499, "codex")] {
        let says = gone(status);
        // In Responses an error is an event like all others, and names itself so.
        let event = format!("data: {}\n\n", says.replacen('{', r#"{"type":"error","#, 1));
        for (name, step, streams, attempted) in [
            ("whole", Step::error(status, "Client Closed Request"), false, 502),
            ("whole, a stream was asked for", Step::error(status, "Client Closed Request"), true, 502),
            ("in a good answer", Step::status(200, says.clone()), false, 200),
            ("first in a stream", Step::sse([event.clone()]), true, 200),
        ] {
            let world = start().await;
            let c1 = world.connect(provider, "c1").await;
            world.script(&c1).then(step);
            let asked = if streams { ask_stream(provider, "m1") } else { ask(provider, "m1") };
            let reply = post(&world, &asked).await;
            let case = format!("{status} of {provider}, {name}: {}", reply.text());
            let word = match provider {
                "anthropic" => "api_error",
                "gemini" => "UNAVAILABLE",
                _ => "bad_gateway",
            };
            let row = world.last_request().await;
            let attempt = &row["trace"]["attempts"][0]["status"];
            assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (502, word), "{case}");
            assert_eq!((&row["status"], attempt), (&json!(502), &json!(attempted)), "{case}: {row}");
            if matches!(provider, "gemini" | "codex") {
                assert_eq!(world.locks(&c1).len(), 1, "{case}");
            } else {
                assert_eq!(world.cooling(&c1), Some(Millis::seconds(3)), "{case}");
            }
            assert_eq!(world.breaker_state(provider).1, 1, "{case}");
            world.check_invariants().await;
        }
    }
}

/// Nobody is charged for what a queue behind the upstream refuses, and its status is no more believed.
#[tokio::test]
async fn nor_is_it_believed_where_nobody_is_charged() {
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(499, "full").with_code("RATE_LIMIT_QUEUE_FULL"));
    let reply = post_m1(&world, AK).await;
    assert_eq!(reply.status, 503, "{}", reply.text());
    let row = world.last_request().await;
    assert_eq!((&row["status"], &row["trace"]["attempts"][0]["status"]), (&json!(503), &json!(502)), "{row}");
    assert_eq!(world.cooling(&c1), None);
    world.check_invariants().await;
}

#[tokio::test]
async fn nor_is_it_told_behind_text_or_by_a_combo() {
    let world = start().await;
    let chat = world.connect("deepseek", "c1").await;
    let begun = acceptance::beginning(domain::Dialect::Chat).to_owned();
    for (client, told) in [
        (
            domain::Dialect::Messages,
            r#"{"type":"api_error","message":"the operation was cancelled","code":"bad_gateway"}"#,
        ),
        (
            domain::Dialect::Gemini,
            r#"{"error":{"code":502,"message":"the operation was cancelled","status":"UNAVAILABLE""#,
        ),
        (domain::Dialect::Responses, r#""error":{"code":"server_error","message":"the operation was cancelled"}"#),
    ] {
        world.script(&chat).then(Step::sse([begun.clone(), format!("data: {}\n\n", gone(499))]));
        let reply = post(&world, &acceptance::Ask::of("deepseek", "m1", client, true)).await;
        assert!(reply.text().contains("Once upon") && reply.text().contains(told), "{client}: {}", reply.text());
        world.reset(&chat).await;
    }
    world.script(&chat).then(Step::error(499, "Client Closed Request"));
    let config = json!({ "maxRetries": 0 });
    let body =
        json!({ "name": "pair", "strategy": "priority", "models": ["deepseek/m1", "deepseek/m2"], "config": config });
    world.managed(http::Method::POST, "/api/combos", Some(body)).await;
    for streams in [false, true] {
        let reply = world.agent().post("/v1/chat/completions", acceptance::chat_body("pair", streams)).await;
        assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (502, "bad_gateway"), "{}", reply.text());
        let row = world.last_request().await;
        assert_eq!((&row["status"], &row["trace"]["attempts"][0]["status"]), (&json!(502), &json!(502)), "{row}");
        world.reset(&chat).await;
    }
    world.check_invariants().await;
}
