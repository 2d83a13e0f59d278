//! Memory over many streams, most of which go wrong: cut, ended too soon, refused, garbled, left by their agent.

use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use fake_upstream::{Break, FakeUpstream, Load, Step};
use http_body_util::BodyExt;
use tokio::task::JoinSet;

use crate::agent::{self, Agent, Place};
use crate::program::Program;

const STREAMS: usize = 500;
const AT_ONCE: usize = 25;
/// The first two fill pools and caches.
const WARM_UP: usize = 2;
const ROUNDS: usize = 6;

/// The model whose streams are left by their agent after the first piece.
const LEFT: &str = "fault-left";
const MODELS: [&str; 6] = ["fault-none", "fault-reset", "fault-close", "fault-refused", "fault-garbled", LEFT];

pub fn script(upstream: &FakeUpstream) {
    let stream = || Step::Load(Load::events(50));
    let steps = [
        stream(),
        stream().broken(2_000, Break::Reset),
        stream().broken(2_000, Break::Close),
        Step::error(503, "overloaded"),
        Step::garbage("no HTTP at all\r\n\r\n"),
        stream(),
    ];
    for (model, step) in MODELS.into_iter().zip(steps) {
        upstream.script(None, Some(model)).then(step);
    }
}

/// Prints the resident memory after each round of streams.
pub async fn memory(place: &Place, gateway: &Program) -> Result<()> {
    println!("\nresident memory after each {STREAMS} streams, five of six of them faulty");
    let mut after = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        round(place).await?;
        // What was put down for the log is written a quarter of a second later.
        tokio::time::sleep(Duration::from_millis(500)).await;
        after.push(gateway.memory()?);
    }
    let grown = after.last().copied().unwrap_or_default().saturating_sub(after[WARM_UP - 1]);
    println!("  {after:?} KiB: {grown} KiB more since the warm-up");
    Ok(())
}

async fn round(place: &Place) -> Result<()> {
    let mut tasks = JoinSet::new();
    for first in 0..AT_ONCE {
        let bodies = MODELS.map(|model| (model, agent::body(place, model, 1_000, true)));
        let place = place.clone();
        tasks.spawn(async move {
            for n in (first..STREAMS).step_by(AT_ONCE) {
                let (model, body) = &bodies[n % bodies.len()];
                stream(&place, model, body.clone()).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// One stream on a connection of its own, to whatever end it comes.
async fn stream(place: &Place, model: &str, body: Bytes) -> Result<()> {
    let mut agent = Agent::connect(place).await?;
    let (_, mut answer) = agent.ask(body).await.with_context(|| format!("an answer about {model}"))?;
    while let Some(Ok(_)) = answer.frame().await {
        if model == LEFT {
            break;
        }
    }
    Ok(())
}
