//! What the name of a virtual combo asks of `auto`; a combo's own settings lie over it (gateway specification, 3.5).

use crate::combo::config::{AutoConfig, RouterStrategy};
use crate::score::{Hint, Pack, Weights};

/// How often each tier is drawn while the candidates are close together. Only the proportions matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TierShares {
    pub top: f64,
    pub middle: f64,
    pub rest: f64,
}

impl TierShares {
    pub const fn new(top: f64, middle: f64, rest: f64) -> Self {
        TierShares { top, middle, rest }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// None, the default weights.
    pub pack: Option<Pack>,
    /// 0–1.
    pub exploration_rate: f64,
    pub tier_shares: TierShares,
    pub hint: Hint,
    /// What served last is asked first.
    pub last_good_first: bool,
    /// Fraction of the quota from which what is left counts as nearly used up: the score is lowered. The warning level of
    /// the quota preflight (5.3).
    pub quota_warning: f64,
}

impl Default for Profile {
    fn default() -> Self {
        Profile {
            pack: None,
            exploration_rate: 0.05,
            tier_shares: TierShares::new(0.45, 0.35, 0.20),
            hint: Hint::default(),
            last_good_first: false,
            quota_warning: 0.2,
        }
    }
}

impl Profile {
    pub fn weights(&self, config: &AutoConfig) -> Weights {
        Weights::new(config.mode_pack.or(self.pack), &config.weights)
    }

    /// A probability.
    pub fn exploration_rate(&self, config: &AutoConfig) -> f64 {
        crate::score::unit(config.exploration_rate.unwrap_or(self.exploration_rate))
    }

    pub fn router(&self, config: &AutoConfig) -> RouterStrategy {
        if self.last_good_first && by_rules(config.router_strategy) {
            return RouterStrategy::Lkgp;
        }
        config.router_strategy
    }
}

/// Whether the strategy is the one with exploration and tiers.
pub(super) fn by_rules(strategy: RouterStrategy) -> bool {
    matches!(strategy, RouterStrategy::Rules | RouterStrategy::Score)
}
