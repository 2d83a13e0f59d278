//! The queue of one account: who is admitted, who waits and for how long, who is cut off, and at which pace (resilience
//! specification, 5.5 and 16; scenarios RQ). Orders of arrival and lost permits are proven on the Engine alone.

use acceptance::{Ask, Connection, Reply, World, beginning};
use domain::{Dialect, Millis};
use fake_upstream::{Break, Gate, Step};
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::cast::{AK, AK2, DIALECTS, ask, ask_stream, at_once, begin, crowd, error_of, post, post_m1, start};

/// Every account with a key has a queue, without spacing unless `more` says so.
async fn limited(world: &World, more: Value) {
    let mut queue = json!({ "autoEnableApiKeyProviders": true, "minTimeBetweenRequestsMs": 0 });
    for (name, value) in more.as_object().expect("members") {
        queue[name] = value.clone();
    }
    world.resilience(json!({ "requestQueue": queue })).await;
}

/// A request in the background; it waits for its turn when this returns, behind so many.
async fn queue_up(world: &World, before: u32) -> JoinHandle<Reply> {
    let asking = at_once(world, &ask(AK, "m1"), 1).next().expect("one");
    world.wait_for_waiting(before + 1).await;
    asking
}

/// Waits until exactly so many wait.
async fn until_waiting(world: &World, count: u32) {
    let reached = async {
        while world.picture().waiting != count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(acceptance::PATIENCE, reached).await.expect("so many wait");
}

fn assert_limit(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.status.as_u16(), status, "{}", reply.text());
    assert_eq!(error_of(reply)["code"], code, "{}", reply.text());
}

/// Nothing was held against the account.
fn assert_unhurt(world: &World, connection: &Connection) {
    assert_eq!((world.cooling(connection), world.locks(connection).len()), (None, 0));
    assert_eq!(world.breaker_state(AK).0, "CLOSED");
    assert_eq!(world.health(connection).last_error, None);
}

/// A whole Chat answer whose headers announce a limit of sixty requests a minute, hardly half of which is left.
pub fn announcing() -> Step {
    let body = json!({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "m1",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Hello" }, "finish_reason": "stop" }],
    });
    Step::status(200, body.to_string())
        .with_header("x-ratelimit-limit-requests", "60")
        .with_header("x-ratelimit-remaining-requests", "20")
        .with_header("x-ratelimit-reset-requests", "40s")
}

