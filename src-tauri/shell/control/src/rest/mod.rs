//! The REST adapter: one line per operation, no logic (gateway specification, 6.1).
//!
//! Method, path and status of each line come from the table in [`crate::topics`]; argument and reply types of the same
//! line make the OpenAPI document, whose operation ids are the functions' names. Around every line stand the rules for
//! every call: loopback peers only, the management token, JSON bodies of known members.

mod document;
mod events;
mod extract;
mod guard;
mod refusal;

use axum::Router;
use axum::extract::State;
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, get, on};
use serde::Serialize;

use crate::topics::{Method, Operation, operation};
use crate::view::*;
use crate::{
    Control, ControlError, aliases::*, app::*, banned_signals::*, breakers::*, catalog::*, combo_mappings::*,
    combos::*, connections::*, cooldowns::*, explain::*, flags::*, health::*, health_history::*, keys::*, lockouts::*,
    management_token::*, models::*, nodes::*, probes::*, quota::*, quota_pools::*, requests::*, resilience::*,
    resilience_connections::*, settings::*, simulate::*, usage::*,
};

use document::{Document, Shape};
use extract::{Body, Id, Query};
use refusal::Refusal;

/// Adds one operation to an [`Api`]: its arguments in the order `id`, `query`, `body`, and what it replies.
macro_rules! route {
    ($api:ident, $name:ident() -> $reply:ty) => {
        $api.add(stringify!($name), Shape::new::<$reply>(), |State(control): State<Control>| async move {
            answer(stringify!($name), $name(&control).await)
        })
    };
    ($api:ident, $name:ident(id) -> $reply:ty) => {
        $api.add(stringify!($name), Shape::new::<$reply>(), |State(control): State<Control>, id: Id| async move {
            answer(stringify!($name), $name(&control, id.0).await)
        })
    };
    ($api:ident, $name:ident(query: $query:ty) -> $reply:ty) => {
        $api.add(
            stringify!($name),
            Shape::new::<$reply>().query::<$query>(),
            |State(control): State<Control>, Query(query): Query<$query>| async move {
                answer(stringify!($name), $name(&control, query).await)
            },
        )
    };
    ($api:ident, $name:ident(id, query: $query:ty) -> $reply:ty) => {
        $api.add(
            stringify!($name),
            Shape::new::<$reply>().query::<$query>(),
            |State(control): State<Control>, id: Id, Query(query): Query<$query>| async move {
                answer(stringify!($name), $name(&control, id.0, query).await)
            },
        )
    };
    ($api:ident, $name:ident(body: $body:ty) -> $reply:ty) => {
        $api.add(
            stringify!($name),
            Shape::new::<$reply>().body::<$body>(),
            |State(control): State<Control>, Body(body): Body<$body>| async move {
                answer(stringify!($name), $name(&control, body).await)
            },
        )
    };
    ($api:ident, $name:ident(id, body: $body:ty) -> $reply:ty) => {
        $api.add(
            stringify!($name),
            Shape::new::<$reply>().body::<$body>(),
            |State(control): State<Control>, id: Id, Body(body): Body<$body>| async move {
                answer(stringify!($name), $name(&control, id.0, body).await)
            },
        )
    };
}

/// Every management route with its full path, `/api/…`, behind its guards. The Host and Origin checks stand before it.
pub fn router(control: Control) -> Router {
    let api = operations();
    let document = api.document.finish(control.version());
    api.router
        .route("/api/events", get(events::events))
        .route(
            "/api/openapi.json",
            get(move || std::future::ready(([(CONTENT_TYPE, "application/json")], document.clone()))),
        )
        .method_not_allowed_fallback(|| async { Refusal::method_not_allowed() })
        .fallback(|| async { Refusal::unknown_endpoint() })
        .layer(from_fn_with_state(control.clone(), guard::management))
        .with_state(control)
}

