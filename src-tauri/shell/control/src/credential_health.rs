//! Credentials are tried now and then while nobody uses them (resilience specification, 21.5), so that a key that was
//! revoked is known before an agent runs into it.
//!
//! It is a question for the list of models, which costs nothing, to accounts that are switched on and that nothing keeps
//! away; where that list is there for everybody, a bad key is not noticed. What comes of it is told in the health document and changes no routing: only traffic and an owner's own test do.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{ConnectionId, Millis, Timestamp};
use futures_util::stream::{self, StreamExt};
use gateway::{Entry, Topic};
use parking_lot::Mutex;
use resilience::Snapshot;
use upstream::discovery::{self, ProbeCode as Code};

use crate::view::CredentialCheck;
use crate::{Control, probes};

/// How often it is looked who is due.
const EVERY: Millis = Millis::minutes(1);
/// Questions under way at once.
const AT_ONCE: usize = 4;

/// The last question to each account, and what came of one.
pub(crate) type Checks = Mutex<BTreeMap<ConnectionId, Check>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    asked_at: Timestamp,
    /// The last answer that said anything about the credential.
    verdict: Option<Verdict>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Verdict {
    at: Timestamp,
    /// Why it failed.
    problem: Option<&'static str>,
}

/// Works until the gateway stops.
pub async fn keep(control: Control) {
    loop {
        let next = control.now() + EVERY;
        tokio::select! {
            () = control.cancel().cancelled() => return,
            () = control.clock().sleep_until(next) => {}
        }
        tokio::select! {
            () = control.cancel().cancelled() => return,
            () = sweep(&control) => {}
        }
    }
}

async fn sweep(control: &Control) {
    let minutes = control.settings().resilience.credential_health_check.interval_minutes;
    if minutes == 0 {
        return control.credential_checks().lock().clear();
    }
    let interval = Millis::minutes(u64::from(minutes));
    let connections = Arc::clone(&control.connections());
    control.credential_checks().lock().retain(|id, _| connections.get(id).is_some());
    let snapshot = control.engine().snapshot();
    let due: Vec<Arc<Entry>> =
        connections.iter().filter(|entry| is_due(control, &snapshot, entry, interval)).cloned().collect();
    if due.is_empty() {
        return;
    }
    let checks = stream::iter(due).map(|entry| check(control, entry)).buffer_unordered(AT_ONCE);
    let is_news = checks.fold(false, |news, learnt| std::future::ready(news || learnt)).await;
    if is_news {
        control.announce(&[Topic::Connections]);
    }
}

/// Whether nobody has learnt anything of this account for so long, and nothing speaks against asking.
fn is_due(control: &Control, snapshot: &Snapshot, entry: &Entry, interval: Millis) -> bool {
    let connection = &entry.connection;
    let picture = snapshot.connections.get(&connection.id);
    let spared = picture.is_some_and(|picture| picture.status.is_terminal() || picture.cooling_until.is_some());
    if !connection.is_active || entry.credential.is_none() || spared {
        return false;
    }
    let used = picture.and_then(|picture| picture.last_used_at);
    let checked = control.credential_checks().lock().get(&connection.id).map(|check| check.asked_at);
    // A start is no reason to ask everybody at once.
    let known = [Some(control.started_at()), Some(connection.updated_at), used, checked].into_iter().flatten().max();
    known.is_some_and(|known| known + interval <= control.now())
}

/// Asks, and returns whether the answer said anything about the credential. Either way this was the question of the interval.
async fn check(control: &Control, entry: Arc<Entry>) -> bool {
    let Some(target) = control.target(&entry) else { return false };
    let (transport, clock) = (control.transport().as_ref(), control.clock().as_ref());
    let answer = match discovery::models(transport, &target, clock, probes::TIMEOUT).await {
        Ok(_) => Some(None),
        // A provider without such a list says nothing about the credential.
        Err(error) if matches!(error.code, Code::WrongPath | Code::WrongDialect | Code::NoModels) => None,
        Err(error) => Some(Some(error.code.as_str())),
    };
    if let Some(Some(problem)) = answer {
        tracing::warn!(connection = %entry.connection.id, problem, "a credential that nobody used was tried in vain");
    }
    let now = control.now();
    let verdict = answer.map(|problem| Verdict { at: now, problem });
    let is_news = verdict.is_some();
    let mut checks = control.credential_checks().lock();
    let check = checks.entry(entry.connection.id.clone()).or_insert(Check { asked_at: now, verdict: None });
    check.asked_at = now;
    check.verdict = verdict.or(check.verdict.take());
    is_news
}

/// What the health document shows, by connection id.
pub(crate) fn shown(control: &Control) -> BTreeMap<String, CredentialCheck> {
    let checks = control.credential_checks().lock();
    let view = |verdict: &Verdict| CredentialCheck {
        ok: verdict.problem.is_none(),
        problem: verdict.problem.map(str::to_owned),
        checked_at: verdict.at.into(),
    };
    checks.iter().filter_map(|(id, check)| Some((id.to_string(), view(check.verdict.as_ref()?)))).collect()
}
