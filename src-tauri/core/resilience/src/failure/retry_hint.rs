//! When may we come back? (resilience specification, 5.)
//!
//! Four sources, the most trustworthy first: `Retry-After`, the reset headers, what the JSON body states, and prose. The
//! first that names a wait greater than zero is taken; an instant that has passed, zero and nonsense are no hint.
//!
//! Upstreams write what they like, so nothing here backtracks: every byte is looked at a bounded number of times, however
//! the text is made (RH-31).

mod duration;
mod instant;
mod prose;

use std::time::UNIX_EPOCH;

use domain::{Hint, Millis, Provenance, Timestamp};
use http::HeaderMap;
use serde_json::Value;

/// No hint is longer.
pub const LONGEST: Millis = Millis::days(30);
/// No `retryDelay`, and no "please retry in", is longer.
const LONGEST_RETRY_DELAY: Millis = Millis::hours(24);
/// From here on a bare number is an instant in seconds …
const EPOCH_SECONDS: u64 = 1_700_000_000;
/// … and from here on in milliseconds.
const EPOCH_MILLIS: u64 = 10_000_000_000;

/// Headers that say when a limit is lifted, each with the one that says how much is left.
const RESET_HEADERS: [(&str, &str); 8] = [
    ("x-ratelimit-reset", "x-ratelimit-remaining"),
    ("x-ratelimit-reset-requests", "x-ratelimit-remaining-requests"),
    ("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"),
    ("anthropic-ratelimit-unified-reset", "anthropic-ratelimit-unified-remaining"),
    ("anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-remaining"),
    ("anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining"),
    ("anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-input-tokens-remaining"),
    ("anthropic-ratelimit-output-tokens-reset", "anthropic-ratelimit-output-tokens-remaining"),
];

/// How long the upstream asks us to stay away from `now`, at most [`LONGEST`]. `message` is searched before `body`.
pub fn read(headers: &HeaderMap, body: &str, message: &str, now: Timestamp) -> Option<Hint> {
    let json = parse(body);
    let authoritative = |delay| Hint { delay, provenance: Provenance::Authoritative };
    let stated = |delay| Hint { delay, provenance: Provenance::Stated };
    let hint = from_retry_after(headers, now)
        .or_else(|| from_reset_headers(headers, now))
        .or_else(|| from_retry_info(json.as_ref()))
        .map(authoritative)
        .or_else(|| from_json(json.as_ref(), now).map(stated))
        .or_else(|| prose::read(message, now).or_else(|| prose::read(body, now)).map(stated))?;
    Some(Hint { delay: hint.delay.min(LONGEST), ..hint })
}

fn parse(body: &str) -> Option<Value> {
    body.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(body).ok()).flatten()
}

fn from_retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Millis> {
    let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok()).map(str::trim);
    let exact = text("retry-after-ms").and_then(duration::number).map(|number| Millis::new(number.whole));
    exact.and_then(some).or_else(|| retry_after(text("retry-after")?, now))
}

/// Whole seconds, an HTTP date, or a duration.
fn retry_after(text: &str, now: Timestamp) -> Option<Millis> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return some(Millis::seconds(text.parse().unwrap_or(u64::MAX)));
    }
    if let Some(length) = duration::whole(text) {
        return some(length);
    }
    let since_epoch = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    from_epoch(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX), now)
}

/// A limit of which something is left does not hold the request up, so its reset is no answer.
fn from_reset_headers(headers: &HeaderMap, now: Timestamp) -> Option<Millis> {
    let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok()).map(str::trim);
    let is_used_up = |name| text(name).and_then(duration::number).is_none_or(|left| left.whole == 0);
    RESET_HEADERS
        .iter()
        .filter(|(_, remaining)| is_used_up(*remaining))
        .find_map(|(reset, _)| text(*reset).and_then(|text| reset_value(text, now)))
}

/// A header's word for when a limit is lifted: seconds, an instant in seconds or milliseconds, ISO 8601, a duration.
pub(crate) fn reset_value(text: &str, now: Timestamp) -> Option<Millis> {
    if let Some(number) = duration::number(text) {
        return reset_number(number, now);
    }
    duration::whole(text).and_then(some).or_else(|| until(instant::whole(text)?, now))
}

/// An instant where it is large enough for one, else seconds from now.
fn reset_number(number: duration::Number, now: Timestamp) -> Option<Millis> {
    match number.whole {
        millis if millis > EPOCH_MILLIS => from_epoch(millis, now),
        seconds if seconds > EPOCH_SECONDS => from_epoch(number.as_millis(), now),
        _ => some(Millis::new(number.as_millis())),
    }
}

fn from_retry_info(json: Option<&Value>) -> Option<Millis> {
    let details = objects(json?).find_map(|object| object.get("details")?.as_array())?;
    let is_retry_info = |detail: &&Value| {
        detail.get("@type").and_then(Value::as_str).is_some_and(|name| name.ends_with("google.rpc.RetryInfo"))
    };
    let delay = details.iter().find(is_retry_info)?.get("retryDelay")?;
    seconds_or_duration(delay).and_then(some).map(|delay| delay.min(LONGEST_RETRY_DELAY))
}

fn from_json(json: Option<&Value>, now: Timestamp) -> Option<Millis> {
    objects(json?).find_map(|object| {
        let number = |keys: &[&str]| keys.iter().find_map(|key| number_of(object.get(*key)?));
        let millis = || number(&["retry_after_ms", "retryAfterMs"]).and_then(|number| some(Millis::new(number.whole)));
        let seconds = || number(&["resets_in_seconds"]).and_then(|number| some(Millis::new(number.as_millis())));
        let wait = || {
            ["retryAfter", "retry_after", "resets_at"].iter().find_map(|key| match object.get(*key)? {
                Value::String(text) => reset_value(text.trim(), now),
                value => reset_number(number_of(value)?, now),
            })
        };
        millis().or_else(seconds).or_else(wait)
    })
}

/// The error object, then what holds it; of a list, its first element.
fn objects(json: &Value) -> impl Iterator<Item = &Value> {
    let outer = json.as_array().map_or(Some(json), |list| list.first());
    let inner = outer.and_then(|outer| outer.get("error"));
    [inner, outer].into_iter().flatten().filter(|value| value.is_object())
}

fn seconds_or_duration(value: &Value) -> Option<Millis> {
    number_of(value).map(|number| Millis::new(number.as_millis())).or_else(|| duration::whole(value.as_str()?))
}

fn number_of(value: &Value) -> Option<duration::Number> {
    match value {
        Value::Number(number) => duration::number(&number.to_string()),
        Value::String(text) => duration::number(text.trim()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn from_epoch(millis: u64, now: Timestamp) -> Option<Millis> {
    until(Timestamp::from_millis(millis), now)
}

fn until(at: Timestamp, now: Timestamp) -> Option<Millis> {
    some(at.since(now))
}

fn some(wait: Millis) -> Option<Millis> {
    (!wait.is_zero()).then_some(wait)
}
