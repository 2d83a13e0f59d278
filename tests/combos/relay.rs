//! `context-relay`: what the next account is told of a conversation (gateway specification, 3.4).

use acceptance::{Agent, Connection, Reply, World};
use domain::Millis;
use fake_upstream::{Gate, Step};
use http::{HeaderMap, Method};
use serde_json::{Value, json};

const SUMMARY: &str = r#"{"summary":"they build a parser","keyDecisions":["no regex"],"taskProgress":"half"}"#;
const INTERNAL: &str = "internal/context-relay";

struct Relay {
    world: World,
    first: Connection,
    second: Connection,
}

/// An answer of an account whose quota is used up to that share.
fn used(percent: u32, text: &str) -> Step {
    let said = json!({ "type": "output_text", "text": text, "annotations": [] });
    let message =
        json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said] });
    let answer = json!({
        "id": "resp_1", "object": "response", "status": "completed", "model": "m1", "output": [message],
        "usage": { "input_tokens": 3, "output_tokens": 2, "total_tokens": 5 },
    });
    Step::raw(200, HeaderMap::new(), answer.to_string())
        .with_header("content-type", "application/json")
        .with_header("x-codex-primary-used-percent", &percent.to_string())
        .with_header("x-codex-primary-window-minutes", "300")
        .with_header("x-codex-primary-reset-after-seconds", "7200")
}

impl Relay {
    /// Two accounts of one subscription, in a combo.
    async fn start(config: Value) -> Relay {
        let world = World::start().await;
        let (first, second) = (world.connect("codex", "first").await, world.connect("codex", "second").await);
        world.script(&second).then(used(10, "from the second"));
        let body = json!({ "name": "relay", "strategy": "context-relay", "models": ["codex/m1"], "config": config });
        world.managed(Method::POST, "/api/combos", Some(body)).await;
        Relay { world, first, second }
    }

    /// A turn of one conversation.
    async fn ask(&self, agent: &Agent) -> Reply {
        let body = json!({ "model": "relay", "messages": [
            { "role": "user", "content": "Build a parser." },
            { "role": "assistant", "content": "Which grammar?" },
            { "role": "user", "content": "That of JSON." },
        ] });
        let reply = agent.post("/v1/chat/completions", body.to_string()).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply
    }

    /// A turn at the first account, and everything that follows from it.
    async fn served_by_first(&self) {
        let reply = self.ask(&self.world.agent()).await;
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(self.first.id.as_str()));
        self.world.settle().await;
    }

    /// The first account has had enough; the next turn goes to the second. What it was sent.
    async fn moved_to_second(&self, agent: &Agent) -> (Reply, String) {
        self.world.script(&self.first).then(Step::error(429, "slow down"));
        let reply = self.ask(agent).await;
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(self.second.id.as_str()));
        self.world.settle().await;
        let sent = self.world.calls(&self.second).last().expect("a call").json().to_string();
        (reply, sent)
    }

    async fn internal_rows(&self) -> Vec<Value> {
        let rows = self.world.requests().await;
        rows.into_iter().filter(|row| row["path"] == INTERNAL).collect()
    }
}

#[tokio::test]
async fn an_account_that_is_nearly_used_up_has_its_conversation_summed_up_for_the_next_one_once() {
    let relay = Relay::start(json!({})).await;
    relay.world.script(&relay.first).then(used(90, "from the first")).then(used(90, SUMMARY));
    relay.served_by_first().await;
    let calls = relay.world.calls(&relay.first);
    assert_eq!(calls.len(), 2, "the turn, and the call that sums up");
    let asked = calls[1].json().to_string();
    for part in ["That of JSON.", "Which grammar?", "keyDecisions"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    let rows = relay.internal_rows().await;
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["comboName"], &rows[0]["outcome"]), (&json!("relay"), &json!("success")), "{}", rows[0]);

    let (reply, sent) = relay.moved_to_second(&relay.world.agent()).await;
    assert!(sent.contains("they build a parser") && sent.contains("no regex"), "{sent}");
    assert!(sent.contains("That of JSON."), "the request itself is whole: {sent}");
    assert_eq!(reply.header("x-omniroute-warnings"), Some("CONTEXT_HANDOFF"));

    let (reply, sent) = relay.moved_to_second(&relay.world.agent()).await;
    assert!(!sent.contains("they build a parser"), "once: {sent}");
    assert_eq!(reply.header("x-omniroute-warnings"), None);
    relay.world.check_invariants().await;
}

