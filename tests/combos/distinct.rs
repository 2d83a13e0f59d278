//! What a strategy does that none of its neighbours would (gateway specification, 3.4 and 5.3).

use acceptance::Connection;
use domain::Millis;
use fake_upstream::Step;
use serde_json::json;

use crate::strategies::{counted, json_headers, used};
use crate::team::{Team, models, who};

#[tokio::test]
async fn filling_first_uses_one_account_up_where_priority_lets_them_take_turns() {
    let team = Team::start().await;
    let second = team.world.connect("openai", "second").await;
    team.world.script(&second).then(Step::ok("from 0, the second"));
    team.world.set(json!({ "routing": { "accountStrategy": { "openai": "round-robin" } } })).await;
    for strategy in ["priority", "fill-first"] {
        let config = json!({ "maxRetries": 0, "disableSessionStickiness": true });
        team.combo(strategy, strategy, json!(["openai/m1", "deepseek/m1"]), config).await;
    }
    let calls = || (team.calls()[0], team.world.calls(&second).len());
    assert_eq!(team.served("priority", 6).await, [0; 6]);
    assert_eq!(calls(), (3, 3));
    assert_eq!(team.served("fill-first", 6).await, [0; 6]);
    assert_eq!(calls(), (9, 3), "the first account alone");
    let limited = Step::error(429, "slow down").with_header("retry-after", "60");
    team.world.script(&team.accounts[0]).then(limited).then(Step::ok("from 0"));
    assert_eq!(team.served("fill-first", 3).await, [0; 3]);
    assert_eq!(calls(), (10, 6), "the second while the first cannot");
    team.world.advance(Millis::seconds(60));
    assert_eq!(team.served("fill-first", 2).await, [0; 2]);
    assert_eq!(calls(), (12, 6), "and the first again");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn of_two_that_are_drawn_the_better_one_serves_so_the_worst_is_never_first_and_the_others_share() {
    let team = Team::start().await;
    team.three("p2c").await;
    team.world.script(&team.accounts[0]).then(Step::error(400, "an odd thing"));
    for name in ["openai/m1", "deepseek/m1", "groq/m1"].into_iter().cycle().take(9) {
        team.ask(name).await;
    }
    let before = team.calls();
    let counts = counted(&team.served("team", 40).await);
    assert_eq!(team.calls()[0], before[0], "chance alone would have asked it");
    assert!(counts[1] > 1 && counts[2] > 1, "an order alone would have asked one of them: {counts:?}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn whoever_was_used_least_catches_up_before_anybody_else_is_asked_also_after_a_restart() {
    let mut team = Team::start().await;
    team.three("least-used").await;
    for account in &team.accounts[1..] {
        team.world.change(account, json!({ "isActive": false })).await;
    }
    assert_eq!(team.served("team", 6).await, [0; 6]);
    for account in &team.accounts[1..] {
        team.world.change(account, json!({ "isActive": true })).await;
    }
    assert_eq!(team.served("team", 4).await, [1, 2, 1, 2], "turns would have come round to the first");
    team.world.restart().await;
    assert_eq!(team.served("team", 8).await, [1, 2, 1, 2, 1, 2, 1, 2]);
    assert_eq!(counted(&team.served("team", 3).await), [1, 1, 1], "now they are level");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_was_used_long_ago_counts_less_and_less() {
    let team = Team::start().await;
    team.three("least-used").await;
    for account in &team.accounts[1..] {
        team.world.change(account, json!({ "isActive": false })).await;
    }
    assert_eq!(team.served("team", 6).await, [0; 6]);
    team.world.change(&team.accounts[1], json!({ "isActive": true })).await;
    // After twelve hours six requests count as 0.8.
    team.world.advance(Millis::hours(12));
    assert_eq!(team.served("team", 2).await, [1, 0]);
    team.world.check_invariants().await;
}

/// An account of a subscription that says how much of its windows is used, once it was asked.
pub(crate) async fn telling(team: &Team, name: &str, share: f64, resets_in: u64) -> Connection {
    let account = team.world.connect("claude", name).await;
    let answer = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m1",
        "content": [{ "type": "text", "text": "from 1" }],
        "stop_reason": "end_turn", "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let mut step = Step::raw(200, json_headers(), answer.to_string());
    for (header, value) in used(share, share, resets_in, team.world.now().as_millis()) {
        step = step.with_header(header, &value);
    }
    team.world.script(&account).then(step);
    account
}

/// Has the account say it.
async fn tells(team: &Team, account: &Connection) {
    let steps = json!([{ "model": "claude/m1", "connectionId": account.id }]);
    team.combo(&account.name, "priority", steps, json!({})).await;
    assert_eq!(team.ask(&account.name).await.status, 200);
}

#[tokio::test]
async fn an_account_that_never_said_anything_counts_as_unknown_and_not_as_empty_or_full() {
    // OF-08
    for (strategy, share, is_first, known_serves) in [
        ("headroom", 0.2, true, false),
        ("headroom", 0.9, true, false),
        ("reset-aware", 0.2, true, false),
        ("reset-aware", 0.8, false, true),
        ("reset-window", 0.2, false, true),
        ("reset-window", 0.9, false, true),
    ] {
        let team = Team::start().await;
        let (known, unknown);
        if is_first {
            known = telling(&team, "known", share, 3_600).await;
            unknown = team.world.connect("claude", "unknown").await;
        } else {
            unknown = team.world.connect("claude", "unknown").await;
            known = telling(&team, "known", share, 3_600).await;
        }
        tells(&team, &known).await;
        let quota = json!({ "quotaPreflight": { "enabled": true, "defaultThresholdPercent": 5 } });
        team.world.resilience(quota).await;
        team.combo("team", strategy, json!(["claude/m1"]), json!({ "disableSessionStickiness": true })).await;
        let reply = team.ask("team").await;
        assert_eq!(reply.status, 200, "{strategy} {share}: {}", reply.text());
        let expected = if known_serves { &known } else { &unknown };
        let served = reply.header("x-omniroute-selected-connection-id");
        assert_eq!(served, Some(expected.id.as_str()), "{strategy} {share}");
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn an_account_that_is_nearly_used_up_is_left_out_by_the_preflight_and_an_unknown_one_is_not() {
    let team = Team::start().await;
    let known = telling(&team, "known", 0.97, 3_600).await;
    let unknown = team.world.connect("claude", "unknown").await;
    tells(&team, &known).await;
    team.combo("team", "priority", json!(["claude/m1"]), json!({})).await;
    let serves = async || {
        let reply = team.ask("team").await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.header("x-omniroute-selected-connection-id").expect("an account").to_owned()
    };
    assert_eq!(serves().await, known.id);
    let quota = json!({ "quotaPreflight": { "enabled": true, "defaultThresholdPercent": 5 } });
    team.world.resilience(quota).await;
    assert_eq!(serves().await, unknown.id);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_conversation_stays_where_it_was_for_a_quarter_of_an_hour_and_while_that_can_serve() {
    let team = Team::start().await;
    team.combo("team", "least-used", models(), json!({ "maxRetries": 0 })).await;
    assert_eq!(team.served("team", 2).await, [0, 0]);
    team.world.advance(Millis::minutes(14));
    assert_eq!(team.served("team", 1).await, [0], "each request begins the quarter anew");
    team.world.advance(Millis::minutes(14));
    assert_eq!(team.served("team", 1).await, [0]);
    team.world.advance(Millis::minutes(15));
    assert_eq!(team.served("team", 2).await, [1, 1]);
    team.fails(1, 503);
    assert_eq!(team.served("team", 1).await, [2]);
    team.recovers(1);
    team.world.reset(&team.accounts[1]).await;
    assert_eq!(team.served("team", 2).await, [2, 2], "it moved, and stays where it is now");
    for strategy in ["round-robin", "strict-random"] {
        team.combo(strategy, strategy, models(), json!({})).await;
        assert_eq!(counted(&team.served(strategy, 3).await), [1, 1, 1], "{strategy} keeps no conversation");
    }
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_all_combos_do_gives_way_to_a_provider_s_word_and_that_to_the_combo_s_own() {
    let team = Team::start().await;
    let one_provider = json!(["deepseek/m1", "deepseek/m2"]);
    let own = json!({ "disableSessionStickiness": true });
    team.combo("all", "least-used", models(), json!({})).await;
    team.combo("own", "least-used", models(), json!({ "disableSessionStickiness": false })).await;
    team.combo("one", "least-used", one_provider.clone(), json!({})).await;
    team.combo("one-own", "least-used", one_provider, own.clone()).await;
    let of_provider = json!({ "deepseek": { "disableSessionStickiness": false } });
    team.world.set(json!({ "comboDefaults": own, "providerOverrides": of_provider })).await;
    let models_of = async |name: &str| {
        let mut models = Vec::new();
        for _ in 0..2 {
            models.push(team.ask(name).await.header("x-omniroute-model").expect("a model").to_owned());
        }
        models
    };
    assert_eq!(counted(&team.served("all", 3).await), [1, 1, 1], "the setting of all combos");
    assert_eq!(team.served("own", 3).await, [0, 0, 0], "the combo's own");
    assert_eq!(models_of("one").await, ["m1", "m1"], "the provider's");
    assert_eq!(models_of("one-own").await, ["m1", "m2"], "the combo's own before the provider's");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_inside_another_is_its_steps_or_one_target_that_chooses_by_itself() {
    let team = Team::start().await;
    team.combo("inner", "round-robin", json!(["openai/m1", "deepseek/m1"]), json!({ "maxRetries": 0 })).await;
    let steps = json!(["inner", "groq/m1"]);
    for (mode, expected) in [("flatten", [0, 0, 0, 0]), ("execute", [0, 1, 0, 1])] {
        team.combo(mode, "priority", steps.clone(), json!({ "nestedMode": mode, "maxRetries": 0 })).await;
        assert_eq!(team.served(mode, 4).await, expected, "{mode}");
    }
    team.fails(0, 500);
    team.fails(1, 500);
    assert_eq!(who(&team.ask("execute").await), 2, "when all of it failed, what stands behind it");
    let row = team.world.last_request().await;
    assert_eq!((&row["attempts"], &row["comboName"]), (&json!(3), &json!("execute")));
    team.world.check_invariants().await;
}
