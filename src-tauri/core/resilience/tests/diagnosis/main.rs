//! From a reply to a verdict, row by row (resilience specification, 6 and 18; acceptance EC, SR, TS).
//!
//! A verdict is written in words: the kind of failure, then what is not as usual (how long it lasts, how it cools, what
//! it costs the provider, whom it concerns), and whom to try next.

mod case;

use case::{CLAUDE, Case, GEMINI, KEY, MIDNIGHT, NOW, SCOPED, SIGNED_IN, check, told};
use domain::{BreakerCharge, Cooldown, Millis, Nature, Outcome, ProviderId, Reason, Scope};
use resilience::failure::{Context, ErrorRule, ProviderRules, Reply, Restatement, Rules, diagnose};

#[test]
fn a_bare_status_decides() {
    check(&[
        (KEY.says(401, ""), "auth, Unauthorized, connection"), // EC-07
        (SIGNED_IN.says(401, ""), "auth, Unauthorized, connection"),
        (KEY.says(402, ""), "quota_exhausted, CreditsExhausted, connection"), // EC-05
        (SCOPED.says(402, ""), "quota_exhausted, connection"),                // EC-06
        (KEY.says(403, "no"), "auth, connection"),                            // EC-08, TS-20
        (SIGNED_IN.says(403, "no"), "forbidden, connection"),
        (KEY.says(404, ""), "model_not_found, target"), // EC-10
        (KEY.says(410, ""), "model_not_found, target"),
        (KEY.says(406, ""), "server_error, connection"),
        (KEY.says(408, ""), "server_error, counts, connection"), // CB-05
        (KEY.says(500, ""), "server_error, counts, connection"), // EC-01
        (KEY.says(502, ""), "server_error, counts, connection"),
        (KEY.says(503, ""), "server_error, counts, connection"),
        (KEY.says(504, ""), "server_error, counts, connection"),
        (KEY.says(524, ""), "server_error, connection"),
        (KEY.says(529, ""), "overloaded, connection"),
        (KEY.says(413, ""), "context_overflow, for 0s, Nobody, connection"), // EC-21
        (KEY.says(429, ""), "rate_limit, connection"),                       // EC-03
        (SIGNED_IN.says(429, ""), "rate_limit, connection"),
        (KEY.says(432, ""), "quota_exhausted, for 3600s, connection"), // EC-22
        (KEY.says(409, "conflict"), "unknown, connection"),
        (KEY.says(418, ""), "unknown, connection"),
        (KEY.says(400, ""), "invalid, target"),
        (KEY.says(422, ""), "invalid, target"),
        (KEY.says(500, "<!DOCTYPE html><html>Bad</html>"), "server_error, counts, connection"), // EC-24
        (KEY.says(0, ""), "unknown, connection"),
    ]);
}

#[test]
fn replies_about_the_request_or_by_a_gateway_cost_the_provider_nothing() {
    check(&[
        (KEY.says(500, "").code("context_length_exceeded"), "context_overflow, for 0s, Nobody, target"), // CB-29
        (KEY.says(502, "").code("upstream_empty_response"), "server_error, connection"),
        (KEY.says(502, "").code("upstream_response_failed"), "server_error, connection"),
        (KEY.says(504, "").code("combo_target_timeout"), "server_error, connection"),
        (KEY.says(503, "").code("RATE_LIMIT_QUEUE_TIMEOUT"), "LocalLimit, connection"),
        (KEY.says(503, "").code("RATE_LIMIT_QUEUE_FULL"), "LocalLimit, connection"),
        (KEY.says(503, "").code("RATE_LIMIT_QUEUE_WEDGED"), "LocalLimit, connection"),
        (KEY.says(503, "").kind("local_queue_capacity"), "LocalLimit, connection"),
        (KEY.says(500, "AbortError"), "server_error, connection"),
        (KEY.says(500, "Controller is already closed"), "server_error, connection"),
        (KEY.says(500, "request_signal_aborted"), "server_error, connection"),
        (KEY.says(500, "client disconnected"), "server_error, connection"),
        (KEY.says(500, "the operation was aborted"), "server_error, connection"),
        (KEY.says(404, "Item with id 'rs_1' not found"), "invalid_request, Nobody, stop"),
        (KEY.says(404, "Resource not found"), "invalid_request, Nobody, stop"),
        (KEY.says(409, "Invalid previous_response_id binding"), "invalid_request, Nobody, stop"), // EC-23
        (
            KEY.says(503, "").header("x-omni-fallback-hint", "connection_cooldown"),
            "server_error, for 5s, Connection, connection", // CC-29
        ),
        (KEY.says(503, "").header("x-omni-fallback-hint", "other"), "server_error, counts, connection"),
        (KEY.says(403, "You are not authorized for this route"), "forbidden, Noted, stop"),
    ]);
}

