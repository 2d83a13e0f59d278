//! Which tools of a request a dialect can be given, and as what (gateway specification, 2.5).
//!
//! Functions exist everywhere. Free-text tools and Codex' shell exist in few places, so elsewhere they become functions
//! and their calls are turned back on the way to the client. Tools that the vendor runs exist where the vendor runs them:
//! each dialect names its own ([`fit`]), and the rest is left out with a warning. A choice follows its tools: without
//! tools there is nothing to choose, and several servers refuse to be told so.

use std::borrow::Cow;

use domain::Dialect;
use serde::Deserialize;
use serde_json::{Value, json};

use super::request::{Part, Request, Role, Tool, ToolChoice, ToolKind};
use super::target::{ForeignTools, Target, Warning};
use crate::client::Client;
use crate::translate::Refusal;

/// The tools of a request as one dialect can be told of them.
#[derive(Clone, Debug, Default)]
pub struct Tooling<'r> {
    /// Functions, and what else the dialect has itself: those keep their kind, and under the client's own dialect their
    /// definition. Borrowed from the request, but for those that stand for another.
    pub tools: Vec<Cow<'r, Tool>>,
    pub choice: Option<ToolChoice>,
    pub parallel: Option<bool>,
    pub warnings: Vec<Warning>,
}

/// Fits the tools of `request` to `dialect`.
///
/// # Errors
/// A tool that does not exist there, when the client forces it or `target` refuses it.
pub fn fit<'r>(request: &'r Request, dialect: Dialect, target: &Target) -> Result<Tooling<'r>, Refusal> {
    let mut fitted = Tooling::default();
    let has_client_tools = request.tools.iter().any(|tool| !matches!(tool.kind, ToolKind::Server(_)));
    for tool in &request.tools {
        if let ToolKind::Server(kind) = &tool.kind
            && request.source != dialect
            && !runs(dialect, kind, has_client_tools)
        {
            let forced = matches!(&request.tool_choice, Some(ToolChoice::One(name)) if *name == tool.name);
            let refused = match target.foreign_tools {
                ForeignTools::Drop => false,
                ForeignTools::RefuseAlone => !has_client_tools,
                ForeignTools::Refuse => true,
            };
            if forced || refused {
                return Err(Refusal::of_tool(&tool.name));
            }
            fitted.warnings.push(Warning { code: "DROPPED_TOOL", about: tool.name.clone() });
            continue;
        }
        let stays = is_native(&tool.kind, dialect, request.source);
        fitted.tools.push(if stays { Cow::Borrowed(tool) } else { Cow::Owned(emulate(tool)) });
    }
    fitted.choose(request, dialect);
    if fitted.tools.is_empty() && dialect == Dialect::Messages {
        fitted.recall(request);
    }
    Ok(fitted)
}

impl Tooling<'_> {
    /// Lets the choice follow the tools that are left.
    fn choose(&mut self, request: &Request, dialect: Dialect) {
        let choice = match request.tool_choice.clone() {
            Some(ToolChoice::Subset { names, required }) => self.narrow(names, required, request.source, dialect),
            Some(ToolChoice::One(name)) if !self.tools.iter().any(|tool| tool.name == name) => {
                self.warnings.push(Warning { code: "DROPPED_PARAMETER", about: "tool_choice".to_owned() });
                None
            }
            choice => choice,
        };
        if !self.tools.is_empty() {
            self.choice = choice;
            self.parallel = request.parallel_tool_calls;
        }
    }

    /// A choice among some tools, or where the dialect cannot say so, these tools alone.
    fn narrow(&mut self, names: Vec<String>, required: bool, source: Client, dialect: Dialect) -> Option<ToolChoice> {
        let says_so = match dialect {
            Dialect::Chat => source == Dialect::Chat,
            Dialect::Responses => true,
            Dialect::Messages => false,
            Dialect::Gemini => required,
        };
        if says_so {
            let names: Vec<_> =
                names.into_iter().filter(|name| self.tools.iter().any(|tool| tool.name == *name)).collect();
            return (!names.is_empty()).then_some(ToolChoice::Subset { names, required });
        }
        self.tools.retain(|tool| names.contains(&tool.name));
        Some(if required { ToolChoice::Any } else { ToolChoice::Auto })
    }

    /// Anthropic refuses a history with calls and no tools: defines those that were called, and forbids calling them.
    fn recall(&mut self, request: &Request) {
        let calls = request.turns.iter().filter(|turn| turn.role == Role::Assistant).flat_map(|turn| &turn.parts);
        for part in calls {
            if let Part::ToolCall { name, .. } = part
                && !self.tools.iter().any(|tool| tool.name == *name)
            {
                self.tools.push(Cow::Owned(Tool { name: name.clone(), ..Tool::default() }));
                self.choice = Some(ToolChoice::None);
            }
        }
    }
}

/// Whether the vendors of a dialect run such a tool without more being said than its name. Gemini does not run its own
/// tools beside functions of the client.
fn runs(dialect: Dialect, kind: &str, has_client_tools: bool) -> bool {
    match dialect {
        // Only search models have it, and to all others the option is an error.
        Dialect::Chat => false,
        Dialect::Responses => matches!(kind, "web_search" | "code_interpreter"),
        Dialect::Messages => kind == "web_search",
        Dialect::Gemini => !has_client_tools && matches!(kind, "web_search" | "code_interpreter" | "url_context"),
    }
}

