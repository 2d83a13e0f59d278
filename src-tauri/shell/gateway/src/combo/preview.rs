//! What a combo would do with a request that nobody sent: who would be asked in which order, who not and why, and by which
//! figures. Nobody's turn is taken.

use std::sync::Arc;

use domain::client_key::ClientKey;
use domain::{Exclusion, Operation};
use resilience::Caller;
use routing::combo::{Combo, Expansion, Strategy, expand};
use routing::exhaustion::combo::{self as exhaustion, Terminal};
use routing::explanation::Explanation as Figures;
use routing::plan::{Attempt, LeftOut, Placed, Refusal};
use routing::{Journey, Plan, Target, View, explanation};

use super::answer::used_up;
use super::book::{GatewayBook, of_combo};
use super::{Asked, expanded, is_out_of_reach};
use crate::accounts::{Foresight, Turn};
use crate::address_book::Entry;
use crate::explain::{Answer, Explanation, Question, Route, RouteKind, TargetOutlook};
use crate::gateway::Gateway;
use crate::key_spending;
use crate::plan::{Asker, steps_of};

/// A target of a combo, and the account that would be asked first if nobody were spared.
#[derive(Clone, Debug)]
pub struct ComboTarget {
    pub target: Target,
    /// None, no account of the provider may serve it.
    pub entry: Option<Arc<Entry>>,
}

impl Gateway {
    /// The plan of a combo as it is written here, whether or not it is stored so.
    pub fn explain_combo(&self, combo: Combo, key: Option<&ClientKey>, question: &Question) -> Explanation {
        let name = combo.name.clone();
        let asked = Asked::of_draft(self, combo);
        let route = Route { kind: RouteKind::Combo, rule: 1, name, strategy: asked.combo.strategy.as_str() };
        explain(self, &asked, route, key, question)
    }

    /// Everything a combo comes to, each once, in the order of its steps.
    pub fn combo_targets(&self, combo: &Arc<Combo>) -> Vec<ComboTarget> {
        let asked = Asked::new(self, Arc::clone(combo));
        let asker = Asker::anybody(Operation::ChatCompletions, None, Caller::Test);
        let book = GatewayBook::of(self, asker);
        let mut targets = Vec::new();
        let anybody = routing::combo::Asker::default();
        leaves(expand(&asked.combo, &asked.config, &anybody, &book), &mut targets);
        let connections = self.connections();
        let with_account = |target: Target| {
            let entry = connections
                .of_target(&target)
                .max_by_key(|entry| (entry.connection.is_active, std::cmp::Reverse(entry.connection.priority)));
            let entry = entry.cloned();
            ComboTarget { target, entry }
        };
        targets.into_iter().map(with_account).collect()
    }
}

/// The targets of an expansion, those of combos inside in the place of their combo.
fn leaves(expansion: Expansion, targets: &mut Vec<Target>) {
    let Expansion { targets: own, mut nested, .. } = expansion;
    for target in own {
        match nested.remove(&target.execution_key) {
            Some(inner) => leaves(inner.expansion, targets),
            None => targets.push(target),
        }
    }
}

/// Who asks: a key, or nobody in particular; in a session of its own or without one.
pub(super) fn asker<'a>(asked: &Asked, key: Option<&'a ClientKey>, question: &'a Question) -> Asker<'a> {
    let anybody = Asker::anybody(Operation::ChatCompletions, key, Caller::Combo);
    let turn = Turn::Nobody(question.session.as_deref());
    of_combo(Asker { tools: question.tools, turn, ..anybody }, asked.combo.strategy)
}

pub(crate) fn explain(
    gateway: &Gateway,
    asked: &Asked,
    route: Route,
    key: Option<&ClientKey>,
    question: &Question,
) -> Explanation {
    let book = GatewayBook::of(gateway, asker(asked, key, question));
    let expansion = expanded(asked, &routing::combo::Asker { key, requested: &route.name }, &book);
    let (pool_size, skipped) = (expansion.targets.len(), expansion.skipped.clone());
    let barred = key.is_some_and(|key| is_out_of_reach(key, asked, &expansion));
    let facts = question.facts();
    let view = View { now: gateway.now(), combo: &asked.combo.name, config: &asked.config, request: &facts };
    let (planned, memory, foresight) = gateway.routing().preview(&asked.route(), expansion, &view);
    let look =
        Look { gateway, strategy: asked.combo.strategy, asker: asker(asked, key, question), question, foresight };
    let (targets, answer) = match planned {
        Ok(plan) => {
            let route = asked.route();
            let taste = match route {
                routing::Route::Combo { taste, .. } => taste,
                routing::Route::Direct => None,
            };
            let figures = explanation::explain(asked.combo.strategy, plan.pool(), &view, &memory, taste);
            let mut targets = Vec::new();
            look.planned(&plan, asked.combo.strategy, &figures, None, &mut targets);
            let left_out: Vec<(&Target, &LeftOut)> = plan.left_out().collect();
            targets.extend(left_out.iter().map(|(target, why)| look.left_out(target, why)));
            let answer = plan.is_empty().then(|| nobody(asked, pool_size, &left_out, gateway));
            (targets, answer)
        }
        Err(refusal) => {
            let targets = refusal.pool.left_out().map(|(target, why)| look.left_out(target, why)).collect();
            (targets, Some(refused(asked, pool_size, &refusal, gateway)))
        }
    };
    let answer = if barred { Some(Answer::FORBIDDEN) } else { answer };
    Explanation { route, targets, skipped, answer }
}

