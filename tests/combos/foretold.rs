//! What is foretold is what happens: `GET /api/resilience/explain` and `POST /api/combos/preview` beside the answer that an
//! agent then gets (gateway specification, 6.1; resilience specification, 15.3 and 22; scenarios DG).

use acceptance::{Reply, chat_body};
use domain::{Millis, Timestamp};
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

use crate::team::{PROVIDERS, Team, models};

/// Strategies whose order depends on nothing but turns, chance and figures, so that it can be told exactly.
const RANKED: [&str; 15] = [
    "priority",
    "fill-first",
    "context-relay",
    "weighted",
    "round-robin",
    "p2c",
    "random",
    "strict-random",
    "least-used",
    "cost-optimized",
    "context-optimized",
    "reset-aware",
    "reset-window",
    "headroom",
    "auto",
];

/// An end without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct End {
    status: u16,
    code: String,
    /// `Retry-After`, seconds.
    wait: Option<u64>,
}

/// A target that is left out, and after how many seconds it may be back.
type LeftOut = (String, Option<u64>);

/// What one of the two surfaces says.
#[derive(Debug, PartialEq, Eq)]
struct Foretold {
    end: Option<End>,
    /// Target and account, in their order.
    order: Vec<(String, String)>,
    left_out: Vec<LeftOut>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn named(target: &Value) -> String {
    format!("{}/{}", text(&target["provider"]), text(&target["model"]))
}

/// Seconds that a header would say; only of what time alone ends.
fn seconds(exclusion: &Value) -> Option<u64> {
    exclusion["retryAfterMs"].as_u64().map(|millis| Millis::new(millis).as_retry_after_seconds())
}

fn foretold(said: &Value) -> Foretold {
    let end = said["answer"].is_object().then(|| End {
        status: said["answer"]["status"].as_u64().and_then(|status| u16::try_from(status).ok()).expect("a status"),
        code: text(&said["answer"]["code"]),
        wait: said["answer"]["retryAfterSeconds"].as_u64(),
    });
    let (asked, spared): (Vec<&Value>, Vec<&Value>) =
        said["targets"].as_array().expect("targets").iter().partition(|target| target["exclusion"].is_null());
    Foretold {
        end,
        order: asked.into_iter().map(|target| (named(target), text(&target["connectionId"]))).collect(),
        left_out: spared.into_iter().map(|target| (named(target), seconds(&target["exclusion"]))).collect(),
    }
}

async fn explained(team: &Team, query: &str) -> Foretold {
    foretold(&team.world.managed(Method::GET, &format!("/api/resilience/explain?model={query}"), None).await)
}

async fn previewed(team: &Team, combo: &Value, request: Value) -> Foretold {
    let body = json!({ "combo": combo["id"], "request": request });
    foretold(&team.world.managed(Method::POST, "/api/combos/preview", Some(body)).await)
}

/// How an answer that nobody gave ends.
fn end(reply: &Reply) -> End {
    let wait = reply.header("retry-after").map(|seconds| seconds.parse().expect("whole seconds"));
    End { status: reply.status.as_u16(), code: reply.error_word(), wait }
}

/// Who the answer says was left out.
fn left_out(reply: &Reply) -> Vec<LeftOut> {
    let excluded = reply.json()["diagnostics"]["excluded"].as_array().cloned().unwrap_or_default();
    excluded.iter().map(|target| (named(target), target["retry_after_seconds"].as_u64())).collect()
}

/// Whom the newest request asked, in order.
async fn asked(team: &Team) -> Vec<(String, String)> {
    let told = team.world.last_request().await;
    let attempts = told["trace"]["attempts"].as_array().expect("attempts").clone();
    attempts.iter().map(|attempt| (named(attempt), text(&attempt["connectionId"]))).collect()
}

#[tokio::test]
async fn whatever_the_strategy_everybody_is_asked_in_the_order_that_was_foretold() {
    let team = Team::start().await;
    let second = team.world.connect("openai", "second").await;
    // A refusal that benches nobody, each in other words, leads through all of them.
    for (n, account) in team.accounts.iter().chain([&second]).enumerate() {
        team.world.script(account).then(Step::error(400, format!("an odd thing of the {n}th kind")));
    }
    for strategy in RANKED {
        let steps = json!(["openai/m1", "deepseek/deepseek-v4-pro", "groq/m1", "openai/m2"]);
        let config = json!({ "maxRetries": 0, "disableSessionStickiness": true });
        let combo = team.combo(strategy, strategy, steps, config).await;
        for turn in 0..3 {
            let (explained, previewed) = (explained(&team, strategy).await, previewed(&team, &combo, json!({})).await);
            assert_eq!(explained, previewed, "{strategy}");
            assert!(explained.order.len() >= 4 && explained.end.is_none(), "{strategy}: {explained:?}");
            assert_eq!(team.ask(strategy).await.status, 400, "{strategy}");
            assert_eq!(asked(&team).await, explained.order, "{strategy}, turn {turn}");
        }
    }
    team.world.check_invariants().await;
}

/// Why nobody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// Every account rests, each for another while.
    Cooling,
    /// Breakers of all providers are open.
    Broken,
    /// Every account is out until its owner acts.
    Terminal,
    SwitchedOff,
    /// One rests, one is banned, one is switched off.
    Mixed,
    /// One is open, one is banned, one is switched off.
    MixedWithBreaker,
}

