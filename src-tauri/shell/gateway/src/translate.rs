//! Stage 6: the body for the upstream.
//!
//! Where client and upstream speak the same dialect nothing is rebuilt: the model name is spliced in place, an option that
//! this gateway cannot honour is cut out, and every other byte stays as the client wrote it. Otherwise the request is read
//! into the canonical form and written in the upstream's words.

use bytes::Bytes;
use dialects::canonical::IdMap;
use dialects::canonical::{Part, ReasoningMode};
use dialects::thoughts::{Thoughts, has_foreign_thoughts, without_thoughts};
use dialects::translate::{Refusal, write_request};
use dialects::{
    Glance, continuation, ensure_model, limited_output, model_edit, pieces, remove_member, splice, tool_list,
};
use domain::{Dialect, Operation};
use upstream::Payload;

use crate::aside;
use crate::exchange;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::Step;
use crate::send::Wish;

/// Code of the warning that the list of tools was cut, with what is left of it.
const TRUNCATED_TOOLS: &str = "TRUNCATED_TOOLS";
/// Code of the warning that `background: true` was taken out (gateway specification, 2.8).
const BACKGROUND_DEGRADE: &str = "BACKGROUND_DEGRADE";

pub(crate) struct Translated {
    pub(crate) body: Payload,
    /// Short codes of what was changed.
    pub(crate) warnings: Vec<String>,
    /// Names and ids that were changed, for the way back.
    pub(crate) ids: IdMap,
    /// The request as its client meant it: with what it continues by id in front of its input.
    pub(crate) meant: Bytes,
}

/// The body for this step.
///
/// # Errors
/// What the request says that the upstream's dialect has no words for.
pub(crate) async fn translate(
    gateway: &Gateway,
    request: &ClientRequest,
    step: &Step,
    wish: &Wish,
) -> Result<Translated, Refusal> {
    let continued = (request.dialect() == Dialect::Responses).then(|| continued(gateway, request)).flatten();
    if request.passes_to(step.operation) {
        Ok(passed(gateway, request, step, wish, continued))
    } else {
        Box::pin(reworded(gateway, request, step, wish, continued)).await
    }
}

/// In the client's own words, with little changed.
fn passed(
    gateway: &Gateway,
    request: &ClientRequest,
    step: &Step,
    wish: &Wish,
    continued: Option<Bytes>,
) -> Translated {
    let source = request.dialect();
    let most_tools = most_tools(gateway, request, step);
    let mut body = continued.unwrap_or_else(|| request.body.clone());
    if let Some(most) = most_tools {
        body = tool_list::shortened(source, &body, most);
    }
    let foreign = has_foreign_thoughts(&body).then_some(Thoughts::Foreign);
    if let Some(thoughts) = wish.without.or(foreign) {
        body = without_thoughts(source, &body, thoughts);
    }
    if let Some(limit) = wish.max_output {
        body = limited_output(source, &body, limit);
    }
    let mut translated = rewrite(request.operation, &body, &request.body, &request.glance, &step.candidate.model);
    translated.warnings.extend(most_tools.map(truncated));
    translated
}

/// In the upstream's words.
async fn reworded(
    gateway: &Gateway,
    request: &ClientRequest,
    step: &Step,
    wish: &Wish,
    continued: Option<Bytes>,
) -> Result<Translated, Refusal> {
    let (model, target) = (&step.candidate.model, step.operation.dialect());
    let most_tools = most_tools(gateway, request, step);
    let meant = continued.unwrap_or_else(|| request.body.clone());
    let target_facts = exchange::target(step, &gateway.settings().translation);
    let mut asked = if meant.as_ptr() == request.body.as_ptr() {
        request.asked_aside(gateway).await.map_err(Clone::clone)?.clone()
    } else {
        let (client, body, stream, named) = (request.client, meant.clone(), request.stream, model.clone());
        aside::compute(gateway.tracker(), meant.len(), move || client.read_request(&body, &named, stream)).await?
    };
    asked.model.clone_from(model);
    gateway.memo().lock().remind(&mut asked, &target_facts, gateway.now());
    asked.max_output = wish.max_output.or(asked.max_output);
    if let Some(most) = most_tools {
        tool_list::shorten(&mut asked, most);
    }
    if wish.without == Some(Thoughts::All) {
        asked.turns.iter_mut().for_each(|turn| turn.parts.retain(|part| !matches!(part, Part::Reasoning { .. })));
        asked.reasoning.mode = ReasoningMode::Off;
    }
    let writing = move || write_request(target, &asked, &target_facts);
    let written = aside::compute(gateway.tracker(), meant.len(), writing).await?;
    let background = request.glance.background.is_some().then(|| BACKGROUND_DEGRADE.to_owned());
    let warnings =
        written.warnings.iter().map(exchange::word).chain(background).chain(most_tools.map(truncated)).collect();
    Ok(Translated { body: written.body.into(), warnings, ids: written.ids, meant })
}

