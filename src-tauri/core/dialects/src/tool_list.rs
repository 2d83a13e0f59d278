//! Shortening the list of tools, for providers that refuse a long one (gateway specification, 3.10; specification's
//! decision 5).
//!
//! Only where the owner switched it on: an agent that misses a tool goes astray. The first tools stay, because agents list
//! their own before those of servers they are connected to; and a tool that must be called stays wherever it stands. A
//! request that passes as bytes is not rebuilt for it.

use std::ops::Range;

use bytes::Bytes;
use domain::Dialect;
use serde_json::Value;

use crate::canonical::{Request, ToolChoice};
use crate::json::{Kind, Scanner};
use crate::responses::request::server_kind;
use crate::splice::{Edit, Removable, removals, splice};
use crate::thoughts::elements_of;

/// Leaves a request at most `most` tools.
pub fn shorten(request: &mut Request, most: u32) {
    let wanted = match &request.tool_choice {
        Some(ToolChoice::One(name)) => vec![name.clone()],
        Some(ToolChoice::Subset { names, .. }) => names.clone(),
        Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Any) | None => Vec::new(),
    };
    let names: Vec<String> = request.tools.iter().map(|tool| tool.name.clone()).collect();
    let mut stays = stays(&names, &wanted, most).into_iter();
    request.tools.retain(|_| stays.next().unwrap_or(false));
}

/// `body` with at most `most` tools; the same bytes where it has no more, or where it is not of the dialect.
pub fn shortened(dialect: Dialect, body: &Bytes, most: u32) -> Bytes {
    splice(body, &mut edits(dialect, body, most).unwrap_or_default())
}

fn edits(dialect: Dialect, body: &[u8], most: u32) -> Option<Vec<Edit>> {
    let elements = elements_of(body, 0..body.len(), "tools")?;
    let wanted = wanted(body);
    let groups: Vec<Vec<Range<usize>>> = match dialect {
        Dialect::Gemini => elements.iter().map(|element| declarations(body, element)).collect(),
        Dialect::Chat | Dialect::Responses | Dialect::Messages => vec![elements.clone()],
    };
    let names: Vec<String> = groups.iter().flatten().map(|tool| name_of(&body[tool.clone()])).collect();
    let mut stays = stays(&names, &wanted, most).into_iter();
    let mut judge = |tools: &[Range<usize>]| -> Vec<Removable> {
        let judged = tools.iter().zip(&mut stays);
        judged.map(|(range, stays)| Removable { range: range.clone(), is_removed: !stays }).collect()
    };
    if dialect != Dialect::Gemini {
        return Some(removals(&judge(&elements)));
    }
    let (mut inner, mut outer) = (Vec::new(), Vec::new());
    for (element, tools) in elements.into_iter().zip(&groups) {
        let judged = judge(tools);
        // A group of which nothing stays goes with its tools.
        let is_removed = !judged.is_empty() && judged.iter().all(|tool| tool.is_removed);
        if !is_removed {
            inner.extend(removals(&judged));
        }
        outer.push(Removable { range: element, is_removed });
    }
    inner.extend(removals(&outer));
    Some(inner)
}

/// Which tools stay: those that are wanted by name, then the first.
fn stays(names: &[String], wanted: &[String], most: u32) -> Vec<bool> {
    let mut room = usize::try_from(most).unwrap_or(usize::MAX);
    let mut stays = vec![false; names.len()];
    for by_name in [true, false] {
        for (name, stays) in names.iter().zip(&mut stays) {
            let takes = !*stays && room > 0 && (!by_name || wanted.contains(name));
            *stays |= takes;
            room -= usize::from(takes);
        }
    }
    stays
}

fn declarations(body: &[u8], tool: &Range<usize>) -> Vec<Range<usize>> {
    let of = |name| elements_of(body, tool.clone(), name);
    of("functionDeclarations").or_else(|| of("function_declarations")).unwrap_or_default()
}

fn name_of(tool: &[u8]) -> String {
    let read = serde_json::from_slice::<Value>(tool).unwrap_or_default();
    name_in(&read).unwrap_or_default().to_owned()
}

/// What tells a tool from others, as every dialect writes it in its list and in a choice: a name, of a server's tools the
/// server, of the vendor's own their kind.
fn name_in(tool: &Value) -> Option<&str> {
    let names = [&tool["function"]["name"], &tool["custom"]["name"], &tool["server_label"], &tool["name"]];
    let name = names.into_iter().find_map(Value::as_str);
    name.or_else(|| tool["type"].as_str().map(server_kind))
}

/// The tools that a choice names, one or several.
fn named(choice: &Value) -> Vec<String> {
    let several = [&choice["allowed_tools"]["tools"], &choice["tools"]].into_iter().find_map(Value::as_array);
    let tools = several.map_or(std::slice::from_ref(choice), Vec::as_slice);
    // A tool within a namespace stays with all of it.
    let names = tools.iter().flat_map(|tool| [name_in(tool), tool["namespace"].as_str()]);
    names.flatten().map(str::to_owned).collect()
}

