//! The parts of a Messages request that are read.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor, value};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lenient::{Amount, Text};

/// A whole request. Members without a place here are named in `dropped`.
#[derive(Debug, Default)]
pub(super) struct Body<'a> {
    pub(super) model: Option<Text<'a>>,
    pub(super) messages: Vec<Message<'a>>,
    pub(super) system: Option<Content<'a>>,
    pub(super) tools: Vec<&'a RawValue>,
    pub(super) tool_choice: Option<ToolChoice<'a>>,
    pub(super) thinking: Option<Thinking<'a>>,
    pub(super) output_config: Option<OutputConfig<'a>>,
    /// The older place of `output_config.format`.
    pub(super) output_format: Option<Format<'a>>,
    pub(super) max_tokens: Option<Amount>,
    pub(super) temperature: Option<Amount>,
    pub(super) top_p: Option<Amount>,
    pub(super) top_k: Option<Amount>,
    pub(super) stop_sequences: Option<Vec<Text<'a>>>,
    pub(super) stream: Option<bool>,
    pub(super) metadata: Option<Metadata<'a>>,
    pub(super) service_tier: Option<Text<'a>>,
    pub(super) dropped: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) role: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
}

/// Content: a text, or blocks.
#[derive(Debug)]
pub(super) enum Content<'a> {
    Text(Text<'a>),
    Blocks(Vec<&'a RawValue>),
}

/// Content of a block. Blocks that only Anthropic knows hold other things here.
#[derive(Debug)]
pub(super) enum Nested<'a> {
    Content(Content<'a>),
    Other,
}

/// Any block of a conversation, or of a tool's result.
#[derive(Debug, Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) data: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_use_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<Nested<'a>>,
    pub(super) is_error: Option<bool>,
    #[serde(borrow)]
    pub(super) source: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) title: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) cache_control: Option<CacheControl<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CacheControl<'a> {
    #[serde(borrow)]
    pub(super) ttl: Option<Text<'a>>,
}

/// Where the bytes of an image or a document are.
#[derive(Debug, Deserialize)]
pub(super) struct MediaSource<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) media_type: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) data: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) url: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) file_id: Option<Text<'a>>,
    /// Of a document: its blocks, of which the text is taken.
    #[serde(borrow)]
    pub(super) content: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Tool<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) description: Option<Text<'a>>,
    pub(super) input_schema: Option<Value>,
    pub(super) strict: Option<bool>,
    #[serde(borrow)]
    pub(super) cache_control: Option<CacheControl<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolChoice<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    pub(super) disable_parallel_tool_use: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Thinking<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    pub(super) budget_tokens: Option<Amount>,
    #[serde(borrow)]
    pub(super) display: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OutputConfig<'a> {
    #[serde(borrow)]
    pub(super) effort: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) format: Option<Format<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Format<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    pub(super) schema: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Metadata<'a> {
    #[serde(borrow)]
    pub(super) user_id: Option<Text<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of blocks")
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> Result<Content<'de>, E> {
        Text::deserialize(value::BorrowedStrDeserializer::new(text)).map(Content::Text)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Content<'de>, E> {
        Text::deserialize(value::StringDeserializer::new(text.to_owned())).map(Content::Text)
    }

    fn visit_unit<E>(self) -> Result<Content<'de>, E> {
        Ok(Content::Blocks(Vec::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Content<'de>, A::Error> {
        let mut all = Vec::new();
        while let Some(block) = blocks.next_element()? {
            all.push(block);
        }
        Ok(Content::Blocks(all))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Nested<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NestedVisitor)
    }
}

struct NestedVisitor;

impl<'de> Visitor<'de> for NestedVisitor {
    type Value = Nested<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> Result<Nested<'de>, E> {
        ContentVisitor.visit_borrowed_str(text).map(Nested::Content)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Nested<'de>, E> {
        ContentVisitor.visit_str(text).map(Nested::Content)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, blocks: A) -> Result<Nested<'de>, A::Error> {
        ContentVisitor.visit_seq(blocks).map(Nested::Content)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Nested<'de>, E> {
        Ok(Nested::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Nested<'de>, E> {
        Ok(Nested::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Nested<'de>, E> {
        Ok(Nested::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Nested<'de>, E> {
        Ok(Nested::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Nested<'de>, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Nested::Other)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Body<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BodyVisitor)
    }
}

struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = Body<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Messages request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Body<'de>, A::Error> {
        let mut body = Body::default();
        while let Some(key) = members.next_key::<Text<'de>>()? {
            match key.as_str() {
                "model" => body.model = members.next_value()?,
                "messages" => body.messages = members.next_value::<Option<_>>()?.unwrap_or_default(),
                "system" => body.system = members.next_value()?,
                "tools" => body.tools = members.next_value::<Option<_>>()?.unwrap_or_default(),
                "tool_choice" => body.tool_choice = members.next_value()?,
                "thinking" => body.thinking = members.next_value()?,
                "output_config" => body.output_config = members.next_value()?,
                "output_format" => body.output_format = members.next_value()?,
                "max_tokens" => body.max_tokens = members.next_value()?,
                "temperature" => body.temperature = members.next_value()?,
                "top_p" => body.top_p = members.next_value()?,
                "top_k" => body.top_k = members.next_value()?,
                "stop_sequences" => body.stop_sequences = members.next_value()?,
                "stream" => body.stream = members.next_value()?,
                "metadata" => body.metadata = members.next_value()?,
                "service_tier" => body.service_tier = members.next_value()?,
                other => {
                    body.dropped.push(other.to_owned());
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(body)
    }
}
