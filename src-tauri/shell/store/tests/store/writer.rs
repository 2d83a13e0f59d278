use domain::Millis;
use store::{Error, RequestFilter};

use crate::world::{World, request, until};

const QUEUE: u64 = 8_192;
const STORED: &str = "SELECT count(*) FROM call_logs";

/// What a full disk looks like to the writer.
const BREAK: &str = "CREATE TRIGGER full BEFORE INSERT ON usage_history
                     BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END";
const REPAIR: &str = "DROP TRIGGER full";

#[tokio::test]
async fn what_waits_is_written_after_a_quarter_of_a_second() {
    let world = World::new();
    let running = world.open().await;
    running.store.record_request(request(1));
    until(|| running.store.health().waiting == 1).await;
    assert_eq!(world.count(STORED).await, 0);
    world.clock.advance(Millis::new(249));
    assert_eq!(world.count(STORED).await, 0);
    assert_eq!(running.store.health().waiting, 1);
    world.clock.advance(Millis::new(1));
    until(|| running.store.health().waiting == 0).await;
    running.store.flush().await.unwrap();
    assert_eq!(world.count(STORED).await, 1);
    running.stop().await;
}

#[tokio::test]
async fn a_full_batch_is_written_at_once() {
    let world = World::new();
    let running = world.open().await;
    for n in 0..511 {
        running.store.record_request(request(n));
    }
    assert_eq!(world.count(STORED).await, 0);
    running.store.record_request(request(511));
    until(|| running.store.health().waiting == 0).await;
    running.stop().await;
    assert_eq!(world.count(STORED).await, 512);
}

#[tokio::test]
async fn what_is_beyond_a_full_batch_waits_its_own_time() {
    let world = World::new();
    let running = world.open().await;
    for n in 0..515 {
        running.store.record_request(request(n));
    }
    until(|| running.store.health().waiting == 3).await;
    while world.count(STORED).await < 512 {
        tokio::task::yield_now().await;
    }
    assert_eq!((world.count(STORED).await, running.store.health().waiting), (512, 3));
    world.clock.advance(Millis::new(249));
    assert_eq!((world.count(STORED).await, running.store.health().waiting), (512, 3));
    world.clock.advance(Millis::new(1));
    until(|| running.store.health().waiting == 0).await;
    running.stop().await;
    assert_eq!(world.count(STORED).await, 515);
}

#[tokio::test]
async fn a_flush_with_nothing_to_write_returns_at_once() {
    let world = World::new();
    let running = world.open().await;
    running.store.flush().await.unwrap();
    running.store.record_request(request(1));
    running.store.flush().await.unwrap();
    running.store.flush().await.unwrap();
    assert_eq!(world.count(STORED).await, 1);
    running.stop().await;
    world.open().await.stop().await;
}

#[tokio::test]
async fn a_repeated_record_is_stored_once() {
    let world = World::new();
    let running = world.open().await;
    for _ in 0..2 {
        running.store.record_request(request(1));
        running.store.flush().await.unwrap();
    }
    assert_eq!(world.count(STORED).await, 1);
    assert_eq!(world.count("SELECT count(*) FROM usage_history").await, 1);
    running.stop().await;
}

#[tokio::test]
async fn a_full_queue_drops_and_counts_and_never_waits() {
    let world = World::new();
    let running = world.open().await;
    for n in 0..QUEUE + 10 {
        running.store.record_request(request(n));
    }
    let health = running.store.health();
    assert_eq!((health.dropped, health.waiting, health.healthy), (10, QUEUE, true));
    running.store.flush().await.unwrap();
    assert_eq!(world.count(STORED).await, i64::try_from(QUEUE).unwrap());
    running.stop().await;
}

#[tokio::test]
async fn a_failed_flush_is_kept_reported_and_tried_again_later() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    world.execute(BREAK).await;
    for n in 0..300 {
        store.record_request(request(n));
    }
    let error = store.flush().await.unwrap_err();
    assert!(matches!(error, Error::Flush { .. }) && error.to_string().contains("disk is full"), "{error}");
    let health = store.health();
    assert!(!health.healthy && health.last_error.unwrap().contains("disk is full"));
    assert_eq!(health.dropped, 0);
    // The log is still readable, and nothing of the failed batch is in it.
    assert!(store.list_requests(&RequestFilter::default(), None, 10).await.unwrap().0.is_empty());

    world.execute(REPAIR).await;
    world.clock.advance(Millis::minutes(1));
    until(|| store.health().healthy).await;
    assert_eq!(world.count(STORED).await, 300);
    assert_eq!(store.health().last_error, None);
    running.stop().await;
}

#[tokio::test]
async fn a_failed_attempt_is_not_repeated_at_once() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    world.execute(BREAK).await;
    store.record_request(request(1));
    assert!(store.flush().await.is_err());
    world.execute(REPAIR).await;
    // The second attempt is a quarter of a second later, not sooner.
    world.clock.advance(Millis::new(249));
    assert_eq!(world.count(STORED).await, 0);
    assert!(!store.health().healthy);
    world.clock.advance(Millis::new(1));
    until(|| store.health().healthy).await;
    running.stop().await;
}

#[tokio::test]
async fn traffic_goes_on_while_the_disk_is_full() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    world.execute(BREAK).await;
    store.record_request(request(0));
    assert!(store.flush().await.is_err());
    for n in 1..QUEUE + 100 {
        store.record_request(request(n));
    }
    assert_eq!(store.health().dropped, 99);
    world.execute(REPAIR).await;
    store.flush().await.unwrap();
    assert_eq!(world.count(STORED).await, i64::try_from(QUEUE + 1).unwrap());
    running.stop().await;
}

#[tokio::test]
async fn a_clean_end_writes_what_waits_and_then_takes_nothing_more() {
    let world = World::new();
    let running = world.open().await;
    running.store.record_request(request(1));
    running.cancel.cancel();
    running.tracker.close();
    running.tracker.wait().await;
    assert_eq!(world.count(STORED).await, 1);
    running.store.record_request(request(2));
    running.store.flush().await.unwrap();
    assert_eq!(running.store.health().dropped, 1);
    assert_eq!(world.count(STORED).await, 1);
}

#[tokio::test]
async fn dropping_the_last_store_writes_what_waits() {
    let world = World::new();
    let running = world.open().await;
    running.store.record_request(request(1));
    drop(running.store);
    running.tracker.close();
    running.tracker.wait().await;
    assert_eq!(world.count(STORED).await, 1);
}

#[tokio::test]
async fn an_end_on_a_full_disk_loses_the_rest_and_says_so() {
    let world = World::new();
    let running = world.open().await;
    world.execute(BREAK).await;
    for n in 0..300 {
        running.store.record_request(request(n));
    }
    running.cancel.cancel();
    running.tracker.close();
    running.tracker.wait().await;
    let health = running.store.health();
    assert_eq!((health.healthy, health.dropped, health.waiting), (false, 300, 0));
    assert!(running.store.flush().await.is_err());
}
