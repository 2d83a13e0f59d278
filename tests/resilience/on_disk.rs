//! What lies on the disk: when a gateway writes it, and what it makes of files that something else has written, such as an older
//! version, another program, a bad disk (resilience specification, 2.9, 20.4 and 25; scenarios CB, CC, EG, RP and SP).

use acceptance::World;
use domain::health::TestStatus;
use domain::{Millis, Timestamp, wire};
use fake_upstream::Step;
use http::Method;
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor};

use crate::cast::{AK, OA, open, post_m1, start, uncooled};
use crate::queue::announcing;

/// Changes the database of a world by other hands than the gateway's.
async fn tamper(world: &World, statement: &'static str) {
    let file = world.folder().join(wire::file::DATABASE);
    let mut database = SqliteConnectOptions::new().filename(file).connect().await.expect("a database");
    database.execute(statement).await.expect("a change");
    database.close().await.expect("a closed database");
}

/// The stored states of a provider's breaker: one or none.
async fn stored_breaker(world: &World, provider: &str) -> Vec<String> {
    world.gateway().store().flush().await.expect("a written store");
    let file = world.folder().join(wire::file::DATABASE);
    let mut database = SqliteConnectOptions::new().filename(file).connect().await.expect("a database");
    let states = sqlx::query_scalar("SELECT state FROM domain_circuit_breakers WHERE name = ?").bind(provider);
    let states = states.fetch_all(&mut database).await.expect("states");
    database.close().await.expect("a closed database");
    states
}

