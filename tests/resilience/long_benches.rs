//! Waits that an upstream announces for hours or days (specification's decision 19; scenarios CC-31, CC-32).

use acceptance::Ask;
use domain::Millis;
use fake_upstream::{Gate, Step};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::Method;
use serde_json::json;

use crate::cast::{AK, DIALECTS, ask, at_once, post, post_m1, start};

const FIVE_DAYS: u64 = 5 * 24 * 3_600;
const SIX_HOURS: u64 = 6 * 3_600;

fn benched(seconds: u64) -> Step {
    Step::error(429, "your plan is used up").with_header("retry-after", &seconds.to_string())
}

#[tokio::test]
async fn a_long_bench_is_probed_every_six_hours_and_the_client_hears_the_real_end() {
    // CC-31
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(benched(FIVE_DAYS));
    let reply = post_m1(&world, AK).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some("432000")), "{}", reply.text());
    for round in 1..=2 {
        world.advance(Millis::new(SIX_HOURS * 1_000 - 1));
        let reply = post_m1(&world, AK).await;
        let left = FIVE_DAYS - round * SIX_HOURS + 1;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some(left.to_string().as_str())));
        assert_eq!(world.calls(&c1).len() as u64, round, "one millisecond early");
        world.advance(Millis::new(1));
        let gate = Gate::closed();
        world.script(&c1).then(benched(FIVE_DAYS).held(&gate));
        let mut asking: FuturesUnordered<_> = at_once(&world, &ask(AK, "m1"), 20).collect();
        while let Some(reply) = asking.next().await {
            let reply = reply.expect("a reply");
            if asking.len() == 1 {
                gate.open();
            }
            assert_eq!(reply.status, 429, "{}", reply.text());
            let told: u64 = reply.header("retry-after").and_then(|text| text.parse().ok()).expect("a wait");
            assert!(told >= FIVE_DAYS - round * SIX_HOURS, "{told}");
        }
        assert_eq!(world.calls(&c1).len() as u64, 1 + round, "one probe");
        assert_eq!(world.health(&c1).backoff_level, 0, "a probe is no step");
    }
    world.advance(Millis::new(SIX_HOURS * 1_000));
    world.script(&c1).then(Step::ok("fine"));
    assert_eq!(post_m1(&world, AK).await.status, 200);
    assert_eq!(world.cooling(&c1), None, "the probe's success ends the bench");
    assert_eq!(post_m1(&world, AK).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_bench_of_two_hours_is_waited_for() {
    // CC-32
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(benched(7_200)).then(Step::ok("fine"));
    post_m1(&world, AK).await;
    for _ in 0..8 {
        world.advance(Millis::new(15 * 60_000 - 1));
        assert_eq!(post_m1(&world, AK).await.status, 429);
    }
    assert_eq!(world.calls(&c1).len(), 1);
    world.advance(Millis::new(8));
    assert_eq!(post_m1(&world, AK).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn six_and_a_half_days_are_told_as_they_are_and_a_voucher_ends_them_at_once() {
    // Handed case: `Retry-After: 561635`, in every dialect.
    for dialect in DIALECTS {
        let world = start().await;
        let asked = Ask::new(dialect, false);
        let c1 = world.connect(asked.provider, "c1").await;
        world.script(&c1).then(benched(561_635)).then(Step::ok("fine"));
        let reply = post(&world, &asked).await;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some("561635")), "{dialect:?}");
        world.advance(Millis::hours(1));
        let reply = post(&world, &asked).await;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some("558035")), "{dialect:?}");
        assert_eq!(world.calls(&c1).len(), 1, "{dialect:?}");
        let clear = json!({ "connectionIds": [c1.id] });
        let reply = world.managed(Method::POST, "/api/resilience/cooldowns", Some(clear)).await;
        assert_eq!(reply["cleared"], 1, "{reply}");
        assert_eq!(post(&world, &asked).await.status, 200, "{dialect:?}: the very next request goes out");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn nobody_is_benched_for_more_than_thirty_days() {
    // RH-27
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(benched(90 * 24 * 3_600));
    post_m1(&world, AK).await;
    let left = world.cooling(&c1).expect("it is benched");
    assert!(left <= Millis::days(30), "{left}");
    world.check_invariants().await;
}
