//! Stage 6: the body for the upstream.
//!
//! Client and upstream speak the same dialect, so nothing is rebuilt: the model name is spliced in place, an option that
//! this gateway cannot honour is cut out, and every other byte stays as the client wrote it.

use bytes::Bytes;
use dialects::{Edit, ensure_model, model_edit, remove_member, splice};
use domain::Dialect;

use crate::ingress::ClientRequest;

/// Code of the warning that `background: true` was taken out (gateway specification, 2.8).
const BACKGROUND_DEGRADE: &str = "BACKGROUND_DEGRADE";

pub(crate) struct Translated {
    pub(crate) body: Bytes,
    /// Short codes of what was changed.
    pub(crate) warnings: Vec<&'static str>,
}

pub(crate) fn translate(request: &ClientRequest, model: &str) -> Translated {
    let named = match request.dialect() {
        // The path names it.
        Dialect::Gemini => model_edit(&request.glance, model),
        Dialect::Chat | Dialect::Responses | Dialect::Messages => ensure_model(&request.glance, model),
    };
    let mut edits: Vec<Edit> = named.into_iter().collect();
    let mut warnings = Vec::new();
    if request.glance.background.is_some()
        && let Some(edit) = remove_member(&request.body, "background")
    {
        edits.push(edit);
        warnings.push(BACKGROUND_DEGRADE);
    }
    Translated { body: splice(&request.body, &mut edits), warnings }
}
