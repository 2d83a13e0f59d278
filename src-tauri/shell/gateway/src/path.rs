//! From what a client wrote after the host to one route (gateway specification, 1.1).
//!
//! Clients disagree on the base URL, so a path is normalised once, and the same normalised path decides both who may
//! call it and what it does. Fixed segments are compared without regard to case; model names are kept verbatim.

use dialects::ollama::{self, embed};
use domain::{Dialect, Operation};
use http::Method;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// An agent asks an upstream for something; Gemini names its model in the path.
    Agent {
        operation: Operation,
        model: Option<String>,
    },
    /// An agent asks in Ollama's words, or asks Ollama about itself.
    Ollama(Ollama),
    /// The model list, or one of it.
    Models {
        beta: bool,
        id: Option<String>,
    },
    /// `/` and `/health`: no authentication, no data.
    Alive,
    /// `/api/…`: the normalised path.
    Management(String),
    /// The path is known, the method is not; `allow` lists what is.
    MethodNotAllowed {
        allow: &'static str,
    },
    Unknown,
}

/// The paths of Ollama that are served. They lie among the management's, and none of the management's is one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ollama {
    Answer(ollama::Form),
    Embed(embed::Form),
    About(About),
}

/// What Ollama is asked about itself and its models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    Tags,
    Show,
    Running,
    Version,
}

/// A normalised path: for logs, and for the route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Normalised {
    pub(crate) path: String,
    segments: Vec<String>,
}

/// The path cannot be read safely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Collapses slashes, decodes unreserved characters, refuses dot segments.
pub(crate) fn normalise(raw: &str) -> Result<Normalised, Malformed> {
    let mut segments = Vec::new();
    for segment in raw.split('/').filter(|segment| !segment.is_empty()) {
        let decoded = decode_unreserved(segment)?;
        if decoded == "." || decoded == ".." {
            return Err(Malformed);
        }
        segments.push(decoded);
    }
    Ok(Normalised { path: format!("/{}", segments.join("/")), segments })
}

/// The route of a method and a normalised path.
pub(crate) fn route(method: &Method, normalised: &Normalised) -> Route {
    let mut segments: &[String] = &normalised.segments;
    if is(segments.first(), "api") {
        if let [_, name] = segments
            && let Some((allowed, asked)) = ollama_route(&name.to_ascii_lowercase())
        {
            return allowed(method, Route::Ollama(asked));
        }
        if !is_version(segments.get(1)) {
            return Route::Management(normalised.path.clone());
        }
        segments = &segments[1..];
    }
    let mut beta = false;
    while is_version(segments.first()) {
        beta = is(segments.first(), "v1beta");
        segments = &segments[1..];
    }
    agent_route(method, beta, segments, normalised)
}

/// The dialect of whoever asks at a path, known or not: what is wrong there is told in its words.
pub(crate) fn spoken_at(normalised: &Normalised) -> Dialect {
    let mut names = normalised.segments.iter().map(|segment| segment.to_ascii_lowercase());
    let named = names.find_map(|name| match name.as_str() {
        "v1beta" => Some(Dialect::Gemini),
        "messages" => Some(Dialect::Messages),
        "responses" => Some(Dialect::Responses),
        _ => gemini_operation(name.rsplit(':').next().unwrap_or_default()).map(|_| Dialect::Gemini),
    });
    named.unwrap_or(Dialect::Chat)
}

fn agent_route(method: &Method, beta: bool, segments: &[String], normalised: &Normalised) -> Route {
    let fixed: Vec<String> = segments.iter().map(|segment| segment.to_ascii_lowercase()).collect();
    let fixed: Vec<&str> = fixed.iter().map(String::as_str).collect();
    match fixed.as_slice() {
        [] if normalised.segments.is_empty() => readable(method, Route::Alive),
        ["health"] => readable(method, Route::Alive),
        ["chat", "completions"] => post(method, Operation::ChatCompletions),
        ["embeddings"] => post(method, Operation::Embeddings),
        ["responses"] | ["codex", "responses"] => post(method, Operation::Responses),
        ["messages"] => post(method, Operation::Messages),
        ["messages", "count_tokens"] => post(method, Operation::CountTokens),
        ["models"] => readable(method, Route::Models { beta, id: None }),
        ["models", ..] => model_route(method, beta, &segments[1..].join("/")),
        _ if beta => bare_model_route(method, &segments.join("/")),
        _ => Route::Unknown,
    }
}

/// What a method may ask of a route.
type Answers = fn(&Method, Route) -> Route;

