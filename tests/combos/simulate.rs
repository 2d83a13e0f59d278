//! What routing would do, through the whole gateway: explained, previewed, drawn, replayed, tried (gateway specification,
//! 6.1).

use std::collections::BTreeMap;

use domain::{Dialect, Millis};
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

use crate::team::{PROVIDERS, Team, models};

async fn simulated(team: &Team, body: Value) -> Value {
    team.world.managed(Method::POST, "/api/routing/simulate", Some(body)).await
}

/// A combo of one model whose provider is out for half an hour within an hour of a request a minute.
async fn incident() -> Team {
    let team = Team::start().await;
    team.combo("team", "priority", json!(["openai/m1"]), json!({ "maxRetries": 0 })).await;
    team.world.resilience(json!({ "comboCooldownWait": { "enabled": false } })).await;
    for minute in 0..60 {
        match minute {
            10 => team.fails(0, 503),
            40 => team.recovers(0),
            _ => {}
        }
        team.ask("team").await;
        team.world.advance(Millis::minutes(1));
    }
    team.world.wait_for_rows(60).await;
    team
}

#[tokio::test]
async fn an_incident_replayed_with_a_second_target_shows_fewer_failures() {
    let team = incident().await;
    let calls = team.calls();
    let body = json!({
        "mode": "replay", "hours": 2, "combo": "team", "seed": 3,
        "change": { "combo": { "models": ["openai/m1", "deepseek/m1"] } },
    });
    let told = simulated(&team, body.clone()).await;
    assert_eq!(told["requests"], 60);
    let failures = |run: &str| told[run]["failuresSeenByClient"].as_u64().expect("a count");
    let rows = team.world.requests().await;
    let recorded = rows.iter().filter(|row| row["outcome"] == "failure").count() as u64;
    assert_eq!(failures("before"), recorded, "the same core makes of the same past the same: {told}");
    assert_eq!(failures("after"), 0, "{told}");
    assert!(told["after"]["switches"].as_u64() > Some(0), "{told}");
    assert_eq!(told, simulated(&team, body).await, "equal seed, equal answer");
    assert_eq!(team.calls(), calls, "nothing was sent");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_replay_of_what_was_comes_to_the_figures_that_were_recorded() {
    let team = Team::start().await;
    let anthropic = team.world.connect("anthropic", "d").await;
    let steps = json!(["openai/gpt-5-nano", "anthropic/claude-fable-5-1"]);
    team.combo("priced", "priority", steps, json!({ "maxRetries": 0, "disableSessionStickiness": true })).await;
    for minute in 0..40 {
        match minute {
            8 => team.fails(0, 503),
            20 => drop(team.world.script(&anthropic).then(Step::error(503, "it does not work"))),
            24 => drop(team.world.script(&anthropic).then(Step::ok("fine again"))),
            30 => team.recovers(0),
            _ => {}
        }
        team.ask("priced").await;
        team.world.advance(Millis::minutes(1));
    }
    let rows = team.world.wait_for_rows(40).await;
    let body = json!({ "mode": "replay", "hours": 2, "combo": "priced", "seed": 1, "change": {} });
    let told = simulated(&team, body).await;
    let sum = |name: &str| rows.iter().filter_map(|row| row[name].as_f64()).sum::<f64>();
    let failures = rows.iter().filter(|row| row["outcome"] == "failure").count();
    let mut switches = 0;
    for row in &rows {
        let path = format!("/api/requests/{}", row["id"].as_str().expect("an id"));
        let story = team.world.managed(Method::GET, &path, None).await;
        let attempts = story["trace"]["attempts"].as_array().expect("attempts").clone();
        switches += attempts.windows(2).filter(|two| two[0]["connectionId"] != two[1]["connectionId"]).count();
    }
    assert!(failures > 0 && switches > 0 && sum("cost") > 0.0, "{told}");
    assert_eq!(told["before"], told["after"], "nothing was changed");
    let before = &told["before"];
    assert_eq!((&told["requests"], &before["failuresSeenByClient"]), (&json!(40), &json!(failures)), "{told}");
    assert_eq!(before["dispatches"].as_f64(), Some(sum("attempts")), "{told}");
    assert_eq!((&before["switches"], &before["waits"]), (&json!(switches), &json!(0)), "{told}");
    let cost = before["cost"].as_f64().expect("a sum");
    assert!((cost - sum("cost")).abs() < 1e-9, "{cost} of {}: {told}", sum("cost"));
    team.world.check_invariants().await;
}

#[tokio::test]
async fn choices_of_a_weighted_combo_follow_its_weights_and_leave_every_turn_where_it_was() {
    let team = Team::start().await;
    let weighed = |n: usize, weight: u32| json!({ "model": format!("{}/m1", PROVIDERS[n]), "weight": weight });
    team.combo("team", "weighted", json!([weighed(0, 70), weighed(1, 30), weighed(2, 0)]), json!({})).await;
    let body = json!({ "mode": "selections", "model": "team", "runs": 10_000, "seed": 5 });
    let told = simulated(&team, body.clone()).await;
    let bars = told["histogram"].as_array().expect("a histogram").iter();
    let first: BTreeMap<&str, u64> =
        bars.filter_map(|bar| Some((bar["provider"].as_str()?, bar["first"].as_u64()?))).collect();
    assert!((6_800..=7_200).contains(&first[PROVIDERS[0]]) && (2_800..=3_200).contains(&first[PROVIDERS[1]]), "{told}");
    assert_eq!((first.len(), &told["exhausted"]), (2, &json!(0)));
    assert_eq!(told, simulated(&team, body).await, "equal seed, equal answer");
    team.combo("turns", "round-robin", models(), json!({})).await;
    assert_eq!(team.served("turns", 1).await, [0]);
    let turns = simulated(&team, json!({ "mode": "selections", "model": "turns", "runs": 31, "seed": 5 })).await;
    let counts: Vec<u64> =
        turns["histogram"].as_array().expect("bars").iter().filter_map(|it| it["first"].as_u64()).collect();
    assert_eq!(counts, [11, 10, 10]);
    assert_eq!(team.served("turns", 2).await, [1, 2], "nobody's turn was taken");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_is_explained_and_previewed_is_what_happens() {
    let team = Team::start().await;
    let combo = team.combo("team", "priority", models(), json!({ "maxRetries": 0 })).await;
    team.fails(0, 503);
    assert_eq!(team.served("team", 1).await, [1]);
    let told = team.world.managed(Method::GET, "/api/resilience/explain?model=team", None).await;
    let order = |targets: &Value| -> Vec<(String, bool)> {
        let targets = targets.as_array().expect("targets").iter();
        targets.map(|it| (it["provider"].as_str().unwrap_or_default().to_owned(), it["available"] == true)).collect()
    };
    let expected = [(1, true), (2, true), (0, false)].map(|(n, available)| (PROVIDERS[n].to_owned(), available));
    assert_eq!(order(&told["targets"]), expected);
    assert_eq!(told["targets"][2]["exclusion"]["mechanism"], "connection_cooldown");
    let draft = json!({ "combo": { "id": combo["id"], "models": [format!("{}/m1", PROVIDERS[0])] } });
    let shown = team.world.managed(Method::POST, "/api/combos/preview", Some(draft)).await;
    let reply = team.combo("alone", "priority", json!([format!("{}/m1", PROVIDERS[0])]), json!({})).await;
    assert!(reply.is_object());
    team.world.resilience(json!({ "comboCooldownWait": { "enabled": false } })).await;
    assert_eq!(team.ask("alone").await.status, shown["answer"]["status"].as_u64().unwrap_or(0) as u16, "{shown}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_trial_asks_every_target_also_who_rests_and_changes_no_health() {
    let team = Team::start().await;
    let combo = team.three("priority").await;
    team.fails(0, 503);
    assert_eq!(team.served("team", 1).await, [1]);
    let before = team.world.cooling(&team.accounts[0]);
    assert!(before.is_some());
    let path = format!("/api/combos/{}/test", combo["id"].as_str().expect("an id"));
    let tried = team.world.managed(Method::POST, &path, Some(json!({}))).await;
    let results = tried["results"].as_array().expect("results");
    let well: Vec<bool> = results.iter().map(|result| result["ok"] == true).collect();
    assert_eq!(results.len(), 3);
    assert!(!well[0], "{tried}");
    assert_eq!(results[0]["connectionId"], team.accounts[0].id.as_str());
    assert_eq!(team.world.cooling(&team.accounts[0]), before);
    let told = team.world.managed(Method::GET, "/api/combos/metrics", None).await;
    let metrics = &told["combos"][0];
    assert_eq!((&metrics["name"], &metrics["requests"], &metrics["successes"]), (&json!("team"), &json!(1), &json!(1)));
    team.world.check_invariants().await;
}

#[tokio::test]
async fn accounts_take_turns_in_a_replay_as_the_settings_say() {
    let team = Team::start().await;
    let second = team.world.connect("openai", "second").await;
    for account in [&team.accounts[0], &second] {
        let specific = json!({ "disableCooling": true, "baseUrl": team.world.upstream.base_url(Dialect::Chat) });
        team.world.change(account, json!({ "providerSpecificData": specific })).await;
    }
    team.world.resilience(json!({ "providerBreaker": { "apikey": { "failureThreshold": 1_000 } } })).await;
    team.world.script(&second).then(Step::error(500, "it does not work"));
    let strategy = |strategy: &str| json!({ "routing": { "accountStrategy": { "openai": strategy } } });
    team.world.set(strategy("round-robin")).await;
    let config = json!({ "maxRetries": 0, "disableSessionStickiness": true });
    team.combo("team", "priority", json!(["openai/m1"]), config).await;
    for _ in 0..10 {
        assert_eq!(team.ask("team").await.status, 200);
        team.world.advance(Millis::minutes(1));
    }
    team.world.wait_for_rows(10).await;
    assert_eq!((team.calls()[0], team.world.calls(&second).len()), (10, 5));
    let change = json!({ "settings": strategy("priority") });
    let body = json!({ "mode": "replay", "hours": 2, "combo": "team", "seed": 3, "change": change });
    let told = simulated(&team, body.clone()).await;
    let figures = |run: &str| (told[run]["dispatches"].clone(), told[run]["switches"].clone());
    assert_eq!(figures("before"), (json!(15), json!(5)), "as it was: {told}");
    assert_eq!(figures("after"), (json!(10), json!(0)), "always the first: {told}");
    assert_eq!(told, simulated(&team, body).await, "equal seed, equal answer");
    team.world.check_invariants().await;
}
