//! The log of finished requests (gateway specification, 5.6 and 6.1).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use domain::request_log::{RequestOutcome, RequestRecord, Trace};
use domain::{ClientKeyId, ConnectionId, ProviderId, RequestId, Timestamp, Usage};
use sqlx::{FromRow, QueryBuilder, Sqlite, SqliteConnection};

use crate::columns::{Cell, from_instant, from_length, integer, natural, to_instant, to_length};
use crate::many_rows::ManyRows;
use crate::{Error, Store, StoreHealth};

/// Most requests one page may hold.
pub const MAX_PAGE: u32 = 500;

const TABLE: &str = "call_logs";

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, timestamp, method, path, source_format, target_format, status, outcome, stream,
                    requested_model, provider, model, connection_id, connection_name, api_key_id, api_key_name, agent,
                    duration_ms, ttft_ms, tokens_input, tokens_output, tokens_cache_read, tokens_cache_creation,
                    tokens_reasoning, estimated, cost, provider_reported_cost, error_code, error_summary, session_tag,
                    combo_name, strategy, trace
             FROM call_logs ",
            $rest
        )
    };
}

/// Which requests are asked for; everything named has to hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestFilter {
    pub status: Option<u16>,
    pub outcome: Option<RequestOutcome>,
    pub provider: Option<ProviderId>,
    /// The model asked for or the model that answered.
    pub model: Option<String>,
    pub connection: Option<ConnectionId>,
    pub key: Option<ClientKeyId>,
    pub session: Option<String>,
    pub combo: Option<String>,
    /// Inclusive.
    pub since: Option<Timestamp>,
    /// Exclusive.
    pub until: Option<Timestamp>,
    /// Part of a name, model, path, error or id; upper and lower case of ASCII letters are alike.
    pub text: Option<String>,
}

/// The last request of a page; the next page begins after it. Written as text for the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    at: Timestamp,
    id: RequestId,
}

/// The text is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this list")]
pub struct CursorError;

#[derive(FromRow)]
struct Row {
    id: String,
    timestamp: i64,
    method: String,
    path: String,
    source_format: String,
    target_format: Option<String>,
    status: u16,
    outcome: String,
    stream: bool,
    requested_model: String,
    provider: Option<String>,
    model: Option<String>,
    connection_id: Option<String>,
    connection_name: Option<String>,
    api_key_id: Option<String>,
    api_key_name: Option<String>,
    agent: Option<String>,
    duration_ms: i64,
    ttft_ms: Option<i64>,
    tokens_input: Option<i64>,
    tokens_output: Option<i64>,
    tokens_cache_read: Option<i64>,
    tokens_cache_creation: Option<i64>,
    tokens_reasoning: Option<i64>,
    estimated: bool,
    cost: Option<f64>,
    provider_reported_cost: Option<f64>,
    error_code: Option<String>,
    error_summary: Option<String>,
    session_tag: Option<String>,
    combo_name: Option<String>,
    strategy: Option<String>,
    trace: String,
}

impl Store {
    /// Puts a finished request down, to be written within a quarter of a second. Never waits: when too many are
    /// waiting already, the record is dropped and counted.
    pub fn record_request(&self, record: impl Into<Arc<RequestRecord>>) {
        self.inner.writer.record_request(record.into());
    }

    /// Writes everything recorded before the call. [`Error::Flush`] when that failed; it is then tried again later.
    pub async fn flush(&self) -> Result<(), Error> {
        self.inner.writer.flush().await
    }

    /// How the write-behind task fares.
    pub fn health(&self) -> StoreHealth {
        self.inner.writer.health()
    }

    /// A page of requests, newest first, of 1 to [`MAX_PAGE`] records, and where the next page begins.
    pub async fn list_requests(
        &self,
        filter: &RequestFilter,
        cursor: Option<&Cursor>,
        limit: u32,
    ) -> Result<(Vec<RequestRecord>, Option<Cursor>), Error> {
        self.settle().await;
        let limit = limit.clamp(1, MAX_PAGE);
        let mut query = QueryBuilder::new(select!("WHERE TRUE"));
        filter.push(&mut query)?;
        if let Some(cursor) = cursor {
            query.push(" AND (timestamp, id) < (").push_bind(from_instant(cursor.at));
            query.push(", ").push_bind(cursor.id.as_str().to_owned()).push(")");
        }
        query.push(" ORDER BY timestamp DESC, id DESC LIMIT ").push_bind(limit.saturating_add(1));
        let mut rows: Vec<Row> = query.build_query_as().fetch_all(self.database().reader()).await?;
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let records: Vec<RequestRecord> = rows.into_iter().map(Row::into_record).collect::<Result<_, _>>()?;
        let next = records.last().filter(|_| more).map(|last| Cursor { at: last.at, id: last.id.clone() });
        Ok((records, next))
    }