/// What Ollama serves under `/api/`, and by which methods.
fn ollama_route(name: &str) -> Option<(Answers, Ollama)> {
    Some(match name {
        "chat" => (posted, Ollama::Answer(ollama::Form::Chat)),
        "generate" => (posted, Ollama::Answer(ollama::Form::Generate)),
        "embed" => (posted, Ollama::Embed(embed::Form::Embed)),
        "embeddings" => (posted, Ollama::Embed(embed::Form::Embeddings)),
        "show" => (posted, Ollama::About(About::Show)),
        "tags" => (readable, Ollama::About(About::Tags)),
        "ps" => (readable, Ollama::About(About::Running)),
        "version" => (readable, Ollama::About(About::Version)),
        _ => return None,
    })
}

/// `models/{m}` or `models/{m}:action`; `{m}` may hold slashes, plain or encoded.
fn model_route(method: &Method, beta: bool, rest: &str) -> Route {
    let Some(rest) = decode_all(rest) else { return Route::Unknown };
    if let Some((model, action)) = rest.rsplit_once(':')
        && let Some(operation) = gemini_operation(action)
    {
        if method != Method::POST {
            return Route::MethodNotAllowed { allow: "POST" };
        }
        return Route::Agent { operation, model: Some(model.to_owned()) };
    }
    // Names of models hold colons too, and are read; what is posted was meant as an action.
    if method == Method::POST && rest.contains(':') {
        return Route::Unknown;
    }
    readable(method, Route::Models { beta, id: Some(rest) })
}

/// `{m}:action`: some clients leave `models/` out where the model's name holds a slash.
fn bare_model_route(method: &Method, rest: &str) -> Route {
    match model_route(method, true, rest) {
        route @ (Route::Agent { .. } | Route::MethodNotAllowed { allow: "POST" }) => route,
        _ => Route::Unknown,
    }
}

fn gemini_operation(action: &str) -> Option<Operation> {
    [
        Operation::GenerateContent,
        Operation::StreamGenerateContent,
        Operation::GeminiCountTokens,
        Operation::EmbedContent,
        Operation::BatchEmbedContents,
    ]
    .into_iter()
    .find(|operation| operation.gemini_action().is_some_and(|name| name.eq_ignore_ascii_case(action)))
}

fn post(method: &Method, operation: Operation) -> Route {
    posted(method, Route::Agent { operation, model: None })
}

fn posted(method: &Method, route: Route) -> Route {
    if method == Method::POST { route } else { Route::MethodNotAllowed { allow: "POST" } }
}

fn readable(method: &Method, route: Route) -> Route {
    if method == Method::GET || method == Method::HEAD { route } else { Route::MethodNotAllowed { allow: "GET, HEAD" } }
}

fn is(segment: Option<&String>, name: &str) -> bool {
    segment.is_some_and(|segment| segment.eq_ignore_ascii_case(name))
}

fn is_version(segment: Option<&String>) -> bool {
    is(segment, "v1") || is(segment, "v1beta")
}

