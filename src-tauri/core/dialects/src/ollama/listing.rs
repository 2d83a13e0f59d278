//! What the gateway says of its models and of itself: `/api/tags`, `/api/show`, `/api/ps`, `/api/version`.
//!
//! Clients expect facts about a file on this computer. What has no counterpart is stated as empty, never made up; what
//! they decide by (context, capabilities) is what the model list knows.

use bytes::Bytes;
use domain::{Timestamp, hex};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::written::instant;
use crate::error::to_json;
use crate::lenient::{Text, str_of};
use crate::models::{DEFAULT_CONTEXT, ModelEntry};

/// The version of the protocol that is spoken here: clients refuse to work with one that lacks what they need.
const VERSION: &str = "0.12.6";

#[derive(Serialize)]
struct List<'a> {
    models: Vec<Listed<'a>>,
}

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    model: &'a str,
    modified_at: String,
    size: u64,
    digest: String,
    details: Details<'a>,
}

#[derive(Serialize)]
struct Details<'a> {
    parent_model: &'a str,
    format: &'static str,
    family: &'a str,
    families: [&'a str; 1],
    parameter_size: &'static str,
    quantization_level: &'static str,
}

#[derive(Serialize)]
struct Shown<'a> {
    modelfile: &'static str,
    parameters: &'static str,
    template: &'static str,
    details: Details<'a>,
    model_info: Map<String, Value>,
    capabilities: Vec<&'static str>,
    modified_at: String,
}

/// Every model, by the name that a request uses.
pub fn tags(entries: &[ModelEntry]) -> Bytes {
    let models = entries.iter().map(|entry| Listed {
        name: &entry.id,
        model: &entry.id,
        modified_at: modified_at(entry),
        size: 0,
        digest: digest(&entry.id),
        details: details(entry),
    });
    Bytes::from(to_json(&List { models: models.collect() }))
}

/// One model.
pub fn show(entry: &ModelEntry) -> Bytes {
    Bytes::from(to_json(&Shown {
        modelfile: "",
        parameters: "",
        template: "",
        details: details(entry),
        model_info: model_info(entry),
        capabilities: capabilities(entry),
        modified_at: modified_at(entry),
    }))
}

/// The model that `/api/show` is asked for; nothing when the body names none.
pub fn shown(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Asked<'a> {
        #[serde(borrow)]
        model: Option<Text<'a>>,
        /// What `model` was called before.
        #[serde(borrow)]
        name: Option<Text<'a>>,
    }
    let asked: Asked<'_> = serde_json::from_slice(body).ok()?;
    [&asked.model, &asked.name].map(str_of).into_iter().find(|name| !name.is_empty()).map(str::to_owned)
}

/// Models in this computer's memory: none of ours.
pub fn running() -> Bytes {
    Bytes::from_static(b"{\"models\":[]}")
}

pub fn version() -> Bytes {
    Bytes::from(to_json(&json!({ "version": VERSION })))
}

fn details(entry: &ModelEntry) -> Details<'_> {
    let family = entry.owned_by.as_str();
    let parent_model = entry.parent.as_deref().unwrap_or("");
    Details { parent_model, format: "", family, families: [family], parameter_size: "", quantization_level: "" }
}

fn modified_at(entry: &ModelEntry) -> String {
    instant(Timestamp::from_millis(entry.created.saturating_mul(1_000)))
}

/// Of the name: clients tell models apart by it.
fn digest(name: &str) -> String {
    hex(&Sha256::digest(name.as_bytes()))
}

/// Clients look for `<architecture>.context_length`.
fn model_info(entry: &ModelEntry) -> Map<String, Value> {
    let architecture = entry.owned_by.as_str();
    let context = entry.context.unwrap_or(DEFAULT_CONTEXT);
    Map::from_iter([
        ("general.architecture".to_owned(), json!(architecture)),
        ("general.basename".to_owned(), json!(entry.display_name)),
        (format!("{architecture}.context_length"), json!(context)),
    ])
}

/// What is unknown is offered: a provider that cannot do it will say so.
fn capabilities(entry: &ModelEntry) -> Vec<&'static str> {
    let known = &entry.capabilities;
    let may = [
        ("completion", true),
        ("tools", known.tools.unwrap_or(true)),
        ("vision", known.vision.unwrap_or(true)),
        ("thinking", known.reasoning.unwrap_or(false)),
    ];
    may.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}
