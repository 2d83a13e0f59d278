//! `serve --config FILE`: `{"settings": …, "resilience": …}`, defaults with the rank of environment variables.

use std::path::Path;

use serde_json::{Map, Value};

use crate::ConfigFileError;

/// The file's contents as one settings tree.
pub(crate) fn read(path: &Path) -> Result<Value, ConfigFileError> {
    parse(&std::fs::read(path).map_err(ConfigFileError::Read)?)
}

fn parse(text: &[u8]) -> Result<Value, ConfigFileError> {
    let Value::Object(mut file) = serde_json::from_slice(text).map_err(ConfigFileError::NotJson)? else {
        return Err(ConfigFileError::Shape);
    };
    let mut tree = match file.remove("settings") {
        None => Map::new(),
        Some(Value::Object(settings)) => settings,
        Some(_) => return Err(ConfigFileError::Shape),
    };
    match file.remove("resilience") {
        None => {}
        Some(resilience @ Value::Object(_)) => {
            tree.insert("resilience".to_owned(), resilience);
        }
        Some(_) => return Err(ConfigFileError::Shape),
    }
    if file.is_empty() { Ok(Value::Object(tree)) } else { Err(ConfigFileError::Shape) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_parts_become_one_tree() {
        for (text, tree) in [
            (r#"{}"#, Some(json!({}))),
            (
                r#"{"settings":{"gateway":{"port":1}},"resilience":{"x":{}}}"#,
                Some(json!({"gateway": {"port": 1}, "resilience": {"x": {}}})),
            ),
            (r#"{"gateway":{"port":1}}"#, None),
            (r#"{"settings":7}"#, None),
            (r#"[]"#, None),
            (r#"{"#, None),
        ] {
            assert_eq!(parse(text.as_bytes()).ok(), tree, "{text}");
        }
    }
}
