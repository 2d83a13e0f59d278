//! The sources of a retry hint, in their order (resilience specification, 5; acceptance RH).

#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the running time is what is measured")]

use std::time::Instant;

use domain::{Hint, Millis, Provenance, Timestamp};
use http::{HeaderMap, HeaderName, HeaderValue};
use resilience::failure::retry_hint::{LONGEST, read};

/// 2026-08-09T12:00:00Z
const NOW: Timestamp = Timestamp::from_millis(1_786_276_800_000);

fn headers(listed: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        (HeaderName::try_from(*name).expect("a name"), HeaderValue::from_str(value).expect("a value"))
    };
    listed.iter().map(pair).collect()
}

#[test]
fn headers_come_in_their_order_and_in_every_form() {
    let retry = |value| vec![("retry-after", value)];
    let reset = |value| vec![("x-ratelimit-reset", value)];
    for (listed, millis) in [
        (retry("60s"), Some(60_000)),
        (retry("5m"), Some(300_000)), // RH-05
        (retry("2h"), Some(7_200_000)),
        (vec![("retry-after-ms", "1500"), ("retry-after", "9")], Some(1_500)),
        (vec![("retry-after-ms", "0"), ("retry-after", "9")], Some(9_000)),
        (reset("1786276860"), Some(60_000)),    // RH-06
        (reset("1786276860000"), Some(60_000)), // RH-07
        (reset("30"), Some(30_000)),            // RH-08
        (reset("0.5"), Some(500)),
        (reset("2026-08-09T12:01:00Z"), Some(60_000)),
        (vec![("x-ratelimit-reset-requests", "1m30s")], Some(90_000)), // RH-09
        (vec![("x-ratelimit-reset-tokens", "500ms")], Some(500)),      // RH-10
        (vec![("anthropic-ratelimit-requests-reset", "2026-08-09T12:00:10Z")], Some(10_000)),
        (vec![("anthropic-ratelimit-tokens-reset", "2026-08-09T12:00:10Z")], Some(10_000)),
        (vec![("anthropic-ratelimit-input-tokens-reset", "2026-08-09T12:00:10Z")], Some(10_000)),
        (vec![("anthropic-ratelimit-output-tokens-reset", "2026-08-09T12:00:10Z")], Some(10_000)),
        (vec![("anthropic-ratelimit-unified-reset", "1786276810")], Some(10_000)),
        (vec![("retry-after", "10"), ("x-ratelimit-reset", "60")], Some(10_000)),
        (vec![("retry-after", "soon"), ("x-ratelimit-reset", "60")], Some(60_000)),
        (vec![("x-ratelimit-reset-requests", "1s"), ("x-ratelimit-reset-tokens", "1m")], Some(1_000)),
        // What is not used up holds nothing up.
        (
            vec![
                ("x-ratelimit-reset-requests", "1s"),
                ("x-ratelimit-remaining-requests", "59"),
                ("x-ratelimit-reset-tokens", "1m"),
                ("x-ratelimit-remaining-tokens", "0"),
            ],
            Some(60_000),
        ),
        (reset("0"), None),
        (reset("-5"), None),
        (reset("NaN"), None),
        (reset(""), None),
        (reset("1786276799"), None),
        (reset("1786276800"), None),
        (reset("2020-01-01T00:00:00Z"), None),
        (reset("99999999999999999999999"), Some(LONGEST.as_millis())),
        (vec![], None),
    ] {
        let hint = millis.map(|millis| Hint { delay: Millis::new(millis), provenance: Provenance::Authoritative });
        assert_eq!(read(&headers(&listed), "", "", NOW), hint, "{listed:?}");
    }
}

fn retry_info(delay: &str) -> String {
    format!(
        r#"{{"error":{{"details":[{{"@type":"x"}},{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":{delay}}}]}}}}"#
    )
}

