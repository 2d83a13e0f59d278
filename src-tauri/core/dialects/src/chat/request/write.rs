//! Writes a request.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use domain::Dialect;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::tools::{self, WrittenChoice, WrittenTool};
use super::write_messages::{Message, Messages};
use crate::canonical::ids::{NameRule, ToolNames};
use crate::canonical::reasoning::{Asked, asked};
use crate::canonical::repair::repaired;
use crate::canonical::schema::is_strict;
use crate::canonical::tools::fit;
use crate::canonical::{Origin, OutputFormat, Part, Request, Target, Turn, Written, system};
use crate::error::to_json;
use crate::openai_params::Params;
use crate::translate::Refusal;

/// Most `stop` texts.
const MOST_STOPS: usize = 4;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WrittenTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web_search_options: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WrittenChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'a>>,
    #[serde(flatten)]
    sampling: Sampling<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct Sampling<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<Stop<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logit_bias: Option<&'a BTreeMap<String, f64>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Stop<'a> {
    One(&'a str),
    Several(&'a [String]),
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonObject,
    JsonSchema { json_schema: JsonSchema<'a> },
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// One request on its way out.
pub(super) struct Writer<'a> {
    pub(super) request: &'a Request,
    pub(super) target: &'a Target,
    pub(super) names: &'a ToolNames,
    pub(super) params: Params<'a>,
}

pub(crate) fn write(request: &Request, target: &Target) -> Result<Written, Refusal> {
    if request.previous_response_id.is_some() {
        return Err(Refusal {
            field: "previous_response_id".to_owned(),
            message: "this provider keeps no answers: send the whole conversation".to_owned(),
            code: "previous_response_not_found",
        });
    }
    let tooling = fit(request, Dialect::Chat, target)?;
    let names = ToolNames::new(NameRule::OpenAi, request);
    let mut writer = Writer { request, target, names: &names, params: Params::new(request, target, &tooling.warnings) };
    let turns = writer.turns();
    let (response_format, instruction) = writer.format();
    let messages = Messages::write(&turns, instruction, &mut writer);
    let (tools, web_search_options) = tools::write(&tooling, &names, request.source, target.chat_cache_marks);
    let max_output = request.max_output.map(|most| most.min(target.max_output.unwrap_or(most)));
    let (old_limit, new_limit) = if target.max_completion_tokens { (None, max_output) } else { (max_output, None) };
    let body = Body {
        model: &target.model,
        messages,
        tools,
        web_search_options,
        tool_choice: tools::write_choice(&tooling, &names),
        parallel_tool_calls: writer
            .params
            .taken("parallel_tool_calls", tooling.parallel)
            .filter(|_| target.parallel_flag),
        max_tokens: writer.params.taken("max_tokens", old_limit),
        max_completion_tokens: writer.params.taken("max_completion_tokens", new_limit),
        reasoning_effort: writer.effort(),
        response_format,
        sampling: writer.sampling(),
        verbosity: writer.params.for_vendor("verbosity", request.verbosity.as_deref()),
        user: writer.params.key("user", request.user.as_deref()),
        prompt_cache_key: writer.params.cache_key(),
        service_tier: writer.own("service_tier", request.service_tier.as_deref()),
        metadata: writer.own("metadata", request.metadata.as_ref()),
        store: writer.store(),
        stream: request.stream,
        // Always asked for: the gateway counts, whether or not the client wants to know.
        stream_options: (request.stream && target.stream_options && !target.refuses("stream_options"))
            .then_some(StreamOptions { include_usage: true }),
    };
    let body = Bytes::from(to_json(&body));
    writer.params.warnings.extend(request.left_out());
    let mut ids = names.id_map(request);
    ids.origin = target.origin;
    Ok(Written { body, warnings: writer.params.warnings.into_iter().collect(), ids })
}

impl<'a> Writer<'a> {
    /// The conversation as strict servers take it.
    fn turns(&mut self) -> Cow<'a, [Turn]> {
        let has_role = self.target.system_role || self.target.developer_role;
        let turns = if has_role { Cow::Borrowed(&*self.request.turns) } else { system::fold(&self.request.turns) };
        let (turns, warnings) = repaired(turns);
        self.params.warnings.extend(warnings);
        turns
    }

    /// A parameter that other servers of the dialect do not know, and whose values only OpenAI's two dialects share.
    fn own<T>(&mut self, name: &str, value: Option<T>) -> Option<T> {
        let value = self.params.own(name, value);
        self.params.for_vendor(name, value)
    }

    /// Not keeping an answer is what every other server does anyway.
    fn store(&mut self) -> Option<bool> {
        let store = self.request.store.filter(|store| *store || self.target.origin == Origin::OpenAi);
        self.own("store", store)
    }

    fn effort(&mut self) -> Option<&'static str> {
        let effort = match asked(self.request.reasoning.mode, &self.target.efforts) {
            Asked::Effort(effort) => Some(effort.as_str()),
            // Models that cannot be kept from thinking refuse the word.
            Asked::Off => self.request.source.is_openai().then_some("none"),
            Asked::Nothing => None,
        };
        if effort.is_some() && !self.target.reasoning_effort {
            self.params.warn("DROPPED_PARAMETER", "reasoning_effort");
            return None;
        }
        self.params.taken("reasoning_effort", effort)
    }

    fn sampling(&mut self) -> Sampling<'a> {
        let request = self.request;
        let sampling = &request.sampling;
        let stops = sampling.stop.get(..MOST_STOPS).unwrap_or(&sampling.stop);
        if stops.len() < sampling.stop.len() {
            self.params.warn("DROPPED_PARAMETER", "stop");
        }
        let stop = match stops {
            [] => None,
            [one] => Some(Stop::One(one)),
            several => Some(Stop::Several(several)),
        };
        let speaks_top_k = self.target.top_k;
        if sampling.top_k.is_some() && !speaks_top_k {
            self.params.warn("DROPPED_PARAMETER", "top_k");
        }
        Sampling {
            temperature: self.params.taken("temperature", sampling.temperature),
            top_p: self.params.taken("top_p", sampling.top_p),
            top_k: self.params.taken("top_k", sampling.top_k.filter(|_| speaks_top_k)),
            seed: self.params.taken("seed", sampling.seed),
            frequency_penalty: self.params.taken("frequency_penalty", sampling.frequency_penalty),
            presence_penalty: self.params.taken("presence_penalty", sampling.presence_penalty),
            stop: self.params.taken("stop", stop),
            n: self.params.taken("n", sampling.n.filter(|_| request.source == Dialect::Chat)),
            logprobs: self.params.taken("logprobs", sampling.logprobs),
            top_logprobs: self.params.taken("top_logprobs", sampling.top_logprobs),
            logit_bias: self.params.taken("logit_bias", sampling.logit_bias.as_ref()),
        }
    }

    /// The form of the answer, and what has to be said about it in the system text.
    fn format(&mut self) -> (Option<Format<'a>>, Option<String>) {
        let request = self.request;
        match &request.output_format {
            OutputFormat::Text => (None, None),
            _ if self.target.refuses("response_format") => {
                self.params.warn("DROPPED_PARAMETER", "response_format");
                (None, None)
            }
            OutputFormat::JsonObject => {
                // OpenAI demands the word somewhere in the messages.
                let instruction = (!speaks_of_json(request)).then(|| "Answer with a JSON object.".to_owned());
                (Some(Format::JsonObject), instruction)
            }
            OutputFormat::JsonSchema { name, description, schema, strict } if self.target.takes_json_schema => {
                let is_own = request.source == Dialect::Chat;
                let strict = strict.filter(|strict| is_own || !strict || is_strict(schema));
                let name = self.names.sent(name).into_owned();
                let json_schema = JsonSchema { name, description: description.as_deref(), schema, strict };
                (Some(Format::JsonSchema { json_schema }), None)
            }
            OutputFormat::JsonSchema { name, schema, .. } => {
                self.params.warn("EMULATED_FORMAT", name);
                let instruction = format!("Answer with a JSON object of this schema and nothing else:\n{schema}");
                (Some(Format::JsonObject), Some(instruction))
            }
        }
    }
}

fn speaks_of_json(request: &Request) -> bool {
    let said = request.turns.iter().flat_map(|turn| &turn.parts).chain(&request.system);
    said.into_iter().any(|part| match part {
        Part::Text { text, .. } => text.contains("json") || text.contains("JSON"),
        _ => false,
    })
}
