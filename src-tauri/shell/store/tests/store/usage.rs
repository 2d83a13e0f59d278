use domain::request_log::{AttemptRecord, RequestOutcome, RequestRecord};
use domain::{ClientKeyId, ConnectionId, Timestamp, Usage};
use store::{GroupBy, KeyUsage, Store, UsageTotals};

use crate::world::{World, at, request};

const HOUR: u64 = 3_600_000;

async fn groups(store: &Store, group_by: GroupBy) -> Vec<(Option<String>, Option<String>, u64)> {
    let summary = store.usage_summary(group_by, Timestamp::ZERO, Timestamp::MAX).await.unwrap();
    summary.groups.into_iter().map(|group| (group.group, group.name, group.totals.requests)).collect()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn tokens_and_money_are_added_up_and_unknown_counts_as_none() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.record_request(request(1));
    store.record_request(RequestRecord { outcome: RequestOutcome::Failure, cost: Some(0.25), ..request(2) });
    store.record_request(RequestRecord {
        outcome: RequestOutcome::Aborted,
        usage: Usage::default(),
        cost: None,
        ..request(3)
    });
    let summary = store.usage_summary(GroupBy::Provider, at(0), at(10)).await.unwrap();
    let expected = UsageTotals {
        requests: 3,
        successes: 1,
        failures: 1,
        aborted: 1,
        input_fresh: 200,
        cache_read: 2_000,
        cache_write: 0,
        output: 100,
        reasoning: 0,
        cost: 0.75,
    };
    assert_eq!(summary.totals, expected);
    assert_eq!(summary.groups.len(), 1);
    assert_eq!(summary.groups[0].totals, expected);
    running.stop().await;
}

#[tokio::test]
async fn since_is_inclusive_and_until_exclusive() {
    let world = World::new();
    let running = world.open().await;
    for n in 0..10 {
        running.store.record_request(request(n));
    }
    for (since, until, requests) in [(0, 10, 10), (3, 5, 2), (5, 5, 0), (9, 100, 1)] {
        let summary = running.store.usage_summary(GroupBy::Key, at(since), at(until)).await.unwrap();
        assert_eq!(summary.totals.requests, requests, "{since}..{until}");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_day_begins_at_midnight_of_the_given_zone() {
    let world = World::new();
    let running = world.open().await;
    // 10:00, 20:30 and 23:30 UTC.
    for hours_and_a_half in [0, 21, 27] {
        running.store.record_request(request(hours_and_a_half * HOUR / 2));
    }
    for (offset_seconds, expected) in [
        (0, vec![("2026-11-29", 3)]),
        (3_600, vec![("2026-11-29", 2), ("2026-11-30", 1)]),
        (-11 * 3_600, vec![("2026-11-28", 1), ("2026-11-29", 2)]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(day, count)| (some(day), None, count)).collect();
        assert_eq!(groups(&running.store, GroupBy::Day { offset_seconds }).await, expected, "{offset_seconds}");
    }
    running.stop().await;
}

#[tokio::test]
async fn groups_carry_the_latest_name_and_requests_without_one_are_a_group_too() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.record_request(RequestRecord {
        key_name: some("new name"),
        connection_name: some("new label"),
        ..request(9)
    });
    store.record_request(request(1));
    store.record_request(RequestRecord {
        provider: None,
        model: None,
        key: None,
        key_name: None,
        connection: None,
        connection_name: None,
        ..request(2)
    });
    store.record_request(RequestRecord {
        key: Some(ClientKeyId::from("key-2")),
        connection: Some(ConnectionId::from("other")),
        ..request(3)
    });
    for (group_by, expected) in [
        (GroupBy::Provider, vec![(None, None, 1), (some("anthropic"), None, 3)]),
        (GroupBy::Model, vec![(None, None, 1), (some("anthropic/claude-x-1"), None, 3)]),
        (
            GroupBy::Key,
            vec![(None, None, 1), (some("key-1"), some("new name"), 2), (some("key-2"), some("Local agents"), 1)],
        ),
        (
            GroupBy::Connection,
            vec![(None, None, 1), (some("anthropic-work"), some("new label"), 2), (some("other"), some("work"), 1)],
        ),
    ] {
        assert_eq!(groups(store, group_by).await, expected, "{group_by:?}");
    }
    running.stop().await;
}

#[tokio::test]
async fn what_a_key_consumed_is_told_by_provider_and_model() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    let usage =
        Usage { input_fresh: Some(1), cache_read: Some(2), cache_write: Some(3), output: Some(4), ..Usage::default() };
    let spent = |at, cost| RequestRecord { usage, cost, ..request(at) };
    store.record_request(spent(1, Some(0.25)));
    store.record_request(spent(2, None));
    store.record_request(RequestRecord { usage: Usage::default(), ..spent(3, None) });
    store.record_request(RequestRecord { provider: None, model: None, ..spent(4, Some(0.5)) });
    store.record_request(RequestRecord { key: Some(ClientKeyId::from("another")), ..spent(4, Some(9.0)) });
    store.record_request(spent(5, Some(9.0)));
    let found = store.key_usage(&ClientKeyId::from("key-1"), at(1), at(5)).await.unwrap();
    let nobody = KeyUsage { provider: None, model: None, cost: 0.5, tokens: 10, unpriced: 0 };
    let served =
        KeyUsage { provider: Some("anthropic".into()), model: some("claude-x-1"), cost: 0.25, tokens: 20, unpriced: 1 };
    assert_eq!(found, [nobody, served]);
    running.stop().await;
}

