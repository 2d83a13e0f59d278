//! After an attempt: once more, another account, another target, or enough (gateway specification, 3.8).
//!
//! One function, the table row by row. What the upstream meant is already known: the outcome is the diagnosis of
//! `resilience::failure`, and what it did to anyone's health is settled. Here only this request is at stake. Waiting has a
//! price for whoever asks, so the same target is repeated only where nobody was just benched and, unless the combo says
//! otherwise, only where there is no one else.
//!
//! | outcome | then |
//! | --- | --- |
//! | the client left | stop, silently |
//! | a limit of our own | next in a combo, else that error |
//! | content policy, malformed request | stop, and show it |
//! | context too long | next, if somebody has a larger window or is another model |
//! | too many tokens of output asked for | once more with the stated limit, then next |
//! | earlier thinking that is not taken back | once more without it, then as the refusal says |
//! | 413 | next account, then as a context that is too long |
//! | too many tools, where the list may be cut | once more with fewer, then as below |
//! | too many tools, unknown or refused model, other 400 and 422 | next in a combo, else show it |
//! | 401, 402, 403, 429 | next account, then next target |
//! | 408, 500, 502, 503, 504, 524, 529 | once more, then next |
//! | unreachable, stream not ready | next |

use domain::{ConnectionId, Failure, Millis, Nature, Neutral, Outcome, Reason, Scope};

use crate::combo::Config;
use crate::journey::{Exhausted, Journey, Mark, Streak};
use crate::target::Target;

/// Most dispatches of one request over all nesting, rotation of accounts included.
pub const MOST_ATTEMPTS: usize = 30;
/// Longest pause between two attempts; a longer hint is for the next target.
pub const LONGEST_PAUSE: Millis = Millis::seconds(5);

/// How an attempt ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    pub outcome: &'a Outcome,
    /// After restatement; none when there was no reply.
    pub status: Option<u16>,
    /// One line, redacted.
    pub message: &'a str,
    /// The diagnosis says that nobody would answer differently.
    pub hopeless: bool,
    /// The account or the model on it was just cooled or locked.
    pub benched: bool,
    /// The refusal is about the number of tools (`resilience::tool_limit`).
    pub too_many_tools: bool,
    /// The refusal is about earlier thinking in the request (gateway specification, 2.7, rule 3).
    pub refuses_thoughts: bool,
}

/// Where in the plan that was.
#[derive(Clone, Copy, Debug)]
pub struct Position<'a> {
    /// None for a request that names one model.
    pub combo: Option<&'a Config>,
    pub target: &'a Target,
    pub connection: &'a ConnectionId,
    pub nature: &'a Nature,
    /// Repetitions of this target before this attempt.
    pub repeated: u32,
    /// The limit of output was lowered for this target already.
    pub adjusted: bool,
    /// Earlier thinking was taken out for this target already.
    pub thoughtless: bool,
    /// The list of tools may be cut for this target, and was not yet.
    pub may_shorten: bool,
    /// Another account may serve this target.
    pub more_accounts: bool,
    /// What is left of the plan.
    pub remaining: &'a [&'a Target],
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The same target after a pause.
    Retry {
        after: Millis,
    },
    /// The same target at once, asking for at most so many tokens of output.
    Adjust {
        max_output: u64,
    },
    /// The same target at once, without earlier thinking.
    ThinkLess,
    /// The same target at once, with as many tools as it takes.
    FewerTools,
    /// Another account of the same target, at once.
    NextAccount,
    /// The next target after a pause.
    NextTarget {
        after: Millis,
    },
    Stop(Stop),
}

/// Why no one else is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The client is gone.
    Silent,
    /// The last failure is the answer.
    Surface,
    /// Nobody left has room for so long a prompt: 400.
    ContextOverflow,
    /// `IDENTICAL_MODEL_ERROR_STREAK`: the last failure is the answer.
    IdenticalErrors,
    /// A target that may be left only for an exhausted quota failed otherwise: 503.
    ProtectedTarget,
    /// `MAX_ATTEMPTS`: 503.
    MaxAttempts,
    /// Nobody is left; what was recorded decides.
    Exhausted,
}

