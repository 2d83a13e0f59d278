//! The window's typed commands: one line per operation, no logic. Names are those of `control::topics`; members of the
//! path come first, the rest is one argument `input`.

use control::view::*;
use control::{
    ControlError, aliases, app, banned_signals, breakers, catalog, combo_mappings, combos, connections, cooldowns,
    explain, flags, health, health_history, keys, lockouts, management_token, models, nodes, probes, quota,
    quota_pools, requests, resilience, resilience_connections, settings, simulate, usage,
};
use tauri::State;

use super::gateway_task::GatewayTask;

/// Defines one command that calls the operation of the same name.
macro_rules! command {
    ($module:ident::$name:ident() -> $reply:ty) => {
        #[tauri::command]
        #[specta::specta]
        pub async fn $name(task: State<'_, GatewayTask>) -> Result<$reply, ControlError> {
            $module::$name(&task.control()?).await
        }
    };
    ($module:ident::$name:ident(id) -> $reply:ty) => {
        #[tauri::command]
        #[specta::specta]
        pub async fn $name(task: State<'_, GatewayTask>, id: String) -> Result<$reply, ControlError> {
            $module::$name(&task.control()?, id).await
        }
    };
    ($module:ident::$name:ident(input: $input:ty) -> $reply:ty) => {
        #[tauri::command]
        #[specta::specta]
        pub async fn $name(task: State<'_, GatewayTask>, input: $input) -> Result<$reply, ControlError> {
            $module::$name(&task.control()?, input).await
        }
    };
    ($module:ident::$name:ident(id, input: $input:ty) -> $reply:ty) => {
        #[tauri::command]
        #[specta::specta]
        pub async fn $name(task: State<'_, GatewayTask>, id: String, input: $input) -> Result<$reply, ControlError> {
            $module::$name(&task.control()?, id, input).await
        }
    };
}

