//! What is written down about requests (gateway specification, 5.6 and 6.2).

use domain::section;

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
    }
}
