//! What routing would do: explanations of combos, previews, trials, simulations (gateway specification, 6.1).

use domain::request_log::{AttemptRecord, RequestOutcome, RequestRecord, Trace};
use domain::{ConnectionId, Dialect, Millis, ProviderId, RequestId, Timestamp, Usage};
use serde_json::{Value, json};

use super::World;

const SIMULATE: &str = "/api/routing/simulate";
const PRICED: [&str; 2] = ["openai/gpt-5", "openai/gpt-5-nano"];

async fn combo(world: &World, strategy: &str, models: Value) -> String {
    let body = json!({ "name": "team", "strategy": strategy, "models": models });
    world.ok("POST", "/api/combos", Some(body)).await["combo"]["id"].as_str().expect("an id").to_owned()
}

fn weighed(weights: [u32; 2]) -> Value {
    json!([
        { "model": "openai/m1", "weight": weights[0] },
        { "model": "openai/m2", "weight": weights[1] },
    ])
}

/// An account of another provider that is switched off.
async fn switched_off(world: &World) {
    let draft = json!({ "provider": "deepseek", "name": "off", "apiKey": "sk-secret-of-off", "isActive": false });
    world.ok("POST", "/api/providers", Some(draft)).await;
}

/// A request to the combo `team` that asked the model of an account once.
fn asked(n: u64, at: Timestamp, connection: &str, model: &str, status: u16) -> RequestRecord {
    let answered = status == 200;
    RequestRecord {
        id: RequestId::from(format!("request-{n:05}")),
        at,
        method: "POST".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        source: Dialect::Chat,
        target: Some(Dialect::Chat),
        status,
        outcome: if answered { RequestOutcome::Success } else { RequestOutcome::Failure },
        stream: false,
        requested_model: "team".to_owned(),
        provider: Some(ProviderId::from("openai")),
        model: Some(model.to_owned()),
        connection: Some(ConnectionId::from(connection)),
        connection_name: Some(connection.to_owned()),
        key: None,
        key_name: None,
        agent: None,
        duration: Millis::seconds(2),
        time_to_first_token: None,
        usage: Usage { input_fresh: Some(1_000), output: Some(100), ..Usage::default() },
        cost: answered.then_some(0.5),
        error_code: None,
        error_summary: None,
        session_tag: None,
        combo_name: Some("team".to_owned()),
        strategy: Some("priority".to_owned()),
        trace: Trace {
            rule: Some(1),
            attempts: vec![AttemptRecord {
                n: 1,
                provider: ProviderId::from("openai"),
                model: model.to_owned(),
                connection: ConnectionId::from(connection),
                connection_name: connection.to_owned(),
                started_at: at,
                queued: Millis::ZERO,
                execution_key: Some("s1".to_owned()),
                connect: None,
                first_token: None,
                duration: Millis::seconds(2),
                status: Some(status),
                kind: if answered { "success" } else { "server_error" }.to_owned(),
                decision: String::new(),
                message: (!answered).then(|| "internal error".to_owned()),
                usage: None,
                cost: None,
            }],
            exclusions: Vec::new(),
            warnings: Vec::new(),
        },
    }
}

/// Two hours of a request a minute, with an outage of the first provider from the thirtieth to the fiftieth. A second one was
/// asked now and then by somebody else, and answered.
async fn incident() -> (World, String) {
    let world = World::with(&["a"], Vec::new()).await;
    let id = combo(&world, "priority", json!(["openai/m1"])).await;
    let draft = json!({ "provider": "deepseek", "name": "b", "apiKey": "sk-secret-of-b" });
    let made = world.ok("POST", "/api/providers", Some(draft)).await;
    let other = made["connection"]["id"].as_str().expect("an id");
    let begun = world.control.now();
    for minute in 0..120 {
        let at = begun + Millis::minutes(minute);
        let status = if (30..50).contains(&minute) { 500 } else { 200 };
        world.control.store().record_request(asked(minute, at, "a", "m1", status));
        if minute % 10 == 0 {
            let mut record = asked(1_000 + minute, at, other, "d", 200);
            record.combo_name = None;
            record.requested_model = "deepseek/d".to_owned();
            record.trace.attempts[0].provider = ProviderId::from("deepseek");
            world.control.store().record_request(record);
        }
    }
    world.clock.advance(Millis::hours(2));
    (world, id)
}

