//! The few values of a request body the gateway acts on, with where they stand.
//!
//! One pass: it proves that the whole body is JSON (so that what is spliced and forwarded is JSON too), and on the way
//! notes the top-level members that matter. Nothing is allocated but the few strings that are returned. What is not
//! acted on is not judged either: a missing `messages` is the upstream's to refuse, in its own words.
//!
//! A member the gateway *does* act on must mean one thing. JSON parsers disagree about a key that occurs twice; were
//! the gateway to read one and the upstream the other, limits and routing could be walked around. So duplicates of
//! those members are refused.

use std::ops::Range;

use domain::{Dialect, Operation};
use thiserror::Error;

use crate::json::{Fault, FaultKind, Kind, MAX_DEPTH, Scanner, Text};

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
    /// `metadata.user_id`, `conversation_id`, `session_id`, `prompt_cache_key`, else `user`.
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
    if let Err(error) = std::str::from_utf8(body) {
        return Err(not_json(body, error.valid_up_to(), "invalid UTF-8".to_owned()));
    }
    let mut scanner = Scanner::new(body);
    match scanner.peek() {
        Ok(Kind::Object) => {}
        Ok(_) => return Err(first_fault(body).unwrap_or(GlanceError::NotAnObject)),
        Err(fault) => return Err(from_fault(body, fault)),
    }
    let mut look =
        Look { operation, body, found: Glance::default(), hints: Default::default(), last_end: None, refused: None };
    let read =
        scanner.object(|scanner, key| look.member(scanner, &key)).and_then(|object| scanner.end().map(|()| object));
    let object = read.map_err(|fault| from_fault(body, fault))?;
    if let Some(refused) = look.refused {
        return Err(refused);
    }
    let mut found = look.found;
    found.insert = Insert { at: look.last_end.unwrap_or(object.start + 1), needs_comma: look.last_end.is_some() };
    found.session_hint = look.hints.into_iter().flatten().next();
    Ok(found)
}

struct Look<'a> {
    operation: Operation,
    body: &'a [u8],
    found: Glance,
    /// Names of the conversation, the best first; see [`Hint`].
    hints: [Option<String>; 6],
    /// End of the member read last.
    last_end: Option<usize>,
    /// The first objection; reading goes on, because a body that is not JSON at all is the more useful message.
    refused: Option<GlanceError>,
}

/// Where a name of the conversation was found, in order of preference.
#[derive(Clone, Copy)]
enum Hint {
    MetadataSession,
    MetadataUser,
    Conversation,
    Session,
    CacheKey,
    User,
}

/// The top-level members that matter.
#[derive(Clone, Copy)]
enum Field {
    Model,
    Stream,
    StreamOptions,
    Tools,
    Conversation,
    MaxOutput,
    GenerationConfig,
    Background,
    Metadata,
    Hint(Hint),
}

const COMMON: [(&str, Field); 8] = [
    ("model", Field::Model),
    ("stream", Field::Stream),
    ("tools", Field::Tools),
    ("metadata", Field::Metadata),
    ("conversation_id", Field::Hint(Hint::Conversation)),
    ("session_id", Field::Hint(Hint::Session)),
    ("prompt_cache_key", Field::Hint(Hint::CacheKey)),
    ("user", Field::Hint(Hint::User)),
];
const CHAT: [(&str, Field); 4] = [
    ("messages", Field::Conversation),
    ("stream_options", Field::StreamOptions),
    ("max_tokens", Field::MaxOutput),
    ("max_completion_tokens", Field::MaxOutput),
];
const RESPONSES: [(&str, Field); 3] =
    [("input", Field::Conversation), ("max_output_tokens", Field::MaxOutput), ("background", Field::Background)];
const MESSAGES: [(&str, Field); 2] = [("messages", Field::Conversation), ("max_tokens", Field::MaxOutput)];
const GEMINI: [(&str, Field); 4] = [
    ("contents", Field::Conversation),
    ("tools", Field::Tools),
    ("generationConfig", Field::GenerationConfig),
    ("generation_config", Field::GenerationConfig),
];

fn fields(dialect: Dialect) -> impl Iterator<Item = &'static (&'static str, Field)> {
    let (common, own): (&[_], &[_]) = match dialect {
        Dialect::Chat => (&COMMON, &CHAT),
        Dialect::Responses => (&COMMON, &RESPONSES),
        Dialect::Messages => (&COMMON, &MESSAGES),
        Dialect::Gemini => (&[], &GEMINI),
    };
    common.iter().chain(own)
}

type Scan<T> = Result<T, Fault>;

