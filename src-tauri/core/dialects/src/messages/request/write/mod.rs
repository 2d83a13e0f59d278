//! Messages requests, from the canonical form.
//!
//! This vendor checks a conversation more strictly than any other: turns alternate and begin with the user's, every call
//! is answered in the next message, no text is empty, thinking bears its maker's signature. A conversation that breaks a
//! rule once is refused on every later turn too, so all of it is put right here.

use std::borrow::Cow;

use bytes::Bytes;
use domain::Dialect;
use serde_json::Value;

use crate::canonical::ids::{NameRule, ToolNames};
use crate::canonical::reasoning::reads;
use crate::canonical::repair::repaired;
use crate::canonical::tools::{Tooling, fit};
use crate::canonical::{
    CacheMark, CacheMarks, OutputFormat, Part, Request, Role, Target, Tool, ToolChoice, ToolKind, Turn, Warning,
    Written, schema, system,
};
use crate::error::to_json;
use crate::translate::Refusal;

mod blocks;
mod sampling;
mod thinking;
mod wire;

use blocks::{Writer, count_marks, mark};
use wire::{Body, Format, Metadata, OutputConfig};

/// Stands where a turn must be and nothing is to be said.
const PLACEHOLDER: &str = ".";

pub(crate) fn write(request: &Request, target: &Target) -> Result<Written, Refusal> {
    let mut draft = Draft::new(request, target)?;
    draft.settle_format();
    draft.place_marks();
    Ok(draft.write())
}

/// A request with all that had to be decided about it.
struct Draft<'a> {
    request: &'a Request,
    target: &'a Target,
    tooling: Tooling<'a>,
    names: ToolNames,
    system: Vec<Part>,
    turns: Cow<'a, [Turn]>,
    plan: thinking::Plan,
    /// The schema of the answer, where the model takes one.
    schema: Option<&'a Value>,
    format_tool: Option<String>,
    warnings: Vec<Warning>,
}

impl<'a> Draft<'a> {
    fn new(request: &'a Request, target: &'a Target) -> Result<Self, Refusal> {
        let mut tooling = fit(request, Dialect::Messages, target)?;
        let mut warnings = std::mem::take(&mut tooling.warnings);
        let (turns, repairs) = conversation(request, target, &mut warnings)?;
        warnings.extend(repairs);
        let plan = thinking::plan(request, target, tooling.choice.take(), is_resumable(&turns), &mut warnings);
        let mut draft = Draft {
            request,
            target,
            tooling,
            names: ToolNames::new(NameRule::Messages, request),
            system: request.system.iter().filter(|part| says_something(part)).cloned().collect(),
            turns,
            plan,
            schema: None,
            format_tool: None,
            warnings,
        };
        draft.settle_last_turn();
        Ok(draft)
    }

    /// A last turn of the assistant is a beginning to be continued; where the model refuses that, the user asks for it.
    fn settle_last_turn(&mut self) {
        let refuses = self.plan.thinks() || self.target.adaptive_thinking;
        if self.turns.last().is_none_or(|turn| turn.role != Role::Assistant) {
            return;
        }
        let turns = self.turns.to_mut();
        if refuses {
            turns.push(said_by_user("Continue."));
        } else if let Some(Part::Text { text, .. }) = turns.last_mut().and_then(|turn| turn.parts.last_mut()) {
            text.truncate(text.trim_end().len());
        }
    }

    /// Structured answers: native, by a forced tool, or by asking for them.
    fn settle_format(&mut self) {
        let request = self.request;
        match &request.output_format {
            OutputFormat::Text => {}
            OutputFormat::JsonObject => {
                self.instruct("Answer with one JSON object and nothing else, without code fences.".to_owned());
            }
            OutputFormat::JsonSchema { name, description, schema, strict } => {
                let is_closed = *strict == Some(true) || self.is_own() || schema::is_strict(schema);
                let fits_tool = matches!(schema::object_schema(Some(schema)), Cow::Borrowed(_));
                if self.target.takes_json_schema && is_closed {
                    self.schema = Some(schema);
                } else if self.tooling.tools.is_empty() && !self.plan.thinks() && fits_tool {
                    self.force_format_tool(name, description.as_deref(), schema);
                } else {
                    self.instruct(format!(
                        "Answer with one JSON value that is valid under this JSON schema and with nothing else, without code \
                         fences:\n{schema}"
                    ));
                }
            }
        }
    }

