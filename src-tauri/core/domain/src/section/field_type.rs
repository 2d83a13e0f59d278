//! The types a field can have, and how each is read from JSON and from an environment variable.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Millis;
use crate::wire::fault;

/// How a screen lets a person edit a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    Boolean,
    Integer,
    Number,
    /// A length of time; its unit is `ms`.
    Duration,
    Text,
    /// One of a fixed set of words.
    Choice,
    List,
    /// Free names with a value each.
    Table,
}

/// The type of a plain field.
pub trait FieldType: Serialize + Sized + 'static {
    /// What bounds apply to: the value itself, or each item of a list or option.
    type Item: PartialOrd + Clone + Serialize;

    const KIND: Kind;
    /// The unit, where the type carries one.
    const UNIT: Option<&'static str> = None;
    /// Completes "expected …".
    const EXPECTED: &'static str;
    const CHOICES: &'static [&'static str] = &[];
    /// What is wrong with a value that cannot be read: a word of [`crate::wire::fault`].
    const FAULT: &'static str = fault::WRONG_KIND;
    /// Whether a part of the value must not be shown; then the serialised form leaves that part out.
    const IS_SECRET: bool = false;

    /// Reads a value strictly.
    fn from_json(value: &Value) -> Option<Self>;

    /// Reads a value tolerantly: fractions are cut off, numbers beyond the type become its nearest.
    fn from_json_loosely(value: &Value) -> Option<Self> {
        Self::from_json(value)
    }

    /// Reads an environment variable.
    fn from_text(text: &str) -> Option<Self>;

    /// The value with what must not be shown: for the layers of settings, never for anybody to see.
    fn exposed(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }

    /// The parts bounds apply to.
    fn items_mut(&mut self) -> &mut [Self::Item];
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {$(
        impl FieldType for $type {
            type Item = Self;
            const KIND: Kind = Kind::Integer;
            const EXPECTED: &'static str = "a whole number";

            fn from_json(value: &Value) -> Option<Self> {
                value.as_u64().or_else(|| whole(value.as_f64()?)).and_then(|number| number.try_into().ok())
            }

            fn from_json_loosely(value: &Value) -> Option<Self> {
                // A cast from floating point saturates, which is what a tolerant reading wants.
                Self::from_json(value).or_else(|| value.as_f64().map(|number| number.trunc() as $type))
            }

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn items_mut(&mut self) -> &mut [Self] {
                std::slice::from_mut(self)
            }
        }
    )+};
}

whole_numbers!(u16, u32, u64);

impl FieldType for Millis {
    type Item = Self;
    const KIND: Kind = Kind::Duration;
    const UNIT: Option<&'static str> = Some("ms");
    const EXPECTED: &'static str = "a whole number of milliseconds";

    fn from_json(value: &Value) -> Option<Self> {
        u64::from_json(value).map(Millis::new)
    }

    fn from_json_loosely(value: &Value) -> Option<Self> {
        u64::from_json_loosely(value).map(Millis::new)
    }

    fn from_text(text: &str) -> Option<Self> {
        u64::from_text(text).map(Millis::new)
    }

    fn items_mut(&mut self) -> &mut [Self] {
        std::slice::from_mut(self)
    }
}

impl FieldType for f64 {
    type Item = Self;
    const KIND: Kind = Kind::Number;
    const EXPECTED: &'static str = "a number";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_f64()
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn items_mut(&mut self) -> &mut [Self] {
        std::slice::from_mut(self)
    }
}

impl FieldType for bool {
    type Item = Self;
    const KIND: Kind = Kind::Boolean;
    const EXPECTED: &'static str = "true or false";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_bool()
    }

    fn from_text(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Some(true),
            "false" | "0" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    fn items_mut(&mut self) -> &mut [Self] {
        std::slice::from_mut(self)
    }
}

impl FieldType for String {
    type Item = Self;
    const KIND: Kind = Kind::Text;
    const EXPECTED: &'static str = "text";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn items_mut(&mut self) -> &mut [Self] {
        std::slice::from_mut(self)
    }
}

