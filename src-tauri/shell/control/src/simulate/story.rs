//! Recorded requests as they arrive again.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::client_key::ClientKey;
use domain::request_log::{RequestOutcome, RequestRecord};
use domain::{Candidate, ConnectionId, ProviderId, Timestamp, Usage};
use gateway::Keys;
use routing::view::{Needs, RequestFacts};

use super::outcomes::Sample;

/// One request: when it came, what it asked for, and what an answer to it consumes.
pub(super) struct Story {
    pub(super) at: Timestamp,
    /// The model as the client wrote it.
    pub(super) name: String,
    pub(super) key: Option<Arc<ClientKey>>,
    pub(super) facts: RequestFacts,
    pub(super) usage: Usage,
    attempts: Vec<(ConnectionId, String, Sample)>,
    /// What it cost where it was answered.
    pub(super) paid: Option<Paid>,
}

impl Story {
    /// What the account answered it in the log when it was asked for that model for the time of that number, from 0.
    pub(super) fn got(&self, candidate: &Candidate, number: u32) -> Option<&Sample> {
        let same = |attempt: &&(ConnectionId, String, Sample)| {
            attempt.0 == candidate.connection && attempt.1 == candidate.model
        };
        let number = usize::try_from(number).ok()?;
        self.attempts.iter().filter(same).nth(number).map(|(_, _, sample)| sample)
    }
}

pub(super) struct Paid {
    pub(super) provider: ProviderId,
    pub(super) model: String,
    pub(super) cost: f64,
}

/// The stories of the records, which come newest first; the oldest first. Those whose client left are nobody's failure nor
/// success, and those that never came to routing would not come to it now: both are left out.
pub(super) fn stories(records: &[RequestRecord], keys: &Keys) -> Vec<Story> {
    let routed = |record: &&RequestRecord| {
        let trace = &record.trace;
        record.outcome != RequestOutcome::Aborted && !(trace.attempts.is_empty() && trace.exclusions.is_empty())
    };
    let mut records: Vec<&RequestRecord> = records.iter().filter(routed).collect();
    records.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    let usages = usages(&records);
    let story = |(record, usage): (&RequestRecord, Usage)| Story {
        at: record.at,
        name: record.requested_model.clone(),
        key: record.key.as_ref().and_then(|id| keys.by_id(id).cloned()),
        facts: facts(record, &usage),
        paid: paid(record),
        attempts: attempts(record),
        usage,
    };
    records.into_iter().zip(usages).map(story).collect()
}

/// What an answer to each request consumes: what its own did, else what the one before of the same name did, else the one
/// after.
fn usages(records: &[&RequestRecord]) -> Vec<Usage> {
    let mut known: Vec<Option<Usage>> = vec![None; records.len()];
    let forwards: Vec<usize> = (0..records.len()).collect();
    let backwards: Vec<usize> = (0..records.len()).rev().collect();
    for order in [forwards, backwards] {
        let mut last: BTreeMap<&str, Usage> = BTreeMap::new();
        for index in order {
            let record = records[index];
            let own = (record.outcome == RequestOutcome::Success).then_some(record.usage);
            if let Some(usage) = own {
                last.insert(&record.requested_model, usage);
            }
            known[index] = known[index].or(own).or_else(|| last.get(record.requested_model.as_str()).copied());
        }
    }
    known.into_iter().map(|usage| Usage { provider_cost: None, ..usage.unwrap_or_default() }).collect()
}

fn facts(record: &RequestRecord, usage: &Usage) -> RequestFacts {
    let input = usage.input().unwrap_or(0);
    RequestFacts {
        cache_key: record.session_tag.clone(),
        session: record.session_tag.clone(),
        needs: Needs { input, ..Needs::default() },
        estimated_tokens: input.saturating_add(usage.output.unwrap_or(0)),
        ..RequestFacts::default()
    }
}

fn attempts(record: &RequestRecord) -> Vec<(ConnectionId, String, Sample)> {
    let attempts = record.trace.attempts.iter();
    attempts
        .filter_map(|attempt| Some((attempt.connection.clone(), attempt.model.clone(), Sample::of(attempt)?)))
        .collect()
}

fn paid(record: &RequestRecord) -> Option<Paid> {
    let answered = record.outcome == RequestOutcome::Success;
    let cost = record.cost.filter(|_| answered)?;
    Some(Paid { provider: record.provider.clone()?, model: record.model.clone()?, cost })
}
