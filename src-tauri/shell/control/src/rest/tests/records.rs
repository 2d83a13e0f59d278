//! What a person manages: connections, nodes, keys, names, settings, the token.

use serde_json::{Value, json};

use super::{TOKEN, World};

#[tokio::test]
async fn a_connection_lives_and_dies_and_comes_back() {
    let world = World::new().await;
    let body = json!({"provider": "openai", "name": "work", "apiKey": "sk-proj-0123456789", "tags": ["a", "a"],
        "providerSpecificData": {"baseUrl": "http://127.0.0.1:9001/v1/", "disableCooling": true}});
    let reply = world.call("POST", "/api/providers", Some(body)).await;
    assert_eq!(reply.status, 201);
    let made = &reply.body["connection"];
    assert_eq!(made["priority"], 1);
    assert_eq!(made["authType"], "apikey");
    assert_eq!(made["credentialTail"], "6789");
    assert_eq!(made["tags"], json!(["a"]));
    let data = json!({"baseUrl": "http://127.0.0.1:9001/v1", "disableCooling": true, "allowPrivateNetwork": false});
    assert_eq!(made["providerSpecificData"], data);
    let path = format!("/api/providers/{}", made["id"].as_str().expect("an id"));

    let change = json!({"defaultModel": "gpt-x", "maxConcurrent": 2, "isActive": false,
        "providerSpecificData": {"disableCooling": null}});
    let changed = world.ok("PATCH", &path, Some(change)).await;
    assert_eq!(changed["connection"]["maxConcurrent"], 2);
    assert_eq!(changed["connection"]["providerSpecificData"]["baseUrl"], "http://127.0.0.1:9001/v1");
    assert_eq!(changed["connection"]["providerSpecificData"]["disableCooling"], Value::Null);
    let unset = json!({"maxConcurrent": null, "apiKey": null, "providerSpecificData": null});
    let unset = world.ok("PATCH", &path, Some(unset)).await;
    assert_eq!(unset["connection"]["maxConcurrent"], Value::Null);
    assert_eq!(unset["connection"]["defaultModel"], "gpt-x", "what is not named stays");
    assert_eq!(unset["connection"]["hasCredential"], false);
    assert_eq!(unset["connection"]["providerSpecificData"], json!({"allowPrivateNetwork": false}));

    assert_eq!(world.ok("DELETE", &path, None).await, json!({"ok": true}));
    assert_eq!(world.get(&path).await.status, 404);
    assert_eq!(world.ok("GET", "/api/providers", None).await["connections"], json!([]));
    let back = world.ok("POST", &format!("{path}/restore"), None).await;
    assert_eq!(back["connection"]["name"], "work");
    assert_eq!(world.get(&path).await.status, 200);
}

#[tokio::test]
async fn no_reply_holds_a_credential() {
    let world = World::new().await;
    let id = world.add_connection("c1").await;
    let proxied = json!({"proxyUrl": "http://me:hunter2@proxy.example:3128"});
    world.ok("PATCH", &format!("/api/providers/{id}"), Some(proxied)).await;
    let shared = json!({"network": {"proxyMode": "custom", "proxyUrl": "socks5h://me:swordfish@proxy.example:1080"}});
    let reply = world.call("PATCH", "/api/settings", Some(shared)).await;
    assert!(reply.status == 200 && !reply.text.contains("swordfish"), "{}", reply.text);
    let wrong = json!({"network": {"proxyUrl": "ftp://me:swordfish@proxy.example"}});
    let reply = world.call("PATCH", "/api/settings", Some(wrong)).await;
    assert!(reply.status == 400 && !reply.text.contains("swordfish"), "{}", reply.text);
    let key = world.ok("POST", "/api/keys", Some(json!({"name": "agent"}))).await;
    let key = key["key"].as_str().expect("a key").to_owned();
    for path in [
        "/api/providers".to_owned(),
        format!("/api/providers/{id}"),
        "/api/keys".to_owned(),
        "/api/monitoring/health".to_owned(),
        "/api/app".to_owned(),
        "/api/settings".to_owned(),
        "/api/settings/fields".to_owned(),
        "/api/settings/feature-flags".to_owned(),
        "/api/resilience".to_owned(),
        "/api/openapi.json".to_owned(),
    ] {
        let reply = world.get(&path).await;
        assert_eq!(reply.status, 200, "{path}");
        let text = reply.text;
        for secret in ["sk-secret-of-c1", "hunter2", "swordfish", key.as_str(), TOKEN] {
            assert!(!text.contains(secret), "{path} holds {secret}");
        }
    }
}

