//! Accounts that keys share: making pools, changing them, and what is refused (gateway specification, 3.6 and 6.1).

use acceptance::World;
use http::Method;
use serde_json::{Value, json};

const POOLS: &str = "/api/quota/pools";

async fn make(world: &World, body: Value) -> Value {
    world.managed(Method::POST, POOLS, Some(body)).await["pool"].clone()
}

fn place(pool: &Value) -> String {
    format!("{POOLS}/{}", pool["id"].as_str().expect("an id"))
}

async fn key_of(world: &World, name: &str) -> String {
    world.make_key(json!({ "name": name })).await;
    let keys = world.managed(Method::GET, "/api/keys", None).await;
    let key = keys["keys"].as_array().expect("keys").iter().find(|key| key["name"] == name).expect("it").clone();
    key["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_pool_is_made_read_changed_and_removed() {
    let world = World::start().await;
    let (c1, c2) = (world.connect("codex", "c1").await, world.connect("kimi-coding-apikey", "c2").await);
    let key = key_of(&world, "laptop").await;
    let allocation = json!({ "apiKeyId": key, "weight": 2.0, "capValue": 10.0, "policy": "burst" });
    let body = json!({ "name": "Team One", "connections": [c1.id, c2.id], "allocations": [allocation] });
    let made = make(&world, body).await;
    assert_eq!((&made["slug"], &made["connections"]), (&json!("teamone"), &json!([c1.id, c2.id])));
    assert_eq!(made["allocations"], json!([allocation]));
    let usual = json!([
        { "unit": "percent", "window": "5h", "limit": 100.0 },
        { "unit": "percent", "window": "weekly", "limit": 100.0 },
        { "unit": "requests", "window": "hourly", "limit": 1500.0 },
    ]);
    assert_eq!(made["dimensions"], usual, "what its subscriptions are known to limit");
    assert_eq!(world.managed(Method::GET, &place(&made), None).await["pool"], made);

    let change = json!({
        "name": "Home", "slug": "home", "dimensions": [{ "unit": "usd", "window": "monthly", "limit": 20 }],
        "allocations": null, "updatedAt": made["updatedAt"],
    });
    let changed = world.managed(Method::PATCH, &place(&made), Some(change.clone())).await["pool"].clone();
    assert_eq!(
        (&changed["name"], &changed["slug"], &changed["allocations"]),
        (&json!("Home"), &json!("home"), &json!([]))
    );
    assert_eq!(changed["connections"], made["connections"], "what was not named stays");
    let stale = world.manage(Method::PATCH, &place(&made), Some(change)).await;
    assert_eq!(stale.status, 409, "{}", stale.text());

    let list = world.managed(Method::GET, POOLS, None).await;
    assert_eq!(list["pools"], json!([changed]));
    let presets: Vec<&str> =
        list["presets"].as_array().expect("presets").iter().filter_map(|preset| preset["provider"].as_str()).collect();
    assert_eq!(presets, ["codex", "kimi", "glm", "minimax"]);
    world.managed(Method::DELETE, &place(&made), None).await;
    assert_eq!(world.manage(Method::GET, &place(&made), None).await.status, 404);
    assert_eq!(world.manage(Method::DELETE, &place(&made), None).await.status, 404);
    world.check_invariants().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_its_field() {
    let world = World::start().await;
    let c1 = world.connect("openai", "c1").await;
    let key = key_of(&world, "laptop").await;
    let part = |weight: f64| json!({ "apiKeyId": key, "weight": weight, "policy": "hard" });
    let dimension = |unit: &str, window: &str, limit: f64| json!({ "unit": unit, "window": window, "limit": limit });
    for (field, member, value) in [
        ("name", "name", json!("")),
        ("slug", "slug", json!("Team-1")),
        ("connections", "connections", json!([])),
        ("connections", "connections", json!(["nobody"])),
        ("dimensions.0.limit", "dimensions", json!([dimension("usd", "daily", 0.0)])),
        ("dimensions.0.window", "dimensions", json!([dimension("percent", "hourly", 100.0)])),
        ("dimensions.1", "dimensions", json!([dimension("usd", "daily", 1.0), dimension("usd", "daily", 2.0)])),
        ("allocations.0.apiKeyId", "allocations", json!([{ "apiKeyId": "nobody", "weight": 1, "policy": "soft" }])),
        ("allocations.0.weight", "allocations", json!([part(-1.0)])),
        ("allocations.1.apiKeyId", "allocations", json!([part(1.0), part(1.0)])),
        (
            "allocations.0.capValue",
            "allocations",
            json!([{ "apiKeyId": key, "weight": 1, "policy": "soft", "capValue": 0 }]),
        ),
    ] {
        let mut body =
            json!({ "name": "Team", "connections": [c1.id], "dimensions": [dimension("requests", "5h", 10.0)] });
        body[member] = value;
        let reply = world.manage(Method::POST, POOLS, Some(body)).await;
        assert_eq!(reply.status, 400, "{field}: {}", reply.text());
        let details = reply.json()["error"]["details"].clone();
        let fields: Vec<&str> =
            details.as_array().expect("details").iter().filter_map(|it| it["field"].as_str()).collect();
        assert!(fields.contains(&field), "{field}: {details}");
    }
    let reply =
        world.manage(Method::POST, POOLS, Some(json!({ "name": "Team", "connections": [c1.id], "odd": 1 }))).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert_eq!(world.managed(Method::GET, POOLS, None).await["pools"], json!([]));
    world.check_invariants().await;
}

#[tokio::test]
async fn two_pools_cannot_have_one_slug() {
    let world = World::start().await;
    let c1 = world.connect("openai", "c1").await;
    let body = |name: &str| json!({ "name": name, "connections": [c1.id] });
    make(&world, body("Team!")).await;
    let other = make(&world, body("Others")).await;
    let twice = world.manage(Method::POST, POOLS, Some(body("team"))).await;
    assert_eq!(twice.status, 409, "{}", twice.text());
    let message = twice.json()["error"]["message"].as_str().expect("a message").to_owned();
    assert!(message.contains("Team!") && message.contains("slug team"), "{message}");
    let renamed = world.manage(Method::PATCH, &place(&other), Some(json!({ "slug": "team" }))).await;
    assert_eq!(renamed.status, 409, "{}", renamed.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn pools_outlive_a_restart_and_follow_their_keys() {
    let mut world = World::start().await;
    let c1 = world.connect("openai", "c1").await;
    let (a, b) = (key_of(&world, "a").await, key_of(&world, "b").await);
    let parts = json!([
        { "apiKeyId": a, "weight": 1, "policy": "hard" }, { "apiKeyId": b, "weight": 3, "policy": "soft" },
    ]);
    let dimensions = json!([{ "unit": "requests", "window": "daily", "limit": 8 }]);
    let made =
        make(&world, json!({ "name": "Team", "connections": [c1.id], "dimensions": dimensions, "allocations": parts }))
            .await;
    world.restart().await;
    assert_eq!(world.managed(Method::GET, &place(&made), None).await["pool"], made);
    let state = world.managed(Method::GET, &format!("{}/state", place(&made)), None).await;
    let shares: Vec<f64> = (0..2).filter_map(|n| state["keys"][n]["uses"][0]["share"].as_f64()).collect();
    assert_eq!(shares, [2.0, 6.0], "{state}");
    assert_eq!(state["accounts"][0]["connectionId"], c1.id.as_str(), "{state}");
    assert_eq!((&state["accounts"][0]["saturated"], &state["accounts"][0]["inFlight"]), (&json!(false), &json!(0)));
    world.managed(Method::DELETE, &format!("/api/keys/{b}"), None).await;
    let left = world.managed(Method::GET, &place(&made), None).await["pool"]["allocations"].clone();
    assert_eq!(left.as_array().map(Vec::len), Some(1), "{left}");
    world.check_invariants().await;
}
