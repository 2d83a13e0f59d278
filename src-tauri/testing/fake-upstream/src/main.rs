//! The fake upstream as a program: a provider to point the app at by hand, or to load it with.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Parser, ValueEnum};
use domain::Dialect;
use fake_upstream::{Answer, Call, FakeUpstream, Load, ModelCard, Options, Recording, SDK_MODELS, Step};
use tokio::sync::broadcast::error::RecvError;

/// A provider without a provider: answers in four dialects on a loopback port, as told.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 9001)]
    port: u16,
    /// Threads that serve; 0 takes one per processor
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Answers 401 to every other key
    #[arg(long)]
    key: Option<String>,
    /// Names for the lists of models; may be repeated
    #[arg(long = "model", value_name = "NAME")]
    models: Vec<String>,
    /// Refuses what a real provider refuses: missing fields, tool results without their call
    #[arg(long)]
    strict: bool,
    /// Models and behaviour for a known purpose; excludes the options that shape the answer
    #[arg(long, conflicts_with = "answer")]
    preset: Option<Preset>,
    /// Prints no line per call
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    shape: Shape,
}

/// What every answer is like.
#[derive(Debug, clap::Args)]
#[group(id = "answer", multiple = true)]
struct Shape {
    /// Text of every answer; `{tool_result}` in it repeats the last tool result
    #[arg(long)]
    text: Option<String>,
    /// Reasoning before the text
    #[arg(long)]
    reasoning: Option<String>,
    /// Calls a tool before the text, once per turn; may be repeated for parallel calls
    #[arg(long = "tool-call", value_name = "NAME:JSON", value_parser = tool_call)]
    tool_calls: Vec<(String, serde_json::Value)>,
    /// Waits before each reply
    #[arg(long, value_name = "MILLISECONDS")]
    latency_ms: Option<u64>,
    /// Pieces in which text is streamed
    #[arg(long)]
    chunks: Option<usize>,
    /// Waits before each streamed event
    #[arg(long, value_name = "MILLISECONDS")]
    chunk_delay_ms: Option<u64>,
    /// Answers every n-th call with an error status
    #[arg(long, value_name = "STATUS:EVERY_N", value_parser = failure)]
    fail: Option<(u16, usize)>,
    /// For load: whole answers of exactly so many bytes
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["text", "reasoning", "tool_calls", "load_events"])]
    load_bytes: Option<usize>,
    /// For load: streams of so many text events at full speed
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["text", "reasoning", "tool_calls"])]
    load_events: Option<usize>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Preset {
    /// The models that the checks with the official SDKs rely on
    Sdk,
    /// The models that the checks with real agents rely on
    Agents,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let threads = if arguments.threads == 0 { Options::all_processors() } else { arguments.threads };
    let recording = if arguments.quiet { Recording::Counters } else { Recording::Calls };
    let upstream =
        FakeUpstream::start_with(Options { port: arguments.port, threads, recording, ..Options::default() })?;
    match arguments.preset {
        Some(Preset::Sdk) => upstream.preset_sdk(arguments.key.as_deref()),
        Some(Preset::Agents) => upstream.preset_agents(),
        None => write_script(&upstream, &arguments),
    }
    let mut models = arguments.models.clone();
    if models.is_empty() && matches!(arguments.preset, Some(Preset::Sdk)) {
        models = SDK_MODELS.map(str::to_owned).to_vec();
    }
    if !models.is_empty() {
        upstream.set_models(models.into_iter().map(ModelCard::new));
    }
    greet(&upstream).context("cannot write to standard output")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(upstream))
}

/// Prints calls as they end, until the program is told to stop.
async fn run(upstream: FakeUpstream) -> anyhow::Result<()> {
    let mut endings = upstream.endings();
    loop {
        tokio::select! {
            stopped = tokio::signal::ctrl_c() => {
                stopped.context("cannot wait for the signal to stop")?;
                break;
            }
            ended = endings.recv() => match ended {
                Ok(call) => print_call(&call)?,
                Err(RecvError::Lagged(missed)) => writeln!(io::stdout(), "      {missed} calls are not shown")?,
                Err(RecvError::Closed) => break,
            }
        }
    }
    let total = upstream.count(None);
    upstream.stop().await;
    writeln!(
        io::stdout(),
        "{} calls: {} completed, {} cancelled by the caller, {} broken by the script",
        total.arrived,
        total.completed,
        total.cancelled,
        total.broken
    )?;
    Ok(())
}

