//! What a local key may use: models, combos, connections, and in which order (gateway specification, 1.3 and 3.11).

use acceptance::{Agent, Ask, Reply, World, chat_body};
use domain::Dialect;
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

use crate::fixtures::assert_refused;

async fn combo(world: &World, body: Value) {
    world.managed(Method::POST, "/api/combos", Some(body)).await;
}

async fn ask(agent: &Agent, model: &str) -> Reply {
    agent.post("/v1/chat/completions", chat_body(model, false)).await
}

/// The same model in each dialect that takes its name from the body.
fn asks(model: &'static str) -> [Ask; 3] {
    [Dialect::Chat, Dialect::Responses, Dialect::Messages].map(|dialect| {
        let ask = Ask::new(dialect, false);
        Ask { body: ask.body.replace(&format!("{}/m1", ask.provider), model), ..ask }
    })
}

/// The names in a list of models, whatever its shape.
async fn listed(agent: &Agent, path: &str) -> String {
    let reply = agent.get(path).await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    reply.text().to_owned()
}

#[tokio::test]
async fn a_key_asks_only_for_its_combos_by_whatever_name() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    combo(&world, json!({ "name": "team", "models": ["openai/m1"], "strategy": "priority" })).await;
    combo(&world, json!({ "name": "secret", "models": ["openai/m2"], "strategy": "priority" })).await;
    combo(&world, json!({ "name": "wrapped", "models": ["secret"], "strategy": "priority" })).await;
    let alias = json!({ "alias": "nickname", "target": "secret" });
    world.managed(Method::POST, "/api/models/aliases", Some(alias)).await;
    let key = world.make_key(json!({ "name": "narrow", "allowedCombos": ["team", "wrapped", "auto/fast"] })).await;
    let agent = world.stranger().with_key(&key);
    for (model, status) in [
        ("team", 200),
        ("combo/team", 200),
        ("openai/m2", 200),
        ("secret", 403),
        ("combo/secret", 403),
        ("nickname", 403),
        ("auto", 403),
        ("auto/coding", 403),
    ] {
        let reply = ask(&agent, model).await;
        assert_eq!(reply.status, status, "{model}: {}", reply.text());
    }
    // What an allowed combo leads to in turn is its owner's choice.
    assert_eq!(ask(&agent, "wrapped").await.status, 200);
    for barred in asks("secret") {
        assert_refused(&barred, &agent.post(&barred.path, barred.body.clone()).await, 403);
    }
    let shown = listed(&agent, "/v1/models").await;
    assert!(shown.contains("\"team\"") && shown.contains("\"wrapped\"") && !shown.contains("\"secret\""), "{shown}");
    let row = world.last_request().await;
    assert_eq!((&row["status"], &row["errorCode"]), (&json!(403), &json!("permission_denied")));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_renamed_combo_stays_open_to_its_keys() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let made = json!({ "name": "team", "models": ["openai/m1"], "strategy": "priority" });
    let made = world.managed(Method::POST, "/api/combos", Some(made)).await;
    let path = format!("/api/combos/{}", made["combo"]["id"].as_str().expect("an id"));
    let key = world.make_key(json!({ "name": "narrow", "allowedCombos": ["team", "auto"] })).await;
    world.managed(Method::PATCH, &path, Some(json!({ "name": "squad" }))).await;
    let agent = world.stranger().with_key(&key);
    assert_eq!(ask(&agent, "squad").await.status, 200);
    let keys = world.managed(Method::GET, "/api/keys", None).await;
    assert_eq!(keys["keys"][1]["allowedCombos"], json!(["squad", "auto"]));
    world.check_invariants().await;
}

#[tokio::test]
async fn connections_and_models_of_a_key_hold_inside_combos() {
    let world = World::start().await;
    let first = world.connect("openai", "first").await;
    let second = world.connect("openai", "second").await;
    let third = world.connect("anthropic", "third").await;
    combo(&world, json!({ "name": "inner", "models": ["openai/m1"], "strategy": "priority" })).await;
    combo(&world, json!({ "name": "team", "models": ["inner", "anthropic/m1"], "strategy": "priority" })).await;
    combo(
        &world,
        json!({ "name": "nested", "models": ["inner", "anthropic/m1"], "strategy": "priority", "config": { "nestedMode": "execute" } }),
    )
    .await;
    let calls = || [&first, &second, &third].map(|account| world.calls(account).len());
    let agent = async |name: &str, limits: Value| {
        let mut body = limits;
        body["name"] = name.into();
        world.stranger().with_key(&world.make_key(body).await)
    };

    let of_second = agent("second", json!({ "allowedConnections": [second.id] })).await;
    for model in ["team", "nested", "inner"] {
        assert_eq!(ask(&of_second, model).await.status, 200, "{model}");
    }
    assert_eq!(calls(), [0, 3, 0]);
    // Its own one fails, and nobody else's steps in.
    world.script(&second).then(Step::error(500, "down"));
    for model in ["team", "nested", "auto"] {
        assert!(!ask(&of_second, model).await.status.is_success(), "{model}");
    }
    assert_eq!([calls()[0], calls()[2]], [0, 0]);

    let of_third = agent("third", json!({ "allowedConnections": [third.id] })).await;
    assert_eq!(ask(&of_third, "team").await.status, 200);
    let of_model = agent("model", json!({ "allowedModels": ["anthropic/*"] })).await;
    for model in ["team", "nested"] {
        assert_eq!(ask(&of_model, model).await.status, 200, "{model}");
    }
    assert_eq!([calls()[0], calls()[2]], [0, 3]);

    // Where nothing of a combo is left to a key, it is the key that is told.
    for barred in asks("inner") {
        assert_refused(&barred, &of_third.post(&barred.path, barred.body.clone()).await, 403);
        assert_refused(&barred, &of_model.post(&barred.path, barred.body.clone()).await, 403);
    }
    let of_nobody = agent("nobody", json!({ "allowedModels": ["nothing/*"] })).await;
    assert_eq!(ask(&of_nobody, "auto").await.status, 403);
    world.check_invariants().await;
}

