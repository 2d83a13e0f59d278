//! From what came back to what it costs (resilience specification, 6; scenarios EC).

use std::time::Duration;

use acceptance::Ask;
use domain::Millis;
use domain::health::TestStatus;
use fake_upstream::{Break, Step};
use http::HeaderMap;
use serde_json::json;

use crate::cast::{AK, DIALECTS, LO, MS, ask, post, post_m1, start};

const HOUR: u64 = 3_600_000;

#[tokio::test]
async fn each_reply_cools_the_account_for_as_long_as_its_kind_lasts() {
    // EC-01 to EC-04, EC-12 to EC-14, EC-19, EC-21 to EC-26
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let rows = [
        ("EC-01", Step::raw(500, HeaderMap::new(), ""), 3_000, Some("server_error")),
        ("EC-02", Step::error(503, "overloaded"), 3_000, Some("server_error")),
        ("EC-03", Step::error(429, "slow down"), 3_000, Some("rate_limited")),
        ("EC-04", Step::error(429, "You exceeded your current quota"), 3_000, None),
        ("EC-12", Step::error(429, "weekly limit reached"), 24 * HOUR, Some("quota_exhausted")),
        (
            "EC-12 parsed",
            Step::error(429, "weekly limit reached, resets in 2 days"),
            48 * HOUR,
            Some("quota_exhausted"),
        ),
        ("EC-13", Step::error(429, "session limit reached"), 5 * HOUR, Some("quota_exhausted")),
        ("EC-14", Step::error(429, "usage limit reached"), HOUR, Some("quota_exhausted")),
        ("EC-19", Step::error(400, "rate limit: slow down"), 3_000, Some("rate_limited")),
        ("EC-19 频率", Step::error(400, "请求频率过高"), 3_000, Some("rate_limited")),
        ("EC-22", Step::error(432, "gone for a while"), HOUR, Some("quota_exhausted")),
        (
            "EC-24",
            Step::raw(502, HeaderMap::new(), "<html><title>Bad gateway</title></html>"),
            3_000,
            Some("server_error"),
        ),
        ("EC-26", Step::error(429, "WEEKLY LIMIT REACHED"), 24 * HOUR, Some("quota_exhausted")),
    ];
    for (id, step, cooling, kind) in rows {
        world.script(&c1).then(step);
        post_m1(&world, AK).await;
        assert_eq!(world.cooling(&c1), Some(Millis::new(cooling)), "{id}");
        let shown = world.connection(&c1).await;
        if let Some(kind) = kind {
            assert_eq!(shown["lastErrorType"], kind, "{id}: {shown}");
        }
        assert_eq!(shown["testStatus"], "unavailable", "{id}");
        assert_eq!(world.locks(&c1), [], "{id}");
        world.reset(&c1).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn each_reply_about_something_else_leaves_the_account_alone() {
    // EC-09, EC-10, EC-17, EC-18, EC-20, EC-21, EC-23
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let rows = [
        ("EC-09", Step::error(403, "error code: 1010")),
        ("EC-10", Step::error(404, "the model m1 does not exist")),
        ("EC-11", Step::error(404, "the model m1 has been deprecated")),
        ("EC-17", Step::error(400, "prompt is too long: 250000 tokens > 200000 maximum")),
        ("EC-18", Step::error(400, "no such model").with_code("model_not_found")),
        ("EC-20", Step::error(400, "bad request")),
        ("EC-21", Step::error(413, "too large")),
        ("EC-23", Step::error(409, "invalid previous_response_id").with_code("previous_response_not_found")),
    ];
    for (id, step) in rows {
        world.script(&c1).then(step);
        post_m1(&world, AK).await;
        let health = world.health(&c1);
        assert_eq!((health.cooling_until, health.backoff_level), (None, 0), "{id}");
        assert_eq!(world.locks(&c1), [], "{id}");
        assert!(!health.status.is_terminal(), "{id}");
        world.reset(&c1).await;
    }
    assert_eq!(world.breaker_state(AK), ("CLOSED", 0));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_missing_model_of_an_ordinary_provider_is_noted_and_nothing_more() {
    // EC-10, specification's decision 28
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script_model(&c1, "gone").then(Step::error(404, "the model gone does not exist"));
    assert_eq!(post(&world, &ask(AK, "gone")).await.status, 404);
    assert!(world.health(&c1).last_error.is_some());
    assert_eq!(post_m1(&world, AK).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_model_that_one_account_lacks_is_asked_of_the_next() {
    // specification's decision 28: without a combo the other accounts are the targets that are left
    for dialect in DIALECTS {
        let world = start().await;
        let ask = Ask::new(dialect, false);
        let [c1, c2] = [world.connect(ask.provider, "c1").await, world.connect(ask.provider, "c2").await];
        let lacks = || Step::error(404, "the model m1 does not exist or you do not have access to it");
        world.script(&c1).then(lacks());
        assert_eq!(post(&world, &ask).await.status, 200, "{dialect:?}");
        assert_eq!((world.calls(&c1).len(), world.calls(&c2).len()), (1, 1), "{dialect:?}");
        for account in [&c1, &c2] {
            world.reset(account).await;
        }
        world.script(&c2).then(lacks());
        let reply = post(&world, &ask).await;
        assert_eq!(reply.status, 404, "{dialect:?}: {}", reply.text());
        assert_eq!((world.calls(&c1).len(), world.calls(&c2).len()), (2, 2), "{dialect:?}: each once");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_missing_model_of_a_local_provider_is_locked_alone() {
    // EC-10, ML-24
    let world = start().await;
    let node = world.node(LO, "local").await;
    let c1 = world.connect(&node, "c1").await;
    world.script_model(&c1, "m1").then(Step::error(404, "no such model"));
    post_m1(&world, LO).await;
    assert_eq!(world.locked(&c1), [("m1".to_owned(), Millis::seconds(5))]);
    assert_eq!(world.cooling(&c1), None);
    assert_eq!(post(&world, &ask(LO, "m2")).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn no_money_ends_an_account_and_where_quotas_are_per_model_only_the_model() {
    // EC-05, EC-06
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(402, "pay first"));
    post_m1(&world, AK).await;
    assert_eq!(world.status(&c1), TestStatus::CreditsExhausted);
    let node = world.node(MS, "apikey").await;
    let m = world.connect(&node, "c1").await;
    world.script_model(&m, "m1").then(Step::error(402, "pay first"));
    post_m1(&world, MS).await;
    assert!(!world.status(&m).is_terminal() && world.cooling(&m).is_none());
    assert_eq!(world.locks(&m).len(), 1);
    assert_eq!(post(&world, &ask(MS, "m2")).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_403_of_unknown_cause_tries_another_account_and_ends_none() {
    // EC-08, TS-20
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let c2 = world.connect(AK, "c2").await;
    world.script(&c1).then(Step::error(403, "you shall not pass"));
    for _ in 0..5 {
        let reply = post_m1(&world, AK).await;
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()), "{}", reply.text());
        assert!(!world.status(&c1).is_terminal());
        world.advance(Millis::hours(1));
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_quota_of_the_day_ends_at_the_next_local_midnight_and_never_at_once() {
    // EC-15. Every time zone's midnight lies on a quarter of an hour.
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(429, "Daily quota used up, try again tomorrow"));
    post_m1(&world, AK).await;
    let first = world.cooling(&c1).expect("it rests");
    assert!(first <= Millis::hours(24), "{first}");
    assert_eq!((world.now() + first).as_millis() % (15 * 60_000), 0, "{first} from {:?}", world.now());
    world.advance(first);
    post_m1(&world, AK).await;
    let second = world.cooling(&c1).expect("it rests again");
    assert!(second >= Millis::hours(23) && second <= Millis::hours(24), "at midnight a whole day, not none: {second}");
    world.check_invariants().await;
}

#[tokio::test]
async fn gemini_says_in_the_metric_whether_the_day_or_the_minute_is_used_up() {
    // EC-16
    for (metric, reason) in [
        ("generate_requests_per_model_per_day", "quota_exhausted"),
        ("generate_requests_per_model_per_minute", "rate_limited"),
    ] {
        let world = start().await;
        let c1 = world.connect("gemini", "c1").await;
        let body = json!({ "error": {
            "code": 429, "status": "RESOURCE_EXHAUSTED",
            "message": format!("Resource exhausted, metric: generativelanguage.googleapis.com/{metric}"),
        }});
        world.script(&c1).then(Step::status(429, body.to_string()));
        post_m1(&world, "gemini").await;
        let locks = world.locks(&c1);
        let [lock] = locks.as_slice() else { panic!("{locks:?}") };
        assert_eq!((lock.model.as_str(), lock.reason.as_str()), ("m1", reason), "{metric}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn whatever_shape_an_error_has_its_words_are_read() {
    // EC-25, EC-27, EC-28
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::status(503, r#"{"error":"the model fell over"}"#));
    post_m1(&world, AK).await;
    let error = world.health(&c1).last_error.expect("an error");
    assert!(error.message.contains("fell over"), "{error:?}");
    world.reset(&c1).await;
    world.script(&c1).then(Step::raw(500, HeaderMap::new(), "x".repeat(10 << 20)));
    post_m1(&world, AK).await;
    let error = world.health(&c1).last_error.expect("an error");
    assert!(error.status == Some(500) && error.message.len() <= 4_096, "{}", error.message.len());
    world.reset(&c1).await;
    world.script(&c1).then(Step::error(429, "rate limit: account_deactivated"));
    post_m1(&world, AK).await;
    assert_eq!(world.status(&c1), TestStatus::Banned);
    world.check_invariants().await;
}

#[tokio::test]
async fn an_error_whose_text_never_ends_is_judged_by_its_status() {
    // EC-28: also when nothing else would ever end it
    for dialect in DIALECTS {
        let world = start().await;
        let asked = Ask::new(dialect, false);
        let [c1, c2] = [world.connect(asked.provider, "c1").await, world.connect(asked.provider, "c2").await];
        let silence = Millis::hours(24);
        world.set(json!({ "network": { "streamIdleTimeoutMs": silence.as_millis() } })).await;
        let busy = Step::error(429, "slow down").with_header("retry-after", "7");
        world.script(&c1).then(busy.broken(10, Break::Stall));
        let began = world.now();
        let asking = crate::cast::begin(&world, &c1, &asked).await;
        // Slowly enough for the head to arrive long before the silence would count.
        while world.health(&c1).last_error.is_none() {
            world.advance(Millis::seconds(5));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let reply = asking.await.expect("a reply");
        assert!(world.now().since(began) < silence, "{dialect:?}");
        assert_eq!(reply.status, 200, "{dialect:?}: {}", reply.text());
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()), "{dialect:?}");
        assert_eq!(world.health(&c1).last_error.and_then(|error| error.status), Some(429), "{dialect:?}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn three_kinds_of_400_get_three_answers_in_every_dialect() {
    // Handed case: one that hides a rate limit, one about the model, one that is malformed.
    for dialect in DIALECTS {
        for stream in [false, true] {
            let world = start().await;
            let asked = Ask::new(dialect, stream);
            let c1 = world.connect(asked.provider, "c1").await;
            let c2 = world.connect(asked.provider, "c2").await;
            let name = format!("{dialect:?} {stream}");

            world.script(&c1).then(Step::error(400, "too many requests"));
            let reply = post(&world, &asked).await;
            assert_eq!(reply.status, 200, "{name}: another account serves: {}", reply.text());
            assert!(world.cooling(&c1).is_some() || !world.locks(&c1).is_empty(), "{name}: the first one rests");
            world.reset(&c1).await;

            let unsupported = "model m1 is not supported by this provider";
            world.script(&c1).then(Step::error(400, unsupported).with_code("model_not_found"));
            world.script(&c2).then(Step::error(400, unsupported).with_code("model_not_found"));
            let reply = post(&world, &asked).await;
            assert!(reply.status.is_client_error(), "{name}: {}", reply.text());
            for account in [&c1, &c2] {
                assert_eq!((world.cooling(account), world.locks(account)), (None, Vec::new()), "{name}: nobody rests");
            }

            let (asked_1, asked_2) = (world.calls(&c1).len(), world.calls(&c2).len());
            world.script(&c1).then(Step::error(400, "messages: roles must alternate"));
            let reply = post(&world, &asked).await;
            assert_eq!(reply.status, 400, "{name}: {}", reply.text());
            assert!(reply.error_message().contains("roles must alternate"), "{name}: {}", reply.text());
            assert_eq!((world.calls(&c1).len(), world.calls(&c2).len()), (asked_1 + 1, asked_2), "{name}: it stops");
            assert_eq!((world.cooling(&c1), world.locks(&c1)), (None, Vec::new()), "{name}: nobody is blamed");
            world.check_invariants().await;
        }
    }
}
