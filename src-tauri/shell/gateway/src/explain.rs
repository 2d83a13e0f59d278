//! Where a request for a model would go now: the plan of a request that nobody sent.
//!
//! It asks the very functions that plan real requests and that answer those nobody serves, so what is shown is what would
//! happen. Nothing is admitted and nothing changes.

use std::sync::Arc;

use catalog::Provider;
use domain::client_key::ClientKey;
use domain::request_log::ExclusionRecord;
use domain::wire::{code, reason};
use domain::{ConnectionId, Dialect, Exclusion, Mechanism, Millis, Operation, ProviderId};
use resilience::Caller;
use routing::combo::Skipped;
use routing::explanation::Explanation as Figures;
use routing::plan::Placed;
use routing::resolve::NotFound;
use routing::view::{Needs, RequestFacts};
use routing::{Journey, Resolution, Resolved};

use crate::accounts::Turn;
use crate::combo::{Asked, explain_combo};
use crate::error::GatewayError;
use crate::gateway::Gateway;
use crate::plan::{self, Asker, Step};
use crate::quota_pools;
use crate::session_name;

/// Strategy of a name that stands for one model.
const SINGLE: &str = "single";

/// What a name means and whom it could reach.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub route: Route,
    /// Those that would be asked in their order, then those left out.
    pub targets: Vec<TargetOutlook>,
    /// Steps of a combo that lead nowhere now.
    pub skipped: Vec<Skipped>,
    /// What an agent would be told at last; nothing when somebody would be tried.
    pub answer: Option<Answer>,
}

/// What the name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub kind: RouteKind,
    /// 1..=9 (gateway specification, 1.4).
    pub rule: u8,
    /// As it was asked for.
    pub name: String,
    pub strategy: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteKind {
    Direct,
    Combo,
    Auto,
    /// A model of a quota pool.
    QuotaShare,
}

/// The answer to a request that nobody can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub code: &'static str,
    pub retry_after: Option<Millis>,
}

impl Answer {
    /// The key may not use what was asked for.
    pub(crate) const FORBIDDEN: Answer = Answer { status: 403, code: code::PERMISSION_DENIED, retry_after: None };

    pub(crate) fn of(error: &GatewayError) -> Answer {
        Answer { status: error.status.as_u16(), code: error.code, retry_after: error.retry_after }
    }
}

impl Explanation {
    /// Nobody would be asked, whoever is available.
    fn bar(&mut self, why: &Exclusion, answer: Answer) {
        for target in &mut self.targets {
            target.exclusion = Some(why.clone());
        }
        self.answer = Some(answer);
    }
}

/// A model at a provider, and whether it would be asked.
#[derive(Clone, Debug)]
pub struct TargetOutlook {
    pub execution_key: String,
    pub provider: ProviderId,
    pub model: String,
    /// Where the target is of one account.
    pub connection: Option<ConnectionId>,
    /// What put it where it stands; none, it would not be asked, or stands there by itself.
    pub placed: Option<Placed>,
    /// Why it would not be asked.
    pub exclusion: Option<Exclusion>,
    /// The accounts that it may use, in the order of routing.
    pub accounts: Vec<Outlook>,
    /// What its strategy compares.
    pub figures: Figures,
}

/// One account and whether it would be tried.
#[derive(Clone, Debug)]
pub struct Outlook {
    pub connection: ConnectionId,
    /// What its owner calls it.
    pub name: String,
    /// Why it would not.
    pub exclusion: Option<Exclusion>,
}

/// What is asked, as far as routing looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The session, as its client names it.
    pub session: Option<String>,
    /// Tools that the request brings.
    pub tools: u32,
    pub vision: bool,
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the longest answer that is wanted.
    pub output: Option<u64>,
}

impl Question {
    /// What combos weigh of it. The session also stands for the beginning of the prompt.
    pub(crate) fn facts(&self) -> RequestFacts {
        let needs = Needs {
            tools: self.tools > 0,
            vision: self.vision,
            input: self.input,
            output: self.output,
            ..Needs::default()
        };
        RequestFacts {
            cache_key: self.session.clone(),
            session: self.session.as_deref().map(session_name::hashed_for_combos),
            needs,
            estimated_tokens: self.input.saturating_add(self.output.unwrap_or(0)),
            tool_count: self.tools,
            ..RequestFacts::default()
        }
    }
}

