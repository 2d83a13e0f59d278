//! What each call of a panel, a chain or a hedge consumed, and whose account and purse that was (gateway specification, 3.4
//! and 5.4).

use acceptance::{Connection, Reply, World, chat_body};
use domain::{Millis, Usage};
use fake_upstream::{Answer, Gate, Step};
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::team::{Team, models, who};

/// What the fake upstream's answers state.
const STATED: (u64, u64) = (12, 7);
/// The estimate of the prompt that a member of `team` is asked: a quarter of its bytes, and four for its message.
const PROMPT: u64 = 21;
/// The same of the client's own request, which says that it wants no stream.
const WHOLE_PROMPT: u64 = 25;
/// What [`STATED`] costs at the prices of `openai/gpt-5.5` and of `groq/openai/gpt-oss-120b`.
const DEAR: f64 = 0.000_27;
const CHEAP: f64 = 0.000_006;

/// A panel of three whose accounts never rest; the last one is held at a gate.
async fn held_panel(config: Value) -> (Team, Gate) {
    let team = Team::start().await;
    team.combo("team", "fusion", models(), config).await;
    let gate = Gate::closed();
    team.world.script(&team.accounts[2]).then(Step::ok("from 2").held(&gate));
    (team, gate)
}

fn ask(world: &World) -> JoinHandle<Reply> {
    let agent = world.agent();
    tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("team", false)).await })
}

/// Lets time pass until there is an answer.
async fn answered(world: &World, asking: JoinHandle<Reply>) -> Reply {
    while !asking.is_finished() {
        world.advance(Millis::seconds(1));
        world.requests().await;
    }
    asking.await.expect("an answer")
}

/// Number, provider, kind and decision of every attempt.
fn attempts(row: &Value) -> Vec<(u64, &str, &str, &str)> {
    let all = row["trace"]["attempts"].as_array().expect("attempts");
    all.iter()
        .map(|attempt| {
            let word = |member: &str| attempt[member].as_str().expect("a word");
            (attempt["n"].as_u64().expect("a number"), word("provider"), word("kind"), word("decision"))
        })
        .collect()
}

/// Requests, tokens in and out of every provider.
async fn by_provider(world: &World) -> Vec<(String, u64, u64, u64)> {
    let path = "/api/usage/summary?groupBy=provider&since=2000-01-01T00:00:00.000Z&until=2100-01-01T00:00:00.000Z";
    let summary = world.managed(Method::GET, path, None).await;
    let groups = summary["groups"].as_array().expect("groups");
    let number = |group: &Value, member: &str| group[member].as_u64().expect("a number");
    groups
        .iter()
        .map(|group| {
            let name = group["group"].as_str().expect("a provider").to_owned();
            (name, number(group, "requests"), number(group, "tokensInput"), number(group, "tokensOutput"))
        })
        .collect()
}

fn of(provider: &str, requests: u64, input: u64, output: u64) -> (String, u64, u64, u64) {
    (provider.to_owned(), requests, input, output)
}

fn assert_unhurt(team: &Team, account: usize) {
    let health = team.world.health(&team.accounts[account]);
    assert_eq!((health.last_error, health.cooling_until), (None, None));
}

#[tokio::test]
async fn whom_a_panel_no_longer_waits_for_is_called_off_and_its_prompt_counts() {
    let (team, _gate) = held_panel(json!({ "maxRetries": 0 })).await;
    let reply = answered(&team.world, ask(&team.world)).await;
    assert_eq!(who(&reply), 0);
    assert!(team.world.wait_for_endings(&team.accounts[2], 1).await[0].cancelled());
    assert_unhurt(&team, 2);
    let row = team.world.last_request().await;
    let expected = [
        (1, "openai", "success", "next_step"),
        (2, "deepseek", "success", "next_step"),
        (3, "groq", "called_off", "panel_over"),
        (4, "openai", "success", "answer"),
    ];
    assert_eq!(attempts(&row), expected, "{row}");
    assert_eq!((&row["tokensInput"], &row["tokensOutput"]), (&json!(3 * STATED.0 + PROMPT), &json!(3 * STATED.1)));
    assert_eq!(row["estimated"], true, "{row}");
    let each = row["trace"]["attempts"].as_array().expect("attempts");
    let used: Vec<_> = each.iter().map(|attempt| (&attempt["tokensInput"], &attempt["tokensOutput"])).collect();
    let (stated, called_off) = ((json!(STATED.0), json!(STATED.1)), (json!(PROMPT), json!(0)));
    let expected = [&stated, &stated, &called_off, &stated].map(|(input, output)| (input, output));
    assert_eq!(used, expected, "{row}");
    assert_eq!(
        by_provider(&team.world).await,
        [of("deepseek", 0, STATED.0, STATED.1), of("groq", 0, PROMPT, 0), of("openai", 1, 2 * STATED.0, 2 * STATED.1)]
    );
    team.world.check_invariants().await;
}

