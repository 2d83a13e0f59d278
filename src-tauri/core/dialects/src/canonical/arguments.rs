//! Tool arguments between their two forms: text (Chat, Responses) and object (Messages, Gemini); gateway specification,
//! 2.6 rule 3.
//!
//! Text is what models write, so it may be empty, cut off, doubled or no object at all. It is kept as it is until a
//! writer needs an object; then the object is made from the text itself and not from a tree, so that keys keep their
//! order and numbers all of their digits.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Deserializer;
use serde_json::value::{RawValue, to_raw_value};

use super::target::Warning;

/// The arguments of a call of `tool` as a JSON object on one line, keys in their order and numbers as written. What
/// cannot be understood becomes `{"_raw":"…"}`, with a warning.
pub fn to_object(tool: &str, arguments: &str) -> (Box<RawValue>, Option<Warning>) {
    let (object, is_whole) = read(arguments, true);
    let warning = Warning { code: "REPAIRED_ARGUMENTS", about: tool.to_owned() };
    (object, (!is_whole).then_some(warning))
}

/// The text of an object: JSON without white space between its tokens.
pub fn to_text(object: &RawValue) -> String {
    compact(object.get()).into_owned()
}

/// Whether arguments are whole JSON, or none at all.
pub fn is_whole(arguments: &str) -> bool {
    arguments.trim().is_empty() || serde_json::from_str::<&RawValue>(arguments).is_ok()
}

#[derive(Serialize)]
struct Unread<'a> {
    _raw: &'a str,
}

#[derive(Serialize)]
struct Wrapped<'a> {
    value: &'a RawValue,
}

/// The object, and whether it says exactly what the text said.
fn read(text: &str, unwraps: bool) -> (Box<RawValue>, bool) {
    let text = text.trim();
    if matches!(text, "" | "null") {
        return (object("{}"), true);
    }
    if let Ok(value) = serde_json::from_str::<&RawValue>(text) {
        return read_value(value, unwraps);
    }
    let repaired = last_of_several(text).or_else(|| completed(text));
    let repaired = repaired.and_then(|text| RawValue::from_string(compact(&text).into_owned()).ok());
    (repaired.unwrap_or_else(|| to_raw(&Unread { _raw: text })), false)
}

fn read_value(value: &RawValue, unwraps: bool) -> (Box<RawValue>, bool) {
    match value.get().as_bytes().first() {
        Some(b'{') => (object(&compact(value.get())), true),
        Some(b'"') if unwraps => {
            let inner = serde_json::from_str::<String>(value.get()).unwrap_or_default();
            match inner.trim_start().as_bytes().first() {
                Some(b'{') | None => read(&inner, false),
                Some(_) => (to_raw(&Wrapped { value }), false),
            }
        }
        _ => (to_raw(&Wrapped { value: &object(&compact(value.get())) }), false),
    }
}

/// Servers that repeat themselves write one object after the other: the last is the whole one.
fn last_of_several(text: &str) -> Option<String> {
    let mut last = None;
    for value in Deserializer::from_str(text).into_iter::<&RawValue>() {
        last = Some(value.ok()?);
    }
    last.map(RawValue::get).filter(|last| last.starts_with('{')).map(str::to_owned)
}

/// The text without commas before a closing bracket, and with everything closed that was left open. One pass; `None` when
/// the result is still no object.
fn completed(text: &str) -> Option<String> {
    let mut scan = Scan::default();
    for letter in text.chars() {
        scan.push(letter)?;
    }
    let closed = scan.close();
    // Cut behind a key, only its value is missing.
    [closed.join(""), closed.join(":null")]
        .into_iter()
        .find(|text| text.starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok())
}

#[derive(Default)]
struct Scan {
    text: String,
    /// Brackets that will close what is open.
    open: Vec<char>,
    in_string: bool,
    /// Where in `text` an unfinished escape begins, and how many characters it still lacks.
    escape: Option<(usize, u8)>,
}

impl Scan {
    /// `None` when a bracket closes what is not open.
    fn push(&mut self, letter: char) -> Option<()> {
        if self.in_string {
            self.escape = match (self.escape, letter) {
                (Some((at, 5)), 'u') => Some((at, 4)),
                (Some((_, 5 | 1)), _) => None,
                (Some((at, left)), _) => Some((at, left - 1)),
                (None, '\\') => Some((self.text.len(), 5)),
                (None, _) => {
                    self.in_string = letter != '"';
                    None
                }
            };
        } else {
            match letter {
                '"' => self.in_string = true,
                '{' => self.open.push('}'),
                '[' => self.open.push(']'),
                '}' | ']' => {
                    self.drop_comma();
                    self.open.pop().filter(|expected| *expected == letter)?;
                }
                _ => {}
            }
        }
        self.text.push(letter);
        Some(())
    }

