//! What a connection's last dealings said, for its card and its record (gateway specification, 4.4).

use serde::{Deserialize, Serialize};

use crate::{Reason, Timestamp};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastError {
    /// One line, redacted.
    pub message: String,
    pub reason: Option<Reason>,
    pub status: Option<u16>,
    pub at: Timestamp,
}

/// What an account's dealings so far say about it (resilience specification, 4.1 and 7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestStatus {
    /// Never asked, or never since its credential changed.
    #[default]
    Unknown,
    Active,
    /// Cooling.
    Unavailable,
    /// Terminal: the provider closed the account.
    Banned,
    /// Terminal: the credential is no longer accepted.
    Expired,
    /// Terminal: nothing is left to spend.
    CreditsExhausted,
}

impl TestStatus {
    /// Whether only its owner can bring the account back: no timer does.
    pub const fn is_terminal(self) -> bool {
        matches!(self, TestStatus::Banned | TestStatus::Expired | TestStatus::CreditsExhausted)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            TestStatus::Unknown => "unknown",
            TestStatus::Active => "active",
            TestStatus::Unavailable => "unavailable",
            TestStatus::Banned => "banned",
            TestStatus::Expired => "expired",
            TestStatus::CreditsExhausted => "credits_exhausted",
        }
    }

    /// Reads the stored word; `deactivated` of older data is terminal and reads as banned.
    pub fn parse(word: &str) -> Option<TestStatus> {
        Some(match word {
            "unknown" => TestStatus::Unknown,
            "active" => TestStatus::Active,
            "unavailable" => TestStatus::Unavailable,
            "banned" | "deactivated" => TestStatus::Banned,
            "expired" => TestStatus::Expired,
            "credits_exhausted" => TestStatus::CreditsExhausted,
            _ => return None,
        })
    }
}
