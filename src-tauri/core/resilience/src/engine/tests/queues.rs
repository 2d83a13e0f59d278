//! Request queues at the Engine: both clocks, depth, pace, what is lost.

use super::line::Line;
use super::*;
use crate::refusal::LocalLimit;

#[test]
fn nothing_waits_on_a_fresh_installation() {
    // RQ-00
    let mut line = Line::new(Limits::default());
    for _ in 0..20 {
        line.enters("a");
    }
    assert_eq!((line.went.len(), line.waiting(), line.refused.len()), (20, 0, 0));
    assert_eq!(line.running["a"].execution_limit(), None);
}

#[test]
fn an_announced_limit_paces_that_account_alone() {
    // RQ-00
    let mut line = Line::new(Limits::default());
    line.enters("a");
    let mut headers = http::HeaderMap::new();
    headers.insert("x-ratelimit-limit-requests", http::HeaderValue::from_static("60"));
    line.engine.observe(&line.running["a"], &headers, &line.settings, line.now);
    ["b", "c"].iter().for_each(|name| line.enters(name));
    line.enters_at("other", "c2", "m1");
    assert_eq!(line.went, ["a", "b", "other"]);
    line.passes(Millis::new(989));
    assert_eq!(line.waiting(), 1);
    line.passes(Millis::new(1));
    assert_eq!(line.went, ["a", "b", "other", "c"]);
}

#[test]
fn the_queue_budget_ends_a_wait_and_the_upstream_is_never_asked() {
    // RQ-01, RQ-15
    let mut line = Line::queued(1, 0);
    line.settings.request_queue.max_wait = seconds(1);
    ["a", "b"].iter().for_each(|name| line.enters(name));
    line.passes(Millis::new(999));
    assert_eq!(line.waiting(), 1);
    line.passes(Millis::new(1));
    assert_eq!(line.limit("b"), Some(LocalLimit::QueueTimeout));
    line.ends("a");
    assert_eq!(line.went, ["a"]);
    assert_eq!(line.engine.connection(&"c1".into(), &line.settings, line.now).status, TestStatus::Active);
}

#[test]
fn the_budget_stops_at_dispatch_and_the_execution_limit_begins_there() {
    // RQ-02, RQ-03, RQ-05
    let mut line = Line::queued(1, 0);
    line.settings.request_queue.max_wait = seconds(1);
    line.settings.request_queue.execution_max_wait = seconds(2);
    ["a", "b"].iter().for_each(|name| line.enters(name));
    line.passes(Millis::new(900));
    line.ends("a");
    line.passes(seconds(5));
    assert_eq!(line.running["b"].execution_limit(), Some(seconds(2)));
    line.ends("b");
    assert!(line.refused.is_empty());
}

#[test]
fn a_place_that_becomes_free_at_the_very_end_of_the_budget_is_taken() {
    let mut line = Line::queued(6, 1_000);
    line.settings.request_queue.max_wait = seconds(1);
    ["a", "b", "c"].iter().for_each(|name| line.enters(name));
    line.passes(seconds(1));
    assert_eq!(line.went, ["a", "b"]);
    assert_eq!(line.code("c"), Some("RATE_LIMIT_QUEUE_TIMEOUT"));
}

#[test]
fn a_timer_that_comes_late_lets_nobody_go_whose_budget_is_over() {
    let mut line = Line::queued(6, 1_000);
    line.settings.request_queue.max_wait = Millis::new(1_500);
    ["a", "b", "c"].iter().for_each(|name| line.enters(name));
    line.now = line.now + Millis::hours(1);
    line.ticks();
    assert_eq!((line.went.as_slice(), line.refused.len()), (&["a"][..], 2));
}

#[test]
fn a_queue_that_holds_as_many_as_it_may_refuses_at_once_and_only_there() {
    // RQ-07, RQ-08, RQ-09, RQ-11
    let mut line = Line::queued(1, 0);
    line.settings.request_queue.max_queue_depth = 2;
    ["a", "b", "c", "d"].iter().for_each(|name| line.enters(name));
    assert_eq!((line.code("d"), line.waiting()), (Some("RATE_LIMIT_QUEUE_FULL"), 2));
    line.enters_at("other", "c2", "m1");
    assert_eq!(line.went, ["a", "other"]);
    line.ends("a");
    line.enters("e");
    assert_eq!((line.went.as_slice(), line.waiting()), (&["a", "other", "b"][..], 2));
}

#[test]
fn five_hundred_wait_where_depth_is_off() {
    // RQ-06
    let mut line = Line::queued(1, 0);
    line.patience.depth = None;
    for _ in 0..501 {
        line.enters("a");
    }
    assert_eq!(line.waiting(), 500);
}

