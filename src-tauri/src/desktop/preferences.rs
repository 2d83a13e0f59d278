//! What only the window needs, as far as the program itself reads it (specification's decision 11). The window writes
//! it.

use tauri::AppHandle;
use tauri_plugin_store::StoreExt;

const FILE: &str = "preferences.json";

/// Whether closing the window leaves the gateway running in the tray; yes unless the person said no.
pub(super) fn close_to_tray(app: &AppHandle) -> bool {
    app.store(FILE).ok().and_then(|store| store.get("closeToTray")).and_then(|value| value.as_bool()).unwrap_or(true)
}

/// Whether the window speaks Italian: the person's choice, else the system's language.
pub(super) fn italian(app: &AppHandle) -> bool {
    let chosen = app.store(FILE).ok().and_then(|store| store.get("language"));
    match chosen.as_ref().and_then(|value| value.as_str()) {
        Some("it") => true,
        Some("en") => false,
        Some(_) | None => system_language().starts_with("it"),
    }
}

fn system_language() -> String {
    ["LC_ALL", "LC_MESSAGES", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .unwrap_or_default()
}
