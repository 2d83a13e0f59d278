//! Signs of life within an answer (resilience specification, 17.1).
//!
//! Clients give up on a stream that stays silent for long, also after it has begun. They are given the same signs as before
//! the first content, between whole frames only and never after the end.

use bytes::BytesMut;
use dialects::translate::StreamWriter;
use dialects::{Client, Event};
use domain::Timestamp;

/// What a sign within one answer says.
#[derive(Default)]
pub(crate) struct Heartbeat {
    /// Whose; none, nobody needs one.
    client: Option<Client>,
    /// The answer's own names, as far as it has any.
    id: String,
    model: String,
}

impl Heartbeat {
    /// The client needs signs from now on. `id` names an answer that has no name.
    pub(crate) fn begin(&mut self, client: Client, id: &str) {
        self.client = Some(client);
        if self.id.is_empty() {
            id.clone_into(&mut self.id);
        }
    }

    /// Takes note of how the answer is called.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Event::Started { id, model } = event {
            id.iter().for_each(|id| id.clone_into(&mut self.id));
            model.iter().for_each(|model| model.clone_into(&mut self.model));
        }
    }

    /// One sign. Whoever tells the answer in other words may have one of its own.
    pub(crate) fn beat(&self, writer: Option<&mut (dyn StreamWriter + 'static)>, now: Timestamp, out: &mut BytesMut) {
        let Some(client) = self.client else { return };
        let before = out.len();
        if let Some(writer) = writer {
            writer.push(&Event::KeepAlive, out);
        }
        if out.len() == before {
            out.extend_from_slice(&client.heartbeat(&self.id, &self.model, now));
        }
    }
}
