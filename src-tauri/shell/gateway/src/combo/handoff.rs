//! `context-relay`: a conversation is summed up while its account can still serve, and the next account is told (gateway
//! specification, 3.4).
//!
//! `routing` decides when and keeps the summaries; here the call is made, beside the client's own request and never in its
//! way. Whatever goes wrong with it, the client does not notice: without a summary the next account sees the request as it
//! came. The call has a row and a cost of its own in the request log, under the path `internal/context-relay`.

use axum::response::Response;
use dialects::canonical::{Part, Request, Role, Turn};
use domain::{ConnectionId, Timestamp};
use routing::Resolved;
use routing::combo::Strategy;
use routing::strategies::context_relay::{self, Conversation, Note, Summary};

use super::sub_request;
use super::walk::Scene;
use crate::attempt_loop;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::Step;
use crate::record::Recorder;
use crate::send::Served;
use crate::usage_estimate;

/// Code of the warning that a summary was put before the request.
const CONTEXT_HANDOFF: &str = "CONTEXT_HANDOFF";
/// Characters of one call of a tool, or of its result, in what is summed up.
const LONGEST_EXCERPT: usize = 600;

/// The request with the summary before it, where `to` is another account than the one that was summed up.
pub(super) fn relayed(scene: &Scene<'_>, request: &ClientRequest, to: &ConnectionId) -> Option<ClientRequest> {
    let of = conversation(scene, request)?;
    let handoffs = scene.gateway.routing().handoffs().lock();
    let text = handoffs.text_for(&of, to, scene.gateway.now())?.to_owned();
    drop(handoffs);
    sub_request::told(request, &text).ok()
}

/// Such a request was answered.
pub(super) fn handed_over(scene: &Scene<'_>, request: &ClientRequest, recorder: &mut Recorder) {
    if let Some(of) = conversation(scene, request) {
        scene.gateway.routing().handoffs().lock().handed_over(&of);
        recorder.warn(vec![CONTEXT_HANDOFF.to_owned()]);
    }
}

/// An account answered: has the conversation summed up where that account is nearly used up.
pub(super) fn consider(scene: &Scene<'_>, request: &ClientRequest, step: &Step) {
    let Some(of) = conversation(scene, request) else { return };
    let (gateway, config) = (scene.gateway, &scene.asked.config);
    let (candidate, now) = (&step.candidate, gateway.now());
    let quota = gateway.engine().quota(&candidate.connection);
    let wanted = context_relay::should_write(&candidate.provider, &candidate.model, quota.as_ref(), config, now);
    if !wanted || !gateway.routing().handoffs().lock().begin(&of, &candidate.connection, now) {
        return;
    }
    let resolved = writer(scene, request, step);
    let Some(question) = question(request, &resolved, config.max_messages_for_summary, now) else {
        gateway.routing().handoffs().lock().end(&of, None);
        return;
    };
    let writing = Writing {
        gateway: gateway.clone(),
        combo: of.combo.to_owned(),
        session: of.session.to_owned(),
        question,
        resolved,
        from: candidate.connection.clone(),
        expires_at: context_relay::expires_at(&candidate.model, quota.as_ref(), now),
    };
    gateway.tracker().spawn(writing.run());
}

/// Whose conversation this is; none, nothing is handed over here.
fn conversation<'a>(scene: &Scene<'a>, request: &'a ClientRequest) -> Option<Conversation<'a>> {
    let combo = &scene.asked.combo;
    let session = scene.facts.session.as_deref()?;
    let key = request.key.as_ref().map(|key| key.id.as_str());
    (combo.strategy == Strategy::ContextRelay).then_some(Conversation { combo: &combo.name, session, key })
}

/// Which model writes: the combo's own choice where the key may use it, else the one that served.
fn writer(scene: &Scene<'_>, request: &ClientRequest, step: &Step) -> Resolved {
    let chosen = scene.asked.config.handoff_model.as_deref().filter(|name| !name.is_empty());
    let resolved = chosen.and_then(|name| routing::resolve(name, &scene.gateway.names()).ok());
    let allowed = |resolved: &Resolved| request.key.as_ref().is_none_or(|key| key.allows_model(&[&name_of(resolved)]));
    resolved.filter(allowed).unwrap_or_else(|| Resolved {
        provider: step.candidate.provider.clone(),
        model: step.candidate.model.clone(),
        rule: 1,
        long_context: false,
    })
}

fn name_of(resolved: &Resolved) -> String {
    format!("{}/{}", resolved.provider, resolved.model)
}