/// What a name leads to.
pub(crate) enum Destination {
    Direct(Resolved),
    Combo { asked: Asked, rule: u8 },
}

impl Gateway {
    /// Plans a request for `model` as if an agent asked in a dialect that the provider speaks, with this key or without
    /// restrictions. Whether the key itself is still accepted is not looked at.
    pub fn explain(&self, model: &str, key: Option<&ClientKey>, question: &Question) -> Result<Explanation, NotFound> {
        let mut explanation = match self.destination(model)? {
            Destination::Direct(resolved) => self.explain_direct(model, &resolved, key, question)?,
            Destination::Combo { asked, rule } => {
                let kind = match asked.pool() {
                    Some(_) => RouteKind::QuotaShare,
                    None if asked.is_auto() => RouteKind::Auto,
                    None => RouteKind::Combo,
                };
                let strategy = asked.combo.strategy.as_str();
                let route = Route { kind, rule, name: model.to_owned(), strategy };
                let mut explanation = explain_combo(self, &asked, route, key, question);
                // Whoever has used up a share is refused before anybody is asked.
                let refused = asked.pool().and_then(|pool| quota_pools::admit(self, pool, key).err());
                if let Some(refused) = refused {
                    explanation.answer = Some(Answer::of(&refused));
                }
                if key.is_some_and(|key| !asked.is_open_to(key)) {
                    explanation.bar(&not_for_this_key(), Answer::FORBIDDEN);
                }
                explanation
            }
        };
        if let Some(error) = key.and_then(|key| self.spending().check(key).err()) {
            let until = error.retry_after.map(|wait| self.now() + wait);
            let spent = Exclusion { until, ..Exclusion::lasting(Mechanism::KeyLimit, reason::TOKEN_LIMIT) };
            explanation.bar(&spent, Answer::of(&error));
        }
        Ok(explanation)
    }

    pub(crate) fn destination(&self, model: &str) -> Result<Destination, NotFound> {
        let unknown = || NotFound { near: Vec::new() };
        let combos = self.combos();
        Ok(match routing::resolve_name(model, combos.names(), &self.names())? {
            Resolution::Direct(resolved) => Destination::Direct(resolved),
            Resolution::Combo { id, rule, .. } => {
                let combo = combos.get(&id).ok_or_else(unknown)?;
                Destination::Combo { asked: Asked::new(self, Arc::clone(combo)), rule }
            }
            Resolution::Auto { name, rule, .. } => {
                Destination::Combo { asked: Asked::of_auto(self, &name).ok_or_else(unknown)?, rule }
            }
            Resolution::QuotaShare { model, rule, .. } => {
                let near = || NotFound { near: self.near_pools(&model) };
                Destination::Combo { asked: Asked::of_pool(self, &model).ok_or_else(near)?, rule }
            }
        })
    }

    fn explain_direct(
        &self,
        model: &str,
        resolved: &Resolved,
        key: Option<&ClientKey>,
        question: &Question,
    ) -> Result<Explanation, NotFound> {
        let catalog = self.catalog();
        let Some(provider) = catalog.get(&resolved.provider) else { return Err(NotFound { near: Vec::new() }) };
        let anybody = Asker::anybody(usual_operation(provider, &resolved.model), key, Caller::Direct);
        let asker = Asker { tools: question.tools, turn: Turn::Nobody(question.session.as_deref()), ..anybody };
        let (mut steps, mut exclusions) = plan::rank(self, &asker, resolved, provider);
        if is_barred(key, model, resolved) {
            exclusions.extend(steps.drain(..).map(left_out));
            exclusions.iter_mut().for_each(|record| record.exclusion = not_for_this_key());
        }
        let accounts = self.outlooks(&resolved.provider, &steps, &exclusions);
        let exclusion = match steps.is_empty() {
            true => spokesman(&accounts).and_then(|outlook| outlook.exclusion.clone()),
            false => None,
        };
        let answer = steps.is_empty().then(|| {
            let mut journey = Journey::default();
            journey.exclusions.extend(exclusions);
            let answer = routing::exhaustion::answer(&journey, None, self.now());
            Answer { status: answer.status, code: answer.code, retry_after: answer.retry_after }
        });
        let target = TargetOutlook {
            execution_key: format!("{}/{}", resolved.provider, resolved.model),
            provider: resolved.provider.clone(),
            model: resolved.model.clone(),
            connection: None,
            placed: None,
            exclusion,
            accounts,
            figures: Figures::default(),
        };
        let (name, rule) = (model.to_owned(), resolved.rule);
        let route = Route { kind: RouteKind::Direct, rule, name, strategy: SINGLE };
        Ok(Explanation { route, targets: vec![target], skipped: Vec::new(), answer })
    }

