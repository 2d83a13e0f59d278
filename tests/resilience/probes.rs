//! The one probe of a half-open breaker (resilience specification, 2.8; scenarios CB-10 to CB-14).

use domain::Millis;
use fake_upstream::{Gate, Step};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::cast::{AK, DIALECTS, ask, at_once, begin, fresh_model, open, post, post_m1, send, start};

#[tokio::test]
async fn a_probe_that_succeeds_closes() {
    // CB-10
    let world = start().await;
    let c1 = open(&world, AK, 12).await;
    world.advance(Millis::seconds(30));
    world.script(&c1).then(Step::ok("fine"));
    assert_eq!(post_m1(&world, AK).await.status, 200);
    let breaker = world.breaker(AK).expect("a breaker");
    assert_eq!((breaker.state.as_str(), breaker.failure_count, breaker.open_cycles), ("CLOSED", 0, 0));
    world.check_invariants().await;
}

#[tokio::test]
async fn of_twenty_that_arrive_together_one_is_the_probe() {
    // CB-12
    let world = start().await;
    let c1 = open(&world, AK, 12).await;
    let before = world.calls(&c1).len();
    world.advance(Millis::seconds(30));
    let gate = Gate::closed();
    world.script(&c1).then(Step::ok("fine").held(&gate));
    let mut asking: FuturesUnordered<_> = at_once(&world, &ask(AK, "m1"), 20).collect();
    for _ in 0..19 {
        let reply = asking.next().await.expect("nineteen").expect("a reply");
        assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (503, "provider_circuit_open"));
    }
    gate.open();
    assert_eq!(asking.next().await.expect("the probe").expect("a reply").status, 200);
    assert_eq!(world.calls(&c1).len(), before + 1);
    assert_eq!(world.breaker_state(AK), ("CLOSED", 0));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_probe_whose_client_leaves_gives_its_place_back() {
    // CB-13, for each dialect.
    for dialect in DIALECTS {
        let world = start().await;
        let asked = acceptance::Ask::new(dialect, true);
        let c1 = crate::cast::uncooled(&world, asked.provider, "c1").await;
        world.script(&c1).then(Step::error(503, "down"));
        for _ in 0..12 {
            post(&world, &acceptance::Ask::of(asked.provider, &fresh_model(), dialect, true)).await;
        }
        world.advance(Millis::seconds(30));
        world.script(&c1).then(Step::Hang);
        for number in 1..=3 {
            let probe = begin(&world, &c1, &asked).await;
            let refused = post(&world, &asked).await;
            assert_eq!(refused.status, 503, "{dialect:?}: {}", refused.text());
            probe.abort();
            world.wait_for_endings(&c1, 12 + number).await;
            world.settle().await;
            assert_eq!(world.breaker_state(asked.provider), ("HALF_OPEN", 12), "{dialect:?}");
        }
        world.script(&c1).then(Step::ok("fine"));
        assert_eq!(post(&world, &asked).await.status, 200, "{dialect:?}");
        assert_eq!(world.breaker_state(asked.provider), ("CLOSED", 0), "{dialect:?}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn after_many_refusals_an_abandoned_breaker_still_recovers() {
    // CB-13: refusals hold nothing and forget nothing.
    let world = start().await;
    let c1 = open(&world, AK, 12).await;
    world.advance(Millis::seconds(30));
    world.script(&c1).then(Step::Hang);
    let probe = begin(&world, &c1, &ask(AK, "m1")).await;
    for _ in 0..500 {
        assert_eq!(post_m1(&world, AK).await.status, 503);
    }
    probe.abort();
    world.wait_for_endings(&c1, 13).await;
    world.settle().await;
    world.script(&c1).then(Step::ok("fine"));
    assert_eq!(post_m1(&world, AK).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_probe_that_says_nothing_about_the_service_decides_nothing() {
    // CB-14
    let world = start().await;
    let opener = open(&world, AK, 12).await;
    world.change(&opener, serde_json::json!({ "isActive": false })).await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(429, "slow down")).then(Step::ok("fine"));
    world.advance(Millis::seconds(30));
    assert_eq!(post_m1(&world, AK).await.status, 429);
    let breaker = world.breaker(AK).expect("a breaker");
    assert_eq!((breaker.state.as_str(), breaker.failure_count, breaker.probing), ("HALF_OPEN", 12, false));
    assert_eq!(world.cooling(&c1), Some(Millis::seconds(3)), "the account cools");
    world.advance(Millis::seconds(3));
    assert_eq!(post_m1(&world, AK).await.status, 200);
    assert_eq!(world.breaker_state(AK), ("CLOSED", 0));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_probe_that_fails_reopens_from_its_own_time() {
    // CB-11
    let world = start().await;
    open(&world, AK, 12).await;
    world.advance(Millis::minutes(5));
    send(&world, AK, 1).await;
    let breaker = world.breaker(AK).expect("a breaker");
    assert_eq!((breaker.state.as_str(), breaker.open_cycles), ("OPEN", 1));
    assert_eq!((breaker.retry_after, breaker.last_failure), (Millis::seconds(30), Some(world.now())));
    world.check_invariants().await;
}
