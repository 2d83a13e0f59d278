//! `omniroute status`.

use std::process::ExitCode;

use serde_json::Value;

use super::client::ClientError;
use super::{Context, print, print_json, text};

pub(super) async fn run(context: &Context, url: Option<String>) -> Result<ExitCode, ClientError> {
    let client = context.client(url)?;
    let health = client.get("/api/monitoring/health").await?;
    if context.json {
        print_json(&health);
    } else {
        print(&summary(client.url(), &health));
    }
    Ok(ExitCode::SUCCESS)
}

fn summary(url: &str, health: &Value) -> String {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let connections = &health["connectionHealth"];
    let counts: Vec<String> = [
        ("ready", &connections["ready"]),
        ("failing", &connections["failing"]),
        ("without credential", &connections["withoutCredential"]),
        ("switched off", &connections["switchedOff"]),
    ]
    .into_iter()
    .filter(|(word, count)| *word == "ready" || number(count) > 0)
    .map(|(word, count)| format!("{} {word}", number(count)))
    .collect();
    text::columns(&[
        vec!["address".into(), url.into()],
        vec!["version".into(), text::of(&health["version"])],
        vec!["status".into(), text::of(&health["status"])],
        vec!["uptime".into(), text::duration(number(&health["uptime"]))],
        vec!["connections".into(), counts.join(", ")],
        vec!["in flight".into(), number(&health["activeConnections"]).to_string()],
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn health_fits_in_six_lines() {
        let health = json!({"version": "0.1.0", "status": "healthy", "uptime": 3_720, "activeConnections": 2,
            "connectionHealth": {"ready": 3, "failing": 1, "withoutCredential": 0, "switchedOff": 0}});
        let expected = "address      http://127.0.0.1:1\n\
                        version      0.1.0\n\
                        status       healthy\n\
                        uptime       1 h 2 min\n\
                        connections  3 ready, 1 failing\n\
                        in flight    2";
        assert_eq!(summary("http://127.0.0.1:1", &health), expected);
    }
}
