//! One queue by itself: when the way is free.

use std::num::{NonZeroU32, NonZeroU64};

use domain::{Limits, ProviderClass, RateLimitOverrides};
use proptest::prelude::*;

use super::learned::Allowance;
use super::*;
use crate::quota_preflight::ProviderQuota;

const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn key() -> QueueKey {
    QueueKey { connection: "c1".into(), model: None }
}

fn owner(overrides: RateLimitOverrides) -> Owner {
    owner_of(Limits { overrides, ..Limits::default() })
}

fn owner_of(limits: Limits) -> Owner {
    Owner { provider: "ak".into(), class: ProviderClass::Apikey, limits }
}

fn switched_on() -> Settings {
    let mut settings = Settings::default();
    settings.request_queue.auto_enable_api_key_providers = true;
    settings
}

struct World {
    queues: RequestQueues,
    owner: Owner,
    settings: Settings,
    now: Timestamp,
}

impl World {
    fn new(owner: Owner, settings: Settings) -> World {
        World { queues: RequestQueues::default(), owner, settings, now: START }
    }

    fn starts(&mut self, permit: u64) {
        let until = self.now + Millis::seconds(600);
        self.queues.start(&key(), &self.owner, permit, until, self.now);
    }

    /// Time until the next may go; none, wedged.
    fn wait(&self) -> Option<Millis> {
        match self.queues.check(&key(), &self.settings, self.now) {
            Verdict::Open => Some(Millis::ZERO),
            Verdict::Closed { until } => Some(until.since(self.now)),
            Verdict::Wedged => None,
        }
    }
}

#[test]
fn nobody_has_a_queue_who_did_not_ask_for_one() {
    // RQ-00
    let one = NonZeroU32::MIN;
    let overridden = |overrides| owner(overrides);
    let cases = [
        (owner_of(Limits::default()), false),
        (owner_of(Limits { max_concurrent: Some(1), ..Limits::default() }), false),
        (overridden(RateLimitOverrides { max_concurrent: Some(one), ..RateLimitOverrides::default() }), false),
        (owner_of(Limits { rate_limit_protection: true, ..Limits::default() }), true),
        (owner_of(Limits { spacing_floor: Millis::minutes(5), ..Limits::default() }), true),
        (overridden(RateLimitOverrides { rpm: Some(one), ..RateLimitOverrides::default() }), true),
        (overridden(RateLimitOverrides { tpd: Some(NonZeroU64::MIN), ..RateLimitOverrides::default() }), true),
        (overridden(RateLimitOverrides { max_wait: Some(Millis::seconds(1)), ..RateLimitOverrides::default() }), true),
    ];
    for (owner, expected) in cases {
        assert_eq!(Terms::of(&owner, &Settings::default(), false).is_some(), expected, "{owner:?}");
    }
    let mut oauth = owner_of(Limits::default());
    assert!(Terms::of(&oauth, &switched_on(), false).is_some());
    oauth.class = ProviderClass::Oauth;
    assert_eq!(Terms::of(&oauth, &switched_on(), false), None);
}

#[test]
fn the_owner_comes_before_the_operator_before_the_settings() {
    // RQ-05, RQ-12
    let mut settings = switched_on();
    settings.request_queue.max_wait = Millis::seconds(7);
    let rpm = NonZeroU32::new(5);
    let quota = ProviderQuota { rpm: NonZeroU32::new(20), concurrency: NonZeroU32::new(2), provider_concurrency: None };
    let terms = |owner: &Owner, settings: &Settings| Terms::of(owner, settings, false).expect("it is switched on");
    let wishes = RateLimitOverrides { rpm, max_wait: Some(Millis::seconds(9)), ..RateLimitOverrides::default() };

    let plain = terms(&owner_of(Limits::default()), &settings);
    assert_eq!((plain.per_minute, plain.max_wait, plain.concurrency), (Some(60), Millis::seconds(7), Some(6)));
    settings.provider_quota_overrides.insert("ak".to_owned(), quota);
    let operator = terms(&owner_of(Limits::default()), &settings);
    assert_eq!((operator.per_minute, operator.concurrency), (Some(20), Some(2)));
    let owned = terms(&owner(wishes), &settings);
    assert_eq!((owned.per_minute, owned.max_wait), (Some(5), Millis::seconds(9)));
    assert_eq!(owned.execution_max_wait, plain.execution_max_wait);
}

#[test]
fn an_override_alone_brings_no_number_that_nobody_chose() {
    let wishes = RateLimitOverrides { max_wait: Some(Millis::seconds(9)), ..RateLimitOverrides::default() };
    let terms = Terms::of(&owner(wishes), &Settings::default(), false).expect("its owner asks for it");
    assert_eq!((terms.per_minute, terms.spacing, terms.concurrency), (None, Millis::ZERO, None));
}

#[test]
fn requests_are_spaced_and_counted_over_any_minute() {
    // RQ-18
    let mut settings = switched_on();
    settings.request_queue.requests_per_minute = 3;
    let mut world = World::new(owner_of(Limits::default()), settings);
    for permit in 0..3 {
        assert_eq!(world.wait(), Some(Millis::ZERO));
        world.starts(permit);
        assert_eq!(world.wait(), Some(Millis::new(if permit < 2 { 350 } else { 60_000 - 700 })));
        world.now = world.now + Millis::new(350);
    }
}

#[test]
fn a_floor_of_the_catalogue_holds_whatever_the_owner_wishes() {
    let overrides = RateLimitOverrides { min_time: Some(Millis::seconds(1)), ..RateLimitOverrides::default() };
    let limits = Limits { overrides, spacing_floor: Millis::minutes(5), ..Limits::default() };
    let mut world = World::new(owner_of(limits), Settings::default());
    world.starts(1);
    assert_eq!(world.wait(), Some(Millis::minutes(5)));
}

