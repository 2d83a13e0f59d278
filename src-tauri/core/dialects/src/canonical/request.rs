//! What an agent asks, whatever it speaks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::Dialect;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::target::{Names, Warning};
use crate::client::Client;

/// One request for an answer.
#[derive(Clone, Debug)]
pub struct Request {
    pub model: String,
    pub stream: bool,
    /// Whose words it was written in.
    pub source: Client,
    /// Text that stands before the conversation, in order.
    pub system: Vec<Part>,
    pub turns: Vec<Turn>,
    pub tools: Vec<Tool>,
    pub tool_choice: Option<ToolChoice>,
    /// Whether several tools may be called at once; unset, as the model likes.
    pub parallel_tool_calls: Option<bool>,
    pub sampling: Sampling,
    /// Tokens.
    pub max_output: Option<u64>,
    pub reasoning: Reasoning,
    pub output_format: OutputFormat,
    /// `low`, `medium`, `high`.
    pub verbosity: Option<String>,
    /// `user`, `safety_identifier`, `metadata.user_id`.
    pub user: Option<String>,
    /// `prompt_cache_key`.
    pub cache_key: Option<String>,
    pub service_tier: Option<String>,
    /// `metadata` of OpenAI requests.
    pub metadata: Option<Map<String, Value>>,
    /// Responses: the answer this one continues.
    pub previous_response_id: Option<String>,
    /// Responses: whether the vendor shall keep the answer.
    pub store: Option<bool>,
    /// Responses: further output asked for.
    pub include: Vec<String>,
    /// Chat: whether the client wants the trailing usage chunk.
    pub wants_usage_chunk: bool,
    /// Top-level members that have no place here, by name: a writer of another dialect drops them and says so.
    pub dropped: Vec<String>,
}

impl Request {
    /// A request that says nothing yet.
    pub fn new(model: &str, source: impl Into<Client>) -> Request {
        Request {
            model: model.to_owned(),
            stream: false,
            source: source.into(),
            system: Vec::new(),
            turns: Vec::new(),
            tools: Vec::new(),
            tool_choice: None,
            parallel_tool_calls: None,
            sampling: Sampling::default(),
            max_output: None,
            reasoning: Reasoning::default(),
            output_format: OutputFormat::default(),
            verbosity: None,
            user: None,
            cache_key: None,
            service_tier: None,
            metadata: None,
            previous_response_id: None,
            store: None,
            include: Vec::new(),
            wants_usage_chunk: false,
            dropped: Vec::new(),
        }
    }

    /// Warnings of what no other dialect has a place for ([`Request::dropped`]).
    pub fn left_out(&self) -> impl Iterator<Item = Warning> {
        self.dropped.iter().map(|name| {
            let code = if name == "background" { "BACKGROUND_DEGRADE" } else { "DROPPED_PARAMETER" };
            Warning { code, about: name.clone() }
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// In the middle of the conversation; what stands before it is [`Request::system`].
    System,
    User,
    Assistant,
}

/// Neighbouring parts of one speaker. Tool results belong to a `User` turn, before its other parts.
#[derive(Clone, Debug)]
pub struct Turn {
    pub role: Role,
    pub parts: Vec<Part>,
}

/// A place up to which the prompt may be cached (`cache_control`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheMark {
    /// `5m`, `1h`.
    pub ttl: Option<String>,
}

/// Where media comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `data` is base64, without the `data:` prefix.
    Inline {
        mime: String,
        data: String,
    },
    Url(String),
    /// An id at the vendor that keeps the file.
    File(String),
    /// Plain text of a document.
    Text(String),
}

/// An image, a document or sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    pub source: Source,
    /// Name of a document's file.
    pub name: Option<String>,
    /// Of an image: `low`, `high`, `auto`.
    pub detail: Option<String>,
}

/// The family of vendors that can read a piece of reasoning again: signatures are opaque and bound to their maker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    Anthropic,
    OpenAi,
    Google,
    /// Plain text without proof: anybody's.
    #[default]
    Anyone,
}

