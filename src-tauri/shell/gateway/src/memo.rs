//! What of an answer is kept for the conversation's next turn, because the next request may not carry it.
//!
//! Two things get lost between turns. A Responses client may name the answer it continues, or its items one by one,
//! instead of sending everything again; where the provider does not store answers, this does (gateway specification, 2.6, rule 9). And clients of one
//! dialect drop what belongs to another: the proof on a Gemini tool call, the reasoning that some Chat hosts want back
//! (2.7, rules 4 and 5). Both are kept in memory, bounded in number, bytes and time; what is gone is answered as if it had
//! never been here, and clients then send the whole conversation.
//!
//! What belongs to tool calls is also stored, sealed, and read at the start: without it the next step of an agent's work
//! would be refused. Conversations are not stored: that would put every word on the disk, which only the owner may want,
//! and their clients know what to do (`docs/decisions/0009-conversations-stay-in-memory.md`).

use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use dialects::canonical::{Answer, Origin, Part, Request, Role, Target, reasoning};
use dialects::{PartKind, continuation};
use domain::{Dialect, Millis, Timestamp};
use lru::LruCache;
use store::{Kept, KeptOfCall, MOST_CALLS};

use crate::exchange::Back;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::token_count::Tokenizer;

/// Conversations that can be continued by the id of their last answer.
const ANSWERS: NonZeroUsize = NonZeroUsize::new(1_000).unwrap();
/// Bytes of all of them together, counted as if none shared a piece with another.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Items of these answers that can be named by their id.
const ITEMS: NonZeroUsize = NonZeroUsize::new(8_000).unwrap();
const ANSWERS_LIVE: Millis = Millis::hours(24);
/// Tool calls whose proof or reasoning is remembered.
const CALLS: NonZeroUsize = NonZeroUsize::new(MOST_CALLS as usize).unwrap();
/// Bytes of their reasoning, all together.
const REASONING_BYTES: usize = 32 * 1024 * 1024;
const CALLS_LIVE: Millis = Millis::hours(2);
/// The longest reasoning worth keeping, in bytes.
const REASONING: usize = 256 * 1024;

/// The memory of all conversations.
pub(crate) struct Memo {
    answers: LruCache<String, Conversation>,
    answer_bytes: usize,
    /// By the id of an item, that of its answer.
    items: LruCache<String, String>,
    calls: LruCache<String, Call>,
    reasoning_bytes: usize,
    /// What counts tokens; it forgets by itself.
    pub(crate) tokenizer: Arc<Tokenizer>,
}

/// A conversation up to and with one answer.
#[derive(Debug)]
struct Conversation {
    /// The client key it belongs to: ids are guessable, conversations are nobody else's.
    key: Option<String>,
    pieces: Vec<Bytes>,
    bytes: usize,
    at: Timestamp,
}

/// What a tool call came with.
#[derive(Debug)]
struct Call {
    origin: Origin,
    signature: Option<String>,
    reasoning: Option<Arc<str>>,
    at: Timestamp,
}

impl Call {
    fn bytes(&self) -> usize {
        self.reasoning.as_ref().map_or(0, |text| text.len())
    }
}

impl Default for Memo {
    fn default() -> Self {
        Memo {
            answers: LruCache::new(ANSWERS),
            answer_bytes: 0,
            items: LruCache::new(ITEMS),
            calls: LruCache::new(CALLS),
            reasoning_bytes: 0,
            tokenizer: Arc::default(),
        }
    }
}

impl Memo {
    /// Everything up to and with the answer `id`.
    pub(crate) fn conversation(&mut self, id: &str, key: Option<&str>, now: Timestamp) -> Option<Vec<Bytes>> {
        let kept = self.answers.get(id)?;
        let is_theirs = kept.key.as_deref() == key && now.since(kept.at) < ANSWERS_LIVE;
        is_theirs.then(|| kept.pieces.clone())
    }

    /// An item of an answer.
    pub(crate) fn item(&mut self, id: &str, key: Option<&str>, now: Timestamp) -> Option<Bytes> {
        let answer = self.items.get(id)?.clone();
        continuation::item(self.conversation(&answer, key, now)?.last()?, id)
    }

