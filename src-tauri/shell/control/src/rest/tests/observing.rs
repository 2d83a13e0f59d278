//! Looking: tests of connections, the request log, usage, health, events.

use axum::body::Body;
use axum::http::Request;
use domain::request_log::{AttemptRecord, RequestOutcome, RequestRecord, Trace};
use domain::{ConnectionId, Dialect, Millis, ProviderId, RequestId, Usage};
use futures_util::StreamExt;
use gateway::edge::Peer;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::World;

const LISTED: &str = r#"{"object":"list","data":[{"id":"gpt-live","object":"model"}]}"#;
const REFUSED: &str =
    r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#;

#[tokio::test]
async fn a_test_asks_the_provider_and_says_what_it_said() {
    let world = World::new().await;
    let id = world.add_connection("c1").await;
    world.transport.answer(200, LISTED);
    let passed = world.ok("POST", &format!("/api/providers/{id}/test"), None).await;
    assert_eq!((&passed["ok"], &passed["status"], &passed["error"]), (&json!(true), &json!(200), &Value::Null));
    assert_eq!((&passed["connection"]["id"], &passed["connection"]["testStatus"]), (&json!(id), &json!("active")));
    let asked = world.transport.asked();
    assert_eq!(asked[0].1, "Bearer sk-secret-of-c1", "{asked:?}");

    world.transport.answer(401, REFUSED);
    let failed = world.ok("POST", &format!("/api/providers/{id}/test"), Some(json!({}))).await;
    assert_eq!((&failed["ok"], &failed["status"]), (&json!(false), &json!(401)));
    assert_eq!(failed["error"]["code"], "unauthorized");
    assert_eq!(failed["connection"]["testStatus"], "active", "a failed test changes nothing");
    let changed = world.ok("PATCH", &format!("/api/providers/{id}"), Some(json!({"apiKey": "sk-new"}))).await;
    assert_eq!(changed["connection"]["lastError"], Value::Null, "what was known was about the old key");
    let reset = world.ok("POST", &format!("/api/providers/{id}/reset"), None).await;
    assert_eq!(reset["connection"]["testStatus"], "active");
}

#[tokio::test]
async fn several_connections_are_tested_at_once_and_a_draft_without_being_stored() {
    let world = World::new().await;
    let ids = [world.add_connection("c1").await, world.add_connection("c2").await];
    world.transport.answer(200, LISTED);
    world.transport.answer(200, LISTED);
    let results = world.ok("POST", "/api/providers/test", Some(json!({"connectionIds": ids}))).await;
    let results = results["results"].as_array().expect("a list");
    assert_eq!(results.len(), 2);
    for (result, id) in results.iter().zip(&ids) {
        assert_eq!((&result["connectionId"], &result["ok"]), (&json!(id), &json!(true)), "{result}");
    }

    world.transport.answer(200, LISTED);
    let draft = json!({"provider": "openai", "name": "c1", "apiKey": "sk-another"});
    assert_eq!(world.ok("POST", "/api/providers/validate", Some(draft)).await["ok"], true);
    assert_eq!(world.control.connections().iter().count(), 2);
}

#[tokio::test]
async fn models_come_from_the_catalogue_and_from_the_provider() {
    let world = World::new().await;
    let id = world.add_connection("c1").await;
    let path = format!("/api/providers/{id}/models");
    let known = world.ok("GET", &path, None).await;
    assert_eq!(known["fetchedAt"], Value::Null);
    world.ok("PATCH", &format!("/api/providers/{id}"), Some(json!({"excludedModels": ["gpt-live"]}))).await;
    world.transport.answer(200, LISTED);
    let asked = world.ok("GET", &format!("{path}?refresh=true"), None).await;
    let live = asked["models"].as_array().expect("a list").iter().find(|model| model["id"] == "gpt-live");
    let live = live.expect("the listed model");
    assert_eq!((&live["source"], &live["enabled"]), (&json!("live"), &json!(false)));
    assert!(asked["fetchedAt"].is_string());
    let all = world.ok("GET", "/api/models/catalog?provider=openai", None).await;
    assert!(all["models"].as_array().expect("a list").iter().any(|model| model["id"] == "gpt-live"));
}

