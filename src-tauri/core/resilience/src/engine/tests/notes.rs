//! What replies and refusals taught: quotas and tool limits.

use domain::Quota;
use domain::quota::Window;

use super::line::candidate;
use super::*;

#[test]
fn an_account_whose_quota_runs_out_is_left_out_where_that_is_wanted() {
    let mut world = World::new();
    let reset_at = Some(START + Millis::hours(1));
    let windows = [("session".to_owned(), Window::new(0.99, reset_at))].into();
    world.engine.note_quota(&"c1".into(), Quota { windows, fetched_at: START, ..Quota::default() });
    assert_eq!(world.excluded("c1", "m1"), None, "off by default");
    world.settings.quota_preflight.enabled = true;
    assert_eq!(world.excluded("c1", "m1"), Some((Mechanism::QuotaCutoff, Some(Millis::hours(1)))));
    assert_eq!(world.excluded("c2", "m1"), None);
    let (candidate, limits) = (candidate("c1", "m1"), Limits::default());
    let soft = Admission { quota_cutoff: false, ..Admission::new(&candidate, &limits, Caller::Combo) };
    assert_eq!(world.engine.availability(&soft, &world.settings, START), Availability::Available);
    world.passes(Millis::hours(1));
    assert_eq!(world.excluded("c1", "m1"), None);
}

#[test]
fn a_reply_s_headers_update_what_is_known_of_the_account() {
    let mut world = World::new();
    let permit = world.enters("c1", "m1").expect("it is available");
    let mut headers = http::HeaderMap::new();
    headers.insert("anthropic-ratelimit-unified-5h-utilization", http::HeaderValue::from_static("0.5"));
    world.engine.observe(&permit, &headers, &world.settings, world.now);
    let used = |world: &World| world.engine.quota(&"c1".into()).and_then(|quota| quota.percent_used("m1", world.now));
    assert_eq!(used(&world), Some(0.5));
    world.engine.observe(&permit, &http::HeaderMap::new(), &world.settings, world.now);
    assert_eq!(used(&world), Some(0.5), "silence changes nothing");
    world.engine.forget(&"c1".into());
    assert_eq!(world.engine.quota(&"c1".into()), None);
}

#[test]
fn only_what_a_person_would_see_of_a_quota_is_told_and_stored_and_it_outlives_a_restart() {
    let mut world = World::new();
    let quota = |used: f64, at| {
        let windows = [("session".to_owned(), Window::new(used, Some(START + Millis::hours(1))))].into();
        Quota { windows, fetched_at: at, ..Quota::default() }
    };
    for (used, news) in [(0.5, true), (0.501, false), (0.51, true), (0.51, false)] {
        world.passes(Millis::seconds(1));
        let effects = world.engine.note_quota(&"c1".into(), quota(used, world.now));
        assert_eq!((effects.rows.len(), effects.events.len()), (usize::from(news), usize::from(news)), "{used}");
        world.stores(effects);
    }
    world.restarts();
    let used = |world: &World| world.engine.quota(&"c1".into()).and_then(|quota| quota.percent_used("m1", world.now));
    assert_eq!(used(&world), Some(0.51));
    world.engine.forget_quota(&"c1".into());
    assert_eq!(used(&world), None);
}

#[test]
fn a_request_with_more_tools_than_a_provider_takes_goes_elsewhere() {
    // OF-02
    let mut world = World::new();
    let (candidate, limits) = (candidate("c1", "m1"), Limits::default());
    let ask = |world: &World, tools| {
        let ask = Admission { tools, ..Admission::new(&candidate, &limits, Caller::Combo) };
        match world.engine.availability(&ask, &world.settings, world.now) {
            Availability::Available => None,
            Availability::Excluded(exclusion) => Some((exclusion.mechanism, exclusion.until)),
        }
    };
    assert_eq!(ask(&world, 200), None);
    let limit = crate::tool_limit::read(400, "maximum number of tools is 64").expect("it names one");
    assert!(world.engine.note_tool_limit(&"ak".into(), limit, START));
    assert_eq!(ask(&world, 65), Some((Mechanism::ToolLimit, None)));
    assert_eq!(ask(&world, 64), None);
    assert_eq!(world.engine.tool_limit(&"ak".into(), None, START), Some(64));
    world.passes(Millis::hours(24));
    assert_eq!(ask(&world, 65), None);
}

#[test]
fn a_learned_pace_outlives_a_restart() {
    let mut world = World::new();
    let permit = world.enters("c1", "m1").expect("it is available");
    let mut headers = http::HeaderMap::new();
    headers.insert("x-ratelimit-limit-requests", http::HeaderValue::from_static("60"));
    world.engine.observe(&permit, &headers, &world.settings, world.now);
    let stored = world.engine.learned_limits(world.now);
    assert_eq!(stored.len(), 1);
    let mut again = Engine::default();
    again.restore_learned(stored.clone(), world.now + Millis::hours(23));
    assert_eq!(again.learned_limits(world.now + Millis::hours(23)), stored);
    again.restore_learned(stored, world.now + Millis::hours(24));
    assert_eq!(again.learned_limits(world.now + Millis::hours(24)), Vec::new());
}
