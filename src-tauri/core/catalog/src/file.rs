//! The form of a provider file, and what must hold of its values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::connection::AuthType;
use domain::node::AuthCarrier;
use domain::{Dialect, Millis, ProviderClass, ProviderId, ProviderLimits};
use http::Uri;
use resilience::failure::{ProviderRules, Restatement};
use resilience::usage_report::UsageReport;
use serde::Deserialize;

use crate::provider::DEFAULT_CONTEXT;
use crate::rules::{self, ErrorRuleEntry, QuotaFamily};
use crate::{Error, Model, Price, Provider, Quirk, Supports, Thinking};

/// An hour: what the request queue accepts as a spacing.
const LONGEST_SPACING_MS: u64 = 3_600_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderFile {
    id: String,
    alias: String,
    name: String,
    class: ProviderClass,
    dialects: Vec<Dialect>,
    base_url: String,
    #[serde(default)]
    auth_carrier: AuthCarrier,
    #[serde(default)]
    extra_headers: BTreeMap<String, String>,
    url_query: Option<String>,
    models_path: Option<String>,
    #[serde(default)]
    passthrough_models: bool,
    #[serde(default)]
    per_model_quota: bool,
    default_context: Option<u64>,
    start_timeout_ms: Option<u64>,
    /// Shortest time between two requests to one account.
    spacing_floor_ms: Option<u64>,
    most_tools: Option<u32>,
    usage_report: Option<UsageReport>,
    #[serde(default)]
    quirks: BTreeSet<Quirk>,
    beta_allow_list: Option<Vec<String>>,
    #[serde(default)]
    embeddings: bool,
    #[serde(default)]
    count_tokens: bool,
    key_url: Option<String>,
    key_hint: Option<String>,
    egress_bucket: Option<String>,
    #[serde(default)]
    full_text_rules: bool,
    #[serde(default)]
    honors_rule_scope: bool,
    #[serde(default)]
    restate: Vec<Restatement>,
    #[serde(default)]
    error_rule: Vec<ErrorRuleEntry>,
    #[serde(default)]
    quota_family: Vec<QuotaFamily>,
    /// Beginnings of model ids by the way thinking is asked for; models of no entry are given a budget.
    #[serde(default)]
    thinking: BTreeMap<Thinking, Vec<String>>,
    #[serde(default)]
    models: Vec<ModelEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelEntry {
    id: String,
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    context: Option<u64>,
    max_output: Option<u64>,
    dialect: Option<Dialect>,
    #[serde(default)]
    supports: Supports,
    #[serde(default)]
    efforts: Vec<String>,
    #[serde(default)]
    unsupported_params: Vec<String>,
    price: Option<PriceEntry>,
}

/// The unit is part of every key, so that a price cannot be read in another one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceEntry {
    input_usd_per_million: f64,
    output_usd_per_million: f64,
    cache_read_usd_per_million: Option<f64>,
    cache_write_usd_per_million: Option<f64>,
}

/// Reads the provider file called `name` (without extension).
pub(crate) fn read(name: &str, text: &str) -> Result<Provider, Error> {
    let file: ProviderFile =
        toml::from_str(text).map_err(|source| Error::Syntax { file: name.to_owned(), source: Box::new(source) })?;
    check(name, &file).map_err(|message| Error::Invalid { file: name.to_owned(), message })?;
    Ok(file.into_provider())
}

