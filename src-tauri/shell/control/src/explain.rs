//! Why a model goes where it goes: the plan of a request that nobody sent, target by target and account by account.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::client_key::ClientKey;
use domain::health::LastError;
use domain::{ClientKeyId, Exclusion, Millis, Timestamp};
use gateway::explain::{Answer, Explanation, Outlook, Question, RouteKind as Kind, TargetOutlook, spokesman};

use crate::view::{
    ConnectionOutlook, ExclusionCause, ExclusionExplanation, ExpectedAnswer, ExplainQuery, ResilienceExplanation,
    RouteExplanation, RouteKind, TargetExplanation,
};
use crate::{Control, ControlError, breakers, check};

/// Who would be tried for a model now, and who is left out, why, until when and after what. Changes nothing.
pub async fn resilience_explain(control: &Control, query: ExplainQuery) -> Result<ResilienceExplanation, ControlError> {
    let name = check::text("model", &query.model)?;
    let ExplainQuery { session_key, tools, vision, input_tokens, output_tokens, .. } = query;
    let question = question("sessionKey", session_key, tools, vision, input_tokens, output_tokens)?;
    let key = asked_key(control, "keyId", query.key_id)?;
    let explained = control.explain(&name, key.as_deref(), &question);
    let Explanation { route, targets, answer: told, .. } =
        explained.map_err(|missing| not_found(&name, &missing.near))?;
    let snapshot = control.engine().snapshot();
    let positions = 1..;
    let targets = positions.zip(targets).map(|(position, told)| {
        let breaker = breakers::brief(snapshot.breakers.get(&told.provider));
        target(position, told, breaker, control.now())
    });
    let kind = match route.kind {
        Kind::Direct => RouteKind::Direct,
        Kind::Combo => RouteKind::Combo,
        Kind::Auto => RouteKind::Auto,
        Kind::QuotaShare => RouteKind::QuotaShare,
    };
    Ok(ResilienceExplanation {
        route: RouteExplanation { kind, rule: route.rule, name, strategy: route.strategy.to_owned() },
        targets: targets.collect(),
        answer: told.map(answer),
    })
}

/// The key that somebody is to be taken for.
pub(crate) fn asked_key(
    control: &Control,
    field: &str,
    id: Option<String>,
) -> Result<Option<Arc<ClientKey>>, ControlError> {
    let Some(id) = id else { return Ok(None) };
    let id = ClientKeyId::from(check::short(field, &id)?);
    let missing = || ControlError::invalid(field, format!("there is no key with the id {id}"));
    control.keys().by_id(&id).cloned().ok_or_else(missing).map(Some)
}

/// What is asked; `field` is where the session stands.
pub(crate) fn question(
    field: &str,
    session: Option<String>,
    tools: Option<u32>,
    vision: Option<bool>,
    input: Option<u32>,
    output: Option<u32>,
) -> Result<Question, ControlError> {
    Ok(Question {
        session: check::optional_text(field, session)?,
        tools: tools.unwrap_or(0),
        vision: vision.unwrap_or(false),
        input: u64::from(input.unwrap_or(0)),
        output: output.map(u64::from),
    })
}

pub(crate) fn answer(answer: Answer) -> ExpectedAnswer {
    ExpectedAnswer {
        status: answer.status,
        code: answer.code.to_owned(),
        retry_after_seconds: answer.retry_after.map(Millis::as_retry_after_seconds),
    }
}

fn target(position: u32, told: TargetOutlook, breaker: crate::view::Breaker, now: Timestamp) -> TargetExplanation {
    let speaks = spokesman(&told.accounts).map(|outlook| outlook.connection.clone());
    let score = told.figures.figures.first().map(|figure| figure.value);
    TargetExplanation {
        position,
        execution_key: told.execution_key,
        provider: told.provider.to_string(),
        model: told.model,
        connection_id: told.connection.or(speaks).map(|id| id.to_string()),
        available: told.exclusion.is_none() && told.accounts.iter().any(|account| account.exclusion.is_none()),
        exclusion: told.exclusion.map(|why| exclusion(why, now)),
        factors: score.is_some().then(|| factors(&told.figures)),
        score,
        connections: told.accounts.into_iter().map(|outlook| connection(outlook, now)).collect(),
        breaker,
    }
}

fn factors(figures: &routing::explanation::Explanation) -> BTreeMap<String, f64> {
    if figures.factors.is_empty() {
        return figures.figures.iter().map(|figure| (figure.name.to_owned(), figure.value)).collect();
    }
    figures.factors.iter().map(|part| (part.factor.as_str().to_owned(), part.share)).collect()
}

fn connection(outlook: Outlook, now: Timestamp) -> ConnectionOutlook {
    ConnectionOutlook {
        connection_id: outlook.connection.to_string(),
        connection_name: outlook.name,
        available: outlook.exclusion.is_none(),
        exclusion: outlook.exclusion.map(|why| exclusion(why, now)),
    }
}

pub(crate) fn exclusion(why: Exclusion, now: Timestamp) -> ExclusionExplanation {
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

/// Nothing is known by this name.
pub(crate) fn not_found(model: &str, near: &[String]) -> ControlError {
    let mut message = format!("the model {model} is not known here");
    if !near.is_empty() {
        message.push_str("; near it are ");
        message.push_str(&near.join(", "));
    }
    ControlError::NotFound { message }
}
