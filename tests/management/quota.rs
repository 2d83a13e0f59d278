//! What is left of accounts: what replies announce, what vendors say, and how it became less (gateway specification, 5.1,
//! 5.2 and 6.1).

use acceptance::{Connection, World, messages_body};
use domain::Millis;
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

const CLAUDE: &str = "/api/oauth/usage";

async fn quota_of(world: &World, connection: &Connection) -> Value {
    let list = world.managed(Method::GET, "/api/usage/quota", None).await;
    one(&list, connection)
}

fn one(list: &Value, connection: &Connection) -> Value {
    let rows = list["connections"].as_array().expect("connections");
    rows.iter().find(|row| row["connectionId"] == connection.id.as_str()).expect("its row").clone()
}

async fn refresh(world: &World, connections: &[&Connection]) -> Value {
    let ids: Vec<&str> = connections.iter().map(|connection| connection.id.as_str()).collect();
    world.managed(Method::POST, "/api/usage/quota/refresh", Some(json!({ "connectionIds": ids }))).await
}

fn report(percent: u32) -> Step {
    let window = json!({ "utilization": percent, "resets_at": "2026-09-22T00:00:00Z" });
    Step::status(200, json!({ "five_hour": window, "seven_day": null }).to_string())
}

fn asked(world: &World, connection: &Connection, path: &str) -> usize {
    world.calls(connection).iter().filter(|call| call.path == path).count()
}