#[tokio::test]
async fn a_request_of_several_calls_is_one_request_and_consumes_of_each_by_its_own() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    let usage = |input, output| Usage { input_fresh: Some(input), output: Some(output), ..Usage::default() };
    let mut several = request(1);
    let judge = several.trace.attempts[0].clone();
    let member = AttemptRecord {
        n: 1,
        provider: "openai".into(),
        model: "m1".to_owned(),
        connection: "openai-home".into(),
        connection_name: "home".to_owned(),
        usage: Some(usage(100, 10)),
        cost: None,
        ..judge.clone()
    };
    let silent = AttemptRecord { n: 2, usage: None, ..judge.clone() };
    let judge = AttemptRecord { n: 3, usage: Some(usage(300, 30)), cost: Some(0.75), ..judge };
    several.trace.attempts = vec![member, silent, judge];
    (several.usage, several.cost) = (usage(400, 40), None);
    // Written twice, it is counted once.
    for record in
        [several.clone(), several.clone(), RequestRecord { usage: usage(5, 5), cost: Some(0.25), ..request(2) }]
    {
        store.record_request(record);
    }
    let summary = store.usage_summary(GroupBy::Connection, at(0), at(10)).await.unwrap();
    let told: Vec<_> = summary
        .groups
        .iter()
        .map(|group| {
            let UsageTotals { requests, successes, input_fresh, output, cost, .. } = group.totals;
            (group.group.as_deref(), group.name.as_deref(), requests, successes, input_fresh, output, cost)
        })
        .collect();
    let expected = [
        (Some("anthropic-work"), Some("work"), 2, 2, 305, 35, 1.0),
        (Some("openai-home"), Some("home"), 0, 0, 100, 10, 0.0),
    ];
    assert_eq!(told, expected);
    assert_eq!((summary.totals.requests, summary.totals.input_fresh), (2, 405));
    let found = store.key_usage(&ClientKeyId::from("key-1"), at(0), at(10)).await.unwrap();
    let of = |provider: &str, model: &str, cost, tokens, unpriced| KeyUsage {
        provider: Some(provider.into()),
        model: some(model),
        cost,
        tokens,
        unpriced,
    };
    assert_eq!(found, [of("anthropic", "claude-x-1", 1.0, 340, 0), of("openai", "m1", 0.0, 110, 1)]);
    assert_eq!(store.finished_requests(at(0), 10).await.unwrap().len(), 2);
    assert_eq!(store.get_request(&several.id).await.unwrap(), Some(several));
    running.stop().await;
}

#[tokio::test]
async fn hostile_counts_do_not_break_the_sum() {
    let world = World::new();
    let running = world.open().await;
    for n in 0..3 {
        let usage = Usage { output: Some(u64::MAX), ..Usage::default() };
        running.store.record_request(RequestRecord { usage, ..request(n) });
    }
    let summary = running.store.usage_summary(GroupBy::Provider, at(0), at(10)).await.unwrap();
    assert_eq!(summary.totals.output, 3_000_000_000_000);
    running.stop().await;
}

#[tokio::test]
async fn usage_outlives_the_log_and_is_deleted_by_itself() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    for n in 0..10 {
        store.record_request(request(n));
    }
    store.delete_all_requests().await.unwrap();
    assert_eq!(groups(store, GroupBy::Provider).await, [(some("anthropic"), None, 10)]);
    assert_eq!(store.delete_usage_before(at(4)).await.unwrap(), 4);
    assert_eq!(groups(store, GroupBy::Provider).await, [(some("anthropic"), None, 6)]);
    assert_eq!(store.delete_usage_before(Timestamp::MAX).await.unwrap(), 6);
    assert!(groups(store, GroupBy::Provider).await.is_empty());
    running.stop().await;
}

#[tokio::test]
async fn what_is_over_is_told_in_short_the_newest_first() {
    let world = World::new();
    let running = world.open().await;
    for n in 0..4 {
        running.store.record_request(RequestRecord { combo_name: None, ..request(n) });
    }
    running.store.record_request(RequestRecord {
        outcome: RequestOutcome::Failure,
        combo_name: Some("team".to_owned()),
        ..request(9)
    });
    let told = running.store.finished_requests(at(2), 2).await.unwrap();
    let (last, whole) = (request(9), request(3));
    assert_eq!(told.iter().map(|request| request.at).collect::<Vec<_>>(), [last.at, whole.at]);
    assert_eq!(
        told.iter().map(|request| request.outcome).collect::<Vec<_>>(),
        [RequestOutcome::Failure, whole.outcome]
    );
    assert_eq!((told[1].took, told[1].first_token), (whole.duration, whole.time_to_first_token));
    assert_eq!(groups(&running.store, GroupBy::Combo).await, [(None, None, 4), (some("team"), None, 1)]);
    running.stop().await;
}
