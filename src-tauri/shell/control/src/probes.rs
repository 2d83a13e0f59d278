//! Asking providers: does this account work, what does it offer? Every question here is one somebody asked for; none of them
//! touches routing, except that a successful test of one connection clears what was held against it.

use std::sync::Arc;

use dialects::models::ListedModel;
use domain::{ConnectionId, Millis};
use futures_util::stream::{self, StreamExt};
use gateway::Entry;
use resilience::ResetScope;
use upstream::Target;
use upstream::discovery::{self, ProbeError, ProbeReport};

use crate::connections::{from_draft, view_of};
use crate::nodes;
use crate::view::{
    BatchTest, BatchTestResult, BatchTestResults, ConnectionDraft, ConnectionModel, ConnectionModels,
    ConnectionModelsQuery, ConnectionTest, ConnectionTestReply, ConnectionValidation, Instant, ModelSource, NodeTest,
    NodeTestReply, ProbeProblem,
};
use crate::{Control, ControlError, check};

/// How long one test may take in all.
pub(crate) const TIMEOUT: Millis = Millis::seconds(30);
/// Tests under way at once when several connections are tested.
const AT_ONCE: usize = 8;

/// Tests a connection, with a model when one is named or set as its default.
pub async fn connection_test(
    control: &Control,
    id: String,
    test: ConnectionTest,
) -> Result<ConnectionTestReply, ControlError> {
    let entry = entry(control, &id)?;
    let model = check::optional_text("model", test.model)?;
    let report = probe(control, &target(control, &entry)?, model.or_else(|| test_model(&entry))).await;
    if report.ok {
        control.engine().reset(&ResetScope::Connection(entry.connection.id.clone()));
    }
    Ok(ConnectionTestReply {
        ok: report.ok,
        status: report.status,
        latency_ms: report.latency.as_millis(),
        model: report.model,
        error: report.error.map(problem),
        connection: view_of(control, &entry.connection),
    })
}

/// Tests several connections. Nothing about them changes.
pub async fn connections_test(control: &Control, which: BatchTest) -> Result<BatchTestResults, ControlError> {
    let entries = selected(control, which)?;
    let results = stream::iter(entries).map(|entry| test_one(control, entry)).buffered(AT_ONCE).collect().await;
    Ok(BatchTestResults { results })
}

/// Tries a credential that is not stored.
pub async fn connection_validate(
    control: &Control,
    draft: ConnectionDraft,
) -> Result<ConnectionValidation, ControlError> {
    let (connection, credential) = from_draft(control, draft)?;
    let entry = Entry { connection, credential };
    let report = probe(control, &target(control, &entry)?, test_model(&entry)).await;
    Ok(ConnectionValidation {
        ok: report.ok,
        status: report.status,
        latency_ms: report.latency.as_millis(),
        error: report.error.map(problem),
    })
}

/// The models a connection offers: what the catalogue says and what the provider listed when last asked.
pub async fn connection_models(
    control: &Control,
    id: String,
    query: ConnectionModelsQuery,
) -> Result<ConnectionModels, ControlError> {
    let entry = entry(control, &id)?;
    let target = target(control, &entry)?;
    if query.refresh == Some(true) {
        let listed = discovery::models(control.transport().as_ref(), &target, control.clock().as_ref(), TIMEOUT).await;
        control.set_discovered(&entry.connection.provider, listed.map_err(refused)?);
    }
    let known = target.provider.models.iter().map(|model| ConnectionModel {
        id: model.id.clone(),
        name: model.name.clone(),
        context: model.context.or(Some(target.provider.default_context)),
        max_output: model.max_output,
        enabled: !is_excluded(&entry, &model.id),
        source: ModelSource::Catalogue,
    });
    let mut models: Vec<ConnectionModel> = known.collect();
    for listed in control.discovered(&entry.connection.provider) {
        if !models.iter().any(|model| model.id == listed.id) {
            models.push(live(&entry, listed));
        }
    }
    let fetched_at = control.discovered_at(&entry.connection.provider).map(Instant::from);
    Ok(ConnectionModels { models, fetched_at })
}

