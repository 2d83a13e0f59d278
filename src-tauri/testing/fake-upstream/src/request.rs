//! What a request asks for: endpoint, credential, model, form of the answer.

use std::borrow::Cow;

use bytes::Bytes;
use domain::{Dialect, Operation};
use http::{HeaderMap, Method, request};
use serde::Deserialize;
use serde_json::Value;

/// What a request is addressed to. Paths are told apart by their end, so any prefix before it is fine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A call to a model.
    Run(Operation),
    /// The list of models, in one of the shapes of `list_dialect`: Chat, Messages or Gemini.
    ListModels(Dialect),
    /// One model.
    GetModel(Dialect),
    /// Ollama's list of models.
    OllamaTags,
    /// Nothing that is served here, unless its path is scripted as if it were a model.
    Unknown,
}

/// A request, understood.
#[derive(Debug)]
pub(crate) struct Ask {
    pub endpoint: Endpoint,
    pub key: Option<String>,
    pub model: Option<String>,
    pub stream: bool,
    /// Chat: `stream_options.include_usage`.
    pub include_usage: bool,
    /// Responses: `include` asks for encrypted reasoning.
    pub encrypted_reasoning: bool,
    /// Gemini: `alt=sse`.
    pub sse: bool,
    /// Messages: the version header is there.
    pub versioned: bool,
    pub well_formed: bool,
    pub body: Bytes,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Head<'a> {
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    #[serde(borrow)]
    include: Option<Vec<Cow<'a, str>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StreamOptions {
    include_usage: Option<bool>,
}

