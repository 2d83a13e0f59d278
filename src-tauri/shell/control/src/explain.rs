//! Why a model goes where it goes: the plan of a request that nobody sent, account by account.

use domain::Timestamp;
use domain::health::LastError;
use domain::request_log::ExclusionRecord;

use crate::view::{CandidateExplanation, ExclusionCause, ExplainQuery, ResilienceExplanation};
use crate::{Control, ControlError, breakers, check};

/// Who would be tried for a model now, and who is left out, why, until when and after what. Changes nothing.
pub async fn resilience_explain(control: &Control, query: ExplainQuery) -> Result<ResilienceExplanation, ControlError> {
    let model = check::text("model", &query.model)?;
    let explanation = control.explain(&model).map_err(|missing| not_found(&model, &missing.near))?;
    let snapshot = control.engine().snapshot();
    let now = control.now();
    let available = explanation.available.into_iter().map(|(candidate, name)| CandidateExplanation {
        connection_id: candidate.connection.to_string(),
        connection_name: name,
        provider: candidate.provider.to_string(),
        model: candidate.model,
        available: true,
        mechanism: None,
        reason: None,
        until: None,
        remaining_ms: None,
        cause: None,
    });
    let excluded = explanation.excluded.into_iter().map(|record| left_out(record, now));
    Ok(ResilienceExplanation {
        model,
        breaker: breakers::brief(snapshot.breakers.get(&explanation.resolved.provider)),
        provider: explanation.resolved.provider.to_string(),
        resolved_model: explanation.resolved.model,
        rule: explanation.resolved.rule,
        candidates: available.chain(excluded).collect(),
    })
}

fn left_out(record: ExclusionRecord, now: Timestamp) -> CandidateExplanation {
    let connection_id = record.connection.map(|id| id.to_string()).unwrap_or_default();
    CandidateExplanation {
        connection_name: record.connection_name.unwrap_or_else(|| connection_id.clone()),
        connection_id,
        provider: record.provider.to_string(),
        model: record.model,
        available: false,
        mechanism: Some(record.exclusion.mechanism.into()),
        reason: Some(record.exclusion.reason),
        until: record.exclusion.until.map(Into::into),
        remaining_ms: record.exclusion.until.map(|until| until.since(now).as_millis()),
        cause: record.exclusion.cause.map(cause),
    }
}

/// What the upstream said when it came to an exclusion.
pub(crate) fn cause(error: LastError) -> ExclusionCause {
    ExclusionCause { status: error.status, message: error.message, at: error.at.into() }
}

fn not_found(model: &str, near: &[String]) -> ControlError {
    let mut message = format!("the model {model} is not known here");
    if !near.is_empty() {
        message.push_str("; near it are ");
        message.push_str(&near.join(", "));
    }
    ControlError::NotFound { message }
}
