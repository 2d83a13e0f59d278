//! Messages requests, into the canonical form.

use std::fmt::Display;

use domain::Dialect;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::canonical::{
    Effort, OutputFormat, Part, Reasoning, ReasoningMode, Request, Role, Sampling, Tool, ToolChoice, ToolKind, Turn,
};
use crate::fields;
use crate::lenient::{some_string, str_of};
use crate::translate::Refusal;

mod blocks;
mod wire;

use wire::{Body, Message};

/// The name of an answer's schema, which this dialect does not have.
const FORMAT_NAME: &str = "answer";

pub(crate) fn read(body: &[u8]) -> Result<Request, Refusal> {
    let text = std::str::from_utf8(body).map_err(|_| Refusal::new("body", "is not UTF-8"))?;
    let body: Body<'_> = parse("", text)?;
    let mut request = Request::new(str_of(&body.model), Dialect::Messages);
    request.stream = body.stream.unwrap_or(false);
    request.reasoning = reasoning(&body)?;
    request.output_format = output_format(&body);
    request.parallel_tool_calls =
        body.tool_choice.as_ref().and_then(|choice| choice.disable_parallel_tool_use).map(|off| !off);
    request.tool_choice = body.tool_choice.as_ref().map(tool_choice).transpose()?;
    request.sampling = Sampling {
        temperature: fields::amount("temperature", body.temperature)?,
        top_p: fields::amount("top_p", body.top_p)?,
        top_k: fields::whole("top_k", body.top_k)?,
        stop: body.stop_sequences.unwrap_or_default().into_iter().map(crate::lenient::Text::into_string).collect(),
        ..Sampling::default()
    };
    request.max_output = fields::whole("max_tokens", body.max_tokens)?;
    request.user = body.metadata.and_then(|metadata| some_string(&metadata.user_id));
    request.service_tier = some_string(&body.service_tier);
    request.dropped = body.dropped;
    if let Some(system) = body.system {
        request.system = blocks::parts(system, "system")?;
    }
    for (place, tool) in body.tools.into_iter().enumerate() {
        request.tools.push(read_tool(tool, place)?);
    }
    for (place, message) in body.messages.into_iter().enumerate() {
        read_message(message, place, &mut request)?;
    }
    Ok(request)
}

fn read_message(message: Message<'_>, place: usize, request: &mut Request) -> Result<(), Refusal> {
    let at = format!("messages.{place}");
    let role = match str_of(&message.role) {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        other => {
            let message = format!("`{other}` is not a role: use user, assistant or system");
            return Err(Refusal::new(format!("{at}.role"), message));
        }
    };
    let Some(content) = message.content else {
        return Err(Refusal::new(format!("{at}.content"), "is missing"));
    };
    let mut parts = blocks::parts(content, &format!("{at}.content"))?;
    // Stable: results first, all else in its order.
    parts.sort_by_key(|part| !matches!(part, Part::ToolResult { .. }));
    if role == Role::System && request.turns.is_empty() {
        request.system.append(&mut parts);
    } else {
        request.turns.push(Turn { role, parts });
    }
    Ok(())
}

/// Reads what stands at `at`; this dialect's paths have dots where others have brackets.
fn parse<'a, T: Deserialize<'a>>(at: impl Display, json: &'a str) -> Result<T, Refusal> {
    fields::parse(at, json)
        .map_err(|refusal| Refusal { field: refusal.field.replace('[', ".").replace(']', ""), ..refusal })
}

fn reasoning(body: &Body<'_>) -> Result<Reasoning, Refusal> {
    let effort = body.output_config.as_ref().and_then(|config| Effort::parse(str_of(&config.effort)));
    let Some(thinking) = &body.thinking else {
        return Ok(Reasoning { mode: effort.map(ReasoningMode::Effort).unwrap_or_default(), ..Reasoning::default() });
    };
    let budget = fields::whole("thinking.budget_tokens", thinking.budget_tokens)?;
    let mode = match str_of(&thinking.kind) {
        "disabled" => ReasoningMode::Off,
        "adaptive" => ReasoningMode::Adaptive(effort),
        "enabled" => budget.map_or(ReasoningMode::Adaptive(effort), ReasoningMode::Budget),
        _ => ReasoningMode::Default,
    };
    let visible = match str_of(&thinking.display) {
        "omitted" => Some(false),
        "summarized" => Some(true),
        // Shown unless the client says otherwise.
        _ => None,
    };
    Ok(Reasoning { mode, visible, summary: None })
}

fn output_format(body: &Body<'_>) -> OutputFormat {
    let config = body.output_config.as_ref().and_then(|config| config.format.as_ref());
    let schema = config
        .or(body.output_format.as_ref())
        .filter(|format| str_of(&format.kind) == "json_schema")
        .and_then(|format| format.schema.clone());
    schema.map_or(OutputFormat::Text, |schema| OutputFormat::JsonSchema {
        name: FORMAT_NAME.to_owned(),
        description: None,
        schema,
        strict: Some(true),
    })
}

fn tool_choice(choice: &wire::ToolChoice<'_>) -> Result<ToolChoice, Refusal> {
    match str_of(&choice.kind) {
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::None),
        "any" => Ok(ToolChoice::Any),
        "tool" => some_string(&choice.name)
            .map(ToolChoice::One)
            .ok_or_else(|| Refusal::new("tool_choice.name", "is missing: name the tool")),
        other => Err(Refusal::new("tool_choice.type", format!("`{other}` is unknown: use auto, any, tool or none"))),
    }
}

fn read_tool(raw: &RawValue, place: usize) -> Result<Tool, Refusal> {
    let at = format!("tools.{place}");
    let tool: wire::Tool<'_> = parse(&at, raw.get())?;
    let kind = match str_of(&tool.kind) {
        "" | "custom" | "function" => ToolKind::Function,
        word => ToolKind::Server(server_tool(word).to_owned()),
    };
    let name = match (&kind, some_string(&tool.name)) {
        (_, Some(name)) => name,
        (ToolKind::Server(word), None) => word.clone(),
        (ToolKind::Function | ToolKind::Custom | ToolKind::LocalShell, None) => {
            return Err(Refusal::new(format!("{at}.name"), "a tool needs a name"));
        }
    };
    Ok(Tool {
        name,
        description: some_string(&tool.description),
        kind,
        schema: tool.input_schema,
        strict: tool.strict,
        cache: blocks::mark(tool.cache_control.as_ref()),
        definition: Some(raw.to_owned()),
        namespace: None,
    })
}

/// The canonical name of a tool that Anthropic runs or defines. Types end with their date.
fn server_tool(word: &str) -> &str {
    const KNOWN: [(&str, &str); 6] = [
        ("web_search_", "web_search"),
        ("web_fetch_", "url_context"),
        ("code_execution_", "code_interpreter"),
        ("computer_", "computer"),
        ("tool_search_", "tool_search"),
        ("mcp_", "mcp"),
    ];
    KNOWN.iter().find(|(beginning, _)| word.starts_with(beginning)).map_or(word, |(_, name)| name)
}
