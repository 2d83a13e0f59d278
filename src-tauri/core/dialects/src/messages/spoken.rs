//! What a client of this dialect is told, whole and in a stream.

use std::borrow::Cow;
use std::collections::BTreeSet;

use domain::{Dialect, Usage};
use serde::Serialize;

use crate::canonical::ids::{IdRule, minted, tool_id};
use crate::canonical::{IdMap, reasoning};
use crate::translate::Reply;

/// Token counts as a client reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
}

impl Counts {
    /// The true figures where the upstream gave them, else estimates: agents measure their context by the input, and one of
    /// zero keeps them from ever compacting it.
    pub(super) fn new(usage: &Usage, reply: &Reply, output_estimate: u64) -> Counts {
        let fresh = if usage.input().is_some_and(|input| input > 0) {
            usage.input_fresh.unwrap_or(0)
        } else {
            reply.estimated_input.max(1)
        };
        Counts {
            input_tokens: fresh,
            cache_creation_input_tokens: usage.cache_write.unwrap_or(0),
            cache_read_input_tokens: usage.cache_read.unwrap_or(0),
            output_tokens: usage.output.unwrap_or(output_estimate),
        }
    }

    /// Before the first word.
    pub(super) fn at_start(usage: &Usage, reply: &Reply) -> Counts {
        Counts { output_tokens: 1, ..Counts::new(usage, reply, 1) }
    }
}

/// Tokens of an answer of this many bytes, where the upstream did not count.
pub(super) const fn estimate(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

/// The id of an answer, in this dialect's form.
pub(super) fn message_id(upstream: Option<&str>, reply: &Reply) -> String {
    let id = upstream.filter(|id| !id.is_empty()).unwrap_or(&reply.id);
    if id.starts_with("msg_") {
        return id.to_owned();
    }
    let bare = ["chatcmpl-", "resp_"].iter().find_map(|prefix| id.strip_prefix(prefix)).unwrap_or(id);
    format!("msg_{bare}")
}

/// A proof of reasoning as the client shall carry it; empty where nobody could read it again.
pub(super) fn carried<'a>(proof: &'a str, ids: &IdMap) -> Cow<'a, str> {
    reasoning::seal(proof, ids.origin, Dialect::Messages).unwrap_or(Cow::Borrowed(""))
}

/// Ids of the calls of one answer: legal, and each once, whatever the upstream gave.
#[derive(Debug, Default)]
pub(super) struct CallIds(BTreeSet<String>);

impl CallIds {
    pub(super) fn take(&mut self, upstream: Option<&str>, message_id: &str, place: usize, name: &str) -> String {
        let legal = upstream.filter(|id| !id.is_empty()).map(|id| tool_id(id, IdRule::Messages).into_owned());
        let id = legal.filter(|id| !self.0.contains(id)).unwrap_or_else(|| minted(message_id, place, name));
        self.0.insert(id.clone());
        id
    }
}
