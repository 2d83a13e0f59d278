//! The model list in the shape the caller reads (gateway specification, 1.5).

use acceptance::{Agent, World};
use domain::{Dialect, Millis};
use fake_upstream::{ModelCard, Step};
use http::Method;
use serde_json::{Value, json};

fn ids(list: &Value, member: &str, name: &str) -> Vec<String> {
    let entries = list[member].as_array().unwrap_or_else(|| panic!("a list in {list}"));
    entries.iter().filter_map(|entry| entry[name].as_str()).map(str::to_owned).collect()
}

async fn listed(agent: &Agent, path: &str) -> Vec<String> {
    ids(&agent.get(path).await.json(), "data", "id")
}

#[tokio::test]
async fn the_list_has_three_shapes_chosen_by_header_and_path() {
    let world = World::start().await;
    world.connect("anthropic", "c1").await;
    let open_ai = world.agent().get("/v1/models").await.json();
    assert_eq!(open_ai["object"], "list");
    let entry = &open_ai["data"][0];
    assert_eq!((&entry["object"], &entry["owned_by"]), (&json!("model"), &json!("anthropic")));
    assert!(entry["created"].is_u64() && entry["context_length"].as_u64().is_some_and(|size| size > 0), "{entry}");

    let anthropic = world.agent().with("anthropic-version", "2026-10-21").get("/v1/models").await.json();
    assert_eq!((&anthropic["data"][0]["type"], &anthropic["has_more"]), (&json!("model"), &json!(false)));
    assert_eq!(anthropic["first_id"], anthropic["data"][0]["id"]);
    assert!(anthropic["data"][0]["created_at"].is_string() && anthropic["data"][0]["display_name"].is_string());

    for agent in [world.agent().with("x-goog-api-key", "anything"), world.stranger().with("x-goog-api-key", &world.key)]
    {
        let gemini = agent.get("/v1/models").await.json();
        assert!(gemini["models"][0]["name"].as_str().is_some_and(|name| name.starts_with("models/")), "{gemini}");
    }
    let beta = world.agent().get("/v1beta/models").await.json();
    let model = &beta["models"][0];
    assert!(model["inputTokenLimit"].is_u64() && model["supportedGenerationMethods"].is_array(), "{model}");
    let all = ids(&open_ai, "data", "id").len();
    assert_eq!((ids(&anthropic, "data", "id").len(), ids(&beta, "models", "name").len()), (all, all));
    world.check_invariants().await;
}

#[tokio::test]
async fn entries_carry_what_agents_size_their_prompts_by() {
    let world = World::start().await;
    world.connect("anthropic", "c1").await;
    let model = world.agent().get("/v1/models/anthropic/claude-opus-5-5").await;
    assert_eq!(model.status, 200, "{}", model.text());
    let model = model.json();
    for name in ["context_length", "context_window", "max_input_tokens"] {
        assert_eq!(model[name], 1_000_000, "{name}");
    }
    assert_eq!(model["max_output_tokens"], 128_000);
    assert_eq!(model["capabilities"]["tools"], true);
    assert_eq!((&model["pricing"]["input"], &model["pricing"]["output"]), (&json!(4.0), &json!(20.0)), "{model}");
    world.check_invariants().await;
}

