//! What combos that run another combo as one of their steps learn from it (gateway specification, 3.1 and 3.4): each level is
//! told, by its own strategy, what became of its own step.

use acceptance::chat_body;
use domain::Millis;
use fake_upstream::{Gate, Step};
use http::Method;
use serde_json::{Value, json};

use crate::distinct::telling;
use crate::strategies::counted;
use crate::team::{Team, who};

/// What makes a step of a combo run by its own strategy.
fn running(more: Value) -> Value {
    let mut config = json!({ "nestedMode": "execute", "maxRetries": 0 });
    if let (Value::Object(config), Value::Object(more)) = (&mut config, more) {
        config.extend(more);
    }
    config
}

/// A team whose accounts never rest, and whose combo `inner` leads to the first two of them.
async fn team(strategy: &str, more: Value) -> Team {
    team_of(strategy, json!(["openai/m1", "deepseek/m1"]), more).await
}

async fn team_of(strategy: &str, steps: Value, more: Value) -> Team {
    let team = Team::start().await;
    for account in &team.accounts {
        team.world.change(account, json!({ "providerSpecificData": { "disableCooling": true } })).await;
    }
    team.world.resilience(json!({ "providerBreaker": { "apikey": { "failureThreshold": 1_000 } } })).await;
    team.combo("inner", strategy, steps, running(more)).await;
    team
}

