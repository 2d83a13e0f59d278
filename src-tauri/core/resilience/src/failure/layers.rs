//! The one table of which layer reacts to what (resilience specification, 1.1, 2.6, 3.5, 4.4 and 11.2).
//!
//! Everything here follows from the failure, the nature of what failed, the caller and the settings. What depends on the
//! account's momentary state is the Engine's: whether it is terminal already, rests already, or was only tested.
//!
//! | what happened | breaker | account | model lock |
//! | --- | --- | --- | --- |
//! | the account is closed, unpaid, not let in | – | terminal | – |
//! | 408, 500, 502, 503, 504; no answer at all | counts | rests, unless a lock is written | exact, where quotas are per model |
//! | 402, 403, 429 about the account | – | rests | the family instead, where quotas are per model |
//! | 404, a model refused | – | noted | that model: local, quotas per model, or by the switch |
//! | a rule says account, or an address ran dry | – | rests | – |
//! | content stall | – | noted, or rests by setting | as a server error, by the same setting |
//! | the request's own fault | – | – | – |
//!
//! Two locks can follow from one failure: the one that quotas per model always cause ([`Reactions::lock`]) and the one an
//! operator switched on for combos ([`Reactions::combo_lock`]). The longer one stands and the failure counts once.

use domain::health::TestStatus;
use domain::{BreakerCharge, Cooldown, Failure, Millis, Nature, Permanence, Provenance, ProviderClass, Reason, Scope};

use super::lock_scope::{self, LockScope};
use crate::backoff;
use crate::engine::Caller;
use crate::settings::Settings;

/// Rest of an account whose outgoing address ran dry, where nothing else says how long (resilience specification, 20.1).
const EGRESS_REST: Millis = Millis::minutes(2);

/// What one failure does to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reactions {
    /// What it costs the provider.
    pub breaker: BreakerCharge,
    pub connection: ConnectionReaction,
    /// Written whoever called (path A).
    pub lock: Option<Lock>,
    /// Written for combos, by the operator's switch (path B).
    pub combo_lock: Option<Lock>,
    /// Remembered by the optional provider cooldown.
    pub provider_cooldown: bool,
    /// The accounts behind the same outgoing address rest as long as this one.
    pub egress: bool,
}

/// What happens to the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionReaction {
    /// Nothing is written.
    Nothing,
    /// The failure becomes its last error; it keeps serving.
    Noted,
    /// It rests.
    Cool(Rest),
    /// One request was refused: a short rest, and a ban after the third in a row (resilience specification, 7.5).
    /// `cools` is false where the account is never to rest.
    Refused { cools: bool },
    /// It is out until its owner acts.
    Terminal(TestStatus),
}

/// A lock on a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    pub scope: LockScope,
    /// As listed (resilience specification, 11.3).
    pub reason: &'static str,
    pub rest: Rest,
    /// Id of the rule that declared it.
    pub rule: Option<String>,
}

/// How long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// `base × 2^min(earlier failures, steps)`, at most `ceiling`.
    Ladder { base: Millis, steps: u32, ceiling: Millis },
    /// So long, whatever came before. `announced`: the upstream said so; the ladder starts anew, and a long rest is
    /// probed (specification's decision 19).
    Exactly { length: Millis, announced: bool },
}

impl Rest {
    /// The length after `earlier` failures in a row.
    pub fn length(self, earlier: u32) -> Millis {
        match self {
            Rest::Exactly { length, .. } => length,
            Rest::Ladder { base, steps, ceiling } => backoff::doubled(base, earlier.min(steps), ceiling),
        }
    }

    fn is_none(self) -> bool {
        match self {
            Rest::Ladder { base, .. } => base.is_zero(),
            Rest::Exactly { length, .. } => length.is_zero(),
        }
    }
}

/// Who reacts to a failure, and how.
pub fn reactions(failure: &Failure, nature: &Nature, caller: Caller, settings: &Settings) -> Reactions {
    let case = Case { failure, nature, caller, settings };
    let mut reactions = Reactions {
        breaker: failure.breaker,
        connection: ConnectionReaction::Nothing,
        lock: None,
        combo_lock: None,
        provider_cooldown: case.is_remembered(),
        egress: false,
    };
    if failure.scope == Scope::Nobody {
        return reactions;
    }
    if let Some(lasting) = case.lasting() {
        reactions.connection = lasting;
    } else if case.is_only_noted() {
        reactions.connection = ConnectionReaction::Noted;
    } else if case.is_account_wide() {
        reactions.egress = case.is_egress();
        reactions.connection = case.rested();
    } else {
        reactions.lock = case.lock();
        reactions.combo_lock = case.combo_lock();
        let locked = reactions.lock.is_some() || reactions.combo_lock.is_some();
        reactions.connection =
            if case.spares_account(&reactions.lock, locked) { ConnectionReaction::Noted } else { case.rested() };
    }
    reactions
}

