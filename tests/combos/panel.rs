//! What becomes of a panel of which some fail: members, and whoever is to judge (gateway specification, 3.4 and 3.8).

use acceptance::{chat_body, messages_body, responses_body};
use domain::{Millis, Usage};
use fake_upstream::{Answer, Gate, Step};
use serde_json::{Value, json};

use crate::team::{Team, models, told, who};

const UNJUDGED: &str = "FUSION_UNJUDGED";

/// A panel of three whose accounts never rest.
async fn panel(config: Value) -> Team {
    panel_of(models(), config).await
}

async fn panel_of(steps: Value, config: Value) -> Team {
    let team = Team::start().await;
    for account in &team.accounts {
        team.world.change(account, json!({ "providerSpecificData": { "disableCooling": true } })).await;
    }
    team.combo("team", "fusion", steps, config).await;
    team
}

/// The panel's member answers, and judges so.
fn answers_then(team: &Team, member: usize, judging: Step) {
    team.world.script(&team.accounts[member]).then(Step::ok(format!("from {member}"))).then(judging);
}

#[tokio::test]
async fn one_answer_is_the_answer_whoever_of_the_others_failed_and_nobody_is_asked_to_judge_it() {
    for status in [503, 500, 429, 401, 404, 529] {
        let team = panel_of(json!(["openai/m1", "deepseek/m1"]), json!({ "retryDelayMs": 0 })).await;
        team.fails(0, status);
        let reply = team.ask("team").await;
        assert_eq!(who(&reply), 1, "{status}");
        assert_eq!(reply.header("x-omniroute-warnings"), None, "{status}");
        assert_eq!(reply.header("x-omniroute-provider"), Some("deepseek"), "{status}");
        let repeats = usize::from(matches!(status, 500 | 503 | 529));
        assert_eq!(team.calls(), [1 + repeats, 1, 0], "{status}: as often as any target, and not as a judge");
        let row = team.world.last_request().await;
        assert_eq!((&row["outcome"], &row["provider"]), (&json!("success"), &json!("deepseek")), "{row}");
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn one_answer_comes_as_the_client_wants_it() {
    let team = panel_of(json!(["openai/m1", "anthropic/m1"]), json!({})).await;
    let claude = team.world.connect("anthropic", "d").await;
    team.fails(0, 400);
    team.world.script(&claude).then(Step::ok("from 1"));
    let agent = team.world.agent();
    let streamed = agent.post("/v1/chat/completions", chat_body("team", true)).await;
    assert_eq!(told(&streamed), "from 1");
    assert_eq!(streamed.header("content-type"), Some("text/event-stream; charset=utf-8"));
    for (path, body, ends) in [
        ("/v1/messages", messages_body("team", true), "message_stop"),
        ("/v1/responses", responses_body("team", true), "response.completed"),
        (
            "/api/chat",
            json!({ "model": "team", "messages": [{ "role": "user", "content": "hi" }] }).to_string(),
            "\"done\":true",
        ),
    ] {
        let reply = agent.post(path, body).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        let text = reply.text();
        assert!(text.contains("from 1") && text.contains(ends), "{path}: {text}");
    }
    for (path, body) in
        [("/v1/messages", messages_body("team", false)), ("/v1/responses", responses_body("team", false))]
    {
        let reply = agent.post(path, body).await;
        assert_eq!(who(&reply), 1, "{path}");
        reply.json();
    }
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_one_answer_used_is_counted_once() {
    let team = panel_of(json!(["openai/m1", "deepseek/m1"]), json!({ "maxRetries": 0 })).await;
    team.fails(0, 503);
    let usage = Usage { input_fresh: Some(700), output: Some(30), ..Usage::default() };
    team.world.script(&team.accounts[1]).then(Step::answer(Answer::text("from 1").with_usage(usage)));
    let reply = team.ask("team").await;
    assert_eq!(who(&reply), 1);
    assert_eq!(
        (reply.header("x-omniroute-tokens-in"), reply.header("x-omniroute-tokens-out")),
        (Some("700"), Some("30"))
    );
    let row = team.world.last_request().await;
    assert_eq!((&row["tokensInput"], &row["tokensOutput"]), (&json!(700), &json!(30)), "{row}");
    let attempts = row["trace"]["attempts"].as_array().expect("attempts");
    let decisions: Vec<_> = attempts.iter().map(|attempt| (&attempt["provider"], &attempt["decision"])).collect();
    assert!(decisions.contains(&(&json!("deepseek"), &json!("answer"))), "{row}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn who_failed_does_not_judge_what_the_others_said() {
    let team = panel(json!({ "maxRetries": 0 })).await;
    team.fails(0, 500);
    answers_then(&team, 1, Step::ok("from 1, who judges"));
    let reply = team.ask("team").await;
    assert!(reply.text().contains("who judges"), "{}", reply.text());
    assert_eq!(team.calls(), [1, 2, 1]);
    let asked = team.world.calls(&team.accounts[1])[1].json().to_string();
    assert!(asked.contains("[Answer B]") && asked.contains("from 2"), "{asked}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn when_a_member_cannot_judge_the_next_that_answered_does() {
    for broken in [Step::error(503, "down"), Step::error(429, "slow"), Step::error(400, "too long"), Step::Reset] {
        let team = panel(json!({ "maxRetries": 0 })).await;
        answers_then(&team, 0, broken);
        answers_then(&team, 1, Step::ok("from 1, who judges"));
        let reply = team.world.agent().post("/v1/chat/completions", chat_body("team", true)).await;
        assert_eq!(told(&reply), "from 1, who judges");
        assert_eq!(reply.header("x-omniroute-warnings"), None);
        assert_eq!(team.calls(), [2, 2, 1]);
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn when_nobody_can_judge_the_first_answer_stands_with_a_warning() {
    let team = panel(json!({ "maxRetries": 0 })).await;
    team.fails(0, 500);
    for member in [1, 2] {
        answers_then(&team, member, Step::error(503, "down"));
    }
    let reply = team.ask("team").await;
    assert_eq!(who(&reply), 1, "the first of the list that answered");
    assert_eq!(reply.header("x-omniroute-warnings"), Some(UNJUDGED));
    assert_eq!(team.calls(), [1, 2, 2]);
    let row = team.world.last_request().await;
    assert_eq!(row["trace"]["changes"], json!([UNJUDGED]), "{row}");
    assert_eq!((&row["outcome"], &row["provider"]), (&json!("success"), &json!("deepseek")), "{row}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_judge_that_refuses_for_its_policy_ends_the_judging_and_loses_no_answer() {
    let team = panel(json!({ "maxRetries": 0 })).await;
    answers_then(&team, 0, Step::error(400, "this violates our content policy"));
    let reply = team.ask("team").await;
    assert_eq!((who(&reply), team.calls()), (0, [2, 1, 1]), "what the table calls the end is the end");
    assert_eq!(reply.header("x-omniroute-warnings"), Some(UNJUDGED));
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_a_chosen_judge_has_not_seen_is_not_shown() {
    let chosen = json!({ "maxRetries": 0, "fusion": { "judgeModel": "groq/judge" } });
    let team = panel_of(json!(["openai/m1", "deepseek/m1"]), chosen).await;
    team.world.script_model(&team.accounts[2], "judge").then(Step::error(500, "down"));
    let reply = team.ask("team").await;
    assert_eq!(reply.status, 500, "{}", reply.text());
    assert!(!reply.error_message().contains("success"), "only what went wrong is told: {}", reply.text());
    assert_eq!(team.calls(), [1, 1, 1]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_chosen_judge_that_failed_as_a_member_is_not_asked_again() {
    let chosen = json!({ "retryDelayMs": 0, "fusion": { "judgeModel": "openai/m1" } });
    let team = panel_of(json!(["openai/m1", "deepseek/m1"]), chosen).await;
    team.fails(0, 500);
    let reply = team.ask("team").await;
    assert_eq!(reply.status, 500, "{}", reply.text());
    assert_eq!(team.calls(), [2, 1, 0], "once, and once more as every target");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn when_the_combos_time_is_over_what_was_answered_stands() {
    let team = panel(json!({ "comboTimeoutMs": 5_000, "maxRetries": 0 })).await;
    let gate = Gate::closed();
    team.world.script(&team.accounts[0]).then(Step::ok("too late").held(&gate));
    let agent = team.world.agent();
    let asking = tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("team", false)).await });
    for account in &team.accounts {
        team.world.wait_for_calls(account, 1).await;
    }
    while !asking.is_finished() {
        team.world.advance(Millis::seconds(1));
        team.world.requests().await;
    }
    let reply = asking.await.expect("an answer");
    assert_eq!(who(&reply), 1);
    assert_eq!(reply.header("x-omniroute-warnings"), Some(UNJUDGED));
    assert_eq!(team.calls(), [1, 1, 1], "there was no time left for a judge");
    gate.open();
    team.world.check_invariants().await;
}