    fn keep_answer(&mut self, id: String, key: Option<String>, pieces: Vec<Bytes>, now: Timestamp) {
        let bytes = pieces.iter().map(Bytes::len).sum();
        if bytes > ANSWER_BYTES {
            return;
        }
        for item in pieces.last().map(|output| continuation::item_ids(output)).unwrap_or_default() {
            self.items.put(item, id.clone());
        }
        let replaced = self.answers.push(id, Conversation { key, pieces, bytes, at: now });
        self.answer_bytes += bytes;
        self.answer_bytes -= replaced.map_or(0, |(_, old)| old.bytes);
        while self.answer_bytes > ANSWER_BYTES {
            let Some((_, oldest)) = self.answers.pop_lru() else { break };
            self.answer_bytes -= oldest.bytes;
        }
    }

    /// Keeps what belongs to the calls of an answer; what of it is to be stored.
    fn keep_calls(&mut self, answer: &Answer, origin: Origin, now: Timestamp) -> Vec<KeptOfCall> {
        let mut thought: Option<Arc<str>> = None;
        let mut is_stored = false;
        let mut stored = Vec::new();
        for part in &answer.parts {
            match &part.kind {
                PartKind::Reasoning if part.text.len() <= REASONING => {
                    thought = Some(part.text.as_str().into());
                    is_stored = false;
                }
                PartKind::ToolCall { id: Some(id), .. } => {
                    let signature = Some(part.signature.clone()).filter(|proof| !proof.is_empty());
                    let row = |what, payload: &str| KeptOfCall {
                        call_id: id.clone(),
                        what,
                        family: reasoning::word(origin).to_owned(),
                        payload: payload.to_owned(),
                        expires_at: now + CALLS_LIVE,
                    };
                    stored.extend(signature.as_deref().map(|proof| row(Kept::Signature, proof)));
                    // The first of several calls carries it for all of them.
                    let first = thought.as_deref().filter(|_| !std::mem::replace(&mut is_stored, true));
                    stored.extend(first.map(|text| row(Kept::Reasoning, text)));
                    self.put_call(id.clone(), Call { origin, signature, reasoning: thought.clone(), at: now });
                }
                _ => {}
            }
        }
        stored
    }

    fn put_call(&mut self, id: String, call: Call) {
        self.reasoning_bytes += call.bytes();
        let replaced = self.calls.push(id, call);
        self.reasoning_bytes -= replaced.map_or(0, |(_, old)| old.bytes());
        while self.reasoning_bytes > REASONING_BYTES {
            let Some((_, oldest)) = self.calls.pop_lru() else { break };
            self.reasoning_bytes -= oldest.bytes();
        }
    }

    /// Takes up what was stored before the start.
    pub(crate) fn restore(&mut self, stored: Vec<KeptOfCall>) {
        for kept in stored {
            let Some(origin) = reasoning::family(&kept.family) else { continue };
            let at = kept.expires_at - CALLS_LIVE;
            let known = self.calls.pop(&kept.call_id);
            self.reasoning_bytes -= known.as_ref().map_or(0, Call::bytes);
            let mut call = known.unwrap_or(Call { origin, signature: None, reasoning: None, at });
            match kept.what {
                Kept::Signature => call.signature = Some(kept.payload),
                Kept::Reasoning => call.reasoning = Some(kept.payload.into()),
            }
            self.put_call(kept.call_id, call);
        }
    }

    /// Gives a request back what its client could not carry.
    pub(crate) fn remind(&mut self, request: &mut Request, target: &Target, now: Timestamp) {
        if target.origin != Origin::Google && !target.reasoning_replay {
            return;
        }
        for turn in request.turns.iter_mut().filter(|turn| turn.role == Role::Assistant) {
            let mut thought = None;
            let has_reasoning = turn.parts.iter().any(|part| matches!(part, Part::Reasoning { .. }));
            for part in &mut turn.parts {
                let Part::ToolCall { id, signature, .. } = part else { continue };
                let Some(call) = self.calls.get(id.as_str()).filter(|call| now.since(call.at) < CALLS_LIVE) else {
                    continue;
                };
                if signature.is_none() && call.origin == target.origin {
                    signature.clone_from(&call.signature);
                }
                thought = thought.or_else(|| call.reasoning.clone());
            }
            if let Some(text) = thought.filter(|_| target.reasoning_replay && !has_reasoning) {
                turn.parts.insert(0, plain_reasoning(&text));
            }
        }
    }
}

