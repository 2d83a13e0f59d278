//! What the event stream says (gateway specification, 6.1, `GET /api/events`).

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::{Instant, RequestExclusion};

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
    /// Requests that wait for an account to come back, who waits longest first; at most a hundred.
    pub waiting: Vec<WaitingRequest>,
}

/// A request that waits for an account to come back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingRequest {
    pub id: String,
    pub requested_model: String,
    pub agent: Option<String>,
    pub since: Instant,
    pub until: Instant,
    /// Whatever is back first.
    pub waits_for: Option<RequestExclusion>,
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
            waiting: live.waiting.into_iter().map(WaitingRequest::from).collect(),
        }
    }
}

impl From<gateway::WaitingRequest> for WaitingRequest {
    fn from(request: gateway::WaitingRequest) -> Self {
        WaitingRequest {
            id: request.id.to_string(),
            requested_model: request.requested_model,
            agent: request.agent,
            since: request.since.into(),
            until: request.until.into(),
            waits_for: request.waits_for.map(RequestExclusion::from),
        }
    }
}
