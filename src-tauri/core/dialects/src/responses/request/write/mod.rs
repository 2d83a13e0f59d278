//! Requests, written.

use std::borrow::Cow;

use bytes::Bytes;
use domain::Dialect;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::canonical::ids::{NameRule, ToolNames};
use crate::canonical::reasoning::{Asked, asked};
use crate::canonical::repair::repaired;
use crate::canonical::schema::is_strict;
use crate::canonical::system::fold;
use crate::canonical::tools::fit;
use crate::canonical::{Origin, OutputFormat, Part, Request, Target, Turn, Written};
use crate::error::to_json;
use crate::openai_params::Params;
use crate::translate::Refusal;

mod items;
mod tools;

/// The least that `max_output_tokens` may say.
const LEAST_OUTPUT: u64 = 16;
const ENCRYPTED: &str = "reasoning.encrypted_content";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    input: Vec<items::Entry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<tools::Definition<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<tools::Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningOptions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOptions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_response_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Serialize)]
struct ReasoningOptions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

#[derive(Serialize)]
struct TextOptions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonObject,
    JsonSchema {
        name: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        schema: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
    },
}

/// One request on its way out.
struct Writer<'a> {
    request: &'a Request,
    target: &'a Target,
    names: &'a ToolNames,
    params: Params<'a>,
}

pub(crate) fn write(request: &Request, target: &Target) -> Result<Written, Refusal> {
    let tooling = fit(request, Dialect::Responses, target)?;
    let names = ToolNames::new(NameRule::OpenAi, request);
    let mut writer = Writer { request, target, names: &names, params: Params::new(request, target, &tooling.warnings) };
    let turns = writer.turns();
    let mut input = items::write(&turns, &mut writer);
    let mut instructions = writer.instructions();
    let format = writer.format(&mut instructions);
    if request.output_format == OutputFormat::JsonObject && !speaks_of_json(&turns) {
        input.insert(0, items::system("Answer with a JSON object.", target));
    }
    let max_output = request.max_output.map(|most| most.min(target.max_output.unwrap_or(most)).max(LEAST_OUTPUT));
    let verbosity = writer.params.for_vendor("verbosity", request.verbosity.as_deref());
    let body = Body {
        model: &target.model,
        instructions,
        input,
        tool_choice: tooling.choice.as_ref().map(|choice| tools::choice(choice, &tooling.tools, &writer)),
        parallel_tool_calls: tooling.parallel.filter(|_| target.parallel_flag),
        tools: tools::write(&tooling.tools, &writer),
        reasoning: writer.reasoning(),
        text: (format.is_some() || verbosity.is_some()).then_some(TextOptions { format, verbosity }),
        temperature: writer.params.taken("temperature", request.sampling.temperature),
        top_p: writer.params.taken("top_p", request.sampling.top_p),
        top_logprobs: writer.params.taken("top_logprobs", request.sampling.top_logprobs),
        max_output_tokens: writer.params.taken("max_output_tokens", max_output),
        user: writer.params.key("user", request.user.as_deref()),
        prompt_cache_key: writer.params.cache_key(),
        service_tier: writer.params.own("service_tier", request.service_tier.as_deref()),
        metadata: writer.params.own("metadata", request.metadata.as_ref()),
        previous_response_id: request.previous_response_id.as_deref(),
        store: if writer.is_own() { request.store } else { Some(false) },
        include: writer.include(),
        stream: request.stream,
    };
    let body = Bytes::from(to_json(&body));
    writer.leave_out();
    let mut ids = names.id_map(request);
    ids.origin = target.origin;
    Ok(Written { body, warnings: writer.params.warnings.into_iter().collect(), ids })
}

impl<'a> Writer<'a> {
    /// Whether the client itself speaks this dialect, and so means what it says.
    fn is_own(&self) -> bool {
        self.request.source == Dialect::Responses
    }

