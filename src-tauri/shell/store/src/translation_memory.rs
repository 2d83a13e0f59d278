//! What of an answer the next turn of its conversation may miss: proofs of tool calls, and reasoning that is wanted back
//! (gateway specification, 2.7, rules 4 and 5).
//!
//! Written behind, read once at the start, so that a restart in the middle of a conversation loses neither. Payloads are
//! sealed: reasoning is content, and content is not kept in the clear unless its owner asks for it. There is never more of
//! it than [`MOST_CALLS`] rows and [`MOST_BYTES`] of each kind; the oldest make room.

use domain::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sqlx::SqliteConnection;

use crate::columns::{from_instant, to_instant};
use crate::sealing::Place;
use crate::{Error, Store};

/// Rows of one kind.
pub const MOST_CALLS: u32 = 2_000;
/// Bytes of one kind, sealed.
const MOST_BYTES: i64 = 32 * 1024 * 1024;

/// What is kept of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// Google's proof of the call.
    Signature,
    /// What the model thought before it.
    Reasoning,
}

/// One thing that is kept of one tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOfCall {
    pub call_id: String,
    pub what: Kept,
    /// Who can read it again.
    pub family: String,
    pub payload: String,
    pub expires_at: Timestamp,
}

/// The same as it is written.
pub(crate) struct Sealed {
    pub(crate) call_id: String,
    pub(crate) what: Kept,
    family: String,
    payload: Vec<u8>,
    expires_at: Timestamp,
}

/// A statement with the table of this kind between its pieces.
macro_rules! of_table {
    ($what:expr, $head:literal $(, $piece:literal)+) => {
        match $what {
            Kept::Signature => concat!($head $(, "signature_cache", $piece)+),
            Kept::Reasoning => concat!($head $(, "reasoning_cache", $piece)+),
        }
    };
}

impl Kept {
    const ALL: [Kept; 2] = [Kept::Signature, Kept::Reasoning];

    fn place(self, call_id: &str) -> Place<'_> {
        Place { table: of_table!(self, "", ""), row: call_id, column: "payload" }
    }
}

impl Store {
    /// Puts down what shall be kept, to be written within a quarter of a second. Never waits.
    pub fn keep_of_calls(&self, calls: Vec<KeptOfCall>) {
        let seal = |call: KeptOfCall| {
            let payload = self.inner.sealer.seal(call.what.place(&call.call_id), &SecretString::from(call.payload));
            let payload = payload.inspect_err(|error| tracing::warn!(%error, "a tool call's memory is not stored"));
            let KeptOfCall { call_id, what, family, expires_at, .. } = call;
            Some(Sealed { call_id, what, family, payload: payload.ok()?, expires_at })
        };
        self.inner.writer.record_calls(calls.into_iter().filter_map(seal).collect());
    }

    /// What is still kept at `now`, oldest first. What does not open is left out: it is a loss of memory, not of data.
    pub async fn load_kept_of_calls(&self, now: Timestamp) -> Result<Vec<KeptOfCall>, Error> {
        self.settle().await;
        let mut all = Vec::new();
        for what in Kept::ALL {
            let select = of_table!(
                what,
                "SELECT tool_call_id, family, payload, expires_at FROM ",
                " WHERE expires_at > ? ORDER BY expires_at"
            );
            let rows: Vec<(String, String, Vec<u8>, i64)> =
                sqlx::query_as(select).bind(from_instant(now)).fetch_all(self.database().reader()).await?;
            for (call_id, family, payload, expires_at) in rows {
                match self.inner.sealer.open(what.place(&call_id), &payload) {
                    Ok(payload) => all.push(KeptOfCall {
                        call_id,
                        what,
                        family,
                        payload: payload.expose_secret().to_owned(),
                        expires_at: to_instant(expires_at),
                    }),
                    Err(error) => tracing::warn!(%error, "what was kept of a tool call cannot be read"),
                }
            }
        }
        Ok(all)
    }

    /// Forgets what has expired.
    pub async fn purge_kept_of_calls(&self, now: Timestamp) -> Result<(), Error> {
        for what in Kept::ALL {
            let delete = of_table!(what, "DELETE FROM ", " WHERE expires_at <= ?");
            sqlx::query(delete).bind(from_instant(now)).execute(self.database().writer()).await?;
        }
        Ok(())
    }
}

/// Writes what waited, and makes room.
pub(crate) async fn write(connection: &mut SqliteConnection, calls: &[Sealed]) -> Result<(), Error> {
    for call in calls {
        let insert = of_table!(
            call.what,
            "INSERT INTO ",
            " (tool_call_id, family, payload, expires_at) VALUES (?, ?, ?, ?)
             ON CONFLICT (tool_call_id) DO UPDATE
             SET family = excluded.family, payload = excluded.payload, expires_at = excluded.expires_at"
        );
        sqlx::query(insert)
            .bind(&call.call_id)
            .bind(&call.family)
            .bind(&call.payload)
            .bind(from_instant(call.expires_at))
            .execute(&mut *connection)
            .await?;
    }
    for what in Kept::ALL.into_iter().filter(|what| calls.iter().any(|call| call.what == *what)) {
        let delete = of_table!(
            what,
            "DELETE FROM ",
            " WHERE tool_call_id IN (
               SELECT tool_call_id FROM (
                 SELECT tool_call_id,
                        row_number() OVER newest_first AS place,
                        sum(length(payload)) OVER newest_first AS bytes
                 FROM ",
            "    WINDOW newest_first AS (ORDER BY expires_at DESC, tool_call_id)
               ) WHERE place > ? OR bytes > ?
             )"
        );
        sqlx::query(delete).bind(MOST_CALLS).bind(MOST_BYTES).execute(&mut *connection).await?;
    }
    Ok(())
}
