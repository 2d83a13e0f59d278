//! A slow target gets company, and whoever says something useful first is the answer (gateway specification, 3.2).

use acceptance::{Reply, beginning, chat_body, error_event};
use domain::{Dialect, Millis};
use fake_upstream::{Break, Gate, Step};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::team::{PROVIDERS, Team, models, told, who};

const DELAY: Millis = Millis::new(500);

/// A team whose combo `team` hedges, its first account held at a gate.
async fn slow_first(config: Value) -> (Team, Gate) {
    let team = Team::start().await;
    let mut all = json!({
        "zeroLatencyOptimizationsEnabled": true, "hedging": true, "hedgeDelayMs": DELAY.as_millis(), "maxRetries": 0,
    });
    for (name, value) in config.as_object().expect("members") {
        all[name] = value.clone();
    }
    team.combo("team", "priority", models(), all).await;
    let gate = Gate::closed();
    team.world.script(&team.accounts[0]).then(Step::ok("from 0").held(&gate));
    (team, gate)
}

fn ask(team: &Team, stream: bool) -> JoinHandle<Reply> {
    let agent = team.world.agent();
    tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("team", stream)).await })
}

/// The first account has been asked and has said nothing for so long.
async fn silent_for(team: &Team, length: Millis) {
    team.world.wait_for_calls(&team.accounts[0], 1).await;
    team.world.advance(length);
}

fn assert_unhurt(team: &Team, account: usize) {
    let health = team.world.health(&team.accounts[account]);
    assert_eq!((health.last_error, health.cooling_until), (None, None));
    assert_eq!(team.world.breaker_state(PROVIDERS[account]), ("CLOSED", 0));
}

