//! How much a model shall think, in every vendor's measure, and who may see earlier thinking again (gateway specification,
//! 2.7).
//!
//! Vendors measure thinking in words, in tokens or in levels. The tables here are the only place where one becomes the
//! other.
//!
//! Proofs of reasoning (`signature`, `thoughtSignature`, `encrypted_content`) are bound to their maker. A client of another
//! dialect carries them all the same, as the proof of its own dialect: [`seal`] marks such a proof with its maker, and
//! [`unseal`] tells on the next turn whose it is. So thinking goes back to the vendor that made it and to no other.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use domain::Dialect;

use super::{Effort, Origin, Reasoning, ReasoningMode};

/// The least thinking an Anthropic model accepts, in tokens.
pub const LEAST_MESSAGES_BUDGET: u64 = 1024;

/// The effort of a request: `Off`, a word, or nothing to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Nothing,
    Off,
    Effort(Effort),
}

/// What was asked, as an effort among those `known` to the model (empty: all are).
pub fn asked(mode: ReasoningMode, known: &[Effort]) -> Asked {
    match mode {
        ReasoningMode::Default | ReasoningMode::Adaptive(None) => Asked::Nothing,
        ReasoningMode::Off => Asked::Off,
        ReasoningMode::Effort(effort) | ReasoningMode::Adaptive(Some(effort)) => Asked::Effort(nearest(effort, known)),
        ReasoningMode::Budget(0) => Asked::Off,
        ReasoningMode::Budget(tokens) => Asked::Effort(nearest(effort_of_budget(tokens), known)),
    }
}

/// The known effort that comes nearest: the same, else the next below, else the next above. With none known, any is.
pub fn nearest(effort: Effort, known: &[Effort]) -> Effort {
    if known.is_empty() || known.contains(&effort) {
        return effort;
    }
    // `minimal` asks for the least there is, so it may only rise; the others fall first.
    let below = known.iter().copied().filter(|other| *other < effort).max();
    let above = known.iter().copied().filter(|other| *other > effort).min();
    below.or(above).unwrap_or(effort)
}

/// Tokens of thinking, as an effort.
pub const fn effort_of_budget(tokens: u64) -> Effort {
    match tokens {
        0..=2_048 => Effort::Low,
        2_049..=16_384 => Effort::Medium,
        _ => Effort::High,
    }
}

/// Tokens of thinking for an Anthropic model; to be capped by what the model can answer with.
pub const fn messages_budget(effort: Effort) -> u64 {
    match effort {
        Effort::Minimal | Effort::Low => 1_024,
        Effort::Medium => 10_240,
        Effort::High | Effort::XHigh | Effort::Max => 131_072,
    }
}

/// `thinkingBudget` of a Gemini model; the Flash class takes at most 24 576.
pub const fn gemini_budget(effort: Effort, flash: bool) -> u64 {
    match effort {
        Effort::Minimal => 512,
        Effort::Low => 1_024,
        Effort::Medium => 8_192,
        Effort::High | Effort::XHigh | Effort::Max if flash => 24_576,
        Effort::High | Effort::XHigh | Effort::Max => 32_768,
    }
}

/// `thinkingLevel` of a Gemini 3 model.
pub const fn gemini_level(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::XHigh | Effort::Max => "high",
    }
}

impl Reasoning {
    /// Whether thinking was asked for in so many words.
    pub fn is_wanted(&self) -> bool {
        match self.mode {
            ReasoningMode::Default | ReasoningMode::Off | ReasoningMode::Budget(0) => false,
            ReasoningMode::Effort(_) | ReasoningMode::Budget(_) | ReasoningMode::Adaptive(_) => true,
        }
    }
}

/// Whose proofs the words of a dialect carry by themselves. Chat has none.
pub const fn native(dialect: Dialect) -> Origin {
    match dialect {
        Dialect::Messages => Origin::Anthropic,
        Dialect::Responses => Origin::OpenAi,
        Dialect::Gemini => Origin::Google,
        Dialect::Chat => Origin::Anyone,
    }
}

/// Whether a vendor can read proofs of this maker. Nobody reads what has no maker: it is text without proof.
pub fn reads(target: Origin, maker: Origin) -> bool {
    target == maker && maker != Origin::Anyone
}

/// What a proof that is marked with its maker begins with; a dot follows.
const SEAL: &str = "omr1";
/// The same in base64.
const SEAL_IN_BASE64: &str = "b21yMS";

/// What a proof that is marked with its maker begins with on the wire, in any dialect.
pub(crate) const SEALS: [&str; 2] = [SEAL, SEAL_IN_BASE64];

/// A proof by `maker` in the words of `dialect`: as it is where that is the dialect's own maker, else marked. None when
/// there is no maker who could read it again.
///
/// Gemini's signatures are bytes: its clients decode them and may use the other alphabet on the way back. So the whole
/// mark is base64 there.
pub fn seal(proof: &str, maker: Origin, dialect: Dialect) -> Option<Cow<'_, str>> {
    if proof.is_empty() || maker == Origin::Anyone {
        return None;
    }
    if maker == native(dialect) {
        return Some(Cow::Borrowed(proof));
    }
    let marked = format!("{SEAL}.{}.{proof}", word(maker));
    Some(Cow::Owned(if dialect == Dialect::Gemini { STANDARD.encode(marked) } else { marked }))
}

