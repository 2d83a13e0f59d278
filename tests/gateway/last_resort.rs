//! One try elsewhere when a provider's credit is used up, for who switched it on (resilience specification, 21.1; decision
//! 4; acceptance, OF).

use acceptance::{Connection, Reply, World, chat_body, messages_body, responses_body};
use fake_upstream::{Answer, Step};
use http::Method;
use serde_json::{Value, json};

const FLAG: &str = "/api/settings/feature-flags/OMNIROUTE_EMERGENCY_FALLBACK";
const MARK: &str = "x-omniroute-emergency-fallback";

/// An account without credit, and one at the other provider.
struct Broke {
    world: World,
    own: Connection,
    other: Connection,
}

impl Broke {
    async fn start() -> Broke {
        let world = World::start().await;
        let (own, other) = (world.connect("openai", "own").await, world.connect("nvidia", "other").await);
        let broke = Broke { world, own, other };
        broke.answers(Step::error(402, "pay first"));
        broke.world.script(&broke.other).then(Step::ok("from the other"));
        broke
    }

    async fn switched_on() -> Broke {
        let broke = Broke::start().await;
        broke.switch(true).await;
        broke
    }

    async fn switch(&self, on: bool) {
        self.world.managed(Method::PUT, FLAG, Some(json!({ "value": on }))).await;
    }

    fn answers(&self, step: Step) {
        self.world.script(&self.own).then(step);
    }

    async fn ask(&self, body: impl Into<String>) -> Reply {
        self.world.agent().post("/v1/chat/completions", body.into()).await
    }

    fn calls(&self) -> (usize, usize) {
        (self.world.calls(&self.own).len(), self.world.calls(&self.other).len())
    }
}

fn with(extra: Value) -> String {
    let mut body = json!({ "model": "openai/m1", "messages": [{ "role": "user", "content": "hi" }] });
    for (name, value) in extra.as_object().expect("members") {
        body[name] = value.clone();
    }
    body.to_string()
}

/// OF-04, OF-07
#[tokio::test]
async fn off_by_default_the_refusal_stands_and_nobody_else_is_asked() {
    let broke = Broke::start().await;
    let reply = broke.ask(chat_body("openai/m1", false)).await;
    assert_eq!(reply.status, 402, "{}", reply.text());
    assert!(reply.text().contains("pay first"), "{}", reply.text());
    assert_eq!((broke.calls(), reply.header(MARK)), ((1, 0), None));
}

/// OF-04
#[tokio::test]
async fn switched_on_one_call_goes_elsewhere_and_the_answer_says_so() {
    let broke = Broke::switched_on().await;
    let reply = broke.ask(chat_body("openai/m1", false)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.text().contains("from the other"));
    assert_eq!(reply.header(MARK), Some("from=openai/m1; to=nvidia/openai/gpt-oss-120b"));
    assert_eq!(reply.header("x-omniroute-provider"), Some("nvidia"));
    assert_eq!(reply.header("x-omniroute-warnings"), Some("EMERGENCY_FALLBACK"));
    assert_eq!(broke.calls(), (1, 1));
    let sent = broke.world.calls(&broke.other)[0].json();
    assert_eq!((&sent["model"], &sent["max_tokens"]), (&json!("openai/gpt-oss-120b"), &json!(4_096)), "{sent}");
    let row = broke.world.last_request().await;
    assert_eq!((&row["outcome"], &row["provider"], &row["attempts"]), (&json!("success"), &json!("nvidia"), &json!(2)));
    assert_eq!(row["trace"]["attempts"][0]["decision"], "emergency_fallback", "{row}");
    assert_eq!(row["trace"]["changes"], json!(["EMERGENCY_FALLBACK"]), "{row}");
    broke.world.check_invariants().await;
}

#[tokio::test]
async fn streams_and_other_dialects_are_served_too_and_a_smaller_limit_stays() {
    let broke = Broke::switched_on().await;
    let stream = broke.ask(chat_body("openai/m1", true)).await;
    assert!(stream.text().contains("[DONE]"), "{}", stream.text());
    assert!(stream.header(MARK).is_some());
    broke.world.reset(&broke.own).await;
    assert_eq!(broke.ask(with(json!({ "max_tokens": 50 }))).await.status, 200);
    assert_eq!(broke.world.calls(&broke.other)[1].json()["max_tokens"], 50);
    for (path, body) in
        [("/v1/messages", messages_body("openai/m1", false)), ("/v1/responses", responses_body("openai/m1", false))]
    {
        broke.world.reset(&broke.own).await;
        let reply = broke.world.agent().post(path, body).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        let sent = broke.world.calls(&broke.other).last().expect("a call").json();
        assert!(sent["max_tokens"].as_u64().is_some_and(|most| most <= 4_096), "{path}: {sent}");
    }
}

/// OF-05
#[tokio::test]
async fn the_flag_holds_from_the_next_request_on_without_a_restart() {
    let broke = Broke::switched_on().await;
    assert_eq!(broke.ask(chat_body("openai/m1", false)).await.status, 200);
    broke.switch(false).await;
    broke.world.reset(&broke.own).await;
    assert_eq!(broke.ask(chat_body("openai/m1", false)).await.status, 402);
    assert_eq!(broke.calls().1, 1);
}

