//! A combo waits for a short limit of all its targets, and for nothing else (resilience specification, 15.2 and 15.3;
//! scenarios CR). Its targets are two models of an account whose quotas are per model.

use acceptance::{Connection, Reply, World, chat_body};
use domain::{Millis, Timestamp};
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::cast::{MS, ask, post};
use crate::waiting::until_seen;

/// What is added to a wait, so that it does not end too early.
const MARGIN: Millis = Millis::new(50);

struct Pair {
    world: World,
    account: Connection,
}

fn limited(seconds: u64) -> Step {
    Step::error(429, "slow down").with_header("retry-after", &seconds.to_string())
}

/// A limit that is announced to the millisecond.
fn limited_for(millis: u64) -> Step {
    let body = json!({ "error": { "message": "slow down", "type": "rate_limit_error" }, "retry_after_ms": millis });
    Step::status(429, body.to_string())
}

impl Pair {
    async fn start() -> Pair {
        let world = World::start_patient().await;
        let node = world.node(MS, "apikey").await;
        let account = world.connect(&node, "c1").await;
        let pair = Pair { world, account };
        pair.combo("pair", "priority").await;
        pair
    }

    async fn combo(&self, name: &str, strategy: &str) {
        let models = json!(["ms/m1", "ms/m2"]);
        let config = json!({ "maxRetries": 0, "disableSessionStickiness": true });
        let body = json!({ "name": name, "strategy": strategy, "models": models, "config": config });
        self.world.managed(Method::POST, "/api/combos", Some(body)).await;
    }

    /// Each model answers with its step once, and then well; or for ever with it.
    fn scripted(&self, steps: [Step; 2], for_ever: bool) {
        for (model, step) in ["m1", "m2"].into_iter().zip(steps) {
            let script = self.world.script_model(&self.account, model).then(step);
            if !for_ever {
                script.then(Step::ok("fine"));
            }
        }
    }

    /// Locks each model by a direct request. Waiting is off meanwhile.
    async fn locked(&self, steps: [Step; 2]) {
        self.waits(json!({ "enabled": false }), json!({})).await;
        self.scripted(steps, false);
        for model in ["m1", "m2"] {
            post(&self.world, &ask(MS, model)).await;
        }
        self.waits(json!({ "enabled": true }), json!({})).await;
    }

    async fn waits(&self, direct: Value, combo: Value) {
        self.world.resilience(json!({ "waitForCooldown": direct })).await;
        if combo != json!({}) {
            self.world.resilience(json!({ "comboCooldownWait": combo })).await;
        }
    }

    fn begin(&self, name: &str, stream: bool) -> JoinHandle<Reply> {
        let (agent, body) = (self.world.agent(), chat_body(name, stream));
        tokio::spawn(async move { agent.post("/v1/chat/completions", body).await })
    }

    /// How long the request that waits now has still to wait.
    async fn wait(&self) -> Millis {
        let shown = until_seen(&self.world, 1).await;
        let until: jiff::Timestamp = shown[0]["until"].as_str().expect("an instant").parse().expect("an instant");
        let until = Timestamp::from_millis(u64::try_from(until.as_millisecond()).expect("after the epoch"));
        until.since(self.world.now())
    }

    fn calls(&self) -> usize {
        self.world.calls(&self.account).len()
    }

    /// The answer to a request that does not wait.
    async fn at_once(&self, name: &str) -> Reply {
        self.begin(name, false).await.expect("a reply")
    }
}

#[tokio::test]
async fn two_limited_targets_are_waited_for_and_then_serve() {
    // CR-01; CR-15: for the soonest.
    for (steps, length) in [([limited(60), limited(60)], 60), ([limited(50), limited(20)], 20)] {
        let pair = Pair::start().await;
        pair.scripted(steps, false);
        let asking = pair.begin("pair", false);
        assert_eq!(pair.wait().await, Millis::seconds(length) + MARGIN);
        pair.world.advance(Millis::new(length * 1_000 + MARGIN.as_millis() - 1));
        until_seen(&pair.world, 1).await;
        assert!(!asking.is_finished(), "not a millisecond too early");
        pair.world.advance(Millis::new(1));
        let reply = asking.await.expect("a reply");
        assert_eq!((reply.status.as_u16(), pair.calls()), (200, 3), "{}", reply.text());
        pair.world.check_invariants().await;
    }
}

