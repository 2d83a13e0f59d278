//! Quotas that are counted per outgoing address (resilience specification, 20; scenarios EG).
//!
//! Accounts that take the same way out share an address; proxies are further ways, played here by further fake upstreams: a
//! request in plain HTTP reaches its proxy in full.

use acceptance::{Connection, Reply, World};
use domain::Millis;
use domain::health::TestStatus;
use fake_upstream::{FakeUpstream, Step};
use http::{HeaderMap, Method};
use serde_json::json;

use crate::cast::{AK, ask, post, post_m1, start, uncooled};

const EXHAUSTED: &str = "monthly usage limit reached";

const FREE: &str = "opencode";

#[tokio::test]
async fn a_limit_cools_the_account_and_locks_no_model_and_touches_no_unknown_sibling() {
    // EG-01 and EG-02 (lengths), EG-04, EG-11, EG-13
    for (text, rest) in [("monthly usage limit reached", Millis::hours(1)), ("slow down", Millis::minutes(2))] {
        let world = start().await;
        let o4 = world.connect(FREE, "o4").await;
        let sibling = world.connect(FREE, "sibling").await;
        world.script(&o4).then(Step::error(429, text));
        let reply = post_m1(&world, FREE).await;
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(sibling.id.as_str()), "{}", reply.text());
        assert_eq!((world.cooling(&o4), world.locks(&o4)), (Some(rest), Vec::new()), "{text}");
        assert_eq!((world.status(&o4), world.status(&sibling)), (TestStatus::Unavailable, TestStatus::Active));
        assert_eq!(post(&world, &ask(FREE, "m2")).await.status, 200);
        assert_eq!(world.calls(&o4).len(), 1, "all its models are out");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn an_account_that_is_never_cooled_keeps_out_of_it() {
    // EG-08
    let world = start().await;
    let o1 = uncooled(&world, FREE, "o1").await;
    world.script(&o1).then(Step::error(429, "monthly usage limit reached"));
    post_m1(&world, FREE).await;
    assert_eq!(world.cooling(&o1), None);
    world.check_invariants().await;
}

#[tokio::test]
async fn other_statuses_and_other_providers_know_no_shared_address() {
    // EG-09, EG-15
    let world = start().await;
    for (provider, status) in [(FREE, 503), (FREE, 500), (AK, 429)] {
        let first = world.connect(provider, "first").await;
        let second = world.connect(provider, "second").await;
        world.script(&first).then(Step::error(status, "trouble"));
        post_m1(&world, provider).await;
        assert_eq!((world.cooling(&second), world.locks(&second)), (None, Vec::new()), "{provider} {status}");
        for account in [first, second] {
            world.delete(&account).await;
        }
    }
    world.check_invariants().await;
}

/// An account that leaves through this proxy.
async fn behind(world: &World, provider: &str, name: &str, proxy: &FakeUpstream) -> Connection {
    world.connect_with(provider, name, json!({ "proxyUrl": proxy.url() })).await
}

/// Sends one request through this account alone, so that it is known where it leaves.
async fn use_once(world: &World, provider: &'static str, account: &Connection, others: &[&Connection]) -> Reply {
    for other in others.iter().filter(|other| other.id != account.id) {
        world.change(other, json!({ "excludedModels": ["m1"] })).await;
    }
    let reply = post_m1(world, provider).await;
    for other in others {
        world.change(other, json!({ "excludedModels": [] })).await;
    }
    reply
}

/// `o1` and `o2` leave directly, `o3` through a proxy, and each was used once. The proxy must be kept.
async fn three_seen(world: &World) -> ([Connection; 3], FakeUpstream) {
    let proxy = FakeUpstream::start().expect("a proxy");
    let accounts =
        [world.connect(FREE, "o1").await, world.connect(FREE, "o2").await, behind(world, FREE, "o3", &proxy).await];
    for account in &accounts {
        assert_eq!(use_once(world, FREE, account, &accounts.each_ref()).await.status, 200, "{}", account.name);
    }
    (accounts, proxy)
}

/// The account's quota is used up from now on; one request finds out.
async fn exhaust(world: &World, account: &Connection, text: &str) -> Reply {
    world.script(account).then(Step::error(429, text));
    post_m1(world, FREE).await
}

#[tokio::test]
async fn one_refusal_speaks_for_all_that_leave_the_same_way() {
    // EG-01, EG-02, EG-03, EG-11, EG-13
    for (text, rest) in [(EXHAUSTED, Millis::hours(1)), ("slow down", Millis::minutes(2))] {
        let world = start().await;
        let ([o1, o2, o3], proxy) = three_seen(&world).await;
        let reply = exhaust(&world, &o1, text).await;
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(o3.id.as_str()), "{}", reply.text());
        assert_eq!((world.cooling(&o1), world.cooling(&o2), world.cooling(&o3)), (Some(rest), Some(rest), None));
        assert_eq!(world.calls(&o2).len(), 1, "the doomed call is saved: {text}");
        assert_eq!(proxy.calls(o3.credential.as_str()).len(), 2, "{text}");
        let sibling = world.connection(&o2).await;
        assert_eq!((&sibling["testStatus"], &sibling["errorCode"]), (&json!("unavailable"), &json!(429)), "{sibling}");
        assert_eq!(sibling["lastError"], "Shared egress IP quota exhausted (opencode)");
        assert!(world.locks(&o1).is_empty() && world.locks(&o2).is_empty(), "{text}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_combo_goes_on_where_another_address_is_left() {
    // EG-03, EG-12
    let mut world = start().await;
    let ([o1, o2, o3], _proxy) = three_seen(&world).await;
    let combo = json!({ "name": "free", "strategy": "priority", "models": ["opencode/m1", "opencode/m2"] });
    world.managed(Method::POST, "/api/combos", Some(combo)).await;
    world.script(&o1).then(Step::error(429, EXHAUSTED));
    let reply = world.agent().post("/v1/chat/completions", acceptance::chat_body("free", false)).await;
    assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(o3.id.as_str()), "{}", reply.text());
    assert_eq!((world.calls(&o1).len(), world.calls(&o2).len()), (2, 1));
    world.restart().await;
    let hour = Some(Millis::hours(1));
    assert_eq!((world.cooling(&o1), world.cooling(&o2)), (hour, hour), "it is in the database");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_sighting_is_believed_for_a_day_also_over_a_restart() {
    // EG-05
    for (away, shared) in [(Millis::minutes(23 * 60 + 54), true), (Millis::new(86_401_000), false)] {
        for crash in [false, true] {
            let mut world = start().await;
            let ([o1, o2, o3], _proxy) = three_seen(&world).await;
            if crash {
                world.crash().await;
            } else {
                world.restart().await;
            }
            world.advance(away);
            exhaust(&world, &o1, EXHAUSTED).await;
            assert!(world.cooling(&o1).is_some(), "{away} {crash}");
            assert_eq!(world.cooling(&o2).is_some(), shared, "{away} {crash}");
            assert_eq!(world.cooling(&o3), None, "{away} {crash}");
            world.check_invariants().await;
        }
    }
}

#[tokio::test]
async fn an_account_that_moved_away_is_no_sibling_any_more() {
    // EG-06
    let world = start().await;
    let ([o1, o2, o3], proxy) = three_seen(&world).await;
    world.change(&o2, json!({ "proxyUrl": proxy.url() })).await;
    use_once(&world, FREE, &o2, &[&o1, &o2, &o3]).await;
    exhaust(&world, &o1, EXHAUSTED).await;
    assert_eq!((world.cooling(&o2), world.cooling(&o3)), (None, None));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_sibling_in_a_worse_state_stays_in_it_and_one_that_is_never_cooled_is_not() {
    // EG-07, EG-08
    let world = start().await;
    let longer = world.connect(FREE, "longer").await;
    let shorter = world.connect(FREE, "shorter").await;
    let banned = world.connect(FREE, "banned").await;
    let spared = uncooled(&world, FREE, "spared").await;
    let all = [&longer, &shorter, &banned, &spared];
    let limited = |seconds: &str| Step::error(429, "slow down").with_header("retry-after", seconds);
    for (account, step) in [
        (&longer, limited("7200")),
        (&shorter, limited("60")),
        (&banned, Step::error(403, "your account has been suspended")),
        (&spared, Step::ok("fine")),
    ] {
        world.script(account).then(step);
        use_once(&world, FREE, account, &all).await;
    }
    assert_eq!(world.cooling(&shorter), Some(Millis::minutes(1)));
    let before = world.cooling(&longer);
    let last = world.connect(FREE, "last").await;
    let everybody = [&longer, &shorter, &banned, &spared, &last];
    world.script(&last).then(Step::error(429, "slow down"));
    use_once(&world, FREE, &last, &everybody).await;
    assert_eq!(world.status(&banned), TestStatus::Banned);
    assert_eq!(world.connection(&banned).await["lastError"], "your account has been suspended");
    assert_eq!((world.cooling(&longer), before), (before, Some(Millis::hours(2))));
    assert_eq!(world.cooling(&shorter), Some(Millis::minutes(2)), "the shorter rest is made longer");
    assert_eq!(world.cooling(&spared), None);
    world.check_invariants().await;
}

#[tokio::test]
async fn sister_providers_share_and_strangers_behind_the_same_address_do_not() {
    // EG-09, EG-10
    let world = start().await;
    let o1 = world.connect(FREE, "o1").await;
    let sister = world.connect("opencode-go", "sister").await;
    let stranger = world.connect(AK, "stranger").await;
    for provider in ["opencode-go", AK, FREE] {
        assert_eq!(post_m1(&world, provider).await.status, 200, "{provider}");
    }
    exhaust(&world, &o1, EXHAUSTED).await;
    assert_eq!(world.cooling(&sister), Some(Millis::hours(1)));
    assert_eq!((world.cooling(&stranger), world.locks(&stranger)), (None, Vec::new()));
    world.check_invariants().await;
}

/// A proxy behind which the service sees this address.
fn seen_as(address: &str) -> FakeUpstream {
    let proxy = FakeUpstream::start().expect("a proxy");
    proxy.script(None, "/ip").then(Step::raw(200, HeaderMap::new(), address.to_owned()));
    proxy
}

#[tokio::test]
async fn a_service_outside_can_say_which_ways_share_an_address() {
    // EG-16: its word is live.
    let world = start().await;
    world.set(json!({ "network": { "egressCheckUrl": "http://127.0.0.1:9/ip" } })).await;
    let (one, two, other) = (seen_as("203.0.113.1"), seen_as("203.0.113.1"), seen_as("{\"ip\":\"203.0.113.2\"}"));
    let o1 = behind(&world, FREE, "o1", &one).await;
    let o2 = behind(&world, FREE, "o2", &two).await;
    let o3 = behind(&world, FREE, "o3", &other).await;
    let all = [&o1, &o2, &o3];
    // The first request of a way asks, the second is noted at the latest.
    for (account, proxy) in all.iter().zip([&one, &two, &other]) {
        use_once(&world, FREE, account, &all).await;
        proxy.wait_for_endings(None, 2).await.expect("the request and the question");
    }
    for _ in 0..2 {
        for account in all {
            use_once(&world, FREE, account, &all).await;
        }
    }
    let questions = |proxy: &FakeUpstream| proxy.calls(None).iter().filter(|call| call.path == "/ip").count();
    assert_eq!([&one, &two, &other].map(questions), [1, 1, 1], "each way is asked once");
    let carried = one.calls(None).into_iter().find(|call| call.path == "/ip").expect("the question");
    assert!(carried.key.is_none() && !carried.headers.contains_key("authorization"), "{carried:?}");

    one.script(o1.credential.as_str(), None).then(Step::error(429, EXHAUSTED));
    post_m1(&world, FREE).await;
    let hour = Some(Millis::hours(1));
    assert_eq!((world.cooling(&o1), world.cooling(&o2), world.cooling(&o3)), (hour, hour, None));

    // The second proxy changes its address; five minutes later that is known, and it no longer shares.
    for account in all {
        world.reset(account).await;
    }
    two.script(None, "/ip").then(Step::raw(200, HeaderMap::new(), "203.0.113.3"));
    world.advance(Millis::minutes(5));
    let before = two.count(None).arrived;
    use_once(&world, FREE, &o2, &all).await;
    two.wait_for_endings(None, before + 2).await.expect("the request and the question");
    use_once(&world, FREE, &o2, &all).await;
    post_m1(&world, FREE).await;
    assert_eq!((world.cooling(&o1), world.cooling(&o2)), (hour, None));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_service_that_says_nothing_leaves_the_ways_themselves() {
    let world = start().await;
    world.set(json!({ "network": { "egressCheckUrl": world.upstream.url() } })).await;
    let o1 = world.connect(FREE, "o1").await;
    let o2 = world.connect(FREE, "o2").await;
    let all = [&o1, &o2];
    use_once(&world, FREE, &o1, &all).await;
    world.upstream.wait_for_endings(None, 2).await.expect("the request and the question");
    // Nobody can be told when the gateway has read an answer; that it then knows one is seen in what it does.
    for _ in 0..20 {
        for account in all {
            use_once(&world, FREE, account, &all).await;
        }
    }
    exhaust(&world, &o1, EXHAUSTED).await;
    assert_eq!((world.cooling(&o1), world.cooling(&o2)), (Some(Millis::hours(1)), Some(Millis::hours(1))));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_service_is_named_by_a_web_address() {
    let world = start().await;
    for bad in ["ftp://x", "not a url", "https://"] {
        let tree = json!({ "network": { "egressCheckUrl": bad } });
        let reply = world.manage(Method::PATCH, "/api/settings", Some(tree)).await;
        assert_eq!(reply.status, 400, "{bad}: {}", reply.text());
        assert!(reply.text().contains("egressCheckUrl"), "{bad}: {}", reply.text());
    }
    world.check_invariants().await;
}