/// Asks a custom provider for its models.
pub async fn node_test(control: &Control, id: String, test: NodeTest) -> Result<NodeTestReply, ControlError> {
    let node = nodes::find(control, &id).await?;
    let draft = ConnectionDraft { api_key: test.api_key, ..ConnectionDraft::of(node.id.as_str(), &node.name) };
    let (connection, credential) = from_draft(control, draft)?;
    let report = probe(control, &target(control, &Entry { connection, credential })?, None).await;
    Ok(NodeTestReply {
        ok: report.ok,
        status: report.status,
        latency_ms: report.latency.as_millis(),
        models: report.models.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
        error: report.error.map(problem),
    })
}

fn entry(control: &Control, id: &str) -> Result<Arc<Entry>, ControlError> {
    let connections = control.connections();
    let found = connections.get(&ConnectionId::from(id)).cloned();
    found.ok_or_else(|| ControlError::not_found("connection", id))
}

fn target(control: &Control, entry: &Entry) -> Result<Target, ControlError> {
    control.target(entry).ok_or_else(|| {
        let provider = &entry.connection.provider;
        ControlError::conflict(format!("the provider {provider} of this connection is gone"))
    })
}

async fn probe(control: &Control, target: &Target, model: Option<String>) -> ProbeReport {
    let transport = control.transport().as_ref();
    discovery::probe(transport, target, model.as_deref(), control.clock().as_ref(), TIMEOUT).await
}

/// Asks one model of an account, in these words or with a greeting.
pub(crate) async fn ask(control: &Control, target: &Target, model: &str, prompt: Option<&str>) -> ProbeReport {
    let (transport, clock) = (control.transport().as_ref(), control.clock().as_ref());
    match prompt {
        Some(prompt) => discovery::probe_saying(transport, target, model, prompt, clock, TIMEOUT).await,
        None => discovery::probe(transport, target, Some(model), clock, TIMEOUT).await,
    }
}

async fn test_one(control: &Control, entry: Arc<Entry>) -> BatchTestResult {
    let connection_id = entry.connection.id.to_string();
    match target(control, &entry) {
        Ok(target) => {
            let report = probe(control, &target, test_model(&entry)).await;
            BatchTestResult {
                connection_id,
                ok: report.ok,
                status: report.status,
                latency_ms: report.latency.as_millis(),
                error: report.error.map(problem),
            }
        }
        Err(error) => BatchTestResult {
            connection_id,
            ok: false,
            status: None,
            latency_ms: 0,
            error: Some(ProbeProblem { code: error.code().to_owned(), message: error.to_string() }),
        },
    }
}

/// Exactly one way of saying which.
fn selected(control: &Control, which: BatchTest) -> Result<Vec<Arc<Entry>>, ControlError> {
    let connections = control.connections();
    match (which.connection_ids, which.provider, which.all) {
        (Some(ids), None, None) => ids.iter().map(|id| entry(control, id)).collect(),
        (None, Some(provider), None) => {
            Ok(connections.iter().filter(|entry| entry.connection.provider.as_str() == provider).cloned().collect())
        }
        (None, None, Some(true)) => Ok(connections.iter().cloned().collect()),
        (_, _, _) => {
            let message = "say exactly one of connectionIds, provider and {\"all\": true}";
            Err(ControlError::invalid("body", message))
        }
    }
}

fn test_model(entry: &Entry) -> Option<String> {
    entry.connection.default_model.clone()
}

fn is_excluded(entry: &Entry, model: &str) -> bool {
    entry.connection.excluded_models.iter().any(|glob| domain::model_name::glob_matches(glob, model))
}

fn live(entry: &Entry, listed: ListedModel) -> ConnectionModel {
    ConnectionModel {
        enabled: !is_excluded(entry, &listed.id),
        name: listed.name.unwrap_or_else(|| listed.id.clone()),
        id: listed.id,
        context: listed.context,
        max_output: listed.max_output,
        source: ModelSource::Live,
    }
}

pub(crate) fn problem(error: ProbeError) -> ProbeProblem {
    ProbeProblem { code: error.code.as_str().to_owned(), message: error.message }
}

fn refused(error: ProbeError) -> ControlError {
    ControlError::Upstream { message: error.message }
}
