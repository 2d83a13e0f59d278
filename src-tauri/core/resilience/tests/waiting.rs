//! Laws of waiting, for every sequence of arrivals, ends, departures, passing time and changed caps: no cap is exceeded,
//! nobody overtakes who needs the same, nobody waits who could go or beyond its patience, and nothing is ever lost
//! (acceptance QS-10, QS-12, QS-13, QS-23, RQ-15, RQ-17, RQ-18).

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use domain::{Candidate, Limits, Millis, Nature, Neutral, Outcome, RateLimitOverrides, Success, Timestamp};
use proptest::prelude::*;
use resilience::{
    Admission, Caller, ComboGate, Effects, Engine, Entered, GateKey, Patience, Permit, Refusal, Settings, Snapshot,
    Ticket,
};

const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const ACCOUNTS: usize = 3;
const MODELS: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Arrives { account: usize, model: usize, share: bool },
    Ends { attempt: usize },
    Leaves { ticket: usize },
    Passes { millis: u64 },
    Caps { account: usize, cap: u32, model_cap: u32 },
    Global { cap: u32 },
}

/// What a request needs: account, model, and whether it shares.
type Kind = (usize, usize, bool);

struct Waiter {
    ticket: Ticket,
    kind: Kind,
    since: Timestamp,
}

struct World {
    engine: Engine,
    settings: Settings,
    limits: Vec<Limits>,
    now: Timestamp,
    running: Vec<(Kind, Permit)>,
    waiting: Vec<Waiter>,
    starts: BTreeMap<usize, Timestamp>,
    arrived: usize,
    done: usize,
    patience: Patience,
}

fn limits(cap: u32, model_cap: u32) -> Limits {
    let model_concurrency = NonZeroU32::new(model_cap).map(|cap| ("m0".to_owned(), cap)).into_iter().collect();
    let overrides = RateLimitOverrides { model_concurrency, ..RateLimitOverrides::default() };
    Limits { max_concurrent: Some(cap), overrides, ..Limits::default() }
}

impl World {
    fn new(spacing: Option<u64>, depth: Option<u32>) -> World {
        let mut settings = Settings::default();
        if let Some(spacing) = spacing {
            settings.request_queue.auto_enable_api_key_providers = true;
            settings.request_queue.min_time_between_requests = Millis::new(spacing);
            settings.request_queue.requests_per_minute = 1_000_000;
            settings.request_queue.concurrent_requests = 2;
        }
        World {
            engine: Engine::default(),
            settings,
            limits: vec![limits(2, 1); ACCOUNTS],
            now: START,
            running: Vec::new(),
            waiting: Vec::new(),
            starts: BTreeMap::new(),
            arrived: 0,
            done: 0,
            patience: Patience { wait: Millis::seconds(30), depth },
        }
    }

