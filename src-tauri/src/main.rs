//! `omniroute` opens the window; `omniroute serve` is the gateway without one; every other command is a client of the
//! REST API of a running gateway (gateway specification, 6.1).

mod cli;
#[cfg(feature = "desktop")]
mod desktop;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "desktop")]
    if std::env::args_os().len() <= 1 {
        return window();
    }
    cli::run(std::env::args_os())
}

/// Opens the window, or says why there can be none.
#[cfg(feature = "desktop")]
fn window() -> ExitCode {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if cfg!(target_os = "linux") && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        cli::say("there is no display to open a window on; `omniroute serve` runs the gateway without one");
        return ExitCode::from(cli::exit::USAGE);
    }
    desktop::run()
}
