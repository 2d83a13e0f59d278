//! What strategies keep between requests: cursors, decks, deficits, the last known good.
//!
//! In memory, beside the Engine in the shell's handle; bounded. Only the last known good and the request counts are put
//! down in the store.

/// See the strategies for what each part means.
#[derive(Debug, Default)]
pub struct Memory {}