fn plain_reasoning(text: &str) -> Part {
    Part::Reasoning { text: text.to_owned(), signature: None, encrypted: None, item_id: None, origin: Origin::Anyone }
}

/// What is to be kept of one answer, once it is whole.
pub(crate) struct Keepsake {
    gateway: Gateway,
    /// Of a conversation that may be continued by id: whose it is, and what was said before the answer.
    conversation: Option<(Option<String>, Vec<Bytes>)>,
    /// Whose proofs the answer's calls carry, where they will be missed.
    origin: Option<Origin>,
    back: Back,
}

impl Keepsake {
    /// Nothing where nothing of the answer will be missed. `body` is the request as its client meant it.
    pub(crate) fn of(
        gateway: &Gateway,
        request: &ClientRequest,
        body: &[u8],
        target: &Target,
        back: &Back,
    ) -> Option<Keepsake> {
        let keeps = request.dialect() == Dialect::Responses && continuation::stored(body).keep;
        let conversation = keeps
            .then(|| Some((request.key.as_ref().map(|key| key.id.to_string()), vec![continuation::input_items(body)?])))
            .flatten();
        let origin = (target.origin == Origin::Google || target.reasoning_replay).then_some(target.origin);
        (conversation.is_some() || origin.is_some()).then(|| Keepsake {
            gateway: gateway.clone(),
            conversation,
            origin,
            back: back.clone(),
        })
    }

    /// The answer is whole.
    pub(crate) fn keep(self, answer: &Answer) {
        let now = self.gateway.now();
        if let Some((key, mut pieces)) = self.conversation
            && let Some((id, output)) = continuation::output_items(&self.back.body(answer))
        {
            pieces.push(output);
            self.gateway.memo().lock().keep_answer(id, key, pieces, now);
        }
        if let Some(origin) = self.origin {
            let stored = self.gateway.memo().lock().keep_calls(answer, origin, now);
            self.gateway.store().keep_of_calls(stored);
        }
    }
}