    fn force_format_tool(&mut self, name: &str, description: Option<&str>, schema: &Value) {
        let name = self.names.free(name);
        let description = description.unwrap_or("Gives the answer. Call it once, with the whole answer.");
        self.tooling.tools.push(Cow::Owned(Tool {
            name: name.clone(),
            description: Some(description.to_owned()),
            schema: Some(schema.clone()),
            ..Tool::default()
        }));
        self.plan.choice = Some(ToolChoice::One(name.clone()));
        self.format_tool = Some(name);
        self.warn("EMULATED_FORMAT", "json_schema");
    }

    fn instruct(&mut self, text: String) {
        self.system.push(Part::Text { text, cache: None });
        self.warn("EMULATED_FORMAT", "response_format");
    }

    /// Marks what is worth caching, for clients of other dialects that mark nothing themselves: what stays the same from turn
    /// to turn, and the conversation up to now and up to the turn before, which the next one builds on.
    fn place_marks(&mut self) {
        if self.target.cache_marks != CacheMarks::Placed || self.is_own() || self.count_marks() > 0 {
            return;
        }
        if let Some(tool) = self.tooling.tools.last_mut() {
            tool.to_mut().cache = Some(CacheMark { ttl: None });
        }
        mark(self.system.last_mut());
        let users = self.turns.to_mut().iter_mut().filter(|turn| turn.role == Role::User);
        for turn in users.rev().take(2) {
            mark(turn.parts.last_mut());
        }
    }

    fn count_marks(&self) -> usize {
        if self.target.cache_marks == CacheMarks::Dropped {
            return 0;
        }
        let tools = self.tooling.tools.iter().filter(|tool| tool.cache.is_some()).count();
        let turns: usize = self.turns.iter().map(|turn| count_marks(&turn.parts)).sum();
        tools + count_marks(&self.system) + turns
    }

    fn is_own(&self) -> bool {
        self.request.source == Dialect::Messages
    }

    fn warn(&mut self, code: &'static str, about: &str) {
        self.warnings.push(Warning { code, about: about.to_owned() });
    }

    fn write(mut self) -> Written {
        let request = self.request;
        let sampling = sampling::fit(request, self.target, self.plan.thinks(), &mut self.warnings);
        let mut writer = Writer {
            source: request.source,
            target: self.target,
            names: &self.names,
            marks_to_skip: 0,
            warnings: Vec::new(),
        };
        writer.allow_marks(self.count_marks());
        let tools = self.tooling.tools.iter().map(|tool| write_tool(tool, self.is_own(), &mut writer)).collect();
        let system = (!self.system.is_empty()).then(|| writer.content(&self.system));
        let messages = self.turns.iter().map(|turn| writer.message(turn)).collect();
        let mut warnings = writer.warnings;
        let body = Body {
            model: &self.target.model,
            max_tokens: self.plan.max_tokens,
            system,
            tools,
            tool_choice: tool_choice(self.plan.choice.as_ref(), self.tooling.parallel, &self.names),
            messages,
            thinking: self.plan.thinking,
            output_config: OutputConfig {
                effort: self.plan.effort,
                format: self.schema.map(|schema| Format::JsonSchema { schema }),
            },
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            top_k: sampling.top_k,
            stop_sequences: sampling.stop,
            metadata: request.user.as_deref().map(|user_id| Metadata { user_id }),
            service_tier: sampling.service_tier,
            stream: request.stream,
        };
        let body = Bytes::from(to_json(&body));
        let mut ids = self.names.id_map(request);
        ids.format_tool = self.format_tool;
        ids.origin = self.target.origin;
        warnings.append(&mut self.warnings);
        warnings.sort();
        warnings.dedup();
        Written { body, warnings, ids }
    }
}

