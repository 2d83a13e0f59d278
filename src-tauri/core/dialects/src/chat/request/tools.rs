//! Tools and the choice among them, read and written.

use std::borrow::Cow;

use domain::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::messages::cache_mark;
use super::wire::{Body, Flag};
use crate::canonical::ids::ToolNames;
use crate::canonical::tools::Tooling;
use crate::canonical::{Request, Tool, ToolChoice, ToolKind, schema};
use crate::client::Client;
use crate::fields;
use crate::lenient::{Text, some_string, str_of};
use crate::translate::Refusal;

#[derive(Deserialize)]
struct ReadTool<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    function: Option<ReadFunction<'a>>,
    #[serde(borrow)]
    custom: Option<ReadFunction<'a>>,
    #[serde(borrow)]
    cache_control: Option<&'a RawValue>,
    /// The function itself where it is not nested, as Responses has it.
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    description: Option<Text<'a>>,
    parameters: Option<Value>,
    strict: Option<Flag>,
}

#[derive(Deserialize)]
struct ReadFunction<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    description: Option<Text<'a>>,
    parameters: Option<Value>,
    strict: Option<Flag>,
}

/// Reads tools and choice into `request`.
pub(super) fn read(body: &Body<'_>, request: &mut Request) -> Result<(), Refusal> {
    for (place, raw) in list(body.tools, "tools")?.into_iter().enumerate() {
        request.tools.push(tool(raw).ok_or_else(|| Refusal::new(format!("tools[{place}]"), "is no tool with a name"))?);
    }
    for (place, raw) in list(body.functions, "functions")?.into_iter().enumerate() {
        let function = serde_json::from_str::<ReadFunction<'_>>(raw.get()).ok().and_then(named);
        request
            .tools
            .push(function.ok_or_else(|| Refusal::new(format!("functions[{place}]"), "is no function with a name"))?);
    }
    if let Some(options) = body.web_search_options {
        request.tools.push(Tool {
            name: "web_search".to_owned(),
            kind: ToolKind::Server("web_search".to_owned()),
            definition: Some(options.to_owned()),
            ..Tool::default()
        });
    }
    let said =
        body.tool_choice.map(|raw| ("tool_choice", raw)).or(body.function_call.map(|raw| ("function_call", raw)));
    request.tool_choice = said.map(|(field, raw)| choice(field, raw)).transpose()?;
    Ok(())
}

fn list<'a>(raw: Option<&'a RawValue>, field: &str) -> Result<Vec<&'a RawValue>, Refusal> {
    let Some(raw) = raw else { return Ok(Vec::new()) };
    serde_json::from_str(raw.get()).map_err(|_| Refusal::new(field, "must be a list"))
}

fn tool(raw: &RawValue) -> Option<Tool> {
    let read: ReadTool<'_> = serde_json::from_str(raw.get()).ok()?;
    let cache = read.cache_control.map(cache_mark);
    let flat = ReadFunction {
        name: read.name,
        description: read.description,
        parameters: read.parameters,
        strict: read.strict,
    };
    let tool = match str_of(&read.kind) {
        "function" | "" => named(read.function.unwrap_or(flat))?,
        "custom" => {
            Tool { kind: ToolKind::Custom, definition: Some(raw.to_owned()), ..named(read.custom.unwrap_or(flat))? }
        }
        kind => Tool {
            name: some_string(&flat.name).unwrap_or_else(|| kind.to_owned()),
            kind: ToolKind::Server(canonical_kind(kind).to_owned()),
            definition: Some(raw.to_owned()),
            ..Tool::default()
        },
    };
    Some(Tool { cache, ..tool })
}

/// The canonical word of a tool that the vendor runs, without the date some carry.
fn canonical_kind(kind: &str) -> &str {
    if kind.starts_with("web_search") { "web_search" } else { kind }
}

fn named(function: ReadFunction<'_>) -> Option<Tool> {
    Some(Tool {
        name: some_string(&function.name)?,
        description: some_string(&function.description),
        schema: function.parameters.filter(|schema| !schema.is_null()),
        strict: function.strict.and_then(|flag| flag.0),
        ..Tool::default()
    })
}