/// The OpenAPI document as JSON text.
pub fn openapi(version: &str) -> String {
    operations().document.finish(version)
}

/// The names of all operations that REST serves, in the order of the table below.
pub fn served() -> Vec<&'static str> {
    operations().served
}

#[rustfmt::skip]
fn operations() -> Api {
    let mut api = Api::new();
    route!(api, app_get() -> App);
    route!(api, health_get() -> Health);
    route!(api, catalog_providers() -> CatalogProviders);
    route!(api, connections_list(query: ConnectionFilter) -> Connections);
    route!(api, connection_get(id) -> ConnectionDetail);
    route!(api, connection_create(body: ConnectionDraft) -> ConnectionReply);
    route!(api, connection_update(id, body: ConnectionChange) -> ConnectionReply);
    route!(api, connection_delete(id) -> Done);
    route!(api, connection_restore(id) -> ConnectionReply);
    route!(api, connection_test(id, body: ConnectionTest) -> ConnectionTestReply);
    route!(api, connections_test(body: BatchTest) -> BatchTestResults);
    route!(api, connection_validate(body: ConnectionDraft) -> ConnectionValidation);
    route!(api, connections_order(body: ConnectionOrder) -> Connections);
    route!(api, connection_models(id, query: ConnectionModelsQuery) -> ConnectionModels);
    route!(api, connection_reset(id) -> ConnectionReply);
    route!(api, nodes_list() -> Nodes);
    route!(api, node_get(id) -> NodeReply);
    route!(api, node_create(body: NodeDraft) -> NodeReply);
    route!(api, node_update(id, body: NodeChange) -> NodeReply);
    route!(api, node_delete(id) -> Done);
    route!(api, node_test(id, body: NodeTest) -> NodeTestReply);
    route!(api, keys_list() -> Keys);
    route!(api, key_create(body: KeyDraft) -> KeySecret);
    route!(api, key_update(id, body: KeyChange) -> KeyRecord);
    route!(api, key_rotate(id) -> KeySecret);
    route!(api, key_delete(id) -> Done);
    route!(api, aliases_list() -> Aliases);
    route!(api, alias_create(body: AliasDraft) -> AliasReply);
    route!(api, alias_update(id, body: AliasChange) -> AliasReply);
    route!(api, alias_delete(id) -> Done);
    route!(api, combos_list(query: ComboFilter) -> Combos);
    route!(api, combo_get(id) -> ComboReply);
    route!(api, combo_create(body: ComboDraft) -> ComboReply);
    route!(api, combo_update(id, body: ComboChange) -> ComboReply);
    route!(api, combo_delete(id) -> Done);
    route!(api, combos_reorder(body: ComboOrder) -> Combos);
    route!(api, combo_duplicate(id, body: ComboCopy) -> ComboReply);
    route!(api, combos_export(query: ComboSelection) -> ComboDocument);
    route!(api, combos_import(body: ComboImport) -> CombosImported);
    route!(api, combo_preview(body: ComboPreview) -> ComboPreviewed);
    route!(api, combo_test(id, body: ComboTest) -> ComboTestResults);
    route!(api, combos_metrics(query: ComboMetricsQuery) -> ComboMetrics);
    route!(api, combo_mappings_list() -> ComboMappings);
    route!(api, combo_mapping_create(body: ComboMappingDraft) -> ComboMappingReply);
    route!(api, combo_mapping_update(id, body: ComboMappingChange) -> ComboMappingReply);
    route!(api, combo_mapping_delete(id) -> Done);
    route!(api, models_list(query: ModelFilter) -> Models);
    route!(api, requests_list(query: RequestFilter) -> Requests);
    route!(api, request_get(id) -> RequestDetail);
    route!(api, requests_delete(body: RequestsDeletion) -> RequestsDeleted);
    route!(api, health_history(query: HealthHistoryQuery) -> HealthHistory);
    route!(api, usage_summary(query: UsageQuery) -> UsageSummary);
    route!(api, quota_list(query: QuotaFilter) -> QuotaStatus);
    route!(api, quota_refresh(body: QuotaRefresh) -> QuotaStatus);
    route!(api, quota_history(query: QuotaHistoryQuery) -> QuotaHistory);
    route!(api, quota_pools_list() -> QuotaPools);
    route!(api, quota_pool_get(id) -> QuotaPoolReply);
    route!(api, quota_pool_create(body: QuotaPoolDraft) -> QuotaPoolReply);
    route!(api, quota_pool_update(id, body: QuotaPoolChange) -> QuotaPoolReply);
    route!(api, quota_pool_delete(id) -> Done);
    route!(api, quota_pool_state(id) -> QuotaPoolState);
    route!(api, resilience_get() -> ResilienceTree);
    route!(api, resilience_update(body: ResiliencePatch) -> ResilienceUpdated);
    route!(api, resilience_reset(body: BreakerSelection) -> ResilienceReset);
    route!(api, health_reset(body: BreakerSelection) -> HealthReset);
    route!(api, breakers_list() -> Breakers);
    route!(api, breaker_reset(id) -> ResilienceReset);
    route!(api, model_cooldowns_list() -> ModelCooldowns);
    route!(api, model_cooldowns_clear(body: ModelCooldownSelection) -> ModelCooldownsCleared);
    route!(api, cooldowns_list(query: CooldownFilter) -> Cooldowns);
    route!(api, cooldowns_clear(body: CooldownSelection) -> CooldownsCleared);
    route!(api, resilience_connections(query: ResilienceWindow) -> ResilienceConnections);
    route!(api, banned_signals_preview(body: BannedSignal) -> BannedSignalPreview);
    route!(api, resilience_explain(query: ExplainQuery) -> ResilienceExplanation);
    route!(api, routing_simulate(body: RoutingSimulation) -> RoutingSimulated);
    route!(api, settings_get() -> SettingsTree);
    route!(api, settings_update(body: SettingsPatch) -> SettingsTree);
    route!(api, settings_fields() -> SettingFields);
    route!(api, feature_flags_list() -> FeatureFlags);
    route!(api, feature_flag_set(id, body: FeatureFlagValue) -> FeatureFlagReply);
    route!(api, feature_flag_unset(id) -> FeatureFlagReply);
    route!(api, management_token_get() -> ManagementToken);
    route!(api, management_token_rotate() -> ManagementToken);
    api
}

