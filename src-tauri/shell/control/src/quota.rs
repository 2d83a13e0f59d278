//! What is left of accounts (gateway specification, 5.1, 5.2 and 6.1).
//!
//! Looking never asks anybody: it shows what replies announced and what vendors last said. Refreshing asks the vendors that
//! have a place for it, each account once while an answer stands (a minute, unless set otherwise), and one that is refused
//! for asking too often not for some minutes. What went wrong is told beside what is still known, and leaves nobody out of
//! routing.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::quota::{Source, Window};
use domain::{ConnectionId, Millis, ProviderId, Timestamp};
use futures_util::stream::{self, StreamExt};
use gateway::Entry;
use upstream::discovery::{self, ProbeCode};

use crate::view::{
    Instant, QuotaBalance, QuotaConnection, QuotaFilter, QuotaHistory, QuotaHistoryQuery, QuotaPoint, QuotaRefresh,
    QuotaSource, QuotaStatus, QuotaWindow,
};
use crate::{Control, ControlError, check, connections};

/// How long one vendor may take.
const TIMEOUT: Millis = Millis::seconds(10);
/// How long a vendor that is asked too often is left alone.
const PAUSE: Millis = Millis::minutes(5);
/// Vendors asked at once, and accounts of each.
const AT_ONCE: usize = 8;
const AT_ONE_VENDOR: usize = 2;
const USUAL_HISTORY: Millis = Millis::days(1);

/// When vendors were last asked, and what came of it.
pub(crate) type Asked = BTreeMap<ConnectionId, Asking>;

#[derive(Clone, Debug)]
pub(crate) struct Asking {
    /// Until then nobody asks again.
    until: Timestamp,
    /// Why it was in vain.
    problem: Option<String>,
}

/// What is known; nobody is asked.
pub async fn quota_list(control: &Control, filter: QuotaFilter) -> Result<QuotaStatus, ControlError> {
    let wanted = |entry: &Entry| filter.provider.as_deref().is_none_or(|id| id == entry.connection.provider.as_str());
    let now = control.now();
    let connections = control.connections();
    let shown = connections.iter().filter(|entry| wanted(entry)).map(|entry| view_of(control, entry, now));
    Ok(QuotaStatus { connections: shown.collect() })
}

/// Asks vendors what is left, and shows everything that is known then.
pub async fn quota_refresh(control: &Control, which: QuotaRefresh) -> Result<QuotaStatus, ControlError> {
    let entries = selected(control, which)?;
    ask_all(control, entries).await;
    quota_list(control, QuotaFilter::default()).await
}

/// Asks about these accounts, those whose answer still stands left out.
pub(crate) async fn ask_all(control: &Control, entries: Vec<Arc<Entry>>) {
    // Whoever comes second finds the answers of the first.
    let _one_at_a_time = control.one_quota_refresh().await;
    let mut by_provider: BTreeMap<ProviderId, Vec<Arc<Entry>>> = BTreeMap::new();
    for entry in entries {
        by_provider.entry(entry.connection.provider.clone()).or_default().push(entry);
    }
    let of_vendor = |accounts| stream::iter(accounts).for_each_concurrent(AT_ONE_VENDOR, |entry| ask(control, entry));
    stream::iter(by_provider.into_values()).for_each_concurrent(AT_ONCE, of_vendor).await;
}

/// How the windows of one account filled.
pub async fn quota_history(control: &Control, query: QuotaHistoryQuery) -> Result<QuotaHistory, ControlError> {
    let connection = connections::find(control, &query.connection_id)?;
    let since = query.since.map_or_else(|| control.now() - USUAL_HISTORY, Instant::timestamp);
    let points = control.store().quota_history(&connection.id, since).await?;
    let shown = points.into_iter().map(|point| QuotaPoint {
        window: point.window,
        at: point.at.into(),
        percent_used: point.percent_used,
        reset_at: point.reset_at.map(Instant::from),
    });
    Ok(QuotaHistory { points: shown.collect() })
}

