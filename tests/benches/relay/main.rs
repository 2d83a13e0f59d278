//! What the gateway costs, on real sockets: `cargo bench -p acceptance --bench relay`.
//!
//! Four parties, each with threads of its own: this program as the agent, the fake upstream, the real headless program
//! in its release build (with its database and its log of requests), and a bare axum + reqwest relay that does nothing
//! but pass bytes on. Every round asks all of them in turn, so that a busy machine disturbs each alike; what counts are
//! the differences and ratios of one run, never the absolute figures. Budgets: architecture, section 18.
//!
//! The program is built here when it is not fresh. `OMNIROUTE_BIN` names another one to measure. Arguments name parts to
//! measure alone: `latency`, `throughput`, `memory`, `idle`.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]

mod agent;
mod bare;
mod engine;
mod faults;
mod figures;
mod program;

use std::time::Duration;

use anyhow::{Context, Result};
use fake_upstream::{Answer, Break, FakeUpstream, Load, Options, Step};
use tokio::runtime;

use agent::{Agent, Place, Reply};
use figures::{Sample, micros};
use program::Program;

const THROUGHPUT_CONNECTIONS: usize = 64;
const THROUGHPUT_TIME: Duration = Duration::from_millis(1_500);
const THROUGHPUT_TURNS: usize = 3;
const EVENTS: usize = 200;
const MANY_CONNECTIONS: usize = 1_000;
const STARTS: usize = 7;
const IDLE_TIME: Duration = Duration::from_secs(5);
const OPEN_STREAMS: usize = 500;

/// One row of the latency table.
struct Case {
    name: &'static str,
    model: &'static str,
    /// Size of the request body.
    request: usize,
    stream: bool,
    rounds: usize,
}

const CASES: [Case; 5] = [
    Case { name: "1 KB request, 1 KB answer", model: "bytes-1k", request: 1_000, stream: false, rounds: 2_000 },
    Case { name: "500 KB request, 1 KB answer", model: "bytes-1k", request: 500_000, stream: false, rounds: 300 },
    Case { name: "1 KB request, 500 KB answer", model: "bytes-500k", request: 1_000, stream: false, rounds: 300 },
    Case { name: "stream of 200 events, at once", model: "events", request: 1_000, stream: true, rounds: 500 },
    Case { name: "stream of 20 events, every 5 ms", model: "paced", request: 1_000, stream: true, rounds: 12 },
];

/// Models that are also asked by way of a combo.
const BY_COMBO: [&str; 2] = ["bytes-1k", "events"];

/// The ways to the same upstream.
struct Ways {
    direct: Place,
    gateway: Place,
    /// Through the gateway, by the name of a combo of three steps.
    combo: Place,
    bare: Place,
}

impl Ways {
    /// Those that lead to a model.
    fn to(&self, model: &str) -> Vec<&Place> {
        let all = [&self.direct, &self.gateway, &self.combo, &self.bare];
        all.into_iter().filter(|place| !place.is_combo() || BY_COMBO.contains(&model)).collect()
    }
}

fn main() -> Result<()> {
    if let Some(upstream) = bare::asked_for() {
        return bare::run(&upstream);
    }
    let upstream = FakeUpstream::start_with(Options::load(1))?;
    script(&upstream);
    runtime::Builder::new_current_thread().enable_all().build()?.block_on(measure(&upstream))
}

fn script(upstream: &FakeUpstream) {
    let paced = Answer::text("word ".repeat(20)).in_chunks(20, Duration::from_millis(5));
    for (model, step) in [
        ("bytes-1k", Step::Load(Load::bytes(1_000))),
        ("bytes-500k", Step::Load(Load::bytes(500_000))),
        ("events", Step::Load(Load::events(EVENTS))),
        ("paced", Step::answer(paced)),
        ("open", Step::Load(Load::events(10)).broken(1_500, Break::Stall)),
    ] {
        upstream.script(None, Some(model)).then(step);
    }
    faults::script(upstream);
}

async fn measure(upstream: &FakeUpstream) -> Result<()> {
    let binary = program::binary()?;
    println!("measuring {}", binary.display());
    let folder = program::folder(upstream, 1, &BY_COMBO).await?;
    let gateway = Program::start(&binary, folder.path())?;
    let bare = Program::start_bare(&upstream.url())?;
    let ways = Ways {
        direct: Place::new("direct", &upstream.url(), "")?,
        gateway: Place::new("gateway", gateway.url(), "openai/")?,
        combo: Place::new("by combo", gateway.url(), program::COMBO)?,
        bare: Place::new("bare relay", bare.url(), "")?,
    };
    if asked_for("latency") {
        for case in &CASES {
            latency(&ways, case).await?;
        }
        engine::share();
    }
    if asked_for("throughput") {
        throughput(&ways).await?;
    }
    if asked_for("memory") {
        open_streams(&ways.gateway, &gateway).await?;
        faults::memory(&ways.gateway, &gateway).await?;
    }
    drop(gateway);
    if asked_for("idle") {
        idle(&binary, upstream).await?;
    }
    Ok(())
}

