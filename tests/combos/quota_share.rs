//! Accounts that several keys share: who is served, by which account, and what it counts (gateway specification, 3.6;
//! resilience specification, 14.4 and 14.5).

use acceptance::{Connection, Reply, World, beginning, chat_body, messages_body};
use domain::{Dialect, Millis};
use fake_upstream::{Break, Gate, Step};
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const MODEL: &str = "qtSd/team/openai/m1";

/// Accounts at one provider, and the pool that joins them.
pub(crate) struct Shared {
    pub(crate) world: World,
    pub(crate) accounts: Vec<Connection>,
}

impl Shared {
    /// `accounts` of them, conversations free to wander.
    pub(crate) async fn start(accounts: usize) -> Shared {
        let world = World::start().await;
        world.set(json!({ "comboDefaults": { "disableSessionStickiness": true } })).await;
        let mut shared = Shared { world, accounts: Vec::new() };
        for n in 0..accounts {
            let account = shared.world.connect("openai", &format!("c{n}")).await;
            shared.world.script(&account).then(Step::ok(format!("from {n}")));
            shared.accounts.push(account);
        }
        shared
    }

    /// Joins all accounts under the slug `team`.
    async fn pool(&self, dimensions: Value, allocations: Value) -> Value {
        let connections: Vec<&str> = self.accounts.iter().map(|account| account.id.as_str()).collect();
        let body = json!({
            "name": "Team", "connections": connections, "dimensions": dimensions, "allocations": allocations,
        });
        self.world.managed(Method::POST, "/api/quota/pools", Some(body)).await["pool"].clone()
    }

    /// One that counts nothing.
    pub(crate) async fn open_pool(&self) -> Value {
        self.pool(json!([]), json!([])).await
    }

    pub(crate) async fn cap(&self, account: usize, places: u32) {
        self.world.change(&self.accounts[account], json!({ "max_concurrent": places })).await;
    }

    /// Keeps an account's answers back.
    pub(crate) fn hold(&self, account: usize) -> Gate {
        let gate = Gate::closed();
        self.world.script(&self.accounts[account]).then(Step::ok(format!("from {account}")).held(&gate)).cycle();
        gate
    }

    /// A key with its text.
    async fn key(&self, name: &str) -> Key {
        let text = self.world.make_key(json!({ "name": name })).await;
        let keys = self.world.managed(Method::GET, "/api/keys", None).await;
        let record = keys["keys"].as_array().expect("keys").iter().find(|key| key["name"] == name).expect("it").clone();
        Key { id: record["id"].as_str().expect("an id").to_owned(), text }
    }

    async fn ask(&self, key: &Key) -> Reply {
        self.world.agent().with_key(&key.text).post("/v1/chat/completions", chat_body(MODEL, false)).await
    }

    pub(crate) fn asking(&self, times: usize) -> Vec<JoinHandle<Reply>> {
        let ask = |_| {
            let agent = self.world.agent();
            tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body(MODEL, false)).await })
        };
        (0..times).map(ask).collect()
    }

    async fn served(&self, times: usize) -> Vec<usize> {
        let mut served = Vec::new();
        for _ in 0..times {
            served.push(who(&self.world.agent().post("/v1/chat/completions", chat_body(MODEL, false)).await));
        }
        served
    }

    async fn state(&self, pool: &Value) -> Value {
        let path = format!("/api/quota/pools/{}/state", pool["id"].as_str().expect("an id"));
        self.world.managed(Method::GET, &path, None).await
    }
}

struct Key {
    id: String,
    text: String,
}

impl Key {
    fn part(&self, weight: u32, policy: &str) -> Value {
        json!({ "apiKeyId": self.id, "weight": weight, "policy": policy })
    }
}

fn who(reply: &Reply) -> usize {
    assert_eq!(reply.status, 200, "{}", reply.text());
    (0..9).find(|n| reply.text().contains(&format!("from {n}"))).expect("an account")
}

pub(crate) async fn all_succeed(asking: Vec<JoinHandle<Reply>>) {
    for asking in asking {
        who(&asking.await.expect("an answer"));
    }
}

fn requests_an_hour(limit: u32) -> Value {
    json!([{ "unit": "requests", "window": "hourly", "limit": limit }])
}

