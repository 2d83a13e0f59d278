//! How a model name finds its provider, and a request one of its accounts (gateway specification, 1.4, 1.5, 3.11 and 6.2).

use std::collections::BTreeMap;

use domain::{ProviderId, choice, section};
use routing::account::AccountStrategy;
use routing::emergency;

choice! {
    /// Under which names a provider's models are listed.
    pub enum ModelPrefixMode {
        /// Under the provider's id and under its alias.
        Dual = "dual",
        /// Under the alias only.
        Alias = "alias",
        /// Under the id only.
        Canonical = "canonical",
    }
}

section! {
    /// How a model name finds its provider.
    pub struct Config {
        /// Providers asked first when several serve a model that was named without one.
        pub provider_order: Vec<String>, env "OMNIROUTE_PROVIDER_ORDER";
        /// Whether models are listed under the provider's id, its alias, or both.
        pub model_prefix_mode: ModelPrefixMode = ModelPrefixMode::Dual, env "MODELS_CATALOG_PREFIX_MODE";
        /// Model that stands in when a request names none.
        pub default_model: Option<String>, env "OMNIROUTE_DEFAULT_MODEL";
        /// How the accounts of a provider take turns, by provider; by priority where nothing is said.
        pub account_strategy: BTreeMap<String, AccountStrategy>;
        /// Requests in a row that `round-robin` and `weighted` give one account before they move on.
        pub sticky_round_robin_limit: u32 = 1, in 1..=1_000;
        /// What happens to a direct request whose provider has no credit left.
        pub emergency_fallback: emergency::Config;
        /// Whether a protected first target that failed for another reason than its quota is answered with 502 instead of 503.
        pub protected_priority_infra_502: bool, env "PROTECTED_PRIORITY_INFRA_502_ENABLED",
            wire "protectedPriorityInfra502";
    }
}

impl Config {
    /// How the accounts of this provider take turns.
    pub fn strategy_of(&self, provider: &ProviderId) -> AccountStrategy {
        self.account_strategy.get(provider.as_str()).copied().unwrap_or(AccountStrategy::Priority)
    }
}
