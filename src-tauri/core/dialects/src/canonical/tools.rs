//! Which tools of a request a dialect can be given, and as what (gateway specification, 2.5).
//!
//! Functions exist everywhere. Free-text tools and Codex' shell exist in few places, so elsewhere they become functions
//! and their calls are turned back on the way to the client. Tools that the vendor runs exist where the vendor runs them:
//! each dialect names its own ([`fit`]), and the rest is left out with a warning. A choice follows its tools: without
//! tools there is nothing to choose, and several servers refuse to be told so.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::Dialect;
use serde::Deserialize;
use serde_json::{Value, json};

use super::request::{Part, Request, Role, Tool, ToolChoice, ToolKind};
use super::target::{Names, Target, Warning};
use crate::translate::Refusal;

/// The tools of a request as one dialect can be told of them.
#[derive(Clone, Debug, Default)]
pub struct Tooling {
    /// Functions, and what else the dialect has itself: those keep their kind, and under the client's own dialect their
    /// definition.
    pub tools: Vec<Tool>,
    pub choice: Option<ToolChoice>,
    pub parallel: Option<bool>,
    /// Canonical names to the client's words, for tools that the client knows under another name or as another kind. A
    /// writer that renames further moves the entry to the name it sends.
    pub names: BTreeMap<String, Names>,
    pub warnings: Vec<Warning>,
}

/// Fits the tools of `request` to `dialect`.
///
/// # Errors
/// A tool that does not exist there, when the client forces it or `target` refuses such tools.
pub fn fit(request: &Request, dialect: Dialect, target: &Target) -> Result<Tooling, Refusal> {
    let _ = (request, dialect, target);
    Ok(Tooling::default())
}

/// Whether calls of this kind keep their form in `dialect`, for a request written in `source`. Otherwise their arguments
/// pass [`emulated_arguments`].
pub fn is_native(kind: &ToolKind, dialect: Dialect, source: Dialect) -> bool {
    match kind {
        ToolKind::Function | ToolKind::Server(_) => true,
        ToolKind::Custom | ToolKind::LocalShell => dialect == Dialect::Responses || dialect == source,
    }
}

/// The name of a tool of a namespace among tools that know none.
pub fn flat_name(namespace: &str, name: &str) -> String {
    let joint = if namespace.ends_with("__") { "" } else { "__" };
    format!("{namespace}{joint}{name}")
}

/// The arguments of a call as JSON for the function that stands for its tool.
pub fn emulated_arguments<'a>(kind: &ToolKind, arguments: &'a str) -> Cow<'a, str> {
    let _ = kind;
    Cow::Borrowed(arguments)
}

/// The way back of [`emulated_arguments`]. Arguments that are not of that form, because the upstream has the tool itself
/// or the model wrote something else, stay as they are.
pub fn native_arguments<'a>(kind: &ToolKind, arguments: &'a str) -> Cow<'a, str> {
    let _ = kind;
    Cow::Borrowed(arguments)
}
