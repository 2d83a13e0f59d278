//! The factors by name, and how much each of them counts (gateway specification, 3.5).
//!
//! Packs are rows of one table. What a user sets lies over the pack factor by factor; the result is brought to a sum of
//! one, so a user may write any numbers and only their proportions matter.

use std::collections::BTreeMap;

use domain::choice;
use domain::section::FieldType;

choice! {
    /// One of the sixteen factors.
    pub enum Factor {
        /// Share of the account's quota that is left.
        Quota = "quota",
        /// State of the provider's circuit breaker.
        Health = "health",
        /// Cheapness.
        CostInv = "costInv",
        /// Quickness: 95th percentile of the latency.
        LatencyInv = "latencyInv",
        /// How well the model suits the task.
        TaskFit = "taskFit",
        /// Evenness of the latency.
        Stability = "stability",
        /// Rank of the account's plan, and how soon its quota returns.
        TierPriority = "tierPriority",
        /// Price class against the class the request asks for.
        TierAffinity = "tierAffinity",
        /// Price class against how special the request is.
        SpecificityMatch = "specificityMatch",
        /// Staying with the target or provider of the session.
        ContextAffinity = "contextAffinity",
        /// Free session places of the account.
        SessionAvailability = "sessionAvailability",
        /// Accounts that could step in.
        ConnectionDensity = "connectionDensity",
        /// Whether the prompt's prefix belongs to this account.
        CacheAffinity = "cacheAffinity",
        /// How soon a window of the quota returns.
        ResetWindowAffinity = "resetWindowAffinity",
        /// Feedback.
        Quality = "quality",
        /// Share of requests that succeeded.
        Reliability = "reliability",
    }
}

impl Factor {
    /// In the order of the table.
    pub const ALL: [Factor; 16] = [
        Factor::Quota,
        Factor::Health,
        Factor::CostInv,
        Factor::LatencyInv,
        Factor::TaskFit,
        Factor::Stability,
        Factor::TierPriority,
        Factor::TierAffinity,
        Factor::SpecificityMatch,
        Factor::ContextAffinity,
        Factor::SessionAvailability,
        Factor::ConnectionDensity,
        Factor::CacheAffinity,
        Factor::ResetWindowAffinity,
        Factor::Quality,
        Factor::Reliability,
    ];
}

choice! {
    /// A ready mixture of weights.
    pub enum Pack {
        /// Quick answers.
        ShipFast = "ship-fast",
        /// Low cost.
        CostSaver = "cost-saver",
        /// The model that suits the task best.
        QualityFirst = "quality-first",
        /// Much quota left and a healthy provider.
        OfflineFriendly = "offline-friendly",
        /// Health and evenness.
        ReliabilityFirst = "reliability-first",
        /// For days on which much fails.
        ChaosMode = "chaos-mode",
    }
}

type Row = [f64; 16];

#[rustfmt::skip]
const DEFAULT: Row = [
    0.1429, 0.1605, 0.1429, 0.1143, 0.0762, 0.0476, 0.0476, 0.0476,
    0.0476, 0.0476, 0.0476, 0.0476, 0.0,    0.0,    0.03,   0.0,
];

impl Pack {
    /// The columns of the specification's table; `sessionAvailability` and `connectionDensity` are the same in all, and
    /// what is not listed is 0.
    #[rustfmt::skip]
    const fn row(self) -> Row {
        match self {
            //                               quota   health  cost    latency fit     stable  tier    context quality reliability
            Pack::ShipFast         => pack([0.1133, 0.2667, 0.0276, 0.3048, 0.0952, 0.0,    0.0376, 0.0095, 0.02, 0.03]),
            Pack::CostSaver        => pack([0.1133, 0.1810, 0.3324, 0.0476, 0.0952, 0.0476, 0.0376, 0.0,    0.02, 0.03]),
            Pack::QualityFirst     => pack([0.0752, 0.1714, 0.0276, 0.0476, 0.3524, 0.1429, 0.0276, 0.0,    0.03, 0.03]),
            Pack::OfflineFriendly  => pack([0.3324, 0.2667, 0.0752, 0.0476, 0.0,    0.0952, 0.0376, 0.0,    0.02, 0.03]),
            Pack::ReliabilityFirst => pack([0.1133, 0.3524, 0.0181, 0.0476, 0.0952, 0.1905, 0.0276, 0.0,    0.02, 0.04]),
            Pack::ChaosMode        => pack([0.0376, 0.4000, 0.0140, 0.0186, 0.1905, 0.1714, 0.0040, 0.0186, 0.02, 0.03]),
        }
    }
}