    fn turns(&mut self) -> Cow<'a, [Turn]> {
        if self.is_own() {
            return Cow::Borrowed(&self.request.turns);
        }
        let knows_system = self.target.developer_role || self.target.system_role;
        let turns = if knows_system { Cow::Borrowed(&self.request.turns[..]) } else { fold(&self.request.turns) };
        let (turns, warnings) = repaired(turns);
        self.params.warnings.extend(warnings);
        turns
    }

    fn instructions(&self) -> Option<String> {
        let texts: Vec<&str> =
            self.request.system.iter().filter_map(text_of).filter(|text| !text.trim().is_empty()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    fn reasoning(&mut self) -> Option<ReasoningOptions<'a>> {
        let reasoning = &self.request.reasoning;
        let speaks_it = self.request.source.is_openai();
        let effort = match asked(reasoning.mode, &self.target.efforts) {
            Asked::Effort(effort) => Some(effort.as_str()),
            // Models that cannot be kept from thinking refuse the word.
            Asked::Off => speaks_it.then_some("none"),
            Asked::Nothing => None,
        };
        let wanted = reasoning.visible == Some(true) && effort.is_some_and(|effort| effort != "none");
        let summary = reasoning.summary.as_deref().or(wanted.then_some("auto"));
        if effort.is_none() && summary.is_none() {
            return None;
        }
        if !self.target.reasoning_effort || self.target.refuses("reasoning") {
            self.params.warn("DROPPED_PARAMETER", "reasoning");
            return None;
        }
        Some(ReasoningOptions { effort, summary })
    }

    /// Reasoning comes back encrypted so that the next turn can bring it again: nothing is stored at the vendor.
    fn include(&self) -> Vec<&'a str> {
        if self.target.origin != Origin::OpenAi {
            return Vec::new();
        }
        let mut include: Vec<&str> = self.request.include.iter().map(String::as_str).collect();
        let thinks = self.request.reasoning.is_wanted() || !self.target.efforts.is_empty();
        if !self.is_own() && thinks && self.target.reasoning_effort {
            include.push(ENCRYPTED);
        }
        include
    }

    fn format(&mut self, instructions: &mut Option<String>) -> Option<Format<'a>> {
        match &self.request.output_format {
            OutputFormat::Text => None,
            OutputFormat::JsonObject => Some(Format::JsonObject),
            OutputFormat::JsonSchema { name, description, schema, strict } if self.target.takes_json_schema => {
                let strict = if self.is_own() { *strict } else { strict.filter(|strict| *strict && is_strict(schema)) };
                let name = self.names.sent(name);
                Some(Format::JsonSchema { name, description: description.as_deref(), schema, strict })
            }
            OutputFormat::JsonSchema { name, schema, .. } => {
                self.params.warn("EMULATED_FORMAT", name);
                let text = instructions.get_or_insert_default();
                let gap = if text.is_empty() { "" } else { "\n\n" };
                text.push_str(&format!("{gap}Answer with a JSON object of this schema and nothing else:\n{schema}"));
                Some(Format::JsonObject)
            }
        }
    }

    /// Warns of everything that has no words here.
    fn leave_out(&mut self) {
        let sampling = &self.request.sampling;
        for (name, is_set) in [
            ("top_k", sampling.top_k.is_some()),
            ("seed", sampling.seed.is_some()),
            ("frequency_penalty", sampling.frequency_penalty.is_some()),
            ("presence_penalty", sampling.presence_penalty.is_some()),
            ("stop", !sampling.stop.is_empty()),
            ("logprobs", sampling.logprobs == Some(true)),
            ("logit_bias", sampling.logit_bias.is_some()),
        ] {
            if is_set {
                self.params.warn("DROPPED_PARAMETER", name);
            }
        }
        self.params.warnings.extend(self.request.left_out());
    }
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// OpenAI demands the word in the input when an object is asked for.
fn speaks_of_json(turns: &[Turn]) -> bool {
    let texts = turns.iter().flat_map(|turn| &turn.parts).filter_map(text_of);
    texts.into_iter().any(|text| text.contains("json") || text.contains("JSON"))
}
