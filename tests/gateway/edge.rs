//! Who may speak to the listener at all (specification's decision 9; gateway specification, 8.3 and 8.9).

use acceptance::{Ask, Wire, World, chat_body};
use domain::{Dialect, Millis};
use http::Method;
use serde_json::json;

use crate::fixtures::assert_refused;

/// A request that would succeed, were it not for these headers.
async fn ask(world: &World, request_line: &str, headers: &[(&str, &str)]) -> acceptance::WireReply {
    let key = format!("Bearer {}", world.key);
    let mut all = vec![("Authorization", key.as_str())];
    all.extend_from_slice(headers);
    Wire::request(world.address(), request_line, &all, b"").await
}

#[tokio::test]
async fn only_names_of_this_computer_are_served() {
    let world = World::start().await;
    let port = world.address().port();
    let line = "GET /v1/models HTTP/1.1";
    for host in
        ["127.0.0.1", "localhost", "LOCALHOST", "localhost.", "[::1]", "127.0.0.1:1", "localhost:20128", "127.8.8.8"]
    {
        assert_eq!(ask(&world, line, &[("Host", host)]).await.status(), 200, "{host}");
    }
    let rebinding = format!("attacker.example:{port}");
    for host in [
        "evil.example",
        rebinding.as_str(),
        "127.0.0.1.nip.io",
        "localhost.evil.example",
        "evil.example#localhost",
        "localhost@evil.example",
        "localhost:80@evil.example",
        "127.0.0.1:evil",
        "0.0.0.0",
        "192.168.1.10",
        "[::2]",
        "[::1",
        "169.254.169.254",
        "2130706433",
        "0x7f.1",
        "",
    ] {
        let reply = ask(&world, line, &[("Host", host)]).await;
        assert!(matches!(reply.status(), 400 | 403), "{host}: {}", reply.text());
        assert!(!reply.text().contains("\"object\":\"list\""), "{host}");
        if reply.status() == 403 {
            assert!(reply.text().contains("forbidden_host"), "{host}: {}", reply.text());
        }
    }
    assert_eq!(ask(&world, line, &[]).await.status(), 403, "no Host at all");
    assert!(matches!(ask(&world, line, &[("Host", "localhost"), ("Host", "evil.example")]).await.status(), 400 | 403));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_foreign_host_reaches_no_route() {
    let world = World::start().await;
    for (line, extra) in [
        ("GET / HTTP/1.1", vec![]),
        ("GET /health HTTP/1.1", vec![]),
        ("GET /api/monitoring/health HTTP/1.1", vec![]),
        ("GET /api/events HTTP/1.1", vec![]),
        ("GET /nothing HTTP/1.1", vec![]),
        ("OPTIONS /v1/models HTTP/1.1", vec![]),
        ("GET /v1/models HTTP/1.1", vec![("Upgrade", "websocket"), ("Connection", "Upgrade")]),
    ] {
        let mut headers = vec![("Host", "evil.example")];
        headers.extend(extra);
        let reply = ask(&world, line, &headers).await;
        assert_eq!(reply.status(), 403, "{line}: {}", reply.text());
        assert!(reply.text().contains("forbidden_host"), "{line}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn an_absolute_target_is_checked_like_a_host() {
    let world = World::start().await;
    let local = [("Host", "127.0.0.1")];
    assert_eq!(ask(&world, "GET http://127.0.0.1/v1/models HTTP/1.1", &local).await.status(), 200);
    assert_eq!(ask(&world, "GET http://evil.example/v1/models HTTP/1.1", &local).await.status(), 403);
    assert_eq!(ask(&world, "GET http://localhost@evil.example/v1/models HTTP/1.1", &local).await.status(), 403);
    let foreign = [("Host", "evil.example")];
    assert_eq!(ask(&world, "GET http://127.0.0.1/v1/models HTTP/1.1", &foreign).await.status(), 403);
    world.check_invariants().await;
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    let world = World::start().await;
    let host = ("Host", "127.0.0.1");
    for line in
        ["GET /v1/models HTTP/1.1", "GET /api/monitoring/health HTTP/1.1", "GET / HTTP/1.1", "GET /nothing HTTP/1.1"]
    {
        for origin in
            ["https://evil.example", "null", "http://localhost", "http://127.0.0.1:3000", "file://", "", "tauri://evil"]
        {
            let reply = ask(&world, line, &[host, ("Origin", origin)]).await;
            assert_eq!(reply.status(), 403, "{line} {origin:?}: {}", reply.text());
            assert!(reply.text().contains("forbidden_origin"), "{line} {origin:?}");
            assert!(!reply.text().to_ascii_lowercase().contains("access-control-"), "{line} {origin:?}");
        }
        for (site, allowed) in [("cross-site", false), ("same-site", false), ("same-origin", true), ("none", true)] {
            let reply = ask(&world, line, &[host, ("Sec-Fetch-Site", site)]).await;
            assert_eq!(reply.status() != 403, allowed, "{line} {site}: {}", reply.text());
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_preflight_is_answered_for_listed_origins_only() {
    let world = World::start().await;
    let headers = |origin| {
        [
            ("Host", "127.0.0.1"),
            ("Origin", origin),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "authorization"),
        ]
    };
    let line = "OPTIONS /v1/chat/completions HTTP/1.1";
    assert_eq!(ask(&world, line, &headers("https://app.example")).await.status(), 403);
    world.set(json!({"gateway": {"corsOrigins": ["https://app.example"]}})).await;
    let reply = ask(&world, line, &headers("https://app.example")).await;
    let text = reply.text().to_ascii_lowercase();
    assert_eq!(reply.status(), 204, "{text}");
    assert!(text.contains("access-control-allow-origin: https://app.example\r\n"), "{text}");
    assert!(text.contains("vary: origin"), "{text}");
    assert!(!text.contains("allow-credentials"), "{text}");
    assert_eq!(ask(&world, line, &headers("https://app.example.evil.example")).await.status(), 403);
    // Management never becomes a page's business.
    for path in ["/api/keys", "/api/monitoring/health"] {
        let reply = ask(&world, &format!("OPTIONS {path} HTTP/1.1"), &headers("https://app.example")).await;
        assert!(!reply.text().to_ascii_lowercase().contains("access-control-"), "{path}: {}", reply.text());
        let reply = ask(&world, &format!("GET {path} HTTP/1.1"), &headers("https://app.example")).await;
        assert!(!reply.text().to_ascii_lowercase().contains("access-control-"), "{path}: {}", reply.text());
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_listed_host_is_served() {
    let world = World::start_with(&[("OMNIROUTE_ALLOWED_HOSTS", "box.local")]).await;
    let line = "GET /v1/models HTTP/1.1";
    assert_eq!(ask(&world, line, &[("Host", "box.local:20128")]).await.status(), 200);
    assert_eq!(ask(&world, line, &[("Host", "evil.box.local")]).await.status(), 403);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_post_that_a_page_could_send_without_asking_is_refused() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
    ] {
        for ask in Ask::all(false) {
            let reply = world.agent().with("content-type", kind).post(&ask.path, ask.body.clone()).await;
            assert_refused(&ask, &reply, 415);
        }
        let reply = world.manager().with("content-type", kind).post("/api/keys", r#"{"name":"x"}"#).await;
        assert_eq!(reply.status, 415, "{kind}: {}", reply.text());
    }
    assert!(world.calls(&connection).is_empty());
    world.check_invariants().await;
}

#[tokio::test]
async fn no_spelling_of_a_path_gets_past_the_keys() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    for path in [
        "/api/keys",
        "/API/keys",
        "/Api/Keys",
        "//api//keys",
        "/api/keys/",
        "/%61pi/keys",
        "/api/./keys",
        "/v1/../api/keys",
        "/v1/..%2fapi/keys",
        "/v1/%2e%2e/api/keys",
        "/api/v1/../keys",
        "/api%2Fkeys",
        "/health/../api/keys",
        "/api/monitoring/health/../../keys",
        "/api/monitoring/health;/keys",
        "/api/management-token",
        "/api/settings?x=/api/monitoring/health",
    ] {
        let reply =
            Wire::request(world.address(), &format!("GET {path} HTTP/1.1"), &[("Host", "localhost")], b"").await;
        assert!(matches!(reply.status(), 400 | 401 | 404), "{path}: {}", reply.text());
        world.advance(Millis::minutes(1));
    }
    for path in
        ["/v1/models", "/V1/MODELS", "//v1//models", "/models", "/api/v1/models", "/v1beta/models", "/v1/%6dodels"]
    {
        let reply =
            Wire::request(world.address(), &format!("GET {path} HTTP/1.1"), &[("Host", "localhost")], b"").await;
        assert_eq!(reply.status(), 401, "{path}: {}", reply.text());
        world.advance(Millis::minutes(1));
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn forwarded_headers_are_not_believed() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let body = chat_body("openai/m1", false);
    let spoofed = [
        ("x-forwarded-for", "127.0.0.2"),
        ("x-real-ip", "10.0.0.1"),
        ("forwarded", "for=10.0.0.1;host=localhost"),
        ("x-forwarded-host", "localhost"),
        ("cf-connecting-ip", "10.0.0.1"),
        ("true-client-ip", "10.0.0.1"),
    ];
    // Every guess claims to come from elsewhere; the throttle counts them for the one socket address.
    for n in 0..21 {
        let mut guesser = world.stranger().with_key("wrong");
        for (name, _) in spoofed {
            guesser = guesser.with(name, &format!("10.0.0.{n}"));
        }
        let reply = guesser.post("/v1/chat/completions", body.clone()).await;
        assert_eq!(reply.status, if n < 20 { 401 } else { 429 }, "guess {n}");
    }
    let mut agent = world.agent();
    for (name, value) in spoofed {
        agent = agent.with(name, value);
    }
    assert_eq!(agent.post("/v1/chat/completions", body).await.status, 200);
    let reply =
        ask(&world, "GET /v1/models HTTP/1.1", &[("Host", "evil.example"), ("X-Forwarded-Host", "localhost")]).await;
    assert_eq!(reply.status(), 403);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_head_larger_than_64_kib_is_refused() {
    let world = World::start().await;
    let fits = "a".repeat(40 * 1024);
    assert_eq!(ask(&world, "GET /health HTTP/1.1", &[("Host", "localhost"), ("X-Long", &fits)]).await.status(), 200);
    let long = "a".repeat(70 * 1024);
    assert_eq!(ask(&world, "GET /health HTTP/1.1", &[("Host", "localhost"), ("X-Long", &long)]).await.status(), 431);
    let path = format!("GET /{long} HTTP/1.1");
    assert!(matches!(ask(&world, &path, &[("Host", "localhost")]).await.status(), 414 | 431));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_ten_megabyte_head_is_not_collected() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    for endless in [b"a".repeat(64 * 1024), b"X-Many: 1\r\n".repeat(6 * 1024)] {
        let mut wire = Wire::open(world.address()).await;
        wire.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ").await;
        let mut sent = 0;
        while sent < 10 * 1024 * 1024 && wire.write(&endless).await {
            sent += endless.len();
        }
        // It stopped listening long before: what the sockets buffer is all that could be written.
        assert!(sent < 10 * 1024 * 1024, "{sent} bytes were taken");
        assert!(matches!(wire.rest().await.status(), 0 | 431));
    }
    assert_eq!(world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn what_is_not_http_ends_the_connection_and_nothing_else() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET\r\n\r\n",
        b"GET /health HTTP/9.9\r\n\r\n",
        b"\r\n\r\n\r\n\0\0\0\0",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nA: b\x01\r\n\r\n",
        b"GET http:// HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        let mut wire = Wire::open(world.address()).await;
        wire.write(bytes).await;
        // A head that never ends is cut off by the clock; a complete one is answered and the connection closed.
        let watched = async {
            loop {
                world.advance(Millis::seconds(1));
                tokio::task::yield_now().await;
            }
        };
        let reply = tokio::select! {
            reply = wire.rest() => reply,
            () = watched => unreachable!("the clock goes on for ever"),
        };
        assert!(
            matches!(reply.status(), 0 | 400 | 401 | 403 | 404 | 411 | 413 | 501 | 505),
            "{bytes:?}: {}",
            reply.text()
        );
    }
    assert_eq!(world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn smuggled_requests_are_not_served() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let inner = format!("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n", world.key);
    let head = "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let request =
        format!("{head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n{inner}");
    let mut wire = Wire::open(world.address()).await;
    wire.write(request.as_bytes()).await;
    let text = wire.rest().await.text();
    assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{text}");
    assert!(!text.contains("\"object\":\"list\""), "{text}");
    assert!(world.calls(&connection).is_empty());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_client_that_never_finishes_its_head_is_let_go() {
    let world = World::start().await;
    let mut wire = Wire::open(world.address()).await;
    wire.write(b"GET /health HTTP/1.1\r\nHost: local").await;
    // The header limit runs from the moment the server saw the connection, which a reply to another one proves.
    world.stranger().get("/health").await;
    let reply = tokio::select! {
        reply = wire.rest() => reply,
        () = async { loop { world.advance(Millis::seconds(1)); tokio::task::yield_now().await; } } => unreachable!("endless"),
    };
    assert!(matches!(reply.status(), 0 | 408), "{}", reply.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_client_may_ask_before_it_sends_its_body() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let body = chat_body("openai/m1", false);
    let mut wire = Wire::open(world.address()).await;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
        world.key,
        body.len()
    );
    wire.write(head.as_bytes()).await;
    assert_eq!(wire.until("\r\n\r\n").await.status(), 100);
    wire.write(body.as_bytes()).await;
    assert_eq!(wire.rest().await.status(), 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn both_loopback_addresses_are_served() {
    let world = World::start().await;
    let port = world.address().port();
    let has_ipv6 = std::net::TcpListener::bind("[::1]:0").is_ok();
    for (address, present) in [(format!("127.0.0.1:{port}"), true), (format!("[::1]:{port}"), has_ipv6)] {
        if !present {
            continue;
        }
        let address = address.parse().expect("an address");
        let reply = Wire::request(address, "GET /health HTTP/1.1", &[("Host", "localhost")], b"").await;
        assert_eq!(reply.status(), 200, "{address}");
    }
    assert_eq!(world.agent().send(Method::HEAD, "/", None).await.status, 200);
    let ask = Ask::new(Dialect::Chat, false);
    assert_refused(&ask, &world.stranger().post(&ask.path, ask.body.clone()).await, 401);
    world.check_invariants().await;
}
