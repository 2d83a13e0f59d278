//! A user's own name for a model (gateway specification, 1.4 rule 6).

use serde::{Deserialize, Serialize};

use crate::{AliasId, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAlias {
    pub id: AliasId,
    pub alias: String,
    /// `provider/model`, or the name of a combo.
    pub target: String,
    pub created_at: Timestamp,
}
