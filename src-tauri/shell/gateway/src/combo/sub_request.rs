//! Requests that a combo makes on the way to the client's answer: the members of a panel, the links of a chain.
//!
//! Each is a client request of its own, in the client's dialect, so that everything behind it (translation, accounts,
//! failures) is what it is for the client itself. What it is asked comes from the form between the dialects.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use dialects::canonical::{Answer, AnswerPart, IdMap, Part, Request, Role, Target as Receiver, Turn};
use dialects::translate::{self, Refusal};
use dialects::{Client, GlanceError, PartKind, UpstreamError, prepend_system};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use http::response::Parts;
use http_body_util::BodyExt;

use crate::exchange::Back;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::Step;
use crate::send::Served;

/// The request without tools and without a stream, changed by `change`.
///
/// # Errors
/// What of the client's request cannot be read.
pub(super) fn whole(request: &ClientRequest, change: impl FnOnce(&mut Request)) -> Result<ClientRequest, Refusal> {
    // Its answer is read here, so it comes in the words of the dialect, whoever the client is.
    changed(request, request.dialect().into(), false, |asked| {
        asked.tools.clear();
        asked.tool_choice = None;
        asked.parallel_tool_calls = None;
        change(asked);
    })
}

/// The request with the client's own tools and stream flag, changed by `change`.
///
/// # Errors
/// What of the client's request cannot be read.
pub(super) fn last(request: &ClientRequest, change: impl FnOnce(&mut Request)) -> Result<ClientRequest, Refusal> {
    changed(request, request.client, request.stream, change)
}

fn changed(
    request: &ClientRequest,
    client: Client,
    stream: bool,
    change: impl FnOnce(&mut Request),
) -> Result<ClientRequest, Refusal> {
    let mut asked = request.asked().map_err(Clone::clone)?.clone();
    asked.stream = stream;
    change(&mut asked);
    let written = translate::write_request(request.dialect(), &asked, &Receiver::unknown(&asked.model))?;
    request.with_body(client, written.body, stream, asked).map_err(unreadable)
}

/// Another request of the same client, whole and without a stream: `asked` and nothing of what was asked.
///
/// # Errors
/// What of `asked` the client's dialect has no words for.
pub(super) fn another(request: &ClientRequest, asked: Request) -> Result<ClientRequest, Refusal> {
    let dialect = request.dialect();
    let written = translate::write_request(dialect, &asked, &Receiver::unknown(&asked.model))?;
    request.with_body(dialect.into(), written.body, false, asked).map_err(unreadable)
}

/// The request with the combo's own text before everything the system says.
///
/// # Errors
/// What of the client's request cannot be read.
pub(super) fn told(request: &ClientRequest, text: &str) -> Result<ClientRequest, Refusal> {
    let mut asked = request.asked().map_err(Clone::clone)?.clone();
    system(&mut asked, text);
    let body = match request.client {
        Client::Shared(dialect) => prepend_system(dialect, &request.body, text),
        // Always read into the form between the dialects, never passed on.
        Client::Ollama(_) => request.body.clone(),
    };
    request.with_body(request.client, body, request.stream, asked).map_err(unreadable)
}

fn unreadable(error: GlanceError) -> Refusal {
    Refusal { field: "body".to_owned(), message: error.to_string(), code: "bad_request" }
}

/// The text of a whole answer in the client's dialect; none, it has none.
pub(super) async fn text_of(request: &ClientRequest, served: Served) -> Option<String> {
    WholeAnswer::read(request, served).await.map(|answer| answer.text)
}

/// A whole answer in the client's dialect, with text in it.
pub(super) struct WholeAnswer {
    head: Parts,
    body: Bytes,
    pub(super) text: String,
}

impl WholeAnswer {
    /// Reads what was served to `request`; none, there is no text in it.
    pub(super) async fn read(request: &ClientRequest, served: Served) -> Option<WholeAnswer> {
        let Served::Whole(response) = served else { return None };
        let (head, body) = response.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        let events = translate::read_answer(request.dialect(), &body).ok()?;
        let answer = Answer::fold(events).ok()?;
        let text: Vec<&str> = answer.parts.iter().filter(|part| is_text(part)).map(|part| part.text.as_str()).collect();
        let text = text.join("\n");
        (!text.trim().is_empty()).then_some(WholeAnswer { head, body, text })
    }

    /// What `step` answered, as the answer to the client's own request: the very bytes, unless the client speaks otherwise or
    /// wants a stream.
    ///
    /// # Errors
    /// What cannot be told in the client's words.
    pub(super) fn serve(
        self,
        gateway: &Gateway,
        request: &ClientRequest,
        step: &Step,
    ) -> Result<Served, UpstreamError> {
        let WholeAnswer { mut head, body, .. } = self;
        if request.client == request.dialect() && !request.stream {
            return Ok(Served::Whole(Response::from_parts(head, Body::from(body))));
        }
        let back = Back::new(gateway, request, step, IdMap::default());
        let (told, _) = back.whole(request.dialect(), &body, request.stream)?;
        let media = if request.stream { back.stream_type() } else { HeaderValue::from_static("application/json") };
        head.headers.insert(CONTENT_TYPE, media);
        Ok(Served::Whole(Response::from_parts(head, Body::from(told))))
    }
}

fn is_text(part: &AnswerPart) -> bool {
    matches!(part.kind, PartKind::Text | PartKind::Refusal)
}

/// A turn of the user's that says this.
pub(super) fn user(text: String) -> Turn {
    Turn { role: Role::User, parts: vec![Part::Text { text, cache: None }] }
}

/// Puts text before everything the system says.
pub(super) fn system(request: &mut Request, text: &str) {
    request.system.insert(0, Part::Text { text: text.to_owned(), cache: None });
}
