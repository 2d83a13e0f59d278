//! The request log.

use domain::request_log::{AttemptRecord, RequestRecord, Trace};
use domain::{ClientKeyId, ConnectionId, Millis, ProviderId, RequestId};
use store::Cursor;

use crate::view::{
    Instant, RequestAttempt, RequestDetail, RequestExclusion, RequestFilter, RequestRow, RequestTrace, Requests,
    RequestsDeleted, RequestsDeletion,
};
use crate::{Control, ControlError, check};

const PAGE: u32 = 100;

/// One page of the log, newest first.
pub async fn requests_list(control: &Control, filter: RequestFilter) -> Result<Requests, ControlError> {
    let limit = check::within("limit", filter.limit.unwrap_or(PAGE), 1, store::MAX_PAGE)?;
    let unknown = || ControlError::invalid("cursor", "is not one that this list gave out");
    let cursor: Option<Cursor> = filter.cursor.as_deref().map(str::parse).transpose().map_err(|_| unknown())?;
    let wanted = store::RequestFilter {
        status: filter.status,
        outcome: filter.outcome.map(Into::into),
        provider: filter.provider.map(ProviderId::from),
        model: filter.model,
        connection: filter.connection_id.map(ConnectionId::from),
        key: filter.key_id.map(ClientKeyId::from),
        session: filter.session,
        combo: filter.combo,
        since: filter.since.map(Instant::timestamp),
        until: filter.until.map(Instant::timestamp),
        text: filter.text,
    };
    let (records, next) = control.store().list_requests(&wanted, cursor.as_ref(), limit).await?;
    Ok(Requests {
        requests: records.into_iter().map(row).collect(),
        next_cursor: next.map(|cursor| cursor.to_string()),
    })
}

/// The newest requests of those wanted, at most so many, newest first.
pub(crate) async fn newest(
    control: &Control,
    wanted: &store::RequestFilter,
    most: usize,
) -> Result<Vec<RequestRecord>, ControlError> {
    let mut records: Vec<RequestRecord> = Vec::new();
    let mut cursor: Option<Cursor> = None;
    while records.len() < most {
        let limit = u32::try_from(most - records.len()).unwrap_or(store::MAX_PAGE).min(store::MAX_PAGE);
        let (page, next) = control.store().list_requests(wanted, cursor.as_ref(), limit).await?;
        records.extend(page);
        match next {
            Some(_) => cursor = next,
            None => break,
        }
    }
    Ok(records)
}

/// The story of one request.
pub async fn request_get(control: &Control, id: String) -> Result<RequestDetail, ControlError> {
    let found = control.store().get_request(&RequestId::from(id.as_str())).await?;
    let mut record = found.ok_or_else(|| ControlError::not_found("request", &id))?;
    let bodies = control.store().get_bodies(&record.id, record.at).await;
    let trace = trace(std::mem::take(&mut record.trace));
    let attempts = u32::try_from(trace.attempts.len()).unwrap_or(u32::MAX);
    let row = RequestRow { attempts, ..row(record) };
    Ok(RequestDetail { row, trace, request_body: bodies.request, response_body: bodies.response })
}

/// Deletes from the log. What was consumed stays counted.
pub async fn requests_delete(control: &Control, which: RequestsDeletion) -> Result<RequestsDeleted, ControlError> {
    let deleted = match (which.all, which.before) {
        (Some(true), None) => control.store().delete_all_requests().await?,
        (None, Some(before)) => control.store().delete_requests_before(before.timestamp()).await?,
        (_, _) => return Err(ControlError::invalid("body", "say either {\"all\": true} or {\"before\": instant}")),
    };
    control.announce(&[gateway::Topic::Requests]);
    Ok(RequestsDeleted { deleted })
}

fn row(record: RequestRecord) -> RequestRow {
    RequestRow {
        id: record.id.to_string(),
        timestamp: record.at.into(),
        method: record.method,
        path: record.path,
        source_format: record.source.into(),
        target_format: record.target.map(Into::into),
        status: record.status,
        outcome: record.outcome.into(),
        stream: record.stream,
        requested_model: record.requested_model,
        provider: record.provider.map(|id| id.to_string()),
        model: record.model,
        connection_id: record.connection.map(|id| id.to_string()),
        connection_name: record.connection_name,
        combo_name: record.combo_name,
        strategy: record.strategy,
        key_id: record.key.map(|id| id.to_string()),
        key_name: record.key_name,
        agent: record.agent,
        attempts: u32::try_from(record.trace.attempts.len()).unwrap_or(u32::MAX),
        duration_ms: record.duration.as_millis(),
        ttft_ms: record.time_to_first_token.map(Millis::as_millis),
        tokens_input: record.usage.input(),
        tokens_output: record.usage.output,
        tokens_cache_read: record.usage.cache_read,
        tokens_cache_creation: record.usage.cache_write,
        tokens_reasoning: record.usage.reasoning,
        estimated: record.usage.estimated,
        cost: record.cost,
        error_code: record.error_code,
        error_summary: record.error_summary,
        session_tag: record.session_tag,
    }
}

fn trace(trace: Trace) -> RequestTrace {
    let mut order: Vec<String> = Vec::new();
    for attempt in &trace.attempts {
        let target = format!("{}/{}", attempt.provider, attempt.model);
        if order.last() != Some(&target) {
            order.push(target);
        }
    }
    RequestTrace {
        rule: trace.rule,
        order,
        attempts: trace.attempts.into_iter().map(attempt).collect(),
        exclusions: trace.exclusions.into_iter().map(RequestExclusion::from).collect(),
        changes: trace.warnings,
    }
}

fn attempt(attempt: AttemptRecord) -> RequestAttempt {
    RequestAttempt {
        n: attempt.n,
        provider: attempt.provider.to_string(),
        model: attempt.model,
        connection_id: attempt.connection.to_string(),
        connection_name: attempt.connection_name,
        execution_key: attempt.execution_key,
        started_at: attempt.started_at.into(),
        queued_ms: attempt.queued.as_millis(),
        connect_ms: attempt.connect.map(Millis::as_millis),
        first_token_ms: attempt.first_token.map(Millis::as_millis),
        duration_ms: attempt.duration.as_millis(),
        status: attempt.status,
        kind: attempt.kind,
        decision: attempt.decision,
        message: attempt.message,
        tokens_input: attempt.usage.and_then(|usage| usage.input()),
        tokens_output: attempt.usage.and_then(|usage| usage.output),
        cost: attempt.cost,
    }
}
