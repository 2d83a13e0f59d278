//! Banned, expired, without credit: what no timer ends (resilience specification, 7; scenarios TS).

use acceptance::Ask;
use domain::Millis;
use domain::health::TestStatus;
use fake_upstream::{Answer, Gate, Step};
use http::Method;
use serde_json::json;

use crate::cast::{AK, DIALECTS, OA, ask, ask_stream, begin, crowd, post, post_m1, start};

/// The phrases by which an upstream closes an account, whatever the status.
const BANS: [&str; 7] = [
    "account_deactivated",
    "account has been deactivated",
    "account has been disabled",
    "your account has been suspended",
    "this account is deactivated",
    "this service has been disabled in this account for violation",
    "this service has been disabled in this account",
];

/// The phrases by which an upstream says that nothing is left to spend.
const CREDITS: [&str; 17] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "exceeded your current quota",
    "exceeded your current usage quota",
    "credit_balance_too_low",
    "your credit balance is too low",
    "credits exhausted",
    "out of credits",
    "payment required",
    "free tier of the model has been exhausted",
    "insufficient balance",
    "insufficient_balance",
    "insufficient account balance",
    "insufficient credit balance",
    "insufficient credits",
    "insufficient credit",
    "exhausted all your credits",
];

#[tokio::test]
async fn each_ban_phrase_ends_an_account_whatever_the_status() {
    // TS-01, EC-26, EC-27
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    world.resilience(json!({ "providerBreaker": { "apikey": { "failureThreshold": 1_000 } } })).await;
    for phrase in BANS {
        for status in [400, 401, 403, 429, 500] {
            for text in [format!("Sorry: {phrase}."), phrase.to_uppercase()] {
                world.script(&c1).then(Step::error(status, text));
                post_m1(&world, AK).await;
                assert_eq!(world.status(&c1), TestStatus::Banned, "{phrase} {status}");
                world.reset(&c1).await;
            }
        }
    }
    world.script(&c1).then(Step::error(429, "rate limit exceeded, too many requests"));
    post_m1(&world, AK).await;
    assert_eq!(world.status(&c1), TestStatus::Unavailable, "TS-07: a rate limit bans nobody");
    world.check_invariants().await;
}

