//! `omniroute combo …`.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::arguments::{ComboCommand, CreateCombo};
use super::client::{Client, ClientError, segment};
use super::{Context, print_json, say, text};

pub(super) async fn run(
    context: &Context,
    url: Option<String>,
    command: ComboCommand,
) -> Result<ExitCode, ClientError> {
    let client = context.client(url)?;
    match command {
        ComboCommand::Create(create) => {
            let reply = client.post("/api/combos", body(&create)).await?;
            warn(&reply);
            context.show(&reply, || text::of(&reply["combo"]["id"]));
        }
        ComboCommand::List => {
            let reply = client.get("/api/combos?includeHidden=true").await?;
            context.show(&reply, || table(&reply));
        }
        ComboCommand::Remove { id } => {
            let reply = client.delete(&format!("/api/combos/{}", segment(&id))).await?;
            context.show(&reply, || "removed".to_owned());
        }
        ComboCommand::Export { id } => export(&client, id.as_deref()).await?,
        ComboCommand::Import { file, replace } => {
            let reply = client.post("/api/combos/import", import(&file, replace)?).await?;
            warn(&reply);
            context.show(&reply, || table(&reply));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What is worth knowing, on standard error.
fn warn(reply: &Value) {
    for warning in reply["warnings"].as_array().into_iter().flatten() {
        let (provider, model) = (text::of(&warning["providerId"]), text::of(&warning["modelId"]));
        say(&match warning["code"].as_str() {
            Some("COMBO_NAME_SHADOWS_MODEL") => {
                format!("the name is also that of {provider}/{model}, which it stands before")
            }
            Some("MODEL_UNKNOWN") => format!("{provider} does not list {model}: it is sent as it is"),
            Some("CONNECTION_UNKNOWN") => format!("{provider}/{model} is bound to an account that is not here"),
            Some(_) | None => format!("{}: {provider}/{model}", text::of(&warning["code"])),
        });
    }
}

fn body(create: &CreateCombo) -> Value {
    let mut body = Map::new();
    body.insert("name".to_owned(), json!(create.name));
    if let Some(strategy) = &create.strategy {
        body.insert("strategy".to_owned(), json!(strategy));
    }
    body.insert("models".to_owned(), json!(create.steps));
    Value::Object(body)
}

/// The document itself, for people and for programs alike.
async fn export(client: &Client, id: Option<&str>) -> Result<(), ClientError> {
    let query = id.map(|id| format!("?id={}", segment(id))).unwrap_or_default();
    print_json(&client.get(&format!("/api/combos/export{query}")).await?);
    Ok(())
}

fn import(file: &Path, replace: bool) -> Result<Value, ClientError> {
    let mut written = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().read_to_string(&mut written).map(drop)
    } else {
        std::fs::read_to_string(file).map(|read| written = read)
    };
    read.map_err(|error| ClientError::Usage(format!("{} cannot be read: {error}", file.display())))?;
    let document: Value = serde_json::from_str(&written)
        .map_err(|error| ClientError::Usage(format!("{} holds no JSON: {error}", file.display())))?;
    Ok(json!({ "document": document, "taken": if replace { "replace" } else { "refuse" } }))
}

fn table(reply: &Value) -> String {
    let mut rows = vec![["ID", "NAME", "STRATEGY", "ACTIVE", "STEPS"].map(str::to_owned).to_vec()];
    for combo in reply["combos"].as_array().into_iter().flatten() {
        let steps = combo["models"].as_array().into_iter().flatten().map(step);
        rows.push(vec![
            text::of(&combo["id"]),
            text::of(&combo["name"]),
            text::of(&combo["strategy"]),
            if combo["isActive"] == true { "yes" } else { "no" }.to_owned(),
            steps.collect::<Vec<_>>().join(", "),
        ]);
    }
    text::columns(&rows)
}

/// A step in shorthand.
fn step(step: &Value) -> String {
    match step["kind"].as_str() {
        Some("combo-ref") => text::of(&step["comboName"]),
        Some("provider-wildcard") => format!("{}/{}", text::of(&step["providerId"]), text::of(&step["modelPattern"])),
        Some(_) | None => text::of(&step["model"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_typed_is_sent() {
        let bare = CreateCombo { name: "team".to_owned(), strategy: None, steps: vec!["openai/m1".to_owned()] };
        assert_eq!(body(&bare), json!({"name": "team", "models": ["openai/m1"]}));
        let full = CreateCombo { strategy: Some("auto".to_owned()), ..bare };
        assert_eq!(body(&full), json!({"name": "team", "strategy": "auto", "models": ["openai/m1"]}));
    }

    #[test]
    fn a_document_is_sent_as_it_is_and_other_text_is_refused_here() {
        let folder = std::env::temp_dir().join(format!("omniroute-combos-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (good, bad) = (folder.join("good.json"), folder.join("bad.json"));
        std::fs::write(&good, r#"{"version":2,"combos":[]}"#).expect("a file");
        std::fs::write(&bad, "combos").expect("a file");
        let expected = json!({"document": {"version": 2, "combos": []}, "taken": "replace"});
        assert_eq!(import(&good, true).expect("a document"), expected);
        for wrong in [&bad, &folder.join("absent.json")] {
            assert!(matches!(import(wrong, false), Err(ClientError::Usage(_))), "{}", wrong.display());
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn steps_are_listed_in_shorthand() {
        let reply = json!({"combos": [{"id": "1", "name": "team", "strategy": "auto", "isActive": true, "models": [
            {"kind": "model", "model": "openai/m1"}, {"kind": "combo-ref", "comboName": "other"},
            {"kind": "provider-wildcard", "providerId": "claude", "modelPattern": "claude-*"}]}]});
        let expected =
            "ID  NAME  STRATEGY  ACTIVE  STEPS\n1   team  auto      yes     openai/m1, other, claude/claude-*";
        assert_eq!(table(&reply), expected);
    }
}