#[test]
fn the_json_body_states_waits_in_many_ways() {
    use Provenance::{Authoritative, Stated};
    for (body, found) in [
        (retry_info(r#""26s""#), Some((26_000, Authoritative))),
        (retry_info(r#""26.66s""#), Some((26_660, Authoritative))), // RH-11
        (retry_info(r#""1500ms""#), Some((1_500, Authoritative))),  // RH-12
        (retry_info(r#""2m""#), Some((120_000, Authoritative))),    // RH-13
        (retry_info(r#""1h""#), Some((3_600_000, Authoritative))),
        (retry_info(r#""45""#), Some((45_000, Authoritative))),
        (retry_info("45"), Some((45_000, Authoritative))),
        (retry_info(r#""100h""#), Some((86_400_000, Authoritative))),
        (retry_info(r#""0s""#), None),
        (retry_info(r#""-3s""#), None),
        (retry_info("null"), None),
        (format!("[{}]", retry_info(r#""26s""#)), Some((26_000, Authoritative))),
        (r#"{"retry_after_ms":2500}"#.to_owned(), Some((2_500, Stated))), // RH-14
        (r#"{"error":{"retryAfterMs":2500}}"#.to_owned(), Some((2_500, Stated))),
        (r#"{"error":{"retryAfter":"2026-08-09T12:00:20Z"}}"#.to_owned(), Some((20_000, Stated))), // RH-15
        (r#"{"retryAfter":"2026-08-09T12:00:20Z"}"#.to_owned(), Some((20_000, Stated))),
        (r#"{"retryAfter":"2026-08-09T11:00:20Z"}"#.to_owned(), None),
        (r#"{"error":{"retry_after":12}}"#.to_owned(), Some((12_000, Stated))),
        (r#"{"error":{"type":"usage_limit_reached","resets_in_seconds":90}}"#.to_owned(), Some((90_000, Stated))),
        (r#"{"error":{"resets_at":1786276890}}"#.to_owned(), Some((90_000, Stated))),
        (r#"{"retry_after_ms":-1}"#.to_owned(), None),
        (r#"{"retry_after_ms":"NaN"}"#.to_owned(), None),
        (r#"{"error":"try again in 3s"}"#.to_owned(), Some((3_000, Stated))), // EC-25
        (r#"{"error":"#.to_owned(), None),
        ("[]".to_owned(), None),
        (String::new(), None),
    ] {
        let hint = found.map(|(millis, provenance)| Hint { delay: Millis::new(millis), provenance });
        assert_eq!(read(&HeaderMap::new(), &body, "", NOW), hint, "{body}");
    }
}

#[test]
fn the_more_trustworthy_source_wins() {
    let text = "resets in 60 seconds";
    let header = read(&headers(&[("retry-after", "10")]), "", text, NOW);
    assert_eq!(header.map(|hint| hint.delay), Some(Millis::seconds(10))); // RH-25
    let info = read(&HeaderMap::new(), &retry_info(r#""20s""#), text, NOW);
    assert_eq!(info.map(|hint| hint.delay), Some(Millis::seconds(20))); // RH-26
    let prose = read(&HeaderMap::new(), "try again in 5s", text, NOW);
    assert_eq!(prose, Some(Hint { delay: Millis::minutes(1), provenance: Provenance::Stated }));
    assert_eq!(read(&HeaderMap::new(), "resets in 90 days", "", NOW).map(|hint| hint.delay), Some(LONGEST)); // RH-27
}

/// RH-31: the time for twice the text is about twice the time, never four times; measured generously, because machines
/// differ.
#[test]
fn a_hostile_body_takes_linear_time() {
    let hostile = |piece: &str, size: usize| piece.repeat(size / piece.len());
    for piece in
        ["reset in ", "reset in 1", "1", "reset after 1x1h1m1", "try again at 2026-", "retry   after  ", "{\"a\":"]
    {
        let time = |size: usize| {
            let text = hostile(piece, size);
            let start = Instant::now();
            assert_eq!(read(&HeaderMap::new(), &text, &text, NOW), None, "{piece:?}");
            start.elapsed()
        };
        let (small, large) = (time(1 << 17).max(time(1 << 17)), time(1 << 20));
        assert!(large < small * 60 + std::time::Duration::from_millis(200), "{piece:?}: {small:?} then {large:?}");
    }
}
