//! A whole answer, folded from its events. A stream and a body are told with the same words, so there is one reader for
//! each dialect and one writer for each form.

use domain::Usage;

use crate::error::UpstreamError;
use crate::event::{DeltaKind, Event, FinishReason, PartKind};

/// Everything an answer said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub id: Option<String>,
    pub model: Option<String>,
    /// In order of first appearance.
    pub parts: Vec<Part>,
    pub usage: Usage,
    pub finish: Option<FinishReason>,
}

/// One part with all of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub kind: PartKind,
    /// Text, reasoning, refusal or raw arguments, by kind.
    pub text: String,
    /// Proof of reasoning, or its encrypted form.
    pub signature: String,
}

impl Answer {
    /// Folds a whole answer.
    ///
    /// # Errors
    /// The failure the answer tells, or a stream that was cut: a short answer is never taken for a whole one.
    pub fn fold(events: impl IntoIterator<Item = Event>) -> Result<Answer, UpstreamError> {
        let mut answer = Answer::default();
        for event in events {
            answer.take(event)?;
        }
        Ok(answer)
    }

    /// Takes one more event.
    ///
    /// # Errors
    /// The failure it tells.
    pub fn take(&mut self, event: Event) -> Result<(), UpstreamError> {
        match event {
            Event::Started { id, model } => {
                self.id = self.id.take().or(id);
                self.model = self.model.take().or(model);
            }
            Event::PartStarted { kind, .. } => {
                self.parts.push(Part { kind, text: String::new(), signature: String::new() });
            }
            Event::Delta { index, kind, text } => {
                let place = usize::try_from(index).ok().and_then(|index| self.parts.get_mut(index));
                if let Some(part) = place {
                    match kind {
                        DeltaKind::Signature => part.signature.push_str(&text),
                        DeltaKind::Text | DeltaKind::Reasoning | DeltaKind::Refusal | DeltaKind::Arguments => {
                            part.text.push_str(&text);
                        }
                    }
                }
            }
            Event::Usage(usage) => self.usage.absorb(&usage),
            Event::Finished(reason) => self.finish = Some(reason),
            Event::Failed(error) => return Err(error),
            Event::PartEnded { .. } | Event::KeepAlive => {}
        }
        Ok(())
    }

    /// How it ended, in the light of what it holds.
    pub fn finish(&self) -> FinishReason {
        let calls = self.parts.iter().any(|part| matches!(part.kind, PartKind::ToolCall { .. }));
        let reason = self.finish.unwrap_or(FinishReason::End);
        if calls { reason.with_tool_calls() } else { reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_find_their_part_and_a_failure_ends_it() {
        let events = vec![
            Event::Started { id: Some("a".to_owned()), model: None },
            Event::PartStarted { index: 0, kind: PartKind::Text },
            Event::PartStarted { index: 1, kind: PartKind::ToolCall { id: None, name: "ls".to_owned() } },
            Event::Delta { index: 1, kind: DeltaKind::Arguments, text: "{}".to_owned() },
            Event::Delta { index: 0, kind: DeltaKind::Text, text: "hi".to_owned() },
            Event::Finished(FinishReason::End),
        ];
        let answer = Answer::fold(events).expect("a whole answer");
        assert_eq!(answer.parts[0].text, "hi");
        assert_eq!(answer.parts[1].text, "{}");
        assert_eq!(answer.finish(), FinishReason::ToolCalls);
        assert!(Answer::fold([Event::Failed(UpstreamError::stream_cut())]).is_err());
    }
}