#[tokio::test]
async fn every_list_of_models_hides_what_a_key_cannot_use() {
    let world = World::start().await;
    let openai = world.connect_with("openai", "c1", json!({ "excludedModels": ["gpt-5.4"] })).await;
    world.connect("anthropic", "c2").await;
    combo(&world, json!({ "name": "of-openai", "models": ["openai/gpt-5.5"], "strategy": "priority" })).await;
    combo(&world, json!({ "name": "of-anthropic", "models": ["anthropic/m1"], "strategy": "priority" })).await;
    let by_connection = world.make_key(json!({ "name": "a", "allowedConnections": [openai.id] })).await;
    let by_model = json!({ "name": "b", "allowedModels": ["openai/*", "of-openai"] });
    let by_model = world.make_key(by_model).await;
    for key in [by_connection, by_model] {
        let agent = world.stranger().with_key(&key);
        for path in ["/v1/models", "/v1beta/models", "/api/tags"] {
            let shown = listed(&agent, path).await;
            assert!(shown.contains("openai/gpt-5.5") && shown.contains("of-openai"), "{path}: {shown}");
            assert!(!shown.contains("anthropic"), "{path}: {shown}");
            assert!(!shown.contains("openai/gpt-5.4\""), "its only account excludes it; {path}: {shown}");
        }
        let anthropic = agent.clone().with("anthropic-version", "2023-06-01");
        assert!(!listed(&anthropic, "/v1/models?limit=1000").await.contains("of-anthropic"));
        assert_eq!(agent.get("/v1/models/of-anthropic").await.status, 404);
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn preferred_connections_are_asked_first_and_grant_nothing() {
    let world = World::start().await;
    let [first, second, third] = [
        world.connect("openai", "first").await,
        world.connect("openai", "second").await,
        world.connect("openai", "third").await,
    ];
    combo(&world, json!({ "name": "team", "models": ["openai/m1"], "strategy": "priority" })).await;
    let calls = || [&first, &second, &third].map(|account| world.calls(account).len());
    let body = json!({
        "name": "k", "allowedConnections": [second.id, third.id], "preferredConnections": [third.id, second.id],
    });
    let agent = world.stranger().with_key(&world.make_key(body).await);
    for model in ["openai/m1", "team"] {
        assert_eq!(ask(&agent, model).await.status, 200);
    }
    assert_eq!(calls(), [0, 0, 2]);
    // The next one in its order steps in; who is not allowed does not.
    world.script(&third).then(Step::error(500, "down"));
    assert_eq!(ask(&agent, "openai/m1").await.status, 200);
    assert_eq!(calls(), [0, 1, 3]);
    world.script(&second).then(Step::error(500, "down"));
    assert!(ask(&agent, "openai/m1").await.status.is_server_error());
    assert_eq!(calls()[0], 0);
    assert_eq!(ask(&world.agent(), "openai/m1").await.status, 200, "other keys go by priority");
    assert_eq!(calls()[0], 1);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_channel_of_auto_leaves_out_what_the_key_says() {
    let world = World::start().await;
    let first = world.connect("openai", "first").await;
    let left_out: Vec<Value> =
        ["gpt-5.6-sol", "gpt-5.5", "gpt-5.4"].map(|model| json!({ "connectionId": first.id, "model": model })).to_vec();
    let body = json!({ "name": "k", "excludedAutoCandidates": { "auto": left_out } });
    world.make_key(body).await;
    let keys = world.managed(Method::GET, "/api/keys", None).await;
    let id = keys["keys"][1]["id"].as_str().expect("an id");
    let pool = async |name: &str| {
        let path = format!("/api/resilience/explain?model={name}&keyId={id}");
        let explained = world.managed(Method::GET, &path, None).await;
        let targets = explained["targets"].as_array().expect("targets").clone();
        targets.iter().filter_map(|target| target["model"].as_str()).map(str::to_owned).collect::<Vec<_>>()
    };
    let (base, coding) = (pool("auto").await, pool("auto/coding").await);
    assert!(!base.is_empty() && !base.iter().any(|model| model == "gpt-5.5"), "{base:?}");
    assert!(coding.iter().any(|model| model == "gpt-5.5"), "another channel is another pool: {coding:?}");
    world.check_invariants().await;
}