#[tokio::test]
async fn the_longest_wait_is_waited_and_not_a_millisecond_more() {
    // CR-02: ninety seconds, the margin included.
    for (limit, waits) in [(89_950, true), (89_951, false)] {
        let pair = Pair::start().await;
        pair.scripted([limited_for(limit), limited_for(limit)], false);
        let asking = pair.begin("pair", false);
        if waits {
            assert_eq!(pair.wait().await, Millis::seconds(90));
            pair.world.advance(Millis::seconds(90));
        }
        let reply = asking.await.expect("a reply");
        assert_eq!(reply.status == 200, waits, "{limit}: {} {}", reply.status, reply.text());
        pair.world.check_invariants().await;
    }
}

#[tokio::test]
async fn waits_are_counted_and_so_is_their_time() {
    // CR-03: five times. CR-04: three times eighty seconds, a fourth would be more than five minutes.
    for (length, waits) in [(10, 5), (80, 3)] {
        let pair = Pair::start().await;
        pair.scripted([limited(length), limited(length)], true);
        let asking = pair.begin("pair", false);
        for _ in 0..waits {
            let wait = pair.wait().await;
            pair.world.advance(wait);
            // The next wait is another one: it is there when the targets have been asked anew.
            until_seen_anew(&pair, wait).await;
        }
        let reply = asking.await.expect("a reply");
        assert_eq!((reply.status.as_u16(), pair.calls()), (429, 2 * (waits + 1)), "{length}: {}", reply.text());
        pair.world.check_invariants().await;
    }
}

