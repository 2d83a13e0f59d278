//! Combos: one name, many models behind it (gateway specification, 3.1 and 6.1).
//!
//! What a combo is and what cannot work is the core's to say (`routing::combo`); what only this installation knows,
//! its providers and accounts, is [`check`]'s. Changes come one at a time, because whether a combo is fine depends on all
//! others: two that are fine alone may close a ring together. What a combo would do is [`preview`]'s, what its targets
//! answer [`trial`]'s, what they did [`metrics`]'.

mod check;
mod metrics;
mod preview;
mod shown;
mod trial;
mod written;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Timestamp;
use domain::section::FieldError;
use routing::combo::document::{Taken, export, import};
use routing::combo::{Combo, Step, StepKind};
use serde_json::{Map, Value};
use store::Renamed;
use uuid::Uuid;

use crate::connections::later;
use crate::view::{
    ComboChange, ComboCopy, ComboDocument, ComboDraft, ComboFilter, ComboImport, ComboNameTaken, ComboOrder,
    ComboReply, ComboSelection, Combos, CombosImported, Done,
};
use crate::{Control, ControlError, FieldProblem};

pub use metrics::combos_metrics;
pub use preview::combo_preview;
pub use trial::combo_test;

use check::Unknown;

/// Combos in their order, hidden ones only when asked for.
pub async fn combos_list(control: &Control, filter: ComboFilter) -> Result<Combos, ControlError> {
    let hidden = filter.include_hidden.unwrap_or(false);
    let combos = control.combos();
    let listed = combos.iter().filter(|combo| hidden || !combo.is_hidden);
    Ok(Combos { combos: listed.map(|combo| shown::combo(combo)).collect() })
}

/// One combo, and what is worth knowing about it.
pub async fn combo_get(control: &Control, id: String) -> Result<ComboReply, ControlError> {
    Ok(reply(control, &*find(control, &id)?))
}

/// Makes a combo.
pub async fn combo_create(control: &Control, draft: ComboDraft) -> Result<ComboReply, ControlError> {
    let _alone = control.one_combo_change().await;
    let others = all(control);
    let mut combo = written::new(draft.0, &others, control.now()).map_err(refused)?;
    combo.order = next_place(&others);
    accept(control, &mut combo, None, &others)?;
    save(control, std::slice::from_ref(&combo), None).await?;
    Ok(reply(control, &combo))
}

/// Changes a combo. A new name is carried to the combos and aliases that lead to the old one.
pub async fn combo_update(control: &Control, id: String, change: ComboChange) -> Result<ComboReply, ControlError> {
    let _alone = control.one_combo_change().await;
    let before = find(control, &id)?;
    let mut members = change.0;
    written::check_current(&before, members.shift_remove(written::UPDATED_AT))?;
    let mut others: Vec<Combo> = all(control).into_iter().filter(|combo| combo.id != id).collect();
    let mut combo = written::changed(&before, members, &others, control.now()).map_err(refused)?;
    let name = combo.name.clone();
    let renamed = (name != before.name).then_some(Renamed { from: &before.name, to: &name });
    let mut touched = renamed.map(|renamed| follow(&mut others, renamed, control.now())).unwrap_or_default();
    accept(control, &mut combo, Some(&before), &others)?;
    touched.push(combo.clone());
    save(control, &touched, renamed).await?;
    Ok(reply(control, &combo))
}

/// Removes a combo that nothing leads to any more.
pub async fn combo_delete(control: &Control, id: String) -> Result<Done, ControlError> {
    let _alone = control.one_combo_change().await;
    let combo = find(control, &id)?;
    let users = users_of(control, &combo);
    if !users.is_empty() {
        let message = format!("{} is still used by {}: remove it there first", combo.name, users.join(", "));
        return Err(ControlError::conflict(message));
    }
    control.store().delete_combo(&id).await?;
    control.reload_combos().await?;
    Ok(Done::OK)
}

/// Puts the combos into another order.
pub async fn combos_reorder(control: &Control, order: ComboOrder) -> Result<Combos, ControlError> {
    let _alone = control.one_combo_change().await;
    control.store().reorder_combos(&order.ids, control.now()).await?;
    control.reload_combos().await?;
    combos_list(control, ComboFilter { include_hidden: Some(true) }).await
}

