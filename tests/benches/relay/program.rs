//! The programs under measurement as processes of their own, and the data folders they start with.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use domain::client_key::ClientKey;
use domain::connection::{AuthType, Connection, ProviderSpecific};
use domain::{Clock, Dialect, Timestamp, wire};
use fake_upstream::FakeUpstream;
use routing::combo::{Combo, Step, StepKind, Strategy};
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use store::{Options, SecretStoreChoice, Store};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bare;

/// The local key that agents carry.
pub const CLIENT_KEY: &str = "sk-omni-bench";

/// Before a model's name: a combo that asks it first and has two more steps behind it.
pub const COMBO: &str = "three-";

/// A process that said where it listens. Dropping it ends it.
pub struct Program {
    child: Child,
    url: String,
    /// From the start of the process to its word that it listens.
    pub started_in: Duration,
}

/// What a process has done since it began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    pub time: Duration,
    /// How often one of its threads was put on a processor.
    pub turns: u64,
}

/// The headless release build: the one that is named, or this workspace's own, made fresh.
pub fn binary() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("OMNIROUTE_BIN") {
        return Ok(named.into());
    }
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", "omniroute", "--no-default-features", "--quiet"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .status()?;
    ensure!(built.success(), "the program does not build");
    // This program lies in `release/deps`.
    let own = std::env::current_exe()?;
    let folder = own.ancestors().nth(2).context("a target folder")?;
    Ok(folder.join(format!("omniroute{}", std::env::consts::EXE_SUFFIX)))
}

/// A data folder with one local key, so many accounts at the fake upstream, and a combo for each of these models.
pub async fn folder(upstream: &FakeUpstream, connections: usize, models: &[&str]) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let clock: Arc<dyn Clock> = Arc::new(server::SystemClock::start());
    let now = clock.now();
    let (tracker, cancel) = (TaskTracker::new(), CancellationToken::new());
    let options = Options { secret_store: SecretStoreChoice::File };
    let store = Store::open(folder.path(), options, clock, &tracker, cancel.clone()).await?;
    let hash = Sha256::digest(CLIENT_KEY).into();
    let key = ClientKey::new("bench".into(), "bench".to_owned(), hash, "ench".to_owned(), now);
    store.insert_key(&key).await?;
    for priority in 1..=u32::try_from(connections)? {
        let connection = Connection {
            id: format!("c{priority}").into(),
            provider: "openai".into(),
            name: format!("Account {priority}"),
            auth_type: AuthType::Apikey,
            priority,
            is_active: true,
            default_model: None,
            credential_tail: None,
            max_concurrent: None,
            rate_limit_protection: false,
            rate_limit_overrides: domain::RateLimitOverrides::default(),
            quota_window_thresholds: std::collections::BTreeMap::new(),
            excluded_models: Vec::new(),
            proxy_url: None,
            tags: Vec::new(),
            specific: ProviderSpecific {
                base_url: Some(upstream.base_url(Dialect::Chat)),
                allow_private_network: true,
            },
            extra: serde_json::Map::new(),
            created_at: now,
            updated_at: now,
        };
        let credential = SecretString::from(format!("sk-upstream-account-{priority}"));
        store.insert_connection(&connection, Some(credential)).await?;
    }
    let combos: Vec<Combo> = models.iter().map(|model| combo(model, now)).collect();
    store.save_combos(&combos, None).await?;
    // The faults of this bench are no reason to leave its accounts alone: each has to reach the relay.
    let patience = serde_json::json!({
        "connectionCooldown": { "apikey": { "baseCooldownMs": 0, "useUpstreamRetryHints": false } },
        "providerBreaker": { "apikey": { "failureThreshold": 1_000 } },
    });
    store.put_value(store::SETTINGS, "resilienceSettings", &patience, now).await?;
    store.close().await?;
    cancel.cancel();
    tracker.close();
    tracker.wait().await;
    Ok(folder)
}

/// Three steps in the order of the list: the model itself, and two that are asked when it fails.
fn combo(model: &str, now: Timestamp) -> Combo {
    let step = |name: String| Step {
        id: name.clone(),
        kind: StepKind::Model {
            model: format!("openai/{name}"),
            provider_id: "openai".into(),
            connection_id: None,
            allowed_connection_ids: Vec::new(),
            prompt: None,
            tags: Vec::new(),
            fallback_only_on_quota_exhaustion: false,
        },
        weight: 0,
        enabled: true,
        label: None,
    };
    Combo {
        id: model.to_owned(),
        name: format!("{COMBO}{model}"),
        strategy: Strategy::Priority,
        models: vec![step(model.to_owned()), step(format!("{model}-second")), step(format!("{model}-third"))],
        config: serde_json::Map::new(),
        system_message: None,
        context_cache_protection: false,
        is_hidden: false,
        is_active: true,
        order: 0,
        composite_tiers: None,
        created_at: now,
        updated_at: now,
    }
}

impl Program {
    /// `omniroute serve` on a free port.
    pub fn start(binary: &Path, folder: &Path) -> Result<Program> {
        let arguments = ["serve", "--port", "0", "--json", "--data-dir"].map(OsStr::new);
        Program::spawn(Command::new(binary).args(arguments).arg(folder).env(wire::env::SECRET_STORE, "file"))
    }

    /// The bare relay: this program again, in its other role.
    pub fn start_bare(upstream: &str) -> Result<Program> {
        Program::spawn(Command::new(std::env::current_exe()?).args([bare::ARGUMENT, upstream]))
    }

    fn spawn(command: &mut Command) -> Result<Program> {
        let start = Instant::now();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let output = child.stdout.take().context("an output")?;
        let mut program = Program { child, url: String::new(), started_in: Duration::ZERO };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        program.started_in = start.elapsed();
        let said: serde_json::Value = serde_json::from_str(&line)
            .with_context(|| format!("no address in {line:?}: the program did not start"))?;
        program.url = said["url"].as_str().context("a url")?.to_owned();
        Ok(program)
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Resident memory in KiB.
    pub fn memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("a resident size")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    pub fn work(&self) -> Result<Work> {
        let mut work = Work::default();
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let figures = std::fs::read_to_string(task?.path().join("schedstat"))?;
            let mut figures = figures.split_whitespace().map(str::parse::<u64>);
            work.time += Duration::from_nanos(figures.next().context("a time")??);
            work.turns += figures.nth(1).context("turns")??;
        }
        Ok(work)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
