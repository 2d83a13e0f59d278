//! Wire formats, and what a client can ask for in each.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A wire format. Not a provider: many providers speak the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Gemini generateContent.
    Gemini,
}

/// What a request asks an upstream to do (gateway specification, 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    ChatCompletions,
    Embeddings,
    Responses,
    Messages,
    CountTokens,
    GenerateContent,
    StreamGenerateContent,
    GeminiCountTokens,
    EmbedContent,
    BatchEmbedContents,
}

impl Dialect {
    pub const ALL: [Dialect; 4] = [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini];

    pub const fn as_str(self) -> &'static str {
        match self {
            Dialect::Chat => "chat",
            Dialect::Responses => "responses",
            Dialect::Messages => "messages",
            Dialect::Gemini => "gemini",
        }
    }

    /// The name a person knows it by.
    pub const fn label(self) -> &'static str {
        match self {
            Dialect::Chat => "OpenAI Chat Completions",
            Dialect::Responses => "OpenAI Responses",
            Dialect::Messages => "Anthropic Messages",
            Dialect::Gemini => "Gemini generateContent",
        }
    }
}

impl Operation {
    pub const fn dialect(self) -> Dialect {
        match self {
            Operation::ChatCompletions | Operation::Embeddings => Dialect::Chat,
            Operation::Responses => Dialect::Responses,
            Operation::Messages | Operation::CountTokens => Dialect::Messages,
            Operation::GenerateContent
            | Operation::StreamGenerateContent
            | Operation::GeminiCountTokens
            | Operation::EmbedContent
            | Operation::BatchEmbedContents => Dialect::Gemini,
        }
    }

    /// Whether it asks only how many tokens a request has.
    pub const fn counts_tokens(self) -> bool {
        matches!(self, Operation::CountTokens | Operation::GeminiCountTokens)
    }

    /// Whether the operation generates text, so that an answer without any is suspicious.
    pub const fn generates(self) -> bool {
        match self {
            Operation::ChatCompletions
            | Operation::Responses
            | Operation::Messages
            | Operation::GenerateContent
            | Operation::StreamGenerateContent => true,
            Operation::Embeddings
            | Operation::CountTokens
            | Operation::GeminiCountTokens
            | Operation::EmbedContent
            | Operation::BatchEmbedContents => false,
        }
    }

    /// The action part of a Gemini path, `generateContent` in `models/x:generateContent`.
    pub const fn gemini_action(self) -> Option<&'static str> {
        match self {
            Operation::GenerateContent => Some("generateContent"),
            Operation::StreamGenerateContent => Some("streamGenerateContent"),
            Operation::GeminiCountTokens => Some("countTokens"),
            Operation::EmbedContent => Some("embedContent"),
            Operation::BatchEmbedContents => Some("batchEmbedContents"),
            Operation::ChatCompletions
            | Operation::Embeddings
            | Operation::Responses
            | Operation::Messages
            | Operation::CountTokens => None,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