/// Makes a copy under another name. Its steps are new ones, so that neither counts for the other.
pub async fn combo_duplicate(control: &Control, id: String, copy: ComboCopy) -> Result<ComboReply, ControlError> {
    let _alone = control.one_combo_change().await;
    let mut combo = Combo::clone(&*find(control, &id)?);
    let others = all(control);
    let mut ids = BTreeMap::new();
    for step in &mut combo.models {
        let old = std::mem::replace(&mut step.id, new_id());
        ids.insert(old, step.id.clone());
    }
    for tier in combo.composite_tiers.iter_mut().flat_map(|tiers| tiers.tiers.values_mut()) {
        if let Some(id) = ids.get(&tier.step_id) {
            tier.step_id.clone_from(id);
        }
    }
    let now = control.now();
    let name = copy.name.unwrap_or_else(|| free_name(&combo.name, &others));
    combo = Combo { id: new_id(), name, order: next_place(&others), created_at: now, updated_at: now, ..combo };
    accept_beside(&combo, &others)?;
    save(control, std::slice::from_ref(&combo), None).await?;
    Ok(reply(control, &combo))
}

/// Combos as a document for another installation; of one combo, with those it leads to.
pub async fn combos_export(control: &Control, selection: ComboSelection) -> Result<ComboDocument, ControlError> {
    let combos = all(control);
    let chosen = match &selection.id {
        Some(id) => {
            let start = find(control, id)?;
            let below = below(&start.name, &combos);
            combos.into_iter().filter(|combo| below.contains(&combo.name)).collect()
        }
        None => combos,
    };
    serde_json::from_value(export(&chosen)).map_err(|error| ControlError::internal(&error))
}

/// Takes combos over from a document: all of them, or none.
pub async fn combos_import(control: &Control, wanted: ComboImport) -> Result<CombosImported, ControlError> {
    let _alone = control.one_combo_change().await;
    let existing = all(control);
    let taken = match wanted.taken {
        ComboNameTaken::Refuse => Taken::Refuse,
        ComboNameTaken::Replace => Taken::Replace,
    };
    let mut combos = import(&wanted.document, &existing, taken, new_id, control.now()).map_err(refused)?;
    let mut errors = Vec::new();
    let mut place = next_place(&existing);
    for (index, combo) in combos.iter_mut().enumerate() {
        match existing.iter().find(|known| known.id == combo.id) {
            Some(replaced) => {
                combo.order = replaced.order;
                combo.updated_at = later(combo.updated_at, replaced.updated_at);
            }
            None => {
                combo.order = place;
                place += 1;
            }
        }
        let wrong = check::steps(control, combo, None, Unknown::Passed);
        errors.extend(wrong.into_iter().map(|error| {
            let field = format!("combos[{index}].{}", error.field);
            error.at(field)
        }));
    }
    if !errors.is_empty() {
        return Err(refused(errors));
    }
    save(control, &combos, None).await?;
    let warnings = combos.iter().flat_map(|combo| check::warnings(control, combo)).collect();
    Ok(CombosImported { combos: combos.iter().map(shown::combo).collect(), warnings })
}

/// A combo with other steps, strategy or numbers, checked like a change of it; it is not stored.
pub(crate) fn altered(control: &Control, before: &Combo, members: Map<String, Value>) -> Result<Combo, ControlError> {
    const MEMBERS: [&str; 3] = ["strategy", "config", "models"];
    if let Some(unknown) = members.keys().find(|member| !MEMBERS.contains(&member.as_str())) {
        return Err(ControlError::invalid(unknown, "only strategy, config and models can be different"));
    }
    let others: Vec<Combo> = all(control).into_iter().filter(|combo| combo.id != before.id).collect();
    let mut combo = written::changed(before, members, &others, control.now()).map_err(refused)?;
    accept(control, &mut combo, Some(before), &others)?;
    Ok(combo)
}

fn find(control: &Control, id: &str) -> Result<Arc<Combo>, ControlError> {
    control.combos().get(id).cloned().ok_or_else(|| ControlError::not_found("combo", id))
}

fn all(control: &Control) -> Vec<Combo> {
    control.combos().iter().map(|combo| Combo::clone(combo)).collect()
}

fn new_id() -> String {
    Uuid::now_v7().to_string()
}

/// `name copy`, or the first of `name copy 2`, `name copy 3`, … that nobody has. A long name is cut to leave room.
fn free_name(name: &str, others: &[Combo]) -> String {
    let stem: String = name.chars().take(80).collect();
    let mut names = (1_u32..).map(|n| if n == 1 { format!("{stem} copy") } else { format!("{stem} copy {n}") });
    let is_free = |name: &String| !others.iter().any(|other| other.name == *name);
    names.find(is_free).unwrap_or(stem)
}

