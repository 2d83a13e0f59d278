//! Stage 12: the story of a request, written behind. Exactly one row for every request that was read, whatever ended it.

use domain::request_log::{AttemptRecord, ExclusionRecord, RequestOutcome, RequestRecord, Trace};
use domain::wire::code;
use domain::{Candidate, ConnectionId, Dialect, Exclusion, Millis, Timestamp, Usage};
use http::StatusCode;
use routing::Journey;
use routing::quota_share::leases::Lease;
use std::sync::Arc;

use crate::attempt::Kept;
use crate::events::Topic;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::Step;
use crate::quota_pools::{self, Share};
use crate::telemetry::{SUCCESS, Sample};
use crate::underway::{Row, Stage, Underway};

mod consumption;
mod parts;
mod story;

use story::Story;
pub(crate) use story::{CALLED_OFF, CutOff};

/// The decision in the row of a call that is the answer.
const ANSWER: &str = "answer";

/// Collects the story while the request runs, and hands it to the store once: when told the end, or, when the client
/// left and everything is dropped, as aborted.
pub(crate) struct Recorder {
    gateway: Gateway,
    /// Copied when it changes after somebody else got it; the store gets it at the end.
    record: Arc<RequestRecord>,
    pub(crate) journey: Journey,
    open: Option<AttemptRecord>,
    /// The number of the attempt that the row's usage is of.
    call: Option<u32>,
    /// How long the next attempt waited for its turn.
    queued: Millis,
    /// Tokens of the request, for the estimate; none, it asks for their number and consumes none itself.
    estimated_input: Option<u64>,
    /// Bytes of answer text seen, for the estimate.
    pub(crate) output_bytes: u64,
    finished: bool,
    /// It tells its story to another one and no row.
    is_part: bool,
    /// What it has in common with its parts.
    story: Arc<Story>,
    /// The next attempt is counted already.
    claimed: bool,
    /// The request's part in a quota pool.
    share: Option<Share>,
    /// What is shown of it while it runs; its parts share it.
    row: Arc<Row>,
}

/// How a request ended, in the words of its row.
pub(crate) struct End<'a> {
    pub(crate) status: u16,
    pub(crate) outcome: RequestOutcome,
    pub(crate) error_code: Option<&'a str>,
    pub(crate) error_summary: Option<&'a str>,
}

impl Recorder {
    /// In a box: it goes through many futures, and each would be larger by all of it.
    pub(crate) fn new(gateway: &Gateway, request: &ClientRequest) -> Box<Self> {
        let record = Arc::new(RequestRecord {
            id: request.id.clone(),
            at: request.arrived,
            method: request.method.to_string(),
            path: request.path.clone(),
            source: request.dialect(),
            target: None,
            status: 0,
            outcome: RequestOutcome::Aborted,
            stream: request.stream,
            requested_model: request.requested_model().chars().take(256).collect(),
            provider: None,
            model: None,
            connection: None,
            connection_name: None,
            key: request.key.as_ref().map(|key| key.id.clone()),
            key_name: request.key.as_ref().map(|key| key.name.clone()),
            agent: request.agent(),
            duration: Millis::ZERO,
            time_to_first_token: None,
            usage: Usage::default(),
            cost: None,
            error_code: None,
            error_summary: None,
            session_tag: request.session_tag(),
            combo_name: None,
            strategy: None,
            trace: Trace::default(),
        });
        let row = gateway.underway().enter(Underway {
            id: record.id.clone(),
            arrived: record.at,
            requested_model: record.requested_model.clone(),
            agent: record.agent.clone(),
            key_name: record.key_name.clone(),
            combo_name: None,
            provider: None,
            model: None,
            connection: None,
            connection_name: None,
            attempts: 0,
            stage: Stage::Choosing,
            since: record.at,
        });
        Box::new(Recorder {
            gateway: gateway.clone(),
            record,
            journey: Journey::default(),
            open: None,
            call: None,
            queued: Millis::ZERO,
            estimated_input: (!request.operation.counts_tokens()).then(|| request.estimated_input()),
            output_bytes: 0,
            finished: false,
            is_part: false,
            story: Arc::default(),
            claimed: false,
            share: None,
            row: Arc::new(row),
        })
    }

    /// The request asks a combo.
    pub(crate) fn of_combo(&mut self, name: &str, strategy: &'static str) {
        let record = Arc::make_mut(&mut self.record);
        record.combo_name = Some(name.to_owned());
        record.strategy = Some(strategy.to_owned());
        self.row.change(|row| row.combo_name = Some(name.to_owned()));
    }

