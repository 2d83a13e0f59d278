//! A model of a provider, as far as somebody stated it.

use domain::Dialect;

use crate::Price;

/// One model a provider is known to serve.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What the provider calls it.
    pub id: String,
    /// What a person calls it.
    pub name: String,
    /// Other names clients may use for it at this provider.
    pub aliases: Vec<String>,
    /// Tokens of input and output together.
    pub context: Option<u64>,
    /// Tokens of output.
    pub max_output: Option<u64>,
    /// The only dialect this model speaks, where that differs from its provider's.
    pub dialect: Option<Dialect>,
    pub supports: Supports,
    /// Accepted reasoning efforts, weakest first; empty when unknown or none.
    pub efforts: Vec<String>,
    /// Request parameters the model refuses, under their wire names.
    pub unsupported_params: Vec<String>,
    pub price: Option<Price>,
}

/// What a model can do; `None` where nobody said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Supports {
    pub tools: Option<bool>,
    pub vision: Option<bool>,
    pub reasoning: Option<bool>,
    pub structured_output: Option<bool>,
    pub audio: Option<bool>,
}

impl Model {
    /// Whether `name` is this model's id or one of its aliases.
    pub fn is_named(&self, name: &str) -> bool {
        self.id == name || self.aliases.iter().any(|alias| alias == name)
    }
}
