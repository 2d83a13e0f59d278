//! Repairs a misleading status before anything reads it (resilience specification, 18).

/// A provider's habit of reporting one thing as another.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restatement {
    pub id: String,
    pub from_statuses: Vec<u16>,
    pub to_status: u16,
    /// One of them must occur in message or body, in any case.
    pub text_markers: Vec<String>,
    /// None of them may.
    #[serde(default)]
    pub exclude_markers: Vec<String>,
    /// What the client is told when the upstream announced no wait; milliseconds.
    pub default_retry_after_ms: Option<u64>,
}