#[test]
fn words_of_a_closed_or_unpaid_account_are_lasting() {
    let banned = "auth, Banned, connection";
    let empty = "quota_exhausted, CreditsExhausted, connection";
    for status in [400, 401, 403, 404, 429] {
        check(&[(KEY.says(status, "This account is deactivated"), banned)]); // TS-01
    }
    check(&[
        (KEY.says(500, "Your account has been suspended"), "auth, Banned, counts, connection"),
        (SCOPED.says(429, "").body(r#"{"error":{"code":"account_deactivated"}}"#), banned),
        (KEY.says(429, "account has been disabled: rate limit"), banned), // EC-27
        (KEY.says(429, "rate limit reached for your account"), "rate_limit, connection"), // TS-07
        (KEY.says(403, "Verify your account to continue"), "auth, connection"),
        (KEY.says(403, "Account suspended: unpaid invoice"), empty),
        (KEY.says(403, "suspended until the spending limit is raised"), empty),
    ]);
    for phrase in [
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
        "tier has been exhausted",
        "insufficient balance",
        "insufficient_balance",
        "insufficient account balance",
        "insufficient credit balance",
        "insufficient credits",
        "insufficient credit",
        "exhausted all your credits",
    ] {
        check(&[
            (KEY.says(402, phrase), empty), // TS-08
            (KEY.says(400, phrase), empty),
            (SCOPED.says(400, phrase), "quota_exhausted, connection"),
            (SIGNED_IN.says(429, phrase), empty),
        ]);
    }
    check(&[
        (KEY.says(429, "You exceeded your current quota").code("insufficient_quota"), "quota_exhausted, connection"), // EC-04
        (KEY.says(429, "You are out of credits"), empty),
        (KEY.says(429, "insufficient_g1_credits_balance"), empty),
        (SCOPED.says(429, "You are out of credits"), "quota_exhausted, connection"),
    ]);
}

#[test]
fn a_stale_token_is_not_the_end_of_a_signed_in_account() {
    for phrase in [
        "Invalid authentication credentials",
        "Expected OAuth 2 access token",
        "login cookie",
        "needs a valid authentication credential",
        "invalid credentials",
        "re-authenticate your Cline account",
    ] {
        check(&[
            (SIGNED_IN.says(401, phrase), "auth, for 120s, connection"),
            (KEY.says(401, phrase), "auth, Unauthorized, connection"),
        ]);
    }
}

#[test]
fn quotas_last_as_long_as_their_words_say() {
    check(&[
        (KEY.says(404, "The model m1 has been deprecated"), "model_not_found, for 86400s, target"), // EC-11
        (KEY.says(410, "m1 is no longer available"), "model_not_found, for 86400s, target"),
        (KEY.says(404, "no longer supported"), "model_not_found, for 86400s, target"),
        (KEY.says(404, "reached end-of-life"), "model_not_found, for 86400s, target"),
        (KEY.says(404, "model retired"), "model_not_found, for 86400s, target"),
        (KEY.says(404, "model discontinued"), "model_not_found, for 86400s, target"),
        (KEY.says(410, "model decommissioned"), "model_not_found, for 86400s, target"),
        (KEY.says(403, "This endpoint has moved"), "server_error, for 86400s, connection"),
        (KEY.says(404, "this key no longer works here"), "server_error, for 86400s, connection"),
        (KEY.says(400, "update your base URL"), "server_error, for 86400s, connection"),
        (KEY.says(429, "today's quota is used up"), "quota_exhausted, for 3600s, connection"),
        (KEY.says(429, "daily quota"), "quota_exhausted, for 3600s, connection"),
        (KEY.says(429, "Try again tomorrow"), "quota_exhausted, for 3600s, connection"), // EC-15
        (KEY.says(429, "daily free allocation of 10,000 neurons"), "quota_exhausted, for 3600s, connection"),
        (KEY.says(429, "TPD rate limit"), "rate_limit, connection"),
        (KEY.says(429, "Limit on tokens per day (TPD)"), "rate_limit, connection"),
        (KEY.says(429, "Limit on tokens per day").header("x-ratelimit-reset", "900"), "quota_exhausted, connection"),
        (KEY.says(429, "Usage limit reached"), "quota_exhausted, for 3600s, connection"), // EC-14
        (KEY.says(429, "The usage limit has been hit"), "quota_exhausted, for 3600s, connection"),
        (KEY.says(429, "Claude Pro usage limit"), "quota_exhausted, for 3600s, connection"),
        (KEY.says(429, "You've reached your usage limit"), "quota_exhausted, for 3600s, connection"),
        (KEY.says(429, "You have reached your usage limit"), "quota_exhausted, for 3600s, connection"),
        (KEY.says(429, "monthly usage limit reached"), "quota_exhausted, for 3600s, connection"), // EG-01
        (
            CLAUDE.says(429, "This request would exceed your account's rate limit"),
            "quota_exhausted, for 3600s, connection",
        ),
        (SIGNED_IN.says(429, "This request would exceed your account's rate limit"), "rate_limit, connection"),
        (KEY.says(429, "weekly limit reached"), "quota_exhausted, for 86400s, connection"), // EC-12
        (KEY.says(429, "weekly usage limit reached"), "quota_exhausted, for 86400s, connection"),
        (KEY.says(429, "you have reached your weekly share"), "quota_exhausted, for 86400s, connection"),
        (KEY.says(429, "session limit reached"), "quota_exhausted, for 18000s, connection"), // EC-13
        (KEY.says(429, "session usage limit"), "quota_exhausted, for 18000s, connection"),
        (GEMINI.says(429, "").body("GenerateRequestsPerDayPerProjectPerModel"), "quota_exhausted, connection"), // EC-16
        (GEMINI.says(429, "requests per minute"), "rate_limit, connection"),
        (GEMINI.says(429, "resource exhausted"), "rate_limit, connection"),
    ]);
}

#[test]
fn at_midnight_a_whole_day_is_left() {
    let provider = ProviderRules::default();
    let rules = Rules { provider: &provider, operator: &[], banned_signals: &[] };
    let case = KEY.says(429, "try again tomorrow");
    for (midnight, expected) in [
        (NOW + Millis::hours(1), "quota_exhausted, for 3600s, connection"),
        (NOW, "quota_exhausted, for 86400s, connection"), // EC-15
        (NOW + Millis::hours(25), "quota_exhausted, for 86400s, connection"), // EC-30, a day of 25 hours
        (NOW + Millis::hours(23), "quota_exhausted, for 82800s, connection"),
    ] {
        assert_eq!(told(&case.judged(rules, midnight)), expected);
    }
    let Outcome::Failure(failure) = KEY.says(429, "quota exceeded").judged(rules, MIDNIGHT).outcome else {
        panic!("a failure")
    };
    assert_eq!(failure.quota_resets_in, Some(Millis::hours(1)));
    let hinted = KEY.says(429, "quota exceeded").header("retry-after", "9").judged(rules, MIDNIGHT);
    let Outcome::Failure(failure) = hinted.outcome else { panic!("a failure") };
    assert_eq!((failure.quota_resets_in, failure.advertised_retry_after), (None, Some(Millis::seconds(9))));
}

#[test]
fn a_403_is_about_request_model_place_robot_or_account() {
    check(&[
        (SIGNED_IN.says(403, "Request not allowed"), "request_rejected, RequestRejected, connection"), // EC-29, TS-11
        (KEY.says(403, "Request not allowed"), "auth, connection"),
        (SIGNED_IN.says(400, "Request not allowed"), "invalid, target"),
        (SIGNED_IN.says(503, "Request not allowed"), "rate_limit, for 5s, counts, connection"),
        (KEY.says(403, "error code: 1010"), "forbidden, for 0s, connection"), // EC-09
        (KEY.says(403, "browser_signature_banned"), "forbidden, for 0s, connection"),
        (KEY.says(403, "").body(r#"{"retryable": false}"#), "forbidden, for 0s, connection"),
        (KEY.says(403, "API has not been used in project 7"), "forbidden, for 86400s, connection"),
        (KEY.says(403, "unsupported_country_region_territory"), "forbidden, for 86400s, connection"),
        (KEY.says(400, "User location is not supported"), "forbidden, for 86400s, connection"),
        (KEY.says(403, "hour quota"), "quota_exhausted, connection"),
        (KEY.says(403, "quota has been exceeded"), "quota_exhausted, connection"),
        (KEY.says(403, "You have no access to model m1"), "model_access_denied, connection"),
        (KEY.says(403, "无权访问模型"), "model_access_denied, connection"), // SR-04
        (
            KEY.says(403, "your plan has no access to this model").kind("permission_error"),
            "model_access_denied, connection",
        ),
        (KEY.says(403, "denied").kind("permission_error"), "auth, connection"),
        (KEY.says(403, "this API key has no access to model m1"), "auth, connection"),
    ]);
}

#[test]
fn texts_decide_before_the_status_does() {
    check(&[
        (KEY.says(401, "No credentials"), "auth, for 120s, connection"),
        (KEY.says(500, "Improperly formed request"), "overloaded, for 0s, counts, connection"),
        (SIGNED_IN.says(503, "rate limit"), "rate_limit, counts, connection"),
        (KEY.says(503, "Too many requests"), "rate_limit, counts, connection"),
        (KEY.says(503, "overloaded"), "overloaded, counts, connection"), // EC-02
        (KEY.says(500, "high demand"), "overloaded, counts, connection"),
        (SIGNED_IN.says(429, "no capacity"), "overloaded, connection"),
        (KEY.says(429, "no capacity"), "rate_limit, connection"),
    ]);
    for phrase in [
        "hour quota",
        "quota has been exceeded",
        "quota exceeded",
        "quota will reset",
        "exhausted your capacity",
        "quota exhausted",
        "out of extra usage",
        "extra usage required",
    ] {
        check(&[
            (KEY.says(429, phrase), "quota_exhausted, connection"),
            (SIGNED_IN.says(429, phrase), "quota_exhausted, connection"),
        ]);
    }
}

#[test]
fn a_400_blames_nobody_and_knows_who_is_next() {
    let bigger = "context_overflow, for 0s, Nobody, target";
    let elsewhere = "model_not_found, for 0s, Nobody, target";
    check(&[
        (KEY.says(400, "").code("model_not_found"), elsewhere), // EC-18
        (KEY.says(400, "").code("deployment_not_found"), elsewhere),
        (KEY.says(400, "").kind("not_found_error"), elsewhere),
        (KEY.says(422, "Unknown model m1"), elsewhere),
        (KEY.says(400, "The model `m1` does not exist"), elsewhere),
        (KEY.says(400, "model not supported by this provider"), elsewhere),
        (
            KEY.says(400, "no permission for this model").kind("permission_error"),
            "model_access_denied, for 0s, Nobody, target",
        ),
        (KEY.says(400, "permission denied").kind("permission_error"), "invalid, target"),
        (KEY.says(400, "invalid API key for model").code("model_not_found"), "invalid, target"),
        (KEY.says(400, "").code("context_length_exceeded"), bigger), // EC-17, CC-18
        (KEY.says(400, "maximum context length is 8192 tokens"), bigger),
        (KEY.says(400, "too many tokens"), bigger),
        (KEY.says(400, "prompt is too long: 210000 tokens"), bigger),
        (KEY.says(400, "The input token count exceeds the limit"), bigger),
        (KEY.says(400, "Invalid role: bot"), "invalid, stop"),
        (KEY.says(400, "roles must alternate"), "invalid, stop"),
        (KEY.says(400, "Invalid schema for function 'f'"), "invalid, stop"),
        (KEY.says(400, "ids were found without `tool_result` blocks"), "invalid, stop"),
        (KEY.says(400, "Unsupported parameter: temperature"), "invalid, target"),
        (KEY.says(400, "maximum number of tools is 128"), "invalid, target"),
        (KEY.says(400, "Function id x: DEGRADED function cannot be invoked"), "overloaded, for 0s, Noted, target"),
        (KEY.says(400, "rate limit"), "rate_limit, connection"), // EC-19
        (KEY.says(400, "Too many requests"), "rate_limit, connection"),
        (KEY.says(400, "high-frequency access"), "rate_limit, connection"),
        (KEY.says(400, "non-compliant"), "rate_limit, connection"),
        (KEY.says(400, "请求过于频繁"), "rate_limit, connection"),
        (KEY.says(400, "频率"), "rate_limit, connection"),
        (KEY.says(400, "no such thing"), "invalid, target"), // EC-20
    ]);
}

#[test]
fn without_a_reply_the_reason_stands_and_only_the_service_is_charged() {
    let (provider, nature) = (ProviderId::from("ak"), Nature::default());
    let none = ProviderRules::default();
    let rules = Rules { provider: &none, operator: &[], banned_signals: &[] };
    let context = Context { provider: &provider, model: "m1", nature: &nature, rules, midnight: MIDNIGHT };
    for (reason, expected) in [
        (Reason::Unreachable, "unreachable, network, connection"), // CB-07
        (Reason::ConnectionReset, "connection_reset, network, connection"),
        (Reason::Tls, "tls, network, connection"),
        (Reason::ResponseStartTimeout, "response_start_timeout, network, connection"),
        (Reason::StreamCut, "stream_cut, network, connection"),
        (Reason::StreamIdleTimeout, "stream_idle_timeout, connection"), // CB-30
        (Reason::ContentStall, "content_stall, connection"),
        (Reason::EmptyOrGarbled, "empty_or_garbled, connection"), // CB-29
        (Reason::EarlyEof, "early_eof, counts, connection"),      // CB-30
    ] {
        assert_eq!(told(&diagnose(&Reply::Transport { reason, message: "x" }, &context, NOW)), expected);
    }
    let local = diagnose(&Reply::Local { message: "the outgoing proxy failed" }, &context, NOW);
    assert_eq!(told(&local), "LocalLimit, connection"); // CB-28
}

fn rule(status: u16, marker: &str, scope: Scope, reason: &str) -> ErrorRule {
    ErrorRule {
        id: format!("r{status}"),
        statuses: vec![status],
        codes: Vec::new(),
        text_markers: vec![marker.to_owned()],
        header: None,
        reason: reason.to_owned(),
        scope,
        cooldown: None,
    }
}

#[test]
fn rules_come_before_patterns_and_the_operators_before_the_catalogues() {
    let catalogue = ProviderRules {
        error_rules: vec![
            rule(429, "dry", Scope::Connection, "quota_exhausted"),
            rule(400, "dry", Scope::Usual, "unknown"),
        ],
        full_text: true,
        honors_scope: true,
        ..ProviderRules::default()
    };
    let capped =
        ErrorRule { cooldown: Some(Millis::minutes(2)), ..rule(429, "dry", Scope::Model, "rate_limit_exceeded") };
    let for_400 = rule(400, "cap", Scope::Connection, "quota_exhausted");
    let refused = rule(401, "bad", Scope::Connection, "auth_error");
    let own = [capped, for_400, refused];
    let judge = |case: Case<'_>, operator: &[ErrorRule], banned: &[String]| {
        told(&case.judged(Rules { provider: &catalogue, operator, banned_signals: banned }, MIDNIGHT))
    };
    for (case, operator, expected) in [
        (KEY.says(429, "dry"), &[][..], "quota_exhausted, Connection, connection"), // PR-03
        (KEY.says(429, "dry"), &own[..], "rate_limit, from 120s, Model, connection"), // PR-10
        (KEY.says(400, "dry"), &[][..], "server_error, connection"),
        (KEY.says(400, "daily cap"), &own[..], "quota_exhausted, Connection, connection"), // PR-14
        (KEY.says(400, "other"), &own[..], "invalid, target"),
        (KEY.says(401, "bad"), &own[..], "auth, Unauthorized, connection"), // PR-15
        (KEY.says(429, "dry, account_deactivated"), &own[..], "auth, Banned, connection"),
    ] {
        assert_eq!(judge(case, operator, &[]), expected, "{} {}", case.status, case.message);
    }
    let phrase = ["frozen by compliance".to_owned()];
    assert_eq!(judge(KEY.says(429, "Frozen by Compliance: dry"), &own, &phrase), "auth, Banned, connection"); // TS-05
}

#[test]
fn a_restated_status_is_the_status_and_its_wait_is_for_the_client_only() {
    let provider = ProviderRules {
        restatements: vec![Restatement {
            id: "quota".to_owned(),
            from_statuses: vec![403, 400, 503],
            to_status: 429,
            text_markers: vec!["额度不足".to_owned()],
            exclude_markers: vec!["无权访问".to_owned()],
            default_retry_after_ms: Some(60_000),
        }],
        ..ProviderRules::default()
    };
    let rules = Rules { provider: &provider, operator: &[], banned_signals: &[] };
    for (case, status, advertised) in [
        (KEY.says(403, "用户额度不足"), 429, Some(60)), // SR-01
        (KEY.says(403, "用户额度不足").header("retry-after", "10"), 429, Some(10)), // SR-03
        (KEY.says(403, "no").body("{\"m\":\"额度不足\"}"), 429, Some(60)), // SR-12
        (KEY.says(403, "no").body(r#"{"m":"\u989d\u5ea6\u4e0d\u8db3"}"#), 429, Some(60)),
        (KEY.says(503, "额度不足"), 429, Some(60)), // SR-10: a restated status does not trip
        (KEY.says(403, "额度不足 无权访问模型"), 403, None), // SR-04
        (KEY.says(500, "额度不足"), 500, None),     // SR-06
    ] {
        let Outcome::Failure(failure) = case.judged(rules, MIDNIGHT).outcome else { panic!("a failure") };
        assert_eq!(failure.status, Some(status), "{}", case.message);
        assert_eq!(failure.advertised_retry_after, advertised.map(Millis::seconds), "{}", case.message);
        assert_eq!(failure.breaker == BreakerCharge::Counts, status == 500);
        if status == 429 && advertised == Some(60) {
            assert_eq!((failure.hint, failure.cooldown), (None, Cooldown::Ladder)); // SR-07
        }
    }
}