#[derive(Clone, Debug)]
pub enum Part {
    Text {
        text: String,
        cache: Option<CacheMark>,
    },
    Image {
        media: Media,
        cache: Option<CacheMark>,
    },
    Document {
        media: Media,
        cache: Option<CacheMark>,
    },
    Audio {
        media: Media,
    },
    Reasoning {
        text: String,
        /// Proof of the text (`signature`, `thoughtSignature`), byte for byte.
        signature: Option<String>,
        /// Reasoning that only its maker can read (`redacted_thinking.data`, `encrypted_content`).
        encrypted: Option<String>,
        /// Responses: the item's id.
        item_id: Option<String>,
        origin: Origin,
    },
    ToolCall {
        id: String,
        name: String,
        /// As written: usually JSON, possibly cut or empty. For a free-text tool the text itself.
        arguments: String,
        kind: ToolKind,
        /// Gemini: `thoughtSignature` of the part.
        signature: Option<String>,
        cache: Option<CacheMark>,
    },
    ToolResult {
        call_id: String,
        content: Vec<Part>,
        is_error: bool,
        cache: Option<CacheMark>,
    },
    Refusal {
        text: String,
    },
    /// Something only its own dialect knows: server tools and their results. `summary` is what can be said of it in text.
    Opaque {
        dialect: Dialect,
        json: Box<RawValue>,
        summary: String,
    },
}

/// Texts as one, each on a line of its own. A lone text stays what it is.
pub(crate) fn lines(mut texts: Vec<Cow<'_, str>>) -> Cow<'_, str> {
    if texts.len() == 1 {
        return texts.remove(0);
    }
    Cow::Owned(texts.join("\n"))
}

#[derive(Clone, Debug, Default)]
pub struct Tool {
    /// Unique among the tools; with its namespace in front where it has one ([`flat_name`](super::tools::flat_name)).
    pub name: String,
    pub description: Option<String>,
    pub kind: ToolKind,
    /// JSON schema of the arguments, in the client's order of keys; none, no arguments.
    pub schema: Option<Value>,
    pub strict: Option<bool>,
    pub cache: Option<CacheMark>,
    /// The definition as the client wrote it, for tools that only some vendors have.
    pub definition: Option<Box<RawValue>>,
    /// Responses: the group it stands in.
    pub namespace: Option<Namespace>,
}

impl Tool {
    /// The tool in the client's words.
    pub fn names(&self) -> Names {
        let within = self.namespace.as_ref();
        Names {
            name: within.map_or(&self.name, |within| &within.name).clone(),
            kind: self.kind.clone(),
            namespace: within.map(|within| within.group.clone()),
        }
    }
}

/// A group of tools, and what its tool is called within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    pub group: String,
    pub description: Option<String>,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolKind {
    /// Called with a JSON object.
    #[default]
    Function,
    /// Called with free text (`custom`, such as Codex' `apply_patch`).
    Custom,
    /// Codex' shell.
    LocalShell,
    /// Run by the vendor; the word is the canonical name: `web_search`, `code_interpreter`, `computer`, `file_search`,
    /// `image_generation`, `tool_search`, `mcp`, `url_context`, or the type as written.
    Server(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    Auto,
    None,
    /// Some tool must be called.
    Any,
    One(String),
    /// Only these; `required`: one of them must be called.
    Subset {
        names: Vec<String>,
        required: bool,
    },
}

/// How answers are drawn. Unset is the vendor's default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<u64>,
    pub seed: Option<i64>,
    pub frequency_penalty: Option<f64>,
    pub presence_penalty: Option<f64>,
    pub stop: Vec<String>,
    /// Answers asked for at once.
    pub n: Option<u32>,
    pub logprobs: Option<bool>,
    pub top_logprobs: Option<u32>,
    pub logit_bias: Option<BTreeMap<String, f64>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasoning {
    pub mode: ReasoningMode,
    /// Whether the client wants to see it.
    pub visible: Option<bool>,
    /// Responses: `auto`, `concise`, `detailed`.
    pub summary: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningMode {
    /// Nothing was said.
    #[default]
    Default,
    Off,
    Effort(Effort),
    /// Tokens.
    Budget(u64),
    /// As much as the model finds right, with a hint where one was given.
    Adaptive(Option<Effort>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl Effort {
    pub const fn as_str(self) -> &'static str {
        match self {
            Effort::Minimal => "minimal",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh => "xhigh",
            Effort::Max => "max",
        }
    }

    /// Reads the word; `none` is [`ReasoningMode::Off`] and no effort.
    pub fn parse(word: &str) -> Option<Effort> {
        Some(match word {
            "minimal" => Effort::Minimal,
            "low" => Effort::Low,
            "medium" => Effort::Medium,
            "high" => Effort::High,
            "xhigh" => Effort::XHigh,
            "max" => Effort::Max,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum OutputFormat {
    #[default]
    Text,
    JsonObject,
    JsonSchema {
        name: String,
        description: Option<String>,
        schema: Value,
        strict: Option<bool>,
    },
}
