//! Stage 4: the accounts that could serve the request, ranked; and who was left out, with the reason.

use std::sync::Arc;

use catalog::Provider;
use domain::client_key::ClientKey;
use domain::request_log::ExclusionRecord;
use domain::wire::reason;
use domain::{Availability, Candidate, Exclusion, Mechanism, Operation};
use resilience::{Admission, Caller, ComboGate};
use routing::account::{self, Accounts};
use routing::{Resolved, Target};

use crate::accounts::{self, Turn};
use crate::address_book::Entry;
use crate::admit;
use crate::exchange::upstream_operation;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::translate::truncates_tools;

/// One account to try, in order.
#[derive(Clone)]
pub(crate) struct Step {
    pub(crate) candidate: Candidate,
    pub(crate) entry: Arc<Entry>,
    pub(crate) provider: Arc<Provider>,
    /// What the upstream is asked for: the client's own operation, or its counterpart in another dialect.
    pub(crate) operation: Operation,
    /// The account was ours to choose: no step of a combo names it.
    pub(crate) is_chosen: bool,
}

/// What of a request decides whom it may go to.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) operation: Operation,
    pub(crate) stream: bool,
    pub(crate) key: Option<&'a ClientKey>,
    pub(crate) caller: Caller,
    /// Tools that the request brings.
    pub(crate) tools: u32,
    /// An account whose quota runs out is left out.
    pub(crate) quota_cutoff: bool,
    /// It asks by way of a quota pool, which turns nobody away for want of a place.
    pub(crate) shares: bool,
    /// Of a provider's accounts the first serves until it cannot, however they otherwise take turns.
    pub(crate) fills_first: bool,
    pub(crate) turn: Turn<'a>,
}

impl<'a> Asker<'a> {
    pub(crate) fn of(request: &'a ClientRequest, caller: Caller) -> Self {
        Asker {
            operation: request.operation,
            stream: request.stream,
            key: request.key.as_deref(),
            caller,
            tools: request.glance.tool_count,
            quota_cutoff: true,
            shares: false,
            fills_first: false,
            turn: Turn::Of(request),
        }
    }

    /// Nobody in particular, who asks a provider for text.
    pub(crate) fn anybody(operation: Operation, key: Option<&'a ClientKey>, caller: Caller) -> Self {
        let turn = Turn::Nobody(None);
        Asker {
            operation,
            stream: false,
            key,
            caller,
            tools: 0,
            quota_cutoff: true,
            shares: false,
            fills_first: false,
            turn,
        }
    }
}

/// Ranks the provider's accounts for this request; its turn is taken.
pub(crate) fn plan(
    gateway: &Gateway,
    request: &ClientRequest,
    resolved: &Resolved,
    provider: &Arc<Provider>,
) -> (Vec<Step>, Vec<ExclusionRecord>) {
    rank(gateway, &Asker::of(request, Caller::Direct), resolved, provider)
}

/// Who could serve this request now, and who not. Nobody's turn is taken.
pub(crate) fn look(
    gateway: &Gateway,
    request: &ClientRequest,
    resolved: &Resolved,
    provider: &Arc<Provider>,
) -> (Vec<Step>, Vec<ExclusionRecord>) {
    let asker = Asker { turn: Turn::Nobody(None), ..Asker::of(request, Caller::Direct) };
    rank(gateway, &asker, resolved, provider)
}

/// The same for whoever asks, also when no request is at hand ([`crate::explain`]).
pub(crate) fn rank(
    gateway: &Gateway,
    asker: &Asker<'_>,
    resolved: &Resolved,
    provider: &Arc<Provider>,
) -> (Vec<Step>, Vec<ExclusionRecord>) {
    let connections = gateway.connections();
    rank_among(
        gateway,
        asker,
        &resolved.model,
        provider,
        connections.of_provider(&resolved.provider).cloned().collect(),
        true,
    )
}

/// The accounts that may serve a target of a combo, ranked; and who was left out.
pub(crate) fn steps_of(gateway: &Gateway, asker: &Asker<'_>, target: &Target) -> (Vec<Step>, Vec<ExclusionRecord>) {
    let catalog = gateway.catalog();
    let Some(provider) = catalog.get(&target.provider) else { return (Vec::new(), Vec::new()) };
    let connections = gateway.connections();
    let entries = connections.of_target(target).cloned().collect();
    rank_among(gateway, asker, &target.model, provider, entries, target.connection.is_none())
}

fn rank_among(
    gateway: &Gateway,
    asker: &Asker<'_>,
    model: &str,
    provider: &Arc<Provider>,
    entries: Vec<Arc<Entry>>,
    is_chosen: bool,
) -> (Vec<Step>, Vec<ExclusionRecord>) {
    let candidates: Vec<Candidate> = entries.iter().map(|entry| entry.candidate(model, provider)).collect();
    let entry_of = |candidate: &Candidate| entries.iter().find(|entry| entry.connection.id == candidate.connection);

    let Accounts { attempts, excluded } = account::by_priority(&candidates, |candidate| match entry_of(candidate) {
        Some(entry) => availability(gateway, asker, provider, candidate, entry),
        None => Availability::Excluded(exclusion(Mechanism::SwitchedOff, reason::SWITCHED_OFF)),
    });
    let steps = attempts
        .into_iter()
        .filter_map(|candidate| {
            let entry = Arc::clone(entry_of(&candidate)?);
            let operation = upstream_operation(provider, asker.operation, &candidate.model, asker.stream)?;
            Some(Step { candidate, entry, provider: Arc::clone(provider), operation, is_chosen })
        })
        .collect();
    let steps = if is_chosen { accounts::in_order(gateway, asker, steps) } else { steps };
    let exclusions = excluded
        .into_iter()
        .map(|(candidate, exclusion)| {
            let name = entry_of(&candidate).map(|entry| entry.connection.name.clone());
            ExclusionRecord::of(&candidate, name, exclusion)
        })
        .collect();
    (steps, exclusions)
}

/// What the request itself rules out, then what the Engine says.
pub(crate) fn availability(
    gateway: &Gateway,
    asker: &Asker<'_>,
    provider: &Provider,
    candidate: &Candidate,
    entry: &Entry,
) -> Availability {
    let connection = &entry.connection;
    if asker.key.is_some_and(|key| !key.allows_connection(&connection.id)) {
        return Availability::Excluded(exclusion(Mechanism::KeyAllowList, reason::KEY_ALLOW_LIST));
    }
    if let Some(used_up) = asker.key.and_then(|key| gateway.spending().bars(key, &candidate.provider, &candidate.model))
    {
        return Availability::Excluded(used_up);
    }
    if upstream_operation(provider, asker.operation, &candidate.model, asker.stream).is_none() {
        return Availability::Excluded(exclusion(Mechanism::DialectMismatch, reason::DIALECT_MISMATCH));
    }
    if let Some(exclusion) = entry.bars(&candidate.model) {
        return Availability::Excluded(exclusion);
    }
    let limits = connection.limits(provider.limits);
    let ask = Admission {
        tools: if truncates_tools(gateway) { 0 } else { asker.tools },
        quota_cutoff: asker.quota_cutoff,
        combo_gate: asker.shares.then_some(ComboGate::QuotaShare { lowered: false }),
        patience: admit::patience(),
        ..Admission::new(candidate, &limits, asker.caller)
    };
    gateway.engine().availability(&ask)
}

fn exclusion(mechanism: Mechanism, reason: &str) -> Exclusion {
    Exclusion::lasting(mechanism, reason)
}
