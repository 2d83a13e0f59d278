//! Stages 6 to 8 of one attempt: translate, send, and hold until something can be promised. One call, one attempt:
//! whether to try again is the loop's business.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use dialects::thoughts::{Thoughts, is_refusal_of_thoughts};
use dialects::{FinishReason, Framing, UpstreamError};
use domain::{Candidate, Millis, Operation, ProviderClass, Reason};
use futures_util::Stream;
use http::header::CONTENT_TYPE;
use http::response::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use resilience::stream_watchdog::{self, Budgets};
use resilience::tool_limit;
use tracing::{Instrument, Span, debug_span};
use upstream::{Call, Payload, Target, TransportError};

use crate::accounts;
use crate::aside;
use crate::attempt::{Attempt, Overrun};
use crate::egress;
use crate::exchange::{self, Back, maker_of};
use crate::failed::{
    Failed, kept_here, not_built, not_translated, passable, restated, stream_failure, transport_failure,
};
use crate::gateway::Gateway;
use crate::hold::{Held, StreamFailure, UpstreamStream, hold};
use crate::ingress::ClientRequest;
use crate::judge::Judge;
use crate::memo::Keepsake;
use crate::patience::{Limits, Patience};
use crate::peek::{Hint, Peeked, peek};
use crate::plan::Step;
use crate::record::Recorder;
use crate::redaction::Redaction;
use crate::response_headers;
use crate::token_count;
use crate::translate::translate;
use crate::upstream_body::{collect, error_body};

/// An attempt that may be answered with.
pub(crate) enum Served {
    Whole(Response),
    Stream(Box<Committed>),
}

/// A stream with something meaningful in it.
pub(crate) struct Committed {
    pub(crate) stream: UpstreamStream,
    pub(crate) held: Vec<Bytes>,
    /// The held frames end in an error: there is content in them, so it is too late to replace the attempt.
    pub(crate) stated: Option<UpstreamError>,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The frames are elements of one JSON array.
    pub(crate) array: bool,
    pub(crate) judge: Judge,
}

/// How one attempt differs from what the client asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    /// What of earlier thinking is kept from the upstream.
    pub(crate) without: Option<Thoughts>,
    /// The most tokens of output, where the upstream named a limit or a model that thinks needs more than the client allows.
    pub(crate) max_output: Option<u64>,
    /// The list of tools was cut for this target already.
    pub(crate) shortened: bool,
    /// How long the response may take to begin, where that is shorter than usual.
    pub(crate) start_limit: Option<Millis>,
    /// An answer that ends well need not hold anything.
    pub(crate) takes_empty: bool,
}

/// Makes one attempt, within the execution limit of its queue, and tells whoever distributes requests over accounts.
pub(crate) async fn send(
    gateway: &Gateway,
    request: &ClientRequest,
    step: &Step,
    wish: &Wish,
    attempt: &Attempt,
    recorder: &mut Recorder,
) -> Result<Served, Box<Failed>> {
    accounts::asked(gateway, step);
    // The largest future there is: everything that awaits it would be as large.
    let span = span(step, recorder);
    let sending = Box::pin(send_unlimited(gateway, request, step, wish, attempt, recorder).instrument(span));
    let sent = match attempt.overrun() {
        None => sending.await,
        Some(overrun) => tokio::select! {
            biased;
            () = gateway.clock().sleep_until(overrun.at) => {
                let judge = Judge::new(gateway, &step.provider, &step.candidate);
                Err(stream_failure(&judge, &StreamFailure::Overrun(overrun.limit)))
            }
            sent = sending => sent,
        },
    };
    accounts::ended(gateway, request, step, sent.as_ref().err().map(|failed| &failed.diagnosis.outcome));
    sent
}

/// What every log line of an attempt says of it, beside what its request's says.
fn span(step: &Step, recorder: &Recorder) -> Span {
    let Candidate { provider, connection, model, .. } = &step.candidate;
    debug_span!("attempt", n = recorder.journey.attempts.len() + 1, %provider, %connection, %model)
}

