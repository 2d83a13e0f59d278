//! The two declaring macros.

/// Declares a settings section; see the [module](crate::section).
///
/// ```text
/// section! {
///     /// What the section is about.
///     pub struct Config {
///         /// What the field means, and what 0 means.
///         pub name: Type = default, in min..=max, env "VARIABLE", wire "wireName";
///     }
///     reconcile = Config::rule_across_fields;
/// }
/// ```
///
/// Everything after the type may be left out. `rule_across_fields` is a `fn(&mut Config) -> Vec<Conflict>`.
#[macro_export]
macro_rules! section {
    (@default) => { ::core::default::Default::default() };
    (@default $default:expr) => { $default };
    (@optional) => { ::core::option::Option::None };
    (@optional $given:expr) => { ::core::option::Option::Some($given) };
    (@rule $section:expr) => { { let _ = $section; ::std::vec::Vec::new() } };
    (@rule $section:expr, $rule:path) => { $rule($section) };
    (
        $(#[$about:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[doc = $help:literal])+
                $field_visibility:vis $field:ident : $type:ty
                $(= $default:expr)? $(, in $range:expr)? $(, env $env:literal)? $(, wire $wire:literal)? ;
            )*
        }
        $(reconcile = $rule:path;)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $name {
            $( $(#[doc = $help])+ $field_visibility $field: $type, )*
        }

        impl ::core::default::Default for $name {
            fn default() -> Self {
                $name { $( $field: $crate::section!(@default $($default)?), )* }
            }
        }

        impl $crate::section::Section for $name {
            fn members(&mut self) -> ::std::vec::Vec<$crate::section::Member<'_>> {
                ::std::vec![ $(
                    $crate::section::Member::new(
                        ::core::stringify!($field),
                        $crate::section!(@optional $($wire)?),
                        &[$($help),+],
                        $crate::section!(@optional $($env)?),
                        $crate::section::Part::slot(&mut self.$field, $crate::section!(@optional $($range)?)),
                    ),
                )* ]
            }

            fn rule(&mut self) -> ::std::vec::Vec<$crate::section::Conflict> {
                $crate::section!(@rule self $(, $rule)?)
            }
        }

        impl $crate::section::Part for $name {
            type Item = ();

            fn slot(
                &mut self,
                _: ::core::option::Option<::core::ops::RangeInclusive<()>>,
            ) -> $crate::section::Slot<'_> {
                $crate::section::Slot::Section(self)
            }
        }

        impl $crate::section::reexport::serde::Serialize for $name {
            fn serialize<S>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error>
            where
                S: $crate::section::reexport::serde::Serializer,
            {
                $crate::section::reexport::serde::Serialize::serialize(
                    &$crate::section::Section::tree(self),
                    serializer,
                )
            }
        }

        /// Absent fields take their defaults; unknown names and values out of range are refused.
        impl<'de> $crate::section::reexport::serde::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> ::core::result::Result<Self, D::Error>
            where
                D: $crate::section::reexport::serde::Deserializer<'de>,
            {
                let tree: $crate::section::reexport::serde_json::Value =
                    $crate::section::reexport::serde::Deserialize::deserialize(deserializer)?;
                let mut section = <Self as ::core::default::Default>::default();
                let errors = $crate::section::Section::apply(&mut section, &tree);
                match errors.into_iter().next() {
                    ::core::option::Option::None => ::core::result::Result::Ok(section),
                    ::core::option::Option::Some(error) => ::core::result::Result::Err(
                        <D::Error as $crate::section::reexport::serde::de::Error>::custom(error),
                    ),
                }
            }
        }
    };
}

/// Declares a small enum that can stand in a section, each variant with its wire word.
///
/// ```
/// domain::choice! {
///     /// How outbound connections leave this computer.
///     pub enum ProxyMode {
///         /// Directly.
///         None = "none",
///         /// Through the proxy of the operating system.
///         System = "system",
///     }
/// }
/// assert_eq!(ProxyMode::System.as_str(), "system");
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[$about:meta])*
        $visibility:vis enum $name:ident {
            $( $(#[$help:meta])* $variant:ident = $word:literal, )+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $visibility enum $name {
            $( $(#[$help])* $variant, )+
        }

        impl $name {
            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( $name::$variant => $word, )+
                }
            }
        }

        impl $crate::section::reexport::serde::Serialize for $name {
            fn serialize<S>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error>
            where
                S: $crate::section::reexport::serde::Serializer,
            {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::section::reexport::serde::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> ::core::result::Result<Self, D::Error>
            where
                D: $crate::section::reexport::serde::Deserializer<'de>,
            {
                let word: ::std::string::String =
                    $crate::section::reexport::serde::Deserialize::deserialize(deserializer)?;
                <Self as $crate::section::FieldType>::from_text(&word).ok_or_else(|| {
                    <D::Error as $crate::section::reexport::serde::de::Error>::custom(::core::concat!(
                        "expected one of", $( " ", $word ),+
                    ))
                })
            }
        }

        impl $crate::section::FieldType for $name {
            type Item = Self;
            const KIND: $crate::section::Kind = $crate::section::Kind::Choice;
            const EXPECTED: &'static str = ::core::concat!("one of", $( " ", $word ),+);
            const CHOICES: &'static [&'static str] = &[$($word),+];

            fn from_json(value: &$crate::section::reexport::serde_json::Value) -> ::core::option::Option<Self> {
                Self::from_text(value.as_str()?)
            }

            fn from_text(text: &str) -> ::core::option::Option<Self> {
                match text {
                    $( $word => ::core::option::Option::Some($name::$variant), )+
                    _ => ::core::option::Option::None,
                }
            }

            fn items_mut(&mut self) -> &mut [Self] {
                ::core::slice::from_mut(self)
            }
        }
    };
}
