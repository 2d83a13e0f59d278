//! `auto` through the whole gateway: what counts, whom names lead to, what a budget allows, who is left out for a while
//! (gateway specification, 3.5).

use std::collections::BTreeMap;

use acceptance::{Connection, World};
use domain::Millis;
use fake_upstream::{Gate, Step};
use http::Method;
use routing::auto_name::AutoName;
use serde_json::{Value, json};

use crate::team::Team;

const CHEAP: &str = "openai/gpt-5-nano";
const DEAR: &str = "anthropic/claude-fable-5-1";

/// A cheap model that takes nine seconds, and a dear one that answers at once, each the default of its account.
async fn slow_and_dear() -> (World, [Connection; 2]) {
    let world = World::start().await;
    let cheap = world.connect_with("openai", "cheap", json!({ "defaultModel": "gpt-5-nano" })).await;
    let dear = world.connect_with("anthropic", "dear", json!({ "defaultModel": "claude-fable-5-1" })).await;
    for n in 0..5 {
        let gate = Gate::closed();
        world.script(&cheap).then(Step::ok("slowly").held(&gate));
        let (agent, body) = (world.agent(), acceptance::chat_body(CHEAP, false));
        let asking = tokio::spawn(async move { agent.post("/v1/chat/completions", body).await });
        world.wait_for_calls(&cheap, n + 1).await;
        world.advance(Millis::seconds(9));
        gate.open();
        assert_eq!(asking.await.expect("a reply").status, 200);
        assert_eq!(ask(&world, DEAR, n).await, DEAR);
    }
    (world, [cheap, dear])
}

/// Asks in a conversation of its own: who served.
async fn ask(world: &World, name: &str, conversation: u64) -> String {
    let message = json!({ "role": "user", "content": format!("Conversation {conversation}.") });
    let body = json!({ "model": name, "messages": [message] });
    let reply = world.agent().post("/v1/chat/completions", body.to_string()).await;
    assert_eq!(reply.status, 200, "{name}: {}", reply.text());
    let told = |header| reply.header(header).expect("who served").to_owned();
    format!("{}/{}", told("x-omniroute-provider"), told("x-omniroute-model"))
}

async fn combo(world: &World, name: &str, steps: Value, auto: Value) {
    let config = json!({ "maxRetries": 0, "disableSessionStickiness": true, "autoConfig": auto });
    let body = json!({ "name": name, "strategy": "auto", "models": steps, "config": config });
    world.managed(Method::POST, "/api/combos", Some(body)).await;
}

async fn explained(world: &World, name: &str) -> Vec<Value> {
    let told = world.managed(Method::GET, &format!("/api/resilience/explain?model={name}"), None).await;
    told["targets"].as_array().expect("targets").clone()
}

/// How many of so many conversations the model got.
async fn share(world: &World, name: &str, model: &str, of: u64) -> u64 {
    let mut got = 0;
    for n in 0..of {
        got += u64::from(ask(world, name, n).await == model);
    }
    got
}

