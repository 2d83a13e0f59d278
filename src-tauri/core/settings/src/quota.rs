//! How often vendors are asked what is left of accounts (gateway specification, 5.2 and 6.2). What becomes of an account with
//! little left is the business of `resilience::quota_preflight`.

use domain::{Millis, section};

section! {
    /// How often vendors are asked what is left of accounts.
    pub struct Config {
        /// How often a vendor is asked about an account that was signed in, though nobody looks; 0 waits until somebody does.
        pub refresh_interval: Millis = Millis::minutes(10), in Millis::ZERO..=Millis::hours(24);
        /// How long an answer stands for whoever asks next.
        pub fresh_for: Millis = Millis::minutes(1), in Millis::seconds(10)..=Millis::hours(1);
    }
}
