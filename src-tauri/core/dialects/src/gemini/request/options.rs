//! `generationConfig`: how answers are drawn, how long and of what form they are, and how much is thought before.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::Dialect;
use serde_json::value::RawValue;

use super::wire::{Generation, ThinkingConfig};
use crate::canonical::reasoning::{self, Asked, asked};
use crate::canonical::{Effort, OutputFormat, Reasoning, ReasoningMode, Request, Target, Warning, schema};
use crate::fields::{self, parse};
use crate::translate::Refusal;

/// The most stop sequences that are taken.
const MAX_STOPS: usize = 5;
/// The least a Pro model thinks; it cannot be switched off.
const LEAST_PRO_BUDGET: i64 = 128;
const JSON: &str = "application/json";

/// Reads the members one by one, so that one of an unknown kind does not lose the others.
pub(super) fn parse_config(json: &RawValue, dropped: &mut Vec<String>) -> Result<Generation<'static>, Refusal> {
    let mut config = Generation::default();
    let members: Option<BTreeMap<String, &RawValue>> = parse("generationConfig", json.get())?;
    for (name, value) in members.unwrap_or_default() {
        let field = format!("generationConfig.{name}");
        let json = value.get();
        match name.as_str() {
            "temperature" => config.temperature = parse(&field, json)?,
            "topP" | "top_p" => config.top_p = parse(&field, json)?,
            "topK" | "top_k" => config.top_k = fields::whole(&field, parse(&field, json)?)?,
            "candidateCount" | "candidate_count" => config.candidate_count = parse(&field, json)?,
            "maxOutputTokens" | "max_output_tokens" => {
                config.max_output_tokens = fields::whole(&field, parse(&field, json)?)?;
            }
            "stopSequences" | "stop_sequences" => {
                config.stop_sequences = Cow::Owned(parse::<Option<_>>(&field, json)?.unwrap_or_default());
            }
            "seed" => config.seed = parse(&field, json)?,
            "presencePenalty" | "presence_penalty" => config.presence_penalty = parse(&field, json)?,
            "frequencyPenalty" | "frequency_penalty" => config.frequency_penalty = parse(&field, json)?,
            "responseLogprobs" | "response_logprobs" => config.response_logprobs = parse(&field, json)?,
            "logprobs" => config.logprobs = parse(&field, json)?,
            "responseMimeType" | "response_mime_type" => config.response_mime_type = parse(&field, json)?,
            "responseSchema" | "response_schema" => config.response_schema = parse(&field, json)?,
            "responseJsonSchema" | "response_json_schema" | "_responseJsonSchema" => {
                config.response_json_schema = parse(&field, json)?;
            }
            "thinkingConfig" | "thinking_config" => config.thinking_config = parse(&field, json)?,
            _ => dropped.push(field),
        }
    }
    Ok(config)
}

pub(super) fn read(config: Generation<'_>, request: &mut Request) {
    let sampling = &mut request.sampling;
    sampling.temperature = config.temperature;
    sampling.top_p = config.top_p;
    sampling.top_k = config.top_k;
    sampling.seed = config.seed;
    sampling.presence_penalty = config.presence_penalty;
    sampling.frequency_penalty = config.frequency_penalty;
    sampling.n = config.candidate_count;
    sampling.logprobs = config.response_logprobs;
    sampling.top_logprobs = config.logprobs;
    sampling.stop = config.stop_sequences.into_owned();
    request.max_output = config.max_output_tokens;
    let own = config.response_schema.map(schema::from_gemini);
    let wants_json = config.response_mime_type.as_deref() == Some(JSON);
    request.output_format = match config.response_json_schema.or(own) {
        Some(schema) => {
            OutputFormat::JsonSchema { name: "response".to_owned(), description: None, schema, strict: None }
        }
        None if wants_json => OutputFormat::JsonObject,
        None => OutputFormat::Text,
    };
    if let Some(thinking) = config.thinking_config {
        request.reasoning = read_thinking(&thinking);
    }
}

fn read_thinking(config: &ThinkingConfig) -> Reasoning {
    let level = config.thinking_level.as_deref().map(str::to_ascii_lowercase);
    let effort = level.as_deref().and_then(Effort::parse).map(ReasoningMode::Effort);
    let budget = config.thinking_budget.map(|tokens| match u64::try_from(tokens) {
        Ok(0) => ReasoningMode::Off,
        Ok(tokens) => ReasoningMode::Budget(tokens),
        Err(_) => ReasoningMode::Adaptive(None),
    });
    Reasoning { mode: effort.or(budget).unwrap_or_default(), visible: config.include_thoughts, summary: None }
}

/// The options as Gemini takes them, and what must be said in the instructions instead.
pub(super) struct Options<'a> {
    pub(super) generation: Option<Generation<'a>>,
    pub(super) instruction: Option<String>,
}