fn choice(field: &str, raw: &RawValue) -> Result<ToolChoice, Refusal> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Option<Text<'a>>,
    }
    #[derive(Deserialize)]
    struct Choice<'a> {
        #[serde(borrow, rename = "type")]
        kind: Option<Text<'a>>,
        #[serde(borrow)]
        name: Option<Text<'a>>,
        #[serde(borrow)]
        function: Option<Named<'a>>,
        #[serde(borrow)]
        custom: Option<Named<'a>>,
        #[serde(borrow)]
        allowed_tools: Option<Allowed<'a>>,
    }
    #[derive(Deserialize)]
    struct Allowed<'a> {
        #[serde(borrow)]
        mode: Option<Text<'a>>,
        #[serde(borrow)]
        tools: Vec<Choice<'a>>,
    }
    fn name(choice: Choice<'_>) -> Option<String> {
        let inner = choice.function.or(choice.custom).and_then(|named| some_string(&named.name));
        inner.or_else(|| some_string(&choice.name))
    }
    let by_word = |word: &str| match word {
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::None),
        "required" | "any" => Ok(ToolChoice::Any),
        _ => Err(Refusal::new(field, "must be `auto`, `none`, `required`, or an object that names a tool")),
    };
    if !raw.get().starts_with('{') {
        return by_word(serde_json::from_str(raw.get()).unwrap_or_default());
    }
    let choice: Choice<'_> = fields::parse(field, raw.get())?;
    match choice.allowed_tools {
        Some(Allowed { mode, tools }) => Ok(ToolChoice::Subset {
            names: tools.into_iter().filter_map(name).collect(),
            required: str_of(&mode) == "required",
        }),
        None => {
            // Some say the word in an object, as Anthropic's clients do.
            let kind = some_string(&choice.kind).unwrap_or_default();
            name(choice).map_or_else(|| by_word(&kind), |name| Ok(ToolChoice::One(name)))
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WrittenTool<'a> {
    Function {
        function: WrittenFunction<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<super::write_content::CacheControl<'a>>,
    },
    #[serde(untagged)]
    AsWritten(&'a RawValue),
}

#[derive(Serialize)]
pub(super) struct WrittenFunction<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Cow<'a, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// The list of tools, and `web_search_options` where the client asked for it in this dialect.
pub(super) fn write<'a>(
    tooling: &'a Tooling<'_>,
    names: &'a ToolNames,
    source: Client,
    keeps_marks: bool,
) -> (Vec<WrittenTool<'a>>, Option<&'a RawValue>) {
    let mut search = None;
    let mut written = Vec::with_capacity(tooling.tools.len());
    for tool in &tooling.tools {
        match (&tool.kind, tool.definition.as_deref()) {
            (ToolKind::Server(kind), Some(options)) if kind == "web_search" && tool.name == "web_search" => {
                search = Some(options);
            }
            (ToolKind::Server(_) | ToolKind::Custom | ToolKind::LocalShell, Some(definition)) => {
                written.push(WrittenTool::AsWritten(definition));
            }
            (ToolKind::Server(_), None) => {}
            (ToolKind::Function | ToolKind::Custom | ToolKind::LocalShell, _) => {
                let cache = tool.cache.as_ref().filter(|_| keeps_marks);
                written.push(WrittenTool::Function {
                    function: function(tool, names, source),
                    cache_control: cache.map(super::write_content::CacheControl::new),
                });
            }
        }
    }
    (written, search)
}

fn function<'a>(tool: &'a Tool, names: &'a ToolNames, source: Client) -> WrittenFunction<'a> {
    // A client of this dialect that sends no schema means a function without arguments, and so do its servers.
    let is_own = source == Dialect::Chat;
    let parameters = match &tool.schema {
        None if is_own => None,
        schema => Some(schema::object_schema(schema.as_ref())),
    };
    // A strict schema has to meet conditions that other vendors do not know; it is never rewritten to meet them.
    let holds = is_own || parameters.as_deref().is_some_and(schema::is_strict);
    WrittenFunction {
        name: names.sent(&tool.name),
        description: tool.description.as_deref(),
        parameters,
        strict: tool.strict.filter(|strict| !strict || holds),
    }
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum WrittenChoice<'a> {
    Word(&'static str),
    One(ChoiceOf<'a>),
    Allowed {
        #[serde(rename = "type")]
        kind: &'static str,
        allowed_tools: AllowedTools<'a>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ChoiceOf<'a> {
    Function { function: NameOf<'a> },
    Custom { custom: NameOf<'a> },
}

#[derive(Serialize)]
pub(super) struct NameOf<'a> {
    name: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct AllowedTools<'a> {
    mode: &'static str,
    tools: Vec<ChoiceOf<'a>>,
}

pub(super) fn write_choice<'a>(tooling: &'a Tooling<'_>, names: &'a ToolNames) -> Option<WrittenChoice<'a>> {
    let one = |name: &'a str| {
        let is_custom = tooling.tools.iter().any(|tool| tool.name == name && tool.kind == ToolKind::Custom);
        let name = NameOf { name: names.sent(name) };
        if is_custom { ChoiceOf::Custom { custom: name } } else { ChoiceOf::Function { function: name } }
    };
    Some(match tooling.choice.as_ref()? {
        ToolChoice::Auto => WrittenChoice::Word("auto"),
        ToolChoice::None => WrittenChoice::Word("none"),
        ToolChoice::Any => WrittenChoice::Word("required"),
        ToolChoice::One(name) => WrittenChoice::One(one(name)),
        ToolChoice::Subset { names, required } => WrittenChoice::Allowed {
            kind: "allowed_tools",
            allowed_tools: AllowedTools {
                mode: if *required { "required" } else { "auto" },
                tools: names.iter().map(|name| one(name)).collect(),
            },
        },
    })
}