    fn apply(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Arrives { account, model, share } => self.arrives((account, model, share))?,
            Step::Ends { attempt } if !self.running.is_empty() => self.ends(attempt % self.running.len())?,
            Step::Leaves { ticket } if !self.waiting.is_empty() => {
                let waiter = self.waiting.remove(ticket % self.waiting.len());
                self.done += 1;
                let effects = self.engine.abort(waiter.ticket, &self.settings, self.now);
                self.take(effects)?;
            }
            Step::Ends { .. } | Step::Leaves { .. } => {}
            Step::Passes { millis } => self.passes(Millis::new(millis))?,
            Step::Caps { account, cap, model_cap } => {
                self.limits[account] = limits(cap, model_cap);
                let (id, limits) = (connection(account), self.limits[account].clone());
                let effects = self.engine.limits_changed(&id.as_str().into(), &limits, &self.settings, self.now);
                self.take(effects)?;
            }
            Step::Global { cap } => {
                self.settings.request_queue.global_concurrent_requests = cap;
                self.ticks()?;
            }
        }
        self.check()
    }

    fn arrives(&mut self, kind: Kind) -> Result<(), TestCaseError> {
        let (account, model, share) = kind;
        let candidate = candidate(account, model);
        let limits = self.limits[account].clone();
        let admission = Admission {
            combo_gate: share.then_some(ComboGate::QuotaShare { lowered: false }),
            patience: self.patience,
            ..Admission::new(&candidate, &limits, Caller::Combo)
        };
        self.arrived += 1;
        match self.engine.enter(&admission, &self.settings, self.now) {
            Entered::Permit(permit) => self.goes(kind, permit),
            Entered::Queued(ticket) => {
                self.waiting.push(Waiter { ticket, kind, since: self.now });
                Ok(())
            }
            Entered::Refused(refusal) => {
                self.done += 1;
                prop_assert!(matches!(refusal, Refusal::Local(_)), "{refusal:?}");
                Ok(())
            }
        }
    }

    /// One more is under way: no cap may be exceeded, and no start may come too soon.
    fn goes(&mut self, kind: Kind, permit: Permit) -> Result<(), TestCaseError> {
        let (account, model, share) = kind;
        let limits = &self.limits[account];
        let global = self.settings.request_queue.global_concurrent_requests;
        let account_cap = if share { None } else { limits.account_cap() };
        let model_cap = limits.model_cap(&format!("m{model}"));
        for gate in permit.gates() {
            let others = self.running.iter().filter(|(_, other)| other.gates().contains(gate)).count();
            let cap = match gate {
                GateKey::Global => Some(global).filter(|cap| *cap > 0),
                GateKey::Account(_) => account_cap,
                GateKey::Model(..) => model_cap,
                GateKey::QuotaShare(_) => limits.max_concurrent,
                GateKey::Provider(_) | GateKey::Target { .. } => None,
            };
            prop_assert!(cap.is_none_or(|cap| others < cap as usize), "{gate} holds {others} of {cap:?}");
        }
        if self.settings.request_queue.auto_enable_api_key_providers {
            let spacing = self.settings.request_queue.min_time_between_requests;
            let last = self.starts.insert(account, self.now);
            prop_assert!(last.is_none_or(|last| self.now >= last + spacing));
            let running = self.running.iter().filter(|(kind, _)| kind.0 == account).count();
            prop_assert!(running < self.settings.request_queue.concurrent_requests as usize);
        }
        self.running.push((kind, permit));
        Ok(())
    }

    fn take(&mut self, effects: Effects) -> Result<(), TestCaseError> {
        for (ticket, permit) in effects.granted {
            let at = self.waits_as(ticket)?;
            let waiter = self.waiting.remove(at);
            let overtaken = self.waiting[..at].iter().find(|other| other.kind == waiter.kind);
            // Whoever gave up its share has other needs than whoever still waits for one.
            prop_assert!(waiter.kind.2 || overtaken.is_none(), "first come, first served");
            self.goes(waiter.kind, permit)?;
        }
        for (ticket, refusal) in effects.refused {
            let at = self.waits_as(ticket)?;
            self.waiting.remove(at);
            self.done += 1;
            prop_assert!(matches!(refusal, Refusal::Local(_)), "{refusal:?}");
        }
        Ok(())
    }

    fn waits_as(&self, ticket: Ticket) -> Result<usize, TestCaseError> {
        let found = self.waiting.iter().position(|waiter| waiter.ticket == ticket);
        found.ok_or_else(|| TestCaseError::fail("granted or refused without waiting"))
    }

    fn ends(&mut self, attempt: usize) -> Result<(), TestCaseError> {
        let (_, permit) = self.running.remove(attempt);
        self.done += 1;
        let outcome = if attempt.is_multiple_of(2) {
            Outcome::Success(Success::default())
        } else {
            Outcome::Neutral(Neutral::ClientAborted)
        };
        let effects = self.engine.settle(permit, &outcome, &self.settings, self.now);
        self.take(effects)
    }

    fn ticks(&mut self) -> Result<(), TestCaseError> {
        let effects = self.engine.tick(&self.settings, self.now);
        self.take(effects)
    }

    /// Time passes, with a tick at every deadline.
    fn passes(&mut self, length: Millis) -> Result<(), TestCaseError> {
        let end = self.now + length;
        let mut ticks = 0;
        while let Some(at) = self.engine.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.ticks()?;
            ticks += 1;
            prop_assert!(ticks < 10_000, "a deadline that a tick does not move");
        }
        self.now = end;
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        self.engine.snapshot(&self.settings, self.now)
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let snapshot = self.snapshot();
        prop_assert_eq!(snapshot.in_flight as usize, self.running.len());
        prop_assert_eq!(snapshot.waiting as usize, self.waiting.len());
        prop_assert_eq!(self.arrived, self.running.len() + self.waiting.len() + self.done);
        let queued = self.settings.request_queue.auto_enable_api_key_providers;
        for waiter in &self.waiting {
            let longest = if waiter.kind.2 { Millis::seconds(60) } else { Millis::seconds(30) };
            prop_assert!(self.now < waiter.since + longest, "its patience has ended");
            prop_assert!(queued || !self.could_go(waiter.kind), "{:?} could go", waiter.kind);
        }
        Ok(())
    }

    /// Whether every gate has a place for such a request.
    fn could_go(&self, (account, model, share): Kind) -> bool {
        let limits = &self.limits[account];
        let under_way = |such: &dyn Fn(&Kind) -> bool| self.running.iter().filter(|(kind, _)| such(kind)).count();
        let within = |cap: Option<u32>, count: usize| cap.is_none_or(|cap| count < cap as usize);
        let global = Some(self.settings.request_queue.global_concurrent_requests).filter(|cap| *cap > 0);
        let sharing = self.running.iter().filter(|(kind, permit)| {
            kind.0 == account && permit.gates().iter().any(|gate| matches!(gate, GateKey::QuotaShare(_)))
        });
        let own = if share { sharing.count() } else { under_way(&|kind| kind.0 == account) };
        // Only the model gates that existed when a request entered count it.
        let gate = GateKey::Model(connection(account).as_str().into(), format!("m{model}"));
        let of_model = self.running.iter().filter(|(_, permit)| permit.gates().contains(&gate)).count();
        within(global, self.running.len())
            && within(limits.max_concurrent, own)
            && within(limits.model_cap(&format!("m{model}")), of_model)
    }

    /// Everybody ends, everybody goes.
    fn finish(mut self) -> Result<(), TestCaseError> {
        for _ in 0..10_000 {
            if self.running.is_empty() && self.waiting.is_empty() {
                break;
            }
            if self.running.is_empty() {
                self.passes(Millis::seconds(1))?
            } else {
                self.ends(0)?
            }
            self.check()?;
        }
        prop_assert_eq!((self.running.len(), self.waiting.len()), (0, 0));
        prop_assert_eq!(self.engine.next_deadline(), None);
        let snapshot = self.snapshot();
        prop_assert!(
            snapshot.connections.values().all(|account| account.last_error.is_none() && account.in_flight == 0)
        );
        prop_assert!(snapshot.lockouts.is_empty() && snapshot.breakers.values().all(|it| it.failure_count == 0));
        prop_assert!(snapshot.queues.iter().all(|queue| (queue.queued, queue.running) == (0, 0)));
        Ok(())
    }
}