/// Decodes percent-encoded letters, digits, `-`, `.`, `_`, `~`; leaves every other encoding as it is.
fn decode_unreserved(segment: &str) -> Result<String, Malformed> {
    let mut out = String::with_capacity(segment.len());
    let mut rest = segment;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 1..at + 3).ok_or(Malformed)?;
        let byte = u8::from_str_radix(code, 16).map_err(|_| Malformed)?;
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&rest[at..at + 3]);
        }
        rest = &rest[at + 3..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Decodes every percent-encoded byte; nothing when the result is not UTF-8.
pub(crate) fn decode_all(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(method: Method, raw: &str) -> Route {
        route(&method, &normalise(raw).expect("a readable path"))
    }

    fn agent(operation: Operation, model: Option<&str>) -> Route {
        Route::Agent { operation, model: model.map(str::to_owned) }
    }

    #[test]
    fn every_spelling_of_an_agent_path() {
        use Operation::*;
        for (path, expected) in [
            ("/v1/messages", agent(Messages, None)),
            ("/messages", agent(Messages, None)),
            ("/v1/messages/count_tokens", agent(CountTokens, None)),
            ("/v1/chat/completions", agent(ChatCompletions, None)),
            ("/chat/completions", agent(ChatCompletions, None)),
            ("/v1/v1/chat/completions", agent(ChatCompletions, None)),
            ("//v1//chat/completions/", agent(ChatCompletions, None)),
            ("/V1/Chat/Completions", agent(ChatCompletions, None)),
            ("/api/v1/chat/completions", agent(ChatCompletions, None)),
            ("/v1/%63hat/completions", agent(ChatCompletions, None)),
            ("/v1/responses", agent(Responses, None)),
            ("/responses", agent(Responses, None)),
            ("/codex/responses", agent(Responses, None)),
            ("/v1/codex/responses", agent(Responses, None)),
            ("/v1/embeddings", agent(Embeddings, None)),
            ("/v1beta/models/gemini-x:generateContent", agent(GenerateContent, Some("gemini-x"))),
            ("/v1/models/gemini-x:streamGenerateContent", agent(StreamGenerateContent, Some("gemini-x"))),
            ("/v1/v1beta/models/gemini-x:countTokens", agent(GeminiCountTokens, Some("gemini-x"))),
            (
                "/v1beta/models/openrouter/google/Gemini-X:generateContent",
                agent(GenerateContent, Some("openrouter/google/Gemini-X")),
            ),
            ("/v1beta/openrouter/google/m:generateContent", agent(GenerateContent, Some("openrouter/google/m"))),
            ("/v1beta/models/work%2Fa%20b:generateContent", agent(GenerateContent, Some("work/a b"))),
            ("/v1beta/models/llama3:8b:generateContent", agent(GenerateContent, Some("llama3:8b"))),
        ] {
            assert_eq!(routed(Method::POST, path), expected, "{path}");
        }
    }

    #[test]
    fn lists_probes_and_management() {
        for (path, expected) in [
            ("/", Route::Alive),
            ("/health", Route::Alive),
            ("/v1/models", Route::Models { beta: false, id: None }),
            ("/models", Route::Models { beta: false, id: None }),
            ("/v1beta/models", Route::Models { beta: true, id: None }),
            ("/v1/models/openai/gpt:x", Route::Models { beta: false, id: Some("openai/gpt:x".to_owned()) }),
            ("/api/tags", Route::Ollama(Ollama::About(About::Tags))),
            ("/api/Version/", Route::Ollama(Ollama::About(About::Version))),
            ("/api/ps", Route::Ollama(Ollama::About(About::Running))),
            ("/api/tags/x", Route::Management("/api/tags/x".to_owned())),
            ("/api/pull", Route::Management("/api/pull".to_owned())),
            ("/api/providers", Route::Management("/api/providers".to_owned())),
            ("/api//providers/", Route::Management("/api/providers".to_owned())),
            ("/API/providers", Route::Management("/API/providers".to_owned())),
            ("/v1", Route::Unknown),
            ("/v1/nothing", Route::Unknown),
            ("/v1beta/nothing", Route::Unknown),
            ("/v1beta/nothing:else", Route::Unknown),
            ("/anything", Route::Unknown),
        ] {
            assert_eq!(routed(Method::GET, path), expected, "{path}");
        }
    }

    #[test]
    fn what_ollama_is_asked_is_posted() {
        for (path, expected) in [
            ("/api/chat", Ollama::Answer(ollama::Form::Chat)),
            ("/api/generate", Ollama::Answer(ollama::Form::Generate)),
            ("/api/embed", Ollama::Embed(embed::Form::Embed)),
            ("//api/embeddings/", Ollama::Embed(embed::Form::Embeddings)),
            ("/api/show", Ollama::About(About::Show)),
        ] {
            assert_eq!(routed(Method::POST, path), Route::Ollama(expected), "{path}");
            assert_eq!(routed(Method::GET, path), Route::MethodNotAllowed { allow: "POST" }, "{path}");
        }
    }

    #[test]
    fn a_known_path_with_another_method_says_what_is_allowed() {
        assert_eq!(routed(Method::GET, "/v1/messages"), Route::MethodNotAllowed { allow: "POST" });
        assert_eq!(routed(Method::DELETE, "/v1/models"), Route::MethodNotAllowed { allow: "GET, HEAD" });
        assert_eq!(routed(Method::GET, "/v1/models/m:generateContent"), Route::MethodNotAllowed { allow: "POST" });
    }

    #[test]
    fn what_is_wrong_with_a_path_is_told_in_the_words_of_who_asks_there() {
        for (path, expected) in [
            ("/v1beta/models/m:dream", Dialect::Gemini),
            ("/v1/models/m:generateContent", Dialect::Gemini),
            ("/v1/messages/batches", Dialect::Messages),
            ("/api/v1/responses/r/cancel", Dialect::Responses),
            ("/v1/models/llama3:8b", Dialect::Chat),
            ("/anything", Dialect::Chat),
        ] {
            assert_eq!(spoken_at(&normalise(path).expect("readable")), expected, "{path}");
        }
        assert_eq!(routed(Method::POST, "/v1beta/models/m:dream"), Route::Unknown);
        assert_eq!(routed(Method::POST, "/v1/models/m"), Route::MethodNotAllowed { allow: "GET, HEAD" });
    }

    #[test]
    fn dot_segments_and_broken_encodings_are_refused() {
        for path in ["/v1/../api/providers", "/%2e%2e/api", "/v1/./models", "/v1/%zz", "/v1/%4", "/%"] {
            assert_eq!(normalise(path), Err(Malformed), "{path}");
        }
    }
}
