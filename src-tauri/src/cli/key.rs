//! `omniroute key …`.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::arguments::{CreateKey, KeyCommand};
use super::client::{ClientError, segment};
use super::{Context, print, print_json, text};

pub(super) async fn run(context: &Context, url: Option<String>, command: KeyCommand) -> Result<ExitCode, ClientError> {
    let client = context.client(url)?;
    match command {
        KeyCommand::Create(create) => {
            let reply = client.post("/api/keys", body(&create)).await?;
            // The key alone on one line, so that a script can take it as it is.
            show(context, &reply, || text::of(&reply["key"]));
        }
        KeyCommand::List => {
            let reply = client.get("/api/keys").await?;
            show(context, &reply, || table(&reply));
        }
        KeyCommand::Revoke { id } => {
            let reply = client.delete(&format!("/api/keys/{}", segment(&id))).await?;
            show(context, &reply, || "revoked".to_owned());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(context: &Context, reply: &Value, for_people: impl FnOnce() -> String) {
    if context.json {
        print_json(reply);
    } else {
        print(&for_people());
    }
}

fn body(create: &CreateKey) -> Value {
    let mut body = Map::new();
    body.insert("name".to_owned(), json!(create.name));
    if !create.scopes.is_empty() {
        body.insert("scopes".to_owned(), json!(create.scopes));
    }
    if !create.allowed_connections.is_empty() {
        body.insert("allowedConnections".to_owned(), json!(create.allowed_connections));
    }
    if let Some(instant) = &create.expires_at {
        body.insert("expiresAt".to_owned(), json!(instant));
    }
    Value::Object(body)
}

fn table(reply: &Value) -> String {
    let mut rows = vec![["ID", "NAME", "KEY", "ACTIVE", "LAST USED", "EXPIRES"].map(str::to_owned).to_vec()];
    for key in reply["keys"].as_array().into_iter().flatten() {
        rows.push(vec![
            text::of(&key["id"]),
            text::of(&key["name"]),
            format!("…{}", text::of(&key["tail"])),
            if key["isActive"] == true { "yes" } else { "no" }.to_owned(),
            text::of(&key["lastUsedAt"]),
            text::of(&key["expiresAt"]),
        ]);
    }
    text::columns(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_typed_is_sent() {
        let bare = CreateKey { name: "k".to_owned(), scopes: vec![], allowed_connections: vec![], expires_at: None };
        assert_eq!(body(&bare), json!({"name": "k"}));
        let full = CreateKey {
            scopes: vec!["self:usage".to_owned()],
            allowed_connections: vec!["c1".to_owned()],
            expires_at: Some("2027-01-01T00:00:00Z".to_owned()),
            ..bare
        };
        let expected = json!({"name": "k", "scopes": ["self:usage"], "allowedConnections": ["c1"],
            "expiresAt": "2027-01-01T00:00:00Z"});
        assert_eq!(body(&full), expected);
    }
}
