//! The rules for every call, and the lists that must agree.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use super::super::served;
use super::{TOKEN, World};
use crate::topics::{Method, operations};

fn name_of(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Patch => "PATCH",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
    }
}

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let builder = Request::builder().method(method).uri(path);
    let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
    builder.body(Body::from(body.to_owned())).expect("a request")
}

#[test]
fn every_operation_has_exactly_one_route() {
    let listed: Vec<&str> = operations().map(|operation| operation.name).collect();
    let routes = served();
    assert_eq!(listed.len(), routes.len());
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), routes.into_iter().collect::<BTreeSet<_>>());
}

#[tokio::test]
async fn nothing_but_health_answers_without_the_token() {
    let world = World::new().await;
    let key = world.ok("POST", "/api/keys", Some(json!({"name": "agent"}))).await;
    let key = format!("Bearer {}", key["key"].as_str().expect("a key"));
    for operation in operations() {
        let path = operation.path.replace("{id}", "x");
        let expected = if operation.open { 200 } else { 401 };
        let bare = world.send(request(name_of(operation.method), &path, &[], "")).await;
        assert_eq!(bare.status.as_u16(), expected, "{}", operation.name);
        if !operation.open {
            assert_eq!(bare.refusal().1, "management_token_required", "{}", operation.name);
        }
    }
    for headers in [
        &[("authorization", key.as_str())][..],
        &[("authorization", "Bearer "), ("x-api-key", TOKEN)],
        &[("authorization", "Basic omt_test")],
        &[("authorization", "Bearer omt_test"), ("authorization", "Bearer omt_test")],
        &[("authorization", "Bearer omt_tesT")],
    ] {
        assert_eq!(world.send(request("GET", "/api/app", headers, "")).await.status, 401, "{headers:?}");
    }
    assert_eq!(world.send(request("GET", "/api/nothing", &[], "")).await.status, 401, "unknown paths too");
}

#[tokio::test]
async fn guessing_the_token_is_slowed_down_but_its_owner_is_not() {
    let world = World::new().await;
    let guess = || request("GET", "/api/app", &[("authorization", "Bearer guess")], "");
    for _ in 0..20 {
        assert_eq!(world.send(guess()).await.status, 401);
    }
    assert_eq!(world.send(guess()).await.status, 429);
    assert_eq!(world.get("/api/app").await.status, 200);
}

#[tokio::test]
async fn peers_beyond_this_computer_are_refused_even_with_the_token() {
    let world = World::new().await;
    for (peer, status) in
        [("192.168.1.7:5000", 403), ("[2001:db8::1]:5000", 403), ("[::1]:5000", 200), ("[::ffff:127.0.0.1]:5000", 200)]
    {
        let request = request("GET", "/api/app", &[("authorization", "Bearer omt_test")], "");
        let reply = world.send_from(peer.parse().expect("an address"), request).await;
        assert_eq!(reply.status, status, "{peer}");
    }
}