#[tokio::test]
async fn an_open_breaker_stays_open_on_the_disk_until_somebody_looks() {
    // CB-09
    let world = start().await;
    open(&world, AK, 12).await;
    assert_eq!(stored_breaker(&world, AK).await, ["OPEN"]);
    world.advance(Millis::minutes(10));
    assert_eq!(stored_breaker(&world, AK).await, ["OPEN"], "no timer runs");
    assert_eq!(world.monitoring().await.status, 200);
    assert_eq!(stored_breaker(&world, AK).await, ["HALF_OPEN"], "whoever looks first turns it");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_breaker_that_nobody_asks_for_half_an_hour_is_forgotten_unless_it_is_open() {
    // CB-39. That no more than five hundred are kept is the registry's own test.
    let world = start().await;
    world.resilience(json!({ "providerBreaker": { "oauth": { "resetTimeoutMs": 3_600_000 } } })).await;
    open(&world, OA, 8).await;
    let c1 = uncooled(&world, AK, "c1").await;
    world.script(&c1).then(Step::error(503, "down")).then(Step::ok("fine"));
    post_m1(&world, AK).await;
    assert_eq!((world.breaker_state(AK), stored_breaker(&world, AK).await.len()), (("CLOSED", 1), 1));
    assert_eq!(post_m1(&world, AK).await.status, 200, "which takes the one failure back");
    world.advance(Millis::minutes(31));
    assert_eq!((world.breaker(AK), stored_breaker(&world, AK).await.len()), (None, 0));
    assert_eq!((world.breaker_state(OA).0, stored_breaker(&world, OA).await), ("OPEN", vec!["OPEN".to_owned()]));
    world.check_invariants().await;
}

#[tokio::test]
async fn the_end_of_a_rest_is_read_as_a_number_as_text_and_as_a_date() {
    // CC-24: each is a minute after the clock's start.
    for statement in [
        "UPDATE provider_connections SET test_status = 'unavailable', rate_limited_until = 1790000060000",
        "UPDATE provider_connections SET test_status = 'unavailable', rate_limited_until = '1790000060000'",
        "UPDATE provider_connections SET test_status = 'unavailable', rate_limited_until = '2026-09-21T14:14:20.000Z'",
    ] {
        let mut world = start().await;
        let c1 = world.connect(AK, "c1").await;
        assert_eq!(world.now(), Timestamp::from_millis(1_790_000_000_000));
        world.stop().await;
        tamper(&world, statement).await;
        world.again().await;
        assert_eq!(
            (world.cooling(&c1), world.status(&c1)),
            (Some(Millis::minutes(1)), TestStatus::Unavailable),
            "{statement}"
        );
        world.advance(Millis::new(59_999));
        assert_ne!(post_m1(&world, AK).await.status, 200, "{statement}");
        assert!(world.calls(&c1).is_empty(), "{statement}");
        world.advance(Millis::new(1));
        assert_eq!(post_m1(&world, AK).await.status, 200, "{statement}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn settings_that_are_broken_on_the_disk_are_the_defaults_and_said_to_be() {
    // SP-06
    let mut world = start().await;
    world.resilience(json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": 9_000 } } })).await;
    world.set(json!({ "gateway": { "bodyLimitBytes": 2_048 } })).await;
    world.stop().await;
    tamper(&world, "UPDATE key_value SET value = '{\"conn' WHERE key = 'resilienceSettings'").await;
    world.again().await;
    assert!(world.has_logged("a stored value is left out"), "nobody is told");
    let tree = world.managed(Method::GET, "/api/resilience", None).await;
    assert_eq!(tree["connectionCooldown"]["apikey"]["baseCooldownMs"], 3_000, "{tree}");
    let others = world.managed(Method::GET, "/api/settings", None).await;
    assert_eq!(others["gateway"]["bodyLimitBytes"], 2_048, "what is whole stands: {others}");
    let c1 = world.connect(AK, "c1").await;
    world.script(&c1).then(Step::error(500, "it fell over"));
    world.resilience(json!({ "waitForCooldown": { "enabled": false } })).await;
    post_m1(&world, AK).await;
    assert_eq!(world.cooling(&c1), Some(Millis::seconds(3)));
    world.check_invariants().await;
}

#[tokio::test]
async fn how_long_a_session_stays_is_carried_over_from_an_older_version() {
    // RP-09, SA-12
    for (newer, expected) in [(None, 300_000), (Some(1_000), 1_000)] {
        let mut world = start().await;
        if let Some(newer) = newer {
            world.set(json!({ "sessionAffinityTtlMs": newer })).await;
        }
        world.stop().await;
        tamper(
            &world,
            "INSERT INTO key_value (namespace, key, value, updated_at)
             VALUES ('settings', 'codexSessionAffinityTtlMs', '300000', 1)",
        )
        .await;
        world.again().await;
        let settings = world.managed(Method::GET, "/api/settings", None).await;
        assert_eq!(settings["sessionAffinityTtlMs"], expected, "{settings}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_table_of_addresses_that_is_gone_keeps_no_limit_from_cooling_its_account() {
    // EG-14
    let world = start().await;
    let (o1, o2) = (world.connect("opencode", "o1").await, world.connect("opencode", "o2").await);
    tamper(&world, "DROP TABLE proxy_logs").await;
    world.script(&o1).then(Step::error(429, "monthly usage limit reached"));
    let reply = post_m1(&world, "opencode").await;
    assert_eq!((reply.status.as_u16(), world.calls(&o2).len()), (200, 1), "{}", reply.text());
    assert_eq!((world.cooling(&o1), world.cooling(&o2)), (Some(Millis::hours(1)), None));
    let row = world.last_request().await;
    assert_eq!(row["outcome"], "success", "the log is written: {row}");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_learned_pace_that_could_not_be_put_down_is_put_down_later() {
    let mut world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let full = "CREATE TRIGGER full BEFORE INSERT ON key_value WHEN new.namespace = 'rateLimits'
                BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END";
    tamper(&world, full).await;
    world.script(&c1).then(announcing());
    assert_eq!(post_m1(&world, AK).await.status, 200);
    let failed = async {
        while !world.has_logged("the learned limits could not be put down") {
            world.advance(Millis::seconds(1));
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(acceptance::PATIENCE, failed).await.expect("it is tried");
    tamper(&world, "DROP TRIGGER full").await;
    world.restart().await;
    let queues = world.picture().queues;
    assert_eq!(queues.len(), 1, "{queues:?}");
    assert_eq!((queues[0].connection.as_str(), queues[0].spacing), (c1.id.as_str(), Millis::new(990)));
    world.check_invariants().await;
}
