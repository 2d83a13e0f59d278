use serde_json::json;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn read(form: UsageReport, report: &Value) -> Result<Quota, Unreadable> {
    form.read(report.to_string().as_bytes(), NOW)
}

fn used(quota: &Quota, name: &str) -> Option<f64> {
    quota.windows.get(name)?.percent_used
}

#[test]
fn claude_reports_percentages_by_name_and_any_of_them_may_be_missing() {
    let report = json!({
        "five_hour": { "utilization": 37.0, "resets_at": "2026-09-21T20:00:00.123456+00:00" },
        "seven_day": { "utilization": 12, "resets_at": null },
        "seven_day_opus": { "utilization": 100.0, "resets_at": "2026-09-25T00:00:00Z" },
        "seven_day_sonnet": null,
        "seven_day_oauth_apps": { "utilization": null, "resets_at": null },
        "extra_usage": { "is_enabled": true, "monthly_limit": 5_000, "used_credits": 5_000, "utilization": 100.0 },
    });
    let quota = read(UsageReport::Claude, &report).unwrap();
    assert_eq!(
        (used(&quota, "session"), used(&quota, "weekly"), used(&quota, "7d:opus")),
        (Some(0.37), Some(0.12), Some(1.0))
    );
    assert_eq!(quota.windows.len(), 3, "{quota:?}");
    assert_eq!(quota.windows["session"].reset_at, Some(Timestamp::from_millis(1_790_020_800_123)));
    assert!(!quota.limit_reached, "one model's week is not the account's");
    assert_eq!((quota.source, quota.fetched_at), (Source::Endpoint, NOW));
    let full = json!({ "five_hour": { "utilization": 100 } });
    assert!(read(UsageReport::Claude, &full).unwrap().limit_reached);
}

#[test]
fn codex_windows_are_told_apart_by_their_length_and_not_by_their_place() {
    let window = |percent: u32, seconds: u32, reset: Value| json!({ "used_percent": percent, "limit_window_seconds": seconds, "reset_at": reset, "reset_after_seconds": 60 });
    let at = NOW.as_millis() / 1_000 + 3_600;
    let report = json!({
        "plan_type": "plus",
        "rate_limit": {
            "allowed": true, "limit_reached": false,
            "primary_window": window(42, 604_800, json!(at)), "secondary_window": window(5, 18_000, Value::Null),
        },
        "credits": { "has_credits": true, "unlimited": false, "balance": "12.5" },
    });
    let quota = read(UsageReport::Codex, &report).unwrap();
    assert_eq!((used(&quota, "weekly"), used(&quota, "session")), (Some(0.42), Some(0.05)));
    assert_eq!(quota.windows["weekly"].reset_at, Some(NOW + Millis::hours(1)));
    assert_eq!(quota.windows["session"].reset_at, Some(NOW + Millis::minutes(1)));
    assert_eq!((quota.plan.as_deref(), quota.balances[0].remaining, quota.limit_reached), (Some("plus"), 12.5, false));
    let refused = json!({ "rate_limit": { "allowed": false, "primary_window": null } });
    let quota = read(UsageReport::Codex, &refused).unwrap();
    assert!(quota.limit_reached && quota.windows.is_empty());
}

#[test]
fn an_openrouter_key_has_a_window_only_where_it_has_a_limit() {
    for (limit, remaining, reset, expected, reached) in [
        (json!(10), json!(2.5), json!("weekly"), Some(("weekly", 0.75)), false),
        (json!(10), json!(0), json!("monthly"), Some(("monthly", 1.0)), true),
        (json!(10), json!(10), Value::Null, Some(("total", 0.0)), false),
        (Value::Null, Value::Null, Value::Null, None, false),
    ] {
        let data = json!({ "limit": limit, "limit_remaining": remaining, "limit_reset": reset, "usage": 7.5, "is_free_tier": true });
        let quota = read(UsageReport::Openrouter, &json!({ "data": data })).unwrap();
        let windows: Vec<_> = quota.windows.iter().map(|(name, window)| (name.as_str(), window.percent_used)).collect();
        assert_eq!(windows, expected.into_iter().map(|(name, used)| (name, Some(used))).collect::<Vec<_>>());
        assert_eq!((quota.limit_reached, quota.plan.as_deref()), (reached, Some("free")));
    }
}

