//! Feature flags: settings by the name of their environment variable (gateway specification, 6.1 and 6.2).

use serde_json::{Value, json};
use settings::flags::{FLAGS, Flag, named};
use settings::{FieldView, Layered};

use crate::settings::field;
use crate::view::{FeatureFlag, FeatureFlagReply, FeatureFlagValue, FeatureFlags, FlagGroup};
use crate::{Control, ControlError};

/// Every flag as it stands, in groups.
pub async fn feature_flags_list(control: &Control) -> Result<FeatureFlags, ControlError> {
    let fields = control.with_layered(Layered::fields);
    Ok(FeatureFlags { flags: FLAGS.iter().filter_map(|flag| view(flag, &fields)).collect() })
}

/// Stores a flag's value, which beats the environment and holds from the next request on.
pub async fn feature_flag_set(
    control: &Control,
    id: String,
    set: FeatureFlagValue,
) -> Result<FeatureFlagReply, ControlError> {
    if named(&id).is_some() && set.value.is_null() {
        return Err(ControlError::invalid("value", "missing: give a value, or unset the flag with DELETE"));
    }
    change(control, &id, set.value).await
}

/// Takes the stored value away: the environment, else the default, shows through.
pub async fn feature_flag_unset(control: &Control, id: String) -> Result<FeatureFlagReply, ControlError> {
    change(control, &id, Value::Null).await
}

async fn change(control: &Control, name: &str, value: Value) -> Result<FeatureFlagReply, ControlError> {
    let unknown = || ControlError::NotFound { message: format!("there is no feature flag {name:?}") };
    let flag = named(name).ok_or_else(unknown)?;
    let path = control.with_layered(Layered::fields).into_iter().find_map(|view| path_of(flag, view));
    let path = path.ok_or_else(unknown)?;
    let patch = path.rsplit('.').fold(value, |inner, member| json!({ member: inner }));
    control.update_settings(&patch).await.map_err(|error| in_the_words_of_the_flag(error, &path))?;
    let fields = control.with_layered(Layered::fields);
    let flag = view(flag, &fields).ok_or_else(unknown)?;
    Ok(FeatureFlagReply { flag })
}

fn path_of(flag: &Flag, view: FieldView) -> Option<String> {
    (view.field.env.as_deref() == Some(flag.name)).then_some(view.field.path)
}

/// Whoever sets a flag has not named a setting: what is wrong with it is wrong with the `value`.
fn in_the_words_of_the_flag(error: gateway::Error, path: &str) -> ControlError {
    let mut error = ControlError::from(error);
    if let ControlError::InvalidRequest { details, .. } = &mut error {
        details
            .iter_mut()
            .filter(|detail| detail.field == path)
            .for_each(|detail| "value".clone_into(&mut detail.field));
    }
    error
}

fn view(flag: &Flag, fields: &[FieldView]) -> Option<FeatureFlag> {
    let view = fields.iter().find(|view| view.field.env.as_deref() == Some(flag.name))?;
    let setting = field(view.clone());
    Some(FeatureFlag {
        name: flag.name.to_owned(),
        group: FlagGroup::from(flag.group),
        setting: setting.path,
        kind: setting.kind,
        choices: setting.choices,
        value: setting.value,
        default: setting.default,
        source: setting.source,
        environment: setting.environment,
        restart_needed: flag.needs_restart,
        help: setting.help,
    })
}
