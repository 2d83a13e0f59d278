//! What outlives a restart, and a crash (resilience specification, 25; scenarios RP).

use domain::Millis;
use domain::health::TestStatus;
use fake_upstream::Step;

use crate::cast::{AK, ask, begin, open, post_m1, send, start, uncooled};

#[tokio::test]
async fn an_open_breaker_keeps_its_time_over_a_restart_and_over_a_crash() {
    // RP-01
    for crash in [false, true] {
        for (away, state, left) in [(10, "OPEN", 20), (40, "HALF_OPEN", 0)] {
            let mut world = start().await;
            let c1 = open(&world, AK, 12).await;
            if crash {
                world.crash().await;
            } else {
                world.stop().await;
                world.advance(Millis::seconds(away));
                world.again().await;
            }
            if crash {
                world.advance(Millis::seconds(away));
            }
            let breaker = world.breaker(AK).expect("a breaker");
            assert_eq!((breaker.state.as_str(), breaker.retry_after), (state, Millis::seconds(left)), "{crash} {away}");
            assert_eq!(breaker.failure_count, 12, "{crash} {away}");
            let before = world.calls(&c1).len();
            send(&world, AK, 1).await;
            assert_eq!(world.calls(&c1).len() > before, state == "HALF_OPEN", "{crash} {away}");
            world.check_invariants().await;
        }
    }
}

#[tokio::test]
async fn a_probe_that_died_with_the_gateway_leaves_its_place_free() {
    // RP-02
    let mut world = start().await;
    let c1 = open(&world, AK, 12).await;
    world.advance(Millis::seconds(30));
    world.script(&c1).then(Step::Hang);
    let probe = begin(&world, &c1, &ask(AK, "m1")).await;
    assert!(world.breaker(AK).is_some_and(|breaker| breaker.probing));
    probe.abort();
    world.crash().await;
    let breaker = world.breaker(AK).expect("a breaker");
    assert_eq!((breaker.state.as_str(), breaker.probing), ("HALF_OPEN", false));
    world.script(&c1).then(Step::ok("fine"));
    assert_eq!(post_m1(&world, AK).await.status, 200);
    assert_eq!(world.breaker_state(AK), ("CLOSED", 0));
    world.check_invariants().await;
}

#[tokio::test]
async fn failures_that_were_counted_stay_counted() {
    // RP-03
    for crash in [false, true] {
        let mut world = start().await;
        let c1 = uncooled(&world, AK, "c1").await;
        world.script(&c1).then(Step::error(503, "down"));
        send(&world, AK, 9).await;
        if crash {
            world.crash().await
        } else {
            world.restart().await
        }
        assert_eq!(world.breaker_state(AK), ("DEGRADED", 9), "{crash}");
        send(&world, AK, 3).await;
        assert_eq!(world.breaker_state(AK), ("OPEN", 12), "{crash}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_rest_goes_on_and_one_that_is_over_is_over() {
    // RP-04, RP-05
    for crash in [false, true] {
        let mut world = start().await;
        let c1 = world.connect(AK, "c1").await;
        let c2 = world.connect(AK, "c2").await;
        let banned = world.connect(AK, "banned").await;
        world.script(&c1).then(Step::error(429, "slow down").with_header("retry-after", "60"));
        world.script(&c2).then(Step::error(429, "slow down")).then(Step::ok("fine"));
        world.script(&banned).then(Step::error(403, "your account has been suspended"));
        post_m1(&world, AK).await;
        world.advance(Millis::seconds(5));
        let level = world.health(&c2).backoff_level;
        if crash {
            world.crash().await
        } else {
            world.restart().await
        }
        assert_eq!(world.cooling(&c1), Some(Millis::seconds(55)), "{crash}");
        assert_eq!((world.cooling(&c2), world.health(&c2).backoff_level), (None, level), "{crash}");
        assert_eq!(world.status(&banned), TestStatus::Banned, "{crash}");
        assert!(world.health(&c1).last_error.is_some(), "{crash}");
        let reply = post_m1(&world, AK).await;
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()), "{}", reply.text());
        assert_eq!((world.calls(&c1).len(), world.calls(&banned).len()), (1, 1), "{crash}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_computer_that_slept_wakes_with_every_rest_over() {
    // RP-10
    let world = start().await;
    let c1 = open(&world, AK, 12).await;
    let c2 = world.connect("anthropic", "c2").await;
    world.script(&c2).then(Step::error(429, "slow down").with_header("retry-after", "3600")).then(Step::Hang);
    post_m1(&world, "anthropic").await;
    world.script(&c1).then(Step::ok("fine"));
    world.jump_wall(world.now() + Millis::hours(8));
    assert_eq!((world.breaker_state(AK).0, world.cooling(&c2)), ("HALF_OPEN", None));
    let asking = begin(&world, &c2, &ask("anthropic", "m1")).await;
    world.jump_wall(world.now() + Millis::hours(8));
    assert!(asking.await.expect("a reply").status.is_server_error(), "what was under way is given up");
    assert_eq!(post_m1(&world, AK).await.status, 200);
    world.check_invariants().await;
}
