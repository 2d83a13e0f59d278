//! What a local key may spend: budgets, limits of tokens, their resets (gateway specification, 1.3 and 1.11 step 2).

use acceptance::{Agent, Ask, Connection, Reply, World, beginning, chat_body};
use domain::{Dialect, Millis, Timestamp};
use fake_upstream::{Break, Gate, Step};
use http::Method;
use serde_json::{Value, json};

/// What the fake upstream's answers state: 12 tokens in, 7 out.
const TOKENS: u64 = 19;
/// What such an answer of [`PRICED`] costs at 5 and 30 dollars a million.
const PRICE: f64 = 0.000_27;
const PRICED: &str = "openai/gpt-5.5";

/// A key with limits, and the gateway it opens.
struct Kept {
    world: World,
    account: Connection,
    key: String,
    id: String,
}

impl Kept {
    async fn new(limits: Value) -> Kept {
        let world = World::start().await;
        let account = world.connect("openai", "c1").await;
        let mut body = limits;
        body["name"] = "kept".into();
        let key = world.make_key(body).await;
        let keys = world.managed(Method::GET, "/api/keys", None).await;
        let id = keys["keys"][1]["id"].as_str().expect("an id").to_owned();
        Kept { world, account, key, id }
    }

    fn agent(&self) -> Agent {
        self.world.stranger().with_key(&self.key)
    }

    async fn ask(&self, model: &str) -> Reply {
        self.agent().post("/v1/chat/completions", chat_body(model, false)).await
    }

    async fn record(&self) -> Value {
        let keys = self.world.managed(Method::GET, "/api/keys", None).await;
        let keys = keys["keys"].as_array().expect("keys").clone();
        keys.into_iter().find(|key| key["id"] == self.id.as_str()).expect("the key")
    }

    async fn limit_use(&self, index: usize) -> Value {
        self.record().await["limitUse"][index].clone()
    }

    async fn resets_at(&self) -> Timestamp {
        let found = self.limit_use(0).await;
        control::view::Instant::parse(found["resetsAt"].as_str().expect("an instant")).expect("an instant").timestamp()
    }

    async fn change(&self, change: Value) {
        self.world.managed(Method::PATCH, &format!("/api/keys/{}", self.id), Some(change)).await;
    }
}