/// The function that stands for a tool of another kind.
fn emulate(tool: &Tool) -> Tool {
    let (description, schema) = match tool.kind {
        ToolKind::LocalShell => (
            Some("Runs a command in the user's shell and returns its output.".to_owned()),
            json!({
                "type": "object",
                "properties": {
                    "command": { "type": "array", "items": { "type": "string" }, "description": "The program and its arguments." },
                    "workdir": { "type": "string", "description": "The directory to run it in." },
                    "timeout_ms": { "type": "number", "description": "When to stop it, in milliseconds." },
                },
                "required": ["command"],
            }),
        ),
        ToolKind::Custom | ToolKind::Function | ToolKind::Server(_) => (
            Some(describe(tool)),
            json!({
                "type": "object",
                "properties": { "input": { "type": "string", "description": "The whole text the tool is given, unchanged." } },
                "required": ["input"],
            }),
        ),
    };
    Tool {
        name: tool.name.clone(),
        description: tool.description.clone().filter(|_| tool.kind == ToolKind::LocalShell).or(description),
        schema: Some(schema),
        cache: tool.cache.clone(),
        namespace: tool.namespace.clone(),
        ..Tool::default()
    }
}

/// What a free-text tool wants to be told, its grammar included: no schema can say it.
fn describe(tool: &Tool) -> String {
    #[derive(Deserialize)]
    struct Definition {
        format: Option<Format>,
        custom: Option<Nested>,
    }
    #[derive(Deserialize)]
    struct Nested {
        format: Option<Format>,
    }
    #[derive(Deserialize)]
    struct Format {
        syntax: Option<String>,
        definition: Option<String>,
        grammar: Option<Grammar>,
    }
    #[derive(Deserialize)]
    struct Grammar {
        syntax: Option<String>,
        definition: Option<String>,
    }
    let mut description = tool.description.clone().unwrap_or_default();
    let definition = tool.definition.as_ref().and_then(|raw| serde_json::from_str::<Definition>(raw.get()).ok());
    let format = definition.and_then(|it| it.format.or(it.custom.and_then(|nested| nested.format)));
    let grammar = format.and_then(|format| match format.grammar {
        Some(Grammar { syntax, definition }) => Some((syntax, definition?)),
        None => Some((format.syntax, format.definition?)),
    });
    if let Some((syntax, definition)) = grammar {
        let syntax = syntax.unwrap_or_default();
        description.push_str(&format!("\n\nThe text follows this {syntax} grammar:\n{definition}"));
    }
    description.trim_start().to_owned()
}

/// Whether calls of this kind keep their form in `dialect`, for a request written in `source`. Otherwise their arguments
/// pass [`emulated_arguments`].
pub fn is_native(kind: &ToolKind, dialect: Dialect, source: Client) -> bool {
    match kind {
        ToolKind::Function | ToolKind::Server(_) => true,
        ToolKind::Custom | ToolKind::LocalShell => dialect == Dialect::Responses || source == dialect,
    }
}

/// The name of a tool of a namespace among tools that know none.
pub fn flat_name(namespace: &str, name: &str) -> String {
    let joint = if namespace.ends_with("__") { "" } else { "__" };
    format!("{namespace}{joint}{name}")
}

/// What Codex' shell is called with.
#[derive(Deserialize)]
struct ShellAction {
    command: Value,
    working_directory: Option<String>,
    timeout_ms: Option<Value>,
}

/// What the function that stands for it is called with.
#[derive(Deserialize)]
struct ShellInput {
    command: Value,
    workdir: Option<String>,
    timeout_ms: Option<Value>,
    /// Stands in the shell's own form alone.
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// The arguments of a call as JSON for the function that stands for its tool.
pub fn emulated_arguments<'a>(kind: &ToolKind, arguments: &'a str) -> Cow<'a, str> {
    match kind {
        ToolKind::Function | ToolKind::Server(_) => Cow::Borrowed(arguments),
        ToolKind::Custom => Cow::Owned(json!({ "input": arguments }).to_string()),
        ToolKind::LocalShell => match serde_json::from_str::<ShellAction>(arguments) {
            Ok(ShellAction { command, working_directory, timeout_ms }) => {
                let input = [
                    ("command", Some(command)),
                    ("workdir", working_directory.map(Value::String)),
                    ("timeout_ms", timeout_ms),
                ];
                Cow::Owned(object(input).to_string())
            }
            Err(_) => Cow::Borrowed(arguments),
        },
    }
}

/// The way back of [`emulated_arguments`]. Arguments that are not of that form, because the upstream has the tool itself
/// or the model wrote something else, stay as they are.
pub fn native_arguments<'a>(kind: &ToolKind, arguments: &'a str) -> Cow<'a, str> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        input: String,
    }
    match kind {
        ToolKind::Function | ToolKind::Server(_) => Cow::Borrowed(arguments),
        ToolKind::Custom => match serde_json::from_str(arguments) {
            Ok(Input { input }) => Cow::Owned(input),
            Err(_) => Cow::Borrowed(arguments),
        },
        ToolKind::LocalShell => match serde_json::from_str::<ShellInput>(arguments) {
            Ok(ShellInput { command, workdir, timeout_ms, kind: None }) => {
                let command = if command.is_string() { json!(["bash", "-lc", command]) } else { command };
                let action = [
                    ("type", Some(json!("exec"))),
                    ("command", Some(command)),
                    ("env", Some(json!({}))),
                    ("working_directory", workdir.map(Value::String)),
                    ("timeout_ms", timeout_ms),
                ];
                Cow::Owned(object(action).to_string())
            }
            _ => Cow::Borrowed(arguments),
        },
    }
}

fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let known = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(known.collect())
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