impl ProviderFile {
    fn into_provider(self) -> Provider {
        let primary = self.dialects.first().copied().unwrap_or(Dialect::Chat);
        Provider {
            id: ProviderId::from(self.id),
            alias: self.alias,
            name: self.name,
            class: self.class,
            auth_type: match self.class {
                ProviderClass::Oauth => AuthType::Oauth,
                ProviderClass::Apikey => AuthType::Apikey,
                ProviderClass::Local | ProviderClass::Free => AuthType::None,
            },
            dialects: self.dialects,
            base_url: self.base_url,
            auth_carrier: self.auth_carrier,
            extra_headers: self.extra_headers,
            url_query: self.url_query,
            models_path: self.models_path,
            passthrough_models: self.passthrough_models,
            per_model_quota: self.per_model_quota || self.passthrough_models,
            default_context: self.default_context.unwrap_or(DEFAULT_CONTEXT),
            start_timeout: self.start_timeout_ms.map(Millis::new),
            limits: ProviderLimits {
                spacing_floor: self.spacing_floor_ms.map(Millis::new).unwrap_or_default(),
                most_tools: self.most_tools,
            },
            usage_report: self.usage_report,
            models: self.models.into_iter().map(|model| model.into_model(primary)).collect(),
            quirks: self.quirks,
            beta_allow_list: self.beta_allow_list,
            embeddings: self.embeddings,
            count_tokens: self.count_tokens,
            key_url: self.key_url,
            key_hint: self.key_hint,
            egress_bucket: self.egress_bucket,
            quota_families: self.quota_family,
            thinking: self.thinking,
            rules: Arc::new(ProviderRules {
                restatements: self.restate,
                error_rules: self.error_rule.into_iter().map(ErrorRuleEntry::into_rule).collect(),
                full_text: self.full_text_rules,
                honors_scope: self.honors_rule_scope,
            }),
            custom: false,
            allow_private_network: self.class == ProviderClass::Local,
        }
    }
}

impl ModelEntry {
    fn into_model(self, primary: Dialect) -> Model {
        let dialect = self.dialect.unwrap_or(primary);
        Model {
            id: self.id,
            name: self.name,
            aliases: self.aliases,
            context: self.context,
            max_output: self.max_output,
            dialect: self.dialect,
            supports: self.supports,
            efforts: self.efforts,
            unsupported_params: self.unsupported_params,
            price: self.price.map(|price| {
                Price::new(
                    dialect,
                    price.input_usd_per_million,
                    price.output_usd_per_million,
                    price.cache_read_usd_per_million,
                    price.cache_write_usd_per_million,
                )
            }),
        }
    }
}

fn check(name: &str, file: &ProviderFile) -> Result<(), String> {
    if file.id != name {
        return Err(format!("id is {:?}, the file is called {name:?}", file.id));
    }
    for (key, value) in [("id", &file.id), ("alias", &file.alias)] {
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        if value.is_empty() || !value.chars().all(plain) {
            return Err(format!("{key} {value:?} may hold lower-case letters, digits and hyphens only"));
        }
    }
    if file.dialects.is_empty() {
        return Err("dialects is empty".to_owned());
    }
    check_url("base_url", &file.base_url, file.class == ProviderClass::Local)?;
    if file.base_url.ends_with('/') || file.base_url.contains('?') {
        return Err("base_url must end with its last path segment".to_owned());
    }
    if let Some(url) = &file.key_url {
        check_url("key_url", url, false)?;
    }
    if file.default_context == Some(0) {
        return Err("default_context is zero; leave out what is unknown".to_owned());
    }
    if file.spacing_floor_ms.is_some_and(|floor| floor > LONGEST_SPACING_MS) || file.most_tools == Some(0) {
        return Err("spacing_floor_ms is an hour at most, most_tools at least one".to_owned());
    }
    rules::check(&file.restate, &file.error_rule, &file.quota_family)?;
    check_models(file)
}

fn check_url(key: &str, url: &str, may_be_plain: bool) -> Result<(), String> {
    let parsed: Uri = url.parse().map_err(|error| format!("{key} {url:?} is no URL: {error}"))?;
    match (parsed.scheme_str(), parsed.authority()) {
        (Some("https"), Some(_)) => Ok(()),
        (Some("http"), Some(_)) if may_be_plain => Ok(()),
        _ => Err(format!("{key} {url:?} must be an absolute https URL")),
    }
}

fn check_models(file: &ProviderFile) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for model in &file.models {
        for name in [&model.id].into_iter().chain(&model.aliases) {
            if name.is_empty() || !names.insert(name) {
                return Err(format!("model name {name:?} is empty or used twice"));
            }
        }
        if model.context == Some(0) || model.max_output == Some(0) {
            return Err(format!("model {} states a zero limit; leave out what is unknown", model.id));
        }
        if model.dialect.is_some_and(|dialect| !file.dialects.contains(&dialect)) {
            return Err(format!("model {} speaks a dialect its provider does not", model.id));
        }
        if model.price.as_ref().is_some_and(|price| !price.is_sensible()) {
            return Err(format!("model {} has a price that is not positive; leave out what is unknown", model.id));
        }
    }
    Ok(())
}