impl Ask {
    pub(crate) fn read(parts: &request::Parts, body: Bytes) -> Ask {
        let (endpoint, path_model) = endpoint(&parts.method, parts.uri.path(), &parts.headers);
        let query = parts.uri.query().unwrap_or_default();
        let head = if body.is_empty() { Ok(Head::default()) } else { serde_json::from_slice::<Head<'_>>(&body) };
        let well_formed = head.is_ok() && (!body.is_empty() || !matches!(endpoint, Endpoint::Run(_)));
        let head = head.unwrap_or_default();
        let stream = match endpoint {
            Endpoint::Run(Operation::StreamGenerateContent) => true,
            Endpoint::Run(operation) if operation.dialect() == Dialect::Gemini => false,
            _ => head.stream.unwrap_or(false),
        };
        Ask {
            key: key(&parts.headers, query),
            model: path_model.or_else(|| head.model.map(Cow::into_owned)),
            stream,
            include_usage: head.stream_options.and_then(|options| options.include_usage).unwrap_or(false),
            encrypted_reasoning: head
                .include
                .is_some_and(|include| include.iter().any(|name| name == "reasoning.encrypted_content")),
            sse: query_value(query, "alt").is_some_and(|alt| alt == "sse"),
            versioned: parts.headers.contains_key("anthropic-version"),
            well_formed,
            endpoint,
            body,
        }
    }

    /// The dialect in which errors are written.
    pub(crate) fn dialect(&self) -> Dialect {
        match self.endpoint {
            Endpoint::Run(operation) => operation.dialect(),
            Endpoint::ListModels(dialect) | Endpoint::GetModel(dialect) => dialect,
            Endpoint::OllamaTags | Endpoint::Unknown => Dialect::Chat,
        }
    }

    /// Whether the answer is a Gemini stream without `alt=sse`: one JSON array.
    pub(crate) fn array(&self) -> bool {
        self.endpoint == Endpoint::Run(Operation::StreamGenerateContent) && !self.sse
    }

    /// The body; Gemini's with its members in the one of the two spellings that its documents use.
    pub(crate) fn json(&self) -> Value {
        let mut body = serde_json::from_slice(&self.body).unwrap_or_default();
        if self.dialect() == Dialect::Gemini {
            spell(&mut body);
        }
        body
    }

    /// The text of the last tool result, when the conversation ends in one.
    pub(crate) fn tool_result(&self) -> Option<String> {
        let body = self.json();
        let last = |name: &str| body.get(name).and_then(Value::as_array).and_then(|list| list.last()).cloned();
        match self.dialect() {
            Dialect::Chat => {
                last("messages").filter(|message| message["role"] == "tool").map(|m| text_of(&m["content"]))
            }
            Dialect::Responses => last("input")
                .filter(|item| item["type"].as_str().is_some_and(|kind| kind.ends_with("_call_output")))
                .map(|item| text_of(&item["output"])),
            Dialect::Messages => {
                let message = last("messages")?;
                let blocks = message["content"].as_array()?;
                let result = blocks.iter().rfind(|block| block["type"] == "tool_result")?;
                Some(text_of(&result["content"]))
            }
            Dialect::Gemini => {
                let content = last("contents")?;
                let parts = content["parts"].as_array()?;
                let part = parts.iter().rfind(|part| part.get("functionResponse").is_some())?;
                Some(text_of(&part["functionResponse"]["response"]))
            }
        }
    }
}

/// Writes `snake_case` members in `camelCase`, except in what is the caller's own: arguments, results, schemas.
fn spell(value: &mut Value) {
    const FREE: [&str; 6] = ["args", "response", "properties", "parametersJsonSchema", "responseJsonSchema", "labels"];
    match value {
        Value::Array(entries) => entries.iter_mut().for_each(spell),
        Value::Object(members) => {
            for (name, mut value) in std::mem::take(members) {
                let name = camel_case(&name);
                if !FREE.contains(&name.as_str()) {
                    spell(&mut value);
                }
                members.insert(name, value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let initial = letters.next().map(|letter| letter.to_ascii_uppercase());
        name + &initial.into_iter().chain(letters).collect::<String>()
    })
}

/// The text in a string, in a list of text parts, or the JSON of anything else.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Object(members) => members
            .get("output")
            .or_else(|| members.get("result"))
            .or_else(|| members.get("content"))
            .map_or_else(|| value.to_string(), text_of),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn endpoint(method: &Method, path: &str, headers: &HeaderMap) -> (Endpoint, Option<String>) {
    if method == Method::POST {
        return post(path);
    }
    if method != Method::GET {
        return (Endpoint::Unknown, None);
    }
    if path.ends_with("/api/tags") {
        return (Endpoint::OllamaTags, None);
    }
    let dialect = list_dialect(path, headers);
    if path.ends_with("/models") {
        return (Endpoint::ListModels(dialect), None);
    }
    match path.split_once("/models/") {
        Some((_, model)) if !model.is_empty() => (Endpoint::GetModel(dialect), Some(decode(model))),
        _ => (Endpoint::Unknown, Some(path.to_owned())),
    }
}

fn post(path: &str) -> (Endpoint, Option<String>) {
    for (end, operation) in [
        ("/chat/completions", Operation::ChatCompletions),
        ("/responses", Operation::Responses),
        ("/messages", Operation::Messages),
        ("/messages/count_tokens", Operation::CountTokens),
        ("/embeddings", Operation::Embeddings),
    ] {
        if path.ends_with(end) {
            return (Endpoint::Run(operation), None);
        }
    }
    let Some((_, rest)) = path.split_once("/models/") else { return (Endpoint::Unknown, None) };
    let Some((model, action)) = rest.rsplit_once(':') else { return (Endpoint::Unknown, None) };
    let operation = [
        Operation::GenerateContent,
        Operation::StreamGenerateContent,
        Operation::GeminiCountTokens,
        Operation::EmbedContent,
        Operation::BatchEmbedContents,
    ]
    .into_iter()
    .find(|operation| operation.gemini_action() == Some(action));
    match operation {
        Some(operation) => (Endpoint::Run(operation), Some(decode(model))),
        None => (Endpoint::Unknown, None),
    }
}

/// Three callers expect three shapes of the same path; headers tell them apart.
fn list_dialect(path: &str, headers: &HeaderMap) -> Dialect {
    if path.contains("/v1beta") || headers.contains_key("x-goog-api-key") {
        return Dialect::Gemini;
    }
    if headers.contains_key("anthropic-version") { Dialect::Messages } else { Dialect::Chat }
}

fn key(headers: &HeaderMap, query: &str) -> Option<String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = header("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    bearer
        .or_else(|| header("x-api-key"))
        .or_else(|| header("x-goog-api-key"))
        .or_else(|| header("api-key"))
        .or_else(|| header("authorization"))
        .map(str::to_owned)
        .or_else(|| query_value(query, "key"))
}

fn query_value(query: &str, name: &str) -> Option<String> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| decode(value))
}

/// Undoes percent encoding; what is not valid stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use http::Request;
    use serde_json::json;

