//! What a writer must know of the one it writes for, and what it leaves behind for the way back.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::request::{Effort, Origin, ToolKind};

/// What becomes of a tool that the receiving side cannot have. One that the client forces is always refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForeignTools {
    /// Left out with a warning.
    #[default]
    Drop,
    /// Refused where the client brings no other tool: without it the request would mean something else.
    RefuseAlone,
    Refuse,
}

/// Marks of what is worth caching (`cache_control`) in requests to a side that has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheMarks {
    /// The client's own.
    #[default]
    Kept,
    /// The client's own; at Anthropic, where it has none, those that pay off in a conversation that grows.
    Placed,
    Dropped,
}

/// What the receiving model can take. Unknown counts as capable.
#[derive(Clone, Debug)]
pub struct Target {
    /// As the provider names it.
    pub model: String,
    /// Whose signatures it can read; `Anyone` reads none.
    pub origin: Origin,
    /// Most tokens of an answer; none, unknown.
    pub max_output: Option<u64>,
    pub takes_images: bool,
    pub takes_audio: bool,
    /// Efforts the model knows; empty, all of the dialect.
    pub efforts: Vec<Effort>,
    /// Parameters it refuses, by their name in its dialect.
    pub unsupported: Vec<String>,
    /// `json_schema` answers; otherwise they are emulated.
    pub takes_json_schema: bool,
    /// Thinking is switched on by `adaptive` instead of a budget (newest Anthropic models).
    pub adaptive_thinking: bool,
    /// Gemini 3: `thinkingLevel` instead of `thinkingBudget`.
    pub thinking_level: bool,
    /// Gemini: takes ids of calls and results. Vertex refuses them; without, results are matched by name and order.
    pub call_ids: bool,
    pub system_role: bool,
    pub developer_role: bool,
    pub stream_options: bool,
    pub max_completion_tokens: bool,
    pub string_content_only: bool,
    /// Takes an effort (Chat) or a thinking configuration (Gemini).
    pub reasoning_effort: bool,
    pub parallel_flag: bool,
    pub tool_ids_9_alnum: bool,
    /// Chat: takes `top_k`. OpenAI has no such parameter, and many hosts refuse what it does not have.
    pub top_k: bool,
    /// Wants earlier reasoning back on turns that called tools.
    pub reasoning_replay: bool,
    /// Keeps `cache_control` in Chat content parts (OpenRouter with Claude models).
    pub chat_cache_marks: bool,
    pub foreign_tools: ForeignTools,
    pub cache_marks: CacheMarks,
}

impl Target {
    /// A model of which nothing is known: capable of everything its dialect has.
    pub fn unknown(model: &str) -> Target {
        Target {
            model: model.to_owned(),
            origin: Origin::Anyone,
            max_output: None,
            takes_images: true,
            takes_audio: true,
            efforts: Vec::new(),
            unsupported: Vec::new(),
            takes_json_schema: true,
            adaptive_thinking: false,
            thinking_level: false,
            call_ids: false,
            system_role: true,
            developer_role: false,
            stream_options: true,
            max_completion_tokens: false,
            string_content_only: false,
            reasoning_effort: true,
            parallel_flag: true,
            tool_ids_9_alnum: false,
            top_k: false,
            reasoning_replay: false,
            chat_cache_marks: false,
            foreign_tools: ForeignTools::Drop,
            cache_marks: CacheMarks::Kept,
        }
    }

    pub fn refuses(&self, parameter: &str) -> bool {
        self.unsupported.iter().any(|name| name == parameter)
    }
}

/// Something that could not be carried over: a short code, and what it was about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// `DROPPED_PARAMETER`, `DROPPED_TOOL`, `DROPPED_REASONING`, `DROPPED_PART`, `EMULATED_FORMAT`, `REPAIRED_TOOLS`, …
    pub code: &'static str,
    /// Name of the field or tool; never content.
    pub about: String,
}

/// A request in the target's words.
#[derive(Clone, Debug)]
pub struct Written {
    pub body: Bytes,
    pub warnings: Vec<Warning>,
    /// For the way back.
    pub ids: IdMap,
}

/// What was renamed on the way out, so that the client gets its own words back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdMap {
    /// Tool names as sent, to the client's tools.
    pub names: BTreeMap<String, Names>,
    /// A structured answer is emulated by a forced call of the tool of this name: its input is the answer's text.
    pub format_tool: Option<String>,
    /// Whose proofs of reasoning the answer will carry: [`Target::origin`].
    pub origin: Origin,
}

/// A tool under the client's own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    pub name: String,
    pub kind: ToolKind,
    /// Responses: the namespace it was grouped under.
    pub namespace: Option<String>,
}
