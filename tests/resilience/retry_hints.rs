//! What upstreams say about when to come back (resilience specification, 5; scenarios RH).

use acceptance::World;
use domain::Millis;
use fake_upstream::Step;
use http::HeaderMap;
use serde_json::json;

use crate::cast::{AK, MS, post_m1, start};

/// What no hint leaves: the first step of the ladder.
const BASE: u64 = 3_000;

/// An instant from now on as ISO text without a zone.
fn iso(world: &World, seconds: u64) -> String {
    let text = control::view::Instant::from(world.now() + Millis::seconds(seconds)).to_string();
    text.trim_end_matches('Z').to_owned()
}

/// An instant from now on as an HTTP date; negative: in the past.
fn http_date(world: &World, seconds: i64) -> String {
    let now = i64::try_from(world.now().as_millis() / 1_000).expect("a year we know");
    let at = u64::try_from(now + seconds).expect("after 1970");
    let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let day = days[usize::try_from(at / 86_400 % 7).expect("a day")];
    let text = control::view::Instant::from(domain::Timestamp::from_millis(at * 1_000)).to_string();
    let month = months[text[5..7].parse::<usize>().expect("a month") - 1];
    format!("{day}, {} {month} {} {} GMT", &text[8..10], &text[0..4], &text[11..19])
}

fn header(name: &'static str, value: impl AsRef<str>) -> Step {
    Step::error(429, "slow down").with_header(name, value.as_ref())
}

fn text(message: impl Into<String>) -> Step {
    Step::error(429, message)
}

fn info(delay: &str, message: &str) -> Step {
    let detail = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay });
    Step::status(429, json!({ "error": { "code": 429, "message": message, "details": [detail] } }).to_string())
}

fn body(body: &serde_json::Value) -> Step {
    Step::status(429, body.to_string())
}

