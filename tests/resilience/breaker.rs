//! The provider circuit breaker (resilience specification, 2; scenarios CB).

use acceptance::Ask;
use domain::{Millis, Timestamp};
use fake_upstream::{Gate, Step};
use http::Method;
use serde_json::json;

use crate::cast::{
    AK, AK2, LO, OA, ask, at_once, begin, error_of, fresh_model, open, post, post_m1, send, start, uncooled,
};

#[tokio::test]
async fn an_api_key_provider_is_watched_at_seven_failures_and_left_alone_at_twelve() {
    // CB-01, CB-02, CB-19: each of these is a 503 that was returned, not thrown.
    let world = start().await;
    let c1 = uncooled(&world, AK, "c1").await;
    world.script(&c1).then(Step::error(503, "down"));
    for (sent, state) in [(6, "CLOSED"), (1, "DEGRADED"), (4, "DEGRADED"), (1, "OPEN")] {
        send(&world, AK, sent).await;
        assert_eq!(world.breaker_state(AK).0, state);
    }
    assert_eq!((world.breaker_state(AK), world.calls(&c1).len()), (("OPEN", 12), 12));
    let reply = post_m1(&world, AK).await;
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-provider-breaker"), Some("open"));
    assert_eq!(reply.header("retry-after"), Some("30"));
    let error = error_of(&reply);
    assert_eq!((&error["code"], &error["type"]), (&json!("provider_circuit_open"), &json!("server_error")), "{error}");
    assert_eq!((&error["provider"], &error["retry_after"]), (&json!(AK), &json!(30)), "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("circuit breaker is open")), "{error}");
    assert_eq!(world.calls(&c1).len(), 12, "nothing is sent any more");
    world.check_invariants().await;
}

#[tokio::test]
async fn every_dialect_hears_that_a_breaker_is_open_in_its_own_words() {
    // CB-02 for each dialect; a 503 returned twelve times opens wherever it was returned.
    let world = start().await;
    for asked in Ask::all(false).into_iter().chain(Ask::all(true)) {
        let account = uncooled(&world, asked.provider, &format!("{} {}", asked.path, asked.body.len())).await;
        world.script(&account).then(Step::error(503, "down"));
        for _ in 0..12 {
            let fresh = Ask::of(asked.provider, &fresh_model(), asked.dialect, asked.path.contains("stream"));
            post(&world, &fresh).await;
        }
        let name = format!("{:?} {}", asked.dialect, asked.path);
        assert_eq!(world.breaker_state(asked.provider).0, "OPEN", "{name}");
        let reply = post(&world, &asked).await;
        assert_eq!(reply.status, 503, "{name}: {}", reply.text());
        assert_eq!(reply.header("x-omniroute-provider-breaker"), Some("open"), "{name}");
        assert_eq!(reply.header("retry-after"), Some("30"), "{name}");
        assert_eq!(reply.header("content-type"), Some("application/json"), "{name}");
        let word = match asked.dialect {
            domain::Dialect::Chat | domain::Dialect::Responses => "provider_circuit_open",
            domain::Dialect::Messages => "overloaded_error",
            domain::Dialect::Gemini => "UNAVAILABLE",
        };
        assert_eq!(reply.error_word(), word, "{name}: {}", reply.text());
        world.managed(Method::POST, "/api/resilience/reset", None).await;
        world.delete(&account).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_signed_in_provider_is_watched_at_five_and_left_alone_at_eight() {
    // CB-03
    let world = start().await;
    let c1 = uncooled(&world, OA, "c1").await;
    world.script(&c1).then(Step::error(503, "down"));
    for (sent, state) in [(4, "CLOSED"), (1, "DEGRADED"), (2, "DEGRADED"), (1, "OPEN")] {
        send(&world, OA, sent).await;
        assert_eq!(world.breaker_state(OA).0, state);
    }
    let reply = post_m1(&world, OA).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, Some("60")), "{}", reply.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_local_provider_is_watched_at_one_failure_and_left_alone_at_two() {
    // CB-04
    let world = start().await;
    let node = world.node(LO, "local").await;
    let c1 = uncooled(&world, &node, "c1").await;
    world.script(&c1).then(Step::error(503, "down"));
    send(&world, LO, 1).await;
    assert_eq!(world.breaker_state(&node), ("DEGRADED", 1));
    send(&world, LO, 1).await;
    assert_eq!(world.breaker_state(&node), ("OPEN", 2));
    let reply = post_m1(&world, LO).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, Some("15")), "{}", reply.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn each_status_of_a_sick_service_counts_once_per_dispatch() {
    // CB-05
    let world = start().await;
    let c1 = uncooled(&world, AK, "c1").await;
    for (counted, status) in (1..).zip([408, 500, 502, 503, 504]) {
        world.script(&c1).then(Step::error(status, "down"));
        send(&world, AK, 1).await;
        assert_eq!(world.breaker_state(AK).1, counted, "{status}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn no_status_about_an_account_a_model_or_a_request_counts() {
    // CB-06
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    for status in [400, 401, 402, 403, 404, 409, 413, 422, 429] {
        world.script(&c1).then(Step::error(status, "no"));
        let before = world.calls(&c1).len();
        for _ in 0..20 {
            post_m1(&world, AK).await;
            world.reset(&c1).await;
        }
        assert_eq!(world.calls(&c1).len(), before + 20, "{status}");
        assert_eq!(world.breaker_state(AK), ("CLOSED", 0), "{status}");
    }
    world.check_invariants().await;
}

/// A loopback address where nobody listens.
fn closed_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    format!("http://{address}/v1")
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_counts_once_in_ten_seconds() {
    // CB-07
    let world = start().await;
    let away = |url: &str| json!({ "providerSpecificData": { "disableCooling": true, "baseUrl": url } });
    let reset = uncooled(&world, AK, "reset").await;
    world.script(&reset).then(Step::Reset);
    let refused = away(&closed_address());
    let nowhere = away("https://does-not-exist.invalid/v1");
    let mut counted = 0;
    for kind in ["reset", "refused", "dns"] {
        let account = match kind {
            "reset" => None,
            "refused" => Some(world.connect_with(AK, kind, refused.clone()).await),
            _ => Some(world.connect_with(AK, kind, nowhere.clone()).await),
        };
        if kind != "reset" {
            world.change(&reset, json!({ "isActive": false })).await;
        }
        send(&world, AK, 2).await;
        counted += 1;
        assert_eq!(world.breaker_state(AK).1, counted, "{kind}: two within ten seconds are one");
        world.advance(Millis::new(9_999));
        send(&world, AK, 1).await;
        assert_eq!(world.breaker_state(AK).1, counted, "{kind}: still the same trouble");
        world.advance(Millis::seconds(10));
        send(&world, AK, 1).await;
        counted += 1;
        assert_eq!(world.breaker_state(AK).1, counted, "{kind}: ten seconds later it is another");
        world.advance(Millis::minutes(1));
        if let Some(account) = account {
            world.delete(&account).await;
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn an_answer_that_never_begins_counts_as_unreachable() {
    // CB-07: the fourth of its kinds.
    let world = start().await;
    let c1 = uncooled(&world, AK, "c1").await;
    world.script(&c1).then(Step::Hang);
    let asking = begin(&world, &c1, &ask(AK, "m1")).await;
    world.advance(Millis::minutes(10));
    assert_eq!(asking.await.expect("a reply").status, 504);
    assert_eq!(world.breaker_state(AK).1, 1);
    world.check_invariants().await;
}

#[tokio::test]
async fn an_open_breaker_is_half_open_at_the_very_instant() {
    // CB-08
    let world = start().await;
    open(&world, AK, 12).await;
    let shown = || async {
        let health = world.monitoring().await.json();
        let breakers = health["providerBreakers"].as_array().expect("breakers").clone();
        breakers.into_iter().find(|breaker| breaker["provider"] == AK).expect("the breaker")
    };
    world.advance(Millis::new(29_999));
    let breaker = shown().await;
    assert_eq!((&breaker["state"], &breaker["retryAfterMs"]), (&json!("OPEN"), &json!(1)), "{breaker}");
    world.advance(Millis::new(1));
    let breaker = shown().await;
    assert_eq!((&breaker["state"], &breaker["retryAfterMs"]), (&json!("HALF_OPEN"), &json!(0)), "{breaker}");
    world.check_invariants().await;
}

#[tokio::test]
async fn failed_probes_stretch_the_wait_and_never_beyond_its_limit() {
    // CB-11, CB-15
    for (provider, failures, waits) in
        [(AK, 12, [30, 30, 30, 30, 60, 120, 120]), (OA, 8, [60, 60, 60, 120, 240, 480, 480])]
    {
        let world = start().await;
        let c1 = open(&world, provider, failures).await;
        for (cycle, wait) in (0..).zip(waits) {
            let seen = world.breaker(provider).map(|breaker| breaker.open_cycles);
            assert_eq!(seen, Some(cycle), "{provider}");
            world.advance(Millis::new(wait * 1_000 - 1));
            assert_eq!(world.breaker_state(provider).0, "OPEN", "{provider}, cycle {cycle}");
            world.advance(Millis::new(1));
            assert_eq!(world.breaker_state(provider).0, "HALF_OPEN", "{provider}, cycle {cycle}");
            let before = world.calls(&c1).len();
            send(&world, provider, 1).await;
            assert_eq!(world.calls(&c1).len(), before + 1, "{provider}: the probe");
            assert_eq!(world.breaker_state(provider).0, "OPEN", "{provider}, cycle {cycle}");
        }
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn success_takes_one_failure_back_and_leaves_the_watch_in_time() {
    // CB-16, CB-17, CB-18
    let world = start().await;
    let c1 = uncooled(&world, AK, "c1").await;
    let step = |good| if good { Step::ok("fine") } else { Step::error(503, "down") };
    for (good, times, state) in [
        (false, 6, ("CLOSED", 6)),
        (true, 2, ("CLOSED", 4)),
        (true, 10, ("CLOSED", 0)),
        (false, 9, ("DEGRADED", 9)),
        (true, 1, ("DEGRADED", 8)),
        (true, 1, ("CLOSED", 7)),
        (false, 1, ("DEGRADED", 8)),
        (true, 9, ("CLOSED", 0)),
    ] {
        world.script(&c1).then(step(good));
        send(&world, AK, times).await;
        assert_eq!(world.breaker_state(AK), state, "after {times} × {good}");
    }
    world.script(&c1).then(step(false)).then(step(true)).cycle();
    for _ in 0..80 {
        send(&world, AK, 1).await;
        assert_eq!(world.breaker_state(AK).0, "CLOSED");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn what_was_under_way_when_it_opened_moves_nothing() {
    // CB-20, CB-21
    let world = start().await;
    let c1 = uncooled(&world, AK, "c1").await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::error(503, "down"));
    world.script_model(&c1, "slow").then(Step::error(503, "down").held(&gate));
    world.script_model(&c1, "late").then(Step::ok("fine").held(&gate));
    let mut under_way = Vec::new();
    for model in ["slow", "slow", "late"] {
        under_way.push(begin(&world, &c1, &ask(AK, model)).await);
    }
    send(&world, AK, 12).await;
    assert_eq!(world.breaker_state(AK), ("OPEN", 12));
    world.advance(Millis::seconds(20));
    gate.open();
    let mut statuses = Vec::new();
    for asking in under_way {
        statuses.push(asking.await.expect("a reply").status.as_u16());
    }
    assert_eq!(statuses, [503, 503, 200]);
    assert_eq!(world.breaker_state(AK), ("OPEN", 12));
    world.advance(Millis::new(9_999));
    assert_eq!(world.breaker_state(AK).0, "OPEN");
    world.advance(Millis::new(1));
    assert_eq!(world.breaker_state(AK).0, "HALF_OPEN");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_storm_on_fifty_accounts_opens_once_and_loses_no_failure() {
    // CB-25
    let world = start().await;
    world.upstream.set_default(Step::error(503, "down"));
    for number in 0..50 {
        world.connect(AK, &format!("c{number}")).await;
    }
    let asking: Vec<_> = at_once(&world, &ask(AK, "m1"), 50).collect();
    for reply in asking {
        assert_eq!(reply.await.expect("a reply").status, 503);
    }
    let breaker = world.breaker(AK).expect("a breaker");
    assert_eq!(breaker.state.as_str(), "OPEN");
    assert!(breaker.failure_count >= 12, "{breaker:?}");
    let opened = breaker.transitions.iter().filter(|change| change.to == "OPEN").count();
    assert_eq!(opened, 1, "{breaker:?}");
    world.check_invariants().await;
}

#[tokio::test]
async fn what_is_the_clients_or_our_own_doing_is_not_counted() {
    // CB-27, CB-28, CB-29
    let world = start().await;
    let c1 = world.connect_with(AK, "c1", json!({ "maxConcurrent": 1 })).await;
    world.script(&c1).then(Step::Hang);
    for number in 1..=20_u64 {
        let asking = begin(&world, &c1, &ask(AK, "m1")).await;
        let late = at_once(&world, &ask(AK, "m1"), 1).next().expect("a request");
        world.wait_for_waiting(1).await;
        world.advance(Millis::seconds(30));
        let reply = late.await.expect("an answer");
        assert_eq!(reply.status, 503, "the account is at its limit: {}", reply.text());
        asking.abort();
        world.wait_for_endings(&c1, number).await;
        world.settle().await;
    }
    world.script(&c1).then(Step::error(400, "too long").with_code("context_length_exceeded"));
    for _ in 0..20 {
        post_m1(&world, AK).await;
    }
    assert_eq!(world.breaker_state(AK), ("CLOSED", 0));
    let health = world.health(&c1);
    assert_eq!((health.backoff_level, health.cooling_until, &health.last_error), (0, None, &None), "{health:?}");
    world.check_invariants().await;
}

#[tokio::test]
async fn an_operator_closes_a_breaker_and_the_next_request_goes_out() {
    // CB-32, SP-11
    for (method, path) in [(Method::POST, "/api/resilience/reset"), (Method::DELETE, "/api/monitoring/health")] {
        let world = start().await;
        let c1 = open(&world, AK, 12).await;
        for _ in 0..5 {
            world.advance(Millis::minutes(2));
            send(&world, AK, 1).await;
        }
        assert_eq!(world.breaker(AK).map(|breaker| breaker.open_cycles), Some(5));
        let reply = world.managed(method.clone(), path, None).await;
        assert_eq!(reply[if method == Method::POST { "ok" } else { "success" }], true, "{reply}");
        assert!(reply["resetCount"].as_u64().is_some_and(|count| count >= 1), "{reply}");
        assert_eq!(world.breaker_state(AK), ("CLOSED", 0));
        assert!(world.breaker(AK).is_none_or(|breaker| breaker.open_cycles == 0 && breaker.last_failure.is_none()));
        world.script(&c1).then(Step::ok("fine"));
        assert_eq!(post_m1(&world, AK).await.status, 200);
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn new_thresholds_apply_to_the_count_that_is_there() {
    // CB-33
    let world = start().await;
    let c1 = uncooled(&world, AK, "c1").await;
    world.script(&c1).then(Step::error(503, "down"));
    send(&world, AK, 9).await;
    assert_eq!(world.breaker_state(AK), ("DEGRADED", 9));
    let thresholds = json!({ "failureThreshold": 9, "degradationThreshold": 5 });
    world.resilience(json!({ "providerBreaker": { "apikey": thresholds } })).await;
    assert_eq!(world.breaker_state(AK).1, 9, "the count is kept");
    send(&world, AK, 1).await;
    assert_eq!(world.breaker_state(AK), ("OPEN", 10));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_threshold_of_one_opens_at_the_first_failure_and_knows_no_watch() {
    // CB-34
    let world = start().await;
    let change = json!({ "providerBreaker": { "apikey": { "failureThreshold": 12, "degradationThreshold": 12 } } });
    let refused = world.manage(Method::PATCH, "/api/resilience", Some(change)).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    world.resilience(json!({ "providerBreaker": { "apikey": { "failureThreshold": 1 } } })).await;
    let c1 = uncooled(&world, AK, "c1").await;
    world.script(&c1).then(Step::error(503, "down"));
    send(&world, AK, 1).await;
    assert_eq!(world.breaker_state(AK), ("OPEN", 1));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_wall_clock_that_is_set_back_prolongs_nothing_and_one_set_ahead_counts_as_time() {
    // CB-35, CB-36, specification's decision 27
    let world = start().await;
    open(&world, AK, 12).await;
    let opened = world.now();
    world.jump_wall(Timestamp::from_millis(opened.as_millis() - 3_600_000));
    world.advance(Millis::new(29_999));
    assert_eq!(world.breaker_state(AK).0, "OPEN");
    world.advance(Millis::new(1));
    assert_eq!(world.breaker_state(AK).0, "HALF_OPEN");

    let world = start().await;
    open(&world, AK, 12).await;
    let opened = world.now();
    world.jump_wall(opened + Millis::hours(1));
    assert_eq!(world.breaker_state(AK).0, "HALF_OPEN");
    world.check_invariants().await;
}

#[tokio::test]
async fn one_providers_trouble_is_no_other_providers() {
    // CB-37
    let world = start().await;
    open(&world, AK, 12).await;
    world.connect(AK2, "c1").await;
    assert_eq!(post_m1(&world, AK2).await.status, 200);
    assert_eq!(world.breaker_state(AK2), ("CLOSED", 0));
    world.check_invariants().await;
}

#[tokio::test]
async fn the_breaker_knows_why_it_changed() {
    // Resilience specification, 2.9: the time line.
    let world = start().await;
    let c1 = open(&world, AK, 12).await;
    world.advance(Millis::seconds(30));
    world.script(&c1).then(Step::ok("fine"));
    send(&world, AK, 1).await;
    let breaker = world.breaker(AK).expect("a breaker");
    let line: Vec<(&str, &str)> =
        breaker.transitions.iter().map(|change| (change.from.as_str(), change.to.as_str())).collect();
    assert_eq!(
        line,
        [("CLOSED", "DEGRADED"), ("DEGRADED", "OPEN"), ("OPEN", "HALF_OPEN"), ("HALF_OPEN", "CLOSED")],
        "{breaker:?}"
    );
    assert!(breaker.transitions[0].reason.starts_with("elevated-failures (7/"), "{breaker:?}");
    assert_eq!(breaker.transitions[3].reason, "probe-success", "{breaker:?}");
    world.check_invariants().await;
}
