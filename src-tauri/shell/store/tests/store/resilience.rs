use domain::health::{LastError, TestStatus};
use domain::quota::Window;
use domain::{ConnectionId, Millis, ProviderId, Quota, Reason, Timestamp};
use resilience::circuit_breaker::Transition;
use resilience::stored::{BreakerOptions, StoredBreaker, StoredConnection, StoredEgress, StoredLockout, StoredQuota};
use resilience::{Row, Stored};
use store::CredentialChange;

use crate::world::{Running, World, at, connection, until};

fn breaker(provider: &str, failures: u32) -> StoredBreaker {
    StoredBreaker {
        provider: ProviderId::from(provider),
        state: "OPEN".to_owned(),
        failure_count: failures,
        last_failure_time: Some(at(5)),
        options: BreakerOptions {
            provider_class: Some(domain::ProviderClass::Apikey),
            failure_threshold: 12,
            reset_timeout: 30_000,
            half_open_requests: 1,
            last_failure_kind: Some("server_error".to_owned()),
            open_cycle_count: 2,
            transitions: vec![Transition {
                from: "CLOSED".to_owned(),
                to: "OPEN".to_owned(),
                timestamp: at(5),
                failure_count: failures,
                reason: "elevated-failures (12/12)".to_owned(),
            }],
        },
    }
}

fn health(name: &str, status: TestStatus) -> StoredConnection {
    StoredConnection {
        connection: ConnectionId::from(format!("openai-{name}")),
        provider: ProviderId::from("openai"),
        test_status: status,
        rate_limited_until: Some(at(60_000)),
        probe_at: Some(at(30_000)),
        backoff_level: 3,
        last_error: Some(LastError {
            message: "slow down".to_owned(),
            reason: Some(Reason::RateLimit),
            status: Some(429),
            at: at(4),
        }),
        expired_retry_count: 1,
        expired_retry_at: Some(at(300_000)),
        last_used_at: Some(at(4)),
    }
}

fn lockout(name: &str, model: &str) -> StoredLockout {
    StoredLockout {
        key: format!("openai:openai-{name}:{model}"),
        provider: ProviderId::from("openai"),
        connection: ConnectionId::from(format!("openai-{name}")),
        model: model.to_owned(),
        scope: "model".to_owned(),
        reason: "rate_limit".to_owned(),
        locked_at: at(3),
        until: at(120_003),
        failure_count: 2,
        last_cooldown: Millis::minutes(2),
        probe_at: None,
    }
}

pub(crate) fn quota(name: &str, used: f64, at: Timestamp) -> StoredQuota {
    let windows = [("session".to_owned(), Window::new(used, Some(at + Millis::hours(1))))].into();
    let quota = Quota { windows, plan: Some("plus".to_owned()), fetched_at: at, ..Quota::default() };
    StoredQuota { connection: ConnectionId::from(format!("openai-{name}")), quota }
}

/// A store with the connections `a` and `b`.
pub(crate) async fn start(world: &World) -> Running {
    let running = world.open().await;
    for name in ["a", "b"] {
        running.store.insert_connection(&connection("openai", name), Some("sk-123456789".into())).await.unwrap();
    }
    running
}

async fn health_of(running: &Running, name: &str) -> StoredConnection {
    let stored = running.store.load_resilience().await.unwrap();
    let id = ConnectionId::from(format!("openai-{name}"));
    stored.connections.into_iter().find(|row| row.connection == id).unwrap()
}

/// RP-01, RP-03, RP-04, ML-18
#[tokio::test]
async fn everything_is_as_it_was_after_a_restart() {
    let world = World::new();
    let running = start(&world).await;
    let egress = StoredEgress { connection: "openai-a".into(), ip: "203.0.113.7".to_owned(), at: at(9) };
    running.store.record_rows(vec![
        Row::Breaker(breaker("openai", 12)),
        Row::Connection(health("a", TestStatus::Unavailable)),
        Row::Connection(health("b", TestStatus::Banned)),
        Row::Lockout(lockout("a", "m1")),
        Row::Quota(quota("a", 0.5, at(9))),
    ]);
    running.store.record_egress(egress.clone());
    running.stop().await;

    let running = world.open().await;
    let stored = running.store.load_resilience().await.unwrap();
    let expected = Stored {
        breakers: vec![breaker("openai", 12)],
        connections: vec![health("a", TestStatus::Unavailable), health("b", TestStatus::Banned)],
        lockouts: vec![lockout("a", "m1")],
        egress: vec![egress],
        quotas: vec![quota("a", 0.5, at(9))],
    };
    assert_eq!(stored, expected);
    running.stop().await;
}

