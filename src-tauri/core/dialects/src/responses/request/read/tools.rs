//! Definitions and choice of tools, read.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::canonical::tools::flat_name;
use crate::canonical::{Namespace, Tool, ToolChoice, ToolKind};
use crate::fields;
use crate::lenient::{some_string, str_of};
use crate::translate::Refusal;

use super::wire;

/// Reads definitions, which stand at `at`, behind those that are there. Namespaces are laid flat; a name that is taken
/// gets a number.
pub(super) fn read(at: &str, definitions: &[&RawValue], tools: &mut Vec<Tool>) -> Result<(), Refusal> {
    for (raw, place) in definitions.iter().zip(0_usize..) {
        let at = format!("{at}[{place}]");
        let mut definition: wire::Tool<'_> = fields::parse(&at, raw.get())?;
        if str_of(&definition.kind) != "namespace" {
            tools.push(tool(&mut definition, raw, None).ok_or_else(|| nameless(&at))?);
            continue;
        }
        let group = str_of(&definition.name);
        for (raw, place) in definition.tools.iter().flatten().zip(0_usize..) {
            let at = format!("{at}.tools[{place}]");
            let mut within: wire::Tool<'_> = fields::parse(&at, raw.get())?;
            let within = tool(&mut within, raw, Some((group, some_string(&definition.description))));
            let mut tool = within.ok_or_else(|| nameless(&at))?;
            let wish = tool.name.clone();
            let mut number = 2_u32;
            while tools.iter().any(|other| other.name == tool.name) {
                tool.name = format!("{wish}_{number}");
                number += 1;
            }
            tools.push(tool);
        }
    }
    Ok(())
}

fn nameless(at: &str) -> Refusal {
    Refusal::new(format!("{at}.name"), "is missing: a tool needs a name")
}

/// A tool; its schema is taken out of the definition.
fn tool(definition: &mut wire::Tool<'_>, raw: &RawValue, group: Option<(&str, Option<String>)>) -> Option<Tool> {
    let schema = match definition.function.as_deref_mut() {
        Some(nested) => nested.parameters.take(),
        None => definition.parameters.take(),
    };
    let definition = &*definition;
    let written = str_of(&definition.kind);
    let kind = match written {
        "function" | "" => ToolKind::Function,
        "custom" => ToolKind::Custom,
        "local_shell" => ToolKind::LocalShell,
        other => ToolKind::Server(server_kind(other).to_owned()),
    };
    let function = definition.function.as_deref().unwrap_or(definition);
    let name = match &kind {
        ToolKind::Function | ToolKind::Custom => some_string(&function.name)?,
        ToolKind::LocalShell => written.to_owned(),
        ToolKind::Server(word) => word.clone(),
    };
    let namespace =
        group.map(|(group, description)| Namespace { group: group.to_owned(), description, name: name.clone() });
    Some(Tool {
        name: namespace.as_ref().map_or(name, |within| flat_name(&within.group, &within.name)),
        description: some_string(&function.description),
        schema,
        strict: function.strict.or(definition.strict),
        cache: None,
        definition: (kind != ToolKind::Function).then(|| raw.to_owned()),
        kind,
        namespace,
    })
}

/// The canonical word for a tool of the vendor: its type without the version.
pub(crate) fn server_kind(written: &str) -> &str {
    match written {
        "computer_use_preview" | "computer-preview" => "computer",
        _ if written.starts_with("web_search") => "web_search",
        _ => written,
    }
}

/// The canonical name of a tool that is told by its namespace and the name within.
pub(super) fn name_of<'t>(tools: &'t [Tool], namespace: &str, name: &'t str) -> Cow<'t, str> {
    if namespace.is_empty() {
        return Cow::Borrowed(name);
    }
    let known = tools
        .iter()
        .find(|tool| tool.namespace.as_ref().is_some_and(|within| within.group == namespace && within.name == name));
    match known {
        Some(tool) => Cow::Borrowed(&tool.name),
        None => Cow::Owned(flat_name(namespace, name)),
    }
}

pub(super) fn choice(choice: &wire::Choice<'_>, tools: &[Tool]) -> Result<ToolChoice, Refusal> {
    let unknown = || Refusal::new("tool_choice", "must be `auto`, `none`, `required`, or an object that names a tool");
    match (choice.word.as_ref(), &choice.object) {
        ("auto", _) => Ok(ToolChoice::Auto),
        ("none", _) => Ok(ToolChoice::None),
        ("required" | "any", _) => Ok(ToolChoice::Any),
        (_, Some(object)) if str_of(&object.kind) == "allowed_tools" => {
            let names = object.tools.iter().flatten().filter_map(|tool| chosen(tool, tools)).collect();
            Ok(ToolChoice::Subset { names, required: str_of(&object.mode) == "required" })
        }
        (_, Some(object)) => chosen(object, tools).map(ToolChoice::One).ok_or_else(unknown),
        (_, None) => Err(unknown()),
    }
}

/// Tools of the client are chosen by name, those of the vendor by type.
fn chosen(object: &wire::ChoiceObject<'_>, tools: &[Tool]) -> Option<String> {
    let named = object.function.as_deref().unwrap_or(object);
    match str_of(&named.name) {
        "" => some_string(&object.kind).map(|kind| server_kind(&kind).to_owned()),
        name => Some(name_of(tools, str_of(&named.namespace), name).into_owned()),
    }
}
