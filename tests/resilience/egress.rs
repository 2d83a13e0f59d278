//! Quotas that are counted per outgoing address (resilience specification, 20; scenarios EG).
//!
//! Which address an account was last seen through is history that only the store knows; what follows from it is proven on
//! the Engine. Through the gateway stands what holds of an account whose address is unknown.

use domain::Millis;
use domain::health::TestStatus;
use fake_upstream::Step;

use crate::cast::{AK, ask, post, post_m1, start, uncooled};

const FREE: &str = "opencode";

#[tokio::test]
async fn a_limit_cools_the_account_and_locks_no_model_and_touches_no_unknown_sibling() {
    // EG-01 and EG-02 (lengths), EG-04, EG-11, EG-13
    for (text, rest) in [("monthly usage limit reached", Millis::hours(1)), ("slow down", Millis::minutes(2))] {
        let world = start().await;
        let o4 = world.connect(FREE, "o4").await;
        let sibling = world.connect(FREE, "sibling").await;
        world.script(&o4).then(Step::error(429, text));
        let reply = post_m1(&world, FREE).await;
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(sibling.id.as_str()), "{}", reply.text());
        assert_eq!((world.cooling(&o4), world.locks(&o4)), (Some(rest), Vec::new()), "{text}");
        assert_eq!((world.status(&o4), world.status(&sibling)), (TestStatus::Unavailable, TestStatus::Active));
        assert_eq!(post(&world, &ask(FREE, "m2")).await.status, 200);
        assert_eq!(world.calls(&o4).len(), 1, "all its models are out");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn an_account_that_is_never_cooled_keeps_out_of_it() {
    // EG-08
    let world = start().await;
    let o1 = uncooled(&world, FREE, "o1").await;
    world.script(&o1).then(Step::error(429, "monthly usage limit reached"));
    post_m1(&world, FREE).await;
    assert_eq!(world.cooling(&o1), None);
    world.check_invariants().await;
}

#[tokio::test]
async fn other_statuses_and_other_providers_know_no_shared_address() {
    // EG-09, EG-15
    let world = start().await;
    for (provider, status) in [(FREE, 503), (FREE, 500), (AK, 429)] {
        let first = world.connect(provider, "first").await;
        let second = world.connect(provider, "second").await;
        world.script(&first).then(Step::error(status, "trouble"));
        post_m1(&world, provider).await;
        assert_eq!((world.cooling(&second), world.locks(&second)), (None, Vec::new()), "{provider} {status}");
        for account in [first, second] {
            world.delete(&account).await;
        }
    }
    world.check_invariants().await;
}
