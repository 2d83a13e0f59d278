//! The gateway inside the window's process: starting it, saying how it is, handing it to commands, stopping it.

use std::sync::{Arc, Mutex, PoisonError};

use control::{Control, ControlError};
use serde::{Deserialize, Serialize};
use server::{Config, Running, StartError, SystemClock};
use specta::Type;
use tauri::async_runtime::{self, JoinHandle};
use tauri::{AppHandle, Emitter, Manager};

use super::live::Watchers;
use super::tray;
use crate::cli::configuration;

/// How the gateway is, in the words of the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    Running {
        url: String,
    },
    /// Another program has the port; `next` is the next free one.
    PortTaken {
        port: u16,
        next: Option<u16>,
    },
    /// It could not start for another reason.
    Failed {
        message: String,
    },
}

/// Owner of the running gateway.
pub(super) struct GatewayTask {
    inner: Mutex<Inner>,
}

struct Inner {
    running: Option<Running>,
    state: State,
    announcing: Option<JoinHandle<()>>,
}

/// Event: the gateway started, or failed to.
const STATE_EVENT: &str = "gateway-state";
const CHANGED_EVENT: &str = "changed";
const LIVE_EVENT: &str = "live";

impl GatewayTask {
    /// Starts the gateway where the settings say.
    pub(super) fn start(app: &AppHandle) -> Self {
        let task = GatewayTask {
            inner: Mutex::new(Inner {
                running: None,
                state: State::Failed { message: String::new() },
                announcing: None,
            }),
        };
        async_runtime::block_on(task.try_start(app, None));
        task
    }

    /// Starts on another port, which is kept from then on.
    pub(super) async fn start_on(&self, app: &AppHandle, port: u16) -> State {
        self.try_start(app, Some(port)).await;
        self.state()
    }

    pub(super) fn state(&self) -> State {
        self.lock().state.clone()
    }

    /// The handle that operations work on.
    pub(super) fn control(&self) -> Result<Control, ControlError> {
        match &self.lock().running {
            Some(running) => Ok(running.control().clone()),
            None => Err(ControlError::Conflict { message: "the gateway is not running".to_owned() }),
        }
    }

    /// Drains, flushes and closes.
    pub(super) fn stop(&self) {
        let running = {
            let mut inner = self.lock();
            if let Some(announcing) = inner.announcing.take() {
                announcing.abort();
            }
            inner.running.take()
        };
        let Some(running) = running else { return };
        if let Err(error) = async_runtime::block_on(running.shutdown()) {
            tracing::error!(%error, "the gateway did not stop cleanly");
        }
    }

    async fn try_start(&self, app: &AppHandle, port: Option<u16>) {
        if self.lock().running.is_some() {
            return;
        }
        let mut config = configuration(None);
        config.port = port;
        let started = start(config, port).await;
        let state = self.settle(app, started);
        tray::update(app, &state);
        if let Err(error) = app.emit(STATE_EVENT, &state) {
            tracing::debug!(%error, "the window could not be told");
        }
    }

    /// Keeps what a start came to.
    fn settle(&self, app: &AppHandle, started: Result<Running, StartError>) -> State {
        let mut inner = self.lock();
        match started {
            Ok(running) => {
                inner.state = State::Running { url: running.url() };
                inner.announcing = Some(forward(app, running.control().clone()));
                inner.running = Some(running);
            }
            Err(StartError::PortTaken { port, next_free, .. }) => {
                inner.state = State::PortTaken { port, next: next_free };
            }
            Err(error) => inner.state = State::Failed { message: with_causes(&error) },
        }
        inner.state.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn start(config: Config, kept_port: Option<u16>) -> Result<Running, StartError> {
    let running = server::run(config, Arc::new(SystemClock::start())).await?;
    if let Some(port) = kept_port {
        let patch = serde_json::json!({ "gateway": { "port": port } });
        if let Err(error) = running.gateway().update_settings(&patch).await {
            tracing::warn!(%error, "the new port could not be kept");
        }
    }
    Ok(running)
}

/// Passes announcements on to the window until the gateway stops.
fn forward(app: &AppHandle, control: Control) -> JoinHandle<()> {
    let app = app.clone();
    async_runtime::spawn(async move {
        let mut announcements = control::Announcements::all(&control);
        loop {
            let watchers = app.state::<Watchers>();
            announcements.set_live(watchers.someone_looks());
            let announcement = tokio::select! {
                announcement = announcements.next() => announcement,
                () = watchers.changed() => continue,
            };
            let told = match announcement {
                Some(control::Announcement::Changed(changed)) => app.emit(CHANGED_EVENT, &changed),
                Some(control::Announcement::Live(figures)) => app.emit(LIVE_EVENT, &figures),
                Some(control::Announcement::StillHere) => Ok(()),
                None => return,
            };
            if let Err(error) = told {
                tracing::debug!(%error, "the window could not be told");
            }
        }
    })
}

/// An error and what caused it, in one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