#[tokio::test]
async fn an_account_that_is_known_to_be_out_of_credit_is_not_asked_again_and_the_other_is() {
    let broke = Broke::switched_on().await;
    for _ in 0..3 {
        assert_eq!(broke.ask(chat_body("openai/m1", false)).await.status, 200);
    }
    assert_eq!(broke.calls(), (1, 3));
}

#[tokio::test]
async fn words_about_a_budget_count_as_much_as_the_status_and_others_do_not() {
    let broke = Broke::switched_on().await;
    broke.answers(Step::error(403, "your spending limit is reached"));
    assert_eq!(broke.ask(chat_body("openai/m1", false)).await.status, 200);
    for step in [Step::error(500, "oops"), Step::error(429, "slow down"), Step::error(400, "no such thing")] {
        broke.world.reset(&broke.own).await;
        broke.answers(step);
        assert_ne!(broke.ask(chat_body("openai/m1", false)).await.status, 200);
    }
    assert_eq!(broke.calls().1, 1);
}

/// OF-06
#[tokio::test]
async fn not_for_tools_not_for_combos_and_never_twice() {
    let broke = Broke::switched_on().await;
    let tools = json!({ "tools": [{ "type": "function", "function": { "name": "f", "parameters": {} } }] });
    let reply = broke.ask(with(tools)).await;
    assert_eq!(reply.status, 402, "{}", reply.text());
    assert_eq!(broke.world.last_request().await["trace"]["changes"], json!(["EMERGENCY_FALLBACK_TOOLS"]));
    broke.world.reset(&broke.own).await;
    let combo = json!({ "name": "team", "strategy": "priority", "models": ["openai/m1"] });
    broke.world.managed(Method::POST, "/api/combos", Some(combo)).await;
    assert_ne!(broke.ask(chat_body("team", false)).await.status, 200);
    assert_eq!(broke.calls().1, 0);
    broke.world.reset(&broke.own).await;
    broke.world.script(&broke.other).then(Step::error(402, "pay here too"));
    let reply = broke.ask(chat_body("openai/m1", false)).await;
    assert_eq!(reply.status, 402);
    assert!(reply.text().contains("pay first"), "the answer is what it would have been: {}", reply.text());
    assert_eq!((broke.calls().1, reply.header(MARK)), (1, None));
}

#[tokio::test]
async fn the_row_of_a_request_that_failed_there_too_tells_of_its_own_failure() {
    let broke = Broke::switched_on().await;
    for (own, words) in [
        (Step::error(402, "pay first"), "pay first"),
        (Step::status(403, "your spending limit is reached"), "the connection “own”"),
    ] {
        broke.answers(own);
        broke.world.script(&broke.other).then(Step::error(500, "down here"));
        let reply = broke.ask(chat_body("openai/m1", false)).await;
        assert_ne!(reply.status, 200);
        let row = broke.world.last_request().await;
        assert_eq!((&row["provider"], &row["model"]), (&json!("openai"), &json!("m1")), "{row}");
        assert_eq!((&row["connectionId"], &row["connectionName"]), (&json!(broke.own.id), &json!("own")), "{row}");
        let summary = row["errorSummary"].as_str().expect("a summary");
        assert!(summary.contains(words) && !summary.contains("down here") && !summary.contains("other"), "{row}");
        let attempts = &row["trace"]["attempts"];
        assert_eq!(
            (&attempts[1]["provider"], &attempts[1]["message"]),
            (&json!("nvidia"), &json!("down here")),
            "{row}"
        );
        assert!(!reply.text().contains("down here") && !reply.text().contains("other"), "{}", reply.text());
        for account in [&broke.own, &broke.other] {
            broke.world.reset(account).await;
        }
    }
    broke.world.check_invariants().await;
}

#[tokio::test]
async fn without_an_account_there_or_with_a_key_that_may_not_go_there_the_refusal_stands() {
    let broke = Broke::switched_on().await;
    let key = broke.world.make_key(json!({ "name": "narrow", "allowedModels": ["openai/*"] })).await;
    let reply = broke.world.agent().with_key(&key).post("/v1/chat/completions", chat_body("openai/m1", false)).await;
    assert_eq!((reply.status.as_u16(), broke.calls().1), (402, 0));
    broke.world.reset(&broke.own).await;
    broke.world.delete(&broke.other).await;
    assert_eq!(broke.ask(chat_body("openai/m1", false)).await.status, 402);
    assert_eq!(broke.world.last_request().await["trace"]["changes"], json!(["EMERGENCY_FALLBACK_UNAVAILABLE"]));
}

#[tokio::test]
async fn another_target_can_be_chosen() {
    let broke = Broke::switched_on().await;
    let groq = broke.world.connect("groq", "third").await;
    broke.world.script(&groq).then(Step::answer(Answer::text("from the third")));
    let target = json!({ "provider": "groq", "model": "m9", "maxOutputTokens": 100 });
    broke.world.set(json!({ "routing": { "emergencyFallback": target } })).await;
    let reply = broke.ask(chat_body("openai/m1", false)).await;
    assert_eq!(reply.header(MARK), Some("from=openai/m1; to=groq/m9"), "{}", reply.text());
    assert_eq!(broke.world.calls(&groq)[0].json()["max_tokens"], 100);
}
