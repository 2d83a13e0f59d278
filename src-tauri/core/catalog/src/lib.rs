//! Providers and models as data.
//!
//! One TOML file per provider in `data/providers/` says what the provider *is*: where it listens, which dialects it
//! speaks, how it takes a credential, which models it has. How a dialect *works* is code elsewhere. The files are
//! compiled in and checked when [`Catalog::builtin`] reads them; model lists age quickly, so they are a start that live
//! discovery adds to, and a model they do not know can still be named (specification's decision 38).
//!
//! Unknown is absent, never zero: a price, a window or a capability that nobody stated is `None`.

mod builtin;
mod file;

pub mod model;
pub mod pricing;
pub mod provider;
pub mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::ProviderId;
use domain::node::CustomNode;
use thiserror::Error;

pub use model::{Model, Supports};
pub use pricing::Price;
pub use provider::{Provider, Quirk, Thinking};
pub use resilience::usage_report::UsageReport;
pub use rules::QuotaFamily;

/// Why the catalogue's data cannot be used.
#[derive(Debug, Error)]
pub enum Error {
    #[error("provider file {file} cannot be read")]
    Syntax { file: String, source: Box<toml::de::Error> },
    #[error("provider file {file}: {message}")]
    Invalid { file: String, message: String },
    #[error("providers {first} and {second} share the name {name}")]
    Duplicate { name: String, first: ProviderId, second: ProviderId },
}

/// Every provider there is, built-in and custom. Cheap to clone: the providers are shared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    providers: BTreeMap<ProviderId, Arc<Provider>>,
    /// Ids, aliases and prefixes; an id of one provider is never the alias of another.
    names: BTreeMap<String, ProviderId>,
}

impl Catalog {
    /// The providers this program ships with.
    ///
    /// # Errors
    ///
    /// When a file has an unknown key, a value that makes no sense, or a name that another file uses. A test reads all
    /// files, so a released program does not see these.
    pub fn builtin() -> Result<Catalog, Error> {
        Catalog::from_files(builtin::FILES)
    }

    /// A catalogue with the custom nodes as providers beside those of `self`. A node's models are named by its prefix;
    /// where a prefix is taken the provider that had it keeps it, and the node is still known by its id.
    pub fn with_nodes(&self, nodes: &[CustomNode]) -> Catalog {
        let mut catalog = self.clone();
        for node in nodes {
            let provider = Provider::from_node(node);
            let id = provider.id.clone();
            catalog.names.entry(id.as_str().to_owned()).or_insert_with(|| id.clone());
            catalog.names.entry(provider.alias.clone()).or_insert_with(|| id.clone());
            catalog.providers.entry(id).or_insert_with(|| Arc::new(provider));
        }
        catalog
    }

    pub fn get(&self, id: &ProviderId) -> Option<&Arc<Provider>> {
        self.providers.get(id)
    }

    /// The provider of that id, alias or prefix, as it stands before the slash of a model name.
    pub fn by_name(&self, name: &str) -> Option<&Arc<Provider>> {
        self.providers.get(self.names.get(name)?)
    }