    /// It asks by way of a quota pool, and there perhaps leaves room for others.
    pub(crate) fn of_pool(&mut self, share: Share, lowered: bool) {
        self.share = Some(share);
        if lowered {
            self.warn(vec![quota_pools::LOWERED.to_owned()]);
        }
    }

    /// The account of the pool that was chosen for it.
    pub(crate) fn holds(&mut self, lease: Option<Lease>) {
        if let Some(share) = &mut self.share {
            share.hold(lease);
        }
    }

    /// It goes to this account, chosen or not.
    pub(crate) fn goes_to(&mut self, account: &ConnectionId) {
        if let Some(share) = &mut self.share {
            share.goes_to(account);
        }
    }

    /// The request leaves an account at which it had places. Among quota-share requests it keeps its own until it asks
    /// another account (resilience specification, 14.4).
    pub(crate) fn leaves_place(&mut self, kept: Option<Kept>) {
        if let (Some(share), Some(kept)) = (&mut self.share, kept.and_then(Kept::share_alone)) {
            share.kept = Some(kept);
        }
    }

    /// The place that it has kept so.
    pub(crate) fn comes_back(&mut self) -> Option<Kept> {
        self.share.as_mut()?.kept.take()
    }

    /// How the account was chosen, in one word.
    pub(crate) fn strategy(&self) -> &str {
        self.record.strategy.as_deref().unwrap_or("single")
    }

    /// The step of its combo that the open attempt asks.
    pub(crate) fn at_step(&mut self, execution_key: &str) {
        if let Some(open) = &mut self.open {
            open.execution_key = Some(execution_key.to_owned());
        }
    }

    /// An account does not let the request in.
    pub(crate) fn shut_out(&mut self, step: &Step, exclusion: Exclusion) {
        let name = step.entry.connection.name.clone();
        self.journey.exclude(ExclusionRecord::of(&step.candidate, Some(name), exclusion));
    }

    /// It waits for a place at this account.
    pub(crate) fn waits_for_place(&self, step: &Step) {
        self.row.change(|row| row.towards(&step.candidate, &step.entry.connection.name));
        self.row.turn_to(Stage::WaitsForPlace, self.gateway.now());
    }

    /// It waits until then for somebody who rests: the first of these to be back.
    pub(crate) fn waits_until(&self, until: Timestamp, kept_away: &[ExclusionRecord]) {
        let back_at = |record: &&ExclusionRecord| record.exclusion.until.unwrap_or(Timestamp::MAX);
        if let Some(first) = kept_away.iter().min_by_key(back_at) {
            self.row.change(|row| row.wait_for(first));
        }
        self.row.turn_to(Stage::WaitsForRest(until), self.gateway.now());
    }

    /// The next attempt waited so long for its turn.
    pub(crate) fn waited(&mut self, length: Millis) {
        self.queued = length;
    }

    /// What came of the attempt that ended last.
    pub(crate) fn decided(&mut self, decision: &str) {
        if let Some(last) = self.journey.attempts.last_mut() {
            last.decision = decision.to_owned();
        }
    }

    /// An attempt begins, and counts for itself: what one that failed said of its use is not the answer's.
    pub(crate) fn begin(&mut self, candidate: &Candidate, connection_name: &str, target: Dialect) {
        let n = self.story.begin(std::mem::take(&mut self.claimed));
        self.call = Some(n);
        self.addressed(candidate, connection_name, target);
        *self.usage() = Usage::default();
        self.output_bytes = 0;
        self.row.change(|row| {
            row.towards(candidate, connection_name);
            row.attempts = row.attempts.saturating_add(1);
        });
        self.row.turn_to(Stage::Asking, self.gateway.now());
        self.open = Some(AttemptRecord {
            n,
            provider: candidate.provider.clone(),
            model: candidate.model.clone(),
            connection: candidate.connection.clone(),
            connection_name: connection_name.to_owned(),
            started_at: self.gateway.now(),
            queued: std::mem::take(&mut self.queued),
            execution_key: None,
            connect: None,
            first_token: None,
            duration: Millis::ZERO,
            status: None,
            kind: String::new(),
            decision: String::new(),
            message: None,
            usage: None,
            cost: None,
        });
    }

    /// What the row says so far, for [`Recorder::take_back`].
    pub(crate) fn so_far(&self) -> (Arc<RequestRecord>, u64, Option<u32>) {
        (Arc::clone(&self.record), self.output_bytes, self.call)
    }

    /// What was tried since has failed and stays among the attempts; the row tells what it told before.
    pub(crate) fn take_back(&mut self, before: (Arc<RequestRecord>, u64, Option<u32>)) {
        (self.record, self.output_bytes, self.call) = before;
    }

