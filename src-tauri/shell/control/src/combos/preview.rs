//! What a combo would do, before it is saved.

use gateway::explain::{Explanation, TargetOutlook, spokesman};
use routing::combo::Combo;
use routing::plan::Placed;
use serde_json::Value;

use super::{accept, all, find, new_id, refused, written};
use crate::explain::{answer, asked_key, exclusion, question};
use crate::view::{
    ComboPreview, ComboPreviewed, ComboSubject, PlacedBy, PreviewedFactor, PreviewedRequest, PreviewedTarget,
    SkippedStep,
};
use crate::{Control, ControlError};

/// What a combo as it was read carries beside what a person may state.
const OWN_MEMBERS: [&str; 3] = ["order", "createdAt", "updatedAt"];

/// Who would be asked, in which order and why, by a combo that need not be stored. Nothing is sent, nothing changes.
pub async fn combo_preview(control: &Control, preview: ComboPreview) -> Result<ComboPreviewed, ControlError> {
    let PreviewedRequest { key_id, session_key, tools, vision, input_tokens, output_tokens } = preview.request;
    let key = asked_key(control, "request.keyId", key_id)?;
    let question = question("request.sessionKey", session_key, tools, vision, input_tokens, output_tokens)?;
    let combo = subject(control, preview.combo)?;
    let strategy = combo.strategy.into();
    let Explanation { targets, skipped, answer: told, .. } = control.explain_combo(combo, key.as_deref(), &question);
    let positions = 1..;
    Ok(ComboPreviewed {
        strategy,
        targets: positions.zip(targets).map(|(position, told)| target(control, position, told)).collect(),
        skipped: skipped
            .into_iter()
            .map(|skipped| SkippedStep { step: skipped.step, what: skipped.what, reason: skipped.reason.to_owned() })
            .collect(),
        answer: told.map(answer),
    })
}

/// The combo that is meant: a stored one, as it is or changed, or a draft. What is wrong with it is named as when it is saved.
/// A draft may lack its name, and may carry the
/// name of the very combo it is to replace.
fn subject(control: &Control, subject: ComboSubject) -> Result<Combo, ControlError> {
    let mut members = match subject.0 {
        Value::String(id) => return find(control, &id).map(|combo| Combo::clone(&combo)),
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            return Err(ControlError::invalid("combo", "expected a combo, or the id of one"));
        }
    };
    members.retain(|member, _| !OWN_MEMBERS.contains(&member.as_str()));
    let id = members.shift_remove("id").filter(|id| !id.is_null());
    let before = match &id {
        Some(Value::String(id)) => Some(find(control, id)?),
        Some(_) => return Err(ControlError::invalid("id", "expected text")),
        None => None,
    };
    let name = match members.get("name") {
        Some(Value::String(name)) => name.clone(),
        Some(_) | None => before.as_ref().map_or_else(new_id, |before| before.name.clone()),
    };
    if before.is_none() && members.get("name").is_none_or(Value::is_null) {
        members.insert("name".to_owned(), name.clone().into());
    }
    let is_other = |other: &Combo| before.as_ref().is_none_or(|before| before.id != other.id) && other.name != name;
    let others: Vec<Combo> = all(control).into_iter().filter(is_other).collect();
    let mut combo = match &before {
        Some(before) if members.is_empty() => return Ok(Combo::clone(before)),
        Some(before) => written::changed(before, members, &others, control.now()),
        None => written::new(members, &others, control.now()),
    }
    .map_err(refused)?;
    accept(control, &mut combo, before.as_deref(), &others)?;
    Ok(combo)
}

fn target(control: &Control, position: u32, told: TargetOutlook) -> PreviewedTarget {
    let pinned = told.connection.as_ref().and_then(|id| told.accounts.iter().find(|account| account.connection == *id));
    let account = pinned.or_else(|| spokesman(&told.accounts));
    PreviewedTarget {
        position,
        execution_key: told.execution_key,
        provider: told.provider.to_string(),
        model: told.model,
        connection_id: account.map(|account| account.connection.to_string()),
        connection_name: account.map(|account| account.name.clone()),
        placed: told.placed.map_or(PlacedBy::Strategy, placed),
        available: told.exclusion.is_none(),
        exclusion: told.exclusion.map(|why| exclusion(why, control.now())),
        score: told.figures.figures.first().map(|figure| figure.value),
        factors: factors(&told.figures),
    }
}

const fn placed(placed: Placed) -> PlacedBy {
    match placed {
        Placed::Strategy => PlacedBy::Strategy,
        Placed::Session => PlacedBy::Session,
        Placed::PromptCache => PlacedBy::PromptCache,
    }
}

fn factors(figures: &routing::explanation::Explanation) -> Vec<PreviewedFactor> {
    if figures.factors.is_empty() {
        let plain = figures.figures.iter();
        return plain
            .map(|figure| PreviewedFactor {
                factor: figure.name.to_owned(),
                value: figure.value,
                weight: None,
                share: None,
                known: true,
            })
            .collect();
    }
    let parts = figures.factors.iter();
    parts
        .map(|part| PreviewedFactor {
            factor: part.factor.as_str().to_owned(),
            value: part.value,
            weight: Some(part.weight),
            share: Some(part.share),
            known: part.known,
        })
        .collect()
}