fn close(found: &Value, expected: f64) {
    assert!((found.as_f64().expect("a number") - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// Every request is refused with this status, in the words of its dialect and with the wait until the reset.
async fn assert_spent(kept: &Kept, status: u16, code: &str, words: [&str; 3]) {
    let wait = kept.resets_at().await.since(kept.world.now()).as_retry_after_seconds().to_string();
    let before = kept.world.upstream.calls(None).len();
    for stream in [false, true] {
        for ask in Ask::all(stream) {
            let reply = kept.agent().post(&ask.path, ask.body.clone()).await;
            let name = format!("{:?} {}: {}", ask.dialect, reply.status, reply.text());
            assert_eq!(reply.status, status, "{name}");
            assert_eq!(reply.header("content-type"), Some("application/json"), "{name}");
            assert_eq!(reply.header("retry-after"), Some(wait.as_str()), "{name}");
            assert_eq!(reply.header("x-should-retry"), Some("false"), "{name}");
            assert!(reply.error_message().contains("Settings → API Keys"), "{name}");
            let error = reply.json()["error"].clone();
            match ask.dialect {
                Dialect::Chat | Dialect::Responses => {
                    assert_eq!((&error["code"], &error["type"]), (&json!(code), &json!(words[0])), "{name}");
                }
                Dialect::Messages => assert_eq!(error["type"], words[1], "{name}"),
                Dialect::Gemini => assert_eq!(error["status"], words[2], "{name}"),
            }
        }
    }
    let ollama = r#"{"model":"openai/m1","messages":[{"role":"user","content":"hi"}],"stream":false}"#;
    let reply = kept.agent().post("/api/chat", ollama).await;
    assert_eq!(reply.status, status, "{}", reply.text());
    assert!(reply.json()["error"].as_str().is_some_and(|text| text.contains("local key")), "{}", reply.text());
    assert_eq!(kept.world.upstream.calls(None).len(), before, "nobody was asked");
    let row = kept.world.last_request().await;
    assert_eq!((&row["status"], &row["errorCode"], &row["keyName"]), (&json!(status), &json!(code), &json!("kept")));
    assert_eq!((&row["provider"], &row["attempts"]), (&Value::Null, &json!(0)), "{row}");
}

/// Nobody but the key is any the worse.
async fn assert_nobody_charged(kept: &Kept) {
    for connection in kept.world.connections().await {
        assert_eq!(connection["lastError"], Value::Null, "{connection}");
        assert_eq!(connection["rateLimitedUntil"], Value::Null, "{connection}");
    }
    let cooling = kept.world.managed(Method::GET, "/api/resilience/model-cooldowns", None).await;
    assert_eq!(cooling["items"].as_array().map_or(0, Vec::len), 0, "{cooling}");
    let reply = kept.world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await;
    assert_eq!(reply.status, 200, "another key goes on: {}", reply.text());
}

#[tokio::test]
async fn a_spent_budget_is_a_402_in_every_dialect_until_its_reset() {
    let kept = Kept::new(json!({ "budgetDailyUsd": 1.5 * PRICE })).await;
    assert_eq!(kept.ask(PRICED).await.status, 200);
    let used = kept.limit_use(0).await;
    assert_eq!((&used["unit"], &used["interval"], &used["level"]), (&json!("usd"), &json!("daily"), &json!("within")));
    close(&used["used"], PRICE);
    assert_eq!(kept.ask(PRICED).await.status, 200, "something was left");
    assert_eq!(kept.limit_use(0).await["level"], "exceeded");
    assert_spent(&kept, 402, "BUDGET_EXCEEDED", ["billing_error", "billing_error", "FAILED_PRECONDITION"]).await;
    assert_nobody_charged(&kept).await;

    let left = kept.resets_at().await.since(kept.world.now());
    kept.world.advance(Millis::new(left.as_millis() - 1));
    assert_eq!(kept.ask(PRICED).await.status, 402);
    kept.world.advance(Millis::new(1));
    close(&kept.limit_use(0).await["used"], 0.0);
    assert_eq!(kept.ask(PRICED).await.status, 200, "a new day");
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn used_up_tokens_are_a_429_in_every_dialect_until_their_reset() {
    let limits =
        json!({ "tokenLimits": [{ "scopeType": "global", "tokenLimit": 2 * TOKENS, "resetInterval": "monthly" }] });
    let kept = Kept::new(limits).await;
    for _ in 0..2 {
        assert_eq!(kept.ask("openai/m1").await.status, 200);
    }
    let words = ["rate_limit_error", "rate_limit_error", "RESOURCE_EXHAUSTED"];
    assert_spent(&kept, 429, "TOKEN_LIMIT_EXCEEDED", words).await;
    assert_nobody_charged(&kept).await;
    let left = kept.resets_at().await.since(kept.world.now());
    kept.world.advance(left);
    assert_eq!(kept.ask("openai/m1").await.status, 200, "a new month");
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn the_tightest_of_several_limits_applies_and_each_has_its_own_reset() {
    let limits = json!({
        "budgetDailyUsd": PRICE / 2.0, "budgetMonthlyUsd": 1.5 * PRICE, "resetTime": "06:30",
        "tokenLimits": [{ "scopeType": "global", "tokenLimit": 1_000_000 }],
    });
    let kept = Kept::new(limits).await;
    assert_eq!(kept.ask(PRICED).await.status, 200);
    let refused = kept.ask(PRICED).await;
    assert!(refused.status == 402 && refused.error_message().contains("daily"), "{}", refused.text());
    kept.world.advance(Millis::days(1));
    assert_eq!(kept.ask(PRICED).await.status, 200);
    let refused = kept.ask(PRICED).await;
    assert!(refused.error_message().contains("monthly"), "the longer wait is told: {}", refused.text());
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn streams_count_what_their_rows_say_estimates_included() {
    let kept = Kept::new(json!({ "tokenLimits": [{ "scopeType": "global", "tokenLimit": 100_000 }] })).await;
    kept.world.connect("anthropic", "c2").await;
    kept.world.connect("gemini", "c3").await;
    for ask in Ask::all(true) {
        let reply = kept.agent().stream(&ask.path, ask.body).await.rest().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    kept.world.settle().await;
    let rows = kept.world.requests().await;
    let tokens = |row: &Value| row["tokensInput"].as_u64().unwrap_or(0) + row["tokensOutput"].as_u64().unwrap_or(0);
    assert!(rows.len() == 4 && rows.iter().all(|row| tokens(row) > 0), "{rows:?}");
    assert!(rows.iter().any(|row| row["estimated"] == true), "Chat tells nothing unless it is asked: {rows:?}");
    assert_eq!(kept.limit_use(0).await["used"], json!(rows.iter().map(tokens).sum::<u64>() as f64));
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_or_is_left_counts_its_prompt_and_what_arrived() {
    // "Once upon" is nine bytes.
    const ARRIVED: u64 = 3;
    let kept = Kept::new(json!({ "tokenLimits": [{ "scopeType": "global", "tokenLimit": 100_000 }] })).await;
    let accounts = [kept.world.connect("anthropic", "c2").await, kept.world.connect("gemini", "c3").await];
    let mut sum = 0;
    for how in [Break::Close, Break::Stall] {
        for ask in Ask::all(true) {
            let step = Step::sse([beginning(ask.dialect)]).broken(usize::MAX, how);
            for account in accounts.iter().chain([&kept.account]) {
                kept.world.script(account).then(step.clone());
            }
            let mut reply = kept.agent().stream(&ask.path, ask.body.clone()).await;
            assert!(reply.next().await.is_some(), "{:?}", ask.dialect);
            let outcome = if matches!(how, Break::Stall) { "aborted" } else { "failure" };
            match how {
                Break::Stall => drop(reply),
                Break::Close | Break::Reset => drop(reply.rest().await),
            }
            kept.world.settle().await;
            let row = kept.world.last_request().await;
            assert_eq!((&row["outcome"], &row["estimated"]), (&json!(outcome), &json!(true)), "{row}");
            assert_eq!(row["tokensOutput"], json!(ARRIVED), "{row}");
            sum += row["tokensInput"].as_u64().filter(|tokens| *tokens > 0).expect("a prompt") + ARRIVED;
            assert_eq!(kept.limit_use(0).await["used"], json!(sum as f64), "{row}");
            for account in accounts.iter().chain([&kept.account]) {
                kept.world.reset(account).await;
            }
        }
    }
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn a_request_that_brought_nothing_counts_nothing() {
    let kept = Kept::new(json!({ "tokenLimits": [{ "scopeType": "global", "tokenLimit": 100_000 }] })).await;
    for step in [Step::error(500, "no"), Step::sse([": opened\n\n"]).broken(usize::MAX, Break::Close)] {
        kept.world.script(&kept.account).then(step);
        let reply = kept.agent().post("/v1/chat/completions", chat_body("openai/m1", true)).await;
        assert_ne!(reply.status, 200, "{}", reply.text());
        assert_eq!(kept.world.last_request().await["tokensInput"], Value::Null);
        kept.world.reset(&kept.account).await;
    }
    close(&kept.limit_use(0).await["used"], 0.0);
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn an_unknown_price_counts_tokens_and_no_dollars_and_says_so() {
    let limits = json!({
        "budgetDailyUsd": PRICE, "tokenLimits": [{ "scopeType": "provider", "scopeValue": "openai", "tokenLimit": 60 }],
    });
    let kept = Kept::new(limits).await;
    for _ in 0..3 {
        assert_eq!(kept.ask("openai/nobody-knows-its-price").await.status, 200);
    }
    let budget = kept.limit_use(0).await;
    assert_eq!((&budget["used"], &budget["unpricedRequests"]), (&json!(0.0), &json!(3)));
    assert_eq!(
        (&kept.limit_use(1).await["used"], &kept.limit_use(1).await["level"]),
        (&json!(57.0), &json!("warning"))
    );
    kept.ask(PRICED).await;
    let refused = kept.ask(PRICED).await;
    assert_eq!((refused.status.as_u16(), refused.error_word().as_str()), (402, "BUDGET_EXCEEDED"));
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn a_limit_of_one_model_or_provider_bars_only_that_alone_and_inside_combos() {
    let limits = json!({ "tokenLimits": [
        { "scopeType": "model", "scopeValue": "openai/m1", "tokenLimit": 10 },
        { "scopeType": "provider", "scopeValue": "anthropic", "tokenLimit": 10, "resetInterval": "weekly" },
    ] });
    let kept = Kept::new(limits).await;
    let other = kept.world.connect("anthropic", "c2").await;
    let team = json!({ "name": "team", "strategy": "priority", "models": ["openai/m1", "anthropic/m1"] });
    kept.world.managed(Method::POST, "/api/combos", Some(team)).await;

    assert_eq!(kept.ask("openai/m1").await.status, 200);
    let refused = kept.ask("openai/m1").await;
    assert_eq!(
        (refused.status.as_u16(), refused.error_word().as_str()),
        (429, "TOKEN_LIMIT_EXCEEDED"),
        "{}",
        refused.text()
    );
    assert!(refused.header("retry-after").is_some() && refused.error_message().contains("openai/m1"));
    let row = kept.world.last_request().await;
    assert_eq!(row["trace"]["exclusions"][0]["mechanism"], "key_limit", "{row}");
    assert_eq!(kept.ask("openai/m2").await.status, 200, "another model of the provider");

    assert_eq!(kept.ask("team").await.status, 200);
    assert_eq!((kept.world.calls(&kept.account).len(), kept.world.calls(&other).len()), (2, 1));
    // Of all its targets the key has used up its tokens; the first is back at the daily reset.
    let refused = kept.ask("team").await;
    assert_eq!(
        (refused.status.as_u16(), refused.error_word().as_str()),
        (429, "TOKEN_LIMIT_EXCEEDED"),
        "{}",
        refused.text()
    );
    let wait = kept.resets_at().await.since(kept.world.now()).as_retry_after_seconds().to_string();
    assert_eq!(refused.header("retry-after"), Some(wait.as_str()));
    let explained = format!("/api/resilience/explain?model=team&keyId={}", kept.id);
    let explained = kept.world.managed(Method::GET, &explained, None).await;
    assert_eq!(explained["answer"]["code"], "TOKEN_LIMIT_EXCEEDED", "{explained}");
    assert_nobody_charged(&kept).await;
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn fifty_at_once_exceed_a_limit_by_no_more_than_is_under_way() {
    let kept = Kept::new(json!({ "tokenLimits": [{ "scopeType": "global", "tokenLimit": TOKENS }] })).await;
    let gate = Gate::closed();
    kept.world.script(&kept.account).then(Step::ok("hello").held(&gate)).cycle();
    let asking: Vec<_> = (0..50)
        .map(|_| {
            let agent = kept.agent();
            tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("openai/m1", false)).await })
        })
        .collect();
    kept.world.wait_for_calls(&kept.account, 50).await;
    gate.open();
    for asked in asking {
        assert_eq!(asked.await.expect("an answer").status, 200, "it was let in before the limit was reached");
    }
    kept.world.settle().await;
    assert_eq!(kept.limit_use(0).await["used"], json!((50 * TOKENS) as f64), "each is counted once");
    for _ in 0..50 {
        assert_eq!(kept.ask("openai/m1").await.status, 429);
    }
    assert_eq!(kept.world.calls(&kept.account).len(), 50);
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn what_was_spent_outlives_a_restart_a_crash_and_a_deleted_log() {
    let mut kept = Kept::new(json!({
        "budgetWeeklyUsd": 10.0, "tokenLimits": [{ "scopeType": "global", "tokenLimit": 3 * TOKENS }],
    }))
    .await;
    for _ in 0..2 {
        kept.ask(PRICED).await;
    }
    kept.world.restart().await;
    close(&kept.limit_use(0).await["used"], 2.0 * PRICE);
    assert_eq!(kept.ask(PRICED).await.status, 200);
    kept.world.managed(Method::DELETE, "/api/requests", Some(json!({ "all": true }))).await;
    kept.world.crash().await;
    close(&kept.limit_use(0).await["used"], 3.0 * PRICE);
    assert_eq!(kept.ask(PRICED).await.status, 429);
}

#[tokio::test]
async fn a_limit_that_is_new_knows_what_was_spent_before_it() {
    let kept = Kept::new(json!({})).await;
    for _ in 0..2 {
        kept.ask(PRICED).await;
    }
    kept.change(json!({ "budgetDailyUsd": PRICE })).await;
    close(&kept.limit_use(0).await["used"], 2.0 * PRICE);
    assert_eq!(kept.ask(PRICED).await.status, 402);
    kept.change(json!({ "budgetDailyUsd": 3.0 * PRICE })).await;
    assert_eq!(kept.ask(PRICED).await.status, 200, "a higher budget lets it go on");
    kept.change(json!({ "budgetDailyUsd": null, "isActive": true })).await;
    assert_eq!(kept.record().await["limitUse"], json!([]));
    assert_eq!(kept.ask(PRICED).await.status, 200);
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn a_wall_clock_that_is_set_gives_no_period_twice() {
    // Decision 27
    let mut kept = Kept::new(json!({ "budgetDailyUsd": PRICE })).await;
    kept.ask(PRICED).await;
    let (began, reset) = (kept.world.now(), kept.resets_at().await);
    kept.world.jump_wall(began - Millis::days(3));
    assert_eq!(kept.ask(PRICED).await.status, 402);
    assert_eq!(kept.resets_at().await, reset, "set back, it prolongs nothing");
    kept.world.jump_wall(reset + Millis::hours(1));
    assert_eq!(kept.ask(PRICED).await.status, 200, "set forward, time has passed");
    kept.world.jump_wall(began);
    assert_eq!(kept.ask(PRICED).await.status, 402, "and is not given back");
    kept.world.restart().await;
    close(&kept.limit_use(0).await["used"], PRICE);
    assert_eq!(kept.ask(PRICED).await.status, 402);
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn what_costs_nothing_goes_on_when_all_is_spent() {
    let kept = Kept::new(json!({ "tokenLimits": [{ "scopeType": "global", "tokenLimit": 1 }] })).await;
    kept.world.connect("anthropic", "c2").await;
    kept.ask("openai/m1").await;
    assert_eq!(kept.ask("openai/m1").await.status, 429);
    let counted =
        kept.agent().post("/v1/messages/count_tokens", acceptance::messages_body("anthropic/m1", false)).await;
    assert_eq!(counted.status, 200, "{}", counted.text());
    assert_eq!(kept.agent().get("/v1/models").await.status, 200);
    kept.world.check_invariants().await;
}

#[tokio::test]
async fn counting_tokens_spends_none_of_them_in_any_dialect_that_counts() {
    let kept = Kept::new(json!({
        "budgetDailyUsd": 1.0, "tokenLimits": [{ "scopeType": "global", "tokenLimit": 1_000_000 }],
    }))
    .await;
    kept.world.connect("anthropic", "c2").await;
    kept.world.connect("gemini", "c3").await;
    kept.world.connect("deepseek", "c4").await;
    let messages = |model| acceptance::messages_body(model, false);
    let contents = json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] }).to_string();
    // Two that count themselves, and two for which it is done here.
    for (path, body) in [
        ("/v1/messages/count_tokens", messages("anthropic/claude-sonnet-4-5")),
        ("/v1beta/models/gemini/gemini-2.5-pro:countTokens", contents.clone()),
        ("/v1/messages/count_tokens", messages("deepseek/m1")),
        ("/v1beta/models/deepseek/m1:countTokens", contents),
    ] {
        let reply = kept.agent().post(path, body).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        let row = kept.world.last_request().await;
        assert_eq!((&row["tokensInput"], &row["tokensOutput"]), (&Value::Null, &Value::Null), "{path}: {row}");
        assert_eq!(row["estimated"], false, "{path}: {row}");
        for limit in 0..2 {
            close(&kept.limit_use(limit).await["used"], 0.0);
        }
    }
    kept.world.check_invariants().await;
}
