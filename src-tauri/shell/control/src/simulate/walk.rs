//! One request from target to target: what the gateway's own walk does, without its sockets (gateway specification, 3.8;
//! resilience specification, 15).

use dialects::thoughts::is_refusal_of_thoughts;
use domain::request_log::{AttemptRecord, ExclusionRecord};
use domain::{Availability, Candidate, Exclusion, Mechanism, Millis, Neutral, Outcome, Success};
use gateway::{Sample as Timed, fitness_layers};
use resilience::cooldown_wait::Decision as Waiting;
use resilience::failure::{Diagnosis, Next};
use resilience::{Admitted, Entered, Permit, Refusal};
use routing::combo::{Asker, Expansion, expand};
use routing::decision::{self, Decision, Ended, MOST_ATTEMPTS, Position, Stop};
use routing::memory::Dispatch;
use routing::plan::Taste;
use routing::target::Facts;
use routing::{Plan, Route, Target, View, auto_name};

use super::chance::chance;
use super::ground::{Chosen, Way};
use super::outcomes::Sample;
use super::traveller::{Place, Resumes, Stand, Traveller, UnderWay, order};
use super::world::World;

impl<'w> World<'w> {
    /// Finds out whom to ask, and begins to.
    pub(super) fn plans(&mut self, mut traveller: Traveller<'w>) {
        let (order, exclusions) = match &traveller.way {
            Way::Direct { provider, model } => {
                let target = bare(provider.clone(), model.clone());
                (vec![Place::direct(target)], Vec::new())
            }
            Way::Combo(chosen) => {
                let chosen = chosen.clone();
                match self.plan(&traveller, &chosen) {
                    Some(plan) => {
                        let left_out = plan.left_out().map(|(target, why)| target.left_out(why.exclusion()));
                        (order(&chosen, &plan), left_out.collect())
                    }
                    None => return self.fails(),
                }
            }
        };
        traveller.journey.exclusions = exclusions;
        traveller.sets_out(order);
        self.walks(traveller);
    }

    /// None, nobody could ever serve it.
    fn plan(&mut self, traveller: &Traveller<'_>, chosen: &Chosen) -> Option<Plan> {
        let Chosen { combo, config, auto } = chosen;
        let expansion = self.expansion(traveller, chosen);
        let view = View { now: self.now, combo: &combo.name, config, request: &traveller.story.facts };
        let route = Route::Combo {
            strategy: combo.strategy,
            tiers: combo.composite_tiers.as_ref(),
            protects_cache: combo.context_cache_protection,
            taste: auto.as_ref().map(|(_, profile)| Taste { profile, layers: fitness_layers() }),
        };
        routing::plan(&route, expansion, &view, &mut self.memory, &mut self.rng).ok()
    }

    /// What the combo comes to now. Without an account there is nobody to spare or to wait for.
    fn expansion(&self, traveller: &Traveller<'_>, chosen: &Chosen) -> Expansion {
        let Chosen { combo, config, auto } = chosen;
        let book = self.book(traveller);
        let mut expansion: Expansion = match auto {
            None => {
                let asker = Asker { key: traveller.story.key.as_deref(), requested: &traveller.story.name };
                expand(combo, config, &asker, &book)
            }
            Some((name, _)) => auto_name::candidates(name, book.everything(), fitness_layers()).into(),
        };
        expansion.targets.retain(|target| self.ground.connections.of_target(target).next().is_some());
        expansion
    }

    /// Goes on to the next account, or the next target, until somebody has a place.
    pub(super) fn walks(&mut self, mut traveller: Traveller<'w>) {
        loop {
            if let Some(candidate) = traveller.steps.pop_front() {
                let repeats = std::mem::take(&mut traveller.repeats);
                let stand = Stand { at: traveller.at, candidate, repeats };
                match self.admits(&traveller, &stand) {
                    Admitted::Permit(permit) => return self.dispatches(traveller, stand, permit),
                    Admitted::Refused(exclusion) => {
                        let full = exclusion.mechanism.is_full();
                        traveller.journey.exclusions.push(ExclusionRecord::of(&stand.candidate, None, exclusion));
                        traveller.full.extend(full.then_some(stand));
                    }
                }
                continue;
            }
            if traveller.last_place || traveller.next >= traveller.order.len() {
                break;
            }
            (traveller.at, traveller.next) = (traveller.next, traveller.next + 1);
            (traveller.repeated, traveller.adjusted, traveller.thoughtless) = (0, false, false);
            self.opens(&mut traveller);
        }
        self.waits_for_a_place(traveller);
    }

