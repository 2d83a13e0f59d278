//! An account and the reply it got, and the verdict on them in words.

use domain::{
    BreakerCharge, Cooldown, Nature, Neutral, Outcome, Permanence, ProviderClass, ProviderId, Scope, Timestamp,
};
use http::{HeaderMap, HeaderValue};
use resilience::failure::{Context, Diagnosis, Next, ProviderRules, Reply, Rules, diagnose};

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_786_276_800_000);
/// An hour to midnight.
pub(crate) const MIDNIGHT: Timestamp = Timestamp::from_millis(1_786_280_400_000);

/// An account, and the reply it got.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) provider: &'a str,
    pub(crate) class: ProviderClass,
    pub(crate) per_model: bool,
    pub(crate) status: u16,
    pub(crate) header: Option<(&'static str, &'static str)>,
    pub(crate) code: Option<&'a str>,
    pub(crate) kind: Option<&'a str>,
    pub(crate) message: &'a str,
    pub(crate) body: &'a str,
}

pub(crate) const KEY: Case<'_> = Case {
    provider: "ak",
    class: ProviderClass::Apikey,
    per_model: false,
    status: 0,
    header: None,
    code: None,
    kind: None,
    message: "",
    body: "",
};
pub(crate) const SIGNED_IN: Case<'_> = Case { provider: "oa", class: ProviderClass::Oauth, ..KEY };
pub(crate) const SCOPED: Case<'_> = Case { provider: "ms", per_model: true, ..KEY };
pub(crate) const GEMINI: Case<'_> = Case { provider: "gemini", per_model: true, ..KEY };
pub(crate) const CLAUDE: Case<'_> = Case { provider: "claude", ..SIGNED_IN };

impl<'a> Case<'a> {
    pub(crate) fn says(self, status: u16, message: &'a str) -> Self {
        Case { status, message, ..self }
    }

    pub(crate) fn header(self, name: &'static str, value: &'static str) -> Self {
        Case { header: Some((name, value)), ..self }
    }

    pub(crate) fn code(self, code: &'a str) -> Self {
        Case { code: Some(code), ..self }
    }

    pub(crate) fn kind(self, kind: &'a str) -> Self {
        Case { kind: Some(kind), ..self }
    }

    pub(crate) fn body(self, body: &'a str) -> Self {
        Case { body, ..self }
    }

    pub(crate) fn judged(self, rules: Rules<'_>, midnight: Timestamp) -> Diagnosis {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = self.header {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let nature = Nature { class: self.class, per_model_quota: self.per_model, ..Nature::default() };
        let provider = ProviderId::from(self.provider);
        let context = Context { provider: &provider, model: "m1", nature: &nature, rules, midnight };
        let reply = Reply::Http {
            status: self.status,
            headers: &headers,
            body: self.body,
            message: self.message,
            code: self.code,
            kind: self.kind,
        };
        diagnose(&reply, &context, NOW)
    }

    pub(crate) fn verdict(self) -> String {
        let provider = ProviderRules::default();
        told(&self.judged(Rules { provider: &provider, operator: &[], banned_signals: &[] }, MIDNIGHT))
    }
}

pub(crate) fn told(diagnosis: &Diagnosis) -> String {
    let next = match diagnosis.next {
        Next::NextConnection => "connection",
        Next::NextTarget => "target",
        Next::Stop => "stop",
    };
    let failure = match &diagnosis.outcome {
        Outcome::Failure(failure) => failure,
        Outcome::Neutral(Neutral::InvalidRequest) => return format!("invalid, {next}"),
        Outcome::Neutral(neutral) => return format!("{neutral:?}, {next}"),
        Outcome::Success(_) => return "success".to_owned(),
    };
    let mut words = vec![failure.reason.kind().to_owned()];
    if failure.permanence != Permanence::Temporary {
        words.push(format!("{:?}", failure.permanence));
    }
    match failure.cooldown {
        Cooldown::Ladder => {}
        Cooldown::From(base) => words.push(format!("from {}s", base.as_millis() / 1_000)),
        Cooldown::Fixed(length) => words.push(format!("for {}s", length.as_millis() / 1_000)),
    }
    match failure.breaker {
        BreakerCharge::None => {}
        BreakerCharge::Counts => words.push("counts".to_owned()),
        BreakerCharge::Network => words.push("network".to_owned()),
    }
    if failure.scope != Scope::Usual {
        words.push(format!("{:?}", failure.scope));
    }
    words.push(next.to_owned());
    words.join(", ")
}

pub(crate) fn check(rows: &[(Case<'_>, &str)]) {
    for (case, verdict) in rows {
        assert_eq!(case.verdict(), *verdict, "{} {} {:?} {:?}", case.provider, case.status, case.message, case.body);
        let upper = case.message.to_uppercase();
        assert_eq!(Case { message: &upper, ..*case }.verdict(), *verdict, "upper case of {:?}", case.message); // EC-26
    }
}