#[tokio::test]
async fn what_nobody_said_is_unknown_and_looking_asks_nobody() {
    let world = World::start().await;
    let c1 = world.connect("claude", "c1").await;
    let c2 = world.connect("groq", "c2").await;
    for (connection, can_refresh) in [(&c1, true), (&c2, false)] {
        let shown = quota_of(&world, connection).await;
        assert_eq!((&shown["source"], &shown["fetchedAt"]), (&Value::Null, &Value::Null), "{shown}");
        assert_eq!((&shown["windows"], &shown["limitReached"]), (&json!({}), &json!(false)), "{shown}");
        assert_eq!(shown["canRefresh"], can_refresh, "{shown}");
        assert!(shown["message"].is_string(), "{shown}");
        assert_eq!(world.calls(connection).len(), 0);
    }
    let only = world.managed(Method::GET, "/api/usage/quota?provider=groq", None).await;
    assert_eq!(only["connections"].as_array().map(Vec::len), Some(1));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_vendor_is_asked_at_most_once_a_minute_and_its_words_are_kept_over_a_restart() {
    let mut world = World::start().await;
    let c1 = world.connect("claude", "c1").await;
    world.script_model(&c1, CLAUDE).then(report(40)).then(report(50));
    for (pause, percent, calls) in [(0, 0.4, 1), (59, 0.4, 1), (1, 0.5, 2)] {
        world.advance(Millis::seconds(pause));
        let shown = one(&refresh(&world, &[&c1]).await, &c1);
        assert_eq!(shown["windows"]["session"]["percentUsed"], percent, "{shown}");
        assert_eq!((&shown["source"], &shown["message"]), (&json!("endpoint"), &Value::Null), "{shown}");
        assert_eq!(shown["windows"]["session"]["resetAt"], "2026-09-22T00:00:00.000Z", "{shown}");
        assert_eq!(asked(&world, &c1, CLAUDE), calls);
    }
    let call = &world.calls(&c1)[0];
    assert_eq!(call.headers["authorization"], format!("Bearer {}", c1.credential));
    assert_eq!(call.headers["anthropic-beta"], "oauth-2025-04-20");
    world.restart().await;
    assert_eq!(quota_of(&world, &c1).await["windows"]["session"]["percentUsed"], 0.5);
    world.change(&c1, json!({ "apiKey": "another-account-1" })).await;
    assert_eq!(quota_of(&world, &c1).await["windows"], json!({}), "another credential may be another account");
    world.restart().await;
    assert_eq!(quota_of(&world, &c1).await["windows"], json!({}));
}

#[tokio::test]
async fn a_refusal_is_told_and_takes_nothing_away() {
    let world = World::start().await;
    let c1 = world.connect("claude", "c1").await;
    let limited = Step::error(429, "too often");
    world.script_model(&c1, CLAUDE).then(report(40)).then(Step::error(500, "oops")).then(limited).then(report(60));
    refresh(&world, &[&c1]).await;
    for (pause, calls, percent, fails) in [(1, 2, 0.4, true), (1, 3, 0.4, true), (4, 3, 0.4, true), (1, 4, 0.6, false)]
    {
        world.advance(Millis::minutes(pause));
        let shown = one(&refresh(&world, &[&c1]).await, &c1);
        assert_eq!(shown["windows"]["session"]["percentUsed"], percent, "{shown}");
        assert_eq!(shown["message"].is_string(), fails, "{shown}");
        assert_eq!(asked(&world, &c1, CLAUDE), calls, "{shown}");
    }
    assert_eq!(world.cooling(&c1), None, "asking what is left hurts nobody");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_vendor_that_does_not_answer_is_given_ten_seconds() {
    let world = World::start().await;
    let c1 = world.connect("claude", "c1").await;
    world.script_model(&c1, CLAUDE).then(Step::Hang);
    let named = [&c1];
    let asking = refresh(&world, &named);
    let passing = async {
        world.wait_for_calls(&c1, 1).await;
        world.advance(Millis::seconds(10));
        std::future::pending::<()>().await;
    };
    let list = tokio::select! { list = asking => list, () = passing => Value::Null };
    assert!(one(&list, &c1)["message"].as_str().is_some_and(|message| message.contains("10 s")), "{list}");
}

#[tokio::test]
async fn every_known_vendor_is_read_and_those_who_are_out_are_left_alone() {
    let world = World::start().await;
    let cases = [
        (
            "codex",
            "/backend-api/wham/usage",
            json!({ "plan_type": "plus", "rate_limit": { "allowed": true,
            "primary_window": { "used_percent": 25, "limit_window_seconds": 18_000, "reset_after_seconds": 60 } } }),
        ),
        (
            "openrouter",
            "/api/v1/key",
            json!({ "data": { "limit": 10, "limit_remaining": 5, "limit_reset": "weekly" } }),
        ),
        (
            "deepseek",
            "/user/balance",
            json!({ "is_available": true,
            "balance_infos": [{ "currency": "USD", "total_balance": "3.50" }] }),
        ),
        ("moonshot", "/v1/users/me/balance", json!({ "status": true, "data": { "available_balance": 7.5 } })),
        (
            "glm",
            "/api/monitor/usage/quota/limit",
            json!({ "success": true, "data": { "level": "pro",
            "limits": [{ "type": "TOKENS_LIMIT", "unit": 3, "number": 5, "percentage": 10 }] } }),
        ),
    ];
    let mut accounts = Vec::new();
    for (provider, path, body) in &cases {
        let account = world.connect(provider, "a").await;
        world.script_model(&account, path).then(Step::status(200, body.to_string()));
        accounts.push(account);
    }
    let off = world.connect_with("deepseek", "off", json!({ "isActive": false })).await;
    let list = world.managed(Method::POST, "/api/usage/quota/refresh", Some(json!({}))).await;
    let shown: Vec<Value> = accounts.iter().map(|account| one(&list, account)).collect();
    assert_eq!((&shown[0]["plan"], &shown[0]["windows"]["session"]["percentUsed"]), (&json!("plus"), &json!(0.25)));
    assert_eq!(shown[1]["windows"]["weekly"]["percentUsed"], 0.5, "{list}");
    assert_eq!(shown[2]["balances"], json!([{ "currency": "USD", "remaining": 3.5, "total": null }]), "{list}");
    assert_eq!(shown[3]["balances"][0]["remaining"], 7.5, "{list}");
    assert_eq!((&shown[4]["plan"], &shown[4]["windows"]["session"]["percentUsed"]), (&json!("pro"), &json!(0.1)));
    assert_eq!(world.calls(&accounts[4])[0].headers["authorization"], accounts[4].credential.as_str());
    assert_eq!(world.calls(&off).len(), 0);
    let unknown = json!({ "connectionIds": ["nobody"] });
    assert_eq!(world.manage(Method::POST, "/api/usage/quota/refresh", Some(unknown)).await.status, 400);
}

#[tokio::test]
async fn replies_announce_what_is_left_and_the_history_keeps_a_point_for_every_five_minutes() {
    let world = World::start().await;
    let c1 = world.connect("claude", "c1").await;
    let said =
        |used: &str| Step::error(400, "not like this").with_header("anthropic-ratelimit-unified-5h-utilization", used);
    let script = world.script(&c1);
    for used in ["0.10", "0.20", "0.30", "0.40"] {
        script.clone().then(said(used));
    }
    for pause in [0, 1, 5, 5] {
        world.advance(Millis::minutes(pause));
        world.agent().post("/v1/messages", messages_body("claude/m1", false)).await;
        // What is written behind is written before the clock moves on.
        world.requests().await;
    }
    let shown = quota_of(&world, &c1).await;
    assert_eq!((&shown["source"], &shown["windows"]["session"]["percentUsed"]), (&json!("headers"), &json!(0.4)));
    let path = format!("/api/usage/quota/history?connectionId={}", c1.id);
    let history = world.managed(Method::GET, &path, None).await;
    let points = history["points"].as_array().expect("points");
    let used: Vec<&Value> = points.iter().map(|point| &point["percentUsed"]).collect();
    assert_eq!(used, [&json!(0.2), &json!(0.3), &json!(0.4)], "{history}");
    assert!(points.iter().all(|point| point["window"] == "session"), "{history}");
    let later = points[2]["at"].as_str().expect("an instant");
    let rest = world.managed(Method::GET, &format!("{path}&since={later}"), None).await;
    assert_eq!(rest["points"].as_array().map(Vec::len), Some(1), "{rest}");
    let nobody = world.manage(Method::GET, "/api/usage/quota/history?connectionId=nobody", None).await;
    assert_eq!(nobody.status, 404);
    world.check_invariants().await;
}

#[tokio::test]
async fn what_an_account_may_be_given_is_stored_and_shown_and_nonsense_is_refused() {
    // QS-17, RQ-14
    let mut world = World::start().await;
    let overrides = json!({ "rpm": 10, "minTime": 0, "maxWaitMs": 9_000, "modelConcurrency": { "glm-5": 1 } });
    let limits = json!({
        "max_concurrent": 3, "rateLimitProtection": true, "rateLimitOverrides": overrides,
        "quotaWindowThresholds": { "session": 5 },
    });
    let c1 = world.connect_with("openai", "c1", limits).await;
    world.change(&c1, json!({ "rateLimitOverrides": { "rpm": null, "tpd": 1_000 } })).await;
    world.restart().await;
    let shown = world.connection(&c1).await;
    assert_eq!((&shown["maxConcurrent"], &shown["rateLimitProtection"]), (&json!(3), &json!(true)), "{shown}");
    let expected = json!({
        "rpm": null, "tpm": null, "tpd": 1_000, "minTime": 0, "maxConcurrent": null, "maxWaitMs": 9_000,
        "executionMaxWaitMs": null, "modelConcurrency": { "glm-5": 1 },
    });
    assert_eq!(shown["rateLimitOverrides"], expected, "{shown}");
    assert_eq!(shown["quotaWindowThresholds"], json!({ "session": 5 }), "{shown}");
    for (change, field) in [
        (json!({ "maxConcurrent": 0 }), "maxConcurrent"),
        (json!({ "maxConcurrent": -1 }), "maxConcurrent"),
        (json!({ "maxConcurrent": 1.5 }), "maxConcurrent"),
        (json!({ "maxConcurrent": "2" }), "maxConcurrent"),
        (json!({ "rateLimitOverrides": { "maxConcurrent": 0 } }), "rateLimitOverrides.maxConcurrent"),
        (json!({ "rateLimitOverrides": { "rpm": 1.5 } }), "rateLimitOverrides.rpm"),
        (json!({ "rateLimitOverrides": { "maxWaitMs": 86_400_001 } }), "rateLimitOverrides.maxWaitMs"),
        (
            json!({ "rateLimitOverrides": { "modelConcurrency": { "glm-5": 0 } } }),
            "rateLimitOverrides.modelConcurrency.glm-5",
        ),
        (json!({ "rateLimitOverrides": { "rpn": 1 } }), "rateLimitOverrides.rpn"),
        (json!({ "quotaWindowThresholds": { "session": 101 } }), "quotaWindowThresholds.session"),
        (json!({ "rateLimitProtection": "yes" }), "rateLimitProtection"),
    ] {
        let reply = world.manage(Method::PATCH, &format!("/api/providers/{}", c1.id), Some(change.clone())).await;
        assert_eq!(reply.status, 400, "{change}: {}", reply.text());
        assert_eq!(reply.json()["error"]["details"][0]["field"], field, "{change}: {}", reply.text());
    }
    assert_eq!(world.connection(&c1).await["rateLimitOverrides"], expected, "nothing changed");
    world.change(&c1, json!({ "rateLimitOverrides": null, "quotaWindowThresholds": null })).await;
    assert_eq!(world.connection(&c1).await["rateLimitOverrides"]["tpd"], Value::Null);
    world.check_invariants().await;
}

/// Waits until an account's vendor has been heard so often, and the answer is taken up.
async fn wait_until_heard(world: &World, connection: &Connection, times: u64) -> Value {
    world.wait_for_endings(connection, times).await;
    let mut shown = quota_of(world, connection).await;
    for _ in 0..20 {
        shown = quota_of(world, connection).await;
    }
    shown
}

#[tokio::test]
async fn vendors_of_signed_in_accounts_are_asked_though_nobody_looks_and_of_no_others() {
    let world = World::start().await;
    let c1 = world.connect("claude", "c1").await;
    let off = world.connect_with("claude", "off", json!({ "isActive": false })).await;
    let banned = world.connect("claude", "banned").await;
    let by_key = world.connect("deepseek", "key").await;
    world.script_model(&c1, CLAUDE).then(report(40)).then(Step::error(500, "oops")).then(report(60));
    world.change(&c1, json!({ "isActive": false })).await;
    world.script_model(&banned, "m1").then(Step::error(403, "account has been deactivated"));
    world.agent().post("/v1/messages", messages_body("claude/m1", false)).await;
    world.change(&c1, json!({ "isActive": true })).await;
    world.set(json!({ "quota": { "refreshIntervalMs": 600_000 } })).await;
    assert_eq!(asked(&world, &c1, CLAUDE), 0, "not all at once");
    world.advance(Millis::minutes(1));
    assert_eq!(wait_until_heard(&world, &c1, 1).await["source"], "endpoint");
    // An interval, and a little apart; what fails is asked for later, and the account is as it was.
    for (pause, calls) in [(599, 1), (61, 2), (1_199, 2), (121, 3)] {
        world.advance(Millis::seconds(pause));
        wait_until_heard(&world, &c1, calls).await;
        assert_eq!(asked(&world, &c1, CLAUDE) as u64, calls, "{pause}");
    }
    assert_eq!((world.cooling(&c1), world.breaker_state("claude")), (None, ("CLOSED", 0)));
    for other in [&off, &banned, &by_key] {
        assert_eq!((asked(&world, other, CLAUDE), asked(&world, other, "/user/balance")), (0, 0), "{}", other.name);
    }
    world.set(json!({ "quota": { "refreshIntervalMs": 0 } })).await;
    world.advance(Millis::hours(1));
    assert_eq!(quota_of(&world, &c1).await["windows"]["session"]["percentUsed"], 0.6);
    assert_eq!(asked(&world, &c1, CLAUDE), 3, "switched off");
    world.check_invariants().await;
}
