//! The one window. Destroyed when closed, built anew when wanted: a hidden web view would cost hundreds of megabytes.

use tauri::webview::NewWindowResponse;
use tauri::{AppHandle, Manager, WebviewUrl, WebviewWindowBuilder};

const LABEL: &str = "main";

/// Brings the window to the front, opening it if there is none.
pub(super) fn show(app: &AppHandle) {
    if let Some(window) = app.get_webview_window(LABEL) {
        let shown = window.show().and_then(|()| window.unminimize()).and_then(|()| window.set_focus());
        if let Err(error) = shown {
            tracing::warn!(%error, "the window could not be brought to the front");
        }
        return;
    }
    let built = WebviewWindowBuilder::new(app, LABEL, WebviewUrl::default())
        .title("OmniRoute")
        .inner_size(1280.0, 800.0)
        .min_inner_size(800.0, 560.0)
        .on_navigation(|url| matches!(url.scheme(), "tauri") || is_own_page(url))
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .build();
    if let Err(error) = built {
        tracing::error!(%error, "the window could not be opened");
    }
}

/// The window shows the program's own pages and nothing else.
fn is_own_page(url: &tauri::Url) -> bool {
    let host = url.host_str().unwrap_or("");
    host == "tauri.localhost" || (cfg!(debug_assertions) && host == "127.0.0.1")
}
