//! `omniroute pool …`.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::arguments::{CreatePool, PoolCommand};
use super::client::{ClientError, segment};
use super::{Context, text};

pub(super) async fn run(context: &Context, url: Option<String>, command: PoolCommand) -> Result<ExitCode, ClientError> {
    let client = context.client(url)?;
    match command {
        PoolCommand::Create(create) => {
            let reply = client.post("/api/quota/pools", body(&create)?).await?;
            context.show(&reply, || text::of(&reply["pool"]["id"]));
        }
        PoolCommand::List => {
            let reply = client.get("/api/quota/pools").await?;
            context.show(&reply, || table(&reply));
        }
        PoolCommand::Show { id } => {
            let reply = client.get(&format!("/api/quota/pools/{}/state", segment(&id))).await?;
            context.show(&reply, || state(&reply));
        }
        PoolCommand::Remove { id } => {
            let reply = client.delete(&format!("/api/quota/pools/{}", segment(&id))).await?;
            context.show(&reply, || "removed".to_owned());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn body(create: &CreatePool) -> Result<Value, ClientError> {
    let mut body = Map::new();
    body.insert("name".to_owned(), json!(create.name));
    body.insert("connections".to_owned(), json!(create.connections));
    if let Some(slug) = &create.slug {
        body.insert("slug".to_owned(), json!(slug));
    }
    if !create.limits.is_empty() {
        let limits: Result<Vec<Value>, ClientError> = create.limits.iter().map(|written| limit(written)).collect();
        body.insert("dimensions".to_owned(), json!(limits?));
    }
    if !create.keys.is_empty() {
        let parts: Result<Vec<Value>, ClientError> = create.keys.iter().map(|written| part(written)).collect();
        body.insert("allocations".to_owned(), json!(parts?));
    }
    Ok(Value::Object(body))
}

/// `1500:requests:hourly`.
fn limit(written: &str) -> Result<Value, ClientError> {
    let wrong =
        || ClientError::Usage(format!("--limit {written}: write AMOUNT:UNIT:WINDOW, such as 1500:requests:hourly"));
    let mut parts = written.splitn(3, ':');
    let (Some(amount), Some(unit), Some(window)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong());
    };
    let amount: f64 = amount.parse().map_err(|_| wrong())?;
    Ok(json!({ "unit": unit, "window": window, "limit": amount }))
}

/// `KEY:3:hard`; a weight alone makes way for others at its end.
fn part(written: &str) -> Result<Value, ClientError> {
    let wrong =
        || ClientError::Usage(format!("--key {written}: write ID:WEIGHT or ID:WEIGHT:POLICY, such as 7:3:hard"));
    let mut parts = written.splitn(3, ':');
    let (Some(id), Some(weight)) = (parts.next(), parts.next()) else { return Err(wrong()) };
    let weight: f64 = weight.parse().map_err(|_| wrong())?;
    Ok(json!({ "apiKeyId": id, "weight": weight, "policy": parts.next().unwrap_or("soft") }))
}

fn table(reply: &Value) -> String {
    let mut rows = vec![["ID", "NAME", "MODELS", "LIMITS", "KEYS"].map(str::to_owned).to_vec()];
    for pool in reply["pools"].as_array().into_iter().flatten() {
        let limits = pool["dimensions"].as_array().into_iter().flatten().map(|limit| {
            format!("{} {} {}", text::of(&limit["limit"]), text::of(&limit["unit"]), text::of(&limit["window"]))
        });
        rows.push(vec![
            text::of(&pool["id"]),
            text::of(&pool["name"]),
            format!("qtSd/{}/…", text::of(&pool["slug"])),
            limits.collect::<Vec<_>>().join(", "),
            pool["allocations"].as_array().map_or(0, Vec::len).to_string(),
        ]);
    }
    text::columns(&rows)
}

/// What each key used of its share, a column for each limit.
fn state(reply: &Value) -> String {
    let limits: Vec<&Value> = reply["dimensions"].as_array().into_iter().flatten().collect();
    let mut head = vec!["KEY".to_owned(), "STANDING".to_owned()];
    head.extend(
        limits
            .iter()
            .map(|limit| format!("{} {}", text::of(&limit["unit"]), text::of(&limit["window"])).to_uppercase()),
    );
    let mut rows = vec![head];
    for key in reply["keys"].as_array().into_iter().flatten() {
        let name = if key["apiKeyId"].is_null() { "(without a key)".to_owned() } else { text::of(&key["name"]) };
        let mut row = vec![name, text::of(&key["standing"])];
        let uses = key["uses"].as_array().into_iter().flatten();
        row.extend(uses.map(|used| format!("{} of {}", figure(&used["used"]), figure(&used["share"]))));
        rows.push(row);
    }
    text::columns(&rows)
}

fn figure(value: &Value) -> String {
    let rounded = (value.as_f64().unwrap_or(0.0) * 100.0).round() / 100.0;
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_typed_is_sent() {
        let bare = CreatePool {
            name: "team".to_owned(),
            slug: None,
            connections: vec!["c1".to_owned()],
            limits: Vec::new(),
            keys: Vec::new(),
        };
        assert_eq!(body(&bare).expect("a body"), json!({"name": "team", "connections": ["c1"]}));
        let full = CreatePool {
            slug: Some("t".to_owned()),
            limits: vec!["1500:requests:hourly".to_owned()],
            keys: vec!["k1:3:hard".to_owned(), "k2:0.5".to_owned()],
            ..bare
        };
        let expected = json!({
            "name": "team", "slug": "t", "connections": ["c1"],
            "dimensions": [{"unit": "requests", "window": "hourly", "limit": 1500.0}],
            "allocations": [
                {"apiKeyId": "k1", "weight": 3.0, "policy": "hard"}, {"apiKeyId": "k2", "weight": 0.5, "policy": "soft"},
            ],
        });
        assert_eq!(body(&full).expect("a body"), expected);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_an_example() {
        for (limits, keys) in [(vec!["1500"], vec![]), (vec!["much:usd:daily"], vec![]), (vec![], vec!["k1"])] {
            let own = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect();
            let create = CreatePool {
                name: "team".to_owned(),
                slug: None,
                connections: vec!["c1".to_owned()],
                limits: own(limits),
                keys: own(keys),
            };
            let refused = body(&create).expect_err("refused");
            assert!(matches!(&refused, ClientError::Usage(message) if message.contains("such as")), "{refused}");
        }
    }

    #[test]
    fn a_pool_is_shown_by_key_and_limit() {
        let reply = json!({
            "dimensions": [{"unit": "requests", "window": "5h"}],
            "keys": [
                {"apiKeyId": "k1", "name": "laptop", "standing": "refused", "uses": [{"used": 30.0, "share": 30.0}]},
                {"apiKeyId": null, "name": null, "standing": "lowered", "uses": [{"used": 1.256, "share": 0.0}]},
            ],
        });
        let expected = "KEY              STANDING  REQUESTS 5H\n\
                        laptop           refused   30 of 30\n\
                        (without a key)  lowered   1.26 of 0";
        assert_eq!(state(&reply), expected);
    }
}
