//! What answers are made of, in the words of this dialect: written whole by `answer.rs`, piece by piece by
//! `stream_writer.rs`.

use std::borrow::Cow;

use domain::Usage;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::canonical::reasoning::seal;
use crate::canonical::tools::native_arguments;
use crate::canonical::{IdMap, ToolKind};
use crate::event::{FinishReason, PartKind};
use crate::translate::Reply;

/// The envelope. What the client asked for is not repeated in it, except that it stands for its defaults.
#[derive(Serialize)]
pub(super) struct Response<'a> {
    pub(super) id: &'a str,
    object: &'static str,
    created_at: u64,
    status: &'static str,
    background: bool,
    error: Option<Fault<'a>>,
    incomplete_details: Option<Incomplete>,
    instructions: Option<()>,
    max_output_tokens: Option<()>,
    model: &'a str,
    output: &'a [Item<'a>],
    parallel_tool_calls: bool,
    previous_response_id: Option<()>,
    reasoning: ReasoningOptions,
    store: bool,
    temperature: Option<()>,
    text: TextOptions,
    tool_choice: &'static str,
    tools: [(); 0],
    top_p: Option<()>,
    truncation: &'static str,
    usage: Option<TokenCounts>,
    user: Option<()>,
    metadata: Empty,
}

/// What an answer failed of.
#[derive(Serialize)]
pub(super) struct Fault<'a> {
    pub(super) code: &'a str,
    pub(super) message: &'a str,
    /// Seconds after which trying again may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retry_after: Option<u64>,
    /// Further members, of which typed clients know nothing and scripts something.
    #[serde(flatten)]
    pub(super) details: Option<&'a serde_json::Map<String, serde_json::Value>>,
}

#[derive(Serialize)]
struct Incomplete {
    reason: &'static str,
}

#[derive(Serialize)]
struct ReasoningOptions {
    effort: Option<()>,
    summary: Option<()>,
}

#[derive(Serialize)]
struct TextOptions {
    format: TextFormat,
}

#[derive(Serialize)]
struct TextFormat {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct TokenCounts {
    input_tokens: u64,
    input_tokens_details: InputDetails,
    output_tokens: u64,
    output_tokens_details: OutputDetails,
    total_tokens: u64,
}

#[derive(Serialize)]
struct InputDetails {
    cached_tokens: u64,
    cache_write_tokens: u64,
}

#[derive(Serialize)]
struct OutputDetails {
    reasoning_tokens: u64,
}

impl<'a> Response<'a> {
    /// The envelope of an answer that failed: whole, because typed clients take half of one for broken.
    pub(super) fn failed(id: &'a str, model: &'a str, created_at: u64, error: Fault<'a>) -> Response<'a> {
        Response { status: "failed", error: Some(error), ..Response::new(id, model, created_at, None, &[], None) }
    }

    /// The envelope of an answer that goes on, or that ended as `finish` says.
    pub(super) fn new(
        id: &'a str,
        model: &'a str,
        created_at: u64,
        finish: Option<FinishReason>,
        output: &'a [Item<'a>],
        usage: Option<&Usage>,
    ) -> Response<'a> {
        let cut = finish.and_then(cut_short);
        Response {
            id,
            object: "response",
            created_at,
            status: match (finish, cut) {
                (None, _) => "in_progress",
                (Some(_), None) => "completed",
                (Some(_), Some(_)) => "incomplete",
            },
            background: false,
            error: None,
            incomplete_details: cut.map(|reason| Incomplete { reason }),
            instructions: None,
            max_output_tokens: None,
            model,
            output,
            parallel_tool_calls: true,
            previous_response_id: None,
            reasoning: ReasoningOptions { effort: None, summary: None },
            store: false,
            temperature: None,
            text: TextOptions { format: TextFormat { kind: "text" } },
            tool_choice: "auto",
            tools: [],
            top_p: None,
            truncation: "disabled",
            usage: usage.and_then(counts),
            user: None,
            metadata: Empty {},
        }
    }
}