/// A decision, and what it means for the rest of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    pub decision: Decision,
    pub marks: Vec<Mark>,
}

/// Decides what follows an attempt that brought no answer, and notes in the journey what must not be asked again.
/// `attempts`: dispatches of the whole request so far, this one and those of others beside it included.
pub fn rule(ended: &Ended<'_>, position: &Position<'_>, attempts: usize, journey: &mut Journey) -> Decision {
    let same = if ended.is_about_shape() {
        journey.streak.refused(&position.target.execution_key, ended.status, ended.message)
    } else {
        journey.streak.broken();
        0
    };
    let Ruling { decision, marks } = decide(ended, position, attempts, same);
    for mark in marks {
        journey.exhausted.mark(mark);
    }
    decision
}

/// The table. `attempts`: dispatches so far, this one included. `same`: targets in a row that refused in these words.
pub fn decide(ended: &Ended<'_>, position: &Position<'_>, attempts: usize, same: usize) -> Ruling {
    let Ruling { decision, marks } = row(ended, position);
    let goes_on = !matches!(decision, Decision::Stop(_));
    let decision = match decision {
        Decision::NextTarget { .. } if same >= Streak::LIMIT => Decision::Stop(Stop::IdenticalErrors),
        Decision::NextTarget { .. } if is_protected(ended, position) => Decision::Stop(Stop::ProtectedTarget),
        Decision::NextTarget { .. } if position.remaining.is_empty() => Decision::Stop(Stop::Exhausted),
        _ if goes_on && attempts >= MOST_ATTEMPTS => Decision::Stop(Stop::MaxAttempts),
        other => other,
    };
    Ruling { decision, marks }
}

/// The pause before the whole set is tried again after `sets` times; none when it is not.
pub fn repeats_set(sets: u32, config: &Config) -> Option<Millis> {
    (sets <= config.max_set_retries && config.max_set_retries > 0 && sets > 0).then_some(config.set_retry_delay)
}

/// The next target, where it is one of the same provider: whoever is asked there speaks for the provider.
pub fn speaks_next<'t>(position: &Position<'t>) -> Option<&'t Target> {
    position.remaining.first().copied().filter(|next| next.provider == position.target.provider)
}

/// Whether a failure is not counted for its provider's breaker, because somebody at the next target speaks for the provider.
/// `accounts` are those that may be asked there now; where this failure leaves none of them, it counts itself.
pub fn is_spoken_for<'c>(
    failure: &Failure,
    status: Option<u16>,
    position: &Position<'_>,
    exhausted: &Exhausted,
    mut accounts: impl Iterator<Item = &'c ConnectionId>,
) -> bool {
    let Some(next) = speaks_next(position).filter(|next| !exhausted.excludes(&next.provider, &next.model)) else {
        return false;
    };
    let spent = spends_account(failure, status, position.nature);
    accounts.any(|account| {
        let gone = spent && account == position.connection;
        !gone && !exhausted.excludes_connection(&next.provider, account)
    })
}

/// Whether a failure takes its account out for the rest of the request. Not one of the answer or of the model.
fn spends_account(failure: &Failure, status: Option<u16>, nature: &Nature) -> bool {
    let of_answer = failure.reason == Reason::EmptyOrGarbled || failure.scope == Scope::Nobody;
    let of_model = status == Some(500) && nature.per_model_quota;
    !of_answer && !of_model
}

impl Ended<'_> {
    /// It is the request that was refused, not the account nor the service.
    fn is_about_shape(&self) -> bool {
        match self.outcome {
            Outcome::Neutral(Neutral::InvalidRequest) => true,
            Outcome::Failure(failure) => failure.reason == Reason::InvalidRequest,
            Outcome::Success(_) | Outcome::Neutral(_) => false,
        }
    }
}

