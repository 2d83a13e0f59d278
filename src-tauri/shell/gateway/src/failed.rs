//! An attempt that failed before anything was promised: what is known of it, and how each kind of failure is put into words.

use bytes::Bytes;
use dialects::UpstreamError;
use dialects::error::OwnWords;
use dialects::translate::Refusal as Refused;
use domain::{Dialect, Reason};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use resilience::LocalLimit;
use resilience::failure::Diagnosis;
use serde::de::IgnoredAny;
use upstream::BuildError;

use crate::hold::StreamFailure;
use crate::ingress::ClientRequest;
use crate::judge::{EXECUTION_TIMEOUT, Judge, kind, overrun_message};
use crate::response_headers;

/// An attempt that failed before anything was promised.
pub(crate) struct Failed {
    pub(crate) diagnosis: Diagnosis,
    pub(crate) kind: &'static str,
    /// The HTTP status, or the one that an error inside a good answer states.
    pub(crate) status: Option<StatusCode>,
    /// One line, redacted.
    pub(crate) message: String,
    /// The upstream's refusal, to be passed on where it stands for all.
    pub(crate) refusal: Option<Refusal>,
    /// It refused the request for the earlier thinking in it (gateway specification, 2.7, rule 3).
    pub(crate) refuses_thoughts: bool,
    /// It refused the request for the number of its tools, and takes so many.
    pub(crate) tool_limit: Option<u32>,
    /// A limit of our own cut it off.
    pub(crate) limit: Option<LocalLimit>,
}

impl Failed {
    pub(crate) fn new(diagnosis: Diagnosis, status: Option<StatusCode>, message: String) -> Box<Failed> {
        let kind = kind(&diagnosis);
        Box::new(Failed {
            diagnosis,
            kind,
            status,
            message,
            refusal: None,
            refuses_thoughts: false,
            tool_limit: None,
            limit: None,
        })
    }
}

/// A refusal that can be passed on: of an upstream's, or of ours for what its dialect has no words for.
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) words: Words,
}

/// How a refusal is told, beside its message.
pub(crate) enum Words {
    /// In the very bytes of the upstream.
    Bytes(Bytes),
    /// In the client's envelope. `own`: the upstream speaks the client's dialect, and what may be kept of its words is.
    Told { code: String, own: Option<Box<OwnWords>> },
}

/// The status as it was repaired (resilience specification, 18).
pub(crate) fn restated(diagnosis: &Diagnosis) -> Option<StatusCode> {
    diagnosis.status.and_then(|status| StatusCode::from_u16(status).ok())
}

/// The request says something that the upstream's dialect has no words for: nobody is blamed.
pub(crate) fn not_translated(judge: &Judge, refusal: &Refused) -> Box<Failed> {
    let message = refusal.to_string();
    let status = StatusCode::BAD_REQUEST;
    let diagnosis = judge.http(400, &HeaderMap::new(), "", &UpstreamError::default(), &message);
    let words = Words::Told { code: refusal.code.to_owned(), own: None };
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let refusal = Some(Refusal { status, headers, words });
    Box::new(Failed { refusal, ..*Failed::new(diagnosis, Some(status), message) })
}

/// An upstream's refusal as the client may see it; none where a body in the client's dialect is no JSON at all. A fault
/// that is found with the request comes unchanged (specification's decision 29); of all else what the specification
/// names (1.8), told anew.
pub(crate) fn passable(
    request: &ClientRequest,
    upstream: Dialect,
    head: &http::response::Parts,
    body: Bytes,
    error: &UpstreamError,
) -> Option<Refusal> {
    let is_own = request.client == upstream;
    if is_own && !body.first().is_some_and(|byte| matches!(byte, b'{' | b'[')) {
        return None;
    }
    let mut headers = response_headers::from_upstream(&head.headers);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let is_about_request = matches!(head.status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY);
    // A body whose end was not read is no JSON any more.
    let words = if is_own && is_about_request && serde_json::from_slice::<IgnoredAny>(&body).is_ok() {
        Words::Bytes(body)
    } else {
        let own = is_own.then(|| Box::new(OwnWords::read(upstream, &body)));
        Words::Told { code: dialects::error::word(error.code_for_others()), own }
    };
    Some(Refusal { status: head.status, headers, words })
}

/// Nothing could be sent: the client's doing when its model name cannot be part of an address, else the owner's.
pub(crate) fn not_built(judge: &Judge, error: &BuildError) -> Box<Failed> {
    let message = error.to_string();
    match error {
        BuildError::Model(_) => {
            let diagnosis = judge.http(400, &HeaderMap::new(), "", &UpstreamError::default(), &message);
            Failed::new(diagnosis, Some(StatusCode::BAD_REQUEST), message)
        }
        BuildError::BaseUrl { .. } | BuildError::Header(_) => transport_failure(judge, Reason::Unreachable, &message),
    }
}

/// The request never left: a proxy of ours is down, or an address is not allowed.
pub(crate) fn kept_here(judge: &Judge, message: String) -> Box<Failed> {
    Box::new(Failed { kind: Reason::Unreachable.kind(), ..*Failed::new(judge.local(&message), None, message) })
}

pub(crate) fn transport_failure(judge: &Judge, reason: Reason, message: &str) -> Box<Failed> {
    stream_failure(judge, &StreamFailure::Broken { reason, message: message.to_owned() })
}

pub(crate) fn stream_failure(judge: &Judge, failure: &StreamFailure) -> Box<Failed> {
    let diagnosis = judge.stream(failure);
    let message = match failure {
        StreamFailure::Stated(error) => error.message.clone(),
        StreamFailure::Broken { message, .. } | StreamFailure::TooSlow(message) => message.clone(),
        StreamFailure::Overrun(limit) => overrun_message(*limit),
    };
    let limit = matches!(failure, StreamFailure::Overrun(_)).then_some(LocalLimit::ExecutionTimeout);
    let own = || limit.as_ref().and_then(|limit| StatusCode::from_u16(limit.status()).ok());
    let status = restated(&diagnosis).or_else(own);
    let mut failed = Failed::new(diagnosis, status, message);
    if limit.is_some() {
        (failed.kind, failed.limit) = (EXECUTION_TIMEOUT, limit);
    }
    failed
}