#[tokio::test]
async fn whom_the_combos_time_cuts_off_is_shown_and_its_prompt_counts() {
    let (team, _gate) = held_panel(json!({ "maxRetries": 0, "comboTimeoutMs": 5_000 })).await;
    let reply = answered(&team.world, ask(&team.world)).await;
    assert_eq!(who(&reply), 0);
    let row = team.world.last_request().await;
    let expected = [
        (1, "openai", "success", "answer"),
        (2, "deepseek", "success", "next_step"),
        (3, "groq", "combo_timeout", "stop"),
    ];
    assert_eq!(attempts(&row), expected, "{row}");
    assert_eq!((&row["tokensInput"], &row["tokensOutput"]), (&json!(2 * STATED.0 + PROMPT), &json!(2 * STATED.1)));
    team.world.check_invariants().await;
}

#[tokio::test]
async fn whom_a_client_leaves_behind_is_shown_and_what_was_answered_counts() {
    let (team, _gate) = held_panel(json!({ "maxRetries": 0 })).await;
    let asking = ask(&team.world);
    for account in &team.accounts {
        team.world.wait_for_calls(account, 1).await;
    }
    for account in &team.accounts[..2] {
        team.world.wait_for_endings(account, 1).await;
    }
    while team.world.in_flight() > 1 {
        tokio::task::yield_now().await;
    }
    asking.abort();
    team.world.settle().await;
    let row = team.world.last_request().await;
    let expected = [
        (1, "openai", "success", "next_step"),
        (2, "deepseek", "success", "next_step"),
        (3, "groq", "client_aborted", "stop"),
    ];
    assert_eq!((attempts(&row), &row["outcome"]), (expected.to_vec(), &json!("aborted")), "{row}");
    assert_eq!((&row["tokensInput"], &row["tokensOutput"]), (&json!(2 * STATED.0), &json!(2 * STATED.1)), "{row}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn the_slower_of_two_that_were_asked_side_by_side_counts_its_prompt() {
    let team = Team::start().await;
    let config =
        json!({ "zeroLatencyOptimizationsEnabled": true, "hedging": true, "hedgeDelayMs": 500, "maxRetries": 0 });
    team.combo("team", "priority", models(), config).await;
    let gate = Gate::closed();
    team.world.script(&team.accounts[0]).then(Step::ok("from 0").held(&gate));
    let asking = ask(&team.world);
    team.world.wait_for_calls(&team.accounts[0], 1).await;
    team.world.advance(Millis::new(500));
    assert_eq!(who(&asking.await.expect("an answer")), 1);
    let row = team.world.last_request().await;
    let expected = [(1, "openai", "called_off", "lost"), (2, "deepseek", "success", "answer")];
    assert_eq!(attempts(&row), expected, "{row}");
    let usage = by_provider(&team.world).await;
    assert_eq!(usage, [of("deepseek", 1, STATED.0, STATED.1), of("openai", 0, WHOLE_PROMPT, 0)]);
    let sum = (&json!(STATED.0 + WHOLE_PROMPT), &json!(STATED.1));
    assert_eq!((&row["tokensInput"], &row["tokensOutput"]), sum, "{row}");
    team.world.check_invariants().await;
}

/// A gateway with a subscription, two accounts with keys, and a local key of which everything is limited.
struct Purse {
    world: World,
    accounts: [Connection; 3],
    key: String,
}

const PURSE: [&str; 3] = ["claude", "openai", "groq"];

impl Purse {
    async fn new() -> Purse {
        let world = World::start().await;
        let mut accounts = Vec::new();
        for provider in PURSE {
            accounts.push(world.connect(provider, provider).await);
        }
        let limits =
            PURSE.map(|provider| json!({ "scopeType": "provider", "scopeValue": provider, "tokenLimit": 9_000 }));
        let key = json!({ "name": "purse", "budgetDailyUsd": 1.0, "tokenLimits": limits });
        let key = world.make_key(key).await;
        let accounts = accounts.try_into().unwrap_or_else(|_| panic!("three accounts"));
        Purse { world, accounts, key }
    }

    async fn combo(&self, strategy: &str, models: Value, config: Value) {
        let body = json!({ "name": "team", "strategy": strategy, "models": models, "config": config });
        self.world.managed(Method::POST, "/api/combos", Some(body)).await;
    }

    async fn ask(&self) -> Reply {
        let agent = self.world.stranger().with_key(&self.key);
        let reply = agent.post("/v1/chat/completions", chat_body("team", false)).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply
    }

    /// Dollars, and the tokens of each provider.
    async fn spent(&self) -> (f64, [u64; 3]) {
        self.world.settle().await;
        let keys = self.world.managed(Method::GET, "/api/keys", None).await;
        let keys = keys["keys"].as_array().expect("keys").clone();
        let key = keys.into_iter().find(|key| key["name"] == "purse").expect("the key");
        let used = |index: usize| key["limitUse"][index]["used"].as_f64().expect("a number");
        (used(0), [1, 2, 3].map(|index| used(index) as u64))
    }

    /// What was spent stays so when it is read from the table again.
    async fn assert_spent(&mut self, dollars: f64, tokens: [u64; 3]) {
        for _ in 0..2 {
            let (found, counted) = self.spent().await;
            assert!((found - dollars).abs() < 1e-9, "{found} is not {dollars}");
            assert_eq!(counted, tokens);
            self.world.restart().await;
        }
        self.world.check_invariants().await;
    }
}

const TOKENS: u64 = STATED.0 + STATED.1;

#[tokio::test]
async fn a_judge_on_a_subscription_does_not_make_the_members_free() {
    let mut purse = Purse::new().await;
    let models = json!(["openai/gpt-5.5", "groq/openai/gpt-oss-120b"]);
    purse.combo("fusion", models, json!({ "fusion": { "judgeModel": "claude/claude-sonnet-5" } })).await;
    purse.ask().await;
    purse.assert_spent(DEAR + CHEAP, [TOKENS, TOKENS, TOKENS]).await;
}

#[tokio::test]
async fn members_on_a_subscription_cost_nothing_whoever_judges() {
    let mut purse = Purse::new().await;
    let models = json!(["claude/claude-sonnet-5", "groq/openai/gpt-oss-120b"]);
    purse.combo("fusion", models, json!({ "fusion": { "judgeModel": "openai/gpt-5.5" } })).await;
    purse.ask().await;
    purse.assert_spent(DEAR + CHEAP, [TOKENS, TOKENS, TOKENS]).await;
}

#[tokio::test]
async fn a_chain_charges_each_link_by_its_own() {
    let mut purse = Purse::new().await;
    let models = json!(["openai/gpt-5.5", "claude/claude-sonnet-5", "groq/openai/gpt-oss-120b"]);
    purse.combo("pipeline", models, json!({})).await;
    let reply = purse.ask().await;
    assert_eq!(reply.header("x-omniroute-tokens-in"), Some((3 * STATED.0).to_string().as_str()));
    purse.assert_spent(DEAR + CHEAP, [TOKENS, TOKENS, TOKENS]).await;
}

#[tokio::test]
async fn the_answer_that_stands_is_its_own_call_however_alike_the_others_were() {
    let mut purse = Purse::new().await;
    purse.combo("fusion", json!(["groq/openai/gpt-oss-120b", "openai/gpt-5.5"]), json!({ "maxRetries": 0 })).await;
    for account in &purse.accounts {
        let script = purse.world.script(account).then(Step::ok("from a member"));
        script.then(Step::error(503, "nobody can judge"));
    }
    let reply = purse.ask().await;
    assert_eq!(reply.header("x-omniroute-provider"), Some("groq"));
    let row = purse.world.last_request().await;
    let expected = [
        (1, "groq", "success", "answer"),
        (2, "openai", "success", "next_step"),
        (3, "groq", "server_error", "stop"),
        (4, "openai", "server_error", "stop"),
    ];
    assert_eq!(attempts(&row), expected, "{row}");
    let cost = row["cost"].as_f64().expect("a cost");
    assert!((cost - DEAR - CHEAP).abs() < 1e-9, "{cost}");
    purse.assert_spent(DEAR + CHEAP, [0, TOKENS, TOKENS]).await;
}

#[tokio::test]
async fn a_member_that_states_nothing_is_charged_by_estimate() {
    let mut purse = Purse::new().await;
    let models = json!(["openai/gpt-5.5", "groq/openai/gpt-oss-120b"]);
    purse.combo("fusion", models, json!({ "fusion": { "judgeModel": "claude/claude-sonnet-5" } })).await;
    let silent = Step::answer(Answer::text("I say nothing of my use.").with_usage(None::<Usage>));
    purse.world.script(&purse.accounts[1]).then(silent);
    purse.ask().await;
    let row = purse.world.last_request().await;
    assert_eq!(row["estimated"], true, "{row}");
    let (dollars, [judge, member, other]) = purse.spent().await;
    assert_eq!((judge, other), (TOKENS, TOKENS));
    let output = member - PROMPT;
    assert!((40..120).contains(&output), "a quarter of the body's bytes: {output}");
    let cost = PROMPT as f64 * 5e-6 + output as f64 * 30e-6 + CHEAP;
    assert!((dollars - cost).abs() < 1e-9, "{dollars} is not {cost}");
    purse.assert_spent(cost, [judge, member, other]).await;
}
