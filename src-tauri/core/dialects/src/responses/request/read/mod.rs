//! Requests, read.

use std::collections::BTreeMap;

use domain::Dialect;

use crate::canonical::{Effort, OutputFormat, Reasoning, ReasoningMode, Request, Sampling};
use crate::fields;
use crate::lenient::{Text, some_string, str_of};
use crate::translate::Refusal;

mod content;
mod items;
mod tools;
mod wire;

pub(crate) use tools::server_kind;

pub(crate) fn read(body: &[u8]) -> Result<Request, Refusal> {
    let text = std::str::from_utf8(body).map_err(|_| Refusal::new("body", "must be text in UTF-8"))?;
    let wire: wire::Body<'_> = fields::parse("", text)?;
    refuse_stored(&wire.rest)?;
    let mut request = Request::new(str_of(&wire.model), Dialect::Responses);
    request.stream = fields::flag("stream", &wire.stream)?.unwrap_or(false);
    request.system.extend(some_string(&wire.instructions).map(content::text));
    tools::read("tools", wire.tools.as_deref().unwrap_or_default(), &mut request.tools)?;
    if let Some(input) = wire.input {
        items::read(input, &mut request)?;
    }
    request.tool_choice = wire.tool_choice.as_ref().map(|choice| tools::choice(choice, &request.tools)).transpose()?;
    request.parallel_tool_calls = fields::flag("parallel_tool_calls", &wire.parallel_tool_calls)?;
    request.sampling = sampling(&wire)?;
    request.max_output = fields::whole("max_output_tokens", wire.max_output_tokens)?;
    request.dropped = unknown(&wire.rest);
    if let Some(reasoning) = &wire.reasoning {
        request.reasoning = read_reasoning(reasoning, &mut request.dropped);
    }
    if let Some(text) = &wire.text {
        request.output_format = text.format.as_ref().map(format).unwrap_or_default();
        request.verbosity = some_string(&text.verbosity);
    }
    request.user = some_string(&wire.user).or_else(|| some_string(&wire.safety_identifier));
    request.cache_key = some_string(&wire.prompt_cache_key);
    request.service_tier = some_string(&wire.service_tier);
    request.metadata = wire.metadata;
    request.previous_response_id = some_string(&wire.previous_response_id);
    request.store = fields::flag("store", &wire.store)?;
    request.include = wire.include.into_iter().flatten().map(Text::into_string).collect();
    Ok(request)
}

/// What only the vendor has stored cannot be translated, and without it the request would mean something else.
fn refuse_stored(rest: &BTreeMap<String, wire::Said>) -> Result<(), Refusal> {
    for (name, remedy) in [
        ("conversation", "is kept at the vendor: send its items as `input`"),
        ("prompt", "is kept at the vendor: send its text as `instructions` and `input`"),
    ] {
        if rest.get(name).is_some_and(|said| said.0) {
            return Err(Refusal::new(name, remedy));
        }
    }
    Ok(())
}

fn unknown(rest: &BTreeMap<String, wire::Said>) -> Vec<String> {
    rest.iter().filter(|(_, said)| said.0).map(|(name, _)| name.clone()).collect()
}

fn sampling(wire: &wire::Body<'_>) -> Result<Sampling, Refusal> {
    Ok(Sampling {
        temperature: fields::amount("temperature", wire.temperature)?,
        top_p: fields::amount("top_p", wire.top_p)?,
        top_logprobs: fields::small("top_logprobs", wire.top_logprobs)?,
        ..Sampling::default()
    })
}

fn read_reasoning(wire: &wire::Reasoning<'_>, dropped: &mut Vec<String>) -> Reasoning {
    let mode = match str_of(&wire.effort) {
        "" => ReasoningMode::Default,
        "none" => ReasoningMode::Off,
        word => match Effort::parse(word) {
            Some(effort) => ReasoningMode::Effort(effort),
            None => {
                dropped.push("reasoning.effort".to_owned());
                ReasoningMode::Default
            }
        },
    };
    let summary = some_string(&wire.summary);
    let visible = summary.as_deref().map(|summary| summary != "none");
    Reasoning { mode, visible, summary }
}

fn format(format: &wire::Format<'_>) -> OutputFormat {
    match str_of(&format.kind) {
        "json_object" => OutputFormat::JsonObject,
        "json_schema" => {
            let inner = format.json_schema.as_deref().unwrap_or(format);
            OutputFormat::JsonSchema {
                name: some_string(&inner.name).unwrap_or_else(|| "answer".to_owned()),
                description: some_string(&inner.description),
                schema: inner.schema.clone().unwrap_or_else(|| serde_json::json!({ "type": "object" })),
                strict: inner.strict,
            }
        }
        _ => OutputFormat::Text,
    }
}