fn row(ended: &Ended<'_>, position: &Position<'_>) -> Ruling {
    if ended.refuses_thoughts && !position.thoughtless {
        return Ruling { decision: Decision::ThinkLess, marks: Vec::new() };
    }
    match ended.outcome {
        Outcome::Success(_) => stop(Stop::Surface),
        Outcome::Neutral(Neutral::ClientAborted | Neutral::Abandoned) => stop(Stop::Silent),
        Outcome::Neutral(Neutral::LocalLimit) => match position.combo {
            Some(_) => next(position, Vec::new()),
            None => stop(Stop::Surface),
        },
        Outcome::Neutral(Neutral::InvalidRequest) => refused(ended, position),
        Outcome::Failure(failure) if is_policy(ended) && failure.status.is_some_and(|status| status < 500) => {
            stop(Stop::Surface)
        }
        Outcome::Failure(failure) => failed(failure, ended, position),
    }
}

/// 400 and 422 (resilience specification, 6.5).
fn refused(ended: &Ended<'_>, position: &Position<'_>) -> Ruling {
    if ended.hopeless || is_policy(ended) {
        return stop(Stop::Surface);
    }
    if ended.too_many_tools && position.may_shorten {
        return Ruling { decision: Decision::FewerTools, marks: Vec::new() };
    }
    if ended.too_many_tools {
        return elsewhere(position, vec![model_of(position)]);
    }
    if let Some(max_output) = output_limit(ended.message).filter(|_| !position.adjusted) {
        return Ruling { decision: Decision::Adjust { max_output }, marks: Vec::new() };
    }
    elsewhere(position, Vec::new())
}

fn failed(failure: &Failure, ended: &Ended<'_>, position: &Position<'_>) -> Ruling {
    match failure.reason {
        Reason::InvalidRequest => refused(ended, position),
        Reason::ContextOverflow if ended.status == Some(413) && position.more_accounts => next(position, Vec::new()),
        Reason::ContextOverflow => overflow(position),
        Reason::ModelNotFound => elsewhere(position, vec![model_of(position)]),
        Reason::ModelAccessDenied => account(position, vec![model_of(position)]),
        Reason::Auth | Reason::Forbidden | Reason::RequestRejected => account(position, Vec::new()),
        Reason::QuotaExhausted => {
            let marks = match failure.scope {
                Scope::Connection => Vec::new(),
                Scope::Usual if !position.nature.per_model_quota => {
                    vec![Mark::Provider(position.target.provider.clone())]
                }
                Scope::Usual | Scope::Model | Scope::Noted | Scope::Nobody => vec![model_of(position)],
            };
            account(position, marks)
        }
        Reason::RateLimit => limited(failure, ended, position),
        Reason::ServerError
        | Reason::Unknown
        | Reason::Overloaded
        | Reason::ConnectionReset
        | Reason::ResponseStartTimeout
        | Reason::StreamCut
        | Reason::EarlyEof
        | Reason::EmptyOrGarbled => unwell(failure, ended, position),
        Reason::Unreachable | Reason::Tls | Reason::StreamIdleTimeout | Reason::ContentStall => {
            next(position, Vec::new())
        }
    }
}

/// The prompt is too long here: of use is only another model, or the same one with a larger window.
fn overflow(position: &Position<'_>) -> Ruling {
    let here = position.target;
    let larger = |other: &Target| match (other.facts.context_window, here.facts.context_window) {
        (Some(other), Some(here)) => other > here,
        (Some(_) | None, None) | (None, Some(_)) => false,
    };
    if position.remaining.iter().any(|other| other.model != here.model || larger(other)) {
        return next_target(position, vec![model_of(position)]);
    }
    stop(Stop::ContextOverflow)
}

/// 429: another account at once; the same one only if it asked for a moment and was not benched.
fn limited(failure: &Failure, ended: &Ended<'_>, position: &Position<'_>) -> Ruling {
    let by_account = failure.scope == Scope::Connection;
    let mark = || match by_account {
        true => connection_of(position),
        false => Mark::Limited(position.target.provider.clone()),
    };
    if position.more_accounts {
        return Ruling { decision: Decision::NextAccount, marks: vec![connection_of(position)] };
    }
    let moment = failure.hint.map(|hint| hint.delay).filter(|delay| *delay <= LONGEST_PAUSE);
    match moment {
        Some(delay) if !ended.benched && may_repeat(position) => {
            Ruling { decision: Decision::Retry { after: delay }, marks: vec![mark()] }
        }
        Some(_) | None => next_target(position, vec![mark()]),
    }
}