/// The turns as this vendor accepts them.
fn conversation<'r>(
    request: &'r Request,
    target: &Target,
    warnings: &mut Vec<Warning>,
) -> Result<(Cow<'r, [Turn]>, Vec<Warning>), Refusal> {
    let is_own = request.source == Dialect::Messages;
    let mut turns = if is_own { Cow::Borrowed(request.turns.as_slice()) } else { system::fold(&request.turns) };
    if turns.iter().flat_map(|turn| &turn.parts).any(|part| !is_readable(part, target)) {
        turns.to_mut().iter_mut().for_each(|turn| turn.parts.retain(|part| is_readable(part, target)));
        warnings.push(Warning { code: "DROPPED_REASONING", about: "thinking".to_owned() });
    }
    let (mut turns, repairs) = repaired(turns);
    let says_nothing = |turn: &Turn| !turn.parts.iter().any(says_something);
    if turns.iter().any(says_nothing) {
        turns.to_mut().retain(|turn| !says_nothing(turn));
    }
    if turns.is_empty() && request.system.is_empty() {
        return Err(Refusal::new("messages", "is empty: at least one message is needed"));
    }
    if turns.first().is_none_or(|turn| turn.role == Role::Assistant) {
        turns.to_mut().insert(0, said_by_user(PLACEHOLDER));
    }
    Ok((turns, repairs))
}

/// Thinking goes back to its maker, with its proof, or not at all.
fn is_readable(part: &Part, target: &Target) -> bool {
    match part {
        Part::Reasoning { signature, encrypted, origin, .. } => {
            reads(target.origin, *origin) && (signature.is_some() || encrypted.is_some())
        }
        _ => true,
    }
}

/// While a model thinks, it wants the running tool loop to begin with the thinking that led to it.
fn is_resumable(turns: &[Turn]) -> bool {
    let last = turns.iter().rev().find(|turn| turn.role == Role::Assistant);
    last.is_none_or(|turn| {
        let calls = turn.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
        !calls || matches!(turn.parts.first(), Some(Part::Reasoning { .. }))
    })
}

fn says_something(part: &Part) -> bool {
    match part {
        Part::Text { text, .. } | Part::Refusal { text } => !text.trim().is_empty(),
        _ => true,
    }
}

fn said_by_user(text: &str) -> Turn {
    Turn { role: Role::User, parts: vec![Part::Text { text: text.to_owned(), cache: None }] }
}

fn write_tool<'a>(tool: &'a Tool, is_own: bool, writer: &mut Writer<'a>) -> wire::Tool<'a> {
    let cache_control = writer.cache(tool.cache.as_ref());
    match &tool.definition {
        Some(definition) if is_own => wire::Tool::Raw(definition),
        // The one tool run by the vendor that needs no more than its name.
        _ if matches!(tool.kind, ToolKind::Server(_)) => {
            wire::Tool::Server { kind: "web_search_20250305", name: "web_search", cache_control }
        }
        _ => wire::Tool::Function {
            name: writer.names.sent(&tool.name),
            description: tool.description.as_deref(),
            input_schema: schema::object_schema(tool.schema.as_ref()),
            cache_control,
        },
    }
}

fn tool_choice<'a>(
    choice: Option<&'a ToolChoice>,
    parallel: Option<bool>,
    names: &'a ToolNames,
) -> Option<wire::ToolChoice<'a>> {
    let disable = parallel.map(|parallel| !parallel);
    let (kind, name) = match choice {
        Some(ToolChoice::Auto | ToolChoice::Subset { required: false, .. }) => ("auto", None),
        Some(ToolChoice::Any | ToolChoice::Subset { required: true, .. }) => ("any", None),
        Some(ToolChoice::One(name)) => ("tool", Some(names.sent(name))),
        Some(ToolChoice::None) => {
            return Some(wire::ToolChoice { kind: "none", name: None, disable_parallel_tool_use: None });
        }
        // Only inside a choice can it be said that one call at a time is wanted.
        None if disable == Some(true) => ("auto", None),
        None => return None,
    };
    Some(wire::ToolChoice { kind, name, disable_parallel_tool_use: disable })
}
