//! What routing would do, many times over or in the past (gateway specification, 6.1). Nothing is sent and nothing changes;
//! equal seed, equal answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use specta::Type;
use utoipa::ToSchema;

use super::words_of_domain::Strategy;
use super::{ComboStepInput, Instant};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(tag = "mode", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum RoutingSimulation {
    /// Whom a name would choose first, on a copy of the present state.
    Selections {
        /// A model as an agent would name it.
        model: String,
        /// 1..=10000.
        runs: u32,
        /// Drawn when absent.
        #[serde(default)]
        #[specta(optional)]
        seed: Option<u32>,
    },
    /// Recorded requests again, as they were set up and as changed.
    Replay {
        /// How far back: 1..=168.
        hours: u32,
        /// Only the requests of this combo, by id or name; all that were routed when absent.
        #[serde(default)]
        #[specta(optional)]
        combo: Option<String>,
        /// Drawn when absent.
        #[serde(default)]
        #[specta(optional)]
        seed: Option<u32>,
        #[serde(default)]
        change: RoutingChange,
    },
}

/// What is different in the second run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoutingChange {
    /// Part of the trees of `/api/resilience` and `/api/settings`.
    #[specta(optional)]
    pub settings: Option<BTreeMap<String, Value>>,
    /// The replayed combo, with other members; only where `combo` names it.
    #[specta(optional)]
    pub combo: Option<ComboAlteration>,
}

/// See [`ComboAlterationFields`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(transparent)]
#[schema(value_type = ComboAlterationFields)]
pub struct ComboAlteration(#[specta(type = ComboAlterationFields)] pub Map<String, Value>);

/// The members of a [`ComboAlteration`], as in a change of a combo.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct ComboAlterationFields {
    #[specta(optional)]
    pub strategy: Option<Strategy>,
    /// Merged with the combo's own.
    #[specta(optional)]
    pub config: Option<BTreeMap<String, Value>>,
    /// Replace the combo's own.
    #[specta(optional)]
    pub models: Option<Vec<ComboStepInput>>,
}

/// The answer to the mode that was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(untagged)]
pub enum RoutingSimulated {
    Selections(SelectionsMade),
    Replay(Replayed),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct SelectionsMade {
    pub runs: u32,
    pub seed: u32,
    /// The most often chosen first.
    pub histogram: Vec<SelectedTarget>,
    /// Runs in which there was nobody to choose.
    pub exhausted: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelectedTarget {
    pub execution_key: String,
    pub provider: String,
    pub model: String,
    /// The account that would be asked.
    pub connection_id: Option<String>,
    /// How often it was the first choice.
    pub first: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct Replayed {
    pub seed: u32,
    /// Where the replay begins: later than asked for when there were more requests than a replay takes, 20 000.
    pub since: Instant,
    pub until: Instant,
    pub requests: u32,
    /// As it is set up.
    pub before: ReplayFigures,
    /// With the change.
    pub after: ReplayFigures,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayFigures {
    /// Requests that nobody answered.
    pub failures_seen_by_client: u32,
    /// How often a request waited for a cooldown or a place.
    pub waits: u32,
    /// All waits together.
    #[specta(type = u32)]
    pub wait_ms: u64,
    /// Upstream calls.
    pub dispatches: u32,
    /// Calls to another account or model than the one before, within one request.
    pub switches: u32,
    /// US dollars, of the answers whose price is known.
    pub cost: f64,
}