/// Why an answer is incomplete, in this dialect's word.
pub(super) const fn cut_short(finish: FinishReason) -> Option<&'static str> {
    match finish {
        FinishReason::Length | FinishReason::ContextFull => Some("max_output_tokens"),
        FinishReason::Filter => Some("content_filter"),
        FinishReason::End | FinishReason::StopSequence | FinishReason::ToolCalls | FinishReason::Paused => None,
    }
}

/// The counts, unless nothing was counted at all: zeros would be taken for the truth.
fn counts(usage: &Usage) -> Option<TokenCounts> {
    let (input, output) = (usage.input(), usage.output);
    if input.is_none() && output.is_none() {
        return None;
    }
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    Some(TokenCounts {
        input_tokens: input,
        input_tokens_details: InputDetails {
            cached_tokens: usage.cache_read.unwrap_or(0),
            cache_write_tokens: usage.cache_write.unwrap_or(0),
        },
        output_tokens: output,
        output_tokens_details: OutputDetails { reasoning_tokens: usage.reasoning.unwrap_or(0) },
        total_tokens: input.saturating_add(output),
    })
}

/// The name of an answer: the upstream's own under this dialect's prefix.
pub(super) fn response_id(upstream: Option<&str>, reply: &Reply) -> String {
    let id = upstream.filter(|id| !id.is_empty()).unwrap_or(&reply.id);
    let own = ["resp_", "msg_", "chatcmpl-"].iter().find_map(|prefix| id.strip_prefix(prefix)).unwrap_or(id);
    format!("resp_{own}")
}

/// An answer's name without its prefix.
pub(super) fn tail(response_id: &str) -> &str {
    response_id.strip_prefix("resp_").unwrap_or(response_id)
}

/// An output item; while it is open, with nothing in it yet.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Reasoning {
        id: &'a str,
        summary: Vec<Piece<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<Cow<'a, str>>,
    },
    Message {
        id: &'a str,
        status: &'static str,
        role: &'static str,
        content: Vec<Piece<'a>>,
    },
    FunctionCall {
        id: &'a str,
        status: &'static str,
        arguments: &'a str,
        call_id: &'a str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
    },
    CustomToolCall {
        id: &'a str,
        status: &'static str,
        call_id: &'a str,
        input: Cow<'a, str>,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
    },
    LocalShellCall {
        id: &'a str,
        status: &'static str,
        call_id: &'a str,
        action: Box<RawValue>,
    },
}

