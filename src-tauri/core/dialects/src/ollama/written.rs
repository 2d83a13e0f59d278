//! What answers are written in: a line of a stream and a whole body have one shape.

use domain::{Millis, Timestamp, Usage};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Form;
use crate::canonical::arguments;
use crate::canonical::ids::minted;
use crate::event::FinishReason;
use crate::translate::Reply;

/// A line of a stream, or a whole answer.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    model: &'a str,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
    done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    done_reason: Option<&'static str>,
    #[serde(flatten)]
    counts: Option<Counts>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    id: String,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    index: usize,
    name: &'a str,
    arguments: Box<RawValue>,
}

/// What an answer says; [`Form::Generate`] has no words for calls.
#[derive(Default)]
pub(super) struct Said<'a> {
    pub(super) text: &'a str,
    pub(super) thinking: Option<&'a str>,
    pub(super) calls: Vec<Call<'a>>,
}

/// Tokens, and nanoseconds.
#[derive(Serialize)]
pub(super) struct Counts {
    total_duration: u64,
    load_duration: u64,
    prompt_eval_count: u64,
    prompt_eval_duration: u64,
    eval_count: u64,
    eval_duration: u64,
}

impl<'a> Line<'a> {
    pub(super) fn new(form: Form, model: &'a str, now: Timestamp, said: Said<'a>) -> Line<'a> {
        let (message, response, thinking) = match form {
            Form::Chat => {
                let Said { text, thinking, calls } = said;
                (Some(Message { role: "assistant", content: text, thinking, tool_calls: calls }), None, None)
            }
            Form::Generate => (None, Some(said.text), said.thinking),
        };
        let created_at = instant(now);
        Line { model, created_at, message, response, thinking, done: false, done_reason: None, counts: None }
    }

    /// The last line, or the only one.
    pub(super) fn done(self, reason: &'static str, counts: Option<Counts>) -> Line<'a> {
        Line { done: true, done_reason: Some(reason), counts, ..self }
    }
}

impl<'a> Call<'a> {
    /// A call under the client's own name for the tool. One whose arguments were cut off with the answer must not be
    /// executed, so it is left out.
    pub(super) fn new(
        number: usize,
        id: Option<&str>,
        sent: &'a str,
        text: &str,
        reason: FinishReason,
        reply: &'a Reply,
    ) -> Option<Call<'a>> {
        let is_cut = matches!(reason, FinishReason::Length | FinishReason::ContextFull);
        if is_cut && !arguments::is_whole(text) {
            return None;
        }
        let id = id.filter(|id| !id.is_empty()).map_or_else(|| minted(&reply.id, number, sent), str::to_owned);
        let arguments = arguments::to_object(sent, text).0;
        Some(Call { id, function: Function { index: number, name: reply.ids.name(sent), arguments } })
    }
}

impl Counts {
    /// `prompt`: from the request to the first word; `answer`: from there to the end. The prompt's tokens are estimated
    /// where the upstream did not say, because clients size their context by them.
    pub(super) fn new(usage: &Usage, reply: &Reply, prompt: Millis, answer: Millis) -> Counts {
        Counts {
            total_duration: nanoseconds(prompt).saturating_add(nanoseconds(answer)),
            // The model is somebody else's, and loaded.
            load_duration: 0,
            prompt_eval_count: usage.input().unwrap_or(reply.estimated_input),
            prompt_eval_duration: nanoseconds(prompt),
            eval_count: usage.output.unwrap_or_default(),
            eval_duration: nanoseconds(answer),
        }
    }
}

/// At least a millisecond: clients divide tokens by it.
fn nanoseconds(time: Millis) -> u64 {
    time.as_millis().max(1).saturating_mul(1_000_000)
}

pub(super) fn instant(at: Timestamp) -> String {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX).to_string()
}

/// `done_reason`. The protocol has no word for a filter, and a filtered answer must not look whole.
pub(super) const fn done_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::End | FinishReason::StopSequence | FinishReason::ToolCalls | FinishReason::Paused => "stop",
        FinishReason::Length | FinishReason::ContextFull => "length",
        FinishReason::Filter => "content_filter",
    }
}