const fn pack(columns: [f64; 10]) -> Row {
    let [quota, health, cost, latency, fit, stability, tier, context, quality, reliability] = columns;
    let (sessions, density) = (0.0476, 0.0476);
    [
        quota,
        health,
        cost,
        latency,
        fit,
        stability,
        tier,
        0.0,
        0.0,
        context,
        sessions,
        density,
        0.0,
        0.0,
        quality,
        reliability,
    ]
}

/// A weight for every factor, adding up to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights(Row);

impl Default for Weights {
    fn default() -> Self {
        Weights::of_numbers(DEFAULT)
    }
}

impl Weights {
    /// The pack's weights (none, the defaults) under the user's, which are by factor name; other names are passed over.
    pub fn new(pack: Option<Pack>, own: &BTreeMap<String, f64>) -> Self {
        let mut numbers = pack.map_or(DEFAULT, Pack::row);
        for (name, number) in own {
            if let Some(factor) = Factor::from_text(name) {
                numbers[factor as usize] = *number;
            }
        }
        Weights::of_numbers(numbers)
    }

    /// Brings numbers to a sum of 1. What is negative or no number counts as 0; nothing but zeros means the defaults.
    fn of_numbers(numbers: Row) -> Self {
        let numbers = numbers.map(|number| if number.is_finite() { number.max(0.0) } else { 0.0 });
        let sum: f64 = numbers.iter().sum();
        if sum > 0.0 && sum.is_finite() {
            return Weights(numbers.map(|number| number / sum));
        }
        let sum: f64 = DEFAULT.iter().sum();
        Weights(DEFAULT.map(|number| number / sum))
    }

    pub fn of(&self, factor: Factor) -> f64 {
        self.0[factor as usize]
    }

    /// In the order of [`Factor::ALL`].
    pub fn all(&self) -> &[f64; Factor::ALL.len()] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACKS: [Option<Pack>; 7] = [
        None,
        Some(Pack::ShipFast),
        Some(Pack::CostSaver),
        Some(Pack::QualityFirst),
        Some(Pack::OfflineFriendly),
        Some(Pack::ReliabilityFirst),
        Some(Pack::ChaosMode),
    ];

    fn sum(weights: &Weights) -> f64 {
        Factor::ALL.iter().map(|&factor| weights.of(factor)).sum()
    }

    #[test]
    fn factors_index_their_rows() {
        for (place, factor) in Factor::ALL.into_iter().enumerate() {
            assert_eq!(factor as usize, place, "{}", factor.as_str());
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_table_and_already_add_up() {
        assert!((DEFAULT.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((Weights::default().of(Factor::Health) - 0.1605).abs() < 1e-9);
        assert_eq!(Weights::default().of(Factor::CacheAffinity), 0.0);
    }

    #[test]
    fn packs_keep_the_proportions_of_their_columns() {
        for (pack, heaviest) in [
            (Pack::ShipFast, Factor::LatencyInv),
            (Pack::CostSaver, Factor::CostInv),
            (Pack::QualityFirst, Factor::TaskFit),
            (Pack::OfflineFriendly, Factor::Quota),
            (Pack::ReliabilityFirst, Factor::Health),
            (Pack::ChaosMode, Factor::Health),
        ] {
            let weights = Weights::new(Some(pack), &BTreeMap::new());
            let best = Factor::ALL.into_iter().max_by(|a, b| weights.of(*a).total_cmp(&weights.of(*b)));
            assert_eq!(best, Some(heaviest), "{}", pack.as_str());
            assert_eq!(weights.of(Factor::SessionAvailability), weights.of(Factor::ConnectionDensity));
            assert_eq!(weights.of(Factor::TierAffinity), 0.0, "not listed");
        }
    }

    #[test]
    fn a_users_number_lies_over_the_pack_and_zeros_mean_the_defaults() {
        let own = BTreeMap::from([("costInv".to_owned(), 1.0), ("no such factor".to_owned(), 1.0)]);
        let weights = Weights::new(Some(Pack::ShipFast), &own);
        assert!(weights.of(Factor::CostInv) > weights.of(Factor::LatencyInv));
        assert_eq!(Weights::of_numbers([0.0; 16]), Weights::default());
        assert_eq!(Weights::of_numbers([f64::NAN; 16]), Weights::default());
        assert_eq!(Weights::of_numbers([-1.0; 16]), Weights::default());
    }

    proptest! {
        #[test]
        fn weights_always_add_up_to_one(numbers in prop::array::uniform16(prop::num::f64::ANY)) {
            let weights = Weights::of_numbers(numbers);
            prop_assert!((sum(&weights) - 1.0).abs() < 1e-9);
            prop_assert!(Factor::ALL.iter().all(|&factor| (0.0..=1.0).contains(&weights.of(factor))));
        }
    }

    #[test]
    fn every_pack_adds_up_to_one() {
        for pack in PACKS {
            assert!((sum(&Weights::new(pack, &BTreeMap::new())) - 1.0).abs() < 1e-9);
        }
    }
}
