//! Providers behind TLS: certificates of every kind, and both versions of HTTP inside.
//!
//! The program trusts what its system trusts; `SSL_CERT_FILE` makes that the authority of the fake upstream.

use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::Dialect;
use fake_upstream::{Answer, Certificate, FakeUpstream, Gate, HttpVersions, Options, Step, Tls};
use http::Method;
use serde_json::json;
use tempfile::TempDir;

use crate::program::{Program, client, rest};

/// A provider behind TLS, and a program that trusts its authority.
struct Secured {
    upstream: FakeUpstream,
    program: Program,
    http: reqwest::Client,
    key: String,
    _folder: TempDir,
}

fn upstream(tls: Tls) -> FakeUpstream {
    FakeUpstream::start_with(Options { tls: Some(tls), ..Options::default() }).expect("a fake upstream")
}

fn write_authority(folder: &Path, upstream: &FakeUpstream) -> PathBuf {
    let file = folder.join("authority.pem");
    std::fs::write(&file, upstream.authority().expect("an authority")).expect("written");
    file
}

impl Secured {
    async fn start(tls: Tls) -> Secured {
        let upstream = upstream(tls);
        let folder = tempfile::tempdir().expect("a folder");
        let authority = write_authority(folder.path(), &upstream);
        let program = Program::start_with(&folder.path().join("data"), &[("SSL_CERT_FILE", &authority)]).await;
        let http = client();
        let key = program.set_up(&http, &upstream).await;
        Secured { upstream, program, http, key, _folder: folder }
    }

    /// Asks for a stream: the status, and everything that came.
    async fn ask(&self) -> (u16, String) {
        let reply = self.program.ask(&self.http, &self.key).await;
        let status = reply.status().as_u16();
        let body = rest(reply).await.expect("an unbroken stream");
        (status, String::from_utf8_lossy(&body).into_owned())
    }
}

fn is_whole((status, text): &(u16, String)) -> bool {
    *status == 200 && text.contains("event: message_stop") && !text.contains("event: error")
}

#[tokio::test]
async fn a_provider_is_reached_in_whichever_version_of_http_it_offers() {
    for versions in [HttpVersions::Http1, HttpVersions::Http2, HttpVersions::Both] {
        let secured = Secured::start(Tls { versions, certificate: Certificate::Good }).await;
        for _ in 0..3 {
            let answer = secured.ask().await;
            assert!(is_whole(&answer), "{versions:?}: {answer:?}");
        }
        assert_eq!(secured.upstream.count("credential-of-c1").completed, 3, "{versions:?}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_said_and_an_agent_gets_an_error_of_its_dialect() {
    let other = upstream(Tls::BOTH);
    for (certificate, trusted, word) in [
        (Certificate::Expired, true, "expired"),
        (Certificate::OfAnotherHost, true, "another host name"),
        (Certificate::Good, false, "not signed by an authority"),
    ] {
        let upstream = upstream(Tls { versions: HttpVersions::Both, certificate });
        let folder = tempfile::tempdir().expect("a folder");
        let authority = write_authority(folder.path(), if trusted { &upstream } else { &other });
        let program = Program::start_with(&folder.path().join("data"), &[("SSL_CERT_FILE", &authority)]).await;
        let http = client();
        let key = program.set_up(&http, &upstream).await;
        let id = program.connect(&http, "c2", &upstream.base_url(Dialect::Messages)).await;
        let at_once = json!({ "waitForCooldown": { "enabled": false } });
        program.manage(&http, Method::PATCH, "/api/resilience", Some(at_once)).await;
        let tested = program
            .manage(&http, Method::POST, &format!("/api/providers/{id}/test"), Some(json!({"model": "m1"})))
            .await;
        assert_eq!((&tested["ok"], &tested["error"]["code"]), (&json!(false), &json!("tls")), "{tested}");
        assert!(tested["error"]["message"].as_str().is_some_and(|said| said.contains(word)), "{word}: {tested}");

        let reply = program.ask(&http, &key).await;
        assert_eq!(reply.status(), 502, "{word}");
        let said = rest(reply).await.expect("a body");
        let said: serde_json::Value = serde_json::from_slice(&said).expect("JSON");
        assert_eq!(said["type"], "error", "{said}");
        assert!(said["error"]["message"].as_str().is_some_and(|said| said.contains(word)), "{word}: {said}");
        assert_eq!(upstream.count(None).arrived, 0, "nothing is sent to whom is not trusted");
    }
}

#[tokio::test]
async fn a_stream_that_is_reset_takes_nothing_else_of_its_connection_with_it() {
    let secured = Secured::start(Tls { versions: HttpVersions::Http2, certificate: Certificate::Good }).await;
    secured.program.connect(&secured.http, "c2", &secured.upstream.base_url(Dialect::Messages)).await;
    let gate = Gate::closed();
    let slow = Step::answer(Answer::text("slow and whole")).held(&gate);
    secured.upstream.script("credential-of-c1", None).then(slow).then(Step::Reset).then(Step::ok("never"));
    secured.upstream.script("credential-of-c2", None).then(Step::ok("the other account"));
    let slow = secured.ask();
    let others = async {
        secured.upstream.wait_for_calls("credential-of-c1", 1).await.expect("the slow one");
        let answer = secured.ask().await;
        assert!(is_whole(&answer), "{answer:?}");
        assert_eq!(secured.upstream.count("credential-of-c2").completed, 1, "the other account answers");
        gate.open();
    };
    let (slow, ()) = tokio::join!(slow, others);
    assert!(is_whole(&slow), "{slow:?}");
    assert_eq!(secured.upstream.count("credential-of-c1").completed, 1);
    assert_eq!(secured.upstream.count("credential-of-c1").arrived, 2, "what was reset is not sent there again");
}

#[tokio::test]
async fn a_stream_that_is_reset_after_some_text_is_told() {
    for versions in [HttpVersions::Http1, HttpVersions::Http2] {
        let secured = Secured::start(Tls { versions, certificate: Certificate::Good }).await;
        let text = Answer::text("Once upon a time, and so on and so on").in_chunks(6, Duration::from_millis(10));
        secured.upstream.script("credential-of-c1", None).then(Step::answer(text).cut(900));
        let (status, told) = secured.ask().await;
        assert_eq!(status, 200, "{versions:?}: {told}");
        assert!(told.contains("event: error") && !told.contains("message_stop"), "{versions:?}: {told}");
    }
}

#[tokio::test]
async fn a_server_that_says_goodbye_loses_no_request() {
    for versions in [HttpVersions::Http1, HttpVersions::Http2] {
        let secured = Secured::start(Tls { versions, certificate: Certificate::Good }).await;
        let text = Answer::text("one two three four five six").in_chunks(4, Duration::from_millis(15));
        secured.upstream.script("credential-of-c1", None).then(Step::answer(text).last());
        for _ in 0..10 {
            let answer = secured.ask().await;
            assert!(is_whole(&answer), "{versions:?}: {answer:?}");
        }
        let (one, two, three) = tokio::join!(secured.ask(), secured.ask(), secured.ask());
        for answer in [one, two, three] {
            assert!(is_whole(&answer), "{versions:?}: {answer:?}");
        }
        let health = secured.program.manage(&secured.http, Method::GET, "/api/resilience/cooldowns", None).await;
        assert_eq!(health["connections"][0]["lastErrorType"], json!(null), "{versions:?}: {health}");
    }
}