/// The wait that is over is seen no more.
async fn until_seen_anew(pair: &Pair, over: Millis) {
    let now = pair.world.now();
    let looking = async {
        loop {
            let shown = crate::waiting::seen_waiting(&pair.world).await;
            let since = |shown: &Value| shown["since"].as_str().map(str::to_owned);
            let began_now = |shown: &Value| since(shown).is_some_and(|since| millis(&since) == now.as_millis());
            if shown.is_empty() && pair.world.in_flight() == 0 || shown.iter().any(began_now) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(acceptance::PATIENCE, looking).await.unwrap_or_else(|_| panic!("the wait of {over} ends"));
}

fn millis(instant: &str) -> u64 {
    let instant: jiff::Timestamp = instant.parse().expect("an instant");
    u64::try_from(instant.as_millisecond()).expect("after the epoch")
}

#[tokio::test]
async fn nothing_that_lasts_and_nothing_unknown_is_waited_for() {
    // CR-05, CR-06, CR-07, CR-08
    for (name, status, message) in [
        ("quota", 429, "your quota exceeded the plan: quota will reset tomorrow"),
        ("credential", 401, "bad key"),
        ("model", 404, "the model does not exist"),
        ("unknown", 418, "a teapot"),
    ] {
        let pair = Pair::start().await;
        pair.scripted([Step::error(status, message), Step::error(status, message)], true);
        let reply = pair.at_once("pair").await;
        assert!(!reply.status.is_success(), "{name}: {}", reply.text());
        pair.world.check_invariants().await;
    }
    let pair = Pair::start().await;
    pair.world.resilience(json!({ "comboCooldownWait": { "enabled": false } })).await;
    pair.scripted([limited(10), limited(10)], true);
    let reply = pair.at_once("pair").await;
    assert_eq!((reply.status.as_u16(), pair.calls()), (429, 2), "off: {}", reply.text());
    pair.world.check_invariants().await;
}

#[tokio::test]
async fn a_client_that_leaves_its_combo_ends_the_wait() {
    // CR-09
    let pair = Pair::start().await;
    pair.scripted([limited(10), limited(10)], false);
    let asking = pair.begin("pair", false);
    until_seen(&pair.world, 1).await;
    asking.abort();
    until_seen(&pair.world, 0).await;
    pair.world.advance(Millis::minutes(1));
    pair.world.check_invariants().await;
    assert_eq!(pair.calls(), 2, "nobody is asked for a client that is gone");
    assert_eq!(pair.world.last_request().await["outcome"], "aborted");
}

#[tokio::test]
async fn whatever_the_strategy_a_short_limit_is_waited_for() {
    // CR-10
    for strategy in [
        "priority",
        "weighted",
        "round-robin",
        "fill-first",
        "p2c",
        "random",
        "least-used",
        "cost-optimized",
        "reset-aware",
        "reset-window",
        "headroom",
        "strict-random",
        "auto",
        "lkgp",
        "context-optimized",
        "cache-optimized",
        "context-relay",
    ] {
        let pair = Pair::start().await;
        pair.combo("other", strategy).await;
        pair.scripted([limited(60), limited(60)], false);
        let asking = pair.begin("other", false);
        assert_eq!(pair.wait().await, Millis::seconds(60) + MARGIN, "{strategy}");
        pair.world.advance(Millis::seconds(60) + MARGIN);
        let reply = asking.await.expect("a reply");
        assert_eq!((reply.status.as_u16(), pair.calls()), (200, 3), "{strategy}: {}", reply.text());
        pair.world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_limit_that_is_known_beforehand_is_waited_for_before_anybody_is_asked() {
    // CR-11
    let pair = Pair::start().await;
    pair.locked([limited(20), limited(20)]).await;
    let before = pair.calls();
    let asking = pair.begin("pair", false);
    assert_eq!(pair.wait().await, Millis::seconds(20) + MARGIN);
    assert_eq!(pair.calls(), before);
    pair.world.advance(Millis::seconds(20) + MARGIN);
    let reply = asking.await.expect("a reply");
    assert_eq!((reply.status.as_u16(), pair.calls()), (200, before + 1), "{}", reply.text());
    pair.world.check_invariants().await;
}

#[tokio::test]
async fn a_wait_that_is_too_long_is_told_to_the_second_and_nobody_is_asked() {
    // CR-12; CR-13: a quota beside it changes nothing.
    let exhausted = Step::error(429, "your quota exceeded the plan: quota will reset tomorrow");
    for (steps, seconds) in [([limited(120), limited(120)], 120), ([limited(300), exhausted], 300)] {
        let pair = Pair::start().await;
        pair.locked(steps).await;
        let before = pair.calls();
        let reply = pair.at_once("pair").await;
        assert_eq!((reply.status.as_u16(), pair.calls()), (429, before), "{}", reply.text());
        let error = reply.json()["error"].clone();
        assert_eq!((&error["type"], &error["retry_after"]), (&json!("rate_limit_error"), &json!(seconds)), "{error}");
        let reset = millis(error["reset_at"].as_str().expect("an instant"));
        assert_eq!(reset, (pair.world.now() + Millis::seconds(seconds)).as_millis(), "{error}");
        assert_eq!(reply.header("retry-after"), Some(seconds.to_string().as_str()));
        pair.world.check_invariants().await;
    }
}

#[tokio::test]
async fn what_no_wait_ends_is_no_rate_limit() {
    // CR-14
    let pair = Pair::start().await;
    let exhausted = Step::error(429, "your quota exceeded the plan: quota will reset tomorrow");
    pair.locked([exhausted.clone(), exhausted]).await;
    let before = pair.calls();
    let reply = pair.at_once("pair").await;
    assert_eq!((reply.status.as_u16(), pair.calls()), (503, before), "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "ALL_TARGETS_SKIPPED");
    assert_eq!(reply.header("retry-after"), None);
    pair.world.check_invariants().await;
}

#[tokio::test]
async fn each_target_is_looked_up_under_its_own_model() {
    // CR-16
    let pair = Pair::start().await;
    pair.locked([limited(20), Step::ok("fine")]).await;
    let reply = pair.at_once("pair").await;
    assert_eq!(reply.header("x-omniroute-model"), Some("m2"), "{} {}", reply.status, reply.text());
    pair.world.check_invariants().await;
}

#[tokio::test]
async fn a_client_that_wants_a_stream_is_kept_alive_while_it_waits() {
    // CR-18
    let pair = Pair::start().await;
    pair.scripted([limited(40), limited(40)], false);
    let agent = pair.world.agent();
    let opening = tokio::spawn(async move { agent.stream("/v1/chat/completions", chat_body("pair", true)).await });
    until_seen(&pair.world, 1).await;
    pair.world.advance(Millis::seconds(15));
    let mut stream = opening.await.expect("a head");
    assert_eq!(stream.status, 200);
    stream.until("\"delta\":{}").await;
    pair.world.advance(Millis::seconds(26));
    let reply = stream.rest().await;
    assert!(reply.text().contains("\"content\":\"fi\"") && reply.text().ends_with("[DONE]\n\n"), "{}", reply.text());
    pair.world.check_invariants().await;
}
