//! One plain request per dialect: the smallest thing that a real provider of it would accept.

use domain::Dialect;

/// What an agent of a dialect sends to reach the model `m1`.
#[derive(Clone, Debug)]
pub struct Ask {
    pub dialect: Dialect,
    /// The catalogue provider that speaks the dialect.
    pub provider: &'static str,
    pub path: String,
    pub body: String,
}

impl Ask {
    pub fn new(dialect: Dialect, stream: bool) -> Ask {
        let provider = match dialect {
            Dialect::Chat | Dialect::Responses => "openai",
            Dialect::Messages => "anthropic",
            Dialect::Gemini => "gemini",
        };
        Ask::of(provider, "m1", dialect, stream)
    }

    /// The same for any provider that speaks the dialect, and any of its models.
    pub fn of(provider: &'static str, model: &str, dialect: Dialect, stream: bool) -> Ask {
        let action = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        let name = format!("{provider}/{model}");
        let (path, body) = match dialect {
            Dialect::Chat => ("/v1/chat/completions".to_owned(), chat_body(&name, stream)),
            Dialect::Responses => ("/v1/responses".to_owned(), responses_body(&name, stream)),
            Dialect::Messages => ("/v1/messages".to_owned(), messages_body(&name, stream)),
            Dialect::Gemini => (format!("/v1beta/models/{name}:{action}"), gemini_body()),
        };
        Ask { dialect, provider, path, body }
    }

    /// One per dialect.
    pub fn all(stream: bool) -> [Ask; 4] {
        [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini].map(|dialect| Ask::new(dialect, stream))
    }
}

/// A Chat Completions request.
pub fn chat_body(model: &str, stream: bool) -> String {
    format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"Say hello."}}],"stream":{stream}}}"#)
}

/// A Responses request.
pub fn responses_body(model: &str, stream: bool) -> String {
    format!(r#"{{"model":"{model}","input":"Say hello.","stream":{stream},"store":false}}"#)
}

/// A Messages request.
pub fn messages_body(model: &str, stream: bool) -> String {
    format!(
        r#"{{"model":"{model}","max_tokens":64,"messages":[{{"role":"user","content":"Say hello."}}],"stream":{stream}}}"#
    )
}

/// A Gemini request: its model is in the path.
pub fn gemini_body() -> String {
    r#"{"contents":[{"role":"user","parts":[{"text":"Say hello."}]}]}"#.to_owned()
}
