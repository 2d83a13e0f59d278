//! How much an Anthropic model shall think, and what else of the request must give way to it (gateway specification, 2.7).
//!
//! A budget is at least 1 024 tokens and lies below `max_tokens`, which counts thinking too. While a model thinks it takes
//! no forced tool, no `top_k`, no temperature but 1, and wants the thinking of the running tool loop back.

use super::wire::Thinking;
use crate::canonical::reasoning::{Asked, LEAST_MESSAGES_BUDGET, asked, messages_budget};
use crate::canonical::{Effort, Reasoning, ReasoningMode, Request, Target, ToolChoice, Warning};

/// `max_tokens` of a request that names none, for a model that names none.
const USUAL_OUTPUT: u64 = 32_000;
/// The most that an effort, unlike a budget the client named, makes a model think.
const MOST_BY_EFFORT: u64 = 32_000;
/// Efforts of the dialect.
const EFFORTS: [Effort; 5] = [Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max];

/// What was decided.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) thinking: Option<Thinking>,
    pub(super) effort: Option<&'static str>,
    pub(super) max_tokens: u64,
    /// The choice of tools, weakened where the client insists on thinking.
    pub(super) choice: Option<ToolChoice>,
}

impl Plan {
    pub(super) fn thinks(&self) -> bool {
        matches!(self.thinking, Some(Thinking::Enabled { .. } | Thinking::Adaptive { .. }))
    }
}

/// Decides. `resumable`: the running tool loop, if there is one, begins with thinking that may be sent back.
pub(super) fn plan(
    request: &Request,
    target: &Target,
    choice: Option<ToolChoice>,
    resumable: bool,
    warnings: &mut Vec<Warning>,
) -> Plan {
    let limit = target.max_output.unwrap_or(u64::MAX);
    let output = request.max_output.filter(|tokens| *tokens > 0);
    let max_tokens = output.unwrap_or_else(|| target.max_output.unwrap_or(USUAL_OUTPUT)).min(limit);
    let mut plan = Plan { thinking: None, effort: None, max_tokens, choice };
    if target.refuses("thinking") {
        if request.reasoning.is_wanted() {
            warnings.push(dropped("reasoning"));
        }
        return plan;
    }
    if !request.reasoning.is_wanted() {
        let is_off = matches!(request.reasoning.mode, ReasoningMode::Off | ReasoningMode::Budget(0));
        plan.thinking = is_off.then_some(Thinking::Disabled);
        return plan;
    }
    if forces(plan.choice.as_ref()) {
        if matches!(request.reasoning.mode, ReasoningMode::Effort(_)) {
            warnings.push(dropped("reasoning"));
            return plan;
        }
        plan.choice = Some(ToolChoice::Auto);
        warnings.push(dropped("tool_choice"));
    }
    if target.adaptive_thinking {
        plan.thinking = Some(Thinking::Adaptive { display: display(&request.reasoning) });
        plan.effort = effort(request.reasoning.mode, target);
    } else if resumable {
        plan.spend(request, target, limit, warnings);
    } else {
        warnings.push(dropped("reasoning"));
    }
    plan
}

impl Plan {
    /// Finds room for a budget.
    fn spend(&mut self, request: &Request, target: &Target, limit: u64, warnings: &mut Vec<Warning>) {
        let wish = wish(request.reasoning.mode, target).max(LEAST_MESSAGES_BUDGET);
        let mut budget = wish;
        if budget >= self.max_tokens {
            let answer = self.max_tokens;
            self.max_tokens = budget.saturating_add(answer).min(limit);
            budget = budget.min(self.max_tokens.saturating_sub(answer));
        }
        if budget < LEAST_MESSAGES_BUDGET {
            // The answer alone fills the model's limit: half of it is for thinking, where that is enough.
            budget = self.max_tokens / 2;
        }
        if budget < LEAST_MESSAGES_BUDGET {
            warnings.push(dropped("reasoning"));
            return;
        }
        self.thinking = Some(Thinking::Enabled { budget_tokens: budget, display: display(&request.reasoning) });
    }
}

/// The thinking wished for, in tokens.
fn wish(mode: ReasoningMode, target: &Target) -> u64 {
    let effort = match mode {
        ReasoningMode::Budget(tokens) => return tokens,
        ReasoningMode::Effort(effort) | ReasoningMode::Adaptive(Some(effort)) => effort,
        ReasoningMode::Adaptive(None) | ReasoningMode::Default | ReasoningMode::Off => Effort::High,
    };
    let half = target.max_output.map_or(u64::MAX, |most| most / 2);
    messages_budget(effort).min(MOST_BY_EFFORT).min(half)
}

