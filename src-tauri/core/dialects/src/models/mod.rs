//! Model lists: written in the shape the client's SDK reads, read in every shape upstreams use (gateway
//! specification, 1.5).

mod read;
mod write;

pub use read::{ListError, ListedModel, read_list};
pub use write::{write_list, write_one};

/// The context stated when nobody knows better, in tokens. Zero or nothing would switch off automatic compaction in
/// some agents.
pub const DEFAULT_CONTEXT: u64 = 128_000;

/// The three shapes of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListShape {
    OpenAi,
    Anthropic,
    Gemini,
}

/// A model to be listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelEntry {
    /// The name a client sends back, `provider/model` as a rule.
    pub id: String,
    /// `owned_by`: the provider.
    pub owned_by: String,
    pub display_name: String,
    /// Context window in tokens; [`DEFAULT_CONTEXT`] when unknown.
    pub context: Option<u64>,
    pub max_output: Option<u64>,
    /// Unix seconds.
    pub created: u64,
    pub capabilities: Capabilities,
    pub price: Option<ModelPrice>,
    /// The entry this one mirrors under another prefix.
    pub parent: Option<String>,
}

/// What a model can do; `None` is unknown and left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Capabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio: Option<bool>,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct ModelPrice {
    pub input: f64,
    pub output: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// Which part of a list is wanted. Anthropic clients page; the default is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// At most so many entries; zero counts as one.
    pub limit: Option<usize>,
    /// Only entries before this id.
    pub before_id: Option<String>,
    /// Only entries after this id.
    pub after_id: Option<String>,
}

#[cfg(test)]
mod tests;