fn connection(account: usize) -> String {
    format!("c{account}")
}

fn candidate(account: usize, model: usize) -> Candidate {
    Candidate {
        provider: "ak".into(),
        connection: connection(account).into(),
        model: format!("m{model}"),
        priority: 1,
        enabled: true,
        nature: Nature::default(),
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..ACCOUNTS, 0..MODELS, prop::bool::weighted(0.2))
            .prop_map(|(account, model, share)| Step::Arrives { account, model, share }),
        5 => any::<usize>().prop_map(|attempt| Step::Ends { attempt }),
        2 => any::<usize>().prop_map(|ticket| Step::Leaves { ticket }),
        2 => (0_u64..20_000).prop_map(|millis| Step::Passes { millis }),
        1 => (0..ACCOUNTS, 1_u32..4, 0_u32..3)
            .prop_map(|(account, cap, model_cap)| Step::Caps { account, cap, model_cap }),
        1 => (0_u32..6).prop_map(|cap| Step::Global { cap }),
    ]
}

fn play(mut world: World, steps: &[Step]) -> Result<(), TestCaseError> {
    for step in steps {
        world.apply(step)?;
    }
    world.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn gates_keep_their_laws(steps in prop::collection::vec(step(), 1..120), depth in prop::option::of(0_u32..6)) {
        play(World::new(None, depth), &steps)?;
    }

    #[test]
    fn queues_and_gates_together_keep_their_laws(
        steps in prop::collection::vec(step(), 1..120),
        spacing in prop_oneof![Just(0), Just(350), Just(5_000)],
    ) {
        play(World::new(Some(spacing), None), &steps)?;
    }
}
