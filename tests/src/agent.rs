//! An agent: sends what a client sends, and hands back exactly what came.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;

use crate::sse::{SseEvent, parse};

/// The longest a reply may take on the wall clock; a test that needs longer is wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client with a local key.
#[derive(Clone, Debug)]
pub struct Agent {
    http: reqwest::Client,
    base: String,
    headers: HeaderMap,
}

/// A whole reply.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A reply that is read as it comes.
pub struct StreamedReply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: futures_util::stream::BoxStream<'static, reqwest::Result<Bytes>>,
}

impl Agent {
    pub fn new(base: &str) -> Agent {
        let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build().expect("a client");
        Agent { http, base: base.to_owned(), headers: HeaderMap::new() }
    }

    /// The same agent with one more header; an empty value removes it.
    pub fn with(mut self, name: &'static str, value: &str) -> Agent {
        let name = HeaderName::from_static(name);
        if value.is_empty() {
            self.headers.remove(name);
        } else {
            self.headers.insert(name, HeaderValue::from_str(value).expect("a header value"));
        }
        self
    }

    fn request(&self, method: Method, path: &str, body: Option<Bytes>) -> reqwest::RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.base)).headers(self.headers.clone());
        if let Some(body) = body {
            if !self.headers.contains_key(http::header::CONTENT_TYPE) {
                request = request.header(http::header::CONTENT_TYPE, "application/json");
            }
            request = request.body(body);
        }
        request
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: impl Into<Bytes>) -> Reply {
        self.send(Method::POST, path, Some(body.into())).await
    }

    /// Any method, any body.
    pub async fn send(&self, method: Method, path: &str, body: Option<Bytes>) -> Reply {
        let answer = async {
            let response = self.request(method, path, body).send().await.expect("an answer");
            let (status, headers) = (response.status(), response.headers().clone());
            Reply { status, headers, body: response.bytes().await.expect("a whole body") }
        };
        tokio::time::timeout(PATIENCE, answer).await.expect("an answer in time")
    }

    /// Sends and returns as soon as the head has come.
    pub async fn stream(&self, path: &str, body: impl Into<Bytes>) -> StreamedReply {
        let send = self.request(Method::POST, path, Some(body.into())).send();
        let response = tokio::time::timeout(PATIENCE, send).await.expect("a head in time").expect("an answer");
        StreamedReply {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.bytes_stream().boxed(),
        }
    }
}

impl Reply {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("JSON, not {:?}", self.text()))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn events(&self) -> Vec<SseEvent> {
        parse(self.text())
    }

    /// `error.code` of the OpenAI envelope, `error.type` of the Anthropic, `error.status` of the Gemini one.
    pub fn error_word(&self) -> String {
        let json = self.json();
        let error = &json["error"];
        let word = if json["type"] == "error" {
            &error["type"]
        } else if error["status"].is_string() {
            &error["status"]
        } else {
            &error["code"]
        };
        word.as_str().unwrap_or_default().to_owned()
    }
}

impl StreamedReply {
    /// The next piece; nothing at the end.
    pub async fn next(&mut self) -> Option<Bytes> {
        let next = tokio::time::timeout(PATIENCE, self.body.next()).await.expect("a piece in time");
        next.map(|piece| piece.expect("an unbroken body"))
    }

    /// Everything that is left.
    pub async fn rest(mut self) -> Reply {
        let mut body = Vec::new();
        while let Some(piece) = self.next().await {
            body.extend_from_slice(&piece);
        }
        Reply { status: self.status, headers: self.headers, body: body.into() }
    }
}