fn record(n: u64, outcome: RequestOutcome, world: &World) -> RequestRecord {
    let at = world.control.now() + Millis::seconds(n);
    RequestRecord {
        id: RequestId::from(format!("request-{n}")),
        at,
        method: "POST".to_owned(),
        path: "/v1/messages".to_owned(),
        source: Dialect::Messages,
        target: Some(Dialect::Messages),
        status: 200,
        outcome,
        stream: true,
        requested_model: "claude-x".to_owned(),
        provider: Some(ProviderId::from("anthropic")),
        model: Some("claude-x".to_owned()),
        connection: Some(ConnectionId::from("c1")),
        connection_name: Some("work".to_owned()),
        key: None,
        key_name: None,
        agent: Some("claude-cli".to_owned()),
        duration: Millis::new(1_200),
        time_to_first_token: Some(Millis::new(300)),
        usage: Usage { input_fresh: Some(10), cache_read: Some(5), output: Some(7), ..Usage::default() },
        cost: Some(0.25),
        error_code: None,
        error_summary: None,
        session_tag: None,
        combo_name: None,
        strategy: None,
        trace: Trace {
            rule: Some(1),
            attempts: vec![AttemptRecord {
                n: 1,
                provider: ProviderId::from("anthropic"),
                model: "claude-x".to_owned(),
                connection: ConnectionId::from("c1"),
                connection_name: "work".to_owned(),
                started_at: at,
                queued: Millis::ZERO,
                execution_key: None,
                connect: Some(Millis::new(40)),
                first_token: Some(Millis::new(300)),
                duration: Millis::new(1_200),
                status: Some(200),
                kind: "success".to_owned(),
                decision: "answer".to_owned(),
                message: None,
                usage: None,
                cost: None,
            }],
            exclusions: Vec::new(),
            warnings: Vec::new(),
        },
    }
}