#[test]
fn tokens_of_the_last_minute_and_day_hold_the_next_request_back() {
    let overrides = RateLimitOverrides {
        tpm: NonZeroU64::new(1_000),
        tpd: NonZeroU64::new(1_500),
        ..RateLimitOverrides::default()
    };
    let mut world = World::new(owner(overrides), Settings::default());
    world.starts(1);
    world.queues.finish(&key(), 1, 999, world.now);
    assert_eq!(world.wait(), Some(Millis::ZERO));
    world.starts(2);
    world.queues.finish(&key(), 2, 600, world.now);
    assert_eq!(world.wait(), Some(Millis::days(1)));
    world.queues.sweep(world.now + Millis::hours(23));
    assert_eq!(world.wait(), Some(Millis::days(1)), "what a day counts is not idle");
}

#[test]
fn what_an_upstream_announced_paces_alone_and_only_that_account() {
    // RQ-00
    let mut world = World::new(owner_of(Limits::default()), Settings::default());
    let requests = Some(Allowance { limit: Some(60), remaining: None, reset_at: None });
    world.queues.on_announced(&key(), &Announced { requests, ..Announced::default() }, START);
    assert!(world.queues.terms(&key(), &world.owner, &world.settings, START).is_some());
    world.starts(1);
    assert_eq!(world.wait(), Some(Millis::new(990)));
    let other = QueueKey { connection: "c2".into(), model: None };
    assert_eq!(world.queues.terms(&other, &world.owner, &world.settings, START), None);
    world.queues.unlearn(&"c1".into());
    assert_eq!(world.wait(), Some(Millis::ZERO));
}

#[test]
fn an_upstream_s_429_begins_our_own_count_anew() {
    let mut settings = switched_on();
    settings.request_queue.requests_per_minute = 1;
    settings.request_queue.min_time_between_requests = Millis::ZERO;
    let mut world = World::new(owner_of(Limits::default()), settings);
    world.starts(1);
    assert_eq!(world.wait(), Some(MINUTE));
    world.queues.on_limited(&key());
    assert_eq!(world.wait(), Some(Millis::ZERO));
}

#[test]
fn requests_that_never_come_back_wedge_the_queue_ten_seconds_after_their_limit() {
    // RQ-20
    let mut settings = switched_on();
    settings.request_queue.concurrent_requests = 1;
    settings.request_queue.min_time_between_requests = Millis::ZERO;
    let mut world = World::new(owner_of(Limits::default()), settings);
    world.starts(1);
    world.queues.wait(&key(), &world.owner, world.now);
    assert_eq!(world.wait(), Some(Millis::seconds(610)));
    world.now = START + Millis::seconds(610) - Millis::new(1);
    assert_eq!(world.wait(), Some(Millis::new(1)));
    world.now = START + Millis::seconds(610);
    assert_eq!(world.wait(), None);
    world.queues.rebuild(&key(), world.now);
    assert_eq!(world.wait(), Some(Millis::ZERO));
}

#[test]
fn a_queue_that_nobody_used_for_ten_minutes_is_dropped() {
    let mut world = World::new(owner_of(Limits::default()), switched_on());
    world.starts(1);
    world.queues.sweep(START + Millis::hours(1));
    assert_eq!(world.queues.queues.len(), 1, "something is under way");
    world.queues.finish(&key(), 1, 0, START + Millis::hours(1));
    for (minutes, kept) in [(9, 1), (10, 0)] {
        world.queues.sweep(START + Millis::hours(1) + Millis::minutes(minutes));
        assert_eq!(world.queues.queues.len(), kept, "{minutes}");
    }
}

#[test]
fn depth_is_a_pure_question() {
    // RQ-06, RQ-07, RQ-08
    for (waiting, depth, admitted) in [(500, 0, true), (2, 2, false), (1, 2, true), (0, 1, true)] {
        assert_eq!(admits(waiting, depth), admitted, "{waiting} of {depth}");
    }
}

#[test]
fn a_slow_start_of_the_response_extends_the_execution_limit() {
    // RQ-03, RQ-04
    let terms = Terms::of(&owner_of(Limits::default()), &switched_on(), false).expect("it is switched on");
    let terms = Terms { execution_max_wait: Millis::seconds(2), ..terms };
    for (start, expected) in [(2, 2), (1, 2), (600, 600)] {
        assert_eq!(execution_limit(&terms, Millis::seconds(start)), Millis::seconds(expected));
    }
}

proptest! {
    /// No minute ever holds more than the limit, and no two starts are closer than the spacing.
    #[test]
    fn the_pace_is_kept_at_every_instant(rpm in 1_u32..20, spacing in 0_u64..3_000, steps in prop::collection::vec(0_u64..5_000, 1..200)) {
        let mut settings = switched_on();
        settings.request_queue.requests_per_minute = rpm;
        settings.request_queue.min_time_between_requests = Millis::new(spacing);
        settings.request_queue.concurrent_requests = 10_000;
        let mut world = World::new(owner_of(Limits::default()), settings);
        let mut starts: Vec<Timestamp> = Vec::new();
        for (permit, step) in (0..).zip(steps) {
            world.now = world.now + Millis::new(step);
            if world.wait() == Some(Millis::ZERO) {
                starts.push(world.now);
                world.starts(permit);
            }
        }
        for pair in starts.windows(2) {
            prop_assert!(pair[1].since(pair[0]) >= Millis::new(spacing));
        }
        for pair in starts.windows(rpm as usize + 1) {
            prop_assert!(pair[rpm as usize].since(pair[0]) >= MINUTE);
        }
    }
}
