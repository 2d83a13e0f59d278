//! Lists of models in the shapes that clients know.

use bytes::Bytes;
use domain::Dialect;
use serde_json::{Value, json};

use crate::request::{Ask, Endpoint};

const CREATED: u64 = 1_735_689_600;
const CREATED_TEXT: &str = "2025-01-01T00:00:00Z";

/// A model as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCard {
    pub id: String,
    pub display_name: String,
    /// Tokens; shown where the shape has a field for it.
    pub context: Option<u64>,
    /// Tokens; shown where the shape has a field for it.
    pub max_output: Option<u64>,
}

impl ModelCard {
    /// A card that states a context of 128 000 tokens and 8 192 of output.
    pub fn new(id: impl Into<String>) -> ModelCard {
        let id = id.into();
        ModelCard { display_name: format!("Fake {id}"), id, context: Some(128_000), max_output: Some(8_192) }
    }
}

/// The body for a request of a list or of one model; `None` when that model is not there.
pub(crate) fn write(ask: &Ask, models: &[ModelCard]) -> Option<Bytes> {
    let value = match &ask.endpoint {
        Endpoint::OllamaTags => json!({ "models": models.iter().map(ollama).collect::<Vec<_>>() }),
        Endpoint::GetModel(dialect) => {
            let id = ask.model.as_deref()?;
            one(*dialect, models.iter().find(|model| model.id == id)?)
        }
        Endpoint::ListModels(dialect) => list(*dialect, models),
        Endpoint::Run(_) | Endpoint::Unknown => return None,
    };
    Some(Bytes::from(value.to_string()))
}

fn list(dialect: Dialect, models: &[ModelCard]) -> Value {
    let entries: Vec<Value> = models.iter().map(|model| one(dialect, model)).collect();
    match dialect {
        Dialect::Chat | Dialect::Responses => json!({ "object": "list", "data": entries }),
        Dialect::Messages => json!({
            "data": entries,
            "has_more": false,
            "first_id": models.first().map(|model| &model.id),
            "last_id": models.last().map(|model| &model.id),
        }),
        Dialect::Gemini => json!({ "models": entries }),
    }
}

fn one(dialect: Dialect, model: &ModelCard) -> Value {
    match dialect {
        Dialect::Chat | Dialect::Responses => json!({
            "id": model.id, "object": "model", "created": CREATED, "owned_by": "fake-upstream",
            "context_length": model.context,
        }),
        Dialect::Messages => json!({
            "type": "model", "id": model.id, "display_name": model.display_name, "created_at": CREATED_TEXT,
            "lifecycle": "active", "max_input_tokens": model.context, "max_tokens": model.max_output,
        }),
        Dialect::Gemini => json!({
            "name": format!("models/{}", model.id), "version": "001", "displayName": model.display_name,
            "description": "A model of the fake upstream",
            "inputTokenLimit": model.context, "outputTokenLimit": model.max_output,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }),
    }
}

fn ollama(model: &ModelCard) -> Value {
    json!({
        "name": model.id, "model": model.id, "modified_at": CREATED_TEXT, "size": 1_000_000_000_u64,
        "digest": "0".repeat(64),
        "details": { "format": "gguf", "family": "fake", "parameter_size": "1B", "quantization_level": "Q4_0" },
    })
}
