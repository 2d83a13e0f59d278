//! Fields read for what they mean, whatever type they come in.
//!
//! Servers that imitate a dialect get types wrong: numbers as strings, text as lists of parts, `null` anywhere. A strict
//! field would lose the whole frame, so the fields that readers rely on take any JSON and keep what makes sense. Text is
//! borrowed from the frame unless it holds escapes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::surrogates;

/// A text. Numbers and booleans are taken as written, a list or object of parts as the text of its parts, joined;
/// anything else is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

/// A text, or parts of which only a second look tells what they are.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    Text(Text<'a>),
    Parts(Vec<&'a RawValue>),
    /// A lone part where a list belongs, put together again from its members.
    Part(Box<RawValue>),
}

/// Whether a [`Text`] says anything. A long one need not be copied to find that out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said(pub(crate) bool);

/// A count; `None` when the value is no whole number that fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Whole(pub(crate) Option<u64>);

/// A number of any size; `None` when the value is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Amount(pub(crate) Option<f64>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

/// The text of a field, empty when the field is absent.
pub(crate) fn str_of<'t>(text: &'t Option<Text<'_>>) -> &'t str {
    text.as_ref().map_or("", Text::as_str)
}

/// The text of a field, owned; `None` when absent or empty.
pub(crate) fn some_string(text: &Option<Text<'_>>) -> Option<String> {
    text.as_ref().map(Text::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The count of a field.
pub(crate) fn count(field: Option<Whole>) -> Option<u64> {
    field.and_then(|whole| whole.0)
}

/// The count of a field that numbers parts of an answer.
pub(crate) fn position(field: Option<Whole>) -> Option<u32> {
    count(field).and_then(|count| u32::try_from(count).ok())
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text)))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(if value { "true" } else { "false" })))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(value.to_string())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(value.to_string())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(value.to_string())))
    }

    fn visit_unit<E>(self) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_none<E>(self) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text<'de>, A::Error> {
        let mut joined = parts.next_element::<Text<'de>>()?.unwrap_or_default();
        while let Some(part) = parts.next_element::<Text<'de>>()? {
            joined.0.to_mut().push_str(part.as_str());
        }
        Ok(joined)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Text<'de>, A::Error> {
        let mut text = Text::default();
        while let Some(key) = members.next_key::<Text<'de>>()? {
            if key.as_str() == "text" {
                text = members.next_value()?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Content<'de>, E> {
        TextVisitor.visit_borrowed_str(text).map(Content::Text)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Content<'de>, E> {
        TextVisitor.visit_str(text).map(Content::Text)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Content<'de>, E> {
        TextVisitor.visit_bool(value).map(Content::Text)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Content<'de>, E> {
        TextVisitor.visit_u64(value).map(Content::Text)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Content<'de>, E> {
        TextVisitor.visit_i64(value).map(Content::Text)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Content<'de>, E> {
        TextVisitor.visit_f64(value).map(Content::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Content<'de>, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = elements.next_element()? {
            parts.push(part);
        }
        Ok(Content::Parts(parts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Content<'de>, A::Error> {
        let mut json = String::from("{");
        while let Some((key, value)) = members.next_entry::<Text<'de>, &'de RawValue>()? {
            let comma = if json.len() > 1 { "," } else { "" };
            json.push_str(&format!("{comma}{}:{}", Value::from(key.as_str()), value.get()));
        }
        json.push('}');
        RawValue::from_string(json).map(Content::Part).map_err(A::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        // Half a letter is passed over, but cannot be read.
        if json.starts_with('"') && !surrogates::has_half(json.as_bytes()) {
            return Ok(Said(json != "\"\""));
        }
        let text: Text<'_> = serde_json::from_str(json).map_err(D::Error::custom)?;
        Ok(Said(!text.as_str().is_empty()))
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Amount(amount) = Amount::deserialize(deserializer)?;
        // Counts of tokens are far below the 53 bits in which a double is exact.
        Ok(Whole(amount.filter(|amount| *amount >= 0.0 && *amount < 9e15).map(|amount| amount as u64)))
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl<'de> Visitor<'de> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Amount, E> {
        Ok(Amount(Some(value as f64)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Amount, E> {
        Ok(Amount(Some(value as f64)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Amount, E> {
        Ok(Amount(Some(value)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Amount, E> {
        Ok(Amount(text.trim().parse().ok().filter(|value: &f64| value.is_finite())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Amount, E> {
        Ok(Amount(None))
    }

    fn visit_unit<E>(self) -> Result<Amount, E> {
        Ok(Amount(None))
    }

    fn visit_none<E>(self) -> Result<Amount, E> {
        Ok(Amount(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Amount, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Amount(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Amount, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Amount(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_json_is_a_text() {
        for (json, expected) in [
            (r#""plain""#, "plain"),
            (r#""esc\n""#, "esc\n"),
            ("7", "7"),
            ("-7", "-7"),
            ("1.5", "1.5"),
            ("true", "true"),
            ("null", ""),
            (r#"[{"type":"text","text":"a"},"b",{"image":{"text":"no"}},{"text":["c"]}]"#, "abc"),
            (r#"{"value":{"a":[1]},"text":"d"}"#, "d"),
            ("[]", ""),
        ] {
            assert_eq!(serde_json::from_str::<Text<'_>>(json).unwrap().as_str(), expected, "{json}");
        }
        let borrowed = serde_json::from_str::<Text<'_>>(r#""plain""#).unwrap();
        assert!(matches!(borrowed.0, Cow::Borrowed(_)));
    }

    #[test]
    fn whether_a_text_says_anything_is_told_as_its_reader_would() {
        for json in [
            r#""plain""#,
            r#""\n""#,
            r#""\u0041 \ud83d\udc4b""#,
            r#""""#,
            "0",
            "false",
            "null",
            r#"[{"type":"text","text":"a"}]"#,
            r#"[{"type":"image"},""]"#,
            r#"{"text":"d"}"#,
            "{}",
            r#""cut \ud83d""#,
            r#"["cut \udc4b"]"#,
            "1e400",
        ] {
            let read = serde_json::from_str::<Text<'_>>(json).ok().map(|text| Said(!text.as_str().is_empty()));
            assert_eq!(serde_json::from_str::<Said>(json).ok(), read, "{json}");
        }
    }

    #[test]
    fn content_is_a_text_or_its_parts_as_they_were_written() {
        for (json, expected) in [
            (r#""esc\n""#, "esc\n"),
            ("-1.5", "-1.5"),
            (r#"[{"a": 1},"b"]"#, r#"[{"a": 1}, "b"]"#),
            (r#"{ "a\"b" : [1, 2] , "c":null}"#, r#"{"a\"b":[1, 2],"c":null}"#),
        ] {
            let told = match serde_json::from_str(json).unwrap() {
                Content::Text(text) => text.into_string(),
                Content::Parts(parts) => {
                    format!("[{}]", parts.iter().map(|part| part.get()).collect::<Vec<_>>().join(", "))
                }
                Content::Part(part) => part.get().to_owned(),
            };
            assert_eq!(told, expected, "{json}");
        }
    }

    #[test]
    fn a_count_is_a_whole_number_however_it_is_written() {
        for (json, expected) in [
            ("12", Some(12)),
            ("12.0", Some(12)),
            ("\"12\"", Some(12)),
            ("-1", None),
            ("1e300", None),
            ("null", None),
            ("true", None),
            ("[1]", None),
            ("{\"a\":1}", None),
            ("\"many\"", None),
        ] {
            assert_eq!(serde_json::from_str::<Whole>(json).unwrap().0, expected, "{json}");
        }
    }
}
