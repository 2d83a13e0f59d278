//! Room to think beside the answer (gateway specification, 3.2: `reasoningTokenBufferEnabled`).

use acceptance::{Connection, World};
use http::Method;
use serde_json::{Value, json};

/// A gateway with an account of each maker, and a combo of this model.
async fn team(model: &str, config: Value) -> (World, [Connection; 3]) {
    let world = World::start().await;
    let accounts = world.connect_all().await;
    let body = json!({ "name": "team", "models": [model], "config": config });
    world.managed(Method::POST, "/api/combos", Some(body)).await;
    (world, accounts)
}

/// The limit that arrives, whatever its name, when a Chat client asks `name` with this one.
async fn arrives(world: &World, accounts: &[Connection; 3], name: &str, limit: Value) -> Value {
    let mut body = json!({ "model": name, "messages": [{ "role": "user", "content": "Say hello." }] });
    if !limit.is_null() {
        body["max_completion_tokens"] = limit;
    }
    let before: usize = accounts.iter().map(|account| world.calls(account).len()).sum();
    let reply = world.agent().post("/v1/chat/completions", body.to_string()).await;
    assert_eq!(reply.status, 200, "{name}: {}", reply.text());
    let calls: Vec<_> = accounts.iter().flat_map(|account| world.calls(account)).collect();
    assert_eq!(calls.len(), before + 1, "{name}");
    let sent = calls.into_iter().max_by_key(|call| call.number).expect("a call").json();
    let limits = [&sent["max_completion_tokens"], &sent["max_tokens"], &sent["generationConfig"]["maxOutputTokens"]];
    limits.into_iter().find(|limit| !limit.is_null()).cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_model_that_thinks_gets_more_than_was_asked_for_and_no_more_than_it_can() {
    let (world, accounts) = team("openai/gpt-5-mini", json!({})).await;
    for (asked, sent) in [
        (json!(1_000), json!(2_024)),
        (json!(8_000), json!(12_000)),
        (json!(127_500), json!(128_000)),
        (json!(128_000), json!(128_000)),
        (json!(1), json!(1)),
        (Value::Null, Value::Null),
    ] {
        assert_eq!(arrives(&world, &accounts, "team", asked.clone()).await, sent, "{asked}");
    }
    assert_eq!(arrives(&world, &accounts, "openai/gpt-5-mini", json!(1_000)).await, 1_000, "who names it knows it");
    world.check_invariants().await;
}

#[tokio::test]
async fn room_is_made_in_other_dialects_too_and_only_where_it_is_needed_and_wanted() {
    for (model, config, sent) in [
        ("gemini/gemini-2.5-flash", json!({}), 2_024),
        ("openai/gpt-5-mini", json!({ "reasoningTokenBufferEnabled": false }), 1_000),
        ("openai/gpt-4o", json!({}), 1_000),
        ("openai/m1", json!({}), 1_000),
        ("anthropic/claude-sonnet-5-5", json!({}), 1_000),
    ] {
        let (world, accounts) = team(model, config).await;
        assert_eq!(arrives(&world, &accounts, "team", json!(1_000)).await, sent, "{model}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_switch_that_nothing_acts_on_cannot_be_set() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    for (config, field) in [
        (json!({ "shadowRouting": { "enabled": true } }), "shadowRouting.enabled"),
        (json!({ "evalRouting": true }), "evalRouting"),
    ] {
        let body = json!({ "name": "team", "models": ["openai/m1"], "config": config });
        let defaults = json!({ "comboDefaults": config });
        for reply in [
            world.manage(Method::POST, "/api/combos", Some(body)).await,
            world.manage(Method::PATCH, "/api/settings", Some(defaults)).await,
        ] {
            assert_eq!(reply.status, 400, "{field}: {}", reply.text());
            assert!(reply.text().contains(field) && reply.text().contains("yet: leave it off"), "{}", reply.text());
        }
    }
    let kept = json!({ "shadowRouting": { "maxTargets": 3 }, "fallbackCompressionMode": "lite" });
    let body = json!({ "name": "team", "models": ["openai/m1"], "config": kept });
    let made = world.managed(Method::POST, "/api/combos", Some(body)).await;
    assert_eq!(made["combo"]["config"]["shadowRouting"]["maxTargets"], 3, "{made}");
    let fields = world.managed(Method::GET, "/api/settings/fields", None).await;
    let help = |path: &str| {
        let all = fields["fields"].as_array().or(fields.as_array()).expect("fields");
        let field = all.iter().find(|field| field["path"].as_str().is_some_and(|it| it.ends_with(path)));
        field.unwrap_or_else(|| panic!("no field {path}"))["help"].as_str().expect("a help").to_owned()
    };
    for path in [
        "comboDefaults.shadowRouting.sampleRate",
        "comboDefaults.fallbackCompressionMode",
        "comboDefaults.fallbackCompressionThreshold",
        "streamRecovery.enabled",
        "streamRecovery.continueMidStream",
        "tokenRefreshBreaker.failureThreshold",
    ] {
        assert!(help(path).contains("ithout effect"), "{path}: {}", help(path));
    }
    world.check_invariants().await;
}
