//! Which headers pass, in both directions (gateway specification, 1.6 and 1.7; architecture, invariant 9).

use acceptance::{Ask, World};
use domain::Dialect;
use fake_upstream::Step;
use http::Method;
use serde_json::json;

/// What the observed clients send, and what an attacker would add.
const CROWD: [(&str, &str); 37] = [
    ("anthropic-version", "2026-10-21"),
    ("anthropic-beta", "claude-code-20250219,context-management-2025-06-27"),
    ("anthropic-dangerous-direct-browser-access", "true"),
    ("x-app", "cli"),
    ("x-claude-code-session-id", "s1"),
    ("x-stainless-lang", "js"),
    ("accept", "application/json"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("accept-language", "*"),
    ("originator", "codex_exec"),
    ("session-id", "s2"),
    ("session_id", "s2"),
    ("thread-id", "t1"),
    ("x-client-request-id", "c1"),
    ("x-codex-beta-features", "f"),
    ("x-codex-turn-metadata", "{}"),
    ("x-codex-session-id", "s"),
    ("openai-beta", "responses=experimental"),
    ("openai-organization", "org"),
    ("chatgpt-account-id", "account"),
    ("x-goog-api-client", "gl-node/20"),
    ("user-agent", "claude-cli/2.1.197 (external, cli)"),
    ("x-session-id", "s3"),
    ("x-session-affinity", "s4"),
    ("x-omniroute-session", "s5"),
    ("x-omniroute-session-id", "s6"),
    ("x-omniroute-lease-owner", "o"),
    ("x-omniroute-lease-generation", "3"),
    ("x-omniroute-auth-subject", "admin"),
    ("x-omniroute-route-class", "management"),
    ("idempotency-key", "i1"),
    ("x-request-id", "q1"),
    ("cookie", "session=1"),
    ("x-forwarded-for", "10.0.0.1"),
    ("x-real-ip", "10.0.0.1"),
    ("forwarded", "for=10.0.0.1"),
    ("te", "trailers"),
];

#[tokio::test]
async fn nothing_of_the_clients_reaches_an_upstream_unless_it_is_named() {
    let world = World::start().await;
    let connections = world.connect_all().await;
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)) {
        let mut agent = world.agent().with("x-api-key", &world.key).with("x-goog-api-key", &world.key);
        for (name, value) in CROWD {
            agent = agent.with(name, value);
        }
        let connection = connections.iter().find(|found| found.name == ask.provider).expect("a connection");
        let before = world.calls(connection).len();
        assert_eq!(agent.post(&ask.path, ask.body.clone()).await.status, 200);
        let call = &world.calls(connection)[before];
        let carrier = match ask.dialect {
            Dialect::Messages => "x-api-key",
            Dialect::Gemini => "x-goog-api-key",
            Dialect::Chat | Dialect::Responses => "authorization",
        };
        let mut expected = vec!["accept", "content-length", "content-type", "host", "user-agent", carrier];
        if ask.dialect == Dialect::Messages {
            expected.extend(["anthropic-version", "anthropic-beta"]);
            assert_eq!(call.header("anthropic-version"), Some("2026-10-21"));
            assert_eq!(call.header("anthropic-beta"), Some("claude-code-20250219,context-management-2025-06-27"));
        }
        let mut names: Vec<&str> = call.headers.keys().map(http::HeaderName::as_str).collect();
        names.retain(|name| *name != "accept-encoding");
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected, "{}", ask.path);
        assert!(call.header(carrier).is_some_and(|value| value.ends_with(&connection.credential)));
        assert!(call.header("user-agent").is_some_and(|value| value.starts_with("OmniRoute/")));
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_messages_upstream_gets_a_version_even_when_the_client_named_none() {
    let world = World::start().await;
    let [_, anthropic, _] = world.connect_all().await;
    let ask = Ask::new(Dialect::Messages, false);
    world.agent().post(&ask.path, ask.body).await;
    assert_eq!(world.calls(&anthropic)[0].header("anthropic-version"), Some("2023-06-01"));
    world.check_invariants().await;
}

#[tokio::test]
async fn of_an_upstreams_headers_only_those_that_clients_act_on_pass() {
    let world = World::start().await;
    world.connect_all().await;
    for ask in Ask::all(false) {
        let answer = crate::fixtures::odd_answer(ask.dialect);
        let step = Step::status(200, answer)
            .with_header("x-ratelimit-remaining-requests", "7")
            .with_header("anthropic-ratelimit-tokens-remaining", "8")
            .with_header("set-cookie", "a=b")
            .with_header("server", "secret-server")
            .with_header("x-omniroute-provider", "forged")
            .with_header("x-should-retry", "true")
            .with_header("access-control-allow-origin", "*")
            .with_header("x-internal", "1");
        world.upstream.set_default(step);
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.header("x-ratelimit-remaining-requests"), Some("7"));
        assert_eq!(reply.header("anthropic-ratelimit-tokens-remaining"), Some("8"));
        assert_eq!(reply.header("x-omniroute-provider"), Some(ask.provider));
        assert_eq!(reply.headers.get_all("x-omniroute-provider").iter().count(), 1);
        for name in ["set-cookie", "server", "x-should-retry", "access-control-allow-origin", "x-internal"] {
            assert_eq!(reply.header(name), None, "{name}");
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_whole_answer_says_what_it_consumed() {
    let world = World::start().await;
    world.connect("anthropic", "c1").await;
    let body = acceptance::messages_body("anthropic/claude-opus-5-5", false);
    let reply = world.agent().with("x-omniroute-session-id", "tag-1").post("/v1/messages", body).await;
    assert_eq!(reply.header("x-omniroute-tokens-in"), Some("12"));
    assert_eq!(reply.header("x-omniroute-tokens-out"), Some("7"));
    // 12 tokens at 4 dollars and 7 at 20 dollars per million.
    assert_eq!(reply.header("x-omniroute-response-cost"), Some("0.0001880000"));
    assert_eq!(reply.header("x-omniroute-session-id"), Some("tag-1"));
    assert_eq!(reply.header("x-omniroute-decision"), Some("strategy=single; provider=anthropic; latency_ms=0"));
    assert_eq!(reply.header("x-omniroute-latency-ms"), Some("0"));
    assert_eq!(reply.header("x-omniroute-fallback-attempts"), None);
    let row = world.last_request().await;
    assert_eq!((&row["sessionTag"], &row["cost"]), (&json!("tag-1"), &json!(0.000188)));
    world.check_invariants().await;
}

#[tokio::test]
async fn extra_headers_of_a_node_are_sent_and_cannot_touch_the_connection() {
    let world = World::start().await;
    let node = json!({
        "name": "Mine", "prefix": "mine", "apiType": "chat", "baseUrl": world.upstream.base_url(Dialect::Chat),
        "extraHeaders": {"X-Team": "blue"},
    });
    let node = world.managed(Method::POST, "/api/provider-nodes", Some(node)).await["node"]["id"].clone();
    let connection = world.connect(node.as_str().expect("an id"), "c1").await;
    world.allow_extra_header("x-team");
    let reply = world.agent().post("/v1/chat/completions", acceptance::chat_body("mine/m1", false)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(world.calls(&connection)[0].header("x-team"), Some("blue"));
    world.check_invariants().await;
}