#[tokio::test]
async fn one_model_is_found_in_every_shape_and_an_unknown_one_is_a_404() {
    let world = World::start().await;
    world.connect("anthropic", "c1").await;
    let name = "anthropic/claude-opus-5-5";
    let agent = world.agent();
    assert_eq!(agent.get(&format!("/v1/models/{name}")).await.json()["id"], name);
    assert_eq!(agent.get("/v1/models/anthropic%2Fclaude-opus-5-5").await.json()["id"], name);
    let reply = agent.clone().with("anthropic-version", "2023-06-01").get(&format!("/v1/models/{name}")).await;
    assert_eq!(reply.json()["type"], "model");
    assert_eq!(agent.get(&format!("/v1beta/models/{name}")).await.json()["name"], format!("models/{name}"));
    for (agent, path, word) in [
        (agent.clone(), "/v1/models/anthropic/nothing", "model_not_found"),
        (agent.clone().with("anthropic-version", "2023-06-01"), "/v1/models/nothing", "not_found_error"),
        (agent.clone(), "/v1beta/models/nothing", "NOT_FOUND"),
    ] {
        let reply = agent.get(path).await;
        assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (404, word), "{path}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn the_anthropic_list_can_be_paged_in_both_directions() {
    let world = World::start().await;
    world.connect("anthropic", "c1").await;
    let agent = world.agent().with("anthropic-version", "2023-06-01");
    let all = listed(&agent, "/v1/models").await;
    assert!(all.len() > 4, "{all:?}");
    let mut forwards = Vec::new();
    let mut path = "/v1/models?limit=2".to_owned();
    while forwards.len() < all.len() {
        let page = agent.get(&path).await.json();
        forwards.extend(ids(&page, "data", "id"));
        if page["has_more"] == false {
            break;
        }
        let last = page["last_id"].as_str().expect("a last id").replace('/', "%2F");
        path = format!("/v1/models?limit=2&after_id={last}");
    }
    assert_eq!(forwards, all);
    let last = all.last().expect("a model");
    let page = agent.get(&format!("/v1/models?limit=2&before_id={last}")).await.json();
    assert_eq!(ids(&page, "data", "id"), all[all.len() - 3..all.len() - 1]);
    assert_eq!(page["has_more"], true);
    world.check_invariants().await;
}

#[tokio::test]
async fn names_are_listed_by_alias_by_id_or_by_both() {
    let world = World::start().await;
    let node =
        json!({"name": "Mine", "prefix": "mine", "apiType": "chat", "baseUrl": world.upstream.base_url(Dialect::Chat)});
    let node = world.managed(Method::POST, "/api/provider-nodes", Some(node)).await["node"]["id"].clone();
    let node = node.as_str().expect("an id").to_owned();
    world.connect(&node, "c1").await;
    world.upstream.set_models([ModelCard::new("m7")]);
    let agent = world.agent();
    let (by_alias, by_id) = ("mine/m7".to_owned(), format!("{node}/m7"));
    assert_ne!(by_alias, by_id);
    for (path, expected) in [
        ("/v1/models?prefix=alias", vec![by_alias.clone()]),
        ("/v1/models?prefix=canonical", vec![by_id.clone()]),
        ("/v1/models?prefix=dual", vec![by_alias.clone(), by_id.clone()]),
        ("/v1/models", vec![by_alias.clone(), by_id.clone()]),
    ] {
        assert_eq!(listed(&agent, path).await, expected, "{path}");
    }
    let mirrored = agent.get("/v1/models").await.json();
    let parents: Vec<&Value> =
        mirrored["data"].as_array().expect("models").iter().map(|model| &model["parent"]).collect();
    assert_eq!(
        parents.iter().filter(|parent| parent.is_string()).count(),
        1,
        "one of the two mirrors the other: {mirrored}"
    );
    world.set(json!({"routing": {"modelPrefixMode": "canonical"}})).await;
    assert_eq!(listed(&agent, "/v1/models").await, [by_id]);
    world.check_invariants().await;
}

#[tokio::test]
async fn only_providers_with_an_enabled_connection_are_listed() {
    let world = World::start().await;
    let agent = world.agent();
    assert!(listed(&agent, "/v1/models").await.is_empty());
    let first = world.connect("anthropic", "c1").await;
    let second = world.connect("anthropic", "c2").await;
    assert!(!listed(&agent, "/v1/models").await.is_empty());
    for (connection, left) in [(&first, true), (&second, false)] {
        world
            .managed(Method::PATCH, &format!("/api/providers/{}", connection.id), Some(json!({"isActive": false})))
            .await;
        assert_eq!(!listed(&agent, "/v1/models").await.is_empty(), left);
    }
    world.managed(Method::PATCH, &format!("/api/providers/{}", second.id), Some(json!({"isActive": true}))).await;
    assert!(!listed(&agent, "/v1/models").await.is_empty());
    world.managed(Method::DELETE, &format!("/api/providers/{}", second.id), None).await;
    assert!(listed(&agent, "/v1/models").await.is_empty());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_local_nodes_own_models_are_discovered_and_looked_for_again() {
    let world = World::start().await;
    let node = json!({"name": "Local", "prefix": "local", "apiType": "chat", "baseUrl": world.upstream.base_url(Dialect::Chat)});
    let node = world.managed(Method::POST, "/api/provider-nodes", Some(node)).await["node"]["id"].clone();
    let connection = world.connect(node.as_str().expect("an id"), "c1").await;
    world.upstream.set_models([ModelCard { context: Some(32_768), ..ModelCard::new("llama3:8b") }]);
    let agent = world.agent();
    let list = agent.get("/v1/models?prefix=alias").await.json();
    assert_eq!(ids(&list, "data", "id"), ["local/llama3:8b"]);
    assert_eq!(list["data"][0]["context_length"], 32_768);
    // What was discovered can be asked for by its bare name.
    let reply = agent.post("/v1/chat/completions", acceptance::chat_body("llama3:8b", false)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    // The list is kept for a while, and asked for again afterwards.
    world.upstream.set_models([ModelCard::new("qwen")]);
    assert_eq!(listed(&agent, "/v1/models?prefix=alias").await, ["local/llama3:8b"]);
    world.advance(Millis::hours(1));
    agent.get("/v1/models").await;
    world.wait_for_endings(&connection, 3).await;
    let reread = async { while listed(&agent, "/v1/models?prefix=alias").await != ["local/qwen"] {} };
    tokio::time::timeout(acceptance::PATIENCE, reread).await.expect("the new list");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_provider_that_cannot_list_its_models_hides_nobody_elses() {
    let world = World::start().await;
    world.connect("anthropic", "c1").await;
    let node = json!({"name": "Broken", "prefix": "broken", "apiType": "chat", "baseUrl": world.upstream.base_url(Dialect::Chat)});
    let node = world.managed(Method::POST, "/api/provider-nodes", Some(node)).await["node"]["id"].clone();
    let connection = world.connect(node.as_str().expect("an id"), "c2").await;
    world.upstream.script(connection.credential.as_str(), fake_upstream::LIST_MODELS).then(Step::error(500, "no"));
    let names = listed(&world.agent(), "/v1/models").await;
    assert!(names.iter().any(|name| name == "anthropic/claude-opus-5-5"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("broken/")), "{names:?}");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_list_that_did_not_change_is_not_sent_twice() {
    let world = World::start().await;
    world.connect("anthropic", "c1").await;
    let agent = world.agent();
    let reply = agent.get("/v1/models").await;
    assert_eq!(reply.header("cache-control"), Some("private, max-age=60"));
    let tag = reply.header("etag").expect("an ETag").to_owned();
    let again = agent.clone().with("if-none-match", &tag).get("/v1/models").await;
    assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
    assert_eq!(again.header("etag"), Some(tag.as_str()));
    world.connect("openai", "c2").await;
    let changed = agent.clone().with("if-none-match", &tag).get("/v1/models").await;
    assert_eq!(changed.status, 200);
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
    world.check_invariants().await;
}