#[tokio::test]
async fn the_pack_says_whether_price_or_speed_counts() {
    let (world, _) = slow_and_dear().await;
    for (pack, expected) in [("cost-saver", CHEAP), ("ship-fast", DEAR)] {
        combo(&world, pack, json!([CHEAP, DEAR]), json!({ "modePack": pack, "explorationRate": 0 })).await;
        assert_eq!(share(&world, pack, expected, 6).await, 6, "{pack}");
    }
    // Weights of one's own come before the pack.
    let auto = json!({ "modePack": "cost-saver", "weights": { "latencyInv": 1 }, "explorationRate": 0 });
    combo(&world, "own", json!([CHEAP, DEAR]), auto).await;
    assert_eq!(share(&world, "own", DEAR, 6).await, 6);
    for (router, expected) in [("cost", CHEAP), ("eco", CHEAP), ("latency", DEAR), ("fast", DEAR)] {
        combo(&world, router, json!([DEAR, CHEAP]), json!({ "routerStrategy": router })).await;
        assert_eq!(share(&world, router, expected, 3).await, 3, "{router}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn the_variant_in_a_name_brings_its_pack() {
    let (world, _) = slow_and_dear().await;
    // One in twenty is curious, and goes to either.
    for (name, expected) in [("auto/cheap", CHEAP), ("auto/fast", DEAR)] {
        assert!(share(&world, name, expected, 20).await >= 15, "{name}");
        assert_eq!(world.last_request().await["comboName"], name);
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_category_or_a_family_in_a_name_narrows_the_models_down() {
    let world = World::start().await;
    for provider in ["openai", "anthropic", "gemini", "deepseek"] {
        world.connect(provider, provider).await;
    }
    let models = async |name: &str| -> Vec<String> {
        let told = explained(&world, name).await;
        let mut models: Vec<String> = told.iter().filter_map(|it| Some(it["model"].as_str()?.to_owned())).collect();
        models.sort();
        models
    };
    let claude = models("auto/claude").await;
    assert!(claude.len() > 1 && claude.iter().all(|model| model.starts_with("claude")), "{claude:?}");
    assert!(ask(&world, "auto/claude", 0).await.starts_with("anthropic/claude"));
    let seeing = models("auto/vision").await;
    assert!(seeing.iter().any(|model| model.starts_with("gpt")), "{seeing:?}");
    assert!(!seeing.iter().any(|model| model.starts_with("deepseek")), "{seeing:?}");
    let hearing = models("auto/multimodal").await;
    assert!(!hearing.is_empty() && hearing.iter().all(|model| model.starts_with("gemini")), "{hearing:?}");
    let everything = models("auto").await;
    assert!(everything.iter().any(|model| model.starts_with("deepseek")), "{everything:?}");
    let dear = models("auto/chat:pro").await;
    assert!(dear.iter().any(|model| model == "gpt-5.5") && !dear.iter().any(|model| model == "gpt-5-nano"), "{dear:?}");
    assert_eq!(models("auto/chat:free").await, models("auto/chat").await, "nobody is free: the tier gives way");
    for name in AutoName::listed() {
        ask(&world, &name, 0).await;
        assert_eq!(world.last_request().await["comboName"], name.as_str());
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_budget_leaves_out_the_dear_or_puts_them_last() {
    let world = World::start().await;
    let cheap =
        world.connect_with("openai", "cheap", json!({ "providerSpecificData": { "disableCooling": true } })).await;
    let dear = world.connect("anthropic", "dear").await;
    world.script(&cheap).then(Step::error(500, "it does not work"));
    // A nano costs 0.19 dollars for a million tokens, the other one 26; some thousand tokens are asked for.
    let favours_the_dear = |budget: f64, mode: &str| json!({ "modePack": "quality-first", "explorationRate": 0, "budgetUsd": budget, "budgetMode": mode });
    combo(&world, "strict", json!([DEAR, CHEAP]), favours_the_dear(0.001, "strict")).await;
    combo(&world, "yielding", json!([DEAR, CHEAP]), favours_the_dear(0.001, "cheapest")).await;
    combo(&world, "poor", json!([DEAR, CHEAP]), favours_the_dear(0.000_000_1, "cheapest")).await;
    let body = |name: &str| {
        let message = json!({ "role": "user", "content": "Say hello." });
        json!({ "model": name, "messages": [message], "max_tokens": 1_000 }).to_string()
    };
    let reply = world.agent().post("/v1/chat/completions", body("strict")).await;
    assert_eq!(reply.status, 500, "{}", reply.text());
    assert_eq!((world.calls(&cheap).len(), world.calls(&dear).len()), (1, 0), "the dear one is not even a way out");
    let reply = world.agent().post("/v1/chat/completions", body("yielding")).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!((world.calls(&cheap).len(), world.calls(&dear).len()), (2, 1), "the dear one comes last");
    let reply = world.agent().post("/v1/chat/completions", body("poor")).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!((world.calls(&cheap).len(), world.calls(&dear).len()), (3, 2), "the cheapest first");
    world.check_invariants().await;
}

#[tokio::test]
async fn curiosity_reaches_everybody_and_without_it_the_best_serves_alone() {
    let (world, _) = slow_and_dear().await;
    let by_price = |rate: f64| json!({ "weights": { "costInv": 1 }, "explorationRate": rate });
    combo(&world, "curious", json!([CHEAP, DEAR]), by_price(1.0)).await;
    combo(&world, "settled", json!([CHEAP, DEAR]), by_price(0.0)).await;
    let dear = share(&world, "curious", DEAR, 60).await;
    assert!((15..=45).contains(&dear), "{dear} of 60");
    assert_eq!(share(&world, "settled", CHEAP, 20).await, 20);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_pool_of_candidates_narrows_the_steps_and_gives_way_when_it_names_nobody() {
    let (world, _) = slow_and_dear().await;
    let auto = |pool: &str| json!({ "candidatePool": [pool], "weights": { "costInv": 1 }, "explorationRate": 0 });
    combo(&world, "named", json!([CHEAP, DEAR]), auto("anthropic/claude-*")).await;
    combo(&world, "unnamed", json!([CHEAP, DEAR]), auto("nobody/*")).await;
    assert_eq!(share(&world, "named", DEAR, 3).await, 3);
    assert_eq!(share(&world, "unnamed", CHEAP, 3).await, 3);
    let told = explained(&world, "named").await;
    assert_eq!((told.len(), &told[1]["exclusion"]["reason"]), (2, &json!("not_in_pool")), "{told:?}");
    world.check_invariants().await;
}

#[tokio::test]
async fn who_fails_three_times_in_a_row_is_left_out_for_five_minutes_and_forgiven_after_three_good_answers() {
    let (world, [cheap, _]) = slow_and_dear().await;
    world.change(&cheap, json!({ "providerSpecificData": { "disableCooling": true } })).await;
    world.resilience(json!({ "providerBreaker": { "apikey": { "failureThreshold": 1_000 } } })).await;
    let auto = json!({ "weights": { "costInv": 1 }, "explorationRate": 0 });
    combo(&world, "team", json!([CHEAP, DEAR]), auto).await;
    let out = async || {
        let told = explained(&world, "team").await;
        let of_cheap = told.iter().find(|target| target["provider"] == "openai").expect("the target").clone();
        let exclusion = &of_cheap["exclusion"];
        (exclusion["reason"] == "self_healing").then(|| exclusion["retryAfterMs"].as_u64().expect("an end") / 60_000)
    };
    world.script(&cheap).then(Step::error(500, "it does not work"));
    let before = world.calls(&cheap).len();
    for n in 0..3 {
        assert_eq!(out().await, None);
        assert_eq!(ask(&world, "team", n).await, DEAR);
    }
    assert_eq!((out().await, ask(&world, "team", 3).await.as_str()), (Some(5), DEAR));
    assert_eq!(world.calls(&cheap).len(), before + 3, "the fourth request does not come to it");
    world.advance(Millis::minutes(5));
    assert_eq!((out().await, ask(&world, "team", 4).await.as_str()), (None, DEAR));
    assert_eq!(world.calls(&cheap).len(), before + 4, "it was given one chance");
    assert_eq!(out().await, Some(10), "which it did not take");
    world.advance(Millis::minutes(10));
    world.script(&cheap).then(Step::ok("fine again"));
    assert_eq!(share(&world, "team", CHEAP, 3).await, 3);
    world.script(&cheap).then(Step::error(500, "it does not work")).then(Step::ok("fine again"));
    assert_eq!(ask(&world, "team", 9).await, DEAR);
    assert_eq!(out().await, None, "one failure of one who is forgiven is only one");
    world.check_invariants().await;
}

#[tokio::test]
async fn the_last_one_is_asked_even_if_it_should_be_left_out() {
    let team = Team::start().await;
    team.world.change(&team.accounts[0], json!({ "providerSpecificData": { "disableCooling": true } })).await;
    team.world.resilience(json!({ "providerBreaker": { "apikey": { "failureThreshold": 1_000 } } })).await;
    combo(&team.world, "alone", json!(["openai/m1"]), json!({})).await;
    team.fails(0, 500);
    for asked in 1..=5 {
        assert_eq!(team.ask("alone").await.status, 500);
        assert_eq!(team.calls()[0], asked);
    }
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_conversation_counts_for_the_target_it_was_at_and_a_little_for_its_provider() {
    let team = Team::start().await;
    let steps = json!(["openai/m1", "openai/m2", "deepseek/m1"]);
    let auto = json!({ "weights": { "contextAffinity": 1 }, "explorationRate": 0 });
    combo(&team.world, "team", steps, auto).await;
    let agent = team.world.agent().with("x-session-id", "s1");
    let body = acceptance::chat_body("team", false);
    assert_eq!(agent.post("/v1/chat/completions", body.clone()).await.status, 200);
    let first = team.world.last_request().await;
    let told = explained(&team.world, "team&sessionKey=s1").await;
    let affinity = |provider: &str, model: &str| {
        let target = told.iter().find(|it| it["provider"] == provider && it["model"] == model).expect("a target");
        target["factors"]["contextAffinity"].as_f64().expect("a share")
    };
    let (provider, model) = (first["provider"].as_str().expect("text"), first["model"].as_str().expect("text"));
    let own = affinity(provider, model);
    for other in [("openai", "m1"), ("openai", "m2"), ("deepseek", "m1")] {
        let expected = match other {
            _ if other == (provider, model) => 1.0,
            _ if other.0 == provider => 0.75,
            _ => 0.5,
        };
        assert!((affinity(other.0, other.1) / own - expected).abs() < 1e-9, "{other:?}: {told:?}");
    }
    for _ in 0..5 {
        assert_eq!(agent.post("/v1/chat/completions", body.clone()).await.status, 200);
        let row = team.world.last_request().await;
        assert_eq!((&row["provider"], &row["model"]), (&first["provider"], &first["model"]));
    }
    team.world.check_invariants().await;
}

/// The factors of the one target of `auto` over this model, by name: value, and whether anything is known.
async fn factors(world: &World, model: &str) -> BTreeMap<String, (f64, bool)> {
    let combo = json!({ "name": "shown", "strategy": "auto", "models": [model] });
    let shown = world.managed(Method::POST, "/api/combos/preview", Some(json!({ "combo": combo }))).await;
    let parts = shown["targets"][0]["factors"].as_array().expect("factors").clone();
    let part = |part: &Value| {
        let value = part["value"].as_f64().expect("a value");
        (part["factor"].as_str().expect("a name").to_owned(), (value, part["known"] == true))
    };
    parts.iter().map(part).collect()
}

#[tokio::test]
async fn what_is_known_of_a_plan_and_of_sessions_counts_and_what_nobody_knows_is_shown_as_such() {
    let world = World::start().await;
    let account = world.connect("codex", "a").await;
    let of = async || factors(&world, "codex/gpt-5.1-codex").await;
    let unknown = of().await;
    assert!((unknown["tierPriority"].0 - 0.8 * 0.33).abs() < 1e-9, "{unknown:?}");
    for name in ["tierPriority", "quota", "sessionAvailability", "quality", "specificityMatch", "latencyInv"] {
        assert!(!unknown[name].1, "{name}: {unknown:?}");
    }
    assert!(unknown["health"].1 && unknown["taskFit"].1, "{unknown:?}");

    let usage = json!({ "plan_type": "plus", "rate_limit": { "allowed": true } });
    world.script_model(&account, "/backend-api/wham/usage").then(Step::status(200, usage.to_string()));
    world.managed(Method::POST, "/api/usage/quota/refresh", Some(json!({}))).await;
    world.change(&account, json!({ "maxConcurrent": 4 })).await;
    let known = of().await;
    assert!((known["tierPriority"].0 - 0.8 * 0.67).abs() < 1e-9 && known["tierPriority"].1, "{known:?}");
    assert_eq!(known["sessionAvailability"], (1.0, true));

    let gate = Gate::closed();
    world.script(&account).then(Step::ok("held").held(&gate));
    let (agent, body) = (world.agent(), acceptance::responses_body("codex/gpt-5.1-codex", false));
    let asking = tokio::spawn(async move { agent.post("/v1/responses", body).await });
    world.wait_for_calls(&account, 2).await;
    assert_eq!(of().await["sessionAvailability"], (0.75, true), "one of four is taken");
    gate.open();
    asking.await.expect("a reply");
    world.connect("openai", "key").await;
    assert_eq!(factors(&world, "openai/gpt-5-nano").await["sessionAvailability"], (1.0, true), "a key has no sessions");
    world.check_invariants().await;
}
