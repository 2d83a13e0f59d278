//! The user's own names for models (gateway specification, 1.4 rule 6).

use domain::AliasId;
use domain::model_alias::ModelAlias;
use domain::wire::fault;
use uuid::Uuid;

use crate::view::{self, AliasChange, AliasDraft, AliasReply, Aliases, Done};
use crate::{Control, ControlError, check};

/// Names, alphabetically.
pub async fn aliases_list(control: &Control) -> Result<Aliases, ControlError> {
    let aliases = control.store().list_aliases().await?;
    Ok(Aliases { aliases: aliases.into_iter().map(view_of).collect() })
}

/// Names a model.
pub async fn alias_create(control: &Control, draft: AliasDraft) -> Result<AliasReply, ControlError> {
    let alias = ModelAlias {
        id: AliasId::from(Uuid::now_v7().to_string()),
        alias: check_alias(&draft.alias)?,
        target: check_target(control, &draft.target)?,
        created_at: control.now(),
    };
    control.store().insert_alias(&alias).await?;
    control.reload_aliases().await?;
    announce(control);
    Ok(AliasReply { alias: view_of(alias) })
}

/// Changes a name or what it stands for.
pub async fn alias_update(control: &Control, id: String, change: AliasChange) -> Result<AliasReply, ControlError> {
    let found = control.store().get_alias(&AliasId::from(id.as_str())).await?;
    let mut alias = found.ok_or_else(|| ControlError::not_found("alias", &id))?;
    if let Some(name) = change.alias {
        alias.alias = check_alias(&name)?;
    }
    if let Some(target) = change.target {
        alias.target = check_target(control, &target)?;
    }
    control.store().update_alias(&alias).await?;
    control.reload_aliases().await?;
    announce(control);
    Ok(AliasReply { alias: view_of(alias) })
}

/// Removes a name.
pub async fn alias_delete(control: &Control, id: String) -> Result<Done, ControlError> {
    control.store().delete_alias(&AliasId::from(id)).await?;
    control.reload_aliases().await?;
    announce(control);
    Ok(Done::OK)
}

fn announce(control: &Control) {
    control.announce(&[gateway::Topic::Combos]);
}

fn check_alias(alias: &str) -> Result<String, ControlError> {
    let alias = check::name("alias", alias)?;
    if alias.contains(char::is_whitespace) {
        return Err(ControlError::fault::<String>(fault::SPACES, &[], "alias", "must not contain spaces"));
    }
    Ok(alias)
}

/// The name of a combo, or `provider/model` of a provider that exists; the model need not be known (specification's
/// decision 38).
fn check_target(control: &Control, target: &str) -> Result<String, ControlError> {
    let target = check::text("target", target)?;
    if control.combos().named(&target).is_some() {
        return Ok(target);
    }
    let provider = target.split_once('/').filter(|(_, model)| !model.is_empty()).map(|(provider, _)| provider);
    let Some(provider) = provider else {
        let message = "must be provider/model, for example openai/gpt-4.1, or the name of a combo";
        return Err(ControlError::fault::<String>(fault::MODEL_FORM, &[], "target", message));
    };
    if control.catalog().by_name(provider).is_none() {
        let message = format!("there is no provider {provider}");
        return Err(ControlError::fault(fault::NOT_FOUND, &[provider], "target", message));
    }
    Ok(target)
}

fn view_of(alias: ModelAlias) -> view::Alias {
    view::Alias {
        id: alias.id.to_string(),
        alias: alias.alias,
        target: alias.target,
        created_at: alias.created_at.into(),
    }
}
