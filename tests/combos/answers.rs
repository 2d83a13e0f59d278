//! What a combo answers when nobody serves (gateway specification, 3.9; resilience specification, 15 and 22).

use acceptance::{Reply, chat_body, empty_stream, error_event, messages_body};
use domain::{Dialect, Millis};
use fake_upstream::{Answer, Step};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::team::{Team, models, who};

#[tokio::test]
async fn a_weighted_combo_whose_targets_all_cool_says_each_reason_and_its_seconds() {
    // DG-01
    let team = Team::start().await;
    team.three("weighted").await;
    for n in 0..3 {
        team.fails(n, 503);
    }
    team.ask("team").await;
    let reply = team.ask("team").await;
    assert_eq!(reply.status, 503, "{}", reply.text());
    let body = reply.json();
    assert_eq!(body["error"]["code"], "all_targets_cooling_down", "{body}");
    let wait: u64 = reply.header("retry-after").expect("a wait").parse().expect("seconds");
    for diagnostics in [&body["diagnostics"], &body["error"]["diagnostics"]] {
        assert_eq!((&diagnostics["poolSize"], &diagnostics["attempted"]), (&json!(3), &json!(0)), "{body}");
        let excluded = diagnostics["excluded"].as_array().expect("a list");
        assert_eq!(excluded.len(), 3, "{body}");
        for target in excluded {
            assert_eq!(target["reason"], "unavailable", "{body}");
            assert!(target["retry_after_seconds"].as_u64() >= Some(1), "{body}");
        }
        assert_eq!(diagnostics["recovery"]["action"], "wait");
    }
    assert_eq!(body["recovery_hint"]["retry_after_seconds"], json!(wait));
    assert_eq!(reply.header("x-omniroute-combo-pool-size"), Some("3"));
    assert_eq!(reply.header("x-omniroute-combo-terminal-reason"), Some("all_targets_cooling_down"));
    // DG-07
    for account in &team.accounts {
        assert!(!reply.text().contains(&account.id), "{}", reply.text());
    }
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_with_nothing_to_run_is_not_found() {
    let team = Team::start().await;
    team.combo("empty", "weighted", json!(["anthropic/m1"]), json!({})).await;
    let reply = team.ask("empty").await;
    assert_eq!(reply.status, 404, "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "no_executable_targets");
    team.world.check_invariants().await;
}

/// The reply of a request whose attempts have begun and fail, and which then waits: time passes second by second, and in each
/// of them whoever woke comes as far as a call of our own does.
async fn after_a_wait(team: &Team, asking: JoinHandle<Reply>) -> Reply {
    team.world.wait_for_attempts_to_end().await;
    while !asking.is_finished() {
        team.world.advance(Millis::seconds(1));
        team.world.requests().await;
    }
    asking.await.expect("an answer")
}

#[tokio::test]
async fn a_request_waits_for_a_short_limit_of_all_its_models_and_then_succeeds() {
    // CR
    let team = Team::start_patient().await;
    let gemini = team.world.connect("gemini", "g").await;
    team.combo("short", "priority", json!(["gemini/m1", "gemini/m2"]), json!({ "maxRetries": 0 })).await;
    for model in ["m1", "m2"] {
        let limited = Step::error(429, "too many requests, retry in 20s").with_header("retry-after", "20");
        team.world.script_model(&gemini, model).then(limited).then(Step::ok("from 0"));
    }
    let agent = team.world.agent();
    let asking = tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("short", false)).await });
    team.world.wait_for_calls(&gemini, 2).await;
    let begun = team.world.now();
    assert_eq!(who(&after_a_wait(&team, asking).await), 0);
    assert!(team.world.now().since(begun) >= Millis::seconds(20), "not before the limits end");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn who_failed_before_a_wait_is_asked_again_after_it() {
    let team = Team::start_patient().await;
    team.combo("team", "priority", json!(["openai/m1", "deepseek/m1"]), json!({ "maxRetries": 0 })).await;
    for n in [0, 1] {
        let script = team.world.script(&team.accounts[n]);
        script.then(Step::error(500, "for a moment")).then(Step::ok(format!("from {n}")));
    }
    let agent = team.world.agent();
    let asking = tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("team", false)).await });
    team.world.wait_for_calls(&team.accounts[1], 1).await;
    assert_eq!(who(&after_a_wait(&team, asking).await), 0);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_wait_over_the_budget_is_told_instead() {
    let team = Team::start().await;
    let gemini = team.world.connect("gemini", "g").await;
    team.world.resilience(json!({ "comboCooldownWait": { "enabled": true, "maxWaitMs": 10_000 } })).await;
    team.combo("short", "priority", json!(["gemini/m1", "gemini/m2"]), json!({ "maxRetries": 0 })).await;
    for model in ["m1", "m2"] {
        let limited = Step::error(429, "too many requests, retry in 20s").with_header("retry-after", "20");
        team.world.script_model(&gemini, model).then(limited);
    }
    for _ in 0..2 {
        let reply = team.ask("short").await;
        assert_eq!(reply.status, 429, "{}", reply.text());
        let wait: u64 = reply.header("retry-after").expect("a wait").parse().expect("seconds");
        assert!((1..=21).contains(&wait), "{wait}");
    }
    let error = team.ask("short").await.json()["error"].clone();
    assert!(error["retry_after"].is_u64() && error["reset_at"].is_string(), "{error}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_nobody_can_do_is_refused_by_name() {
    let team = Team::start().await;
    team.combo("blind", "priority", json!(["deepseek/deepseek-v4-pro"]), json!({})).await;
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } });
    let body = json!({ "model": "blind", "messages": [{ "role": "user", "content": [image] }] });
    let reply = team.world.agent().post("/v1/chat/completions", body.to_string()).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "capability_mismatch");
    assert!(reply.error_message().contains("vision"), "{}", reply.text());
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_has_its_time() {
    let team = Team::start().await;
    team.combo("slow", "priority", models(), json!({ "comboTimeoutMs": 5_000 })).await;
    team.world.script(&team.accounts[0]).then(Step::Hang);
    let agent = team.world.agent();
    let asking = tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("slow", false)).await });
    team.world.wait_for_calls(&team.accounts[0], 1).await;
    team.world.advance(Millis::seconds(6));
    let reply = asking.await.expect("an answer");
    assert_eq!(reply.status, 504, "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "COMBO_TIMEOUT");
    team.world.check_invariants().await;
}

