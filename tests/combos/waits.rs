//! When to come back, as a combo that nobody served announces it (gateway specification, 1.7 and 3.9).

use acceptance::Reply;
use domain::Millis;
use fake_upstream::Step;
use serde_json::json;

use crate::team::{Team, models, who};

/// The wait stands in every place where clients look for it, or in none.
fn assert_wait(reply: &Reply, status: u16, wait: Option<u64>) {
    assert_eq!(reply.status, status, "{}", reply.text());
    let text = wait.map(|seconds| seconds.to_string());
    for header in ["retry-after", "x-omniroute-retry-after-seconds"] {
        assert_eq!(reply.header(header), text.as_deref(), "{header}: {}", reply.text());
    }
    assert_eq!(reply.json()["recovery_hint"]["retry_after_seconds"].as_u64(), wait, "{}", reply.text());
}

#[tokio::test]
async fn a_chain_is_back_when_its_broken_link_is() {
    for (status, link, calls) in [(429, 0, [1, 0, 0]), (503, 0, [1, 0, 0]), (503, 1, [1, 1, 0]), (429, 2, [1, 1, 1])] {
        let team = Team::start().await;
        team.combo("team", "pipeline", models(), json!({ "maxRetries": 0 })).await;
        team.fails(link, status);
        assert_wait(&team.ask("team").await, status, Some(3));
        assert_eq!(team.calls(), calls);
        team.world.advance(Millis::seconds(3));
        team.recovers(link);
        assert_eq!(who(&team.ask("team").await), 2, "waiting helps");
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_chain_whose_link_has_another_account_can_be_asked_at_once() {
    let team = Team::start().await;
    let other = team.world.connect("openai", "other").await;
    team.world.change(&other, json!({ "providerSpecificData": { "disableCooling": true } })).await;
    team.combo("team", "pipeline", models(), json!({ "maxRetries": 0 })).await;
    team.fails(0, 503);
    team.world.script(&other).then(Step::error(503, "down"));
    assert_wait(&team.ask("team").await, 503, None);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_panel_is_back_when_somebody_answers_and_the_chosen_judge_does() {
    for (status, judge) in [(429, "groq/judge"), (503, "groq/judge"), (503, "groq/m1")] {
        let team = Team::start().await;
        let chosen = json!({ "maxRetries": 0, "fusion": { "judgeModel": judge } });
        let steps = if judge == "groq/m1" { models() } else { json!(["openai/m1", "deepseek/m1"]) };
        team.combo("team", "fusion", steps, chosen).await;
        team.fails(2, status);
        assert_wait(&team.ask("team").await, status, Some(3));
        team.world.check_invariants().await;
    }
    let team = Team::start().await;
    team.combo("team", "fusion", json!(["openai/m1", "deepseek/m1"]), json!({ "maxRetries": 0 })).await;
    for n in [0, 1] {
        team.fails(n, 503);
    }
    assert_wait(&team.ask("team").await, 503, Some(3));
    team.world.check_invariants().await;
}

#[tokio::test]
async fn an_overloaded_combo_announces_its_wait_whatever_the_status_becomes() {
    for strategy in ["priority", "weighted", "pipeline", "fusion"] {
        let team = Team::start().await;
        team.combo("team", strategy, json!(["openai/m1", "deepseek/m1"]), json!({ "maxRetries": 0 })).await;
        for n in [0, 1] {
            team.fails(n, 529);
        }
        assert_wait(&team.ask("team").await, 503, Some(3));
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_combo_none_of_whose_requests_could_leave_says_so() {
    // Resilience specification, 2.6: what is down here is our own trouble, and no fault of the request.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let team = Team::start().await;
    for account in &team.accounts {
        team.world.change(account, json!({ "proxyUrl": format!("http://{closed}") })).await;
    }
    team.three("priority").await;
    let reply = team.ask("team").await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, Some("2")), "{}", reply.text());
    assert_eq!(reply.error_word(), "service_unavailable");
    team.world.check_invariants().await;
}
