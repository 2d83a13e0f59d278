//! What a person or a program writes for a step, read strictly (gateway specification, 3.1).
//!
//! A bare string is shorthand: the name of a combo leads to it, a star makes a wildcard, anything else is a model. An
//! object says the same with all its fields; its kind may be left out where the fields show it.

use domain::section::FieldError;
use domain::{ConnectionId, ProviderId};
use serde_json::{Map, Value};

use super::{Step, StepKind};

const HEAVIEST: u64 = 100;
const FIELDS: [&str; 14] = [
    "id",
    "kind",
    "model",
    "providerId",
    "connectionId",
    "allowedConnectionIds",
    "weight",
    "label",
    "prompt",
    "tags",
    "fallbackOnlyOnQuotaExhaustion",
    "enabled",
    "comboName",
    "modelPattern",
];

impl Step {
    /// Reads one step. `exists` says whether a combo has a name; `new_id` names a step that has no id yet.
    pub fn from_input(
        value: &Value,
        exists: impl Fn(&str) -> bool,
        mut new_id: impl FnMut() -> String,
    ) -> Result<Step, FieldError> {
        match value {
            Value::String(text) => {
                Ok(Step { id: new_id(), kind: shorthand(text, exists)?, weight: 0, enabled: true, label: None })
            }
            Value::Object(fields) => read(fields, &mut new_id),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                Err(FieldError::new("", "expected \"provider/model\", the name of a combo, or an object"))
            }
        }
    }

    /// Reads a list; each error names its step by position.
    pub fn list_from_input(
        values: &[Value],
        exists: impl Fn(&str) -> bool,
        mut new_id: impl FnMut() -> String,
    ) -> Result<Vec<Step>, Vec<FieldError>> {
        let mut steps = Vec::with_capacity(values.len());
        let mut errors = Vec::new();
        for (index, value) in values.iter().enumerate() {
            match Step::from_input(value, &exists, &mut new_id) {
                Ok(step) => steps.push(step),
                Err(error) => errors.push(located(index, error)),
            }
        }
        if errors.is_empty() { Ok(steps) } else { Err(errors) }
    }
}

pub(super) fn located(index: usize, error: FieldError) -> FieldError {
    let dot = if error.field.is_empty() { "" } else { "." };
    let field = format!("models[{index}]{dot}{}", error.field);
    error.at(field)
}

fn shorthand(text: &str, exists: impl Fn(&str) -> bool) -> Result<StepKind, FieldError> {
    if exists(text) {
        return Ok(StepKind::ComboRef { combo_name: text.to_owned() });
    }
    let (provider, rest) = split(text, "")?;
    if text.contains('*') {
        return Ok(StepKind::ProviderWildcard { provider_id: provider.into(), model_pattern: rest.to_owned() });
    }
    Ok(model(text, provider.into()))
}

fn model(text: &str, provider_id: ProviderId) -> StepKind {
    StepKind::Model {
        model: text.to_owned(),
        provider_id,
        connection_id: None,
        allowed_connection_ids: Vec::new(),
        prompt: None,
        tags: Vec::new(),
        fallback_only_on_quota_exhaustion: false,
    }
}

/// Provider and the rest, which may hold slashes itself.
fn split<'t>(text: &'t str, field: &str) -> Result<(&'t str, &'t str), FieldError> {
    match text.split_once('/') {
        Some((provider, rest)) if !provider.is_empty() && !rest.is_empty() && !provider.contains('*') => {
            Ok((provider, rest))
        }
        Some(_) | None => Err(FieldError::new(field, "expected \"provider/model\", or the name of an existing combo")),
    }
}

fn read(fields: &Map<String, Value>, new_id: &mut impl FnMut() -> String) -> Result<Step, FieldError> {
    if let Some(name) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(FieldError::new(name, "unknown field: remove it, or correct its name"));
    }
    let kind = match word(fields, "kind")? {
        Some("model") => model_step(fields)?,
        Some("combo-ref") => reference(fields)?,
        Some("provider-wildcard") => wildcard(fields)?,
        Some(_) => return Err(FieldError::new("kind", "expected one of model combo-ref provider-wildcard")),
        None if fields.contains_key("comboName") => reference(fields)?,
        None if fields.contains_key("modelPattern") => wildcard(fields)?,
        None => model_step(fields)?,
    };
    let id = match word(fields, "id")? {
        Some(id) if id.is_empty() || id.contains(['>', '@']) => {
            return Err(FieldError::new("id", "must not be empty nor contain > or @: leave it out for a new one"));
        }
        Some(id) => id.to_owned(),
        None => new_id(),
    };
    Ok(Step {
        id,
        kind,
        weight: weight(fields)?,
        enabled: flag(fields, "enabled", true)?,
        label: word(fields, "label")?.map(str::to_owned),
    })
}

