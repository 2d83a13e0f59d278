//! How much a model lock takes out (resilience specification, 11.1).
//!
//! A refused quota speaks of every model that draws on it; a missing model speaks of itself; a broken answer speaks of
//! exactly the model that broke. One empty stream says nothing about an account's quota, so a lock that a server error
//! causes never spreads to the family.

use domain::{ConnectionId, Nature, ProviderId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockScope {
    /// Every model that shares a quota with this one.
    Family,
    /// This model, for whatever reason it is asked.
    Model,
    /// This model, and nothing that stands for others: kept apart from what quotas lock.
    Exact,
}

impl LockScope {
    /// The word on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            LockScope::Family => "family",
            LockScope::Model => "model",
            LockScope::Exact => "exact",
        }
    }

    pub fn parse(word: &str) -> Option<LockScope> {
        [LockScope::Family, LockScope::Model, LockScope::Exact].into_iter().find(|scope| scope.as_str() == word)
    }

    /// What a lock of this scope names: the quota family where there is one, else the model.
    pub fn subject<'a>(self, model: &'a str, nature: &'a Nature) -> &'a str {
        match (self, &nature.quota_family) {
            (LockScope::Family, Some(family)) => family,
            (LockScope::Family | LockScope::Model | LockScope::Exact, _) => model,
        }
    }

    /// The stored key of a lock: `provider:connectionId:subject`, or `provider:connectionId:exact:model`.
    pub fn key(self, provider: &ProviderId, connection: &ConnectionId, subject: &str) -> String {
        match self {
            LockScope::Family | LockScope::Model => format!("{provider}:{connection}:{subject}"),
            LockScope::Exact => format!("{provider}:{connection}:exact:{subject}"),
        }
    }
}

/// The scope of a lock that a reply with `status` causes; none, no reply came. What a rule or the fault itself declares
/// wins. A model without a quota family is its own family.
pub fn of(status: Option<u16>, nature: &Nature, declared: Option<LockScope>) -> LockScope {
    let usual = match status {
        Some(402 | 403 | 429 | 432) => LockScope::Family,
        Some(404 | 406 | 410) => LockScope::Model,
        Some(_) | None => LockScope::Exact,
    };
    match declared.unwrap_or(usual) {
        LockScope::Family if nature.quota_family.is_none() => LockScope::Model,
        scope => scope,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nature(family: Option<&str>) -> Nature {
        Nature { quota_family: family.map(str::to_owned), ..Nature::default() }
    }

    #[test]
    fn the_status_decides_unless_somebody_declares() {
        use LockScope::{Exact, Family, Model};
        for (status, declared, with_family, alone) in [
            (Some(402), None, Family, Model),
            (Some(403), None, Family, Model),
            (Some(429), None, Family, Model), // ML-06
            (Some(432), None, Family, Model),
            (Some(404), None, Model, Model), // ML-08
            (Some(410), None, Model, Model),
            (Some(406), None, Model, Model),
            (Some(408), None, Exact, Exact),
            (Some(500), None, Exact, Exact),
            (Some(502), None, Exact, Exact), // ML-07
            (Some(503), None, Exact, Exact),
            (Some(504), None, Exact, Exact),
            (Some(524), None, Exact, Exact),
            (None, None, Exact, Exact),
            (Some(429), Some(Exact), Exact, Exact), // ML-09
            (Some(403), Some(Model), Model, Model),
            (Some(502), Some(Family), Family, Model),
        ] {
            let found = of(status, &nature(Some("codex")), declared);
            assert_eq!(found, with_family, "{status:?} {declared:?} in a family");
            assert_eq!(of(status, &nature(None), declared), alone, "{status:?} {declared:?} alone");
        }
    }

    #[test]
    fn keys_name_the_family_or_the_model() {
        let (provider, connection, codex) = ("codex".into(), "c1".into(), nature(Some("codex")));
        for (scope, key) in [
            (LockScope::Family, "codex:c1:codex"),
            (LockScope::Model, "codex:c1:gpt-5.5"),
            (LockScope::Exact, "codex:c1:exact:gpt-5.5"),
        ] {
            assert_eq!(scope.key(&provider, &connection, scope.subject("gpt-5.5", &codex)), key);
            assert_eq!(LockScope::parse(scope.as_str()), Some(scope));
        }
        assert_eq!(LockScope::Family.subject("m", &nature(None)), "m");
        assert_eq!(LockScope::parse("connection"), None);
    }
}
