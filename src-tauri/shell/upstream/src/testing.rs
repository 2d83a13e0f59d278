//! A provider and a target for the unit tests of this crate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::Provider;
use domain::connection::AuthType;
use domain::node::AuthCarrier;
use domain::{ConnectionId, Dialect, ProviderClass, ProviderId};
use secrecy::SecretString;

use crate::target::{Route, Target};

pub(crate) fn provider(dialect: Dialect, base_url: &str) -> Provider {
    Provider {
        id: ProviderId::from("example"),
        alias: "ex".to_owned(),
        name: "Example".to_owned(),
        class: ProviderClass::Apikey,
        auth_type: AuthType::Apikey,
        dialects: vec![dialect],
        base_url: base_url.to_owned(),
        auth_carrier: AuthCarrier::Bearer,
        extra_headers: BTreeMap::new(),
        url_query: None,
        models_path: None,
        passthrough_models: true,
        per_model_quota: true,
        default_context: 128_000,
        start_timeout: None,
        limits: domain::ProviderLimits::default(),
        usage_report: None,
        models: Vec::new(),
        quirks: BTreeSet::new(),
        beta_allow_list: None,
        embeddings: true,
        count_tokens: true,
        key_url: None,
        key_hint: None,
        egress_bucket: None,
        quota_families: Vec::new(),
        thinking: BTreeMap::new(),
        rules: Arc::default(),
        custom: false,
        allow_private_network: false,
    }
}

pub(crate) fn target(provider: Provider) -> Target {
    Target {
        provider: Arc::new(provider),
        connection: ConnectionId::from("c1"),
        base_url: None,
        credential: Some(SecretString::from("sk-upstream")),
        route: Route::default(),
    }
}
