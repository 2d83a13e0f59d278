//! Reads a request.

use std::collections::BTreeMap;

use domain::Dialect;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{Body, Flag};
use super::{messages, tools};
use crate::canonical::{Effort, OutputFormat, Reasoning, ReasoningMode, Request, Sampling};
use crate::fields;
use crate::lenient::{Text, Whole, count, some_string, str_of};
use crate::translate::Refusal;

pub(crate) fn read(body: &[u8]) -> Result<Request, Refusal> {
    let text = std::str::from_utf8(body).map_err(|_| Refusal::new("body", "must be text in UTF-8"))?;
    let mut body: Body<'_> = fields::parse("", text)?;
    let mut request = Request::new(str_of(&body.model), Dialect::Chat);
    let list = body.messages.take().ok_or_else(|| Refusal::new("messages", "is missing: send the conversation"))?;
    messages::read(list, &mut request)?;
    tools::read(&body, &mut request)?;
    request.stream = fields::flag("stream", &body.stream)? == Some(true);
    request.wants_usage_chunk = body.stream_options.is_some_and(wants_usage);
    request.parallel_tool_calls = fields::flag("parallel_tool_calls", &body.parallel_tool_calls)?;
    request.sampling = sampling(&body)?;
    let limit = fields::whole("max_completion_tokens", body.max_completion_tokens)?;
    request.max_output = limit.or(fields::whole("max_tokens", body.max_tokens)?);
    request.reasoning = reasoning(&body, &mut request)?;
    request.output_format = output_format(&body)?;
    request.verbosity = some_string(&body.verbosity);
    request.user = some_string(&body.user).or_else(|| some_string(&body.safety_identifier));
    request.cache_key = some_string(&body.prompt_cache_key);
    request.service_tier = some_string(&body.service_tier);
    request.metadata = body.metadata.map(|raw| fields::parse("metadata", raw.get())).transpose()?;
    request.store = fields::flag("store", &body.store)?;
    for name in body.rest.keys() {
        note_dropped(&mut request, name);
    }
    Ok(request)
}

/// Remembers a member that has no place in the form.
pub(super) fn note_dropped(request: &mut Request, name: &str) {
    if !request.dropped.iter().any(|known| known == name) {
        request.dropped.push(name.to_owned());
    }
}

fn flag(flag: Option<Flag>) -> Option<bool> {
    flag.and_then(|flag| flag.0)
}

fn wants_usage(raw: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct StreamOptions {
        include_usage: Option<Flag>,
    }
    serde_json::from_str::<StreamOptions>(raw.get()).is_ok_and(|options| flag(options.include_usage) == Some(true))
}

fn sampling(body: &Body<'_>) -> Result<Sampling, Refusal> {
    let bias =
        body.logit_bias.map(|raw| fields::parse::<BTreeMap<String, f64>>("logit_bias", raw.get())).transpose()?;
    Ok(Sampling {
        temperature: fields::amount("temperature", body.temperature)?,
        top_p: fields::amount("top_p", body.top_p)?,
        top_k: fields::whole("top_k", body.top_k)?,
        // Beyond 53 bits a seed is no longer exact, and still a seed.
        seed: fields::amount("seed", body.seed)?.map(|seed| seed as i64),
        frequency_penalty: fields::amount("frequency_penalty", body.frequency_penalty)?,
        presence_penalty: fields::amount("presence_penalty", body.presence_penalty)?,
        stop: body.stop.map_or_else(|| Ok(Vec::new()), |raw| fields::texts("stop", raw.get()))?,
        n: fields::small("n", body.n)?,
        logprobs: fields::flag("logprobs", &body.logprobs)?,
        top_logprobs: fields::small("top_logprobs", body.top_logprobs)?,
        logit_bias: bias.filter(|bias| !bias.is_empty()),
    })
}