    /// Finds the accounts of the target whose turn it is.
    fn opens(&mut self, traveller: &mut Traveller<'_>) {
        let target = &traveller.order[traveller.at].target;
        if traveller.journey.exhausted.excludes(&target.provider, &target.model) {
            return;
        }
        let accounts = self.accounts_in_turn(traveller);
        let exhausted = &traveller.journey.exhausted;
        let may = |candidate: &Candidate| !exhausted.excludes_connection(&candidate.provider, &candidate.connection);
        let steps = accounts.attempts.into_iter().filter(may).collect();
        let excluded = accounts.excluded.into_iter().map(|(candidate, why)| ExclusionRecord::of(&candidate, None, why));
        traveller.steps = steps;
        traveller.journey.exclusions.extend(excluded);
    }

    fn admits(&mut self, traveller: &Traveller<'_>, stand: &Stand) -> Admitted {
        let limits = self.limits(&stand.candidate);
        let admission = traveller.admission(self.ground, stand, &limits);
        self.engine.admit(&admission, &self.ground.settings.resilience, self.now)
    }

    fn limits(&self, candidate: &Candidate) -> domain::Limits {
        let entry = self.ground.connections.get(&candidate.connection);
        let provider = self.ground.catalog.get(&candidate.provider);
        let limits = entry.zip(provider).map(|(entry, provider)| entry.connection.limits(provider.limits));
        limits.unwrap_or_default()
    }

    /// Everyone who is left is full: waits for the first of them, or for the one that is to be asked once more.
    fn waits_for_a_place(&mut self, mut traveller: Traveller<'w>) {
        let Some(stand) = traveller.waits_for() else { return self.nobody(traveller) };
        traveller.full.clear();
        traveller.last_place = true;
        let limits = self.limits(&stand.candidate);
        let admission = traveller.admission(self.ground, &stand, &limits);
        match self.engine.enter(&admission, &self.ground.settings.resilience, self.now) {
            Entered::Permit(permit) => self.dispatches(traveller, stand, permit),
            Entered::Queued(ticket) => self.stands(ticket, stand, traveller),
            Entered::Refused(refusal) => {
                traveller.end.local = matches!(refusal, Refusal::Local(_)) && !stand.repeats;
                self.nobody(traveller);
            }
        }
    }

    /// Asks an account; the answer is drawn from what it did at that time.
    pub(super) fn dispatches(&mut self, mut traveller: Traveller<'w>, stand: Stand, permit: Permit) {
        let Stand { at, candidate, .. } = stand;
        traveller.at = at;
        let whom = (candidate.connection.clone(), candidate.model.clone());
        self.figures.dispatches += 1;
        self.figures.switches += u32::from(traveller.last.as_ref().is_some_and(|last| *last != whom));
        let times = traveller.asked.entry(whom.clone()).or_default();
        let number = *times;
        *times += 1;
        traveller.last = Some(whom);
        for dispatch in dispatches(&traveller, &candidate) {
            self.memory.dispatched(&dispatch, self.now);
        }
        self.account_asked(&candidate.connection);
        let sample = traveller.story.got(&candidate, number).unwrap_or_else(|| {
            let chance = chance(self.seed, traveller.id, &candidate, number);
            self.outcomes.draw(&candidate, self.now, chance)
        });
        let ends = self.now + sample.length;
        let cut = ends > traveller.deadline;
        let ends = ends.min(traveller.deadline);
        traveller.under_way = Some(UnderWay { permit, candidate, sample, cut });
        self.ends_at(ends, traveller);
    }

