//! From a request to its reply.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use domain::{Dialect, Operation};
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use crate::answer::Answer;
use crate::body::{ReplyBody, Source};
use crate::connection::{Broken, Fate, FateSlot};
use crate::dialects::{self, JSON, Rendered};
use crate::journal::{Ending, Ticket};
use crate::listing::{self, ModelCard};
use crate::request::{Ask, Endpoint};
use crate::script::{COUNT_TOKENS, LIST_MODELS};
use crate::seen;
use crate::server::Shared;
use crate::step::{Break, Step};
use crate::validate;

/// More than any gateway forwards.
const MAX_BODY: usize = 256 * 1024 * 1024;
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// A reply before its body is set in motion.
struct Reply {
    status: u16,
    headers: HeaderMap,
    source: Source,
}

pub(crate) async fn serve(
    shared: Arc<Shared>,
    slot: FateSlot,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Broken> {
    let at = Instant::now();
    let (parts, body) = request.into_parts();
    let version = parts.version;
    // A body that never arrives in full is not a call: there is nobody left to answer.
    let body = Limited::new(body, MAX_BODY).collect().await.map_err(|_| Broken)?.to_bytes();
    let ask = Ask::read(&parts, body);
    let ticket = shared.journal.open(&ask, parts, at, peer);
    match choose(&shared, &ask) {
        Some(step) => perform(&ask, &step, version, ticket, slot).await,
        None => Ok(list(&shared, &ask, &ticket).into_response(None, slot, ticket)),
    }
}

/// The step for a request; `None` asks for a list of models or one of them.
fn choose(shared: &Shared, ask: &Ask) -> Option<Arc<Step>> {
    let settings = shared.settings.read();
    let mut scripts = shared.scripts.lock();
    let key = ask.key.as_deref();
    if settings.require_known_keys && !scripts.knows(key) {
        return Some(Arc::new(Step::error(401, "invalid API key provided")));
    }
    match ask.endpoint {
        Endpoint::Unknown => {
            let scripted = ask.model.as_deref().and_then(|path| scripts.next_named(key, path));
            Some(scripted.unwrap_or_else(|| Arc::new(Step::error(404, "no such path").with_code("unknown_url"))))
        }
        Endpoint::ListModels(_) | Endpoint::GetModel(_) | Endpoint::OllamaTags => scripts.next_named(key, LIST_MODELS),
        Endpoint::Run(operation) => {
            let verdict = validate::check(ask, operation, settings.strict);
            if let Err(message) = verdict {
                return Some(Arc::new(Step::error(400, message)));
            }
            let step = match operation {
                Operation::CountTokens | Operation::GeminiCountTokens => scripts.next_named(key, COUNT_TOKENS),
                Operation::ChatCompletions
                | Operation::Responses
                | Operation::Messages
                | Operation::GenerateContent
                | Operation::StreamGenerateContent
                | Operation::Embeddings
                | Operation::EmbedContent
                | Operation::BatchEmbedContents => scripts.next(key, ask.model.as_deref()),
            };
            Some(step.unwrap_or_else(|| settings.default_step.clone()))
        }
    }
}

async fn perform(
    ask: &Ask,
    mut step: &Step,
    version: Version,
    mut ticket: Ticket,
    slot: FateSlot,
) -> Result<Response<ReplyBody>, Broken> {
    let (mut cut, mut is_last) = (None, false);
    loop {
        let mut reply = match step {
            Step::Held(gate, inner) => {
                gate.passed().await;
                step = inner;
                continue;
            }
            Step::Latency(wait, inner) => {
                tokio::time::sleep(*wait).await;
                step = inner;
                continue;
            }
            Step::Cut { after_bytes, how, step: inner } => {
                cut = Some((*after_bytes, *how));
                step = inner;
                continue;
            }
            Step::Last(inner) => {
                is_last = true;
                step = inner;
                continue;
            }
            Step::ToolTurn { call, result } => {
                step = if ask.tool_result().is_some() { result } else { call };
                continue;
            }
            Step::Reset => return break_off(Fate::Reset, &mut ticket, &slot),
            Step::Wire(pieces, then) => return break_off(Fate::Wire(pieces.clone(), *then), &mut ticket, &slot),
            Step::Hang => return std::future::pending().await,
            Step::Ok(text) => answer(ask, &Answer::text(text), &ticket),
            Step::Answer(detailed) => answer(ask, detailed, &ticket),
            Step::Object(object) => answer(ask, &structured(ask, object), &ticket),
            Step::Load(load) => match dialects::without_text(ask) {
                Some(rendered) => Reply::rendered(ask, &ticket, rendered),
                None => Reply::rendered(ask, &ticket, load.render(ask)),
            },
            Step::Error { status, message, code, headers } => {
                let body = dialects::error::body(ask, *status, code.as_deref(), message, ticket.number());
                Reply::whole(*status, headers, body, Some(JSON)).identified(ask, &ticket)
            }
            Step::Status { status, headers, body } => Reply::whole(*status, headers, body.clone(), Some(JSON)),
            Step::Raw { status, headers, body } => Reply::whole(*status, headers, body.clone(), None),
            Step::Sse(frames) => Reply::stream(Source::Paced(VecDeque::from(frames.clone()))),
            Step::Drip { chunk, every, count } => {
                Reply::stream(Source::Repeat { chunk: chunk.clone(), every: *every, left: *count, first: true })
            }
        };
        if is_last {
            slot.is_last();
            if version < Version::HTTP_2 {
                reply.headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
        }
        return Ok(reply.into_response(cut, slot, ticket));
    }
}

fn break_off(fate: Fate, ticket: &mut Ticket, slot: &FateSlot) -> Result<Response<ReplyBody>, Broken> {
    slot.set(fate);
    ticket.end(Ending::Broken);
    Err(Broken)
}

fn answer(ask: &Ask, answer: &Answer, ticket: &Ticket) -> Reply {
    let rendered = match dialects::without_text(ask) {
        Some(rendered) => rendered,
        None => dialects::render(ask, answer, ticket.number()),
    };
    Reply::rendered(ask, ticket, rendered)
}

fn structured(ask: &Ask, object: &serde_json::Value) -> Answer {
    match seen::forced_tool(ask) {
        Some(name) => Answer::tool_call(name, object),
        None => Answer::text(object.to_string()),
    }
}

fn list(shared: &Shared, ask: &Ask, ticket: &Ticket) -> Reply {
    let named = shared.settings.read().models.clone();
    let models = named.unwrap_or_else(|| {
        let names = shared.scripts.lock().models(ask.key.as_deref());
        if names.is_empty() { vec![ModelCard::new("m1")] } else { names.into_iter().map(ModelCard::new).collect() }
    });
    let reply = match listing::write(ask, &models) {
        Some(body) => Reply::whole(200, &HeaderMap::new(), body, Some(JSON)),
        None => {
            let message = format!("the model `{}` does not exist", ask.model.as_deref().unwrap_or_default());
            let body = dialects::error::body(ask, 404, None, &message, ticket.number());
            Reply::whole(404, &HeaderMap::new(), body, Some(JSON))
        }
    };
    reply.identified(ask, ticket)
}

impl Reply {
    fn rendered(ask: &Ask, ticket: &Ticket, rendered: Rendered) -> Reply {
        let Rendered { content_type, frames, delay, whole } = rendered;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, content_type);
        if whole {
            let length: usize = frames.iter().map(Bytes::len).sum();
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        } else {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        }
        Reply { status: 200, headers, source: Source::Shared { frames, at: 0, delay } }.identified(ask, ticket)
    }

    fn whole(status: u16, headers: &HeaderMap, body: Bytes, content_type: Option<HeaderValue>) -> Reply {
        let mut headers = headers.clone();
        if let Some(content_type) = content_type {
            headers.entry(CONTENT_TYPE).or_insert(content_type);
        }
        headers.entry(CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(body.len()));
        Reply { status, headers, source: Source::whole(body) }
    }

    fn stream(source: Source) -> Reply {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, EVENT_STREAM)]);
        Reply { status: 200, headers, source }
    }

    /// Adds the request id in the header where providers of the dialect put it.
    fn identified(mut self, ask: &Ask, ticket: &Ticket) -> Reply {
        let name = match ask.dialect() {
            Dialect::Chat | Dialect::Responses => "x-request-id",
            Dialect::Messages => "request-id",
            Dialect::Gemini => return self,
        };
        if let Ok(id) = HeaderValue::from_str(&dialects::request_id(ticket.number())) {
            self.headers.entry(name).or_insert(id);
        }
        self
    }

    fn into_response(self, cut: Option<(usize, Break)>, slot: FateSlot, ticket: Ticket) -> Response<ReplyBody> {
        // A body of known length is complete with its last byte, whatever follows: one must be missing.
        let longest = match self.source.whole_length() {
            Some(length) if self.headers.contains_key(CONTENT_LENGTH) => length.saturating_sub(1),
            _ => usize::MAX,
        };
        let cut = cut.map(|(after, how)| (after.min(longest), how));
        let mut response = Response::new(ReplyBody::new(self.source, cut, slot, ticket));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        *response.headers_mut() = self.headers;
        response
    }
}
