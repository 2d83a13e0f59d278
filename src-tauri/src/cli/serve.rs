//! `omniroute serve`: the gateway without a window.

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;
use server::{Running, SystemClock, wire};

use super::arguments::Serve;
use super::{Context, exit, print, print_json, say};

/// Runs until SIGINT or SIGTERM, then drains and stops; a second signal stops at once.
pub(super) async fn run(context: &Context, serve: Serve) -> ExitCode {
    let filter = context.configuration.environment.get(wire::env::LOG).map(String::as_str);
    let _logging = server::logging::start(filter, None);
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => {
            say(&format!("the system does not deliver signals: {error}"));
            return ExitCode::from(exit::CANNOT_START);
        }
    };
    let config = server::Config { port: serve.port, config_file: serve.config, ..context.configuration.clone() };
    let running = match server::run(config, Arc::new(SystemClock::start())).await {
        Ok(running) => running,
        Err(error) => {
            say(&chain(&error));
            return ExitCode::from(exit::CANNOT_START);
        }
    };
    announce(context, &running);
    signals.next().await;
    tokio::select! {
        stopped = running.shutdown() => match stopped {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(&chain(&error));
                ExitCode::from(exit::REFUSED)
            }
        },
        () = signals.next() => {
            say("stopped at once; requests under way were cut off");
            ExitCode::from(exit::REFUSED)
        }
    }
}

fn announce(context: &Context, running: &Running) {
    let url = running.url();
    if context.json {
        print_json(&json!({
            "event": "listening",
            "url": url,
            "port": running.port(),
            "dataDir": running.data_dir(),
            "version": server::VERSION,
        }));
        return;
    }
    print(&format!("OmniRoute {} listens on {url}", server::VERSION));
    if running.gateway().keys().is_empty() {
        print("Agents need a key: make one with `omniroute key create --name NAME`");
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// The two signals that mean "stop".
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The one signal there is.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Signals)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