#[cfg(test)]
mod tests {
    use dialects::FinishReason;
    use dialects::canonical::{AnswerPart, ToolKind, Turn};

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000);

    #[test]
    fn a_conversation_is_its_own_keys_and_is_forgotten_after_a_day() {
        let mut memo = Memo::default();
        memo.keep_answer("resp_1".to_owned(), Some("k1".to_owned()), vec![Bytes::from_static(b"{}")], NOW);
        assert!(memo.conversation("resp_1", Some("k1"), NOW).is_some());
        assert!(memo.conversation("resp_1", None, NOW).is_none());
        assert!(memo.conversation("resp_1", Some("k2"), NOW).is_none());
        assert!(memo.conversation("resp_1", Some("k1"), NOW + Millis::hours(24)).is_none());
    }

    #[test]
    fn an_item_is_found_as_long_as_its_answer_is_kept() {
        let mut memo = Memo::default();
        let pieces = vec![Bytes::from_static(br#"{"id":"q"}"#), Bytes::from_static(br#"{"id":"msg_1"},{"id":"fc_1"}"#)];
        memo.keep_answer("resp_1".to_owned(), Some("k1".to_owned()), pieces, NOW);
        assert_eq!(memo.item("fc_1", Some("k1"), NOW).as_deref(), Some(&br#"{"id":"fc_1"}"#[..]));
        assert_eq!(memo.item("q", Some("k1"), NOW), None);
        assert_eq!(memo.item("fc_1", Some("k2"), NOW), None);
        assert_eq!(memo.item("fc_1", Some("k1"), NOW + Millis::hours(24)), None);
    }

    #[test]
    fn the_oldest_conversations_make_room() {
        let mut memo = Memo::default();
        let third = Bytes::from(vec![b' '; ANSWER_BYTES / 3]);
        for n in 0..5 {
            memo.keep_answer(format!("resp_{n}"), None, vec![third.clone()], NOW);
        }
        let kept: Vec<_> = (0..5).filter(|n| memo.conversation(&format!("resp_{n}"), None, NOW).is_some()).collect();
        assert_eq!(kept, [2, 3, 4]);
        assert!(memo.answer_bytes <= ANSWER_BYTES);
        memo.keep_answer("large".to_owned(), None, vec![Bytes::from(vec![b' '; ANSWER_BYTES + 1])], NOW);
        assert!(memo.conversation("large", None, NOW).is_none() && memo.conversation("resp_4", None, NOW).is_some());
    }

    fn called() -> Answer {
        let part = |kind, text: &str, signature: &str| AnswerPart {
            kind,
            text: text.to_owned(),
            signature: signature.to_owned(),
        };
        let call = PartKind::ToolCall { id: Some("call_1".to_owned()), name: "ls".to_owned() };
        let parts = vec![part(PartKind::Reasoning, "hm", ""), part(call, "{}", "proof")];
        Answer { parts, finish: Some(FinishReason::ToolCalls), ..Answer::default() }
    }

    fn reminded(target: &Target, origin: Origin, after: Millis) -> Vec<Part> {
        let mut memo = Memo::default();
        memo.keep_calls(&called(), origin, NOW);
        let mut request = Request::new("m", Dialect::Chat);
        request.turns.push(Turn {
            role: Role::Assistant,
            parts: vec![Part::ToolCall {
                id: "call_1".to_owned(),
                name: "ls".to_owned(),
                arguments: "{}".to_owned(),
                kind: ToolKind::Function,
                signature: None,
                cache: None,
            }],
        });
        memo.remind(&mut request, target, NOW + after);
        request.turns.remove(0).parts
    }

    #[test]
    fn what_was_stored_of_a_call_is_what_comes_back() {
        let mut answer = called();
        let again = PartKind::ToolCall { id: Some("call_2".to_owned()), name: "ls".to_owned() };
        answer.parts.push(AnswerPart { kind: again, text: "{}".to_owned(), signature: String::new() });
        let (mut before, mut after) = (Memo::default(), Memo::default());
        let stored = before.keep_calls(&answer, Origin::Google, NOW);
        let kinds: Vec<_> = stored.iter().map(|kept| (kept.call_id.as_str(), kept.what)).collect();
        assert_eq!(kinds, [("call_1", Kept::Signature), ("call_1", Kept::Reasoning)]);
        after.restore(stored);
        let call = after.calls.get("call_1").expect("a call");
        assert_eq!((call.signature.as_deref(), call.reasoning.as_deref()), (Some("proof"), Some("hm")));
        assert_eq!((call.origin, call.at, after.reasoning_bytes), (Origin::Google, NOW, 2));
        assert_eq!(before.reasoning_bytes, 4);
    }

    #[test]
    fn long_reasoning_pushes_the_oldest_out() {
        let mut memo = Memo::default();
        for n in 0..200 {
            let reasoning = Some("x".repeat(REASONING).into());
            memo.put_call(format!("c{n}"), Call { origin: Origin::Anyone, signature: None, reasoning, at: NOW });
        }
        assert!(memo.reasoning_bytes <= REASONING_BYTES && memo.calls.len() == REASONING_BYTES / REASONING);
        assert!(memo.calls.peek("c199").is_some() && memo.calls.peek("c0").is_none());
    }

    #[test]
    fn a_call_gets_its_proof_and_its_reasoning_back_from_those_who_want_them() {
        let google = Target { origin: Origin::Google, ..Target::unknown("m") };
        let replaying = Target { reasoning_replay: true, ..Target::unknown("m") };
        let proof = |parts: &[Part]| match parts.last() {
            Some(Part::ToolCall { signature, .. }) => signature.clone(),
            _ => None,
        };
        assert_eq!(proof(&reminded(&google, Origin::Google, Millis::ZERO)).as_deref(), Some("proof"));
        assert_eq!(proof(&reminded(&google, Origin::Google, CALLS_LIVE)), None);
        assert_eq!(proof(&reminded(&google, Origin::Anyone, Millis::ZERO)), None);
        let parts = reminded(&replaying, Origin::Anyone, Millis::ZERO);
        assert!(matches!(&parts[..], [Part::Reasoning { text, .. }, Part::ToolCall { .. }] if text == "hm"));
        assert_eq!(reminded(&Target::unknown("m"), Origin::Anyone, Millis::ZERO).len(), 1);
    }
}
