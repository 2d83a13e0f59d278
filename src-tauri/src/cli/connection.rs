//! `omniroute connection …`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::arguments::{AddConnection, ConnectionCommand};
use super::client::{Client, ClientError, segment};
use super::{Context, exit, print, print_json, text};

pub(super) async fn run(
    context: &Context,
    url: Option<String>,
    command: ConnectionCommand,
) -> Result<ExitCode, ClientError> {
    let client = context.client(url)?;
    match command {
        ConnectionCommand::Add(add) => add_one(context, &client, add).await,
        ConnectionCommand::List { provider } => list(context, &client, provider).await,
        ConnectionCommand::Remove { id } => remove(context, &client, &id).await,
        ConnectionCommand::Test { id } => test(context, &client, &id).await,
    }
}

async fn add_one(context: &Context, client: &Client, add: AddConnection) -> Result<ExitCode, ClientError> {
    let key = match (add.api_key_stdin, &add.api_key_env) {
        (true, _) => Some(key_from_input()?),
        (false, Some(variable)) => Some(key_from_environment(&context.configuration.environment, variable)?),
        (false, None) => None,
    };
    let reply = client.post("/api/providers", body(&add, key.as_ref())).await?;
    if context.json {
        print_json(&reply);
    } else {
        let connection = &reply["connection"];
        print(&format!("added {} as {}", text::of(&connection["name"]), text::of(&connection["id"])));
    }
    Ok(ExitCode::SUCCESS)
}

fn body(add: &AddConnection, key: Option<&SecretString>) -> Value {
    let mut body = Map::new();
    body.insert("provider".to_owned(), json!(add.provider));
    body.insert("name".to_owned(), json!(add.name));
    if let Some(key) = key {
        body.insert("apiKey".to_owned(), json!(key.expose_secret()));
    }
    if let Some(url) = &add.base_url {
        body.insert("providerSpecificData".to_owned(), json!({ "baseUrl": url }));
    }
    if let Some(priority) = add.priority {
        body.insert("priority".to_owned(), json!(priority));
    }
    if let Some(cap) = add.max_concurrent {
        body.insert("maxConcurrent".to_owned(), json!(cap));
    }
    Value::Object(body)
}

/// The first line of standard input.
fn key_from_input() -> Result<SecretString, ClientError> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|error| ClientError::Usage(format!("standard input cannot be read: {error}")))?;
    not_empty(line.trim(), "standard input")
}

fn key_from_environment(environment: &BTreeMap<String, String>, variable: &str) -> Result<SecretString, ClientError> {
    let value = environment.get(variable).map(|value| value.trim()).unwrap_or_default();
    not_empty(value, &format!("the environment variable {variable}"))
}

fn not_empty(key: &str, source: &str) -> Result<SecretString, ClientError> {
    if key.is_empty() {
        return Err(ClientError::Usage(format!("{source} holds no key")));
    }
    Ok(SecretString::from(key))
}

async fn list(context: &Context, client: &Client, provider: Option<String>) -> Result<ExitCode, ClientError> {
    let query = provider.map(|id| format!("?provider={}", segment(&id))).unwrap_or_default();
    let reply = client.get(&format!("/api/providers{query}")).await?;
    if context.json {
        print_json(&reply);
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows =
        vec![["ID", "PROVIDER", "NAME", "PRIORITY", "ACTIVE", "KEY", "LAST ERROR"].map(str::to_owned).to_vec()];
    for connection in reply["connections"].as_array().into_iter().flatten() {
        let tail = connection["credentialTail"].as_str().map_or_else(|| "-".to_owned(), |tail| format!("…{tail}"));
        rows.push(vec![
            text::of(&connection["id"]),
            text::of(&connection["provider"]),
            text::of(&connection["name"]),
            text::of(&connection["priority"]),
            if connection["isActive"] == true { "yes" } else { "no" }.to_owned(),
            tail,
            text::of(&connection["lastError"]),
        ]);
    }
    print(&text::columns(&rows));
    Ok(ExitCode::SUCCESS)
}

async fn remove(context: &Context, client: &Client, id: &str) -> Result<ExitCode, ClientError> {
    let reply = client.delete(&format!("/api/providers/{}", segment(id))).await?;
    if context.json {
        print_json(&reply);
    } else {
        print("removed");
    }
    Ok(ExitCode::SUCCESS)
}

async fn test(context: &Context, client: &Client, id: &str) -> Result<ExitCode, ClientError> {
    let reply = client.post(&format!("/api/providers/{}/test", segment(id)), json!({})).await?;
    let passed = reply["ok"] == true;
    if context.json {
        print_json(&reply);
    } else if passed {
        print(&format!("works, answered in {} ms", text::of(&reply["latencyMs"])));
    } else {
        let error = &reply["error"];
        print(&format!("failed ({}): {}", text::of(&error["code"]), text::of(&error["message"])));
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::from(exit::REFUSED) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_typed_is_sent() {
        let add = AddConnection {
            provider: "openai".to_owned(),
            name: "c1".to_owned(),
            api_key_stdin: false,
            api_key_env: None,
            base_url: Some("http://127.0.0.1:1/v1".to_owned()),
            priority: None,
            max_concurrent: Some(2),
        };
        let expected = json!({"provider": "openai", "name": "c1", "apiKey": "sk-1", "maxConcurrent": 2,
            "providerSpecificData": {"baseUrl": "http://127.0.0.1:1/v1"}});
        assert_eq!(body(&add, Some(&SecretString::from("sk-1"))), expected);
    }

    #[test]
    fn a_key_must_be_where_it_was_said_to_be() {
        let set = BTreeMap::from([("KEY".to_owned(), " sk-1 ".to_owned()), ("EMPTY".to_owned(), String::new())]);
        assert_eq!(key_from_environment(&set, "KEY").expect("a key").expose_secret(), "sk-1");
        for variable in ["EMPTY", "ABSENT"] {
            assert!(matches!(key_from_environment(&set, variable), Err(ClientError::Usage(_))), "{variable}");
        }
    }
}
