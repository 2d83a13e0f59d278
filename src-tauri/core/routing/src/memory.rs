//! What strategies keep between requests: cursors, decks, deficits, the last known good.
//!
//! In memory, beside the Engine in the shell's handle; bounded. Only the last known good and the request counts are put
//! down in the store.

use crate::quota_share;
use crate::strategies::auto;

/// See the strategies for what each part means.
#[derive(Debug, Default)]
pub struct Memory {
    pub auto: auto::Memory,
    pub shares: quota_share::Memory,
}
