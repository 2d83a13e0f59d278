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
