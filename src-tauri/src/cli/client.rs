//! A client of the management API: finds the gateway, carries the token, tells refusals from silence.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use server::{GatewayFile, wire};

/// Longer than the slowest test of a connection.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    token: Option<SecretString>,
}

#[derive(Debug)]
pub(crate) enum ClientError {
    /// There is no `gateway.json` in this data folder.
    NotRunning { data_dir: PathBuf },
    /// Nobody listens at the address.
    NoGateway { url: String },
    /// Somebody listens, but not a gateway.
    Silent { url: String, reason: String },
    /// The gateway said no.
    Refused { status: u16, body: Value },
    /// An argument cannot be used.
    Usage(String),
}

impl Client {
    /// `--url`, else `OMNIROUTE_URL`, else what the gateway of the data folder wrote down.
    pub(crate) fn find(
        url: Option<String>,
        data_dir: &Path,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, ClientError> {
        let given = url.or_else(|| environment.get(wire::env::URL).filter(|url| !url.is_empty()).cloned());
        let url = match given {
            Some(url) => url,
            None => match GatewayFile::read(data_dir) {
                Ok(Some(file)) => file.url,
                Ok(None) | Err(_) => return Err(ClientError::NotRunning { data_dir: data_dir.to_owned() }),
            },
        };
        let http = reqwest::Client::builder()
            .no_proxy()
            .timeout(TIMEOUT)
            .build()
            .map_err(|error| ClientError::Usage(error.to_string()))?;
        Ok(Client { http, url: url.trim_end_matches('/').to_owned(), token: token(data_dir, environment) })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, ClientError> {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Value, ClientError> {
        self.call(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Value, ClientError> {
        self.call(Method::DELETE, path, None).await
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, ClientError> {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose_secret());
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.map_err(|error| self.unanswered(&error))?;
        let status = response.status();
        let body = response.json::<Value>().await.map_err(|error| self.unanswered(&error))?;
        if status.is_success() { Ok(body) } else { Err(ClientError::Refused { status: status.as_u16(), body }) }
    }

    fn unanswered(&self, error: &reqwest::Error) -> ClientError {
        let url = self.url.clone();
        if error.is_builder() {
            return ClientError::Usage(format!("{url} is not an address"));
        }
        if error.is_connect() {
            return ClientError::NoGateway { url };
        }
        let reason = if error.is_timeout() { "no answer in time" } else { "the answer is not a gateway's" };
        ClientError::Silent { url, reason: reason.to_owned() }
    }
}

/// One segment of a path, so that an id can never reach another path.
pub(crate) fn segment(id: &str) -> String {
    let mut encoded = String::with_capacity(id.len());
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => encoded.push(char::from(byte)),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

fn token(data_dir: &Path, environment: &BTreeMap<String, String>) -> Option<SecretString> {
    let given = environment.get(wire::env::MANAGEMENT_TOKEN).map(|token| token.trim().to_owned());
    let given = given.filter(|token| !token.is_empty());
    let stored = || {
        let text = std::fs::read_to_string(data_dir.join(wire::file::MANAGEMENT_TOKEN)).ok()?;
        Some(text.trim().to_owned()).filter(|token| !token.is_empty())
    };
    given.or_else(stored).map(SecretString::from)
}

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ClientError::NotRunning { data_dir } => {
                write!(
                    f,
                    "no gateway is running with the data folder {}; start it with `omniroute serve`",
                    data_dir.display()
                )
            }
            ClientError::NoGateway { url } => {
                write!(f, "no gateway answers at {url}; start it with `omniroute serve`, or name another with --url")
            }
            ClientError::Silent { url, reason } => write!(f, "no gateway answers at {url}: {reason}"),
            ClientError::Refused { status, body } => {
                let error = &body["error"];
                let message = error["message"].as_str().unwrap_or("without a reason");
                write!(f, "the gateway refused ({status}): {message}")?;
                let details = error["details"].as_array().map(Vec::as_slice).unwrap_or_default();
                for detail in details.iter().skip(1) {
                    let text = |name: &str| detail[name].as_str().unwrap_or_default().to_owned();
                    write!(f, "; {}: {}", text("field"), text("message"))?;
                }
                Ok(())
            }
            ClientError::Usage(message) => f.write_str(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_stays_one_segment() {
        for (id, encoded) in [("0190-ab_C", "0190-ab_C"), ("../keys", "%2E%2E%2Fkeys"), ("a?b", "a%3Fb")] {
            assert_eq!(segment(id), encoded);
        }
    }

    #[test]
    fn the_address_comes_from_the_argument_the_environment_or_the_data_folder() {
        let dir = tempfile::tempdir().expect("a folder");
        let set = BTreeMap::from([("OMNIROUTE_URL".to_owned(), "http://127.0.0.1:2".to_owned())]);
        let url = |given: Option<&str>, environment: &BTreeMap<String, String>| {
            Client::find(given.map(str::to_owned), dir.path(), environment).map(|client| client.url)
        };
        assert_eq!(url(Some("http://127.0.0.1:1/"), &set).ok().as_deref(), Some("http://127.0.0.1:1"));
        assert_eq!(url(None, &set).ok().as_deref(), Some("http://127.0.0.1:2"));
        assert!(matches!(url(None, &BTreeMap::new()), Err(ClientError::NotRunning { .. })));
        let file = json!({"url": "http://127.0.0.1:3", "port": 3, "pid": 1, "version": "0", "startedAt": ""});
        std::fs::write(dir.path().join("gateway.json"), file.to_string()).expect("written");
        assert_eq!(url(None, &BTreeMap::new()).ok().as_deref(), Some("http://127.0.0.1:3"));
    }

    #[test]
    fn the_environment_replaces_the_token_of_the_data_folder() {
        let dir = tempfile::tempdir().expect("a folder");
        let found = |environment: &BTreeMap<String, String>| {
            token(dir.path(), environment).map(|token| token.expose_secret().to_owned())
        };
        assert_eq!(found(&BTreeMap::new()), None);
        std::fs::write(dir.path().join("management-token"), "omt_file\n").expect("written");
        assert_eq!(found(&BTreeMap::new()).as_deref(), Some("omt_file"));
        let set = BTreeMap::from([("OMNIROUTE_MANAGEMENT_TOKEN".to_owned(), "omt_env".to_owned())]);
        assert_eq!(found(&set).as_deref(), Some("omt_env"));
    }

    #[test]
    fn a_refusal_names_every_field() {
        let body = json!({"error": {"code": "invalid_request", "message": "name: must not be empty", "details": [
            {"field": "name", "message": "must not be empty"}, {"field": "tags", "message": "too many"}]}});
        let said = ClientError::Refused { status: 400, body }.to_string();
        assert_eq!(said, "the gateway refused (400): name: must not be empty; tags: too many");
    }
}