#[tokio::test]
async fn of_many_changes_to_one_thing_the_latest_is_written() {
    let world = World::new();
    let running = start(&world).await;
    for failures in 1..=1_000 {
        running.store.record_rows(vec![Row::Breaker(breaker("openai", failures)), Row::Lockout(lockout("a", "m1"))]);
    }
    running.store.record_rows(vec![Row::LockoutGone(lockout("a", "m1").key)]);
    let stored = running.store.load_resilience().await.unwrap();
    assert_eq!((stored.breakers, stored.lockouts), (vec![breaker("openai", 1_000)], vec![]));
    running.store.record_rows(vec![Row::BreakerGone("openai".into())]);
    assert_eq!(running.store.load_resilience().await.unwrap().breakers, []);
    running.stop().await;
}

#[tokio::test]
async fn a_terminal_state_is_written_at_once_and_a_cooldown_waits() {
    const WRITTEN: &str = "SELECT count(*) FROM provider_connections WHERE test_status <> 'unknown'";
    let world = World::new();
    let running = start(&world).await;
    running.store.record_rows(vec![Row::Connection(health("a", TestStatus::Unavailable))]);
    assert_eq!(world.count(WRITTEN).await, 0);
    running.store.record_rows(vec![Row::Connection(health("b", TestStatus::Banned))]);
    let mut written = 0;
    for _ in 0..10_000 {
        written = world.count(WRITTEN).await;
        if written == 2 {
            break;
        }
    }
    assert_eq!(written, 2, "no time has passed, and both are written");
    running.stop().await;
}

#[tokio::test]
async fn a_deleted_connection_takes_its_locks_and_its_past_with_it() {
    let world = World::new();
    let running = start(&world).await;
    let rows = || vec![Row::Connection(health("a", TestStatus::Banned)), Row::Lockout(lockout("a", "m1"))];
    running.store.record_rows(rows());
    running.store.record_rows(vec![Row::Lockout(lockout("b", "m1"))]);
    running.store.flush().await.unwrap();
    running.store.delete_connection(&"openai-a".into(), at(10)).await.unwrap();
    // What a request that was still under way leaves behind.
    running.store.record_rows(rows());
    let stored = running.store.load_resilience().await.unwrap();
    assert_eq!(stored.lockouts, [lockout("b", "m1")]);

    running.store.restore_connection(&"openai-a".into(), at(11)).await.unwrap();
    let back = health_of(&running, "a").await;
    assert_eq!((back.test_status, back.rate_limited_until, back.last_error), (TestStatus::Unknown, None, None));
    running.stop().await;
}

/// TS-10
#[tokio::test]
async fn another_credential_forgets_how_the_old_one_fared() {
    let world = World::new();
    let running = start(&world).await;
    running.store.record_rows(vec![Row::Connection(health("a", TestStatus::Expired))]);
    running.store.flush().await.unwrap();
    let record = connection("openai", "a");
    running.store.update_connection(&record, CredentialChange::Keep, None).await.unwrap();
    assert_eq!(health_of(&running, "a").await.test_status, TestStatus::Expired);
    let other = CredentialChange::Set("sk-987654321".into());
    running.store.update_connection(&record, other, None).await.unwrap();
    assert_eq!(health_of(&running, "a").await.test_status, TestStatus::Unknown);
    running.stop().await;
}

/// CC-24
#[tokio::test]
async fn the_end_of_a_rest_is_an_integer_and_read_from_text_too() {
    let world = World::new();
    let running = start(&world).await;
    running.store.record_rows(vec![Row::Connection(health("a", TestStatus::Unavailable))]);
    running.store.flush().await.unwrap();
    assert_eq!(
        world.count("SELECT typeof(rate_limited_until) = 'integer' FROM provider_connections WHERE name = 'a'").await,
        1
    );
    let expected = Some(Timestamp::from_millis(1_786_000_000_000));
    for update in [
        "UPDATE provider_connections SET rate_limited_until = '1786000000000'",
        "UPDATE provider_connections SET rate_limited_until = '2026-08-06T07:06:40.000Z'",
        "UPDATE provider_connections SET rate_limited_until = 1786000000000",
    ] {
        world.execute(update).await;
        assert_eq!(health_of(&running, "a").await.rate_limited_until, expected, "{update}");
    }
    world.execute("UPDATE provider_connections SET rate_limited_until = 'soon', test_status = 'odd'").await;
    let odd = health_of(&running, "a").await;
    assert_eq!((odd.rate_limited_until, odd.test_status), (None, TestStatus::Unknown));
    running.stop().await;
}

