//! Replies that are figures: vectors and token counts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::request::Ask;

const DIMENSIONS: u64 = 8;
const MAX_DIMENSIONS: u64 = 4096;

/// A vector that depends on the place of its input, of length 1 in its first two components.
fn vector(index: usize, dimensions: u64) -> Vec<f32> {
    let mut vector = vec![0.0; usize::try_from(dimensions.clamp(1, MAX_DIMENSIONS)).unwrap_or(1)];
    let place = index % vector.len();
    vector[place] = 1.0;
    vector
}

pub(super) fn embeddings(ask: &Ask) -> Value {
    let body = ask.json();
    // A list of numbers is one input in tokens.
    let inputs = match body["input"].as_array() {
        Some(list) if list.first().is_some_and(|first| !first.is_number()) => list.len(),
        _ => 1,
    };
    let dimensions = body["dimensions"].as_u64().unwrap_or(DIMENSIONS);
    let data: Vec<Value> = (0..inputs)
        .map(|index| {
            let vector = vector(index, dimensions);
            let embedding = if body["encoding_format"] == "base64" {
                let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
                json!(STANDARD.encode(bytes))
            } else {
                json!(vector)
            };
            json!({ "object": "embedding", "index": index, "embedding": embedding })
        })
        .collect();
    let tokens = count(ask);
    json!({
        "object": "list", "data": data, "model": ask.model,
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    })
}

pub(super) fn gemini_embedding(ask: &Ask) -> Value {
    let dimensions = ask.json()["outputDimensionality"].as_u64().unwrap_or(DIMENSIONS);
    json!({ "embedding": { "values": vector(0, dimensions) } })
}

pub(super) fn gemini_embeddings(ask: &Ask) -> Value {
    let body = ask.json();
    let requests = body["requests"].as_array().map(Vec::as_slice).unwrap_or_default();
    let embeddings: Vec<Value> = requests
        .iter()
        .enumerate()
        .map(|(index, request)| {
            json!({ "values": vector(index, request["outputDimensionality"].as_u64().unwrap_or(DIMENSIONS)) })
        })
        .collect();
    json!({ "embeddings": embeddings })
}

pub(super) fn count_tokens(ask: &Ask) -> Value {
    json!({ "input_tokens": count(ask) })
}

pub(super) fn gemini_count_tokens(ask: &Ask) -> Value {
    let tokens = count(ask);
    json!({ "totalTokens": tokens, "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": tokens }] })
}

/// A quarter of the body's bytes: grows with the request and is never 0.
fn count(ask: &Ask) -> usize {
    ask.body.len().div_ceil(4).max(1)
}
