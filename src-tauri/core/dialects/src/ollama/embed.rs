//! Embeddings. Upstreams are asked in OpenAI's words, so the request becomes one of those before anything else looks at
//! it, and the answer is retold at the very end.

use bytes::Bytes;
use domain::Millis;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::client::Times;
use crate::error::to_json;
use crate::lenient::{Text, Whole, count, str_of};
use crate::translate::Refusal;

/// The two ways to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `/api/embed`: any number of texts.
    Embed,
    /// `/api/embeddings`: one text, by an older name.
    Embeddings,
}

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    model: Option<Text<'a>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    dimensions: Option<Whole>,
}

#[derive(Serialize)]
struct Asks<'a> {
    model: &'a str,
    input: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u64>,
}

/// The request in OpenAI's words.
///
/// # Errors
/// What is wrong with it, by field.
pub fn request(form: Form, body: &[u8]) -> Result<Bytes, Refusal> {
    let asked: Asked<'_> =
        serde_json::from_slice(body).map_err(|error| Refusal::new("body", format!("cannot be read: {error}")))?;
    let (field, input) = match form {
        Form::Embed => ("input", asked.input),
        Form::Embeddings => ("prompt", asked.prompt),
    };
    let input = input.ok_or_else(|| Refusal::new(field, "is missing: send the text"))?;
    let asks = Asks { model: str_of(&asked.model), input, dimensions: count(asked.dimensions).filter(|n| *n > 0) };
    Ok(Bytes::from(to_json(&asks)))
}

#[derive(Deserialize)]
struct Told<'a> {
    #[serde(borrow)]
    model: Option<Text<'a>>,
    #[serde(borrow)]
    data: Vec<Vector<'a>>,
    usage: Option<Consumed>,
}

#[derive(Deserialize)]
struct Vector<'a> {
    #[serde(borrow)]
    embedding: &'a RawValue,
}

#[derive(Deserialize)]
struct Consumed {
    prompt_tokens: Option<Whole>,
}

#[derive(Serialize)]
struct Embedded<'a> {
    model: &'a str,
    embeddings: Vec<&'a RawValue>,
    total_duration: u64,
    load_duration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_eval_count: Option<u64>,
}

#[derive(Serialize)]
struct One<'a> {
    embedding: &'a RawValue,
}

/// An answer in OpenAI's words, retold; nothing when it is none.
pub fn answer(form: Form, body: &[u8], times: Times) -> Option<Bytes> {
    let told: Told<'_> = serde_json::from_slice(body).ok()?;
    let json = match form {
        Form::Embed => to_json(&Embedded {
            model: str_of(&told.model),
            embeddings: told.data.iter().map(|vector| vector.embedding).collect(),
            total_duration: times.now.since(times.arrived).max(Millis::new(1)).as_millis().saturating_mul(1_000_000),
            load_duration: 0,
            prompt_eval_count: told.usage.and_then(|usage| count(usage.prompt_tokens)),
        }),
        Form::Embeddings => to_json(&One { embedding: told.data.first()?.embedding }),
    };
    Some(Bytes::from(json))
}
