//! Rules that several vendors share.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;

/// What is wrong, in words for the sender.
pub(super) type Verdict = Result<(), String>;

pub(super) fn require<M: Into<String>>(condition: bool, message: impl FnOnce() -> M) -> Verdict {
    if condition { Ok(()) } else { Err(message().into()) }
}

/// A list that must be there and must not be empty.
pub(super) fn list<'v>(body: &'v Value, name: &str) -> Result<&'v [Value], String> {
    match body[name].as_array() {
        Some(items) if !items.is_empty() => Ok(items),
        _ => Err(format!("{name}: a list with at least one entry is required")),
    }
}

/// A list that may be absent, but not empty.
pub(super) fn optional<'v>(body: &'v Value, name: &str) -> Result<&'v [Value], String> {
    if body[name].is_null() { Ok(&[]) } else { list(body, name) }
}

pub(super) fn entries(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// Refuses members that the vendor does not know.
pub(super) fn known(place: &str, value: &Value, names: &[&str]) -> Verdict {
    let members = value.as_object().map(|members| members.keys()).into_iter().flatten();
    match members.map(String::as_str).find(|name| !names.contains(name)) {
        Some(name) => Err(format!("{place}: unknown member `{name}`")),
        None => Ok(()),
    }
}

/// A number, where there is one, within these bounds.
pub(super) fn within(body: &Value, name: &str, least: f64, most: f64) -> Verdict {
    let fits = body[name].as_f64().is_none_or(|number| (least..=most).contains(&number));
    require(fits, || format!("{name}: must be between {least} and {most}"))
}

/// A name of letters, digits, `_` and `-`, of at most so many bytes.
pub(super) fn name(what: &str, name: &str, longest: usize) -> Verdict {
    let fits = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    require(fits && (1..=longest).contains(&name.len()), || format!("{what}: the name `{name}` is not allowed"))
}

pub(super) fn distinct<'n>(what: &str, names: impl Iterator<Item = &'n str>) -> Verdict {
    let mut seen = BTreeSet::new();
    for name in names {
        require(seen.insert(name), || format!("{what}: `{name}` is there twice"))?;
    }
    Ok(())
}

/// Base64 that is not empty, in either alphabet.
pub(super) fn base64(place: &str, data: &str) -> Verdict {
    let decodes = STANDARD.decode(data).is_ok() || URL_SAFE.decode(data).is_ok();
    require(decodes && !data.is_empty(), || format!("{place}: the data is not base64"))
}

/// A data URL with base64 in it, or an HTTP URL.
pub(super) fn media_url(place: &str, url: &str) -> Verdict {
    match url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        Some((_, data)) => base64(place, data),
        None => require(url.starts_with("http://") || url.starts_with("https://"), || {
            format!("{place}: neither a data URL nor an HTTP URL")
        }),
    }
}

/// A schema for the arguments of a tool: an object.
pub(super) fn object_schema(place: &str, schema: &Value) -> Verdict {
    require(schema["type"] == "object", || format!("{place}: the schema must have type `object`"))
}

/// What OpenAI asks of a strict schema: every property required, no others allowed.
pub(super) fn strict_schema(place: &str, schema: &Value) -> Verdict {
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    require(schema["additionalProperties"] == false, || {
        format!("{place}: `additionalProperties` must be false in a strict schema")
    })?;
    let required: Vec<&str> = entries(&schema["required"]).iter().filter_map(Value::as_str).collect();
    for (name, property) in properties {
        require(required.contains(&name.as_str()), || format!("{place}: strict schemas require `{name}`"))?;
        strict_schema(place, property)?;
    }
    Ok(())
}

/// Calls that wait for their results.
#[derive(Default)]
pub(super) struct Open<'v>(BTreeSet<&'v str>);

impl<'v> Open<'v> {
    pub(super) fn call(&mut self, id: &'v str) -> Verdict {
        require(!id.is_empty() && self.0.insert(id), || format!("the tool call id `{id}` is empty or there twice"))
    }

    /// Whether a call of this id waited.
    pub(super) fn answer(&mut self, id: &str) -> bool {
        self.0.remove(id)
    }

    pub(super) fn all_answered(&self) -> Verdict {
        match self.0.first() {
            Some(id) => Err(format!("the tool call `{id}` has no result right after it")),
            None => Ok(()),
        }
    }
}
