//! `omniroute serve` as a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use acceptance::PATIENCE;
use bytes::Bytes;
use domain::Dialect;
use fake_upstream::FakeUpstream;
use serde_json::{Value, json};

/// A gateway in a process of its own; dropping it kills it.
pub(crate) struct Program {
    child: Child,
    pub(crate) url: String,
    pub(crate) folder: PathBuf,
}

/// The headless binary: the one in `OMNIROUTE_BINARIES`, else built now where cargo builds everything.
pub(crate) fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(folder) = std::env::var_os("OMNIROUTE_BINARIES") {
            return Path::new(&folder).join("omniroute");
        }
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "omniroute", "--bin", "omniroute", "--no-default-features"])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .status()
            .expect("cargo runs");
        assert!(built.success(), "the headless binary builds");
        // This test lies in `deps` beside it.
        let test = std::env::current_exe().expect("the test's own path");
        test.parent().and_then(Path::parent).expect("the target folder").join("omniroute")
    })
}

pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(binary());
    command.env_clear().env("OMNIROUTE_SECRET_STORE", "file").arg("--data-dir").arg(folder).arg("--json");
    command
}

impl Program {
    pub(crate) async fn start(folder: &Path) -> Program {
        Program::start_with(folder, &[]).await
    }

    /// The same with environment variables.
    pub(crate) async fn start_with(folder: &Path, environment: &[(&str, &Path)]) -> Program {
        let mut child = command(folder)
            .envs(environment.iter().copied())
            .args(["serve", "--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let output = child.stdout.take().expect("its output");
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a line");
            line
        });
        let line = tokio::time::timeout(PATIENCE, line).await.expect("a line in time").expect("a line");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the listening line, not {line:?}"));
        assert_eq!(said["event"], "listening", "{said}");
        Program { child, url: said["url"].as_str().expect("a URL").to_owned(), folder: folder.to_owned() }
    }

    fn token(&self) -> String {
        std::fs::read_to_string(self.folder.join("management-token")).expect("a token").trim().to_owned()
    }

    /// A management call; nothing when the program is gone before it answers.
    pub(crate) async fn try_manage(
        &self,
        http: &reqwest::Client,
        method: http::Method,
        path: &str,
        body: Option<Value>,
    ) -> Option<(u16, Value)> {
        let mut request = http.request(method, format!("{}{path}", self.url)).bearer_auth(self.token());
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.ok()?;
        let status = response.status().as_u16();
        Some((status, serde_json::from_slice(&response.bytes().await.ok()?).ok()?))
    }

    pub(crate) async fn manage(
        &self,
        http: &reqwest::Client,
        method: http::Method,
        path: &str,
        body: Option<Value>,
    ) -> Value {
        let (status, reply) = self.try_manage(http, method, path, body).await.expect("an answer");
        assert!((200..300).contains(&status), "{path}: {status} {reply}");
        reply
    }

    /// A local key, and an account of Anthropic's at the fake upstream.
    pub(crate) async fn set_up(&self, http: &reqwest::Client, upstream: &FakeUpstream) -> String {
        self.connect(http, "c1", &upstream.base_url(Dialect::Messages)).await;
        let made = self.manage(http, http::Method::POST, "/api/keys", Some(json!({"name": "agents"}))).await;
        made["key"].as_str().expect("a key").to_owned()
    }

    /// Another account of Anthropic's, with the credential `credential-of-NAME`; its id.
    pub(crate) async fn connect(&self, http: &reqwest::Client, name: &str, base_url: &str) -> String {
        let account = json!({
            "provider": "anthropic", "name": name, "apiKey": format!("credential-of-{name}"),
            "providerSpecificData": {"baseUrl": base_url},
        });
        let made = self.manage(http, http::Method::POST, "/api/providers", Some(account)).await;
        made["connection"]["id"].as_str().expect("an id").to_owned()
    }

    /// Sends a streamed request and returns the reply, unread.
    pub(crate) async fn ask(&self, http: &reqwest::Client, key: &str) -> reqwest::Response {
        self.ask_for(http, key, "anthropic/m1").await
    }

    /// The same for any model.
    pub(crate) async fn ask_for(&self, http: &reqwest::Client, key: &str, model: &str) -> reqwest::Response {
        let body = acceptance::messages_body(model, true);
        let request = http.post(format!("{}/v1/messages", self.url)).header("x-api-key", key);
        request.header("content-type", "application/json").body(body).send().await.expect("an answer")
    }

    /// Resident memory in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
        line.split_whitespace().nth(1).and_then(|size| size.parse().ok()).expect("a size")
    }

    /// No goodbye: `kill -9` after this long, whatever it is doing then.
    pub(crate) fn kill_in(&self, after: Duration) -> std::thread::JoinHandle<()> {
        let id = self.child.id();
        std::thread::spawn(move || {
            std::thread::sleep(after);
            signal(id, "-KILL");
        })
    }

    /// Asks the program to stop, as a service manager would.
    pub(crate) fn terminate(&self) {
        signal(self.child.id(), "-TERM");
    }

    /// Waits for its end.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        let ends = Instant::now() + PATIENCE;
        let waiting = tokio::task::spawn_blocking(move || {
            loop {
                if let Some(status) = self.child.try_wait().expect("a status") {
                    return status;
                }
                assert!(Instant::now() < ends, "it does not stop");
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        waiting.await.expect("an end")
    }
}

fn signal(id: u32, name: &str) {
    let sent = Command::new("kill").args([name, &id.to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may be gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs the program until it ends by itself, which it must.
pub(crate) async fn run(mut command: Command) -> Output {
    let running = tokio::task::spawn_blocking(move || command.stdin(Stdio::null()).output().expect("the program runs"));
    tokio::time::timeout(PATIENCE, running).await.expect("an end in time").expect("an output")
}

/// A client whose connections are shared, as an agent's are.
pub(crate) fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().tcp_nodelay(true).build().expect("a client")
}

/// Everything that is left of a reply; nothing when it broke.
pub(crate) async fn rest(response: reqwest::Response) -> Option<Bytes> {
    tokio::time::timeout(PATIENCE, response.bytes()).await.expect("an end in time").ok()
}