command!(app::app_get() -> App);
command!(health::health_get() -> Health);
command!(catalog::catalog_providers() -> CatalogProviders);
command!(connections::connections_list(input: ConnectionFilter) -> Connections);
command!(connections::connection_get(id) -> ConnectionDetail);
command!(connections::connection_create(input: ConnectionDraft) -> ConnectionReply);
command!(connections::connection_update(id, input: ConnectionChange) -> ConnectionReply);
command!(connections::connection_delete(id) -> Done);
command!(connections::connection_restore(id) -> ConnectionReply);
command!(connections::connection_reset(id) -> ConnectionReply);
command!(connections::connections_order(input: ConnectionOrder) -> Connections);
command!(probes::connection_test(id, input: ConnectionTest) -> ConnectionTestReply);
command!(probes::connections_test(input: BatchTest) -> BatchTestResults);
command!(probes::connection_validate(input: ConnectionDraft) -> ConnectionValidation);
command!(probes::connection_models(id, input: ConnectionModelsQuery) -> ConnectionModels);
command!(nodes::nodes_list() -> Nodes);
command!(nodes::node_get(id) -> NodeReply);
command!(nodes::node_create(input: NodeDraft) -> NodeReply);
command!(nodes::node_update(id, input: NodeChange) -> NodeReply);
command!(nodes::node_delete(id) -> Done);
command!(probes::node_test(id, input: NodeTest) -> NodeTestReply);
command!(keys::keys_list() -> Keys);
command!(keys::key_create(input: KeyDraft) -> KeySecret);
command!(keys::key_update(id, input: KeyChange) -> KeyRecord);
command!(keys::key_rotate(id) -> KeySecret);
command!(keys::key_delete(id) -> Done);
command!(aliases::aliases_list() -> Aliases);
command!(aliases::alias_create(input: AliasDraft) -> AliasReply);
command!(aliases::alias_update(id, input: AliasChange) -> AliasReply);
command!(aliases::alias_delete(id) -> Done);
command!(combos::combos_list(input: ComboFilter) -> Combos);
command!(combos::combo_get(id) -> ComboReply);
command!(combos::combo_create(input: ComboDraft) -> ComboReply);
command!(combos::combo_update(id, input: ComboChange) -> ComboReply);
command!(combos::combo_delete(id) -> Done);
command!(combos::combos_reorder(input: ComboOrder) -> Combos);
command!(combos::combo_duplicate(id, input: ComboCopy) -> ComboReply);
command!(combos::combos_export(input: ComboSelection) -> ComboDocument);
command!(combos::combos_import(input: ComboImport) -> CombosImported);
command!(combos::combo_preview(input: ComboPreview) -> ComboPreviewed);
command!(combos::combo_test(id, input: ComboTest) -> ComboTestResults);
command!(combos::combos_metrics(input: ComboMetricsQuery) -> ComboMetrics);
command!(combo_mappings::combo_mappings_list() -> ComboMappings);
command!(combo_mappings::combo_mapping_create(input: ComboMappingDraft) -> ComboMappingReply);
command!(combo_mappings::combo_mapping_update(id, input: ComboMappingChange) -> ComboMappingReply);
command!(combo_mappings::combo_mapping_delete(id) -> Done);
command!(models::models_list(input: ModelFilter) -> Models);
command!(requests::requests_list(input: RequestFilter) -> Requests);
command!(requests::request_get(id) -> RequestDetail);
command!(requests::requests_delete(input: RequestsDeletion) -> RequestsDeleted);
command!(health_history::health_history(input: HealthHistoryQuery) -> HealthHistory);
command!(usage::usage_summary(input: UsageQuery) -> UsageSummary);
command!(quota::quota_list(input: QuotaFilter) -> QuotaStatus);
command!(quota::quota_refresh(input: QuotaRefresh) -> QuotaStatus);
command!(quota::quota_history(input: QuotaHistoryQuery) -> QuotaHistory);
command!(quota_pools::quota_pools_list() -> QuotaPools);
command!(quota_pools::quota_pool_get(id) -> QuotaPoolReply);
command!(quota_pools::quota_pool_create(input: QuotaPoolDraft) -> QuotaPoolReply);
command!(quota_pools::quota_pool_update(id, input: QuotaPoolChange) -> QuotaPoolReply);
command!(quota_pools::quota_pool_delete(id) -> Done);
command!(quota_pools::quota_pool_state(id) -> QuotaPoolState);
command!(resilience::resilience_get() -> ResilienceTree);
command!(resilience::resilience_update(input: ResiliencePatch) -> ResilienceUpdated);
command!(breakers::resilience_reset(input: BreakerSelection) -> ResilienceReset);
command!(breakers::health_reset(input: BreakerSelection) -> HealthReset);
command!(breakers::breakers_list() -> Breakers);
command!(breakers::breaker_reset(id) -> ResilienceReset);
command!(lockouts::model_cooldowns_list() -> ModelCooldowns);
command!(lockouts::model_cooldowns_clear(input: ModelCooldownSelection) -> ModelCooldownsCleared);
command!(cooldowns::cooldowns_list(input: CooldownFilter) -> Cooldowns);
command!(cooldowns::cooldowns_clear(input: CooldownSelection) -> CooldownsCleared);
command!(resilience_connections::resilience_connections(input: ResilienceWindow) -> ResilienceConnections);
command!(banned_signals::banned_signals_preview(input: BannedSignal) -> BannedSignalPreview);
command!(explain::resilience_explain(input: ExplainQuery) -> ResilienceExplanation);
command!(simulate::routing_simulate(input: RoutingSimulation) -> RoutingSimulated);
command!(settings::settings_get() -> SettingsTree);
command!(settings::settings_update(input: SettingsPatch) -> SettingsTree);
command!(settings::settings_fields() -> SettingFields);
command!(flags::feature_flags_list() -> FeatureFlags);
command!(flags::feature_flag_set(id, input: FeatureFlagValue) -> FeatureFlagReply);
command!(flags::feature_flag_unset(id) -> FeatureFlagReply);
command!(management_token::management_token_get() -> ManagementToken);
command!(management_token::management_token_rotate() -> ManagementToken);