#[test]
fn balances_are_read_as_numbers_also_where_they_are_text() {
    let report = json!({
        "is_available": true,
        "balance_infos": [
            { "currency": "CNY", "total_balance": "110.00", "granted_balance": "10.00", "topped_up_balance": "100.00" },
            { "currency": "USD", "total_balance": "n/a" },
        ],
    });
    let quota = read(UsageReport::Deepseek, &report).unwrap();
    assert_eq!(quota.balances, [Balance { currency: "CNY".to_owned(), remaining: 110.0, total: None }]);
    assert!(!quota.limit_reached && quota.windows.is_empty());
    assert!(read(UsageReport::Deepseek, &json!({ "is_available": false, "balance_infos": [] })).unwrap().limit_reached);
    let moonshot = |left: f64| json!({ "code": 0, "status": true, "data": { "available_balance": left, "voucher_balance": 1, "cash_balance": 0 } });
    let quota = read(UsageReport::Moonshot, &moonshot(49.58)).unwrap();
    assert_eq!((quota.balances[0].remaining, quota.limit_reached), (49.58, false));
    assert!(read(UsageReport::Moonshot, &moonshot(0.0)).unwrap().limit_reached);
}

#[test]
fn a_coding_plan_s_windows_are_told_apart_by_numbers_or_else_by_their_end() {
    let at = |length: Millis| json!((NOW + length).as_millis());
    let report = json!({
        "code": 200, "success": true,
        "data": { "level": "pro", "limits": [
            { "type": "TOKENS_LIMIT", "unit": 3, "number": 5, "percentage": 9, "nextResetTime": at(Millis::hours(2)) },
            { "type": "TOKENS_LIMIT", "unit": 6, "number": 1, "percentage": 50 },
            { "type": "TIME_LIMIT", "unit": 5, "number": 1, "percentage": 100, "nextResetTime": at(Millis::days(20)) },
        ] },
    });
    let quota = read(UsageReport::Glm, &report).unwrap();
    assert_eq!((used(&quota, "session"), used(&quota, "weekly"), quota.windows.len()), (Some(0.09), Some(0.5), 2));
    assert_eq!((quota.plan.as_deref(), quota.limit_reached), (Some("pro"), false));
    for (left, name) in [
        (Millis::hours(5), "session"),
        (Millis::hours(20), "daily"),
        (Millis::days(6), "weekly"),
        (Millis::days(20), "monthly"),
    ] {
        let limit = json!({ "type": "TOKENS_LIMIT", "unit": 1, "percentage": 1, "nextResetTime": at(left) });
        let quota = read(UsageReport::Glm, &json!({ "data": { "limits": [limit] } })).unwrap();
        assert!(quota.windows.contains_key(name), "{name}: {quota:?}");
    }
}

#[test]
fn a_refusal_behind_a_good_status_and_another_form_are_said_to_be_so() {
    for (form, report, words) in [
        (UsageReport::Glm, json!({ "code": 401, "success": false, "msg": "token expired\n" }), "token expired"),
        (UsageReport::Moonshot, json!({ "status": false, "message": "no such key" }), "no such key"),
        (UsageReport::Claude, json!({ "error": { "type": "authentication_error" } }), "form"),
        (UsageReport::Codex, json!([]), "form"),
        (UsageReport::Openrouter, json!({ "data": null }), "form"),
        (UsageReport::Deepseek, json!({}), "form"),
        (UsageReport::Glm, json!({ "data": {} }), "form"),
    ] {
        let error = read(form, &report).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{form:?}: {error}");
    }
    assert!(UsageReport::Claude.read(b"<html>", NOW).is_err());
}

#[test]
fn kimi_counts_in_text_and_tells_its_shorter_window_by_length() {
    let counts = |limit: &str, remaining: &str| json!({ "limit": limit, "used": "0", "remaining": remaining, "resetTime": "2026-09-25T00:00:00Z" });
    let report = json!({
        "usage": counts("2048", "512"),
        "limits": [
            { "window": { "duration": 300, "timeUnit": "TIME_UNIT_MINUTE" }, "detail": counts("200", "0") },
            { "window": { "duration": 1, "timeUnit": "TIME_UNIT_AGE" }, "detail": counts("1", "1") },
            { "window": { "duration": 2, "timeUnit": "TIME_UNIT_HOUR" }, "detail": counts("0", "0") },
        ],
    });
    let quota = read(UsageReport::Kimi, &report).unwrap();
    assert_eq!((used(&quota, "weekly"), used(&quota, "session"), quota.windows.len()), (Some(0.75), Some(1.0), 2));
    assert!(quota.limit_reached && quota.windows["weekly"].reset_at.is_some());
    assert!(read(UsageReport::Kimi, &json!({ "error": "no" })).is_err());
}
