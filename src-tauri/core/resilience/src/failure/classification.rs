//! Status, text and codes to a verdict (resilience specification, 6).
//!
//! One list of tests in the order of section 6.2; the first that answers wins. What decides most stands first: words that
//! close an account, then the operator, then what the request itself did wrong, then quotas from the longest to the
//! shortest, and at the end what the bare status says.

use domain::{
    BreakerCharge, Cooldown, Failure, Hint, Millis, Neutral, Outcome, Permanence, Provenance, ProviderClass, Reason,
    Scope,
};
use http::HeaderMap;

use super::error_rules::{self, Evidence, Matched};
use super::wording::{self, any};
use super::{Context, Diagnosis, Next, bad_request, ban};

const RETIRED_REST: Millis = Millis::hours(24);
const SUBSCRIPTION_REST: Millis = Millis::hours(1);
const WEEKLY_REST: Millis = Millis::hours(24);
const SESSION_REST: Millis = Millis::hours(5);
const REFUSED_PLACE_REST: Millis = Millis::hours(24);
const NO_CREDENTIAL_REST: Millis = Millis::minutes(2);
const REQUEST_NOT_ALLOWED_REST: Millis = Millis::seconds(5);
const SUPERVISOR_REST: Millis = Millis::seconds(5);
const DAY: Millis = Millis::hours(24);

/// A reply after restatement, read once.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) status: u16,
    pub(super) headers: &'a HeaderMap,
    /// Message, words and body, lower case.
    pub(super) text: &'a str,
    pub(super) message: &'a str,
    pub(super) code: Option<&'a str>,
    pub(super) kind: Option<&'a str>,
    pub(super) hint: Option<Hint>,
    pub(super) until_midnight: Millis,
    pub(super) context: &'a Context<'a>,
}

/// What a test found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    Failed(Failure, Next),
    Neutral(Neutral, Next),
}

type Test = fn(&Facts<'_>) -> Option<Verdict>;

const TESTS: [Test; 20] = [
    closed,
    operator_rule,
    local_queue,
    missing_resource,
    supervisor,
    retired,
    moved,
    suspended_unpaid,
    gemini_quota,
    credits,
    daily,
    subscription,
    weekly,
    session,
    route_forbidden,
    catalogue_rule,
    forbidden,
    bad_request::judge,
    by_text,
    by_status,
];

/// The verdict on a reply. Always one: the last test answers whatever is left.
pub(super) fn classify(facts: &Facts<'_>) -> Diagnosis {
    let verdict = TESTS.iter().find_map(|test| test(facts)).unwrap_or_else(|| facts.usual(Reason::ServerError));
    let (outcome, next) = match verdict {
        Verdict::Failed(failure, next) => (Outcome::Failure(failure), next),
        Verdict::Neutral(neutral, next) => (Outcome::Neutral(neutral), next),
    };
    Diagnosis { outcome, next, status: Some(facts.status) }
}

impl Facts<'_> {
    /// A failure that lasts, cools and counts as the tables say.
    pub(super) fn failure(&self, reason: Reason) -> Failure {
        let mut failure = Failure::plain(Some(self.status), reason, self.message);
        failure.hint = self.hint;
        failure.breaker = self.charge();
        failure.quota_resets_in =
            (reason == Reason::QuotaExhausted && self.hint.is_none()).then_some(self.until_midnight);
        failure
    }

    fn usual(&self, reason: Reason) -> Verdict {
        Verdict::Failed(self.failure(reason), Next::NextConnection)
    }

    fn resting(&self, reason: Reason, rest: Millis) -> Verdict {
        let failure = Failure { cooldown: Cooldown::Fixed(rest), ..self.failure(reason) };
        Verdict::Failed(failure, Next::NextConnection)
    }

    fn lasting(&self, reason: Reason, permanence: Permanence) -> Verdict {
        Verdict::Failed(Failure { permanence, ..self.failure(reason) }, Next::NextConnection)
    }

    /// Only what the service says about itself counts, and no replies that speak of one request.
    fn charge(&self) -> BreakerCharge {
        let trips = matches!(self.status, 408 | 500 | 502 | 503 | 504);
        let scoped = self.is_word(&wording::SCOPED_TO_REQUEST) || any(self.text, &wording::GIVEN_UP);
        if trips && !scoped { BreakerCharge::Counts } else { BreakerCharge::None }
    }

    /// Whether code or type is one of the words.
    pub(super) fn is_word(&self, words: &[&str]) -> bool {
        let said = [self.code, self.kind];
        words.iter().any(|word| said.iter().flatten().any(|said| said.eq_ignore_ascii_case(word)))
    }

    fn evidence(&self) -> Evidence<'_> {
        Evidence { status: self.status, headers: self.headers, code: self.code, kind: self.kind, text: self.text }
    }

    fn class(&self) -> ProviderClass {
        self.context.nature.class
    }

    /// A refusal of one model: the fault is its name or the plan, not the sign-in (specification's decision 39).
    pub(super) fn is_model_denied(&self) -> bool {
        let message = self.message.to_lowercase();
        let confirmed = self.is_word(&["permission_error"])
            && message.contains("model")
            && any(&message, &["access", "permission", "entitled", "subscription"]);
        (any(self.text, &wording::MODEL_DENIED) || confirmed) && !any(self.text, &wording::CREDENTIAL)
    }
}