/// Routes and their description, grown together.
struct Api {
    router: Router<Control>,
    document: Document,
    served: Vec<&'static str>,
}

impl Api {
    fn new() -> Self {
        Api { router: Router::new(), document: Document::new(), served: Vec::new() }
    }

    /// Adds the operation of that name. One that the table does not hold is not served; a test compares the lists.
    fn add<H, T>(&mut self, name: &'static str, shape: Shape, handler: H)
    where
        H: Handler<T, Control>,
        T: 'static,
    {
        let Some(operation) = operation(name) else { return };
        let router = std::mem::take(&mut self.router);
        self.router = router.route(operation.path, on(filter(operation.method), handler));
        self.document.add(operation, shape);
        self.served.push(name);
    }
}

const fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Patch => MethodFilter::PATCH,
        Method::Put => MethodFilter::PUT,
        Method::Delete => MethodFilter::DELETE,
    }
}

fn answer<T: Serialize>(name: &str, result: Result<T, ControlError>) -> Response {
    match result {
        Ok(reply) => (success(operation(name)), axum::Json(reply)).into_response(),
        Err(error) => Refusal::from(error).into_response(),
    }
}

fn success(operation: Option<&Operation>) -> StatusCode {
    operation.and_then(|operation| StatusCode::from_u16(operation.status).ok()).unwrap_or(StatusCode::OK)
}

#[cfg(test)]
mod tests;
