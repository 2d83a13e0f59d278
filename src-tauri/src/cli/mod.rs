//! The command line. `serve` owns a gateway; everything else asks a running one over REST (specification's decision
//! 35).

mod arguments;
mod client;
mod combo;
mod connection;
mod key;
mod pool;
mod serve;
mod status;
mod text;
mod token_limit;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;
use server::Config;

use arguments::{Arguments, Command};
use client::{Client, ClientError};

/// What a command ends with.
pub(crate) mod exit {
    /// Refused by the gateway, or a failed test.
    pub(crate) const REFUSED: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    /// No gateway answers.
    pub(crate) const NO_GATEWAY: u8 = 3;
    /// `serve` cannot start.
    pub(crate) const CANNOT_START: u8 = 4;
}

/// What a command needs to know about its surroundings.
struct Context {
    configuration: Config,
    json: bool,
}

impl Context {
    /// The reply as it is where JSON is asked for, else what it says to people.
    fn show(&self, reply: &Value, for_people: impl FnOnce() -> String) {
        if self.json {
            print_json(reply);
        } else {
            print(&for_people());
        }
    }
}

/// Data folder and environment of this process; the window starts its gateway with the same.
pub(crate) fn configuration(data_dir: Option<PathBuf>) -> Config {
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Config {
        data_dir: server::data_folder(data_dir, &environment),
        environment,
        workers: server::suitable_workers().get(),
        ..Config::default()
    }
}

/// Runs one command line.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers, everything else is wrong usage; clap knows which stream and code.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("the system gives no threads: {error}"));
            return ExitCode::from(exit::CANNOT_START);
        }
    };
    runtime.block_on(dispatch(arguments))
}

async fn dispatch(arguments: Arguments) -> ExitCode {
    let context = Context { configuration: configuration(arguments.data_dir), json: arguments.json };
    let url = arguments.url;
    let done = match arguments.command {
        Command::Serve(serve) => return serve::run(&context, serve).await,
        Command::Status => status::run(&context, url).await,
        Command::Connection(command) => connection::run(&context, url, command).await,
        Command::Combo(command) => combo::run(&context, url, command).await,
        Command::Key(command) => key::run(&context, url, command).await,
        Command::Pool(command) => pool::run(&context, url, command).await,
    };
    done.unwrap_or_else(|error| refused(&context, &error))
}

impl Context {
    /// A client of the gateway that is meant.
    fn client(&self, url: Option<String>) -> Result<Client, ClientError> {
        Client::find(url, &self.configuration.data_dir, &self.configuration.environment)
    }
}

/// Says why the gateway did not do it. With `--json` the endpoint's own words go to standard output.
fn refused(context: &Context, error: &ClientError) -> ExitCode {
    say(&error.to_string());
    match error {
        ClientError::Refused { body, .. } => {
            if context.json {
                print_json(body);
            }
            ExitCode::from(exit::REFUSED)
        }
        ClientError::NoGateway { .. } | ClientError::NotRunning { .. } | ClientError::Silent { .. } => {
            ExitCode::from(exit::NO_GATEWAY)
        }
        ClientError::Usage(_) => ExitCode::from(exit::USAGE),
    }
}

/// One line for people, on standard error.
pub(crate) fn say(message: &str) {
    // Without a standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "omniroute: {message}");
}

/// Text for people, or the one line a script waits for, on standard output.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    // A reader that closed the pipe has seen enough.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Exactly one JSON document.
fn print_json(document: &Value) {
    print(&document.to_string());
}