/// Those that were named, or all that can be used: nobody asks for the others unless told to.
fn selected(control: &Control, which: QuotaRefresh) -> Result<Vec<Arc<Entry>>, ControlError> {
    let connections = control.connections();
    match which.connection_ids {
        Some(ids) => {
            let ids = check::connection_ids(control, "connectionIds", &ids)?;
            Ok(ids.iter().filter_map(|id| connections.get(id).cloned()).collect())
        }
        None => Ok(usable(control)),
    }
}

/// The accounts that are neither switched off nor out until their owner acts.
pub(crate) fn usable(control: &Control) -> Vec<Arc<Entry>> {
    let snapshot = control.engine().snapshot();
    let terminal = |id: &ConnectionId| snapshot.connections.get(id).is_some_and(|picture| picture.status.is_terminal());
    let usable = |entry: &&Arc<Entry>| entry.connection.is_active && !terminal(&entry.connection.id);
    control.connections().iter().filter(usable).cloned().collect()
}

/// Whether an account's vendor was last asked in vain.
pub(crate) fn was_in_vain(control: &Control, id: &ConnectionId) -> bool {
    control.quota_asked().lock().get(id).is_some_and(|asking| asking.problem.is_some())
}

async fn ask(control: &Control, entry: Arc<Entry>) {
    let id = &entry.connection.id;
    let Some(target) = control.target(&entry).filter(|target| target.provider.usage_report.is_some()) else { return };
    let begun = control.now();
    if control.quota_asked().lock().get(id).is_some_and(|asking| begun < asking.until) {
        return;
    }
    let answer = discovery::usage(control.transport().as_ref(), &target, control.clock().as_ref(), TIMEOUT).await;
    let (now, fresh) = (control.now(), control.settings().quota.fresh_for);
    let asking = match answer {
        Ok(quota) => {
            control.engine().note_quota(id, quota);
            Asking { until: now + fresh, problem: None }
        }
        Err(error) => {
            let pause = if error.code == ProbeCode::RateLimited { PAUSE.max(fresh) } else { fresh };
            Asking { until: now + pause, problem: Some(error.message) }
        }
    };
    control.quota_asked().lock().insert(id.clone(), asking);
}

fn view_of(control: &Control, entry: &Entry, now: Timestamp) -> QuotaConnection {
    let connection = &entry.connection;
    let catalog = control.catalog();
    let provider = catalog.get(&connection.provider);
    let can_refresh = provider.is_some_and(|provider| provider.usage_report.is_some());
    let known = control.engine().quota(&connection.id);
    let problem = control.quota_asked().lock().get(&connection.id).and_then(|asking| asking.problem.clone());
    let nothing = || match can_refresh {
        true => "nobody has asked its vendor yet".to_owned(),
        false => "nothing is known: its vendor is not asked, and its replies have announced nothing".to_owned(),
    };
    let message = problem.or_else(|| known.is_none().then(nothing));
    let source = known.as_ref().map(|quota| source(quota.source));
    let fetched_at = known.as_ref().map(|quota| quota.fetched_at.into());
    let quota = known.unwrap_or_default();
    QuotaConnection {
        connection_id: connection.id.to_string(),
        provider: connection.provider.to_string(),
        plan: quota.plan,
        source,
        fetched_at,
        limit_reached: quota.limit_reached,
        windows: windows(quota.windows, now),
        models: windows(quota.models, now),
        balances: quota
            .balances
            .into_iter()
            .map(|balance| QuotaBalance {
                currency: balance.currency,
                remaining: balance.remaining,
                total: balance.total,
            })
            .collect(),
        can_refresh,
        message,
    }
}

pub(crate) fn windows(known: BTreeMap<String, Window>, now: Timestamp) -> BTreeMap<String, QuotaWindow> {
    let shown = |window: Window| QuotaWindow {
        percent_used: window.used(now),
        reset_at: window.reset_at.filter(|at| *at > now).map(Instant::from),
    };
    known.into_iter().map(|(name, window)| (name, shown(window))).collect()
}

fn source(source: Source) -> QuotaSource {
    match source {
        Source::Endpoint => QuotaSource::Endpoint,
        Source::Headers => QuotaSource::Headers,
        Source::Learned => QuotaSource::Learned,
        Source::Manual => QuotaSource::Manual,
    }
}
