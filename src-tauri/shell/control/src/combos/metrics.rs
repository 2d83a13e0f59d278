//! What combos did of late, by the request log.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::request_log::{RequestOutcome, RequestRecord};
use domain::{Millis, Timestamp};
use routing::combo::Combo;

use crate::lengths::percentile;
use crate::view::{ComboMetric, ComboMetrics, ComboMetricsQuery, ComboTargetMetric, Instant};
use crate::{Control, ControlError, requests};

/// How far back where nobody says.
const USUALLY: Millis = Millis::hours(24);
/// Requests of one combo that are looked at.
const MOST: usize = 5_000;

/// What each combo and each of its targets did.
pub async fn combos_metrics(control: &Control, query: ComboMetricsQuery) -> Result<ComboMetrics, ControlError> {
    let since = query.since.map_or_else(|| control.now() - USUALLY, Instant::timestamp);
    let mut combos = Vec::new();
    let known = Arc::clone(&control.combos());
    for combo in known.iter() {
        let wanted = store::RequestFilter { combo: Some(combo.name.clone()), since: Some(since), ..Default::default() };
        combos.push(of(combo, &requests::newest(control, &wanted, MOST).await?));
    }
    Ok(ComboMetrics { combos })
}

/// Counts of something that is asked, and how long its answers took.
#[derive(Default)]
struct Tally {
    asked: u32,
    successes: u32,
    failures: u32,
    took: Vec<Millis>,
    last: Option<Timestamp>,
}

impl Tally {
    /// `succeeded` is none where a client left.
    fn add(&mut self, at: Timestamp, succeeded: Option<bool>, took: Millis) {
        self.asked += 1;
        self.last = self.last.max(Some(at));
        match succeeded {
            Some(true) => {
                self.successes += 1;
                self.took.push(took);
            }
            Some(false) => self.failures += 1,
            None => {}
        }
    }
}

fn of(combo: &Combo, records: &[RequestRecord]) -> ComboMetric {
    let mut whole = Tally::default();
    let mut targets: BTreeMap<(String, String, String), Tally> = BTreeMap::new();
    for record in records {
        let succeeded = match record.outcome {
            RequestOutcome::Success => Some(true),
            RequestOutcome::Failure => Some(false),
            RequestOutcome::Aborted => None,
        };
        whole.add(record.at, succeeded, record.duration);
        for attempt in &record.trace.attempts {
            let key = attempt.execution_key.clone().unwrap_or_default();
            let target = targets.entry((key, attempt.provider.to_string(), attempt.model.clone())).or_default();
            let succeeded = (attempt.kind != "client_aborted").then_some(attempt.kind == "success");
            target.add(attempt.started_at, succeeded, attempt.duration);
        }
    }
    ComboMetric {
        id: combo.id.clone(),
        name: combo.name.clone(),
        requests: whole.asked,
        successes: whole.successes,
        failures: whole.failures,
        p50_ms: percentile(&mut whole.took, 50),
        p95_ms: percentile(&mut whole.took, 95),
        last_used_at: whole.last.map(Instant::from),
        targets: targets.into_iter().map(target).collect(),
    }
}

fn target(((execution_key, provider, model), mut tally): ((String, String, String), Tally)) -> ComboTargetMetric {
    ComboTargetMetric {
        execution_key,
        provider,
        model,
        requests: tally.asked,
        successes: tally.successes,
        failures: tally.failures,
        p50_ms: percentile(&mut tally.took, 50),
        p95_ms: percentile(&mut tally.took, 95),
        last_used_at: tally.last.map(Instant::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_left_counts_for_nothing_but_that_it_asked() {
        let mut tally = Tally::default();
        for n in 1..=10 {
            tally.add(Timestamp::ZERO, Some(true), Millis::new(n * 10));
        }
        tally.add(Timestamp::ZERO, Some(false), Millis::hours(1));
        tally.add(Timestamp::from_millis(7), None, Millis::hours(1));
        assert_eq!(percentile(&mut tally.took, 95), Some(100));
        assert_eq!((tally.asked, tally.successes, tally.failures), (12, 10, 1));
        assert_eq!(tally.last, Some(Timestamp::from_millis(7)));
    }
}
