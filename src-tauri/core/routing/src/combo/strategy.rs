//! The strategies by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How a combo chooses (gateway specification, 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    #[default]
    Priority,
    Weighted,
    RoundRobin,
    ContextRelay,
    FillFirst,
    P2c,
    Random,
    LeastUsed,
    CostOptimized,
    ResetAware,
    ResetWindow,
    Headroom,
    StrictRandom,
    Auto,
    Lkgp,
    ContextOptimized,
    CacheOptimized,
    Fusion,
    Pipeline,
    /// Internal: the pools of subscription accounts (3.6).
    QuotaShare,
}

/// Other words that clients of earlier releases send (3.1).
const ALIASES: [(&str, Strategy); 6] = [
    ("usage", Strategy::LeastUsed),
    ("context", Strategy::ContextOptimized),
    ("weekly-reset", Strategy::ResetWindow),
    ("reset-window-order", Strategy::ResetWindow),
    ("roundrobin", Strategy::RoundRobin),
    ("cost", Strategy::CostOptimized),
];

impl Strategy {
    /// Those a person may choose, in the order of the specification.
    pub const PUBLIC: [Strategy; 19] = [
        Strategy::Priority,
        Strategy::Weighted,
        Strategy::RoundRobin,
        Strategy::ContextRelay,
        Strategy::FillFirst,
        Strategy::P2c,
        Strategy::Random,
        Strategy::LeastUsed,
        Strategy::CostOptimized,
        Strategy::ResetAware,
        Strategy::ResetWindow,
        Strategy::Headroom,
        Strategy::StrictRandom,
        Strategy::Auto,
        Strategy::Lkgp,
        Strategy::ContextOptimized,
        Strategy::CacheOptimized,
        Strategy::Fusion,
        Strategy::Pipeline,
    ];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Strategy::Priority => "priority",
            Strategy::Weighted => "weighted",
            Strategy::RoundRobin => "round-robin",
            Strategy::ContextRelay => "context-relay",
            Strategy::FillFirst => "fill-first",
            Strategy::P2c => "p2c",
            Strategy::Random => "random",
            Strategy::LeastUsed => "least-used",
            Strategy::CostOptimized => "cost-optimized",
            Strategy::ResetAware => "reset-aware",
            Strategy::ResetWindow => "reset-window",
            Strategy::Headroom => "headroom",
            Strategy::StrictRandom => "strict-random",
            Strategy::Auto => "auto",
            Strategy::Lkgp => "lkgp",
            Strategy::ContextOptimized => "context-optimized",
            Strategy::CacheOptimized => "cache-optimized",
            Strategy::Fusion => "fusion",
            Strategy::Pipeline => "pipeline",
            Strategy::QuotaShare => "quota-share",
        }
    }

    /// What a stored word means; one that a later version wrote is `priority`.
    pub fn stored(word: &str) -> Strategy {
        if word == Strategy::QuotaShare.as_str() { Strategy::QuotaShare } else { word.parse().unwrap_or_default() }
    }

    /// Compares accounts, so each model step becomes one target per account (3.3.5).
    pub const fn compares_accounts(self) -> bool {
        matches!(
            self,
            Strategy::ResetAware
                | Strategy::ResetWindow
                | Strategy::Headroom
                | Strategy::CacheOptimized
                | Strategy::Auto
                | Strategy::QuotaShare
        )
    }

    /// Whether a conversation may stay where it was (3.3.7): not where spreading is the point, nor where several answer.
    /// Nor where the owner's order alone decides: there a conversation could only stay with a stand-in, and it returns to the
    /// first target once that has recovered.
    pub const fn keeps_conversations(self) -> bool {
        match self {
            Strategy::Priority
            | Strategy::FillFirst
            | Strategy::ContextRelay
            | Strategy::Random
            | Strategy::StrictRandom
            | Strategy::RoundRobin
            | Strategy::Fusion
            | Strategy::Pipeline => false,
            Strategy::Weighted
            | Strategy::P2c
            | Strategy::LeastUsed
            | Strategy::CostOptimized
            | Strategy::ResetAware
            | Strategy::ResetWindow
            | Strategy::Headroom
            | Strategy::Auto
            | Strategy::Lkgp
            | Strategy::ContextOptimized
            | Strategy::CacheOptimized
            | Strategy::QuotaShare => true,
        }
    }

    /// Whether choosing anew for every request is the point, whatever an upstream has read before.
    pub const fn spreads(self) -> bool {
        matches!(
            self,
            Strategy::Random | Strategy::StrictRandom | Strategy::RoundRobin | Strategy::Fusion | Strategy::Pipeline
        )
    }
}

/// No strategy has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStrategy;

impl fmt::Display for UnknownStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown strategy: choose one of")?;
        for strategy in Strategy::PUBLIC {
            write!(f, " {}", strategy.as_str())?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownStrategy {}

/// A person's wish: the public names and their aliases.
impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let public = Strategy::PUBLIC.into_iter().find(|strategy| strategy.as_str() == word);
        let alias = || ALIASES.into_iter().find(|(alias, _)| *alias == word).map(|(_, strategy)| strategy);
        public.or_else(alias).ok_or(UnknownStrategy)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Strategy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Reads a stored combo, so never fails over a word.
impl<'de> Deserialize<'de> for Strategy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Ok(Strategy::stored(&word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_public_word_reads_back_and_the_internal_one_only_from_storage() {
        for strategy in Strategy::PUBLIC {
            assert_eq!(strategy.as_str().parse(), Ok(strategy));
            assert_eq!(Strategy::stored(strategy.as_str()), strategy);
        }
        assert_eq!("quota-share".parse::<Strategy>(), Err(UnknownStrategy));
        assert_eq!(Strategy::stored("quota-share"), Strategy::QuotaShare);
    }

    #[test]
    fn aliases_are_accepted_and_what_is_unknown_is_priority_when_stored() {
        for (word, strategy) in ALIASES {
            assert_eq!(word.parse(), Ok(strategy), "{word}");
            assert_eq!(Strategy::stored(word), strategy, "{word}");
        }
        assert_eq!(Strategy::stored("of-the-future"), Strategy::Priority);
        assert!(UnknownStrategy.to_string().ends_with("fusion pipeline"));
    }
}
