//! A request that names one model waits for a short cooldown instead of failing (resilience specification, 15.1;
//! scenarios CC-21, CC-22).

use acceptance::{Connection, World};
use domain::Millis;
use fake_upstream::Step;

use crate::cast::{AK, ask, begin, post_m1};

fn limited(seconds: u64) -> Step {
    Step::error(429, "slow down").with_header("retry-after", &seconds.to_string())
}

/// Lets an account's rest pass as soon as it has begun.
async fn rest(world: &World, connection: &Connection) {
    let resting = async {
        loop {
            if let Some(left) = world.cooling(connection) {
                return world.advance(left);
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(acceptance::PATIENCE, resting).await.expect("it rests");
}

#[tokio::test]
async fn a_request_waits_for_a_short_rest_and_not_for_a_long_one() {
    // CC-21, CC-22
    let world = World::start_patient().await;
    let c1 = world.connect(AK, "c1").await;
    for (step, waits) in [(Step::error(500, "oops"), true), (limited(90), true), (limited(91), false)] {
        world.script(&c1).then(step).then(Step::ok("fine"));
        let asking = begin(&world, &c1, &ask(AK, "m1")).await;
        if waits {
            rest(&world, &c1).await;
        }
        let reply = asking.await.expect("a reply");
        assert_eq!(reply.status == 200, waits, "{}", reply.text());
        world.reset(&c1).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_request_waits_five_times_at_most() {
    // CC-22
    let world = World::start_patient().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(limited(10));
    let asking = begin(&world, &c1, &ask(AK, "m1")).await;
    for calls in 1..=5 {
        world.wait_for_calls(&c1, calls).await;
        rest(&world, &c1).await;
    }
    let reply = asking.await.expect("a reply");
    assert_eq!((reply.status.as_u16(), world.calls(&c1).len()), (429, 6), "{}", reply.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_wait() {
    // CC-22
    let world = World::start_patient().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(limited(10));
    let asking = begin(&world, &c1, &ask(AK, "m1")).await;
    world.wait_for_endings(&c1, 1).await;
    asking.abort();
    world.settle().await;
    world.advance(Millis::minutes(2));
    world.check_invariants().await;
    assert_eq!(world.calls(&c1).len(), 1, "nobody is asked for a client that is gone");
    assert_eq!(world.last_request().await["outcome"], "aborted");
}

#[tokio::test]
async fn nobody_waits_where_waiting_is_off() {
    let world = crate::cast::start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(limited(10));
    assert_eq!(post_m1(&world, AK).await.status, 429);
    assert_eq!(post_m1(&world, AK).await.status, 429);
    assert_eq!(world.calls(&c1).len(), 1);
    world.check_invariants().await;
}