#[tokio::test]
async fn requests_to_a_pool_go_one_after_another_up_to_the_cap_of_the_account() {
    // QS-01, QS-02, QS-03, QS-04
    for (cap, limited, at_once) in [(Some(1), true, 1), (Some(2), true, 2), (None, true, 5), (Some(1), false, 5)] {
        let shared = Shared::start(1).await;
        shared.open_pool().await;
        shared.world.resilience(json!({ "quotaShareConcurrencyLimit": { "enabled": limited } })).await;
        if let Some(cap) = cap {
            shared.cap(0, cap).await;
        }
        let gate = shared.hold(0);
        let asking = shared.asking(5);
        shared.world.wait_for_calls(&shared.accounts[0], at_once).await;
        shared.world.wait_for_waiting(5 - u32::try_from(at_once).expect("few")).await;
        assert_eq!(shared.world.calls(&shared.accounts[0]).len() as u64, at_once);
        gate.open();
        all_succeed(asking).await;
        assert_eq!(shared.world.cooling(&shared.accounts[0]), None);
        shared.world.check_invariants().await;
    }
}

#[tokio::test]
async fn whoever_waits_too_long_or_finds_the_line_full_goes_on_without_a_place() {
    // QS-05, QS-06
    let shared = Shared::start(1).await;
    shared.open_pool().await;
    shared.cap(0, 1).await;
    let account = &shared.accounts[0];
    let gate = shared.hold(0);
    shared.world.set(json!({ "comboDefaults": { "queueTimeoutMs": 100 } })).await;
    let mut asking = shared.asking(1);
    shared.world.wait_for_calls(account, 1).await;
    asking.extend(shared.asking(1));
    shared.world.wait_for_waiting(1).await;
    shared.world.advance(Millis::new(100));
    shared.world.wait_for_calls(account, 2).await;
    shared.world.set(json!({ "comboDefaults": { "queueDepth": 0 } })).await;
    asking.extend(shared.asking(1));
    shared.world.wait_for_calls(account, 3).await;
    gate.open();
    all_succeed(asking).await;
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn a_place_is_held_to_the_end_of_a_stream_and_given_back_however_it_ends() {
    // QS-08, QS-09
    let shared = Shared::start(1).await;
    shared.open_pool().await;
    shared.cap(0, 1).await;
    let account = &shared.accounts[0];
    for step in [
        Step::sse([beginning(Dialect::Chat)]).broken(usize::MAX, Break::Stall),
        Step::ok("from 0").broken(usize::MAX, Break::Reset),
        Step::error(400, "not like this"),
    ] {
        let stalls = matches!(step, Step::Cut { how: Break::Stall, .. });
        shared.world.script(account).then(step).then(Step::ok("from 0"));
        let mut stream = shared.world.agent().stream("/v1/chat/completions", chat_body(MODEL, true)).await;
        stream.next().await;
        if stalls {
            let waiting = shared.asking(1);
            shared.world.wait_for_waiting(1).await;
            drop(stream);
            all_succeed(waiting).await;
        } else {
            stream.rest().await;
        }
        shared.world.settle().await;
        shared.world.managed(Method::POST, "/api/resilience/cooldowns", Some(json!({ "all": true }))).await;
        all_succeed(shared.asking(1)).await;
        shared.world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_request_that_is_sent_once_more_keeps_its_place_over_every_pause() {
    // QS-07
    for hedging in [false, true] {
        let shared = Shared::start(1).await;
        let switches = json!({ "zeroLatencyOptimizationsEnabled": hedging, "hedging": hedging, "maxRetries": 2 });
        shared.world.set(json!({ "comboDefaults": switches })).await;
        shared.open_pool().await;
        let account = &shared.accounts[0];
        let specific = json!({ "disableCooling": true, "baseUrl": shared.world.upstream.base_url(Dialect::Chat) });
        shared.world.change(account, json!({ "max_concurrent": 1, "providerSpecificData": specific })).await;
        let gate = Gate::closed();
        let answer = Step::ok("from 0").held(&gate);
        shared.world.script(account).times(2, Step::error(500, "not now")).then(answer.clone()).then(answer);
        let mut asking = shared.asking(1);
        shared.world.wait_for_endings(account, 1).await;
        asking.extend(shared.asking(1));
        for calls in [1, 2] {
            shared.world.wait_for_endings(account, calls as u64).await;
            shared.world.wait_for_waiting(1).await;
            assert_eq!(shared.world.calls(account).len(), calls, "nobody takes the place of whoever pauses");
            let next = async {
                while shared.world.calls(account).len() == calls {
                    shared.world.advance(Millis::new(500));
                    shared.world.stranger().get("/health").await;
                }
            };
            acceptance::in_time("the next call", next).await;
        }
        assert_eq!(shared.world.picture().waiting, 1);
        gate.open();
        all_succeed(asking).await;
        assert_eq!(shared.world.calls(account).len(), 4);
        all_succeed(shared.asking(1)).await;
        shared.world.check_invariants().await;
    }
}

#[tokio::test]
async fn whoever_is_beyond_a_soft_share_waits_behind_those_who_are_not() {
    let shared = Shared::start(1).await;
    let (greedy, modest) = (shared.key("greedy").await, shared.key("modest").await);
    shared.pool(requests_an_hour(2), json!([greedy.part(1, "soft"), modest.part(1, "hard")])).await;
    who(&shared.ask(&greedy).await);
    shared.cap(0, 1).await;
    let account = &shared.accounts[0];
    let gate = shared.hold(0);
    let ask = |key: &Key, text: &str| {
        let (agent, body) = (shared.world.agent().with_key(&key.text), chat_body(MODEL, false));
        let body = body.replace("hello", text);
        tokio::spawn(async move { agent.post("/v1/chat/completions", body).await })
    };
    let mut asking = vec![ask(&modest, "first")];
    shared.world.wait_for_calls(account, 2).await;
    asking.push(ask(&greedy, "greedy"));
    shared.world.wait_for_waiting(1).await;
    asking.push(ask(&modest, "modest"));
    shared.world.wait_for_waiting(2).await;
    gate.open();
    all_succeed(asking).await;
    let order: Vec<String> = shared.world.calls(account).iter().skip(2).map(|call| call.json().to_string()).collect();
    assert!(order[0].contains("modest") && order[1].contains("greedy"), "{order:?}");
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn an_account_at_its_cap_is_asked_last_and_nobody_is_refused() {
    // QS-18
    let shared = Shared::start(2).await;
    shared.open_pool().await;
    shared.cap(0, 1).await;
    shared.cap(1, 1).await;
    let gates = [shared.hold(0), shared.hold(1)];
    let mut asking = shared.asking(1);
    shared.world.wait_for_calls(&shared.accounts[0], 1).await;
    asking.extend(shared.asking(1));
    shared.world.wait_for_calls(&shared.accounts[1], 1).await;
    asking.extend(shared.asking(1));
    shared.world.wait_for_waiting(1).await;
    gates.iter().for_each(Gate::open);
    all_succeed(asking).await;
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn whoever_found_every_place_taken_is_served_even_after_another_account_failed() {
    let shared = Shared::start(2).await;
    shared.open_pool().await;
    shared.cap(0, 1).await;
    let gate = shared.hold(0);
    let first = shared.asking(1);
    shared.world.wait_for_calls(&shared.accounts[0], 1).await;
    shared.world.script(&shared.accounts[1]).then(Step::error(403, "no entry"));
    let second = shared.asking(1);
    shared.world.wait_for_calls(&shared.accounts[1], 1).await;
    shared.world.wait_for_waiting(1).await;
    gate.open();
    all_succeed(first).await;
    all_succeed(second).await;
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn accounts_of_a_pool_take_turns() {
    // QS-20
    let shared = Shared::start(2).await;
    shared.open_pool().await;
    let served = shared.served(40).await;
    let first = served.iter().filter(|account| **account == 0).count();
    assert!((19..=21).contains(&first), "{served:?}");
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn an_account_that_is_used_up_is_asked_last_until_it_is_full_again() {
    // QS-19
    let world = World::start().await;
    world.set(json!({ "comboDefaults": { "disableSessionStickiness": true } })).await;
    let accounts = [world.connect("claude", "c0").await, world.connect("claude", "c1").await];
    let ids: Vec<&str> = accounts.iter().map(|account| account.id.as_str()).collect();
    let pool = json!({ "name": "Team", "connections": ids, "dimensions": [] });
    world.managed(Method::POST, "/api/quota/pools", Some(pool)).await;
    let reset = world.now().as_millis() / 1000 + 3_600;
    world.script(&accounts[0]).then(announcing(0, "1.0", reset)).then(Step::ok("from 0"));
    world.script(&accounts[1]).then(Step::ok("from 1"));
    let ask = async || {
        let body = messages_body("qtSd/team/claude/claude-sonnet-4-5", false);
        who(&world.agent().post("/v1/messages", body).await)
    };
    let mut served = Vec::new();
    for _ in 0..6 {
        served.push(ask().await);
    }
    let first = served.iter().position(|account| *account == 0).expect("a turn");
    assert!(served[first + 1..].iter().all(|account| *account == 1), "{served:?}");
    world.script(&accounts[1]).then(announcing(1, "1.0", reset)).then(Step::ok("from 1"));
    ask().await;
    ask().await;
    world.advance(Millis::minutes(61));
    let later = [ask().await, ask().await];
    assert!(later.contains(&0), "full again: {later:?}");
    world.check_invariants().await;
}

/// A reply of account `from` that announces the part of the five hours that is used until `reset`, in seconds.
fn announcing(from: usize, part: &str, reset: u64) -> Step {
    let answer = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m1",
        "content": [{ "type": "text", "text": format!("from {from}") }],
        "stop_reason": "end_turn", "stop_sequence": null, "usage": { "input_tokens": 10, "output_tokens": 9 },
    });
    let kind = (http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    Step::raw(200, http::HeaderMap::from_iter([kind]), answer.to_string())
        .with_header("anthropic-ratelimit-unified-5h-utilization", part)
        .with_header("anthropic-ratelimit-unified-5h-reset", &reset.to_string())
}

#[tokio::test]
async fn two_keys_with_weights_three_and_one_share_an_account_three_to_one() {
    let shared = Shared::start(1).await;
    let (a, b) = (shared.key("a").await, shared.key("b").await);
    let pool = shared.pool(requests_an_hour(40), json!([a.part(3, "hard"), b.part(1, "hard")])).await;
    let (mut of_a, mut of_b) = (0, 0);
    for _ in 0..40 {
        of_a += u32::from(shared.ask(&a).await.status == 200);
        of_b += u32::from(shared.ask(&b).await.status == 200);
    }
    assert_eq!((of_a, of_b), (30, 10));
    let state = shared.state(&pool).await;
    let used: Vec<f64> = (0..2).map(|n| state["keys"][n]["uses"][0]["used"].as_f64().expect("a figure")).collect();
    assert_eq!(used, [30.0, 10.0], "{state}");
    assert_eq!((&state["keys"][0]["standing"], &state["dimensions"][0]["strict"]), (&json!("refused"), &json!(true)));
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn a_hard_key_at_its_share_is_refused_in_words_that_help_and_served_again_later() {
    let shared = Shared::start(1).await;
    let (a, b) = (shared.key("a").await, shared.key("b").await);
    shared.pool(requests_an_hour(4), json!([a.part(1, "hard"), b.part(1, "hard")])).await;
    for key in [&a, &a] {
        who(&shared.ask(key).await);
    }
    let refused = shared.ask(&a).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    let error = refused.json()["error"].clone();
    assert_eq!((&error["code"], &error["type"]), (&json!("rate_limit_exceeded"), &json!("rate_limit_error")));
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("`Team`") && message.contains("2 of 2 requests an hour"), "{message}");
    assert!(message.contains("it may ask again from 20"), "{message}");
    let wait: u64 = refused.header("retry-after").expect("a wait").parse().expect("seconds");
    assert!((1..=7_200).contains(&wait), "{wait}");
    assert_eq!(shared.world.calls(&shared.accounts[0]).len(), 2, "nobody was asked");
    who(&shared.ask(&b).await);
    shared.world.advance(Millis::seconds(wait));
    who(&shared.ask(&a).await);
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn a_soft_key_goes_on_with_a_warning_and_a_burst_key_borrows_what_others_leave() {
    let shared = Shared::start(1).await;
    let (soft, burst) = (shared.key("soft").await, shared.key("burst").await);
    shared.pool(requests_an_hour(4), json!([soft.part(1, "soft"), burst.part(1, "burst")])).await;
    for warning in [None, None, Some("QUOTA_SHARE_EXCEEDED")] {
        let reply = shared.ask(&soft).await;
        who(&reply);
        assert_eq!(reply.header("x-omniroute-warnings"), warning);
    }
    who(&shared.ask(&burst).await);
    who(&shared.ask(&burst).await);
    assert_eq!(shared.ask(&burst).await.status, 429, "the soft key has left nothing");
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn what_was_used_outlives_a_restart() {
    let mut shared = Shared::start(1).await;
    let a = shared.key("a").await;
    let nobody = shared.key("b").await;
    let pool = shared.pool(requests_an_hour(4), json!([a.part(1, "hard"), nobody.part(1, "hard")])).await;
    for _ in 0..2 {
        who(&shared.ask(&a).await);
    }
    shared.world.restart().await;
    assert_eq!(shared.ask(&a).await.status, 429);
    let state = shared.state(&pool).await;
    assert_eq!(state["keys"][0]["uses"][0], json!({ "used": 2.0, "share": 2.0 }), "{state}");
    shared.world.advance(Millis::hours(2));
    shared.world.restart().await;
    who(&shared.ask(&a).await);
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn tokens_and_percentages_are_charged_to_whoever_used_them() {
    let world = World::start().await;
    let account = world.connect("claude", "c0").await;
    let shared = Shared { world, accounts: vec![account] };
    let (a, b) = (shared.key("a").await, shared.key("b").await);
    let dimensions = json!([
        { "unit": "percent", "window": "5h", "limit": 100 }, { "unit": "tokens", "window": "daily", "limit": 1_000_000 },
    ]);
    let pool = shared.pool(dimensions, json!([a.part(1, "hard"), b.part(1, "hard")])).await;
    let reset = shared.world.now().as_millis() / 1000 + 3_600;
    let ask = async |key: &Key, part: &str| {
        shared.world.script(&shared.accounts[0]).then(announcing(0, part, reset));
        let body = messages_body("qtSd/team/claude/claude-sonnet-4-5", false);
        shared.world.agent().with_key(&key.text).post("/v1/messages", body).await.status
    };
    for (key, part) in [(&a, "0.10"), (&a, "0.30"), (&b, "0.35")] {
        assert_eq!(ask(key, part).await, 200);
    }
    let state = shared.state(&pool).await;
    let used = |key: usize, dimension: usize| state["keys"][key]["uses"][dimension]["used"].as_f64().expect("a figure");
    assert!((used(0, 0) - 20.0).abs() < 0.01 && (used(1, 0) - 5.0).abs() < 0.01, "{state}");
    assert!(used(0, 1) > used(1, 1) && used(1, 1) > 0.0, "{state}");
    assert_eq!(state["dimensions"][0]["measured"], 0.35, "{state}");
    assert_eq!(ask(&a, "0.90").await, 200);
    assert_eq!(ask(&a, "0.90").await, 429, "75 points of 50");
    assert_eq!(ask(&b, "0.90").await, 200);
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn names_of_pools_are_not_listed_and_wrong_ones_lead_to_right_ones() {
    let shared = Shared::start(1).await;
    shared.open_pool().await;
    shared.world.connect("groq", "outside").await;
    let listed = shared.world.agent().get("/v1/models").await;
    assert!(!listed.text().contains("qtSd/"), "{}", listed.text());
    for name in ["qtSd/teem/openai/m1", "qtSd/team/groq/m1"] {
        let reply = shared.world.agent().post("/v1/chat/completions", chat_body(name, false)).await;
        assert_eq!(reply.status, 404, "{}", reply.text());
        assert!(reply.text().contains("`qtSd/team/openai/m1`"), "{}", reply.text());
    }
    let body = json!({ "name": "limited", "allowedModels": ["qtSd/team/*"] });
    let limited = shared.world.agent().with_key(&shared.world.make_key(body).await);
    assert_eq!(limited.post("/v1/chat/completions", chat_body(MODEL, false)).await.status, 200);
    assert_eq!(limited.post("/v1/chat/completions", chat_body("openai/m1", false)).await.status, 403);
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn explaining_a_pools_model_shows_its_accounts_and_the_refusal_a_key_would_get() {
    let shared = Shared::start(2).await;
    let (a, b) = (shared.key("a").await, shared.key("b").await);
    shared.pool(requests_an_hour(2), json!([a.part(1, "hard"), b.part(1, "hard")])).await;
    let explain = async |key: &Key| {
        let path = format!("/api/resilience/explain?model={MODEL}&keyId={}", key.id);
        shared.world.managed(Method::GET, &path, None).await
    };
    who(&shared.ask(&a).await);
    let told = explain(&a).await;
    assert_eq!(told["route"]["kind"], "quota-share", "{told}");
    assert_eq!((&told["route"]["rule"], &told["route"]["strategy"]), (&json!(5), &json!("quota-share")));
    assert_eq!(told["targets"].as_array().map(Vec::len), Some(2));
    assert_eq!((&told["answer"]["status"], &told["answer"]["code"]), (&json!(429), &json!("rate_limit_exceeded")));
    assert_eq!(explain(&b).await["answer"], Value::Null);
    shared.world.check_invariants().await;
}
