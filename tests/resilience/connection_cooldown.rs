//! Connection cooldown: one account rests, the others serve (resilience specification, 4; scenarios CC).

use std::time::Duration;

use acceptance::{Ask, Connection, World};
use domain::Millis;
use domain::health::TestStatus;
use fake_upstream::{Gate, Step};
use http::Method;
use serde_json::json;

use crate::cast::{
    AK, DIALECTS, LO, OA, ask, ask_stream, begin, crowd, error_of, post, post_m1, send, start, uncooled,
};

/// Fails an account once and returns how long it rests; its cooldown must be over.
async fn fail(world: &World, connection: &Connection, provider: &'static str) -> Millis {
    let before = world.calls(connection).len();
    post_m1(world, provider).await;
    assert_eq!(world.calls(connection).len(), before + 1, "it was asked");
    world.cooling(connection).unwrap_or_default()
}

/// Fails an account again and again, each time as soon as it may be asked again; how long it rested each time.
async fn ladder(world: &World, connection: &Connection, provider: &'static str, steps: usize) -> Vec<u64> {
    let mut rests = Vec::new();
    for _ in 0..steps {
        let rest = fail(world, connection, provider).await;
        rests.push(rest.as_millis() / 1_000);
        world.advance(rest);
    }
    rests
}

#[tokio::test]
async fn an_account_that_fails_rests_and_another_serves_the_same_request() {
    // CC-01
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let c2 = world.connect(AK, "c2").await;
    world.script(&c1).then(Step::error(500, "oops"));
    let reply = post_m1(&world, AK).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()));
    assert_eq!(world.cooling(&c1), Some(Millis::seconds(3)));
    let shown = world.connection(&c1).await;
    assert_eq!((&shown["testStatus"], &shown["backoffLevel"]), (&json!("unavailable"), &json!(1)), "{shown}");
    assert_eq!((&shown["lastErrorType"], &shown["errorCode"]), (&json!("server_error"), &json!(500)), "{shown}");
    assert!(shown["lastError"].as_str().is_some_and(|text| text.contains("oops")), "{shown}");
    assert!(shown["lastErrorAt"].is_string() && shown["rateLimitedUntil"].is_string(), "{shown}");
    assert_eq!(world.status(&c2), TestStatus::Active);
    world.check_invariants().await;
}