    /// The accounts that a plain request for one model could go to now, as they would be asked.
    pub(crate) fn would_ask(&self, resolved: &Resolved) -> Vec<Step> {
        let catalog = self.catalog();
        let Some(provider) = catalog.get(&resolved.provider) else { return Vec::new() };
        let asker = Asker::anybody(usual_operation(provider, &resolved.model), None, Caller::Direct);
        plan::rank(self, &asker, resolved, provider).0
    }

    /// Those that would be tried and those left out in one order again, that of routing. Where another order than that of
    /// priority holds, those left out have no place in it and follow.
    pub(crate) fn outlooks(
        &self,
        provider: &ProviderId,
        steps: &[Step],
        exclusions: &[ExclusionRecord],
    ) -> Vec<Outlook> {
        let available = steps.iter().map(|step| Outlook {
            connection: step.candidate.connection.clone(),
            name: step.entry.connection.name.clone(),
            exclusion: None,
        });
        let excluded = exclusions.iter().filter_map(|record| {
            let connection = record.connection.clone()?;
            let name = record.connection_name.clone().unwrap_or_else(|| connection.to_string());
            Some(Outlook { connection, name, exclusion: Some(record.exclusion.clone()) })
        });
        let mut outlooks: Vec<Outlook> = available.chain(excluded).collect();
        let connections = self.connections();
        let place = |outlook: &Outlook| {
            let place = connections.of_provider(provider).position(|entry| entry.connection.id == outlook.connection);
            place.unwrap_or(usize::MAX)
        };
        if outlooks[..steps.len()].is_sorted_by_key(place) {
            outlooks.sort_by_cached_key(place);
        }
        outlooks
    }

    /// The breaker's numbers that hold for a provider; those of keyed providers for one that the catalogue lost.
    pub fn breaker_numbers(&self, provider: &ProviderId) -> resilience::circuit_breaker::Config {
        let class = self.catalog().get(provider).map_or(domain::ProviderClass::Apikey, |known| known.class);
        self.settings().resilience.breaker(class).clone()
    }
}

/// The account that speaks for all: the first that is available, else the one that is back first, else the first.
pub fn spokesman(outlooks: &[Outlook]) -> Option<&Outlook> {
    let back = |why: &Exclusion| why.until.unwrap_or(domain::Timestamp::MAX);
    outlooks.iter().min_by_key(|outlook| outlook.exclusion.as_ref().map(back))
}

/// Whether the key may not use the model at all, whatever the account.
fn is_barred(key: Option<&ClientKey>, requested: &str, resolved: &Resolved) -> bool {
    let qualified = format!("{}/{}", resolved.provider, resolved.model);
    key.is_some_and(|key| !key.allows_model(&[requested, &qualified]))
}

fn left_out(step: Step) -> ExclusionRecord {
    ExclusionRecord::of(&step.candidate, Some(step.entry.connection.name.clone()), not_for_this_key())
}

fn not_for_this_key() -> Exclusion {
    Exclusion::lasting(Mechanism::KeyAllowList, reason::KEY_ALLOW_LIST)
}

/// What agents usually ask of a model.
fn usual_operation(provider: &Provider, model: &str) -> Operation {
    let only = provider.model(model).and_then(|model| model.dialect);
    match only.or_else(|| provider.dialects.first().copied()).unwrap_or(Dialect::Chat) {
        Dialect::Chat => Operation::ChatCompletions,
        Dialect::Responses => Operation::Responses,
        Dialect::Messages => Operation::Messages,
        Dialect::Gemini => Operation::GenerateContent,
    }
}
