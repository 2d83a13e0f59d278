use domain::request_log::{RequestOutcome, RequestRecord, Trace};
use domain::{ClientKeyId, ConnectionId, Millis, ProviderId, RequestId, Timestamp, Usage};
use store::{Cursor, RequestFilter, Store};

use crate::world::{World, at, request};

/// A request that reached nobody, with everything absent that can be.
fn refused(n: u64) -> RequestRecord {
    RequestRecord {
        target: None,
        status: 503,
        outcome: RequestOutcome::Failure,
        stream: false,
        requested_model: "gpt-100%".to_owned(),
        provider: None,
        model: None,
        connection: None,
        connection_name: None,
        key: None,
        key_name: None,
        agent: None,
        time_to_first_token: None,
        usage: Usage::default(),
        cost: None,
        error_code: Some("no_executable_targets".to_owned()),
        error_summary: Some("Nobody is left".to_owned()),
        session_tag: None,
        combo_name: None,
        strategy: None,
        trace: Trace::default(),
        ..request(n)
    }
}

async fn ids(store: &Store, filter: &RequestFilter) -> Vec<RequestId> {
    let (records, next) = store.list_requests(filter, None, 500).await.unwrap();
    assert_eq!(next, None);
    records.into_iter().map(|record| record.id).collect()
}

#[tokio::test]
async fn a_request_comes_back_as_it_was_recorded() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    for record in [request(1), refused(2)] {
        store.record_request(record.clone());
        assert_eq!(store.get_request(&record.id).await.unwrap(), Some(record));
    }
    assert_eq!(store.get_request(&RequestId::from("nobody")).await.unwrap(), None);
    let (records, _) = store.list_requests(&RequestFilter::default(), None, 10).await.unwrap();
    assert_eq!(records, [refused(2), request(1)]);
    running.stop().await;
}

#[tokio::test]
async fn absurd_numbers_are_kept_as_large_as_they_fit() {
    let world = World::new();
    let running = world.open().await;
    let absurd = RequestRecord {
        at: Timestamp::MAX,
        duration: Millis::MAX,
        usage: Usage { output: Some(u64::MAX), provider_cost: Some(f64::NAN), ..Usage::default() },
        ..request(1)
    };
    running.store.record_request(absurd);
    let kept = running.store.get_request(&request(1).id).await.unwrap().unwrap();
    let most = u64::try_from(i64::MAX).unwrap();
    assert_eq!(kept.at, Timestamp::from_millis(most));
    assert_eq!(kept.duration, Millis::new(most));
    assert_eq!((kept.usage.output, kept.usage.provider_cost), (Some(most), None));
    running.stop().await;
}

#[tokio::test]
async fn pages_go_from_newest_to_oldest_without_gap_or_repetition() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    for n in 0..25 {
        // Several arrive in the same millisecond.
        store.record_request(RequestRecord { at: at(n / 4), ..request(n) });
    }
    let mut seen = Vec::new();
    let mut cursor: Option<Cursor> = None;
    loop {
        let (page, next) = store.list_requests(&RequestFilter::default(), cursor.as_ref(), 10).await.unwrap();
        seen.extend(page.into_iter().map(|record| record.id));
        // What arrives meanwhile is newer than every page still to come.
        store.record_request(request(900 + seen.len() as u64));
        match next {
            Some(next) => cursor = Some(next.to_string().parse().unwrap()),
            None => break,
        }
    }
    let expected: Vec<RequestId> = (0..25).rev().map(|n| request(n).id).collect();
    assert_eq!(seen, expected);
    running.stop().await;
}

#[tokio::test]
async fn a_page_is_never_empty_nor_too_large() {
    let world = World::new();
    let running = world.open().await;
    for n in 0..600 {
        running.store.record_request(request(n));
    }
    for (asked, given) in [(0, 1), (1, 1), (500, 500), (u32::MAX, 500)] {
        let (page, next) = running.store.list_requests(&RequestFilter::default(), None, asked).await.unwrap();
        assert_eq!((page.len(), next.is_some()), (given, true), "{asked}");
    }
    running.stop().await;
}

#[tokio::test]
async fn every_filter_narrows_the_list() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    let aborted = RequestRecord { status: 499, outcome: RequestOutcome::Aborted, ..request(3) };
    for record in [request(1), refused(2), aborted] {
        store.record_request(record);
    }
    let all = RequestFilter::default();
    let text = |text: &str| RequestFilter { text: Some(text.to_owned()), ..RequestFilter::default() };
    for (filter, expected) in [
        (all.clone(), &[3, 2, 1][..]),
        (RequestFilter { status: Some(503), ..all.clone() }, &[2]),
        (RequestFilter { outcome: Some(RequestOutcome::Aborted), ..all.clone() }, &[3]),
        (RequestFilter { provider: Some(ProviderId::from("anthropic")), ..all.clone() }, &[3, 1]),
        (RequestFilter { model: Some("claude-x".to_owned()), ..all.clone() }, &[3, 1]),
        (RequestFilter { model: Some("claude-x-1".to_owned()), ..all.clone() }, &[3, 1]),
        (RequestFilter { model: Some("gpt-100%".to_owned()), ..all.clone() }, &[2]),
        (RequestFilter { connection: Some(ConnectionId::from("anthropic-work")), ..all.clone() }, &[3, 1]),
        (RequestFilter { key: Some(ClientKeyId::from("key-2")), ..all.clone() }, &[]),
        (RequestFilter { session: Some("session-1".to_owned()), ..all.clone() }, &[3, 1]),
        (RequestFilter { since: Some(at(2)), ..all.clone() }, &[3, 2]),
        (RequestFilter { until: Some(at(2)), ..all.clone() }, &[1]),
        (RequestFilter { since: Some(at(2)), until: Some(at(3)), status: Some(200), ..all.clone() }, &[]),
        (text("CLAUDE-CLI"), &[3, 1]),
        (text("nobody is"), &[2]),
        (text("100%"), &[2]),
        (text("1%0"), &[]),
        (text("local_agents"), &[]),
        (text("request-00003"), &[3]),
        (text("'; DROP TABLE call_logs; --"), &[]),
        (text(""), &[3, 2, 1]),
    ] {
        let expected: Vec<RequestId> = expected.iter().map(|n| request(*n).id).collect();
        assert_eq!(ids(store, &filter).await, expected, "{filter:?}");
    }
    running.stop().await;
}

#[tokio::test]
async fn old_requests_are_deleted_and_the_whole_log_can_be() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    for n in 0..2_500 {
        store.record_request(request(n));
    }
    assert_eq!(store.delete_requests_before(at(2_400)).await.unwrap(), 2_400);
    assert_eq!(store.delete_requests_before(at(2_400)).await.unwrap(), 0);
    let (left, _) = store.list_requests(&RequestFilter::default(), None, 500).await.unwrap();
    assert_eq!(left.last().unwrap().id, request(2_400).id);
    assert_eq!(store.delete_all_requests().await.unwrap(), 100);
    assert!(ids(store, &RequestFilter::default()).await.is_empty());
    running.stop().await;
}

#[tokio::test]
async fn a_trace_that_cannot_be_read_does_not_hide_the_request() {
    let world = World::new();
    let running = world.open().await;
    running.store.record_request(request(1));
    running.store.flush().await.unwrap();
    world.execute("UPDATE call_logs SET trace = '{'").await;
    let kept = running.store.get_request(&request(1).id).await.unwrap().unwrap();
    assert_eq!(kept, RequestRecord { trace: Trace::default(), ..request(1) });
    running.stop().await;
}
