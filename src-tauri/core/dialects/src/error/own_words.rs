//! What of an upstream's error a client of the same dialect is told in the upstream's own words (gateway specification, 1.8).
//!
//! An error is written by strangers: behind a status there may be a stack, a file's path, somebody's key. So nothing is passed
//! on that is not known by name. Known are the word for the kind of error, the parameter it is about, and when to come back,
//! which SDKs and agents act upon; message and code are told in any dialect and are no part of this.

use domain::Dialect;
use serde_json::{Map, Value};

use super::read::is_google_status;
use super::sanitize;

/// Longest word, in characters: a kind, a code, the name of a parameter.
const LONGEST_WORD: usize = 128;
/// Longest text among the details, in characters.
const LONGEST_TEXT: usize = 512;
/// Members of a list or an object, and levels of either (1.8, `upstream_details`).
const MEMBERS: usize = 32;
const DEPTH: usize = 4;

/// When to come back, in the words that upstreams use for it; Codex reads the plan beside them.
const HINTS: [&str; 8] = [
    "retry_after",
    "retryAfter",
    "retry_after_ms",
    "retryAfterMs",
    "resets_at",
    "reset_at",
    "resets_in_seconds",
    "plan_type",
];

/// Google's types of details that its clients decide by: what ran out, and when to come back.
const DETAILS: [&str; 3] = [
    "type.googleapis.com/google.rpc.ErrorInfo",
    "type.googleapis.com/google.rpc.QuotaFailure",
    "type.googleapis.com/google.rpc.RetryInfo",
];

/// Parts of a name whose value is nobody's business (1.8).
const PRIVATE: [&str; 10] = ["stack", "trace", "path", "file", "cwd", "dir", "password", "secret", "token", "key"];

/// An upstream's own words, without what is not for clients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnWords {
    /// `type`; of Google's errors `status`.
    pub(crate) kind: Option<String>,
    pub(crate) param: Option<String>,
    /// Members that say when to come back.
    pub(crate) hints: Map<String, Value>,
    /// Google's `details`.
    pub(crate) details: Vec<Value>,
}

impl OwnWords {
    /// Of an error body of this dialect; what is no JSON has none.
    pub fn read(dialect: Dialect, body: &[u8]) -> OwnWords {
        let Ok(value) = serde_json::from_slice::<Value>(body) else { return OwnWords::default() };
        // Google puts the error into an array where a stream was asked for.
        let value = value.as_array().and_then(|elements| elements.first()).unwrap_or(&value);
        let Some(inner) = value.get("error").unwrap_or(value).as_object() else { return OwnWords::default() };
        let member = |name: &str| inner.get(name).and_then(Value::as_str).map(word).filter(|word| !word.is_empty());
        if dialect == Dialect::Gemini {
            let details = inner.get("details").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            return OwnWords {
                kind: member("status").filter(|status| is_google_status(status)),
                details: details.iter().filter_map(known_detail).take(MEMBERS).collect(),
                ..OwnWords::default()
            };
        }
        let hint = |name: &&str| Some(((*name).to_owned(), plain(inner.get(*name)?)?));
        OwnWords {
            kind: member("type").filter(|kind| kind != "error"),
            param: member("param"),
            hints: HINTS.iter().filter_map(hint).collect(),
            details: Vec::new(),
        }
    }
}

/// A word from outside as it may be told: sanitised, and no longer than a word is.
pub fn word(text: &str) -> String {
    shortened(&sanitize(text), LONGEST_WORD)
}

fn shortened(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// A number or a text.
fn plain(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => Some(Value::String(word(text))),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn known_detail(detail: &Value) -> Option<Value> {
    let kind = detail.get("@type")?.as_str().filter(|kind| DETAILS.contains(kind))?;
    let mut clean = cleaned(detail, DEPTH)?;
    clean.as_object_mut()?.insert("@type".to_owned(), kind.into());
    Some(clean)
}

/// A copy without private members and secrets, down to so many levels.
fn cleaned(value: &Value, levels: usize) -> Option<Value> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(value.clone()),
        Value::String(text) => Some(Value::String(shortened(&sanitize(text), LONGEST_TEXT))),
        Value::Array(_) | Value::Object(_) if levels == 0 => None,
        Value::Array(elements) => {
            Some(elements.iter().take(MEMBERS).filter_map(|element| cleaned(element, levels - 1)).collect())
        }
        Value::Object(members) => {
            let public = members.iter().filter(|(name, _)| !is_private(name)).take(MEMBERS);
            let clean = public.filter_map(|(name, value)| Some((word(name), cleaned(value, levels - 1)?)));
            Some(Value::Object(clean.collect()))
        }
    }
}

