//! "Test connection".

use domain::{Clock, Dialect, Millis, ProviderClass};

use super::answer::Family;
use super::exchange::{self, ModelList, Session};
use super::{ListedModel, ProbeCode, ProbeError, ProbeReport, verdict};
use crate::target::Target;
use crate::transport::Transport;

/// Sent where no model is known: what the server says about it tells path, dialect and key apart.
const UNKNOWN_MODEL: &str = "omniroute-connection-test";

/// What the short generation is for, which decides what in its answer counts.
enum Aim {
    /// A person named this model: everything counts.
    Model(String),
    /// Any model will do to show whether the key and the dialect are right.
    Credential(String),
    /// No model is known.
    Path,
}

/// What was learned on the way.
#[derive(Default)]
struct Learned {
    models: Option<usize>,
    generated: Option<String>,
}

/// Tests a connection; with `model`, that this model answers. Never takes longer than `timeout`.
pub async fn probe(
    transport: &dyn Transport,
    target: &Target,
    model: Option<&str>,
    clock: &dyn Clock,
    timeout: Millis,
) -> ProbeReport {
    tested(Session::new(transport, target), target, model, clock, timeout).await
}

/// The same with words of a person's own.
pub async fn probe_saying(
    transport: &dyn Transport,
    target: &Target,
    model: &str,
    prompt: &str,
    clock: &dyn Clock,
    timeout: Millis,
) -> ProbeReport {
    tested(Session::new(transport, target).saying(prompt), target, Some(model), clock, timeout).await
}

async fn tested(
    mut session: Session<'_>,
    target: &Target,
    model: Option<&str>,
    clock: &dyn Clock,
    timeout: Millis,
) -> ProbeReport {
    let started = clock.now();
    let mut learned = Learned::default();
    let outcome = exchange::within(clock, timeout, run(&mut session, target, model, &mut learned)).await;
    let error = match outcome {
        Some(outcome) => outcome.err(),
        None => Some(verdict::late(target, timeout)),
    };
    ProbeReport {
        ok: error.is_none(),
        status: error.as_ref().map_or(session.last_status, |error| error.status),
        latency: clock.now().since(started),
        model: learned.generated,
        models: learned.models,
        error,
    }
}

async fn run(
    session: &mut Session<'_>,
    target: &Target,
    model: Option<&str>,
    learned: &mut Learned,
) -> Result<(), ProbeError> {
    let (aim, list_family) = match session.list().await? {
        ModelList::Listed { models, family } => {
            learned.models = Some(models.len());
            let Some(aim) = aim_after_list(session, target, model, &models, family).await? else { return Ok(()) };
            (aim, family)
        }
        ModelList::Missing(_) => (aim_without_list(target, model), None),
    };
    let (asked, chosen) = match &aim {
        Aim::Model(model) | Aim::Credential(model) => (model.as_str(), true),
        Aim::Path => (UNKNOWN_MODEL, false),
    };
    let dialect = dialect_of(target, asked);
    let answer = session.generate(dialect, asked).await?;
    match (verdict::of_generation(target, dialect, asked, &answer, list_family), &aim) {
        (None, _) => {
            learned.generated = chosen.then(|| asked.to_owned());
            Ok(())
        }
        (Some(error), Aim::Credential(_)) if is_about_one_model(error.code) => Ok(()),
        (Some(error), Aim::Path) if is_about_one_model(error.code) => Err(verdict::model_needed(target, &answer)),
        (Some(error), Aim::Model(_) | Aim::Credential(_) | Aim::Path) => Err(error),
    }
}

/// What is still open once the list is there; `None` when nothing is.
async fn aim_after_list(
    session: &mut Session<'_>,
    target: &Target,
    model: Option<&str>,
    models: &[ListedModel],
    family: Option<Family>,
) -> Result<Option<Aim>, ProbeError> {
    if let Some(model) = model {
        return Ok(Some(Aim::Model(model.to_owned())));
    }
    let Some(first) = models.first() else { return Err(verdict::empty_list(target)) };
    let own_form = family.is_none_or(|family| family == Family::of(target.provider.primary_dialect()));
    let keyed = target.credential.is_some() && target.provider.class != ProviderClass::Local;
    if own_form && !(keyed && session.list_is_public().await) {
        return Ok(None);
    }
    let known = target.provider.models.iter().find(|known| models.iter().any(|listed| listed.id == known.id));
    Ok(Some(Aim::Credential(known.map_or_else(|| first.id.clone(), |known| known.id.clone()))))
}

fn aim_without_list(target: &Target, model: Option<&str>) -> Aim {
    match (model, target.provider.models.first()) {
        (Some(model), _) => Aim::Model(model.to_owned()),
        (None, Some(known)) => Aim::Credential(known.id.clone()),
        (None, None) => Aim::Path,
    }
}

/// Some models are reached in another dialect than their provider's first.
fn dialect_of(target: &Target, model: &str) -> Dialect {
    target.provider.model(model).and_then(|known| known.dialect).unwrap_or_else(|| target.provider.primary_dialect())
}

/// Faults that say the key was accepted, and only this model or this request was not.
fn is_about_one_model(code: ProbeCode) -> bool {
    matches!(code, ProbeCode::ModelNotFound | ProbeCode::InvalidRequest)
}