/// What vendors' switches say. The dialect's own word counts first.
fn reasoning(body: &Body<'_>, request: &mut Request) -> Result<Reasoning, Refusal> {
    #[derive(Default, Deserialize)]
    struct Switch<'a> {
        #[serde(borrow, rename = "type")]
        kind: Option<Text<'a>>,
        #[serde(borrow)]
        effort: Option<Text<'a>>,
        enabled: Option<Flag>,
        enable_thinking: Option<Flag>,
        thinking: Option<Flag>,
        exclude: Option<Flag>,
        max_tokens: Option<Whole>,
        budget_tokens: Option<Whole>,
    }
    fn switch(raw: Option<&RawValue>) -> Switch<'_> {
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }
    fn mode(switch: &Switch<'_>) -> Option<ReasoningMode> {
        let effort = effort(str_of(&switch.effort));
        let budget = count(switch.max_tokens).or(count(switch.budget_tokens)).map(ReasoningMode::Budget);
        let switched = flag(switch.enabled).or(flag(switch.enable_thinking)).or(flag(switch.thinking)).map(on_or_off);
        match str_of(&switch.kind) {
            "disabled" => Some(ReasoningMode::Off),
            "enabled" | "adaptive" => effort.or(budget).or(Some(ReasoningMode::Adaptive(None))),
            _ => effort.or(budget).or(switched),
        }
    }
    let [openrouter, thinking, template] = [body.reasoning, body.thinking, body.chat_template_kwargs].map(switch);
    let qwen = fields::whole("thinking_budget", body.thinking_budget)?.map(ReasoningMode::Budget);
    let qwen = match fields::flag("enable_thinking", &body.enable_thinking)? {
        Some(false) => Some(ReasoningMode::Off),
        switched => qwen.or(switched.map(on_or_off)),
    };
    let own = effort(str_of(&body.reasoning_effort));
    if own.is_none() && some_string(&body.reasoning_effort).is_some() {
        note_dropped(request, "reasoning_effort");
    }
    let said = [own, mode(&openrouter), mode(&thinking), qwen, mode(&template)];
    Ok(Reasoning {
        mode: said.into_iter().flatten().next().unwrap_or_default(),
        visible: flag(openrouter.exclude).map(|excludes| !excludes),
        summary: None,
    })
}

fn effort(word: &str) -> Option<ReasoningMode> {
    if word == "none" {
        return Some(ReasoningMode::Off);
    }
    Effort::parse(word).map(ReasoningMode::Effort)
}

fn on_or_off(on: bool) -> ReasoningMode {
    if on { ReasoningMode::Adaptive(None) } else { ReasoningMode::Off }
}

fn output_format(body: &Body<'_>) -> Result<OutputFormat, Refusal> {
    #[derive(Deserialize)]
    struct Format<'a> {
        #[serde(borrow, rename = "type")]
        kind: Option<Text<'a>>,
        #[serde(borrow)]
        json_schema: Option<JsonSchema<'a>>,
    }
    #[derive(Deserialize)]
    struct JsonSchema<'a> {
        #[serde(borrow)]
        name: Option<Text<'a>>,
        #[serde(borrow)]
        description: Option<Text<'a>>,
        schema: Option<Value>,
        strict: Option<Flag>,
    }
    let Some(raw) = body.response_format else { return Ok(OutputFormat::Text) };
    let format: Format<'_> = serde_json::from_str(raw.get())
        .map_err(|_| Refusal::new("response_format", "must be an object with a `type`"))?;
    Ok(match (str_of(&format.kind), format.json_schema) {
        ("json_object", _) => OutputFormat::JsonObject,
        ("json_schema", Some(JsonSchema { name, description, schema: Some(schema), strict })) => {
            OutputFormat::JsonSchema {
                name: some_string(&name).unwrap_or_else(|| "answer".to_owned()),
                description: some_string(&description),
                schema,
                strict: flag(strict),
            }
        }
        ("json_schema", _) => {
            return Err(Refusal::new("response_format.json_schema.schema", "is missing: send the schema"));
        }
        _ => OutputFormat::Text,
    })
}
