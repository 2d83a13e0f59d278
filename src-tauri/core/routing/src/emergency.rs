//! The optional last resort: one try at a free model when nothing is left to spend (gateway specification, 3.8; resilience
//! specification, 21.1). Off unless its owner switches it on, because it sends the request to a provider nobody chose
//! (specification's decision 4).

use domain::section;

section! {
    /// What happens to a direct request whose provider has no credit left.
    pub struct Config {
        /// Whether one try goes elsewhere.
        pub enabled: bool, env "OMNIROUTE_EMERGENCY_FALLBACK";
        /// The provider that is tried.
        pub provider: String = "nvidia".to_owned();
        /// The model that is tried.
        pub model: String = "openai/gpt-oss-120b".to_owned();
        /// Most tokens of output.
        pub max_output_tokens: u32 = 4_096, in 1..=4_096;
    }
}

/// Words that speak of an empty budget, lower case.
const WORDS: [&str; 21] = [
    "insufficient funds",
    "insufficient_funds",
    "budget exceeded",
    "budget_exceeded",
    "quota exceeded",
    "quota_exceeded",
    "billing",
    "payment required",
    "payment_required",
    "out of credits",
    "out_of_credits",
    "no credits",
    "no_credits",
    "credit limit",
    "credit_limit",
    "spending limit",
    "spending_limit",
    "saldo insuficiente",
    "limite de gastos",
    "cota excedida",
    "cota_excedida",
];

/// How a request stands that nobody served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case<'a> {
    pub combo: bool,
    pub tools: bool,
    /// The last resort was tried already.
    pub tried: bool,
    /// Of the final answer.
    pub status: u16,
    pub message: &'a str,
}

/// Whether the last resort is tried, or why it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resort {
    Try,
    Not(&'static str),
}

/// Why not: the request brings tools, which the other model may not know how to use.
pub const TOOLS: &str = "tools";

/// Decides for one request.
pub fn resort(case: &Case<'_>, config: &Config) -> Resort {
    let text = case.message.to_lowercase();
    let empty = case.status == 402 || WORDS.iter().any(|word| text.contains(word));
    [
        (!config.enabled, "switched_off"),
        (!empty, "not_about_budget"),
        (case.combo, "combo"),
        (case.tools, TOOLS),
        (case.tried, "already_tried"),
    ]
    .into_iter()
    .find_map(|(applies, why)| applies.then_some(Resort::Not(why)))
    .unwrap_or(Resort::Try)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: Case<'static> = Case { combo: false, tools: false, tried: false, status: 402, message: "" };

    #[test]
    fn it_is_off_unless_somebody_switched_it_on() {
        assert_eq!(resort(&EMPTY, &Config::default()), Resort::Not("switched_off"));
    }

    #[test]
    fn it_is_tried_once_for_a_direct_request_without_tools_that_ran_out_of_money() {
        let on = Config { enabled: true, ..Config::default() };
        for (case, expected) in [
            (EMPTY, Resort::Try),
            (Case { status: 429, message: "You are OUT OF CREDITS", ..EMPTY }, Resort::Try),
            (Case { status: 403, message: "cota excedida", ..EMPTY }, Resort::Try),
            (Case { status: 429, message: "slow down", ..EMPTY }, Resort::Not("not_about_budget")),
            (Case { combo: true, ..EMPTY }, Resort::Not("combo")),
            (Case { tools: true, ..EMPTY }, Resort::Not("tools")),
            (Case { tried: true, ..EMPTY }, Resort::Not("already_tried")),
        ] {
            assert_eq!(resort(&case, &on), expected, "{case:?}");
        }
    }
}