#[tokio::test]
async fn every_form_of_a_hint_is_read_and_every_nonsense_is_no_hint() {
    // RH-01 to RH-26 but for RH-22, RH-28 and RH-32, each from its own reply, with the clock where it is.
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.resilience(json!({ "providerBreaker": { "apikey": { "failureThreshold": 1_000 } } })).await;
    let epoch = world.now().as_millis() / 1_000;
    let (short, shorter) = (iso(&world, 120), iso(&world, 20));
    // 14:13:20 UTC + 2 min, told by a clock two hours ahead of it.
    let ahead = iso(&world, 120 + 7_200);
    let rows = [
        ("RH-01", header("retry-after", "0"), BASE),
        ("RH-02", header("retry-after", "42"), 42_000),
        ("RH-03", header("retry-after", http_date(&world, 90)), 90_000),
        ("RH-04", header("retry-after", http_date(&world, -90)), BASE),
        ("RH-05", header("retry-after", "5m"), 300_000),
        ("RH-06", header("x-ratelimit-reset", (epoch + 60).to_string()), 60_000),
        ("RH-07", header("x-ratelimit-reset", ((epoch + 60) * 1_000).to_string()), 60_000),
        ("RH-08", header("x-ratelimit-reset", "30"), 30_000),
        ("RH-09", header("x-ratelimit-reset-requests", "1m30s"), 90_000),
        ("RH-10", header("x-ratelimit-reset-tokens", "500ms"), 500),
        ("RH-11", info("26.66s", "slow down"), 26_660),
        ("RH-12", info("1500ms", "slow down"), 1_500),
        ("RH-13 minutes", info("2m", "slow down"), 120_000),
        ("RH-13 hours", info("1h", "slow down"), 3_600_000),
        ("RH-13 bare", info("45", "slow down"), 45_000),
        ("RH-14", body(&json!({ "error": { "message": "slow down" }, "retry_after_ms": 2_500 })), 2_500),
        ("RH-15", body(&json!({ "error": { "message": "slow down", "retryAfter": format!("{shorter}Z") } })), 20_000),
        ("RH-16", text("Please retry in 14.27s"), 14_270),
        ("RH-17", text(format!("Your limit resets at {short}Z.")), 120_000),
        ("RH-18", text(format!("Your limit resets at {short}")), 120_000),
        ("RH-19", text(format!("Your limit resets at {ahead}+02:00")), 120_000),
        ("RH-20", text("Limit hit, reset after 2h30m15s"), 9_015_000),
        ("RH-21", text("Limit hit, it resets in 3 days"), 259_200_000),
        ("RH-23", text("Too fast: retry after 30 seconds"), 30_000),
        ("RH-24", text("Please try again in 1m2.5s"), 62_500),
        ("RH-25", Step::error(429, "retry after 60 seconds").with_header("retry-after", "10"), 10_000),
        ("RH-26", info("20s", "retry after 60 seconds"), 20_000),
        ("RH-28 negative", header("retry-after", "-5"), BASE),
        ("RH-28 no number", header("retry-after", "NaN"), BASE),
        ("RH-28 empty", header("retry-after", ""), BASE),
        ("RH-28 soon", header("retry-after", "soon"), BASE),
        ("RH-32 ms", text("Please try again in 1ms"), 1),
        ("RH-32 m", text("Please try again in 1m"), 60_000),
    ];
    for (id, step, expected) in rows {
        world.script(&c1).then(step);
        post_m1(&world, AK).await;
        assert_eq!(world.cooling(&c1), Some(Millis::new(expected)), "{id}");
        world.reset(&c1).await;
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_date_without_a_year_is_the_next_one() {
    // RH-22: with thirty days as the most that is believed.
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let new_year = control::view::Instant::parse("2027-01-01T00:00:00Z").expect("an instant").timestamp();
    let step = || text("Your limit will reset at 12-31 23:00 UTC");
    world.set(json!({ "logging": { "retentionDays": 3_650 } })).await;
    world.advance(new_year.since(world.now()).min(Millis::days(400)));
    world.script(&c1).then(step());
    post_m1(&world, AK).await;
    assert_eq!(world.cooling(&c1), Some(Millis::days(30)), "1 January: the end of the same year");
    world.reset(&c1).await;
    world.advance(Millis::days(363));
    world.advance(Millis::hours(22));
    post_m1(&world, AK).await;
    assert_eq!(world.cooling(&c1), Some(Millis::hours(25)), "30 December, 22:00");
    world.reset(&c1).await;
    world.advance(Millis::hours(25) + Millis::minutes(30));
    post_m1(&world, AK).await;
    assert_eq!(world.cooling(&c1), Some(Millis::days(30)), "31 December, 23:30: next year");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_header_may_exceed_the_longest_lock_and_prose_may_not() {
    // RH-29, RH-30
    for (step, expected) in
        [(header("retry-after", "7200"), Millis::hours(2)), (text("Limit hit, reset after 2h"), Millis::minutes(30))]
    {
        let world = start().await;
        let node = world.node(MS, "apikey").await;
        let c1 = world.connect(&node, "c1").await;
        world.script(&c1).then(step);
        post_m1(&world, MS).await;
        assert_eq!(world.locked(&c1), [("m1".to_owned(), expected)]);
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_mebibyte_of_digits_holds_no_answer_up() {
    // RH-31: the whole request, within what any answer may take here; the limit itself is the parser's own test.
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    for part in ["reset in 9", "99999999999999999999 ", "resets at 2026-", "try again in 1h1h1h", "1m2.5"] {
        let text = part.repeat((1 << 20) / part.len());
        world.script(&c1).then(Step::raw(429, HeaderMap::new(), text));
        let reply = post_m1(&world, AK).await;
        assert_eq!(reply.status, 429, "{part:?}");
        assert!(world.cooling(&c1).is_some_and(|left| left <= Millis::days(30)), "{part:?}");
        world.reset(&c1).await;
    }
    world.check_invariants().await;
}