/// Absent or a value. In a patch `null` unsets the field, so an absent value is only ever a default.
impl<T: FieldType<Item = T> + PartialOrd + Clone> FieldType for Option<T> {
    type Item = T;
    const KIND: Kind = T::KIND;
    const UNIT: Option<&'static str> = T::UNIT;
    const EXPECTED: &'static str = T::EXPECTED;
    const CHOICES: &'static [&'static str] = T::CHOICES;
    const FAULT: &'static str = T::FAULT;
    const IS_SECRET: bool = T::IS_SECRET;

    fn from_json(value: &Value) -> Option<Self> {
        T::from_json(value).map(Some)
    }

    fn from_json_loosely(value: &Value) -> Option<Self> {
        T::from_json_loosely(value).map(Some)
    }

    fn from_text(text: &str) -> Option<Self> {
        T::from_text(text).map(Some)
    }

    fn exposed(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::exposed)
    }

    fn items_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

/// A list; in an environment variable its items are separated by commas.
impl<T: FieldType<Item = T> + PartialOrd + Clone> FieldType for Vec<T> {
    type Item = T;
    const KIND: Kind = Kind::List;
    const UNIT: Option<&'static str> = T::UNIT;
    const EXPECTED: &'static str = "a list of values";
    const CHOICES: &'static [&'static str] = T::CHOICES;

    fn from_json(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::from_json).collect()
    }

    fn from_json_loosely(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::from_json_loosely).collect()
    }

    fn from_text(text: &str) -> Option<Self> {
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(T::from_text).collect()
    }

    fn items_mut(&mut self) -> &mut [T] {
        self
    }
}

/// Free names with a value each, as JSON in an environment variable. Bounds belong to the rule across fields.
impl<T: Serialize + DeserializeOwned + 'static> FieldType for BTreeMap<String, T> {
    type Item = ();
    const KIND: Kind = Kind::Table;
    const EXPECTED: &'static str = "an object with a valid value for each name";

    fn from_json(value: &Value) -> Option<Self> {
        serde::Deserialize::deserialize(value).ok()
    }

    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    fn items_mut(&mut self) -> &mut [()] {
        &mut []
    }
}

/// A number without a fraction that fits `u64`.
fn whole(number: f64) -> Option<u64> {
    // 2^64 is exact in floating point; the largest number below it still fits.
    (number.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&number)).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strict_reading_takes_whole_numbers_only() {
        for (value, expected) in [
            (json!(7), Some(7)),
            (json!(7.0), Some(7)),
            (json!(7.5), None),
            (json!(-1), None),
            (json!(70_000), None),
            (json!("7"), None),
            (json!(true), None),
        ] {
            assert_eq!(u16::from_json(&value), expected, "{value}");
        }
    }

    #[test]
    fn tolerant_reading_truncates_and_takes_the_nearest() {
        for (value, expected) in
            [(json!(7.9), Some(7)), (json!(-1), Some(0)), (json!(70_000), Some(u16::MAX)), (json!("7"), None)]
        {
            assert_eq!(u16::from_json_loosely(&value), expected, "{value}");
        }
    }

    #[test]
    fn a_variable_is_read_as_its_type_says() {
        assert_eq!(u64::from_text("1_0"), None);
        assert_eq!(u32::from_text("-3"), None);
        assert_eq!(f64::from_text("0.5"), Some(0.5));
        assert_eq!(f64::from_text("inf"), None);
        assert_eq!(Millis::from_text("250"), Some(Millis::new(250)));
        for (text, expected) in [("TRUE", Some(true)), ("0", Some(false)), ("off", Some(false)), ("maybe", None)] {
            assert_eq!(bool::from_text(text), expected, "{text}");
        }
        assert_eq!(Vec::<u16>::from_text("403, 429,"), Some(vec![403, 429]));
        assert_eq!(Vec::<u16>::from_text("403, x"), None);
        assert_eq!(Option::<String>::from_text("a"), Some(Some("a".to_owned())));
        assert_eq!(BTreeMap::<String, u32>::from_text(r#"{"a":1}"#), Some(BTreeMap::from([("a".to_owned(), 1)])));
    }
}