    use super::*;

    fn ask(method: &str, uri: &str, headers: &[(&str, &str)], body: &'static str) -> Ask {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        Ask::read(&parts, Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn every_path_form_finds_its_endpoint_and_model() {
        let model = r#"{"model":"m1"}"#;
        for (method, uri, body, endpoint, name) in [
            ("POST", "/v1/chat/completions", model, Endpoint::Run(Operation::ChatCompletions), Some("m1")),
            ("POST", "/api/openai/v1/responses", model, Endpoint::Run(Operation::Responses), Some("m1")),
            ("POST", "/v1/messages?beta=true", model, Endpoint::Run(Operation::Messages), Some("m1")),
            ("POST", "/v1/messages/count_tokens", model, Endpoint::Run(Operation::CountTokens), Some("m1")),
            ("POST", "/v1/embeddings", model, Endpoint::Run(Operation::Embeddings), Some("m1")),
            (
                "POST",
                "/v1beta/models/a%2Fb:generateContent",
                "{}",
                Endpoint::Run(Operation::GenerateContent),
                Some("a/b"),
            ),
            (
                "POST",
                "/v1/models/a/b:streamGenerateContent?alt=sse",
                "{}",
                Endpoint::Run(Operation::StreamGenerateContent),
                Some("a/b"),
            ),
            ("POST", "/v1/models/m:countTokens", "{}", Endpoint::Run(Operation::GeminiCountTokens), Some("m")),
            ("GET", "/v1/models", "", Endpoint::ListModels(Dialect::Chat), None),
            ("GET", "/v1beta/models", "", Endpoint::ListModels(Dialect::Gemini), None),
            ("GET", "/v1/models/m1", "", Endpoint::GetModel(Dialect::Chat), Some("m1")),
            ("GET", "/api/tags", "", Endpoint::OllamaTags, None),
            ("POST", "/v1/nothing", model, Endpoint::Unknown, Some("m1")),
            ("DELETE", "/v1/models", "", Endpoint::Unknown, None),
        ] {
            let ask = ask(method, uri, &[], body);
            assert_eq!((ask.endpoint, ask.model.as_deref()), (endpoint, name), "{uri}");
        }
    }

    #[test]
    fn a_credential_is_found_wherever_clients_put_it() {
        for (uri, headers) in [
            ("/v1/models", &[("authorization", "Bearer k")][..]),
            ("/v1/models", &[("authorization", "bearer k")]),
            ("/v1/models", &[("x-api-key", "k")]),
            ("/v1/models", &[("x-goog-api-key", "k")]),
            ("/v1/models", &[("api-key", "k")]),
            ("/v1beta/models?alt=sse&key=k", &[]),
        ] {
            assert_eq!(ask("GET", uri, headers, "").key.as_deref(), Some("k"), "{uri} {headers:?}");
        }
    }

    #[test]
    fn gemini_members_are_read_in_both_spellings() {
        let body = r#"{"generation_config":{"thinking_config":{"thinking_budget":1}},"tools":[{"function_declarations":[{"parameters_json_schema":{"a_b":1}}]}]}"#;
        let spelled = json!({
            "generationConfig": { "thinkingConfig": { "thinkingBudget": 1 } },
            "tools": [{ "functionDeclarations": [{ "parametersJsonSchema": { "a_b": 1 } }] }],
        });
        assert_eq!(ask("POST", "/v1beta/models/m:generateContent", &[], body).json(), spelled);
    }

    #[test]
    fn the_last_tool_result_is_read_in_every_dialect() {
        for (uri, body) in [
            (
                "/v1/chat/completions",
                r#"{"messages":[{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"21"}]}]}"#,
            ),
            ("/v1/responses", r#"{"input":[{"type":"function_call_output","call_id":"1","output":"21"}]}"#),
            (
                "/v1/messages",
                r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"21"},{"type":"text","text":"x"}]}]}"#,
            ),
            (
                "/v1beta/models/m:generateContent",
                r#"{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{"output":"21"}}}]}]}"#,
            ),
        ] {
            assert_eq!(ask("POST", uri, &[], body).tool_result().as_deref(), Some("21"), "{uri}");
        }
        let user = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
        assert_eq!(ask("POST", "/v1/chat/completions", &[], user).tool_result(), None);
    }
}
