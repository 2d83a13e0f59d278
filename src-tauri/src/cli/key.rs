//! `omniroute key …`.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::arguments::{CreateKey, KeyCommand};
use super::client::{ClientError, segment};
use super::token_limit::TokenLimit;
use super::{Context, text};

pub(super) async fn run(context: &Context, url: Option<String>, command: KeyCommand) -> Result<ExitCode, ClientError> {
    let client = context.client(url)?;
    match command {
        KeyCommand::Create(create) => {
            let reply = client.post("/api/keys", body(&create)).await?;
            // The key alone on one line, so that a script can take it as it is.
            context.show(&reply, || text::of(&reply["key"]));
        }
        KeyCommand::List => {
            let reply = client.get("/api/keys").await?;
            context.show(&reply, || table(&reply));
        }
        KeyCommand::Revoke { id } => {
            let reply = client.delete(&format!("/api/keys/{}", segment(&id))).await?;
            context.show(&reply, || "revoked".to_owned());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn body(create: &CreateKey) -> Value {
    let token_limits: Vec<Value> = create.token_limits.iter().map(TokenLimit::as_json).collect();
    let members = [
        ("name", json!(create.name)),
        ("scopes", json!(create.scopes)),
        ("allowedModels", json!(create.allowed_models)),
        ("allowedCombos", json!(create.allowed_combos)),
        ("allowedConnections", json!(create.allowed_connections)),
        ("preferredConnections", json!(create.preferred_connections)),
        ("budgetDailyUsd", json!(create.budget_daily)),
        ("budgetWeeklyUsd", json!(create.budget_weekly)),
        ("budgetMonthlyUsd", json!(create.budget_monthly)),
        ("warningThreshold", json!(create.warn_at)),
        ("tokenLimits", json!(token_limits)),
        ("resetInterval", json!(create.reset_interval)),
        ("resetTime", json!(create.reset_time)),
        ("expiresAt", json!(create.expires_at)),
    ];
    let is_typed = |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    let typed = members.into_iter().filter(|(_, value)| is_typed(value));
    Value::Object(typed.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

fn table(reply: &Value) -> String {
    let mut rows = vec![["ID", "NAME", "KEY", "ACTIVE", "USED", "LAST USED", "EXPIRES"].map(str::to_owned).to_vec()];
    for key in reply["keys"].as_array().into_iter().flatten() {
        rows.push(vec![
            text::of(&key["id"]),
            text::of(&key["name"]),
            format!("…{}", text::of(&key["tail"])),
            if key["isActive"] == true { "yes" } else { "no" }.to_owned(),
            used(key),
            text::of(&key["lastUsedAt"]),
            text::of(&key["expiresAt"]),
        ]);
    }
    text::columns(&rows)
}

/// The limit that is nearest, in percent; a dash where there is none.
fn used(key: &Value) -> String {
    let shares = key["limitUse"].as_array().into_iter().flatten().filter_map(|limit| {
        let share = limit["used"].as_f64()? / limit["limit"].as_f64()?;
        Some((share * 100.0).floor())
    });
    shares.max_by(f64::total_cmp).map_or("-".to_owned(), |percent| format!("{percent} %"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_typed_is_sent() {
        let bare = CreateKey { name: "k".to_owned(), ..CreateKey::default() };
        assert_eq!(body(&bare), json!({"name": "k"}));
        let full = CreateKey {
            scopes: vec!["self:usage".to_owned()],
            allowed_models: vec!["openai/*".to_owned()],
            allowed_combos: vec!["team".to_owned()],
            allowed_connections: vec!["c1".to_owned()],
            preferred_connections: vec!["c1".to_owned()],
            budget_daily: Some(1.5),
            warn_at: Some(0.5),
            token_limits: vec!["openai=7".parse().expect("a limit")],
            reset_interval: Some("weekly".to_owned()),
            reset_time: Some("06:00".to_owned()),
            expires_at: Some("2027-01-01T00:00:00Z".to_owned()),
            ..bare
        };
        let expected = json!({"name": "k", "scopes": ["self:usage"], "allowedModels": ["openai/*"],
            "allowedCombos": ["team"], "allowedConnections": ["c1"], "preferredConnections": ["c1"],
            "budgetDailyUsd": 1.5, "warningThreshold": 0.5,
            "tokenLimits": [{"scopeType": "provider", "scopeValue": "openai", "tokenLimit": 7}],
            "resetInterval": "weekly", "resetTime": "06:00", "expiresAt": "2027-01-01T00:00:00Z"});
        assert_eq!(body(&full), expected);
    }
}