    /// The attempt under way has ended.
    pub(super) fn ends(&mut self, mut traveller: Traveller<'w>) {
        let Some(UnderWay { permit, candidate, sample, cut }) = traveller.under_way.take() else { return };
        if cut {
            self.settle(permit, &Outcome::Neutral(Neutral::Abandoned));
            traveller.end.timed_out = true;
            return self.nobody(traveller);
        }
        self.telemetry.record(
            &candidate.provider,
            &candidate.model,
            &candidate.connection,
            Timed {
                at: self.now,
                latency: sample.length,
                first_token: sample.first_token,
                succeeded: sample.is_answer(),
            },
        );
        if sample.is_answer() {
            self.settle(permit, &Outcome::Success(Success { usage: traveller.story.usage }));
            for dispatch in dispatches(&traveller, &candidate) {
                self.memory.served(&dispatch, &traveller.story.facts, self.now);
            }
            return self.pays(&traveller, &candidate);
        }
        match sample.diagnosis(self.ground, &candidate, self.now) {
            Some(diagnosis) if traveller.chosen().is_some() => {
                self.decides(traveller, permit, candidate, sample, diagnosis);
            }
            Some(diagnosis) => self.goes_on(traveller, permit, candidate, sample, diagnosis),
            None => self.fails(),
        }
    }

    /// After a failure of a combo's target: the table.
    fn decides(
        &mut self,
        mut traveller: Traveller<'w>,
        permit: Permit,
        candidate: Candidate,
        sample: &Sample,
        diagnosis: Diagnosis,
    ) {
        if matches!(diagnosis.outcome, Outcome::Failure(_)) {
            for dispatch in dispatches(&traveller, &candidate) {
                self.memory.failed(&dispatch, self.now);
            }
        }
        let spares = {
            let remaining = remaining(&traveller);
            self.is_spoken_for(&traveller, &diagnosis.outcome, sample, &position(&traveller, &candidate, &remaining))
        };
        let outcome = diagnosis.outcome.clone();
        self.settle(permit, &if spares { outcome.sparing_provider() } else { outcome });
        let too_many_tools = self.learns_tool_limit(&candidate, sample);
        let benched = is_bench(&self.word(&traveller, &candidate));
        traveller.journey.attempts.push(attempt(&traveller, &candidate, sample, self.now));
        if let Outcome::Failure(failure) = &diagnosis.outcome {
            traveller.journey.failed(candidate.connection.clone(), failure.clone());
        }
        let ended = Ended {
            outcome: &diagnosis.outcome,
            status: sample.status.filter(|status| *status >= 400),
            message: &sample.message,
            hopeless: diagnosis.next == Next::Stop,
            benched,
            too_many_tools,
            refuses_thoughts: sample.status == Some(400) && is_refusal_of_thoughts(&sample.message),
        };
        let mut journey = std::mem::take(&mut traveller.journey);
        let decision = {
            let remaining = remaining(&traveller);
            let attempts = journey.attempts.len();
            decision::rule(&ended, &position(&traveller, &candidate, &remaining), attempts, &mut journey)
        };
        traveller.journey = journey;
        self.follows(decision, traveller, candidate);
    }

    fn follows(&mut self, decision: Decision, mut traveller: Traveller<'w>, candidate: Candidate) {
        match decision {
            Decision::Stop(stop) => {
                traveller.end.stop = Some(stop);
                if stop == Stop::Exhausted && !traveller.last_place {
                    return self.waits_for_a_place(traveller);
                }
                self.nobody(traveller);
            }
            _ if traveller.last_place => self.nobody(traveller),
            Decision::Retry { after } => {
                traveller.repeated += 1;
                traveller.again(candidate);
                self.pauses(after, Resumes::Walk, traveller);
            }
            Decision::Adjust { .. } => {
                traveller.adjusted = true;
                traveller.again(candidate);
                self.walks(traveller);
            }
            Decision::ThinkLess => {
                traveller.thoughtless = true;
                traveller.again(candidate);
                self.walks(traveller);
            }
            Decision::NextAccount | Decision::FewerTools => self.walks(traveller),
            Decision::NextTarget { after } => {
                traveller.steps.clear();
                self.pauses(after, Resumes::Walk, traveller);
            }
        }
    }

