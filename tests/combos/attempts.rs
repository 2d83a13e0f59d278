//! As many attempts as a request may make, whatever stands inside each other and side by side (gateway specification, 3.2,
//! 3.4, 3.8 and 3.9).

use std::collections::BTreeSet;

use fake_upstream::Step;
use serde_json::{Value, json};

use crate::team::{Team, who};

/// A team whose accounts never rest.
async fn restless() -> Team {
    let team = Team::start().await;
    for account in &team.accounts {
        team.world.change(account, json!({ "providerSpecificData": { "disableCooling": true } })).await;
    }
    team
}

/// So many models of the first provider.
fn many(from: usize, to: usize) -> Value {
    (from..to).map(|n| format!("openai/m{n}")).collect()
}

/// Every attempt in the row has its number, from one up.
fn assert_numbered(row: &Value) {
    let attempts = row["trace"]["attempts"].as_array().expect("attempts");
    let numbers: Vec<u64> = attempts.iter().map(|attempt| attempt["n"].as_u64().expect("a number")).collect();
    assert_eq!(numbers, (1..=attempts.len() as u64).collect::<Vec<_>>(), "{row}");
}

/// Who was left out for this reason.
fn left_out(row: &Value, reason: &str) -> BTreeSet<String> {
    let all = row["trace"]["exclusions"].as_array().expect("exclusions");
    let of = all.iter().filter(|exclusion| exclusion["reason"] == reason);
    of.map(|exclusion| exclusion["model"].as_str().expect("a model").to_owned()).collect()
}

fn named(from: usize, to: usize) -> BTreeSet<String> {
    (from..to).map(|n| format!("m{n}")).collect()
}