async fn send_unlimited(
    gateway: &Gateway,
    request: &ClientRequest,
    step: &Step,
    wish: &Wish,
    attempt: &Attempt,
    recorder: &mut Recorder,
) -> Result<Served, Box<Failed>> {
    let mut target = gateway.target_at(&step.entry, &step.provider);
    target.route.fresh = !recorder.journey.attempts.is_empty();
    let mut judge = Judge::new(gateway, &step.provider, &step.candidate);
    let translated =
        translate(gateway, request, step, wish).await.map_err(|refusal| not_translated(&judge, &refusal))?;
    recorder.warn(translated.warnings);
    let is_native = request.passes_to(step.operation);
    let call = Call {
        target: &target,
        operation: step.operation,
        model: &step.candidate.model,
        stream: request.stream,
        query: if is_native { request.query.as_deref() } else { Some("alt=sse") },
        client_headers: &request.headers,
        body: translated.body,
        request_id: request.id.as_str(),
    };
    let outgoing = upstream::build(&call).map_err(|error| not_built(&judge, &error))?;
    let start_limit = token_count::start_limit(step.operation, wish.start_limit);
    egress::leaves(gateway, &step.candidate, &target);
    let response = respond(gateway, outgoing, &target, start_limit, &judge).await?;
    attempt.observe(response.headers());
    recorder.connected(response.status().as_u16());
    if !response.status().is_success() {
        let failed = refused(gateway, request, step, &target, &judge, response).await;
        failed.status.into_iter().for_each(|status| recorder.restated(status));
        if let Some(limit) = failed.tool_limit {
            gateway.engine().note_tool_limit(&step.candidate.provider, limit);
        }
        return Err(failed);
    }
    judge.note_head(response.headers());
    let back = Back::new(gateway, request, step, translated.ids);
    let keepsake = (!is_native).then(|| {
        let facts = exchange::target(step, &gateway.settings().translation);
        Keepsake::of(gateway, request, &translated.meant, &facts, &back)
    });
    let exchange = Exchange {
        gateway,
        request,
        target: &target,
        upstream: step.operation,
        back,
        keepsake: keepsake.flatten(),
        takes_empty: wish.takes_empty,
        overrun: attempt.overrun(),
    };
    let (head, body) = response.into_parts();
    if !step.operation.generates() {
        return whole(exchange, &judge, head, body, recorder).await;
    }
    let hint = Hint::new(request, step.operation, &head.headers);
    let mut patience = exchange.patience(hint);
    let peeked = peek(body, hint, &mut patience, gateway.tracker()).await;
    let (kind, body) = peeked.map_err(|failure| stream_failure(&judge, &failure))?;
    let Some(framing) = kind else { return whole(exchange, &judge, head, body, recorder).await };
    let incoming = Incoming { head: &head, body, framing, patience };
    if request.stream {
        held_stream(exchange, judge, incoming, recorder).await
    } else {
        folded(exchange, &judge, incoming, recorder).await
    }
}

/// A stream on its way in.
struct Incoming<'a> {
    head: &'a Parts,
    body: Peeked,
    framing: Framing,
    patience: Patience,
}

/// What both ends of one attempt speak.
struct Exchange<'a> {
    gateway: &'a Gateway,
    request: &'a ClientRequest,
    target: &'a Target,
    upstream: Operation,
    back: Back,
    /// What will be missed on the next turn.
    keepsake: Option<Keepsake>,
    takes_empty: bool,
    overrun: Option<Overrun>,
}

impl Exchange<'_> {
    fn is_native(&self) -> bool {
        self.request.passes_to(self.upstream)
    }

    /// An answer without content is believed where its end explains it, `max_tokens: 1` for one, and otherwise only where
    /// its own maker sends it or the combo takes it (gateway specification, 3.2 and 3.8).
    fn may_be_empty(&self, finish: Option<FinishReason>) -> bool {
        finish.is_some_and(|finish| {
            self.takes_empty || finish.explains_emptiness() || maker_of(self.target.base_url()).is_some()
        })
    }

    /// Whole answers may take their time.
    fn patience(&self, hint: Hint) -> Patience {
        let mut limits = Limits { overrun: self.overrun, ..limits(self.gateway, self.request, self.target) };
        if !hint.promises_stream() {
            limits.budgets = Budgets { readiness: Millis::ZERO, stall: Millis::ZERO };
        }
        Patience::new(std::sync::Arc::clone(self.gateway.clock()), limits)
    }

    /// Whether a stream cut into frames like this is what the client reads, byte for byte.
    fn passes(&self, framing: Framing) -> bool {
        let expected = if self.back.is_array() { Framing::JsonArray } else { Framing::Sse };
        self.is_native() && framing == expected
    }

    fn stream(&self, incoming: Incoming<'_>, writes: bool) -> UpstreamStream {
        let writer = writes.then(|| self.back.writer());
        let reader = self.back.reader(self.upstream.dialect());
        let Incoming { body, framing, patience, .. } = incoming;
        UpstreamStream::new(body, reader, framing, patience, Redaction::of(self.target), writer)
    }
}

