//! One account of each dialect, and an agent that hears answers in its own.

use acceptance::{Ask, Connection, Reply, World};
use dialects::canonical::Answer;
use dialects::{Decoder, Event, Framing};
use domain::Dialect;
use serde_json::Value;

pub(crate) const DIALECTS: [Dialect; 4] = [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini];

/// Providers of one dialect each.
pub(crate) struct Upstreams {
    pub(crate) world: World,
    connections: [Connection; 4],
}

impl Upstreams {
    pub(crate) async fn start() -> Upstreams {
        let world = World::start().await;
        let connections = [
            world.connect("deepseek", "chat").await,
            world.connect("codex", "responses").await,
            world.connect("anthropic", "messages").await,
            world.connect("gemini", "gemini").await,
        ];
        Upstreams { world, connections }
    }

    pub(crate) fn of(&self, dialect: Dialect) -> &Connection {
        &self.connections[place(dialect)]
    }

    /// The catalogue provider that speaks this dialect and no other.
    pub(crate) fn provider(dialect: Dialect) -> &'static str {
        ["deepseek", "codex", "anthropic", "gemini"][place(dialect)]
    }

    /// A plain request of a client for the model `m1` of another dialect's provider.
    pub(crate) fn ask(client: Dialect, upstream: Dialect, stream: bool) -> Ask {
        Ask::of(Self::provider(upstream), "m1", client, stream)
    }

    pub(crate) async fn post(&self, ask: &Ask) -> Reply {
        self.world.agent().post(&ask.path, ask.body.clone()).await
    }
}

fn place(dialect: Dialect) -> usize {
    DIALECTS.iter().position(|other| *other == dialect).expect("one of the four")
}

/// What a client makes of a good reply: it reads it with the reader of its own dialect.
pub(crate) fn heard(client: Dialect, reply: &Reply, stream: bool) -> Answer {
    assert_eq!(reply.status, 200, "{client}: {}", reply.text());
    let events = if stream { streamed(client, reply) } else { whole(client, reply) };
    Answer::fold(events).unwrap_or_else(|error| panic!("{client}: {error:?}: {}", reply.text()))
}

fn whole(client: Dialect, reply: &Reply) -> Vec<Event> {
    assert_eq!(reply.header("content-type"), Some("application/json"), "{client}");
    dialects::translate::read_answer(client, reply.text().as_bytes()).expect("an answer")
}

fn streamed(client: Dialect, reply: &Reply) -> Vec<Event> {
    assert!(reply.header("content-type").is_some_and(|it| it.starts_with("text/event-stream")), "{client}");
    let (mut decoder, mut reader) = (Decoder::new(Framing::Sse, 1 << 20), dialects::reader(client));
    let (mut frames, mut events) = (Vec::new(), Vec::new());
    decoder.push(reply.text().to_owned().into(), &mut frames).expect("frames");
    decoder.finish(&mut frames);
    frames.iter().for_each(|frame| reader.push(frame, &mut events));
    reader.end(&mut events);
    assert_eq!(reader.dropped(), 0, "{client}: {}", reply.text());
    events
}

/// The objects of a stream's `data` lines, in order.
pub(crate) fn chunks_of(reply: &Reply) -> Vec<Value> {
    let lines = reply.text().lines().filter_map(|line| line.strip_prefix("data: "));
    let chunks = lines.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).expect("JSON"));
    chunks.collect()
}

/// All of an answer's text.
pub(crate) fn text(answer: &Answer) -> String {
    let is_text = |part: &&dialects::canonical::AnswerPart| part.kind == dialects::PartKind::Text;
    answer.parts.iter().filter(is_text).map(|part| part.text.as_str()).collect()
}