fn nobody(asked: &Asked, pool_size: usize, left_out: &[(&Target, &LeftOut)], gateway: &Gateway) -> Answer {
    if let Some(until) = used_up(left_out) {
        let now = gateway.now();
        return Answer::of(&key_spending::of_targets(&asked.combo.name, until, now));
    }
    let journey = Journey::default();
    let answer = exhaustion::answer(&terminal(asked, pool_size, left_out, &journey, gateway)).answer;
    Answer { status: answer.status, code: answer.code, retry_after: answer.retry_after }
}

fn refused(asked: &Asked, pool_size: usize, refusal: &Refusal, gateway: &Gateway) -> Answer {
    let journey = Journey::default();
    let left_out: Vec<_> = refusal.pool.left_out().collect();
    let terminal = terminal(asked, pool_size, &left_out, &journey, gateway);
    let answer = exhaustion::refused(&refusal.cause, &terminal).answer;
    Answer { status: answer.status, code: answer.code, retry_after: answer.retry_after }
}

fn terminal<'t>(
    asked: &Asked,
    pool_size: usize,
    left_out: &'t [(&'t Target, &'t LeftOut)],
    journey: &'t Journey,
    gateway: &Gateway,
) -> Terminal<'t> {
    let strategy = asked.combo.strategy;
    let protected_as_502 = gateway.settings().routing.protected_priority_infra_502;
    Terminal {
        strategy,
        pool_size,
        left_out,
        journey,
        stop: None,
        timed_out: false,
        back_at: None,
        protected_as_502,
        now: gateway.now(),
    }
}

/// Looks at the accounts of targets.
struct Look<'l> {
    gateway: &'l Gateway,
    strategy: Strategy,
    asker: Asker<'l>,
    question: &'l Question,
    foresight: Foresight,
}

impl Look<'_> {
    /// The targets of a plan in the order they would be asked; those of a combo inside stand in its place and share its
    /// figures.
    fn planned(
        &self,
        plan: &Plan,
        strategy: Strategy,
        figures: &[Figures],
        of: Option<(&Figures, Placed)>,
        into: &mut Vec<TargetOutlook>,
    ) {
        let pool = plan.pool();
        for Attempt { target: index, placed } in plan.sequence() {
            let own = figures.get(index).map(|figures| (figures, placed));
            let shown = of.or(own);
            match pool.nested.get(&index) {
                Some(inner) => self.planned(&inner.plan, inner.strategy, &[], shown, into),
                None => {
                    let turn = Turn::Foretold(self.question.session.as_deref(), &self.foresight);
                    let asker = of_combo(Asker { turn, ..self.asker }, strategy);
                    into.push(self.target(&pool.targets[index], &asker, shown, None));
                }
            }
        }
    }

    fn left_out(&self, target: &Target, why: &LeftOut) -> TargetOutlook {
        self.target(target, &of_combo(self.asker, self.strategy), None, Some(why.exclusion()))
    }

    fn target(
        &self,
        target: &Target,
        asker: &Asker<'_>,
        figures: Option<(&Figures, Placed)>,
        exclusion: Option<Exclusion>,
    ) -> TargetOutlook {
        let (steps, exclusions) = steps_of(self.gateway, asker, target);
        TargetOutlook {
            execution_key: target.execution_key.clone(),
            provider: target.provider.clone(),
            model: target.model.clone(),
            connection: target.connection.clone(),
            placed: figures.map(|(_, placed)| placed),
            exclusion,
            accounts: self.gateway.outlooks(&target.provider, &steps, &exclusions),
            figures: figures.map(|(figures, _)| figures.clone()).unwrap_or_default(),
        }
    }
}
