//! The one list of commands, from which both the window's handler and the TypeScript bindings are made.

use tauri_specta::{Builder, Casing, collect_commands};

use super::{commands, window_commands};

/// Every command of the window, with the table of operations as data beside them.
pub(super) fn builder() -> Builder<tauri::Wry> {
    Builder::<tauri::Wry>::new()
        .commands(collect_commands![
            commands::app_get,
            commands::health_get,
            commands::catalog_providers,
            commands::connections_list,
            commands::connection_get,
            commands::connection_create,
            commands::connection_update,
            commands::connection_delete,
            commands::connection_restore,
            commands::connection_reset,
            commands::connections_order,
            commands::connection_test,
            commands::connections_test,
            commands::connection_validate,
            commands::connection_models,
            commands::nodes_list,
            commands::node_get,
            commands::node_create,
            commands::node_update,
            commands::node_delete,
            commands::node_test,
            commands::keys_list,
            commands::key_create,
            commands::key_update,
            commands::key_rotate,
            commands::key_delete,
            commands::aliases_list,
            commands::alias_create,
            commands::alias_update,
            commands::alias_delete,
            commands::combos_list,
            commands::combo_get,
            commands::combo_create,
            commands::combo_update,
            commands::combo_delete,
            commands::combos_reorder,
            commands::combo_duplicate,
            commands::combos_export,
            commands::combos_import,
            commands::combo_preview,
            commands::combo_test,
            commands::combos_metrics,
            commands::combo_mappings_list,
            commands::combo_mapping_create,
            commands::combo_mapping_update,
            commands::combo_mapping_delete,
            commands::models_list,
            commands::requests_list,
            commands::request_get,
            commands::requests_delete,
            commands::health_history,
            commands::usage_summary,
            commands::quota_list,
            commands::quota_refresh,
            commands::quota_history,
            commands::quota_pools_list,
            commands::quota_pool_get,
            commands::quota_pool_create,
            commands::quota_pool_update,
            commands::quota_pool_delete,
            commands::quota_pool_state,
            commands::resilience_get,
            commands::resilience_update,
            commands::resilience_reset,
            commands::health_reset,
            commands::breakers_list,
            commands::breaker_reset,
            commands::model_cooldowns_list,
            commands::model_cooldowns_clear,
            commands::cooldowns_list,
            commands::cooldowns_clear,
            commands::resilience_connections,
            commands::banned_signals_preview,
            commands::resilience_explain,
            commands::routing_simulate,
            commands::settings_get,
            commands::settings_update,
            commands::settings_fields,
            commands::feature_flags_list,
            commands::feature_flag_set,
            commands::feature_flag_unset,
            commands::management_token_get,
            commands::management_token_rotate,
            window_commands::window_gateway_state,
            window_commands::window_gateway_start_on,
            window_commands::live_watch,
            window_commands::window_start_at_login_get,
            window_commands::window_start_at_login_set,
            window_commands::window_open_data_folder,
            window_commands::window_open_link,
        ])
        .typ::<control::view::Changed>()
        .typ::<control::view::Live>()
        .constant("operations", control::operations().collect::<Vec<_>>())
        .function_casing(Casing::SnakeCase)
        .disable_serde_phases()
        .dangerously_cast_bigints_to_number()
        .disable_serde_phases()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use specta_typescript::Typescript;

    use super::*;

    const HEADER: &str = "// Made from the program's commands by the test `bindings_are_current`. Do not edit.\n";

    /// Writes the bindings anew; fails when the checked-in file was different.
    #[test]
    fn bindings_are_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/src/bindings.ts");
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        builder().export(Typescript::default().header(HEADER), &path).expect("the types can be exported");
        let after = std::fs::read_to_string(&path).expect("the file was written");
        assert!(before == after, "ui/src/bindings.ts was stale and has been written anew: commit it");
    }

    #[test]
    fn every_operation_is_a_command_and_a_route() {
        let operations: BTreeSet<&str> = control::operations().map(|operation| operation.name).collect();
        let served: BTreeSet<&str> = control::rest::served().into_iter().collect();
        assert_eq!(operations, served);
        let source = include_str!("commands.rs");
        for name in operations {
            assert!(source.contains(&format!("::{name}(")), "the operation {name} has no command");
        }
    }
}