/// The service is unwell. Once more where nobody was benched; then this account is done for the request, except where the
/// fault was the answer's or the model's.
fn unwell(failure: &Failure, ended: &Ended<'_>, position: &Position<'_>) -> Ruling {
    if !ended.benched && may_repeat(position) {
        let delay = position.combo.map_or(Config::default().retry_delay, |config| config.retry_delay);
        return Ruling { decision: Decision::Retry { after: delay }, marks: Vec::new() };
    }
    let spent = spends_account(failure, ended.status, position.nature);
    let marks = if spent { vec![connection_of(position)] } else { Vec::new() };
    next(position, marks)
}

/// Whether the same target may be asked again (3.2, `maxRetries` and `failoverBeforeRetry`).
fn may_repeat(position: &Position<'_>) -> bool {
    let Some(config) = position.combo else { return false };
    let preferred = match config.failover_before_retry {
        Some(true) => false,
        Some(false) => true,
        None => position.remaining.is_empty() && !position.more_accounts,
    };
    preferred && position.repeated < config.max_retries
}

/// About the account: the next one at once; with the last of them the marks of the target hold.
fn account(position: &Position<'_>, marks: Vec<Mark>) -> Ruling {
    if position.more_accounts {
        return Ruling { decision: Decision::NextAccount, marks: vec![connection_of(position)] };
    }
    let mut marks = marks;
    marks.push(connection_of(position));
    next_target(position, marks)
}

/// Another account if there is one, else another target.
fn next(position: &Position<'_>, marks: Vec<Mark>) -> Ruling {
    if position.more_accounts {
        return Ruling { decision: Decision::NextAccount, marks };
    }
    next_target(position, marks)
}

/// Another target of a combo; a request that names one model is shown the refusal.
fn elsewhere(position: &Position<'_>, marks: Vec<Mark>) -> Ruling {
    match position.combo {
        Some(_) => next_target(position, marks),
        None => stop(Stop::Surface),
    }
}

fn next_target(position: &Position<'_>, marks: Vec<Mark>) -> Ruling {
    let pause = position.combo.map_or(Millis::ZERO, |config| config.fallback_delay.min(LONGEST_PAUSE));
    Ruling { decision: Decision::NextTarget { after: pause }, marks }
}

fn stop(stop: Stop) -> Ruling {
    Ruling { decision: Decision::Stop(stop), marks: Vec::new() }
}

fn connection_of(position: &Position<'_>) -> Mark {
    Mark::Connection(position.target.provider.clone(), position.connection.clone())
}

fn model_of(position: &Position<'_>) -> Mark {
    Mark::Model(position.target.provider.clone(), position.target.model.clone())
}

/// A target that others stand behind for an exhausted quota only, and that failed for something else.
fn is_protected(ended: &Ended<'_>, position: &Position<'_>) -> bool {
    let quota = matches!(ended.outcome, Outcome::Failure(failure) if failure.reason == Reason::QuotaExhausted);
    position.target.fallback_only_on_quota_exhaustion && !quota && !position.remaining.is_empty()
}

/// The upstream will not speak of this, whoever asks.
fn is_policy(ended: &Ended<'_>) -> bool {
    const WORDS: [&str; 6] = [
        "content_policy",
        "content policy",
        "content_filter",
        "content management policy",
        "safety system",
        "responsible ai",
    ];
    let text = ended.message.to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// The limit of output tokens that a refusal names.
fn output_limit(message: &str) -> Option<u64> {
    const NAMES: [&str; 4] = ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens"];
    let text = message.to_lowercase();
    let named = NAMES.iter().any(|name| text.contains(name));
    let bounded = ["maximum", "at most", "less than or equal", "limit", "<=", "too large", "range"];
    if !named || !bounded.iter().any(|word| text.contains(word)) {
        return None;
    }
    // "max_tokens: 100000 > 8192, which is the maximum": of several numbers the limit is the smallest that is one.
    let numbers = text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
    numbers.filter(|number| *number >= 16).min()
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
