//! Reasoning that a model writes into its text, between `<think>` and `</think>` (gateway specification, 2.7, rule 6).
//!
//! Some servers pass on what the model said as it said it. Told in another dialect this would be an answer that begins
//! with pages of doubt; so the parts between the tags become reasoning, and the text around them stays text. A tag may come
//! in pieces; what could become one is held back until it is one or is not. Reasoning that never ends is reasoning up to
//! the end of its part. White space next to a tag belongs to it: models put every tag on its own line.
//!
//! Only answers that are told in other words come here: bytes that pass are the model's own.

use std::collections::BTreeMap;

use crate::error::StreamProgress;
use crate::event::{DeltaKind, Event, PartKind, Remainder, StreamReader};
use crate::framing::Frame;

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";
/// White space held back before the first word, in bytes; more of it is text.
const LONGEST_SPACE: usize = 256;

/// Separates the reasoning in text parts from their text. Parts get new numbers, because one becomes several.
#[derive(Debug, Default)]
pub struct Splitter {
    next: u32,
    parts: BTreeMap<u32, Place>,
}

/// What became of a part.
#[derive(Debug)]
enum Place {
    /// The same under another number.
    Same(u32),
    Split(Piecewise),
}

/// A text part on its way.
#[derive(Debug, Default)]
struct Piecewise {
    is_thinking: bool,
    after: After,
    /// What may be the beginning of a tag, or white space in front of the first one.
    held: String,
    /// The part that is open on the other side.
    open: Option<u32>,
}

/// What came last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After {
    /// Nothing, or white space that is still held.
    #[default]
    Beginning,
    /// A tag, and possibly white space.
    Tag,
    Word,
}

impl Splitter {
    /// Takes the next event, and adds what it becomes.
    pub fn push(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::PartStarted { index, kind: PartKind::Text } => {
                self.parts.insert(index, Place::Split(Piecewise::default()));
            }
            Event::PartStarted { index, kind } => {
                let number = take_number(&mut self.next);
                self.parts.insert(index, Place::Same(number));
                out.push(Event::PartStarted { index: number, kind });
            }
            Event::Delta { index, kind, text } => match self.parts.get_mut(&index) {
                Some(Place::Split(part)) => part.add(&text, &mut self.next, out),
                Some(Place::Same(number)) => out.push(Event::Delta { index: *number, kind, text }),
                None => {}
            },
            Event::PartEnded { index } => match self.parts.remove(&index) {
                Some(Place::Split(mut part)) => {
                    part.release(&mut self.next, out);
                    part.close(out);
                }
                Some(Place::Same(number)) => out.push(Event::PartEnded { index: number }),
                None => {}
            },
            Event::Finished(_) | Event::Failed(_) => {
                self.flush(out);
                out.push(event);
            }
            Event::Started { .. } | Event::Usage(_) | Event::KeepAlive => out.push(event),
        }
    }

    /// Gives back what is held.
    fn flush(&mut self, out: &mut Vec<Event>) {
        for part in self.parts.values_mut() {
            if let Place::Split(part) = part {
                part.release(&mut self.next, out);
            }
        }
    }
}

fn take_number(next: &mut u32) -> u32 {
    let number = *next;
    *next += 1;
    number
}

impl Piecewise {
    fn add(&mut self, text: &str, next: &mut u32, out: &mut Vec<Event>) {
        self.held.push_str(text);
        while let Some(at) = self.held.find(self.tag()) {
            let before: String = self.held.drain(..at + self.tag().len()).collect();
            let before = &before[..at];
            if self.after != After::Beginning || !before.trim().is_empty() {
                self.say(before, next, out);
            }
            self.close(out);
            self.is_thinking = !self.is_thinking;
            self.after = After::Tag;
        }
        let sure: String = self.held.drain(..self.held.len() - self.uncertain()).collect();
        self.say(&sure, next, out);
    }