fn write_script(upstream: &FakeUpstream, arguments: &Arguments) {
    upstream.require_known_keys(arguments.key.is_some());
    upstream.strict(arguments.strict);
    let delayed = |step: Step| match arguments.shape.latency_ms {
        Some(wait) => step.after(Duration::from_millis(wait)),
        None => step,
    };
    let answer = delayed(arguments.shape.step());
    let script = upstream.script(arguments.key.as_deref(), None);
    match arguments.shape.fail {
        Some((status, every)) => {
            let error = Step::error(status, format!("every {every}. call fails with {status}"));
            drop(script.times(every - 1, answer).then(delayed(error)).cycle());
        }
        None => drop(script.then(answer)),
    }
}

impl Shape {
    fn step(&self) -> Step {
        if let Some(load) = self.load_bytes.map(Load::bytes).or(self.load_events.map(Load::events)) {
            return Step::Load(load);
        }
        let mut answer = Answer::default();
        answer.chunks = self.chunks.unwrap_or(answer.chunks);
        answer.delay = Duration::from_millis(self.chunk_delay_ms.unwrap_or(0));
        answer.reasoning = self.reasoning.clone().unwrap_or_default();
        if let Some(text) = &self.text {
            answer.text.clone_from(text);
        }
        if self.tool_calls.is_empty() {
            return Step::Answer(answer);
        }
        let silent = Answer { text: String::new(), ..answer.clone() };
        let calls = self.tool_calls.iter().fold(silent, |answer, (name, input)| answer.with_tool_call(name, input));
        Step::tool_turn(calls, answer)
    }
}

fn greet(upstream: &FakeUpstream) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "fake upstream on {}", upstream.url())?;
    for dialect in Dialect::ALL {
        writeln!(out, "  {:<24} {}", dialect.label(), upstream.base_url(dialect))?;
    }
    out.flush()
}

fn print_call(call: &Call) -> io::Result<()> {
    let model = call.model.as_deref().unwrap_or("-");
    let form = if call.stream { "stream" } else { "whole" };
    let (method, path, bytes, ending) = (&call.method, &call.path, call.body.len(), call.ending);
    writeln!(io::stdout(), "{:>5} {method} {path} {model} {form} {bytes} B {ending:?}", call.number)
}

fn tool_call(text: &str) -> anyhow::Result<(String, serde_json::Value)> {
    let (name, arguments) = text.split_once(':').unwrap_or((text, "{}"));
    let arguments = serde_json::from_str(arguments).context("the part after the colon is not JSON")?;
    Ok((name.to_owned(), arguments))
}

fn failure(text: &str) -> anyhow::Result<(u16, usize)> {
    let (status, every) = text.split_once(':').unwrap_or((text, "1"));
    let (status, every) = (status.parse::<u16>()?, every.parse::<usize>()?);
    if !(400..=599).contains(&status) {
        bail!("the status must be between 400 and 599");
    }
    if every == 0 {
        bail!("the number after the colon must be at least 1");
    }
    Ok((status, every))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn failures_are_read_with_and_without_their_rhythm() {
        assert_eq!(failure("429:3").unwrap(), (429, 3));
        assert_eq!(failure("500").unwrap(), (500, 1));
        for wrong in ["200:1", "500:0", "x"] {
            assert!(failure(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_tool_call_is_a_name_and_its_arguments() {
        let (name, arguments) = tool_call(r#"get:{"city":"Berlin"}"#).unwrap();
        assert_eq!((name.as_str(), arguments["city"].as_str()), ("get", Some("Berlin")));
        assert!(tool_call("get:{").is_err());
    }
}