#[tokio::test]
async fn a_row_that_makes_no_sense_does_not_stop_the_start() {
    let world = World::new();
    let running = start(&world).await;
    running.store.record_rows(vec![Row::Breaker(breaker("openai", 1)), Row::Breaker(breaker("groq", 2))]);
    running.store.flush().await.unwrap();
    world.execute("UPDATE domain_circuit_breakers SET options = '{' WHERE name = 'groq'").await;
    assert_eq!(running.store.load_resilience().await.unwrap().breakers, [breaker("openai", 1)]);
    running.stop().await;
}

#[tokio::test]
async fn only_the_latest_address_of_a_day_counts() {
    let world = World::new();
    let running = start(&world).await;
    let seen = |name: &str, ip: &str, at: Timestamp| StoredEgress {
        connection: ConnectionId::from(name),
        ip: ip.to_owned(),
        at,
    };
    for egress in [seen("openai-a", "203.0.113.1", at(1)), seen("openai-b", "203.0.113.2", at(2))] {
        running.store.record_egress(egress);
    }
    running.store.flush().await.unwrap();
    world.clock.advance(Millis::days(1));
    let latest = seen("openai-a", "203.0.113.3", at(86_400_000));
    running.store.record_egress(latest.clone());
    let stored = running.store.load_resilience().await.unwrap();
    assert_eq!(stored.egress, [latest, seen("openai-b", "203.0.113.2", at(2))]);
    world.clock.advance(Millis::new(3));
    assert_eq!(running.store.load_resilience().await.unwrap().egress.len(), 1);
    running.stop().await;
}

/// SP-06
#[tokio::test]
async fn a_broken_settings_document_is_left_out() {
    let world = World::new();
    let running = start(&world).await;
    let port = serde_json::json!({ "port": 1 });
    running.store.put_value("settings", "gateway", &port, at(1)).await.unwrap();
    running.store.put_value("settings", "resilienceSettings", &port, at(1)).await.unwrap();
    world.execute("UPDATE key_value SET value = '{\"pro' WHERE key = 'resilienceSettings'").await;
    let values = running.store.list_values("settings").await.unwrap();
    assert_eq!(values.into_iter().collect::<Vec<_>>(), [("gateway".to_owned(), port)]);
    running.stop().await;
}

#[tokio::test]
async fn state_waits_for_a_store_that_cannot_be_written() {
    let world = World::new();
    let running = start(&world).await;
    world
        .execute(
            "CREATE TRIGGER full BEFORE INSERT ON domain_circuit_breakers
             BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
        )
        .await;
    running.store.record_rows(vec![Row::Breaker(breaker("openai", 1))]);
    assert!(running.store.flush().await.is_err());
    assert!(!running.store.health().healthy);
    running.store.record_rows(vec![Row::Breaker(breaker("openai", 2))]);
    world.execute("DROP TRIGGER full").await;
    world.clock.advance(Millis::seconds(60));
    until(|| running.store.health().healthy).await;
    assert_eq!(running.store.load_resilience().await.unwrap().breakers, [breaker("openai", 2)]);
    running.stop().await;
}

#[tokio::test]
async fn where_accounts_leave_keeps_nothing_else_from_being_written() {
    // EG-14: the table cannot be written; the rest of an account is.
    let world = World::new();
    let running = start(&world).await;
    world.execute("DROP TABLE proxy_logs").await;
    let sighting = StoredEgress { connection: ConnectionId::from("openai-a"), ip: "203.0.113.1".to_owned(), at: at(1) };
    running.store.record_egress(sighting);
    running.store.record_rows(vec![Row::Breaker(breaker("openai", 12)), Row::Lockout(lockout("a", "m1"))]);
    running.store.flush().await.unwrap();
    assert_eq!(world.count("SELECT count(*) FROM domain_circuit_breakers").await, 1);
    assert_eq!(world.count("SELECT count(*) FROM domain_lockout_state").await, 1);
    assert!(running.store.health().healthy);
    running.stop().await;
}
