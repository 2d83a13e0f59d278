//! The shapes of a generateContent request. Read in camel case and, as Google's own servers do, in snake case.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// What is read of the body. Members that are not here are dropped by name.
#[derive(Debug, Default)]
pub(super) struct Body<'a> {
    pub(super) contents: Vec<Content<'a>>,
    pub(super) system: Option<Content<'a>>,
    pub(super) tools: Vec<&'a RawValue>,
    pub(super) tool_config: Option<ToolConfig>,
    pub(super) generation: Generation<'a>,
    pub(super) dropped: Vec<String>,
}

/// The members of a body: the conversation is read at once, the others when it is known what they are.
#[derive(Debug, Default)]
pub(super) struct Members<'a> {
    pub(super) contents: Vec<Content<'a>>,
    pub(super) others: BTreeMap<String, &'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Members::default();
        while let Some(name) = map.next_key::<String>()? {
            if name == "contents" {
                members.contents = map.next_value::<Option<OneOrMany<_>>>()?.map(|list| list.0).unwrap_or_default();
            } else {
                members.others.insert(name, map.next_value()?);
            }
        }
        Ok(members)
    }
}

/// A list, or the one element that should stand in it.
struct OneOrMany<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<OneOrMany<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            list.push(element);
        }
        Ok(OneOrMany(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<OneOrMany<T>, A::Error> {
        Ok(OneOrMany(vec![T::deserialize(MapAccessDeserializer::new(members))?]))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Content<'a> {
    pub(super) role: Option<String>,
    /// A list of parts, or one.
    #[serde(borrow)]
    pub(super) parts: Option<&'a RawValue>,
}

/// A part as read; what it is depends on which of these is there.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadPart<'a> {
    pub(super) text: Option<String>,
    pub(super) thought: Option<bool>,
    #[serde(alias = "thought_signature")]
    pub(super) thought_signature: Option<String>,
    #[serde(alias = "inline_data")]
    pub(super) inline_data: Option<ReadBlob>,
    #[serde(alias = "file_data")]
    pub(super) file_data: Option<ReadFile>,
    #[serde(borrow, alias = "function_call")]
    pub(super) function_call: Option<ReadCall<'a>>,
    #[serde(borrow, alias = "function_response")]
    pub(super) function_response: Option<ReadResponse<'a>>,
    #[serde(alias = "executable_code")]
    pub(super) executable_code: Option<ExecutableCode>,
    #[serde(alias = "code_execution_result")]
    pub(super) code_execution_result: Option<ExecutionResult>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadBlob {
    #[serde(alias = "mime_type", default)]
    pub(super) mime_type: String,
    #[serde(default)]
    pub(super) data: String,
    #[serde(alias = "display_name")]
    pub(super) display_name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadFile {
    #[serde(alias = "mime_type", default)]
    pub(super) mime_type: String,
    #[serde(alias = "file_uri", default)]
    pub(super) file_uri: String,
    #[serde(alias = "display_name")]
    pub(super) display_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReadCall<'a> {
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) name: String,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReadResponse<'a> {
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) name: String,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    /// Media of the result, on the newest models.
    #[serde(borrow)]
    pub(super) parts: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExecutableCode {
    #[serde(default)]
    pub(super) code: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExecutionResult {
    #[serde(default)]
    pub(super) output: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadDeclaration {
    #[serde(default)]
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) parameters: Option<Value>,
    #[serde(alias = "parameters_json_schema")]
    pub(super) parameters_json_schema: Option<Value>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolConfig {
    #[serde(alias = "function_calling_config", skip_serializing_if = "Option::is_none")]
    pub(super) function_calling_config: Option<CallingConfig>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallingConfig {
    #[serde(default)]
    pub(super) mode: Cow<'static, str>,
    #[serde(default, alias = "allowed_function_names", skip_serializing_if = "Vec::is_empty")]
    pub(super) allowed_function_names: Vec<String>,
}

/// `generationConfig`, read and written. Its members that are not here are dropped by name.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Generation<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_k: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) candidate_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) stop_sequences: Cow<'a, [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_logprobs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logprobs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_mime_type: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_schema: Option<Value>,
    #[serde(skip)]
    pub(super) response_json_schema: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_config: Option<ThinkingConfig>,
}

#[derive(Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(alias = "include_thoughts", skip_serializing_if = "Option::is_none")]
    pub(super) include_thoughts: Option<bool>,
    /// Tokens; -1 leaves it to the model.
    #[serde(alias = "thinking_budget", skip_serializing_if = "Option::is_none")]
    pub(super) thinking_budget: Option<i64>,
    #[serde(alias = "thinking_level", skip_serializing_if = "Option::is_none")]
    pub(super) thinking_level: Option<Cow<'static, str>>,
}

/// The body as written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WrittenBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system_instruction: Option<WrittenContent<'a>>,
    pub(super) contents: Vec<WrittenContent<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Group<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_config: Option<ToolConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) generation_config: Option<Generation<'a>>,
}

#[derive(Serialize)]
pub(super) struct WrittenContent<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<&'static str>,
    pub(super) parts: Vec<WrittenPart<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum WrittenPart<'a> {
    Known(Box<KnownPart<'a>>),
    Raw(&'a RawValue),
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KnownPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_data: Option<File<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_call: Option<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_response: Option<Response<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob<'a> {
    pub(super) mime_type: &'a str,
    pub(super) data: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) display_name: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<&'static str>,
    pub(super) file_uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) display_name: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    pub(super) args: Box<RawValue>,
}

#[derive(Serialize)]
pub(super) struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    pub(super) response: Outcome<'a>,
}

/// What a tool brought: its own object, or text in one.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Outcome<'a> {
    Object(Box<RawValue>),
    Output { output: Cow<'a, str> },
    Error { error: Cow<'a, str> },
}

/// One entry of `tools`: all functions together, or a tool of Google's.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Group<'a> {
    #[serde(rename_all = "camelCase")]
    Functions {
        function_declarations: Vec<Declaration<'a>>,
    },
    #[serde(rename_all = "camelCase")]
    Search {
        google_search: Empty,
    },
    #[serde(rename_all = "camelCase")]
    Code {
        code_execution: Empty,
    },
    #[serde(rename_all = "camelCase")]
    Urls {
        url_context: Empty,
    },
    Raw(&'a RawValue),
}

#[derive(Serialize)]
pub(super) struct Empty {}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Declaration<'a> {
    Raw(&'a RawValue),
    Function {
        name: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parameters: Option<Value>,
    },
}
