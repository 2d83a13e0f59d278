//! What is wrong with a request is told to whoever sent it: the field by its wire name, and what belongs there.
//!
//! Replies are read for what they mean ([`crate::lenient`]): nobody is there who could mend them. A request is somebody's
//! wish, and a wish that is passed over in silence is answered with something else. Numbers and switches that come as text
//! are still taken, and below zero stands for "not limited", as local servers have it.

use std::fmt::Display;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_path_to_error::Segment;

use crate::lenient::{Amount, Text, str_of};
use crate::translate::Refusal;

/// Counts are exact in a double up to here.
const LARGEST: f64 = 9e15;

/// Reads what stands at `at`; nothing stands for the body itself. An error names the member inside that is wrong.
pub(crate) fn parse<'a, T: Deserialize<'a>>(at: impl Display, json: &'a str) -> Result<T, Refusal> {
    serde_json::from_str(json).map_err(|error| {
        let message = without_place(&error);
        // Read once more, which only a request that fails anyway has to pay for.
        let mut reader = serde_json::Deserializer::from_str(json);
        let place = match serde_path_to_error::deserialize::<_, T>(&mut reader) {
            Err(traced) if without_place(traced.inner()) == message => joined(at.to_string(), traced.path()),
            Ok(_) | Err(_) => at.to_string(),
        };
        Refusal::new(if place.is_empty() { "body".to_owned() } else { place }, in_words(&message))
    })
}

/// The elements of a list, which are read one by one, each beside the text it was read from. A list of [`RawValue`]s tells
/// the text too, but then everything in it is read twice.
pub(crate) struct Elements<'a> {
    at: String,
    place: usize,
    /// From the next element on.
    rest: &'a str,
}

impl<'a> Elements<'a> {
    /// Of the list that stands at `at`.
    pub(crate) fn of(at: impl Display, list: &'a RawValue) -> Result<Elements<'a>, Refusal> {
        let at = at.to_string();
        match list.get().strip_prefix('[') {
            Some(rest) => Ok(Elements { at, place: 0, rest: rest.trim_ascii_start() }),
            None => parse::<Vec<IgnoredAny>>(&at, list.get()).map(|_| Elements { at, place: 0, rest: "]" }),
        }
    }

    /// How the next element begins; `None` behind the last.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.bytes().next().filter(|byte| *byte != b']')
    }

    /// The number of the next element.
    pub(crate) fn place(&self) -> usize {
        self.place
    }

    /// Reads the next element.
    pub(crate) fn read<T: Deserialize<'a>>(&mut self) -> Result<(T, &'a str), Refusal> {
        let (read, json) = first::<T>(self.rest);
        let element = match read {
            Some(element) => element,
            // Once more, to find out what is wrong with it.
            None => parse(format_args!("{}[{}]", self.at, self.place), json)?,
        };
        let behind = self.rest.get(json.len()..).unwrap_or_default().trim_ascii_start();
        self.rest = behind.strip_prefix(',').unwrap_or(behind).trim_ascii_start();
        self.place += 1;
        Ok((element, json))
    }
}

/// The value that a text begins with, if it can be read so, and what of the text it takes.
fn first<'a, T: Deserialize<'a>>(text: &'a str) -> (Option<T>, &'a str) {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    if let Some(Ok(value)) = values.next() {
        return (Some(value), text.get(..values.byte_offset()).unwrap_or_default());
    }
    let raw = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>().next();
    (None, raw.and_then(Result::ok).map_or("", RawValue::get))
}

/// A number; `None` when the field is absent or null.
pub(crate) fn amount(at: &str, field: Option<Amount>) -> Result<Option<f64>, Refusal> {
    match field {
        Some(Amount(None)) => Err(Refusal::new(at, "must be a number")),
        field => Ok(field.and_then(|amount| amount.0)),
    }
}

/// A whole number; `None` when the field is absent, null or below zero.
pub(crate) fn whole(at: &str, field: Option<Amount>) -> Result<Option<u64>, Refusal> {
    match amount(at, field)? {
        Some(number) if number.fract() != 0.0 || number >= LARGEST => Err(Refusal::new(at, "must be a whole number")),
        number => Ok(number.filter(|number| *number >= 0.0).map(|number| number as u64)),
    }
}

/// A whole number of which 32 bits hold any that makes sense.
pub(crate) fn small(at: &str, field: Option<Amount>) -> Result<Option<u32>, Refusal> {
    let number = whole(at, field)?;
    number.map(|number| u32::try_from(number).map_err(|_| Refusal::new(at, "is too large"))).transpose()
}

/// A switch; `None` when the field is absent or null.
pub(crate) fn flag(at: &str, field: &Option<Text<'_>>) -> Result<Option<bool>, Refusal> {
    match str_of(field) {
        "true" | "1" => Ok(Some(true)),
        "false" | "0" => Ok(Some(false)),
        _ if field.is_none() => Ok(None),
        _ => Err(Refusal::new(at, "must be true or false")),
    }
}

