//! How the gateway fared of late: outcomes and waiting times, stretch by stretch.

use std::collections::BTreeMap;

use domain::request_log::RequestOutcome;
use domain::{Millis, Timestamp};
use store::FinishedRequest;

use crate::lengths::percentile;
use crate::view::{HealthHistory, HealthHistoryQuery, HealthStretch};
use crate::{Control, ControlError, check};

const USUAL_MINUTES: u32 = 60;
const LONGEST_MINUTES: u32 = 24 * 60;
/// Stretches that the time is cut into; each is drawn as one step.
const STRETCHES: u64 = 60;
/// The newest requests that are looked at: of what lies before them nothing is told.
const MOST: u32 = 50_000;

/// Outcomes and waiting times of the last minutes. Stretches in which nothing ended are left out.
pub async fn health_history(control: &Control, query: HealthHistoryQuery) -> Result<HealthHistory, ControlError> {
    let minutes = check::within("minutes", query.minutes.unwrap_or(USUAL_MINUTES), 1, LONGEST_MINUTES)?;
    let until = control.now();
    let whole = Millis::minutes(u64::from(minutes));
    let stretch = Millis::new((whole.as_millis() / STRETCHES).max(1));
    // Stretches begin at round instants, so that what is in one stays in it from one look to the next.
    let since = beginning(until - whole, stretch) + stretch;
    let finished = control.store().finished_requests(since, MOST).await?;
    let cut = u32::try_from(finished.len()).is_ok_and(|count| count >= MOST);
    let since = if cut { whole_from(&finished, stretch, until) } else { since };
    let mut stretches: BTreeMap<Timestamp, Stretch> = BTreeMap::new();
    for request in finished.iter().filter(|request| request.at >= since) {
        stretches.entry(beginning(request.at, stretch)).or_default().add(request);
    }
    Ok(HealthHistory {
        since: since.into(),
        until: until.into(),
        stretch_ms: stretch.as_millis(),
        stretches: stretches.into_iter().map(|(at, stretch)| stretch.told(at)).collect(),
    })
}

/// Where the first stretch begins of which every request is there, if others came before these; the last one is always
/// told.
fn whole_from(newest: &[FinishedRequest], stretch: Millis, until: Timestamp) -> Timestamp {
    let last = beginning(until, stretch);
    let oldest = newest.iter().map(|request| request.at).min();
    oldest.map_or(last, |oldest| (beginning(oldest, stretch) + stretch).min(last))
}

fn beginning(at: Timestamp, stretch: Millis) -> Timestamp {
    at - Millis::new(at.as_millis() % stretch.as_millis())
}

#[derive(Default)]
struct Stretch {
    successes: u32,
    failures: u32,
    aborted: u32,
    took: Vec<Millis>,
    first_tokens: Vec<Millis>,
}

impl Stretch {
    fn add(&mut self, request: &FinishedRequest) {
        match request.outcome {
            RequestOutcome::Success => {
                self.successes += 1;
                self.took.push(request.took);
                self.first_tokens.extend(request.first_token);
            }
            RequestOutcome::Failure => self.failures += 1,
            RequestOutcome::Aborted => self.aborted += 1,
        }
    }

    fn told(mut self, at: Timestamp) -> HealthStretch {
        HealthStretch {
            at: at.into(),
            successes: self.successes,
            failures: self.failures,
            aborted: self.aborted,
            p50_ms: percentile(&mut self.took, 50),
            p95_ms: percentile(&mut self.took, 95),
            first_token_p50_ms: percentile(&mut self.first_tokens, 50),
            first_token_p95_ms: percentile(&mut self.first_tokens, 95),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_count_for_how_long_answers_take() {
        let request = |outcome, took| FinishedRequest {
            at: Timestamp::ZERO,
            outcome,
            took: Millis::new(took),
            first_token: Some(Millis::new(took / 10)),
        };
        let mut stretch = Stretch::default();
        stretch.add(&request(RequestOutcome::Success, 100));
        stretch.add(&request(RequestOutcome::Failure, 9_000));
        stretch.add(&request(RequestOutcome::Aborted, 9_000));
        let told = stretch.told(Timestamp::ZERO);
        assert_eq!((told.successes, told.failures, told.aborted), (1, 1, 1));
        assert_eq!((told.p95_ms, told.first_token_p95_ms), (Some(100), Some(10)));
    }

    #[test]
    fn a_stretch_of_which_requests_are_missing_is_not_told() {
        let request = |seconds| FinishedRequest {
            at: Timestamp::ZERO + Millis::seconds(seconds),
            outcome: RequestOutcome::Success,
            took: Millis::ZERO,
            first_token: None,
        };
        let (minute, until) = (Millis::minutes(1), Timestamp::ZERO + Millis::seconds(200));
        for (oldest, first) in [(60, 120), (119, 120), (120, 180), (190, 180)] {
            let newest = [request(199), request(oldest), request(195)];
            assert_eq!(whole_from(&newest, minute, until), Timestamp::ZERO + Millis::seconds(first), "{oldest}");
        }
    }

    #[test]
    fn stretches_begin_at_round_instants() {
        let at = Timestamp::from_millis;
        let minute = Millis::minutes(1);
        assert_eq!(beginning(at(61_000), minute), at(60_000));
        assert_eq!(beginning(at(60_000), minute), at(60_000));
    }
}
