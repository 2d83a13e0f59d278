//! Room to think (gateway specification, 3.2: `reasoningTokenBufferEnabled`).
//!
//! A limit of output counts what a model thinks. Who asks a combo does not know which model answers and sets the limit for the
//! answer alone; a model that thinks unasked then has thought when it is reached, and said nothing. So it gets more, as far as
//! the model can: half as much again, at least a thousand tokens. A provider of Messages needs none: thinking is asked for there
//! by name and with a budget of its own. Where the catalogue knows no limit of the model's there is none to stay within, and
//! the client's stands.

use domain::Dialect;

use crate::ingress::ClientRequest;
use crate::plan::Step;

/// The least that is added, in tokens.
const LEAST: u64 = 1_024;
/// Whoever asks for less is no reader of answers: agents look with a limit of one whether an account is there.
const SMALLEST: u64 = 16;

/// The limit of output for this step; none, the client's stands.
pub(super) fn roomier(request: &ClientRequest, step: &Step) -> Option<u64> {
    let asked = request.glance.max_output.filter(|asked| *asked >= SMALLEST)?;
    let model = step.provider.model(&step.candidate.model)?;
    let thinks = model.supports.reasoning == Some(true) && step.operation.dialect() != Dialect::Messages;
    let most = model.max_output.filter(|most| thinks && *most > asked)?;
    Some(with_room(asked).min(most))
}

fn with_room(asked: u64) -> u64 {
    asked.saturating_add((asked / 2).max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_limit_gets_a_thousand_tokens_and_a_large_one_half_as_much_again() {
        for (asked, expected) in [(16, 1_040), (1_000, 2_024), (2_048, 3_072), (8_000, 12_000), (u64::MAX, u64::MAX)] {
            assert_eq!(with_room(asked), expected);
        }
    }
}
