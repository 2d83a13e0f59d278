//! What a model says, before any dialect shapes it.

use std::time::Duration;

use domain::Usage;

/// One answer: reasoning first, then text, then tool calls, cut into pieces when it is streamed.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// `{tool_result}` in it is replaced by the text of the last tool result of the request; `{seen}` by what the
    /// request says, as one JSON object that is the same in every dialect.
    pub text: String,
    /// Empty: no reasoning at all.
    pub reasoning: String,
    pub tool_calls: Vec<ToolCall>,
    /// `None`: the upstream reports no usage.
    pub usage: Option<Usage>,
    pub finish: Finish,
    /// Into how many pieces text, reasoning and each tool call's arguments are cut when streamed; at least 1.
    pub chunks: usize,
    /// The wait before each streamed event except the first.
    pub delay: Duration,
}

/// One tool call of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// `None`: the server makes one up, different for every call, in the dialect's own style.
    pub id: Option<String>,
    pub name: String,
    /// JSON text, or plain text when the kind is `Custom`. Sent as it is, even when it is broken.
    pub arguments: String,
    pub kind: ToolKind,
}

/// How a tool takes its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// A JSON object.
    Function,
    /// Free text: `custom_tool_call` of the Responses dialect. Other dialects send it as a function with one member
    /// `input`.
    Custom,
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// "Tool calls" when there are any, otherwise the end of the turn.
    Natural,
    /// The output limit was reached.
    Length,
    /// A filter stopped the answer.
    Filter,
    /// This stop sequence was met.
    StopSequence(String),
    /// This word, as it is, in the dialect's own field.
    Other(String),
}

impl Answer {
    /// The figures of an answer that states none of its own: 12 fresh input tokens, 7 output tokens.
    pub const DEFAULT_USAGE: Usage = Usage {
        input_fresh: Some(12),
        cache_read: None,
        cache_write: None,
        output: Some(7),
        reasoning: None,
        provider_cost: None,
        estimated: false,
    };

    /// Plain text in three pieces, without delay.
    pub fn text(text: impl Into<String>) -> Answer {
        Answer { text: text.into(), ..Answer::default() }
    }

    /// One call of a function tool and no text.
    pub fn tool_call(name: impl Into<String>, arguments: &serde_json::Value) -> Answer {
        Answer::text("").with_tool_call(name, arguments)
    }

    #[must_use]
    pub fn with_reasoning(mut self, reasoning: impl Into<String>) -> Answer {
        self.reasoning = reasoning.into();
        self
    }

    /// Adds a function call; several make a parallel group.
    #[must_use]
    pub fn with_tool_call(mut self, name: impl Into<String>, arguments: &serde_json::Value) -> Answer {
        self.tool_calls.push(ToolCall::function(name, arguments.to_string()));
        self
    }

    #[must_use]
    pub fn with_usage(mut self, usage: impl Into<Option<Usage>>) -> Answer {
        self.usage = usage.into();
        self
    }

    #[must_use]
    pub fn with_finish(mut self, finish: Finish) -> Answer {
        self.finish = finish;
        self
    }

    #[must_use]
    pub fn in_chunks(mut self, chunks: usize, delay: Duration) -> Answer {
        self.chunks = chunks;
        self.delay = delay;
        self
    }

    /// The pieces in which `text` is streamed: none for an empty text, never more than it has characters.
    pub(crate) fn pieces<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let characters = text.chars().count();
        let size = characters.div_ceil(self.chunks.max(1)).max(1);
        let mut pieces = Vec::with_capacity(self.chunks);
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
            let (piece, tail) = rest.split_at(end);
            pieces.push(piece);
            rest = tail;
        }
        pieces
    }
}

impl Default for Answer {
    fn default() -> Answer {
        Answer {
            text: "Hello from the fake upstream".to_owned(),
            reasoning: String::new(),
            tool_calls: Vec::new(),
            usage: Some(Answer::DEFAULT_USAGE),
            finish: Finish::Natural,
            chunks: 3,
            delay: Duration::ZERO,
        }
    }
}

impl ToolCall {
    pub fn function(name: impl Into<String>, arguments: impl Into<String>) -> ToolCall {
        ToolCall { id: None, name: name.into(), arguments: arguments.into(), kind: ToolKind::Function }
    }

    pub fn custom(name: impl Into<String>, input: impl Into<String>) -> ToolCall {
        ToolCall { id: None, name: name.into(), arguments: input.into(), kind: ToolKind::Custom }
    }

    /// The arguments as JSON text, for dialects that know functions only.
    pub(crate) fn json_arguments(&self) -> String {
        match self.kind {
            ToolKind::Function => self.arguments.clone(),
            ToolKind::Custom => serde_json::json!({ "input": self.arguments }).to_string(),
        }
    }

    /// The arguments as a JSON value; broken text becomes an empty object.
    pub(crate) fn object_arguments(&self) -> serde_json::Value {
        serde_json::from_str(&self.json_arguments()).unwrap_or_else(|_| serde_json::json!({}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_the_text_and_never_split_a_character() {
        for (text, chunks, expected) in
            [("", 3, 0), ("a", 3, 1), ("abcdef", 3, 3), ("日本語です", 2, 2), ("abc", 0, 1), ("abcd", 3, 2)]
        {
            let answer = Answer::default().in_chunks(chunks, Duration::ZERO);
            let pieces = answer.pieces(text);
            assert_eq!(pieces.concat(), text);
            assert_eq!(pieces.len(), expected, "{text} in {chunks}");
        }
    }

    #[test]
    fn a_custom_call_is_a_function_with_one_member_elsewhere() {
        assert_eq!(ToolCall::custom("patch", "a\nb").json_arguments(), r#"{"input":"a\nb"}"#);
    }
}
