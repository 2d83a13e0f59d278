//! Arguments out of a request. What is wrong is said with the member's path, and nothing unknown is passed over.

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::{Control, ControlError};

use super::refusal::Refusal;

/// Bodies of management calls are small; this bounds what is read of a hostile one.
const BODY_LIMIT: usize = 1 << 20;

/// The `{id}` of the path.
pub(super) struct Id(pub(super) String);

/// The query string as `T`.
pub(super) struct Query<T>(pub(super) T);

/// The JSON body as `T`; an absent body counts as `{}`.
pub(super) struct Body<T>(pub(super) T);

impl FromRequestParts<Control> for Id {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, control: &Control) -> Result<Self, Refusal> {
        let Path(id) =
            Path::<String>::from_request_parts(parts, control).await.map_err(|_| Refusal::unknown_endpoint())?;
        Ok(Id(id))
    }
}

impl<T: DeserializeOwned> FromRequestParts<Control> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _control: &Control) -> Result<Self, Refusal> {
        let query = parts.uri.query().unwrap_or("");
        let pairs = serde_urlencoded::Deserializer::new(url::form_urlencoded::parse(query.as_bytes()));
        serde_path_to_error::deserialize(pairs).map(Query).map_err(|error| {
            let field = error.path().to_string();
            invalid(field, "query", &error.into_inner().to_string())
        })
    }
}

impl<T: DeserializeOwned> FromRequest<Control> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _control: &Control) -> Result<Self, Refusal> {
        let is_json = has_json_type(request.headers());
        let body =
            axum::body::to_bytes(request.into_body(), BODY_LIMIT).await.map_err(|_| Refusal::too_large(BODY_LIMIT))?;
        if body.is_empty() {
            return parse(&Bytes::from_static(b"{}")).map(Body);
        }
        if !is_json {
            return Err(Refusal::unsupported_media_type());
        }
        parse(&body).map(Body)
    }
}

fn has_json_type(headers: &HeaderMap) -> bool {
    let essence = |value: &HeaderValue| value.to_str().ok().and_then(|text| text.split(';').next().map(str::to_owned));
    headers.get(CONTENT_TYPE).and_then(essence).is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(invalid(String::new(), "body", "expected a JSON object"));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        invalid(field, "body", &error.into_inner().to_string())
    })?;
    reader.end().map_err(|error| invalid(String::new(), "body", &error.to_string()))?;
    Ok(value)
}

/// Names the member: its path, or the one that the message of serde names first, or the whole.
fn invalid(path: String, whole: &str, message: &str) -> Refusal {
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let known = path != "." && path != "?" && !path.is_empty();
    let field = match (known, missing) {
        (true, Some(missing)) => format!("{path}.{missing}"),
        (true, None) => path,
        (false, Some(missing)) => missing.to_owned(),
        (false, None) => whole.to_owned(),
    };
    Refusal::from(ControlError::invalid(field, message))
}
