//! A server that is set up by a script: an empty folder, and in the end an agent that is served.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use domain::Dialect;
use fake_upstream::FakeUpstream;
use http::Method;
use serde_json::{Value, json};

use crate::program::{Program, client, command};

const CREDENTIAL: &str = "sk-upstream-7f3a9c5e1b";

/// One call of the command line: its one JSON document.
async fn run(folder: &Path, arguments: &[&str], input: &str) -> Value {
    let mut command: Command = command(folder);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let input = input.to_owned();
    let running = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().expect("the program starts");
        child.stdin.take().expect("its input").write_all(input.as_bytes()).expect("written");
        child.wait_with_output().expect("an end")
    });
    let output = tokio::time::timeout(acceptance::PATIENCE, running).await.expect("an end in time").expect("an output");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said} {}", String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains(CREDENTIAL), "{arguments:?}: {said}");
    serde_json::from_str(&said).unwrap_or_else(|_| panic!("{arguments:?}: one document, not {said:?}"))
}

/// Every file of the folder that holds this text.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if std::fs::read(&path).expect("a file").windows(text.len()).any(|window| window == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// SP-14
#[tokio::test]
async fn an_empty_folder_becomes_a_gateway_by_commands_and_rest_alone() {
    let upstream = FakeUpstream::start().expect("a fake upstream");
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("data");
    let program = Program::start(&folder).await;
    let base = upstream.base_url(Dialect::Chat);
    let add = ["connection", "add", "--provider", "openai", "--name", "c1", "--api-key-stdin", "--base-url", &base];
    let made = run(&folder, &add, &format!("{CREDENTIAL}\n")).await;
    assert_eq!(made["connection"]["credentialTail"], "5e1b", "{made}");
    let combo = run(&folder, &["combo", "create", "--name", "work", "openai/m1"], "").await;
    assert_eq!(combo["combo"]["name"], "work", "{combo}");
    let key = run(&folder, &["key", "create", "--name", "agents"], "").await;
    let key = key["key"].as_str().expect("a key").to_owned();
    let http = client();
    let by_rest = json!({ "name": "rest", "models": ["openai/m2"] });
    program.manage(&http, Method::POST, "/api/combos", Some(by_rest)).await;

    for model in ["openai/m1", "work", "rest"] {
        let request = http.post(format!("{}/v1/chat/completions", program.url)).bearer_auth(&key);
        let body = acceptance::chat_body(model, false);
        let reply = request.header("content-type", "application/json").body(body).send().await.expect("an answer");
        assert_eq!(reply.status(), 200, "{model}");
    }
    assert_eq!(upstream.count(CREDENTIAL).completed, 3);
    assert!(run(&folder, &["status"], "").await.is_object());

    for path in ["/api/keys", "/api/providers", "/api/combos", "/api/requests", "/api/monitoring/health"] {
        let shown = program.manage(&http, Method::GET, path, None).await.to_string();
        assert!(!shown.contains(&key) && !shown.contains(CREDENTIAL), "{path}: {shown}");
    }
    program.terminate();
    assert!(program.ended().await.success());
    for secret in [key.as_str(), CREDENTIAL] {
        assert_eq!(files_with(&folder, secret), Vec::<String>::new());
    }
}
