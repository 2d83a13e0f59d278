//! What the event stream says (gateway specification, 6.1, `GET /api/events`).

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::Instant;

/// A group of things that can change together. Reads provide topics, changes invalidate them.
///
/// The gateway's own list derives neither bindings nor schemas, so it is mirrored here; the conversion below fails to
/// compile when a word is added there only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Topic {
    Connections,
    Cooldowns,
    Breakers,
    Lockouts,
    Settings,
    Requests,
    Usage,
    Quota,
    Combos,
    Keys,
    Sessions,
}

/// Something changed: whoever shows one of the topics reads again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct Changed {
    pub topics: Vec<Topic>,
    pub at: Instant,
}

/// High-rate figures, sent only while someone looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Live {
    pub in_flight: u32,
    pub queued: u32,
    #[specta(type = u32)]
    pub tokens_per_second: f64,
    pub requests_per_minute: u32,
    /// Requests on their way, the oldest first; at most fifty.
    pub underway: Vec<UnderwayRequest>,
}

/// A request on its way: what it does, or what it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnderwayRequest {
    pub id: String,
    /// When it arrived.
    pub timestamp: Instant,
    pub requested_model: String,
    pub agent: Option<String>,
    pub key_name: Option<String>,
    pub combo_name: Option<String>,
    /// Who is asked or waited for.
    pub provider: Option<String>,
    pub model: Option<String>,
    pub connection_id: Option<String>,
    pub connection_name: Option<String>,
    /// Attempts begun so far.
    pub attempts: u32,
    pub stage: UnderwayStage,
    /// Since when it is at this stage.
    pub since: Instant,
    /// `waits_for_rest`: when the first comes back.
    pub until: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnderwayStage {
    /// Nobody is asked yet, or the next one is chosen.
    Choosing,
    /// Its account has no free place.
    WaitsForPlace,
    /// Everyone rests.
    WaitsForRest,
    /// It is with the provider, which has not answered.
    Asking,
    /// The answer arrives.
    Answering,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct EventsQuery {
    /// Topics separated by commas, and `live`; every topic without `live` when absent.
    #[specta(optional)]
    pub topics: Option<String>,
}

impl From<gateway::Topic> for Topic {
    fn from(topic: gateway::Topic) -> Self {
        match topic {
            gateway::Topic::Connections => Topic::Connections,
            gateway::Topic::Cooldowns => Topic::Cooldowns,
            gateway::Topic::Breakers => Topic::Breakers,
            gateway::Topic::Lockouts => Topic::Lockouts,
            gateway::Topic::Settings => Topic::Settings,
            gateway::Topic::Requests => Topic::Requests,
            gateway::Topic::Usage => Topic::Usage,
            gateway::Topic::Quota => Topic::Quota,
            gateway::Topic::Combos => Topic::Combos,
            gateway::Topic::Keys => Topic::Keys,
            gateway::Topic::Sessions => Topic::Sessions,
        }
    }
}

impl From<gateway::Live> for Live {
    fn from(live: gateway::Live) -> Self {
        Live {
            in_flight: live.in_flight,
            queued: live.queued,
            tokens_per_second: live.tokens_per_second,
            requests_per_minute: live.requests_per_minute,
            underway: live.underway.into_iter().map(UnderwayRequest::from).collect(),
        }
    }
}

impl From<gateway::Underway> for UnderwayRequest {
    fn from(row: gateway::Underway) -> Self {
        let (stage, until) = match row.stage {
            gateway::Stage::Choosing => (UnderwayStage::Choosing, None),
            gateway::Stage::WaitsForPlace => (UnderwayStage::WaitsForPlace, None),
            gateway::Stage::WaitsForRest(until) => (UnderwayStage::WaitsForRest, Some(until.into())),
            gateway::Stage::Asking => (UnderwayStage::Asking, None),
            gateway::Stage::Answering => (UnderwayStage::Answering, None),
        };
        UnderwayRequest {
            id: row.id.to_string(),
            timestamp: row.arrived.into(),
            requested_model: row.requested_model,
            agent: row.agent,
            key_name: row.key_name,
            combo_name: row.combo_name,
            provider: row.provider.map(|id| id.to_string()),
            model: row.model,
            connection_id: row.connection.map(|id| id.to_string()),
            connection_name: row.connection_name,
            attempts: row.attempts,
            stage,
            since: row.since.into(),
            until,
        }
    }
}
