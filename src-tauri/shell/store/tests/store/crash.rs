//! A gateway that is killed: what was acknowledged is there, what was not is there wholly or not at all.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use domain::wire;
use secrecy::ExposeSecret;
use store::RequestFilter;

use crate::world::{World, connection, request};

/// Set for the process that is going to be killed.
const FOLDER: &str = "STORE_TEST_FOLDER";
const ACKNOWLEDGED: &str = "acknowledged ";
const ENOUGH: usize = 40;

#[tokio::test]
#[ignore = "runs in the process that the test below kills"]
async fn a_gateway_that_writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut world = World::new();
    world.root = folder.into();
    let running = world.open().await;
    for n in 0_u64.. {
        for part in 0..100 {
            running.store.record_request(request(n * 100 + part));
        }
        let record = connection("openai", &n.to_string());
        running.store.insert_connection(&record, Some(format!("secret of {n}").into())).await.unwrap();
        println!("{ACKNOWLEDGED}{n}");
    }
}

#[tokio::test]
async fn a_kill_loses_nothing_that_was_acknowledged() {
    let world = World::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::a_gateway_that_writes_until_it_is_killed", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, &world.root)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let is_acknowledged = |line: &String| line.contains(ACKNOWLEDGED);
    let mut acknowledged = lines.by_ref().filter(is_acknowledged).take(ENOUGH).count();
    child.kill().unwrap();
    child.wait().unwrap();
    acknowledged += lines.filter(is_acknowledged).count();
    assert!(acknowledged >= ENOUGH);

    let running = world.open().await;
    let stored = running.store.load_connections().await.unwrap();
    for n in 0..acknowledged {
        let name = n.to_string();
        let found = stored.iter().find(|stored| stored.connection.name == name).unwrap();
        let secret = found.credential.as_ref().unwrap().as_ref().unwrap();
        assert_eq!(secret.expose_secret(), format!("secret of {n}"));
    }
    // A batch is one transaction: the log and the usage of a request are written together.
    let lonely = "SELECT count(*) FROM call_logs FULL JOIN usage_history USING (id)
                  WHERE call_logs.trace IS NULL OR usage_history.latency_ms IS NULL";
    assert_eq!(world.count(lonely).await, 0);
    assert!(world.count("SELECT count(*) FROM call_logs").await > 0);
    assert_eq!(world.count("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'").await, 0);
    running.stop().await;
}

#[tokio::test]
async fn a_cut_before_the_flush_loses_the_log_of_that_moment_and_nothing_written_through() {
    let world = World::new();
    let running = world.open().await;
    running.store.insert_connection(&connection("openai", "a"), Some("sk-123456789".into())).await.unwrap();
    running.store.record_request(request(1));
    running.store.flush().await.unwrap();
    running.store.record_request(request(2));

    // The files as they are on the disk at this moment.
    let after = World::new();
    std::fs::create_dir(after.data()).unwrap();
    for name in [wire::file::DATABASE, "omniroute.sqlite-wal", wire::file::DATA_KEY] {
        std::fs::copy(world.file(name), after.file(name)).unwrap();
    }
    let reopened = after.open().await;
    let (requests, _) = reopened.store.list_requests(&RequestFilter::default(), None, 10).await.unwrap();
    assert_eq!(requests, [request(1)]);
    let loaded = reopened.store.load_connections().await.unwrap();
    assert_eq!(loaded[0].credential.as_ref().unwrap().as_ref().unwrap().expose_secret(), "sk-123456789");
    reopened.stop().await;
    running.stop().await;
}