async fn replayed(world: &World, more: Value) -> Value {
    let mut body = json!({ "mode": "replay", "hours": 3, "combo": "team", "seed": 7 });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    world.ok("POST", SIMULATE, Some(body)).await
}

#[tokio::test]
async fn a_combo_is_explained_target_by_target_and_the_spared_come_last() {
    let world = World::with(&["a"], Vec::new()).await;
    switched_off(&world).await;
    combo(&world, "weighted", json!([{ "model": "deepseek/d", "weight": 90 }, { "model": "openai/m1", "weight": 10 }]))
        .await;
    let told = world.ok("GET", "/api/resilience/explain?model=combo/team", None).await;
    assert_eq!(told["route"], json!({ "kind": "combo", "rule": 2, "name": "combo/team", "strategy": "weighted" }));
    assert_eq!(told["answer"], Value::Null);
    let (first, second) = (&told["targets"][0], &told["targets"][1]);
    assert_eq!((&first["position"], &first["model"], &first["available"]), (&json!(1), &json!("m1"), &json!(true)));
    assert_eq!((&first["connectionId"], &first["score"]), (&json!("a"), &json!(10.0)));
    assert_eq!((&second["position"], &second["model"], &second["available"]), (&json!(2), &json!("d"), &json!(false)));
    assert_eq!(second["exclusion"]["mechanism"], "switched_off");
    assert_eq!(second["score"], Value::Null);
}

#[tokio::test]
async fn a_combo_nobody_of_which_could_be_asked_is_explained_with_its_answer() {
    let world = World::new().await;
    let id = combo(&world, "priority", json!(["deepseek/d"])).await;
    let told = world.ok("GET", "/api/resilience/explain?model=team", None).await;
    assert_eq!(told["answer"], json!({ "status": 404, "code": "no_executable_targets", "retryAfterSeconds": null }));
    let shown = world.ok("POST", "/api/combos/preview", Some(json!({ "combo": id }))).await;
    assert_eq!((&shown["targets"], &shown["skipped"][0]["reason"]), (&json!([]), &json!("no_connection")));
    switched_off(&world).await;
    let told = world.ok("GET", "/api/resilience/explain?model=team", None).await;
    assert_eq!(told["answer"], json!({ "status": 503, "code": "ALL_ACCOUNTS_INACTIVE", "retryAfterSeconds": null }));
}

#[tokio::test]
async fn an_automatic_name_is_explained_with_the_parts_of_its_scores() {
    let world = World::with(&["a"], Vec::new()).await;
    let told = world.ok("GET", "/api/resilience/explain?model=auto/fast&tools=2&inputTokens=100", None).await;
    assert_eq!((&told["route"]["kind"], &told["route"]["rule"]), (&json!("auto"), &json!(4)));
    let target = &told["targets"][0];
    let factors = target["factors"].as_object().expect("factors");
    let sum: f64 = factors.values().filter_map(Value::as_f64).sum();
    assert_eq!(factors.len(), 16);
    assert!((target["score"].as_f64().expect("a score") - sum).abs() < 1e-6, "{target}");
}