    /// The tag that comes next.
    fn tag(&self) -> &'static str {
        if self.is_thinking { CLOSING } else { OPENING }
    }

    /// How many bytes at the end of what is held may belong to a tag.
    fn uncertain(&self) -> usize {
        let (tag, held) = (self.tag(), self.held.as_str());
        let may_be_all = tag.starts_with(held.trim_start()) && held.len() <= LONGEST_SPACE;
        if self.after == After::Beginning && may_be_all {
            return held.len();
        }
        (1..tag.len()).rev().find(|length| held.ends_with(&tag[..*length])).unwrap_or(0)
    }

    /// No more is coming: what is held is no tag.
    fn release(&mut self, next: &mut u32, out: &mut Vec<Event>) {
        let held = std::mem::take(&mut self.held);
        self.say(&held, next, out);
    }

    fn say(&mut self, text: &str, next: &mut u32, out: &mut Vec<Event>) {
        let text = if self.after == After::Tag { text.trim_start() } else { text };
        if text.is_empty() {
            return;
        }
        self.after = After::Word;
        let (kind, delta) = if self.is_thinking {
            (PartKind::Reasoning, DeltaKind::Reasoning)
        } else {
            (PartKind::Text, DeltaKind::Text)
        };
        let index = *self.open.get_or_insert_with(|| {
            let index = take_number(next);
            out.push(Event::PartStarted { index, kind });
            index
        });
        out.push(Event::Delta { index, kind: delta, text: text.to_owned() });
    }

    fn close(&mut self, out: &mut Vec<Event>) {
        if let Some(index) = self.open.take() {
            out.push(Event::PartEnded { index });
        }
    }
}

/// The events of a whole answer, with its reasoning apart.
pub fn split(events: Vec<Event>) -> Vec<Event> {
    let (mut splitter, mut out) = (Splitter::default(), Vec::with_capacity(events.len()));
    events.into_iter().for_each(|event| splitter.push(event, &mut out));
    splitter.flush(&mut out);
    out
}

/// A reader whose answer has its reasoning apart.
pub fn splitting(inner: Box<dyn StreamReader + Send>) -> Box<dyn StreamReader + Send> {
    Box::new(Reader { inner, splitter: Splitter::default(), events: Vec::new() })
}

struct Reader {
    inner: Box<dyn StreamReader + Send>,
    splitter: Splitter,
    events: Vec<Event>,
}

impl StreamReader for Reader {
    fn push(&mut self, frame: &Frame, out: &mut Vec<Event>) {
        self.inner.push(frame, &mut self.events);
        self.events.drain(..).for_each(|event| self.splitter.push(event, out));
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.inner.end(&mut self.events);
        self.events.drain(..).for_each(|event| self.splitter.push(event, out));
        self.splitter.flush(out);
    }

    fn dropped(&self) -> u32 {
        self.inner.dropped()
    }

    fn is_garbled(&self) -> bool {
        self.inner.is_garbled()
    }

    fn remainder(&self) -> Remainder {
        self.inner.remainder()
    }

    fn progress(&self) -> StreamProgress<'_> {
        self.inner.progress()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use domain::Dialect;

    use super::*;
    use crate::canonical::Answer;
    use crate::event::FinishReason;

    /// What a text becomes that comes in these pieces: kind and text of each part.
    fn told<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Vec<(PartKind, String)> {
        let delta = |text: &str| Event::Delta { index: 0, kind: DeltaKind::Text, text: text.to_owned() };
        let mut events = vec![Event::PartStarted { index: 0, kind: PartKind::Text }];
        events.extend(pieces.into_iter().map(delta));
        events.extend([Event::PartEnded { index: 0 }, Event::Finished(FinishReason::End)]);
        let events = split(events);
        assert!(matches!(events.last(), Some(Event::Finished(_))), "{events:?}");
        let started = events.iter().filter(|event| matches!(event, Event::PartStarted { .. })).count();
        let ended = events.iter().filter(|event| matches!(event, Event::PartEnded { .. })).count();
        assert_eq!(started, ended, "{events:?}");
        let answer = Answer::fold(events).expect("an answer");
        answer.parts.into_iter().map(|part| (part.kind, part.text)).collect()
    }

    fn expected(parts: &[(PartKind, &str)]) -> Vec<(PartKind, String)> {
        parts.iter().map(|(kind, text)| (kind.clone(), (*text).to_owned())).collect()
    }