fn next_place(combos: &[Combo]) -> u32 {
    combos.iter().map(|combo| combo.order.saturating_add(1)).max().unwrap_or(0)
}

fn reply(control: &Control, combo: &Combo) -> ComboReply {
    ComboReply { combo: shown::combo(combo), warnings: check::warnings(control, combo) }
}

/// Writes and takes up: the change is live when this returns.
async fn save(control: &Control, combos: &[Combo], renamed: Option<Renamed<'_>>) -> Result<(), ControlError> {
    // Keys follow the new name.
    let _keys = if renamed.is_some() { Some(control.one_key_change().await) } else { None };
    control.store().save_combos(combos, renamed).await?;
    if renamed.is_some() {
        control.reload_aliases().await?;
        control.reload_keys().await?;
    }
    control.reload_combos().await?;
    Ok(())
}

/// Refuses what cannot work here or beside the others; a name that is taken is a conflict.
fn accept(control: &Control, combo: &mut Combo, before: Option<&Combo>, others: &[Combo]) -> Result<(), ControlError> {
    let here = check::steps(control, combo, before, Unknown::Refused);
    match accept_beside(combo, others) {
        Ok(()) if here.is_empty() => Ok(()),
        Err(ControlError::InvalidRequest { mut details, .. }) => {
            details.extend(here.into_iter().map(FieldProblem::from));
            Err(ControlError::invalid_fields(details))
        }
        Err(error) if here.is_empty() => Err(error),
        Ok(()) | Err(_) => Err(refused(here)),
    }
}

fn accept_beside(combo: &Combo, others: &[Combo]) -> Result<(), ControlError> {
    let Err(errors) = combo.validate(others) else { return Ok(()) };
    let taken = others.iter().any(|other| other.id != combo.id && other.name == combo.name);
    match errors.as_slice() {
        [only] if taken => Err(ControlError::conflict(format!("{}: {}", only.field, only.message))),
        _ => Err(refused(errors)),
    }
}

/// Leads the steps that name the old name to the new one, and returns the combos this changed.
fn follow(others: &mut [Combo], renamed: Renamed<'_>, now: Timestamp) -> Vec<Combo> {
    let mut touched = Vec::new();
    for other in others {
        let mut leads = false;
        for step in &mut other.models {
            if let Step { kind: StepKind::ComboRef { combo_name }, .. } = step
                && combo_name == renamed.from
            {
                renamed.to.clone_into(combo_name);
                leads = true;
            }
        }
        if leads {
            other.updated_at = later(now, other.updated_at);
            touched.push(other.clone());
        }
    }
    touched
}

/// Who leads to a combo, switched off or not.
fn users_of(control: &Control, combo: &Combo) -> Vec<String> {
    let combos = control.combos();
    let leads = |step: &Step| matches!(&step.kind, StepKind::ComboRef { combo_name } if *combo_name == combo.name);
    let parents = combos.iter().filter(|other| other.id != combo.id && other.models.iter().any(leads));
    let mappings = combos.mappings().iter().filter(|mapping| mapping.combo_id == combo.id);
    let aliases = control.aliases();
    let aliases = aliases.iter().filter(|alias| alias.target == combo.name);
    parents
        .map(|other| format!("the combo {}", other.name))
        .chain(mappings.map(|mapping| format!("the mapping {}", mapping.pattern)))
        .chain(aliases.map(|alias| format!("the alias {}", alias.alias)))
        .collect()
}

/// The names of a combo and of all it leads to.
fn below(start: &str, combos: &[Combo]) -> Vec<String> {
    let mut names = vec![start.to_owned()];
    let mut next = 0;
    while let Some(name) = names.get(next).cloned() {
        let steps = combos.iter().filter(|combo| combo.name == name).flat_map(|combo| &combo.models);
        for step in steps {
            if let StepKind::ComboRef { combo_name } = &step.kind
                && !names.contains(combo_name)
            {
                names.push(combo_name.clone());
            }
        }
        next += 1;
    }
    names
}

fn refused(errors: Vec<FieldError>) -> ControlError {
    ControlError::invalid_fields(errors.into_iter().map(FieldProblem::from).collect())
}