/// One text, or several.
pub(crate) fn texts(at: &str, json: &str) -> Result<Vec<String>, Refusal> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(String),
        Several(Vec<String>),
    }
    match serde_json::from_str(json) {
        Ok(Texts::One(text)) => Ok(vec![text]),
        Ok(Texts::Several(texts)) => Ok(texts),
        Err(_) => Err(Refusal::new(at, "must be a text or a list of texts")),
    }
}

/// What serde says, without a line and column that mean nothing to the client.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// The words of JSON instead of those of Rust.
fn in_words(message: &str) -> String {
    let message = match message.split_once("expected struct ") {
        Some((found, _)) => format!("{found}expected an object"),
        None => message.replace("a sequence", "a list").replace("a borrowed string", "a text"),
    };
    message.replace("a map", "an object").replace("invalid type: ", "has the wrong type: ")
}

fn joined(mut place: String, path: &serde_path_to_error::Path) -> String {
    for segment in path {
        match segment {
            Segment::Seq { index } => place.push_str(&format!("[{index}]")),
            Segment::Map { key } if place.is_empty() => place.push_str(key),
            Segment::Map { key } => place.push_str(&format!(".{key}")),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Body<'a> {
        #[serde(borrow)]
        raw: Option<&'a RawValue>,
        list: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        number: u32,
    }

    #[test]
    fn an_error_names_the_member_that_is_wrong() {
        for (json, told) in [
            (
                r#"{"list":[{"number":1},{"number":"x"}]}"#,
                "list[1].number: has the wrong type: string \"x\", expected u32",
            ),
            (r#"{"raw":[1],"list":[5]}"#, "list[0]: has the wrong type: integer `5`, expected an object"),
            (r#"{"list":{}}"#, "list: has the wrong type: map, expected a list"),
            ("[]", "body: invalid length 0, expected an object"),
        ] {
            assert_eq!(parse::<Body<'_>>("", json).unwrap_err().to_string(), told, "{json}");
        }
        let told = parse::<Body<'_>>("tools[3]", r#"{"list":[{"number":true}]}"#).unwrap_err().field;
        assert_eq!(told, "tools[3].list[0].number");
    }

    #[test]
    fn the_elements_of_a_list_are_read_beside_their_text() {
        let list = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        let json = list("[ {\"number\":1} ,\t7,\"a,]\",[[]]]");
        let mut elements = Elements::of("list", &json).unwrap();
        assert_eq!((elements.peek(), elements.place()), (Some(b'{'), 0));
        let (inner, text) = elements.read::<Inner>().unwrap();
        assert_eq!((inner.number, text), (1, "{\"number\":1}"));
        assert_eq!(elements.read::<u8>().unwrap(), (7, "7"));
        assert_eq!(elements.read::<&str>().unwrap(), ("a,]", "\"a,]\""));
        assert_eq!(elements.peek(), Some(b'['));
        let told = elements.read::<Vec<Inner>>().unwrap_err().to_string();
        assert_eq!(told, "list[3][0]: invalid length 0, expected an object");
        assert_eq!(elements.read::<IgnoredAny>().unwrap().1, "[[]]");
        assert_eq!(elements.peek(), None);
        assert_eq!(Elements::of("list", &list("[ ]")).unwrap().peek(), None);
        assert_eq!(Elements::of("list", &list("{}")).err().map(|refusal| refusal.field).as_deref(), Some("list"));
    }

    #[test]
    fn a_value_that_cannot_be_taken_is_refused_and_never_passed_over() {
        let number = |json: &str| serde_json::from_str::<Option<Amount>>(json).unwrap();
        for (json, expected) in [("1", Some(1)), ("\"7\"", Some(7)), ("null", None), ("-1", None)] {
            assert_eq!(whole("n", number(json)).unwrap(), expected, "{json}");
        }
        for json in ["\"hot\"", "true", "[1]", "{}", "1.5", "1e300"] {
            assert_eq!(whole("n", number(json)).unwrap_err().field, "n", "{json}");
        }
        assert!(small("n", number("4294967296")).is_err());
        assert_eq!(amount("temperature", number("0.5")).unwrap(), Some(0.5));
        let switch = |json: &'static str| serde_json::from_str::<Option<Text<'_>>>(json).unwrap();
        assert_eq!(flag("store", &switch("true")).unwrap(), Some(true));
        assert_eq!(flag("store", &switch("null")).unwrap(), None);
        assert!(flag("store", &switch("\"no\"")).is_err());
        assert_eq!(texts("stop", "[\"a\"]").unwrap(), ["a"]);
        assert_eq!(texts("stop", "\"a\"").unwrap(), ["a"]);
        assert!(texts("stop", "[5]").is_err());
    }
}