#[tokio::test]
async fn the_request_log_is_paged_filtered_told_and_deleted() {
    let world = World::new().await;
    for n in 1..=3 {
        let outcome = if n == 2 { RequestOutcome::Failure } else { RequestOutcome::Success };
        world.control.store().record_request(record(n, outcome, &world));
    }
    let first = world.ok("GET", "/api/requests?limit=2", None).await;
    let ids = |page: &Value| {
        let rows = page["requests"].as_array().expect("a list").iter();
        rows.map(|row| row["id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&first), ["request-3", "request-2"]);
    let cursor = first["nextCursor"].as_str().expect("another page");
    let second = world.ok("GET", &format!("/api/requests?limit=2&cursor={cursor}"), None).await;
    assert_eq!((ids(&second), &second["nextCursor"]), (vec!["request-1".to_owned()], &Value::Null));
    assert_eq!(ids(&world.ok("GET", "/api/requests?outcome=failure", None).await), ["request-2"]);

    let row = &first["requests"][0];
    let expected = [
        ("sourceFormat", json!("messages")),
        ("tokensInput", json!(15)),
        ("tokensCacheRead", json!(5)),
        ("tokensOutput", json!(7)),
        ("tokensReasoning", Value::Null),
        ("cost", json!(0.25)),
        ("attempts", json!(1)),
        ("ttftMs", json!(300)),
        ("agent", json!("claude-cli")),
        ("timestamp", json!("2026-01-01T00:00:03.000Z")),
    ];
    for (member, value) in expected {
        assert_eq!(row[member], value, "{member}");
    }
    let story = world.ok("GET", "/api/requests/request-1", None).await;
    assert_eq!(story["trace"]["order"], json!(["anthropic/claude-x"]));
    assert_eq!(story["trace"]["attempts"][0]["connectMs"], 40);

    let until = "2026-01-01T01:00:00Z";
    let usage = world.ok("GET", &format!("/api/usage/summary?groupBy=provider&until={until}"), None).await;
    assert_eq!(usage["groups"][0]["group"], "anthropic");
    assert_eq!(usage["totals"]["requests"], 3);
    assert_eq!(usage["totals"]["tokensInput"], 45);

    let before = json!({"before": "2026-01-01T00:00:02Z"});
    assert_eq!(world.ok("DELETE", "/api/requests", Some(before)).await, json!({"deleted": 1}));
    assert_eq!(world.ok("DELETE", "/api/requests", Some(json!({"all": true}))).await, json!({"deleted": 2}));
}

#[tokio::test]
async fn the_last_minutes_are_told_stretch_by_stretch() {
    let world = World::new().await;
    let empty = world.ok("GET", "/api/monitoring/health/history", None).await;
    assert_eq!((&empty["stretchMs"], &empty["stretches"]), (&json!(60_000), &json!([])));
    for n in 1..=3 {
        let outcome = if n == 2 { RequestOutcome::Failure } else { RequestOutcome::Success };
        world.control.store().record_request(record(n, outcome, &world));
    }
    let history = world.ok("GET", "/api/monitoring/health/history?minutes=120", None).await;
    assert_eq!(history["stretchMs"], 120_000);
    let told = json!([{
        "at": "2026-01-01T00:00:00.000Z", "successes": 2, "failures": 1, "aborted": 0,
        "p50Ms": 1_200, "p95Ms": 1_200, "firstTokenP50Ms": 300, "firstTokenP95Ms": 300
    }]);
    assert_eq!(history["stretches"], told);
    let refused = world.get("/api/monitoring/health/history?minutes=0").await;
    let said = json!([{
        "field": "minutes", "message": "must be from 1 to 1440", "code": "out_of_range", "values": ["1", "1440"]
    }]);
    assert_eq!(refused.body["error"]["details"], said);
}

#[tokio::test]
async fn health_counts_without_naming_anything() {
    let world = World::new().await;
    world.add_connection("private-name").await;
    let off = json!({"provider": "anthropic", "name": "b", "isActive": false});
    world.ok("POST", "/api/providers", Some(off)).await;
    let keyless = json!({"provider": "anthropic", "name": "c"});
    world.ok("POST", "/api/providers", Some(keyless)).await;
    let reply = world.get("/api/monitoring/health").await;
    assert_eq!(reply.body["status"], "healthy");
    let counts = json!({"total": 3, "ready": 1, "failing": 0, "switchedOff": 1, "withoutCredential": 1});
    assert_eq!(reply.body["connectionHealth"], counts);
    assert_eq!(reply.body["providerSummary"]["configuredCount"], 2);
    assert_eq!(reply.body["setupComplete"], false);
    for private in ["private-name", "api.openai.com", world.dir.path().to_str().expect("a path")] {
        assert!(!reply.text.contains(private), "{private}");
    }
}

#[tokio::test]
async fn the_program_says_what_it_is() {
    let world = World::new().await;
    let app = world.ok("GET", "/api/app", None).await;
    assert_eq!(app["url"], "http://127.0.0.1:20128");
    assert_eq!(app["secretStore"], "file");
    assert_eq!(app["firstRunDone"], false);
    let providers = world.ok("GET", "/api/catalog/providers", None).await;
    assert!(providers["providers"].as_array().expect("a list").iter().any(|provider| provider["id"] == "openai"));
}

#[tokio::test]
async fn events_tell_topics_together_and_only_those_asked_for() {
    let world = World::new().await;
    let mut request = Request::builder()
        .uri("/api/events?topics=keys,combos,live")
        .header("authorization", "Bearer omt_test")
        .body(Body::empty())
        .expect("a request");
    request.extensions_mut().insert(Peer(([127, 0, 0, 1], 1).into()));
    let response = world.router.clone().oneshot(request).await.expect("an answer");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut frames = response.into_body().into_data_stream();
    let mut next =
        async || String::from_utf8(frames.next().await.expect("a frame").expect("bytes").to_vec()).expect("text");

    assert!(next().await.starts_with("event: live\ndata: {\"inFlight\":0"));
    assert!(next().await.starts_with(": "), "a sign of life");
    world.add_connection("not-asked-for").await;
    world.ok("POST", "/api/keys", Some(json!({"name": "k"}))).await;
    world.clock.advance(Millis::new(1));
    assert_eq!(next().await, "event: changed\ndata: {\"topics\":[\"keys\"],\"at\":\"2026-01-01T00:00:00.001Z\"}\n\n");
    world.clock.advance(Millis::new(250));
    assert!(next().await.starts_with("event: live\n"));
    world.control.cancel().cancel();
    assert!(frames.next().await.is_none(), "the stream ends with the gateway");
}
