//! Rules for every call: the token, the edge, bodies, errors, paging.

use std::collections::BTreeSet;

use acceptance::{Reply, Wire, World};
use domain::Millis;
use http::Method;
use serde_json::{Value, json};

pub(crate) fn assert_error(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.status, status, "{}", reply.text());
    let error = &reply.json()["error"];
    assert_eq!(error["code"], code, "{}", reply.text());
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{}", reply.text());
    assert!(error["details"].is_array(), "{}", reply.text());
}

/// Method and path of every operation, with `{id}` filled in, and whether it needs no token.
async fn operations(world: &World) -> Vec<(Method, String, bool)> {
    let document = world.managed(Method::GET, "/api/openapi.json", None).await;
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let method: Method = method.to_ascii_uppercase().parse().expect("a method");
            operations.push((method, path.replace("{id}", "no-such-id"), operation["security"].is_null()));
        }
    }
    operations
}

#[tokio::test]
async fn every_operation_needs_the_token_except_health() {
    let world = World::start().await;
    let operations = operations(&world).await;
    let open: Vec<&String> = operations.iter().filter(|found| found.2).map(|found| &found.1).collect();
    assert_eq!(open, ["/api/monitoring/health"]);
    for (method, path, open) in &operations {
        let local = world.agent();
        let lower = world.stranger().with("authorization", "Basic dXNlcg==");
        let elsewhere = world.stranger().with("x-api-key", &world.management_token());
        for (who, client) in
            [("nobody", world.stranger()), ("an agent", local), ("basic", lower), ("x-api-key", elsewhere)]
        {
            let reply = client.send(method.clone(), path, None).await;
            if *open {
                assert_eq!(reply.status, 200, "{who}: {method} {path}");
            } else {
                assert_error(&reply, 401, "management_token_required");
            }
            world.advance(Millis::minutes(1));
        }
        let query = format!("{path}?key={}&token={}", world.management_token(), world.management_token());
        assert_eq!(world.stranger().send(method.clone(), &query, None).await.status == 401, !open, "{method} {path}");
        world.advance(Millis::minutes(1));
    }
    for path in ["/api/events", "/api/openapi.json", "/api/nothing", "/api"] {
        assert_error(&world.stranger().get(path).await, 401, "management_token_required");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn the_document_lists_every_operation_with_its_schemas() {
    let world = World::start().await;
    let document = world.managed(Method::GET, "/api/openapi.json", None).await;
    let mut names = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for operation in methods.as_object().expect("methods").values() {
            let name = operation["operationId"].as_str().expect("an id");
            assert!(names.insert(name.to_owned()), "{name} twice");
            assert!(operation["summary"].is_string() && operation["responses"].is_object(), "{path}");
        }
    }
    for name in [
        "app_get",
        "health_get",
        "catalog_providers",
        "connections_list",
        "connection_get",
        "connection_create",
        "connection_update",
        "connection_delete",
        "connection_restore",
        "connection_test",
        "connections_test",
        "connection_validate",
        "connections_order",
        "connection_models",
        "connection_reset",
        "nodes_list",
        "node_get",
        "node_create",
        "node_update",
        "node_delete",
        "node_test",
        "keys_list",
        "key_create",
        "key_update",
        "key_rotate",
        "key_delete",
        "aliases_list",
        "alias_create",
        "alias_update",
        "alias_delete",
        "models_list",
        "requests_list",
        "request_get",
        "requests_delete",
        "usage_summary",
        "settings_get",
        "settings_update",
        "settings_fields",
        "management_token_get",
        "management_token_rotate",
    ] {
        assert!(names.contains(name), "{name} is missing");
    }
    // Every reference leads somewhere.
    let text = document.to_string();
    for reference in text.split("\"#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(document["components"]["schemas"][reference].is_object(), "{reference}");
    }
}

#[tokio::test]
async fn an_unknown_record_or_path_is_a_404() {
    let world = World::start().await;
    for (method, path, _) in operations(&world).await {
        if !path.contains("no-such-id") {
            continue;
        }
        let body = (method != Method::GET).then(|| json!({}));
        assert_error(&world.manage(method, &path, body).await, 404, "not_found");
    }
    assert_error(&world.manage(Method::GET, "/api/nothing", None).await, 404, "not_found");
    let reply = world.manage(Method::PUT, "/api/keys", None).await;
    assert_error(&reply, 405, "method_not_allowed");
}

#[tokio::test]
async fn a_body_must_be_a_json_object_of_known_members() {
    let world = World::start().await;
    let manager = world.manager();
    for (body, field) in [
        ("", "name"),
        ("{}", "name"),
        ("[]", "body"),
        ("\"x\"", "body"),
        ("{", "body"),
        (r#"{"name":"a"} {"#, "body"),
        (r#"{"name":"a","nonsense":1}"#, "nonsense"),
        (r#"{"name":7}"#, "name"),
        (r#"{"name":""}"#, "name"),
        (r#"{"name":"a","scopes":["everything"]}"#, "scopes[0]"),
        (r#"{"name":"a","expiresAt":"soon"}"#, "expiresAt"),
    ] {
        let reply = manager.post("/api/keys", body).await;
        assert_error(&reply, 400, "invalid_request");
        assert_eq!(reply.json()["error"]["details"][0]["field"], field, "{body}: {}", reply.text());
    }
    let reply = manager.clone().with("content-type", "text/plain").post("/api/keys", r#"{"name":"a"}"#).await;
    assert_error(&reply, 415, "unsupported_media_type");
    let large = format!(r#"{{"name":"{}"}}"#, "x".repeat(2 << 20));
    assert_error(&manager.post("/api/keys", large).await, 413, "request_too_large");
    let deep = format!(r#"{{"name":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_error(&manager.post("/api/keys", deep).await, 400, "invalid_request");
    assert_eq!(world.managed(Method::GET, "/api/keys", None).await["keys"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn the_edge_comes_before_the_token() {
    let world = World::start().await;
    let bearer = format!("Bearer {}", world.management_token());
    for (headers, code) in [
        ([("Host", "evil.example"), ("Authorization", bearer.as_str())], "forbidden_host"),
        ([("Host", "localhost"), ("Origin", "https://evil.example")], "forbidden_origin"),
    ] {
        let mut headers = headers.to_vec();
        if code == "forbidden_origin" {
            headers.push(("Authorization", bearer.as_str()));
        }
        let reply = Wire::request(world.address(), "GET /api/keys HTTP/1.1", &headers, b"").await;
        assert_eq!(reply.status(), 403, "{}", reply.text());
        assert!(reply.text().contains(code), "{}", reply.text());
    }
    let reply = world.manager().get("/api/keys").await;
    assert!(!reply.headers.keys().any(|name| name.as_str().starts_with("access-control")), "no CORS");
}

#[tokio::test]
async fn a_listed_web_origin_may_call_agents_paths_and_never_management() {
    let world = World::start().await;
    world.set(json!({"gateway": {"corsOrigins": ["https://app.example"]}})).await;
    let bearer = format!("Bearer {}", world.management_token());
    let headers = [("Host", "localhost"), ("Origin", "https://app.example"), ("Authorization", bearer.as_str())];
    let reply = Wire::request(world.address(), "GET /api/keys HTTP/1.1", &headers, b"").await;
    assert!(!reply.text().to_ascii_lowercase().contains("access-control-"), "{}", reply.text());
    let reply = Wire::request(world.address(), "OPTIONS /api/keys HTTP/1.1", &headers, b"").await;
    assert_ne!(reply.status(), 204, "{}", reply.text());
}

#[tokio::test]
async fn health_needs_no_token_and_tells_nothing_private() {
    let world = World::start().await;
    let connection = world.connect("openai", "private account name").await;
    world.script(&connection).then(fake_upstream::Step::error(503, "private words"));
    world.agent().post("/v1/chat/completions", acceptance::chat_body("openai/private-model", false)).await;
    let reply = world.stranger().get("/api/monitoring/health").await;
    assert_eq!(reply.status, 200);
    let json = reply.json();
    assert_eq!(json["status"], "healthy");
    assert_eq!(json["version"], server::VERSION);
    assert_eq!(json["store"]["healthy"], true);
    assert_eq!(json["connectionHealth"]["failing"], 1, "{json}");
    let text = reply.text().to_ascii_lowercase();
    let token = world.management_token().to_ascii_lowercase();
    let folder = world.folder().display().to_string();
    for private in
        ["private", "agents", "127.0.0.1", "http:", token.as_str(), &connection.credential, &folder, "/home", "@"]
    {
        assert!(!text.contains(private), "{private}: {text}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn wrong_tokens_are_slowed_down_and_the_right_one_is_not() {
    let world = World::start().await;
    let guesser = world.stranger().with_key("omt_guess");
    for _ in 0..20 {
        assert_error(&guesser.get("/api/keys").await, 401, "management_token_required");
    }
    let reply = guesser.get("/api/keys").await;
    assert_error(&reply, 429, "rate_limit_exceeded");
    assert_eq!(reply.header("retry-after"), Some("60"));
    assert_eq!(world.manager().get("/api/keys").await.status, 200);
    world.advance(Millis::minutes(1));
    assert_error(&guesser.get("/api/keys").await, 401, "management_token_required");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_rotated_token_replaces_the_old_one_at_once() {
    let mut world = World::start().await;
    let old = world.manager();
    let shown = world.managed(Method::GET, "/api/management-token", None).await["token"].clone();
    assert_eq!(shown, json!(world.management_token()));
    let new = world.managed(Method::POST, "/api/management-token/rotate", None).await["token"].clone();
    assert_eq!(new, json!(world.management_token()));
    assert!(new.as_str().is_some_and(|token| token.starts_with("omt_") && token.len() == 47), "{new}");
    assert_error(&old.get("/api/keys").await, 401, "management_token_required");
    assert_eq!(world.manager().get("/api/keys").await.status, 200);
    world.restart().await;
    assert_eq!(world.manager().get("/api/keys").await.status, 200);
    assert_eq!(new, json!(world.management_token()));
}

#[tokio::test]
async fn the_environment_replaces_the_token_for_one_run() {
    let world = World::start_with(&[("OMNIROUTE_MANAGEMENT_TOKEN", "omt_from_the_environment")]).await;
    assert_eq!(world.stranger().with_key("omt_from_the_environment").get("/api/keys").await.status, 200);
    assert_error(&world.stranger().with_key("omt_other").get("/api/keys").await, 401, "management_token_required");
}

#[tokio::test]
async fn lists_are_paged_to_the_end() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    for _ in 0..7 {
        world.agent().post("/v1/chat/completions", acceptance::chat_body("openai/m1", false)).await;
        world.advance(Millis::new(1));
    }
    let all: Vec<Value> = world.requests().await.iter().map(|row| row["id"].clone()).collect();
    let mut paged = Vec::new();
    let mut path = "/api/requests?limit=3".to_owned();
    let mut pages = 0;
    loop {
        let page = world.managed(Method::GET, &path, None).await;
        paged.extend(page["requests"].as_array().expect("rows").iter().map(|row| row["id"].clone()));
        pages += 1;
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        path = format!("/api/requests?limit=3&cursor={cursor}");
    }
    assert_eq!((paged, pages), (all, 3));
    for wrong in ["limit=0", "limit=501", "limit=x", "cursor=nonsense", "nonsense=1", "outcome=perhaps"] {
        let reply = world.manage(Method::GET, &format!("/api/requests?{wrong}"), None).await;
        assert_error(&reply, 400, "invalid_request");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn the_program_says_where_it_is() {
    let world = World::start().await;
    let app = world.managed(Method::GET, "/api/app", None).await;
    assert_eq!((&app["name"], &app["url"]), (&json!("OmniRoute"), &json!(world.url())));
    assert_eq!((&app["secretStore"], &app["firstRunDone"]), (&json!("file"), &json!(true)));
    let file = std::fs::read_to_string(world.folder().join("gateway.json")).expect("a file");
    let file: Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!((&file["url"], &file["version"]), (&app["url"], &app["version"]));
}

#[cfg(unix)]
#[tokio::test]
async fn the_data_folder_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mut world = World::start().await;
    world.connect("openai", "c1").await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(world.folder()), 0o700);
    for entry in std::fs::read_dir(world.folder()).expect("a folder") {
        let entry = entry.expect("an entry");
        assert_eq!(mode(&entry.path()) & 0o077, 0, "{:?}", entry.path());
    }
    world.stop().await;
    assert!(!world.folder().join("gateway.json").exists(), "removed at a clean stop");
}