fn closed(facts: &Facts<'_>) -> Option<Verdict> {
    let banned = ban::is_ban(facts.text, facts.context.rules.banned_signals);
    banned.then(|| facts.lasting(Reason::Auth, Permanence::Banned))
}

fn operator_rule(facts: &Facts<'_>) -> Option<Verdict> {
    error_rules::of_operator(&facts.context.rules, &facts.evidence()).map(|matched| by_rule(facts, &matched))
}

fn catalogue_rule(facts: &Facts<'_>) -> Option<Verdict> {
    error_rules::of_catalogue(&facts.context.rules, &facts.evidence()).map(|matched| by_rule(facts, &matched))
}

fn by_rule(facts: &Facts<'_>, matched: &Matched<'_>) -> Verdict {
    let rule = matched.rule;
    let reason = rule.kind().unwrap_or(if facts.status == 403 { Reason::Forbidden } else { Reason::ServerError });
    let failure = Failure {
        scope: matched.scope,
        permanence: match (reason, facts.status) {
            (Reason::Auth, 401) => Permanence::Unauthorized,
            _ => Permanence::Temporary,
        },
        cooldown: rule.cooldown.map_or(Cooldown::Ladder, Cooldown::From),
        rule: Some(rule.id.clone()),
        ..facts.failure(reason)
    };
    let next = if reason == Reason::ModelNotFound { Next::NextTarget } else { Next::NextConnection };
    Verdict::Failed(failure, next)
}

fn local_queue(facts: &Facts<'_>) -> Option<Verdict> {
    let refused = facts.is_word(&wording::LOCAL_QUEUE);
    refused.then_some(Verdict::Neutral(Neutral::LocalLimit, Next::NextConnection))
}

/// Rows 0 and 4.4-1: what the client refers to exists nowhere else either.
fn missing_resource(facts: &Facts<'_>) -> Option<Verdict> {
    let missing = matches!(facts.status, 404 | 409) && any(facts.text, &wording::CLIENT_RESOURCE);
    missing.then(|| {
        let failure = Failure { scope: Scope::Nobody, ..facts.failure(Reason::InvalidRequest) };
        Verdict::Failed(failure, Next::Stop)
    })
}

/// A supervisor in front of the service asks to spare the account, not the service.
fn supervisor(facts: &Facts<'_>) -> Option<Verdict> {
    let asks = facts.headers.get("x-omni-fallback-hint").is_some_and(|hint| hint == "connection_cooldown");
    (facts.status == 503 && asks).then(|| {
        let failure = Failure {
            scope: Scope::Connection,
            breaker: BreakerCharge::None,
            hint: None,
            cooldown: Cooldown::Fixed(SUPERVISOR_REST),
            ..facts.failure(Reason::ServerError)
        };
        Verdict::Failed(failure, Next::NextConnection)
    })
}

