//! The request log: exactly one row per request, with what it took and what it cost.

use acceptance::{Ask, World, chat_body, error_event, messages_body};
use domain::{Dialect, Millis, Usage};
use fake_upstream::{Answer, Break, Gate, Pause, Step};
use http::Method;
use serde_json::json;

#[tokio::test]
async fn a_row_tells_who_asked_whom_for_what() {
    let world = World::start().await;
    let connections = world.connect_all().await;
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)) {
        let agent = world.agent().with("user-agent", "claude-cli/2.1.197 (external, cli)");
        let reply = agent.post(&ask.path, ask.body.clone()).await;
        let row = world.last_request().await;
        let connection = connections.iter().find(|found| found.name == ask.provider).expect("a connection");
        assert_eq!(row["id"].as_str(), reply.header("x-omniroute-request-id"));
        assert_eq!(row["method"], "POST");
        assert_eq!(row["path"].as_str(), ask.path.split('?').next());
        assert_eq!((&row["status"], &row["outcome"]), (&json!(200), &json!("success")));
        assert_eq!((&row["requestedModel"], &row["model"]), (&json!(format!("{}/m1", ask.provider)), &json!("m1")));
        assert_eq!((&row["provider"], &row["connectionId"]), (&json!(ask.provider), &json!(connection.id)));
        assert_eq!((&row["connectionName"], &row["keyName"]), (&json!(connection.name), &json!("agents")));
        assert_eq!(row["agent"], "claude-cli");
        assert_eq!((&row["sourceFormat"], &row["attempts"]), (&row["targetFormat"], &json!(1)));
        let attempt = &row["trace"]["attempts"][0];
        assert_eq!(
            (&attempt["kind"], &attempt["decision"], &attempt["status"]),
            (&json!("success"), &json!("answer"), &json!(200))
        );
        assert_eq!(row["trace"]["order"], json!([format!("{}/m1", ask.provider)]));
        // The answer's bytes are nobody's business afterwards.
        assert!(!row.to_string().contains("Say hello"), "{row}");
    }
    assert_eq!(world.requests().await.len(), 8);
    world.check_invariants().await;
}