/// The response head, within the limit.
async fn respond(
    gateway: &Gateway,
    outgoing: http::Request<Payload>,
    target: &Target,
    start_limit: Option<Millis>,
    judge: &Judge,
) -> Result<http::Response<upstream::Body>, Box<Failed>> {
    let usual = target.provider.start_timeout.unwrap_or(gateway.settings().network.response_start_timeout);
    let limit = start_limit.map_or(usual, |limit| limit.min(usual));
    let deadline = gateway.now() + limit;
    tokio::select! {
        biased;
        answer = gateway.transport().send(outgoing, &target.route) => answer.map_err(|error| {
            let message = error.to_string();
            if error.is_local() { kept_here(judge, message) } else { transport_failure(judge, error.reason(), &message) }
        }),
        () = gateway.clock().sleep_until(deadline) => {
            let message = format!("no answer began within {limit}");
            Err(transport_failure(judge, Reason::ResponseStartTimeout, &message))
        }
    }
}

async fn held_stream(
    mut exchange: Exchange<'_>,
    judge: Judge,
    incoming: Incoming<'_>,
    recorder: &mut Recorder,
) -> Result<Served, Box<Failed>> {
    let (head, framing) = (incoming.head, incoming.framing);
    let passes = exchange.passes(framing);
    let mut stream = exchange.stream(incoming, !passes);
    if passes {
        stream.pass_in(exchange.upstream.dialect());
    }
    if let Some(keepsake) = exchange.keepsake.take() {
        stream.keep(keepsake);
    }
    let (held, stated) = match hold(&mut stream, recorder).await {
        Held::Committed(held, stated) => (held, stated),
        Held::Empty(held) if exchange.may_be_empty(stream.finish) => (held, None),
        Held::Empty(_) => return Err(transport_failure(&judge, Reason::EmptyOrGarbled, "the answer was empty")),
        Held::Failed(failure) => return Err(stream_failure(&judge, &failure)),
    };
    let mut headers = response_headers::from_upstream(&head.headers);
    let array = exchange.back.is_array();
    if !passes || framing == Framing::Sse {
        headers.insert(CONTENT_TYPE, exchange.back.stream_type());
    }
    Ok(Served::Stream(Box::new(Committed { stream, held, stated, status: head.status, headers, array, judge })))
}

/// How long this stream may take: large requests get more time, and a server on this computer, which loads its model and
/// reads the prompt after it has answered, gets the longest.
fn limits(gateway: &Gateway, request: &ClientRequest, target: &Target) -> Limits {
    let settings = gateway.settings();
    let network = &settings.network;
    let size = stream_watchdog::Size {
        messages: request.glance.message_count,
        tools: request.glance.tool_count,
        bytes: request.body.len() as u64,
    };
    let (base, ceiling) = (network.stream_readiness_timeout, network.stream_readiness_max_timeout);
    let stall = network.stream_content_stall_timeout;
    let readiness = match target.provider.class {
        ProviderClass::Local if !base.is_zero() => base.max(stall),
        ProviderClass::Local | ProviderClass::Oauth | ProviderClass::Apikey | ProviderClass::Free => {
            stream_watchdog::readiness(base, ceiling, size)
        }
    };
    let pace = settings.resilience.stream_recovery.throughput_watchdog.clone();
    Limits { idle: network.stream_idle_timeout, budgets: Budgets { readiness, stall }, pace, overrun: None }
}

