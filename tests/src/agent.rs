//! An agent: sends what a client sends, and hands back exactly what came.

use std::sync::Arc;

use bytes::Bytes;
use fake_upstream::PATIENCE;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use parking_lot::Mutex;
use serde_json::Value;

use crate::sse::{SseEvent, parse};

/// Waits for something that comes by itself, on the wall clock.
pub async fn in_time<T>(what: &str, waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited for {what} in vain"))
}

/// Lets the other tasks work until it is so.
pub async fn until(what: &str, so: impl Fn() -> bool) {
    let waiting = async {
        while !so() {
            tokio::task::yield_now().await;
        }
    };
    in_time(what, waiting).await;
}

/// Every whole reply that a world's agents got, for the checks that hold after each scenario.
pub(crate) type Seen = Arc<Mutex<Vec<Reply>>>;

/// A client with a local key.
#[derive(Clone, Debug)]
pub struct Agent {
    http: reqwest::Client,
    base: String,
    headers: HeaderMap,
    seen: Seen,
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
    seen: Seen,
}

/// Every request comes on a connection of its own: a gateway's clock that was moved has closed idle ones.
pub(crate) fn http() -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .tcp_nodelay(true)
        .pool_max_idle_per_host(0)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client")
}

impl Agent {
    pub(crate) fn new(http: reqwest::Client, base: &str, seen: Seen) -> Agent {
        Agent { http, base: base.to_owned(), headers: HeaderMap::new(), seen }
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

    /// The same agent with another local key.
    pub fn with_key(self, key: &str) -> Agent {
        self.with("authorization", &format!("Bearer {key}"))
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
        let reply = tokio::time::timeout(PATIENCE, answer).await.expect("an answer in time");
        self.seen.lock().push(reply.clone());
        reply
    }

    /// Posts and returns as soon as the head has come.
    pub async fn stream(&self, path: &str, body: impl Into<Bytes>) -> StreamedReply {
        self.begin(self.request(Method::POST, path, Some(body.into()))).await
    }

    /// Gets and returns as soon as the head has come.
    pub async fn open(&self, path: &str) -> StreamedReply {
        self.begin(self.request(Method::GET, path, None)).await
    }

    async fn begin(&self, request: reqwest::RequestBuilder) -> StreamedReply {
        let send = request.send();
        let response = tokio::time::timeout(PATIENCE, send).await.expect("a head in time").expect("an answer");
        StreamedReply {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.bytes_stream().boxed(),
            seen: Arc::clone(&self.seen),
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

    pub fn error_message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }
}

impl StreamedReply {
    /// The next piece; nothing at the end.
    pub async fn next(&mut self) -> Option<Bytes> {
        let next = tokio::time::timeout(PATIENCE, self.body.next()).await.expect("a piece in time");
        next.map(|piece| piece.expect("an unbroken body"))
    }

    /// Reads until this text has come, and returns everything read so far.
    pub async fn until(&mut self, text: &str) -> Vec<u8> {
        let mut read = Vec::new();
        while !read.windows(text.len()).any(|window| window == text.as_bytes()) {
            let piece = self.next().await.unwrap_or_else(|| panic!("{text:?} before the end"));
            read.extend_from_slice(&piece);
        }
        read
    }

    /// Everything that is left.
    pub async fn rest(mut self) -> Reply {
        let mut body = Vec::new();
        while let Some(piece) = self.next().await {
            body.extend_from_slice(&piece);
        }
        let reply = Reply { status: self.status, headers: self.headers, body: body.into() };
        self.seen.lock().push(reply.clone());
        reply
    }
}
