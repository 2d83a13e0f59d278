//! One table per family, and whatever else may arrive.

use http::{HeaderName, HeaderValue};
use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn observed(headers: &[(&str, &str)]) -> Observed {
    let pair = |(name, value): &(&str, &str)| {
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    read(&headers.iter().map(pair).collect(), NOW)
}

fn quota(headers: &[(&str, &str)]) -> Quota {
    observed(headers).quota.expect("they speak of a quota")
}

fn seen(quota: &Quota, name: &str) -> Option<(Option<f64>, Option<u64>)> {
    let window = quota.windows.get(name)?;
    let rounded = window.percent_used.map(|used| (used * 1_000.0).round() / 1_000.0);
    Some((rounded, window.reset_at.map(|at| at.since(NOW).as_millis() / 1_000)))
}

#[test]
fn an_openai_style_reply_tells_rates() {
    let headers = [
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "15"),
        ("x-ratelimit-reset-requests", "1m30s"),
        ("x-ratelimit-limit-tokens", "1000"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "6m0s"),
    ];
    let quota = quota(&headers);
    assert_eq!(seen(&quota, "requests"), Some((Some(0.75), Some(90))));
    assert_eq!(seen(&quota, "tokens"), Some((Some(1.0), Some(360))));
    assert!(quota.limit_reached);
    let announced = observed(&headers).announced;
    let reset_at = Some(NOW + Millis::seconds(90));
    assert_eq!(announced.requests, Some(Allowance { limit: Some(60), remaining: Some(15), reset_at }));
    assert_eq!(announced.tokens_spent_until, Some(NOW + Millis::minutes(6)));
}

#[test]
fn an_anthropic_reply_tells_rates_with_instants() {
    let quota = quota(&[
        ("anthropic-ratelimit-requests-limit", "50"),
        ("anthropic-ratelimit-requests-remaining", "49"),
        ("anthropic-ratelimit-requests-reset", "2026-09-21T14:14:00Z"),
        ("anthropic-ratelimit-input-tokens-limit", "40000"),
        ("anthropic-ratelimit-input-tokens-remaining", "10000"),
        ("anthropic-ratelimit-output-tokens-limit", "8000"),
        ("anthropic-ratelimit-output-tokens-remaining", "8000"),
    ]);
    assert_eq!(seen(&quota, "requests"), Some((Some(0.02), Some(40))));
    assert_eq!(seen(&quota, "input_tokens"), Some((Some(0.75), None)));
    assert_eq!(seen(&quota, "output_tokens"), Some((Some(0.0), None)));
    assert!(!quota.limit_reached);
}

#[test]
fn a_claude_subscription_tells_windows_by_any_name_as_fractions() {
    let reset = "1790003600";
    let quota = quota(&[
        ("anthropic-ratelimit-unified-status", "allowed_warning"),
        ("anthropic-ratelimit-unified-reset", reset),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
        ("anthropic-ratelimit-unified-5h-utilization", "0.91"),
        ("anthropic-ratelimit-unified-5h-status", "allowed_warning"),
        ("anthropic-ratelimit-unified-7d-utilization", "1.2"),
        ("anthropic-ratelimit-unified-7d-reset", "1790600000"),
        ("anthropic-ratelimit-unified-7d_oi-utilization", "0.5"),
        ("anthropic-ratelimit-unified-7d_oi-reset", reset),
        ("anthropic-ratelimit-unified-overage-status", "rejected"),
        ("anthropic-ratelimit-unified-overage-in-use", "false"),
        ("anthropic-ratelimit-unified-slow-utilization", "0.1"),
    ]);
    assert_eq!(seen(&quota, "session"), Some((Some(0.91), Some(3_600))), "the claim's reset is its window's");
    assert_eq!(seen(&quota, "weekly"), Some((Some(1.0), Some(600_000))));
    assert_eq!(seen(&quota, "7d:oi"), Some((Some(0.5), Some(3_600))));
    assert_eq!(quota.windows.len(), 3);
    assert!(!quota.limit_reached, "a warning is no refusal");
}

#[test]
fn a_refused_claude_subscription_has_reached_its_limit() {
    let quota = quota(&[
        ("anthropic-ratelimit-unified-status", "rejected"),
        ("anthropic-ratelimit-unified-reset", "1790003600"),
        ("anthropic-ratelimit-unified-representative-claim", "seven_day"),
    ]);
    assert!(quota.limit_reached);
    assert_eq!(seen(&quota, "weekly"), Some((Some(1.0), Some(3_600))));
}