#[tokio::test]
async fn the_next_target_answers_for_a_slow_one_which_is_called_off_and_not_blamed() {
    for stream in [false, true] {
        let (team, _gate) = slow_first(json!({})).await;
        let asking = ask(&team, stream);
        silent_for(&team, DELAY).await;
        let reply = asking.await.expect("a reply");
        match stream {
            false => assert_eq!(who(&reply), 1),
            true => assert_eq!(told(&reply), "from 1"),
        }
        assert!(!reply.text().contains("from 0"), "never two answers");
        let ended = team.world.wait_for_endings(&team.accounts[0], 1).await;
        assert!(ended[0].cancelled());
        assert_eq!(team.calls(), [1, 1, 0]);
        assert_unhurt(&team, 0);
        team.world.settle().await;
        assert_eq!(team.world.in_flight(), 0, "its places are given back");
        let row = team.world.last_request().await;
        let attempts: Vec<(&Value, &Value)> = row["trace"]["attempts"]
            .as_array()
            .expect("attempts")
            .iter()
            .map(|attempt| (&attempt["kind"], &attempt["decision"]))
            .collect();
        assert_eq!(attempts, [(&json!("called_off"), &json!("lost")), (&json!("success"), &json!("answer"))]);
        assert_eq!((&row["attempts"], &row["provider"]), (&json!(2), &json!(PROVIDERS[1])));
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_target_that_speaks_within_the_delay_stays_alone() {
    let (team, gate) = slow_first(json!({})).await;
    let asking = ask(&team, false);
    silent_for(&team, Millis::new(DELAY.as_millis() - 1)).await;
    gate.open();
    assert_eq!(who(&asking.await.expect("a reply")), 0);
    assert_eq!(team.calls(), [1, 0, 0]);
}

#[tokio::test]
async fn the_slow_one_still_wins_when_it_speaks_first() {
    let (team, gate) = slow_first(json!({})).await;
    let other = Gate::closed();
    team.world.script(&team.accounts[1]).then(Step::ok("from 1").held(&other));
    let asking = ask(&team, true);
    silent_for(&team, DELAY).await;
    team.world.wait_for_calls(&team.accounts[1], 1).await;
    gate.open();
    assert_eq!(told(&asking.await.expect("a reply")), "from 0");
    assert!(team.world.wait_for_endings(&team.accounts[1], 1).await[0].cancelled());
    assert_unhurt(&team, 1);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn the_failure_of_the_company_leaves_the_slow_one_running_and_that_of_both_goes_on() {
    let (team, gate) = slow_first(json!({})).await;
    team.fails(1, 500);
    let asking = ask(&team, false);
    silent_for(&team, DELAY).await;
    team.world.wait_for_endings(&team.accounts[1], 1).await;
    gate.open();
    assert_eq!(who(&asking.await.expect("a reply")), 0);
    let row = team.world.last_request().await;
    let attempts = &row["trace"]["attempts"];
    assert_eq!((&attempts[0]["kind"], &attempts[1]["kind"]), (&json!("success"), &json!("server_error")), "{row}");
    team.world.reset(&team.accounts[1]).await;

    let gate = Gate::closed();
    team.world.script(&team.accounts[0]).then(Step::error(500, "oops").held(&gate));
    let asking = ask(&team, false);
    team.world.wait_for_calls(&team.accounts[0], 2).await;
    team.world.advance(DELAY);
    team.world.wait_for_endings(&team.accounts[1], 2).await;
    gate.open();
    assert_eq!(who(&asking.await.expect("a reply")), 2);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_the_company_used_before_it_failed_is_not_what_the_slow_one_used() {
    let (team, gate) = slow_first(json!({})).await;
    let told = "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":5000,\"completion_tokens\":900}}\n\n";
    team.world.script(&team.accounts[1]).then(Step::sse([told.to_owned(), error_event(Dialect::Chat, "overloaded")]));
    let asking = ask(&team, false);
    silent_for(&team, DELAY).await;
    team.world.wait_for_endings(&team.accounts[1], 1).await;
    gate.open();
    assert_eq!(who(&asking.await.expect("a reply")), 0);
    let row = team.world.last_request().await;
    assert_eq!((&row["tokensInput"], &row["tokensOutput"]), (&json!(12), &json!(7)), "{row}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn two_run_side_by_side_at_most_and_a_third_takes_the_place_of_one_that_failed() {
    let (team, gate) = slow_first(json!({})).await;
    let other = Gate::closed();
    team.world.script(&team.accounts[1]).then(Step::error(500, "oops").held(&other));
    let asking = ask(&team, false);
    silent_for(&team, DELAY).await;
    team.world.wait_for_calls(&team.accounts[1], 1).await;
    team.world.advance(Millis::minutes(1));
    assert_eq!(team.calls(), [1, 1, 0]);
    other.open();
    assert_eq!(who(&asking.await.expect("a reply")), 2, "begun at once: the first has been silent for long");
    assert!(team.world.wait_for_endings(&team.accounts[0], 1).await[0].cancelled());
    gate.open();
    team.world.check_invariants().await;
}

#[tokio::test]
async fn without_its_master_switch_and_for_a_protected_target_nobody_gets_company() {
    let (team, gate) = slow_first(json!({ "zeroLatencyOptimizationsEnabled": false })).await;
    let protected = json!({ "model": "openai/m1", "fallbackOnlyOnQuotaExhaustion": true });
    let config = json!({ "zeroLatencyOptimizationsEnabled": true, "hedging": true });
    team.combo("kept", "priority", json!([protected, "deepseek/m1"]), config).await;
    let agent = team.world.agent();
    let kept = tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("kept", false)).await });
    let plain = ask(&team, false);
    team.world.wait_for_calls(&team.accounts[0], 2).await;
    team.world.advance(Millis::minutes(1));
    gate.open();
    assert_eq!((who(&plain.await.expect("a reply")), who(&kept.await.expect("a reply"))), (0, 0));
    assert_eq!(team.calls(), [2, 0, 0]);
}

#[tokio::test]
async fn a_client_that_leaves_takes_both_calls_with_it() {
    let (team, _gate) = slow_first(json!({})).await;
    let other = Gate::closed();
    team.world.script(&team.accounts[1]).then(Step::ok("from 1").held(&other));
    let asking = ask(&team, true);
    silent_for(&team, DELAY).await;
    team.world.wait_for_calls(&team.accounts[1], 1).await;
    asking.abort();
    for account in &team.accounts[..2] {
        assert!(team.world.wait_for_endings(account, 1).await[0].cancelled());
    }
    team.world.settle().await;
    [0, 1].into_iter().for_each(|account| assert_unhurt(&team, account));
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_first_word_commits_and_what_breaks_after_it_is_not_replaced() {
    let (team, gate) = slow_first(json!({})).await;
    team.world.script(&team.accounts[1]).then(Step::sse([beginning(Dialect::Chat)]).broken(usize::MAX, Break::Close));
    let asking = ask(&team, true);
    silent_for(&team, DELAY).await;
    let reply = asking.await.expect("a reply");
    gate.open();
    assert!(!reply.text().contains("from 0"), "{}", reply.text());
    assert_eq!(team.calls(), [1, 1, 0]);
}

#[tokio::test]
async fn the_combo_s_time_ends_both() {
    let (team, _gate) = slow_first(json!({ "comboTimeoutMs": 60_000 })).await;
    let other = Gate::closed();
    team.world.script(&team.accounts[1]).then(Step::ok("from 1").held(&other));
    let asking = ask(&team, false);
    silent_for(&team, DELAY).await;
    team.world.wait_for_calls(&team.accounts[1], 1).await;
    team.world.advance(Millis::minutes(1));
    let reply = asking.await.expect("a reply");
    assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (504, "COMBO_TIMEOUT"), "{}", reply.text());
    let row = team.world.last_request().await;
    assert_eq!(row["trace"]["attempts"][1]["kind"], "combo_timeout", "{row}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_request_makes_thirty_attempts_at_most_with_company_too() {
    let team = Team::start().await;
    let steps: Vec<String> = (0..40).map(|n| format!("openai/model-{n}")).collect();
    let config = json!({
        "zeroLatencyOptimizationsEnabled": true, "hedging": true, "hedgeDelayMs": 0, "maxRetries": 3, "retryDelayMs": 0,
    });
    for n in 0..40 {
        let model = format!("model-{n}");
        team.world.script_model(&team.accounts[0], &model).then(Step::error(404, format!("no such model as {n}")));
    }
    team.combo("many", "priority", json!(steps), config).await;
    let reply = team.ask("many").await;
    assert_ne!(reply.status, 200);
    assert!(team.calls()[0] <= 30, "{:?}", team.calls());
    assert!(team.calls()[0] >= 29, "it went on until then: {:?}", team.calls());
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_target_whose_first_word_usually_comes_late_is_skipped() {
    let team = Team::start().await;
    for calls in 1..=5 {
        let gate = Gate::closed();
        team.world.script(&team.accounts[0]).then(Step::ok("from 0").held(&gate));
        let agent = team.world.agent();
        let body = chat_body("openai/m1", true);
        let asking = tokio::spawn(async move { agent.post("/v1/chat/completions", body).await });
        team.world.wait_for_calls(&team.accounts[0], calls).await;
        team.world.advance(Millis::seconds(2));
        gate.open();
        assert_eq!(told(&asking.await.expect("a reply")), "from 0");
    }
    team.recovers(0);
    let config = json!({ "zeroLatencyOptimizationsEnabled": true, "predictiveTtftMs": 1_000 });
    team.combo("quick", "priority", models(), config).await;
    assert_eq!(who(&team.ask("quick").await), 1);
    let config = json!({ "zeroLatencyOptimizationsEnabled": true, "predictiveTtftMs": 3_000 });
    team.combo("patient", "priority", models(), config).await;
    assert_eq!(who(&team.ask("patient").await), 0);
}
