//! `GET /v1/models` in the shape the caller reads (gateway specification, 1.5).

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use catalog::Provider;
use dialects::models::{ListShape, ModelEntry, ModelPrice, Page, write_list, write_one};
use domain::client_key::ClientKey;
use domain::wire::code;
use domain::{Dialect, Millis, RequestId, Timestamp, hex};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use http::{HeaderValue, StatusCode};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;

use crate::error::{Blame, GatewayError};
use crate::gateway::Gateway;
use crate::ingress::query_value;
use crate::{listed_combos, path};

/// How old a provider's own list may be before it is asked again.
const FRESH: Millis = Millis::hours(1);
/// How long one provider may take to list its models.
const LIST_LIMIT: Millis = Millis::seconds(10);
/// How long a list request waits for providers that were never asked.
const PATIENCE: Millis = Millis::seconds(3);

/// What was asked for.
pub(crate) struct Wanted<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) query: Option<&'a str>,
    /// `If-None-Match`: what the caller already has.
    pub(crate) known: Option<&'a HeaderValue>,
}

/// The dialect whose error envelope fits the shape.
pub(crate) fn dialect_of(shape: ListShape) -> Dialect {
    match shape {
        ListShape::OpenAi => Dialect::Chat,
        ListShape::Anthropic => Dialect::Messages,
        ListShape::Gemini => Dialect::Gemini,
    }
}

pub(crate) async fn answer(
    gateway: &Gateway,
    wanted: &Wanted<'_>,
    shape: ListShape,
    key: Option<&ClientKey>,
    id: &RequestId,
) -> Response {
    refresh(gateway).await;
    let prefix = wanted.query.and_then(|query| query_value(query, "prefix"));
    let entries = entries(gateway, key, prefix);
    let body = match wanted.id {
        None => write_list(shape, &entries, &page(wanted.query)),
        Some(name) => match entries.iter().find(|entry| entry.id == name || name == format!("models/{}", entry.id)) {
            Some(entry) => write_one(shape, entry),
            None => return unknown(name).render(dialect_of(shape), id),
        },
    };
    let tag = entity_tag(&body);
    let unchanged = tag.as_ref().is_some_and(|tag| wanted.known == Some(tag));
    let mut response = Response::new(if unchanged { Body::empty() } else { Body::from(body) });
    if unchanged {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.extend(tag.map(|tag| (ETAG, tag)));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=60"));
    crate::response_headers::identify(headers, gateway.version(), id.as_str());
    response
}

/// Every model that the key may use, by the names the settings want.
pub(crate) async fn usable(gateway: &Gateway, key: Option<&ClientKey>) -> Vec<ModelEntry> {
    refresh(gateway).await;
    entries(gateway, key, None)
}

/// Changes exactly when the body does.
fn entity_tag(body: &[u8]) -> Option<HeaderValue> {
    let digest = Sha256::digest(body);
    HeaderValue::try_from(format!("\"{}\"", hex(&digest[..16]))).ok()
}

pub(crate) fn unknown(name: &str) -> GatewayError {
    let message = format!(
        "the model `{}` is not known here: GET /v1/models lists what is",
        name.chars().take(128).collect::<String>()
    );
    GatewayError::new(Blame::Client, StatusCode::NOT_FOUND, code::MODEL_NOT_FOUND, message)
}

fn page(query: Option<&str>) -> Page {
    let value = |name| query.and_then(|query| query_value(query, name));
    // An id holds a slash, which many clients encode.
    let id = |name| value(name).and_then(path::decode_all);
    Page {
        limit: value("limit").and_then(|text| text.parse().ok()),
        before_id: id("before_id"),
        after_id: id("after_id"),
    }
}

/// The user's own combos, then the providers' models; a combo stands for the model whose name it carries.
fn entries(gateway: &Gateway, key: Option<&ClientKey>, prefix: Option<&str>) -> Vec<ModelEntry> {
    let mut entries = listed_combos::entries(gateway, key);
    let taken: BTreeSet<String> = entries.iter().map(|entry| entry.id.clone()).collect();
    entries.extend(model_entries(gateway, key, prefix).into_iter().filter(|entry| !taken.contains(&entry.id)));
    entries
}

/// Every model of every connected provider that the key may use, under the provider's alias and id.
fn model_entries(gateway: &Gateway, key: Option<&ClientKey>, prefix: Option<&str>) -> Vec<ModelEntry> {
    let connections = gateway.connections();
    let catalog = gateway.catalog();
    let mode = prefix.map_or_else(|| gateway.settings().routing.model_prefix_mode.as_str().to_owned(), str::to_owned);
    let mut entries = Vec::new();
    for provider in catalog.iter().filter(|provider| connections.is_connected(&provider.id)) {
        for model in models_of(gateway, provider) {
            if !connections.of_provider(&provider.id).any(|entry| entry.may_serve(&model.id, key)) {
                continue;
            }
            let qualified = format!("{}/{}", provider.id, model.id);
            let names = prefixes(provider, &mode);
            let is_mirrored = names.len() > 1;
            for name in names {
                let id = format!("{name}/{}", model.id);
                let is_mirror = is_mirrored && id != qualified;
                let entry = ModelEntry { id, parent: is_mirror.then(|| qualified.clone()), ..model.clone() };
                if key.is_none_or(|key| key.allows_model(&[&entry.id, &qualified])) {
                    entries.push(entry);
                }
            }
        }
    }
    entries
}

fn prefixes<'a>(provider: &'a Provider, mode: &str) -> Vec<&'a str> {
    let (id, alias) = (provider.id.as_str(), provider.alias.as_str());
    match mode {
        "alias" => vec![alias],
        "canonical" => vec![id],
        _ if id == alias => vec![id],
        _ => vec![alias, id],
    }
}

