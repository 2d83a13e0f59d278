//! The settings tree. A change of the listener's place is reserved before anything is stored, so that a port in use
//! leaves everything as it was.

use serde_json::Value;
use settings::{FieldView, Layered, Source};
use tokio::sync::oneshot;

use crate::view::{SettingField, SettingFields, SettingSource, SettingsPatch, SettingsTree};
use crate::{Control, ControlError};

/// The settings in force, with their sources.
pub async fn settings_get(control: &Control) -> Result<SettingsTree, ControlError> {
    Ok(control.with_layered(tree))
}

/// Changes settings: all of the patch, or nothing. Live when it returns.
pub async fn settings_update(control: &Control, patch: SettingsPatch) -> Result<SettingsTree, ControlError> {
    let patch = Value::Object(patch.0.into_iter().collect());
    let go = reserve_listener(control, &patch).await?;
    control.update_settings(&patch).await?;
    if let Some(go) = go {
        // A server that is stopping no longer listens for the word; the settings are stored all the same.
        let _ = go.send(());
    }
    Ok(control.with_layered(tree))
}

/// What each setting is.
pub async fn settings_fields(control: &Control) -> Result<SettingFields, ControlError> {
    let fields = control.with_layered(Layered::fields);
    Ok(SettingFields { fields: fields.into_iter().map(field).collect() })
}

/// When the patch moves the listener: the new place, reserved. Wrong patches are refused before anything is bound.
async fn reserve_listener(control: &Control, patch: &Value) -> Result<Option<oneshot::Sender<()>>, ControlError> {
    let before = control.settings().gateway.clone();
    let after = control.with_layered(|layered| {
        let mut candidate = layered.clone();
        candidate.patch(patch).map(|_| candidate.effective().gateway.clone())
    });
    let after = after.map_err(gateway::Error::Settings)?;
    if (before.port, &before.bind_address) == (after.port, &after.bind_address) {
        return Ok(None);
    }
    match control.reserve_listener(after.bind_address, after.port).await {
        Some(Ok(go)) => Ok(Some(go)),
        Some(Err(refused)) => Err(ControlError::conflict(format!("{refused}; nothing was changed"))),
        None => Err(ControlError::conflict("the gateway is stopping")),
    }
}

fn tree(layered: &Layered) -> SettingsTree {
    let sections = match layered.tree() {
        Value::Object(sections) => sections.into_iter().collect(),
        _ => Default::default(),
    };
    let sources = layered.sources().into_iter().map(|(path, layer)| (path, source(layer))).collect();
    SettingsTree { sources, sections }
}

/// A field as it is shown.
pub(crate) fn field(view: FieldView) -> SettingField {
    let field = view.field;
    SettingField {
        path: field.path,
        kind: serde_json::to_value(field.kind)
            .ok()
            .and_then(|kind| kind.as_str().map(str::to_owned))
            .unwrap_or_default(),
        unit: field.unit.map(str::to_owned),
        min: field.min.as_ref().and_then(Value::as_f64),
        max: field.max.as_ref().and_then(Value::as_f64),
        choices: field.choices.iter().map(|choice| (*choice).to_owned()).collect(),
        default: field.default,
        env: field.env,
        environment: view.environment,
        value: view.value,
        source: source(view.source),
        help: field.help,
    }
}

const fn source(layer: Source) -> SettingSource {
    match layer {
        Source::Default => SettingSource::Default,
        Source::Environment => SettingSource::Environment,
        Source::Stored => SettingSource::Stored,
    }
}