fn is_private(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PRIVATE.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(dialect: Dialect, body: &Value) -> OwnWords {
        OwnWords::read(dialect, body.to_string().as_bytes())
    }

    #[test]
    fn what_is_known_by_name_stays_and_nothing_else() {
        let body = json!({ "error": {
            "message": "m", "type": "usage_limit_reached", "code": 429, "param": "model", "plan_type": "plus",
            "resets_in_seconds": 60, "retry_after": "7", "stack": "at /home/bob/x.js:1", "internal": { "a": 1 }, "resets_at": [1],
        }, "debug": "x" });
        let words = read(Dialect::Chat, &body);
        assert_eq!((words.kind.as_deref(), words.param.as_deref()), (Some("usage_limit_reached"), Some("model")));
        assert_eq!(
            Value::Object(words.hints),
            json!({ "retry_after": "7", "resets_in_seconds": 60, "plan_type": "plus" })
        );
    }

    #[test]
    fn words_are_sanitised_and_short() {
        let body = json!({ "error": {
            "type": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD", "param": "y".repeat(9_000), "resets_at": "mail bob@example.com",
        } });
        let words = read(Dialect::Responses, &body);
        assert_eq!(words.kind.as_deref(), Some("<redacted>"));
        assert!(words.param.is_some_and(|param| param.len() <= LONGEST_WORD));
        assert!(!words.hints["resets_at"].to_string().contains("bob"));
    }

    #[test]
    fn of_googles_details_those_stay_that_its_clients_decide_by() {
        let quota = json!({ "@type": DETAILS[1], "violations": [{
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            "quotaDimensions": { "location": "global", "model": "gemini-2.5-pro" }, "quotaValue": "50",
        }] });
        let wait = json!({ "@type": DETAILS[2], "retryDelay": "37s" });
        let info = json!({ "@type": DETAILS[0], "reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com" });
        let mut told = info.clone();
        told["metadata"] = json!({ "apiKey": "AIzaSyA0123456789abcdefghijklmnopqrstuvw", "filePath": "/srv/x" });
        let debug = json!({ "@type": "type.googleapis.com/google.rpc.DebugInfo", "stackEntries": ["/srv/x.cc:1"] });
        let error = json!({ "code": 429, "status": "RESOURCE_EXHAUSTED", "details": [quota, debug, wait, told] });
        let mut info = info;
        info["metadata"] = json!({});
        for body in [json!({ "error": error }), json!([{ "error": error }])] {
            let words = read(Dialect::Gemini, &body);
            assert_eq!(words.kind.as_deref(), Some("RESOURCE_EXHAUSTED"));
            assert_eq!(words.details, [quota.clone(), wait.clone(), info.clone()]);
        }
        assert_eq!(read(Dialect::Gemini, &json!({ "error": { "status": "BROKEN" } })), OwnWords::default());
    }

    #[test]
    fn anything_is_survived() {
        for body in
            [&b""[..], b"[]", b"[[]]", b"null", b"{\"error\":[]}", b"{\"error\":\"x\"}", b"{\"error\":{\"type\":{}"]
        {
            for dialect in Dialect::ALL {
                assert_eq!(OwnWords::read(dialect, body), OwnWords::default());
            }
        }
        let deep = format!("{}1{}", "[".repeat(90), "]".repeat(90));
        let detail = format!(r#"{{"error":{{"details":[{{"@type":"{}","x":{deep}}}]}}}}"#, DETAILS[2]);
        assert_eq!(OwnWords::read(Dialect::Gemini, detail.as_bytes()).details.len(), 1);
    }
}