#[tokio::test]
async fn a_panel_has_twenty_six_seats_and_says_who_got_none() {
    let team = restless().await;
    team.combo("team", "fusion", many(0, 30), json!({})).await;
    let reply = team.ask("team").await;
    assert_eq!(who(&reply), 0);
    assert_eq!(team.calls(), [27, 0, 0], "26 members and a judge");
    let judged = team.world.calls(&team.accounts[0]).last().expect("the judge").json().to_string();
    assert!(judged.contains("[Answer Z]"), "{judged}");
    let row = team.world.last_request().await;
    assert_eq!(left_out(&row, "panel_full"), named(26, 30), "{row}");
    assert_numbered(&row);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn members_that_fail_leave_the_judge_an_attempt() {
    let team = restless().await;
    team.combo("team", "fusion", many(0, 26), json!({ "maxRetries": 3, "retryDelayMs": 0 })).await;
    for model in 1..26 {
        team.world.script_model(&team.accounts[0], &format!("m{model}")).then(Step::error(500, "it does not work"));
    }
    team.world.script_model(&team.accounts[0], "m0").then(Step::ok("from 0"));
    team.world.script_model(&team.accounts[0], "m25").then(Step::ok("from 0"));
    assert_eq!(who(&team.ask("team").await), 0);
    assert_eq!(team.calls(), [30, 0, 0], "26 members, three of them once more, and the judge");
    assert_numbered(&team.world.last_request().await);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn panels_within_a_panel_share_one_budget_and_say_who_was_not_asked() {
    let team = restless().await;
    team.combo("a", "fusion", many(0, 20), json!({ "maxRetries": 0 })).await;
    team.combo("b", "fusion", many(20, 40), json!({ "maxRetries": 0 })).await;
    let config = json!({ "nestedMode": "execute", "fusion": { "judgeModel": "deepseek/m1" } });
    team.combo("team", "fusion", json!(["a", "b"]), config).await;
    let reply = team.ask("team").await;
    assert_eq!(who(&reply), 1);
    assert_eq!(team.calls(), [29, 1, 0]);
    let row = team.world.last_request().await;
    assert_eq!(row["attempts"], 30, "{row}");
    assert_numbered(&row);
    // Each of the three judges has an attempt.
    assert_eq!(reply.header("x-omniroute-warnings"), None, "{row}");
    assert_eq!(left_out(&row, "max_attempts"), named(27, 40), "{row}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn when_nobody_of_a_panel_answers_within_the_attempts_that_is_the_answer() {
    let team = restless().await;
    team.combo("team", "fusion", many(0, 26), json!({ "maxRetries": 3, "retryDelayMs": 0 })).await;
    team.fails(0, 500);
    let reply = team.ask("team").await;
    assert_eq!(
        (reply.status.as_u16(), &reply.json()["error"]["code"]),
        (503, &json!("MAX_ATTEMPTS")),
        "{}",
        reply.text()
    );
    assert_eq!(team.calls(), [29, 0, 0], "what was the judge's is nobody else's");
    assert_numbered(&team.world.last_request().await);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_a_panel_left_to_its_judge_is_for_whoever_stands_behind_it() {
    let team = restless().await;
    team.combo("panel", "fusion", many(0, 26), json!({ "maxRetries": 3, "retryDelayMs": 0 })).await;
    team.fails(0, 500);
    team.combo("team", "priority", json!(["panel", "deepseek/m1", "groq/m1"]), json!({ "nestedMode": "execute" }))
        .await;
    assert_eq!(who(&team.ask("team").await), 1);
    assert_eq!(team.calls(), [29, 1, 0]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_panel_that_the_list_before_it_left_nothing_is_named_with_its_members() {
    let team = restless().await;
    team.combo("panel", "fusion", json!(["deepseek/m50", "groq/m51"]), json!({})).await;
    let mut steps = many(0, 35);
    steps.as_array_mut().expect("a list").push(json!("panel"));
    team.combo("team", "priority", steps, json!({ "maxRetries": 0, "nestedMode": "execute" })).await;
    for model in 0..35 {
        let refusal = Step::error(400, format!("odd thing {model}"));
        team.world.script_model(&team.accounts[0], &format!("m{model}")).then(refusal);
    }
    assert_eq!(team.ask("team").await.status, 503);
    let row = team.world.last_request().await;
    let named: BTreeSet<_> = named(30, 35).union(&named(50, 52)).cloned().collect();
    assert_eq!((team.calls(), left_out(&row, "max_attempts")), ([30, 0, 0], named), "{row}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn the_links_of_a_chain_share_one_budget() {
    let team = restless().await;
    team.combo("link", "priority", many(0, 29), json!({ "maxRetries": 0 })).await;
    for model in 0..28 {
        let refusal = Step::error(400, format!("odd thing {model}"));
        team.world.script_model(&team.accounts[0], &format!("m{model}")).then(refusal);
    }
    let steps = json!(["link", "deepseek/m1", "groq/m1"]);
    team.combo("team", "pipeline", steps, json!({ "nestedMode": "execute" })).await;
    let reply = team.ask("team").await;
    assert_eq!(
        (reply.status.as_u16(), &reply.json()["error"]["code"]),
        (503, &json!("MAX_ATTEMPTS")),
        "{}",
        reply.text()
    );
    assert_eq!(team.calls(), [29, 1, 0], "nothing is left for the last link");
    let row = team.world.last_request().await;
    assert_eq!(left_out(&row, "max_attempts"), named(1, 2), "{row}");
    assert_numbered(&row);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_list_says_who_was_not_asked_any_more() {
    let team = restless().await;
    team.combo("team", "priority", many(0, 40), json!({ "maxRetries": 0 })).await;
    for model in 0..40 {
        let refusal = Step::error(400, format!("odd thing {model}"));
        team.world.script_model(&team.accounts[0], &format!("m{model}")).then(refusal);
    }
    let reply = team.ask("team").await;
    assert_eq!(
        (reply.status.as_u16(), &reply.json()["error"]["code"]),
        (503, &json!("MAX_ATTEMPTS")),
        "{}",
        reply.text()
    );
    let row = team.world.last_request().await;
    assert_eq!((team.calls(), left_out(&row, "max_attempts")), ([30, 0, 0], named(30, 40)), "{row}");
    team.world.check_invariants().await;
}
