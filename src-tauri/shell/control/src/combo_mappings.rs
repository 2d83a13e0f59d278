//! Patterns of model names that lead to a combo (gateway specification, 1.4 rule 3).

use std::sync::Arc;

use domain::wire::fault;
use routing::combo::Mapping;
use uuid::Uuid;

use crate::connections::later;
use crate::view::{
    ComboMapping, ComboMappingChange, ComboMappingDraft, ComboMappingReply, ComboMappings, Done, Instant,
};
use crate::{Control, ControlError, check};

const HIGHEST_PRIORITY: u32 = 1_000_000;

/// Mappings in the order in which they are asked.
pub async fn combo_mappings_list(control: &Control) -> Result<ComboMappings, ControlError> {
    Ok(ComboMappings { mappings: control.combos().mappings().iter().map(view_of).collect() })
}

/// Leads names of models to a combo.
pub async fn combo_mapping_create(
    control: &Control,
    draft: ComboMappingDraft,
) -> Result<ComboMappingReply, ControlError> {
    let _alone = control.one_combo_change().await;
    let mapping = Mapping {
        id: Uuid::now_v7().to_string(),
        pattern: check_pattern(&draft.pattern)?,
        combo_id: check_combo(control, draft.combo_id)?,
        priority: check_priority(draft.priority.unwrap_or(0))?,
        enabled: draft.enabled.unwrap_or(true),
        created_at: control.now(),
        updated_at: control.now(),
    };
    save(control, &mapping).await
}

/// Changes where names lead, or which.
pub async fn combo_mapping_update(
    control: &Control,
    id: String,
    change: ComboMappingChange,
) -> Result<ComboMappingReply, ControlError> {
    let _alone = control.one_combo_change().await;
    let combos = Arc::clone(&control.combos());
    let found = combos.mappings().iter().find(|mapping| mapping.id == id).cloned();
    let mut mapping = found.ok_or_else(|| ControlError::not_found("mapping", &id))?;
    if change.updated_at.is_some_and(|seen| seen != Instant::from(mapping.updated_at)) {
        return Err(ControlError::conflict(format!("mapping {id} was changed meanwhile")));
    }
    if let Some(pattern) = change.pattern {
        mapping.pattern = check_pattern(&pattern)?;
    }
    if let Some(combo) = change.combo_id {
        mapping.combo_id = check_combo(control, combo)?;
    }
    if let Some(priority) = change.priority {
        mapping.priority = check_priority(priority)?;
    }
    mapping.enabled = change.enabled.unwrap_or(mapping.enabled);
    mapping.updated_at = later(control.now(), mapping.updated_at);
    save(control, &mapping).await
}

/// Removes a mapping.
pub async fn combo_mapping_delete(control: &Control, id: String) -> Result<Done, ControlError> {
    let _alone = control.one_combo_change().await;
    control.store().delete_mapping(&id).await?;
    control.reload_combos().await?;
    Ok(Done::OK)
}

async fn save(control: &Control, mapping: &Mapping) -> Result<ComboMappingReply, ControlError> {
    control.store().save_mapping(mapping).await?;
    control.reload_combos().await?;
    Ok(ComboMappingReply { mapping: view_of(mapping) })
}

fn check_pattern(pattern: &str) -> Result<String, ControlError> {
    let pattern = check::text("pattern", pattern)?;
    if pattern.contains(char::is_whitespace) {
        return Err(ControlError::fault::<String>(fault::SPACES, &[], "pattern", "must not contain spaces"));
    }
    Ok(pattern)
}

fn check_priority(priority: u32) -> Result<u32, ControlError> {
    check::within("priority", priority, 0, HIGHEST_PRIORITY)
}

fn check_combo(control: &Control, id: String) -> Result<String, ControlError> {
    match control.combos().get(&id) {
        Some(_) => Ok(id),
        None => Err(ControlError::invalid("comboId", "there is no combo with this id: GET /api/combos lists them")),
    }
}

fn view_of(mapping: &Mapping) -> ComboMapping {
    ComboMapping {
        id: mapping.id.clone(),
        pattern: mapping.pattern.clone(),
        combo_id: mapping.combo_id.clone(),
        priority: mapping.priority,
        enabled: mapping.enabled,
        created_at: mapping.created_at.into(),
        updated_at: mapping.updated_at.into(),
    }
}
