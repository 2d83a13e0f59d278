use domain::client_key::ClientKey;
use domain::{ClientKeyId, Millis, Timestamp};
use routing::quota_share::fair_share::{Counter, Row};
use routing::quota_share::{Allocation, Dimension, Policy, Pool, Unit, Window};
use store::{Error, Store, StoredPool};

use crate::world::{World, at};

const CONSUMPTION: &str = "SELECT count(*) FROM quota_consumption";
const HOUR: u64 = 3_600_000;

fn key(id: &str) -> ClientKey {
    let mut hash = [0; 32];
    hash[..id.len()].copy_from_slice(id.as_bytes());
    ClientKey::new(id.into(), id.to_owned(), hash, "tail".to_owned(), at(0))
}

fn allocation(key: &str, weight: f64) -> Allocation {
    Allocation { api_key_id: key.into(), weight, cap_value: Some(7.5), policy: Policy::Burst }
}

fn pool(slug: &str, allocations: Vec<Allocation>) -> StoredPool {
    StoredPool {
        pool: Pool {
            id: format!("id-{slug}"),
            name: slug.to_uppercase(),
            slug: slug.to_owned(),
            connections: vec!["c1".into(), "c2".into()],
            dimensions: vec![Dimension { unit: Unit::Requests, window: Window::FiveHours, limit: 10.0 }],
            allocations,
        },
        created_at: at(1),
        updated_at: at(2),
    }
}

/// The counter of a key in the bucket that began at so many hours after the epoch.
fn used(pool: &str, key: &str, bucket: u64, current: f64, previous: f64) -> Row {
    Row {
        pool: format!("id-{pool}"),
        unit: Unit::Requests,
        window: Window::Hourly,
        api_key_id: key.into(),
        counter: Counter { bucket, current, previous },
    }
}

async fn put_down(store: &Store, rows: Vec<Row>) {
    store.record_pool_use(rows);
    store.flush().await.unwrap();
}

#[tokio::test]
async fn a_pool_comes_back_as_it_was_written_and_its_slug_is_its_own() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    for id in ["k1", "k2"] {
        store.insert_key(&key(id)).await.unwrap();
    }
    let stored = pool("b", vec![allocation("k2", 2.0), allocation("k1", 1.0)]);
    store.save_quota_pool(&stored).await.unwrap();
    store.save_quota_pool(&pool("a", Vec::new())).await.unwrap();
    assert_eq!(store.list_quota_pools().await.unwrap(), [pool("a", Vec::new()), stored.clone()]);
    let mut other = pool("c", Vec::new());
    other.pool.slug = "b".to_owned();
    assert!(matches!(store.save_quota_pool(&other).await, Err(Error::Duplicate { .. })));
    let changed = StoredPool { updated_at: at(9), ..pool("b", vec![allocation("k1", 5.0)]) };
    store.save_quota_pool(&changed).await.unwrap();
    assert_eq!(store.list_quota_pools().await.unwrap()[1], changed);
    let nobody = pool("d", vec![allocation("nobody", 1.0)]);
    assert!(matches!(store.save_quota_pool(&nobody).await, Err(Error::NotFound { .. })));
    assert_eq!(store.list_quota_pools().await.unwrap().len(), 2, "all of it or nothing");
    running.stop().await;
}

#[tokio::test]
async fn a_revoked_key_leaves_its_pools_and_a_deleted_pool_takes_its_use_along() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.insert_key(&key("k1")).await.unwrap();
    store.save_quota_pool(&pool("a", vec![allocation("k1", 1.0)])).await.unwrap();
    put_down(store, vec![used("a", "k1", 100, 3.0, 0.0), used("gone", "k1", 100, 3.0, 0.0)]).await;
    assert_eq!(world.count(CONSUMPTION).await, 1, "nothing is kept of a pool that is not there");
    store.delete_key(&ClientKeyId::from("k1")).await.unwrap();
    assert_eq!(store.list_quota_pools().await.unwrap()[0].pool.allocations, []);
    assert_eq!(world.count(CONSUMPTION).await, 1, "it was used all the same");
    store.delete_quota_pool("id-a").await.unwrap();
    assert_eq!(world.count(CONSUMPTION).await, 0);
    assert!(matches!(store.delete_quota_pool("id-a").await, Err(Error::NotFound { .. })));
    running.stop().await;
}

#[tokio::test]
async fn use_comes_back_while_it_counts_and_is_forgotten_after_its_time() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.save_quota_pool(&pool("a", Vec::new())).await.unwrap();
    put_down(store, vec![used("a", "k1", 99, 4.0, 0.0), used("a", "k2", 99, 1.0, 2.0)]).await;
    put_down(store, vec![used("a", "k1", 100, 1.0, 4.0)]).await;
    put_down(store, vec![used("a", "k1", 100, 2.0, 4.0)]).await;
    let hours = |hours: u64| Timestamp::from_millis(hours * HOUR);
    let back = store.load_pool_use(hours(100)).await.unwrap();
    assert_eq!(back, [used("a", "k1", 100, 2.0, 4.0), used("a", "k2", 99, 1.0, 0.0)], "the window before last is over");
    assert_eq!(store.load_pool_use(hours(101)).await.unwrap(), [used("a", "k1", 100, 2.0, 0.0)]);
    assert_eq!(store.load_pool_use(hours(102)).await.unwrap(), []);
    assert_eq!(world.count(CONSUMPTION).await, 4);
    assert_eq!(store.purge_pool_use(hours(101) + Millis::new(1)).await.unwrap(), 3);
    running.stop().await;
}

#[tokio::test]
async fn a_count_that_cannot_be_written_is_kept_and_tried_again() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.save_quota_pool(&pool("a", Vec::new())).await.unwrap();
    world.execute("ALTER TABLE quota_consumption RENAME TO elsewhere").await;
    store.record_pool_use(vec![used("a", "k1", 100, 3.0, 0.0)]);
    assert!(store.flush().await.is_err());
    assert!(store.load_pool_use(Timestamp::ZERO).await.is_err());
    world.execute("ALTER TABLE elsewhere RENAME TO quota_consumption").await;
    store.record_pool_use(vec![used("a", "k1", 100, 4.0, 0.0)]);
    store.flush().await.unwrap();
    assert_eq!(store.load_pool_use(Timestamp::ZERO).await.unwrap(), [used("a", "k1", 100, 4.0, 0.0)]);
    running.stop().await;
}

#[tokio::test]
async fn a_pool_that_cannot_be_read_hides_no_other() {
    let world = World::new();
    let running = world.open().await;
    running.store.save_quota_pool(&pool("a", Vec::new())).await.unwrap();
    running.store.save_quota_pool(&pool("b", Vec::new())).await.unwrap();
    world.execute("UPDATE quota_pools SET dimensions = 'broken' WHERE slug = 'a'").await;
    assert_eq!(running.store.list_quota_pools().await.unwrap(), [pool("b", Vec::new())]);
    running.stop().await;
}
