//! Every strategy through the whole gateway: one scenario each (gateway specification, 3.4).

use acceptance::chat_body;
use domain::Millis;
use fake_upstream::{Gate, Step};
use http::Method;
use serde_json::json;

use crate::team::{PROVIDERS, Team, models, told, who};

pub(crate) fn counted(served: &[usize]) -> [usize; 3] {
    [0, 1, 2].map(|n| served.iter().filter(|who| **who == n).count())
}

#[tokio::test]
async fn in_the_order_of_the_list() {
    for strategy in ["priority", "fill-first", "context-relay"] {
        let team = Team::start().await;
        team.three(strategy).await;
        assert_eq!(team.served("team", 3).await, [0, 0, 0], "{strategy}");
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn by_weight() {
    let team = Team::start().await;
    let weighed = |n: usize, weight: u32| json!({ "model": format!("{}/m1", PROVIDERS[n]), "weight": weight });
    team.combo(
        "team",
        "weighted",
        json!([weighed(0, 75), weighed(1, 25), weighed(2, 0)]),
        json!({ "disableSessionStickiness": true }),
    )
    .await;
    let counts = counted(&team.served("team", 120).await);
    assert!(counts[0] > 60 && counts[1] > 12 && counts[2] == 0, "{counts:?}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn in_turn_also_when_all_come_at_once() {
    let team = Team::start().await;
    let room = json!({ "concurrencyPerModel": 32, "queueDepth": 100 });
    team.combo("team", "round-robin", models(), room).await;
    assert_eq!(team.served("team", 4).await, [0, 1, 2, 0]);
    let asking: Vec<_> = (0..96)
        .map(|_| {
            let agent = team.world.agent();
            tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("team", false)).await })
        })
        .collect();
    let mut served = Vec::new();
    for asking in asking {
        served.push(who(&asking.await.expect("an answer")));
    }
    let counts = counted(&served);
    assert_eq!(counts, [32; 3]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn by_chance() {
    for strategy in ["random", "p2c"] {
        let team = Team::start().await;
        team.three(strategy).await;
        let counts = counted(&team.served("team", 60).await);
        // Of two that are drawn the better known one is asked, so not everybody need come to it.
        let least = if strategy == "random" { 3 } else { 2 };
        assert!(counts.iter().filter(|count| **count > 3).count() >= least, "{strategy}: {counts:?}");
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn each_once_before_any_twice() {
    let team = Team::start().await;
    team.three("strict-random").await;
    let served = team.served("team", 9).await;
    for cycle in served.chunks(3) {
        assert_eq!(counted(cycle), [1, 1, 1], "{served:?}");
    }
    team.world.check_invariants().await;
}

#[tokio::test]
async fn the_least_used() {
    let team = Team::start().await;
    team.three("least-used").await;
    assert_eq!(counted(&team.served("team", 9).await), [3, 3, 3]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn the_cheapest_of_those_whose_price_is_known() {
    let team = Team::start().await;
    let anthropic = team.world.connect("anthropic", "d").await;
    for model in ["claude-opus-4-8", "claude-haiku-4-5-20251001"] {
        team.world.script_model(&anthropic, model).then(Step::ok(model));
    }
    let steps = json!(["openai/unknown", "anthropic/claude-opus-4-8", "anthropic/claude-haiku-4-5-20251001"]);
    team.combo("cheap", "cost-optimized", steps, json!({})).await;
    let reply = team.ask("cheap").await;
    assert_eq!(reply.header("x-omniroute-model"), Some("claude-haiku-4-5-20251001"), "{}", reply.text());
    team.world.check_invariants().await;
}

#[tokio::test]
async fn the_largest_window() {
    let team = Team::start().await;
    let gemini = team.world.connect("gemini", "d").await;
    team.world.script(&gemini).then(Step::ok("from the largest"));
    let steps = json!(["openai/unknown", "deepseek/deepseek-v4-pro", "gemini/gemini-3.1-pro-preview"]);
    team.combo("large", "context-optimized", steps, json!({})).await;
    let reply = team.ask("large").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-provider"), Some("gemini"), "{}", reply.text());
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_served_last() {
    let mut team = Team::start().await;
    team.combo("team", "lkgp", models(), json!({ "maxRetries": 0, "disableSessionStickiness": true })).await;
    team.fails(0, 500);
    assert_eq!(team.served("team", 1).await, [1]);
    team.recovers(0);
    team.world.reset(&team.accounts[0]).await;
    assert_eq!(team.served("team", 2).await, [1, 1], "it stays with what served");
    team.world.restart().await;
    assert_eq!(team.served("team", 1).await, [1], "also after a restart");
    team.world.check_invariants().await;
}

/// Utilisation of the five-hour and the weekly window as a subscription's replies announce it.
pub(crate) fn used(session: f64, weekly: f64, resets_in: u64, now: u64) -> Vec<(&'static str, String)> {
    let reset = (now / 1_000 + resets_in).to_string();
    vec![
        ("anthropic-ratelimit-unified-5h-utilization", session.to_string()),
        ("anthropic-ratelimit-unified-5h-reset", reset.clone()),
        ("anthropic-ratelimit-unified-7d-utilization", weekly.to_string()),
        ("anthropic-ratelimit-unified-7d-reset", reset),
    ]
}

pub(crate) fn json_headers() -> http::HeaderMap {
    http::HeaderMap::from_iter([(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"))])
}

#[tokio::test]
async fn by_what_replies_announce_of_quotas() {
    // OF-08
    for (strategy, expected) in [("headroom", 1), ("reset-aware", 0), ("reset-window", 0)] {
        let team = Team::start().await;
        let now = team.world.now().as_millis();
        let claude = [team.world.connect("claude", "x").await, team.world.connect("claude", "y").await];
        for (n, (account, (usage, resets_in))) in claude.iter().zip([(0.8, 3_600_u64), (0.2, 500_000)]).enumerate() {
            let answer = json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m1",
                "content": [{ "type": "text", "text": format!("from {n}") }],
                "stop_reason": "end_turn", "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
            });
            let mut step = Step::raw(200, json_headers(), answer.to_string());
            for (name, value) in used(usage, usage, resets_in, now) {
                step = step.with_header(name, &value);
            }
            team.world.script(account).then(step);
            // Whoever answers once has told.
            let steps = json!([{ "model": "claude/m1", "connectionId": account.id }]);
            team.combo(&format!("one{n}"), "priority", steps, json!({})).await;
            assert_eq!(who(&team.ask(&format!("one{n}")).await), n);
        }
        team.combo("team", strategy, json!(["claude/m1"]), json!({ "disableSessionStickiness": true })).await;
        assert_eq!(who(&team.ask("team").await), expected, "{strategy}");
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_conversation_keeps_its_account_when_another_one_joins() {
    let team = Team::start().await;
    let mut accounts = vec![team.accounts[0].clone()];
    for n in 0..3 {
        accounts.push(team.world.connect("openai", &format!("more {n}")).await);
    }
    for (n, account) in accounts.iter().enumerate() {
        team.world.script(account).then(Step::ok(format!("from {n} ")));
    }
    team.combo("team", "cache-optimized", json!(["openai/m1"]), json!({ "disableSessionStickiness": true })).await;
    let ask = |n: usize| {
        let agent = team.world.agent();
        async move {
            let body = json!({
                "model": "team", "prompt_cache_key": format!("conversation {n}"),
                "messages": [{ "role": "user", "content": "x" }],
            });
            let reply = agent.post("/v1/chat/completions", body.to_string()).await;
            reply.header("x-omniroute-selected-connection-id").expect("an account").to_owned()
        }
    };
    let mut before = Vec::new();
    for n in 0..96 {
        before.push(ask(n).await);
    }
    let fifth = team.world.connect("openai", "fifth").await;
    team.world.script(&fifth).then(Step::ok("from 4 "));
    let mut moved = 0;
    for (n, account) in before.iter().enumerate() {
        let after = ask(n).await;
        assert!(after == *account || after == fifth.id, "only to the new one");
        moved += usize::from(after != *account);
    }
    assert!((1..=48).contains(&moved), "{moved} of 96 moved");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn by_score_and_by_virtual_name() {
    let team = Team::start().await;
    team.combo("team", "auto", models(), json!({ "autoConfig": { "explorationRate": 0 } })).await;
    assert_eq!(team.ask("team").await.status, 200);
    let reply = team.ask("auto").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.header("x-omniroute-decision").is_some_and(|it| it.starts_with("strategy=auto; ")));
    let row = team.world.last_request().await;
    assert_eq!(row["comboName"], "auto");
    assert_eq!(team.ask("auto/no-such-family").await.status, 404);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_panel_is_asked_and_a_judge_writes() {
    let team = Team::start().await;
    let config = json!({ "fusion": { "judgeModel": "openai/judge" } });
    team.combo("team", "fusion", models(), config).await;
    team.world.script_model(&team.accounts[0], "judge").then(Step::ok("the judge's answer"));
    let reply = team.ask("team").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.text().contains("the judge's answer"), "{}", reply.text());
    let calls = team.world.calls(&team.accounts[0]);
    let asked = calls.iter().find(|call| call.model.as_deref() == Some("judge")).expect("the judge was asked");
    let text = asked.json().to_string();
    for said in ["[Answer A]", "[Answer B]", "from 1"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("deepseek"), "names say nothing to the judge: {text}");
    let row = team.world.last_request().await;
    assert!(row["attempts"].as_u64() >= Some(3), "{row}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_panel_with_one_answer_and_one_with_none() {
    let team = Team::start().await;
    team.combo("team", "fusion", models(), json!({ "maxRetries": 0, "fusion": { "judgeModel": "groq/judge" } })).await;
    team.fails(0, 500);
    team.fails(1, 500);
    team.world.script_model(&team.accounts[2], "m1").then(Step::error(500, "down"));
    let reply = team.ask("team").await;
    assert!(reply.status.is_server_error(), "{}", reply.text());
    assert!(team.world.calls(&team.accounts[2]).iter().all(|call| call.model.as_deref() != Some("judge")));
    team.world.check_invariants().await;
}

#[tokio::test]
async fn each_step_works_on_what_the_step_before_wrote() {
    let team = Team::start().await;
    let steps = json!([
        { "model": "openai/m1", "prompt": "Draft a plan." },
        { "model": "deepseek/m1", "prompt": "Improve the plan." },
        { "model": "groq/m1", "prompt": "Write it out." },
    ]);
    team.combo("team", "pipeline", steps, json!({})).await;
    let reply = team.world.agent().post("/v1/chat/completions", chat_body("team", true)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(told(&reply), "from 2");
    let sent = |n: usize| team.world.calls(&team.accounts[n])[0].json();
    assert!(sent(0)["stream"] != true && sent(0).to_string().contains("Draft a plan."));
    assert!(sent(1).to_string().contains("from 0") && sent(1).to_string().contains("Improve the plan."));
    assert!(sent(2).to_string().contains("from 1") && sent(2)["stream"] == true);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_is_known_of_success_and_speed_outlives_a_crash() {
    let mut team = Team::start().await;
    team.three("p2c").await;
    for answer in [Step::error(400, "an odd thing"), Step::ok("from 0"), Step::error(400, "an odd thing")] {
        team.world.script(&team.accounts[0]).then(answer);
        team.ask("openai/m1").await;
    }
    let gate = Gate::closed();
    team.world.script(&team.accounts[1]).then(Step::ok("from 1").held(&gate));
    let (agent, body) = (team.world.agent(), chat_body("deepseek/m1", false));
    let asking = tokio::spawn(async move { agent.post("/v1/chat/completions", body).await });
    team.world.wait_for_calls(&team.accounts[1], 1).await;
    team.world.advance(Millis::seconds(9));
    gate.open();
    assert_eq!(who(&asking.await.expect("an answer")), 1);
    let before = scores(&team).await;
    // One of three good and at once; always good and slow; unknown.
    let expected = [1.0 / 3.0 + 1.0, 1.0 + 1.0 / 9_010_f64.log10(), 0.75];
    assert!(before.iter().zip(expected).all(|(score, expected)| (score - expected).abs() < 1e-9), "{before:?}");
    team.world.crash().await;
    assert_eq!(scores(&team).await, before);
    team.world.advance(Millis::hours(25));
    team.world.restart().await;
    assert_eq!(scores(&team).await, [0.75; 3], "what is older than a day says nothing");
    team.world.check_invariants().await;
}

/// What `p2c` compares, in the order of the accounts.
async fn scores(team: &Team) -> [f64; 3] {
    let told = team.world.managed(Method::GET, "/api/resilience/explain?model=team", None).await;
    let targets = told["targets"].as_array().expect("targets");
    PROVIDERS.map(|provider| {
        let target = targets.iter().find(|target| target["provider"] == provider).expect("a target");
        target["score"].as_f64().expect("a score")
    })
}