    pub async fn get_request(&self, id: &RequestId) -> Result<Option<RequestRecord>, Error> {
        self.settle().await;
        let row: Option<Row> =
            sqlx::query_as(select!("WHERE id = ?")).bind(id.as_str()).fetch_optional(self.database().reader()).await?;
        row.map(Row::into_record).transpose()
    }

    /// Deletes the log of requests that arrived before `before`, with their bodies; returns how many. Usage is kept.
    pub async fn delete_requests_before(&self, before: Timestamp) -> Result<u64, Error> {
        self.settle().await;
        let statement = "DELETE FROM call_logs WHERE rowid IN
            (SELECT rowid FROM call_logs WHERE timestamp < ? ORDER BY timestamp LIMIT ?)";
        let total = self.database().delete_in_steps(statement, before).await?;
        self.forget_bodies_before(before).await?;
        Ok(total)
    }

    /// Deletes the whole log with the bodies in it; returns how many requests it held. Usage is kept.
    pub async fn delete_all_requests(&self) -> Result<u64, Error> {
        self.settle().await;
        let deleted = sqlx::query("DELETE FROM call_logs").execute(self.database().writer()).await?;
        self.forget_all_bodies().await?;
        Ok(deleted.rows_affected())
    }

    /// Lets what is waiting be written before it is read. A failure is the business of [`Store::health`].
    pub(crate) async fn settle(&self) {
        if let Err(error) = self.flush().await {
            tracing::debug!(%error, "reading without the records that still wait");
        }
    }
}

static INSERT: ManyRows = ManyRows::new(
    "INSERT INTO call_logs (id, timestamp, method, path, source_format, target_format, status, outcome, stream,
            requested_model, provider, model, connection_id, connection_name, api_key_id, api_key_name, agent,
            duration_ms, ttft_ms, tokens_input, tokens_output, tokens_cache_read, tokens_cache_creation,
            tokens_reasoning, estimated, cost, provider_reported_cost, error_code, error_summary, session_tag,
            combo_name, strategy, trace)",
);

/// The number of the log's last row: those that are added get higher ones.
pub(crate) async fn last_row(connection: &mut SqliteConnection) -> Result<i64, Error> {
    let last: Option<i64> = sqlx::query_scalar("SELECT max(rowid) FROM call_logs").fetch_one(connection).await?;
    Ok(last.unwrap_or(0))
}

/// Writes records in one statement; a second one of the same id changes nothing.
pub(crate) async fn write(connection: &mut SqliteConnection, records: &[Arc<RequestRecord>]) -> Result<(), Error> {
    let mut query = sqlx::query(INSERT.of(records.len()));
    for record in records {
        let cell = |column| Cell { table: TABLE, column, id: record.id.as_str() };
        let (outcome, trace) = (cell("outcome").write_word(&record.outcome)?, cell("trace").write_json(&record.trace)?);
        query = query
            .bind(record.id.as_str())
            .bind(from_instant(record.at))
            .bind(&record.method)
            .bind(&record.path)
            .bind(record.source.as_str())
            .bind(record.target.map(|target| target.as_str()))
            .bind(record.status)
            .bind(outcome)
            .bind(record.stream)
            .bind(&record.requested_model)
            .bind(record.provider.as_ref().map(ProviderId::as_str))
            .bind(&record.model)
            .bind(record.connection.as_ref().map(ConnectionId::as_str))
            .bind(&record.connection_name)
            .bind(record.key.as_ref().map(ClientKeyId::as_str))
            .bind(&record.key_name)
            .bind(&record.agent)
            .bind(from_length(record.duration))
            .bind(record.time_to_first_token.map(from_length))
            .bind(record.usage.input_fresh.map(integer))
            .bind(record.usage.output.map(integer))
            .bind(record.usage.cache_read.map(integer))
            .bind(record.usage.cache_write.map(integer))
            .bind(record.usage.reasoning.map(integer))
            .bind(record.usage.estimated)
            .bind(record.cost)
            .bind(record.usage.provider_cost)
            .bind(&record.error_code)
            .bind(&record.error_summary)
            .bind(&record.session_tag)
            .bind(&record.combo_name)
            .bind(&record.strategy)
            .bind(trace);
    }
    query.execute(connection).await?;
    Ok(())
}