#[tokio::test]
async fn a_draft_is_previewed_without_being_saved_and_what_is_wrong_with_it_is_named() {
    let world = World::with(&["a"], Vec::new()).await;
    let path = "/api/combos/preview";
    let draft = json!({ "strategy": "cost-optimized", "models": PRICED });
    let shown = world.ok("POST", path, Some(json!({ "combo": draft, "request": { "tools": 1 } }))).await;
    assert_eq!((&shown["strategy"], &shown["answer"]), (&json!("cost-optimized"), &Value::Null));
    let first = &shown["targets"][0];
    for (member, expected) in [
        ("position", json!(1)),
        ("provider", json!("openai")),
        ("model", json!("gpt-5-nano")),
        ("connectionId", json!("a")),
        ("connectionName", json!("a")),
        ("placed", json!("strategy")),
        ("available", json!(true)),
        ("exclusion", Value::Null),
    ] {
        assert_eq!(first[member], expected, "{member}");
    }
    assert!(first["score"].as_f64() < shown["targets"][1]["score"].as_f64(), "{shown}");
    assert_eq!(first["factors"][0]["factor"], "inputPrice");
    assert_eq!(world.ok("GET", "/api/combos", None).await["combos"], json!([]));
    for (combo, field) in [
        (json!({ "models": [1] }), "models[0]"),
        (json!({ "strategy": "best", "models": ["openai/m1"] }), "strategy"),
        (json!({ "models": ["nobody/m1"] }), "models[0].model"),
        (json!({ "models": ["openai/m1"], "config": { "maxRetries": 99 } }), "config.maxRetries"),
        (json!({ "models": ["openai/m1"], "colour": 1 }), "colour"),
        (json!({ "id": 3 }), "id"),
        (json!(3), "combo"),
    ] {
        let reply = world.call("POST", path, Some(json!({ "combo": combo }))).await;
        assert_eq!((reply.status.as_u16(), reply.refusal().2), (400, field), "{}", reply.text);
    }
    assert_eq!(world.call("POST", path, Some(json!({ "combo": { "id": "none" } }))).await.status, 404);
}

#[tokio::test]
async fn a_stored_combo_is_previewed_as_it_is_or_with_other_members() {
    let world = World::with(&["a"], Vec::new()).await;
    let id = combo(&world, "priority", json!(["openai/m1", { "model": "openai/m2", "enabled": false }])).await;
    let path = "/api/combos/preview";
    let plain = world.ok("POST", path, Some(json!({ "combo": { "id": id } }))).await;
    assert_eq!(plain, world.ok("POST", path, Some(json!({ "combo": id }))).await);
    assert_eq!((&plain["targets"][0]["model"], &plain["skipped"][0]["reason"]), (&json!("m1"), &json!("disabled")));
    assert_eq!(plain["skipped"][0]["what"], "openai/m2");
    let stored = world.ok("GET", &format!("/api/combos/{id}"), None).await["combo"].clone();
    let mut edited = stored.clone();
    edited["models"] = json!(["openai/m3"]);
    let other = world.ok("POST", path, Some(json!({ "combo": edited }))).await;
    assert_eq!(other["targets"][0]["model"], "m3");
    assert_eq!(world.ok("GET", &format!("/api/combos/{id}"), None).await["combo"], stored);
}

#[tokio::test]
async fn choices_follow_the_weights_and_the_seed_and_take_nobody_s_turn() {
    let world = World::with(&["a"], Vec::new()).await;
    combo(&world, "weighted", weighed([75, 25])).await;
    let body = json!({ "mode": "selections", "model": "team", "runs": 10_000, "seed": 11 });
    let made = world.ok("POST", SIMULATE, Some(body.clone())).await;
    assert_eq!(made, world.ok("POST", SIMULATE, Some(body)).await, "equal seed, equal answer");
    assert_eq!((&made["runs"], &made["seed"], &made["exhausted"]), (&json!(10_000), &json!(11), &json!(0)));
    let bars = made["histogram"].as_array().expect("a histogram");
    let first = |n: usize| bars[n]["first"].as_f64().expect("a count") / 10_000.0;
    assert!((first(0) - 0.75).abs() < 0.02 && (first(1) - 0.25).abs() < 0.02, "{made}");
    assert_eq!((&bars[0]["model"], &bars[0]["connectionId"]), (&json!("m1"), &json!("a")));
    let other = json!({ "mode": "selections", "model": "team", "runs": 10_000, "seed": 12 });
    assert_ne!(made["histogram"], world.ok("POST", SIMULATE, Some(other)).await["histogram"]);
    let nobody = json!({ "mode": "selections", "model": "deepseek/d", "runs": 3 });
    let made = world.ok("POST", SIMULATE, Some(nobody)).await;
    assert_eq!((&made["exhausted"], &made["histogram"]), (&json!(3), &json!([])));
}

