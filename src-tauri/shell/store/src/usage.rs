//! Tokens and money, added up (gateway specification, 5.5 and 6.1 `/api/usage/summary`).
//!
//! Usage has a table of its own because it outlives the log: deleting what people asked does not delete what it cost.
//!
//! A request is a row. Where several of its calls consumed something, that row holds none of it, and each call has one of its
//! own beside it, of its provider, model and account, with its number in `call`: sums go over all rows, counts over those
//! without such a number.

use domain::request_log::{RequestOutcome, RequestRecord};
use domain::{ClientKeyId, ConnectionId, Millis, ProviderId, Timestamp};
use sqlx::{FromRow, SqliteConnection};

use crate::columns::{Cell, from_instant, integer, natural, to_instant, to_length};
use crate::{Error, Store};

/// Counts above this are stored as this: no answer has more, and a hostile figure must not overflow a sum.
const MAX_TOKENS: i64 = 1_000_000_000_000;

/// What a group has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// A calendar day (`2026-11-29`) of the zone that is this many seconds east of UTC.
    Day {
        offset_seconds: i32,
    },
    Provider,
    /// The model that answered, as `provider/model`.
    Model,
    Key,
    Connection,
    /// The name of the combo that was asked.
    Combo,
}

/// Sums over requests. Tokens that an upstream did not state count as none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UsageTotals {
    pub requests: u64,
    pub successes: u64,
    pub failures: u64,
    /// The client left.
    pub aborted: u64,
    /// Neither read from nor written to a cache.
    pub input_fresh: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
    /// US dollars; requests without a known price count as nothing.
    pub cost: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct UsageGroup {
    /// The day, provider, `provider/model`, key id, connection id or combo; `None` for requests that have none, such as
    /// those that reached no provider.
    pub group: Option<String>,
    /// The latest name of the key or connection.
    pub name: Option<String>,
    pub totals: UsageTotals,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageSummary {
    /// By group, days in order.
    pub groups: Vec<UsageGroup>,
    pub totals: UsageTotals,
}

/// One request that is over, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedRequest {
    pub at: Timestamp,
    pub outcome: RequestOutcome,
    /// From its arrival to its end.
    pub took: Millis,
    /// From its arrival to the first text, tool call or reasoning.
    pub first_token: Option<Millis>,
}

/// What a key consumed of one provider and model.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyUsage {
    /// None for requests that reached nobody.
    pub provider: Option<ProviderId>,
    pub model: Option<String>,
    /// US dollars; requests without a known price count as nothing.
    pub cost: f64,
    /// Input and output.
    pub tokens: u64,
    /// Requests, or calls of one, that consumed tokens for an unknown price.
    pub unpriced: u64,
}

#[derive(FromRow)]
struct KeyRow {
    provider: Option<String>,
    model: Option<String>,
    cost: f64,
    tokens: i64,
    unpriced: i64,
}

impl From<KeyRow> for KeyUsage {
    fn from(row: KeyRow) -> KeyUsage {
        KeyUsage {
            provider: row.provider.map(ProviderId::from),
            model: row.model,
            cost: row.cost,
            tokens: natural(row.tokens),
            unpriced: natural(row.unpriced),
        }
    }
}

/// `max(timestamp)` makes SQLite take the bare column `name` from the newest row of the group.
macro_rules! summary {
    ($group:literal, $name:literal) => {
        concat!(
            "SELECT ",
            $group,
            " AS grouping, ",
            $name,
            " AS name, max(timestamp) AS newest, sum(call IS NULL) AS requests,
                sum(call IS NULL AND outcome = 'success') AS successes,
                sum(call IS NULL AND outcome = 'failure') AS failures,
                sum(call IS NULL AND outcome = 'aborted') AS aborted, coalesce(sum(tokens_input), 0) AS input_fresh,
                coalesce(sum(tokens_cache_read), 0) AS cache_read,
                coalesce(sum(tokens_cache_creation), 0) AS cache_write, coalesce(sum(tokens_output), 0) AS output,
                coalesce(sum(tokens_reasoning), 0) AS reasoning, total(cost) AS cost
             FROM usage_history WHERE timestamp >= ?1 AND timestamp < ?2 GROUP BY grouping ORDER BY grouping"
        )
    };
}

