//! Asking every target of a combo by hand. Forced: whoever rests is asked too. Nobody's health changes by it.

use futures_util::stream::{self, StreamExt};
use gateway::ComboTarget;

use super::find;
use crate::view::{ComboTest, ComboTestResult, ComboTestResults, ProbeProblem};
use crate::{Control, ControlError, check, probes};

/// Targets asked at once.
const AT_ONCE: usize = 8;
/// Targets asked at most.
const MOST: usize = 100;

/// Asks every target of a combo once, each through the account that would be asked first.
pub async fn combo_test(control: &Control, id: String, test: ComboTest) -> Result<ComboTestResults, ControlError> {
    let combo = find(control, &id)?;
    let prompt = check::optional_text("prompt", test.prompt)?;
    let mut targets = control.combo_targets(&combo);
    targets.truncate(MOST);
    let ask = |target| one(control, target, prompt.as_deref());
    let results = stream::iter(targets).map(ask).buffered(AT_ONCE).collect().await;
    Ok(ComboTestResults { results })
}

async fn one(control: &Control, asked: ComboTarget, prompt: Option<&str>) -> ComboTestResult {
    let ComboTarget { target, entry } = asked;
    let connection_id = entry.as_ref().map(|entry| entry.connection.id.to_string());
    let whom = entry.as_ref().and_then(|entry| control.target(entry));
    let mut result = ComboTestResult {
        execution_key: target.execution_key,
        provider: target.provider.to_string(),
        model: target.model,
        connection_id,
        ok: false,
        status: None,
        latency_ms: 0,
        error: None,
    };
    let Some(whom) = whom else {
        let message = format!("no connection to {} may serve this target: add one under Providers", result.provider);
        result.error = Some(ProbeProblem { code: "no_connection".to_owned(), message });
        return result;
    };
    let report = probes::ask(control, &whom, &result.model, prompt).await;
    ComboTestResult {
        ok: report.ok,
        status: report.status,
        latency_ms: report.latency.as_millis(),
        error: report.error.map(probes::problem),
        ..result
    }
}