#[tokio::test]
async fn a_replay_shows_how_an_incident_would_have_gone_with_a_second_target() {
    let (world, _) = incident().await;
    let change = json!({ "change": { "combo": { "models": ["openai/m1", "deepseek/d"] } } });
    let told = replayed(&world, change.clone()).await;
    assert_eq!(told["requests"], 120);
    let figure = |run: &str, name: &str| told[run][name].as_f64().expect("a number");
    assert!(figure("before", "failuresSeenByClient") > 10.0, "{told}");
    assert!(figure("after", "failuresSeenByClient") < figure("before", "failuresSeenByClient") / 2.0, "{told}");
    assert!(figure("after", "switches") > 0.0 && figure("before", "switches") == 0.0, "{told}");
    assert!(figure("before", "cost") > 0.0, "{told}");
    assert_eq!(told, replayed(&world, change).await, "equal seed, equal answer");
}

#[tokio::test]
async fn a_replay_without_a_change_is_the_same_twice_and_with_settings_it_is_not() {
    let (world, id) = incident().await;
    let before = world.ok("GET", "/api/resilience", None).await;
    let told = replayed(&world, json!({ "combo": id })).await;
    assert_eq!(told["before"], told["after"]);
    // Nobody is cooled, so every request of the outage asks.
    let never = json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": 0 } },
        "providerBreaker": { "apikey": { "failureThreshold": 1000 } }, "comboCooldownWait": { "enabled": false } });
    let other = replayed(&world, json!({ "change": { "settings": never } })).await;
    assert_eq!(other["before"], told["before"]);
    assert_eq!(other["after"]["waits"], 0, "{other}");
    assert_ne!(other["before"], other["after"], "{other}");
    assert_eq!(world.ok("GET", "/api/resilience", None).await, before, "nothing is changed");
    assert_eq!(world.transport.asked(), [], "nothing is sent");
}

#[tokio::test]
async fn a_replay_of_everything_takes_names_of_single_models_along() {
    let (world, _) = incident().await;
    let body = json!({ "mode": "replay", "hours": 3, "seed": 1 });
    let told = world.ok("POST", SIMULATE, Some(body)).await;
    assert_eq!(told["requests"], 132);
    let nothing = json!({ "mode": "replay", "hours": 1, "combo": "team", "seed": 1 });
    world.clock.advance(Millis::hours(24));
    let told = world.ok("POST", SIMULATE, Some(nothing)).await;
    assert_eq!((&told["requests"], &told["before"]["cost"]), (&json!(0), &json!(0.0)));
}

