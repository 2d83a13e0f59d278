//! The parts of Responses requests that are read. Every field takes what clients really send: numbers as text, one part
//! instead of a list, the nesting of Chat.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::lenient::{Amount, Text};

/// Everything of a request that translates.
#[derive(Debug, Deserialize)]
pub(super) struct Body<'a> {
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) stream: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) instructions: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tools: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) tool_choice: Option<Choice<'a>>,
    #[serde(borrow)]
    pub(super) parallel_tool_calls: Option<Text<'a>>,
    pub(super) temperature: Option<Amount>,
    pub(super) top_p: Option<Amount>,
    pub(super) top_logprobs: Option<Amount>,
    pub(super) max_output_tokens: Option<Amount>,
    #[serde(borrow)]
    pub(super) reasoning: Option<Reasoning<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<TextOptions<'a>>,
    #[serde(borrow)]
    pub(super) user: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) safety_identifier: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) prompt_cache_key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) service_tier: Option<Text<'a>>,
    pub(super) metadata: Option<Map<String, Value>>,
    #[serde(borrow)]
    pub(super) previous_response_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) store: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) include: Option<Vec<Text<'a>>>,
    /// Says nothing to a translator.
    #[serde(rename = "stream_options")]
    _stream_options: Option<IgnoredAny>,
    /// Everything else, and whether it says something.
    #[serde(flatten)]
    pub(super) rest: BTreeMap<String, Said>,
}

/// Whether a value says something: `null`, `false` and what is empty do not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said(pub(super) bool);

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let is_empty = match Value::deserialize(deserializer)? {
            Value::Null | Value::Bool(false) => true,
            Value::Array(list) => list.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
        };
        Ok(Said(!is_empty))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Reasoning<'a> {
    #[serde(borrow)]
    pub(super) effort: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) summary: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TextOptions<'a> {
    #[serde(borrow)]
    pub(super) format: Option<Format<'a>>,
    #[serde(borrow)]
    pub(super) verbosity: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Format<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) description: Option<Text<'a>>,
    pub(super) schema: Option<Value>,
    pub(super) strict: Option<bool>,
    /// As Chat nests it.
    #[serde(borrow)]
    pub(super) json_schema: Option<Box<Format<'a>>>,
}

/// An item of `input`: the fields of all kinds, of which each has a few.
#[derive(Debug, Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) role: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) call_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) namespace: Option<Text<'a>>,
    /// Text; an object at some clients.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) input: Option<Text<'a>>,
    /// What a shell call runs.
    #[serde(borrow)]
    pub(super) action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) content: Content<'a>,
    #[serde(borrow, default)]
    pub(super) output: Content<'a>,
    #[serde(borrow, default)]
    pub(super) summary: Content<'a>,
    #[serde(borrow)]
    pub(super) encrypted_content: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tools: Option<Vec<&'a RawValue>>,
}

/// Content as plain text or as parts.
#[derive(Debug, Default)]
pub(super) struct Content<'a>(pub(super) Vec<Part<'a>>);

/// A part of content: the fields of all kinds.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) image_url: Option<Link<'a>>,
    #[serde(borrow)]
    pub(super) detail: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) file_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) file_url: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) file_data: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) filename: Option<Text<'a>>,
    /// As Chat nests a file.
    #[serde(borrow)]
    pub(super) file: Option<Box<Part<'a>>>,
    #[serde(borrow)]
    pub(super) input_audio: Option<Audio<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Audio<'a> {
    #[serde(borrow)]
    pub(super) data: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) format: Option<Text<'a>>,
}

/// Where an image is: plain text, or as in Chat an object around it.
#[derive(Debug, Default)]
pub(super) struct Link<'a> {
    pub(super) url: Cow<'a, str>,
    pub(super) detail: Option<Text<'a>>,
}

/// A definition of a tool: the fields of all kinds.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Tool<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) description: Option<Text<'a>>,
    pub(super) parameters: Option<Value>,
    pub(super) strict: Option<bool>,
    /// As Chat nests a function.
    #[serde(borrow)]
    pub(super) function: Option<Box<Tool<'a>>>,
    /// The tools of a namespace.
    #[serde(borrow)]
    pub(super) tools: Option<Vec<&'a RawValue>>,
}

/// A word, or an object.
#[derive(Debug, Default)]
pub(super) struct Choice<'a> {
    pub(super) word: Cow<'a, str>,
    pub(super) object: Option<ChoiceObject<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChoiceObject<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) mode: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tools: Option<Vec<ChoiceObject<'a>>>,
    /// As Chat nests a function.
    #[serde(borrow)]
    pub(super) function: Option<Box<ChoiceObject<'a>>>,
}

/// What stands where a text may be plain, an object, or a list of both.
enum Loose<'a, T> {
    Nothing,
    Plain(Cow<'a, str>),
    Object(T),
    List(Vec<Loose<'a, T>>),
}

struct LooseVisitor<T>(std::marker::PhantomData<T>);

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Loose<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor(std::marker::PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for LooseVisitor<T> {
    type Value = Loose<'de, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, an object or a list")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Loose::Plain(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Loose::Plain(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Loose::Plain(Cow::Owned(text)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Loose::Nothing)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Loose::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            list.push(element);
        }
        Ok(Loose::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Loose::Object)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut parts = Vec::new();
        gather(Loose::deserialize(deserializer)?, &mut parts);
        Ok(Content(parts))
    }
}

fn gather<'a>(loose: Loose<'a, Part<'a>>, parts: &mut Vec<Part<'a>>) {
    match loose {
        Loose::Nothing => {}
        Loose::Plain(text) => parts.push(Part { text: Some(Text(text)), ..Part::default() }),
        Loose::Object(part) => parts.push(part),
        Loose::List(list) => list.into_iter().for_each(|loose| gather(loose, parts)),
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Link<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Nested<'a> {
            #[serde(borrow)]
            url: Option<Text<'a>>,
            #[serde(borrow)]
            detail: Option<Text<'a>>,
        }
        Ok(match Loose::<Nested<'a>>::deserialize(deserializer)? {
            Loose::Plain(url) => Link { url, detail: None },
            Loose::Object(nested) => Link { url: nested.url.unwrap_or_default().0, detail: nested.detail },
            Loose::Nothing | Loose::List(_) => Link::default(),
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Choice<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Loose::<ChoiceObject<'a>>::deserialize(deserializer)? {
            Loose::Plain(word) => Choice { word, object: None },
            Loose::Object(object) => Choice { word: Cow::Borrowed(""), object: Some(object) },
            Loose::Nothing | Loose::List(_) => Choice::default(),
        })
    }
}