/// A proof as a client of `dialect` sent it: its maker, and itself.
pub fn unseal(proof: &str, dialect: Dialect) -> (Origin, Cow<'_, str>) {
    let opened = opened(proof);
    let marked = opened.as_deref().and_then(|rest| rest.split_once('.'));
    let maker = marked.and_then(|(mark, rest)| {
        let maker = [Origin::Anthropic, Origin::OpenAi, Origin::Google].into_iter().find(|maker| word(*maker) == mark);
        Some((maker?, Cow::Owned(rest.to_owned())))
    });
    maker.unwrap_or((native(dialect), Cow::Borrowed(proof)))
}

/// Whether a proof is marked with its maker.
pub(crate) fn is_sealed(proof: &str) -> bool {
    opened(proof).is_some()
}

/// What follows the mark.
fn opened(proof: &str) -> Option<Cow<'_, str>> {
    let after_seal = |text: &str| text.strip_prefix(SEAL)?.strip_prefix('.').map(str::len);
    if let Some(length) = after_seal(proof) {
        return Some(Cow::Borrowed(&proof[proof.len() - length..]));
    }
    if !proof.starts_with(SEAL_IN_BASE64) {
        return None;
    }
    let bytes = STANDARD.decode(proof).or_else(|_| URL_SAFE.decode(proof)).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let length = after_seal(&text)?;
    Some(Cow::Owned(text[text.len() - length..].to_owned()))
}

/// The name under which a family of vendors is written down.
pub const fn word(maker: Origin) -> &'static str {
    match maker {
        Origin::Anthropic => "anthropic",
        Origin::OpenAi => "openai",
        Origin::Google => "google",
        Origin::Anyone => "anyone",
    }
}

/// The family of that name.
pub fn family(word_of: &str) -> Option<Origin> {
    let all = [Origin::Anthropic, Origin::OpenAi, Origin::Google, Origin::Anyone];
    all.into_iter().find(|maker| word(*maker) == word_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effort_the_model_lacks_becomes_the_nearest() {
        use Effort::{High, Low, Max, Medium, Minimal, XHigh};
        for (effort, known, expected) in [
            (High, &[][..], High),
            (Minimal, &[Low, Medium, High], Low),
            (XHigh, &[Low, Medium, High], High),
            (Max, &[Low, Medium, High], High),
            (Medium, &[Low, High], Low),
            (Low, &[High], High),
        ] {
            assert_eq!(nearest(effort, known), expected, "{effort:?} among {known:?}");
        }
    }

    #[test]
    fn tokens_and_words_translate() {
        for (mode, expected) in [
            (ReasoningMode::Default, Asked::Nothing),
            (ReasoningMode::Adaptive(None), Asked::Nothing),
            (ReasoningMode::Off, Asked::Off),
            (ReasoningMode::Budget(0), Asked::Off),
            (ReasoningMode::Budget(2_048), Asked::Effort(Effort::Low)),
            (ReasoningMode::Budget(2_049), Asked::Effort(Effort::Medium)),
            (ReasoningMode::Budget(31_999), Asked::Effort(Effort::High)),
            (ReasoningMode::Adaptive(Some(Effort::Max)), Asked::Effort(Effort::Max)),
        ] {
            assert_eq!(asked(mode, &[]), expected, "{mode:?}");
        }
        for effort in [Effort::Low, Effort::Medium, Effort::High] {
            assert_eq!(effort_of_budget(messages_budget(effort)), effort);
        }
        assert_eq!(gemini_budget(Effort::High, true), 24_576);
    }

    #[test]
    fn what_gemini_clients_carry_is_base64_in_either_alphabet() {
        let carried = seal("E??>+/=", Origin::Anthropic, Dialect::Gemini).expect("a maker who can read it");
        assert!(STANDARD.decode(carried.as_bytes()).is_ok(), "{carried}");
        let other = carried.replace('+', "-").replace('/', "_");
        assert_ne!(carried, other, "both alphabets are the same here: another proof must be taken");
        assert_eq!(unseal(&other, Dialect::Gemini), (Origin::Anthropic, Cow::Borrowed("E??>+/=")));
    }

    #[test]
    fn a_proof_goes_back_to_its_maker_through_any_dialect() {
        for maker in [Origin::Anthropic, Origin::OpenAi, Origin::Google] {
            for dialect in Dialect::ALL {
                let carried = seal("EqQ.b/+=", maker, dialect).expect("a maker who can read it");
                assert_eq!(unseal(&carried, dialect), (maker, Cow::Borrowed("EqQ.b/+=")));
                assert_eq!(carried == "EqQ.b/+=", maker == native(dialect));
                assert_eq!(is_sealed(&carried), maker != native(dialect));
                assert!(!is_sealed(&carried) || SEALS.iter().any(|seal| carried.starts_with(seal)));
            }
        }
        assert_eq!(seal("x", Origin::Anyone, Dialect::Messages), None);
        assert_eq!(unseal("omr1.nobody.x", Dialect::Gemini), (Origin::Google, Cow::Borrowed("omr1.nobody.x")));
        assert!(!reads(Origin::Anyone, Origin::Anyone) && !reads(Origin::Google, Origin::Anthropic));
    }
}