#[tokio::test]
async fn a_proxy_sent_back_as_it_was_shown_keeps_its_password() {
    let world = World::new().await;
    let id = world.add_connection("c1").await;
    let path = format!("/api/providers/{id}");
    let stored = "http://me:hunter2@proxy.example:3128";
    let shown = world.ok("PATCH", &path, Some(json!({"proxyUrl": stored}))).await;
    assert_eq!(shown["connection"]["proxyUrl"], "http://me@proxy.example:3128");
    world.ok("PATCH", &path, Some(json!({"proxyUrl": shown["connection"]["proxyUrl"]}))).await;
    let connections = world.control.connections();
    let entry = connections.iter().next().expect("a connection");
    assert_eq!(entry.connection.proxy_url.as_deref(), Some(stored));
}

#[tokio::test]
async fn the_shared_proxy_sent_back_as_it_was_shown_keeps_its_password() {
    let world = World::new().await;
    let stored = "socks5://me:hunter2@proxy.example:1080";
    let set = |url: &Value| json!({"network": {"proxyMode": "custom", "proxyUrl": url}});
    let tree = world.ok("PATCH", "/api/settings", Some(set(&json!(stored)))).await;
    let shown = &tree["network"]["proxyUrl"];
    assert_eq!(shown, "socks5://me@proxy.example:1080");
    assert_eq!(tree["sources"]["network.proxyUrl"], "stored");
    let tree = world.ok("PATCH", "/api/settings", Some(set(shown))).await;
    assert_eq!((&tree["network"]["proxyUrl"], &tree["network"]["proxyMode"]), (shown, &json!("custom")));
    let in_force = || world.control.settings().network.proxy_url.as_ref().map(|url| url.expose().to_owned());
    assert_eq!(in_force().as_deref(), Some(stored));
    let documents = world.control.store().load_settings(world.control.now()).await.expect("the settings");
    assert_eq!(documents["network"]["proxyUrl"], stored);
    let raw = world.control.store().list_values(store::SETTINGS).await.expect("values");
    assert!(raw["network"]["proxyUrl"]["sealed"].is_string(), "{raw:?}");

    let refused = world.call("PATCH", "/api/settings", Some(set(&json!("socks4://proxy.example")))).await;
    let detail = &refused.body["error"]["details"][0];
    assert_eq!((refused.status.as_u16(), &detail["field"]), (400, &json!("network.proxyUrl")), "{}", refused.text);
    assert!(detail["message"].as_str().is_some_and(|message| message.contains("socks5h")), "{detail}");
    let unset = json!({"network": {"proxyMode": "none", "proxyUrl": null}});
    world.ok("PATCH", "/api/settings", Some(unset)).await;
    assert_eq!(in_force(), None);
}

#[tokio::test]
async fn names_are_unique_and_stale_changes_are_refused() {
    let world = World::new().await;
    let id = world.add_connection("c1").await;
    let twice = json!({"provider": "openai", "name": "c1"});
    assert_eq!(world.call("POST", "/api/providers", Some(twice)).await.refusal().0, 409);
    let path = format!("/api/providers/{id}");
    let read = world.ok("GET", &path, None).await;
    let seen = &read["connection"]["updatedAt"];
    world.ok("PATCH", &path, Some(json!({"name": "c2", "updatedAt": seen}))).await;
    let stale = world.call("PATCH", &path, Some(json!({"name": "c3", "updatedAt": seen}))).await;
    assert_eq!(stale.refusal().0, 409);
    assert_eq!(world.ok("GET", &path, None).await["connection"]["name"], "c2");
}