/// The combo `team`, which takes an empty answer for one.
async fn credulous() -> Team {
    let team = Team::start().await;
    team.combo("team", "priority", models(), json!({ "maxRetries": 0, "responseValidation": false })).await;
    team
}

#[tokio::test]
async fn an_empty_answer_is_passed_on_where_answers_need_not_hold_anything() {
    for stream in [false, true] {
        for asked in ["/v1/chat/completions", "/v1/messages"] {
            let team = credulous().await;
            team.world.script(&team.accounts[0]).then(Step::answer(Answer::text("")));
            let body = match asked {
                "/v1/messages" => messages_body("team", stream),
                _ => chat_body("team", stream),
            };
            let reply = team.world.agent().post(asked, body).await;
            assert_eq!(reply.status, 200, "{asked} {stream}: {}", reply.text());
            assert_eq!(team.calls(), [1, 0, 0], "{asked} {stream}: {}", reply.text());
            assert_eq!(team.world.cooling(&team.accounts[0]), None, "{asked} {stream}");
            assert_eq!(team.world.last_request().await["outcome"], "success", "{asked} {stream}");
            team.world.check_invariants().await;
        }
    }
    // A stream for a client that wants a body.
    let team = credulous().await;
    team.world.script(&team.accounts[0]).then(Step::sse([empty_stream(Dialect::Chat)]));
    let reply = team.ask("team").await;
    assert_eq!((reply.status.as_u16(), team.calls()), (200, [1, 0, 0]), "{}", reply.text());
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_is_no_answer_at_all_fails_whatever_answers_need_to_hold() {
    let stated = error_event(Dialect::Chat, "it does not work");
    let error = r#"{"error":{"message":"it does not work","type":"server_error","code":null}}"#;
    for (stream, step) in [
        (false, Step::status(200, error)),
        (false, Step::status(200, "{}")),
        (false, Step::garbage("no")),
        (true, Step::sse([stated])),
        (true, Step::sse([": hello\n\n"])),
    ] {
        let team = credulous().await;
        team.world.script(&team.accounts[0]).then(step);
        let reply = team.world.agent().post("/v1/chat/completions", chat_body("team", stream)).await;
        assert_eq!((reply.status.as_u16(), team.calls()), (200, [1, 1, 0]), "{stream}: {}", reply.text());
        assert_eq!(reply.header("x-omniroute-provider"), Some("deepseek"), "{stream}: {}", reply.text());
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn an_empty_answer_is_replaced_by_the_next_target_unless_a_combo_says_otherwise() {
    for stream in [false, true] {
        let team = Team::start().await;
        team.combo("team", "priority", models(), json!({ "maxRetries": 0 })).await;
        team.world.script(&team.accounts[0]).then(Step::answer(Answer::text("")));
        let reply = team.world.agent().post("/v1/chat/completions", chat_body("team", stream)).await;
        assert_eq!((reply.status.as_u16(), team.calls()), (200, [1, 1, 0]), "{stream}: {}", reply.text());
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn an_account_that_no_safe_connection_leads_to_is_not_waited_for() {
    // Waiting mends no certificate: nobody is told to come back soon.
    let team = Team::start_patient().await;
    let plain = team.world.upstream.base_url(Dialect::Chat).replacen("http://", "https://", 1);
    let account = team.world.connect_to("openai", "unsafe", &plain).await;
    let steps = json!([{ "model": "openai/m1", "connectionId": account.id }]);
    team.combo("unsafe", "priority", steps, json!({ "maxRetries": 0 })).await;
    let first = team.ask("unsafe").await;
    assert_eq!(first.status, 502, "{}", first.text());
    assert!(team.world.cooling(&account).is_some(), "it rests");
    let second = team.ask("unsafe").await;
    assert_eq!(
        (second.status.as_u16(), second.error_word().as_str()),
        (503, "ALL_TARGETS_SKIPPED"),
        "{}",
        second.text()
    );
    team.world.check_invariants().await;
}