/// Whether a part is to be measured: all of them unless some are named.
fn asked_for(part: &str) -> bool {
    let mut named = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).peekable();
    named.peek().is_none() || named.any(|name| name == part)
}

/// Rounds of one call each way.
async fn latency(ways: &Ways, case: &Case) -> Result<()> {
    let mut parties = Vec::new();
    for place in ways.to(case.model) {
        let agent = Agent::connect(place).await?;
        let body = agent::body(place, case.model, case.request, case.stream);
        parties.push((place, agent, body, Vec::with_capacity(case.rounds)));
    }
    for round in 0..case.rounds + case.rounds / 5 {
        for (place, agent, body, replies) in &mut parties {
            let reply = agent.call(body.clone()).await.with_context(|| format!("{} by {}", case.name, place.name))?;
            // The first fifth warms up.
            if round >= case.rounds / 5 {
                replies.push(reply);
            }
        }
    }
    println!("\n{} ({} rounds)", case.name, case.rounds);
    let direct = totals(&parties[0].3);
    for (place, _, _, replies) in &parties {
        let total = totals(replies);
        let gap = replies.iter().map(|reply| reply.longest_gap).max().unwrap_or_default();
        print!("  {:<11} p50 {:>9}  p99 {:>9}", place.name, micros(total.p50()), micros(total.p99()));
        if case.stream {
            let first = Sample::new(replies.iter().map(|reply| reply.first).collect());
            print!("  first {:>9}  longest gap {:>9}", micros(first.p50()), micros(gap));
        }
        if place.name != "direct" {
            let added = total.p50().saturating_sub(direct.p50());
            print!("  added p50 {:>9}  p99 {:>9}", micros(added), micros(total.p99().saturating_sub(direct.p99())));
            print!("  ratio {:.2}", total.p50().as_secs_f64() / direct.p50().as_secs_f64());
            if case.model == "events" {
                print!("  per event {:.2} µs", added.as_secs_f64() * 1e6 / EVENTS as f64);
            }
        }
        println!();
    }
    Ok(())
}

fn totals(replies: &[Reply]) -> Sample {
    Sample::new(replies.iter().map(|reply| reply.total).collect())
}

/// As many requests as go through 64 connections, each way in turn.
async fn throughput(ways: &Ways) -> Result<()> {
    println!("\nthroughput, {THROUGHPUT_CONNECTIONS} connections, 1 KB request and answer");
    let places = ways.to("bytes-1k");
    let mut best = vec![0.0_f64; places.len()];
    for _ in 0..THROUGHPUT_TURNS {
        for (place, best) in places.iter().zip(&mut best) {
            let rate = agent::rate(place, THROUGHPUT_CONNECTIONS, THROUGHPUT_TIME).await?;
            *best = best.max(rate);
        }
    }
    let bare = best.last().copied().unwrap_or_default();
    for (place, rate) in places.iter().zip(&best) {
        println!("  {:<11} {rate:>8.0} requests/s  {:.2} × bare relay", place.name, rate / bare);
    }
    Ok(())
}

/// What a stream holds while it is open, passed on as it comes and translated.
async fn open_streams(place: &Place, gateway: &Program) -> Result<()> {
    println!();
    let before = gateway.memory()?;
    for (name, place) in [("passed on", place.clone()), ("translated", place.translated())] {
        let streams = agent::open(&place, OPEN_STREAMS, "open").await?;
        let during = gateway.memory()?;
        drop(streams);
        println!(
            "memory with {OPEN_STREAMS} open streams, {name}: {before} -> {during} KiB, {:.1} KiB per stream",
            during.saturating_sub(before) as f64 / OPEN_STREAMS as f64
        );
    }
    Ok(())
}

/// A gateway with many accounts that nobody asks anything.
async fn idle(binary: &std::path::Path, upstream: &FakeUpstream) -> Result<()> {
    let folder = program::folder(upstream, MANY_CONNECTIONS, &[]).await?;
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(Program::start(binary, folder.path())?.started_in);
    }
    let starts = Sample::new(starts);
    println!("\nstart to listening, {MANY_CONNECTIONS} connections: median {}", micros(starts.p50()));
    let gateway = Program::start(binary, folder.path())?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = gateway.work()?;
    tokio::time::sleep(IDLE_TIME).await;
    let after = gateway.work()?;
    println!("idle memory, {MANY_CONNECTIONS} connections: {} KiB", gateway.memory()?);
    println!(
        "idle work in {} s: {} of processor time, {} wake-ups",
        IDLE_TIME.as_secs(),
        micros(after.time.saturating_sub(before.time)),
        after.turns.saturating_sub(before.turns)
    );
    Ok(())
}
