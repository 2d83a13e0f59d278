//! Why a model goes where it goes: the plan of a request that nobody sent, account by account.

use std::sync::Arc;

use domain::client_key::ClientKey;
use domain::health::LastError;
use domain::{ClientKeyId, Exclusion, Millis, Timestamp};
use gateway::explain::{Explanation, Outlook};

use crate::view::{
    Breaker, ConnectionOutlook, ExclusionCause, ExclusionExplanation, ExpectedAnswer, ExplainQuery,
    ResilienceExplanation, RouteExplanation, RouteKind, TargetExplanation,
};
use crate::{Control, ControlError, breakers, check};

/// Strategy of a name that stands for one model.
const SINGLE: &str = "single";

/// Who would be tried for a model now, and who is left out, why, until when and after what. Changes nothing.
pub async fn resilience_explain(control: &Control, query: ExplainQuery) -> Result<ResilienceExplanation, ControlError> {
    let name = check::text("model", &query.model)?;
    check::optional_text("sessionKey", query.session_key)?;
    let key = query.key_id.map(|id| key(control, &id)).transpose()?;
    let explanation = control.explain(&name, key.as_deref()).map_err(|missing| not_found(&name, &missing.near))?;
    let snapshot = control.engine().snapshot();
    let breaker = breakers::brief(snapshot.breakers.get(&explanation.resolved.provider));
    let answer = explanation.answer.as_ref().map(|answer| ExpectedAnswer {
        status: answer.status,
        code: answer.code.to_owned(),
        retry_after_seconds: answer.retry_after.map(Millis::as_retry_after_seconds),
    });
    Ok(ResilienceExplanation {
        route: RouteExplanation {
            kind: RouteKind::Direct,
            rule: explanation.resolved.rule,
            name,
            strategy: SINGLE.to_owned(),
        },
        targets: vec![target(explanation, breaker, control.now())],
        answer,
    })
}

fn key(control: &Control, id: &str) -> Result<Arc<ClientKey>, ControlError> {
    let id = ClientKeyId::from(check::short("keyId", id)?);
    let missing = || ControlError::invalid("keyId", format!("there is no key with the id {id}"));
    control.keys().by_id(&id).cloned().ok_or_else(missing)
}

/// The one target of a name that stands for one model.
fn target(explanation: Explanation, breaker: Breaker, now: Timestamp) -> TargetExplanation {
    let Explanation { resolved, outlooks, .. } = explanation;
    let spokesman = spokesman(&outlooks).cloned();
    TargetExplanation {
        position: 1,
        execution_key: format!("{}/{}", resolved.provider, resolved.model),
        provider: resolved.provider.to_string(),
        model: resolved.model,
        connection_id: spokesman.as_ref().map(|outlook| outlook.connection.to_string()),
        available: spokesman.as_ref().is_some_and(|outlook| outlook.exclusion.is_none()),
        exclusion: spokesman.and_then(|outlook| outlook.exclusion).map(|why| exclusion(why, now)),
        connections: outlooks.into_iter().map(|outlook| connection(outlook, now)).collect(),
        score: None,
        factors: None,
        breaker,
    }
}

/// The account that speaks for all: the first that is available, else the one that is back first, else the first.
fn spokesman(outlooks: &[Outlook]) -> Option<&Outlook> {
    outlooks.iter().min_by_key(|outlook| outlook.exclusion.as_ref().map(|why| why.until.unwrap_or(Timestamp::MAX)))
}

fn connection(outlook: Outlook, now: Timestamp) -> ConnectionOutlook {
    ConnectionOutlook {
        connection_id: outlook.connection.to_string(),
        connection_name: outlook.name,
        available: outlook.exclusion.is_none(),
        exclusion: outlook.exclusion.map(|why| exclusion(why, now)),
    }
}

fn exclusion(why: Exclusion, now: Timestamp) -> ExclusionExplanation {
    ExclusionExplanation {
        mechanism: why.mechanism.into(),
        reason: why.reason,
        until: why.until.map(Into::into),
        retry_after_ms: why.until.map(|until| until.since(now).as_millis()),
        cause: why.cause.map(cause),
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
