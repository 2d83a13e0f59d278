//! Headers of a reply, built from nothing: what of the upstream's is passed on is named here.

use domain::wire::header;
use domain::{Millis, Usage};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::Step;
use crate::record::Recorder;

/// Upstream headers that clients act on: limits they pace themselves by, ids they quote to the vendor.
const PASSED_ON: [&str; 3] = ["content-type", "request-id", "openai-processing-ms"];
const PASSED_ON_PREFIXES: [&str; 5] =
    ["anthropic-ratelimit-", "anthropic-organization-id", "x-ratelimit-", "ratelimit-", "x-codex-"];

/// Copies the named headers of an upstream reply.
pub(crate) fn from_upstream(upstream: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(16);
    for (name, value) in upstream {
        let text = name.as_str();
        if PASSED_ON.contains(&text) || PASSED_ON_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
            headers.append(name.clone(), value.clone());
        }
    }
    headers
}

/// What a stream needs so that nothing between us and the client holds it back (gateway specification, 1.9).
pub(crate) fn for_stream(headers: &mut HeaderMap) {
    headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    headers.remove(http::header::CONTENT_LENGTH);
}

/// Identification of the reply (gateway specification, 1.7).
pub(crate) fn identify(headers: &mut HeaderMap, version: &'static str, request_id: &str) {
    headers.insert(HeaderName::from_static(header::VERSION), HeaderValue::from_static(version));
    if let Some(id) = printable(request_id) {
        headers.insert(HeaderName::from_static(header::REQUEST_ID), id.clone());
        headers.insert(HeaderName::from_static(header::X_REQUEST_ID), id);
    }
}

/// Which target served (gateway specification, 1.7; specification's decision 6).
pub(crate) fn served(
    headers: &mut HeaderMap,
    gateway: &Gateway,
    request: &ClientRequest,
    step: &Step,
    recorder: &Recorder,
) {
    let latency = gateway.now().since(request.arrived).as_millis();
    let catalog = gateway.catalog();
    let provider = catalog.get(&step.candidate.provider).map_or(step.candidate.provider.as_str(), |p| p.alias.as_str());
    set(
        headers,
        header::DECISION,
        &format!("strategy={}; provider={provider}; latency_ms={latency}", recorder.strategy()),
    );
    set(headers, header::PROVIDER, step.candidate.provider.as_str());
    set(headers, header::MODEL, &step.candidate.model);
    set(headers, header::CONNECTION, step.candidate.connection.as_str());
    set(headers, header::LATENCY_MS, &latency.to_string());
    if !recorder.journey.attempts.is_empty() {
        set(headers, header::FALLBACK_ATTEMPTS, &recorder.journey.attempts.len().to_string());
    }
    if !recorder.journey.warnings.is_empty() {
        set(headers, header::WARNINGS, &recorder.journey.warnings.join(","));
    }
    if let Some(tag) = request.session_tag() {
        set(headers, header::SESSION_ID, &tag);
    }
}

/// What the answer consumed: known only for whole bodies.
pub(crate) fn counted(headers: &mut HeaderMap, usage: &Usage, cost: Option<f64>) {
    if usage.estimated {
        return;
    }
    if let Some(input) = usage.input() {
        set(headers, header::TOKENS_IN, &input.to_string());
    }
    if let Some(output) = usage.output {
        set(headers, header::TOKENS_OUT, &output.to_string());
    }
    if let Some(cost) = cost {
        set(headers, header::RESPONSE_COST, &format!("{cost:.10}"));
    }
}

/// Whole seconds, at least one (gateway specification, 1.7); whatever an upstream wrote there is replaced.
pub(crate) fn set_retry_after(headers: &mut HeaderMap, wait: Option<Millis>) {
    headers.remove(http::header::RETRY_AFTER);
    if let Some(wait) = wait {
        headers.insert(http::header::RETRY_AFTER, HeaderValue::from(wait.as_retry_after_seconds()));
    }
}

/// Sets one of our own headers, if its value can stand in a header at all.
pub(crate) fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Some(value) = printable(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// `text` without the characters that a header cannot carry; `None` when nothing is left.
pub(crate) fn printable(text: &str) -> Option<HeaderValue> {
    if let Ok(value) = HeaderValue::from_str(text)
        && text.is_ascii()
    {
        return Some(value);
    }
    let clean: String = text.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
    if clean.is_empty() { None } else { HeaderValue::from_str(&clean).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_headers_pass() {
        let mut upstream = HeaderMap::new();
        for name in
            ["content-type", "set-cookie", "server", "x-ratelimit-remaining-requests", "connection", "x-internal"]
        {
            upstream.insert(HeaderName::from_static(name), HeaderValue::from_static("1"));
        }
        let passed = from_upstream(&upstream);
        assert_eq!(passed.len(), 2);
        assert!(passed.contains_key("content-type") && passed.contains_key("x-ratelimit-remaining-requests"));
    }

    #[test]
    fn a_value_cannot_smuggle_a_line_break() {
        assert_eq!(
            printable("m\r\nset-cookie: x").and_then(|v| v.to_str().ok().map(str::to_owned)).as_deref(),
            Some("mset-cookie: x")
        );
        assert_eq!(printable("\u{1F600}"), None);
        assert_eq!(printable("plain").as_ref().map(HeaderValue::as_bytes), Some(&b"plain"[..]));
    }
}