impl Look<'_> {
    fn member(&mut self, scanner: &mut Scanner<'_>, key: &Text) -> Scan<()> {
        let field = fields(self.operation.dialect()).find(|(name, _)| scanner.is(key, name)).map(|(_, field)| *field);
        let from = self.last_end.unwrap_or(key.range.start);
        match field {
            Some(Field::Model) => self.model(scanner)?,
            Some(Field::Stream) => self.stream(scanner)?,
            Some(Field::StreamOptions) => self.stream_options(scanner)?,
            Some(Field::Tools) => self.tools(scanner)?,
            Some(Field::Conversation) => self.conversation(scanner)?,
            Some(Field::MaxOutput) => self.found.max_output = self.whole_number(scanner)?.or(self.found.max_output),
            Some(Field::GenerationConfig) => self.generation_config(scanner)?,
            Some(Field::Background) => self.background(scanner, from)?,
            Some(Field::Metadata) => self.metadata(scanner)?,
            Some(Field::Hint(hint)) => self.hints[hint as usize] = self.words(scanner)?,
            None => {
                scanner.skip()?;
            }
        }
        self.last_end = Some(scanner.at());
        Ok(())
    }

    fn model(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        if scanner.peek()? != Kind::String {
            scanner.skip()?;
            self.refuse(GlanceError::WrongType { field: "model", expected: "a string: the name of a model" });
            return Ok(());
        }
        let text = scanner.text_value()?;
        if self.found.model_range.is_some() {
            self.refuse(GlanceError::Duplicate { field: "model" });
        }
        self.found.model = decode(self.body, &text);
        if self.found.model.is_none() {
            self.refuse(GlanceError::WrongType { field: "model", expected: "a string of valid Unicode" });
        }
        self.found.model_range = Some(text.range);
        Ok(())
    }

    fn stream(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        let kind = scanner.peek()?;
        let range = scanner.skip()?;
        if self.found.stream_range.is_some() {
            self.refuse(GlanceError::Duplicate { field: "stream" });
        }
        match kind {
            Kind::Bool(on) => self.found.stream = on,
            Kind::Null => self.found.stream = false,
            Kind::Object | Kind::Array | Kind::String | Kind::Number => {
                self.refuse(GlanceError::WrongType { field: "stream", expected: "true or false" });
            }
        }
        self.found.stream_range = Some(range);
        Ok(())
    }

    fn stream_options(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        if self.found.stream_options.is_some() {
            self.refuse(GlanceError::Duplicate { field: "stream_options" });
        }
        let kind = scanner.peek()?;
        if kind != Kind::Object {
            let range = scanner.skip()?;
            if kind != Kind::Null {
                self.refuse(GlanceError::WrongType { field: "stream_options", expected: "an object" });
            }
            self.found.stream_options = Some(StreamOptions { range, include_usage: None, insert: None });
            return Ok(());
        }
        let (mut is_on, mut include_usage, mut last_end) = (false, None, None);
        let range = scanner.object(|scanner, key| {
            let is_include_usage = scanner.is(&key, "include_usage");
            let kind = scanner.peek()?;
            let value = scanner.skip()?;
            last_end = Some(value.end);
            if is_include_usage {
                is_on = kind == Kind::Bool(true);
                include_usage = Some(value);
            }
            Ok(())
        })?;
        self.found.include_usage = is_on;
        let insert = Insert { at: last_end.unwrap_or(range.start + 1), needs_comma: last_end.is_some() };
        self.found.stream_options = Some(StreamOptions { range, include_usage, insert: Some(insert) });
        Ok(())
    }

    fn tools(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        let count = match self.operation.dialect() {
            Dialect::Chat | Dialect::Responses | Dialect::Messages => count(scanner)?,
            Dialect::Gemini => {
                sum(scanner, |scanner| member_count(scanner, &["functionDeclarations", "function_declarations"]))?
            }
        };
        self.found.tool_count = self.found.tool_count.saturating_add(count);
        Ok(())
    }

    fn conversation(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        if self.operation.dialect() != Dialect::Responses {
            self.found.message_count = count(scanner)?;
            return Ok(());
        }
        if scanner.peek()? == Kind::String {
            scanner.skip()?;
            self.found.message_count = 1;
            return Ok(());
        }
        let mut items = 0_u32;
        let tools = sum(scanner, |scanner| {
            items = items.saturating_add(1);
            additional_tools(scanner)
        })?;
        self.found.message_count = items;
        self.found.tool_count = self.found.tool_count.saturating_add(tools);
        Ok(())
    }

    fn generation_config(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        if scanner.peek()? != Kind::Object {
            return scanner.skip().map(drop);
        }
        scanner.object(|scanner, key| {
            if scanner.is(&key, "maxOutputTokens") || scanner.is(&key, "max_output_tokens") {
                self.found.max_output = self.whole_number(scanner)?;
            } else {
                scanner.skip()?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// `from` is where the cut begins when the member is not the first: the end of the member before.
    fn background(&mut self, scanner: &mut Scanner<'_>, from: usize) -> Scan<()> {
        let kind = scanner.peek()?;
        let value = scanner.skip()?;
        if self.found.background.is_some() {
            self.refuse(GlanceError::Duplicate { field: "background" });
        }
        if kind == Kind::Bool(true) {
            let is_first = self.last_end.is_none();
            let to = if is_first { next_key(self.body, value.end) } else { value.end };
            self.found.background = Some(from..to);
        }
        Ok(())
    }

    fn metadata(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        if scanner.peek()? != Kind::Object {
            return scanner.skip().map(drop);
        }
        scanner.object(|scanner, key| {
            if scanner.is(&key, "user_id") {
                let user = self.words(scanner)?;
                self.hints[Hint::MetadataUser as usize] = user.map(session_part);
            } else if scanner.is(&key, "session_id") || scanner.is(&key, "sessionId") {
                self.hints[Hint::MetadataSession as usize] = self.words(scanner)?;
            } else {
                scanner.skip()?;
            }
            Ok(())
        })?;
        Ok(())
    }

    fn whole_number(&self, scanner: &mut Scanner<'_>) -> Scan<Option<u64>> {
        let range = scanner.skip()?;
        Ok(std::str::from_utf8(&self.body[range]).ok().and_then(|digits| digits.parse().ok()))
    }

    /// A string that says something.
    fn words(&self, scanner: &mut Scanner<'_>) -> Scan<Option<String>> {
        if scanner.peek()? != Kind::String {
            scanner.skip()?;
            return Ok(None);
        }
        let text = scanner.text_value()?;
        Ok(decode(self.body, &text).filter(|words| !words.trim().is_empty()))
    }

    fn refuse(&mut self, error: GlanceError) {
        self.refused.get_or_insert(error);
    }
}

/// The session inside a `user_id`: Claude Code writes a JSON object with `session_id`, earlier versions
/// `user_…_session_…`. Any other text names the session as a whole.
fn session_part(user_id: String) -> String {
    #[derive(serde::Deserialize)]
    struct Structured {
        session_id: String,
    }
    if let Ok(structured) = serde_json::from_str::<Structured>(&user_id) {
        return structured.session_id;
    }
    match user_id.split_once("_session_") {
        Some((_, session)) if !session.is_empty() => session.to_owned(),
        _ => user_id,
    }
}

/// Elements of the array that begins here; zero when it is none.
fn count(scanner: &mut Scanner<'_>) -> Scan<u32> {
    sum(scanner, |scanner| scanner.skip().map(|_| 1))
}

/// Sum over the elements of the array that begins here; zero when it is none.
fn sum(scanner: &mut Scanner<'_>, mut element: impl FnMut(&mut Scanner<'_>) -> Scan<u32>) -> Scan<u32> {
    if scanner.peek()? != Kind::Array {
        scanner.skip()?;
        return Ok(0);
    }
    let mut total = 0_u32;
    scanner.array(|scanner| {
        total = total.saturating_add(element(scanner)?);
        Ok(())
    })?;
    Ok(total)
}

/// Elements of the arrays that are members of the object that begins here, under one of `names`.
fn member_count(scanner: &mut Scanner<'_>, names: &[&str]) -> Scan<u32> {
    if scanner.peek()? != Kind::Object {
        scanner.skip()?;
        return Ok(0);
    }
    let mut total = 0_u32;
    scanner.object(|scanner, key| {
        if names.iter().any(|name| scanner.is(&key, name)) {
            total = total.saturating_add(count(scanner)?);
        } else {
            scanner.skip()?;
        }
        Ok(())
    })?;
    Ok(total)
}

/// Tools of a Responses input item of type `additional_tools`, which the newest Codex models use instead of top-level
/// `tools`.
fn additional_tools(scanner: &mut Scanner<'_>) -> Scan<u32> {
    if scanner.peek()? != Kind::Object {
        scanner.skip()?;
        return Ok(0);
    }
    let (mut tools, mut is_tool_list) = (0, false);
    scanner.object(|scanner, key| {
        if scanner.is(&key, "tools") {
            tools = count(scanner)?;
        } else if scanner.is(&key, "type") && scanner.peek()? == Kind::String {
            let kind = scanner.text_value()?;
            is_tool_list = scanner.is(&kind, "additional_tools");
        } else {
            scanner.skip()?;
        }
        Ok(())
    })?;
    Ok(if is_tool_list { tools } else { 0 })
}

/// The start of the next key after the first member's value, or the end of that value when it is the only member.
fn next_key(body: &[u8], value_end: usize) -> usize {
    let rest = &body[value_end..];
    let space = |bytes: &[u8]| bytes.len() - bytes.trim_ascii_start().len();
    let comma = space(rest);
    match rest.get(comma) {
        Some(b',') => value_end + comma + 1 + space(&rest[comma + 1..]),
        _ => value_end,
    }
}

fn decode(body: &[u8], text: &Text) -> Option<String> {
    serde_json::from_slice(&body[text.range.clone()]).ok()
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