fn effort(mode: ReasoningMode, target: &Target) -> Option<&'static str> {
    let known: &[Effort] = if target.efforts.is_empty() { &EFFORTS } else { &target.efforts };
    match asked(mode, known) {
        Asked::Effort(effort) => Some(effort.as_str()),
        Asked::Nothing | Asked::Off => None,
    }
}

fn display(reasoning: &Reasoning) -> Option<&'static str> {
    reasoning.visible.map(|visible| if visible { "summarized" } else { "omitted" })
}

fn forces(choice: Option<&ToolChoice>) -> bool {
    match choice {
        Some(ToolChoice::Any | ToolChoice::One(_) | ToolChoice::Subset { required: true, .. }) => true,
        Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Subset { required: false, .. }) | None => false,
    }
}

fn dropped(about: &str) -> Warning {
    Warning { code: "DROPPED_PARAMETER", about: about.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Dialect;

    fn planned(mode: ReasoningMode, output: Option<u64>, limit: Option<u64>, adaptive: bool) -> (Plan, usize) {
        let mut request = Request::new("m", Dialect::Chat);
        request.reasoning.mode = mode;
        request.max_output = output;
        let target = Target { max_output: limit, adaptive_thinking: adaptive, ..Target::unknown("m") };
        let mut warnings = Vec::new();
        (plan(&request, &target, None, true, &mut warnings), warnings.len())
    }

    #[test]
    fn a_budget_finds_its_room_below_max_tokens_or_is_left_out() {
        use ReasoningMode::{Adaptive, Budget, Default, Effort as By};
        for (mode, output, limit, max_tokens, budget) in [
            (Default, None, None, 32_000, None),
            (Default, None, Some(8_192), 8_192, None),
            (Default, Some(100_000), Some(64_000), 64_000, None),
            (Budget(31_999), Some(32_000), None, 32_000, Some(31_999)),
            (Budget(100), Some(4_000), None, 4_000, Some(1_024)),
            (Budget(10_000), Some(1_000), None, 11_000, Some(10_000)),
            (Budget(10_000), Some(1_000), Some(8_000), 8_000, Some(7_000)),
            (Budget(10_000), Some(8_000), Some(8_000), 8_000, Some(4_000)),
            (Budget(10_000), Some(1_500), Some(1_500), 1_500, None),
            (By(Effort::Low), Some(500), None, 1_524, Some(1_024)),
            (By(Effort::Medium), None, Some(64_000), 64_000, Some(10_240)),
            (By(Effort::High), None, None, 64_000, Some(32_000)),
            (By(Effort::High), None, Some(8_192), 8_192, Some(4_096)),
            (Adaptive(None), Some(64_000), Some(64_000), 64_000, Some(32_000)),
        ] {
            let (plan, warnings) = planned(mode, output, limit, false);
            let spent = match plan.thinking {
                Some(Thinking::Enabled { budget_tokens, .. }) => Some(budget_tokens),
                _ => None,
            };
            assert_eq!((plan.max_tokens, spent), (max_tokens, budget), "{mode:?} {output:?} of {limit:?}");
            assert!(spent.is_none_or(|spent| spent < plan.max_tokens));
            assert_eq!(warnings > 0, spent.is_none() && mode != Default);
        }
    }

    #[test]
    fn adaptive_models_are_told_an_effort() {
        for (mode, thinking, effort) in [
            (ReasoningMode::Effort(Effort::Minimal), Some(Thinking::Adaptive { display: None }), Some("low")),
            (ReasoningMode::Effort(Effort::XHigh), Some(Thinking::Adaptive { display: None }), Some("xhigh")),
            (ReasoningMode::Budget(10_000), Some(Thinking::Adaptive { display: None }), Some("medium")),
            (ReasoningMode::Adaptive(None), Some(Thinking::Adaptive { display: None }), None),
            (ReasoningMode::Off, Some(Thinking::Disabled), None),
            (ReasoningMode::Default, None, None),
        ] {
            let (plan, _) = planned(mode, None, None, true);
            assert_eq!((plan.thinking, plan.effort), (thinking, effort), "{mode:?}");
        }
    }

    #[test]
    fn a_forced_tool_and_thinking_exclude_each_other() {
        let mut request = Request::new("m", Dialect::Chat);
        for (mode, choice, thinks) in [
            (ReasoningMode::Effort(Effort::High), ToolChoice::Any, false),
            (ReasoningMode::Budget(2_000), ToolChoice::Auto, true),
        ] {
            request.reasoning.mode = mode;
            let mut warnings = Vec::new();
            let plan = plan(&request, &Target::unknown("m"), Some(ToolChoice::Any), true, &mut warnings);
            assert_eq!((plan.choice.as_ref(), plan.thinks(), warnings.len()), (Some(&choice), thinks, 1), "{mode:?}");
        }
    }
}