/// A piece of an item's content.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Piece<'a> {
    SummaryText { text: &'a str },
    OutputText { text: &'a str, annotations: [(); 0], logprobs: [(); 0] },
    Refusal { refusal: &'a str },
}

/// What an item is made from.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) kind: Kind,
    /// The item's own id.
    pub(super) id: String,
    pub(super) text: String,
    /// Proof of reasoning.
    pub(super) signature: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Reasoning,
    Text,
    Refusal,
    /// `name` is the one the upstream was told.
    Call {
        call_id: String,
        name: String,
    },
}

impl Kind {
    /// The kind of item that shows such a part; none for what has no words here.
    pub(super) fn of(part: &PartKind, ids: &IdMap, minted: impl FnOnce() -> String) -> Option<Kind> {
        Some(match part {
            PartKind::Text => Kind::Text,
            PartKind::Reasoning | PartKind::RedactedReasoning => Kind::Reasoning,
            PartKind::Refusal => Kind::Refusal,
            PartKind::ToolCall { name, .. } if ids.format_tool.as_ref() == Some(name) => Kind::Text,
            PartKind::ToolCall { id, name } => {
                Kind::Call { call_id: id.clone().unwrap_or_else(minted), name: name.clone() }
            }
            PartKind::Opaque => return None,
        })
    }

    /// The id of such an item at a place of an answer. The vendor knows kinds by the beginning of their ids.
    pub(super) fn id(&self, response_id: &str, at: usize, ids: &IdMap) -> String {
        let prefix = match self {
            Kind::Reasoning => "rs",
            Kind::Text | Kind::Refusal => "msg",
            Kind::Call { name, .. } => match ids.kind(name) {
                ToolKind::Custom => "ctc",
                ToolKind::LocalShell => "lsh",
                ToolKind::Function | ToolKind::Server(_) => "fc",
            },
        };
        format!("{prefix}_{}_{at}", tail(response_id))
    }

    /// Whether the pieces of such a part can be passed on as they come: what stands in for a tool of another kind can only
    /// be turned back whole.
    pub(super) fn flows(&self, ids: &IdMap) -> bool {
        match self {
            Kind::Call { name, .. } => *ids.kind(name) == ToolKind::Function,
            Kind::Reasoning | Kind::Text | Kind::Refusal => true,
        }
    }
}

impl Made {
    /// Adds to the text. Room is made for an eighth more and not for twice as much: an open stream holds nothing larger.
    pub(super) fn add(&mut self, text: &str) {
        const LEAST: usize = 256;
        if self.text.capacity() - self.text.len() < text.len() {
            self.text.reserve_exact(text.len().max(self.text.len() / 8).max(LEAST));
        }
        self.text.push_str(text);
    }

    /// The finished item.
    pub(super) fn item<'a>(&'a self, ids: &'a IdMap, status: &'static str) -> Item<'a> {
        let (id, text) = (self.id.as_str(), self.text.as_str());
        match &self.kind {
            Kind::Reasoning => Item::Reasoning {
                id,
                summary: if text.is_empty() { Vec::new() } else { vec![Piece::SummaryText { text }] },
                encrypted_content: seal(&self.signature, ids.origin, domain::Dialect::Responses),
            },
            Kind::Text | Kind::Refusal => {
                Item::Message { id, status, role: "assistant", content: self.piece().into_iter().collect() }
            }
            Kind::Call { call_id, name } => self.call(call_id, name, ids, status),
        }
    }

    /// The item as it is announced.
    pub(super) fn opening<'a>(&'a self, ids: &'a IdMap) -> Item<'a> {
        const STATUS: &str = "in_progress";
        let id = self.id.as_str();
        match &self.kind {
            Kind::Reasoning => Item::Reasoning { id, summary: Vec::new(), encrypted_content: None },
            Kind::Text | Kind::Refusal => Item::Message { id, status: STATUS, role: "assistant", content: Vec::new() },
            Kind::Call { call_id, name } => match self.call(call_id, name, ids, STATUS) {
                Item::FunctionCall { name, namespace, .. } => {
                    Item::FunctionCall { id, status: STATUS, arguments: "", call_id, name, namespace }
                }
                Item::CustomToolCall { name, namespace, .. } => {
                    Item::CustomToolCall { id, status: STATUS, call_id, input: Cow::Borrowed(""), name, namespace }
                }
                whole => whole,
            },
        }
    }

    /// The piece of content that a message holds.
    pub(super) fn piece(&self) -> Option<Piece<'_>> {
        let text = self.text.as_str();
        match self.kind {
            Kind::Text => Some(Piece::OutputText { text, annotations: [], logprobs: [] }),
            Kind::Refusal => Some(Piece::Refusal { refusal: text }),
            Kind::Reasoning | Kind::Call { .. } => None,
        }
    }

    /// Arguments, never empty where an object belongs.
    pub(super) fn arguments(&self) -> &str {
        if self.text.trim().is_empty() { "{}" } else { &self.text }
    }

    /// What a free-text tool is given.
    pub(super) fn input(&self) -> Cow<'_, str> {
        native_arguments(&ToolKind::Custom, &self.text)
    }

    fn call<'a>(&'a self, call_id: &'a str, sent: &'a str, ids: &'a IdMap, status: &'static str) -> Item<'a> {
        let id = self.id.as_str();
        let name = ids.name(sent);
        let namespace = ids.names.get(sent).and_then(|names| names.namespace.as_deref());
        match ids.kind(sent) {
            ToolKind::Custom => Item::CustomToolCall { id, status, call_id, input: self.input(), name, namespace },
            ToolKind::LocalShell => {
                let action = native_arguments(&ToolKind::LocalShell, self.arguments()).into_owned();
                let action = RawValue::from_string(action).unwrap_or_else(|_| RawValue::NULL.to_owned());
                Item::LocalShellCall { id, status, call_id, action }
            }
            ToolKind::Function | ToolKind::Server(_) => {
                Item::FunctionCall { id, status, arguments: self.arguments(), call_id, name, namespace }
            }
        }
    }
}
