//! What belongs to tool calls, over a restart.

use domain::{Timestamp, wire};
use store::{Kept, KeptOfCall, MOST_CALLS};

use crate::world::{World, at};

const THOUGHT: &str = "a very recognisable thought";

fn kept(call_id: &str, what: Kept, payload: &str, expires_at: Timestamp) -> KeptOfCall {
    let (call_id, family, payload) = (call_id.to_owned(), "google".to_owned(), payload.to_owned());
    KeptOfCall { call_id, what, family, payload, expires_at }
}

#[tokio::test]
async fn what_is_kept_of_calls_comes_back_until_it_expires() {
    let world = World::new();
    let running = world.open().await;
    let first = kept("call_1", Kept::Signature, "old", at(5));
    let replaced = kept("call_1", Kept::Signature, "proof", at(20));
    let thought = kept("call_1", Kept::Reasoning, THOUGHT, at(10));
    running.store.keep_of_calls(vec![first]);
    running.store.keep_of_calls(vec![replaced.clone(), thought.clone()]);
    running.stop().await;

    let running = world.open().await;
    assert_eq!(running.store.load_kept_of_calls(at(0)).await.unwrap(), [replaced.clone(), thought]);
    assert_eq!(running.store.load_kept_of_calls(at(10)).await.unwrap(), [replaced]);
    running.store.purge_kept_of_calls(at(10)).await.unwrap();
    assert_eq!(world.count("SELECT count(*) FROM reasoning_cache").await, 0);
    assert_eq!(world.count("SELECT count(*) FROM signature_cache").await, 1);
    running.stop().await;
}

#[tokio::test]
async fn reasoning_is_not_readable_in_the_files_and_opens_in_its_own_row_only() {
    let world = World::new();
    let running = world.open().await;
    running.store.keep_of_calls(vec![
        kept("call_1", Kept::Reasoning, THOUGHT, at(10)),
        kept("call_2", Kept::Reasoning, "another", at(10)),
    ]);
    running.store.flush().await.unwrap();
    let mut bytes = std::fs::read(world.file(wire::file::DATABASE)).unwrap();
    bytes.extend(std::fs::read(world.file(&format!("{}-wal", wire::file::DATABASE))).unwrap_or_default());
    assert!(!bytes.windows(THOUGHT.len()).any(|window| window == THOUGHT.as_bytes()));
    world
        .execute(
            "UPDATE reasoning_cache SET payload = (SELECT payload FROM reasoning_cache WHERE tool_call_id = 'call_1')",
        )
        .await;
    let left = running.store.load_kept_of_calls(at(0)).await.unwrap();
    assert_eq!(left, [kept("call_1", Kept::Reasoning, THOUGHT, at(10))]);
    running.stop().await;
}

#[tokio::test]
async fn the_oldest_calls_make_room_by_number_and_by_size() {
    let world = World::new();
    let running = world.open().await;
    for n in 0..MOST_CALLS + 10 {
        let call = kept(&format!("call_{n}"), Kept::Signature, "proof", at(u64::from(n) + 1));
        running.store.keep_of_calls(vec![call]);
        if n % 500 == 0 {
            running.store.flush().await.unwrap();
        }
    }
    running.store.flush().await.unwrap();
    assert_eq!(world.count("SELECT count(*) FROM signature_cache").await, i64::from(MOST_CALLS));
    assert_eq!(world.count("SELECT count(*) FROM signature_cache WHERE tool_call_id = 'call_9'").await, 0);

    let large = "x".repeat(1024 * 1024);
    for n in 0..40 {
        running.store.keep_of_calls(vec![kept(&format!("call_{n}"), Kept::Reasoning, &large, at(n + 1))]);
    }
    running.store.flush().await.unwrap();
    assert_eq!(world.count("SELECT count(*) FROM reasoning_cache").await, 31);
    assert_eq!(world.count("SELECT min(expires_at) - 1795946400000 FROM reasoning_cache").await, 10);
    running.stop().await;
}
