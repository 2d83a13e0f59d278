//! Definitions and choice of tools, written.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::canonical::schema::{is_strict, object_schema};
use crate::canonical::{Tool, ToolChoice, ToolKind};

use super::Writer;

/// A definition as the client wrote it, or one made here.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Definition<'a> {
    Raw(&'a RawValue),
    Made(Made<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Made<'a> {
    Function {
        name: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parameters: Option<Cow<'a, Value>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
    },
    Custom {
        name: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        format: Option<Format>,
    },
    Namespace {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        tools: Vec<Definition<'a>>,
    },
    LocalShell,
    WebSearch,
    CodeInterpreter {
        container: Container,
    },
}

#[derive(Serialize)]
pub(super) struct Container {
    #[serde(rename = "type")]
    kind: &'static str,
}

/// What text a custom tool takes.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Format {
    Text,
    Grammar { syntax: String, definition: String },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Choice<'a> {
    Word(&'static str),
    One(Chosen<'a>),
    Allowed {
        #[serde(rename = "type")]
        kind: &'static str,
        mode: &'static str,
        tools: Vec<Chosen<'a>>,
    },
}

#[derive(Serialize)]
pub(super) struct Chosen<'a> {
    #[serde(rename = "type")]
    kind: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
}

impl<'a> Writer<'a> {
    /// The name of a tool as sent, and its namespace where the client's own words are kept.
    pub(super) fn name<'n>(&self, name: &'n str) -> (Cow<'n, str>, Option<&'n str>)
    where
        'a: 'n,
    {
        let tool = self.request.tools.iter().find(|tool| tool.name == name);
        match tool.and_then(|tool| tool.namespace.as_ref()).filter(|_| self.is_own()) {
            Some(within) => (Cow::Borrowed(&within.name), Some(&within.group)),
            None => (self.names.sent(name), None),
        }
    }
}

pub(super) fn write<'t, 'a: 't>(tools: &'t [Cow<'_, Tool>], writer: &Writer<'a>) -> Vec<Definition<'t>> {
    let mut definitions: Vec<Definition<'t>> = Vec::new();
    for tool in tools {
        let made = definition(tool, writer);
        match tool.namespace.as_ref().filter(|_| writer.is_own()) {
            None => definitions.push(made),
            Some(within) => match group(&mut definitions, &within.group) {
                Some(tools) => tools.push(made),
                None => definitions.push(Definition::Made(Made::Namespace {
                    name: &within.group,
                    description: within.description.as_deref(),
                    tools: vec![made],
                })),
            },
        }
    }
    definitions
}

fn group<'d, 't>(definitions: &'d mut [Definition<'t>], group: &str) -> Option<&'d mut Vec<Definition<'t>>> {
    definitions.iter_mut().find_map(|definition| match definition {
        Definition::Made(Made::Namespace { name, tools, .. }) if *name == group => Some(tools),
        _ => None,
    })
}

fn definition<'t, 'a: 't>(tool: &'t Tool, writer: &Writer<'a>) -> Definition<'t> {
    if let Some(raw) = tool.definition.as_ref().filter(|_| writer.is_own()) {
        return Definition::Raw(raw);
    }
    let name = writer.name(&tool.name).0;
    let description = tool.description.as_deref();
    Definition::Made(match &tool.kind {
        ToolKind::Custom => Made::Custom { name, description, format: format(tool) },
        ToolKind::LocalShell => Made::LocalShell,
        ToolKind::Server(kind) if kind == "code_interpreter" => {
            Made::CodeInterpreter { container: Container { kind: "auto" } }
        }
        ToolKind::Server(_) => Made::WebSearch,
        ToolKind::Function => {
            let (parameters, strict) = if writer.is_own() {
                (tool.schema.as_ref().map(Cow::Borrowed), tool.strict)
            } else {
                // Unsaid means strict here and loose everywhere else.
                let schema = object_schema(tool.schema.as_ref());
                let strict = tool.strict == Some(true) && is_strict(&schema);
                (Some(schema), Some(strict))
            };
            Made::Function { name, description, parameters, strict }
        }
    })
}

/// The format of a custom tool that was defined in Chat, where it is nested one deeper.
fn format(tool: &Tool) -> Option<Format> {
    #[derive(Deserialize)]
    struct Definition {
        custom: Custom,
    }
    #[derive(Deserialize)]
    struct Custom {
        format: Option<Nested>,
    }
    #[derive(Deserialize)]
    struct Nested {
        grammar: Option<Grammar>,
    }
    #[derive(Deserialize)]
    struct Grammar {
        syntax: String,
        definition: String,
    }
    let definition: Definition = serde_json::from_str(tool.definition.as_ref()?.get()).ok()?;
    Some(match definition.custom.format?.grammar {
        Some(Grammar { syntax, definition }) => Format::Grammar { syntax, definition },
        None => Format::Text,
    })
}

pub(super) fn choice<'t, 'a: 't>(
    choice: &'t ToolChoice,
    tools: &'t [Cow<'_, Tool>],
    writer: &Writer<'a>,
) -> Choice<'t> {
    match choice {
        ToolChoice::Auto => Choice::Word("auto"),
        ToolChoice::None => Choice::Word("none"),
        ToolChoice::Any => Choice::Word("required"),
        ToolChoice::One(name) => Choice::One(chosen(name, tools, writer)),
        ToolChoice::Subset { names, required } => Choice::Allowed {
            kind: "allowed_tools",
            mode: if *required { "required" } else { "auto" },
            tools: names.iter().map(|name| chosen(name, tools, writer)).collect(),
        },
    }
}

fn chosen<'t, 'a: 't>(name: &'t str, tools: &'t [Cow<'_, Tool>], writer: &Writer<'a>) -> Chosen<'t> {
    let kind = tools.iter().find(|tool| tool.name == name).map(|tool| &tool.kind);
    match kind {
        Some(ToolKind::Server(kind)) => Chosen { kind: Cow::Borrowed(kind), name: None, namespace: None },
        Some(ToolKind::LocalShell) => Chosen { kind: Cow::Borrowed("local_shell"), name: None, namespace: None },
        Some(ToolKind::Function | ToolKind::Custom) | None => {
            let kind = if kind == Some(&ToolKind::Custom) { "custom" } else { "function" };
            let (name, namespace) = writer.name(name);
            Chosen { kind: Cow::Borrowed(kind), name: Some(name), namespace }
        }
    }
}