#[tokio::test]
async fn connections_are_ordered_and_filtered() {
    let world = World::new().await;
    let (first, second) = (world.add_connection("c1").await, world.add_connection("c2").await);
    world.ok("POST", "/api/providers", Some(json!({"provider": "anthropic", "name": "a"}))).await;
    let order = json!({"provider": "openai", "connectionIds": [second, first]});
    let ordered = world.ok("PUT", "/api/providers/order", Some(order)).await;
    let names = |reply: &Value| {
        let connections = reply["connections"].as_array().expect("a list").iter();
        connections.map(|connection| connection["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&ordered), ["c2", "c1"]);
    assert_eq!(names(&world.ok("GET", "/api/providers", None).await), ["a", "c2", "c1"]);
    assert_eq!(names(&world.ok("GET", "/api/providers?provider=anthropic", None).await), ["a"]);
    assert_eq!(names(&world.ok("GET", "/api/providers?class=local", None).await), Vec::<String>::new());
}

#[tokio::test]
async fn a_custom_provider_lives_while_it_is_used() {
    let world = World::new().await;
    let draft = json!({"name": "Box", "prefix": "box", "apiType": "messages", "baseUrl": "http://127.0.0.1:9001/v1",
        "extraHeaders": {"X-Team": "blue"}});
    let made = world.call("POST", "/api/provider-nodes", Some(draft.clone())).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let node = &made.body["node"];
    assert_eq!(node["id"], "anthropic-compatible-box");
    assert_eq!(node["type"], "anthropic-compatible");
    assert_eq!(node["authCarrier"], "x-api-key");
    assert_eq!(node["providerClass"], "local");
    assert_eq!(node["extraHeaders"], json!({"x-team": "blue"}));
    assert_eq!(world.call("POST", "/api/provider-nodes", Some(draft)).await.status, 409);

    let path = "/api/provider-nodes/anthropic-compatible-box";
    let change = json!({"baseUrl": "https://box.example/v1", "providerClass": null, "extraHeaders": null});
    let changed = world.ok("PATCH", path, Some(change)).await;
    assert_eq!(changed["node"]["providerClass"], "apikey");
    assert_eq!(changed["node"]["extraHeaders"], json!({}));

    let used = json!({"provider": "anthropic-compatible-box", "name": "c"});
    let used = world.ok("POST", "/api/providers", Some(used)).await;
    assert_eq!(world.call("DELETE", path, None).await.refusal().0, 409);
    let connection = used["connection"]["id"].as_str().expect("an id");
    world.ok("DELETE", &format!("/api/providers/{connection}"), None).await;
    assert_eq!(world.ok("DELETE", path, None).await, json!({"ok": true}));
}

#[tokio::test]
async fn a_custom_prefix_is_nobody_elses_name() {
    let world = World::new().await;
    for prefix in ["openai", "Box", "-box", "a/b", "", "ünï"] {
        let draft = json!({"name": "n", "prefix": prefix, "apiType": "chat", "baseUrl": "https://a.example/v1"});
        let reply = world.call("POST", "/api/provider-nodes", Some(draft)).await;
        assert_eq!(reply.refusal(), (400, "invalid_request", "prefix"), "{prefix}");
    }
    let misfit = json!({"name": "n", "prefix": "box", "apiType": "chat", "type": "gemini-compatible",
        "baseUrl": "https://a.example/v1"});
    assert_eq!(world.call("POST", "/api/provider-nodes", Some(misfit)).await.refusal().2, "type");
}

#[tokio::test]
async fn a_key_is_shown_once_and_stops_when_rotated_or_revoked() {
    let world = World::new().await;
    let draft = json!({"name": "agent", "scopes": ["self:usage"], "expiresAt": "2030-01-01T00:00:00Z"});
    let made = world.call("POST", "/api/keys", Some(draft)).await;
    assert_eq!(made.status, 201);
    let text = made.body["key"].as_str().expect("a key").to_owned();
    assert!(text.starts_with("sk-omni-") && text.len() == "sk-omni-".len() + 43, "{text}");
    assert!(text.ends_with(made.body["record"]["tail"].as_str().expect("a tail")));
    assert!(world.control.keys().find(&text).is_some());
    let path = format!("/api/keys/{}", made.body["record"]["id"].as_str().expect("an id"));

    let changed = world.ok("PATCH", &path, Some(json!({"isActive": false, "expiresAt": null}))).await;
    assert_eq!(changed["record"]["isActive"], false);
    assert_eq!(changed["record"]["expiresAt"], Value::Null);
    assert_eq!(changed["record"]["scopes"], json!(["self:usage"]));

    let rotated = world.ok("POST", &format!("{path}/rotate"), None).await;
    let new = rotated["key"].as_str().expect("a key");
    assert!(world.control.keys().find(&text).is_none() && world.control.keys().find(new).is_some());
    assert_eq!(world.ok("DELETE", &path, None).await, json!({"ok": true}));
    assert!(world.control.keys().is_empty());
    assert_eq!(world.ok("GET", "/api/keys", None).await, json!({"keys": []}));
}

#[tokio::test]
async fn models_get_names_of_the_users_own() {
    let world = World::new().await;
    let made =
        world.call("POST", "/api/models/aliases", Some(json!({"alias": "fast", "target": "openai/gpt-x"}))).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/api/models/aliases/{}", made.body["alias"]["id"].as_str().expect("an id"));
    let changed = world.ok("PATCH", &path, Some(json!({"target": "anthropic/claude-x"}))).await;
    assert_eq!(changed["alias"]["target"], "anthropic/claude-x");
    let twice = json!({"alias": "fast", "target": "openai/gpt-y"});
    assert_eq!(world.call("POST", "/api/models/aliases", Some(twice)).await.status, 409);
    world.ok("DELETE", &path, None).await;
    assert_eq!(world.ok("GET", "/api/models/aliases", None).await, json!({"aliases": []}));
}

#[tokio::test]
async fn settings_change_at_once_and_say_where_they_come_from() {
    let world = World::new().await;
    let before = world.ok("GET", "/api/settings", None).await;
    assert_eq!(before["sources"]["logging.retentionDays"], "default");
    let after = world.ok("PATCH", "/api/settings", Some(json!({"logging": {"retentionDays": 5}}))).await;
    assert_eq!(after["logging"]["retentionDays"], 5);
    assert_eq!(after["sources"]["logging.retentionDays"], "stored");
    assert_eq!(world.control.settings().logging.retention_days, 5);
    let unset = world.ok("PATCH", "/api/settings", Some(json!({"logging": {"retentionDays": null}}))).await;
    assert_eq!(unset, before);
    let fields = world.ok("GET", "/api/settings/fields", None).await;
    let port = fields["fields"].as_array().expect("a list").iter().find(|field| field["path"] == "gateway.port");
    assert_eq!(port.expect("the port")["value"], 20_128);
}

#[tokio::test]
async fn the_listener_moves_only_when_its_new_place_is_reserved() {
    use crate::MoveRefused;
    let world = World::new().await;
    let mut moves = world.moves.lock().await;
    let patch = || Some(json!({"gateway": {"port": 3_000}}));

    let (refused, ()) = tokio::join!(world.call("PATCH", "/api/settings", patch()), async {
        let wanted = moves.recv().await.expect("a request");
        assert_eq!((wanted.port, wanted.bind_address.as_str()), (3_000, "127.0.0.1"));
        wanted.reserved.send(Err(MoveRefused::PortTaken { port: 3_000 })).expect("somebody waits");
    });
    assert_eq!(refused.refusal().0, 409);
    assert_eq!(world.control.settings().gateway.port, 20_128, "nothing moved");

    let (moved, go) = tokio::join!(world.call("PATCH", "/api/settings", patch()), async {
        let wanted = moves.recv().await.expect("a request");
        let (go, word) = tokio::sync::oneshot::channel();
        wanted.reserved.send(Ok(go)).expect("somebody waits");
        word.await
    });
    assert_eq!((moved.status.as_u16(), go), (200, Ok(())));
    assert_eq!(world.control.settings().gateway.port, 3_000);
}

#[tokio::test]
async fn a_token_of_the_environment_is_not_rotated_here() {
    let world = World::new().await;
    assert_eq!(world.ok("GET", "/api/management-token", None).await, json!({"token": TOKEN}));
    assert_eq!(world.call("POST", "/api/management-token/rotate", None).await.refusal().0, 409);
    assert!(!world.dir.path().join("management-token").exists());
}
