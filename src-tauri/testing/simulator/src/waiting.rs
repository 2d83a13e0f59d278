//! Requests that wait: they arrive, go in their order, are sent away, leave, and their rules.

use resilience::{Admission, Caller, Effects, Entered, Permit, Refusal, Snapshot, Ticket};

use domain::{Limits, Mechanism, Millis, ProviderClass, Timestamp};

use crate::action::Queue;
use crate::broken::Broken;
use crate::check;
use crate::world::{Attempt, World, connection, nature, provider};

/// The longest that anybody waits, by the patience of gates and the bounds of drawn settings.
const LONGEST: Millis = Millis::seconds(30);

/// A request that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) ticket: Ticket,
    pub(crate) account: usize,
    model: usize,
    arrived: Timestamp,
}

impl World {
    /// A request arrives that may wait its turn.
    pub(crate) fn line_up(
        &mut self,
        account: usize,
        model: usize,
        caller: Caller,
        before: &Snapshot,
    ) -> Result<(), Broken> {
        let candidate = self.candidate(account, model);
        let limits = self.limits(account);
        let admission = self.asking(model, Admission::new(&candidate, &limits, caller));
        let mut obstacles = check::obstacles(&candidate, caller, self.is_full(account), before, self.now);
        obstacles.extend(self.known_beforehand(account, model));
        match self.engine.enter(&admission, &self.settings, self.now) {
            Entered::Permit(permit) => match obstacles.first() {
                Some(by) => Err(Broken::LetThrough { account, by: *by }),
                None => self.goes(account, permit),
            },
            Entered::Queued(ticket) => {
                self.waiting.push(Waiter { ticket, account, model, arrived: self.now });
                Ok(())
            }
            Entered::Refused(Refusal::Local(_)) if self.waiting.is_empty() => {
                Err(Broken::RefusedWithoutReason { account, by: Mechanism::AdmissionLane })
            }
            Entered::Refused(Refusal::Local(_)) => Ok(()),
            Entered::Refused(Refusal::Excluded(exclusion)) => {
                let shown = obstacles.contains(&exclusion.mechanism);
                let probing = check::may_be_probing(&candidate, before, self.now);
                let by = exclusion.mechanism;
                if shown || probing { Ok(()) } else { Err(Broken::RefusedWithoutReason { account, by }) }
            }
        }
    }

    /// The client of a waiting request goes away.
    pub(crate) fn leaves(&mut self, waiter: usize) -> Result<(), Broken> {
        let Waiter { ticket, .. } = self.waiting.remove(waiter);
        let effects = self.engine.abort(ticket, &self.settings, self.now);
        self.keep(effects)
    }

    /// An owner's cap changes under those who wait.
    pub(crate) fn cap(&mut self, account: usize, cap: Option<u32>) -> Result<(), Broken> {
        self.accounts[account].cap = cap;
        let limits = self.limits(account);
        let effects = self.engine.limits_changed(&connection(account), &limits, &self.settings, self.now);
        self.keep(effects)
    }

    pub(crate) fn tune_queue(&mut self, queue: Queue) -> Result<(), Broken> {
        let config = &mut self.settings.request_queue;
        config.auto_enable_api_key_providers = queue.enabled;
        config.concurrent_requests = queue.concurrent;
        config.min_time_between_requests = Millis::new(queue.spacing);
        config.max_queue_depth = queue.depth;
        config.global_concurrent_requests = queue.global;
        self.look()
    }

    /// Carries out effects: rows are stored, those whose turn has come go.
    pub(crate) fn keep(&mut self, effects: Effects) -> Result<(), Broken> {
        effects.rows.into_iter().for_each(|row| self.store.write(row));
        for (ticket, permit) in effects.granted {
            let at = self.waits_as(ticket)?;
            let waiter = self.waiting.remove(at);
            let same = |other: &Waiter| (other.account, other.model) == (waiter.account, waiter.model);
            if self.waiting[..at].iter().any(same) {
                return Err(Broken::Overtaken { account: waiter.account });
            }
            self.goes(waiter.account, permit)?;
        }
        for (ticket, _) in effects.refused {
            let at = self.waits_as(ticket)?;
            self.waiting.remove(at);
        }
        Ok(())
    }

    /// Nobody waits beyond its patience, and where no queue paces anybody, nobody waits who could go.
    pub(crate) fn check_waiting(&self, snapshot: &Snapshot) -> Result<(), Broken> {
        if snapshot.waiting as usize != self.waiting.len() {
            return Err(Broken::Lost { waiting: self.waiting.len(), counted: snapshot.waiting });
        }
        for waiter in &self.waiting {
            let account = waiter.account;
            if self.now >= waiter.arrived + LONGEST {
                return Err(Broken::Starved { account });
            }
            if !self.is_paced(account) && !self.is_full(account) {
                return Err(Broken::Idle { account });
            }
        }
        Ok(())
    }

    /// Whether cap or global gate lets nobody in.
    pub(crate) fn is_full(&self, account: usize) -> bool {
        let global = self.settings.request_queue.global_concurrent_requests;
        let full = self.accounts[account].cap.is_some_and(|cap| self.under_way(account) >= cap);
        full || (global > 0 && self.attempts.len() >= global as usize)
    }

    /// Whether the account has a request queue.
    pub(crate) fn is_paced(&self, account: usize) -> bool {
        self.settings.request_queue.auto_enable_api_key_providers && nature(account).class == ProviderClass::Apikey
    }

    pub(crate) fn limits(&self, account: usize) -> Limits {
        Limits { max_concurrent: self.accounts[account].cap, ..Limits::default() }
    }

    /// One more is under way.
    pub(crate) fn goes(&mut self, account: usize, permit: Permit) -> Result<(), Broken> {
        if self.is_full(account) {
            return Err(Broken::Cap { account });
        }
        let probe = self.is_half_open(&provider(account));
        self.attempts.push(Attempt { account, permit, arrived: self.now, probe });
        self.check_probes(account)
    }

    fn waits_as(&self, ticket: Ticket) -> Result<usize, Broken> {
        let found = self.waiting.iter().position(|waiter| waiter.ticket == ticket);
        found.ok_or(Broken::UnknownTicket { ticket: ticket.number() })
    }
}