    /// After a failure of a request that names one model: the next account, where that may help.
    fn goes_on(
        &mut self,
        mut traveller: Traveller<'w>,
        permit: Permit,
        candidate: Candidate,
        sample: &Sample,
        diagnosis: Diagnosis,
    ) {
        self.settle(permit, &diagnosis.outcome);
        self.learns_tool_limit(&candidate, sample);
        traveller.journey.attempts.push(attempt(&traveller, &candidate, sample, self.now));
        let within = traveller.journey.attempts.len() < MOST_ATTEMPTS;
        traveller.end.hopeless = diagnosis.next != Next::NextConnection || !within;
        if traveller.end.hopeless || traveller.last_place {
            return self.nobody(traveller);
        }
        self.walks(traveller);
    }

    /// Whether somebody at the next target will speak for the provider, so that this failure is not counted for its breaker.
    fn is_spoken_for(
        &self,
        traveller: &Traveller<'w>,
        outcome: &Outcome,
        sample: &Sample,
        position: &Position<'_>,
    ) -> bool {
        let (Outcome::Failure(failure), Some(next)) = (outcome, decision::speaks_next(position)) else { return false };
        let accounts = self.book(traveller).accounts_of(next).attempts;
        let accounts = accounts.iter().map(|candidate| &candidate.connection);
        decision::is_spoken_for(failure, sample.status, position, &traveller.journey.exhausted, accounts)
    }

    /// Whether the refusal is about the number of tools; then its limit is remembered.
    fn learns_tool_limit(&mut self, candidate: &Candidate, sample: &Sample) -> bool {
        let limit = resilience::tool_limit::read(sample.status.unwrap_or(0), &sample.message);
        if let Some(limit) = limit {
            self.engine.note_tool_limit(&candidate.provider, limit, self.now);
        }
        limit.is_some()
    }

    /// Nobody answered: once more after a pause, or not at all.
    pub(super) fn nobody(&mut self, mut traveller: Traveller<'w>) {
        let pause = match traveller.chosen().cloned() {
            Some(chosen) => self.pause_of_combo(&mut traveller, &chosen),
            None => self.pause_of_direct(&mut traveller),
        };
        match pause {
            Some(length) => self.pauses(length, Resumes::Plan, traveller),
            None => self.fails(),
        }
    }

    fn pause_of_combo(&mut self, traveller: &mut Traveller<'_>, chosen: &Chosen) -> Option<Millis> {
        let end = traveller.end;
        if end.timed_out || end.local || !matches!(end.stop, None | Some(Stop::Exhausted)) {
            return None;
        }
        traveller.sets += 1;
        if !traveller.journey.attempts.is_empty()
            && let Some(pause) = decision::repeats_set(traveller.sets, &chosen.config)
        {
            return (self.now + pause < traveller.deadline).then_some(pause);
        }
        let hint = traveller.journey.last_failure().and_then(|failure| failure.advertised_retry_after);
        // Who is kept away now, after what was tried; while somebody is not, there is nothing to wait for.
        let targets = self.expansion(traveller, chosen).targets.into_iter();
        let kept_away: Option<Vec<Exclusion>> = targets.map(spared).collect();
        let kept_away = kept_away?;
        let config = &self.ground.settings.resilience.combo_cooldown_wait;
        match config.decide(&kept_away, hint, traveller.spent, self.now) {
            Waiting::Wait { until, length } if until < traveller.deadline => {
                traveller.spent.add(length);
                self.waited(length);
                Some(length)
            }
            Waiting::Wait { .. } | Waiting::TooLong { .. } | Waiting::Never => None,
        }
    }

