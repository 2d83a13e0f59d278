use std::sync::Arc;

use domain::health::TestStatus;
use domain::wire;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor, Row};
use store::{Error, RequestFilter};

use crate::world::{Look, ManualClock, World, at, connection};

#[tokio::test]
async fn two_gateways_never_share_a_folder() {
    let world = World::new();
    let first = world.open().await;
    assert!(matches!(world.try_open().await.err(), Some(Error::FolderInUse { path }) if path == world.data()));
    first.stop().await;
    world.open().await.stop().await;
}

#[tokio::test]
async fn the_lock_is_held_until_the_last_clone_and_the_writer_are_gone() {
    let world = World::new();
    let running = world.open().await;
    let clone = running.store.clone();
    drop(running.store);
    assert!(matches!(world.try_open().await.err(), Some(Error::FolderInUse { .. })));
    drop(clone);
    running.tracker.close();
    running.tracker.wait().await;
    world.open().await.stop().await;
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    let world = World::new();
    world.open().await.stop().await;
    world
        .execute(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (9999, 'from the future', TRUE, x'00', 0)",
        )
        .await;
    let error = world.try_open().await.err().unwrap();
    assert!(matches!(error, Error::NewerDatabase { found: 9999, .. }), "{error}");
    assert!(error.to_string().contains("update the program"), "{error}");
    assert_eq!(world.count("SELECT count(*) FROM _sqlx_migrations WHERE version = 9999").await, 1);
}

#[tokio::test]
async fn a_changed_migration_is_noticed() {
    let world = World::new();
    world.open().await.stop().await;
    world.execute("UPDATE _sqlx_migrations SET checksum = x'00'").await;
    assert!(matches!(world.try_open().await.err(), Some(Error::Migration(_))));
}