impl PriceEntry {
    /// No model costs more than ten thousand dollars per million tokens; a figure above is in another unit.
    fn is_sensible(&self) -> bool {
        let rates = [
            Some(self.input_usd_per_million),
            Some(self.output_usd_per_million),
            self.cache_read_usd_per_million,
            self.cache_write_usd_per_million,
        ];
        rates.iter().flatten().all(|rate| *rate > 0.0 && *rate < 10_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"
id = "p"
alias = "pp"
name = "P"
class = "apikey"
dialects = ["chat", "responses"]
base_url = "https://p.example/v1"
"#;

    fn with(more: &str) -> String {
        format!("{PLAIN}{more}")
    }

    fn refusal(text: &str) -> String {
        match read("p", text).expect_err("a refusal") {
            Error::Syntax { source, .. } => source.message().to_owned(),
            Error::Invalid { message, .. } => message,
            Error::Duplicate { name, .. } => name,
        }
    }

    #[test]
    fn what_is_left_out_is_unknown_or_the_usual() {
        let provider = read("p", &with("[[models]]\nid = \"m\"\nname = \"M\"\n")).expect("a provider");
        assert_eq!((provider.auth_type, provider.auth_carrier), (AuthType::Apikey, AuthCarrier::Bearer));
        assert_eq!((provider.default_context, provider.start_timeout), (DEFAULT_CONTEXT, None));
        assert!(!provider.per_model_quota && !provider.custom && !provider.allow_private_network);
        let model = provider.model("m").expect("the model");
        assert_eq!((model.context, model.price, model.supports.tools), (None, None, None));
    }

    #[test]
    fn an_open_list_of_models_is_spared_per_model() {
        assert!(read("p", &with("passthrough_models = true\n")).expect("a provider").per_model_quota);
    }

    #[test]
    fn a_model_is_found_by_alias_and_its_price_is_complete() {
        let text = with(
            "quirks = [\"tool_ids_9_alnum\"]\n[[models]]\nid = \"a/b/m\"\nname = \"M\"\naliases = [\"m\"]\ncontext = 1_000\n\
             [models.price]\ninput_usd_per_million = 2\noutput_usd_per_million = 8.0\n",
        );
        let provider = read("p", &text).expect("a provider");
        let model = provider.model("m").expect("the model by its alias");
        assert_eq!(model.price, Some(Price { input: 2.0, output: 8.0, cache_read: 1.0, cache_write: 2.5 }));
        assert_eq!(model.context, Some(1_000));
        assert!(provider.has(Quirk::ToolIds9Alnum));
    }

    #[test]
    fn a_file_that_makes_no_sense_is_refused() {
        let price = |lines: &str| with(&format!("[[models]]\nid = \"m\"\nname = \"M\"\n[models.price]\n{lines}"));
        let model = |lines: &str| with(&format!("[[models]]\nid = \"m\"\nname = \"M\"\n{lines}"));
        for (text, part) in [
            (with("colour = 1\n"), "unknown field `colour`"),
            (with("quirks = [\"odd\"]\n"), "unknown variant `odd`"),
            (model("cost = 1\n"), "unknown field `cost`"),
            (price("input = 1.0\n"), "unknown field `input`"),
            (price("input_usd_per_million = 1.0\n"), "missing field `output_usd_per_million`"),
            (price("input_usd_per_million = 0.0\noutput_usd_per_million = 1.0\n"), "not positive"),
            (model("context = 0\n"), "zero limit"),
            (model("dialect = \"gemini\"\n"), "dialect its provider does not"),
            (model("aliases = [\"m\"]\n"), "used twice"),
            (PLAIN.replace("https://p", "http://p"), "absolute https URL"),
            (PLAIN.replace("https://p.example/v1", "p.example"), "absolute https URL"),
            (PLAIN.replace("/v1", "/v1/"), "last path segment"),
            (PLAIN.replace("https://p.example", "https://p example"), "no URL"),
            (PLAIN.replace("\"pp\"", "\"P/p\""), "lower-case letters"),
            (PLAIN.replace("[\"chat\", \"responses\"]", "[]"), "dialects is empty"),
            (PLAIN.replace("id = \"p\"", "id = \"q\""), "the file is called"),
            (with("default_context = 0\n"), "default_context is zero"),
        ] {
            let message = refusal(&text);
            assert!(message.contains(part), "{message:?} does not say {part:?}");
        }
    }
}