    #[test]
    fn reasoning_between_tags_is_separated_however_it_is_cut() {
        use PartKind::{Reasoning, Text};
        for (text, parts) in [
            ("<think>\nhm\n</think>\n\nyes", &[(Reasoning, "hm\n"), (Text, "yes")][..]),
            ("\n <think>hm</think>yes", &[(Reasoning, "hm"), (Text, "yes")]),
            ("Well. <think>hm</think> yes", &[(Text, "Well. "), (Reasoning, "hm"), (Text, "yes")]),
            ("<think>a</think>b<think>c</think>d", &[(Reasoning, "a"), (Text, "b"), (Reasoning, "c"), (Text, "d")]),
            ("<think>\n\n</think>\n\nyes", &[(Text, "yes")]),
            ("<think>never ends", &[(Reasoning, "never ends")]),
            ("<think>ends in a piece </thi", &[(Reasoning, "ends in a piece </thi")]),
            ("a < b <thinking> c </think> <t", &[(Text, "a < b <thinking> c </think> <t")]),
            ("  plain\n", &[(Text, "  plain\n")]),
            ("<think>é 👋</think>é 👋", &[(Reasoning, "é 👋"), (Text, "é 👋")]),
            (" \n", &[(Text, " \n")]),
            ("", &[]),
        ] {
            assert_eq!(told([text]), expected(parts), "{text:?}");
            let letters: Vec<String> = text.chars().map(String::from).collect();
            assert_eq!(told(letters.iter().map(String::as_str)), expected(parts), "{text:?}, letter by letter");
            for (at, _) in text.char_indices() {
                let (head, tail) = text.split_at(at);
                assert_eq!(told([head, tail]), expected(parts), "{text:?} cut at {at}");
            }
        }
    }

    #[test]
    fn white_space_without_end_is_not_held() {
        let (mut splitter, mut out) = (Splitter::default(), Vec::new());
        splitter.push(Event::PartStarted { index: 0, kind: PartKind::Text }, &mut out);
        for _ in 0..=LONGEST_SPACE {
            splitter.push(Event::Delta { index: 0, kind: DeltaKind::Text, text: " ".to_owned() }, &mut out);
        }
        assert!(out.len() >= 2, "{out:?}");
    }

    #[test]
    fn other_parts_keep_their_order_under_new_numbers() {
        let stream = concat!(
            r#"data: {"id":"a","choices":[{"index":0,"delta":{"content":"<think>hm</th"}}]}"#,
            "\n\n",
            r#"data: {"id":"a","choices":[{"index":0,"delta":{"content":"ink>so"}}]}"#,
            "\n\n",
            r#"data: {"id":"a","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":"{\"a\":\"<think>\"}"}}]}}]}"#,
            "\n\n",
            r#"data: {"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            "\n\ndata: [DONE]\n\n",
        );
        let mut decoder = crate::SseDecoder::new(crate::framing::MAX_FRAME);
        let (mut frames, mut events) = (Vec::new(), Vec::new());
        decoder.push(Bytes::from_static(stream.as_bytes()), &mut frames).expect("frames");
        let mut reader = splitting(crate::reader(Dialect::Chat));
        frames.iter().for_each(|frame| reader.push(frame, &mut events));
        reader.end(&mut events);
        let answer = Answer::fold(events).expect("an answer");
        let parts: Vec<_> = answer.parts.iter().map(|part| (part.kind.clone(), part.text.as_str())).collect();
        let call = PartKind::ToolCall { id: Some("c".to_owned()), name: "ls".to_owned() };
        assert_eq!(parts, [(PartKind::Reasoning, "hm"), (PartKind::Text, "so"), (call, r#"{"a":"<think>"}"#)]);
    }

    #[test]
    fn what_was_held_when_the_answer_failed_is_still_told() {
        let mut events = vec![Event::PartStarted { index: 0, kind: PartKind::Text }];
        events.push(Event::Delta { index: 0, kind: DeltaKind::Text, text: "a <thi".to_owned() });
        events.push(Event::Failed(crate::UpstreamError::stream_cut()));
        let events = split(events);
        assert!(
            events.contains(&Event::Delta { index: 0, kind: DeltaKind::Text, text: "<thi".to_owned() }),
            "{events:?}"
        );
        assert!(matches!(events.last(), Some(Event::Failed(_))), "{events:?}");
    }
}
