//! What upstreams say, sorted by what it means (resilience specification, 2.5, 6.2, 6.3, 6.5 and 7.3).
//!
//! Phrases are lower case and are looked for anywhere in a lower-case text.

pub(super) const CREDITS: [&str; 18] = [
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
];

/// Of these, what means an empty purse even when the status only says "slow down".
pub(super) const EMPTY_PURSE: [&str; 12] = [
    "insufficient_g1_credits_balance",
    "billing_hard_limit_reached",
    "credit_balance_too_low",
    "your credit balance is too low",
    "credits exhausted",
    "out of credits",
    "insufficient balance",
    "insufficient_balance",
    "insufficient account balance",
    "insufficient credit",
    "exhausted all your credits",
    "enable overages",
];

/// A credential that a refresh may cure; signed-in accounts only.
pub(super) const STALE_TOKEN: [&str; 6] = [
    "invalid authentication credentials",
    "oauth 2",
    "login cookie",
    "valid authentication credential",
    "invalid credentials",
    "re-authenticate your cline account",
];

pub(super) const RETIRED: [&str; 4] = ["no longer available", "no longer supported", "end-of-life", "end of life"];
pub(super) const MODEL_RETIRED: [&str; 4] = ["deprecated", "retired", "discontinued", "decommissioned"];
pub(super) const MOVED: [&str; 3] = ["endpoint has moved", "no longer works", "update your base url"];
pub(super) const UNPAID: [&str; 4] = ["billing", "invoice", "payment", "spending limit"];
pub(super) const PER_DAY: [&str; 4] = ["perday", "per day", "per_day", "per-day"];
pub(super) const PER_MINUTE: [&str; 4] = ["perminute", "per minute", "per_minute", "per-minute"];
pub(super) const TOKENS_PER_DAY: [&str; 3] = ["tokens per day", "tpd rate limit", "(tpd)"];
pub(super) const DAILY: [&str; 4] = ["today's quota", "daily quota", "try again tomorrow", "daily free allocation"];
pub(super) const SUBSCRIPTION: [&str; 6] = [
    "usage limit reached",
    "usage limit has been",
    "claude pro usage limit",
    "you've reached your usage limit",
    "you have reached your usage limit",
    "usage_limit_reached",
];
pub(super) const CLAUDE_SUBSCRIPTION: &str = "this request would exceed your account's rate limit";
pub(super) const WEEKLY: [&str; 3] = ["weekly usage limit", "weekly limit reached", "reached your weekly"];
pub(super) const SESSION: [&str; 2] = ["session usage limit", "session limit reached"];

pub(super) const ROBOT: [&str; 5] =
    ["browser_signature_banned", "error code: 1010", "error 1010", "\"retryable\":false", "\"retryable\": false"];
pub(super) const WRONG_PLACE: [&str; 4] = [
    "unsupported_country_region_territory",
    "user location is not supported",
    "not available in your country",
    "not available in your region",
];
pub(super) const NO_PROJECT: [&str; 1] = ["has not been used in project"];
/// A 403 that speaks of a quota is judged by its words.
pub(super) const QUOTA_403: [&str; 2] = ["hour quota", "quota has been exceeded"];

pub(super) const RATE_LIMIT: [&str; 2] = ["rate limit", "too many requests"];
pub(super) const QUOTA: [&str; 9] = [
    "hour quota",
    "quota has been exceeded",
    "quota exceeded",
    "quota will reset",
    "exhausted your capacity",
    "quota exhausted",
    "free tier of the model has been exhausted",
    "out of extra usage",
    "extra usage required",
];
pub(super) const CAPACITY: [&str; 3] = ["capacity", "overloaded", "high demand"];

pub(super) const CREDENTIAL: [&str; 6] =
    ["api key", "api_key", "credential", "authentication", "access token", "bearer token"];
pub(super) const MODEL_DENIED: [&str; 9] = [
    "no access to model",
    "no access to the model",
    "not have access to model",
    "not have access to the model",
    "not have access to this model",
    "model access denied",
    "no permission to access model",
    "not allowed to use model",
    "无权访问模型",
];
pub(super) const MODEL_UNKNOWN: [&str; 9] = [
    "unknown model",
    "model not found",
    "model does not exist",
    "model is not supported",
    "model not supported",
    "not a valid model",
    "invalid model",
    "no such model",
    "unsupported model",
];
pub(super) const OVERFLOW: [&str; 11] = [
    "context length",
    "context_length",
    "maximum context",
    "context window",
    "too many tokens",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input token count exceeds",
    "exceeds the maximum number of tokens",
    "reduce the length of",
];
pub(super) const MALFORMED: [&str; 12] = [
    "invalid role",
    "unexpected role",
    "roles must alternate",
    "must alternate between",
    "without `tool_result`",
    "must be followed by tool messages",
    "must be a response to a preceeding message",
    "unexpected `tool_use_id`",
    "at least one message is required",
    "invalid schema",
    "invalid json",
    "could not parse the json",
];
pub(super) const DISGUISED_RATE_LIMIT: [&str; 6] =
    ["rate limit", "too many requests", "high-frequency", "non-compliant", "频繁", "频率"];

/// Things of the client's own that only the account which made them knows.
pub(super) const CLIENT_RESOURCE: [&str; 5] =
    ["previous_response", "previous response", "response with id", "item with id", "resource not found"];

/// Codes and types of replies that say nothing about the service (resilience specification, 2.6).
pub(super) const SCOPED_TO_REQUEST: [&str; 4] =
    ["context_length_exceeded", "upstream_empty_response", "upstream_response_failed", "combo_target_timeout"];
/// Refusals of a gateway's own queue.
pub(super) const LOCAL_QUEUE: [&str; 4] =
    ["rate_limit_queue_timeout", "rate_limit_queue_full", "rate_limit_queue_wedged", "local_queue_capacity"];
/// The end of a stream that a client gave up.
pub(super) const GIVEN_UP: [&str; 5] = [
    "aborterror",
    "controller is already closed",
    "request_signal_aborted",
    "client disconnected",
    "operation was aborted",
];

/// Whether a marker of one provider would be found in, or would find, a phrase by which everybody's empty purse is
/// recognised. Such a marker is refused (resilience specification, 18.5).
pub fn is_generic(marker: &str) -> bool {
    let marker = marker.to_lowercase();
    CREDITS.iter().chain(&EMPTY_PURSE).any(|phrase| phrase.contains(&marker) || marker.contains(phrase))
}

/// Whether any of the phrases occurs.
pub(super) fn any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| text.contains(phrase))
}