impl RequestFilter {
    fn push(&self, query: &mut QueryBuilder<Sqlite>) -> Result<(), Error> {
        if let Some(status) = self.status {
            query.push(" AND status = ").push_bind(status);
        }
        if let Some(outcome) = &self.outcome {
            let cell = Cell { table: TABLE, column: "outcome", id: "" };
            query.push(" AND outcome = ").push_bind(cell.write_word(outcome)?);
        }
        if let Some(provider) = &self.provider {
            query.push(" AND provider = ").push_bind(provider.as_str().to_owned());
        }
        if let Some(model) = &self.model {
            query.push(" AND (model = ").push_bind(model.clone());
            query.push(" OR requested_model = ").push_bind(model.clone()).push(")");
        }
        if let Some(connection) = &self.connection {
            query.push(" AND connection_id = ").push_bind(connection.as_str().to_owned());
        }
        if let Some(key) = &self.key {
            query.push(" AND api_key_id = ").push_bind(key.as_str().to_owned());
        }
        if let Some(session) = &self.session {
            query.push(" AND session_tag = ").push_bind(session.clone());
        }
        if let Some(combo) = &self.combo {
            query.push(" AND combo_name = ").push_bind(combo.clone());
        }
        if let Some(since) = self.since {
            query.push(" AND timestamp >= ").push_bind(from_instant(since));
        }
        if let Some(until) = self.until {
            query.push(" AND timestamp < ").push_bind(from_instant(until));
        }
        if let Some(text) = self.text.as_deref().filter(|text| !text.is_empty()) {
            query.push(
                " AND concat_ws(char(10), id, path, requested_model, provider, model, connection_name, api_key_name,
                                combo_name, agent, error_code, error_summary, session_tag) LIKE ",
            );
            query.push_bind(contains(text)).push(" ESCAPE '\\'");
        }
        Ok(())
    }
}

/// A `LIKE` pattern for text that contains `part` literally.
fn contains(part: &str) -> String {
    let mut pattern = String::from("%");
    for character in part.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.as_millis(), self.id)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Cursor, CursorError> {
        let (at, id) = text.split_once('.').ok_or(CursorError)?;
        let at = at.parse().map_err(|_| CursorError)?;
        if id.is_empty() {
            return Err(CursorError);
        }
        Ok(Cursor { at: Timestamp::from_millis(at), id: RequestId::from(id) })
    }
}

impl Row {
    fn into_record(self) -> Result<RequestRecord, Error> {
        let cell = |column| Cell { table: TABLE, column, id: &self.id };
        let target = self.target_format.as_deref();
        Ok(RequestRecord {
            source: cell("source_format").read_word(&self.source_format)?,
            target: target.map(|word| cell("target_format").read_word(word)).transpose()?,
            outcome: cell("outcome").read_word(&self.outcome)?,
            // A trace that a later version wrote differently must not hide the request itself.
            trace: cell("trace").read_json::<Trace>(&self.trace).unwrap_or_default(),
            usage: self.usage(),
            at: to_instant(self.timestamp),
            method: self.method,
            path: self.path,
            status: self.status,
            stream: self.stream,
            requested_model: self.requested_model,
            provider: self.provider.map(ProviderId::from),
            model: self.model,
            connection: self.connection_id.map(ConnectionId::from),
            connection_name: self.connection_name,
            key: self.api_key_id.map(ClientKeyId::from),
            key_name: self.api_key_name,
            agent: self.agent,
            duration: to_length(self.duration_ms),
            time_to_first_token: self.ttft_ms.map(to_length),
            cost: self.cost,
            error_code: self.error_code,
            error_summary: self.error_summary,
            session_tag: self.session_tag,
            combo_name: self.combo_name,
            strategy: self.strategy,
            id: RequestId::from(self.id),
        })
    }

    fn usage(&self) -> Usage {
        Usage {
            input_fresh: self.tokens_input.map(natural),
            cache_read: self.tokens_cache_read.map(natural),
            cache_write: self.tokens_cache_creation.map(natural),
            output: self.tokens_output.map(natural),
            reasoning: self.tokens_reasoning.map(natural),
            provider_cost: self.provider_reported_cost,
            estimated: self.estimated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_text_form_and_other_texts_are_refused() {
        let cursor = Cursor { at: Timestamp::from_millis(12), id: RequestId::from("a.b") };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "12", "12.", ".a", "x.a", "-1.a"] {
            assert_eq!(text.parse::<Cursor>(), Err(CursorError), "{text}");
        }
    }

    #[test]
    fn wildcards_in_a_search_are_ordinary_characters() {
        assert_eq!(contains(r"50%_\"), r"%50\%\_\\%");
    }
}