#[tokio::test]
async fn bodies_are_json_objects() {
    let world = World::new().await;
    let auth = ("authorization", "Bearer omt_test");
    let good = r#"{"name":"k"}"#;
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(1 << 20));
    for (kind, body, status) in [
        (Some("application/json"), good, 201),
        (Some("Application/JSON; charset=utf-8"), r#"{"name":"k2"}"#, 201),
        (Some("text/plain"), good, 415),
        (Some("application/x-www-form-urlencoded"), good, 415),
        (None, good, 415),
        (Some("application/json"), "not json", 400),
        (Some("application/json"), "[]", 400),
        (Some("application/json"), r#"["k"]"#, 400),
        (Some("application/json"), r#"{"name":"k"} {}"#, 400),
        (Some("application/json"), long.as_str(), 413),
        (None, "", 400),
    ] {
        let headers: Vec<_> = [Some(auth), kind.map(|kind| ("content-type", kind))].into_iter().flatten().collect();
        let reply = world.send(request("POST", "/api/keys", &headers, body)).await;
        assert_eq!(reply.status, status, "{kind:?} {:.40}: {:.200}", body, reply.text);
    }
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let world = World::new().await;
    let id = world.add_connection("c1").await;
    let one = format!("/api/providers/{id}");
    for (method, path, body, field) in [
        ("POST", "/api/keys", json!({"nmae": "k"}), "nmae"),
        ("POST", "/api/keys", json!({}), "name"),
        ("POST", "/api/keys", json!({"name": " "}), "name"),
        ("POST", "/api/keys", json!({"name": 7}), "name"),
        ("POST", "/api/keys", json!({"name": "k", "scopes": ["manage"]}), "scopes[0]"),
        ("POST", "/api/keys", json!({"name": "k", "scopes": ["lease:exclusive"]}), "allowedConnections"),
        ("POST", "/api/keys", json!({"name": "k", "allowedConnections": ["nobody"]}), "allowedConnections"),
        ("POST", "/api/keys", json!({"name": "k", "expiresAt": "soon"}), "expiresAt"),
        ("POST", "/api/providers", json!({"provider": "nobody", "name": "c"}), "provider"),
        ("POST", "/api/providers", json!({"provider": "openai", "name": "c", "priority": 0}), "priority"),
        ("POST", "/api/providers", json!({"provider": "openai", "name": "c", "apiKey": "two words"}), "apiKey"),
        ("POST", "/api/providers", json!({"provider": "openai", "name": "c", "authType": "oauth"}), "authType"),
        ("POST", "/api/providers", json!({"provider": "openai", "name": "c", "proxyUrl": "ftp://x"}), "proxyUrl"),
        ("PATCH", &one, json!({"provider": "anthropic"}), "provider"),
        ("PATCH", &one, json!({"maxConcurrent": 0}), "maxConcurrent"),
        ("PATCH", &one, json!({"providerSpecificData": {"apiKey": "x"}}), "providerSpecificData.apiKey"),
        ("PATCH", &one, json!({"providerSpecificData": {"disableCooling": 1}}), "providerSpecificData.disableCooling"),
        ("POST", "/api/providers/test", json!({"all": true, "provider": "openai"}), "body"),
        ("PUT", "/api/providers/order", json!({"provider": "openai", "connectionIds": []}), "connectionIds"),
        ("DELETE", "/api/requests", json!({}), "body"),
        ("PATCH", "/api/settings", json!({"gateway": {"port": 0}}), "gateway.port"),
        ("PATCH", "/api/settings", json!({"gateway": {"prot": 1}}), "gateway.prot"),
        ("POST", "/api/models/aliases", json!({"alias": "fast", "target": "gpt"}), "target"),
        ("GET", "/api/requests?limit=0", Value::Null, "limit"),
        ("GET", "/api/requests?limit=501", Value::Null, "limit"),
        ("GET", "/api/requests?limit=many", Value::Null, "limit"),
        ("GET", "/api/requests?colour=red", Value::Null, "colour"),
        ("GET", "/api/requests?cursor=elsewhere", Value::Null, "cursor"),
        ("GET", "/api/events?topics=everything", Value::Null, "topics"),
    ] {
        let reply = world.call(method, path, Some(body.clone()).filter(|body| !body.is_null())).await;
        assert_eq!(reply.refusal(), (400, "invalid_request", field), "{method} {path} {body}: {}", reply.text);
    }
}

#[tokio::test]
async fn addresses_that_lead_nowhere_good_are_refused_when_saved() {
    let world = World::new().await;
    let cases = [
        ("http://127.0.0.1:9001/v1", 201),
        ("https://proxy.example/v1", 201),
        ("http://127.0.0.1:20128/v1", 400),
        ("http://localhost:20128/v1", 400),
        ("http://[::1]:20128/v1", 400),
        ("http://169.254.169.254/latest", 400),
        ("http://proxy.example/v1", 400),
        ("https://me:secret@proxy.example/v1", 400),
        ("file:///etc/passwd", 400),
    ];
    for (n, (url, status)) in cases.into_iter().enumerate() {
        let body = json!({"provider": "openai", "name": url, "providerSpecificData": {"baseUrl": url}});
        let reply = world.call("POST", "/api/providers", Some(body)).await;
        assert_eq!(reply.status, status, "{url}: {}", reply.text);
        let prefix = format!("p{n}");
        let node = json!({"name": url, "prefix": prefix, "apiType": "chat", "baseUrl": url});
        let reply = world.call("POST", "/api/provider-nodes", Some(node)).await;
        assert_eq!(reply.status, status, "{url}: {}", reply.text);
    }
}

#[tokio::test]
async fn unknown_records_paths_and_methods_are_told_apart() {
    let world = World::new().await;
    for (method, path, status, code) in [
        ("GET", "/api/providers/nobody", 404, "not_found"),
        ("PATCH", "/api/keys/nobody", 404, "not_found"),
        ("DELETE", "/api/provider-nodes/nobody", 404, "not_found"),
        ("GET", "/api/requests/nobody", 404, "not_found"),
        ("GET", "/api/nothing", 404, "not_found"),
        ("DELETE", "/api/app", 405, "method_not_allowed"),
    ] {
        let reply = world.call(method, path, None).await;
        assert_eq!(reply.refusal(), (status, code, ""), "{method} {path}");
    }
}

#[tokio::test]
async fn the_document_describes_every_operation_and_refers_to_nothing_missing() {
    let world = World::new().await;
    let document = world.ok("GET", "/api/openapi.json", None).await;
    for operation in operations() {
        let described = &document["paths"][operation.path][name_of(operation.method).to_lowercase()];
        assert_eq!(described["operationId"], operation.name);
        assert!(described["responses"][operation.status.to_string()].is_object(), "{}", operation.name);
        assert_eq!(described["security"].is_array(), !operation.open, "{}", operation.name);
    }
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let text = document.to_string();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap_or_default();
        assert!(schemas.contains_key(name), "{name}");
    }
}