/// Everything the table looks at.
#[derive(Clone, Copy)]
struct Case<'a> {
    failure: &'a Failure,
    nature: &'a Nature,
    caller: Caller,
    settings: &'a Settings,
}

impl Case<'_> {
    /// What no timer heals, or three of which do not. Stronger than every other row (resilience specification, 7.7).
    fn lasting(self) -> Option<ConnectionReaction> {
        match self.failure.permanence {
            Permanence::Temporary => None,
            Permanence::Banned => Some(ConnectionReaction::Terminal(TestStatus::Banned)),
            Permanence::CreditsExhausted => Some(ConnectionReaction::Terminal(TestStatus::CreditsExhausted)),
            Permanence::Unauthorized => Some(ConnectionReaction::Terminal(TestStatus::Expired)),
            Permanence::RequestRejected => Some(ConnectionReaction::Refused { cools: !self.nature.disable_cooling }),
        }
    }

    /// Row 4, a rule's word, and failures that a rest would not help.
    fn is_only_noted(self) -> bool {
        let stalled = self.failure.reason == Reason::ContentStall && !self.settings.stream_stall_cooldown.enabled;
        stalled || self.failure.scope == Scope::Noted || self.failure.cooldown == Cooldown::Fixed(Millis::ZERO)
    }

    /// Rows 9 and 10: the account rests although quotas may be per model. An account that never rests has neither row.
    fn is_account_wide(self) -> bool {
        !self.nature.disable_cooling && (self.failure.scope == Scope::Connection || self.is_egress())
    }

    fn is_egress(self) -> bool {
        self.nature.egress_bucket.is_some()
            && !self.nature.disable_cooling
            && self.failure.status == Some(429)
            && matches!(self.failure.reason, Reason::QuotaExhausted | Reason::RateLimit)
    }

    /// Rows 11, 13, 14 and rules that name the model.
    fn lock(self) -> Option<Lock> {
        let missing_locally = self.nature.class == ProviderClass::Local && self.is_about_model();
        let locks = self.failure.scope == Scope::Model
            || missing_locally
            || (self.nature.per_model_quota && self.is_lockable_status());
        let lock = Lock {
            scope: self.lock_scope(),
            reason: self.lock_reason(),
            rest: self.lock_rest(),
            rule: self.failure.rule.clone(),
        };
        (locks && !lock.rest.is_none()).then_some(lock)
    }

    /// A bare 500 is only recorded; whatever brought no answer counts as 502 or 504.
    fn is_lockable_status(self) -> bool {
        match self.quota_status() {
            Some(status) => matches!(status, 402 | 403 | 404 | 406 | 408 | 410 | 429 | 432 | 502..),
            None => true,
        }
    }

    fn lock_scope(self) -> LockScope {
        let one_model = self.failure.scope == Scope::Model || self.is_about_model();
        lock_scope::of(self.quota_status(), self.nature, one_model.then_some(LockScope::Model))
    }

    /// The status, where a quota that was refused under another one counts as 429.
    fn quota_status(self) -> Option<u16> {
        match (self.failure.reason, self.failure.status) {
            (_, status @ Some(402 | 403 | 429 | 432)) => status,
            (Reason::RateLimit | Reason::QuotaExhausted, Some(_)) => Some(429),
            (_, status) => status,
        }
    }

    fn is_about_model(self) -> bool {
        matches!(self.failure.reason, Reason::ModelNotFound | Reason::ModelAccessDenied)
    }

    fn lock_reason(self) -> &'static str {
        match (self.failure.status, self.failure.reason) {
            (_, Reason::QuotaExhausted) => "quota_exhausted",
            (Some(403), _) | (_, Reason::ModelAccessDenied | Reason::Forbidden | Reason::Auth) => "forbidden",
            (_, Reason::ModelNotFound) => "not_found",
            (Some(429), _) | (_, Reason::RateLimit) => "rate_limited",
            _ => "server_error",
        }
    }

    /// Path A: what the upstream announces is taken exactly; only prose is held to the ceiling.
    fn lock_rest(self) -> Rest {
        let ceiling = self.settings.model_lockout.max_cooldown;
        let class = self.settings.cooldown(self.nature.class);
        let capped = |length: Millis| Rest::Exactly { length: length.min(ceiling), announced: false };
        match (self.failure.hint, self.failure.cooldown, self.failure.quota_resets_in) {
            (Some(hint), _, _) if hint.provenance == Provenance::Authoritative => {
                Rest::Exactly { length: hint.delay, announced: true }
            }
            (Some(hint), _, _) => Rest::Exactly { length: hint.delay.min(ceiling), announced: true },
            (None, Cooldown::From(base), _) => Rest::Ladder { base, steps: class.max_backoff_steps, ceiling },
            (None, Cooldown::Fixed(length), _) => capped(length),
            (None, Cooldown::Ladder, Some(reset)) => capped(reset),
            (None, Cooldown::Ladder, None) => {
                Rest::Ladder { base: class.base_cooldown, steps: class.max_backoff_steps, ceiling }
            }
        }
    }

    /// Path B: a combo's failed target, where the operator switched it on.
    fn combo_lock(self) -> Option<Lock> {
        let config = &self.settings.model_lockout;
        let listed = config.error_codes.contains(&self.effective_status());
        if self.caller != Caller::Combo || !config.enabled || !listed {
            return None;
        }
        let quota = self.failure.reason == Reason::QuotaExhausted;
        let reason = match self.failure.status {
            Some(429) => "rate_limit",
            Some(403) if quota => "quota_exhausted",
            Some(403) => "forbidden",
            Some(_) | None => "unknown",
        };
        Some(Lock {
            scope: self.lock_scope(),
            reason,
            rest: self.combo_rest(reason == "quota_exhausted"),
            rule: self.failure.rule.clone(),
        })
    }

    /// Path B: an announced wait is taken when it is longer than the base.
    fn combo_rest(self, until_midnight: bool) -> Rest {
        let config = &self.settings.model_lockout;
        let ceiling = config.max_cooldown;
        match (self.failure.hint, self.failure.quota_resets_in) {
            (Some(hint), _) if hint.delay > config.base_cooldown => {
                let authoritative = hint.provenance == Provenance::Authoritative;
                let length = if authoritative { hint.delay } else { hint.delay.min(ceiling) };
                Rest::Exactly { length, announced: true }
            }
            (None, Some(reset)) if until_midnight => Rest::Exactly { length: reset.min(ceiling), announced: false },
            (Some(_) | None, _) => Rest::Ladder {
                base: config.base_cooldown,
                steps: if config.use_exponential_backoff { config.max_backoff_steps } else { 0 },
                ceiling,
            },
        }
    }

    /// The status a client would be told: what brought no answer is 502, or 504 where time ran out.
    fn effective_status(self) -> u16 {
        match self.failure.reason {
            Reason::ResponseStartTimeout | Reason::StreamIdleTimeout | Reason::ContentStall => 504,
            _ => self.failure.status.unwrap_or(502),
        }
    }

    /// Rows 11 to 15: whether the failure is only noted on the account.
    fn spares_account(self, lock: &Option<Lock>, locked: bool) -> bool {
        let scoped = self.nature.per_model_quota && (self.is_lockable_status() || self.failure.status == Some(500));
        let transient = !matches!(self.failure.reason, Reason::Auth | Reason::Forbidden);
        lock.is_some() || scoped || self.is_about_model() || (self.caller == Caller::Combo && transient && locked)
    }

    /// Rows 16 and 17.
    fn rested(self) -> ConnectionReaction {
        let rest = self.rest();
        if self.nature.disable_cooling || rest.is_none() {
            return ConnectionReaction::Noted;
        }
        ConnectionReaction::Cool(rest)
    }

    fn rest(self) -> Rest {
        let class = self.settings.cooldown(self.nature.class);
        let usual = if self.is_egress() { EGRESS_REST } else { class.base_cooldown };
        let announced = |length| Rest::Exactly { length, announced: true };
        let ladder = |base| Rest::Ladder {
            base,
            steps: class.max_backoff_steps,
            ceiling: self.settings.model_lockout.max_cooldown,
        };
        match (self.failure.cooldown, self.failure.hint) {
            (Cooldown::Fixed(_), Some(hint)) => announced(hint.delay),
            (Cooldown::Fixed(length), None) => Rest::Exactly { length, announced: false },
            (Cooldown::Ladder | Cooldown::From(_), Some(hint)) if class.use_upstream_retry_hints => {
                announced(hint.delay)
            }
            (Cooldown::From(base), _) => ladder(base),
            (Cooldown::Ladder, _) => ladder(usual),
        }
    }

    /// What the optional provider cooldown remembers (resilience specification, 3.5).
    fn is_remembered(self) -> bool {
        let owned_by_model = self.nature.per_model_quota && matches!(self.failure.status, Some(429 | 500));
        self.caller == Caller::Combo && self.failure.scope != Scope::Nobody && !owned_by_model
    }
}
