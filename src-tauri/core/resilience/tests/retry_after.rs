//! `Retry-After` as RFC 9110 §10.2.3 and §5.6.7 define it, and as proxies in the field read it.
//!
//! Facts from the standard: delta seconds are digits only; a date is an IMF-fixdate, and the two obsolete forms (RFC 850,
//! asctime) must be accepted. From linkerd2-proxy (`linkerd/http/classify/src/retry_after.rs`): surrounding blanks are
//! ignored, seconds are tried before dates, a value that is neither is no hint, and a long wait is bounded by a maximum,
//! stated as seconds or as a date alike. That proxy takes zero and a date that has passed for a wait of zero and numbers
//! beyond 64 bits for no hint; here the first are no hint, which is the same to whoever waits, and the last is bounded.
//!
//! The extensions of our own specification (5.1) stand in `retry_hints.rs`.

#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]

use domain::{Hint, Millis, Provenance, Timestamp};
use http::{HeaderMap, HeaderValue};
use resilience::failure::retry_hint::{LONGEST, read};

/// Sun, 06 Nov 1994 08:49:37 GMT, the date of the standard's own examples.
const EXAMPLE: Timestamp = Timestamp::from_millis(784_111_777_000);

fn wait(value: &str, now: Timestamp) -> Option<Millis> {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_str(value).expect("a header value"));
    let hint = read(&headers, "", "", now)?;
    assert_eq!(hint.provenance, Provenance::Authoritative);
    Some(hint.delay)
}

#[test]
fn delta_seconds_are_digits_and_nothing_else() {
    for (value, expected) in [
        ("120", Some(Millis::seconds(120))),
        ("1", Some(Millis::seconds(1))),
        ("007", Some(Millis::seconds(7))),
        ("  42  ", Some(Millis::seconds(42))), // RH-02
        ("0", None),                           // RH-01
        ("", None),                            // RH-28
        (" ", None),
        ("-1", None),
        ("+1", None),
        ("1.5", None),
        ("1e3", None),
        ("0x10", None),
        ("NaN", None),
        ("soon", None),
        ("12,5", None),
        ("120 seconds later", None),
        ("2592000", Some(LONGEST)),
        ("7776000", Some(LONGEST)), // RH-27
        ("18446744073709551615", Some(LONGEST)),
        ("99999999999999999999999", Some(LONGEST)),
    ] {
        assert_eq!(wait(value, EXAMPLE), expected, "{value:?}");
    }
}

#[test]
fn dates_are_read_in_all_three_forms_and_only_ahead() {
    let before = EXAMPLE - Millis::seconds(90);
    for (value, now, expected) in [
        ("Sun, 06 Nov 1994 08:49:37 GMT", before, Some(90)), // RH-03
        ("Sunday, 06-Nov-94 08:49:37 GMT", before, Some(90)),
        ("Sun Nov  6 08:49:37 1994", before, Some(90)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", EXAMPLE, None),
        ("Sun, 06 Nov 1994 08:49:37 GMT", EXAMPLE + Millis::new(1), None), // RH-04
        ("Thu, 01 Jan 1970 00:00:00 GMT", EXAMPLE, None),
        ("Sun, 06 Nov 1994 08:49:37 PST", before, None),
        ("Sun, 32 Nov 1994 08:49:37 GMT", before, None),
        ("Sun, 06 Nov 1994 24:49:37 GMT", before, None),
        ("06 Nov 1994", before, None),
    ] {
        assert_eq!(wait(value, now), expected.map(Millis::seconds), "{value:?} at {now:?}");
    }
    assert_eq!(wait("Fri, 31 Dec 9999 23:59:59 GMT", EXAMPLE), Some(LONGEST));
}

#[test]
fn a_value_that_is_no_text_is_no_hint() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_bytes(b"\xff30").expect("opaque bytes"));
    assert_eq!(read(&headers, "", "", EXAMPLE), None);
}

#[test]
fn the_first_of_several_values_is_read() {
    let mut headers = HeaderMap::new();
    headers.append("retry-after", HeaderValue::from_static("10"));
    headers.append("retry-after", HeaderValue::from_static("20"));
    let hint = Hint { delay: Millis::seconds(10), provenance: Provenance::Authoritative };
    assert_eq!(read(&headers, "", "", EXAMPLE), Some(hint));
}
