//! What a request needs and a target cannot do (gateway specification, 3.3, steps 8 and 9).
//!
//! Unknown counts as capable: a model nobody described must not be lost to a missing line in a catalogue. Asked of all
//! targets, also of those that are spared now: that the only model with eyes is resting is a wait, not a refusal.

use crate::target::Target;
use crate::view::RequestFacts;

/// One thing a target lacks, as the client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    Tools,
    Vision,
    Audio,
    Documents,
    StructuredOutput,
    Reasoning,
    /// As many tokens of output as were asked for.
    OutputTokens,
    /// A window for prompt and output together.
    ContextWindow,
}

impl Capability {
    pub const fn as_str(self) -> &'static str {
        match self {
            Capability::Tools => "tools",
            Capability::Vision => "vision",
            Capability::Audio => "audio",
            Capability::Documents => "documents",
            Capability::StructuredOutput => "structured_output",
            Capability::Reasoning => "reasoning",
            Capability::OutputTokens => "output_tokens",
            Capability::ContextWindow => "context_window",
        }
    }
}

/// The first thing the target is known to lack.
pub fn missing(target: &Target, request: &RequestFacts) -> Option<Capability> {
    let (needs, supports, facts) = (&request.needs, &target.facts.supports, &target.facts);
    let lacks = |needed: bool, supported: Option<bool>| needed && supported == Some(false);
    let exceeds = |wanted: u64, limit: Option<u64>| limit.is_some_and(|limit| wanted > limit);
    let total = needs.input.saturating_add(needs.output.unwrap_or(0));
    [
        (lacks(needs.tools, supports.tools), Capability::Tools),
        (lacks(needs.vision, supports.vision), Capability::Vision),
        (lacks(needs.audio, supports.audio), Capability::Audio),
        (lacks(needs.documents, supports.documents), Capability::Documents),
        (lacks(needs.structured_output, supports.structured_output), Capability::StructuredOutput),
        (lacks(needs.reasoning, supports.reasoning), Capability::Reasoning),
        (exceeds(needs.output.unwrap_or(0), facts.max_output), Capability::OutputTokens),
        (exceeds(total, facts.context_window), Capability::ContextWindow),
    ]
    .into_iter()
    .find_map(|(lacking, capability)| lacking.then_some(capability))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::fixtures::target;
    use crate::view::Needs;

    #[test]
    fn the_unknown_is_capable_and_the_known_is_believed() {
        let everything = Needs {
            tools: true,
            vision: true,
            audio: true,
            documents: true,
            structured_output: true,
            reasoning: true,
            output: Some(100),
            input: 900,
        };
        let request = RequestFacts { needs: everything, ..RequestFacts::default() };
        assert_eq!(missing(&target(0), &request), None);
        type Without = fn(&mut Target);
        let cases: [(Without, Capability); 8] = [
            (|t| t.facts.supports.tools = Some(false), Capability::Tools),
            (|t| t.facts.supports.vision = Some(false), Capability::Vision),
            (|t| t.facts.supports.audio = Some(false), Capability::Audio),
            (|t| t.facts.supports.documents = Some(false), Capability::Documents),
            (|t| t.facts.supports.structured_output = Some(false), Capability::StructuredOutput),
            (|t| t.facts.supports.reasoning = Some(false), Capability::Reasoning),
            (|t| t.facts.max_output = Some(99), Capability::OutputTokens),
            (|t| t.facts.context_window = Some(999), Capability::ContextWindow),
        ];
        for (without, expected) in cases {
            let mut target = target(0);
            without(&mut target);
            assert_eq!(missing(&target, &request), Some(expected));
            assert_eq!(missing(&target, &RequestFacts::default()), None, "nothing needed, nothing missing");
        }
        let mut exact = target(0);
        (exact.facts.max_output, exact.facts.context_window) = (Some(100), Some(1_000));
        assert_eq!(missing(&exact, &request), None);
    }
}