    fn pause_of_direct(&mut self, traveller: &mut Traveller<'_>) -> Option<Millis> {
        if traveller.end.hopeless || traveller.end.local {
            return None;
        }
        let accounts = self.book(traveller).accounts_of(&traveller.order.first()?.target);
        if !accounts.attempts.is_empty() {
            return None;
        }
        let excluded = accounts.excluded.into_iter().map(|(candidate, why)| ExclusionRecord::of(&candidate, None, why));
        let until = routing::exhaustion::recovers_at(&excluded.collect::<Vec<_>>())?;
        let length = until.since(self.now);
        let config = &self.ground.settings.resilience.wait_for_cooldown;
        if !config.allows(length, traveller.spent.attempts, traveller.spent.total) {
            return None;
        }
        traveller.spent.add(length);
        self.waited(length);
        Some(length)
    }

    fn fails(&mut self) {
        self.figures.failures_seen_by_client += 1;
    }

    /// What the answer cost: what was paid, where the same model had answered, else by the price of the day.
    fn pays(&mut self, traveller: &Traveller<'_>, candidate: &Candidate) {
        let story = traveller.story;
        let same = |paid: &&super::story::Paid| paid.provider == candidate.provider && paid.model == candidate.model;
        let paid = story.paid.as_ref().filter(same).map(|paid| paid.cost);
        let by_price = || {
            let model = self.ground.catalog.get(&candidate.provider)?.model(&candidate.model)?;
            Some(catalog::pricing::cost(model.price.as_ref()?, &story.usage))
        };
        if let Some(cost) = paid.or_else(by_price) {
            self.figures.cost += cost;
        }
    }
}

fn remaining<'t>(traveller: &'t Traveller<'_>) -> Vec<&'t Target> {
    traveller.order.iter().skip(traveller.at + 1).map(|place| &place.target).collect()
}

fn position<'t>(traveller: &'t Traveller<'_>, candidate: &'t Candidate, remaining: &'t [&'t Target]) -> Position<'t> {
    Position {
        combo: traveller.order[traveller.at].config(),
        target: &traveller.order[traveller.at].target,
        connection: &candidate.connection,
        nature: &candidate.nature,
        repeated: traveller.repeated,
        adjusted: traveller.adjusted,
        thoughtless: traveller.thoughtless,
        // What tools a request brought stands nowhere.
        may_shorten: false,
        more_accounts: !traveller.steps.is_empty(),
        remaining,
    }
}

/// What strategies are told of an attempt; nothing where one model was named.
fn dispatches<'t>(traveller: &'t Traveller<'_>, candidate: &'t Candidate) -> impl Iterator<Item = Dispatch<'t>> {
    traveller.order.get(traveller.at).into_iter().flat_map(|place| place.dispatches(&candidate.connection))
}

fn spared(target: Target) -> Option<Exclusion> {
    match target.availability {
        Availability::Available => None,
        Availability::Excluded(exclusion) => Some(exclusion),
    }
}

fn is_bench(word: &Availability) -> bool {
    let Availability::Excluded(Exclusion { mechanism, .. }) = word else { return false };
    matches!(mechanism, Mechanism::ConnectionCooldown | Mechanism::ModelLockout | Mechanism::TerminalState)
}

/// A target of which nothing is known yet.
pub(super) fn bare(provider: domain::ProviderId, model: String) -> Target {
    Target {
        execution_key: format!("{provider}/{model}"),
        top: 0,
        provider,
        model,
        connection: None,
        allowed_connections: Vec::new(),
        weight: 0,
        label: None,
        prompt: None,
        tags: Vec::new(),
        fallback_only_on_quota_exhaustion: false,
        facts: Facts::default(),
        availability: Availability::Available,
    }
}

fn attempt(traveller: &Traveller<'_>, candidate: &Candidate, sample: &Sample, now: domain::Timestamp) -> AttemptRecord {
    AttemptRecord {
        n: u32::try_from(traveller.journey.attempts.len()).unwrap_or(u32::MAX).saturating_add(1),
        provider: candidate.provider.clone(),
        model: candidate.model.clone(),
        connection: candidate.connection.clone(),
        connection_name: String::new(),
        started_at: now - sample.length,
        queued: Millis::ZERO,
        execution_key: None,
        connect: None,
        first_token: None,
        duration: sample.length,
        status: sample.status,
        kind: sample.kind.clone(),
        decision: String::new(),
        message: Some(sample.message.clone()),
        usage: None,
        cost: None,
    }
}
