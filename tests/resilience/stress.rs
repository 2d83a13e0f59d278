//! Many streams, every kind of fault, at once (scenario SE-05; the soak of resilience specification, 27).

use std::time::Duration;

use acceptance::{Connection, beginning, ending, opening};
use domain::Dialect;
use fake_upstream::{Answer, Break, Step};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::json;

use crate::cast::{AK, ask_stream, start};

const STREAMS: usize = 500;
const SEED: u64 = 0x5eed_0005;

/// A small generator of its own: the same faults in the same order on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("below the bound")
    }
}

/// One fault of nine kinds in ten, otherwise an answer.
fn step(random: &mut Random) -> Step {
    let chat = Dialect::Chat;
    match random.below(10) {
        0 => Step::Reset,
        1 => Step::error(503, "down"),
        2 => Step::error(429, "slow down"),
        3 => Step::garbage("SSH-2.0-OpenSSH_9.9\r\n"),
        4 => Step::sse([opening(chat).to_owned(), acceptance::error_event(chat, "overloaded")]),
        5 => Step::sse([beginning(chat)]).broken(usize::MAX, Break::Close),
        6 => Step::sse(Vec::<&str>::new()),
        7 => Step::sse([beginning(chat), "data: {\"broken\n\n", ending(chat)]),
        8 => Step::error(500, "oops").after(Duration::from_millis(5)),
        _ => Step::answer(Answer::text("All of it arrives.".repeat(20)).in_chunks(10, Duration::ZERO)),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_streams_over_five_accounts_end_every_one_and_leave_nothing_held() {
    // SE-05
    let world = start().await;
    let mut random = Random(SEED);
    let mut accounts: Vec<Connection> = Vec::new();
    for number in 0..5 {
        let account = crate::cast::uncooled(&world, AK, &format!("c{number}")).await;
        let mut script = world.script(&account);
        for _ in 0..STREAMS {
            script = script.then(step(&mut random));
        }
        drop(script.cycle());
        accounts.push(account);
    }
    // Nobody rests and nothing stops, so that every stream meets its fault: a clock that is moved on while clients connect
    // would let the listener give them up.
    world
        .resilience(json!({
            "connectionCooldown": { "apikey": { "baseCooldownMs": 0, "useUpstreamRetryHints": false } },
            "providerBreaker": { "apikey": { "failureThreshold": 1_000 } },
        }))
        .await;
    let asked = ask_stream(AK, "m1");
    let mut streams: FuturesUnordered<_> = (0..STREAMS)
        .map(|_| {
            let (agent, asked) = (world.agent(), asked.clone());
            async move { agent.post(&asked.path, asked.body).await }
        })
        .collect();
    let (mut served, mut refused) = (0, 0);
    while let Some(reply) = streams.next().await {
        if reply.status.is_success() {
            served += 1;
        } else {
            assert!(reply.json()["error"]["message"].is_string(), "{}", reply.text());
            refused += 1;
        }
    }
    drop(streams);
    assert_eq!(served + refused, STREAMS);
    println!("{served} served, {refused} refused, breaker {:?}", world.breaker_state(AK));
    let (asked_for, ended) = (world.upstream.count(None).arrived, world.upstream.count(None).ended());
    assert!(asked_for >= ended, "{asked_for} {ended}");
    let picture = world.picture();
    assert!(picture.connections.len() <= 5 && picture.breakers.len() <= 500 && picture.lockouts.len() <= 1_000);
    assert!(accounts.iter().all(|account| world.health(account).in_flight == 0), "nothing is held");
    world.check_invariants().await;
}