/// A whole answer is collected before anything is promised: a body that breaks off can still be had elsewhere.
async fn whole(
    mut exchange: Exchange<'_>,
    judge: &Judge,
    head: Parts,
    body: impl Stream<Item = Result<Bytes, TransportError>> + Unpin,
    recorder: &mut Recorder,
) -> Result<Served, Box<Failed>> {
    let keepsake = exchange.keepsake.take();
    let Exchange { gateway, request, target, upstream, ref back, .. } = exchange;
    let body = collect(gateway, &head.headers, body).await.map_err(|failure| stream_failure(judge, &failure))?;
    let looked_at = body.clone();
    let looking = move || dialects::inspect(upstream, &looked_at);
    let inspection = aside::compute(gateway.tracker(), body.len(), looking).await;
    recorder.usage().absorb(&inspection.usage);
    if let Some(error) = inspection.error {
        return Err(stream_failure(judge, &StreamFailure::Stated(Redaction::of(target).error(error))));
    }
    let has_something = inspection.has_output || inspection.has_reasoning;
    if request.operation.generates() && !has_something && !exchange.may_be_empty(inspection.finish) {
        return Err(transport_failure(judge, Reason::EmptyOrGarbled, "the answer was empty, or not of this format"));
    }
    recorder.first_token();
    recorder.output_bytes += body.len() as u64;
    // What had to be mended to be read could not be read by a client either.
    let body = inspection.mended.unwrap_or(body);
    let mut headers = response_headers::from_upstream(&head.headers);
    let body = if exchange.is_native() && !request.stream {
        let says_json = headers.get(CONTENT_TYPE).is_some_and(|media| media.as_bytes().starts_with(JSON.as_bytes()));
        if request.operation.generates() && !says_json {
            headers.insert(CONTENT_TYPE, JSON);
        }
        body
    } else {
        headers.insert(CONTENT_TYPE, if request.stream { back.stream_type() } else { JSON });
        let (back, streams) = (back.clone(), request.stream);
        let telling = move |body: &Bytes| back.whole(upstream.dialect(), body, streams);
        let told = aside::compute(gateway.tracker(), body.len(), move || telling(&body)).await;
        let (told, answer) =
            told.map_err(|error| stream_failure(judge, &StreamFailure::Stated(Redaction::of(target).error(error))))?;
        if let Some(keepsake) = keepsake {
            keepsake.keep(&answer);
        }
        told
    };
    Ok(answer(head.status, headers, body))
}

/// A stream for a client that wants a body: it is read to its end, and a cut one is an error, not a short answer.
async fn folded(
    exchange: Exchange<'_>,
    judge: &Judge,
    incoming: Incoming<'_>,
    recorder: &mut Recorder,
) -> Result<Served, Box<Failed>> {
    let head = incoming.head;
    let mut stream = exchange.stream(incoming, false);
    let folded = stream.fold(recorder).await.map_err(|failure| stream_failure(judge, &failure))?;
    if folded.parts.is_empty() && !exchange.may_be_empty(folded.finish) {
        return Err(transport_failure(judge, Reason::EmptyOrGarbled, "the answer was empty"));
    }
    let mut headers = response_headers::from_upstream(&head.headers);
    headers.insert(CONTENT_TYPE, JSON);
    let Exchange { gateway, back, keepsake, .. } = exchange;
    let length = folded.parts.iter().map(|part| part.text.len() + part.signature.len()).sum();
    let telling = move || {
        let body = back.body(&folded);
        if let Some(keepsake) = keepsake {
            keepsake.keep(&folded);
        }
        body
    };
    let body = aside::compute(gateway.tracker(), length, telling).await;
    let_close(gateway, stream).await;
    Ok(answer(head.status, headers, body))
}

/// The answer is there, and the stream may not have closed: nobody waits for that.
async fn let_close(gateway: &Gateway, stream: UpstreamStream) {
    let mut closing = Box::pin(stream.drained());
    if futures_util::poll!(&mut closing).is_pending() {
        gateway.tracker().spawn(closing);
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

fn answer(status: StatusCode, headers: HeaderMap, body: Bytes) -> Served {
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    Served::Whole(answer)
}

async fn refused(
    gateway: &Gateway,
    request: &ClientRequest,
    step: &Step,
    target: &Target,
    judge: &Judge,
    response: http::Response<upstream::Body>,
) -> Box<Failed> {
    let (head, body) = response.into_parts();
    if !head.status.is_client_error() && !head.status.is_server_error() {
        let message = format!("the answer was HTTP {}: correct the base URL of the connection", head.status.as_u16());
        return transport_failure(judge, Reason::EmptyOrGarbled, &message);
    }
    let redaction = Redaction::of(target);
    let body = redaction.bytes(error_body(gateway, body).await);
    let error = dialects::error::read(head.status.as_u16(), &body);
    let message = redaction.text(&error.message);
    let text = String::from_utf8_lossy(&body);
    let diagnosis = judge.http(head.status.as_u16(), &head.headers, &text, &error, &message);
    let status = restated(&diagnosis).unwrap_or(head.status);
    let refusal =
        (status == head.status).then(|| passable(request, step.operation.dialect(), &head, body, &error)).flatten();
    let refuses_thoughts = head.status == StatusCode::BAD_REQUEST && is_refusal_of_thoughts(&message);
    let tool_limit = tool_limit::read(status.as_u16(), &message);
    Box::new(Failed { refusal, refuses_thoughts, tool_limit, ..*Failed::new(diagnosis, Some(status), message) })
}
