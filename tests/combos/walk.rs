//! One target after another: who is asked next, and when it ends (gateway specification, 3.8).

use acceptance::chat_body;
use domain::Millis;
use fake_upstream::Step;
use http::Method;
use serde_json::json;

use crate::team::{Team, models, told, who};

#[tokio::test]
async fn a_failing_target_is_followed_by_the_next_with_its_own_address_key_model_and_format() {
    let team = Team::start().await;
    let anthropic = team.world.connect("anthropic", "d").await;
    team.world.script(&anthropic).then(Step::ok("from the fourth"));
    let steps = json!(["openai/m1", "anthropic/claude-x"]);
    team.combo("mixed", "priority", steps, json!({ "maxRetries": 0 })).await;
    team.fails(0, 500);
    let reply = team.ask("mixed").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.text().contains("from the fourth"), "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-provider"), Some("anthropic"));
    assert_eq!(reply.header("x-omniroute-fallback-attempts"), Some("1"));
    assert!(reply.header("x-omniroute-decision").is_some_and(|it| it.starts_with("strategy=priority; ")));
    let call = &team.world.calls(&anthropic)[0];
    assert!(call.path.ends_with("/messages"), "{}", call.path);
    assert_eq!(call.model.as_deref(), Some("claude-x"));
    assert_eq!(call.key.as_deref(), Some(anthropic.credential.as_str()));
    let row = team.world.last_request().await;
    assert_eq!((&row["comboName"], &row["strategy"]), (&json!("mixed"), &json!("priority")));
    assert_eq!(row["attempts"], 2);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn priority_returns_to_its_first_target_once_it_has_recovered() {
    let team = Team::start().await;
    team.three("priority").await;
    team.fails(0, 503);
    assert_eq!(team.served("team", 2).await, [1, 1]);
    assert_eq!(team.calls(), [1, 2, 0], "who failed is spared");
    team.recovers(0);
    team.world.advance(Millis::minutes(10));
    assert_eq!(team.served("team", 2).await, [0, 0]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_malformed_request_stops_at_once_and_an_odd_one_is_shown_to_three() {
    let team = Team::start().await;
    team.three("priority").await;
    for account in &team.accounts {
        team.world.script(account).then(Step::error(400, "invalid message format: roles must alternate"));
    }
    let reply = team.ask("team").await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert_eq!(team.calls(), [1, 0, 0]);
    for account in &team.accounts {
        team.world.script(account).then(Step::error(400, "this phrase is in no list"));
    }
    // A fourth would take it.
    let fourth = team.world.connect("mistral", "d").await;
    let four = json!(["openai/m1", "deepseek/m1", "groq/m1", "mistral/m1"]);
    team.combo("four", "priority", four, json!({ "maxRetries": 0 })).await;
    let reply = team.ask("four").await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert!(reply.text().contains("this phrase is in no list"), "{}", reply.text());
    assert_eq!((team.calls(), team.world.calls(&fourth).len()), ([2, 1, 1], 0));
    for account in &team.accounts {
        assert_eq!(team.world.cooling(account), None);
    }
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_request_takes_thirty_attempts_at_most_whatever_stands_inside_each_other() {
    // CR-19
    let team = Team::start().await;
    let many: Vec<String> = (0..24).map(|n| format!("openai/m{n}")).collect();
    team.combo("inner", "priority", json!(many), json!({ "maxRetries": 0 })).await;
    let more: Vec<String> = (24..48).map(|n| format!("deepseek/m{n}")).collect();
    let mut steps = json!(more);
    steps.as_array_mut().expect("a list").insert(0, json!("inner"));
    team.combo("outer", "priority", steps, json!({ "maxRetries": 0 })).await;
    // A model nobody knows benches no one, so only the cap ends it.
    for (n, account) in team.accounts.iter().enumerate() {
        for model in 0..48 {
            let refusal = Step::error(400, format!("odd thing {n} {model}"));
            team.world.script_model(account, &format!("m{model}")).then(refusal);
        }
    }
    let reply = team.ask("outer").await;
    assert_eq!(team.calls().iter().sum::<usize>(), 30, "{}", reply.text());
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "MAX_ATTEMPTS");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_stream_falls_over_before_its_first_word_and_never_after() {
    let team = Team::start().await;
    team.combo("team", "priority", models(), json!({ "maxRetries": 0 })).await;
    team.world.script(&team.accounts[0]).then(Step::ok("never seen").cut(40));
    let reply = team.world.agent().post("/v1/chat/completions", chat_body("team", true)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(told(&reply), "from 1");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_is_used_by_prefix_mapping_and_alias_and_a_switched_off_one_is_not() {
    let team = Team::start().await;
    let combo = team.three("priority").await;
    let id = combo["id"].as_str().expect("an id");
    assert_eq!(who(&team.ask("combo/team").await), 0);
    let mapping = json!({ "pattern": "claude-*", "comboId": id, "priority": 1, "enabled": true });
    team.world.managed(Method::POST, "/api/model-combo-mappings", Some(mapping)).await;
    assert_eq!(who(&team.ask("claude-anything").await), 0);
    team.world.managed(Method::PATCH, &format!("/api/combos/{id}"), Some(json!({ "isActive": false }))).await;
    assert_eq!(team.ask("team").await.status, 404);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_target_that_may_be_left_for_an_exhausted_quota_only_keeps_the_request() {
    let team = Team::start().await;
    let protected = json!({ "model": "openai/m1", "fallbackOnlyOnQuotaExhaustion": true });
    team.combo("kept", "priority", json!([protected, "deepseek/m1"]), json!({ "maxRetries": 0 })).await;
    team.fails(0, 500);
    let reply = team.ask("kept").await;
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert_eq!(team.calls(), [1, 0, 0]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn the_failure_of_a_protected_target_is_a_502_where_the_flag_says_so() {
    let team = Team::start().await;
    let protected = json!({ "model": "openai/m1", "fallbackOnlyOnQuotaExhaustion": true });
    team.combo("kept", "priority", json!([protected, "deepseek/m1"]), json!({ "maxRetries": 0 })).await;
    team.fails(0, 500);
    let flag = "/api/settings/feature-flags/PROTECTED_PRIORITY_INFRA_502_ENABLED";
    team.world.managed(Method::PUT, flag, Some(json!({ "value": true }))).await;
    let reply = team.ask("kept").await;
    assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (502, "bad_gateway"), "{}", reply.text());
    team.world.managed(Method::DELETE, flag, None).await;
    team.world.reset(&team.accounts[0]).await;
    assert_eq!(team.ask("kept").await.status, 503);
    assert_eq!(team.calls(), [2, 0, 0]);
}

#[tokio::test]
async fn a_combo_s_own_text_comes_before_what_the_client_s_system_says() {
    let team = Team::start().await;
    let body = json!({
        "name": "told", "strategy": "priority", "models": ["openai/m1"], "system_message": "Answer in rhymes.",
    });
    team.world.managed(Method::POST, "/api/combos", Some(body)).await;
    assert_eq!(who(&team.ask("told").await), 0);
    let sent = team.world.calls(&team.accounts[0])[0].json();
    assert_eq!(sent["messages"][0], json!({ "role": "system", "content": "Answer in rhymes." }));
    assert_eq!(sent["messages"][1]["role"], "user");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_limit_of_output_that_an_upstream_names_is_kept_at_the_second_try() {
    let team = Team::start().await;
    team.three("priority").await;
    let refusal = "max_tokens is too large: 9000, the maximum is 4096";
    team.world.script(&team.accounts[0]).then(Step::error(400, refusal)).then(Step::ok("from 0"));
    let body = chat_body("team", false).replace("\"stream\":false", "\"stream\":false,\"max_tokens\":9000");
    let reply = team.world.agent().post("/v1/chat/completions", body).await;
    assert_eq!(who(&reply), 0);
    let calls = team.world.calls(&team.accounts[0]);
    assert_eq!((calls.len(), &calls[1].json()["max_tokens"]), (2, &json!(4096)));
    team.world.check_invariants().await;
}
