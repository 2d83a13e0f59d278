//! The window, the tray and the typed commands around the running gateway. No logic of its own.
//!
//! The gateway lives in this process and outlives the window: closed to the tray, the web view is destroyed and the
//! gateway keeps running. There is one instance; a second start shows the first one's window.

mod bindings;
mod commands;
mod gateway_task;
mod live;
mod preferences;
mod tray;
mod window;
mod window_commands;

use std::process::ExitCode;

use tauri::{Manager, RunEvent, WindowEvent};
use tauri_plugin_autostart::MacosLauncher;

use gateway_task::GatewayTask;

/// Argument of a start at login: the tray alone, no window.
pub(crate) const HIDDEN: &str = "--hidden";

/// Runs until the person quits.
pub fn run() -> ExitCode {
    if !has_display() {
        tracing::error!(
            "no display: set DISPLAY or WAYLAND_DISPLAY, or run `omniroute serve` for a gateway without a window"
        );
        return ExitCode::from(4);
    }
    let built = tauri::Builder::default()
        .plugin(tauri_plugin_single_instance::init(|app, _, _| window::show(app)))
        .plugin(tauri_plugin_window_state::Builder::default().build())
        .plugin(tauri_plugin_store::Builder::default().build())
        .plugin(tauri_plugin_opener::init())
        .plugin(tauri_plugin_autostart::init(MacosLauncher::LaunchAgent, Some(vec![HIDDEN])))
        .invoke_handler(bindings::builder().invoke_handler())
        .setup(|app| {
            let handle = app.handle().clone();
            app.manage(live::Watchers::default());
            app.manage(GatewayTask::start(&handle));
            app.manage(tray::build(&handle));
            if !std::env::args().any(|argument| argument == HIDDEN) {
                window::show(&handle);
            }
            Ok(())
        })
        .build(tauri::generate_context!());
    match built {
        Ok(app) => ExitCode::from(u8::try_from(app.run_return(on_event)).unwrap_or(1)),
        Err(error) => {
            tracing::error!(%error, "the window could not be opened");
            ExitCode::from(4)
        }
    }
}

fn on_event(app: &tauri::AppHandle, event: RunEvent) {
    match event {
        RunEvent::WindowEvent { event: WindowEvent::Destroyed, .. } => app.state::<live::Watchers>().nobody_looks(),
        RunEvent::ExitRequested { code: None, api, .. } if stays_in_tray(app) => api.prevent_exit(),
        RunEvent::Exit => app.state::<GatewayTask>().stop(),
        _ => {}
    }
}

/// Whether closing the window leaves the gateway running: wished for, and a tray icon is there to bring it back.
fn stays_in_tray(app: &tauri::AppHandle) -> bool {
    app.state::<tray::Tray>().is_shown() && preferences::close_to_tray(app)
}

fn has_display() -> bool {
    cfg!(not(target_os = "linux"))
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}