#[tokio::test]
async fn usage_is_counted_with_what_was_cached() {
    let world = World::start().await;
    world.connect_all().await;
    let usage = Usage {
        input_fresh: Some(10),
        cache_read: Some(90),
        output: Some(40),
        reasoning: Some(30),
        ..Answer::DEFAULT_USAGE
    };
    let answer = Answer::text("Hello").with_reasoning("Hm.").with_usage(usage);
    world.upstream.set_default(Step::answer(answer));
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)) {
        let body = if ask.dialect == Dialect::Chat && ask.body.contains("\"stream\":true") {
            ask.body.replace("\"stream\":true", "\"stream\":true,\"stream_options\":{\"include_usage\":true}")
        } else {
            ask.body.clone()
        };
        assert_eq!(world.agent().post(&ask.path, body).await.status, 200);
        let row = world.last_request().await;
        let name = format!("{}: {row}", ask.path);
        assert_eq!(row["tokensInput"], 100, "{name}");
        assert_eq!(row["tokensCacheRead"], 90, "{name}");
        assert_eq!(row["tokensOutput"], 40, "{name}");
        assert_eq!(row["estimated"], false, "{name}");
        if ask.dialect != Dialect::Messages {
            assert_eq!(row["tokensReasoning"], 30, "{name}");
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn usage_that_the_upstream_did_not_state_is_estimated_and_marked() {
    let world = World::start().await;
    world.connect_all().await;
    world.upstream.set_default(Step::answer(Answer::text("Hello there, agent.").with_usage(None)));
    // A Messages answer without usage would not be one.
    let asks = Ask::all(false).into_iter().chain(Ask::all(true)).filter(|ask| ask.dialect != Dialect::Messages);
    for ask in asks {
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        assert_eq!(reply.status, 200, "{}: {}", ask.path, reply.text());
        assert_eq!(reply.header("x-omniroute-tokens-in"), None, "an estimate is not announced as a count");
        let row = world.last_request().await;
        assert_eq!(row["estimated"], true, "{}: {row}", ask.path);
        assert!(row["tokensInput"].as_u64().is_some_and(|tokens| tokens > 0), "{row}");
        assert!(row["tokensOutput"].as_u64().is_some_and(|tokens| tokens > 0), "{row}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn what_an_attempt_used_that_failed_is_not_what_the_answer_used() {
    let world = World::start().await;
    let first = world.connect("anthropic", "first").await;
    world.connect("anthropic", "second").await;
    let opening = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",",
        "\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":5000,\"output_tokens\":900}}}\n\n",
    );
    world.script(&first).then(Step::sse([opening.to_owned(), error_event(Dialect::Messages, "overloaded")]));
    let reply = world.agent().post("/v1/messages", messages_body("anthropic/m1", true)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let row = world.last_request().await;
    let found = (&row["attempts"], &row["tokensInput"], &row["tokensOutput"], &row["estimated"]);
    assert_eq!(found, (&json!(2), &json!(12), &json!(7), &json!(false)), "{row}");
    world.check_invariants().await;
}

#[tokio::test]
async fn the_estimate_of_an_answer_leaves_out_what_broke_off_before_it() {
    let world = World::start().await;
    let first = world.connect("openai", "first").await;
    let second = world.connect("openai", "second").await;
    world.script(&second).then(Step::answer(Answer::text("Hello there, agent.").with_usage(None)));
    let mut outputs = Vec::new();
    for step in
        [Step::error(500, "no"), Step::sse([acceptance::beginning(Dialect::Chat)]).broken(usize::MAX, Break::Close)]
    {
        world.script(&first).then(step);
        let reply = world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let row = world.last_request().await;
        assert_eq!((&row["attempts"], &row["estimated"]), (&json!(2), &json!(true)), "{row}");
        outputs.push(row["tokensOutput"].as_u64().expect("an estimate"));
        world.reset(&first).await;
    }
    assert_eq!(outputs[0], outputs[1]);
    world.check_invariants().await;
}

#[tokio::test]
async fn the_first_token_time_covers_every_attempt() {
    let world = World::start().await;
    let first = world.connect("openai", "first").await;
    world.connect("openai", "second").await;
    world.script(&first).then(Step::Hang);
    let agent = world.agent();
    let asking = tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("openai/m1", false)).await });
    world.wait_for_calls(&first, 1).await;
    world.advance(Millis::seconds(600));
    let reply = asking.await.expect("a reply");
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-latency-ms"), Some("600000"));
    let row = world.last_request().await;
    assert_eq!((&row["ttftMs"], &row["durationMs"], &row["attempts"]), (&json!(600_000), &json!(600_000), &json!(2)));
    let attempts = &row["trace"]["attempts"];
    assert_eq!((&attempts[0]["durationMs"], &attempts[0]["firstTokenMs"]), (&json!(600_000), &json!(null)));
    assert_eq!((&attempts[1]["durationMs"], &attempts[1]["firstTokenMs"]), (&json!(0), &json!(0)));
    world.check_invariants().await;
}

#[tokio::test]
async fn the_first_token_is_content_and_not_the_head_of_a_stream() {
    let world = World::start().await;
    let connection = world.connect("anthropic", "c1").await;
    let all = crate::fixtures::odd_stream(Dialect::Messages);
    let (opening, rest) = all.split_at(all.find("event: content_block_delta").expect("a delta"));
    let gate = Gate::closed();
    let pieces = [(opening.to_owned(), Pause::None), (rest.to_owned(), Pause::from(&gate))];
    world.script(&connection).then(Step::paced(pieces));
    let agent = world.agent();
    let asking = tokio::spawn(async move { agent.post("/v1/messages", messages_body("anthropic/m1", true)).await });
    world.wait_for_calls(&connection, 1).await;
    world.advance(Millis::new(1_500));
    gate.open();
    assert_eq!(asking.await.expect("a reply").text(), all);
    assert_eq!(world.last_request().await["ttftMs"], 1_500);
    world.check_invariants().await;
}

#[tokio::test]
async fn every_ending_writes_exactly_one_row() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    world
        .script(&connection)
        .then(Step::ok("a"))
        .then(Step::error(400, "no"))
        .then(Step::error(500, "no"))
        .then(Step::ok("b"));
    let agent = world.agent();
    for (model, status) in
        [("openai/m1", 200), ("openai/m1", 400), ("openai/m1", 500), ("nothing/m1", 404), ("openai/m1", 200)]
    {
        assert_eq!(agent.post("/v1/chat/completions", chat_body(model, false)).await.status, status);
        world.advance(Millis::seconds(3));
    }
    let rows = world.requests().await;
    let ended: Vec<_> = rows.iter().rev().map(|row| (row["status"].as_u64(), row["outcome"].as_str())).collect();
    let expected = [(200, "success"), (400, "failure"), (500, "failure"), (404, "failure"), (200, "success")];
    assert_eq!(ended, expected.map(|(status, outcome)| (Some(status), Some(outcome))));
    assert!(rows.iter().filter(|row| row["outcome"] == "failure").all(|row| row["errorSummary"].is_string()));
    // A refused key or a body that is no JSON never became a request.
    agent.post("/v1/chat/completions", "{").await;
    world.stranger().post("/v1/chat/completions", chat_body("openai/m1", false)).await;
    assert_eq!(world.requests().await.len(), 5);
    world.check_invariants().await;
}

#[tokio::test]
async fn the_log_can_be_filtered_paged_and_emptied() {
    let world = World::start().await;
    world.connect_all().await;
    for ask in Ask::all(false) {
        world.agent().post(&ask.path, ask.body).await;
        world.advance(Millis::seconds(10));
    }
    world.agent().post("/v1/chat/completions", chat_body("nothing/m1", false)).await;
    world.requests().await;
    let count = |path: &'static str| async {
        let list = world.managed(Method::GET, path, None).await;
        list["requests"].as_array().map(Vec::len)
    };
    for (path, expected) in [
        ("/api/requests", 5),
        ("/api/requests?provider=openai", 2),
        ("/api/requests?outcome=failure", 1),
        ("/api/requests?status=404", 1),
        ("/api/requests?model=m1", 4),
        ("/api/requests?text=anthropic", 1),
        ("/api/requests?limit=2", 2),
    ] {
        assert_eq!(count(path).await, Some(expected), "{path}");
    }
    let deleted = world.managed(Method::DELETE, "/api/requests", Some(json!({"all": true}))).await;
    assert_eq!(deleted["deleted"], 5);
    assert!(world.requests().await.is_empty());
}

#[tokio::test]
async fn the_log_survives_a_restart() {
    let mut world = World::start().await;
    world.connect("openai", "c1").await;
    world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await;
    // Not flushed by hand: a stop in good order writes what waits.
    world.restart().await;
    assert_eq!(world.requests().await.len(), 1);
    assert_eq!(world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await.status, 200);
    world.check_invariants().await;
}