#[tokio::test]
async fn nothing_waits_unless_somebody_asked_for_it() {
    // RQ-00
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::ok("fine").held(&gate));
    let asking = crowd(&world, &c1, &ask(AK, "m1"), 20).await;
    assert_eq!(world.picture().waiting, 0);
    gate.open();
    for asking in asking {
        assert_eq!(asking.await.expect("a reply").status, 200);
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn an_account_that_announced_a_limit_is_paced_and_no_other_one() {
    // RQ-00
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let c2 = world.connect(AK2, "c2").await;
    world.script(&c1).then(announcing());
    for _ in 0..2 {
        assert_eq!(post_m1(&world, AK).await.status, 200);
    }
    let third = queue_up(&world, 0).await;
    for _ in 0..5 {
        assert_eq!(post_m1(&world, AK2).await.status, 200);
    }
    world.advance(Millis::new(989));
    assert_eq!((world.picture().waiting, world.calls(&c1).len()), (1, 2));
    world.advance(Millis::new(1));
    assert_eq!(third.await.expect("a reply").status, 200);
    assert_eq!((world.calls(&c1).len(), world.calls(&c2).len()), (3, 5));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_learned_pace_outlives_a_stop_and_after_a_minute_a_crash() {
    for crash in [false, true] {
        let mut world = start().await;
        let c1 = world.connect(AK, "c1").await;
        world.script(&c1).then(announcing());
        assert_eq!(post_m1(&world, AK).await.status, 200);
        if crash {
            world.advance(Millis::minutes(1));
            let put_down = async {
                loop {
                    world.advance(Millis::new(1));
                    let store = std::fs::read(world.folder().join("omniroute.sqlite-wal")).unwrap_or_default();
                    if store.windows(9).any(|window| window == b"spacingMs") {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(acceptance::PATIENCE, put_down).await.expect("it is put down");
            world.crash().await;
        } else {
            world.restart().await;
        }
        let queues = world.picture().queues;
        assert_eq!(queues.len(), 1, "{crash}: {queues:?}");
        assert_eq!((queues[0].connection.as_str(), queues[0].spacing), (c1.id.as_str(), Millis::new(990)), "{crash}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn whoever_waits_longer_than_the_budget_never_reaches_the_upstream() {
    // RQ-01, RQ-15
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    limited(&world, json!({ "concurrentRequests": 1, "maxWaitMs": 1_000 })).await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::ok("fine").held(&gate));
    let first = begin(&world, &c1, &ask(AK, "m1")).await;
    let second = queue_up(&world, 0).await;
    world.advance(Millis::new(999));
    assert_eq!(world.picture().waiting, 1);
    world.advance(Millis::new(1));
    assert_limit(&second.await.expect("a reply"), 503, "RATE_LIMIT_QUEUE_TIMEOUT");
    gate.open();
    assert_eq!(first.await.expect("a reply").status, 200);
    assert_eq!(world.calls(&c1).len(), 1);
    assert_unhurt(&world, &c1);
    world.check_invariants().await;
}

#[tokio::test]
async fn the_budget_stops_when_a_request_is_sent() {
    // RQ-02
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    limited(&world, json!({ "concurrentRequests": 1, "maxWaitMs": 1_000 })).await;
    let (one, two) = (Gate::closed(), Gate::closed());
    world.script(&c1).then(Step::ok("one").held(&one)).then(Step::ok("two").held(&two));
    let first = begin(&world, &c1, &ask(AK, "m1")).await;
    let second = queue_up(&world, 0).await;
    world.advance(Millis::new(900));
    one.open();
    world.wait_for_calls(&c1, 2).await;
    world.advance(Millis::seconds(5));
    two.open();
    assert_eq!(first.await.expect("a reply").status, 200);
    assert_eq!(second.await.expect("a reply").status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_ended_without_blame() {
    // RQ-03, RQ-15
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let c2 = world.connect(AK, "c2").await;
    world.set(json!({ "network": { "responseStartTimeoutMs": 2_000 } })).await;
    limited(&world, json!({ "executionMaxWaitMs": 2_000 })).await;
    world.script(&c1).then(Step::Hang);
    let asking = begin(&world, &c1, &ask(AK, "m1")).await;
    world.advance(Millis::new(1_999));
    assert_eq!(world.in_flight(), 1);
    world.advance(Millis::new(1));
    let reply = asking.await.expect("a reply");
    assert_limit(&reply, 504, "RATE_LIMIT_EXECUTION_TIMEOUT");
    assert_unhurt(&world, &c1);
    assert_eq!(world.calls(&c2).len(), 0, "whoever waited that long is not made to wait once more");
    let row = world.last_request().await;
    assert_eq!(row["errorCode"], "RATE_LIMIT_EXECUTION_TIMEOUT", "{row}");
    assert_eq!(row["trace"]["attempts"][0]["kind"], "execution_timeout", "{row}");
    world.check_invariants().await;
}

#[tokio::test]
async fn an_answer_that_may_begin_later_is_given_the_time() {
    // RQ-04, RQ-05
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    limited(&world, json!({ "executionMaxWaitMs": 2_000 })).await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::ok("late").held(&gate));
    let asking = begin(&world, &c1, &ask(AK, "m1")).await;
    world.advance(Millis::seconds(10));
    gate.open();
    assert_eq!(asking.await.expect("a reply").status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_stream_that_takes_too_long_ends_in_an_error_event() {
    // RQ-03, RQ-15
    for (provider, dialect) in [(AK, Dialect::Chat), ("anthropic", Dialect::Messages)] {
        let world = start().await;
        let c1 = world.connect(provider, "c1").await;
        world.set(json!({ "network": { "responseStartTimeoutMs": 1_000 } })).await;
        limited(&world, json!({})).await;
        world.change(&c1, json!({ "rateLimitOverrides": { "executionMaxWaitMs": 5_000 } })).await;
        world.script(&c1).then(Step::sse([beginning(dialect)]).broken(usize::MAX, Break::Stall));
        let asked = ask_stream(provider, "m1");
        assert_eq!(asked.dialect, dialect);
        let agent = world.agent().with("user-agent", "openai/1.0");
        let mut stream = agent.stream(&asked.path, asked.body.clone()).await;
        assert_eq!(stream.status, 200);
        stream.next().await.expect("a beginning");
        world.advance(Millis::new(4_999));
        assert_eq!(world.in_flight(), 1, "{dialect:?}");
        world.advance(Millis::new(1));
        let rest = stream.rest().await;
        assert!(rest.text().contains("raise executionMaxWaitMs"), "{dialect:?}: {}", rest.text());
        let row = world.last_request().await;
        assert_eq!(row["errorCode"], "RATE_LIMIT_EXECUTION_TIMEOUT", "{row}");
        assert_eq!((world.cooling(&c1), world.health(&c1).last_error), (None, None), "{dialect:?}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_queue_without_a_depth_takes_everybody() {
    // RQ-06
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    limited(&world, json!({ "concurrentRequests": 1, "requestsPerMinute": 1_000 })).await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::ok("fine").held(&gate));
    let first = begin(&world, &c1, &ask(AK, "m1")).await;
    let others: Vec<_> = at_once(&world, &ask(AK, "m1"), 100).collect();
    until_waiting(&world, 100).await;
    gate.open();
    for asking in others.into_iter().chain([first]) {
        assert_eq!(asking.await.expect("a reply").status, 200);
    }
    assert_eq!(world.calls(&c1).len(), 101);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_a_place_that_becomes_free_is_the_next_one_s() {
    // RQ-07, RQ-08, RQ-09, RQ-11, RQ-15, RQ-17, RQ-21
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let c2 = world.connect(AK2, "c2").await;
    limited(&world, json!({ "concurrentRequests": 1, "maxQueueDepth": 2 })).await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::ok("fine").held(&gate));
    let first = begin(&world, &c1, &ask(AK, "m1")).await;
    let second = queue_up(&world, 0).await;
    let third = queue_up(&world, 1).await;
    assert_limit(&post_m1(&world, AK).await, 429, "RATE_LIMIT_QUEUE_FULL");
    let shown = world.monitoring().await.json()["rateLimitStatus"][&c1.id].clone();
    assert_eq!((&shown["queued"], &shown["running"]), (&json!(2), &json!(1)), "{shown}");
    assert_eq!(post_m1(&world, AK2).await.status, 200, "another account has a queue of its own");
    second.abort();
    until_waiting(&world, 1).await;
    let fourth = queue_up(&world, 1).await;
    assert_limit(&post_m1(&world, AK).await, 429, "RATE_LIMIT_QUEUE_FULL");
    gate.open();
    for asking in [first, third, fourth] {
        assert_eq!(asking.await.expect("a reply").status, 200);
    }
    assert_eq!((world.calls(&c1).len(), world.calls(&c2).len()), (3, 1));
    assert_unhurt(&world, &c1);
    // The health document is as it was made for a second.
    world.advance(Millis::seconds(1));
    world.check_invariants().await;
}

/// How long a request waits behind one that never ends.
async fn budget(world: &World, c1: &Connection) -> Millis {
    world.script(c1).then(Step::Hang);
    let first = begin(world, c1, &ask(AK, "m1")).await;
    let second = queue_up(world, 0).await;
    let mut waited = Millis::ZERO;
    while world.picture().waiting > 0 {
        waited = waited + Millis::seconds(1);
        world.advance(Millis::seconds(1));
    }
    assert_limit(&second.await.expect("a reply"), 503, "RATE_LIMIT_QUEUE_TIMEOUT");
    first.abort();
    world.settle().await;
    waited
}

#[tokio::test]
async fn the_owner_comes_before_the_settings_before_the_environment_before_the_program() {
    // RQ-12, RQ-13
    for environment in [&[("RATE_LIMIT_MAX_WAIT_MS", "5000")][..], &[]] {
        let world = World::start_with(environment).await;
        let c1 = world.connect(AK, "c1").await;
        let usual = if environment.is_empty() { 30 } else { 5 };
        limited(&world, json!({ "concurrentRequests": 1 })).await;
        assert_eq!(budget(&world, &c1).await, Millis::seconds(usual));
        world.resilience(json!({ "requestQueue": { "maxWaitMs": 7_000 } })).await;
        assert_eq!(budget(&world, &c1).await, Millis::seconds(7));
        world.change(&c1, json!({ "rateLimitOverrides": { "maxWaitMs": 9_000 } })).await;
        assert_eq!(budget(&world, &c1).await, Millis::seconds(9));
        world.change(&c1, json!({ "rateLimitOverrides": { "maxWaitMs": null } })).await;
        assert_eq!(budget(&world, &c1).await, Millis::seconds(7));
        world.resilience(json!({ "requestQueue": { "maxWaitMs": null } })).await;
        assert_eq!(budget(&world, &c1).await, Millis::seconds(usual));
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_length_that_makes_no_sense_is_refused() {
    // RQ-14
    let world = start().await;
    for (name, value) in [
        ("maxWaitMs", 0_i64),
        ("maxWaitMs", 86_400_001),
        ("executionMaxWaitMs", 0),
        ("maxQueueDepth", 100_001),
        ("maxQueueDepth", -1),
    ] {
        let tree = json!({ "requestQueue": { name: value } });
        let reply = world.manage(Method::PATCH, "/api/resilience", Some(tree)).await;
        assert_eq!(reply.status, 400, "{name} {value}: {}", reply.text());
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn requests_keep_their_distance() {
    // RQ-18
    let world = start().await;
    let c1 = world.connect_with(AK, "c1", json!({ "rateLimitOverrides": { "minTime": 350 } })).await;
    let mut asking = vec![begin(&world, &c1, &ask(AK, "m1")).await];
    for before in 0..3 {
        asking.push(queue_up(&world, before).await);
    }
    for calls in 2..=4 {
        world.advance(Millis::new(349));
        assert_eq!(world.picture().waiting, 5 - calls);
        world.advance(Millis::new(1));
        world.wait_for_calls(&c1, u64::from(calls)).await;
        assert_eq!(world.picture().waiting, 4 - calls);
    }
    for asking in asking {
        assert_eq!(asking.await.expect("a reply").status, 200);
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_place_that_becomes_free_before_its_time_is_taken_when_the_distance_is_kept() {
    // RQ-18, RQ-19: who waits for a place is not forgotten when only the distance is left to wait for.
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    limited(&world, json!({ "concurrentRequests": 1, "minTimeBetweenRequestsMs": 350 })).await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::ok("fine").held(&gate));
    let first = begin(&world, &c1, &ask(AK, "m1")).await;
    let second = queue_up(&world, 0).await;
    gate.open();
    assert_eq!(first.await.expect("a reply").status, 200);
    world.advance(Millis::new(350));
    assert_eq!(second.await.expect("a reply").status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn changed_numbers_hold_at_once_for_those_who_wait() {
    // QS-24, RQ-16.4: settings apply live.
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    limited(&world, json!({ "concurrentRequests": 1 })).await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::ok("fine").held(&gate));
    let mut asking = vec![begin(&world, &c1, &ask(AK, "m1")).await];
    for before in 0..3 {
        asking.push(queue_up(&world, before).await);
    }
    world.resilience(json!({ "requestQueue": { "concurrentRequests": 2 } })).await;
    world.wait_for_calls(&c1, 2).await;
    assert_eq!(world.picture().waiting, 2);
    world.resilience(json!({ "requestQueue": { "autoEnableApiKeyProviders": false } })).await;
    world.wait_for_calls(&c1, 4).await;
    gate.open();
    for asking in asking {
        assert_eq!(asking.await.expect("a reply").status, 200);
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_subscription_is_paced_where_its_owner_wants_it() {
    let world = start().await;
    let protected = json!({ "rateLimitProtection": true });
    let c1 = world.connect_with(crate::cast::OA, "c1", protected).await;
    world.resilience(json!({ "requestQueue": { "requestsPerMinute": 1, "minTimeBetweenRequestsMs": 0 } })).await;
    let asked = ask(crate::cast::OA, "m1");
    assert_eq!(post(&world, &asked).await.status, 200);
    let second = at_once(&world, &asked, 1).next().expect("one");
    world.wait_for_waiting(1).await;
    world.change(&c1, json!({ "rateLimitProtection": false })).await;
    assert_eq!(second.await.expect("a reply").status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_full_queue_refuses_before_anything_is_done_with_the_request() {
    // RQ-10: nothing compresses a prompt here; what is done with a request before it is sent is to translate it. This one cannot
    // be translated, which is only found out by whoever tries.
    let world = start().await;
    let c1 = world.connect(AK2, "c1").await;
    limited(&world, json!({ "concurrentRequests": 1, "maxQueueDepth": 1 })).await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::ok("fine").held(&gate));
    let first = begin(&world, &c1, &ask(AK2, "m1")).await;
    let second = at_once(&world, &ask(AK2, "m1"), 1).next().expect("one");
    world.wait_for_waiting(1).await;
    let untranslatable =
        json!({ "model": format!("{AK2}/m1"), "input": "Go on.", "previous_response_id": "resp_unknown" }).to_string();
    let refused = world.agent().post("/v1/responses", untranslatable.clone()).await;
    assert_limit(&refused, 429, "RATE_LIMIT_QUEUE_FULL");
    gate.open();
    for asking in [first, second] {
        assert_eq!(asking.await.expect("a reply").status, 200);
    }
    assert_limit(&world.agent().post("/v1/responses", untranslatable).await, 400, "previous_response_not_found");
    assert_eq!(world.calls(&c1).len(), 2);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_limit_of_our_own_is_told_in_each_dialects_words_and_held_against_nobody() {
    // RQ-03, RQ-07, RQ-15; handed case: the gateway's own 504 and its refusals change no layer.
    for dialect in DIALECTS {
        let world = start().await;
        let asked = Ask::new(dialect, false);
        let c1 = world.connect(asked.provider, "c1").await;
        world.set(json!({ "network": { "responseStartTimeoutMs": 2_000 } })).await;
        limited(&world, json!({ "concurrentRequests": 1, "maxQueueDepth": 1, "executionMaxWaitMs": 2_000 })).await;
        world.script(&c1).then(Step::Hang);
        let first = begin(&world, &c1, &asked).await;
        let second = at_once(&world, &asked, 1).next().expect("one");
        world.wait_for_waiting(1).await;
        let full = post(&world, &asked).await;
        second.abort();
        until_waiting(&world, 0).await;
        world.advance(Millis::seconds(2));
        let late = first.await.expect("a reply");
        for (reply, status, code, word) in [
            (&full, 429, "RATE_LIMIT_QUEUE_FULL", ["rate_limit_error", "RESOURCE_EXHAUSTED"]),
            (&late, 504, "RATE_LIMIT_EXECUTION_TIMEOUT", ["timeout_error", "DEADLINE_EXCEEDED"]),
        ] {
            let name = format!("{dialect:?} {code}: {}", reply.text());
            assert_eq!(reply.status.as_u16(), status, "{name}");
            let error = error_of(reply);
            match dialect {
                Dialect::Chat | Dialect::Responses => assert_eq!(error["code"], code, "{name}"),
                Dialect::Messages => {
                    assert_eq!((&error["type"], &error["code"]), (&json!(word[0]), &json!(code)), "{name}")
                }
                Dialect::Gemini => {
                    assert_eq!(
                        (&error["status"], &error["details"][0]["reason"]),
                        (&json!(word[1]), &json!(code)),
                        "{name}"
                    );
                }
            }
        }
        assert_eq!(
            (world.cooling(&c1), world.locks(&c1).len(), world.health(&c1).last_error),
            (None, 0, None),
            "{dialect:?}"
        );
        assert_eq!(world.breaker_state(asked.provider), ("CLOSED", 0), "{dialect:?}");
        world.check_invariants().await;
    }
}
