//! The settings tree: read with its sources, changed in part, and moving the listener.

use acceptance::World;
use http::Method;
use serde_json::{Value, json};

use crate::rules::assert_error;

#[tokio::test]
async fn a_patch_changes_what_it_names_and_says_where_values_come_from() {
    let mut world = World::start_with(&[("FETCH_TIMEOUT_MS", "5000")]).await;
    let tree = world.managed(Method::GET, "/api/settings", None).await;
    assert_eq!((&tree["gateway"]["port"], &tree["network"]["responseStartTimeoutMs"]), (&json!(20_128), &json!(5_000)));
    assert_eq!(tree["sources"]["network.responseStartTimeoutMs"], "environment");
    assert_eq!(tree["sources"]["network.connectTimeoutMs"], "default");
    let patch = json!({"network": {"responseStartTimeoutMs": 9_000, "connectTimeoutMs": 1_000}});
    let tree = world.managed(Method::PATCH, "/api/settings", Some(patch)).await;
    assert_eq!(tree["network"]["responseStartTimeoutMs"], 9_000);
    assert_eq!(tree["sources"]["network.responseStartTimeoutMs"], "stored");
    world.restart().await;
    let tree = world.managed(Method::GET, "/api/settings", None).await;
    assert_eq!(
        (&tree["network"]["connectTimeoutMs"], &tree["network"]["responseStartTimeoutMs"]),
        (&json!(1_000), &json!(9_000))
    );
    let patch = json!({"network": {"responseStartTimeoutMs": null, "connectTimeoutMs": null}});
    let tree = world.managed(Method::PATCH, "/api/settings", Some(patch)).await;
    assert_eq!(
        (&tree["network"]["connectTimeoutMs"], &tree["network"]["responseStartTimeoutMs"]),
        (&json!(10_000), &json!(5_000))
    );
}

#[tokio::test]
async fn a_wrong_patch_changes_nothing_and_names_every_field() {
    let world = World::start().await;
    let before = world.managed(Method::GET, "/api/settings", None).await;
    for (patch, field) in [
        (json!({"network": {"connectTimeoutMs": 1}}), "network.connectTimeoutMs"),
        (json!({"network": {"connectTimeoutMs": "fast"}}), "network.connectTimeoutMs"),
        (json!({"network": {"nonsense": 1}}), "network.nonsense"),
        (json!({"nonsense": {}}), "nonsense"),
        (json!({"network": 7}), "network"),
        (json!({"gateway": {"port": 0}}), "gateway.port"),
        (json!({"gateway": {"port": 70_000}}), "gateway.port"),
        (json!({"gateway": {"corsOrigins": ["*"]}}), "gateway.corsOrigins"),
        (json!({"gateway": {"allowedHosts": ["a/b"]}}), "gateway.allowedHosts"),
        (json!({"gateway": {"bindAddress": "0.0.0.0", "requireApiKey": false}}), "gateway.requireApiKey"),
        (json!({"routing": {"modelPrefixMode": "sideways"}}), "routing.modelPrefixMode"),
        (json!({"network": {"proxyMode": "custom"}, "gateway": {"keepAliveIntervalMs": 500}}), "network.proxyMode"),
    ] {
        let reply = world.manage(Method::PATCH, "/api/settings", Some(patch.clone())).await;
        assert_error(&reply, 400, "invalid_request");
        assert_eq!(reply.json()["error"]["details"][0]["field"], field, "{patch}: {}", reply.text());
    }
    assert_eq!(world.managed(Method::GET, "/api/settings", None).await, before);
}

#[tokio::test]
async fn every_field_is_described_with_its_bounds() {
    let world = World::start().await;
    let fields = world.managed(Method::GET, "/api/settings/fields", None).await;
    let fields = fields["fields"].as_array().expect("fields").clone();
    let tree = world.managed(Method::GET, "/api/settings", None).await;
    for field in &fields {
        let path = field["path"].as_str().expect("a path");
        let value = path.split('.').fold(&tree, |value, name| &value[name]);
        assert_eq!(value, &field["value"], "{path}");
        assert!(field["help"].as_str().is_some_and(|help| !help.is_empty()), "{path}");
        assert!(tree["sources"][path].is_string(), "{path}");
    }
    let port = fields.iter().find(|field| field["path"] == "gateway.port").expect("the port");
    assert_eq!(
        (&port["min"], &port["max"], &port["default"], &port["env"]),
        (&json!(1.0), &json!(65_535.0), &json!(20_128), &json!("OMNIROUTE_PORT"))
    );
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

#[tokio::test]
async fn the_listener_moves_when_its_port_is_changed_and_stays_when_that_is_taken() {
    let mut world = World::start().await;
    let old = world.manager();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let reply = world.manage(Method::PATCH, "/api/settings", Some(json!({"gateway": {"port": port}}))).await;
    assert_error(&reply, 409, "conflict");
    assert!(reply.error_message().contains(&port.to_string()), "{}", reply.text());
    assert_eq!(old.get("/api/keys").await.status, 200, "nothing moved");
    assert_eq!(world.managed(Method::GET, "/api/settings", None).await["gateway"]["port"], 20_128);

    let port = free_port();
    let reply = world.manage(Method::PATCH, "/api/settings", Some(json!({"gateway": {"port": port}}))).await;
    assert_eq!(reply.status, 200, "answered on the old listener: {}", reply.text());
    let moved = async {
        while world.address().port() != port {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(acceptance::PATIENCE, moved).await.expect("the move");
    assert_eq!(world.url(), format!("http://127.0.0.1:{port}"));
    assert_eq!(world.managed(Method::GET, "/api/app", None).await["url"], json!(world.url()));
    let file = std::fs::read_to_string(world.folder().join("gateway.json")).expect("a file");
    assert_eq!(serde_json::from_str::<Value>(&file).expect("JSON")["port"], json!(port));
    let again = reqwest::Client::new().get(format!("http://127.0.0.1:{port}/health")).send().await;
    assert_eq!(again.expect("an answer").status(), 200);
    world.stop().await;
}

#[tokio::test]
async fn keys_are_required_again_when_the_listener_opens_to_others() {
    let world = World::start().await;
    world.set(json!({"gateway": {"requireApiKey": false}})).await;
    assert_eq!(world.stranger().get("/v1/models").await.status, 200);
    let reply =
        world.manage(Method::PATCH, "/api/settings", Some(json!({"gateway": {"bindAddress": "0.0.0.0"}}))).await;
    assert_error(&reply, 400, "invalid_request");
    assert_eq!(world.stranger().get("/v1/models").await.status, 200, "nothing changed");
}