/// The warning about a list of tools that was cut.
fn truncated(most: u32) -> String {
    format!("{TRUNCATED_TOOLS}:{most}")
}

/// Whether lists of tools are cut to what a provider takes, instead of going elsewhere.
pub(crate) fn truncates_tools(gateway: &Gateway) -> bool {
    gateway.settings().translation.tool_limit_truncate
}

/// To how many tools the list is cut; none, it goes out as it is.
fn most_tools(gateway: &Gateway, request: &ClientRequest, step: &Step) -> Option<u32> {
    let tools = request.glance.tool_count;
    if tools == 0 || !truncates_tools(gateway) {
        return None;
    }
    gateway.engine().tool_limit(&step.provider).filter(|limit| tools > *limit)
}

/// The request with what it names by id alone: the conversation before an answer that is kept here, items of such answers.
/// What another store keeps is left to it: the id then stays in the request.
fn continued(gateway: &Gateway, request: &ClientRequest) -> Option<Bytes> {
    let key = request.key.as_ref().map(|key| key.id.to_string());
    let (key, now) = (key.as_deref(), gateway.now());
    let longer = continuation::previous(&request.body).and_then(|id| {
        let earlier = gateway.memo().lock().conversation(&id, key, now)?;
        continuation::continued(&request.body, &earlier)
    });
    let body = longer.as_ref().unwrap_or(&request.body);
    continuation::with_items(body, |id| gateway.memo().lock().item(id, key, now)).or(longer)
}

/// `glance` is of `original`: where the body is another one by now, it is looked at anew.
fn rewrite(operation: Operation, body: &Bytes, original: &Bytes, glance: &Glance, model: &str) -> Translated {
    if body.as_ptr() != original.as_ptr() {
        return match dialects::glance(operation, body) {
            Ok(glance) => rewrite(operation, body, body, &glance, model),
            Err(_) => rewrite(operation, original, original, glance, model),
        };
    }
    let cut = glance.background.is_some().then(|| remove_member(body, "background")).flatten();
    let Some(cut) = cut else {
        return Translated {
            body: named(operation, body, glance, model),
            warnings: Vec::new(),
            ids: IdMap::default(),
            meant: body.clone(),
        };
    };
    // What is left is read anew: behind the cut every place is another one.
    let rest = splice(body, &mut [cut]);
    let (meant, warnings) = (rest.clone(), vec![BACKGROUND_DEGRADE.to_owned()]);
    let body = match dialects::glance(operation, &rest) {
        Ok(glance) => named(operation, &rest, &glance, model),
        Err(_) => rest.into(),
    };
    Translated { body, warnings, ids: IdMap::default(), meant }
}

/// The body with the model's name in it.
fn named(operation: Operation, body: &Bytes, glance: &Glance, model: &str) -> Payload {
    let edit = match operation.dialect() {
        // The path names it.
        Dialect::Gemini => model_edit(glance, model),
        Dialect::Chat | Dialect::Responses | Dialect::Messages => ensure_model(glance, model),
    };
    pieces(body, edit.into_iter().collect::<Vec<_>>().as_mut_slice()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_named_and_background_is_cut_wherever_they_stand() {
        for (body, expected, degraded) in [
            (r#"{"model":"a","input":1}"#, r#"{"model":"m","input":1}"#, false),
            (r#"{"input":1}"#, r#"{"input":1,"model":"m"}"#, false),
            (r#"{"background":true}"#, r#"{"model":"m"}"#, true),
            (r#"{"background":true,"input":1}"#, r#"{"input":1,"model":"m"}"#, true),
            (r#"{"input":1,"background":true}"#, r#"{"input":1,"model":"m"}"#, true),
            (r#"{"model":"a","background":true}"#, r#"{"model":"m"}"#, true),
        ] {
            let bytes = Bytes::from_static(body.as_bytes());
            let glance = dialects::glance(Operation::Responses, &bytes).expect("a good body");
            let translated = rewrite(Operation::Responses, &bytes, &bytes, &glance, "m");
            assert_eq!(translated.body.into_bytes(), expected, "{body}");
            assert_eq!(!translated.warnings.is_empty(), degraded, "{body}");
        }
    }
}