#[tokio::test]
async fn the_last_known_good_of_a_combo_may_be_the_combo_within_whoever_serves_there() {
    let team = team("round-robin", json!({})).await;
    let free = running(json!({ "disableSessionStickiness": true }));
    team.combo("outer", "lkgp", json!(["groq/m1", "inner"]), free).await;
    team.fails(2, 500);
    assert_eq!(who(&team.ask("outer").await), 0);
    team.recovers(2);
    assert_eq!(team.served("outer", 3).await, [1, 0, 1], "the step is known to be good, not one account of it");
    team.fails(0, 500);
    team.fails(1, 500);
    assert_eq!(who(&team.ask("outer").await), 2);
    team.recovers(0);
    team.recovers(1);
    assert_eq!(team.served("outer", 2).await, [2, 2], "it failed, and is not known to be good any more");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_conversation_stays_with_the_combo_within_that_it_was_at() {
    let team = team("priority", json!({})).await;
    let steps = json!([{ "model": "groq/m1", "weight": 100 }, { "comboName": "inner", "weight": 0 }]);
    team.combo("outer", "weighted", steps, running(json!({}))).await;
    team.fails(2, 500);
    assert_eq!(who(&team.ask("outer").await), 0);
    team.recovers(2);
    assert_eq!(team.served("outer", 3).await, [0, 0, 0]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_within_learns_by_its_own_name_whatever_its_step_is_called() {
    let team = team("lkgp", json!({ "disableSessionStickiness": true })).await;
    let steps = json!([{ "comboName": "inner", "label": "The good ones" }, "groq/m1"]);
    team.combo("outer", "priority", steps, running(json!({ "disableSessionStickiness": true }))).await;
    team.fails(0, 500);
    assert_eq!(who(&team.ask("outer").await), 1);
    team.recovers(0);
    assert_eq!(team.served("outer", 2).await, [1, 1]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn both_a_combo_and_the_one_within_it_count_what_they_sent() {
    let team = team("least-used", json!({ "disableSessionStickiness": true })).await;
    let free = running(json!({ "disableSessionStickiness": true }));
    team.combo("outer", "least-used", json!(["inner", "groq/m1"]), free).await;
    assert_eq!(counted(&team.served("outer", 8).await), [2, 2, 4]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn auto_within_another_combo_leaves_out_who_fails_three_times_in_a_row() {
    let auto = json!({ "routerStrategy": "cost", "explorationRate": 0 });
    let more = json!({ "disableSessionStickiness": true, "autoConfig": auto });
    let team = team_of("auto", json!(["openai/gpt-5-nano", "anthropic/claude-fable-5-1"]), more).await;
    let dear = team.world.connect("anthropic", "dear").await;
    team.world.script(&dear).then(Step::ok("from 1"));
    let free = running(json!({ "disableSessionStickiness": true }));
    team.combo("outer", "priority", json!(["inner", "groq/m1"]), free).await;
    let out = async || {
        let told = team.world.managed(Method::GET, "/api/resilience/explain?model=outer", None).await;
        let targets = told["targets"].as_array().expect("targets").clone();
        let is_out = |target: &&Value| target["exclusion"]["reason"] == "self_healing";
        let out: Vec<Value> = targets.iter().filter(is_out).map(|target| target["provider"].clone()).collect();
        out
    };
    team.fails(0, 500);
    assert_eq!(team.served("outer", 3).await, [1; 3]);
    assert_eq!((team.calls(), out().await), ([3, 0, 0], vec![json!("openai")]));
    assert_eq!((team.served("outer", 1).await, team.calls()), (vec![1], [3, 0, 0]), "it is not asked any more");
    team.recovers(0);
    team.world.advance(Millis::minutes(5));
    assert_eq!(team.served("outer", 2).await, [0, 0], "and given its chance later");
    team.world.check_invariants().await;
}

/// The last call that an account got, as text.
fn last_call(team: &Team, account: usize) -> String {
    team.world.calls(&team.accounts[account]).last().expect("a call").json().to_string()
}

#[tokio::test]
async fn a_combo_in_a_panel_answers_by_its_own_order_however_many_of_its_targets_fail() {
    let team = team("priority", json!({})).await;
    let fusion = running(json!({ "fusion": { "judgeModel": "groq/m1" } }));
    team.combo("outer", "fusion", json!(["inner", "groq/m1"]), fusion).await;
    team.fails(0, 500);
    assert_eq!(who(&team.ask("outer").await), 2);
    assert_eq!(team.calls(), [1, 1, 2], "the second of the combo within spoke for it");
    assert!(last_call(&team, 2).contains("from 1"), "and the judge has read it");
    team.fails(1, 500);
    assert_eq!((who(&team.ask("outer").await), team.calls()), (2, [2, 2, 4]), "a combo of which all fail says nothing");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_that_judges_a_panel_writes_by_its_own_order() {
    let team = team("priority", json!({})).await;
    team.combo("outer", "fusion", json!(["inner", "groq/m1"]), running(json!({}))).await;
    team.fails(0, 500);
    assert_eq!((who(&team.ask("outer").await), team.calls()), (1, [2, 2, 1]));
    assert!(last_call(&team, 1).contains("from 2"));
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_in_a_chain_hands_on_what_any_of_its_targets_wrote() {
    let team = team("round-robin", json!({})).await;
    team.combo("outer", "pipeline", json!(["inner", "groq/m1"]), running(json!({}))).await;
    assert_eq!((who(&team.ask("outer").await), team.calls()), (2, [1, 0, 1]));
    assert_eq!((who(&team.ask("outer").await), team.calls()), (2, [1, 1, 2]), "its turn was taken");
    team.fails(0, 500);
    assert_eq!((who(&team.ask("outer").await), team.calls()), (2, [2, 2, 3]));
    assert!(last_call(&team, 2).contains("from 1"));
    team.combo("turned", "pipeline", json!(["groq/m1", "inner"]), running(json!({}))).await;
    assert_eq!((who(&team.ask("turned").await), team.calls()), (1, [2, 3, 4]), "the last link streams what it has");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_panel_within_a_list_is_one_step_of_it() {
    let team = team("fusion", json!({})).await;
    team.combo("outer", "priority", json!(["inner", "groq/m1"]), running(json!({}))).await;
    assert_eq!((who(&team.ask("outer").await), team.calls()), (0, [2, 1, 0]), "both, then the judge");
    assert!(last_call(&team, 0).contains("[Answer B]"));
    team.fails(0, 500);
    team.fails(1, 500);
    assert_eq!((who(&team.ask("outer").await), team.calls()), (2, [3, 2, 1]), "when it fails, what stands behind it");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_within_repeats_as_often_as_it_says_itself() {
    let own = json!({ "failoverBeforeRetry": false, "maxRetries": 2, "retryDelayMs": 0 });
    let team = team("priority", own).await;
    team.combo("outer", "priority", json!(["inner", "groq/m1"]), running(json!({}))).await;
    team.fails(0, 500);
    assert_eq!((who(&team.ask("outer").await), team.calls()), (1, [3, 1, 0]));
    team.combo("flat", "priority", json!(["inner", "groq/m1"]), json!({ "maxRetries": 0 })).await;
    assert_eq!(
        (who(&team.ask("flat").await), team.calls()),
        (1, [4, 2, 0]),
        "steps in place go by the outer one's word"
    );
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_within_that_takes_turns_has_its_own_places() {
    let team = team("round-robin", json!({ "concurrencyPerModel": 1 })).await;
    team.combo("outer", "priority", json!(["inner", "groq/m1"]), running(json!({}))).await;
    let gate = Gate::closed();
    for (n, account) in team.accounts.iter().enumerate() {
        team.world.script(account).then(Step::ok(format!("from {n}")).held(&gate)).cycle();
    }
    let mut asking = Vec::new();
    for n in 0..3 {
        let agent = team.world.agent();
        asking.push(tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("outer", false)).await }));
        team.world.wait_for_calls(&team.accounts[n], 1).await;
    }
    gate.open();
    for asking in asking {
        assert_eq!(asking.await.expect("an answer").status, 200);
    }
    assert_eq!(team.calls(), [1, 1, 1], "the third found both places taken");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn whose_quota_runs_out_is_a_matter_of_the_combo_within() {
    for (strategy, serves) in [("auto", "claude"), ("priority", "groq")] {
        let team = team_of(strategy, json!(["claude/m1"]), json!({})).await;
        telling(&team, "known", 0.97, 3_600).await;
        team.combo("outer", "priority", json!(["inner", "groq/m1"]), running(json!({}))).await;
        assert_eq!(team.ask("outer").await.header("x-omniroute-provider"), Some("claude"), "nobody knows of it yet");
        let quota = json!({ "quotaPreflight": { "enabled": true, "defaultThresholdPercent": 5 } });
        team.world.resilience(quota).await;
        assert_eq!(team.ask("outer").await.header("x-omniroute-provider"), Some(serves), "{strategy}");
        team.world.check_invariants().await;
    }
}
