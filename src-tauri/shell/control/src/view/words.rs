//! The small words that several views share: an instant as text, a secret on its way in, and the plain "done".

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use specta::Type;
use utoipa::ToSchema;

use domain::Timestamp;

/// An instant as ISO-8601 text in UTC with milliseconds: `2026-03-01T09:30:00.000Z`. Any offset is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Type, ToSchema)]
#[specta(transparent)]
#[schema(value_type = String, format = DateTime, example = "2026-03-01T09:30:00.000Z")]
pub struct Instant(#[specta(type = String)] Timestamp);

impl Instant {
    pub const fn timestamp(self) -> Timestamp {
        self.0
    }

    /// Reads ISO-8601 text. Instants before 1970 are not representable.
    pub fn parse(text: &str) -> Option<Self> {
        let instant: jiff::Timestamp = text.parse().ok()?;
        u64::try_from(instant.as_millisecond()).ok().map(|millis| Instant(Timestamp::from_millis(millis)))
    }
}

impl From<Timestamp> for Instant {
    fn from(at: Timestamp) -> Self {
        Instant(at)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = i64::try_from(self.0.as_millis()).unwrap_or(i64::MAX);
        let instant = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{instant:.3}")
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Instant::parse(&text)
            .ok_or_else(|| de::Error::custom("expected an ISO-8601 instant such as 2026-03-01T09:30:00Z"))
    }
}

/// A credential on its way in. It cannot be printed or sent back.
#[derive(Clone, Type, ToSchema)]
#[specta(transparent)]
#[schema(value_type = String, format = Password)]
pub struct Secret(#[specta(type = String)] secrecy::SecretString);

impl Secret {
    pub fn into_inner(self) -> secrecy::SecretString {
        self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Secret(secrecy::SecretString::from(text))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Secret(secrecy::SecretString::from(text)))
    }
}

/// `{"ok": true}`: it is done, and there is nothing more to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct Done {
    pub ok: bool,
}

impl Done {
    pub const OK: Done = Done { ok: true };
}

/// Reads a member that is present, so that an absent one (`None`) differs from `null` (`Some(None)`).
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_utc_with_milliseconds_whatever_offset_it_came_with() {
        for (text, expected) in [
            ("2026-03-01T09:30:00Z", Some("2026-03-01T09:30:00.000Z")),
            ("2026-03-01T09:30:00.12345+02:00", Some("2026-03-01T07:30:00.123Z")),
            ("1970-01-01T00:00:00Z", Some("1970-01-01T00:00:00.000Z")),
            ("1969-12-31T23:59:59Z", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(Instant::parse(text).map(|instant| instant.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_instant_beyond_the_calendar_is_still_printed() {
        assert!(Instant::from(Timestamp::MAX).to_string().starts_with("9999-12-3"));
    }

    #[test]
    fn a_secret_never_shows_in_debug_output() {
        assert_eq!(format!("{:?}", Secret::from("sk-very-secret")), "Secret(…)");
    }
}
