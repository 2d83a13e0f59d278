//! Stage 6: the body for the upstream.
//!
//! Client and upstream speak the same dialect, so nothing is rebuilt: the model name is spliced in place, an option that
//! this gateway cannot honour is cut out, and every other byte stays as the client wrote it.

use bytes::Bytes;
use dialects::{Glance, ensure_model, model_edit, pieces, remove_member, splice};
use domain::{Dialect, Operation};
use upstream::Payload;

use crate::ingress::ClientRequest;

/// Code of the warning that `background: true` was taken out (gateway specification, 2.8).
const BACKGROUND_DEGRADE: &str = "BACKGROUND_DEGRADE";

pub(crate) struct Translated {
    pub(crate) body: Payload,
    /// Short codes of what was changed.
    pub(crate) warnings: Vec<&'static str>,
}

pub(crate) fn translate(request: &ClientRequest, model: &str) -> Translated {
    rewrite(request.operation, &request.body, &request.glance, model)
}

fn rewrite(operation: Operation, body: &Bytes, glance: &Glance, model: &str) -> Translated {
    let cut = glance.background.is_some().then(|| remove_member(body, "background")).flatten();
    let Some(cut) = cut else {
        return Translated { body: named(operation, body, glance, model), warnings: Vec::new() };
    };
    // What is left is read anew: behind the cut every place is another one.
    let rest = splice(body, &mut [cut]);
    let body = match dialects::glance(operation, &rest) {
        Ok(glance) => named(operation, &rest, &glance, model),
        Err(_) => rest.into(),
    };
    Translated { body, warnings: vec![BACKGROUND_DEGRADE] }
}

/// The body with the model's name in it.
fn named(operation: Operation, body: &Bytes, glance: &Glance, model: &str) -> Payload {
    let edit = match operation.dialect() {
        // The path names it.
        Dialect::Gemini => model_edit(glance, model),
        Dialect::Chat | Dialect::Responses | Dialect::Messages => ensure_model(glance, model),
    };
    pieces(body, edit.into_iter().collect::<Vec<_>>().as_mut_slice()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_named_and_background_is_cut_wherever_they_stand() {
        for (body, expected, degraded) in [
            (r#"{"model":"a","input":1}"#, r#"{"model":"m","input":1}"#, false),
            (r#"{"input":1}"#, r#"{"input":1,"model":"m"}"#, false),
            (r#"{"background":true}"#, r#"{"model":"m"}"#, true),
            (r#"{"background":true,"input":1}"#, r#"{"input":1,"model":"m"}"#, true),
            (r#"{"input":1,"background":true}"#, r#"{"input":1,"model":"m"}"#, true),
            (r#"{"model":"a","background":true}"#, r#"{"model":"m"}"#, true),
        ] {
            let bytes = Bytes::from_static(body.as_bytes());
            let glance = dialects::glance(Operation::Responses, &bytes).expect("a good body");
            let translated = rewrite(Operation::Responses, &bytes, &glance, "m");
            assert_eq!(translated.body.into_bytes(), expected, "{body}");
            assert_eq!(!translated.warnings.is_empty(), degraded, "{body}");
        }
    }
}