const TROUBLES: [Trouble; 6] = [
    Trouble::Cooling,
    Trouble::Broken,
    Trouble::Terminal,
    Trouble::SwitchedOff,
    Trouble::Mixed,
    Trouble::MixedWithBreaker,
];

impl Trouble {
    async fn befalls(self, team: &Team) {
        match self {
            Trouble::Cooling => {
                for (n, seconds) in [40, 20, 60].into_iter().enumerate() {
                    rests(team, n, seconds).await;
                }
            }
            Trouble::Broken => {
                for n in 0..3 {
                    breaks(team, n).await;
                }
            }
            Trouble::Terminal => {
                for n in 0..3 {
                    is_banned(team, n).await;
                }
            }
            Trouble::SwitchedOff => {
                for account in &team.accounts {
                    team.world.change(account, json!({ "isActive": false })).await;
                }
            }
            Trouble::Mixed | Trouble::MixedWithBreaker => {
                if self == Trouble::Mixed {
                    rests(team, 0, 40).await;
                } else {
                    breaks(team, 0).await;
                }
                is_banned(team, 1).await;
                team.world.change(&team.accounts[2], json!({ "isActive": false })).await;
            }
        }
    }
}

/// An account is limited for so long.
async fn rests(team: &Team, account: usize, seconds: u64) {
    let limited = Step::error(429, "slow down").with_header("retry-after", &seconds.to_string());
    team.world.script(&team.accounts[account]).then(limited);
    team.ask(&format!("{}/m1", PROVIDERS[account])).await;
    assert!(team.world.cooling(&team.accounts[account]).is_some());
}

/// A provider fails until its breaker opens, and the account's own rest is over.
async fn breaks(team: &Team, account: usize) {
    let numbers = json!({ "failureThreshold": 2, "degradationThreshold": 1, "resetTimeoutMs": 90_000 });
    team.world.resilience(json!({ "providerBreaker": { "apikey": numbers } })).await;
    team.fails(account, 503);
    for _ in 0..2 {
        team.ask(&format!("{}/m1", PROVIDERS[account])).await;
        let rest = team.world.cooling(&team.accounts[account]).expect("a rest");
        team.world.advance(rest);
    }
    assert_eq!(team.world.breaker_state(PROVIDERS[account]).0, "OPEN");
}

async fn is_banned(team: &Team, account: usize) {
    let refusal = Step::error(403, "your account has been suspended");
    team.world.script(&team.accounts[account]).then(refusal);
    team.ask(&format!("{}/m1", PROVIDERS[account])).await;
    team.world.connections().await;
}

