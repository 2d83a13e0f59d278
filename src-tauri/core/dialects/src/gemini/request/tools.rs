//! Tools and the choice among them. Functions stand together in one group; a tool of Google's is a group of its own,
//! named by its key.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::Dialect;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::read::list;
use super::wire::{CallingConfig, Declaration, Empty, Group, ReadDeclaration, ToolConfig};
use crate::canonical::ids::ToolNames;
use crate::canonical::tools::Tooling;
use crate::canonical::{Request, Tool, ToolChoice, ToolKind, schema};
use crate::fields::parse;
use crate::translate::Refusal;

pub(super) fn read(groups: &[&RawValue]) -> Result<Vec<Tool>, Refusal> {
    let mut tools = Vec::new();
    for (place, group) in groups.iter().enumerate() {
        let members: BTreeMap<String, &RawValue> = parse(format_args!("tools[{place}]"), group.get())?;
        for (key, value) in members {
            match key.as_str() {
                "functionDeclarations" | "function_declarations" => {
                    let at = format!("tools[{place}].functionDeclarations");
                    for (number, declaration) in list::<&RawValue>(&at, value)?.into_iter().enumerate() {
                        tools.push(function(&format!("{at}[{number}]"), declaration)?);
                    }
                }
                _ if value.get() == "null" => {}
                _ => tools.push(Tool {
                    kind: ToolKind::Server(canonical_name(&key)),
                    definition: RawValue::from_string(format!("{{{}:{}}}", Value::from(key.as_str()), value.get()))
                        .ok(),
                    name: key,
                    ..Tool::default()
                }),
            }
        }
    }
    Ok(tools)
}

fn function(at: &str, json: &RawValue) -> Result<Tool, Refusal> {
    let declaration: ReadDeclaration = parse(at, json.get())?;
    if declaration.name.is_empty() {
        return Err(Refusal::new(format!("{at}.name"), "is missing: every function needs a name"));
    }
    let schema = declaration.parameters_json_schema.or_else(|| declaration.parameters.map(schema::from_gemini));
    Ok(Tool {
        name: declaration.name,
        description: declaration.description,
        kind: ToolKind::Function,
        schema,
        definition: Some(json.to_owned()),
        ..Tool::default()
    })
}

/// What a tool of Google's is called in the canonical form.
fn canonical_name(key: &str) -> String {
    match key {
        "googleSearch" | "google_search" | "googleSearchRetrieval" | "google_search_retrieval" => "web_search",
        "codeExecution" | "code_execution" => "code_interpreter",
        "urlContext" | "url_context" => "url_context",
        "fileSearch" | "file_search" => "file_search",
        "computerUse" | "computer_use" => "computer",
        other => other,
    }
    .to_owned()
}

pub(super) fn read_choice(config: ToolConfig) -> Option<ToolChoice> {
    let CallingConfig { mode, mut allowed_function_names } = config.function_calling_config?;
    let required = mode.eq_ignore_ascii_case("ANY");
    match (mode.to_ascii_uppercase().as_str(), allowed_function_names.len()) {
        ("NONE", _) => Some(ToolChoice::None),
        ("ANY", 0) => Some(ToolChoice::Any),
        ("ANY", 1) => allowed_function_names.pop().map(ToolChoice::One),
        ("AUTO" | "VALIDATED", 0) => Some(ToolChoice::Auto),
        ("ANY" | "AUTO" | "VALIDATED", _) => Some(ToolChoice::Subset { names: allowed_function_names, required }),
        _ => None,
    }
}

/// The groups of tools, functions first.
pub(super) fn write<'a>(tooling: &'a Tooling<'_>, names: &'a ToolNames, request: &Request) -> Vec<Group<'a>> {
    let mut functions = Vec::new();
    let mut groups = Vec::new();
    for tool in &tooling.tools {
        let own = tool.definition.as_deref().filter(|_| request.source == Dialect::Gemini);
        match (&tool.kind, own) {
            (ToolKind::Server(_), Some(definition)) => groups.push(Group::Raw(definition)),
            (ToolKind::Server(kind), None) => groups.extend(server(kind)),
            (_, own) => functions.push(declaration(tool, names, own)),
        }
    }
    if !functions.is_empty() {
        groups.insert(0, Group::Functions { function_declarations: functions });
    }
    groups
}

fn server(kind: &str) -> Option<Group<'static>> {
    match kind {
        "web_search" => Some(Group::Search { google_search: Empty {} }),
        "code_interpreter" => Some(Group::Code { code_execution: Empty {} }),
        "url_context" => Some(Group::Urls { url_context: Empty {} }),
        _ => None,
    }
}

fn declaration<'a>(tool: &'a Tool, names: &'a ToolNames, own: Option<&'a RawValue>) -> Declaration<'a> {
    let name = names.sent(&tool.name);
    if let Some(own) = own.filter(|_| name == tool.name) {
        return Declaration::Raw(own);
    }
    let parameters = schema::to_gemini(&schema::object_schema(tool.schema.as_ref()));
    // An object without properties is refused by some backends; no parameters mean the same.
    let parameters =
        Some(parameters).filter(|parameters| *parameters != json!({"type": "object"}) && has_members(parameters));
    let description = tool.description.as_deref().filter(|text| !text.is_empty());
    Declaration::Function { name, description, parameters }
}

fn has_members(parameters: &Value) -> bool {
    ["properties", "anyOf"].iter().any(|name| parameters.get(name).is_some())
}

/// The choice among functions; where there are none, nothing can be chosen.
pub(super) fn write_choice(tooling: &Tooling<'_>, names: &ToolNames) -> Option<ToolConfig> {
    let has_functions = tooling.tools.iter().any(|tool| !matches!(tool.kind, ToolKind::Server(_)));
    let choice = tooling.choice.as_ref().filter(|_| has_functions)?;
    let sent = |name: &String| names.sent(name).into_owned();
    let (mode, allowed_function_names) = match choice {
        ToolChoice::Auto => ("AUTO", Vec::new()),
        ToolChoice::None => ("NONE", Vec::new()),
        ToolChoice::Any => ("ANY", Vec::new()),
        ToolChoice::One(name) => ("ANY", vec![sent(name)]),
        ToolChoice::Subset { names, required } => {
            (if *required { "ANY" } else { "VALIDATED" }, names.iter().map(sent).collect())
        }
    };
    let function_calling_config = Some(CallingConfig { mode: Cow::Borrowed(mode), allowed_function_names });
    Some(ToolConfig { function_calling_config })
}
