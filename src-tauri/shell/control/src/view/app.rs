//! The program itself: its version, where it lives, and the token that opens management.

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::ToSchema;

use super::Instant;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct App {
    pub name: String,
    pub version: String,
    pub data_dir: String,
    /// Where agents are pointed at, `http://127.0.0.1:20128`.
    pub url: String,
    pub started_at: Instant,
    pub secret_store: SecretStore,
    /// Whether a client key exists, which the first run of the window makes.
    pub first_run_done: bool,
}

/// Where the key that seals credentials is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretStore {
    Keychain,
    File,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct ManagementToken {
    /// `omt_` and 43 characters.
    pub token: String,
}