fn model_step(fields: &Map<String, Value>) -> Result<StepKind, FieldError> {
    let text = required(fields, "model")?;
    let provider: ProviderId = match word(fields, "providerId")? {
        Some(provider) if !provider.is_empty() => provider.into(),
        Some(_) | None => split(text, "model")?.0.into(),
    };
    let text = if text.contains('/') { text.to_owned() } else { format!("{provider}/{text}") };
    Ok(StepKind::Model {
        model: text,
        provider_id: provider,
        connection_id: word(fields, "connectionId")?.filter(|id| !id.is_empty()).map(ConnectionId::from),
        allowed_connection_ids: words(fields, "allowedConnectionIds")?.into_iter().map(ConnectionId::from).collect(),
        prompt: word(fields, "prompt")?.map(str::to_owned),
        tags: words(fields, "tags")?,
        fallback_only_on_quota_exhaustion: flag(fields, "fallbackOnlyOnQuotaExhaustion", false)?,
    })
}

fn reference(fields: &Map<String, Value>) -> Result<StepKind, FieldError> {
    Ok(StepKind::ComboRef { combo_name: required(fields, "comboName")?.to_owned() })
}

fn wildcard(fields: &Map<String, Value>) -> Result<StepKind, FieldError> {
    Ok(StepKind::ProviderWildcard {
        provider_id: required(fields, "providerId")?.into(),
        model_pattern: required(fields, "modelPattern")?.to_owned(),
    })
}

fn required<'f>(fields: &'f Map<String, Value>, name: &str) -> Result<&'f str, FieldError> {
    word(fields, name)?.filter(|text| !text.is_empty()).ok_or_else(|| FieldError::new(name, "must not be empty"))
}

fn word<'f>(fields: &'f Map<String, Value>, name: &str) -> Result<Option<&'f str>, FieldError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(FieldError::new(name, "expected text")),
    }
}

fn words(fields: &Map<String, Value>, name: &str) -> Result<Vec<String>, FieldError> {
    let wrong = || FieldError::new(name, "expected a list of texts");
    match fields.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

fn flag(fields: &Map<String, Value>, name: &str, default: bool) -> Result<bool, FieldError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(default),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(FieldError::new(name, "expected true or false")),
    }
}

fn weight(fields: &Map<String, Value>) -> Result<u32, FieldError> {
    match fields.get("weight") {
        None | Some(Value::Null) => Ok(0),
        Some(value) => {
            let weight = value.as_u64().filter(|weight| *weight <= HEAVIEST).and_then(|weight| weight.try_into().ok());
            weight.ok_or_else(|| FieldError::new("weight", "expected a whole number from 0 to 100"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<Step, String> {
        Step::from_input(&value, |name| name == "mine" || name == "a/b", || "new".to_owned())
            .map_err(|error| error.to_string())
    }

    fn wire(value: Value) -> Value {
        serde_json::to_value(read(value).expect("a step")).expect("json")
    }

    #[test]
    fn shorthand_is_a_combo_then_a_wildcard_then_a_model() {
        for (text, kind, member, value) in [
            ("mine", "combo-ref", "comboName", "mine"),
            ("a/b", "combo-ref", "comboName", "a/b"),
            ("groq/llama-*", "provider-wildcard", "modelPattern", "llama-*"),
            ("openrouter/anthropic/claude", "model", "providerId", "openrouter"),
        ] {
            let step = wire(json!(text));
            assert_eq!((&step["kind"], &step[member], &step["id"]), (&json!(kind), &json!(value), &json!("new")));
        }
    }

    #[test]
    fn an_object_needs_no_kind_where_its_fields_show_it() {
        let step = wire(json!({ "model": "openai/gpt", "weight": 100, "tags": ["fast"], "id": "s1", "label": null }));
        assert_eq!(
            (&step["kind"], &step["providerId"], &step["weight"]),
            (&json!("model"), &json!("openai"), &json!(100))
        );
        assert_eq!(wire(json!({ "comboName": "x" }))["kind"], "combo-ref");
        assert_eq!(wire(json!({ "providerId": "p", "modelPattern": "*" }))["kind"], "provider-wildcard");
        assert_eq!(wire(json!({ "providerId": "p", "model": "m" }))["model"], "p/m");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_remedy() {
        for (value, expected) in [
            (json!("gpt"), ": expected \"provider/model\", or the name of an existing combo"),
            (json!("*/gpt"), ": expected \"provider/model\", or the name of an existing combo"),
            (json!(3), ": expected \"provider/model\", the name of a combo, or an object"),
            (json!({ "model": "a/b", "weight": 101 }), "weight: expected a whole number from 0 to 100"),
            (json!({ "model": "a/b", "weight": 0.5 }), "weight: expected a whole number from 0 to 100"),
            (json!({ "model": "a/b", "wieght": 1 }), "wieght: unknown field: remove it, or correct its name"),
            (json!({ "model": "a/b", "tags": "x" }), "tags: expected a list of texts"),
            (json!({ "kind": "x" }), "kind: expected one of model combo-ref provider-wildcard"),
            (json!({ "kind": "combo-ref" }), "comboName: must not be empty"),
            (
                json!({ "id": "a>b", "comboName": "x" }),
                "id: must not be empty nor contain > or @: leave it out for a new one",
            ),
        ] {
            assert_eq!(read(value).expect_err(expected), expected);
        }
        let errors = Step::list_from_input(&[json!("a/b"), json!({ "weight": 1 }), json!(1)], |_| false, String::new)
            .expect_err("two are wrong");
        let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["models[1].model", "models[2]"]);
    }
}
