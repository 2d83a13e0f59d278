//! `omniroute` opens the window; `omniroute serve` is the gateway without one; every other command is a client of the
//! REST API of a running gateway (gateway specification, 6.1).

mod cli;
#[cfg(feature = "desktop")]
mod desktop;

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Chunks of bodies are taken on one thread and given back on another, many thousand times a second, in sizes for which
/// the system's allocator goes to the kernel.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    #[cfg(feature = "desktop")]
    if opens_the_window() {
        let config = cli::configuration(None);
        let filter = config.environment.get(server::wire::env::LOG).map(String::as_str);
        let _logging = server::logging::start(filter, Some(&config.data_dir));
        return desktop::run();
    }
    cli::run(std::env::args_os())
}

/// Without arguments, and at login with the one that leaves the window closed.
#[cfg(feature = "desktop")]
fn opens_the_window() -> bool {
    std::env::args_os().skip(1).all(|argument| argument == desktop::HIDDEN)
}
