//! How a model name finds its provider (gateway specification, 1.4, 1.5 and 6.2).

use domain::{choice, section};

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
    }
}