#[derive(FromRow)]
struct Row {
    grouping: Option<String>,
    name: Option<String>,
    requests: i64,
    successes: i64,
    failures: i64,
    aborted: i64,
    input_fresh: i64,
    cache_read: i64,
    cache_write: i64,
    output: i64,
    reasoning: i64,
    cost: f64,
}

impl Store {
    /// Usage from `since` (inclusive) to `until` (exclusive).
    pub async fn usage_summary(
        &self,
        group_by: GroupBy,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<UsageSummary, Error> {
        self.settle().await;
        let (sql, offset_seconds) = match group_by {
            GroupBy::Day { offset_seconds } => {
                (summary!("date(timestamp / 1000 + ?3, 'unixepoch')", "NULL"), offset_seconds)
            }
            GroupBy::Provider => (summary!("provider", "NULL"), 0),
            GroupBy::Model => (summary!("provider || '/' || model", "NULL"), 0),
            GroupBy::Key => (summary!("api_key_id", "api_key_name"), 0),
            GroupBy::Connection => (summary!("connection_id", "connection_name"), 0),
            GroupBy::Combo => (summary!("combo_name", "NULL"), 0),
        };
        let mut query = sqlx::query_as(sql).bind(from_instant(since)).bind(from_instant(until));
        if matches!(group_by, GroupBy::Day { .. }) {
            query = query.bind(offset_seconds);
        }
        let rows: Vec<Row> = query.fetch_all(self.database().reader()).await?;
        let groups: Vec<UsageGroup> = rows.into_iter().map(UsageGroup::from).collect();
        let mut totals = UsageTotals::default();
        for group in &groups {
            totals.add(&group.totals);
        }
        Ok(UsageSummary { groups, totals })
    }

    /// The newest requests that arrived from `since` on, at most so many, in no particular order.
    pub async fn finished_requests(&self, since: Timestamp, most: u32) -> Result<Vec<FinishedRequest>, Error> {
        self.settle().await;
        let rows: Vec<(i64, String, i64, Option<i64>)> = sqlx::query_as(
            "SELECT timestamp, outcome, latency_ms, ttft_ms FROM usage_history WHERE timestamp >= ? AND call IS NULL
             ORDER BY timestamp DESC LIMIT ?",
        )
        .bind(from_instant(since))
        .bind(most)
        .fetch_all(self.database().reader())
        .await?;
        rows.into_iter()
            .map(|(at, outcome, took, first_token)| {
                let cell = Cell { table: "usage_history", column: "outcome", id: "" };
                Ok(FinishedRequest {
                    at: to_instant(at),
                    outcome: cell.read_word(&outcome)?,
                    took: to_length(took),
                    first_token: first_token.map(to_length),
                })
            })
            .collect()
    }

    /// What a key consumed of each provider and model with requests that arrived from `since` (inclusive) to `until`
    /// (exclusive).
    pub async fn key_usage(
        &self,
        key: &ClientKeyId,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<KeyUsage>, Error> {
        self.settle().await;
        let rows: Vec<KeyRow> = sqlx::query_as(
            "SELECT provider, model, total(cost) AS cost, sum(tokens) AS tokens,
                    sum(cost IS NULL AND tokens > 0) AS unpriced
             FROM (SELECT provider, model, cost, coalesce(tokens_input, 0) + coalesce(tokens_cache_read, 0)
                          + coalesce(tokens_cache_creation, 0) + coalesce(tokens_output, 0) AS tokens
                   FROM usage_history WHERE api_key_id = ? AND timestamp >= ? AND timestamp < ?)
             GROUP BY provider, model",
        )
        .bind(key.as_str())
        .bind(from_instant(since))
        .bind(from_instant(until))
        .fetch_all(self.database().reader())
        .await?;
        Ok(rows.into_iter().map(KeyUsage::from).collect())
    }

    /// Deletes usage from before `before`; returns how many rows that were.
    pub async fn delete_usage_before(&self, before: Timestamp) -> Result<u64, Error> {
        self.settle().await;
        let statement = "DELETE FROM usage_history WHERE rowid IN
            (SELECT rowid FROM usage_history WHERE timestamp < ? ORDER BY timestamp LIMIT ?)";
        self.database().delete_in_steps(statement, before).await
    }
}

/// Puts the calls of a request, of which the table has one row for all, into rows of their own.
pub(crate) async fn split(connection: &mut SqliteConnection, record: &RequestRecord) -> Result<(), Error> {
    let id = record.id.as_str();
    for call in record.consumption() {
        let Some(n) = call.n else { return Ok(()) };
        sqlx::query(
            "INSERT INTO usage_history (id, call, timestamp, provider, model, requested_model, connection_id, connection_name,
                    api_key_id, api_key_name, tokens_input, tokens_output, tokens_cache_read, tokens_cache_creation,
                    tokens_reasoning, estimated, cost, provider_reported_cost, status, outcome, latency_ms, ttft_ms,
                    error_code, session_tag, combo_name)
             SELECT id || '#' || ?2, ?2, timestamp, ?3, ?4, requested_model, ?5, ?6, api_key_id, api_key_name,
                    min(?7, ?8), min(?9, ?8), min(?10, ?8), min(?11, ?8), min(?12, ?8), ?13, ?14, ?15, status, outcome,
                    latency_ms, ttft_ms, error_code, session_tag, combo_name
             FROM usage_history WHERE id = ?1 ON CONFLICT (id) DO NOTHING",
        )
        .bind(id)
        .bind(n)
        .bind(call.provider.map(ProviderId::as_str))
        .bind(call.model)
        .bind(call.connection.map(ConnectionId::as_str))
        .bind(call.connection_name)
        .bind(call.usage.input_fresh.map(integer))
        .bind(MAX_TOKENS)
        .bind(call.usage.output.map(integer))
        .bind(call.usage.cache_read.map(integer))
        .bind(call.usage.cache_write.map(integer))
        .bind(call.usage.reasoning.map(integer))
        .bind(call.usage.estimated)
        .bind(call.cost)
        .bind(call.usage.provider_cost)
        .execute(&mut *connection)
        .await?;
    }
    sqlx::query(
        "UPDATE usage_history SET tokens_input = NULL, tokens_output = NULL, tokens_cache_read = NULL,
                tokens_cache_creation = NULL, tokens_reasoning = NULL, estimated = 0, cost = NULL,
                provider_reported_cost = NULL
         WHERE id = ?",
    )
    .bind(id)
    .execute(connection)
    .await?;
    Ok(())
}

/// Adds what the rows of the log behind `last` came to. They lie in memory still: copied by SQLite, their values need not be
/// handed over once more.
pub(crate) async fn add_from_log(connection: &mut SqliteConnection, last: i64) -> Result<(), Error> {
    let copy = "INSERT INTO usage_history (id, timestamp, provider, model, requested_model, connection_id, connection_name,
            api_key_id, api_key_name, tokens_input, tokens_output, tokens_cache_read, tokens_cache_creation,
            tokens_reasoning, estimated, cost, provider_reported_cost, status, outcome, latency_ms, ttft_ms,
            error_code, session_tag, combo_name)
         SELECT id, timestamp, provider, model, requested_model, connection_id, connection_name,
            api_key_id, api_key_name, min(tokens_input, ?2), min(tokens_output, ?2), min(tokens_cache_read, ?2),
            min(tokens_cache_creation, ?2), min(tokens_reasoning, ?2), estimated, cost, provider_reported_cost, status, outcome,
            duration_ms, ttft_ms, error_code, session_tag, combo_name
         FROM call_logs WHERE rowid > ?1 ON CONFLICT (id) DO NOTHING";
    sqlx::query(copy).bind(last).bind(MAX_TOKENS).execute(connection).await?;
    Ok(())
}

impl UsageTotals {
    fn add(&mut self, other: &UsageTotals) {
        self.requests += other.requests;
        self.successes += other.successes;
        self.failures += other.failures;
        self.aborted += other.aborted;
        self.input_fresh += other.input_fresh;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.cost += other.cost;
    }
}

impl From<Row> for UsageGroup {
    fn from(row: Row) -> UsageGroup {
        UsageGroup {
            group: row.grouping,
            name: row.name,
            totals: UsageTotals {
                requests: natural(row.requests),
                successes: natural(row.successes),
                failures: natural(row.failures),
                aborted: natural(row.aborted),
                input_fresh: natural(row.input_fresh),
                cache_read: natural(row.cache_read),
                cache_write: natural(row.cache_write),
                output: natural(row.output),
                reasoning: natural(row.reasoning),
                cost: row.cost,
            },
        }
    }
}
