//! The Engine's sentences: what several mechanisms together do. `World` is an Engine, its settings and a clock.

use domain::health::TestStatus;
use domain::{
    Availability, BreakerCharge, Cooldown, Failure, Hint, Mechanism, Millis, Nature, Neutral, Permanence, Provenance,
    ProviderClass, Reason, Scope, Success,
};

use super::*;
use crate::circuit_breaker::State;
use crate::picture::ConnectionPicture;
use crate::stored::{Stored, StoredConnection, StoredEgress};

mod accounts;
mod composition;
mod gates;
mod line;
mod notes;
mod queues;

const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

struct World {
    engine: Engine,
    settings: Settings,
    now: Timestamp,
    nature: Nature,
    caller: Caller,
    store: BTreeMap<String, Row>,
}

impl World {
    fn new() -> World {
        World {
            engine: Engine::default(),
            settings: Settings::default(),
            now: START,
            nature: Nature::default(),
            caller: Caller::Direct,
            store: BTreeMap::new(),
        }
    }

    fn scoped() -> World {
        World { nature: Nature { per_model_quota: true, ..Nature::default() }, ..World::new() }
    }

    fn egress() -> World {
        let egress_bucket = Some("opencode".to_owned());
        let mut world =
            World { nature: Nature { egress_bucket, per_model_quota: true, ..Nature::default() }, ..World::new() };
        for (connection, ip) in [("o1", "1.1.1.1"), ("o2", "1.1.1.1"), ("o3", "2.2.2.2")] {
            world.succeeds(connection, "m1");
            world.engine.note_egress(&connection.into(), ip, world.now);
        }
        world
    }

    fn candidate(&self, connection: &str, model: &str) -> Candidate {
        Candidate {
            provider: "ak".into(),
            connection: connection.into(),
            model: model.to_owned(),
            priority: 1,
            enabled: true,
            nature: self.nature.clone(),
        }
    }

    fn ask(&self, connection: &str, model: &str) -> Availability {
        let candidate = self.candidate(connection, model);
        let limits = Limits::default();
        let ask = Admission::new(&candidate, &limits, self.caller);
        self.engine.availability(&ask, &self.settings, self.now)
    }

    /// The mechanism that keeps m1 on c1 away, and for how long.
    fn excluded(&self, connection: &str, model: &str) -> Option<(Mechanism, Option<Millis>)> {
        match self.ask(connection, model) {
            Availability::Available => None,
            Availability::Excluded(exclusion) => {
                Some((exclusion.mechanism, exclusion.until.map(|until| until.since(self.now))))
            }
        }
    }

    fn enters(&mut self, connection: &str, model: &str) -> Option<Permit> {
        let candidate = self.candidate(connection, model);
        let limits = Limits::default();
        let admission = Admission::new(&candidate, &limits, self.caller);
        match self.engine.admit(&admission, &self.settings, self.now) {
            Admitted::Permit(permit) => Some(permit),
            Admitted::Refused(_) => None,
        }
    }

    fn ends(&mut self, permit: Permit, outcome: &Outcome) -> Vec<Event> {
        let effects = self.engine.settle(permit, outcome, &self.settings, self.now);
        self.stores(effects)
    }

    fn stores(&mut self, effects: Effects) -> Vec<Event> {
        for row in effects.rows {
            match row {
                Row::Breaker(ref stored) => self.store.insert(format!("breaker {}", stored.provider), row),
                Row::Connection(ref stored) => self.store.insert(format!("connection {}", stored.connection), row),
                Row::Lockout(ref stored) => self.store.insert(format!("lock {}", stored.key), row),
                Row::BreakerGone(provider) => self.store.remove(&format!("breaker {provider}")),
                Row::LockoutGone(key) => self.store.remove(&format!("lock {key}")),
                Row::Quota(ref stored) => self.store.insert(format!("quota {}", stored.connection), row),
            };
        }
        effects.events
    }

    fn fails(&mut self, connection: &str, model: &str, failure: &Failure) -> Vec<Event> {
        let permit = self.enters(connection, model).expect("it is available");
        self.ends(permit, &Outcome::Failure(failure.clone()))
    }

    fn succeeds(&mut self, connection: &str, model: &str) -> Vec<Event> {
        let permit = self.enters(connection, model).expect("it is available");
        self.ends(permit, &Outcome::Success(Success::default()))
    }

    fn passes(&mut self, length: Millis) {
        self.now = self.now + length;
    }

    fn resets(&mut self, scope: &ResetScope) -> Cleared {
        let mut cleared = self.engine.reset(scope, &self.settings, self.now);
        self.stores(std::mem::take(&mut cleared.effects));
        cleared
    }

    fn account(&self, connection: &str) -> ConnectionPicture {
        self.engine.connection(&connection.into(), &self.settings, self.now)
    }

    fn status(&self, connection: &str) -> TestStatus {
        self.account(connection).status
    }

    fn breaker(&self) -> (State, u32) {
        let snapshot = self.engine.snapshot(&self.settings, self.now);
        snapshot.breakers.get(&"ak".into()).map_or((State::Closed, 0), |picture| (picture.state, picture.failure_count))
    }

    fn locks(&self) -> Vec<(String, Millis, u32)> {
        let snapshot = self.engine.snapshot(&self.settings, self.now);
        let view = |lock: &crate::picture::LockoutPicture| {
            (lock.model.clone(), lock.until.since(self.now), lock.failure_count)
        };
        snapshot.lockouts.iter().map(view).collect()
    }

    fn restarts(&mut self) {
        let mut stored = Stored::default();
        for row in self.store.values().cloned() {
            match row {
                Row::Breaker(row) => stored.breakers.push(row),
                Row::Connection(row) => stored.connections.push(row),
                Row::Lockout(row) => stored.lockouts.push(row),
                Row::Quota(row) => stored.quotas.push(row),
                Row::BreakerGone(_) | Row::LockoutGone(_) => {}
            }
        }
        self.engine = Engine::restore(stored, &self.settings, self.now);
    }
}

fn failure(status: u16, reason: Reason) -> Failure {
    Failure::plain(Some(status), reason, "upstream said no")
}

fn down() -> Failure {
    Failure { breaker: BreakerCharge::Counts, ..failure(503, Reason::ServerError) }
}

fn limited() -> Failure {
    failure(429, Reason::RateLimit)
}

fn hinted(length: Millis) -> Failure {
    Failure { hint: Some(Hint { delay: length, provenance: Provenance::Authoritative }), ..limited() }
}

fn lasting(permanence: Permanence) -> Failure {
    Failure { permanence, ..failure(401, Reason::Auth) }
}

fn seconds(seconds: u64) -> Millis {
    Millis::seconds(seconds)
}
