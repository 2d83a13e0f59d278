//! Many at once, and many after another.

use std::time::{Duration, Instant};

use fake_upstream::{Answer, FakeUpstream, Options, Step};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::Method;

use crate::program::{Program, client, rest};

const PARALLEL: usize = 1_000;
const ONE_AFTER_ANOTHER: usize = 300;

/// Allows enough open files for a thousand streams: two sockets each in the gateway, two here.
fn can_open_enough() -> bool {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap_or_default();
    line.split_whitespace().nth(3).is_none_or(|soft| soft.parse().map_or(true, |soft: usize| soft > 3 * PARALLEL))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_parallel_streams_all_complete() {
    if !can_open_enough() {
        println!("skipped: this session may not open enough files for {PARALLEL} streams");
        return;
    }
    let upstream = FakeUpstream::start_with(Options { threads: 1, ..Options::default() }).expect("a fake upstream");
    let answer = Answer::text("All of it arrives.".repeat(10)).in_chunks(10, Duration::from_millis(100));
    upstream.set_default(Step::answer(answer));
    let folder = tempfile::tempdir().expect("a folder");
    let program = Program::start(folder.path()).await;
    let http = client();
    let key = program.set_up(&http, &upstream).await;
    let began = Instant::now();
    let mut streams: FuturesUnordered<_> = (0..PARALLEL)
        .map(|_| async {
            let reply = program.ask(&http, &key).await;
            (reply.status().as_u16(), rest(reply).await)
        })
        .collect();
    let mut complete = 0;
    while let Some((status, body)) = streams.next().await {
        assert_eq!(status, 200);
        let body = body.expect("an unbroken stream");
        let text = String::from_utf8_lossy(&body);
        assert!(text.contains("event: message_stop") && !text.contains("event: error"), "{text}");
        complete += 1;
    }
    drop(streams);
    println!("{complete} parallel streams in {:?}", began.elapsed());
    assert_eq!(complete, PARALLEL);
    let count = upstream.count(None);
    assert_eq!((count.arrived, count.completed), (PARALLEL as u64, PARALLEL as u64), "each was asked for once");
    let health = program.manage(&http, Method::GET, "/api/monitoring/health", None).await;
    assert_eq!((&health["status"], &health["activeConnections"]), (&"healthy".into(), &0.into()), "{health}");
    assert_eq!(health["store"]["dropped"], 0, "{health}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn memory_stays_flat_over_three_hundred_streams() {
    let upstream = FakeUpstream::start().expect("a fake upstream");
    upstream.set_default(Step::answer(Answer::text("x".repeat(64 * 1024)).in_chunks(100, Duration::ZERO)));
    let folder = tempfile::tempdir().expect("a folder");
    let program = Program::start(folder.path()).await;
    let http = client();
    let key = program.set_up(&http, &upstream).await;
    let idle = program.memory();
    let mut figures = Vec::new();
    for _ in 0..3 {
        for _ in 0..ONE_AFTER_ANOTHER / 3 {
            let body = rest(program.ask(&http, &key).await).await.expect("an unbroken stream");
            assert!(body.ends_with(b"\n\n"));
        }
        figures.push(program.memory());
    }
    println!("resident KiB: idle {idle}, after each hundred streams {figures:?}");
    // The first hundred fills caches and pools; after that a leak of one stream's bytes each would be 12 MiB.
    let growth = figures[2].saturating_sub(figures[0]);
    assert!(growth < 4 * 1024, "memory grew by {growth} KiB: {figures:?}");
}
