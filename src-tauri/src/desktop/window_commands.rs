//! What belongs to the window alone and has no endpoint (gateway specification, 6.1): the state of the gateway inside,
//! start at login, opening folders and links.

use control::ControlError;
use tauri::{AppHandle, Manager, State};
use tauri_plugin_autostart::ManagerExt;
use tauri_plugin_opener::OpenerExt;

use super::gateway_task::{GatewayTask, State as GatewayState};
use super::live::Watchers;

/// How the gateway inside is.
#[tauri::command]
#[specta::specta]
pub fn window_gateway_state(task: State<'_, GatewayTask>) -> GatewayState {
    task.state()
}

/// Starts the gateway on another port, when its own is taken, and keeps that port.
#[tauri::command]
#[specta::specta]
pub async fn window_gateway_start_on(app: AppHandle, port: u16) -> GatewayState {
    app.state::<GatewayTask>().start_on(&app, port).await
}

/// A place of the window starts or stops looking at the live figures.
#[tauri::command]
#[specta::specta]
pub fn live_watch(watchers: State<'_, Watchers>, watching: bool) {
    if watching { watchers.look() } else { watchers.look_away() }
}

/// Whether OmniRoute starts with the session.
#[tauri::command]
#[specta::specta]
pub fn window_start_at_login_get(app: AppHandle) -> Result<bool, ControlError> {
    app.autolaunch().is_enabled().map_err(|error| refused("start at login cannot be read", &error))
}

/// Makes OmniRoute start with the session, in the tray, or not.
#[tauri::command]
#[specta::specta]
pub fn window_start_at_login_set(app: AppHandle, enabled: bool) -> Result<(), ControlError> {
    let autolaunch = app.autolaunch();
    let done = if enabled { autolaunch.enable() } else { autolaunch.disable() };
    done.map_err(|error| refused("start at login cannot be changed", &error))
}

/// Opens the data folder in the file manager.
#[tauri::command]
#[specta::specta]
pub fn window_open_data_folder(app: AppHandle, task: State<'_, GatewayTask>) -> Result<(), ControlError> {
    let folder = task.control()?.data_dir().to_string_lossy().into_owned();
    app.opener().open_path(folder, None::<&str>).map_err(|error| refused("the folder cannot be opened", &error))
}

/// Opens a web page in the browser; nothing but https.
#[tauri::command]
#[specta::specta]
pub fn window_open_link(app: AppHandle, url: String) -> Result<(), ControlError> {
    if !url.starts_with("https://") {
        return Err(ControlError::invalid("url", "must begin with https://"));
    }
    app.opener().open_url(url, None::<&str>).map_err(|error| refused("the page cannot be opened", &error))
}

fn refused(what: &str, error: &dyn std::fmt::Display) -> ControlError {
    tracing::warn!(%error, what, "the desktop refused");
    ControlError::InternalError { message: what.to_owned() }
}