#[tokio::test]
async fn each_rest_is_twice_the_last_up_to_the_steps_of_its_class() {
    // CC-02, CC-03
    for (class, steps) in
        [(AK, &[3, 6, 12, 24, 48, 96, 96][..]), (OA, &[5, 10, 20, 40, 80, 160, 320, 640, 1_280, 1_280])]
    {
        let world = start().await;
        let c1 = world.connect(class, "c1").await;
        world.script(&c1).then(Step::error(429, "slow down"));
        assert_eq!(ladder(&world, &c1, class, steps.len()).await, steps, "{class}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_local_account_rests_five_seconds_at_first() {
    // Resilience specification, 4.2: the third profile. Its node is told not to keep quotas per model.
    let world = start().await;
    let node = world.node(LO, "local").await;
    let per_account = json!({ "providerSpecificData": { "passthroughModels": false } });
    let c1 = world.connect_with(&node, "c1", per_account).await;
    world.script(&c1).then(Step::error(429, "slow down"));
    assert_eq!(ladder(&world, &c1, LO, 7).await, [5, 10, 20, 40, 80, 160, 160]);
    world.check_invariants().await;
}

#[tokio::test]
async fn no_rest_is_longer_than_the_longest_lock() {
    // CC-04
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(429, "slow down"));
    world.resilience(json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": 600_000 } } })).await;
    assert_eq!(ladder(&world, &c1, AK, 4).await, [600, 1_200, 1_800, 1_800]);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_rest_ends_at_its_instant_without_anybody_ending_it() {
    // CC-05, CC-06, CC-07
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).times(3, Step::error(500, "oops")).then(Step::ok("fine")).then(Step::error(500, "oops"));
    assert_eq!(fail(&world, &c1, AK).await, Millis::seconds(3));
    world.advance(Millis::new(2_999));
    post_m1(&world, AK).await;
    assert_eq!(world.calls(&c1).len(), 1, "one millisecond early");
    world.advance(Millis::new(1));
    assert_eq!(fail(&world, &c1, AK).await, Millis::seconds(6));
    world.advance(Millis::hours(1));
    assert_eq!(world.health(&c1).backoff_level, 2, "time does not forget");
    assert_eq!(fail(&world, &c1, AK).await, Millis::seconds(12));
    world.advance(Millis::seconds(12));
    assert_eq!(post_m1(&world, AK).await.status, 200);
    let shown = world.connection(&c1).await;
    assert_eq!((&shown["testStatus"], &shown["backoffLevel"]), (&json!("active"), &json!(0)), "{shown}");
    for field in ["rateLimitedUntil", "lastError", "lastErrorType", "errorCode", "lastErrorAt"] {
        assert_eq!(shown[field], json!(null), "{field}: {shown}");
    }
    assert_eq!(fail(&world, &c1, AK).await, Millis::seconds(3), "the ladder begins anew");
    world.check_invariants().await;
}

#[tokio::test]
async fn an_announced_wait_is_obeyed_where_the_profile_says_so() {
    // CC-08, CC-09
    let limited = || Step::error(429, "slow down").with_header("retry-after", "17");
    for (provider, told, expected) in [(AK, None, 17), (OA, None, 5), (OA, Some(true), 17), (AK, Some(false), 3)] {
        let world = start().await;
        let c1 = world.connect(provider, "c1").await;
        world.script(&c1).then(limited());
        if let Some(told) = told {
            let profile = if provider == AK { "apikey" } else { "oauth" };
            world.resilience(json!({ "connectionCooldown": { profile: { "useUpstreamRetryHints": told } } })).await;
        }
        assert_eq!(fail(&world, &c1, provider).await, Millis::seconds(expected), "{provider} {told:?}");
        let level = u32::from(expected != 17);
        assert_eq!(world.health(&c1).backoff_level, level, "{provider} {told:?}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn fifty_failures_at_once_cost_one_rest_and_one_step() {
    // CC-10
    for status in [500, 429] {
        let world = start().await;
        let c1 = world.connect(AK, "c1").await;
        let gate = Gate::closed();
        world.script(&c1).then(Step::error(status, "oops").held(&gate));
        let asking = crowd(&world, &c1, &ask(AK, "m1"), 50).await;
        gate.open();
        for reply in asking {
            assert_eq!(reply.await.expect("a reply").status.as_u16(), status);
        }
        assert_eq!(world.cooling(&c1), Some(Millis::seconds(3)), "{status}");
        assert_eq!(world.health(&c1).backoff_level, 1, "{status}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_burst_of_forty_refusals_is_one_step_in_every_dialect() {
    // Handed case; Gemini keeps quotas per model, so there the burst is one step of a lock.
    for dialect in DIALECTS {
        let world = start().await;
        let asked = Ask::new(dialect, true);
        let c1 = world.connect(asked.provider, "c1").await;
        let gate = Gate::closed();
        world.script(&c1).then(Step::error(429, "slow down").held(&gate));
        let asking = crowd(&world, &c1, &asked, 40).await;
        gate.open();
        for reply in asking {
            assert_eq!(reply.await.expect("a reply").status, 429, "{dialect:?}");
        }
        let locks = world.locks(&c1);
        match locks.as_slice() {
            [] => assert_eq!(world.health(&c1).backoff_level, 1, "{dialect:?}"),
            [lock] => assert_eq!((lock.failure_count, lock.last_cooldown), (1, Millis::seconds(3)), "{dialect:?}"),
            more => panic!("{dialect:?}: {more:?}"),
        }
        let rest = world.cooling(&c1).or_else(|| world.locked(&c1).first().map(|lock| lock.1));
        assert_eq!(rest, Some(Millis::seconds(3)), "{dialect:?}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_failure_during_a_rest_changes_nothing_and_one_after_it_is_the_next_step() {
    // CC-11, CC-12
    for (later, left, level) in [(2_000, 1_000, 1), (3_001, 6_000, 2)] {
        let world = start().await;
        let c1 = world.connect(AK, "c1").await;
        world.script(&c1).then(Step::error(500, "oops"));
        let gate = Gate::closed();
        world.script_model(&c1, "slow").then(Step::error(500, "oops").held(&gate));
        let slow = begin(&world, &c1, &ask(AK, "slow")).await;
        post_m1(&world, AK).await;
        world.advance(Millis::new(later));
        gate.open();
        slow.await.expect("a reply");
        assert_eq!(world.cooling(&c1), Some(Millis::new(left)), "{later}");
        assert_eq!(world.health(&c1).backoff_level, level, "{later}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_resting_account_sees_nothing_of_a_hundred_requests() {
    // CC-13
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    for name in ["c2", "c3"] {
        world.connect(AK, name).await;
    }
    world.script(&c1).then(Step::error(500, "oops"));
    for _ in 0..101 {
        assert_eq!(post_m1(&world, AK).await.status, 200);
    }
    assert_eq!(world.calls(&c1).len(), 1);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_slow_success_does_not_wipe_out_a_newer_failure() {
    // CC-14
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(500, "oops"));
    let gate = Gate::closed();
    world.script_model(&c1, "slow").then(Step::ok("fine").held(&gate));
    let slow = begin(&world, &c1, &ask(AK, "slow")).await;
    post_m1(&world, AK).await;
    gate.open();
    assert_eq!(slow.await.expect("a reply").status, 200);
    assert_eq!(world.cooling(&c1), Some(Millis::seconds(3)));
    let health = world.health(&c1);
    assert_eq!((health.status, health.backoff_level), (TestStatus::Unavailable, 1));
    assert!(health.last_error.is_some(), "{health:?}");
    world.check_invariants().await;
}

#[tokio::test]
async fn an_account_that_is_never_cooled_still_says_what_went_wrong_and_can_be_banned() {
    // CC-17
    let world = start().await;
    let c1 = uncooled(&world, AK, "c1").await;
    world.script(&c1).then(Step::error(500, "oops"));
    send(&world, AK, 2).await;
    let health = world.health(&c1);
    assert_eq!((health.cooling_until, health.backoff_level), (None, 0), "{health:?}");
    assert!(health.last_error.is_some_and(|error| error.status == Some(500)));
    world.script(&c1).then(Step::error(500, "your account has been suspended"));
    send(&world, AK, 1).await;
    assert_eq!(world.status(&c1), TestStatus::Banned);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_request_that_is_too_large_blames_nobody() {
    // CC-18
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let text = "This model's maximum context length is 8192 tokens, however you requested 9000 tokens";
    world.script(&c1).then(Step::error(400, text).with_code("context_length_exceeded"));
    assert_eq!(post_m1(&world, AK).await.status, 400);
    let health = world.health(&c1);
    assert_eq!((health.cooling_until, health.backoff_level, health.last_error), (None, 0, None));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_test_of_all_accounts_changes_no_routing() {
    // CC-19
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.upstream.script(c1.credential.as_str(), fake_upstream::LIST_MODELS).then(Step::error(500, "oops"));
    world.script(&c1).then(Step::error(500, "oops"));
    let before = world.health(&c1);
    let reply = world.managed(Method::POST, "/api/providers/test", Some(json!({ "all": true }))).await;
    assert_eq!(reply["results"][0]["ok"], false, "{reply}");
    let after = world.health(&c1);
    assert_eq!((after.cooling_until, after.backoff_level), (before.cooling_until, before.backoff_level));
    assert_eq!(world.breaker_state(AK), ("CLOSED", 0));
    world.check_invariants().await;
}

#[tokio::test]
async fn when_all_rest_the_client_hears_the_last_word_and_how_long() {
    // CC-20
    for status in [500, 503, 429] {
        let world = start().await;
        let c1 = world.connect(AK, "c1").await;
        let c2 = world.connect(AK, "c2").await;
        world.script(&c1).then(Step::error(status, "oops"));
        world.script(&c2).then(Step::error(status, "oops"));
        // c2 is at its second step when c1 is at its first.
        world.change(&c1, json!({ "isActive": false })).await;
        post_m1(&world, AK).await;
        world.advance(Millis::seconds(3));
        world.change(&c1, json!({ "isActive": true })).await;
        post_m1(&world, AK).await;
        assert_eq!((world.cooling(&c1), world.cooling(&c2)), (Some(Millis::seconds(3)), Some(Millis::seconds(6))));
        let reply = post_m1(&world, AK).await;
        assert_eq!(reply.status.as_u16(), status, "{}", reply.text());
        assert_eq!(reply.header("retry-after"), Some("3"), "{}", reply.text());
        assert!(reply.error_message().contains("(reset after 3s)"), "{}", reply.text());
        assert_eq!((world.calls(&c1).len(), world.calls(&c2).len()), (1, 2), "nobody was asked");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn whose_request_sends_the_last_account_to_rest_is_told_when_the_first_is_back() {
    // Gateway specification, 1.7 and 3.9: with 429 and 503, from the soonest known end.
    for (status, told) in [(503, Some("3")), (429, Some("3")), (500, None)] {
        for stream in [false, true] {
            let world = start().await;
            let c1 = world.connect(AK, "c1").await;
            let c2 = world.connect(AK, "c2").await;
            world.script(&c1).then(Step::error(status, "oops")).then(Step::ok("fine"));
            world.script(&c2).then(Step::error(status, "oops"));
            let asked = if stream { ask_stream(AK, "m1") } else { ask(AK, "m1") };
            let reply = post(&world, &asked).await;
            assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (status, told), "{}", reply.text());
            assert_eq!((world.calls(&c1).len(), world.calls(&c2).len()), (1, 1));
            world.advance(Millis::seconds(3));
            assert_eq!(post(&world, &asked).await.status, 200, "DG-08: waiting helps");
            world.check_invariants().await;
        }
    }
}

#[tokio::test]
async fn no_wait_is_made_up_where_somebody_may_be_asked_at_once_or_one_was_announced() {
    let world = start().await;
    let c1 = uncooled(&world, AK, "c1").await;
    let c2 = world.connect(AK, "c2").await;
    for account in [&c1, &c2] {
        world.script(account).then(Step::error(503, "down"));
    }
    let reply = post_m1(&world, AK).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, None), "c1 does not rest");
    world.check_invariants().await;

    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let limited = Step::error(429, "slow down").with_header("retry-after", "9");
    world.script(&c1).then(limited.clone());
    assert_eq!(post_m1(&world, AK).await.header("retry-after"), Some("9"));
    // The other one says nothing, and is back sooner.
    let c2 = world.connect(AK, "c2").await;
    world.advance(Millis::seconds(9));
    world.script(&c2).then(Step::error(429, "slow down"));
    world.script(&c1).then(limited);
    assert_eq!(post_m1(&world, AK).await.header("retry-after"), Some("3"));
    world.check_invariants().await;
}

#[tokio::test]
async fn when_all_need_their_owner_every_dialect_is_told_not_to_retry() {
    // CC-23, specification's decision 3
    let world = start().await;
    for asked in Ask::all(false).into_iter().chain(Ask::all(true)) {
        let c1 = world.connect(asked.provider, "c1").await;
        let c2 = world.connect(asked.provider, "c2").await;
        for account in [&c1, &c2] {
            world.script(account).then(Step::error(403, "your account has been suspended"));
        }
        post(&world, &asked).await;
        assert_eq!((world.status(&c1), world.status(&c2)), (TestStatus::Banned, TestStatus::Banned));
        let reply = post(&world, &asked).await;
        let name = format!("{:?}: {}", asked.dialect, reply.text());
        assert_eq!(reply.status, 502, "{name}");
        assert_eq!(reply.header("x-should-retry"), Some("false"), "{name}");
        assert_eq!(reply.header("retry-after"), None, "{name}");
        assert!(reply.error_message().contains('2') && reply.error_message().contains("reconnect"), "{name}");
        if matches!(asked.dialect, domain::Dialect::Chat | domain::Dialect::Responses) {
            assert_eq!(error_of(&reply)["code"], "all_connections_terminal", "{name}");
        }
        world.delete(&c1).await;
        world.delete(&c2).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_base_of_zero_never_rests_and_no_steps_never_double() {
    // CC-25, CC-26; handed case: 0 means off, not default.
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(500, "oops"));
    world.resilience(json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": 0 } } })).await;
    for _ in 0..3 {
        assert_eq!(fail(&world, &c1, AK).await, Millis::ZERO);
    }
    assert!(world.health(&c1).last_error.is_some());
    let profile = json!({ "baseCooldownMs": 3_000, "maxBackoffSteps": 0 });
    world.resilience(json!({ "connectionCooldown": { "apikey": profile } })).await;
    assert_eq!(ladder(&world, &c1, AK, 3).await, [3, 3, 3]);
    world.check_invariants().await;
}

#[tokio::test]
async fn what_an_upstream_repeats_of_the_key_is_masked_where_it_is_kept() {
    // CC-27
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(500, format!("the key {} fell over", c1.credential)));
    post_m1(&world, AK).await;
    let shown = world.connection(&c1).await["lastError"].to_string();
    assert!(shown.contains("fell over") && !shown.contains(&c1.credential), "{shown}");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_supervisor_may_say_that_only_the_account_is_at_fault() {
    // CC-29
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let step = Step::error(503, "restarting").with_header("x-omni-fallback-hint", "connection_cooldown");
    world.script(&c1).then(step);
    assert_eq!(fail(&world, &c1, AK).await, Millis::seconds(5));
    assert_eq!(world.breaker_state(AK), ("CLOSED", 0));
    world.check_invariants().await;
}

#[tokio::test]
async fn an_account_that_is_removed_while_it_rests_leaves_nothing_behind() {
    // CC-30
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(500, "oops"));
    fail(&world, &c1, AK).await;
    world.delete(&c1).await;
    let again = world.connect(AK, "c1").await;
    assert_eq!(world.health(&again).backoff_level, 0);
    assert_eq!(post_m1(&world, AK).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_refused_credential_reaches_the_agent_as_a_502_with_the_label() {
    // CC-34
    let world = start().await;
    for asked in Ask::all(false).into_iter().chain(Ask::all(true)) {
        let c1 = world.connect(asked.provider, "work account").await;
        for status in [401, 403] {
            world.script(&c1).then(Step::error(status, "bad key"));
            let reply = post(&world, &asked).await;
            let name = format!("{:?} {status}: {}", asked.dialect, reply.text());
            assert_eq!((reply.status.as_u16(), reply.header("x-should-retry")), (502, Some("false")), "{name}");
            assert!(reply.error_message().contains("work account"), "{name}");
            world.reset(&c1).await;
        }
        let stranger = world.stranger().with_key("sk-omni-wrong").post(&asked.path, asked.body.clone()).await;
        assert_eq!(stranger.status, 401, "{}", stranger.text());
        world.delete(&c1).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_stream_that_only_pings_is_noted_and_cools_only_where_told() {
    // CC-15, CC-16
    let pings = Step::drip(": ping\n\n", Duration::from_millis(5), None);
    for told in [false, true] {
        let world = start().await;
        let c1 = world.connect(AK, "c1").await;
        world.script(&c1).then(pings.clone());
        world.set(json!({ "gateway": { "keepAliveAfterMs": { "chat": 0 } } })).await;
        if told {
            world.resilience(json!({ "streamStallCooldown": { "enabled": true } })).await;
        }
        let asking = begin(&world, &c1, &ask_stream(AK, "m1")).await;
        let reply = crate::streams::while_time_passes(&world, asking).await;
        assert!(reply.status.is_server_error(), "{} {}", reply.status, reply.text());
        let shown = world.connection(&c1).await;
        assert_eq!(shown["lastErrorType"], "server_error", "{shown}");
        assert!(shown["lastError"].is_string(), "{shown}");
        let row = world.last_request().await;
        assert_eq!(row["trace"]["attempts"][0]["kind"], "content_stall", "{row}");
        if told {
            assert_eq!(world.health(&c1).backoff_level, 1, "{shown}");
        } else {
            assert_eq!((&shown["rateLimitedUntil"], &shown["backoffLevel"]), (&json!(null), &json!(0)), "{shown}");
            world.script(&c1).then(Step::ok("fine"));
            assert_eq!(post_m1(&world, AK).await.status, 200, "it is asked again at once");
        }
        world.check_invariants().await;
    }
}