#[tokio::test]
async fn no_summary_is_written_before_the_threshold_nor_too_late_nor_for_a_provider_that_does_not_hand_over() {
    for (percent, config) in [
        (84, json!({})),
        (95, json!({})),
        (90, json!({ "handoffProviders": [] })),
        (90, json!({ "handoffThreshold": 0.93 })),
    ] {
        let relay = Relay::start(config.clone()).await;
        relay.world.script(&relay.first).then(used(percent, "from the first"));
        relay.served_by_first().await;
        assert_eq!(relay.world.calls(&relay.first).len(), 1, "{percent} {config}");
        relay.world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_summary_that_fails_costs_the_client_nothing_and_may_be_tried_again() {
    for failure in [Step::error(500, "down"), Step::ok("I would rather not."), Step::ok("")] {
        let relay = Relay::start(json!({ "handoffModel": "deepseek/m1" })).await;
        let writer = relay.world.connect("deepseek", "writer").await;
        relay.world.script(&relay.first).then(used(90, "from the first"));
        relay.world.script(&writer).then(failure);
        relay.served_by_first().await;
        assert_eq!(relay.world.calls(&writer).len(), 1);
        relay.world.advance(Millis::minutes(10));
        relay.world.script(&writer).then(Step::ok(SUMMARY));
        relay.served_by_first().await;
        assert_eq!(relay.world.calls(&writer).len(), 2);
        relay.served_by_first().await;
        assert_eq!(relay.world.calls(&writer).len(), 2, "it stands until the quota is new");
        let (_, sent) = relay.moved_to_second(&relay.world.agent()).await;
        assert!(sent.contains("they build a parser"), "{sent}");
        relay.world.check_invariants().await;
    }
}

#[tokio::test]
async fn without_a_summary_the_next_account_gets_the_request_as_it_came() {
    let relay = Relay::start(json!({})).await;
    relay.world.script(&relay.first).then(used(90, "from the first")).then(Step::ok("no JSON"));
    relay.served_by_first().await;
    let (reply, sent) = relay.moved_to_second(&relay.world.agent()).await;
    assert!(!sent.contains("continued from another assistant"), "{sent}");
    assert_eq!(reply.header("x-omniroute-warnings"), None);
    relay.world.check_invariants().await;
}

#[tokio::test]
async fn what_one_local_key_said_is_not_told_to_another() {
    let relay = Relay::start(json!({})).await;
    let other = relay.world.make_key(json!({ "name": "other" })).await;
    relay.world.script(&relay.first).then(used(90, "from the first")).then(used(90, SUMMARY));
    relay.served_by_first().await;
    let (_, sent) = relay.moved_to_second(&relay.world.stranger().with_key(&other)).await;
    assert!(!sent.contains("they build a parser"), "{sent}");
    let (_, sent) = relay.moved_to_second(&relay.world.agent()).await;
    assert!(sent.contains("they build a parser"), "{sent}");
    relay.world.check_invariants().await;
}

#[tokio::test]
async fn the_writer_of_a_summary_does_not_act_for_the_client_s_session() {
    let relay = Relay::start(json!({ "handoffModel": "deepseek/m1" })).await;
    let strategy = json!({ "deepseek": "round-robin" });
    relay.world.set(json!({ "sessionAffinityTtlMs": 600_000, "routing": { "accountStrategy": strategy } })).await;
    let writers = [relay.world.connect("deepseek", "x").await, relay.world.connect("deepseek", "y").await];
    for writer in &writers {
        relay.world.script(writer).then(Step::ok(SUMMARY));
    }
    relay.world.script(&relay.first).then(used(90, "from the first"));
    let agent = || relay.world.agent().with("x-session-id", "s1");
    relay.ask(&agent()).await;
    relay.world.settle().await;
    let calls = || writers.each_ref().map(|writer| relay.world.calls(writer).len());
    assert_eq!(calls(), [1, 0], "the summary");
    let reply = agent().post("/v1/chat/completions", acceptance::chat_body("deepseek/m1", false)).await;
    assert_eq!((reply.status.as_u16(), calls()), (200, [1, 1]), "the session was nowhere yet: the next one's turn");
    relay.world.check_invariants().await;
}

#[tokio::test]
async fn one_summary_of_a_conversation_is_under_way_at_a_time_and_one_that_takes_too_long_is_given_up() {
    let relay = Relay::start(json!({ "handoffModel": "deepseek/m1" })).await;
    let writer = relay.world.connect("deepseek", "writer").await;
    let gate = Gate::closed();
    relay.world.script(&relay.first).then(used(90, "from the first"));
    relay.world.script(&writer).then(Step::ok(SUMMARY).held(&gate));
    relay.ask(&relay.world.agent()).await;
    relay.world.wait_for_calls(&writer, 1).await;
    relay.ask(&relay.world.agent()).await;
    assert_eq!(relay.world.calls(&writer).len(), 1, "the first is still at it");
    relay.world.advance(Millis::seconds(300));
    relay.world.settle().await;
    let rows = relay.internal_rows().await;
    assert_eq!((rows.len(), &rows[0]["outcome"]), (1, &json!("aborted")), "{}", rows[0]);
    relay.world.check_invariants().await;
}
