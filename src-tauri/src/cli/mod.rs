//! The command line. `serve` owns a gateway; everything else asks a running one over REST (decision 35).

mod arguments;
mod client;
mod connection;
mod key;
mod serve;
mod status;
mod text;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;

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
    environment: BTreeMap<String, String>,
    json: bool,
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
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("the system gives no threads: {error}"));
            return ExitCode::from(exit::CANNOT_START);
        }
    };
    runtime.block_on(dispatch(arguments))
}

async fn dispatch(arguments: Arguments) -> ExitCode {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let context = Context { environment, json: arguments.json };
    let Some(data_dir) = server::data_folder(arguments.data_dir, &context.environment) else {
        say("neither --data-dir nor the environment says where the data folder is");
        return ExitCode::from(exit::USAGE);
    };
    let command = match arguments.command {
        Command::Serve(serve) => return serve::run(&context, data_dir, serve).await,
        other => other,
    };
    let client = match Client::find(arguments.url, &data_dir, &context.environment) {
        Ok(client) => client,
        Err(error) => return refused(&context, &error),
    };
    let done = match command {
        Command::Serve(_) => return ExitCode::SUCCESS,
        Command::Status => status::run(&context, &client).await,
        Command::Connection(command) => connection::run(&context, &client, command).await,
        Command::Key(command) => key::run(&context, &client, command).await,
    };
    match done {
        Ok(code) => code,
        Err(error) => refused(&context, &error),
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
