use domain::{ConnectionId, Millis, Timestamp};
use resilience::Row;
use store::{CredentialChange, QuotaPoint, Store};

use crate::resilience::{quota, start};
use crate::world::{Look, Running, World, at, until};

const SNAPSHOTS: &str = "SELECT count(*) FROM quota_snapshots";
const POINTS: &str = "SELECT count(*) FROM quota_history";

fn account(name: &str) -> ConnectionId {
    ConnectionId::from(format!("openai-{name}"))
}

async fn put_down(running: &Running, name: &str, used: f64, when: Timestamp) {
    running.store.record_rows(vec![Row::Quota(quota(name, used, when))]);
    running.store.flush().await.unwrap();
}

async fn history(store: &Store, since: Timestamp) -> Vec<(u64, f64)> {
    let points: Vec<QuotaPoint> = store.quota_history(&account("a"), since).await.unwrap();
    points.into_iter().map(|point| (point.at.as_millis(), point.percent_used)).collect()
}

#[tokio::test]
async fn a_quota_waits_for_three_seconds_and_the_latest_is_written() {
    let world = World::new();
    let running = start(&world).await;
    for used in [0.1, 0.2, 0.3] {
        running.store.record_rows(vec![Row::Quota(quota("a", used, at(9)))]);
    }
    world.clock.advance(Millis::new(2_999));
    tokio::task::yield_now().await;
    assert_eq!(world.count(SNAPSHOTS).await, 0);
    world.clock.advance(Millis::new(1));
    while world.count(SNAPSHOTS).await == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(running.store.load_resilience().await.unwrap().quotas, [quota("a", 0.3, at(9))]);
    until(|| running.store.health().waiting == 0).await;
    running.stop().await;
}

#[tokio::test]
async fn the_history_keeps_the_last_of_every_five_minutes() {
    let world = World::new();
    let running = start(&world).await;
    let minute = |n: u64| Timestamp::from_millis(n * 60_000);
    for (when, used) in [(10, 0.1), (12, 0.2), (14, 0.3), (15, 0.4), (26, 0.5)] {
        put_down(&running, "a", used, minute(when)).await;
    }
    assert_eq!(history(&running.store, Timestamp::ZERO).await, [(600_000, 0.3), (900_000, 0.4), (1_500_000, 0.5)]);
    assert_eq!(history(&running.store, minute(16)).await, [(900_000, 0.4), (1_500_000, 0.5)]);
    assert_eq!(running.store.purge_quota_history(minute(15)).await.unwrap(), 1);
    assert_eq!(history(&running.store, Timestamp::ZERO).await, [(900_000, 0.4), (1_500_000, 0.5)]);
    running.stop().await;
}

#[tokio::test]
async fn another_credential_and_a_deletion_forget_what_was_left_and_nothing_is_kept_of_nobody() {
    let world = World::new();
    let running = start(&world).await;
    put_down(&running, "a", 0.5, at(9)).await;
    put_down(&running, "b", 0.5, at(9)).await;
    put_down(&running, "nobody", 0.5, at(9)).await;
    assert_eq!((world.count(SNAPSHOTS).await, world.count(POINTS).await), (2, 2));
    let known = running.store.get_connection(&account("a")).await.unwrap().unwrap();
    running.store.update_connection(&known, CredentialChange::Set("sk-other-key".into()), None).await.unwrap();
    assert_eq!(world.count(SNAPSHOTS).await, 1);
    running.store.record_rows(vec![Row::Quota(quota("b", 0.6, at(10)))]);
    running.store.delete_connection(&account("b"), at(11)).await.unwrap();
    running.store.flush().await.unwrap();
    assert_eq!((world.count(SNAPSHOTS).await, world.count(POINTS).await), (0, 2), "it can still come back");
    running.store.purge_connections(at(12)).await.unwrap();
    running.store.purge_quota_history(Timestamp::ZERO).await.unwrap();
    assert_eq!(world.count(POINTS).await, 1);
    running.stop().await;
}
