//! What follows a failure: the same target once more, the next one, the whole set again, and what is told at last (gateway
//! specification, 3.2, 3.8 and 3.9).

use acceptance::{Reply, beginning, chat_body};
use domain::{Dialect, Millis, Timestamp};
use fake_upstream::{Break, Step};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::team::{PROVIDERS, Team, models, who};

/// A team whose accounts never rest, and whose combo `team` has these numbers.
async fn tireless(config: Value) -> Team {
    let team = Team::start().await;
    for account in &team.accounts {
        team.world.change(account, json!({ "providerSpecificData": { "disableCooling": true } })).await;
    }
    team.combo("team", "priority", models(), config).await;
    team
}

/// An account fails so often, and is well after that.
fn fails_times(team: &Team, account: usize, times: usize) {
    let script = team.world.script(&team.accounts[account]);
    script.times(times, Step::error(500, "it does not work")).then(Step::ok(format!("from {account}")));
}

fn begin(team: &Team) -> JoinHandle<Reply> {
    let agent = team.world.agent();
    tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("team", false)).await })
}

/// Once so many calls of an account have ended, its request pauses for so long and not a millisecond less.
async fn pauses(team: &Team, account: usize, calls: u64, length: u64) {
    team.world.wait_for_endings(&team.accounts[account], calls).await;
    team.world.wait_for_attempts_to_end().await;
    team.world.advance(Millis::new(length - 1));
    // Whoever wakes too early has its chance to show it.
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    team.world.advance(Millis::new(1));
}

/// Whom the newest request asked, and how many milliseconds after the one before.
async fn story(team: &Team) -> Vec<(usize, u64)> {
    let told = team.world.last_request().await;
    let attempts = told["trace"]["attempts"].as_array().expect("attempts").clone();
    let mut before: Option<Timestamp> = None;
    let one = |attempt: &Value| {
        let text = attempt["startedAt"].as_str().expect("an instant");
        let at: jiff::Timestamp = text.parse().expect("an instant");
        let at = Timestamp::from_millis(u64::try_from(at.as_millisecond()).expect("after the epoch"));
        let passed = before.replace(at).map_or(0, |before| at.since(before).as_millis());
        (PROVIDERS.iter().position(|provider| attempt["provider"] == *provider).expect("one of the team"), passed)
    };
    attempts.iter().map(one).collect()
}