/// What the writer is asked: the latest messages as text, with what to make of them.
fn question(request: &ClientRequest, writer: &Resolved, messages: u32, now: Timestamp) -> Option<ClientRequest> {
    let conversation = request.asked().ok()?;
    let name = name_of(writer);
    let mut asked = Request::new(&name, request.dialect());
    sub_request::system(&mut asked, context_relay::INSTRUCTIONS);
    asked.turns.push(sub_request::user(transcript(&conversation.turns, messages)));
    asked.sampling.temperature = Some(context_relay::TEMPERATURE);
    asked.max_output = Some(context_relay::MOST_OUTPUT);
    Some(sub_request::another(request, asked).ok()?.internal("context-relay", name, now))
}

/// The latest turns, as many as fit, the oldest of them first.
fn transcript(turns: &[Turn], most: u32) -> String {
    let mut room = context_relay::MOST_INPUT;
    let mut told: Vec<String> = Vec::new();
    for turn in turns.iter().rev().take(usize::try_from(most).unwrap_or(usize::MAX)) {
        let text = told_turn(turn);
        let tokens = usage_estimate::of_text_bytes(text.as_bytes());
        if tokens > room {
            // Of the turn that is too long, its beginning: a token has four bytes at least.
            let bytes = usize::try_from(room.saturating_mul(4)).unwrap_or(usize::MAX);
            told.push(text[..text.floor_char_boundary(bytes)].to_owned());
            break;
        }
        room -= tokens;
        told.push(text);
    }
    told.reverse();
    told.join("\n\n")
}

fn told_turn(turn: &Turn) -> String {
    let mut text = match turn.role {
        Role::System => "[system]",
        Role::User => "[user]",
        Role::Assistant => "[assistant]",
    }
    .to_owned();
    for part in &turn.parts {
        match part {
            Part::Text { text: said, .. } | Part::Refusal { text: said } => push(&mut text, said),
            Part::ToolCall { name, arguments, .. } => {
                push(&mut text, &format!("(calls {name}: {})", excerpt(arguments)));
            }
            Part::ToolResult { content, .. } => {
                let said: Vec<&str> = content
                    .iter()
                    .filter_map(|part| match part {
                        Part::Text { text, .. } => Some(text.as_str()),
                        _ => None,
                    })
                    .collect();
                push(&mut text, &format!("(result: {})", excerpt(&said.join(" "))));
            }
            Part::Opaque { summary, .. } => push(&mut text, &excerpt(summary)),
            Part::Image { .. } | Part::Document { .. } | Part::Audio { .. } => push(&mut text, "(an attachment)"),
            Part::Reasoning { .. } => {}
        }
    }
    text
}

fn push(text: &mut String, said: &str) {
    text.push('\n');
    text.push_str(said);
}

fn excerpt(text: &str) -> String {
    text.chars().take(LONGEST_EXCERPT).collect()
}

/// A summary in the making.
struct Writing {
    gateway: Gateway,
    combo: String,
    session: String,
    question: ClientRequest,
    resolved: Resolved,
    from: ConnectionId,
    expires_at: Timestamp,
}

impl Writing {
    /// Asks, and puts down what came of it.
    async fn run(self) {
        let gateway = &self.gateway;
        let late = gateway.now() + context_relay::WRITING_TIMEOUT;
        let answer = tokio::select! {
            biased;
            () = gateway.cancel().cancelled() => None,
            answer = self.ask() => answer,
            () = gateway.clock().sleep_until(late) => None,
        };
        let summary = answer.as_deref().and_then(Summary::parse);
        if summary.is_none() {
            tracing::info!(combo = %self.combo, "a conversation could not be summed up for the next account");
        }
        let note = summary.map(|summary| Note { from: self.from, expires_at: self.expires_at, text: summary.told() });
        let key = self.question.key.as_ref().map(|key| key.id.as_str());
        let of = Conversation { combo: &self.combo, session: &self.session, key };
        gateway.routing().handoffs().lock().end(&of, note);
    }

    async fn ask(&self) -> Option<String> {
        let mut recorder = Recorder::new(&self.gateway, &self.question);
        recorder.of_combo(&self.combo, Strategy::ContextRelay.as_str());
        let response: Response = attempt_loop::run(&self.gateway, &self.question, &self.resolved, recorder).await;
        if !response.status().is_success() {
            return None;
        }
        sub_request::text_of(&self.question, Served::Whole(response)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_turns_are_told_and_of_one_that_is_too_long_as_much_as_fits() {
        let said = |text: &str| sub_request::user(text.to_owned());
        let told = transcript(&["first", "second", "third"].map(said), 2);
        assert_eq!(told, "[user]\nsecond\n\n[user]\nthird");
        for (letter, least) in [("x", context_relay::MOST_INPUT), ("é", 1), ("漢", 1)] {
            let told = transcript(&[sub_request::user(letter.repeat(100_000))], 9);
            let tokens = usage_estimate::of_text_bytes(told.as_bytes());
            assert!((least..=context_relay::MOST_INPUT).contains(&tokens), "{letter}: {tokens}");
        }
    }
}