    /// All providers in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.providers.values()
    }

    fn from_files(files: &[(&str, &str)]) -> Result<Catalog, Error> {
        let mut catalog = Catalog::default();
        let mut rules = BTreeMap::new();
        for (name, text) in files {
            let provider = file::read(name, text)?;
            for rule in rules::ids(&provider.rules) {
                if let Some(first) = rules.insert(rule.to_owned(), provider.id.clone()) {
                    return Err(Error::Duplicate { name: rule.to_owned(), first, second: provider.id });
                }
            }
            catalog.insert(provider)?;
        }
        Ok(catalog)
    }

    fn insert(&mut self, provider: Provider) -> Result<(), Error> {
        let id = provider.id.clone();
        if self.providers.contains_key(&id) {
            return Err(Error::Duplicate { name: id.as_str().to_owned(), first: id.clone(), second: id });
        }
        for name in BTreeSet::from([id.as_str().to_owned(), provider.alias.clone()]) {
            if let Some(first) = self.names.get(&name).cloned() {
                return Err(Error::Duplicate { name, first, second: id });
            }
            self.names.insert(name, id.clone());
        }
        self.providers.insert(id, Arc::new(provider));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use domain::connection::AuthType;
    use domain::node::AuthCarrier;
    use domain::{Dialect, ProviderClass, Timestamp};

    use super::*;

    fn builtin() -> Catalog {
        Catalog::builtin().expect("the catalogue that is shipped")
    }

    fn node(prefix: &str, api_type: Dialect) -> CustomNode {
        CustomNode {
            id: CustomNode::id_for(api_type, prefix),
            name: "Work".to_owned(),
            prefix: prefix.to_owned(),
            api_type,
            base_url: "http://127.0.0.1:9/v1/".to_owned(),
            auth_carrier: AuthCarrier::Bearer,
            extra_headers: BTreeMap::from([("x-team".to_owned(), "a".to_owned())]),
            models_path: None,
            allow_private_network: true,
            provider_class: ProviderClass::Local,
            created_at: Timestamp::ZERO,
            updated_at: Timestamp::ZERO,
        }
    }

    #[test]
    fn a_provider_is_found_by_id_and_by_alias() {
        let catalog = builtin();
        for (name, id) in [("openai", "openai"), ("ds", "deepseek"), ("deepseek", "deepseek"), ("kimi", "moonshot")] {
            assert_eq!(catalog.by_name(name).map(|provider| provider.id.as_str()), Some(id), "{name}");
        }
        assert!(catalog.by_name("nobody").is_none());
    }

    #[test]
    fn the_providers_of_the_specification_are_there() {
        let specified = [
            ("agentrouter", "messages", "https://agentrouter.org/v1"),
            ("alibaba", "chat", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
            ("anthropic", "messages", "https://api.anthropic.com/v1"),
            ("bailian-coding-plan", "messages", "https://coding-intl.dashscope.aliyuncs.com/apps/anthropic/v1"),
            ("cerebras", "chat", "https://api.cerebras.ai/v1"),
            ("claude", "messages", "https://api.anthropic.com/v1"),
            ("cloudflare-ai", "chat", "https://api.cloudflare.com/client/v4/accounts/ACCOUNT_ID/ai/v1"),
            ("codex", "responses", "https://chatgpt.com/backend-api/codex"),
            ("deepseek", "chat", "https://api.deepseek.com/v1"),
            ("fireworks", "chat", "https://api.fireworks.ai/inference/v1"),
            ("gemini", "gemini", "https://generativelanguage.googleapis.com/v1beta"),
            ("github-models", "chat", "https://models.github.ai/inference"),
            ("glm", "chat", "https://api.z.ai/api/coding/paas/v4"),
            ("glm-cn", "chat", "https://open.bigmodel.cn/api/coding/paas/v4"),
            ("groq", "chat", "https://api.groq.com/openai/v1"),
            ("kimi-coding-apikey", "messages", "https://api.kimi.com/coding/v1"),
            ("llama-cpp", "chat", "http://127.0.0.1:8080/v1"),
            ("lmstudio", "chat", "http://127.0.0.1:1234/v1"),
            ("minimax", "messages", "https://api.minimax.io/anthropic/v1"),
            ("minimax-cn", "messages", "https://api.minimaxi.com/anthropic/v1"),
            ("minimax-passthrough", "messages", "https://api.minimax.io/anthropic/v1"),
            ("mistral", "chat", "https://api.mistral.ai/v1"),
            ("moonshot", "chat", "https://api.moonshot.ai/v1"),
            ("nvidia", "chat", "https://integrate.api.nvidia.com/v1"),
            ("ollama", "chat", "http://127.0.0.1:11434/v1"),
            ("openai", "chat", "https://api.openai.com/v1"),
            ("opencode", "chat", "https://opencode.ai/zen/v1"),
            ("opencode-cli", "chat", "https://opencode.ai/zen/v1"),
            ("opencode-go", "chat", "https://opencode.ai/zen/go/v1"),
            ("opencode-zen", "chat", "https://opencode.ai/zen/v1"),
            ("openrouter", "chat", "https://openrouter.ai/api/v1"),
            ("together", "chat", "https://api.together.xyz/v1"),
            ("vllm", "chat", "http://127.0.0.1:8000/v1"),
            ("xai", "chat", "https://api.x.ai/v1"),
            ("zai", "messages", "https://api.z.ai/api/anthropic/v1"),
        ];
        let catalog = builtin();
        let found: Vec<_> = catalog
            .iter()
            .map(|provider| (provider.id.as_str(), provider.dialects[0].as_str(), provider.base_url.as_str()))
            .collect();
        assert_eq!(found, specified);
    }

    #[test]
    fn betas_go_unfiltered_to_the_host_of_anthropic_alone() {
        for provider in builtin().iter().filter(|provider| provider.dialects.contains(&Dialect::Messages)) {
            let unfiltered = provider.beta_allow_list.is_none();
            assert_eq!(unfiltered, matches!(provider.id.as_str(), "anthropic" | "claude"), "{}", provider.id);
        }
    }

    #[test]
    fn a_person_is_told_where_to_get_every_key() {
        for provider in builtin().iter().filter(|provider| provider.class == ProviderClass::Apikey) {
            assert!(provider.key_url.is_some(), "{} has no key_url", provider.id);
        }
    }

    #[test]
    fn only_the_specified_providers_are_on_the_allow_lists_and_in_the_bucket() {
        let catalog = builtin();
        let named = |holds: fn(&Provider) -> bool| {
            let found = catalog.iter().filter(|provider| holds(provider));
            found.map(|provider| provider.id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(named(|provider| provider.rules.full_text), ["agentrouter"]);
        assert_eq!(named(|provider| provider.rules.honors_scope), ["agentrouter"]);
        assert_eq!(named(|provider| provider.egress_bucket.is_some()), ["opencode", "opencode-cli", "opencode-go"]);
    }

    #[test]
    fn the_nature_of_a_model_follows_its_provider_and_its_connection() {
        let catalog = builtin();
        for (provider, model, passthrough, per_model, family) in [
            ("codex", "gpt-5.5-high", None, true, Some("codex")), // ML-06
            ("codex", "gpt-5.3-codex-spark", None, true, Some("spark")),
            ("codex", "o9", None, true, None),
            ("gemini", "gemini-3.5-flash", None, true, None),
            ("agentrouter", "m", None, true, None),
            ("agentrouter", "m", Some(false), false, None), // ML-29
            ("openai", "m", None, false, None),
            ("openai", "m", Some(true), true, None), // ML-29
        ] {
            let nature = catalog.by_name(provider).expect("a provider").nature(model, passthrough, false);
            assert_eq!(
                (nature.per_model_quota, nature.quota_family.as_deref()),
                (per_model, family),
                "{provider}/{model}"
            );
        }
        let spared = catalog.by_name("opencode").expect("a provider").nature("m", None, true);
        assert_eq!((spared.disable_cooling, spared.egress_bucket.as_deref()), (true, Some("opencode")));
    }

    #[test]
    fn thinking_is_asked_for_in_the_form_of_the_models_family() {
        let catalog = builtin();
        for (provider, model, expected) in [
            ("anthropic", "claude-opus-4-6", Thinking::Budget),
            ("anthropic", "claude-opus-4-8", Thinking::Adaptive),
            ("anthropic", "claude-sonnet-5-5", Thinking::Adaptive),
            ("anthropic", "claude-haiku-5-5", Thinking::Budget),
            ("gemini", "gemini-2.5-pro", Thinking::Budget),
            ("gemini", "gemini-3.9-not-yet-known", Thinking::Level),
            ("gemini", "gemma-3-27b-it", Thinking::Refused),
        ] {
            assert_eq!(catalog.by_name(provider).expect("a provider").thinking(model), expected, "{model}");
        }
    }

    #[test]
    fn a_node_becomes_a_provider_named_by_its_prefix() {
        let catalog = builtin().with_nodes(&[node("work", Dialect::Messages)]);
        let provider = catalog.by_name("work").expect("the node");
        assert_eq!(provider.id.as_str(), "anthropic-compatible-work");
        assert_eq!(provider.base_url, "http://127.0.0.1:9/v1");
        assert_eq!((provider.class, provider.auth_type), (ProviderClass::Local, AuthType::None));
        assert!(provider.custom && provider.passthrough_models && provider.per_model_quota);
        assert!(provider.allow_private_network);
        assert_eq!(provider.beta_allow_list, Some(Vec::new()));
        assert!(catalog.get(&provider.id).is_some());
    }

    #[test]
    fn a_node_never_takes_the_name_of_a_built_in_provider() {
        let catalog = builtin().with_nodes(&[node("openai", Dialect::Chat)]);
        assert!(!catalog.by_name("openai").expect("the built-in provider").custom);
        assert!(catalog.by_name("openai-compatible-openai").expect("the node by its id").custom);
    }

    #[test]
    fn names_are_unique_over_all_files() {
        let file = |id: &str, alias: &str| {
            format!(
                "id = {id:?}\nalias = {alias:?}\nname = \"N\"\nclass = \"apikey\"\ndialects = [\"chat\"]\n\
                 base_url = \"https://a.example/v1\"\n"
            )
        };
        for (first, second, shared) in [(("a", "x"), ("b", "x"), "x"), (("a", "x"), ("b", "a"), "a")] {
            let (one, two) = (file(first.0, first.1), file(second.0, second.1));
            let outcome = Catalog::from_files(&[(first.0, &one), (second.0, &two)]);
            assert!(matches!(outcome, Err(Error::Duplicate { name, .. }) if name == shared));
        }
        let twice = file("a", "a");
        assert!(matches!(Catalog::from_files(&[("a", &twice), ("a", &twice)]), Err(Error::Duplicate { .. })));
    }
}