/// The tools that must stay: the one that is to be called, or those that alone may be.
fn wanted(body: &[u8]) -> Vec<String> {
    let member = |name: &str| -> Option<Value> {
        let mut found = None;
        let read = Scanner::new(body).object(|scanner, key| {
            let is_wanted = scanner.is(&key, name) && scanner.peek()? == Kind::Object;
            let range = scanner.skip()?;
            if is_wanted {
                found = serde_json::from_slice(&body[range]).ok();
            }
            Ok(())
        });
        read.ok().and(found)
    };
    if let Some(choice) = member("tool_choice") {
        return named(&choice);
    }
    let config = member("toolConfig").or_else(|| member("tool_config")).unwrap_or_default();
    let calling = [&config["functionCallingConfig"], &config["function_calling_config"]];
    let names = calling.into_iter().flat_map(|calling| {
        [&calling["allowedFunctionNames"], &calling["allowed_function_names"]].into_iter().filter_map(Value::as_array)
    });
    names.flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tools_stay_and_whatever_must_be_called() {
        for (dialect, body, expected) in [
            (
                Dialect::Chat,
                r#"{"tools":[{"function":{"name":"a"}}, {"function":{"name":"b"}},{"function":{"name":"c"}}],"x":1.0}"#,
                r#"{"tools":[{"function":{"name":"a"}}, {"function":{"name":"b"}}],"x":1.0}"#,
            ),
            (
                Dialect::Chat,
                r#"{"tool_choice":{"type":"function","function":{"name":"c"}},"tools":[{"function":{"name":"a"}},{"function":{"name":"b"}},{"function":{"name":"c"}}]}"#,
                r#"{"tool_choice":{"type":"function","function":{"name":"c"}},"tools":[{"function":{"name":"a"}},{"function":{"name":"c"}}]}"#,
            ),
            (
                Dialect::Messages,
                r#"{"tools":[{"name":"a"},{"name":"b"},{"name":"c"}],"tool_choice":{"type":"tool","name":"c"}}"#,
                r#"{"tools":[{"name":"a"},{"name":"c"}],"tool_choice":{"type":"tool","name":"c"}}"#,
            ),
            (
                Dialect::Responses,
                r#"{"tools":[{"type":"function","name":"a"},{"type":"web_search"},{"name":"c"}],"tool_choice":"auto"}"#,
                r#"{"tools":[{"type":"function","name":"a"},{"type":"web_search"}],"tool_choice":"auto"}"#,
            ),
            (
                Dialect::Gemini,
                r#"{"tools":[{"functionDeclarations":[{"name":"a"},{"name":"b"}]},{"googleSearch":{}},{"functionDeclarations":[{"name":"c"},{"name":"d"}]},{"functionDeclarations":[{"name":"e"}]}],"toolConfig":{"functionCallingConfig":{"allowedFunctionNames":["d"]}}}"#,
                r#"{"tools":[{"functionDeclarations":[{"name":"a"}]},{"googleSearch":{}},{"functionDeclarations":[{"name":"d"}]}],"toolConfig":{"functionCallingConfig":{"allowedFunctionNames":["d"]}}}"#,
            ),
            (Dialect::Chat, r#"{"tools":[1,2]}"#, r#"{"tools":[1,2]}"#),
            (Dialect::Chat, r#"{"tools":7}"#, r#"{"tools":7}"#),
            (Dialect::Chat, "[]", "[]"),
        ] {
            let body = Bytes::from_static(body.as_bytes());
            assert_eq!(shortened(dialect, &body, 2), expected, "{dialect}");
        }
    }

    #[test]
    fn what_a_choice_names_in_whatever_form_stays() {
        for (dialect, choice, tool) in [
            (Dialect::Chat, r#"{"type":"custom","custom":{"name":"c"}}"#, r#"{"type":"custom","custom":{"name":"c"}}"#),
            (
                Dialect::Chat,
                r#"{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"c"}}]}}"#,
                r#"{"type":"function","function":{"name":"c"}}"#,
            ),
            (
                Dialect::Chat,
                r#"{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"custom","custom":{"name":"c"}}]}}"#,
                r#"{"type":"custom","custom":{"name":"c"}}"#,
            ),
            (Dialect::Responses, r#"{"type":"custom","name":"c"}"#, r#"{"type":"custom","name":"c"}"#),
            (
                Dialect::Responses,
                r#"{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"c"}]}"#,
                r#"{"type":"function","name":"c"}"#,
            ),
            (
                Dialect::Responses,
                r#"{"type":"allowed_tools","mode":"required","tools":[{"type":"mcp","server_label":"c"}]}"#,
                r#"{"type":"mcp","server_label":"c","server_url":"https://c.example"}"#,
            ),
            (
                Dialect::Responses,
                r#"{"type":"mcp","server_label":"c","name":"x"}"#,
                r#"{"type":"mcp","server_label":"c"}"#,
            ),
            (Dialect::Responses, r#"{"type":"web_search_preview"}"#, r#"{"type":"web_search"}"#),
            (
                Dialect::Responses,
                r#"{"type":"function","namespace":"c","name":"x"}"#,
                r#"{"type":"namespace","name":"c","tools":[{"type":"function","name":"x"}]}"#,
            ),
            (Dialect::Responses, r#"{"type":"file_search"}"#, r#"{"type":"file_search","vector_store_ids":["v"]}"#),
            (Dialect::Messages, r#"{"type":"tool","name":"c"}"#, r#"{"name":"c","input_schema":{}}"#),
        ] {
            let filler = r#"{"type":"function","name":"a"},{"type":"function","name":"b"}"#;
            let body = |tools: &str| format!(r#"{{"tools":[{tools}],"tool_choice":{choice}}}"#);
            let long = Bytes::from(body(&format!("{filler},{tool}")));
            let kept = body(&format!(r#"{{"type":"function","name":"a"}},{tool}"#));
            assert_eq!(shortened(dialect, &long, 2), kept, "{dialect}");
        }
    }
}