fn retired(facts: &Facts<'_>) -> Option<Verdict> {
    let model = facts.text.contains("model") && any(facts.text, &wording::MODEL_RETIRED);
    let gone = matches!(facts.status, 404 | 410) && (model || any(facts.text, &wording::RETIRED));
    gone.then(|| {
        let cooldown = Cooldown::Fixed(RETIRED_REST);
        Verdict::Failed(Failure { cooldown, ..facts.failure(Reason::ModelNotFound) }, Next::NextTarget)
    })
}

fn moved(facts: &Facts<'_>) -> Option<Verdict> {
    any(facts.text, &wording::MOVED).then(|| facts.resting(Reason::ServerError, RETIRED_REST))
}

fn suspended_unpaid(facts: &Facts<'_>) -> Option<Verdict> {
    let unpaid = facts.text.contains("suspended") && any(facts.text, &wording::UNPAID);
    unpaid.then(|| facts.lasting(Reason::QuotaExhausted, Permanence::CreditsExhausted))
}

/// Google names the metric that ran out.
fn gemini_quota(facts: &Facts<'_>) -> Option<Verdict> {
    if facts.status != 429 || !facts.context.provider.as_str().starts_with("gemini") {
        return None;
    }
    if any(facts.text, &wording::PER_DAY) {
        return Some(facts.usual(Reason::QuotaExhausted));
    }
    any(facts.text, &wording::PER_MINUTE).then(|| facts.usual(Reason::RateLimit))
}

/// Words of an empty purse. On a 429 of a key most of them only mean that a window is used up (EC-04), and where quotas
/// are per model they never speak of the account.
fn credits(facts: &Facts<'_>) -> Option<Verdict> {
    let empty = any(facts.text, &wording::EMPTY_PURSE);
    if !empty && !any(facts.text, &wording::CREDITS) {
        return None;
    }
    let counts = facts.status != 429 || empty || facts.class() == ProviderClass::Oauth;
    if counts && !facts.context.nature.per_model_quota {
        return Some(facts.lasting(Reason::QuotaExhausted, Permanence::CreditsExhausted));
    }
    Some(facts.usual(Reason::QuotaExhausted))
}

/// Daily quotas last until midnight. Tokens per day trickle back all the time, so they do so only where the upstream says
/// when.
fn daily(facts: &Facts<'_>) -> Option<Verdict> {
    if any(facts.text, &wording::TOKENS_PER_DAY) {
        let announced = facts.hint.is_some_and(|hint| hint.provenance == Provenance::Authoritative);
        return Some(facts.usual(if announced { Reason::QuotaExhausted } else { Reason::RateLimit }));
    }
    let rest = facts.until_midnight.min(DAY);
    any(facts.text, &wording::DAILY).then(|| facts.resting(Reason::QuotaExhausted, rest))
}

fn subscription(facts: &Facts<'_>) -> Option<Verdict> {
    let claude = facts.context.provider.as_str() == "claude" && facts.text.contains(wording::CLAUDE_SUBSCRIPTION);
    // A weekly or session limit says so beside "usage limit"; its own test is longer.
    let longer = any(facts.text, &wording::WEEKLY) || any(facts.text, &wording::SESSION);
    let used_up = (claude || any(facts.text, &wording::SUBSCRIPTION)) && !longer;
    used_up.then(|| facts.resting(Reason::QuotaExhausted, SUBSCRIPTION_REST))
}

fn weekly(facts: &Facts<'_>) -> Option<Verdict> {
    any(facts.text, &wording::WEEKLY).then(|| facts.resting(Reason::QuotaExhausted, WEEKLY_REST))
}

fn session(facts: &Facts<'_>) -> Option<Verdict> {
    any(facts.text, &wording::SESSION).then(|| facts.resting(Reason::QuotaExhausted, SESSION_REST))
}