#[tokio::test]
async fn a_simulation_refuses_what_it_does_not_understand_by_its_name() {
    let (world, _) = incident().await;
    for (body, field) in [
        (json!({ "mode": "selections", "model": "team", "runs": 0 }), "runs"),
        (json!({ "mode": "selections", "model": "team", "runs": 10_001 }), "runs"),
        (json!({ "mode": "replay", "hours": 0 }), "hours"),
        (json!({ "mode": "replay", "hours": 169 }), "hours"),
        (json!({ "mode": "replay", "hours": 1, "combo": "nobody" }), "combo"),
        (json!({ "mode": "replay", "hours": 1, "change": { "combo": { "strategy": "random" } } }), "combo"),
        (
            json!({ "mode": "replay", "hours": 1, "combo": "team", "change": { "combo": { "name": "x" } } }),
            "change.combo.name",
        ),
        (
            json!({ "mode": "replay", "hours": 1, "combo": "team", "change": { "combo": { "strategy": "best" } } }),
            "change.combo.strategy",
        ),
        (
            json!({ "mode": "replay", "hours": 1, "change": { "settings": { "comboCooldownWait": { "maxAttempts": 99 } } } }),
            "change.settings.comboCooldownWait.maxAttempts",
        ),
        (
            json!({ "mode": "replay", "hours": 1, "change": { "settings": { "gateway": { "port": -1 } } } }),
            "change.settings.gateway.port",
        ),
        (
            json!({ "mode": "replay", "hours": 1, "change": { "settings": { "nothing": 1 } } }),
            "change.settings.nothing",
        ),
    ] {
        let reply = world.call("POST", SIMULATE, Some(body.clone())).await;
        assert_eq!((reply.status.as_u16(), reply.refusal().2), (400, field), "{body}: {}", reply.text);
    }
    for body in [json!({ "mode": "guess" }), json!({ "mode": "replay", "hours": 1, "weeks": 1 }), json!({})] {
        assert_eq!(world.call("POST", SIMULATE, Some(body)).await.status, 400);
    }
    let unknown = json!({ "mode": "selections", "model": "nobody-knows", "runs": 1 });
    assert_eq!(world.call("POST", SIMULATE, Some(unknown)).await.status, 404);
}

#[tokio::test]
async fn every_target_of_a_combo_is_tried_by_hand_and_nobody_s_health_changes() {
    let world = World::with(&["a"], Vec::new()).await;
    let id = combo(&world, "priority", json!(["openai/m1", "deepseek/d"])).await;
    let health = world.ok("GET", "/api/resilience/cooldowns", None).await;
    world.transport.answer(200, r#"{"object":"list","data":[{"id":"m1","object":"model"}]}"#);
    world.transport.answer(500, r#"{"error":{"message":"it does not work"}}"#);
    let path = format!("/api/combos/{id}/test");
    let tried = world.ok("POST", &path, Some(json!({ "prompt": "Are you there?" }))).await;
    let (first, second) = (&tried["results"][0], &tried["results"][1]);
    assert_eq!((&first["ok"], &first["status"], &first["connectionId"]), (&json!(false), &json!(500), &json!("a")));
    assert_eq!(first["error"]["code"], "server_error");
    assert_eq!((&second["connectionId"], &second["error"]["code"]), (&Value::Null, &json!("no_connection")));
    assert_eq!(world.ok("GET", "/api/resilience/cooldowns", None).await, health);
    assert_eq!(world.call("POST", "/api/combos/none/test", None).await.status, 404);
}

#[tokio::test]
async fn what_combos_did_is_counted_by_combo_and_target() {
    let (world, id) = incident().await;
    let told = world.ok("GET", "/api/combos/metrics", None).await;
    let team = &told["combos"][0];
    assert_eq!((&team["id"], &team["name"]), (&json!(id), &json!("team")));
    assert_eq!((&team["requests"], &team["successes"], &team["failures"]), (&json!(120), &json!(100), &json!(20)));
    assert_eq!((&team["p50Ms"], &team["p95Ms"]), (&json!(2_000), &json!(2_000)));
    let target = &team["targets"][0];
    assert_eq!(
        (&target["executionKey"], &target["model"], &target["failures"]),
        (&json!("s1"), &json!("m1"), &json!(20))
    );
    assert_eq!(team["targets"].as_array().map(Vec::len), Some(1));
    let later = world.ok("GET", "/api/combos/metrics?since=2030-01-01T00:00:00Z", None).await;
    assert_eq!((&later["combos"][0]["requests"], &later["combos"][0]["lastUsedAt"]), (&json!(0), &Value::Null));
}
