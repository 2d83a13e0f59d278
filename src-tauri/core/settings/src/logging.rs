//! What is written down about requests (gateway specification, 5.6 and 6.2).

use domain::section;
use domain::section::Conflict;

section! {
    /// What is written down about requests.
    pub struct Config {
        /// Whether the bodies of requests and answers are kept, without keys, signatures and images. They hold everything the
        /// agent read and wrote.
        pub detailed: bool, env "OMNIROUTE_LOGGING_DETAILED";
        /// How long the list of requests reaches back; 0 keeps it for ever.
        pub retention_days: u32 = 30, in 0..=3_650, env "OMNIROUTE_LOGGING_RETENTION_DAYS";
        /// How many days kept bodies stay, at most as long as their request; 0 keeps them as long as it. The oldest go first
        /// where all together take more than 1 GiB.
        pub body_retention_days: u32 = 7, in 0..=3_650, env "OMNIROUTE_LOGGING_BODY_RETENTION_DAYS";
        /// How many days what was used stays: tokens and cost of each request, for the sums and for the limits of keys, which
        /// count a month. At least 32; 0 keeps it for ever.
        pub usage_retention_days: u32, in 0..=3_650, env "OMNIROUTE_LOGGING_USAGE_RETENTION_DAYS";
    }
    reconcile = Config::keep_what_limits_count;
}

/// The longest month, and the day that another time zone may add.
const LEAST_USAGE_DAYS: u32 = 32;

impl Config {
    /// A limit of a key would forget what was spent in its period.
    fn keep_what_limits_count(&mut self) -> Vec<Conflict> {
        if self.usage_retention_days == 0 || self.usage_retention_days >= LEAST_USAGE_DAYS {
            return Vec::new();
        }
        self.usage_retention_days = LEAST_USAGE_DAYS;
        let message = format!("must be 0 or at least {LEAST_USAGE_DAYS}, because limits of keys count a month");
        vec![Conflict::new(&["usageRetentionDays"], message)]
    }
}

#[cfg(test)]
mod tests {
    use domain::section::Section;

    use super::*;

    #[test]
    fn usage_stays_for_as_long_as_limits_count_it() {
        for (given, kept, told) in [(0, 0, 0), (1, 32, 1), (31, 32, 1), (32, 32, 0), (3_650, 3_650, 0)] {
            let mut config = Config { usage_retention_days: given, ..Config::default() };
            assert_eq!((config.reconcile().len(), config.usage_retention_days), (told, kept), "{given}");
        }
        assert_eq!(Config::default().usage_retention_days, 0);
    }
}