#[test]
fn requests_start_apart_and_one_after_the_other() {
    // RQ-18, RQ-19
    let mut line = Line::queued(6, 350);
    ["a", "b", "c", "d"].iter().for_each(|name| line.enters(name));
    for expected in 2..=4 {
        line.passes(Millis::new(349));
        assert_eq!(line.went.len(), expected - 1);
        line.passes(Millis::new(1));
        assert_eq!(line.went.len(), expected);
    }
    assert_eq!(line.went, ["a", "b", "c", "d"]);

    let mut line = Line::queued(1, 0);
    ["a", "b"].iter().for_each(|name| line.enters(name));
    line.passes(Millis::new(250));
    assert_eq!(line.went, ["a"]);
    line.ends("a");
    assert_eq!(line.went, ["a", "b"]);
}

#[test]
fn whoever_leaves_the_queue_frees_its_place() {
    // RQ-09, RQ-17
    let mut line = Line::queued(1, 0);
    line.settings.request_queue.max_queue_depth = 1;
    ["a", "b"].iter().for_each(|name| line.enters(name));
    line.aborts("b");
    line.enters("c");
    line.ends("a");
    assert_eq!(line.went, ["a", "c"]);
}

#[test]
fn a_lost_request_wedges_its_queue_which_then_begins_anew() {
    // RQ-20
    let mut line = Line::queued(1, 0);
    line.settings.request_queue.max_wait = Millis::hours(1);
    ["a", "b", "c"].iter().for_each(|name| line.enters(name));
    let lost = line.running.remove("a").expect("it is under way");
    line.passes(seconds(609));
    assert_eq!(line.waiting(), 2);
    line.passes(seconds(1));
    for name in ["b", "c"] {
        assert_eq!(line.code(name), Some("RATE_LIMIT_QUEUE_WEDGED"));
    }
    line.enters("d");
    assert_eq!(line.went, ["a", "d"]);
    let effects = line.engine.settle(lost, &Outcome::Neutral(Neutral::Abandoned), &line.settings, line.now);
    line.take(effects);
    line.enters("e");
    assert_eq!(line.waiting(), 1, "what comes back late gives back no place of others");
}

#[test]
fn a_changed_setting_reaches_those_who_wait() {
    let mut line = Line::queued(1, 0);
    ["a", "b", "c"].iter().for_each(|name| line.enters(name));
    line.settings.request_queue.concurrent_requests = 2;
    line.ticks();
    assert_eq!(line.went, ["a", "b"]);
    line.settings.request_queue.auto_enable_api_key_providers = false;
    line.ticks();
    assert_eq!(line.went, ["a", "b", "c"]);
}

#[test]
fn an_operator_who_clears_an_account_clears_its_learned_pace() {
    let mut line = Line::new(Limits::default());
    line.enters("a");
    let mut headers = http::HeaderMap::new();
    headers.insert("x-ratelimit-limit-requests", http::HeaderValue::from_static("1"));
    line.engine.observe(&line.running["a"], &headers, &line.settings, line.now);
    ["b", "c"].iter().for_each(|name| line.enters(name));
    assert_eq!(line.waiting(), 1);
    let scope = ResetScope::Connection("c1".into());
    let cleared = line.engine.reset(&scope, &line.settings, line.now);
    line.take(cleared.effects);
    assert_eq!(line.went, ["a", "b", "c"]);
}

#[test]
fn a_full_gate_behind_an_open_queue_is_waited_for_within_the_queue_s_budget() {
    let mut line = Line::queued(6, 0);
    line.limits.max_concurrent = Some(1);
    line.settings.request_queue.max_wait = seconds(40);
    ["a", "b"].iter().for_each(|name| line.enters(name));
    line.passes(seconds(39));
    assert_eq!(line.waiting(), 1);
    line.passes(seconds(1));
    assert_eq!(line.code("b"), Some("SEMAPHORE_TIMEOUT"));
}

#[test]
fn the_picture_shows_who_waits_and_runs_in_each_queue() {
    // RQ-21
    let mut line = Line::queued(1, 350);
    ["a", "b", "c"].iter().for_each(|name| line.enters(name));
    let snapshot = line.engine.snapshot(&line.settings, line.now);
    let [queue] = snapshot.queues.as_slice() else { panic!("one queue is in use") };
    assert_eq!((queue.queued, queue.running, queue.spacing), (2, 1, Millis::new(350)));
    assert_eq!(snapshot.waiting, 2);
}