#[tokio::test]
async fn no_later_failure_softens_a_ban() {
    // TS-02, TS-03, XC-09
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let gate = Gate::closed();
    world.script(&c1).then(Step::error(403, "your account has been suspended"));
    for (model, status) in [("limited", 429), ("broken", 500)] {
        world.script_model(&c1, model).then(Step::error(status, "later trouble").held(&gate));
    }
    let mut under_way = Vec::new();
    for number in 0..10 {
        let model = if number % 2 == 0 { "limited" } else { "broken" };
        under_way.push(begin(&world, &c1, &ask(AK, model)).await);
    }
    post_m1(&world, AK).await;
    assert_eq!(world.status(&c1), TestStatus::Banned);
    gate.open();
    for asking in under_way {
        asking.await.expect("a reply");
    }
    assert_eq!(world.status(&c1), TestStatus::Banned);
    let error = world.health(&c1).last_error.expect("an error");
    assert!(error.message.contains("suspended"), "{error:?}");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_ban_during_a_rest_is_written() {
    // TS-03, XC-09: the other order.
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let gate = Gate::closed();
    let ban = Step::error(403, "your account has been suspended").held(&gate);
    world.script(&c1).then(Step::error(429, "slow down"));
    world.script_model(&c1, "banned").then(ban);
    let banned = begin(&world, &c1, &ask(AK, "banned")).await;
    post_m1(&world, AK).await;
    assert_eq!(world.status(&c1), TestStatus::Unavailable);
    gate.open();
    banned.await.expect("a reply");
    assert_eq!(world.status(&c1), TestStatus::Banned);
    world.check_invariants().await;
}

#[tokio::test]
async fn an_ended_account_is_never_asked_again_by_time_alone() {
    // TS-04, TS-08, EC-05
    for (step, status) in [
        (Step::error(403, "your account has been suspended"), TestStatus::Banned),
        (Step::error(402, "payment required"), TestStatus::CreditsExhausted),
    ] {
        let mut world = start().await;
        world.set(json!({ "logging": { "retentionDays": 3_650 } })).await;
        let c1 = world.connect(AK, "c1").await;
        world.connect(AK, "c2").await;
        world.script(&c1).then(step).then(Step::ok("fine"));
        for _ in 0..100 {
            assert_eq!(post_m1(&world, AK).await.status, 200);
        }
        assert_eq!(world.calls(&c1).len(), 1);
        world.advance(Millis::days(366));
        post_m1(&world, AK).await;
        assert_eq!((world.status(&c1), world.calls(&c1).len()), (status, 1), "after a year");
        world.restart().await;
        post_m1(&world, AK).await;
        assert_eq!((world.status(&c1), world.calls(&c1).len()), (status, 1), "TS-23: after a restart");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn each_credit_phrase_ends_an_account() {
    // TS-08
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    for phrase in CREDITS {
        for status in [402, 400] {
            world.script(&c1).then(Step::error(status, format!("Sorry, {phrase} today")));
            post_m1(&world, AK).await;
            assert_eq!(world.status(&c1), TestStatus::CreditsExhausted, "{phrase} {status}");
            world.reset(&c1).await;
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn an_operators_phrase_bans_at_once_and_only_while_it_is_listed() {
    // TS-05, TS-06
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let frozen = || Step::error(500, "Account Frozen by compliance, case 7");
    world.script(&c1).then(frozen());
    post_m1(&world, AK).await;
    assert_eq!(world.status(&c1), TestStatus::Unavailable, "not yet listed");
    world.reset(&c1).await;
    world.set(json!({ "customBannedSignals": ["  account frozen by compliance ", " "] })).await;
    post_m1(&world, AK).await;
    assert_eq!(world.status(&c1), TestStatus::Banned);
    world.set(json!({ "customBannedSignals": [] })).await;
    assert_eq!(world.status(&c1), TestStatus::Banned, "removing the phrase frees nobody");
    world.reset(&c1).await;
    world.script(&c1).then(Step::error(500, "account_deactivated"));
    post_m1(&world, AK).await;
    assert_eq!(world.status(&c1), TestStatus::Banned, "the built-in ones remain");
    let long = json!({ "customBannedSignals": ["x".repeat(201)] });
    assert_eq!(world.manage(Method::PATCH, "/api/settings", Some(long)).await.status, 400);
    world.reset(&c1).await;
    world.set(json!({ "autoDisableBannedAccounts": true })).await;
    post_m1(&world, AK).await;
    // TS-06: the record is written behind the verdict.
    let switched_off = async {
        while world.connection(&c1).await["isActive"] == true {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(acceptance::PATIENCE, switched_off).await.expect("it is switched off");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_ban_word_in_a_models_own_answer_bans_nobody_and_in_an_error_it_does() {
    // Handed case, for each dialect and form.
    for dialect in DIALECTS {
        for stream in [false, true] {
            let world = start().await;
            let asked = Ask::new(dialect, stream);
            let c1 = world.connect(asked.provider, "c1").await;
            let said =
                "They wrote: your account has been suspended, account_deactivated, insufficient_quota, rate limit";
            world.script(&c1).then(Step::answer(Answer::text(said).with_reasoning(said)));
            assert_eq!(post(&world, &asked).await.status, 200, "{dialect:?} {stream}");
            assert_eq!(world.status(&c1), TestStatus::Active, "{dialect:?} {stream}");
            assert_eq!((world.cooling(&c1), world.locks(&c1)), (None, Vec::new()), "{dialect:?} {stream}");
            world.script(&c1).then(Step::error(403, "your account has been suspended"));
            post(&world, &asked).await;
            assert_eq!(world.status(&c1), TestStatus::Banned, "{dialect:?} {stream}");
            world.check_invariants().await;
        }
    }
}

#[tokio::test]
async fn an_owner_brings_an_account_back_by_a_test_a_reset_or_a_new_credential() {
    // TS-09, TS-10
    let world = start().await;
    let c1 = world.connect(AK, "c1").await;
    let ban = Step::error(403, "your account has been suspended");
    world.script(&c1).then(ban.clone());
    world.upstream.script(c1.credential.as_str(), fake_upstream::LIST_MODELS).then(ban.clone());
    post_m1(&world, AK).await;
    assert_eq!(world.test(&c1).await["ok"], false);
    assert_eq!(world.status(&c1), TestStatus::Banned, "a failed test changes nothing");
    world.script(&c1).then(Step::ok("fine"));
    world
        .upstream
        .script(c1.credential.as_str(), fake_upstream::LIST_MODELS)
        .then(Step::status(200, r#"{"data":[{"id":"m1"}]}"#));
    assert_eq!(world.test(&c1).await["ok"], true);
    let shown = world.connection(&c1).await;
    assert_eq!((&shown["testStatus"], &shown["lastError"]), (&json!("active"), &json!(null)), "{shown}");

    world.script(&c1).then(ban.clone());
    post_m1(&world, AK).await;
    let before = world.calls(&c1).len();
    world.reset(&c1).await;
    assert_eq!(world.connection(&c1).await["testStatus"], "active");
    assert_eq!(world.calls(&c1).len(), before, "a reset asks nobody");

    post_m1(&world, AK).await;
    assert_eq!(world.status(&c1), TestStatus::Banned);
    world.change(&c1, json!({ "apiKey": "another.credential.of.c1" })).await;
    world.forgive(&c1);
    assert!(!world.status(&c1).is_terminal(), "TS-10");
    assert_eq!(post_m1(&world, AK).await.status, 200);
    world.check_invariants().await;
}

fn refusal() -> Step {
    Step::error(403, "Request not allowed").with_code("forbidden")
}

#[tokio::test]
async fn three_refusals_in_a_row_are_a_ban_and_the_first_two_a_rest() {
    // TS-11, TS-12, EC-29
    let world = start().await;
    let c1 = world.connect(OA, "c1").await;
    world.script(&c1).then(refusal());
    for (minutes, rest) in [(0, 5), (6, 15)] {
        world.advance(Millis::minutes(minutes));
        post_m1(&world, OA).await;
        assert_eq!(world.cooling(&c1), Some(Millis::minutes(rest)));
        assert_eq!(world.status(&c1), TestStatus::Unavailable);
    }
    world.advance(Millis::minutes(16));
    post_m1(&world, OA).await;
    assert_eq!(world.status(&c1), TestStatus::Banned);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_success_between_or_a_day_between_begins_a_new_streak() {
    // TS-13, TS-15
    for (success, gap) in [(true, Millis::minutes(20)), (false, Millis::hours(24) + Millis::seconds(1))] {
        let world = start().await;
        let c1 = world.connect(OA, "c1").await;
        world.script(&c1).then(refusal());
        for _ in 0..2 {
            post_m1(&world, OA).await;
            world.advance(Millis::minutes(20));
        }
        assert_eq!(world.health(&c1).refusals, 2);
        if success {
            world.script(&c1).then(Step::ok("fine"));
            post_m1(&world, OA).await;
            world.script(&c1).then(refusal());
        }
        world.advance(gap);
        post_m1(&world, OA).await;
        let health = world.health(&c1);
        assert_eq!((health.refusals, health.status), (1, TestStatus::Unavailable), "{success}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn refusals_of_one_moment_are_one_refusal() {
    // TS-14
    let world = start().await;
    let c1 = world.connect(OA, "c1").await;
    let gate = Gate::closed();
    world.script(&c1).then(refusal().held(&gate));
    let asking = crowd(&world, &c1, &ask_stream(OA, "m1"), 10).await;
    gate.open();
    for reply in asking {
        reply.await.expect("a reply");
    }
    assert_eq!((world.health(&c1).refusals, world.status(&c1)), (1, TestStatus::Unavailable));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_restart_remembers_one_refusal_of_the_last_day() {
    // TS-16
    let mut world = start().await;
    let c1 = world.connect(OA, "c1").await;
    world.script(&c1).then(refusal());
    post_m1(&world, OA).await;
    world.restart().await;
    world.advance(Millis::minutes(10));
    post_m1(&world, OA).await;
    assert_eq!((world.health(&c1).refusals, world.status(&c1)), (2, TestStatus::Unavailable));
    world.advance(Millis::minutes(20));
    post_m1(&world, OA).await;
    assert_eq!(world.status(&c1), TestStatus::Banned);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_phrase_can_be_tried_on_what_was_said_before_it_bans_anybody() {
    // TS-24
    let world = start().await;
    let c1 = world.connect(AK, "first").await;
    let c2 = world.connect(AK, "second").await;
    world.script(&c1).then(Step::error(500, "account frozen by compliance, ticket 1"));
    world.script(&c2).then(Step::error(500, "a plain fault"));
    assert!(post_m1(&world, AK).await.status.is_server_error());
    world.requests().await;
    let preview = async |phrase: &str| {
        let body = json!({ "phrase": phrase });
        world.managed(Method::POST, "/api/resilience/banned-signals/preview", Some(body)).await
    };
    let frozen = preview("FROZEN by Compliance").await;
    let hit: Vec<&str> =
        frozen["matches"].as_array().expect("a list").iter().filter_map(|it| it["connectionName"].as_str()).collect();
    assert_eq!(hit, ["first"], "{frozen}");
    let both = preview("a").await;
    assert_eq!(both["matches"].as_array().map(Vec::len), Some(2), "a broad phrase shows how broad it is: {both}");
    assert_eq!(preview("never said").await["matches"], json!([]));
    for account in [&c1, &c2] {
        assert!(!world.status(account).is_terminal(), "a trial bans nobody");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_sign_in_that_is_refused_is_tried_again_three_times_before_it_expires() {
    // TS-17, TS-18, also over a restart. TS-19: no refusal expires an account on the spot, however long its token is good for.
    for heals in [false, true] {
        let mut world = start().await;
        let c1 = world.connect(OA, "c1").await;
        world.script(&c1).then(Step::error(401, "the session has ended"));
        for minutes in [5, 10, 20] {
            post_m1(&world, OA).await;
            assert_eq!(
                (world.cooling(&c1), world.status(&c1)),
                (Some(Millis::minutes(minutes)), TestStatus::Unavailable)
            );
            let asked = world.calls(&c1).len();
            post_m1(&world, OA).await;
            assert_eq!(world.calls(&c1).len(), asked, "not before its time");
            world.restart().await;
            world.advance(Millis::minutes(minutes));
        }
        if heals {
            world.script(&c1).then(Step::ok("fine"));
            assert_eq!(post_m1(&world, OA).await.status, 200);
            assert_eq!((world.status(&c1), world.health(&c1).expired_retry_count), (TestStatus::Active, 0));
        } else {
            post_m1(&world, OA).await;
            assert_eq!(world.status(&c1), TestStatus::Expired);
            world.advance(Millis::hours(24));
            let asked = world.calls(&c1).len();
            assert_eq!(post_m1(&world, OA).await.status, 502);
            assert_eq!(world.calls(&c1).len(), asked);
        }
        world.check_invariants().await;
    }
}
