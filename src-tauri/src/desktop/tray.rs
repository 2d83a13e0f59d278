//! The tray icon: state, copy of the address, open, quit. On a desktop without a tray the program does without.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tauri::menu::{Menu, MenuItem, PredefinedMenuItem};
use tauri::tray::{MouseButton, MouseButtonState, TrayIcon, TrayIconBuilder, TrayIconEvent};
use tauri::{AppHandle, Manager, Wry};

use super::gateway_task::{GatewayTask, State};
use super::{preferences, window};

/// The icon, if the desktop has a place for one.
pub(super) struct Tray {
    icon: Option<Icon>,
}

struct Icon {
    status: MenuItem<Wry>,
    tray: TrayIcon<Wry>,
}

const OPEN: &str = "open";
const QUIT: &str = "quit";

impl Tray {
    pub(super) fn is_shown(&self) -> bool {
        self.icon.is_some()
    }
}

/// Builds the icon. The library behind it panics where its own system library is missing, which is no reason to fail.
pub(super) fn build(app: &AppHandle) -> Tray {
    let icon = match catch_unwind(AssertUnwindSafe(|| try_build(app))) {
        Ok(Ok(icon)) => Some(icon),
        Ok(Err(error)) => {
            tracing::warn!(%error, "no tray icon: closing the window ends the program");
            None
        }
        Err(_) => {
            tracing::warn!("no tray library on this system: closing the window ends the program");
            None
        }
    };
    Tray { icon }
}

/// Says in menu and tooltip how the gateway is.
pub(super) fn update(app: &AppHandle, state: &State) {
    let Some(tray) = app.try_state::<Tray>() else { return };
    let Some(icon) = &tray.icon else { return };
    let text = status(app, state);
    let told = icon.status.set_text(&text).and_then(|()| icon.tray.set_tooltip(Some(format!("OmniRoute — {text}"))));
    if let Err(error) = told {
        tracing::debug!(%error, "the tray could not be updated");
    }
}

fn try_build(app: &AppHandle) -> tauri::Result<Icon> {
    let italian = preferences::italian(app);
    let say = |english: &'static str, italian_text: &'static str| if italian { italian_text } else { english };
    let status = MenuItem::with_id(app, "status", "OmniRoute", false, None::<&str>)?;
    let open = MenuItem::with_id(app, OPEN, say("Open OmniRoute", "Apri OmniRoute"), true, None::<&str>)?;
    let quit = MenuItem::with_id(app, QUIT, say("Quit", "Esci"), true, None::<&str>)?;
    let line = PredefinedMenuItem::separator(app)?;
    let menu = Menu::with_items(app, &[&status, &line, &open, &quit])?;
    let mut builder = TrayIconBuilder::with_id("main").menu(&menu).show_menu_on_left_click(false).tooltip("OmniRoute");
    if let Some(image) = app.default_window_icon() {
        builder = builder.icon(image.clone());
    }
    let tray = builder
        .on_menu_event(|app, event| match event.id().as_ref() {
            OPEN => window::show(app),
            QUIT => app.exit(0),
            _ => {}
        })
        .on_tray_icon_event(|tray, event| {
            if let TrayIconEvent::Click { button: MouseButton::Left, button_state: MouseButtonState::Up, .. } = event {
                window::show(tray.app_handle());
            }
        })
        .build(app)?;
    let icon = Icon { status, tray };
    if let Some(task) = app.try_state::<GatewayTask>() {
        let text = status_text(italian, &task.state());
        icon.status.set_text(text)?;
    }
    Ok(icon)
}

fn status(app: &AppHandle, state: &State) -> String {
    status_text(preferences::italian(app), state)
}

fn status_text(italian: bool, state: &State) -> String {
    match (state, italian) {
        (State::Running { url }, false) => format!("Listening on {url}"),
        (State::Running { url }, true) => format!("In ascolto su {url}"),
        (State::PortTaken { port, .. }, false) => format!("Port {port} is taken"),
        (State::PortTaken { port, .. }, true) => format!("La porta {port} è occupata"),
        (State::Failed { .. }, false) => "Not running".to_owned(),
        (State::Failed { .. }, true) => "Non in funzione".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_words_in_both_languages() {
        let taken = State::PortTaken { port: 20128, next: Some(20129) };
        assert_eq!(status_text(false, &taken), "Port 20128 is taken");
        assert_eq!(status_text(true, &taken), "La porta 20128 è occupata");
        let running = State::Running { url: "http://127.0.0.1:1".to_owned() };
        assert_eq!(status_text(false, &running), "Listening on http://127.0.0.1:1");
    }
}