pub(super) fn write<'a>(
    request: &'a Request,
    target: &Target,
    has_functions: bool,
    warnings: &mut Vec<Warning>,
) -> Options<'a> {
    let mut drop = |about: &str| warnings.push(Warning { code: "DROPPED_PARAMETER", about: about.to_owned() });
    for (name, is_set) in [
        ("logit_bias", request.sampling.logit_bias.is_some()),
        ("verbosity", request.verbosity.is_some()),
        ("service_tier", request.service_tier.is_some()),
        ("parallel_tool_calls", request.parallel_tool_calls == Some(false) && has_functions),
    ] {
        if is_set {
            drop(name);
        }
    }
    for name in &request.dropped {
        drop(name);
    }
    let mut generation = sampling(request, target, &mut drop);
    if target.refuses("thinkingConfig") {
        if request.reasoning.is_wanted() {
            drop("reasoning");
        }
    } else {
        generation.thinking_config = thinking(&request.reasoning, target);
    }
    let instruction = format(request, target, has_functions, &mut generation);
    if instruction.is_some() {
        warnings.push(Warning { code: "EMULATED_FORMAT", about: "response_format".to_owned() });
    }
    Options { generation: Some(generation).filter(|it| *it != Generation::default()), instruction }
}

fn sampling<'a>(request: &'a Request, target: &Target, drop: &mut dyn FnMut(&str)) -> Generation<'a> {
    let sampling = &request.sampling;
    let mut take = |name: &str, is_set: bool| {
        let refused = is_set && target.refuses(name);
        if refused {
            drop(name);
        }
        is_set && !refused
    };
    let mut config = Generation::default();
    config.temperature = sampling.temperature.filter(|_| take("temperature", true)).map(|it| it.clamp(0.0, 2.0));
    config.top_p = sampling.top_p.filter(|_| take("topP", true));
    config.top_k = sampling.top_k.filter(|_| take("topK", true));
    config.seed = sampling.seed.filter(|_| take("seed", true));
    config.presence_penalty = sampling.presence_penalty.filter(|_| take("presencePenalty", true));
    config.frequency_penalty = sampling.frequency_penalty.filter(|_| take("frequencyPenalty", true));
    config.response_logprobs = sampling.logprobs.filter(|_| take("responseLogprobs", true));
    config.logprobs = sampling.top_logprobs.filter(|_| config.response_logprobs == Some(true));
    let most = target.max_output.unwrap_or(u64::MAX);
    config.max_output_tokens = request.max_output.map(|tokens| tokens.min(most));
    if request.source == Dialect::Gemini {
        config.candidate_count = sampling.n;
    }
    let stops = &sampling.stop;
    config.stop_sequences = if stops.len() <= MAX_STOPS && stops.iter().all(|stop| !stop.is_empty()) {
        Cow::Borrowed(stops)
    } else {
        drop("stop");
        Cow::Owned(stops.iter().filter(|stop| !stop.is_empty()).take(MAX_STOPS).cloned().collect())
    };
    config
}

fn thinking(wanted: &Reasoning, target: &Target) -> Option<ThinkingConfig> {
    if !target.reasoning_effort {
        return None;
    }
    let name = target.model.to_ascii_lowercase();
    let (is_flash, is_pro) = (name.contains("flash"), name.contains("pro"));
    let mut config = ThinkingConfig { include_thoughts: wanted.visible, ..ThinkingConfig::default() };
    if target.thinking_level {
        let level = match asked(wanted.mode, &target.efforts) {
            Asked::Nothing => None,
            Asked::Off if is_pro => Some("low"),
            Asked::Off => Some("minimal"),
            Asked::Effort(Effort::Minimal) if is_pro => Some("low"),
            Asked::Effort(effort) => Some(reasoning::gemini_level(effort)),
        };
        config.thinking_level = level.map(Cow::Borrowed);
    } else {
        config.thinking_budget = match wanted.mode {
            ReasoningMode::Default => None,
            ReasoningMode::Adaptive(None) => Some(-1),
            ReasoningMode::Off | ReasoningMode::Budget(0) => Some(if is_pro { LEAST_PRO_BUDGET } else { 0 }),
            ReasoningMode::Budget(tokens) => Some(i64::try_from(tokens).unwrap_or(i64::MAX)),
            ReasoningMode::Effort(effort) | ReasoningMode::Adaptive(Some(effort)) => {
                i64::try_from(reasoning::gemini_budget(effort, is_flash)).ok()
            }
        };
    }
    Some(config).filter(|config| *config != ThinkingConfig::default())
}

/// The form of the answer. Before Gemini 3 a form and functions exclude each other, so the form is asked for in words.
fn format(request: &Request, target: &Target, has_functions: bool, config: &mut Generation<'_>) -> Option<String> {
    let can_say = !has_functions || target.thinking_level || request.source == Dialect::Gemini;
    match &request.output_format {
        OutputFormat::Text => None,
        OutputFormat::JsonObject => {
            config.response_mime_type = can_say.then_some(Cow::Borrowed(JSON));
            (!can_say).then(|| "Answer with one JSON object and nothing else.".to_owned())
        }
        OutputFormat::JsonSchema { schema, .. } => {
            config.response_mime_type = can_say.then_some(Cow::Borrowed(JSON));
            if can_say && target.takes_json_schema {
                config.response_schema = Some(schema::to_gemini(schema));
                return None;
            }
            Some(format!("Answer with one JSON value and nothing else. It must satisfy this JSON schema:\n{schema}"))
        }
    }
}