    /// Who is asked, should nothing more come of it.
    pub(crate) fn addressed(&mut self, candidate: &Candidate, connection_name: &str, target: Dialect) {
        self.goes_to(&candidate.connection);
        let record = Arc::make_mut(&mut self.record);
        record.target = Some(target);
        record.provider = Some(candidate.provider.clone());
        record.model = Some(candidate.model.clone());
        record.connection = Some(candidate.connection.clone());
        record.connection_name = Some(connection_name.to_owned());
    }

    /// The response head arrived.
    pub(crate) fn connected(&mut self, status: u16) {
        let now = self.gateway.now();
        if let Some(open) = &mut self.open {
            open.connect = Some(now.since(open.started_at));
            open.status = Some(status);
        }
    }

    /// What the upstream meant by its status (resilience specification, 18).
    pub(crate) fn restated(&mut self, status: StatusCode) {
        if let Some(open) = &mut self.open {
            open.status = Some(status.as_u16());
        }
    }

    /// The first text, tool call or reasoning arrived.
    pub(crate) fn first_token(&mut self) {
        let now = self.gateway.now();
        if let Some(open) = &mut self.open
            && open.first_token.is_none()
        {
            open.first_token = Some(now.since(open.started_at));
            let record = Arc::make_mut(&mut self.record);
            record.time_to_first_token = Some(now.since(record.at));
            self.row.turn_to(Stage::Answering, now);
        }
    }

    /// The open attempt is over.
    pub(crate) fn end_attempt(&mut self, kind: &str, decision: &str, message: Option<&str>) {
        let Some(mut open) = self.open.take() else { return };
        self.row.turn_to(Stage::Choosing, self.gateway.now());
        open.duration = self.gateway.now().since(open.started_at);
        open.kind = kind.to_owned();
        open.decision = decision.to_owned();
        open.message = message.map(str::to_owned);
        tracing::debug!(
            request = %self.record.id,
            n = open.n,
            provider = %open.provider,
            connection = %open.connection,
            model = %open.model,
            status = open.status,
            kind = %open.kind,
            ms = open.duration.as_millis(),
            "attempt"
        );
        self.gateway.telemetry().lock().record(&open.provider, &open.model, &open.connection, Sample::of(&open));
        self.journey.attempts.push(open);
    }

    /// Short codes of what was changed on the way, each once.
    pub(crate) fn warn(&mut self, codes: Vec<String>) {
        for code in codes {
            if !self.journey.warnings.contains(&code) {
                self.journey.warnings.push(code);
            }
        }
    }

    pub(crate) fn usage(&mut self) -> &mut Usage {
        &mut Arc::make_mut(&mut self.record).usage
    }

    /// What the finished request cost in US dollars, where a price is known.
    pub(crate) fn cost(&self) -> Option<f64> {
        self.record.cost
    }

    /// The request is over: what it consumed. Later calls change nothing.
    pub(crate) fn finish(&mut self, end: &End<'_>) -> Usage {
        if std::mem::replace(&mut self.finished, true) {
            return self.record.usage;
        }
        self.end_attempt(SUCCESS, ANSWER, None);
        self.take_up(&CutOff::NEEDLESS);
        let now = self.gateway.now();
        let record = Arc::make_mut(&mut self.record);
        record.status = end.status;
        record.outcome = end.outcome;
        record.error_code = end.error_code.map(str::to_owned);
        record.error_summary = end.error_summary.map(str::to_owned);
        record.duration = now.since(record.at);
        self.add_up(end.outcome);
        let share = self.share.take();
        let record = Arc::make_mut(&mut self.record);
        record.trace = Trace {
            rule: self.journey.rule,
            attempts: std::mem::take(&mut self.journey.attempts),
            exclusions: std::mem::take(&mut self.journey.exclusions),
            warnings: std::mem::take(&mut self.journey.warnings),
        };
        if self.estimated_input.is_some() {
            quota_pools::charge(&self.gateway, share.as_ref(), &self.record);
        }
        self.gateway.counters().tokens(now, self.record.usage.output.unwrap_or(0));
        let concerns_key = self.gateway.spending().charge(&self.record, &self.gateway.catalog());
        self.gateway.store().record_request(Arc::clone(&self.record));
        self.gateway.announce(&[Topic::Requests, Topic::Usage]);
        if concerns_key {
            self.gateway.announce(&[Topic::Keys]);
        }
        self.record.usage
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.is_part {
            return self.leave_behind();
        }
        if self.finished {
            return;
        }
        self.take_up(&CutOff::CLIENT_LEFT);
        self.end_attempt("client_aborted", "stop", None);
        self.finish(&End {
            status: 499,
            outcome: RequestOutcome::Aborted,
            error_code: Some(code::CLIENT_CLOSED_REQUEST),
            error_summary: None,
        });
    }
}