/// The provider's models: the catalogue's, then those only the provider itself listed.
fn models_of(gateway: &Gateway, provider: &Provider) -> Vec<ModelEntry> {
    let mut models: Vec<ModelEntry> = provider.models.iter().map(|model| from_catalog(provider, model)).collect();
    for listed in gateway.discovered(&provider.id) {
        match models.iter_mut().find(|known| known.id == listed.id) {
            Some(known) => {
                known.context = listed.context.or(known.context);
                known.max_output = listed.max_output.or(known.max_output);
            }
            None => models.push(ModelEntry {
                display_name: listed.name.clone().unwrap_or_else(|| listed.id.clone()),
                owned_by: provider.id.as_str().to_owned(),
                context: listed.context.or(Some(provider.default_context)),
                max_output: listed.max_output,
                id: listed.id,
                ..ModelEntry::default()
            }),
        }
    }
    models
}

fn from_catalog(provider: &Provider, model: &catalog::Model) -> ModelEntry {
    ModelEntry {
        id: model.id.clone(),
        display_name: model.name.clone(),
        owned_by: provider.id.as_str().to_owned(),
        context: model.context.or(Some(provider.default_context)),
        max_output: model.max_output,
        capabilities: dialects::models::Capabilities {
            tools: model.supports.tools,
            vision: model.supports.vision,
            reasoning: model.supports.reasoning,
            structured_output: model.supports.structured_output,
            audio: model.supports.audio,
        },
        price: model.price.as_ref().map(|price| ModelPrice {
            input: price.input,
            output: price.output,
            cache_read: Some(price.cache_read),
            cache_write: Some(price.cache_write),
        }),
        ..ModelEntry::default()
    }
}

/// Asks connected providers whose list is old; in the background where something is known already.
async fn refresh(gateway: &Gateway) {
    let now = gateway.now();
    let all = futures_util::future::join_all(ask_anew(gateway, now));
    tokio::select! {
        biased;
        _ = all => {}
        () = gateway.clock().sleep_until(now + PATIENCE) => {}
    }
}

/// Begins to ask them: those who never were asked before are handed back, to be waited for.
fn ask_anew(gateway: &Gateway, now: Timestamp) -> Vec<JoinHandle<()>> {
    let (connections, catalog) = (gateway.connections(), gateway.catalog());
    let mut first_time = Vec::new();
    for provider in catalog.iter() {
        let asked_at = gateway.discovered_at(&provider.id);
        if asked_at.is_some_and(|at| now.since(at) < FRESH) {
            continue;
        }
        let Some(entry) = connections.of_provider(&provider.id).find(|entry| entry.connection.is_active) else {
            continue;
        };
        let task = {
            let (gateway, entry) = (gateway.clone(), Arc::clone(entry));
            async move { discover(&gateway, &entry).await }
        };
        let handle = gateway.tracker().spawn(task);
        if asked_at.is_none() {
            first_time.push(handle);
        }
    }
    first_time
}

/// Asks one account's provider for its models and remembers the answer, an empty one on failure included.
async fn discover(gateway: &Gateway, entry: &crate::address_book::Entry) {
    let Some(target) = gateway.target(entry) else { return };
    let found = tokio::select! {
        biased;
        () = gateway.cancel().cancelled() => return,
        found = upstream::discovery::models(gateway.transport().as_ref(), &target, gateway.clock().as_ref(), LIST_LIMIT) => found,
    };
    match found {
        Ok(models) => gateway.set_discovered(&entry.connection.provider, models),
        Err(error) => {
            tracing::debug!(provider = %entry.connection.provider, message = %error.message, "the model list could not be read");
            let known = gateway.discovered(&entry.connection.provider);
            gateway.set_discovered(&entry.connection.provider, known);
        }
    }
}