#[tokio::test]
async fn a_target_is_asked_again_as_often_as_the_combo_says_where_that_comes_before_the_next() {
    let config = json!({ "failoverBeforeRetry": false, "maxRetries": 2, "retryDelayMs": 700, "fallbackDelayMs": 300 });
    let team = tireless(config).await;
    fails_times(&team, 0, 2);
    let asking = begin(&team);
    pauses(&team, 0, 1, 700).await;
    pauses(&team, 0, 2, 700).await;
    assert_eq!(who(&asking.await.expect("a reply")), 0);
    assert_eq!(story(&team).await, [(0, 0), (0, 700), (0, 700)]);

    fails_times(&team, 0, 3);
    let asking = begin(&team);
    pauses(&team, 0, 4, 700).await;
    pauses(&team, 0, 5, 700).await;
    pauses(&team, 0, 6, 300).await;
    assert_eq!(who(&asking.await.expect("a reply")), 1);
    assert_eq!(story(&team).await, [(0, 0), (0, 700), (0, 700), (1, 300)]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn unless_the_combo_says_otherwise_only_the_last_target_is_asked_again() {
    for (said, expected) in [
        (json!({ "retryDelayMs": 100 }), &[(0, 0), (1, 0), (2, 0), (2, 100)][..]),
        (json!({ "retryDelayMs": 100, "failoverBeforeRetry": true }), &[(0, 0), (1, 0), (2, 0)]),
        (json!({ "retryDelayMs": 100, "maxRetries": 0 }), &[(0, 0), (1, 0), (2, 0)]),
    ] {
        let team = tireless(said.clone()).await;
        (0..3).for_each(|account| team.fails(account, 500));
        let asking = begin(&team);
        if expected.len() > 3 {
            pauses(&team, 2, 1, 100).await;
        }
        assert_eq!(asking.await.expect("a reply").status, 500, "{said}");
        assert_eq!(story(&team).await, expected, "{said}");
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn whoever_rests_after_a_failure_is_not_asked_again_however_often_the_combo_repeats() {
    let team = Team::start().await;
    let config = json!({ "failoverBeforeRetry": false, "maxRetries": 5 });
    team.combo("team", "priority", models(), config).await;
    team.fails(0, 500);
    assert_eq!(team.served("team", 1).await, [1]);
    assert_eq!(team.calls(), [1, 1, 0]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_limit_of_a_moment_is_repeated_after_that_moment_and_a_longer_one_is_not() {
    let team = tireless(json!({ "failoverBeforeRetry": false, "maxRetries": 1, "retryDelayMs": 100 })).await;
    let limited = |seconds: &str| Step::error(429, "slow down").with_header("retry-after", seconds);
    team.world.script(&team.accounts[0]).then(limited("5")).then(Step::ok("from 0"));
    let asking = begin(&team);
    pauses(&team, 0, 1, 5_000).await;
    assert_eq!(who(&asking.await.expect("a reply")), 0);
    assert_eq!(story(&team).await, [(0, 0), (0, 5_000)]);
    team.world.script(&team.accounts[0]).then(limited("6")).then(Step::ok("from 0"));
    assert_eq!(team.served("team", 1).await, [1]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn the_pause_before_the_next_target_is_five_seconds_at_most() {
    for (said, expected) in [(300, 300), (9_000, 5_000)] {
        let team = tireless(json!({ "maxRetries": 0, "fallbackDelayMs": said })).await;
        team.fails(0, 500);
        let asking = begin(&team);
        pauses(&team, 0, 1, expected).await;
        assert_eq!(who(&asking.await.expect("a reply")), 1);
        assert_eq!(story(&team).await, [(0, 0), (1, expected)]);
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn the_whole_set_is_tried_again_as_often_as_the_combo_says() {
    let team = tireless(json!({ "maxRetries": 0, "maxSetRetries": 2, "setRetryDelayMs": 4_000 })).await;
    fails_times(&team, 0, 2);
    team.fails(1, 500);
    team.fails(2, 500);
    let asking = begin(&team);
    pauses(&team, 2, 1, 4_000).await;
    pauses(&team, 2, 2, 4_000).await;
    assert_eq!(who(&asking.await.expect("a reply")), 0);
    let rounds = [(0, 0), (1, 0), (2, 0), (0, 4_000), (1, 0), (2, 0), (0, 4_000)];
    assert_eq!(story(&team).await, rounds);

    team.fails(0, 500);
    let asking = begin(&team);
    pauses(&team, 2, 3, 4_000).await;
    pauses(&team, 2, 4, 4_000).await;
    let reply = asking.await.expect("a reply");
    assert_eq!(reply.status, 500, "{}", reply.text());
    assert_eq!(story(&team).await.len(), 9);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_set_is_repeated_with_whoever_has_rested_enough_by_then() {
    let team = Team::start().await;
    let config = json!({ "maxRetries": 0, "maxSetRetries": 1, "setRetryDelayMs": 3_500 });
    team.combo("team", "priority", models(), config).await;
    let long = Step::error(429, "slow down").with_header("retry-after", "60");
    team.world.script(&team.accounts[0]).then(long);
    fails_times(&team, 1, 1);
    team.fails(2, 500);
    let asking = begin(&team);
    pauses(&team, 2, 1, 3_500).await;
    assert_eq!(who(&asking.await.expect("a reply")), 1);
    assert_eq!(story(&team).await, [(0, 0), (1, 0), (2, 0), (1, 3_500)]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn an_account_that_failed_is_not_asked_for_another_model_by_the_same_request() {
    let team = tireless(json!({})).await;
    let steps = json!(["openai/m1", "openai/m2", "deepseek/m1"]);
    team.combo("twice", "priority", steps, json!({ "maxRetries": 0 })).await;
    team.fails(0, 503);
    assert_eq!(team.served("twice", 2).await, [1, 1]);
    assert_eq!(team.calls(), [2, 2, 0]);
    team.world.check_invariants().await;
}

const TOO_LONG: &str = "This model's maximum context length is 128000 tokens, your messages resulted in 150000 tokens";

fn is_too_long(team: &Team, account: usize) {
    let refusal = Step::error(400, TOO_LONG).with_code("context_length_exceeded");
    team.world.script(&team.accounts[account]).then(refusal);
}

#[tokio::test]
async fn a_prompt_that_is_too_long_goes_to_another_model_and_not_to_the_same_one_again() {
    let team = Team::start().await;
    let second = team.world.connect("openai", "second").await;
    let pinned = |id: &str| json!({ "model": "openai/gpt-4o", "connectionId": id });
    is_too_long(&team, 0);
    let steps = json!([pinned(&team.accounts[0].id), pinned(&second.id), "deepseek/deepseek-v4-pro"]);
    team.combo("long", "priority", steps, json!({})).await;
    assert_eq!(who(&team.ask("long").await), 1);
    assert_eq!((team.calls(), team.world.calls(&second).len()), ([1, 1, 0], 0), "another account has no larger window");

    let steps = json!([pinned(&team.accounts[0].id), pinned(&second.id)]);
    team.combo("short", "priority", steps, json!({})).await;
    let reply = team.ask("short").await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert!(reply.text().contains("maximum context length"), "{}", reply.text());
    assert_eq!(team.world.calls(&second).len(), 0);
    for account in &team.accounts {
        assert_eq!(team.world.cooling(account), None, "a long prompt is nobody's fault");
    }
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_prompt_that_is_too_long_for_everybody_is_a_400() {
    let team = Team::start().await;
    (0..3).for_each(|account| is_too_long(&team, account));
    let steps = json!(["openai/gpt-4o", "deepseek/deepseek-v4-pro", "groq/m1"]);
    team.combo("team", "priority", steps, json!({})).await;
    let reply = team.ask("team").await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert!(reply.text().contains("maximum context length"), "{}", reply.text());
    assert_eq!(reply.header("retry-after"), None);
    assert_eq!(team.calls(), [1, 1, 1]);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn what_is_told_at_last_is_what_all_of_them_said_or_whether_time_ran_out_among_them() {
    for (said, status, code, waits) in [
        ([500, 500, 500], 500, "internal_server_error", false),
        ([503, 503, 503], 503, "service_unavailable", true),
        ([529, 529, 529], 503, "overloaded", true),
        ([429, 429, 429], 429, "rate_limit_exceeded", true),
        ([504, 504, 504], 504, "gateway_timeout", false),
        ([404, 404, 404], 404, "model_not_found", false),
        ([500, 502, 503], 502, "bad_gateway", false),
        ([429, 502, 429], 502, "bad_gateway", false),
        ([504, 502, 429], 504, "gateway_timeout", false),
        ([503, 408, 500], 504, "gateway_timeout", false),
        ([500, 500, 524], 504, "gateway_timeout", false),
        ([401, 403, 401], 502, "upstream_auth_failed", false),
        ([401, 503, 503], 502, "bad_gateway", false),
        ([402, 402, 402], 402, "payment_required", false),
        ([404, 503, 404], 502, "bad_gateway", false),
    ] {
        let team = Team::start().await;
        team.combo("team", "priority", models(), json!({ "maxRetries": 0 })).await;
        for (n, status) in said.into_iter().enumerate() {
            team.fails(n, status);
        }
        let reply = team.ask("team").await;
        assert_eq!(team.calls(), [1, 1, 1], "{said:?}");
        assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (status, code), "{said:?}: {}", reply.text());
        assert_eq!(reply.header("retry-after").is_some(), waits, "{said:?}: {}", reply.text());
        let asks_again = (said == [401, 403, 401]).then_some("false");
        assert_eq!(reply.header("x-should-retry"), asks_again, "{said:?}");
        for told in said {
            assert!(reply.error_message().contains(&format!("(HTTP {told})")), "{said:?}: {}", reply.error_message());
        }
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn an_odd_refusal_among_failures_is_a_mixture() {
    let team = Team::start().await;
    team.combo("team", "priority", models(), json!({ "maxRetries": 0 })).await;
    team.fails(0, 503);
    team.world.script(&team.accounts[1]).then(Step::error(400, "this phrase is in no list"));
    team.fails(2, 503);
    let reply = team.ask("team").await;
    assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (502, "bad_gateway"), "{}", reply.text());
    team.world.check_invariants().await;
}

#[tokio::test]
async fn no_other_target_takes_over_after_the_first_word_of_a_stream() {
    for (n, how) in [Break::Close, Break::Reset].into_iter().enumerate() {
        let team = Team::start().await;
        team.combo("team", "priority", models(), json!({ "maxRetries": 3, "maxSetRetries": 3 })).await;
        let begun = Step::sse([beginning(Dialect::Chat)]).broken(usize::MAX, how);
        team.world.script(&team.accounts[0]).then(begun);
        let reply = team.world.agent().post("/v1/chat/completions", chat_body("team", true)).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(team.calls(), [1, 0, 0], "{how:?}");
        assert!(!reply.text().contains("from 1"), "{}", reply.text());
        assert_eq!(reply.text(), beginning(Dialect::Chat), "the missing end marker says that it broke");
        let row = team.world.last_request().await;
        assert_eq!((&row["outcome"], &row["attempts"]), (&json!("failure"), &json!(1)), "{n}: {row}");
        team.world.check_invariants().await;
    }
}