    fn drop_comma(&mut self) {
        let kept = self.text.trim_end();
        let kept = kept.strip_suffix(',').unwrap_or(kept).len();
        self.text.truncate(kept);
    }

    /// What was read, and what closes it.
    fn close(mut self) -> [String; 2] {
        if self.in_string {
            if let Some((at, _)) = self.escape {
                self.text.truncate(at);
            }
            self.text.push('"');
        } else {
            self.drop_comma();
            if self.text.ends_with(':') {
                self.text.push_str("null");
            }
        }
        [self.text, self.open.iter().rev().collect()]
    }
}

/// JSON without white space between its tokens.
fn compact(json: &str) -> Cow<'_, str> {
    if !json.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return Cow::Borrowed(json);
    }
    let (mut in_string, mut escaped) = (false, false);
    let kept = json.chars().filter(|letter| {
        if in_string {
            in_string = escaped || *letter != '"';
            escaped = !escaped && *letter == '\\';
            return true;
        }
        in_string = *letter == '"';
        !letter.is_ascii_whitespace()
    });
    Cow::Owned(kept.collect())
}

#[expect(clippy::expect_used, reason = "only called with text that was read as JSON before")]
fn object(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).expect("JSON stays JSON")
}

#[expect(clippy::expect_used, reason = "writing plain structs with string keys into memory has no way to fail")]
fn to_raw(value: &impl Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("plain structs with string keys are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_arguments_become_an_object() {
        for (text, expected, is_whole) in [
            ("", "{}", true),
            (" \n", "{}", true),
            ("null", "{}", true),
            ("{}", "{}", true),
            (r#"{"b":1,"a":9007199254740993,"c":1.10}"#, r#"{"b":1,"a":9007199254740993,"c":1.10}"#, true),
            ("{ \"a b\" : [ 1,\n 2 ], \"q\\\" \" : \" x \" }", "{\"a b\":[1,2],\"q\\\" \":\" x \"}", true),
            (r#""{\"a\":1}""#, r#"{"a":1}"#, true),
            (r#""""#, "{}", true),
            (r#""\"{}\"""#, r#"{"value":"\"{}\""}"#, false),
            (r#""ls""#, r#"{"value":"ls"}"#, false),
            ("[1, 2]", r#"{"value":[1,2]}"#, false),
            ("7", r#"{"value":7}"#, false),
            (r#"{"a":1,}"#, r#"{"a":1}"#, false),
            (r#"{"a":[1,2,],}"#, r#"{"a":[1,2]}"#, false),
            (r#"{"a":{"b":[1,"c"#, r#"{"a":{"b":[1,"c"]}}"#, false),
            (r#"{"a":"x\"#, r#"{"a":"x"}"#, false),
            (r#"{"a":"x\u00e"#, r#"{"a":"x"}"#, false),
            (r#"{"a":"x\u00e9"#, r#"{"a":"x\u00e9"}"#, false),
            (r#"{"a":1,"b""#, r#"{"a":1,"b":null}"#, false),
            (r#"{"a":1,"b":"#, r#"{"a":1,"b":null}"#, false),
            (r#"{"a":1,"#, r#"{"a":1}"#, false),
            (r#"{"a":1}{"a":1}"#, r#"{"a":1}"#, false),
            (r#"{} {"a":1}"#, r#"{"a":1}"#, false),
            (r#"{"a":1]"#, r#"{"_raw":"{\"a\":1]"}"#, false),
            ("rm -rf x", r#"{"_raw":"rm -rf x"}"#, false),
            (r#"{"a":tru"#, r#"{"_raw":"{\"a\":tru"}"#, false),
        ] {
            let (object, warning) = to_object("ls", text);
            assert_eq!((object.get(), warning.is_none()), (expected, is_whole), "{text}");
        }
    }

    #[test]
    fn an_object_becomes_text_without_losing_its_order_or_numbers() {
        let object = RawValue::from_string("{ \"b\": 1.0,\n\t\"a\": \" \\\" \" }".to_owned()).unwrap();
        assert_eq!(to_text(&object), "{\"b\":1.0,\"a\":\" \\\" \"}");
    }
}
