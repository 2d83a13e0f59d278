//! Reads the top-level members that matter, one at a time.

use domain::{Dialect, Operation};

use super::{Glance, GlanceError, Insert, StreamOptions};
use crate::json::{Fault, Kind, Scanner, Text};

/// What was seen so far.
#[derive(Clone, Debug)]
pub(super) struct Look {
    operation: Operation,
    found: Glance,
    /// Names of the conversation, the best first; see [`Hint`].
    hints: [Option<String>; 5],
    /// End of the member read last.
    last_end: Option<usize>,
    /// The member to be cut out is the first of all.
    background_is_first: bool,
    /// The first objection; reading goes on, because a body that is not JSON at all is the more useful message.
    refused: Option<GlanceError>,
}

/// Where a name of the conversation was found, in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    MetadataSession,
    MetadataUser,
    Conversation,
    Session,
    CacheKey,
}

/// The top-level members that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
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

const COMMON: [(&str, Field); 7] = [
    ("model", Field::Model),
    ("stream", Field::Stream),
    ("tools", Field::Tools),
    ("metadata", Field::Metadata),
    ("conversation_id", Field::Hint(Hint::Conversation)),
    ("session_id", Field::Hint(Hint::Session)),
    ("prompt_cache_key", Field::Hint(Hint::CacheKey)),
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

pub(super) type Scan<T> = Result<T, Fault>;

impl Look {
    pub(super) fn new(operation: Operation) -> Look {
        Look {
            operation,
            found: Glance::default(),
            hints: Default::default(),
            last_end: None,
            background_is_first: false,
            refused: None,
        }
    }

    pub(super) fn field(&self, scanner: &Scanner<'_>, key: &Text) -> Option<Field> {
        fields(self.operation.dialect()).find(|(name, _)| scanner.is(key, name)).map(|(_, field)| *field)
    }

    /// Reads the value of a member.
    pub(super) fn member(&mut self, scanner: &mut Scanner<'_>, key: &Text, field: Option<Field>) -> Scan<()> {
        let from = self.last_end.unwrap_or(key.range.start);
        match field {
            Some(Field::Model) => self.model(scanner)?,
            Some(Field::Stream) => self.stream(scanner)?,
            Some(Field::StreamOptions) => self.stream_options(scanner)?,
            Some(Field::Tools) => self.tools(scanner)?,
            Some(Field::Conversation) => self.conversation(scanner)?,
            Some(Field::MaxOutput) => self.found.max_output = whole_number(scanner)?.or(self.found.max_output),
            Some(Field::GenerationConfig) => self.generation_config(scanner)?,
            Some(Field::Background) => self.background(scanner, from)?,
            Some(Field::Metadata) => self.metadata(scanner)?,
            Some(Field::Hint(hint)) => self.hints[hint as usize] = words(scanner)?,
            None => {
                scanner.skip()?;
            }
        }
        self.last_end = Some(scanner.at());
        Ok(())
    }

    /// Reads one element of the conversation; yields the tools that it offers.
    pub(super) fn element(&self, scanner: &mut Scanner<'_>) -> Scan<u32> {
        if self.operation.dialect() == Dialect::Responses {
            return additional_tools(scanner);
        }
        scanner.skip().map(|_| 0)
    }

    /// The conversation has ended.
    pub(super) fn elements(&mut self, count: u32, tools: u32, end: usize) {
        self.found.message_count = count;
        self.found.tool_count = self.found.tool_count.saturating_add(tools);
        self.last_end = Some(end);
    }

    /// What was found in `body`, whose object opens at `start`.
    pub(super) fn conclude(self, body: &[u8], start: usize) -> Result<Glance, GlanceError> {
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        let mut found = self.found;
        if let Some(cut) = &mut found.background
            && self.background_is_first
        {
            cut.end = next_key(body, cut.end);
        }
        found.insert = Insert { at: self.last_end.unwrap_or(start + 1), needs_comma: self.last_end.is_some() };
        found.session_hint = self.hints.into_iter().flatten().next();
        Ok(found)
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
        self.found.model = decode(scanner, &text);
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

    /// A conversation that is no array of elements.
    fn conversation(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        let is_one = self.operation.dialect() == Dialect::Responses && scanner.peek()? == Kind::String;
        scanner.skip()?;
        self.found.message_count = u32::from(is_one);
        Ok(())
    }

    fn generation_config(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        if scanner.peek()? != Kind::Object {
            return scanner.skip().map(drop);
        }
        scanner.object(|scanner, key| {
            if scanner.is(&key, "maxOutputTokens") || scanner.is(&key, "max_output_tokens") {
                self.found.max_output = whole_number(scanner)?;
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
            self.background_is_first = self.last_end.is_none();
            self.found.background = Some(from..value.end);
        }
        Ok(())
    }

    fn metadata(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        if scanner.peek()? != Kind::Object {
            return scanner.skip().map(drop);
        }
        scanner.object(|scanner, key| {
            if scanner.is(&key, "user_id") {
                let user = words(scanner)?;
                self.hints[Hint::MetadataUser as usize] = user.map(session_part);
            } else if scanner.is(&key, "session_id") || scanner.is(&key, "sessionId") {
                self.hints[Hint::MetadataSession as usize] = words(scanner)?;
            } else {
                scanner.skip()?;
            }
            Ok(())
        })?;
        Ok(())
    }

    fn refuse(&mut self, error: GlanceError) {
        self.refused.get_or_insert(error);
    }
}

fn whole_number(scanner: &mut Scanner<'_>) -> Scan<Option<u64>> {
    let range = scanner.skip()?;
    Ok(std::str::from_utf8(scanner.slice(&range)).ok().and_then(|digits| digits.parse().ok()))
}

/// A string that says something.
fn words(scanner: &mut Scanner<'_>) -> Scan<Option<String>> {
    if scanner.peek()? != Kind::String {
        scanner.skip()?;
        return Ok(None);
    }
    let text = scanner.text_value()?;
    Ok(decode(scanner, &text).filter(|words| !words.trim().is_empty()))
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

fn decode(scanner: &Scanner<'_>, text: &Text) -> Option<String> {
    serde_json::from_slice(scanner.slice(&text.range)).ok()
}