#[tokio::test]
async fn when_nobody_can_be_asked_the_answer_is_told_beforehand_to_the_second() {
    // DG-01, DG-02
    for trouble in TROUBLES {
        let team = Team::start().await;
        trouble.befalls(&team).await;
        for strategy in ["priority", "weighted", "round-robin", "auto", "fusion", "pipeline"] {
            let combo = team.combo(strategy, strategy, models(), json!({ "maxRetries": 0 })).await;
            let before = team.calls();
            let (explained, previewed) = (explained(&team, strategy).await, previewed(&team, &combo, json!({})).await);
            assert_eq!(explained, previewed, "{trouble:?} {strategy}");
            let reply = team.ask(strategy).await;
            assert_eq!(explained.end, Some(end(&reply)), "{trouble:?} {strategy}: {}", reply.text());
            assert_eq!(explained.left_out, left_out(&reply), "{trouble:?} {strategy}: {}", reply.text());
            assert_eq!(team.calls(), before, "{trouble:?} {strategy}: nobody was asked");
        }
        for provider in PROVIDERS {
            let name = format!("{provider}/m1");
            let explained = explained(&team, &name).await;
            let reply = team.ask(&name).await;
            assert_eq!(explained.end, Some(end(&reply)), "{trouble:?} {name}: {}", reply.text());
        }
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn locks_of_single_models_are_told_beforehand_and_end_when_they_were_said_to() {
    let team = Team::start().await;
    let gemini = team.world.connect("gemini", "g").await;
    for (model, seconds) in [("m1", "40"), ("m2", "20")] {
        let limited = Step::error(429, "slow down").with_header("retry-after", seconds);
        team.world.script_model(&gemini, model).then(limited).then(Step::ok("fine"));
        team.ask(&format!("gemini/{model}")).await;
    }
    let steps = json!(["gemini/m1", "gemini/m2"]);
    for strategy in ["priority", "weighted"] {
        let combo = team.combo(strategy, strategy, steps.clone(), json!({ "maxRetries": 0 })).await;
        let (explained, previewed) = (explained(&team, strategy).await, previewed(&team, &combo, json!({})).await);
        assert_eq!(explained, previewed);
        let reply = team.ask(strategy).await;
        assert_eq!(explained.end, Some(end(&reply)), "{strategy}: {}", reply.text());
        assert_eq!(explained.left_out, left_out(&reply), "{strategy}: {}", reply.text());
        assert_eq!(explained.end.and_then(|end| end.wait), Some(20), "{strategy}: {}", reply.text());
    }
    let told = explained(&team, "gemini/m1").await;
    assert_eq!(told.end, Some(end(&team.ask("gemini/m1").await)));
    assert_eq!(told.end.and_then(|end| end.wait), Some(40));
    let begun: Timestamp = team.world.now();
    team.world.advance(Millis::seconds(20));
    let explained = explained(&team, "priority").await;
    assert_eq!(explained.order, [("gemini/m2".to_owned(), gemini.id.clone())], "from {begun:?} on");
    assert_eq!(team.ask("priority").await.header("x-omniroute-model"), Some("m2"));
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_the_request_brings_is_weighed_beforehand_as_it_is_in_earnest() {
    let team = Team::start().await;
    let steps = json!(["deepseek/deepseek-v4-pro", "openai/m1"]);
    let combo = team.combo("sight", "priority", steps, json!({ "maxRetries": 0 })).await;
    let blind = team.combo("blind", "priority", json!(["deepseek/deepseek-v4-pro"]), json!({})).await;
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } });
    let ask = |name: &str| {
        let body = json!({ "model": name, "messages": [{ "role": "user", "content": [image.clone()] }] });
        let agent = team.world.agent();
        async move { agent.post("/v1/chat/completions", body.to_string()).await }
    };
    let told = explained(&team, "sight&vision=true").await;
    assert_eq!(told, previewed(&team, &combo, json!({ "vision": true })).await);
    assert_eq!(told.left_out, [("deepseek/deepseek-v4-pro".to_owned(), None)]);
    assert_eq!(ask("sight").await.status, 200);
    assert_eq!(asked(&team).await, told.order);
    let told = explained(&team, "blind&vision=true").await;
    assert_eq!(told, previewed(&team, &blind, json!({ "vision": true })).await);
    let reply = ask("blind").await;
    assert_eq!(told.end, Some(end(&reply)), "{}", reply.text());
    assert_eq!(told.left_out, left_out(&reply), "{}", reply.text());
    // Without pictures it is asked.
    let told = explained(&team, "blind").await;
    assert_eq!(team.world.agent().post("/v1/chat/completions", chat_body("blind", false)).await.status, 200);
    assert_eq!(asked(&team).await, told.order);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_target_that_falls_away_in_earnest_was_shown_to_be_next() {
    let team = Team::start().await;
    let combo = team.combo("team", "priority", models(), json!({ "maxRetries": 0 })).await;
    team.fails(0, 503);
    let told = previewed(&team, &combo, json!({})).await;
    assert_eq!(team.ask("team").await.status, 200);
    assert_eq!(asked(&team).await, told.order[..2], "the first failed, the second answered");
    let after = previewed(&team, &combo, json!({})).await;
    assert_eq!(after.order, told.order[1..]);
    let rest = team.world.cooling(&team.accounts[0]).expect("a rest").as_retry_after_seconds();
    assert_eq!(after.left_out, [("openai/m1".to_owned(), Some(rest))]);
    assert_eq!(team.ask("team").await.status, 200);
    assert_eq!(asked(&team).await, after.order[..1]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn refusals_that_no_time_mends_are_told_beforehand_too() {
    let team = Team::start().await;
    let refusal = Step::error(400, "Invalid 'tools': maximum number of tools is 64");
    team.world.script(&team.accounts[0]).then(refusal).then(Step::ok("from 0"));
    assert_eq!(crate::tools::ask(&team, "openai/m1", 65).await.status, 400);
    team.world.connect("anthropic", "priced").await;
    let priced = json!(["anthropic/claude-opus-4-8"]);
    let window = json!({ "contextRequirements": { "minContextWindow": 90_000_000 } });
    let budget = json!({ "autoConfig": { "budgetUsd": 0.000_000_001, "budgetMode": "strict" } });
    for (name, strategy, steps, config, code) in [
        ("nobody", "priority", json!(["mistral/m1"]), json!({}), "no_executable_targets"),
        ("narrow", "priority", priced.clone(), window, "context_requirements_exhausted"),
        ("dear", "auto", priced, budget, "payment_required"),
        ("few", "priority", json!(["openai/m1"]), json!({}), "tool_limit_exceeded"),
    ] {
        let combo = team.combo(name, strategy, steps, config).await;
        let told = explained(&team, &format!("{name}&tools=65&inputTokens=4000")).await;
        let request = json!({ "tools": 65, "inputTokens": 4_000 });
        assert_eq!(told, previewed(&team, &combo, request).await, "{name}");
        let reply = crate::tools::ask(&team, name, 65).await;
        assert_eq!(told.end, Some(end(&reply)), "{name}: {}", reply.text());
        assert_eq!(told.end.map(|end| end.code), Some(code.to_owned()), "{name}: {}", reply.text());
        assert_eq!(told.left_out, left_out(&reply), "{name}: {}", reply.text());
    }
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_session_is_foretold_the_target_and_the_account_that_it_is_kept_at() {
    let team = Team::start().await;
    let second = team.world.connect("openai", "second").await;
    team.world.script(&second).then(Step::ok("from 0, the second"));
    let turns = json!({ "accountStrategy": { "openai": "round-robin" } });
    team.world.set(json!({ "sessionAffinityTtlMs": 600_000, "routing": turns })).await;
    let combo = team.combo("team", "least-used", models(), json!({ "maxRetries": 0 })).await;
    for turn in 0..3 {
        for session in ["s1", "s2", "s3"] {
            let told = explained(&team, &format!("team&sessionKey={session}")).await;
            assert_eq!(told, previewed(&team, &combo, json!({ "sessionKey": session })).await, "{session}");
            let agent = team.world.agent().with("x-session-id", session);
            let body =
                json!({ "model": "team", "messages": [{ "role": "user", "content": format!("I am {session}.") }] });
            assert_eq!(agent.post("/v1/chat/completions", body.to_string()).await.status, 200);
            assert_eq!(asked(&team).await, told.order[..1], "{session}, turn {turn}");
        }
    }
    let [.., deepseek, groq] = team.calls();
    assert_eq!((deepseek, groq), (3, 3), "each kept its own");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn where_accounts_take_turns_every_target_is_foretold_with_the_account_whose_turn_it_will_be() {
    let team = Team::start().await;
    let others = [team.world.connect("openai", "second").await, team.world.connect("openai", "third").await];
    let own = [&team.accounts[0], &others[0], &others[1]];
    for (n, account) in own.iter().enumerate() {
        team.world.script(account).then(Step::error(400, format!("an odd thing of the {n}th kind")));
    }
    let config = json!({ "maxRetries": 0, "disableSessionStickiness": true });
    team.combo("team", "priority", json!(["openai/m1", "openai/m2", "groq/m1", "openai/m3"]), config).await;
    for strategy in ["round-robin", "random", "strict-random", "least-used", "p2c", "weighted"] {
        team.world.set(json!({ "routing": { "accountStrategy": { "openai": strategy } } })).await;
        for turn in 0..4 {
            let foretold = explained(&team, "team").await;
            assert_eq!(foretold, explained(&team, "team").await, "{strategy}: looking takes nobody's turn");
            let spread = foretold.order.iter().filter(|(target, _)| target.starts_with("openai")).map(|(_, who)| who);
            let spread: std::collections::BTreeSet<&String> = spread.collect();
            assert!(strategy != "round-robin" || spread.len() == 3, "{foretold:?}");
            team.ask("team").await;
            let asked = asked(&team).await;
            assert_eq!(asked, foretold.order[..asked.len()], "{strategy}, turn {turn}");
        }
    }
    team.world.check_invariants().await;
}
