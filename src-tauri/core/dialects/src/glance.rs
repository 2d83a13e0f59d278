//! The few values of a request body the gateway acts on, with where they stand.
//!
//! One pass: it proves that the whole body is JSON (so that what is spliced and forwarded is JSON too), and on the way
//! notes the top-level members that matter. Nothing is allocated but the few strings that are returned. What is not
//! acted on is not judged either: a missing `messages` is the upstream's to refuse, in its own words. A large body need
//! not have arrived for the pass to begin: see [`Glancer`].
//!
//! A member the gateway *does* act on must mean one thing. JSON parsers disagree about a key that occurs twice; were
//! the gateway to read one and the upstream the other, limits and routing could be walked around. So duplicates of
//! those members are refused.

use std::ops::Range;

use domain::Operation;
use thiserror::Error;

use crate::json::{Fault, FaultKind, MAX_DEPTH, Scanner};

mod ahead;
mod look;

pub use ahead::Glancer;

/// What a body says. Ranges are byte ranges of the body that was looked at, and only of that one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// `model`, decoded. `None` where the path names it (Gemini) or nobody does.
    pub model: Option<String>,
    /// The value of `model`, quotes included.
    pub model_range: Option<Range<usize>>,
    /// `stream:true`. Gemini says it in the path instead.
    pub stream: bool,
    /// The value of `stream`.
    pub stream_range: Option<Range<usize>>,
    /// Chat: `stream_options.include_usage:true`.
    pub include_usage: bool,
    /// Tools offered to the model, wherever the dialect lists them.
    pub tool_count: u32,
    /// Elements of `messages`, `input` or `contents`; a string `input` counts as one.
    pub message_count: u32,
    /// The limit on output tokens, where it is a whole number.
    pub max_output: Option<u64>,
    /// Responses `background:true`: the member with its comma, ready to be cut out.
    pub background: Option<Range<usize>>,
    /// A stable name of the conversation (resilience specification, 9.2): `metadata.session_id`, the session part of
    /// `metadata.user_id`, `conversation_id`, `session_id`, `prompt_cache_key`.
    pub session_hint: Option<String>,
    /// Where a member can be added.
    pub(crate) insert: Insert,
    pub(crate) stream_options: Option<StreamOptions>,
}

/// The end of an object's last member (or its opening bracket), and whether a comma must come first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Insert {
    pub(crate) at: usize,
    pub(crate) needs_comma: bool,
}

/// Chat `stream_options`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamOptions {
    pub(crate) range: Range<usize>,
    /// The value of `include_usage`.
    pub(crate) include_usage: Option<Range<usize>>,
    /// Where a member can be added; `None` when it is no object.
    pub(crate) insert: Option<Insert>,
}

/// Why a body cannot be used. Every message names the place or the field and what is expected there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GlanceError {
    #[error("the request body is not valid JSON at line {line}, column {column}: {message}")]
    NotJson { line: usize, column: usize, message: String },
    #[error("the request body must be a JSON object")]
    NotAnObject,
    #[error("the request body is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("`{field}` must be {expected}")]
    WrongType { field: &'static str, expected: &'static str },
    #[error("`{field}` occurs more than once in the request body; send it once")]
    Duplicate { field: &'static str },
}

/// Looks at the body of a request.
///
/// # Errors
/// See [`GlanceError`]. Only `model`, `stream`, `stream_options` and `background` are held to their types and to
/// occurring once.
pub fn glance(operation: Operation, body: &[u8]) -> Result<Glance, GlanceError> {
    Glancer::new(operation).finish(body)
}

/// The fault of a body that does not begin with an object, if it is not JSON at all.
fn first_fault(body: &[u8]) -> Option<GlanceError> {
    let mut scanner = Scanner::new(body);
    let fault = scanner.skip().and_then(|_| scanner.end()).err()?;
    Some(from_fault(body, fault))
}

fn from_fault(body: &[u8], fault: Fault) -> GlanceError {
    match fault.kind {
        FaultKind::TooDeep => GlanceError::TooDeep,
        FaultKind::Expected(expected) => not_json(body, fault.offset, format!("expected {expected}")),
    }
}

/// Line and column count from 1; columns are bytes.
fn not_json(body: &[u8], offset: usize, message: String) -> GlanceError {
    let before = &body[..offset.min(body.len())];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    GlanceError::NotJson { line, column: before.len() - line_start + 1, message }
}

#[cfg(test)]
mod tests;