#[tokio::test]
async fn writing_a_row_builds_no_temporary_tree() {
    let world = World::new();
    world.open().await.stop().await;
    let mut raw = world.raw().await;
    for insert in
        ["EXPLAIN INSERT INTO call_logs (outcome) VALUES (?)", "EXPLAIN INSERT INTO usage_history (outcome) VALUES (?)"]
    {
        let steps = sqlx::query(insert).fetch_all(&mut raw).await.unwrap();
        let names: Vec<String> = steps.iter().map(|step| step.get("opcode")).collect();
        assert!(names.iter().any(|name| name == "IdxInsert"), "{names:?}");
        assert!(!names.iter().any(|name| name == "OpenEphemeral"), "{insert}: {names:?}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_an_error() {
    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    std::fs::write(world.file(wire::file::DATABASE), "this is not a database, however long it may be").unwrap();
    assert!(matches!(world.try_open().await.err(), Some(Error::Database(_))));
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let world = World::new();
    let first = world.open().await;
    first.store.insert_connection(&connection("openai", "a"), Some("sk-123456789".into())).await.unwrap();
    let listed = first.store.list_connections().await.unwrap();
    first.stop().await;
    let second = world.open().await;
    assert_eq!(second.store.list_connections().await.unwrap(), listed);
    second.stop().await;
}

#[tokio::test]
async fn every_table_is_strict() {
    let world = World::new();
    let running = world.open().await;
    let lax = "SELECT count(*) FROM pragma_table_list
               WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite%'
                 AND name NOT LIKE '_sqlx%'";
    assert_eq!(world.count(lax).await, 0);
    running.stop().await;
}

#[cfg(unix)]
#[tokio::test]
async fn the_folder_and_its_files_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let world = World::new();
    // As a careless person or program would have left them.
    std::fs::create_dir(world.data()).unwrap();
    std::fs::set_permissions(world.data(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(world.file(wire::file::DATABASE), "").unwrap();
    let running = world.open().await;
    running.store.insert_connection(&connection("openai", "a"), Some("sk-123456789".into())).await.unwrap();

    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(world.data()), 0o700);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(world.data()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(entry.path()), 0o600, "{}", entry.path().display());
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(
        names,
        ["data.key", "omniroute.lock", "omniroute.sqlite", "omniroute.sqlite-shm", "omniroute.sqlite-wal"]
    );
    running.stop().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_shared_with_everybody_is_refused() {
    use std::os::unix::fs::PermissionsExt;

    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    std::fs::set_permissions(world.data(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(matches!(world.try_open().await.err(), Some(Error::FolderShared { .. })));
    let mode = std::fs::metadata(world.data()).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o1777);
}

#[tokio::test]
async fn a_closed_store_says_so_instead_of_waiting() {
    let world = World::new();
    let running = world.open().await;
    running.store.close().await.unwrap();
    assert!(matches!(running.store.list_nodes().await, Err(Error::Database(_))));
}

#[tokio::test]
async fn the_clock_of_these_tests_wakes_who_is_due() {
    use domain::{Clock, Millis};

    let clock = Arc::new(ManualClock::new(at(0)));
    let (early, late) = (clock.sleep_until(at(10)), clock.sleep_until(at(20)));
    clock.advance(Millis::new(10));
    tokio::select! {
        biased;
        () = late => panic!("too early"),
        () = early => {}
    }
}

/// RP-09
#[tokio::test]
async fn a_database_of_any_older_version_is_brought_up_to_date_and_keeps_what_is_in_it() {
    let all = sqlx::migrate!("../../../migrations");
    for version in 1..=all.migrations.len() {
        let world = World::new();
        std::fs::create_dir(world.data()).unwrap();
        let file = world.file(wire::file::DATABASE);
        let mut old = SqliteConnectOptions::new().filename(file).create_if_missing(true).connect().await.unwrap();
        let mut older = sqlx::migrate!("../../../migrations");
        older.migrations = all.migrations[..version].to_vec().into();
        older.run(&mut old).await.unwrap();
        old.execute(
            "INSERT INTO provider_connections (id, provider, name, auth_type, priority, is_active, created_at, updated_at)
             VALUES ('c1', 'openai', 'kept', 'none', 1, 1, 1, 1)",
        )
        .await
        .unwrap();
        old.execute(
            "INSERT INTO call_logs (id, timestamp, method, path, source_format, status, outcome, stream, requested_model,
                                    duration_ms, estimated, trace)
             VALUES ('a', 1, 'POST', '/v1/messages', 'messages', 200, 'success', 1, 'm', 5, 0, '{}')",
        )
        .await
        .unwrap();
        old.execute(
            "INSERT INTO usage_history (id, timestamp, requested_model, estimated, status, outcome, latency_ms)
             VALUES ('a', 1, 'm', 0, 200, 'success', 5)",
        )
        .await
        .unwrap();
        if version > 3 {
            old.execute("UPDATE call_logs SET combo_name = 'fast', strategy = 'priority'").await.unwrap();
            old.execute("UPDATE usage_history SET combo_name = 'fast'").await.unwrap();
        }
        if version > 1 {
            old.execute(
                "UPDATE provider_connections SET test_status = 'banned', last_error = 'suspended', last_error_at = 1,
                 last_error_type = 'account_deactivated', error_code = 403",
            )
            .await
            .unwrap();
            old.execute(
                "INSERT INTO domain_circuit_breakers (name, state, failure_count) VALUES ('openai', 'OPEN', 12)",
            )
            .await
            .unwrap();
        }
        old.close().await.unwrap();

        let running = world.open().await;
        let (records, _) = running.store.list_requests(&RequestFilter::default(), None, 10).await.unwrap();
        let combo = (version > 3).then_some("fast");
        assert_eq!(records[0].combo_name.as_deref(), combo);
        assert_eq!(records[0].strategy.as_deref(), combo.map(|_| "priority"));
        let kept = if combo.is_some() { "combo_name = 'fast'" } else { "combo_name IS NULL" };
        let kept = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM usage_history WHERE latency_ms = 5 AND {kept}"));
        assert_eq!(sqlx::query_scalar::<_, i64>(kept).fetch_one(&mut world.raw().await).await.unwrap(), 1);
        let connections = running.store.list_connections().await.unwrap();
        let names: Vec<&str> = connections.iter().map(|connection| connection.name.as_str()).collect();
        assert_eq!(names, ["kept"], "{version}");
        let stored = running.store.load_resilience().await.unwrap();
        if version > 1 {
            assert_eq!(stored.connections[0].test_status, TestStatus::Banned, "{version}");
            assert_eq!(stored.breakers[0].failure_count, 12, "{version}");
        }
        running.stop().await;
        world.open().await.stop().await;
    }
}