#[test]
fn codex_windows_are_told_apart_by_their_length() {
    let quota = quota(&[
        ("x-codex-primary-used-percent", "42.5"),
        ("x-codex-primary-window-minutes", "10080"),
        ("x-codex-primary-reset-at", "1790003600"),
        ("x-codex-secondary-used-percent", "100"),
        ("x-codex-secondary-window-minutes", "299"),
        ("x-codex-secondary-reset-after-seconds", "60"),
    ]);
    assert_eq!(seen(&quota, "weekly"), Some((Some(0.425), Some(3_600))));
    assert_eq!(seen(&quota, "session"), Some((Some(1.0), Some(60))));
    assert!(quota.limit_reached);
    let absent = observed(&[("x-codex-primary-used-percent", "5"), ("x-codex-primary-window-minutes", "0")]);
    assert_eq!(absent.quota, None);
    for (minutes, name) in [(43_800, "monthly"), (1_440, "daily"), (60, "60m")] {
        assert_eq!(by_length(minutes), name);
    }
}

#[test]
fn other_replies_tell_seconds_milliseconds_or_the_draft_form() {
    for (headers, expected) in [
        (&[("x-ratelimit-limit", "100"), ("x-ratelimit-remaining", "25"), ("x-ratelimit-reset", "1790000060")][..], 60),
        (&[("x-ratelimit-limit", "100"), ("x-ratelimit-remaining", "25"), ("x-ratelimit-reset", "1790000060000")], 60),
        (&[("ratelimit-limit", "100"), ("ratelimit-remaining", "25"), ("ratelimit-reset", "30")], 30),
        (&[("ratelimit", "limit=100, remaining=25, reset=30")], 30),
        (&[("ratelimit", "\"default\";r=25;t=30"), ("ratelimit-policy", "\"default\";q=100;w=60")], 30),
    ] {
        assert_eq!(seen(&quota(headers), "requests"), Some((Some(0.75), Some(expected))), "{headers:?}");
    }
    let exact = observed(&[("retry-after-ms", "1500"), ("retry-after", "2"), ("x-ratelimit-over-limit", "yes")]);
    assert_eq!((exact.announced.retry_after, exact.announced.over_limit), (Some(Millis::new(1_500)), true));
}

#[test]
fn what_is_not_said_is_unknown() {
    assert_eq!(observed(&[]), Observed::default());
    assert_eq!(observed(&[("x-ratelimit-limit-requests", "many")]), Observed::default());
    let limit_only = observed(&[("x-ratelimit-limit-requests", "60")]);
    assert_eq!(limit_only.quota, None, "a limit says nothing of its use");
    assert_eq!(limit_only.announced.requests.and_then(|allowance| allowance.limit), Some(60));
    let left_only = quota(&[("x-ratelimit-remaining-requests", "5")]);
    assert_eq!(seen(&left_only, "requests"), Some((None, None)));
    let no_figure = quota(&[("anthropic-ratelimit-unified-5h-status", "allowed")]);
    assert_eq!(seen(&no_figure, "session"), Some((None, None)));
}

fn any_header() -> impl Strategy<Value = (String, Vec<u8>)> {
    let name = prop::sample::select(vec![
        "anthropic-ratelimit-unified-5h-utilization",
        "anthropic-ratelimit-unified-7d_oi-reset",
        "anthropic-ratelimit-unified--status",
        "anthropic-ratelimit-unified-status",
        "anthropic-ratelimit-requests-limit",
        "x-ratelimit-limit-requests",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset",
        "x-codex-primary-used-percent",
        "x-codex-primary-window-minutes",
        "x-codex-primary-reset-at",
        "ratelimit",
        "ratelimit-policy",
        "retry-after-ms",
    ]);
    let value = prop_oneof![
        "[ -~]{0,20}".prop_map(String::into_bytes),
        any::<u64>().prop_map(|number| number.to_string().into_bytes()),
        any::<f64>().prop_map(|number| number.to_string().into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..20),
    ];
    (name.prop_map(str::to_owned), value)
}

proptest! {
    /// Nothing panics, every known fraction is one, and no reset lies further ahead than any hint may.
    #[test]
    fn whatever_arrives_only_bounded_figures_leave(headers in prop::collection::vec(any_header(), 0..8)) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                map.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), value);
            }
        }
        for window in read(&map, NOW).quota.iter().flat_map(|quota| quota.windows.values()) {
            prop_assert!(window.percent_used.is_none_or(|used| (0.0..=1.0).contains(&used)));
            prop_assert!(window.reset_at.is_none_or(|at| at <= NOW + retry_hint::LONGEST));
        }
    }
}
