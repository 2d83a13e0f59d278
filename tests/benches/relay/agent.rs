//! The agent's side: one kept connection per agent, and a stop-watch.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::program::{CLIENT_KEY, COMBO};

/// In the words of the fake provider, so that bytes pass.
const CHAT: &str = "/v1/chat/completions";
/// In other words, so that everything is translated.
const MESSAGES: &str = "/v1/messages";

/// Somewhere to send a request.
#[derive(Clone, Debug)]
pub struct Place {
    pub name: &'static str,
    authority: String,
    /// What stands before the model's name there.
    prefix: &'static str,
    path: &'static str,
}

impl Place {
    pub fn new(name: &'static str, url: &str, prefix: &'static str) -> Result<Place> {
        let authority = url.strip_prefix("http://").context("a plain address")?.to_owned();
        Ok(Place { name, authority, prefix, path: CHAT })
    }

    /// The same, asked in other words than the provider's.
    pub fn translated(&self) -> Place {
        Place { path: MESSAGES, ..self.clone() }
    }

    /// Whether the gateway finds a model there by way of a combo.
    pub fn is_combo(&self) -> bool {
        self.prefix == COMBO
    }
}

/// How long a reply took.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// To the first byte of the body.
    pub first: Duration,
    pub total: Duration,
    /// The longest silence between two pieces of the body.
    pub longest_gap: Duration,
}

/// A request body of about `size` bytes that looks like a conversation with code in it.
pub fn body(place: &Place, model: &str, size: usize, stream: bool) -> Bytes {
    const TURN: &str = r#"{"role":"user","content":"It fails for nested input:\n\n```rust\nfn main() {\n    let text = \"{\\\"a\\\": [1, 2]}\";\n}\n```\nKeep the interface as it is."},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"src/parser.rs\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"pub fn parse(text: &str) -> Result<Value, Error> {\n    Scanner::new(text).value()\n}\n"}"#;
    const PLAIN: &str = r#"{"role":"user","content":"It fails for nested input."},{"role":"assistant","content":"Show me."},{"role":"user","content":"Here."}"#;
    let (turn, limit) = if place.path == MESSAGES { (PLAIN, r#""max_tokens":64,"#) } else { (TURN, "") };
    let mut body = format!(r#"{{"model":"{}{model}",{limit}"stream":{stream},"messages":[{turn}"#, place.prefix);
    while place.path == CHAT && body.len() + turn.len() < size {
        body.push(',');
        body.push_str(turn);
    }
    body.push_str("]}");
    body.into()
}

/// One connection.
pub struct Agent {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
    path: &'static str,
}

impl Agent {
    pub async fn connect(place: &Place) -> Result<Agent> {
        let stream = TcpStream::connect(&place.authority).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Agent { sender, authority: place.authority.clone(), path: place.path })
    }

    async fn send(&mut self, body: Bytes) -> Result<Incoming> {
        let (status, body) = self.ask(body).await?;
        if !status.is_success() {
            let text = body.collect().await?.to_bytes();
            bail!("{status}: {}", String::from_utf8_lossy(&text));
        }
        Ok(body)
    }

    /// The head of the reply, whatever it says, and its body.
    pub async fn ask(&mut self, body: Bytes) -> Result<(StatusCode, Incoming)> {
        let request = Request::post(self.path)
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("Bearer {CLIENT_KEY}"))
            .body(Full::new(body))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        Ok((response.status(), response.into_body()))
    }

    pub async fn call(&mut self, body: Bytes) -> Result<Reply> {
        let start = Instant::now();
        let mut body = self.send(body).await?;
        let (mut first, mut last, mut longest_gap) = (None, start, Duration::ZERO);
        while let Some(frame) = body.frame().await {
            frame?;
            let now = Instant::now();
            match first {
                None => first = Some(now - start),
                Some(_) => longest_gap = longest_gap.max(now - last),
            }
            last = now;
        }
        Ok(Reply { first: first.unwrap_or_default(), total: start.elapsed(), longest_gap })
    }
}

/// Requests per second through so many connections.
pub async fn rate(place: &Place, connections: usize, time: Duration) -> Result<f64> {
    let body = body(place, "bytes-1k", 1_000, false);
    let mut agents = Vec::new();
    for _ in 0..connections {
        let mut agent = Agent::connect(place).await?;
        agent.call(body.clone()).await?;
        agents.push(agent);
    }
    let start = Instant::now();
    let end = start + time;
    let mut tasks = JoinSet::new();
    for mut agent in agents {
        let body = body.clone();
        tasks.spawn(async move {
            let mut done = 0_u32;
            while Instant::now() < end {
                agent.call(body.clone()).await?;
                done += 1;
            }
            anyhow::Ok(done)
        });
    }
    let mut total = 0;
    while let Some(done) = tasks.join_next().await {
        total += done??;
    }
    Ok(f64::from(total) / start.elapsed().as_secs_f64())
}

/// Streams of which the first piece has come, and no more will.
pub async fn open(place: &Place, count: usize, model: &str) -> Result<Vec<(Agent, Incoming)>> {
    let body = body(place, model, 1_000, true);
    let mut streams = Vec::with_capacity(count);
    for _ in 0..count {
        let mut agent = Agent::connect(place).await?;
        let mut answer = agent.send(body.clone()).await?;
        answer.frame().await.context("a first piece")??;
        streams.push((agent, answer));
    }
    Ok(streams)
}
