//! What routing would do: many choices on a copy of the present state, or the recorded past once more under other settings.
//! Nothing is sent, and nothing changes.
//!
//! A replay is the core itself: the Engine, the plan and the decision table of the running gateway, driven over virtual time
//! by recorded arrivals ([`story`]) and by what upstreams did at that time ([`outcomes`]). Only what the gateway's shell does
//! around them is written anew here, without sockets: [`ground`] and [`book`] look things up, [`world`] keeps the calendar,
//! [`walk`] takes one request from target to target. Both runs of a replay see the same arrivals, and the same answer to the
//! same question, so what differs between them is the change. `docs/simulate.md` says what is assumed.

mod accounts;
mod book;
mod chance;
mod ground;
mod outcomes;
mod story;
mod traveller;
mod walk;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Millis;
use routing::combo::Combo;
use serde_json::{Map, Value, json};

use crate::view::{
    ComboAlteration, Instant, ReplayFigures, Replayed, RoutingChange, RoutingSimulated, RoutingSimulation,
    SelectedTarget, SelectionsMade,
};
use crate::{Control, ControlError, check, combos, explain, requests, resilience};

use ground::Ground;
use outcomes::Outcomes;
use world::World;

/// Choices of one simulation at most.
const MOST_RUNS: u32 = 10_000;
/// How far a replay goes back at most, in hours.
const MOST_HOURS: u32 = 168;
/// Requests of one replay at most, the newest.
const MOST_REQUESTS: usize = 20_000;

/// Choices on a copy of the state, or recorded requests under other settings. Equal seed, equal answer.
pub async fn routing_simulate(control: &Control, wanted: RoutingSimulation) -> Result<RoutingSimulated, ControlError> {
    match wanted {
        RoutingSimulation::Selections { model, runs, seed } => {
            selections(control, &model, runs, drawn(seed)?).await.map(RoutingSimulated::Selections)
        }
        RoutingSimulation::Replay { hours, combo, seed, change } => {
            let seed = drawn(seed)?;
            replay(control, hours, combo.as_deref(), seed, change).await.map(RoutingSimulated::Replay)
        }
    }
}

fn drawn(seed: Option<u32>) -> Result<u32, ControlError> {
    match seed {
        Some(seed) => Ok(seed),
        None => getrandom::u32().map_err(|error| ControlError::internal(&error)),
    }
}

async fn selections(control: &Control, model: &str, runs: u32, seed: u32) -> Result<SelectionsMade, ControlError> {
    let name = check::text("model", model)?;
    let runs = check::within("runs", runs, 1, MOST_RUNS)?;
    let choose = {
        let (gateway, name) = (control.gateway().clone(), name.clone());
        move || gateway.selections(&name, runs, u64::from(seed))
    };
    let made = aside(control, choose).await?.map_err(|missing| explain::not_found(&name, &missing.near))?;
    let selected = |bar: gateway::Selected| SelectedTarget {
        execution_key: bar.execution_key,
        provider: bar.provider.to_string(),
        model: bar.model,
        connection_id: bar.connection.map(|id| id.to_string()),
        first: bar.first,
    };
    let histogram = made.histogram.into_iter().map(selected).collect();
    Ok(SelectionsMade { runs, seed, histogram, exhausted: made.exhausted })
}

async fn replay(
    control: &Control,
    hours: u32,
    named: Option<&str>,
    seed: u32,
    change: RoutingChange,
) -> Result<Replayed, ControlError> {
    let hours = check::within("hours", hours, 1, MOST_HOURS)?;
    let combo = named.map(|named| find(control, named)).transpose()?;
    let before = Ground::of(control);
    let after = changed(control, &before, combo.as_deref(), change)?;
    let until = control.now();
    let wanted = store::RequestFilter {
        since: Some(until - Millis::hours(u64::from(hours))),
        until: Some(until),
        combo: combo.as_ref().map(|combo| combo.name.clone()),
        ..Default::default()
    };
    let records = requests::newest(control, &wanted, MOST_REQUESTS).await?;
    let was_cut = records.len() == MOST_REQUESTS;
    let oldest = records.last().map(|record| record.at).filter(|_| was_cut);
    let keys = control.keys();
    let only = combo.map(|combo| combo.id.clone());
    let work = move || {
        let outcomes = Outcomes::of(&records);
        let mut stories = story::stories(&records, &keys);
        stories.retain(|story| before.way(story, only.as_deref()).is_some());
        let run = |ground: &Ground| World::new(ground, &outcomes, &stories, only.as_deref(), u64::from(seed)).run();
        (stories.len(), run(&before), run(&after))
    };
    let (count, before, after) = aside(control, work).await?;
    Ok(Replayed {
        seed,
        since: Instant::from(oldest.unwrap_or(until - Millis::hours(u64::from(hours)))),
        until: Instant::from(until),
        requests: u32::try_from(count).unwrap_or(u32::MAX),
        before,
        after,
    })
}

/// Works on a thread of its own; the threads that serve requests go on serving.
async fn aside<T: Send + 'static>(
    control: &Control,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ControlError> {
    let alone = control.one_simulation().await;
    let work = move || {
        let _alone = alone;
        work()
    };
    control.tracker().spawn_blocking(work).await.map_err(|error| ControlError::internal(&error))
}

fn find(control: &Control, named: &str) -> Result<Arc<Combo>, ControlError> {
    let combos = control.combos();
    let found = combos.get(named).or_else(|| combos.named(named)).cloned();
    found.ok_or_else(|| ControlError::invalid("combo", format!("there is no combo with the id or name {named}")))
}

/// The ground with everything that is to be different, checked like the changes it stands for.
fn changed(
    control: &Control,
    before: &Ground,
    combo: Option<&Combo>,
    change: RoutingChange,
) -> Result<Ground, ControlError> {
    let mut after = before.clone();
    if let Some(patch) = change.settings {
        let settings = settings_with(control, patch).map_err(|error| error.within("change.settings"))?;
        after.set_settings(settings);
    }
    match (change.combo, combo) {
        (Some(ComboAlteration(members)), Some(combo)) => {
            let altered = combos::altered(control, combo, members).map_err(|error| error.within("change.combo"))?;
            after.set_combo(altered);
        }
        (Some(_), None) => {
            let message = "name the combo that is replayed, too: {\"combo\": \"…\", \"change\": {\"combo\": {…}}}";
            return Err(ControlError::invalid("combo", message));
        }
        (None, _) => {}
    }
    Ok(after)
}

/// The settings in force with a patch laid over them, whose members are those of the one tree or of the other.
fn settings_with(control: &Control, patch: BTreeMap<String, Value>) -> Result<settings::Settings, ControlError> {
    let own = control.with_layered(settings::Layered::tree);
    let (general, resilience): (BTreeMap<_, _>, BTreeMap<_, _>) =
        patch.into_iter().partition(|(name, _)| own.get(name).is_some());
    let mut tree: Map<String, Value> = general.into_iter().collect();
    let sections = resilience::translate(resilience)?;
    if !sections.is_empty() {
        let mut whole = Map::new();
        resilience::merge(&mut whole, tree);
        resilience::merge(&mut whole, Map::from_iter([(resilience::SECTION.to_owned(), json!(sections))]));
        tree = whole;
    }
    control.with_layered(|layered| {
        let mut layered = layered.clone();
        match layered.patch(&Value::Object(tree)) {
            Ok(_) => Ok(layered.effective().clone()),
            Err(wrong) => Err(resilience::shorten(gateway::Error::Settings(wrong).into())),
        }
    })
}

/// Counts of one run.
type Figures = ReplayFigures;