fn route_forbidden(facts: &Facts<'_>) -> Option<Verdict> {
    let refused = facts.status == 403 && facts.text.contains("not authorized for this route");
    refused.then(|| Verdict::Failed(Failure { scope: Scope::Noted, ..facts.failure(Reason::Forbidden) }, Next::Stop))
}

/// 403: the request, the model, the place, the robot; for a key whatever else, the account.
fn forbidden(facts: &Facts<'_>) -> Option<Verdict> {
    if matches!(facts.status, 400 | 403) && any(facts.text, &wording::WRONG_PLACE) {
        return Some(facts.resting(Reason::Forbidden, REFUSED_PLACE_REST));
    }
    if facts.status != 403 {
        return None;
    }
    let signed_in = facts.class() == ProviderClass::Oauth;
    if signed_in && facts.text.contains("request not allowed") {
        return Some(facts.lasting(Reason::RequestRejected, Permanence::RequestRejected));
    }
    if any(facts.text, &wording::NO_PROJECT) {
        return Some(facts.resting(Reason::Forbidden, REFUSED_PLACE_REST));
    }
    if any(facts.text, &wording::ROBOT) {
        return Some(facts.resting(Reason::Forbidden, Millis::ZERO));
    }
    if facts.is_model_denied() {
        return Some(facts.usual(Reason::ModelAccessDenied));
    }
    (!signed_in && !any(facts.text, &wording::QUOTA_403)).then(|| facts.usual(Reason::Auth))
}

/// Section 6.3. A key's 429 is taken for what it is, unless it speaks of a quota in so many words.
fn by_text(facts: &Facts<'_>) -> Option<Verdict> {
    let plain_429 = facts.status == 429 && facts.class() != ProviderClass::Oauth;
    if any(facts.text, &wording::QUOTA) {
        return Some(facts.usual(Reason::QuotaExhausted));
    }
    if plain_429 {
        return None;
    }
    if facts.text.contains("no credentials") {
        return Some(facts.resting(Reason::Auth, NO_CREDENTIAL_REST));
    }
    if facts.text.contains("request not allowed") {
        return Some(facts.resting(Reason::RateLimit, REQUEST_NOT_ALLOWED_REST));
    }
    if facts.text.contains("improperly formed request") {
        return Some(facts.resting(Reason::Overloaded, Millis::ZERO));
    }
    if any(facts.text, &wording::RATE_LIMIT) {
        return Some(facts.usual(Reason::RateLimit));
    }
    any(facts.text, &wording::CAPACITY).then(|| facts.usual(Reason::Overloaded))
}

/// Section 6.4, and row 16 for what it does not name.
fn by_status(facts: &Facts<'_>) -> Option<Verdict> {
    Some(match facts.status {
        401 if facts.class() == ProviderClass::Oauth && any(facts.text, &wording::STALE_TOKEN) => {
            facts.resting(Reason::Auth, NO_CREDENTIAL_REST)
        }
        401 => facts.lasting(Reason::Auth, Permanence::Unauthorized),
        402 if facts.context.nature.per_model_quota => facts.usual(Reason::QuotaExhausted),
        402 => facts.lasting(Reason::QuotaExhausted, Permanence::CreditsExhausted),
        403 => facts.usual(Reason::Forbidden),
        404 | 410 => Verdict::Failed(facts.failure(Reason::ModelNotFound), Next::NextTarget),
        413 => Verdict::Failed(overflow(facts), Next::NextConnection),
        429 => facts.usual(Reason::RateLimit),
        432 => facts.resting(Reason::QuotaExhausted, SUBSCRIPTION_REST),
        529 => facts.usual(Reason::Overloaded),
        406 | 408 | 500..=599 => facts.usual(Reason::ServerError),
        _ => facts.usual(Reason::Unknown),
    })
}

/// The request is larger than this model takes: nobody's fault, and a bigger one may take it.
pub(super) fn overflow(facts: &Facts<'_>) -> Failure {
    Failure {
        scope: Scope::Nobody,
        breaker: BreakerCharge::None,
        cooldown: Cooldown::Fixed(Millis::ZERO),
        ..facts.failure(Reason::ContextOverflow)
    }
}
