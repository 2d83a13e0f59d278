//! `Retry-After`, as RFC 9110 §10.2.3 defines it: delta seconds or an HTTP date.

use std::time::UNIX_EPOCH;

use domain::{Millis, Timestamp};

/// How long the upstream asks us to wait from `now`. A date in the past is no wait; nonsense is no hint.
pub fn retry_after(text: &str, now: Timestamp) -> Option<Millis> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Millis::seconds(text.parse().unwrap_or(u64::MAX)));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    let since_epoch = at.duration_since(UNIX_EPOCH).ok()?;
    let at = Timestamp::from_millis(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX));
    Some(at.since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form() {
        // 1994-11-06 08:49:37 UTC
        let date = Timestamp::from_millis(784_111_777_000);
        for (text, now, expected) in [
            ("0", Timestamp::ZERO, Some(Millis::ZERO)),
            (" 120 ", Timestamp::ZERO, Some(Millis::seconds(120))),
            ("561635", Timestamp::ZERO, Some(Millis::seconds(561_635))),
            ("99999999999999999999999", Timestamp::ZERO, Some(Millis::MAX)),
            ("-1", Timestamp::ZERO, None),
            ("1.5", Timestamp::ZERO, None),
            ("soon", Timestamp::ZERO, None),
            ("", Timestamp::ZERO, None),
            ("Sun, 06 Nov 1994 08:49:37 GMT", date - Millis::seconds(5), Some(Millis::seconds(5))),
            ("Sunday, 06-Nov-94 08:49:37 GMT", date - Millis::seconds(5), Some(Millis::seconds(5))),
            ("Sun Nov  6 08:49:37 1994", date - Millis::seconds(5), Some(Millis::seconds(5))),
            ("Sun, 06 Nov 1994 08:49:37 GMT", date + Millis::seconds(5), Some(Millis::ZERO)),
        ] {
            assert_eq!(retry_after(text, now), expected, "{text:?}");
        }
    }
}
